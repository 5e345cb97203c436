/* fused_l2norm on a CPU: see cpu/row_norm.h. The baseline is this file's. */
#define ROW_NORM_NAME fused_l2norm
#define ROW_NORM_KIND ROW_NORM_L2
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 0
#define ROW_NORM_FIXED NORM_L2_EPS, ACTIVATION_NONE
#define ROW_NORM_SQUARES
#include "cpu/row_norm.h"

/* ---- baseline: squares to memory, then their sums, then the division ---- */

VF_INLINE vf2 squared(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 v = row_load(r->x, j, count, r->type);
    return (vf2){vf_mul(v.a, v.a), vf_mul(v.b, v.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *squares = call->scratch, *sums = squares + call->dim[0] * pitch;
    row r = row_of(call, type);
    for (int64_t i = begin; i < end; i++) {
        r.x = row_in(&call->in[0], i, type);
        row_map_temporary(squares + i * pitch, n, squared, &r);
    }
    for (int64_t i = begin; i < end; i++) sums[i] = row_sum(squares + i * pitch, row_whole_pairs(n), 1.0f, VF_F32);
    for (int64_t i = begin; i < end; i++) {
        const row_moments m = {.squares = (double)sums[i]};
        const void *x = row_in(&call->in[0], i, type);
        set_row(&r, x, statistics_by(&m, x, n, form.eps, type));
        write_row(row_out(&call->out[0], i, type), n, type, false, &r, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(fused_l2norm_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
