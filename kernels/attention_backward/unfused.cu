/* Attention's gradients through memory: see unfused.h. */
#include "attention_backward/call.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "gemm/best.cuh"

extern "C" {
#include "attention_backward/unfused.h"
#include "attention/unfused.h"
}

namespace ridge {

/* A head's scores and their gradients in memory, [queries, line]: S and D in fp32, P and G of T. */
template <typename T>
struct backward_scores {
    float *s, *d;
    T *p, *g;
    int64_t line;
};

/* The queries [first, first + gridDim.x) of a head, a block each: P, and G = scale times the gradient of S. */
template <typename T>
__global__ void __launch_bounds__(256)
    backward_scores_kernel(backward_scores<T> m, const __grid_constant__ attention_args a, const float *exponents,
                           const float *deltas, int first, int head) {
    const int row = first + (int)blockIdx.x;
    const attention_keys keys = attention_keys_of(a.mask, row, row, a.n);
    after_previous_launch();
    const float less = exponents[row], delta = deltas[row], slope = a.slope ? a.slope[head] : 0.0f;
    for (int j = (int)threadIdx.x; j < (int)m.line; j += 256) {
        const int64_t at = blockIdx.x * m.line + j;
        float p = 0.0f, g = 0.0f;
        if (j >= keys.begin && j < keys.end) {
            const float x = m.s[at] * a.scale, bend = a.softcap > 0.0f ? tanhf(x / a.softcap) : 0.0f;
            const float score =
                (a.softcap > 0.0f ? a.softcap * bend : x) - slope * fabsf((float)(row + a.mask.shift - j));
            p = ex2_approx_ftz(score * LOG2_E - less);
            g = p * (m.d[at] - delta) * (1.0f - bend * bend) * a.scale;
        }
        m.p[at] = from_float<T>(p), m.g[at] = from_float<T>(g);
    }
}

/* sum (+)= part; the last one also leaves its total. Blocks of 256 elements of [rows, columns]. */
template <typename T>
__global__ void __launch_bounds__(256) backward_add_kernel(float *sum, const float *part, bool first, bool last,
                                                           attention_tensor to, int batch, int head, int64_t elements) {
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    after_previous_launch();
    if (i >= elements) return;
    const float total = (first ? 0.0f : sum[i]) + part[i];
    sum[i] = total;
    if (last)
        backward_row<T>(to, {0, head, head, batch, 0}, (int)(i / to.columns))[i % to.columns] = from_float<T>(total);
}

/* A gradient that no score reaches: blocks of 256 elements of a head. */
template <typename T>
__global__ void __launch_bounds__(256) backward_clear_kernel(attention_tensor to, int rows, int batch) {
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x, row = i / to.columns;
    const attention_place place = {0, (int)blockIdx.y, 0, batch, 0};
    after_previous_launch();
    if (row < rows) backward_row<T>(to, place, (int)row)[i % to.columns] = from_float<T>(0.0f);
}
template <typename T>
static ridge_status clear_gradient(const backward_call &c, const attention_tensor &to, int heads, int rows) {
    const int64_t blocks = ((int64_t)rows * to.columns + 255) / 256;
    if (blocks == 0) return RIDGE_OK;
    for (int batch = 0; batch < c.own.batch; batch++)
        RIDGE_TRY(launch_overlapping(backward_clear_kernel<T>, {dim3((unsigned)blocks, (unsigned)heads), 256}, c.stream,
                                     device_overlaps(), to, rows, batch));
    return RIDGE_OK;
}

/* One head that keys and values of `kv` serve; part: of the products that are added to their gradients, of `parts`. */
struct unfused_place {
    int batch, head, kv, part, parts;
};

template <typename T>
struct unfused_backward {
    const backward_call &c;
    backward_scores<T> m;
    float *dk, *dv, *added; /* sums of parts, and a part */

    matrix_view rows_of(const void *base, const attention_strides &s, int batch, int head, int64_t first, int64_t rows,
                        int64_t columns) const {
        return {(T *)base + first * s.row + batch * s.batch + head * s.head, rows, columns, s.row, 1};
    }
    ridge_status product(const matrix_view &a, const matrix_view &b, const matrix_view &to, bool wide) const {
        return gemm_at_best(gemm_call(a, b, to, c.dtype, wide, c.stream));
    }

    /* to (+)= scores^T by_rows: directly where there is one part. */
    ridge_status gradient(const unfused_place &at, const matrix_view &scores, const matrix_view &by_rows,
                          const attention_tensor &to, float *sum) const {
        const int64_t n = c.own.n;
        const matrix_view left = transposed(scores);
        if (at.parts == 1)
            return product(left, by_rows, rows_of(to.first, to.strides, at.batch, at.kv, 0, n, to.columns), false);
        RIDGE_TRY(product(left, by_rows, {added, n, to.columns, to.columns, 1}, true));
        const int64_t elements = n * to.columns;
        return launch_overlapping(backward_add_kernel<T>, {dim3((unsigned)((elements + 255) / 256)), 256}, c.stream,
                                  device_overlaps(), sum, (const float *)added, at.part == 0, at.part == at.parts - 1,
                                  to, at.batch, at.kv, elements);
    }

    /* Queries [first, first + rows) of a head. */
    ridge_status some_queries(const unfused_place &at, int64_t first, int64_t rows) const {
        const attention_args &a = c.own;
        const backward_statistics_args &s = c.statistics;
        const int64_t statistics = ((int64_t)at.batch * a.heads + at.head) * s.line;
        const matrix_view q = rows_of(a.q, a.q_strides, at.batch, at.head, first, rows, a.depth);
        const matrix_view dout = rows_of(s.dout, s.dout_strides, at.batch, at.head, first, rows, a.values);
        const matrix_view k = rows_of(a.k, a.k_strides, at.batch, at.kv, 0, a.n, a.depth);
        const matrix_view v = rows_of(a.v, a.v_strides, at.batch, at.kv, 0, a.n, a.values);
        const matrix_view dq = rows_of(c.dq.first, c.dq.strides, at.batch, at.head, first, rows, a.depth);
        const matrix_view p = {m.p, rows, a.n, m.line, 1}, g = {m.g, rows, a.n, m.line, 1};
        RIDGE_TRY(product(q, transposed(k), {m.s, rows, a.n, m.line, 1}, true));
        RIDGE_TRY(product(dout, transposed(v), {m.d, rows, a.n, m.line, 1}, true));
        RIDGE_TRY(launch_overlapping(backward_scores_kernel<T>, {dim3((unsigned)rows), 256}, c.stream,
                                     device_overlaps(), m, a, (const float *)(s.exponents + statistics),
                                     (const float *)(s.deltas + statistics), (int)first, at.head));
        RIDGE_TRY(product(g, k, dq, false));
        RIDGE_TRY(gradient(at, g, q, c.dk, dk));
        return gradient(at, p, dout, c.dv, dv);
    }
};

template <typename T>
static ridge_status unfused(const ridge_call *call) {
    float *behind;
    const backward_call c = backward_call_of(call, &behind);
    const attention_args &a = c.own;
    const int64_t at_once = backward_rows_at_once(a.m, a.n), line = attention_line(a.n), scores = at_once * line;
    const int parts = (int)backward_parts(call->dim), of_head = parts / a.group;
    RIDGE_TRY(backward_statistics(c));
    if (a.m == 0 || a.n == 0) {
        RIDGE_TRY(clear_gradient<T>(c, c.dq, a.heads, a.m));
        RIDGE_TRY(clear_gradient<T>(c, c.dk, a.heads / a.group, a.n));
        return clear_gradient<T>(c, c.dv, a.heads / a.group, a.n);
    }
    float *const s = behind, *const d = s + scores;
    T *const p = (T *)(d + scores);
    float *const dk = (float *)(p + 2 * scores), *const dv = dk + (int64_t)a.n * a.depth;
    const unfused_backward<T> gradients = {c, {s, d, p, p + scores, line}, dk, dv, dv + (int64_t)a.n * a.values};
    for (int batch = 0; batch < a.batch; batch++)
        for (int head = 0; head < a.heads; head++)
            for (int i = 0; i < of_head; i++) {
                const int64_t first = i * at_once, rows = a.m - first < at_once ? a.m - first : at_once;
                const unfused_place at = {batch, head, head / a.group, head % a.group * of_head + i, parts};
                RIDGE_TRY(gradients.some_queries(at, first, rows));
            }
    return RIDGE_OK;
}

}  // namespace ridge

extern "C" ridge_status attention_backward_cuda_unfused(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return ridge::unfused<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? ridge::unfused<__half>(call) : RIDGE_UNSUPPORTED;
}
