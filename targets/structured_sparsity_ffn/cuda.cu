/* y = (silu(x g^T) (x u^T)) w2^T on a GPU, g, u and w2 2:4 sparse: see README.md. Tiles are those of sparse/ffn.cuh. */
#include "gemm/ffn.cuh"
#include "sparse/ffn.cuh"

extern "C" {
#include "structured_sparsity_ffn.h"
}

namespace {

using namespace ridge;

template <typename T>
ridge_status tiles(const ridge_call *call) {
    const DLTensor *in = call->in;
    const int64_t m = call->dim[SPARSE_FFN_M], f = call->dim[SPARSE_FFN_F];
    const matrix_view w1 = view_of(in[SPARSE_FFN_W1]), w2 = view_of(in[SPARSE_FFN_W2]);
    const matrix_view x = view_of(in[SPARSE_FFN_X]), hidden = {call->scratch, m, f, f, 1}, y = view_of(call->out[0]);
    const auto of_gates = [&](auto &e) { e.weights = sparse_operand(in[SPARSE_FFN_W1_CODES]), e.f = (int)f; };
    const auto of_down = [&](auto &e) { e.weights = sparse_operand(in[SPARSE_FFN_W2_CODES]); };
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY((sparse_product<T, sparse_hidden>(w1, x, hidden, stream_of(call), of_gates)));
    return sparse_product<T, sparse_down>(w2, hidden, y, stream_of(call), of_down);
}

/* ---- baseline: weights with their zeros, then dense products in steps ---- */

template <typename T>
ridge_status dense(const ridge_call *call) {
    const DLTensor *in = call->in;
    const int64_t m = call->dim[SPARSE_FFN_M], d = call->dim[SPARSE_FFN_D], f = call->dim[SPARSE_FFN_F];
    T *const w1 = (T *)call->scratch, *const w2 = w1 + 2 * f * d, *const gates = w2 + d * f;
    const matrix_view gate = {gates, m, f, f, 1}, hidden = {gates + m * f, m, f, f, 1};
    if (m == 0) return RIDGE_OK;
    RIDGE_TRY(sparse_expand<T>(call, in[SPARSE_FFN_W1], in[SPARSE_FFN_W1_CODES], {w1, d}, 2 * f, d));
    RIDGE_TRY(sparse_expand<T>(call, in[SPARSE_FFN_W2], in[SPARSE_FFN_W2_CODES], {w2, f}, d, f));
    RIDGE_TRY(ffn_hidden_in_steps<T>(call, view_of(in[SPARSE_FFN_X]), {w1, f, d, d, 1}, {w1 + f * d, f, d, d, 1}, gate,
                                     hidden));
    return ffn_product(call, hidden, {w2, d, f, f, 1}, view_of(call->out[0]));
}

}  // namespace

extern "C" ridge_status structured_sparsity_ffn_cuda_tiles(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return tiles<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? tiles<__half>(call) : RIDGE_UNSUPPORTED;
}

extern "C" ridge_status structured_sparsity_ffn_cuda_dense(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return dense<T>(call); });
}
