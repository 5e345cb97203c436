/* y = silu(r x gamma), r = 1 / sqrt(mean(x^2) + 1e-5), each row by itself, on a GPU: see README.md.
 *
 * Two floors: size(x) + size(y) bytes (gamma stays in L1) over the copy bandwidth; some 18
 * instructions an element over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16 126 us;
 * 134 M elements x 18 over 132 x 128 x 1.9 GHz = 75 us. Bandwidth-bound: 97 % of the copy is expected.
 *
 * Compiled once for each storage type, in cuda_f32.cu, cuda_bf16.cu and cuda_f16.cu; cuda.cu picks one. */
#ifndef RIDGE_TARGET_NORM_ACTIVATION_RMS_CUH
#define RIDGE_TARGET_NORM_ACTIVATION_RMS_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/rows/passes.cuh"
#include "cuda/rows/statistics.cuh"
#include "norm_activation_rms.h"

namespace ridge {

/* RMS norm; Activate: and SiLU. */
template <typename T, bool Activate>
struct rms_norm {
    template <typename>
    static constexpr row_shape shape =
        sizeof(T) == 2
            ? row_shape{.elements = 16, .resident = 2048, .long_elements = 32, .long_resident = 1536, .filled = 0}
            : row_shape{.elements = 8, .resident = 2048, .long_elements = 32, .long_resident = 1024, .filled = 0};

    static constexpr int parameters = 1;
    const T *gamma;
    float inverse_n;

    using statistics = row_factors;

    template <typename Row>
    __device__ statistics of(Row &row) const {
        return row_root_factors(row, inverse_n, NORM_EPS, false);
    }

    __device__ bool usual(const statistics &s, int64_t column) const {
        return s.scale == 1.0f && is_aligned16(gamma + column);
    }

    __host__ __device__ const T *parameter(int) const { return gamma; }
    __device__ const void *parameter_at(int k, int64_t column) const { return parameter(k) + column; }
    __device__ rms_norm in_shared(const T *p, int) const { return {p, inverse_n}; }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N];
        row_parameter<How>(gamma, column, g);
#pragma unroll
        for (int e = 0; e < N; e++) {
            const float h = (row_is_usual(How) ? v[e] : v[e] * s.scale) * s.inverse * g[e];
            v[e] = Activate ? silu(h) : h;
        }
    }
};

template <typename T, bool Activate>
rms_norm<T, Activate> rms_norm_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[1]), (float)(1.0 / (double)call->dim[1])};
}

/* ---- optimized: from the row in registers to the activation, one read and one write ---- */

static_assert(row_traits_are<rms_norm<float, true>, rms_norm<__half, true>>(row_traits NORM_ACTIVATION_RMS_ROWS));

template <typename T>
ridge_status norm_activation_rms_optimized(const ridge_call *call) {
    return row_run(call, row_tensors_of<T>(call), rms_norm_of<T, true>(call));
}

/* ---- baseline: the normalized values go through memory to the activation ---- */

struct silu_pass {
    __device__ float operator()(float h, int64_t) const { return h / (1.0f + expf(-h)); }
};

template <typename T>
ridge_status norm_activation_rms_baseline(const ridge_call *call) {
    RIDGE_TRY(row_run_passes(row_to_temporary<T>(call), rms_norm_of<T, false>(call), stream_of(call)));
    return row_map(row_from_temporary<T>(call), silu_pass(), stream_of(call));
}

#define NORM_ACTIVATION_RMS_OF(T)                                                   \
    template ridge_status norm_activation_rms_optimized<T>(const ridge_call *call); \
    template ridge_status norm_activation_rms_baseline<T>(const ridge_call *call);

}  // namespace ridge

#endif
