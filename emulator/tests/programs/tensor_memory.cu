// Tensor memory: allocation, loads and stores of all shapes, and what breaks their rules: tensor_memory <case>. Without a
// case everything is right, and the values are checked.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { COLUMNS = 64, THREADS = 128 };

// Column c of lane l holds 1000 l + c.
__device__ static void fill(uint32_t base) {
    const uint32_t quarter = threadIdx.x / 32 * 32;
    for (uint32_t column = 0; column < COLUMNS; column++)
        tcgen05_st(base + (quarter << 16) + column, 1000 * threadIdx.x + column);
    tcgen05_wait_st();
}

enum Misuse {
    NONE,
    EARLY,
    UNALLOCATED,
    QUARTER,
    NO_STORE_WAIT,
    LEAK,
    POWER,
    GROWS,
    AFTER_RELINQUISH,
    EARLY_DEALLOC,
    UNWRITTEN,
    TWICE
};

__global__ void columns(uint32_t *out, Misuse misuse) {
    __shared__ uint32_t address, other;
    const uint32_t warp = threadIdx.x / 32;
    if (warp == 0) {
        tcgen05_alloc(&address, misuse == POWER ? 48 : COLUMNS);
        if (misuse == GROWS) tcgen05_alloc(&other, 2 * COLUMNS);
        tcgen05_relinquish();
        if (misuse == AFTER_RELINQUISH) tcgen05_alloc(&other, COLUMNS);
    }
    __syncthreads();
    const uint32_t base = address;
    uint32_t mine = base + (warp * 32 << 16);
    if (misuse != UNWRITTEN) fill(base);
    if (misuse == QUARTER) mine = base + ((warp + 1) % 4 * 32 << 16);
    if (misuse == UNALLOCATED) mine += COLUMNS;
    if (misuse == NO_STORE_WAIT) tcgen05_st(mine + 5, 7);
    uint32_t x = tcgen05_ld(mine + 5);
    if (misuse == EARLY) asm volatile("add.u32 %0, %0, 1;" : "+r"(x));
    tcgen05_wait_ld();
    out[threadIdx.x] = x;
    if (misuse != EARLY_DEALLOC) __syncthreads();
    if (warp == 0 && misuse != LEAK) tcgen05_dealloc(base, COLUMNS);
    if (warp == 0 && misuse == TWICE) tcgen05_dealloc(base, COLUMNS);
}

// Warp 0 stores, and warp 4, of the same quarter, loads: with the fences around the barrier or without one of them.
__global__ void handed_over(uint32_t *out, bool before, bool after) {
    __shared__ uint32_t address;
    const uint32_t warp = threadIdx.x / 32;
    if (warp == 0) tcgen05_alloc(&address, 32);
    __syncthreads();
    if (warp == 0) {
        tcgen05_st(address, threadIdx.x);
        tcgen05_wait_st();
        if (before) tcgen05_fence_before();
    }
    __syncthreads();
    if (warp == 4) {
        if (after) tcgen05_fence_after();
        const uint32_t x = tcgen05_ld(address);
        tcgen05_wait_ld();
        out[threadIdx.x % 32] = x;
    }
    __syncthreads();
    if (warp == 0) tcgen05_dealloc(address, 32);
}

// Each shape's registers of one warp, as they come. Quarter 0.
__global__ void shapes(uint32_t *out) {
    __shared__ uint32_t address;
    if (threadIdx.x < 32) tcgen05_alloc(&address, COLUMNS);
    __syncthreads();
    fill(address);
    if (threadIdx.x < 32) {
        uint32_t x[16];
        asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(address));
        asm volatile("tcgen05.ld.sync.aligned.16x128b.x1.b32 {%0, %1}, [%2];"
                     : "=r"(x[2]), "=r"(x[3])
                     : "r"(address + (16 << 16)));
        asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])
                     : "r"(address + 8));
        asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0, %1}, [%2], 32;"
                     : "=r"(x[8]), "=r"(x[9])
                     : "r"(address));
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%0, %1}, [%2];"
                     : "=r"(x[10]), "=r"(x[11])
                     : "r"(address));
        tcgen05_wait_ld();
        asm volatile("tcgen05.st.sync.aligned.16x64b.x1.unpack::16b.b32 [%0], {%1};" ::"r"(address + 16),
                     "r"(threadIdx.x << 16 | 77));
        tcgen05_wait_st();
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[12]), "=r"(x[13]), "=r"(x[14]), "=r"(x[15])
                     : "r"(address + 16));
        tcgen05_wait_ld();
        for (int i = 0; i < 16; i++) out[threadIdx.x * 16 + i] = x[i];
    }
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc(address, COLUMNS);
}

__global__ void refused(uint32_t address) {  // what the emulator does not know yet is told by name
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %0, 0; tcgen05.mma.cta_group::1.kind::f16.ashift [%0], [%0], %1, %0, p; }" ::"r"(
            address),
        "l"(0ull)
        : "memory");
}

static uint32_t cell(uint32_t lane, uint32_t column) { return 1000 * lane + column; }

static int wrong_shape(const uint32_t *x, uint32_t t) {
    const uint32_t low = (t >> 2) + 8 * (t & 1), g = t >> 2;
    const uint32_t due[12] = {cell(low, t >> 1 & 1),
                              cell(low, 2 + (t >> 1 & 1)),
                              cell(16 + g, t & 3),
                              cell(16 + g + 8, t & 3),
                              cell(g, 8 + 2 * (t & 3)),
                              cell(g, 8 + 2 * (t & 3) + 1),
                              cell(g + 8, 8 + 2 * (t & 3)),
                              cell(g + 8, 8 + 2 * (t & 3) + 1),
                              cell(t & 15, t < 16 ? 0 : 32),
                              cell(t & 15, t < 16 ? 1 : 33),
                              (cell(t, 0) & 0xffff) | cell(t, 1) << 16,
                              (cell(t, 2) & 0xffff) | cell(t, 3) << 16};
    for (int i = 0; i < 12; i++)
        if (x[i] != due[i]) return i + 1;
    for (uint32_t c = 0; c < 4; c++) {  // unpacked: thread 4 (l % 8) + l / 8 + 2 (c / 2) has lane l and columns c
        const uint32_t from = 4 * (t % 8) + t / 8 + 2 * (c / 2);
        if (x[12 + c] != (t >= 16 ? cell(t, 16 + c) : c % 2 ? from : 77)) return 13 + (int)c;
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"none",  "early", "unallocated", "quarter",       "no_store_wait", "leak",
                                        "power", "grows", "permit",      "early_dealloc", "unwritten",     "twice"};
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(name, names[i]) == 0) misuse = i;
    uint32_t *out;
    static uint32_t x[32 * 16];
    cudaMalloc(&out, sizeof x);
    if (strcmp(name, "refused") == 0) {
        refused<<<1, 32>>>(0);
        const cudaError_t why = cudaGetLastError();
        return printf("%s (%s)\n", cudaGetErrorName(why), cudaGetErrorString(why)), 1;
    }
    if (strcmp(name, "no_before") == 0 || strcmp(name, "no_after") == 0 || misuse == NONE)
        handed_over<<<1, 160>>>(out, strcmp(name, "no_before") != 0, strcmp(name, "no_after") != 0);
    else
        columns<<<1, THREADS>>>(out, (Misuse)misuse);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    if (misuse != NONE || error != cudaSuccess) return error != cudaSuccess;
    columns<<<1, THREADS>>>(out, NONE);
    if (cudaMemcpy(x, out, THREADS * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    for (uint32_t t = 0; t < THREADS; t++)
        if (x[t] != cell(t, 5)) return printf("thread %u has %u\n", t, x[t]), 3;
    shapes<<<1, THREADS>>>(out);
    if (cudaMemcpy(x, out, sizeof x, cudaMemcpyDeviceToHost) != cudaSuccess) return 4;
    for (uint32_t t = 0; t < 32; t++)
        if (int i = wrong_shape(x + 16 * t, t))
            return printf("thread %u: register %d is %u\n", t, i - 1, x[16 * t + i - 1]), 5;
    printf("all shapes are right\n");
    return 0;
}
