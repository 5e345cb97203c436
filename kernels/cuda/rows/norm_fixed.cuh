/* Norms of rows for rows/run.cuh as they are mostly asked for: parameters of x's type, and no activation or the one that
 * goes with the norm. A kernel knows its norm; only whether there is an activation is asked for each pack.
 *
 * Two floors: size(x) + size(y) bytes over the copy bandwidth; some 16 instructions an element (layer norm and GELU in
 * 16 bit) or 18 (RMS norm and SiLU) over the issue rate. Of 32768 x 4096 on an H200: fp32 252 us for the bytes, bf16 126
 * us; 134 M elements x 18 over 132 x 128 x 1.9 GHz = 75 us. Bandwidth-bound: 97 % of the copy is expected in fp32, 90 %
 * and more in bf16. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_FIXED_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_FIXED_CUH

#include "cuda/rows/norm_any.cuh"

namespace ridge {

/* How rows of a norm are cut up; `bytes` of an element. */
constexpr row_shape row_norm_shape(row_norm_kind kind, int bytes) {
    const bool narrow = bytes == 2;
    if (kind == ROW_NORM_LAYER)
        return narrow
                   ? row_shape{.elements = 64,
                               .resident = 1024,
                               .long_elements = 64,
                               .long_resident = 1024,
                               .filled = 768}
                   : row_shape{
                         .elements = 16, .resident = 1024, .long_elements = 32, .long_resident = 1024, .filled = 1024};
    const int resident = narrow && kind == ROW_NORM_L2 ? 1536 : 2048, filled = kind == ROW_NORM_L2 ? 2048 : 0;
    return narrow
               ? row_shape{.elements = 16,
                           .resident = resident,
                           .long_elements = 32,
                           .long_resident = 1536,
                           .filled = 0}
               : row_shape{
                     .elements = 8, .resident = resident, .long_elements = 32, .long_resident = 1024, .filled = filled};
}

/* if_so, which is computed whatever the answer is, or if_not. */
__device__ inline float choose_opaque(bool answer, float if_so, float if_not) {
    asm volatile("" : "+f"(if_so));
    return answer ? if_so : if_not;
}

template <typename T, row_norm_kind Kind>
struct row_norm_fixed {
    template <typename>
    static constexpr row_shape shape = row_norm_shape(Kind, (int)sizeof(T));
    static constexpr int parameters = Kind == ROW_NORM_LAYER ? 2 : Kind == ROW_NORM_RMS ? 1 : 0;
    static constexpr bool centers = Kind == ROW_NORM_LAYER;
    using statistics = std::conditional_t<centers, row_affine, row_factors>;

    const T *gamma, *beta;
    float inverse_n, eps;
    int activates;

    template <typename Row>
    __device__ statistics of(Row &row) const {
        if constexpr (centers)
            return row_centered_affine<T>(row, inverse_n, eps);
        else if constexpr (Kind == ROW_NORM_RMS)
            return row_root_factors(row, inverse_n, eps, false);
        else
            return row_root_factors(row, 1.0f, eps, true);
    }

    __device__ bool usual(const statistics &s, int64_t column) const {
        return s.scale == (centers ? 0.0f : 1.0f) && (parameters < 1 || is_aligned16(gamma + column)) &&
               (parameters < 2 || is_aligned16(beta + column));
    }

    __host__ __device__ const T *parameter(int k) const { return k == 0 ? gamma : beta; }
    __device__ const void *parameter_at(int k, int64_t column) const { return parameter(k) + column; }
    __device__ row_norm_fixed in_shared(const T *p, int n) const { return {p, p + n, inverse_n, eps, activates}; }

    __device__ static float activated(float h) {
        return Kind == ROW_NORM_RMS ? silu(h) : sizeof(T) == 2 ? gelu_short(h) : gelu(h);
    }
    /* What takes rows of single elements: no faster if it knew its norm, and its kernels are there. */
    row_norm<T> any(void) const {
        const int activation = activates ? row_norm_own_activation(Kind) : ACTIVATION_NONE;
        return {{Kind, activation, eps, gamma, beta, false}, inverse_n};
    }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N], b[N];
        if constexpr (parameters > 0) row_parameter<How>(gamma, column, g);
        if constexpr (parameters > 1) row_parameter<How>(beta, column, b);
#pragma unroll
        for (int e = 0; e < N; e++) {
            if constexpr (centers)
                v[e] = fmaf(s.template of<row_is_usual(How)>(v[e]), g[e], b[e]);
            else
                v[e] = (row_is_usual(How) ? v[e] : v[e] * s.scale) * s.inverse * (parameters > 0 ? g[e] : 1.0f);
        }
        if constexpr (Kind != ROW_NORM_L2 && sizeof(T) == 4) {
            /* Both values and a choice: behind a branch the next pack's parameters would be loaded late. */
#pragma unroll
            for (int e = 0; e < N; e++) v[e] = choose_opaque(activates, activated(v[e]), v[e]);
        } else if constexpr (Kind != ROW_NORM_L2) {
            if (row_asked(activates))
#pragma unroll
                for (int e = 0; e < N; e++) v[e] = activated(v[e]);
        }
    }
};

template <row_norm_kind Kind>
constexpr bool row_norm_traits_are(row_traits t) {
    return row_traits_are<row_norm_fixed<float, Kind>, row_norm_fixed<__half, Kind>>(t);
}
static_assert(row_norm_traits_are<ROW_NORM_L2>(row_traits ROW_NORM_L2_TRAITS));
static_assert(row_norm_traits_are<ROW_NORM_LAYER>(row_traits ROW_NORM_LAYER_TRAITS));
static_assert(row_norm_traits_are<ROW_NORM_RMS>(row_traits ROW_NORM_RMS_TRAITS));

template <typename T, row_norm_kind Kind>
ridge_status row_norm_run_fixed(const ridge_call *call, row_norm_form form) {
    using norm = row_norm_fixed<T, Kind>;
    const auto weight = [&](int k) { return k < norm::parameters ? (const T *)ridge_data(&call->in[1 + k]) : nullptr; };
    return row_run(call, row_tensors_of<T>(call),
                   norm{weight(0), weight(1), (float)(1.0 / (double)call->dim[1]), row_norm_eps(form, call->option),
                        row_norm_activation(form, call->option) != ACTIVATION_NONE});
}

}  // namespace ridge

#endif
