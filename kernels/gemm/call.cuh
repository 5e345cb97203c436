/* A product as its launches take it: matrices in memory, C's rows in lines (problem.h). Host code. */
#ifndef RIDGE_GEMM_CALL_CUH
#define RIDGE_GEMM_CALL_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

#include "gemm/terms.cuh"

extern "C" {
#include "gemm/problem.h"
#include "gemm/wgmma.h"
}

namespace ridge {

struct gemm_call {
    matrix_view a, b, c; /* [m, k], [k, n], [m, n]; c by rows */
    ridge_dtype dtype;
    bool wide; /* c is fp32 */
    float alpha;
    matrix_view addend; /* base NULL: none; likewise the biases */
    const void *bias, *row_bias;
    float beta;
    int function;
    uint8_t *scratch;
    cudaStream_t stream;

    /* Of a launch within another operation; c by rows, alpha 1. */
    gemm_call(const matrix_view &left, const matrix_view &right, const matrix_view &result, ridge_dtype type,
              bool result_wide, cudaStream_t in)
        : a(left),
          b(right),
          c(result),
          dtype(type),
          wide(result_wide),
          alpha(1.0f),
          addend(),
          bias(NULL),
          row_bias(NULL),
          beta(0),
          function(ACTIVATION_NONE),
          scratch(NULL),
          stream(in) {}
    explicit gemm_call(const ridge_call *call)
        : a(view_of(call->in[GEMM_A])),
          b(view_of(call->in[GEMM_B])),
          c(view_of(call->out[0])),
          dtype(ridge_dtype_stored(call->dtype)),
          wide(call->option[GEMM_WIDE] > 0),
          alpha((float)call->option[GEMM_ALPHA]),
          addend(),
          bias(NULL),
          row_bias(NULL),
          beta(0),
          function(ACTIVATION_NONE),
          scratch((uint8_t *)call->scratch),
          stream(stream_of(call)) {
        if (call->way && call->way->number == GEMM_WITH_TERMS) {
            if (call->option[GEMM_HAS_ADDEND] > 0) addend = view_of(call->in[GEMM_ADDEND]);
            if (call->option[GEMM_HAS_BIAS] > 0) bias = ridge_data(&call->in[GEMM_BIAS]);
            if (call->option[GEMM_HAS_ROW_BIAS] > 0) row_bias = ridge_data(&call->in[GEMM_ROW_BIAS]);
            beta = (float)call->option[GEMM_BETA], function = (int)call->option[GEMM_FUNCTION];
        }
        if (c.by_rows()) return;
        const void *const bias_before = bias;
        bias = row_bias, row_bias = bias_before, addend = transposed(addend);
        const matrix_view a_before = a;
        a = transposed(b), b = transposed(a_before), c = transposed(c);
    }
    template <typename T>
    gemm_terms<T> terms(void) const {
        return {addend.base, addend.line, addend.step, wide, beta, (const T *)bias, (const T *)row_bias, function};
    }
    bool has_terms(void) const { return addend.base || bias || row_bias || function; }
    /* What the plan looked at, so that plan and launch agree. */
    gemm_problem problem(void) const {
        gemm_problem g = {};
        g.m = c.rows, g.n = c.columns, g.k = a.columns, g.batch = 1;
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

/* Whether TMA takes an fp32 C: it stores whole pieces of 16 bytes, also where the columns end within one. */
inline bool gemm_lies_in_pieces(const matrix_view &c) {
    return (uintptr_t)c.base % 16 == 0 && c.line % 4 == 0 && c.columns % 4 == 0;
}

/* By a tile of GEMM_TILES; its matrices lie in lines of 16-byte pieces. */
ridge_status gemm_by_tile(int tile, const gemm_call &g);
/* The same with terms, of GEMM_TERMS_TILES. */
ridge_status gemm_by_tile_with_terms(int tile, const gemm_call &g);
/* By those of few_rows.h. */
ridge_status gemm_by_few_rows(const gemm_call &g);
/* By multiply-adds. only_if: NULL, or what says in the device's memory whether there is anything to do. */
ridge_status gemm_by_multiply_adds(const gemm_call &g, const unsigned *only_if = NULL);
/* fp32 by hi_lo_128 of GEMM_HI_LO_TILES; its scratch is that of gemm_hi_lo_of. */
ridge_status gemm_by_hi_lo_128(const gemm_call &g);
/* Sums of shares of K, [shares][rows][line]: those of C, or of its transpose. */
struct gemm_share_sums {
    const float *first;
    int64_t rows, columns, line;
    int shares;
    bool transposed;
    float alpha;
};
/* C = alpha times what all shares have, always added in the same order; with the call's terms. */
ridge_status gemm_add_shares(const gemm_call &g, const gemm_share_sums &s);
/* Those of C as it lies, which have been multiplied by alpha, in lines of gemm_share_line(n). */
inline gemm_share_sums gemm_sums_of(const gemm_call &g, const float *sums, int shares) {
    return {sums, g.c.rows, g.c.columns, gemm_share_line(g.c.columns), shares, false, 1.0f};
}

}  // namespace ridge

#endif
