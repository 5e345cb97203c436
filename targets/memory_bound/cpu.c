/* y = clamp(a x + b, -1, 1) + z: see README.md. */
#include "cpu/row.h"
#include "memory_bound.h"

RIDGE_CPU_DECLARE(memory_bound_cpu_baseline);
RIDGE_CPU_DECLARE(memory_bound_cpu_optimized);

typedef struct operands {
    const void *x, *z;
    const float *t; /* temporary written by the previous pass */
    vf_type type;
} operands;

VF_INLINE vf affine(vf x) { return vf_fma(vf_set1(MEMORY_BOUND_A), x, vf_set1(MEMORY_BOUND_B)); }
VF_INLINE vf clamp(vf t) { return vf_max(vf_set1(-1.0f), vf_min(vf_set1(1.0f), t)); }

/* ---- optimized: one pass ---- */

VF_INLINE vf2 all_of_it(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    vf2 x = row_load(o->x, j, count, o->type), z = row_load(o->z, j, count, o->type);
    return (vf2){vf_add(clamp(affine(x.a)), z.a), vf_add(clamp(affine(x.b)), z.b)};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    int64_t rows = end - begin, n = call->dim[1];
    const bool stream = row_streams(3.0 * (double)call->dim[0] * (double)row_bytes(n, type));
    row_merge(call, 2, 1, &rows, &n);
    for (int64_t i = begin; i < begin + rows; i++) {
        operands o = {.x = row_in(&call->in[0], i, type), .z = row_in(&call->in[1], i, type), .type = type};
        row_map(row_out(&call->out[0], i, type), n, type, stream, all_of_it, &o, NULL);
    }
    vf_fence();
}

static void optimized_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    optimized_rows(call, begin, end, VF_F32);
}
static void optimized_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    optimized_rows(call, begin, end, VF_BF16);
}
ridge_status RIDGE_ISA_FN(memory_bound_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), optimized_f32, optimized_bf16, optimized_bf16);
}

/* ---- baseline: a pass for each operation ---- */

VF_INLINE vf2 affine_pass(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    vf2 x = row_load(o->x, j, count, o->type);
    return (vf2){affine(x.a), affine(x.b)};
}
VF_INLINE vf2 clamp_pass(const void *state, int64_t j, int64_t count) {
    (void)count;
    const operands *o = state;
    vf2 t = vf2_load_f32(o->t + j);
    return (vf2){clamp(t.a), clamp(t.b)};
}
VF_INLINE vf2 add_pass(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    vf2 t = vf2_load_f32(o->t + j), z = row_load(o->z, j, count, o->type);
    return (vf2){vf_add(t.a, z.a), vf_add(t.b, z.b)};
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], pitch = row_temporary_length(n);
    float *scaled = call->scratch, *clamped = scaled + call->dim[0] * pitch;
    for (int64_t i = begin; i < end; i++) {
        operands o = {.x = row_in(&call->in[0], i, type), .type = type};
        row_map_temporary(scaled + i * pitch, n, affine_pass, &o);
    }
    for (int64_t i = begin; i < end; i++) {
        operands o = {.t = scaled + i * pitch};
        row_map_temporary(clamped + i * pitch, n, clamp_pass, &o);
    }
    for (int64_t i = begin; i < end; i++) {
        operands o = {.t = clamped + i * pitch, .z = row_in(&call->in[1], i, type), .type = type};
        row_map(row_out(&call->out[0], i, type), n, type, false, add_pass, &o, NULL);
    }
}

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_F32);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_BF16);
}
ridge_status RIDGE_ISA_FN(memory_bound_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), baseline_f32, baseline_bf16, baseline_bf16);
}
