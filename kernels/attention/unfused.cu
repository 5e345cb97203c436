/* The baseline of attention: see unfused.h. */
#include "attention/call.cuh"
#include "attention/scores.cuh"
#include "cuda/maps/plain.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "gemm/best.cuh"

extern "C" {
#include "attention/paged.h"
#include "attention/unfused.h"
}

namespace ridge {

/* The sequence that query `row` is of. */
__device__ inline attention_span attention_sequence_of_row(const attention_args &a, int row) {
    int low = 0, high = a.sequences;
    while (low < high) {
        const int s = (low + high + 1) / 2;
        if (attention_begin(a.q_ends, s, a.m) <= row)
            low = s;
        else
            high = s - 1;
    }
    return attention_sequence(a.q_ends, a.k_ends, a.sequences, low, a.m, a.n);
}

/* What query `row` of a batch sees keys of. */
__device__ inline attention_span attention_span_of_row(const attention_args &a, int batch, int row) {
    if (a.q_ends) return attention_sequence_of_row(a, row);
    return attention_ending(a.pages.lengths.first ? a.pages.lengths.at(batch) : a.n, a.m, a.n);
}

/* A head's queries [first, first + gridDim.x), a block each: P = the softmax of the scores, 0 where a key is masked. */
template <typename T>
__global__ void __launch_bounds__(256)
    attention_softmax(const float *scores, T *p, int64_t line, const __grid_constant__ attention_args a, int first,
                      int head, int batch) {
    __shared__ float room[8];
    const int row = first + (int)blockIdx.x, thread = (int)threadIdx.x;
    const float *const from = scores + blockIdx.x * line;
    T *const to = p + blockIdx.x * line;
    after_previous_launch(); /* which may have written the slopes, and the ends of sequences */
    const attention_span span = attention_span_of_row(a, batch, row);
    const attention_mask mask = attention_mask_within(a.mask, span);
    const attention_keys keys = attention_keys_among(mask, row, row, span.keys);
    const float slope = a.slope ? a.slope[head] : 0.0f, sink = a.sink ? a.sink[head] : -INFINITY;
    const float own_scale = attention_score_scale(a, batch, head);
    const auto score = [&](int j) {
        const float x = from[j] * own_scale, capped = a.softcap > 0.0f ? a.softcap * tanhf(x / a.softcap) : x;
        return capped - slope * fabsf((float)(row + mask.shift - j));
    };
    const auto over_block = [&](float v, auto merge) {
        for (int lanes = 16; lanes > 0; lanes /= 2) v = merge(v, __shfl_xor_sync(0xffffffffu, v, lanes));
        __syncthreads();
        if (thread % 32 == 0) room[thread / 32] = v;
        __syncthreads();
        v = room[0];
        for (int w = 1; w < 8; w++) v = merge(v, room[w]);
        return v;
    };
    float most = sink, sum = 0.0f;
    for (int j = keys.begin + thread; j < keys.end; j += 256) most = fmaxf(most, score(j));
    most = over_block(most, [](float x, float y) { return fmaxf(x, y); });
    const float less = most == -INFINITY ? 0.0f : most;
    for (int j = keys.begin + thread; j < keys.end; j += 256) sum += __expf(score(j) - less);
    sum = over_block(sum, [](float x, float y) { return x + y; });
    if (sink != -INFINITY) sum += __expf(sink - less);
    const float scale = sum == 0.0f ? 0.0f : attention_value_scale(a, batch, head) / sum;
    for (int j = thread; j < (int)line; j += 256)
        to[j] = from_float<T>(j >= keys.begin && j < keys.end ? __expf(score(j) - less) * scale : 0.0f);
    if (a.n == 0) /* no product follows */
        for (int j = thread; j < a.values; j += 256)
            ((T *)a.out)[row * a.out_strides.row + batch * a.out_strides.batch + head * a.out_strides.head + j] =
                from_float<T>(0.0f);
    if (thread == 0)
        a.lse[row * a.lse_strides.row + batch * a.lse_strides.batch + head * a.lse_strides.head] =
            sum == 0.0f ? -INFINITY : less + logf(sum);
}

template <typename T>
static matrix_view rows_of(const void *base, const attention_strides &s, int batch, int head, int64_t first,
                           int64_t rows, int64_t columns) {
    return {(T *)base + first * s.row + batch * s.batch + head * s.head, rows, columns, s.row, 1};
}

/* Queries [first, first + rows) of a head. */
template <typename T>
static ridge_status some_queries(const ridge_call *call, const attention_args &a, int batch, int head, int64_t first,
                                 int64_t rows) {
    const int64_t line = attention_line(a.n), at_once = attention_rows_at_once(a.m, a.n);
    const cudaStream_t stream = stream_of(call);
    float *const scores = (float *)call->scratch;
    T *const p = (T *)(scores + at_once * line);
    const int kv = head / a.group;
    const matrix_view q = rows_of<T>(a.q, a.q_strides, batch, head, first, rows, a.depth);
    const matrix_view k = rows_of<T>(a.k, a.k_strides, batch, kv, 0, a.n, a.depth);
    const matrix_view v = rows_of<T>(a.v, a.v_strides, batch, kv, 0, a.n, a.values);
    const matrix_view out = rows_of<T>(a.out, a.out_strides, batch, head, first, rows, a.values);
    if (a.n > 0)
        RIDGE_TRY(gemm_at_best(gemm_call(q, transposed(k), {scores, rows, a.n, line, 1}, call->dtype, true, stream)));
    RIDGE_TRY(launch_overlapping(attention_softmax<T>, {dim3((unsigned)rows), 256}, stream, device_overlaps(),
                                 (const float *)scores, p, line, a, (int)first, head, batch));
    return a.n > 0 ? gemm_at_best(gemm_call({p, rows, a.n, line, 1}, v, out, call->dtype, false, stream)) : RIDGE_OK;
}

template <typename T>
static ridge_status unfused(const ridge_call *call, const attention_args &a) {
    const int64_t at_once = attention_rows_at_once(a.m, a.n);
    for (int batch = 0; batch < a.batch; batch++)
        for (int head = 0; head < a.heads; head++)
            for (int64_t first = 0; first < a.m; first += at_once)
                RIDGE_TRY(some_queries<T>(call, a, batch, head, first, a.m - first < at_once ? a.m - first : at_once));
    return RIDGE_OK;
}

/* Keys of a sequence and head to rows, a block each: zeros behind the last, whose weight is 0. */
template <typename T>
__global__ void attention_copy_pages(const T *from, attention_strides strides, T *to,
                                     const __grid_constant__ attention_args a, int batch, int head) {
    const int key = (int)blockIdx.x;
    after_previous_launch();
    const bool seen = key < attention_span_of_row(a, batch, 0).keys.end;
    const int64_t page = seen ? a.pages.of(batch, key) : 0;
    const T *const row = from + page * strides.batch + key % a.pages.size * strides.row + head * strides.head;
    for (int i = (int)threadIdx.x; i < a.depth; i += (int)blockDim.x)
        to[(int64_t)key * a.depth + i] = seen ? row[i] : from_float<T>(0.0f);
}

/* A head after the other, each with its keys and values in rows. */
template <typename T>
static ridge_status unfused_pages(const ridge_call *call, const attention_args &a) {
    T *const k = (T *)call->scratch, *const v = k + (int64_t)a.n * a.depth;
    const launch_shape rows = {dim3((unsigned)a.n), 64};
    const int64_t at_once = attention_rows_at_once(a.m, a.n);
    attention_args one = a;
    ridge_call behind = *call;
    one.k = k, one.v = v, one.k_strides = one.v_strides = {a.depth, 0, 0};
    behind.scratch = (char *)call->scratch + ((int64_t)a.n * a.depth * 4 + 255) / 256 * 256;
    for (int batch = 0; batch < a.batch; batch++)
        for (int head = 0; head < a.heads; head++) {
            RIDGE_TRY(launch_overlapping(attention_copy_pages<T>, rows, stream_of(call), device_overlaps(),
                                         (const T *)a.k, a.k_strides, k, a, batch, head / a.group));
            RIDGE_TRY(launch_overlapping(attention_copy_pages<T>, rows, stream_of(call), device_overlaps(),
                                         (const T *)a.v, a.v_strides, v, a, batch, head / a.group));
            for (int64_t first = 0; first < a.m; first += at_once)
                RIDGE_TRY(
                    some_queries<T>(&behind, one, batch, head, first, a.m - first < at_once ? a.m - first : at_once));
        }
    return RIDGE_OK;
}

static ridge_status unfused_of_type(const ridge_call *call, const attention_args &a) {
    if (call->dtype == RIDGE_BF16) return unfused<__nv_bfloat16>(call, a);
    return call->dtype == RIDGE_F16 ? unfused<__half>(call, a) : RIDGE_UNSUPPORTED;
}

/* Codes of [rows, batch, heads, columns], as they lie, in 16 bits one behind the other. */
template <typename T>
struct unpack_codes {
    const uint8_t *from;
    T *to;
    attention_strides strides;
    int batch, heads, columns;
    __device__ void operator()(int64_t i, int64_t j) const {
        const int64_t row = i / (batch * heads), head = i % heads, of = i / heads % batch;
        const __half_raw v =
            __nv_cvt_fp8_to_halfraw(from[row * strides.row + of * strides.batch + head * strides.head + j], __NV_E4M3);
        to[i * columns + j] = from_float<T>(__half2float(__half(v)));
    }
};

template <typename T>
static ridge_status unpack(const ridge_call *call, const void **base, attention_strides *strides, int64_t rows,
                           int batch, int heads, int columns, T **to) {
    const int64_t lines = rows * batch * heads;
    RIDGE_TRY(launch_plain(call, lines, columns,
                           unpack_codes<T>{(const uint8_t *)*base, *to, *strides, batch, heads, columns}));
    *base = *to, *to += lines * columns;
    *strides = {(int64_t)batch * heads * columns, (int64_t)heads * columns, columns};
    return RIDGE_OK;
}

template <typename T>
static ridge_status unfused_codes(const ridge_call *call, attention_args a) {
    T *to = (T *)call->scratch;
    ridge_call behind = *call;
    behind.scratch = to + attention_unpacked_elements(call->dim);
    RIDGE_TRY(unpack(call, &a.q, &a.q_strides, a.m, a.batch, a.heads, a.depth, &to));
    RIDGE_TRY(unpack(call, &a.k, &a.k_strides, a.n, a.batch, a.heads / a.group, a.depth, &to));
    RIDGE_TRY(unpack(call, &a.v, &a.v_strides, a.n, a.batch, a.heads / a.group, a.values, &to));
    return unfused<T>(&behind, a);
}

}  // namespace ridge

extern "C" ridge_status attention_fp8_cuda_baseline(const ridge_call *call) {
    const ridge::attention_args a = ridge::attention_fp8_args_of(call);
    if (call->dtype == RIDGE_BF16) return ridge::unfused_codes<__nv_bfloat16>(call, a);
    return call->dtype == RIDGE_F16 ? ridge::unfused_codes<__half>(call, a) : RIDGE_UNSUPPORTED;
}
extern "C" ridge_status attention_cuda_baseline(const ridge_call *call) {
    return ridge::unfused_of_type(call, ridge::attention_args_of(call));
}
/* Scores of all pairs, and a mask that leaves those within a sequence. */
extern "C" ridge_status attention_varlen_cuda_baseline(const ridge_call *call) {
    return ridge::unfused_of_type(call, ridge::attention_varlen_args_of(call));
}
extern "C" ridge_status attention_paged_cuda_baseline(const ridge_call *call) {
    const ridge::attention_args a = ridge::attention_paged_args_of(call);
    if (call->dtype == RIDGE_BF16) return ridge::unfused_pages<__nv_bfloat16>(call, a);
    return call->dtype == RIDGE_F16 ? ridge::unfused_pages<__half>(call, a) : RIDGE_UNSUPPORTED;
}
