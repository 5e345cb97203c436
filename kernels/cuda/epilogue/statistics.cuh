/* Statistics of the logits: parts of each row's softmax, and the label's logit. Keep: also the exponentials, 2^(v -
 * shift) with a shift for every row and tile. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_STATISTICS_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_STATISTICS_CUH

#include "cuda/epilogue/loss.cuh"
#include "cuda/epilogue/scale.cuh"

namespace ridge {

template <typename T, int N, bool Keep>
struct statistics_epilogue {
    using kept = kept_type<T>;
    using output = tile_output<T, N, Keep>;
    output out; /* Keep: of the exponentials */
    const float *bias;
    label_view labels;
    softmax_part *parts; /* [parts][rows] */
    float *logit_sums;   /* the same; NULL: not wanted */
    float *label_logit;
    float *shifts;            /* Keep: [tiles of columns][rows] */
    int rows, columns, first; /* first: label of column 0 */

    static constexpr int scratch = output::scratch;
    static bool waits(void) { return false; }
    struct state {
        typename output::state out;
        int label[2];
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        state s = {out.begin(bias, tile, group, rows, columns), {-1, -1}};
        if (row < rows) s.label[0] = labels[row] - first;
        if (row + 8 < rows) s.label[1] = labels[row + 8] - first;
        return s;
    }
    template <int Which>
    __device__ void row(const matmul_tile &tile, const state &s, float (&v)[N / 2], int row) const {
        const int label = s.label[Which] < columns ? s.label[Which] - tile.n : -1;
        at_column<Which>(v, label, [&](float x) { label_logit[row] = x; });
        float all = 0.0f;
        if (logit_sums) {
            const int left = columns - tile.n - fragment_column(); /* a class may have -inf, too */
            each_of_row<Which>(v, [&](float x, int i) { all += i / 2 * 8 + i % 2 < left ? x : 0.0f; });
            all = quad_sum(all);
        }
        softmax_part p;
        if constexpr (Keep)
            p = exponentiate_row<Which, kept_scale<kept>>(v);
        else
            p = sum_row<Which>(v);
        if (row >= rows || threadIdx.x % 4 != 0) return;
        if constexpr (Keep) shifts[(int64_t)(tile.n / N) * rows + row] = p.shift;
        const int64_t at = (int64_t)tile.part * rows + row;
        parts[at] = tile.opens ? p : merge_parts(parts[at], p);
        if (logit_sums) logit_sums[at] = tile.opens ? all : logit_sums[at] + all;
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        out.logits(s.out, sums, at, group);
        const int first = tile.m + fragment_row(group);
        row<0>(tile, s, sums, first);
        row<1>(tile, s, sums, first + 8);
        if constexpr (Keep) out.template put<kept>(tile, sums, at, group, rows, columns);
    }
    __device__ void end(void) const { out.end(); }
};

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

}  // namespace ridge

#endif
