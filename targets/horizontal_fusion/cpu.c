/* square = x^2, relu = max(x, 0), affine = 1.5 x + 0.25: see README.md. */
#include "cpu/row.h"

RIDGE_CPU_DECLARE(horizontal_fusion_cpu_baseline);
RIDGE_CPU_DECLARE(horizontal_fusion_cpu_optimized);

enum { MAPS = 3 };

typedef struct operands {
    const void *x;
    bool bf16;
} operands;

VF_INLINE vf square(vf x) { return vf_mul(x, x); }
VF_INLINE vf relu(vf x) { return vf_max(vf_zero(), x); }
VF_INLINE vf affine(vf x) { return vf_fma(vf_set1(1.5f), x, vf_set1(0.25f)); }

VF_INLINE vf2 square_pair(vf2 x) { return (vf2){square(x.a), square(x.b)}; }
VF_INLINE vf2 relu_pair(vf2 x) { return (vf2){relu(x.a), relu(x.b)}; }
VF_INLINE vf2 affine_pair(vf2 x) { return (vf2){affine(x.a), affine(x.b)}; }

/* ---- optimized: x is read once ---- */

VF_INLINE void put(void *y, int64_t j, int64_t count, vf2 v, bool bf16, bool stream) {
    void *to = row_to(y, j, bf16);
    if (count != VF2_LANES)
        vf2_store_n(to, count, v, bf16);
    else if (stream)
        vf2_stream(to, v, bf16);
    else
        vf2_store(to, v, bf16);
}

VF_INLINE void put_all(void *const y[MAPS], const void *x, int64_t j, int64_t count, bool bf16, bool stream) {
    vf2 v = row_load(x, j, count, bf16);
    put(y[0], j, count, square_pair(v), bf16, stream);
    put(y[1], j, count, relu_pair(v), bf16, stream);
    put(y[2], j, count, affine_pair(v), bf16, stream);
}

/* Three outputs have one common line boundary or none: without it, ordinary stores. */
VF_INLINE void three_maps(void *const y[MAPS], const void *x, int64_t n, bool bf16, bool stream) {
    int64_t j = 0, head = row_head(y[0], bf16);
    stream = stream && head >= 0 && row_head(y[1], bf16) == head && row_head(y[2], bf16) == head;
    head = !stream ? 0 : head < n ? head : n;
    for (int64_t count; j < head; j += count) {
        count = head - j < VF2_LANES ? head - j : VF2_LANES;
        put_all(y, x, j, count, bf16, false);
    }
    if (stream)
        for (; j + VF2_LANES <= n; j += VF2_LANES) put_all(y, x, j, VF2_LANES, bf16, true);
    for (; j + VF2_LANES <= n; j += VF2_LANES) put_all(y, x, j, VF2_LANES, bf16, false);
    if (j < n) put_all(y, x, j, n - j, bf16, false);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, bool bf16) {
    int64_t rows = end - begin, n = call->dim[1];
    const bool stream = row_streams((1.0 + MAPS) * (double)call->dim[0] * (double)row_bytes(n, bf16));
    row_merge(call, 1, MAPS, &rows, &n);
    for (int64_t i = begin; i < begin + rows; i++) {
        void *y[MAPS];
        for (int k = 0; k < MAPS; k++) y[k] = row_out(&call->out[k], i, bf16);
        three_maps(y, row_in(&call->in[0], i, bf16), n, bf16, stream);
    }
    vf_fence();
}

static void optimized_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    optimized_rows(call, begin, end, false);
}
static void optimized_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    optimized_rows(call, begin, end, true);
}
ridge_status RIDGE_ISA_FN(horizontal_fusion_cpu_optimized)(const ridge_call *call) {
    return row_run(call, optimized_f32, optimized_bf16);
}

/* ---- baseline: a loop for each map ---- */

VF_INLINE vf2 square_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return square_pair(row_load(o->x, j, count, o->bf16));
}
VF_INLINE vf2 relu_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return relu_pair(row_load(o->x, j, count, o->bf16));
}
VF_INLINE vf2 affine_map(const void *state, int64_t j, int64_t count) {
    const operands *o = state;
    return affine_pair(row_load(o->x, j, count, o->bf16));
}

VF_INLINE void map_rows(const ridge_call *call, int64_t begin, int64_t end, bool bf16, int output, row_map_fn f) {
    for (int64_t i = begin; i < end; i++) {
        operands o = {.x = row_in(&call->in[0], i, bf16), .bf16 = bf16};
        row_map(row_out(&call->out[output], i, bf16), call->dim[1], bf16, false, f, &o, NULL);
    }
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, bool bf16) {
    map_rows(call, begin, end, bf16, 0, square_map);
    map_rows(call, begin, end, bf16, 1, relu_map);
    map_rows(call, begin, end, bf16, 2, affine_map);
}

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, false);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    baseline_rows(call, begin, end, true);
}
ridge_status RIDGE_ISA_FN(horizontal_fusion_cpu_baseline)(const ridge_call *call) {
    return row_run(call, baseline_f32, baseline_bf16);
}
