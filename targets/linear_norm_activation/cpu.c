/* y = gelu(layer_norm(x w + b) gamma + beta) in fp32. Both variants make the product by the ways of cpu/gemm_product.h.
 * Baseline: the whole product, then the bias, layer norm and GELU as passes over y. Optimized: a block of rows after
 * the other, whose product all threads make together, and of which each row then is in L1 from its bias to GELU. */
#include <float.h>
#include <math.h>

#include "cpu/gemm_product.h"
#include "cpu/row_reduce.h"
#include "cpu/vec_activation.h"
#include "linear_norm_activation.h"
#include "model/norm_eps.h"

static gemm_product product_of(const ridge_call *call, int64_t first, int64_t rows) {
    const DLTensor *x = &call->in[GEMM_NORM_X], *w = &call->in[GEMM_NORM_W], *y = &call->out[0];
    const int64_t n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    const bool across = w->strides && k > 1 && w->strides[0] == 1 && n > 1;
    const int64_t line = ridge_row_stride(w);
    return (gemm_product){.m = rows,
                          .n = n,
                          .k = k,
                          .a = (const float *)ridge_data(x) + first * ridge_row_stride(x),
                          .a_row = ridge_row_stride(x),
                          .a_depth = 1,
                          .b = ridge_data(w),
                          .b_depth = across ? 1 : line,
                          .b_column = across ? w->strides[1] : 1,
                          .c = (float *)ridge_data(y) + first * ridge_row_stride(y),
                          .c_row = ridge_row_stride(y)};
}

/* One row, which it replaces. */
typedef struct row {
    float *y;
    const float *bias, *gamma, *beta;
    vf scale, mean, inverse;
    vf_gelu_tables gelu;
} row;

static row row_of(const ridge_call *call) {
    return (row){.bias = ridge_data(&call->in[GEMM_NORM_BIAS]),
                 .gamma = ridge_data(&call->in[GEMM_NORM_GAMMA]),
                 .beta = ridge_data(&call->in[GEMM_NORM_BETA]),
                 .gelu = vf_gelu_prepare()};
}
static void set_row(row *r, const ridge_call *call, int64_t i) {
    r->y = (float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
}

VF_INLINE vf2 with_bias(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 v = row_load(r->y, j, count, VF_F32), b = row_load(r->bias, j, count, VF_F32);
    return (vf2){vf_add(v.a, b.a), vf_add(v.b, b.b)};
}
VF_INLINE vf2 normalized(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 gamma = row_load(r->gamma, j, count, VF_F32), beta = row_load(r->beta, j, count, VF_F32);
    vf2 v = row_load(r->y, j, count, VF_F32);
    v = (vf2){vf_mul(v.a, r->scale), vf_mul(v.b, r->scale)};
    v = (vf2){vf_mul(vf_sub(v.a, r->mean), r->inverse), vf_mul(vf_sub(v.b, r->mean), r->inverse)};
    return (vf2){vf_fma(v.a, gamma.a, beta.a), vf_fma(v.b, gamma.b, beta.b)};
}
VF_INLINE vf2 activated(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 v = row_load(r->y, j, count, VF_F32);
    return (vf2){vf_gelu_by(&r->gelu, v.a), vf_gelu_by(&r->gelu, v.b)};
}
VF_INLINE vf2 normalized_and_activated(const void *state, int64_t j, int64_t count) {
    const vf2 v = normalized(state, j, count);
    return (vf2){vf_gelu_by(&((const row *)state)->gelu, v.a), vf_gelu_by(&((const row *)state)->gelu, v.b)};
}

/* Of a row with its bias; scaled where its sums or squares are beyond fp32. */
static void set_statistics(row *r, int64_t n) {
    float scale = 1.0f, eps = NORM_EPS, mean = 0, inverse = 0;
    for (int attempt = 0; attempt < 2 && !(inverse > 0.0f); attempt++) {
        if (attempt > 0) scale = ROW_RESCUE, eps = ROW_RESCUE_EPS;
        mean = row_sum(r->y, n, scale, VF_F32) / (float)n;
        inverse = 1.0f / sqrtf(row_sum_centred_squares(r->y, n, scale, mean, VF_F32) / (float)n + eps);
    }
    r->scale = vf_set1(scale), r->mean = vf_set1(mean), r->inverse = vf_set1(inverse);
}

static void baseline_rows(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t n = call->dim[MATMUL_N];
    row r = row_of(call);
    int64_t begin, end;
    ridge_share(call->dim[MATMUL_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) set_row(&r, call, i), row_map(r.y, n, VF_F32, false, with_bias, &r, NULL);
    for (int64_t i = begin; i < end; i++) {
        set_row(&r, call, i), set_statistics(&r, n);
        row_map(r.y, n, VF_F32, false, normalized, &r, NULL);
    }
    for (int64_t i = begin; i < end; i++) set_row(&r, call, i), row_map(r.y, n, VF_F32, false, activated, &r, NULL);
}

ridge_status RIDGE_ISA_FN(linear_norm_activation_cpu_baseline)(const ridge_call *call) {
    const gemm_product whole = product_of(call, 0, call->dim[MATMUL_M]);
    if (whole.m == 0) return RIDGE_OK;
    gemm_product_best(&whole, call->scratch, call->team);
    ridge_team_run(call->team, baseline_rows, (void *)call);
    return RIDGE_OK;
}

/* Rows whose product is there. */
typedef struct rows_of {
    const ridge_call *call;
    int64_t first, count;
} rows_of;

static void optimized_rows(void *arg, int rank, int size) {
    const rows_of *of = arg;
    const int64_t n = of->call->dim[MATMUL_N];
    row r = row_of(of->call);
    int64_t begin, end;
    ridge_share(of->count, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        set_row(&r, of->call, of->first + i);
        row_map(r.y, n, VF_F32, false, with_bias, &r, NULL);
        set_statistics(&r, n);
        row_map(r.y, n, VF_F32, false, normalized_and_activated, &r, NULL);
    }
}

ridge_status RIDGE_ISA_FN(linear_norm_activation_cpu_optimized)(const ridge_call *call) {
    const int64_t m = call->dim[MATMUL_M], most = linear_norm_rows(call->dim[MATMUL_N]);
    for (rows_of of = {.call = call}; of.first < m; of.first += of.count) {
        of.count = m - of.first < most ? m - of.first : most;
        const gemm_product block = product_of(call, of.first, of.count);
        gemm_product_best(&block, call->scratch, call->team);
        ridge_team_run(call->team, optimized_rows, &of);
    }
    return RIDGE_OK;
}
