/* Norms of rows for rows/run.cuh, with any activation and with parameters of either type. Which norm and which activation
 * is asked for each pack of elements, by all threads alike: one kernel for fifteen pairs. rows/norm_fixed.cuh has what is
 * mostly asked for, 1.4 to 2 times as fast where rows of 16 bit are long. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_ANY_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_ANY_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/rows/run.cuh"
#include "cuda/rows/statistics.cuh"

extern "C" {
#include "model/row_norm.h"
}

namespace ridge {

/* An answer that the compiler must not know: it else makes a copy of all of the writing for each. */
__device__ inline int row_asked(int answer) {
    asm volatile("" : "+r"(answer));
    return answer;
}

/* What a call asks for. */
struct row_norm_request {
    row_norm_kind kind;
    int activation;
    float eps;
    const void *gamma, *beta; /* NULL: 1 and 0 */
    bool wide;                /* gamma and beta are f32 */
};

template <typename T>
struct row_norm {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
    static constexpr int long_resident = 768; /* 64 registers do not suffice there */
#else
    static constexpr int long_resident = 1024;
#endif
    /* Few threads a row: of 12784 x 2248 bf16, 512 threads of one pack each took 84 us for the instructions that a row
     * costs every thread, three of four idle. */
    template <typename U>
    static constexpr row_shape shape =
        sizeof(U) == 2
            ? row_shape{.elements = 32, .resident = 768, .long_elements = 32, .long_resident = 1024, .filled = 0}
            : row_shape{
                  .elements = 16, .resident = 1024, .long_elements = 32, .long_resident = long_resident, .filled = 0};
    static constexpr int parameters = 2, of_cluster = 32, of_shifted = 16;
    using statistics = row_affine;

    row_norm_request want;
    float inverse_n;

    template <typename Row>
    __device__ statistics of(Row &row) const {
        if (want.kind == ROW_NORM_LAYER) return row_centered_affine<T>(row, inverse_n, want.eps);
        const row_factors f =
            row_root_factors(row, want.kind == ROW_NORM_L2 ? 1.0f : inverse_n, want.eps, want.kind == ROW_NORM_L2);
        return {f.inverse, 0.0f, f.scale == 1.0f ? 0.0f : f.scale};
    }
    /* One copy of the writing: what is unusual is asked for each pack. */
    __device__ bool usual(const statistics &, int64_t) const { return true; }

    /* NULL where there is none. */
    __device__ const void *parameter_at(int k, int64_t column) const {
        const char *p = (const char *)(k == 0 ? want.gamma : want.beta);
        return p ? p + column * (want.wide ? 4 : (int)sizeof(T)) : p;
    }

    template <int N, typename P>
    __device__ static void load(const P *p, int64_t column, float (&v)[N]) {
        if (N > 1 && is_aligned16(p + column))
            row_parameter<ROW_USUAL>(p, column, v);
        else
            row_parameter<ROW_GENERAL>(p, column, v);
    }
    template <int N, typename P, typename Index>
    __device__ static void load(const P *p, row_apart<Index> columns, float (&v)[N]) {
        row_parameter<ROW_GENERAL>(p, columns, v);
    }
    template <int N, typename P, typename Index>
    __device__ static void load(const P *p, row_inside<Index> columns, float (&v)[N]) {
        row_parameter<ROW_GENERAL>(p, columns, v);
    }
    template <int N, typename Column>
    __device__ void parameter(const void *p, Column column, float otherwise, float (&v)[N]) const {
        const int bytes = row_asked(!p ? 0 : want.wide ? 4 : 2);
        if (bytes == 4) {
            load((const float *)p, column, v);
        } else if (bytes == 2) {
            load((const T *)p, column, v);
        } else {
#pragma unroll
            for (int e = 0; e < N; e++) v[e] = otherwise;
        }
    }
    template <int N>
    __device__ void activate(float (&v)[N]) const {
        switch (row_asked(want.activation)) {
            case ACTIVATION_GELU: apply(v, [](float h) { return sizeof(T) == 2 ? gelu_short(h) : gelu(h); }); break;
            case ACTIVATION_GELU_TANH: apply(v, [](float h) { return gelu_tanh(h); }); break;
            case ACTIVATION_SILU: apply(v, [](float h) { return silu(h); }); break;
            case ACTIVATION_RELU: apply(v, [](float h) { return h < 0.0f ? 0.0f : h; }); break; /* NaN stays */
            default: break;
        }
    }
    template <int N, typename F>
    __device__ static void apply(float (&v)[N], F f) {
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = f(v[e]);
    }
    template <int, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        float g[N], b[N];
        parameter(want.gamma, column, 1.0f, g);
        parameter(want.beta, column, 0.0f, b);
        if (row_asked(s.scale == 0.0f))
            apply(v, [&](float x) { return s.of<true>(x); });
        else
            apply(v, [&](float x) { return s.of<false>(x); });
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = fmaf(v[e], g[e], b[e]);
        activate(v);
    }
};

static_assert(row_cuts_equal(row_cut ROW_NORM_CUT(4), row_cut_of<row_norm<float>, float>));
static_assert(row_cuts_equal(row_cut ROW_NORM_CUT(2), row_cut_of<row_norm<__half>, __half>));

}  // namespace ridge

#endif
