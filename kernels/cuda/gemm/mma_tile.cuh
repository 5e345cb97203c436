/* A block's tile of C = A B by mma.sync, from slices of K in shared memory: what pipelines of such slices share.
 *
 *   A [m, k] and B [k, n] row by row, in lines of 16-byte pieces; n and k are multiples of 8.
 *   tile     128 x 128 sums, 8 warps of 64 x 32
 *   slice    32 of K: 128 lines of 64 bytes of A, 32 lines of 256 bytes of B
 *
 * ldmatrix reads 8 lines of 16 bytes at a time. Pieces of a line are exchanged, depending on the line, so that these
 * lie in different banks: A's two lines share 128 bytes, so lines differ by pairs. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_MMA_TILE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_MMA_TILE_CUH

#include "cuda/host/view.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/pack.cuh"

namespace ridge {

enum {
    MMA_M = 128,
    MMA_N = 128,
    MMA_K = 32,
    MMA_WARPS = 8,
    MMA_THREADS = 32 * MMA_WARPS,
    MMA_A_BYTES = MMA_M * MMA_K * 2,
    MMA_SLICE_BYTES = MMA_A_BYTES + MMA_K * MMA_N * 2,
    MMA_PIECES = MMA_SLICE_BYTES / 16
};

template <typename T>
struct mma_args {
    const T *a, *b;
    T *c;
    int64_t a_line, b_line, c_line;
    int m, n, k, slices;
};

/* ---- where pieces lie in a slice ---- */

__device__ inline uint32_t mma_place_a(int line, int piece) {
    return (uint32_t)(line * 64 + (piece ^ line / 2 % 4) * 16);
}
__device__ inline uint32_t mma_place_b(int line, int piece) {
    return (uint32_t)(MMA_A_BYTES + line * 256 + (piece ^ line % 8) * 16);
}

/* A piece of the block's slice: where from, whether it exists, and where to. */
template <typename T>
struct mma_piece {
    const T *from;
    uint32_t to;
    bool exists;

    __device__ mma_piece(const mma_args<T> &p, int number, int slice) {
        const int of_a = MMA_A_BYTES / 16, k = slice * MMA_K;
        if (number < of_a) {
            const int line = number / 4, piece = number % 4, row = (int)blockIdx.y * MMA_M + line;
            exists = row < p.m && k + piece * 8 < p.k;
            from = p.a + (exists ? row * p.a_line + k + piece * 8 : 0), to = mma_place_a(line, piece);
        } else {
            const int line = (number - of_a) / 16, piece = number % 16, column = (int)blockIdx.x * MMA_N + piece * 8;
            exists = k + line < p.k && column < p.n;
            from = p.b + (exists ? (k + line) * p.b_line + column : 0), to = mma_place_b(line, piece);
        }
    }
};

/* A slice by `threads` threads, of which this one is number `thread`: copies that go on while it computes. */
template <typename T>
__device__ inline void mma_copy_slice(const mma_args<T> &p, int slice, uint32_t room, int thread, int threads) {
    for (int number = thread; number < MMA_PIECES; number += threads) {
        const mma_piece<T> piece(p, number, slice);
        cp_async_16_if(room + piece.to, piece.from, piece.exists);
    }
}

/* ---- products ---- */

/* A warp's 64 x 32 sums: rows 16 i + g and 16 i + g + 8, columns 8 j + 2 t and the next. */
struct mma_sums {
    float v[4][4][4] = {};

    /* The products of a slice more. */
    template <typename T>
    __device__ void add(T type, uint32_t room) {
        const int warp = (int)threadIdx.x / 32 % MMA_WARPS, lane = (int)threadIdx.x % 32;
        const int row = warp / 4 * 64 + lane % 16, column = warp % 4 * 32;
#pragma unroll
        for (int k = 0; k < MMA_K; k += 16) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; i++) ldmatrix_x4(a[i], room + mma_place_a(row + 16 * i, k / 8 + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; j++)
                ldmatrix_x4_trans(b[j], room + mma_place_b(k + lane % 16, column / 8 + 2 * j + lane / 16));
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    mma_m16n8k16(type, v[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    /* To C, in pairs. */
    template <typename T>
    __device__ void store(const mma_args<T> &p) const {
        const int warp = (int)threadIdx.x / 32 % MMA_WARPS, lane = (int)threadIdx.x % 32;
        const int row = (int)blockIdx.y * MMA_M + warp / 4 * 64 + lane / 4;
        const int column = (int)blockIdx.x * MMA_N + warp % 4 * 32 + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int line = row + 16 * i + 8 * half;
                if (line >= p.m) continue;
                T *const to = p.c + line * p.c_line + column;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (column + 8 * j < p.n)
                        *(uint32_t *)(to + 8 * j) = cvt_rn_x2(T(), v[i][j][2 * half], v[i][j][2 * half + 1]);
            }
    }
};

/* ---- launches ---- */

template <typename T>
mma_args<T> mma_args_of(const matrix_view &a, const matrix_view &b, const matrix_view &c) {
    return {(const T *)a.base,
            (const T *)b.base,
            (T *)c.base,
            a.line,
            b.line,
            c.line,
            (int)c.rows,
            (int)c.columns,
            (int)a.columns,
            (int)((a.columns + MMA_K - 1) / MMA_K)};
}
/* Whether extents fit their types. */
inline bool mma_fits(const matrix_view &a, const matrix_view &c) {
    return c.rows <= 65535LL * MMA_M && c.columns <= INT32_MAX - MMA_N && a.columns <= INT32_MAX - MMA_K;
}
inline dim3 mma_grid(const matrix_view &c) {
    return dim3((unsigned)((c.columns + MMA_N - 1) / MMA_N), (unsigned)((c.rows + MMA_M - 1) / MMA_M));
}

}  // namespace ridge

#endif
