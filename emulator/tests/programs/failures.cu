// Launches that fail, each in its way: failures <case>. Afterwards the device works on: an error is told once.
#undef NDEBUG
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void write_behind(int *x, int n) { x[n + threadIdx.x] = 1; }
__global__ void write_odd(char *x) { *(int *)(x + 1) = 1; }
__global__ void wait_for_ever() {
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
}
__global__ void poll_for_ever(volatile int *x) {
    while (*x == 0) {
    }
}
__global__ void count_for_ever(int *x) {
    for (unsigned i = 1; i; i += 2) x[threadIdx.x] = i;
}
__global__ void both_write(int *x) { *x = blockIdx.x; }
__global__ void read_unwritten(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void stop_here() { __trap(); }
__global__ void asserts(const int *x) { assert(x[threadIdx.x] == 1); }
__global__ void needs_all_blocks(int *arrived, int blocks) {  // a barrier of a grid that is not cooperative
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < blocks) {
        }
    }
    __syncthreads();
}
__global__ void first(int *x) {
    asm volatile("griddepcontrol.launch_dependents;");
    x[threadIdx.x] = 3;
}
__global__ void second(const int *x, int *y, bool waits) {
    if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
    y[threadIdx.x] = x[threadIdx.x];
}

static void launch_second(const int *x, int *y, bool waits) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, second, x, y, waits);
}

int main(int argc, char **argv) {
    int *x, *y;
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const char *name = argc > 1 ? argv[1] : "";
    cudaMalloc(&x, 64 * sizeof(int));
    cudaMalloc(&y, 64 * sizeof(int));
    if (strcmp(name, "unwritten") != 0) cudaMemset(x, 0, 64 * sizeof(int));
    if (strcmp(name, "bounds") == 0) write_behind<<<1, 32>>>(x, 64);
    if (strcmp(name, "misaligned") == 0) write_odd<<<1, 1>>>((char *)x);
    if (strcmp(name, "deadlock") == 0) wait_for_ever<<<2, 64>>>();
    if (strcmp(name, "limit") == 0) count_for_ever<<<1, 32>>>(x);
    if (strcmp(name, "poll") == 0) poll_for_ever<<<1, 32>>>(x);
    if (strcmp(name, "race") == 0) both_write<<<2, 1>>>(x);
    if (strcmp(name, "unwritten") == 0) read_unwritten<<<1, 32>>>(x, y);
    if (strcmp(name, "trap") == 0) stop_here<<<1, 32>>>();
    if (strcmp(name, "assertion") == 0) asserts<<<1, 32>>>(x);
    if (strcmp(name, "resident") == 0) needs_all_blocks<<<100, 64>>>(x, 100);
    if (strcmp(name, "too_many") == 0) needs_all_blocks<<<device.multiProcessorCount * 32 + 1, 64>>>(x, 1 << 30);
    if (strncmp(name, "dependent", 9) == 0) {
        first<<<1, 64>>>(x);
        launch_second(x, y, strcmp(name, "dependent_waits") == 0);
    }
    if (cudaGetLastError() != cudaSuccess) return 3;
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    (void)cudaGetLastError();
    int value = 0;
    cudaMemset(x, 1, sizeof(int));
    if (cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess || value != 0x01010101) return 4;
    return error == cudaSuccess ? 0 : 1;
}
