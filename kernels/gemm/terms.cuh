/* What is made of a product's sums besides alpha: D = f(alpha A B + beta C + bias + row_bias). Its parts may be absent. */
#ifndef RIDGE_GEMM_TERMS_CUH
#define RIDGE_GEMM_TERMS_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/tile/fragment.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "gemm/problem.h"
}

namespace ridge {

__device__ inline float gemm_activated(float v, int function) {
    switch (function) {
        case ACTIVATION_GELU: return gelu(v);
        case ACTIVATION_GELU_TANH: return gelu_tanh(v);
        case ACTIVATION_SILU: return silu(v);
        case ACTIVATION_RELU: return v < 0.0f ? 0.0f : v; /* NaN stays */
        case GEMM_RELU_SQUARED: return v < 0.0f ? 0.0f : v * v;
        default: return v;
    }
}
/* Of all of a thread's values: the function is asked for once. */
template <int N>
__device__ inline void gemm_activate(float (&v)[N], int function) {
    const auto each = [&](auto f) {
#pragma unroll
        for (int i = 0; i < N; i++) v[i] = f(v[i]);
    };
    switch (function) {
        case ACTIVATION_NONE: return;
        case ACTIVATION_GELU: return each([](float x) { return gelu(x); });
        case ACTIVATION_GELU_TANH: return each([](float x) { return gelu_tanh(x); });
        case ACTIVATION_SILU: return each([](float x) { return silu(x); });
        case ACTIVATION_RELU: return each([](float x) { return x < 0.0f ? 0.0f : x; });
        default: return each([](float x) { return x < 0.0f ? 0.0f : x * x; });
    }
}

/* T: of the operands and biases. */
template <typename T>
struct gemm_terms {
    const void
        *addend; /* NULL: none; likewise the biases. Of type T, or fp32 (wide); element (i, j) at i line + j step */
    int64_t line, step;
    bool wide;
    float beta;
    const T *bias, *row_bias; /* of columns, and of rows */
    int function;

    __host__ __device__ bool any(void) const { return addend || bias || row_bias || function; }
    /* value, alpha times the sum of this row and column, with all that is added to it. */
    __device__ float added(float value, int64_t row, int64_t column) const {
        if (bias) value += to_float(bias[column]);
        if (row_bias) value += to_float(row_bias[row]);
        if (addend) {
            const int64_t at = row * line + column * step;
            value = fmaf(beta, wide ? ((const float *)addend)[at] : to_float(((const T *)addend)[at]), value);
        }
        return value;
    }
    __device__ float of(float value, int64_t row, int64_t column) const {
        return gemm_activated(added(value, row, column), function);
    }
    /* The additions to a warpgroup's fragment of a tile whose first row and column are m and n. */
    template <int Sums>
    __device__ void add_to_fragment(float (&v)[Sums], int m, int n, int group, int rows, int columns) const {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = m + fragment_row(group) + 8 * half;
            if (row >= rows) continue;
#pragma unroll
            for (int i = 0; i < Sums / 2; i++) {
                const int column = n + i / 2 * 8 + fragment_column() + i % 2;
                float &mine = v[i / 2 * 4 + 2 * half + i % 2];
                if (column < columns) mine = added(mine, row, column);
            }
        }
    }
};

}  // namespace ridge

#endif
