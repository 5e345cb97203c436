/* A block's tile of C = A B from slices of K in shared memory: what pipelines of such slices share.
 *
 *   A [m, k] and B [k, n] row by row, in lines of 16-byte pieces; n and k are multiples of 8.
 *   tile     128 x 256 sums, 8 warps of 64 x 64: 128 sums a thread, so one block fits an SM
 *   slice    64 of K: 128 lines of A, and of B 64 lines in each of four chunks of 64 columns
 *   units    the tile of C in eight parts of 64 rows and 64 columns, number 2 chunk + half
 *
 * All lines have 128 bytes and the swizzle of TMA and wgmma (tile/swizzle.cuh). The eight lines of an ldmatrix then lie
 * in different banks, and a slice is the same whether cp.async or TMA brings it and whether mma.sync or wgmma reads it. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_MMA_TILE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_MMA_TILE_CUH

#include "cuda/host/view.cuh"
#include "cuda/pipe/order.h"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/swizzle.cuh"

namespace ridge {

enum {
    MMA_M = 128,
    MMA_N = 256,
    MMA_K = 64,
    MMA_WARPS = 8,
    MMA_THREADS = 32 * MMA_WARPS,
    MMA_STEPS = MMA_K / 16, /* of mma.sync in a slice */
    MMA_LINE = 128,         /* bytes of a line of shared memory */
    MMA_A_BYTES = MMA_M * MMA_LINE,
    MMA_CHUNK_BYTES = MMA_K * MMA_LINE,
    MMA_SLICE_BYTES = MMA_A_BYTES + MMA_N / 64 * MMA_CHUNK_BYTES,
    MMA_UNITS = 8,
    MMA_UNIT_BYTES = 64 * MMA_LINE,
    MMA_TILE_BYTES = MMA_UNITS * MMA_UNIT_BYTES,
    MMA_PARTS = 4, /* of a slice's copies */
    MMA_A_LINES = MMA_THREADS / (MMA_LINE / 16),
    MMA_B_LINES = MMA_THREADS / (MMA_N / 8), /* from one piece of a thread to the next */
    MMA_BAND = 8 /* rows of tiles that are made together, so that neighbours share operands in L2 */
};
static_assert(MMA_K * 2 == MMA_LINE && MMA_M % 64 == 0 && MMA_N % 64 == 0, "lines of 64 elements");
static_assert(MMA_M / 64 * (MMA_N / 64) == MMA_WARPS && MMA_UNITS == MMA_WARPS, "64 x 64 sums a warp");

template <typename T>
struct mma_args {
    const T *a, *b;
    T *c;
    int64_t a_line, b_line, c_line;
    int64_t a_step, b_step, a_back; /* bytes between a thread's pieces; from behind A's last piece to the next slice */
    int m, n, k, slices, rows, columns; /* rows, columns: of tiles */
};

/* The first row and column of tile `number`. */
struct mma_corner {
    int row, column;

    template <typename T>
    __device__ mma_corner(const mma_args<T> &p, int number) {
        const matmul_place at = matmul_place_of(number, p.rows, p.columns, MMA_BAND, 0);
        row = at.row * MMA_M, column = at.unit * MMA_N;
    }
};

/* ---- slices by cp.async ---- */

/* A thread's pieces of slice after slice: of A one in every 32nd line, of B one in every 8th. Pointers walk from piece
 * to piece by steps that the host computes, so that a piece costs one addition and no register but the pointer. Pieces
 * start in parts, between products: all at once they would occupy the path to shared memory when ldmatrix needs it. */
template <typename T>
struct mma_copier {
    static constexpr int parts = MMA_PARTS, a_of_part = MMA_M / MMA_A_LINES / parts,
                         b_of_part = MMA_K / MMA_B_LINES / parts;
    static_assert(a_of_part * parts * MMA_A_LINES == MMA_M && b_of_part * parts * MMA_B_LINES == MMA_K, "whole parts");
    static_assert(MMA_A_LINES % 8 == 0 && MMA_B_LINES % 8 == 0, "a thread's lines have one swizzle");

    const mma_args<T> &p;
    const char *a, *b;   /* the thread's next pieces */
    uint32_t a_to, b_to; /* where the first of a slice go in a stage */
    int a_rows, a_left;  /* rows of A from the first piece on; elements of K from the first piece on */
    int b_left;          /* rows of B from the first piece on; none where the piece is behind B's columns */

    __device__ mma_copier(const mma_args<T> &args, mma_corner at) : p(args) {
        const int thread = (int)threadIdx.x, a_line = thread / 8, piece = thread % 8;
        const int b_line = thread / 32, b_piece = thread % 32, row = at.row + a_line, column = at.column + b_piece * 8;
        a = (const char *)(p.a + row * p.a_line + piece * 8), b = (const char *)(p.b + b_line * p.b_line + column);
        a_to = (uint32_t)swizzle_128B(a_line, piece);
        b_to = (uint32_t)(MMA_A_BYTES + b_piece / 8 * MMA_CHUNK_BYTES + swizzle_128B(b_line, b_piece % 8));
        a_rows = p.m - row, a_left = p.k - piece * 8, b_left = column < p.n ? p.k - b_line : 0;
    }
    /* Starts the copies of a part of the slice at hand, copy(to, from, exists); behind the last part, the next slice is
     * at hand. */
    template <typename Copy>
    __device__ void part(int number, uint32_t stage, const Copy &copy) {
#pragma unroll
        for (int i = number * a_of_part * MMA_A_LINES; i < (number + 1) * a_of_part * MMA_A_LINES; i += MMA_A_LINES) {
            copy(stage + a_to + (uint32_t)(i * MMA_LINE), a, i < a_rows && 0 < a_left);
            a += p.a_step;
        }
#pragma unroll
        for (int i = number * b_of_part * MMA_B_LINES; i < (number + 1) * b_of_part * MMA_B_LINES; i += MMA_B_LINES) {
            copy(stage + b_to + (uint32_t)(i * MMA_LINE), b, i < b_left);
            b += p.b_step;
        }
        if (number + 1 == parts) a += p.a_back, a_left -= MMA_K, b_left -= MMA_K;
    }
    __device__ void part(int number, uint32_t stage) { part(number, stage, cp_async_16_if); }
    template <typename Copy>
    __device__ void slice(uint32_t stage, const Copy &copy) {
#pragma unroll
        for (int i = 0; i < parts; i++) part(i, stage, copy);
    }
    __device__ void slice(uint32_t stage) { slice(stage, cp_async_16_if); }
};

/* ---- products by mma.sync ---- */

constexpr uint32_t mma_no_stage = ~0u;

/* A warp's unit of sums: rows 16 i + g and 16 i + g + 8, columns 8 j + 2 t and the next. Fragments are loaded half a
 * step ahead: those of A for a whole step, those of B for 32 columns, so that two sets of them fit beside the sums. */
struct mma_sums {
    float v[4][8][4];
    unsigned a[2][4][4], b[2][2][4];

    __device__ void clear(void) {
#pragma unroll
        for (int i = 0; i < 4 * 8 * 4; i++) v[i / 32][i / 4 % 8][i % 4] = 0.0f;
    }
    __device__ void load_a(unsigned (&to)[4][4], uint32_t stage, int step) const {
        const int row = (int)threadIdx.x / 32 % 2 * 64 + (int)threadIdx.x % 16, piece = (int)threadIdx.x % 32 / 16;
#pragma unroll
        for (int i = 0; i < 4; i++) ldmatrix_x4(to[i], stage + (uint32_t)swizzle_128B(row + i * 16, 2 * step + piece));
    }
    __device__ void load_b(unsigned (&to)[2][4], uint32_t stage, int step, int half) const {
        const int chunk = (int)threadIdx.x / 64 % 4, line = (int)threadIdx.x % 16, piece = (int)threadIdx.x % 32 / 16;
        const uint32_t from = stage + MMA_A_BYTES + (uint32_t)(chunk * MMA_CHUNK_BYTES);
#pragma unroll
        for (int j = 0; j < 2; j++)
            ldmatrix_x4_trans(to[j], from + (uint32_t)swizzle_128B(step * 16 + line, half * 4 + 2 * j + piece));
    }
    /* Half of a step: 32 of the columns. */
    template <typename T>
    __device__ void multiply(T type, int step, int half) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                mma_m16n8k16(type, v[i][half * 4 + j], a[step % 2][i], b[half][j / 2][j % 2 * 2],
                             b[half][j / 2][j % 2 * 2 + 1]);
    }
    /* Loads what the first half step of a slice multiplies. */
    __device__ void open(uint32_t stage) { load_a(a[0], stage, 0), load_b(b[0], stage, 0, 0); }
    /* The products of a slice that has been opened. beside(step) is what the warp does in the middle of a step. In the
     * last one all of the slice is in registers, and beside(step) returns the stage to open next, or mma_no_stage. */
    template <typename T, typename Beside>
    __device__ void add(T type, uint32_t stage, const Beside &beside) {
        static_assert(MMA_STEPS % 2 == 0, "every slice begins with a[0]");
#pragma unroll
        for (int s = 0; s < MMA_STEPS; s++) {
            const bool last = s + 1 == MMA_STEPS;
            load_b(b[1], stage, s, 1);
            if (!last) load_a(a[(s + 1) % 2], stage, s + 1);
            multiply(type, s, 0);
            const uint32_t next = beside(s);
            if (!last) load_b(b[0], stage, s + 1, 0);
            if (last && next != mma_no_stage) open(next);
            multiply(type, s, 1);
        }
    }
    /* To a unit in shared memory, rounded. Eight lanes' lines differ in their banks: no conflicts. */
    template <typename T>
    __device__ void put(T, uint8_t *unit) const {
        int lane = (int)threadIdx.x % 32;
        asm volatile(""
                     : "+r"(lane)); /* or a persistent kernel keeps these addresses in registers while it multiplies */
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    *(uint32_t *)(unit + swizzle_128B(16 * i + 8 * half + lane / 4, j) + lane % 4 * 4) =
                        cvt_rn_x2(T(), v[i][j][2 * half], v[i][j][2 * half + 1]);
    }
};

/* ---- a tile of C from its units in shared memory ---- */

/* By MMA_THREADS threads, of which this one is number `thread`: a warp stores whole lines of C. */
template <typename T>
__device__ inline void mma_store_units(const mma_args<T> &p, mma_corner at, const uint8_t *units, int thread) {
    const int piece = thread % 32, column = at.column + piece * 8;
    if (column >= p.n) return;
#pragma unroll 4
    for (int line = thread / 32; line < MMA_M; line += MMA_WARPS) {
        if (at.row + line >= p.m) return;
        const uint8_t *const unit = units + (piece / 8 * 2 + line / 64) * MMA_UNIT_BYTES;
        st_global_v4(p.c + (at.row + line) * p.c_line + column,
                     *(const uint4 *)(unit + swizzle_128B(line % 64, piece % 8)));
    }
}

/* The same behind a block's products, where its stages were: nobody reads them any more. */
template <typename T>
__device__ inline void mma_store_tile(const mma_args<T> &p, mma_corner at, uint8_t *room, const mma_sums &sums) {
    const int thread = (int)threadIdx.x;
    __syncthreads();
    sums.put(T(), room + thread / 32 * MMA_UNIT_BYTES);
    __syncthreads();
    mma_store_units(p, at, room, thread);
}

/* ---- all warps copy and multiply ---- */

/* The products of a tile with `Stages` slices in shared memory and one barrier a slice. The stage of a slice is free
 * once its last fragments are in registers: in its last step it is filled again. With two stages the copies have to
 * start within two steps, or they would have no time to land; with more they are spread over four. */
template <int Stages, typename T>
__device__ inline void mma_multistage(const mma_args<T> &p, mma_corner at, uint32_t room, mma_sums &sums) {
    static_assert(Stages >= 2, "a stage is filled while another is multiplied");
    constexpr int parts = mma_copier<T>::parts, per_step = Stages == 2 ? 2 : 1;
    mma_copier<T> copier(p, at);
    const auto stage = [&](int slice) { return room + (uint32_t)(slice % Stages * MMA_SLICE_BYTES); };
    for (int slice = 0; slice < Stages; slice++) {
        if (slice > 0) cp_async_commit_group(); /* that of the last one is made in the first slice */
        if (slice < p.slices) copier.slice(stage(slice));
    }
    cp_async_wait_group<Stages - 2>();
    __syncthreads();
    sums.clear();
    sums.open(stage(0));
    for (int slice = 0; slice < p.slices; slice++) {
        sums.add(T(), stage(slice), [&](int step) {
            const bool last = step + 1 == MMA_STEPS;
            if (last) {
                cp_async_wait_group<Stages - 2>(); /* the thread's pieces of the next slice; */
                __syncthreads();                   /* those of all threads, and all have read this slice */
            }
            const int read = last ? slice : slice - 1, first = (step + 1) % MMA_STEPS * per_step;
            if (first >= parts) return mma_no_stage;
            const bool fills = read >= 0 && read + Stages < p.slices;
            if (fills) {
#pragma unroll
                for (int i = first; i < first + per_step; i++) copier.part(i, stage(read));
            }
            if (first + per_step == parts) cp_async_commit_group();
            return last && slice + 1 < p.slices ? stage(slice + 1) : mma_no_stage;
        });
    }
}
/* A block's whole work: its tile by these products, and to C. */
template <int Stages, typename T>
__device__ inline void mma_multistage_tile(const mma_args<T> &p, uint8_t *room) {
    const mma_corner at(p, (int)blockIdx.x);
    mma_sums sums;
    mma_multistage<Stages>(p, at, shared_address(room), sums);
    mma_store_tile(p, at, room, sums);
}

/* ---- launches ---- */

template <typename T>
mma_args<T> mma_args_of(const matrix_view &a, const matrix_view &b, const matrix_view &c) {
    return {(const T *)a.base,
            (const T *)b.base,
            (T *)c.base,
            a.line,
            b.line,
            c.line,
            MMA_A_LINES * a.line * 2,
            MMA_B_LINES * b.line * 2,
            MMA_LINE - MMA_M * a.line * 2,
            (int)c.rows,
            (int)c.columns,
            (int)a.columns,
            (int)((a.columns + MMA_K - 1) / MMA_K),
            (int)((c.rows + MMA_M - 1) / MMA_M),
            (int)((c.columns + MMA_N - 1) / MMA_N)};
}
/* Whether extents and numbers of tiles fit their types. */
inline bool mma_fits(const matrix_view &a, const matrix_view &c) {
    const int64_t most = INT32_MAX - MMA_N;
    return c.rows <= most && c.columns <= most && a.columns <= most &&
           (c.rows / MMA_M + 1) * (c.columns / MMA_N + 1) <= INT32_MAX / 2;
}
template <typename T>
int mma_tiles(const mma_args<T> &p) {
    return p.rows * p.columns;
}

}  // namespace ridge

#endif
