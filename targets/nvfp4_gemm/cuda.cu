/* C = x W^T on a GPU, W in NVFP4: see README.md. Tiles are those of cuda/gemm/fp4.cuh in the pipeline of cuda/gemm/matmul.cuh:
 * rows of W are their rows, rows of x their columns. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "cuda/maps/plain.cuh"
#include "gemm/best.cuh"
#include "quantize/nvfp4.cuh"

extern "C" {
#include "nvfp4_gemm.h"
}
#include "shares.cuh"

namespace {

using namespace ridge;

/* As many stages as shared memory has room for: what is in flight is what hides the memory's latency. */
constexpr matmul_tuning fp4_tuning(int columns, int stages) {
    return {.columns = columns, .stages = stages, .cluster_m = 1, .cluster_n = 1, .fp4 = true};
}

/* One share of K: C itself; several: their sums in fp32, one behind the other, each as C. */
template <class S>
struct fp4_epilogue {
    using T = typename S::T;
    static constexpr int scratch = 0;
    T *c;
    float *sums;
    int64_t line, next;
    int features, tokens, across;
    const float *tensor;
    static bool waits(void) { return false; }
    struct state {
        float scale;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &, int) const { return {*tensor * FP4_UNDO}; }
    template <class Put>
    __device__ void each(const matmul_tile &tile, int first, const float (&v)[S::sums], int group, Put put) const {
#pragma unroll
        for (int i = 0; i < S::sums; i++) {
            const int feature = tile.m + fragment_row(group) + i % 4 / 2 * 8;
            const int token = first + fragment_column() + i / 4 * 8 + i % 2;
            if (feature < features && token < tokens) put(token, feature, v[i]);
        }
    }
    __device__ void finish(const matmul_tile &tile, const state &s, const float (&v)[S::sums], uint32_t,
                           int group) const {
        const int share = across > 0 ? tile.n / S::N / across : 0, first = tile.n - share * across * S::N;
        if (across > 0)
            each(tile, first, v, group, [&](int64_t token, int feature, float value) {
                sums[share * next + token * features + feature] = value;
            });
        else
            each(tile, first, v, group, [&](int64_t token, int feature, float value) {
                c[token * line + feature] = from_float<T>(value * s.scale);
            });
    }
    __device__ void end(void) const {}
};

template <typename T, matmul_tuning Tuned>
ridge_status tiles_of(const ridge_call *call, const fp4_tiles &t) {
    using S = matmul_shape<T, Tuned>;
    const int64_t m = call->dim[FP4_M], n = call->dim[FP4_N], k = call->dim[FP4_K];
    const matrix_view x = view_of(call->in[FP4_X]);
    const matrix<T> c = matrix_out<T>(&call->out[0]);
    const DLTensor *q = &call->in[FP4_Q], *s = &call->in[FP4_S];
    fp4_epilogue<S> e = {};
    e.c = c.data, e.line = c.stride, e.sums = (float *)call->scratch, e.next = m * n;
    e.features = (int)n, e.tokens = (int)m, e.tensor = (const float *)ridge_data(&call->in[FP4_TENSOR]);
    e.across = t.shares > 1 ? (int)((m + S::N - 1) / S::N) : 0;
    matmul_plan plan = matmul_whole(k, S::K, 8, false, true);
    plan.slices = (int)t.slices;
    plan.scales = {(const uint8_t *)ridge_data(s), ridge_row_stride(s), (int)((k + FP4_SLICE - 1) / FP4_SLICE),
                   (int)(k / FP4_BLOCK)};
    const matrix_lines codes = {ridge_data(q), k / 2, n, ridge_row_stride(q) / 2};
    RIDGE_TRY(matmul_run<S>(codes, lines_of(x), n, m, plan, e, stream_of(call), t.shares));
    return t.shares == 1 ? RIDGE_OK : add_shares<T>(call, t.shares, FP4_UNDO);
}

template <typename T>
ridge_status tiles(const ridge_call *call) {
    const int sm_count = device_limit(cudaDevAttrMultiProcessorCount);
    const fp4_tiles t = fp4_tiles_of(call->dim[FP4_M], call->dim[FP4_N], call->dim[FP4_K], sm_count);
    if (call->dim[FP4_M] == 0) return RIDGE_OK;
    switch (t.columns) {
        case 16: return tiles_of<T, fp4_tuning(16, 24)>(call, t);
        case 64: return tiles_of<T, fp4_tuning(64, 16)>(call, t);
        case 128: return tiles_of<T, fp4_tuning(128, 10)>(call, t);
        default: return tiles_of<T, fp4_tuning(256, 6)>(call, t);
    }
}

/* ---- baseline: W in 16 bits, then a product, then the tensor's scale ---- */

template <typename T>
ridge_status dequantized(const ridge_call *call) {
    const int64_t m = call->dim[FP4_M], n = call->dim[FP4_N], k = call->dim[FP4_K], line = (k + 7) / 8 * 8;
    const matrix_view weights = {(char *)call->scratch + (m * n * 4 + 255) / 256 * 256, n, k, line, 1};
    const matrix_view wide = {call->scratch, m, n, n, 1};
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY(nvfp4_to_16<T>(call, &call->in[FP4_Q], &call->in[FP4_S], n, k, weights));
    RIDGE_TRY(gemm_at_best(
        gemm_call(view_of(call->in[FP4_X]), transposed(weights), wide, call->dtype, true, stream_of(call))));
    return add_shares<T>(call, 1, 1.0f);
}

}  // namespace

extern "C" ridge_status nvfp4_gemm_cuda_tiles(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return tiles<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? tiles<__half>(call) : RIDGE_UNSUPPORTED;
}

extern "C" ridge_status nvfp4_gemm_cuda_dequantized(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return dequantized<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? dequantized<__half>(call) : RIDGE_UNSUPPORTED;
}
