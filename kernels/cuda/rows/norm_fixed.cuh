/* Norms of rows of one activation and one eps, for rows/run.cuh: what is known when they are compiled is not asked for
 * each pack, as norm.cuh does. Of fused_l2norm, norm_activation and norm_activation_rms.
 *
 * Two floors: size(x) + size(y) bytes over the copy bandwidth; some 16 instructions an element (layer norm and GELU in
 * 16 bit) or 18 (RMS norm and SiLU) over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16 126
 * us; 134 M elements x 18 over 132 x 128 x 1.9 GHz = 75 us. Bandwidth-bound: 97 % of the copy is expected in fp32, 90 %
 * and more in bf16. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_FIXED_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_FIXED_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/rows/run.cuh"
#include "cuda/rows/statistics.cuh"

extern "C" {
#include "model/row_norm.h"
}

namespace ridge {

/* x / max(||x||, eps) */
struct unit_norm : row_without_parameters {
    template <typename T>
    static constexpr row_shape shape =
        sizeof(T) == 2
            ? row_shape{.elements = 16, .resident = 1536, .long_elements = 32, .long_resident = 1536, .filled = 0}
            : row_shape{.elements = 8, .resident = 2048, .long_elements = 32, .long_resident = 1024, .filled = 2048};

    using statistics = row_factors;

    template <typename Row>
    __device__ statistics of(Row &row) const {
        const float sum = row.sum([](float x) { return x * x; });
        const bool overflow = !(sum <= FLT_MAX);
        if (row.any(overflow)) {
            const float scaled = row.sum([](float x) { return x * ROW_RESCUE_SCALE * (x * ROW_RESCUE_SCALE); });
            if (overflow) return {ROW_RESCUE_SCALE, 1.0f / sqrtf(scaled)};
        }
        const float norm = sqrtf(sum);
        return {1.0f, 1.0f / (norm < NORM_L2_EPS ? NORM_L2_EPS : norm)};
    }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        (void)column;
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = (row_is_usual(How) ? v[e] : v[e] * s.scale) * s.inverse;
    }
};

template <typename T>
struct layer_norm_gelu {
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
    __device__ layer_norm_gelu in_shared(const T *p, int n) const { return {p, p + n, inverse_n}; }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N], b[N];
        row_parameter<How>(gamma, column, g);
        row_parameter<How>(beta, column, b);
#pragma unroll
        for (int e = 0; e < N; e++) {
            const float h = fmaf(s.template of<row_is_usual(How)>(v[e]), g[e], b[e]);
            v[e] = sizeof(T) == 2 ? gelu_short(h) : gelu(h);
        }
    }
};

template <typename T>
struct rms_norm_silu {
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
    __device__ rms_norm_silu in_shared(const T *p, int) const { return {p, inverse_n}; }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N];
        row_parameter<How>(gamma, column, g);
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = silu((row_is_usual(How) ? v[e] : v[e] * s.scale) * s.inverse * g[e]);
    }
};

static_assert(row_traits_are<unit_norm, unit_norm>(row_traits FUSED_L2NORM_ROWS));
static_assert(row_traits_are<layer_norm_gelu<float>, layer_norm_gelu<__half>>(row_traits NORM_ACTIVATION_ROWS));
static_assert(row_traits_are<rms_norm_silu<float>, rms_norm_silu<__half>>(row_traits NORM_ACTIVATION_RMS_ROWS));

template <typename T>
ridge_status row_norm_fixed(const ridge_call *call, row_norm_kind kind) {
    const auto weight = [&](int k) { return (const T *)ridge_data(&call->in[k]); };
    const auto io = row_tensors_of<T>(call);
    const float inverse_n = (float)(1.0 / (double)call->dim[1]);
    if (kind == ROW_NORM_L2) return row_run(call, io, unit_norm());
    if (kind == ROW_NORM_RMS) return row_run(call, io, rms_norm_silu<T>{weight(1), inverse_n});
    return row_run(call, io, layer_norm_gelu<T>{weight(1), weight(2), inverse_n});
}

}  // namespace ridge

#endif
