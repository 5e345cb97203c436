/* A product as its launches take it: matrices in memory, C's rows in lines (problem.h). Host code. */
#ifndef RIDGE_GEMM_CALL_CUH
#define RIDGE_GEMM_CALL_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

extern "C" {
#include "gemm/problem.h"
}

namespace ridge {

struct gemm_call {
    matrix_view a, b, c; /* [m, k], [k, n], [m, n]; c by rows */
    ridge_dtype dtype;
    bool wide; /* c is fp32 */
    float alpha;
    uint8_t *scratch;
    cudaStream_t stream;

    /* Of a launch within another operation; c by rows, alpha 1. */
    gemm_call(const matrix_view &left, const matrix_view &right, const matrix_view &result, ridge_dtype type,
              bool result_wide, cudaStream_t in)
        : a(left), b(right), c(result), dtype(type), wide(result_wide), alpha(1.0f), scratch(NULL), stream(in) {}
    explicit gemm_call(const ridge_call *call)
        : a(view_of(call->in[GEMM_A])),
          b(view_of(call->in[GEMM_B])),
          c(view_of(call->out[0])),
          dtype(call->dtype),
          wide(call->option[GEMM_WIDE] > 0),
          alpha((float)call->option[GEMM_ALPHA]),
          scratch((uint8_t *)call->scratch),
          stream(stream_of(call)) {
        if (c.by_rows()) return;
        const matrix_view a_before = a;
        a = transposed(b), b = transposed(a_before), c = transposed(c);
    }
    /* What the plan looked at, so that plan and launch agree. */
    gemm_problem problem(void) const {
        gemm_problem g = {};
        g.m = c.rows, g.n = c.columns, g.k = a.columns;
        g.a = facts(a), g.b = facts(b), g.c = facts(c);
        g.dtype = dtype, g.wide = wide;
        g.here.sm = device_capability(), g.here.sm_count = device_limit(cudaDevAttrMultiProcessorCount);
        return g;
    }

   private:
    static gemm_matrix facts(const matrix_view &m) {
        return {m.line, m.step, (unsigned)((uintptr_t)m.base % RIDGE_OFFSETS)};
    }
};

/* By a tile of GEMM_TILES; its matrices lie in lines of 16-byte pieces. */
ridge_status gemm_by_tile(int tile, const gemm_call &g);
/* By fp32 multiply-adds: any matrices. */
ridge_status gemm_by_any(const gemm_call &g);

}  // namespace ridge

#endif
