/* What becomes of the tiles of a product by fp32 multiply-adds: see linear_any.cuh. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_EPILOGUE_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_EPILOGUE_CUH

#include "cuda/linear_loss.cuh"

namespace ridge {

/* The thread's columns of a row, from c[column(0)] on, where they are `inside` the matrix: up to four at a time. */
template <typename T, class Place, int N>
__device__ inline void any_put(T *c, const float (&v)[N], const Place &place, int64_t columns, bool wide) {
    constexpr int W = N < 4 ? N : 4;
#pragma unroll
    for (int j = 0; j < N; j += W) {
        const int64_t column = place.column(j);
        pack<T, W> some;
#pragma unroll
        for (int e = 0; e < W; e++) some.v[e] = from_float<T>(v[j + e]);
        if (wide && column + W <= columns) {
            *(pack<T, W> *)(c + column) = some;
        } else {
#pragma unroll
            for (int e = 0; e < W; e++)
                if (column + e < columns) c[column + e] = some.v[e];
        }
    }
}
/* Whether packs of four fit lines of memory. */
template <typename T>
bool any_is_wide(const T *base, int64_t line) {
    return (uintptr_t)base % sizeof(pack<T, 4>) == 0 && line % 4 == 0;
}

/* Logits in units of log 2; those beyond the classes are -inf. */
template <class Place>
__device__ inline void any_logits(float (&v)[Place::rows][Place::columns], const float *bias, const Place &place,
                                  int64_t classes) {
#pragma unroll
    for (int j = 0; j < Place::columns; j++) {
        const bool inside = place.column(j) < classes;
        const float b = inside ? bias[place.column(j)] : 0.0f;
#pragma unroll
        for (int i = 0; i < Place::rows; i++) v[i][j] = inside ? (v[i][j] + b) * log2_e : -INFINITY;
    }
}

/* Of a row's logits in a span: the largest, up to a whole number and finite where it can be. */
template <class Place>
__device__ inline float any_shift(const float (&v)[Place::columns]) {
    float top = v[0];
#pragma unroll
    for (int j = 1; j < Place::columns; j++) top = fmaxf(top, v[j]);
    top = ceilf(Place::row_max(top));
    return top == -INFINITY ? 0.0f : top;
}
/* Sum of those that are inside, of all lanes. */
template <class Place>
__device__ inline float any_sum_inside(const float (&v)[Place::columns], const Place &place, int64_t classes) {
    float all = 0.0f;
#pragma unroll
    for (int j = 0; j < Place::columns; j++) all += place.column(j) < classes ? v[j] : 0.0f;
    return Place::row_sum(all);
}

/* ---- statistics of the logits; Keep: and the exponentials, 2^(v - shift) with a shift for every row and span ---- */

template <typename G, bool Keep, bool Several>
struct any_statistics {
    static constexpr bool several = Several;
    using kept = kept_type<G>;
    const float *bias;
    label_view labels;
    softmax_part *parts;
    float *logit_sums, *label_logit; /* logit_sums: NULL without smoothing */
    int64_t rows, classes;
    kept *exponentials; /* lines of whole packs */
    int64_t stride;
    float *shifts; /* [spans][rows] */
    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
        if (place.span_of() * Place::span >= classes) return;
        any_logits(v, bias, place, classes);
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            const int64_t row = place.row(i);
            const int label = row < rows ? labels[row] : -1;
#pragma unroll
            for (int j = 0; j < Place::columns; j++)
                if (label == place.column(j) && label >= 0 && label < classes) label_logit[row] = v[i][j];
            const float logits = logit_sums ? any_sum_inside<Place>(v[i], place, classes) : 0.0f;
            const float shift = any_shift<Place>(v[i]) - (Keep ? kept_scale<kept> : 0);
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) sum += v[i][j] = exp2f(v[i][j] - shift);
            if (Keep && row < rows) any_put(exponentials + row * stride, v[i], place, classes, true);
            sum = Place::row_sum(sum);
            if (row >= rows || !place.leads_row()) continue;
            if (Keep) shifts[place.span_of() * rows + row] = shift;
            const int64_t at = place.part_of() * rows + row;
            parts[at] = place.is_first ? softmax_part{shift, sum} : merge_parts(parts[at], {shift, sum});
            if (logit_sums) logit_sums[at] = place.is_first ? logits : logit_sums[at] + logits;
        }
    }
};

/* ---- gradients of the logits ---- */

/* Of one row, in place of its logits. */
template <class Place>
__device__ inline void any_gradient_of(float (&v)[Place::columns], const row_gradient &r, const Place &place) {
#pragma unroll
    for (int j = 0; j < Place::columns; j++) {
        v[j] = r.label < 0 ? 0.0f : fmaf(r.coef, exp2f(v[j] - r.log_sum), -r.off);
        if (place.column(j) == r.label) v[j] -= r.hit;
    }
}

template <typename G>
struct any_gradient {
    const float *bias;
    const row_gradient *row_of; /* of the chunk */
    G *gradient;                /* lines of whole packs */
    int64_t stride, rows, classes;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
        any_logits(v, bias, place, classes);
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            const int64_t row = place.row(i);
            if (row >= rows) continue;
            any_gradient_of<Place>(v[i], row_of[row], place);
            any_put(gradient + row * stride, v[i], place, classes, true);
        }
    }
};

/* ---- losses and gradients at once, of rows whose classes are all in one span ---- */

template <typename G>
struct any_losses {
    static constexpr int side_most = 64;
    const float *bias;
    loss_rows of;
    G *gradient; /* NULL: losses only */
    int64_t stride;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
        any_logits(v, bias, place, of.classes);
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            const int64_t row = place.row(i);
            const int label = row < of.rows ? of.labels[row] : -1;
            float at_label = 0.0f, sum = 0.0f;
            const float shift = any_shift<Place>(v[i]);
#pragma unroll
            for (int j = 0; j < Place::columns; j++) {
                if (place.column(j) == label) at_label = v[i][j];
                sum += exp2f(v[i][j] - shift);
            }
            const float logits = any_sum_inside<Place>(v[i], place, of.classes);
            at_label = Place::row_sum(at_label);
            const float log_sum = log_of_part({shift, Place::row_sum(sum)});
            if (row >= of.rows) continue;
            if (place.leads_row()) finish_loss(of, (int)row, label, log_sum, logits, at_label);
            if (!gradient) continue;
            any_gradient_of<Place>(v[i], gradient_of_row(log_sum, of.dloss[row], label, of.classes, of.options), place);
            any_put(gradient + row * stride, v[i], place, of.classes, true);
        }
    }
};

/* ---- logits to memory, fp32; of several matrices side by side, z and bias are at `next` and `bias_next` more ---- */

template <typename T>
struct any_logits_store {
    float *z;
    int64_t line;
    const T *bias;
    int64_t rows, classes, next, bias_next;
    bool wide;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
        const T *const b = bias + blockIdx.z * bias_next;
        float more[Place::columns];
#pragma unroll
        for (int j = 0; j < Place::columns; j++)
            more[j] = place.column(j) < classes ? to_float(b[place.column(j)]) : 0.0f;
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) v[i][j] += more[j];
            any_put(z + blockIdx.z * next + place.row(i) * line, v[i], place, classes, wide);
        }
    }
};

/* ---- C (+)= the sums ---- */

template <typename T>
struct any_store {
    T *c;
    int64_t line, step, rows, columns;
    bool add, wide;

    any_store(const matrix_view &to, bool adds)
        : c((T *)to.base),
          line(to.line),
          step(to.step),
          rows(to.rows),
          columns(to.columns),
          add(adds),
          wide(to.step == 1 && any_is_wide(c, line)) {}
    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
            T *const at = c + place.row(i) * line;
            if (wide && !add) {
                any_put(at, v[i], place, columns, true);
                continue;
            }
#pragma unroll
            for (int j = 0; j < Place::columns; j++) {
                if (place.column(j) >= columns) continue;
                T *const p = at + place.column(j) * step;
                *p = from_float<T>(add ? to_float(*p) + v[i][j] : v[i][j]);
            }
        }
    }
};

}  // namespace ridge

#endif
