/* A chain of launches, each of which begins while the one before still runs. The first is one block that takes long,
 * with the next one's blocks waiting beside it; in the others all blocks meet. Prints what it found; exit status 0:
 * right. */
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { BLOCKS = 300, THREADS = 64, LAUNCHES = 6 };

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t error = (call);                                        \
        if (error != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            exit(2);                                                       \
        }                                                                  \
    } while (0)

/* A long way to values[i] & 0xff. */
__global__ void prepare(int *values, int n) {
    asm volatile("griddepcontrol.launch_dependents;");
    for (int i = threadIdx.x; i < n; i += THREADS) {
        unsigned x = values[i];
        for (int k = 0; k < 640; k++) x = x >> 1 | x << 31;
        values[i] = x & 0xff;
    }
}

/* next[i] = sum of all before + i; the last block to arrive tells the others the sum. */
__global__ void step(const int *before, int *next, int *arrived, int *sum) {
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * THREADS + threadIdx.x, mine = before[i];
    atomicAdd(sum, mine);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < (int)gridDim.x) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
    next[i] = (atomicAdd(sum, 0) + i) & 0xffff;
}

int main() {
    const int n = BLOCKS * THREADS;
    int *values, *counters;
    CHECK(cudaMalloc(&values, 2 * n * sizeof(int)));
    CHECK(cudaMalloc(&counters, 2 * LAUNCHES * sizeof(int)));
    CHECK(cudaMemset(counters, 0, 2 * LAUNCHES * sizeof(int)));
    std::vector<int> host(n);
    for (int i = 0; i < n; i++) host[i] = rand();
    CHECK(cudaMemcpy(values, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    prepare<<<1, THREADS, 0, stream>>>(values, n);
    for (int k = 0; k < LAUNCHES; k++) {
        cudaLaunchAttribute overlap = {};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = BLOCKS, config.blockDim = THREADS, config.stream = stream;
        config.attrs = &overlap, config.numAttrs = 1;
        CHECK(cudaLaunchKernelEx(&config, step, (const int *)values + k % 2 * n, values + (k + 1) % 2 * n,
                                 counters + 2 * k, counters + 2 * k + 1));
    }
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> got(n);
    CHECK(cudaMemcpy(got.data(), values + LAUNCHES % 2 * n, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int &x : host) x &= 0xff;
    for (int k = 0; k < LAUNCHES; k++) {
        unsigned sum = 0;
        for (int x : host) sum += (unsigned)x;
        for (int i = 0; i < n; i++) host[i] = (int)((sum + (unsigned)i) & 0xffff);
    }
    for (int i = 0; i < n; i++)
        if (got[i] != host[i]) return printf("element %d is %d, not %d\n", i, got[i], host[i]), 1;
    printf("%d elements are right\n", n);
    return 0;
}
