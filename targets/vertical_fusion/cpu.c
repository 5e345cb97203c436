/* y = sqrt(2 + sin x): see README.md. */
#include "cpu/row.h"
#include "cpu/vec_math.h"

RIDGE_CPU_DECLARE(vertical_fusion_cpu_baseline);
RIDGE_CPU_DECLARE(vertical_fusion_cpu_optimized);

typedef struct operands {
    const void *x;
    const float *t;
    vf_type type;
} operands;

VF_INLINE vf root(vf s) { return vf_sqrt(vf_add(vf_set1(2.0f), s)); }

/* ---- optimized: the sine stays in a register ---- */

VF_INLINE vf2 sine_and_root(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    vf2 x = row_load(o->x, j, count, o->type);
    return (vf2){root(vf_sin_absolute(x.a)), root(vf_sin_absolute(x.b))};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    int64_t rows = end - begin, n = call->dim[1];
    const bool stream = row_streams(2.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    row_merge(call, 1, 1, &rows, &n);
    for (int64_t i = begin; i < begin + rows; i++) {
        operands o = {.x = row_in(&call->in[0], i, type), .type = type};
        row_map(row_out(&call->out[0], i, type), n, type, stream, sine_and_root, &o, NULL);
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(vertical_fusion_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: the sines go through memory ---- */

VF_INLINE vf2 sine(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    vf2 x = row_load(o->x, j, count, o->type);
    return (vf2){vf_sin_absolute(x.a), vf_sin_absolute(x.b)};
}
VF_INLINE vf2 root_of_temporary(const void *state, int64_t j, int64_t count) {
    (void)count;
    const operands *o = state;
    vf2 t = vf2_load_f32(o->t + j);
    return (vf2){root(t.a), root(t.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *sines = call->scratch;
    for (int64_t i = begin; i < end; i++) {
        operands o = {.x = row_in(&call->in[0], i, type), .type = type};
        row_map_temporary(sines + i * pitch, n, sine, &o);
    }
    for (int64_t i = begin; i < end; i++) {
        operands o = {.t = sines + i * pitch};
        row_map(row_out(&call->out[0], i, type), n, type, false, root_of_temporary, &o, NULL);
    }
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(vertical_fusion_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16, baseline_bf16_native);
}
