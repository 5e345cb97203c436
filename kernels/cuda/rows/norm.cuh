/* Norms of rows (model/row_norm.h), with a residual if there is one, and their baseline: by rows/norm_fixed.cuh or by
 * rows/norm_any.cuh. Compiled once for each storage type: rows/norm_<type>.cu. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_NORM_CUH
#define RIDGE_KERNELS_CUDA_ROWS_NORM_CUH

#include "cuda/rows/norm_any.cuh"
#include "cuda/rows/norm_fixed.cuh"
#include "cuda/rows/passes.cuh"

namespace ridge {

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
    if (row_norm_is_fixed(form, call->option)) switch (form.kind) {
            case ROW_NORM_L2: return row_norm_run_fixed<T, ROW_NORM_L2>(call, form);
            case ROW_NORM_RMS: return row_norm_run_fixed<T, ROW_NORM_RMS>(call, form);
            default: return row_norm_run_fixed<T, ROW_NORM_LAYER>(call, form);
        }
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
