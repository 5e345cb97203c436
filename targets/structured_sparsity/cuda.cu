/* C = A B^T on a GPU, A 2:4 sparse: see README.md. Tiles are those of cuda/gemm/sparse.cuh in the pipeline of
 * cuda/gemm/matmul.cuh. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "gemm/best.cuh"
#include "sparse/operand.cuh"

extern "C" {
#include "structured_sparsity.h"
}

namespace {

using namespace ridge;

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
        const int row = tile.m + fragment_row(group);
        return a.of_rows(row, row + 8);
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
    e.a = sparse_operand(call->in[SPARSE_CODES]);
    if (!make_map<T>(&e.map, lines_of(c), 64)) return RIDGE_FAILED;
    const matmul_plan plan = matmul_whole(call->dim[SPARSE_K], S::K, 8, true, true);
    return matmul_run<S>(lines_of(a), lines_of(b), a.rows, b.rows, plan, e, stream_of(call));
}

template <typename T>
ridge_status tiles(const ridge_call *call) {
    if (sparse_tiles_are_narrow(call->dim[SPARSE_M], call->dim[SPARSE_N]))
        return tiles_in<T, sparse_tuning(128, 7)>(call);
    return tiles_in<T, sparse_tuning(256, 4)>(call);
}

/* ---- baseline: A with its zeros, then the dense product ---- */

template <typename T>
ridge_status dense(const ridge_call *call) {
    const int64_t m = call->dim[SPARSE_M], k = call->dim[SPARSE_K];
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY(sparse_expand<T>(call, call->in[SPARSE_A], call->in[SPARSE_CODES], {(T *)call->scratch, k}, m, k));
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
