/* What products of 8-bit operands have in common in the pipeline of cuda/gemm/matmul.cuh, whose lines of 128 bytes are 128 of K: how
 * their results leave, as fp32 in pairs, or as bf16 by TMA, and how they are launched. */
#ifndef RIDGE_GEMM_GEMM8_CUH
#define RIDGE_GEMM_GEMM8_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"

namespace ridge {

/* To derive from: begin() and finish() are the epilogue's own, and finish() ends in keep(). */
template <class S>
struct gemm8_epilogue {
    static constexpr int N = S::N;
    CUtensorMap map;
    float *wide; /* C in fp32; NULL: by the map */
    int64_t line;
    int rows, columns;
    bool pairs; /* two neighbours of `wide` can be stored at once */
    static constexpr int scratch = store_slots<__nv_bfloat16, N>::bytes;
    static bool waits(void) { return false; }
    __device__ void prepare(uint32_t at) const { store_slots<__nv_bfloat16, N>{at}.init(); }
    __device__ void keep(const matmul_tile &tile, float (&sums)[N / 2], uint32_t at, int group) const {
        if (!wide) return store_slots<__nv_bfloat16, N>{at}.put(sums, tile.number);
        store_pairs<N>(wide, line, rows, columns, tile, sums, group, pairs);
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
                       cudaStream_t stream) {
    const int64_t m = c.rows, n = c.columns;
    if (m == 0) return RIDGE_OK;
    e.rows = (int)m, e.columns = (int)n;
    if (dtype == RIDGE_F32) {
        e.wide = (float *)c.base, e.line = c.line;
        e.pairs = (uintptr_t)c.base % 8 == 0 && c.line % 2 == 0 && n % 2 == 0;
    } else if (!make_map<__nv_bfloat16>(&e.map, lines_of(c), 64)) {
        return RIDGE_FAILED;
    }
    const matmul_plan plan = matmul_whole(b.columns, S::K, 8, true, true);
    return matmul_run<S>(lines_of(a), lines_of(b), m, n, plan, e, stream);
}

}  // namespace ridge

#endif
