/* fp8 with a scale for each block of Rows x 128, a step of the rule at a time through memory: the baselines on a GPU. */
#ifndef RIDGE_KERNELS_QUANTIZE_FP8_PLAIN_CUH
#define RIDGE_KERNELS_QUANTIZE_FP8_PLAIN_CUH

#include "cuda/maps/plain.cuh"
#include "quantize/rule.h"

namespace ridge {

constexpr int FP8_COLS = 128; /* of a block */

/* The largest magnitude of a block takes its scale's place until its last use. NaN: one is not finite. */
template <int Rows, typename T>
struct fp8_maxima {
    matrix<const T> x;
    matrix<float> s;
    int64_t rows, cols;
    __device__ void operator()(int64_t r, int64_t k) const {
        unsigned max = 0;
        for (int64_t i = r * Rows; i < rows && i < (r + 1) * Rows; i++)
            for (int64_t j = k * FP8_COLS; j < cols && j < (k + 1) * FP8_COLS; j++)
                max = umax(max, __float_as_uint(to_float(x.at(i, j))) & 0x7fffffffu);
        s.at(r, k) = __uint_as_float(max >= 0x7f800000u ? 0x7fffffffu : max);
    }
};
template <int Rows, typename T>
struct fp8_scaled {
    matrix<const T> x;
    matrix<float> s, t;
    __device__ void operator()(int64_t i, int64_t j) const {
        const float max = s.at(i / Rows, j / FP8_COLS);
        t.at(i, j) = max == max ? to_float(x.at(i, j)) * rule_fp8_factor(max) : 0.0f;
    }
};
struct fp8_codes_of {
    matrix<float> t;
    matrix<unsigned char> q;
    __device__ void operator()(int64_t i, int64_t j) const { q.at(i, j) = (unsigned char)rule_e4m3(t.at(i, j)); }
};
struct fp8_finished {
    matrix<float> s;
    __device__ void operator()(int64_t r, int64_t k) const {
        const float max = s.at(r, k);
        if (max == max) s.at(r, k) = rule_fp8_scale(max);
    }
};

/* down x across scales. */
template <int Rows, typename T>
ridge_status fp8_plain(const ridge_call *call, int64_t down, int64_t across) {
    const int64_t rows = call->dim[0], cols = call->dim[1];
    const matrix<const T> x = matrix_in<T>(&call->in[0]);
    const matrix<float> s = matrix_out<float>(&call->out[1]), t = {(float *)call->scratch, cols};
    RIDGE_TRY(launch_plain(call, down, across, fp8_maxima<Rows, T>{x, s, rows, cols}));
    RIDGE_TRY(launch_plain(call, fp8_scaled<Rows, T>{x, s, t}));
    RIDGE_TRY(launch_plain(call, fp8_codes_of{t, matrix_out<unsigned char>(&call->out[0])}));
    return launch_plain(call, down, across, fp8_finished{s});
}

}  // namespace ridge

#endif
