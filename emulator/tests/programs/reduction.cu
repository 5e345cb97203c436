// Sum of an array: shuffles within a warp, shared memory within a block, atomics between blocks; and the same with a
// tree in shared memory whose size is given at launch.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__inline__ __device__ int warp_sum(int value) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void sum_by_shuffles(const int *in, int *out, int n) {
    __shared__ int part[32];
    int value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) value += in[i];
    value = warp_sum(value);
    if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = value;
    __syncthreads();
    if (threadIdx.x < warpSize) {
        value = threadIdx.x < blockDim.x / warpSize ? part[threadIdx.x] : 0;
        value = warp_sum(value);
        if (threadIdx.x == 0) atomicAdd(out, value);
    }
}

__global__ void sum_by_tree(const int *in, int *out, int n) {
    extern __shared__ int part[];
    unsigned i = blockIdx.x * blockDim.x * 2 + threadIdx.x, tid = threadIdx.x;
    int value = i < n ? in[i] : 0;
    if (i + blockDim.x < n) value += in[i + blockDim.x];
    part[tid] = value;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = part[0];
}

int main() {
    const int n = 100003;
    std::vector<int> in(n);
    long expected = 0;
    for (int i = 0; i < n; i++) expected += in[i] = (i * 7919) % 101 - 50;
    int *device, *out, sum;
    const int blocks = (n + 511) / 512;
    cudaMalloc(&device, n * sizeof(int));
    cudaMalloc(&out, blocks * sizeof(int));
    cudaMemcpy(device, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof(int));
    sum_by_shuffles<<<20, 256>>>(device, out, n);
    cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    if (sum != expected) return printf("by shuffles: %d, not %ld\n", sum, expected), 1;
    sum_by_tree<<<blocks, 256, 256 * sizeof(int)>>>(device, out, n);
    std::vector<int> parts(blocks);
    if (cudaMemcpy(parts.data(), out, blocks * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    long total = 0;
    for (int part : parts) total += part;
    if (total != expected) return printf("by a tree: %ld, not %ld\n", total, expected), 3;
    cudaFree(device);
    cudaFree(out);
    printf("sum %ld is right\n", expected);
    return 0;
}
