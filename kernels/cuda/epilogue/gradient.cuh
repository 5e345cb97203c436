/* Gradients of the logits, where the rows' sums are known or all classes are in one tile. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_GRADIENT_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_GRADIENT_CUH

#include "cuda/epilogue/statistics.cuh"

namespace ridge {

template <typename T, int N>
struct gradient_epilogue {
    using output = tile_output<T, N, true>;
    output out;
    const float *bias;
    const row_gradient *row_of;
    int rows, columns;

    static constexpr int scratch = output::scratch;
    static bool waits(void) { return false; }
    struct state {
        typename output::state out;
        row_gradient row[2];
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        const row_gradient none = {0.0f, 0.0f, 0.0f, 0.0f, -1};
        return {out.begin(bias, tile, group, rows, columns),
                {row < rows ? row_of[row] : none, row + 8 < rows ? row_of[row + 8] : none}};
    }
    template <int Which>
    __device__ void row(const matmul_tile &tile, const row_gradient &r, float (&v)[N / 2]) const {
        const bool counts = r.label >= 0;
        each_of_row<Which>(
            v, [&](float &x, int) { x = counts ? fmaf(r.coef, ex2_approx_ftz(x - r.log_sum), -r.off) : 0.0f; });
        at_column<Which>(v, counts ? r.label - tile.n : -1, [&](float &x) { x -= r.hit; });
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        out.logits(s.out, sums, at, group);
        row<0>(tile, s.row[0], sums);
        row<1>(tile, s.row[1], sums);
        out.template put<T>(tile, sums, at, group, rows, columns);
    }
    __device__ void end(void) const { out.end(); }
};

/* C (+)= the sums of gradients of f16 whose rows have a scale; nothing where they are fp32 instead. */
template <int N, bool Add>
struct ranged_store_epilogue : store_epilogue<__half, N, Add> {
    const gradient_range *range;
    struct state {
        float undo;
        bool exact;
    };
    __device__ state begin(const matmul_tile &, int) const { return {range->undo, range->exact != 0}; }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        if (s.exact) return;
#pragma unroll
        for (float &x : sums) x *= s.undo;
        tile_store<__half, N, Add>(&this->map, tile.m, tile.n, sums, at, group);
    }
};

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

}  // namespace ridge

#endif
