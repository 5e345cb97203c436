/* A row of scores in a thread, as tcgen05.ld brings it from tensor memory: from scores to P, and the result on its way out. A
 * warpgroup has the 128 rows of a tile. */
#ifndef RIDGE_ATTENTION_TENSOR_ROW_CUH
#define RIDGE_ATTENTION_TENSOR_ROW_CUH

#include "attention/scores.cuh"
#include "cuda/ptx/tcgen05.cuh"

namespace ridge {

/* The warp's lanes of tensor memory at this column. */
__device__ inline uint32_t tensor_lanes(uint32_t column) { return column + (threadIdx.x / 32 % 4 * 32 << 16); }

template <class S>
struct attention_tensor_row {
    const attention_args &a;
    int query;       /* of this thread's row */
    int first, last; /* queries of the warp; last < first: none exists */
    float slope, sink_log2;
    float most, less, sum; /* as in softmax_rows_of; less: the maximum's shift */
    attention_span span;   /* where S::spans */

    explicit __device__ attention_tensor_row(const attention_args &args) : a(args) {}
    /* The row of another tile, which begins at place.m. */
    __device__ void begin(const attention_place &place) {
        query = place.m + thread_of_warpgroup();
        first = place.m + thread_of_warpgroup() / 32 * 32;
        last = min(first + 31, attention_row_end<S>(a, place) - 1);
        if constexpr (S::spans) span = place.span;
        slope = S::shaped && a.slope ? a.slope[place.head] : 0.0f;
        sink_log2 = S::shaped && a.sink ? a.sink[place.head] * LOG2_E : -INFINITY;
        most = -INFINITY, less = 0.0f, sum = 0.0f;
    }
    /* From scores to exponents of two. */
    __device__ float factor(void) const { return S::shaped ? 1.0f : a.scale * LOG2_E; }

    __device__ void apply(float (&scores)[S::N], int step) const {
        const int begin = step * S::N;
        const attention_mask mask = attention_mask_at<S>(a, span);
        const attention_keys all = attention_all_keys<S>(a, span);
        if constexpr (S::shaped) {
            const int ahead = query + mask.shift - begin;
#pragma unroll
            for (int i = 0; i < S::N; i++) attention_bend(scores[i], a, a.scale, slope, ahead - i);
        }
        if (first <= last && attention_sees_all(mask, first, last, begin, begin + S::N, all)) return;
        const attention_keys keys = attention_keys_among(mask, query, query, all);
        const int before = begin - keys.begin;
        const unsigned seen = (unsigned)max(keys.end - keys.begin, 0);
#pragma unroll
        for (int i = 0; i < S::N; i++)
            if ((unsigned)(before + i) >= seen) scores[i] = -INFINITY;
    }
    /* The maximum follows a step's scores, or lags. Returns what sums of values are multiplied by. */
    __device__ float follow(const float (&scores)[S::N]) {
        float tops[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}; /* four: each waits for the one before */
#pragma unroll
        for (int i = 0; i < S::N; i++) tops[i % 4] = fmaxf(tops[i % 4], scores[i]);
        const float top = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
        const float by = softmax_rows::follow(most, less, top, factor());
        sum *= by;
        return by;
    }
    /* Scores become exponentials, and these P in tensor memory at `p`, two a column. */
    __device__ void put(const float (&scores)[S::N], uint32_t p) {
        const float by = factor();
        float added[2] = {0.0f, 0.0f};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned words[S::N / 4];
#pragma unroll
            for (int i = 0; i < S::N / 4; i++) {
                const float *const two = &scores[half * (S::N / 2) + 2 * i];
                const float x = ex2_approx_ftz(two[0] * by - less), y = ex2_approx_ftz(two[1] * by - less);
                added[0] += x, added[1] += y;
                words[i] = cvt_rn_x2(typename S::T(), x, y);
            }
            tcgen05_st_x32(tensor_lanes(p + (uint32_t)(half * (S::N / 4))), words);
        }
        sum += added[0] + added[1];
    }
    __device__ softmax_end end(void) const { return softmax_end(sum, less, sink_log2); }
};

/* Thirty-two of a row's sums. */
struct tensor_sums {
    unsigned words[32];
    __device__ void load(uint32_t from) {
        tcgen05_ld_x32(words, tensor_lanes(from));
        tcgen05_wait_ld(words);
    }
    __device__ void multiply(float by) {
#pragma unroll
        for (int i = 0; i < 32; i++) words[i] = __float_as_uint(__uint_as_float(words[i]) * by);
    }
    /* To a row of the result that has so many columns more: whole pieces of 16 bytes, or elements. */
    template <typename T>
    __device__ void store(T *to, int columns, bool in_pieces) const {
        const auto two = [&](int i) {
            return cvt_rn_x2(T(), __uint_as_float(words[i]), __uint_as_float(words[i + 1]));
        };
#pragma unroll
        for (int i = 0; i < 32; i += 8)
            if (in_pieces && i < columns) st_global_v4(to + i, uint4{two(i), two(i + 2), two(i + 4), two(i + 6)});
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (!in_pieces && i < columns) to[i] = from_float<T>(__uint_as_float(words[i]));
    }
};

/* All sums of the warp's rows; by is not 1 for one of them. */
template <class S>
__device__ inline void attention_tensor_rescale(uint32_t sums, float by) {
    for (int column = 0; column < S::V; column += 32) {
        tensor_sums some;
        some.load(sums + (uint32_t)column);
        some.multiply(by);
        tcgen05_st_x32(tensor_lanes(sums + (uint32_t)column), some.words);
    }
    tcgen05_wait_st();
}

/* The result of the thread's row, which may be none. By whole warps: loads are theirs. */
template <class S>
__device__ inline void attention_tensor_store(const attention_args &a, const attention_place &place, int row,
                                              uint32_t sums, const softmax_end &end) {
    typename S::T *const out = attention_row<S>(a, place, row);
    const bool exists = row < attention_row_end<S>(a, place);
#pragma unroll 1
    for (int column = 0; column < S::V; column += 32) {
        tensor_sums some;
        __syncwarp();
        some.load(sums + (uint32_t)column);
        some.multiply(end.by);
        some.store(out + column, exists ? a.values - column : 0, a.out_in_pieces);
    }
    if (exists) *attention_lse<S>(a, place, row) = end.lse;
}

}  // namespace ridge

#endif
