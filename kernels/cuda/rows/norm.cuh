/* Norms of rows for rows/run.cuh, with any activation and with a residual (model/row_norm.h). Which norm and which
 * activation is asked for each pack of elements, by all threads alike: one kernel for fifteen pairs. What that costs
 * has not been measured. Targets without options have kernels of their own: rows/norm_fixed.cuh.
 *
 * Compiled once for each storage type: rows/norm_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/rows/norm_fixed.cuh"
#include "cuda/rows/passes.cuh"
#include "cuda/rows/statistics.cuh"

extern "C" {
#include "model/row_norm.h"
}

namespace ridge {

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
    /* Few threads a row: of 12784 x 2248 bf16, 512 threads of one pack each took 84 us for the instructions that a row
     * costs every thread, three of four idle. */
    template <typename U>
    static constexpr row_shape shape =
        sizeof(U) == 2
            ? row_shape{.elements = 32, .resident = 768, .long_elements = 16, .long_resident = 1024, .filled = 0}
            : row_shape{.elements = 16, .resident = 1024, .long_elements = 16, .long_resident = 1024, .filled = 0};
    static constexpr int parameters = 2, of_cluster = 16, of_shifted = 16;
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

    /* Opaque to the compiler, which else makes a copy of all of the writing for each combination of answers. */
    __device__ static int asked(int answer) {
        asm volatile("" : "+r"(answer));
        return answer;
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
        const int bytes = asked(!p ? 0 : want.wide ? 4 : 2);
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
        switch (asked(want.activation)) {
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
        if (asked(s.scale == 0.0f))
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

/* ---- the residual ---- */

template <typename T>
struct row_residual {
    using kept = T;
    static constexpr bool stores = true;
    struct row {
        const T *beside;
        T *stored;
        template <typename Index, int N>
        __device__ void put(Index column, const pack<T, N> &sum) const {
            row_store<T, N>(stored + column, sum);
        }
    };
    struct tensors {
        const T *residual;
        T *sum;
        int64_t residual_stride, sum_stride;
        __device__ row at(int64_t i) const { return {residual + i * residual_stride, sum + i * sum_stride}; }
        __device__ const T *beside(void) const { return residual; }
        __device__ T *stored(void) const { return sum; }
        __device__ tensors within(T *memory, int64_t line) const { return {memory, memory, line, line}; }
        bool lies_as(const T *x, int64_t line) const {
            const int64_t size = (int64_t)sizeof(T);
            return row_lies_alike((uintptr_t)x, (uintptr_t)residual, line, residual_stride * size, true) &&
                   row_lies_alike((uintptr_t)x, (uintptr_t)sum, line, sum_stride * size, true);
        }
    };
    __device__ T operator()(float x, float beside) const { return from_float<T>(x + beside); }
};

template <typename T>
row_joined<row_residual<T>, T> row_with_residual(const ridge_call *call) {
    const DLTensor *residual = &call->in[1], *sum = &call->out[1];
    return {row_tensors_of<T>(call),
            {(const T *)ridge_data(residual), (T *)ridge_data(sum), ridge_row_stride(residual), ridge_row_stride(sum)},
            {}};
}

/* ---- calls ---- */

inline row_norm_request row_norm_request_of(const ridge_call *call, row_norm_form form) {
    const int weights = row_norm_weights(form.kind), first = form.residual ? 2 : 1;
    return {form.kind,
            row_norm_activation(form, call->option),
            row_norm_eps(form, call->option),
            weights > 0 ? ridge_data(&call->in[first]) : NULL,
            weights > 1 ? ridge_data(&call->in[first + 1]) : NULL,
            weights > 0 && row_norm_wide(form, call->option)};
}
template <typename T>
row_norm<T> row_norm_of(const ridge_call *call, row_norm_form form) {
    return {row_norm_request_of(call, form), (float)(1.0 / (double)call->dim[1])};
}

template <typename T>
ridge_status row_norm_optimized(const ridge_call *call, row_norm_form form) {
    if (form.eps > 0) return row_norm_fixed<T>(call, form.kind);
    if (form.residual) return row_run(call, row_with_residual<T>(call), row_norm_of<T>(call, form));
    return row_run(call, row_tensors_of<T>(call), row_norm_of<T>(call, form));
}

/* ---- baseline: the sum, the normalized values and the activation each go through memory ---- */

template <typename T>
__global__ void __launch_bounds__(256) row_add(row_tensors<T, T> io, const T *residual, int64_t stride, int64_t tiles) {
    const int64_t i = blockIdx.x / tiles, j = blockIdx.x % tiles * 256 + threadIdx.x;
    if (j >= io.n) return;
    io.y[i * io.y_stride + j] = from_float<T>(to_float(io.x[i * io.x_stride + j]) + to_float(residual[i * stride + j]));
}

template <typename T>
struct row_activation_pass {
    row_norm<T> norm;
    __device__ float operator()(float h, int64_t) const {
        float v[1] = {h};
        norm.activate(v);
        return v[0];
    }
};

template <typename T>
ridge_status row_norm_baseline(const ridge_call *call, row_norm_form form) {
    const cudaStream_t stream = stream_of(call);
    row_norm<T> norm = row_norm_of<T>(call, form);
    row_tensors<T, float> to = row_to_temporary<T>(call);
    if (call->dim[0] == 0) return RIDGE_OK;
    if (form.residual) {
        const auto io = row_with_residual<T>(call);
        const row_tensors<T, T> sum = {io.x, io.other.sum, io.rows, io.n, io.x_stride, io.other.sum_stride};
        const int64_t tiles = (io.n + 255) / 256;
        if (!row_grid_fits(io.rows * tiles)) return RIDGE_UNSUPPORTED;
        RIDGE_TRY(launch(row_add<T>, {dim3((unsigned)(io.rows * tiles)), 256}, stream, sum, io.other.residual,
                         io.other.residual_stride, tiles));
        to.x = sum.y, to.x_stride = sum.y_stride;
    }
    const row_activation_pass<T> activation = {norm};
    norm.want.activation = ACTIVATION_NONE;
    RIDGE_TRY(row_run_passes(to, norm, stream));
    return row_map(row_from_temporary<T>(call), activation, stream);
}

#define ROW_NORM_OF(T)                                                              \
    template ridge_status row_norm_optimized<T>(const ridge_call *, row_norm_form); \
    template ridge_status row_norm_baseline<T>(const ridge_call *, row_norm_form);

}  // namespace ridge

#endif
