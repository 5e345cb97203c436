/* square = x^2, relu = max(x, 0), affine = 1.5 x + 0.25: see README.md. */
#include "cpu/row.h"

RIDGE_CPU_DECLARE(horizontal_fusion_cpu_baseline);
RIDGE_CPU_DECLARE(horizontal_fusion_cpu_optimized);

enum { MAPS = 3 };

typedef struct operands {
    const void *x;
    vf_type type;
} operands;

VF_INLINE vf square(vf x) { return vf_mul(x, x); }
VF_INLINE vf relu(vf x) { return vf_max(vf_zero(), x); }
VF_INLINE vf affine(vf x) { return vf_fma(vf_set1(1.5f), x, vf_set1(0.25f)); }

VF_INLINE vf2 square_pair(vf2 x) { return (vf2){square(x.a), square(x.b)}; }
VF_INLINE vf2 relu_pair(vf2 x) { return (vf2){relu(x.a), relu(x.b)}; }
VF_INLINE vf2 affine_pair(vf2 x) { return (vf2){affine(x.a), affine(x.b)}; }

/* ---- optimized: x is read once ---- */

VF_INLINE void put(void *y, int64_t j, int64_t count, vf2 v, vf_type type, bool stream) {
    void *to = row_to(y, j, type);
    if (count != VF2_LANES)
        vf2_store_n(to, count, v, type);
    else if (stream)
        vf2_stream(to, v, type);
    else
        vf2_store(to, v, type);
}

VF_INLINE void put_all(void *const y[MAPS], const void *x, int64_t j, int64_t count, vf_type type, bool stream) {
    vf2 v = row_load(x, j, count, type);
    put(y[0], j, count, square_pair(v), type, stream);
    put(y[1], j, count, relu_pair(v), type, stream);
    put(y[2], j, count, affine_pair(v), type, stream);
}

/* Streaming stores need a line boundary common to all three outputs; without one, ordinary stores. */
VF_INLINE void three_maps(void *const y[MAPS], const void *x, int64_t n, vf_type type, bool stream) {
    int64_t j = 0, head = row_head(y[0], type);
    stream = stream && head >= 0 && row_head(y[1], type) == head && row_head(y[2], type) == head;
    head = !stream ? 0 : head < n ? head : n;
    for (int64_t count; j < head; j += count) {
        count = head - j < VF2_LANES ? head - j : VF2_LANES;
        put_all(y, x, j, count, type, false);
    }
    if (stream)
        for (; j + VF2_LANES <= n; j += VF2_LANES) put_all(y, x, j, VF2_LANES, type, true);
    for (; j + VF2_LANES <= n; j += VF2_LANES) put_all(y, x, j, VF2_LANES, type, false);
    if (j < n) put_all(y, x, j, n - j, type, false);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    int64_t rows = end - begin, n = call->dim[1];
    const bool stream = row_streams((1.0 + MAPS) * (double)call->dim[0] * (double)row_bytes(n, type));
    row_merge(call, 1, MAPS, &rows, &n);
    for (int64_t i = begin; i < begin + rows; i++) {
        void *y[MAPS];
        for (int k = 0; k < MAPS; k++) y[k] = row_out(&call->out[k], i, type);
        three_maps(y, row_in(&call->in[0], i, type), n, type, stream);
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
ridge_status RIDGE_ISA_FN(horizontal_fusion_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 1 + MAPS), optimized_f32, optimized_bf16, optimized_bf16);
}

/* ---- baseline: a loop for each map ---- */

VF_INLINE vf2 square_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return square_pair(row_load(o->x, j, count, o->type));
}
VF_INLINE vf2 relu_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return relu_pair(row_load(o->x, j, count, o->type));
}
VF_INLINE vf2 affine_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return affine_pair(row_load(o->x, j, count, o->type));
}

VF_INLINE void map_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type, int output, row_map_fn f) {
    for (int64_t i = begin; i < end; i++) {
        operands o = {.x = row_in(&call->in[0], i, type), .type = type};
        row_map(row_out(&call->out[output], i, type), call->dim[1], type, false, f, &o, NULL);
    }
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    map_rows(call, begin, end, type, 0, square_map);
    map_rows(call, begin, end, type, 1, relu_map);
    map_rows(call, begin, end, type, 2, affine_map);
}

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_F32);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, VF_BF16);
}
ridge_status RIDGE_ISA_FN(horizontal_fusion_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 1 + MAPS), baseline_f32, baseline_bf16, baseline_bf16);
}
