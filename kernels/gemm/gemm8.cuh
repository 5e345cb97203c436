/* What products of 8-bit operands have in common in the pipeline of cuda/gemm/matmul.cuh, whose lines of 128 bytes are 128 of K: how
 * their results leave, as fp32 in pairs, or as bf16 by TMA, and how they are launched. Of shares of K the sums leave, 32 bits each,
 * and a second launch adds them in their order. */
#ifndef RIDGE_GEMM_GEMM8_CUH
#define RIDGE_GEMM_GEMM8_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"

extern "C" {
#include "gemm/gemm8.h"
}

namespace ridge {

/* Shares of K, and where their sums go. */
struct gemm8_shares {
    void *sums = NULL;
    int count = 1;
};
/* Of a call whose way's `own` is a tile. */
inline gemm8_shares gemm8_shares_of(const ridge_call *call, int64_t m, int64_t n, int64_t k) {
    const gemm8_extents extents = {m, n, k, device_limit(cudaDevAttrMultiProcessorCount)};
    return {call->scratch, gemm8_share_count((const gemm8_tile *)call->way->own, &extents)};
}

/* To derive from: begin() and finish() are the epilogue's own, and finish() ends in keep(). */
template <class S>
struct gemm8_epilogue {
    static constexpr int N = S::N;
    CUtensorMap map;
    float *wide; /* C in fp32; NULL: by the map */
    int64_t line;
    int64_t next; /* from the sums of a share to those of the next */
    int rows, columns;
    int across;       /* 0, or columns of tiles of a share of K */
    int slices, last; /* slices of K of a share; and the last of all */
    bool pairs;       /* two neighbours of `wide` can be stored at once */
    static constexpr int scratch = store_slots<__nv_bfloat16, N>::bytes;
    static bool waits(void) { return false; }
    __device__ void prepare(uint32_t at) const { store_slots<__nv_bfloat16, N>{at}.init(); }
    __device__ void keep(const matmul_tile &tile, float (&sums)[N / 2], uint32_t at, int group) const {
        if (!wide) return store_slots<__nv_bfloat16, N>{at}.put(sums, tile.number);
        const int share = share_of(tile);
        store_pairs<N>(wide + share * next, line, rows, columns, within(tile, share), sums, group, pairs);
    }
    /* The share of K that a tile is of, and the tile of C. */
    __device__ int share_of(const matmul_tile &tile) const { return across > 0 ? tile.n / N / across : 0; }
    __device__ matmul_tile within(const matmul_tile &tile, int share) const {
        matmul_tile here = tile;
        here.n -= share * across * N;
        return here;
    }
    __device__ void end(void) const {}
    template <class>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        if (!wide) store_tiles<S, __nv_bfloat16>(&map, plan, rank, slots);
    }
};

/* C = A B^T by tiles of S, as e has it. dtype: of C, f32 or bf16; k: of B, since A may be stored in fewer columns. */
template <class S, class Epilogue>
ridge_status gemm8_run(const matrix_view &a, const matrix_view &b, const matrix_view &c, ridge_dtype dtype, Epilogue e,
                       cudaStream_t stream, const gemm8_shares &shares = {}) {
    const int64_t m = c.rows, n = c.columns;
    matmul_plan plan = matmul_whole(b.columns, S::K, 8, true, true);
    if (m == 0) return RIDGE_OK;
    e.rows = (int)m, e.columns = (int)n;
    e.last = plan.slices - 1, plan.slices = (plan.slices + shares.count - 1) / shares.count, e.slices = plan.slices;
    if (shares.count > 1) {
        const int64_t tiles = (n + S::N - 1) / S::N;
        e.wide = (float *)shares.sums, e.line = gemm8_share_line(n), e.next = m * e.line;
        e.across = (int)((tiles + S::CN - 1) / S::CN * S::CN), e.pairs = true;
    } else if (dtype == RIDGE_F32) {
        e.wide = (float *)c.base, e.line = c.line;
        e.pairs = (uintptr_t)c.base % 8 == 0 && c.line % 2 == 0 && n % 2 == 0;
    } else if (!make_map<__nv_bfloat16>(&e.map, lines_of(c), 64)) {
        return RIDGE_FAILED;
    }
    return matmul_run<S>(lines_of(a), lines_of(b), m, n, plan, e, stream, shares.count);
}

/* ---- shares ---- */

/* What is made of the sum of all shares. */
struct gemm8_sum {
    __device__ float operator()(float sum, int64_t, int64_t) const { return sum; }
};

/* C = finish(the sums of all shares), two neighbours a thread: lines of sums have an even number of elements. */
template <typename Sum, typename T, class Finish>
__global__ void __launch_bounds__(256) gemm8_add_kernel(const Sum *sums, int64_t line, int64_t next, int shares, T *c,
                                                        int64_t c_line, int64_t rows, int64_t columns, Finish finish) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, row = at / (line / 2),
                  column = at % (line / 2) * 2;
    after_previous_launch();
    if (row >= rows) return;
    Sum low = 0, high = 0;
#pragma unroll 4
    for (int s = 0; s < shares; s++) {
        const pack<Sum, 2> two = *(const pack<Sum, 2> *)(sums + s * next + row * line + column);
        low += two.v[0], high += two.v[1];
    }
    T *const to = c + row * c_line + column;
    to[0] = from_float<T>(finish(low, row, column));
    if (column + 1 < columns) to[1] = from_float<T>(finish(high, row, column + 1));
}
template <typename Sum, typename T, class Finish>
ridge_status gemm8_add_to(const matrix_view &c, const gemm8_shares &shares, const Finish &finish, cudaStream_t stream) {
    const int64_t line = gemm8_share_line(c.columns), blocks = (c.rows * (line / 2) + 255) / 256;
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch_overlapping(gemm8_add_kernel<Sum, T, Finish>, {dim3((unsigned)blocks), 256}, stream,
                              device_overlaps(), (const Sum *)shares.sums, line, c.rows * line, shares.count,
                              (T *)c.base, c.line, c.rows, c.columns, finish);
}
/* Sum: float, or int. */
template <typename Sum, class Finish>
ridge_status gemm8_add(const matrix_view &c, ridge_dtype dtype, const gemm8_shares &shares, const Finish &finish,
                       cudaStream_t stream) {
    return dtype == RIDGE_F32 ? gemm8_add_to<Sum, float>(c, shares, finish, stream)
                              : gemm8_add_to<Sum, __nv_bfloat16>(c, shares, finish, stream);
}

}  // namespace ridge

#endif
