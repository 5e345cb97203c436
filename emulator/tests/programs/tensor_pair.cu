// tcgen05 by pairs of blocks: both load their halves of A and B by TMA, which completes on the first block's mbarrier, whose
// thread issues one product over both; both read their rows. tensor_pair <case>: what breaks the rules.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { THREADS = 128, K = 16, N = 64, ROWS = 128, COLUMNS = 128, REPEATS = 3 };
enum Misuse { NONE, ONE_BLOCK, MIXED, NO_MULTICAST, PEER_EXITS, EARLY_DEALLOC, NOT_ALLOCATED, FOREIGN_BARRIER };
static const char *const misuses[] = {"none",       "one_block",     "mixed",         "no_multicast",
                                      "peer_exits", "early_dealloc", "not_allocated", "foreign_barrier"};

// So many rows of 8 of the 16 columns, from (column, row) on.
template <int group>
__device__ static void tma_load(void *to, const CUtensorMap *map, int column, int row, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::%5 [%0], [%1, {%2, "
        "%3}], "
        "[%4];" ::"r"(shared_address(to)),
        "l"(map), "r"(column), "r"(row), "r"(barrier), "n"(group)
        : "memory");
}
// The same with the group where CUTLASS has it.
template <int group>
__device__ static void tma_load_early(void *to, const CUtensorMap *map, int column, int row, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::%5.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], "
        "[%4];" ::"r"(shared_address(to)),
        "l"(map), "r"(column), "r"(row), "r"(barrier), "n"(group)
        : "memory");
}

__device__ static uint64_t descriptor(const void *p, uint64_t rows) {
    return (uint64_t)shared_address(p) >> 4 & 0x3fff | rows << 16 | 8ull << 32 | 1ull << 46;
}

__device__ static void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

template <int m, Misuse misuse>
__global__ void __cluster_dims__(misuse == ONE_BLOCK ? 1 : 2, 1, 1)
    product(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, uint32_t *out) {
    __shared__ __align__(1024) uint8_t a[ROWS * K * 2], b[N / 2 * K * 2];
    __shared__ uint64_t full, done;
    __shared__ uint32_t address;
    const uint32_t rank = blockIdx.x % 2, warp = threadIdx.x / 32, rows = m / 2;
    if (warp == 0 && !(misuse == NOT_ALLOCATED && rank == 1))
        asm volatile(
            "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&address)),
            "r"(COLUMNS)
            : "memory");
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 2);
        mbarrier_init(&done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    const uint32_t d = misuse == NOT_ALLOCATED ? 0 : address;
    for (int i = 0; i < REPEATS; i++) {
        if (threadIdx.x == 0) {
            const uint32_t first = shared_address(&full) & 0xfeffffff;  // the first block's
            constexpr int group = misuse == FOREIGN_BARRIER ? 1 : 2;
            asm volatile("mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%0], %1;" ::"r"(first),
                         "r"(rows * K * 2 + N / 2 * K * 2)
                         : "memory");
            for (int half = 0; half < 2; half++) {
                tma_load<group>(a + half * rows * 16, &a_map, K * i + 8 * half, rank * rows, first);
                tma_load_early<group>(b + half * N / 2 * 16, &b_map, K * i + 8 * half, rank * N / 2, first);
            }
        }
        if (misuse == PEER_EXITS && rank == 1) return;
        if (threadIdx.x == 0 && rank == 0) {
            mbarrier_wait(&full, i & 1);
            const uint32_t instruction = 1 << 4 | N / 8 << 17 | m / 16 << 24;  // fp32 of fp16
            asm volatile(
                "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, "
                "{%5, %5, %5, %5, %5, %5, %5, %5}, p; }" ::"r"(d),
                "l"(descriptor(a, rows)), "l"(descriptor(b, N / 2)), "r"(instruction), "r"(i), "r"(0)
                : "memory");
            const uint16_t both = misuse == NO_MULTICAST ? 1 : 3;
            if (misuse == MIXED)
                tcgen05_commit(&done);
            else
                asm volatile(
                    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], "
                    "%1;" ::"r"(shared_address(&done)),
                    "h"(both)
                    : "memory");
        }
        if (misuse == EARLY_DEALLOC && rank == 1 && warp == 0)
            asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(d), "r"(COLUMNS) : "memory");
        mbarrier_wait(&done, i & 1);
        tcgen05_fence_after();
    }
    for (uint32_t column = 0; column < (m == 128 ? N / 2 : N); column++) {
        const uint32_t x = tcgen05_ld(d + (warp * 32 << 16) + column);
        tcgen05_wait_ld();
        out[(rank * N + column) * THREADS + threadIdx.x] = x;
    }
    cluster_sync();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(d), "r"(COLUMNS) : "memory");
}

static uint16_t a[256][REPEATS * K], b[N][REPEATS * K];
static int x[256][REPEATS * K], y[N][REPEATS * K];
static uint32_t out[2 * N * THREADS], *device_out;

static uint16_t half_of(int value) {  // -3 to 3
    static const uint16_t codes[] = {0, 0x3c00, 0x4000, 0x4200};
    return codes[abs(value)] | (value < 0 ? 0x8000 : 0);
}

static CUtensorMap map_of(const uint16_t *from, int rows, int box) {
    uint16_t *memory;
    const size_t bytes = (size_t)rows * REPEATS * K * 2;
    cudaMalloc(&memory, bytes);
    cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice);
    CUtensorMap map;
    const cuuint64_t sizes[] = {REPEATS * K, (cuuint64_t)rows}, strides[] = {REPEATS * K * 2};
    const cuuint32_t boxes[] = {8, (cuuint32_t)box}, ones[] = {1, 1};
    cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, memory, sizes, strides, boxes, ones,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return map;
}

template <int m, Misuse misuse>
static cudaError_t run() {
    const CUtensorMap a_map = map_of(a[0], m, m / 2), b_map = map_of(b[0], N, N / 2);
    product<m, misuse><<<2, THREADS>>>(a_map, b_map, device_out);
    const cudaError_t error = cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
    if (misuse != NONE) printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return error;
}

template <int m>
static bool right() {
    const cudaError_t error = run<m, NONE>();
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < N; column++) {
            const bool second = m == 128 && column >= N / 2;  // of 128 rows: its columns lie in lanes 64 and up
            const int block = row / (m / 2), lane = row % (m / 2) + (second ? 64 : 0),
                      at = second ? column - N / 2 : column;
            float sum = 0, found;
            for (int k = 0; k < REPEATS * K; k++) sum += (float)(x[row][k] * y[column][k]);
            memcpy(&found, &out[(block * N + at) * THREADS + lane], 4);
            if (found != sum)
                return printf("%d rows: row %d, column %d is %g, not %g\n", m, row, column, found, sum), false;
        }
    return true;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof misuses / sizeof misuses[0]); i++)
        if (strcmp(name, misuses[i]) == 0) misuse = i;
    for (int k = 0; k < REPEATS * K; k++) {
        for (int row = 0; row < 256; row++) a[row][k] = half_of(x[row][k] = rand() % 7 - 3);
        for (int row = 0; row < N; row++) b[row][k] = half_of(y[row][k] = rand() % 7 - 3);
    }
    cudaMalloc(&device_out, sizeof out);
    cudaMemset(device_out, 0, sizeof out);
    switch (misuse) {
        case ONE_BLOCK: return run<256, ONE_BLOCK>();
        case MIXED: return run<256, MIXED>();
        case NO_MULTICAST: return run<256, NO_MULTICAST>();
        case PEER_EXITS: return run<256, PEER_EXITS>();
        case EARLY_DEALLOC: return run<256, EARLY_DEALLOC>();
        case NOT_ALLOCATED: return run<256, NOT_ALLOCATED>();
        case FOREIGN_BARRIER: return run<256, FOREIGN_BARRIER>();
        default: break;
    }
    if (!right<256>()) return 1;
    if (!right<128>()) return 2;
    printf("products of pairs are right\n");
    return 0;
}
