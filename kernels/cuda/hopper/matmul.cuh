/* The pipeline that every product of large matrices here runs through: C[m, n] = A[m, k] B[k, n], tile by tile.
 *
 *   producer     one thread of the first warpgroup keeps `Stages` slices of K of A's and B's tile on their way (TMA)
 *   consumers    two warpgroups, each the sums of half of the tile's rows in registers (wgmma)
 *   epilogue     what becomes of a tile of sums: see epilogue.cuh
 *
 * full[s] counts the bytes of stage s as they arrive; empty[s] counts the warpgroups that have read it. The blocks of a
 * cluster, CM x CN neighbouring tiles, share operands: each loads a part of A's tile for the CN blocks of its row and
 * of B's for the CM blocks of its column, so a stage may be overwritten when the readers of all of these are done.
 *
 * The grid is as large as the GPU and every block takes tile after tile; while consumers finish one, the producer is
 * stages ahead in the next. Tiles come in bands of rows, so that those under way share their operands in the second
 * level cache.
 *
 * Shapes with PromoteEvery > 0 sum in two steps: tensor cores round towards zero each time they add, so a long sum
 * drifts; after so many slices their sum is added to another in fp32. Products of split operands (split.cuh) ask for
 * it. Of these a stage has high and low halves of both, and what is multiplied with what is a matter of the tensor
 * cores alone: high low, low high, high high. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_MATMUL_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_MATMUL_CUH

#include "cuda/hopper/order.h"
#include "cuda/hopper/ptx.cuh"
#include "cuda/hopper/wgmma.cuh"
#include "cuda/overlap.cuh"

namespace ridge::hopper {

/* Lines of an operand's tile that each of so many blocks loads: whole groups of eight, so that the last block's may
 * overlap those of the one before. */
constexpr int lines_of_peer(int lines, int peers) { return (lines / peers + 7) / 8 * 8; }

/* Tile: M x N sums a block, K: 128 bytes. KA, KB: whether K runs along the lines of A and B in memory. Split: of high
 * and low halves. */
template <typename Type, int BN, int StageCount, int ClusterM, int ClusterN, bool KMajorA = true, bool KMajorB = true,
          int PromoteEvery = 0, bool Split = false>
struct matmul_shape {
    using T = Type;
    static constexpr int M = 128, N = BN, K = 128 / (int)sizeof(T), stages = StageCount;
    static constexpr int CM = ClusterM, CN = ClusterN, cluster = CM * CN;
    static constexpr bool KA = KMajorA, KB = KMajorB;
    static constexpr int promote = PromoteEvery, parts = Split ? 2 : 1;
    static constexpr int a_bytes = M * 128, b_bytes = N * 128, stage_bytes = parts * (a_bytes + b_bytes);
    static constexpr int groups = 2, threads = 128 * (groups + 1), sums = N / 2;
    static constexpr int line = K; /* 128 bytes, along K or not */
    /* Boxes of the tensor maps are lines of 128 bytes. */
    static constexpr int a_box = lines_of_peer(KA ? M : K, CN), b_box = lines_of_peer(KB ? N : K, CM);
    static constexpr int a_lines = KA ? a_box * CN : M, b_lines = KB ? b_box * CM : N;
    static constexpr int arriving_bytes = parts * 128 * (a_lines + b_lines);
    static_assert(b_box <= 256 && N % 8 == 0 && (KB || N % line == 0), "boxes and operands");
};

struct matmul_tile {
    int m, n;   /* first row and column of the block's tile */
    int part;   /* tiles of one part follow each other in one block */
    bool opens; /* the first of its part */
};

/* The product: extents in tiles and slices of K. */
struct matmul_plan {
    int m_tiles, n_tiles, slices;
    int low;             /* split operands: from a slice of high halves to that of low ones */
    int band;            /* rows of clusters that go together, through all columns of */
    int panel;           /* a panel: so many of them; 0: one panel of all */
    int run;             /* neighbouring tiles of columns that one block has one after the other */
    bool keep_a, keep_b; /* operands that many tiles to come will want from the second-level cache */
    unsigned *progress;  /* NULL, or zero in memory: blocks stay within a few slices of each other, see `keep_pace` */
};

/* A block's tiles, one after the other; what is the same for all is computed anew rather than kept in registers. */
template <class S>
struct matmul_schedule {
    const matmul_plan &plan;
    int rank, unit, of_run;

    __device__ matmul_schedule(const matmul_plan &p, int rank_in_cluster)
        : plan(p), rank(rank_in_cluster), unit((int)blockIdx.x / S::cluster), of_run(0) {}
    __device__ int rows(void) const { return (plan.m_tiles + S::CM - 1) / S::CM; }
    __device__ int columns(void) const { return (plan.n_tiles + S::CN - 1) / S::CN; }
    __device__ int units(void) const { return (columns() + plan.run - 1) / plan.run; }
    __device__ bool more(void) const { return unit < rows() * units(); }
    __device__ void next(void) {
        if (++of_run == plan.run) of_run = 0, unit += (int)gridDim.x / S::cluster;
    }
    __device__ matmul_tile tile(void) const {
        const matmul_place at = matmul_place_of(unit, rows(), units(), plan.band, plan.panel);
        const int row = at.row, part = at.unit, column = part * plan.run + of_run;
        return {(row * S::CM + rank % S::CM) * S::M, (column * S::CN + rank / S::CM) * S::N, part, of_run == 0};
    }
    /* The last unit of a row may have fewer tiles than others. */
    __device__ bool exists(const matmul_tile &tile) const { return tile.n < (columns() * S::CN) * S::N; }
    /* Tiles that this block has in waves in which all blocks have one. */
    __device__ int whole_waves(void) const {
        return columns() % plan.run ? 0 : rows() * units() / ((int)gridDim.x / S::cluster) * plan.run;
    }
};

/* A place in the ring of stages. */
template <int Stages>
struct ring {
    int stage = 0, phase = 0;
    __device__ void next(void) {
        if (++stage == Stages) stage = 0, phase ^= 1;
    }
};

template <class S>
struct matmul_memory {
    uint32_t base, barriers;
    __device__ uint32_t a(int stage) const { return base + stage * S::stage_bytes; }
    __device__ uint32_t b(int stage) const { return a(stage) + S::parts * S::a_bytes; }
    __device__ uint32_t full(int stage) const { return barriers + 8 * stage; }
    __device__ uint32_t empty(int stage) const { return barriers + 8 * (S::stages + stage); }
};

/* This block's part of an operand's tile, for `Peers` blocks; first: the tile's first row (column of B). */
template <class S, int Extent, bool KMajor, int Peers>
__device__ inline void load_operand(uint32_t to, const CUtensorMap *map, uint32_t barrier, int first, int k, int part,
                                    uint16_t blocks, uint64_t policy) {
    constexpr int whole = KMajor ? Extent : S::K, lines = lines_of_peer(whole, Peers);
    const int line = whole % (8 * Peers) ? min(part * lines, whole - lines) : part * lines;
#pragma unroll
    for (int chunk = 0; chunk < (KMajor ? 1 : Extent / S::line); chunk++) {
        const uint32_t at = to + (uint32_t)(chunk * S::K * 128 + line * 128);
        const int c0 = KMajor ? k : first + chunk * S::line, c1 = (KMajor ? first : k) + line;
        if constexpr (Peers > 1)
            copy_tile_to(at, map, barrier, c0, c1, blocks, policy);
        else
            copy_tile(at, map, barrier, c0, c1, policy);
    }
}

/* Blocks that read the same lines must do so at about the same time, or memory has to bring them again. Left alone they
 * drift apart, tile by tile. So each counts itself at every eighth slice, and waits there for the last one to have been
 * at the one before. Only in waves that all blocks take part in. */
constexpr int PACE = 8;
__device__ inline void keep_pace(unsigned *progress, unsigned milestone) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(progress) : "memory");
    const unsigned all = (milestone - 1) * gridDim.x;
    unsigned seen;
    do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(progress) : "memory");
    while (seen < all);
}

template <class S>
__device__ inline void produce(const CUtensorMap *a_map, const CUtensorMap *b_map, const matmul_plan &plan,
                               const matmul_memory<S> &memory, int rank) {
    matmul_schedule<S> schedule(plan, rank);
    const int block_m = rank % S::CM, block_n = rank / S::CM;
    uint16_t row = 0, column = 0; /* the blocks that share this one's rows, and its columns */
    for (int n = 0; n < S::CN; n++) row |= (uint16_t)(1 << (block_m + n * S::CM));
    for (int m = 0; m < S::CM; m++) column |= (uint16_t)(1 << (m + block_n * S::CM));
    const uint64_t a_policy = copy_policy(plan.keep_a), b_policy = copy_policy(plan.keep_b);
    ring<S::stages> at;
    unsigned slice = 0;
    const unsigned paced = plan.progress ? (unsigned)(schedule.whole_waves() * plan.slices) : 0;
    for (; schedule.more(); schedule.next()) {
        const matmul_tile tile = schedule.tile();
        if (!schedule.exists(tile)) continue;
        for (int k = 0; k < plan.slices; k++, at.next()) {
            if (slice < paced && ++slice % PACE == 0) keep_pace(plan.progress, slice / PACE);
            barrier_wait(memory.empty(at.stage), at.phase ^ 1);
            barrier_expect(memory.full(at.stage), S::arriving_bytes);
#pragma unroll
            for (int part = 0; part < S::parts; part++) {
                const int from = (k + part * plan.low) * S::K;
                load_operand<S, S::M, S::KA, S::CN>(memory.a(at.stage) + (uint32_t)(part * S::a_bytes), a_map,
                                                    memory.full(at.stage), tile.m, from, block_n, row, a_policy);
                load_operand<S, S::N, S::KB, S::CM>(memory.b(at.stage) + (uint32_t)(part * S::b_bytes), b_map,
                                                    memory.full(at.stage), tile.n, from, block_m, column, b_policy);
            }
        }
    }
}

/* Tells the producers that write into this stage that a warpgroup has read it. */
template <class S>
__device__ inline void release(uint32_t empty, int rank) {
    const int thread = (int)threadIdx.x % 128;
    if constexpr (S::cluster == 1) {
        if (thread == 0) barrier_arrive(empty, 0);
    } else {
        const bool shares = thread % S::CM == rank % S::CM || thread / S::CM == rank / S::CM;
        if (thread < S::cluster && shares) barrier_arrive(empty, thread);
    }
}

template <class S>
__device__ inline void multiply_stage(float (&sums)[S::sums], const matmul_memory<S> &memory, int stage, int group,
                                      int accumulate) {
    /* The rows of a group: 64 lines, or the 64 elements of one chunk. */
    const uint64_t a = wgmma_operand(memory.a(stage) + (uint32_t)(group * 64 * 128), S::K * 128);
    const uint64_t b = wgmma_operand(memory.b(stage), S::K * 128);
    const auto product = [&](uint64_t left, uint64_t right, int first) {
#pragma unroll
        for (int s = 0; s < 4; s++)
            wgmma<typename S::T, S::N, S::KA, S::KB>(sums, left + s * wgmma_step<S::KA>, right + s * wgmma_step<S::KB>,
                                                     s > 0 ? 1 : first);
    };
    wgmma_begin();
    if constexpr (S::parts == 2) {
        const uint64_t a_low = a + (S::a_bytes >> 4), b_low = b + (S::b_bytes >> 4);
        product(a, b_low, accumulate); /* what is small comes first */
        product(a_low, b, 1);
        product(a, b, 1);
    } else {
        product(a, b, accumulate);
    }
    wgmma_commit();
}

/* All slices of one tile, summed in the tensor cores' registers. */
template <class S>
__device__ inline void multiply_tile(float (&sums)[S::sums], const matmul_memory<S> &memory, ring<S::stages> &at,
                                     int slices, int group, int rank) {
    int before = 0;
    for (int k = 0; k < slices; k++, at.next()) {
        barrier_wait(memory.full(at.stage), at.phase);
        multiply_stage<S>(sums, memory, at.stage, group, k > 0);
        wgmma_wait<1>();
        if (k > 0) release<S>(memory.empty(before), rank);
        before = at.stage;
    }
    wgmma_wait<0>();
    wgmma_settle(sums);
    release<S>(memory.empty(before), rank);
}

/* The same in two steps: see the head of this file. */
template <class S>
__device__ inline void multiply_tile_promoted(float (&total)[S::sums], const matmul_memory<S> &memory,
                                              ring<S::stages> &at, int slices, int group, int rank) {
    float sums[S::sums];
#pragma unroll
    for (int i = 0; i < S::sums; i++) total[i] = 0.0f;
    for (int begin = 0; begin < slices; begin += S::promote) {
        multiply_tile<S>(sums, memory, at, min(S::promote, slices - begin), group, rank);
#pragma unroll
        for (int i = 0; i < S::sums; i++) total[i] += sums[i];
    }
}

template <class S, class Epilogue>
constexpr int matmul_shared_bytes = S::stages *(S::stage_bytes + 16) + S::groups *Epilogue::scratch;

template <class S, class Epilogue>
__global__ void __launch_bounds__(S::threads, 1)
    matmul_kernel(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
                  const __grid_constant__ matmul_plan plan, const __grid_constant__ Epilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    static_assert(Epilogue::scratch % 1024 == 0 && matmul_shared_bytes<S, Epilogue> <= 227 * 1024, "shared memory");
    extern __shared__ __align__(1024) uint8_t matmul_shared[]; /* the swizzle's pattern begins at multiples of 1024 */
    const uint32_t scratch = shared_address(matmul_shared) + S::stages * S::stage_bytes;
    const matmul_memory<S> memory = {shared_address(matmul_shared), scratch + S::groups * Epilogue::scratch};
    const int rank = S::cluster > 1 ? cluster_rank() : 0, group = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 0) {
        prefetch_map(&a_map), prefetch_map(&b_map);
        for (int s = 0; s < S::stages; s++) {
            barrier_init(memory.full(s), 1);
            barrier_init(memory.empty(s), S::groups * (S::CM + S::CN - 1));
        }
        barrier_init_fence();
    }
    if (group >= 0) epilogue.prepare(scratch + (uint32_t)(group * Epilogue::scratch));
    if constexpr (S::cluster > 1)
        cluster_sync();
    else
        __syncthreads();
    after_previous_launch();
    if (group < 0) {
        registers_give<56>();
        if (threadIdx.x == 0) produce<S>(&a_map, &b_map, plan, memory, rank);
    } else {
        registers_take<224>();
        ring<S::stages> at;
        for (matmul_schedule<S> schedule(plan, rank); schedule.more(); schedule.next()) {
            const matmul_tile tile = schedule.tile();
            if (!schedule.exists(tile)) continue;
            float sums[S::sums];
            const auto state = epilogue.begin(tile, group);
            if constexpr (S::promote > 0)
                multiply_tile_promoted<S>(sums, memory, at, plan.slices, group, rank);
            else
                multiply_tile<S>(sums, memory, at, plan.slices, group, rank);
            epilogue.finish(tile, state, sums, scratch + (uint32_t)(group * Epilogue::scratch), group);
        }
        epilogue.end();
    }
    if constexpr (S::cluster > 1) cluster_sync(); /* nobody leaves while others may still write here */
#endif
}

}  // namespace ridge::hopper

#endif
