/* C = A B^T on a GPU, A 2:4 sparse: see README.md. Tiles are those of cuda/gemm/sparse.cuh in the pipeline of
 * cuda/gemm/matmul.cuh. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "cuda/maps/plain.cuh"
#include "gemm/best.cuh"

extern "C" {
#include "structured_sparsity.h"
}

namespace {

using namespace ridge;

/* Blocks in pairs: a slice takes half as long as a dense one, and two blocks share the columns of B that it needs. */
constexpr matmul_tuning sparse_tuning(int columns, int stages) {
    return {.columns = columns, .stages = stages, .cluster_m = 2, .cluster_n = 1, .sparse = true};
}

struct sparse_operand {
    const unsigned *codes;
    int64_t line;
    int rows, words;
};
sparse_operand sparse_operand_of(const ridge_call *call) {
    const DLTensor *codes = &call->in[SPARSE_CODES];
    return {(const unsigned *)ridge_data(codes), ridge_row_stride(codes), (int)call->dim[SPARSE_M],
            (int)call->dim[SPARSE_WORDS]};
}

template <typename T, int N>
struct sparse_epilogue {
    using slots = store_slots<T, N>;
    CUtensorMap map;
    sparse_operand a;
    static constexpr int scratch = slots::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { slots{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ sparse_codes codes(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group), last = a.rows - 1;
        return {a.codes + min(row, last) * a.line, a.codes + min(row + 8, last) * a.line, a.words};
    }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[N / 2], uint32_t at, int) const {
        slots{at}.put(sums, tile.number);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t at) const {
        store_tiles<S, T>(&map, plan, rank, at);
    }
};

template <typename T, matmul_tuning Tuned>
ridge_status tiles_in(const ridge_call *call) {
    using S = matmul_shape<T, Tuned>;
    const matrix_view a = view_of(call->in[SPARSE_A]), b = view_of(call->in[SPARSE_B]), c = view_of(call->out[0]);
    sparse_epilogue<T, S::N> e = {};
    if (a.rows == 0) return RIDGE_OK;
    e.a = sparse_operand_of(call);
    if (!make_map<T>(&e.map, lines_of(c), 64)) return RIDGE_FAILED;
    const matmul_plan plan = matmul_whole(call->dim[SPARSE_K], S::K, 8, true, true);
    return matmul_run<S>(lines_of(a), lines_of(b), a.rows, b.rows, plan, e, stream_of(call));
}

/* Tiles of half the columns where those of all leave SMs without work. */
template <typename T>
ridge_status tiles(const ridge_call *call) {
    const int64_t tiles = (call->dim[SPARSE_M] + 127) / 128 * ((call->dim[SPARSE_N] + 255) / 256);
    if (call->dim[SPARSE_N] <= 128 || tiles < device_limit(cudaDevAttrMultiProcessorCount) / 2)
        return tiles_in<T, sparse_tuning(128, 7)>(call);
    return tiles_in<T, sparse_tuning(256, 4)>(call);
}

/* ---- baseline: A with its zeros, then the dense product ---- */

/* Four elements of a row a thread. A row whose codes are not of a pattern is NaN. */
template <typename T>
struct expanded_four {
    matrix<const T> a;
    matrix<const unsigned> codes;
    matrix<T> to;
    __device__ void operator()(int64_t i, int64_t four) const {
        const uint32_t word = codes.at(i, four / 8);
        const unsigned code = pattern_code(word, (int)(four % 8));
        const T none = from_float<T>(pattern_wrong(word) ? __int_as_float(0x7fffffff) : 0.0f);
        for (int e = 0; e < 4; e++) to.at(i, 4 * four + e) = none;
        if (pattern_wrong(word)) return;
        to.at(i, 4 * four + pattern_first(code)) = a.at(i, 2 * four);
        to.at(i, 4 * four + pattern_second(code)) = a.at(i, 2 * four + 1);
    }
};

template <typename T>
ridge_status dense(const ridge_call *call) {
    const int64_t m = call->dim[SPARSE_M], k = call->dim[SPARSE_K];
    const matrix<T> whole = {(T *)call->scratch, k};
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY(launch_plain(
        call, m, k / 4,
        expanded_four<T>{matrix_in<T>(&call->in[SPARSE_A]), matrix_in<unsigned>(&call->in[SPARSE_CODES]), whole}));
    const matrix_view a = {call->scratch, m, k, k, 1};
    return gemm_at_best(gemm_call(a, transposed(view_of(call->in[SPARSE_B])), view_of(call->out[0]), call->dtype, false,
                                  stream_of(call)));
}

}  // namespace

extern "C" ridge_status structured_sparsity_cuda_tiles(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return tiles<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? tiles<__half>(call) : RIDGE_UNSUPPORTED;
}

extern "C" ridge_status structured_sparsity_cuda_dense(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return dense<T>(call); });
}
