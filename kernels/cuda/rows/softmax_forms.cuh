/* Softmax of rows for rows/run.cuh with a scale, a mask or a triangle, and its logarithm (model/row_softmax.h). */
#ifndef RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_FORMS_CUH
#define RIDGE_KERNELS_CUDA_ROWS_SOFTMAX_FORMS_CUH

#include "cuda/rows/passes.cuh"
#include "cuda/rows/softmax.cuh"

extern "C" {
#include "model/row_softmax.h"
}

namespace ridge {

/* As row_softmax; elements are multiplied by a positive scale, which commutes with maxima. */
struct row_softmax_scaled {
    template <typename T>
    static constexpr row_shape shape = {
        .elements = 16, .resident = 1024, .long_elements = 16, .long_resident = 1024, .filled = 0};
    static constexpr int parameters = 0, of_cluster = 16;

    float scale, by; /* by: times log2 e */
    bool log;

    /* last: 1 / sum, or with `log` the sum's logarithm. */
    struct statistics {
        float max, last;
    };
    __device__ bool usual(const statistics &, int64_t) const { return true; }
    __device__ float exponential(float x, float max) const { return ex2_approx_ftz((x - max) * by); }

    struct merge {
        float by;
        __device__ float2 operator()(float2 a, float2 b) const {
            const float max = fmaxf(a.x, b.x);
            return make_float2(max, __fadd_rn(__fmul_rn(a.y, ex2_approx_ftz((a.x - max) * by)),
                                              __fmul_rn(b.y, ex2_approx_ftz((b.x - max) * by))));
        }
    };
    template <typename Row>
    __device__ statistics of(Row &row) const {
        const float2 all = row.reduce(
            [&](const auto &part) {
                float max = -FLT_MAX;
                part.each([&](float x, int) { max = fmaxf(max, x); });
                return make_float2(max, part.sum([&](float x) { return exponential(x, max); }));
            },
            merge{by});
        return {all.x, log ? logf(all.y) : 1.0f / all.y};
    }
    template <int, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column) const {
        if (log) {
#pragma unroll
            for (int e = 0; e < N; e++) v[e] = fmaf(v[e] - s.max, scale, -s.last);
        } else {
#pragma unroll
            for (int e = 0; e < N; e++) v[e] = exponential(v[e], s.max) * s.last;
        }
    }
};

/* row_softmax_seen on a GPU. */
__device__ inline int64_t row_seen(int64_t row, int64_t cols, int64_t causal) {
    return causal > 0 ? cols - causal + row % causal + 1 : cols;
}

static_assert(row_cuts_equal(row_cut ROW_SOFTMAX_CUT, row_cut_of<row_softmax_scaled, float>));

/* ---- rows that are shorter the earlier they are in their group: columns that they do not see are not read -------- */

template <typename T>
struct row_triangle : row_tensors<T, T> {
    static constexpr bool fills = true;
    int64_t causal;
    float unseen; /* what the other columns of y get */

    __device__ int64_t seen(int64_t row) const { return row_seen(row, this->n, causal); }
    bool piece(void) const { return false; }
    bool whole(void) const { return causal == 0 && row_tensors<T, T>::whole(); }
    template <int Width, typename Index, bool Ends = (Width > 1)>
    __device__ row_span<T, T, Width, Index, Ends> at(int64_t row, bool exists) const {
        using span = row_span<T, T, Width, Index, Ends>;
        return exists ? span(this->x + row * this->x_stride, this->y + row * this->y_stride, (Index)seen(row))
                      : span(this->x, this->y, 0);
    }
    /* By `threads` threads: whole packs where y has them. */
    __device__ void fill(int64_t row, int thread, int threads) const {
        constexpr int W = pack_width<T>;
        T *const end = this->y + row * this->y_stride + this->n, *p = end - this->n + seen(row);
        const T value = from_float<T>(unseen);
        pack<T, W> many;
#pragma unroll
        for (int e = 0; e < W; e++) many.v[e] = value;
        const int64_t before = min((int64_t)(end - p), (int64_t)((0u - (unsigned)(uintptr_t)p) % 16 / sizeof(T)));
        for (int64_t k = thread; k < before; k += threads) p[k] = value;
        p += before;
        const int64_t packs = (end - p) / W;
        for (int64_t k = thread; k < packs; k += threads) store_once(p + k * W, many);
        p += packs * W;
        for (int64_t k = thread; k < end - p; k += threads) p[k] = value;
    }
};

/* ---- a mask that is added: the sum stays in fp32 ---- */

template <typename T>
struct row_mask {
    using kept = float;
    static constexpr bool stores = false;
    float scale;
    struct row {
        const T *beside;
        template <typename Index, int N>
        __device__ void put(Index, const pack<float, N> &) const {}
    };
    struct tensors {
        const T *mask;
        int64_t stride;
        __device__ row at(int64_t i) const { return {mask + i * stride}; }
        __device__ const T *beside(void) const { return mask; }
        __device__ T *stored(void) const { return nullptr; }
        __device__ tensors within(T *memory, int64_t line) const { return {memory, line}; }
        bool lies_as(const T *x, int64_t line) const {
            return row_lies_alike((uintptr_t)x, (uintptr_t)mask, line, stride * (int64_t)sizeof(T), true);
        }
    };
    __device__ float operator()(float x, float beside) const { return fmaf(x, scale, beside); }
};

/* ---- calls ---- */

inline row_softmax_scaled row_softmax_of(const ridge_call *call, bool masked) {
    const float scale = masked ? 1.0f : (float)call->option[ROW_SOFTMAX_SCALE]; /* the join has scaled */
    return {scale, scale * 0x1.715476p0f, call->option[ROW_SOFTMAX_LOG] > 0};
}
template <typename T>
row_joined<row_mask<T>, T> row_with_mask(const ridge_call *call) {
    const DLTensor *mask = &call->in[1];
    return {row_tensors_of<T>(call),
            {(const T *)ridge_data(mask), ridge_row_stride(mask)},
            {(float)call->option[ROW_SOFTMAX_SCALE]}};
}
template <typename T>
row_triangle<T> row_with_triangle(const ridge_call *call) {
    return {row_tensors_of<T>(call), (int64_t)call->option[ROW_SOFTMAX_CAUSAL],
            call->option[ROW_SOFTMAX_LOG] > 0 ? -INFINITY : 0.0f};
}

template <typename T>
ridge_status row_softmax_optimized(const ridge_call *call, bool masked) {
    if (masked) return row_run(call, row_with_mask<T>(call), row_softmax_of(call, true));
    return row_run(call, row_with_triangle<T>(call), row_softmax_of(call, false));
}

/* ---- baseline: z, maxima, exponentials, sums and y each go through memory ---- */

template <typename T>
struct row_logits_pass {
    const T *mask; /* NULL: none */
    int64_t stride, n, causal;
    float scale;
};
template <typename T>
__global__ void __launch_bounds__(256) row_logits(row_tensors<T, float> io, row_logits_pass<T> pass, int64_t tiles) {
    const int64_t i = blockIdx.x / tiles, j = blockIdx.x % tiles * 256 + threadIdx.x;
    if (j >= io.n) return;
    const float x = to_float(io.x[i * io.x_stride + j]) * pass.scale;
    const float z = pass.mask ? x + to_float(pass.mask[i * pass.stride + j]) : x;
    io.y[i * io.y_stride + j] = j < row_seen(i, io.n, pass.causal) ? z : -INFINITY;
}
struct row_exponential_pass {
    const float *maxima;
    __device__ float operator()(float z, int64_t row) const { return exp2f((z - maxima[row]) * 0x1.715476p0f); }
};
struct row_sum_of {
    __device__ float operator()(float v) const { return v; }
};
struct row_largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
/* Columns that a row does not see are 0, or -inf, whatever the others are. */
template <typename T>
__global__ void __launch_bounds__(256) row_quotients(row_tensors<float, T> io, const float *maxima, const float *sums,
                                                     int64_t causal, bool log, int64_t tiles) {
    const int64_t i = blockIdx.x / tiles, j = blockIdx.x % tiles * 256 + threadIdx.x;
    if (j >= io.n) return;
    const float z = io.x[i * io.x_stride + j] - maxima[i];
    const float y = log ? z - logf(sums[i]) : exp2f(z * 0x1.715476p0f) / sums[i];
    io.y[i * io.y_stride + j] = from_float<T>(j < row_seen(i, io.n, causal) ? y : log ? -INFINITY : 0.0f);
}

template <typename T>
ridge_status row_softmax_baseline(const ridge_call *call, bool masked) {
    const cudaStream_t stream = stream_of(call);
    const row_tensors<T, float> to = row_to_temporary<T>(call);
    const int64_t tiles = (to.n + 255) / 256, length = row_temporary_length(to.n);
    float *const z = to.y, *const e = z + to.rows * length;
    float *const maxima = e + to.rows * length, *const sums = maxima + to.rows;
    row_logits_pass<T> pass = {NULL, 0, to.n, 0, (float)call->option[ROW_SOFTMAX_SCALE]};
    if (to.rows == 0) return RIDGE_OK;
    if (!row_grid_fits(to.rows * tiles)) return RIDGE_UNSUPPORTED;
    if (masked)
        pass.mask = (const T *)ridge_data(&call->in[1]), pass.stride = ridge_row_stride(&call->in[1]);
    else
        pass.causal = (int64_t)call->option[ROW_SOFTMAX_CAUSAL];
    RIDGE_TRY(launch(row_logits<T>, {dim3((unsigned)(to.rows * tiles)), 256}, stream, to, pass, tiles));
    RIDGE_TRY(
        row_reduce((const float *)z, length, to.rows, to.n, maxima, -FLT_MAX, row_sum_of(), row_largest(), stream));
    RIDGE_TRY(
        row_map(row_tensors<float, float>{z, e, to.rows, to.n, length, length}, row_exponential_pass{maxima}, stream));
    RIDGE_TRY(row_reduce((const float *)e, length, to.rows, to.n, sums, 0.0f, row_sum_of(), row_plus(), stream));
    return launch(row_quotients<T>, {dim3((unsigned)(to.rows * tiles)), 256}, stream, row_from_temporary<T>(call),
                  (const float *)maxima, (const float *)sums, pass.causal, call->option[ROW_SOFTMAX_LOG] > 0, tiles);
}

#define ROW_SOFTMAX_OF(T)                                                     \
    template ridge_status row_softmax_optimized<T>(const ridge_call *, bool); \
    template ridge_status row_softmax_baseline<T>(const ridge_call *, bool);

}  // namespace ridge

#endif
