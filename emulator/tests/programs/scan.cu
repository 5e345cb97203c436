// Inclusive prefix sum in one pass: each block waits for the prefix of the block before it (decoupled look-back with
// tickets).
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

constexpr int THREADS = 256;

__device__ unsigned ticket;

__global__ void scan(const int *in, int *out, volatile int *prefix, int n) {
    __shared__ int tile[THREADS];
    __shared__ int before;
    __shared__ unsigned block;
    if (threadIdx.x == 0) block = atomicAdd(&ticket, 1);
    __syncthreads();
    int i = block * THREADS + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < THREADS; offset *= 2) {
        int value = threadIdx.x >= offset ? tile[threadIdx.x - offset] : 0;
        __syncthreads();
        tile[threadIdx.x] += value;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        int sum = 0;
        if (block > 0)
            while ((sum = prefix[block - 1]) < 0) {
            }
        before = sum;
        prefix[block] = sum + tile[THREADS - 1];
    }
    __syncthreads();
    if (i < n) out[i] = before + tile[threadIdx.x];
}

int main() {
    const int n = 40 * THREADS + 17, blocks = (n + THREADS - 1) / THREADS;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i % 13;
    int *din, *dout, *prefix;
    cudaMalloc(&din, n * sizeof(int));
    cudaMalloc(&dout, n * sizeof(int));
    cudaMalloc(&prefix, blocks * sizeof(int));
    cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(prefix, 0xff, blocks * sizeof(int));
    unsigned zero = 0;
    if (cudaMemcpyToSymbol(ticket, &zero, sizeof zero) != cudaSuccess) return 1;
    scan<<<blocks, THREADS>>>(din, dout, prefix, n);
    if (cudaMemcpy(out.data(), dout, n * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (out[i] != (sum += in[i])) return printf("element %d: %d, not %d\n", i, out[i], sum), 3;
    cudaFree(din);
    cudaFree(dout);
    cudaFree(prefix);
    printf("%d prefixes are right\n", n);
    return 0;
}
