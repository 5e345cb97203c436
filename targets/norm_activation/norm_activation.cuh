/* y = gelu((x - mean) r gamma + beta), r = 1 / sqrt(var + 1e-5), each row by itself, on a GPU: see README.md.
 *
 * Two floors: size(x) + size(y) bytes (the parameters stay in L1) over the copy bandwidth; some 16
 * instructions an element in 16 bit over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16
 * 126 us; 134 M elements x 16 over 132 x 128 x 1.98 GHz = 64 us. Bandwidth-bound: 97 % of the copy is expected in fp32,
 * 90 % and more in bf16.
 *
 * Compiled once for each storage type, in cuda_f32.cu, cuda_bf16.cu and cuda_f16.cu; cuda.cu picks one. */
#ifndef RIDGE_TARGET_NORM_ACTIVATION_CUH
#define RIDGE_TARGET_NORM_ACTIVATION_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/rows/passes.cuh"
#include "cuda/rows/statistics.cuh"
#include "norm_activation.h"

namespace ridge {

/* Layer norm; Activate: and GELU. */
template <typename T, bool Activate>
struct layer_norm {
    template <typename>
    static constexpr row_shape shape =
        sizeof(T) == 2
            ? row_shape{.elements = 64, .resident = 1024, .long_elements = 64, .long_resident = 1024, .filled = 768}
            : row_shape{.elements = 16, .resident = 1024, .long_elements = 32, .long_resident = 1024, .filled = 1024};

    static constexpr int parameters = 2;
    const T *gamma, *beta;
    float inverse_n;

    using statistics = row_affine;

    template <typename Row>
    __device__ statistics of(Row &row) const {
        return row_centered_affine<T>(row, inverse_n, NORM_EPS);
    }

    __device__ bool usual(const statistics &s, int64_t column) const {
        return s.scale == 0.0f && is_aligned16(gamma + column) && is_aligned16(beta + column);
    }

    __host__ __device__ const T *parameter(int k) const { return k == 0 ? gamma : beta; }
    __device__ const void *parameter_at(int k, int64_t column) const { return parameter(k) + column; }
    __device__ layer_norm in_shared(const T *p, int n) const { return {p, p + n, inverse_n}; }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N], b[N];
        row_parameter<How>(gamma, column, g);
        row_parameter<How>(beta, column, b);
#pragma unroll
        for (int e = 0; e < N; e++) {
            const float h = fmaf(s.template of<row_is_usual(How)>(v[e]), g[e], b[e]);
            v[e] = !Activate ? h : sizeof(T) == 2 ? gelu_short(h) : gelu(h);
        }
    }
};

template <typename T, bool Activate>
layer_norm<T, Activate> layer_norm_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[1]), (const T *)ridge_data(&call->in[2]),
            (float)(1.0 / (double)call->dim[1])};
}

/* ---- optimized: from the row in registers to the activation, one read and one write ---- */

static_assert(row_traits_are<layer_norm<float, true>, layer_norm<__half, true>>(row_traits NORM_ACTIVATION_ROWS));

template <typename T>
ridge_status norm_activation_optimized(const ridge_call *call) {
    return row_run(call, row_tensors_of<T>(call), layer_norm_of<T, true>(call));
}

/* ---- baseline: the normalized values go through memory to the activation ---- */

struct gelu_pass {
    __device__ float operator()(float h, int64_t) const { return 0.5f * h * (1.0f + erff(h * 0x1.6a09e6p-1f)); }
};

template <typename T>
ridge_status norm_activation_baseline(const ridge_call *call) {
    RIDGE_TRY(row_run_passes(row_to_temporary<T>(call), layer_norm_of<T, false>(call), stream_of(call)));
    return row_map(row_from_temporary<T>(call), gelu_pass(), stream_of(call));
}

#define NORM_ACTIVATION_OF(T)                                                   \
    template ridge_status norm_activation_optimized<T>(const ridge_call *call); \
    template ridge_status norm_activation_baseline<T>(const ridge_call *call);

}  // namespace ridge

#endif
