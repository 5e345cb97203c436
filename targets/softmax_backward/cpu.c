/* The gradient of softmax on a CPU: see README.md. Baseline: the sums of all rows, then dx of all rows. Optimized: row by row. */
#include "cpu/row.h"
#include "cpu/vec_math.h"
#include "softmax_backward.h"

RIDGE_CPU_DECLARE(softmax_backward_cpu_baseline);
RIDGE_CPU_DECLARE(softmax_backward_cpu_optimized);

typedef struct row {
    const void *y, *dy;
    int64_t from; /* of what is visited */
    vf_type type;
    bool log;
    float scale, sum;
    row_sums sums;
} row;

VF_INLINE void add_products(void *state, int chain, int64_t j, int64_t count) {
    row *r = state;
    const vf2 dy = row_load(r->dy, r->from + j, count, r->type);
    vf2 *sum = &r->sums.chain[chain];
    if (r->log) {
        *sum = (vf2){vf_add(dy.a, sum->a), vf_add(dy.b, sum->b)};
        return;
    }
    const vf2 y = row_load(r->y, r->from + j, count, r->type);
    *sum = (vf2){vf_fma(y.a, dy.a, sum->a), vf_fma(y.b, dy.b, sum->b)};
}
/* Pieces are summed in fp32, their sums in fp64. */
VF_INLINE float sum_of(row *r, int64_t n) {
    double total = 0;
    for (r->from = 0; r->from < n; r->from += ROW_PIECE) {
        row_sums_set(&r->sums, 0.0f);
        row_visit(n - r->from < ROW_PIECE ? n - r->from : ROW_PIECE, add_products, r);
        total += (double)row_sums_total(&r->sums);
    }
    return (float)total;
}

VF_INLINE vf dx_of(const row *r, vf y, vf dy) {
    const vf sum = vf_set1(r->sum), scale = vf_set1(r->scale);
    return vf_mul(scale, r->log ? vf_fnma(vf_exp(y), sum, dy) : vf_mul(y, vf_sub(dy, sum)));
}
VF_INLINE vf2 dx_at(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 y = row_load(r->y, j, count, r->type), dy = row_load(r->dy, j, count, r->type);
    return (vf2){dx_of(r, y.a, dy.a), dx_of(r, y.b, dy.b)};
}

VF_INLINE row row_of(const ridge_call *call, int64_t i, vf_type type) {
    return (row){.y = row_in(&call->in[SOFTMAX_BACK_Y], i, type),
                 .dy = row_in(&call->in[SOFTMAX_BACK_DY], i, type),
                 .type = type,
                 .log = call->option[SOFTMAX_BACK_LOG] > 0,
                 .scale = (float)call->option[SOFTMAX_BACK_SCALE]};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[SOFTMAX_BACK_COLS];
    const bool stream = row_streams(row_call_bytes(call, 3));
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.sum = sum_of(&r, n);
        row_map(row_out(&call->out[0], i, type), n, type, stream, dx_at, &r, NULL);
    }
    vf_fence();
}
VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[SOFTMAX_BACK_COLS];
    float *const sums = call->scratch;
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        sums[i] = sum_of(&r, n);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        r.sum = sums[i];
        row_map(row_out(&call->out[0], i, type), n, type, false, dx_at, &r, NULL);
    }
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(softmax_backward_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), optimized_f32, optimized_bf16, optimized_bf16_native);
}
ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(softmax_backward_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), baseline_f32, baseline_bf16, baseline_bf16_native);
}
