/* A call for the gradients of a norm as kernels take it, what they know of a row, and the launch that adds partial sums. */
#ifndef RIDGE_NORM_BACKWARD_PROBLEM_CUH
#define RIDGE_NORM_BACKWARD_PROBLEM_CUH

#include "cuda/host/row_matrix.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "norm_backward/norm_backward.h"
}

namespace ridge {

/* Lines of sums over rows: dgamma's, and of a layer norm dbeta's. */
template <bool Centered>
constexpr int norm_back_sums = Centered ? 2 : 1;

template <typename T>
struct norm_back_problem {
    row_matrix<const T> x, dy, dsum; /* dsum: base NULL where there is none */
    row_matrix<T> dx;
    const void *gamma;
    bool wide; /* gamma is f32 */
    int64_t rows, cols, line;
    float eps, inverse_cols, *sums; /* sums: lines of dgamma, and of dbeta, of each group of threads */

    /* gamma of type T, and no dsum. */
    norm_back_problem(const row_matrix<const T> &of_x, const row_matrix<const T> &of_dy, const row_matrix<T> &of_dx,
                      const void *of_gamma, int64_t m, int64_t n, float epsilon, float *partial)
        : x(of_x),
          dy(of_dy),
          dsum(),
          dx(of_dx),
          gamma(of_gamma),
          wide(false),
          rows(m),
          cols(n),
          line(norm_back_line(n)),
          eps(epsilon),
          inverse_cols(1.0f / (float)n),
          sums(partial) {}
    norm_back_problem(const ridge_call *call, float *partial)
        : norm_back_problem(in(call, NORM_BACK_X), in(call, NORM_BACK_DY), row_matrix_of<T>(&call->out[NORM_BACK_DX]),
                            ridge_data(&call->in[NORM_BACK_GAMMA]), call->dim[NORM_BACK_ROWS],
                            call->dim[NORM_BACK_COLS], (float)call->option[NORM_BACK_EPS], partial) {
        wide = call->option[NORM_BACK_WIDE] > 0;
        if (call->option[NORM_BACK_HAS_SUM] > 0) dsum = in(call, NORM_BACK_DSUM);
    }
    static row_matrix<const T> in(const ridge_call *call, int tensor) {
        return row_matrix_of<const T>(&call->in[tensor]);
    }
    /* A piece of 16 bytes' worth of T, aligned likewise; zeros unless present. */
    template <int N>
    __device__ void gamma_at(int column, bool present, float (&v)[N]) const {
        if (wide && sizeof(T) == 2) {
#pragma unroll
            for (int e = 0; e < N; e += 4) {
                const float4 four = present ? *(const float4 *)((const float *)gamma + column + e) : float4();
                v[e] = four.x, v[e + 1] = four.y, v[e + 2] = four.z, v[e + 3] = four.w;
            }
        } else {
            const uint4 words = present ? *(const uint4 *)((const T *)gamma + column) : uint4();
            unpack(elements_of<T, N>(words), v);
        }
    }
    __device__ float gamma_of(int64_t column) const {
        return wide ? ((const float *)gamma)[column] : to_float(((const T *)gamma)[column]);
    }
};

struct norm_back_statistics {
    float mean, inverse, of_g, of_gn; /* means of x, of g and of g n; 1 over the root */

    /* From sums over the row of (x - mean)^2 and of g (x - mean). */
    __device__ void finish(float squares, float products, float inverse_cols, float eps) {
        inverse = 1.0f / sqrtf(fmaf(squares, inverse_cols, eps));
        of_gn = products * inverse_cols * inverse;
    }
    template <bool Centered>
    __device__ float dx(float g, float n) const {
        return inverse * (fmaf(-n, of_gn, g) - (Centered ? of_g : 0.0f));
    }
};

/* ---- sums of all parts, in their order: sixteen threads have a column's ---- */

constexpr int NORM_BACK_ADD = 512, NORM_BACK_ADD_COLUMNS = 32;

/* Where dgamma goes and, of a layer norm, dbeta; a row of blocks for each. */
struct norm_back_results {
    float *of[2];
};

static __global__ void __launch_bounds__(NORM_BACK_ADD)
    norm_back_add_kernel(const float *parts, int64_t line, int64_t count, const __grid_constant__ norm_back_results to,
                         int64_t cols) {
    constexpr int shares = NORM_BACK_ADD / NORM_BACK_ADD_COLUMNS;
    __shared__ float of_share[shares][NORM_BACK_ADD_COLUMNS];
    const int lane = (int)threadIdx.x % NORM_BACK_ADD_COLUMNS, share = (int)threadIdx.x / NORM_BACK_ADD_COLUMNS;
    const int64_t column = (int64_t)blockIdx.x * NORM_BACK_ADD_COLUMNS + lane;
    parts += blockIdx.y * line + column;
    after_previous_launch();
    float sum = 0.0f;
    if (column < cols)
#pragma unroll 8
        for (int64_t part = share; part < count; part += shares) sum += parts[part * gridDim.y * line];
    of_share[share][lane] = sum;
    __syncthreads();
    if (share > 0 || column >= cols) return;
    for (int s = 1; s < shares; s++) sum += of_share[s][lane];
    (blockIdx.y == 0 ? to.of[0] : to.of[1])[column] = sum;
}

/* From so many parts, each with a line of each. */
template <bool Centered>
ridge_status norm_back_add(const ridge_call *call, const float *parts, int64_t count) {
    const int64_t cols = call->dim[NORM_BACK_COLS];
    const dim3 grid((unsigned)((cols + NORM_BACK_ADD_COLUMNS - 1) / NORM_BACK_ADD_COLUMNS), norm_back_sums<Centered>);
    norm_back_results to = {};
    for (int s = 0; s < norm_back_sums<Centered>; s++) to.of[s] = (float *)ridge_data(&call->out[NORM_BACK_DGAMMA + s]);
    return launch_overlapping(norm_back_add_kernel, {grid, NORM_BACK_ADD}, stream_of(call), device_overlaps(), parts,
                              norm_back_line(cols), count, to, cols);
}

}  // namespace ridge

#endif
