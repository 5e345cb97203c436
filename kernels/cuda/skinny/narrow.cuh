/* p = softmax(x w + b) for few classes in one launch: the depth is split among the blocks of a cluster.
 *
 * At 1024 x 1024 x 100 the output has too few tiles to fill the GPU, and loading operands costs as much as multiplying
 * them. So S blocks have one tile of BM rows and all classes together, each a part of the depth:
 *
 *   stages of KC columns of x and KC rows of w come to shared memory by asynchronous copies, several in flight;
 *   WM x WN x WK warps multiply them on the tensor cores, in three products of tf32 (below);
 *   sums go to the block that owns their rows, by asynchronous copies to its shared memory that a barrier there counts:
 *   one wait, no atomics, and the owner adds all parts in one order, the same at every run;
 *   the owner adds the bias, takes the softmax and writes its BM / S rows.
 *
 * fp32 from tf32. An operand is hi + lo, hi its nearest tf32 (11 bits), lo the difference (exact, of 12 bits, of which
 * the tensor core takes 11). x w = lo hi + hi lo + hi hi + O(2^-22). Tensor cores truncate as they add: so a chain of
 * products is short (two steps of 8, the small ones first), and chains are added by the ordinary adders, which round to
 * nearest. An infinity has no lo (inf - inf), and where a sum is not finite, for this or any other reason, the warp
 * does its products again, one multiply-add after another, as fp32 would have it. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_NARROW_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_NARROW_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/mma/ffma.cuh"
#include "cuda/mma/tf32x3.cuh"
#include "cuda/pipe/cluster_sums.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/skinny/rows_of_logits.cuh"

namespace ridge {

/* Rows x Columns floats, rows Pitch apart in shared memory, 16 bytes at a time; of rows that are not there the last
 * one, of columns nothing. (TMA takes some 60 cycles a row.) */
template <int Rows, int Columns, int Pitch, int Threads>
__device__ inline void linear_fetch_rows(float *to, const float *from, int64_t stride, int rows, int columns) {
    constexpr int pieces = Columns / 4, step = Threads / pieces;
    static_assert(Threads % pieces == 0, "whole rows at a time");
    const int first = (int)threadIdx.x / pieces, c = (int)threadIdx.x % pieces * 4;
    if (c >= columns) return;
    const unsigned shared = shared_address(to + first * Pitch + c);
#pragma unroll
    for (int k = 0; k < (Rows + step - 1) / step; k++) {
        const int r = first + k * step;
        if (Rows % step != 0 && r >= Rows) break;
        cp_async_16(shared + 4 * k * step * Pitch, from + (r < rows ? r : rows - 1) * stride + c);
    }
}

/* Rows x columns floats of a matrix to shared memory, element by element, rows `pitch` apart; zeros for what is not
 * there. */
template <int Rows, int Columns, int Threads>
__device__ inline void linear_fetch(float *to, int pitch, const float *from, int64_t stride, int rows, int columns) {
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < Rows * Columns; e += Threads) {
        const int r = e / Columns, c = e % Columns;
        const bool present = r < rows && c < columns;
        cp_async_4_if(shared_address(to + r * pitch + c), present ? from + r * stride + c : from, present);
    }
}

/* How the kernel is cut up. */
struct narrow_tuning {
    int tiles;                     /* of 8 classes */
    int rows, split;               /* rows and blocks of a cluster */
    int warps_m, warps_n, warps_k; /* warps along rows, classes, depth */
    int chunk, stages;             /* steps of the depth in a stage; stages */
};
template <narrow_tuning Tuned, bool Bulk, bool Trans>
struct linear_shape {
    static constexpr int NT = Tuned.tiles, BM = Tuned.rows, S = Tuned.split;
    static constexpr int WM = Tuned.warps_m, WN = Tuned.warps_n, WK = Tuned.warps_k;
    static constexpr int KC = Tuned.chunk, stages = Tuned.stages;
    static constexpr bool bulk = Bulk;   /* whole rows by TMA: see skinny_facts.pieces */
    static constexpr bool trans = Trans; /* of w, classes are rows: [classes, depth] */

    static constexpr int threads = 32 * WM * WN * WK;
    static constexpr int columns = 8 * NT;
    static constexpr int MT = BM / 16 / WM, N = (NT + WN - 1) / WN; /* a warp's tiles; the last may be beyond the end */
    static constexpr int owned = BM / S;
    /* Pitches by which the lanes of a fragment fall into different banks. A bulk copy of w leaves its rows as they are.
     */
    static constexpr int x_pitch = KC + 8, w_pitch = Trans ? KC + 8 : columns + 4;
    static constexpr int x_floats = BM * x_pitch, w_floats = (Trans ? 8 * N * WN : KC) * w_pitch + 16;
    static constexpr int stage_floats = x_floats + w_floats;
    static constexpr int parts = S * WK; /* sums that make up an element */
    static constexpr int part_floats = owned * columns;
    static constexpr int bytes = 4 * (stages * stage_floats + parts * part_floats * (S > 1 ? 2 : 1)) + 8 * (stages + 1);
    /* Of clusters no more than two blocks an SM: else those of the next launch crowd in with these. */
    static constexpr int reserved = S > 1 && bytes < 100 * 1024 ? 100 * 1024 : bytes;
    static_assert(BM % (16 * WM) == 0 && BM % S == 0 && KC % (16 * WK) == 0, "whole tiles");
    static_assert(x_floats % 4 == 0 && w_floats % 4 == 0 && part_floats % 4 == 0,
                  "copies begin at multiples of 16 bytes");
};

/* TMA or a cluster. */
template <typename L>
constexpr bool narrow_needs_sm90 = L::bulk || L::S > 1;

/* `steps` columns of x and rows of w, from k on. */
template <typename L>
__device__ inline void linear_load(const linear_args &a, float *stage, uint64_t *barrier, int64_t row, int64_t k,
                                   int steps) {
    const int rows = a.batch - row < L::BM ? (int)(a.batch - row) : L::BM, classes = (int)a.classes;
    float *w = stage + L::x_floats;
    const float *x_from = a.x + row * a.x_row + k, *w_from = a.w + k * a.w_depth;
    if constexpr (L::bulk) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(shared_address(barrier), L::trans ? 0 : 4 * steps * classes);
            if constexpr (!L::trans)
                cp_async_bulk(shared_address(w), w_from, 4 * steps * classes, shared_address(barrier));
        }
        linear_fetch_rows<L::BM, L::KC, L::x_pitch, L::threads>(stage, x_from, a.x_row, rows, steps);
        if constexpr (L::trans)
            linear_fetch_rows<L::columns, L::KC, L::w_pitch, L::threads>(w, w_from, a.w_class, classes, steps);
        cp_async_mbarrier_arrive_noinc(shared_address(barrier));
    } else {
        linear_fetch<L::BM, L::KC, L::threads>(stage, L::x_pitch, x_from, a.x_row, rows, steps);
        if constexpr (L::trans)
            linear_fetch<L::columns, L::KC, L::threads>(w, L::w_pitch, w_from, a.w_class, classes, steps);
        else
            linear_fetch<L::KC, L::columns, L::threads>(w, L::w_pitch, w_from, a.w_depth, steps, classes);
    }
    if constexpr (!L::bulk) cp_async_commit_group();
}

/* The sums of a warp again, by fp32 multiply-adds, straight from memory. */
template <typename L>
__device__ inline void linear_again(const linear_args &a, float *sums, int64_t row, int m0, int n0, int64_t k0,
                                    int64_t k_end, int wk) {
    for (int e = (int)threadIdx.x % 32; e < 16 * L::MT * 8 * L::N; e += 32) {
        const int r = m0 + e / (8 * L::N), c = 8 * n0 + e % (8 * L::N);
        if (row + r >= a.batch || c >= a.classes) {
            if (c < L::columns) sums[r * L::columns + c] = 0.0f; /* it may be sent to another block */
            continue;
        }
        const float *x = a.x + (row + r) * a.x_row, *w = a.w + c * a.w_class;
        float sum = 0.0f;
        for (int64_t k = k0 + 16 * wk; k < k_end; k += 16 * L::WK)
            sum = ffma_chain(sum, x + k, w + k * a.w_depth, a.w_depth, (int)min(k_end - k, (int64_t)16));
        sums[r * L::columns + c] = sum;
    }
}

/* ---- the kernel: block (tile of rows, part of the depth) of head blockIdx.y ---- */

/* What a block has: rows from `row` on, [k0, k_end) of the depth, in chunks. */
template <typename L>
struct narrow_place {
    int rank, chunks;
    int64_t row, k0, k_end;

    __device__ explicit narrow_place(const linear_args &a) {
        rank = L::S > 1 ? (int)blockIdx.x % L::S : 0;
        row = (int64_t)(blockIdx.x / L::S) * L::BM;
        const int64_t units = (a.depth + 15) / 16, next = (rank + 1) * units / L::S * 16;
        k0 = rank * units / L::S * 16, k_end = next < a.depth ? next : a.depth;
        chunks = (int)((k_end - k0 + L::KC - 1) / L::KC);
    }
    /* Of the depth in a chunk. */
    __device__ int steps(int chunk) const {
        const int64_t left = k_end - k0 - (int64_t)chunk * L::KC;
        return left < L::KC ? (int)left : L::KC;
    }
};
/* A warp's tiles: first row, first tile of classes, part of each chunk. Lane 4 g + t. */
template <typename L>
struct narrow_warp {
    int m0, n0, wk, g, t;

    __device__ narrow_warp(void) {
        const int warp = (int)threadIdx.x / 32;
        g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
        m0 = warp % L::WM * 16 * L::MT, n0 = warp / L::WM % L::WN * L::N, wk = warp / (L::WM * L::WN);
    }
    /* Whether a tile of classes is one of the block's. */
    __device__ bool has(int n) const { return L::N * L::WN == L::NT || n0 + n < L::NT; }
};

/* All chunks of the block's part of the depth, through the stages in `memory`; `here` counts what arrives at each. */
template <typename L, typename Load>
__device__ inline void narrow_multiply(const linear_args &a, const narrow_place<L> &at, const narrow_warp<L> &warp,
                                       float *memory, uint64_t *here, Load load, linear_sums<L> &sums) {
    const int w_pitch = L::bulk && !L::trans ? (int)a.classes : L::w_pitch;
    for (int c = 0, s = 0, phase = 0; c < at.chunks; c++) {
        if constexpr (L::bulk) {
            mbarrier_wait_parity_cluster(shared_address(&here[s]), phase);
        } else { /* one stage at a time is enough where loads are single elements */
            cp_async_wait_all();
            __syncthreads();
        }
        const float *x = memory + s * L::stage_floats + warp.m0 * L::x_pitch;
        const float *w =
            memory + s * L::stage_floats + L::x_floats + (L::trans ? 8 * warp.n0 * L::w_pitch : 8 * warp.n0);
        const int steps = at.steps(c);
        if constexpr (L::bulk && !L::trans)
            if (steps < L::KC) { /* the products also read behind the last row of w, for no class */
                if (threadIdx.x < 16)
                    memory[s * L::stage_floats + L::x_floats + steps * w_pitch + (int)threadIdx.x] = 0.0f;
                __syncthreads();
            }
#pragma unroll 1
        for (int k = 16 * warp.wk; k < steps; k += 16 * L::WK) {
            linear_operands<L> now;
            now.load(x + k, w + (L::trans ? k : k * w_pitch), w_pitch, warp.g, warp.t);
            now.multiply(sums);
        }
        if (c + L::stages < at.chunks) {
            __syncthreads();
            load(c + L::stages, s);
        }
        if (++s == L::stages) s = 0, phase ^= 1;
    }
}

/* A warp's sums to shared memory; where one of them is not finite, all of them again. */
template <typename L>
__device__ inline void narrow_store(const linear_args &a, const narrow_place<L> &at, const narrow_warp<L> &warp,
                                    linear_sums<L> &sums, float *mine) {
    float zero = 0.0f; /* but for infinities and NaN among the sums */
#pragma unroll
    for (int m = 0; m < L::MT; m++)
#pragma unroll
        for (int n = 0; n < L::N; n++) {
            if (!warp.has(n)) break; /* of no class: anything */
#pragma unroll
            for (int e = 0; e < 4; e++) zero = fmaf(sums.hi[m][n][e] = sums.at(m, n, e), 0.0f, zero);
        }
    if (__any_sync(0xffffffffu, zero != 0.0f)) {
        linear_again<L>(a, mine, at.row, warp.m0, warp.n0, at.k0, at.k_end, warp.wk);
        return;
    }
#pragma unroll
    for (int m = 0; m < L::MT; m++)
#pragma unroll
        for (int n = 0; n < L::N; n++) {
            if (!warp.has(n)) break;
            float *to = mine + (warp.m0 + 16 * m + warp.g) * L::columns + 8 * (warp.n0 + n) + 2 * warp.t;
            *(float2 *)to = make_float2(sums.hi[m][n][0], sums.hi[m][n][1]);
            *(float2 *)(to + 8 * L::columns) = make_float2(sums.hi[m][n][2], sums.hi[m][n][3]);
        }
}

template <typename L, typename Op>
__device__ inline void narrow_block(linear_args a, const Op &op) {
    extern __shared__ __align__(16) float linear_memory[];
    float *parts = linear_memory + L::stages * L::stage_floats;       /* what is received */
    float *sums = parts + (L::S > 1 ? L::parts * L::part_floats : 0); /* what is sent */
    uint64_t *here = (uint64_t *)(sums + L::parts * L::part_floats);
    const cluster_sums exchange(here + L::stages);
    const narrow_place<L> at(a);
    a.w += blockIdx.y * a.w_head, a.b += blockIdx.y * a.b_head, a.p += blockIdx.y * a.p_head;

    if constexpr (narrow_needs_sm90<L>) {
        if (threadIdx.x == 0) {
            for (int s = 0; s < L::stages; s++) mbarrier_init(shared_address(&here[s]), L::threads + 1);
            exchange.begin((L::S - 1) * L::WK * L::part_floats * 4);
        }
        __syncthreads();
        if constexpr (L::S > 1) barrier_cluster_arrive_relaxed();
    }
    if constexpr (L::bulk && !L::trans)
        if (threadIdx.x < 16 * L::stages)
            linear_memory[(threadIdx.x / 16 + 1) * L::stage_floats - L::w_floats + L::KC * (int)a.classes +
                          threadIdx.x % 16] = 0.0f;
    before_next_launch();
    const auto load = [&](int chunk, int s) {
        linear_load<L>(a, linear_memory + s * L::stage_floats, &here[s], at.row, at.k0 + (int64_t)chunk * L::KC,
                       at.steps(chunk));
    };
#pragma unroll 1
    for (int s = 0; s < L::stages && s < at.chunks; s++) load(s, s);
    const linear_rows<L, Op> rows(a, op, at.row + at.rank * L::owned);

    const narrow_warp<L> warp;
    linear_sums<L> acc;
    narrow_multiply(a, at, warp, linear_memory, here, load, acc);
    narrow_store(a, at, warp, acc, sums + warp.wk * L::BM * L::columns);
    if constexpr (L::S > 1) {
        fence_proxy_async();
        __syncthreads();
        exchange.started();
        const int part = (int)threadIdx.x, to = part % L::S;
        if (part < L::parts && to != at.rank)
            exchange.send(sums + part * L::part_floats, parts + (at.rank + part / L::S * L::S) * L::part_floats, to,
                          L::part_floats * 4);
        exchange.received();
    } else {
        __syncthreads();
    }
    const auto sum_of = [&](int part, int r, int column) {
        return (part % L::S == at.rank ? sums : parts) + part * L::part_floats + r * L::columns + column;
    };
    rows.template write<L::owned, L::parts>(a, sum_of, L::owned, L::parts);
    if constexpr (L::S > 1) exchange.end();
}

template <typename L, typename Op>
__global__ void __launch_bounds__(L::threads, 1) linear_kernel(linear_args a, const __grid_constant__ Op op) {
#if __CUDA_ARCH__ >= 900
    narrow_block<L>(a, op);
#else
    if constexpr (narrow_needs_sm90<L>)
        __trap(); /* not launched on this device */
    else
        narrow_block<L>(a, op);
#endif
}

/* heads: those of grid.y. */
template <typename L, typename Op>
ridge_status linear_launch(const linear_args &a, const Op &op, int heads, cudaStream_t stream, bool overlap) {
    const int64_t tiles = (a.batch + L::BM - 1) / L::BM;
    if (tiles == 0) return RIDGE_OK;
    if (tiles * L::S > INT32_MAX) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)(tiles * L::S), (unsigned)heads);
    return launch_overlapping(linear_kernel<L, Op>, {grid, L::threads, L::reserved, L::S}, stream, overlap, a, op);
}

}  // namespace ridge

#endif
