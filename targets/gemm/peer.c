/* C = A B by libraries: oneDNN, whose sgemm is ahead of its matmul in f32, and OpenBLAS in f32. */
#include "peer.h"

#include "gemm/problem.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

static bool scales(const ridge_case *c) { return c->option[GEMM_ALPHA] > 1 || c->option[GEMM_ALPHA] < 1; }

const char *gemm_onednn_unavailable(const ridge_case *c) {
    if (c && c->dtype != RIDGE_F32 && c->dtype != RIDGE_BF16) return "oneDNN peer: f32 and bf16 only";
    if (c && scales(c)) return "oneDNN peer: for alpha 1";
    if (c && c->dtype == RIDGE_BF16 && c->edge) return "oneDNN's bf16 product takes subnormal numbers as 0";
    return c && c->dtype == RIDGE_BF16 ? onednn_matmul_unavailable() : onednn_unavailable(c);
}
ridge_arithmetic gemm_onednn_arithmetic(const ridge_case *c, int sm) {
    (void)sm;
    return c->dtype == RIDGE_BF16 ? (ridge_arithmetic){RIDGE_BF16, 1} : (ridge_arithmetic){RIDGE_DTYPE_NONE, 0};
}
ridge_status gemm_onednn_prepare(const ridge_case *c, int threads, void **plan) {
    onednn_matmul *made = NULL;
    if (c->dtype == RIDGE_F32) return onednn_prepare(c, threads, plan);
    RIDGE_TRY(onednn_matmul_create(threads, &made));
    *plan = made;
    return RIDGE_OK;
}
const char *gemm_openblas_unavailable(const ridge_case *c) {
    if (c && c->dtype != RIDGE_F32) return "OpenBLAS peer: f32 only";
    if (c && scales(c)) return "OpenBLAS peer: for alpha 1";
    return openblas_unavailable(c);
}

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->shape[dim] <= 1 || !t->strides) return dim == 0 ? t->shape[1] : 1;
    return t->strides[dim];
}

typedef ridge_status (*product_fn)(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a,
                                   int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc);

/* A column-major C is made as its transpose. */
static ridge_status call_product(const ridge_call *call, product_fn product) {
    const DLTensor *const c = &call->out[0];
    const int across = stride_of(c, 1) != 1;
    const DLTensor *const a = &call->in[across ? GEMM_B : GEMM_A], *const b = &call->in[across ? GEMM_A : GEMM_B];
    const bool turn_a = stride_of(a, !across) != 1, turn_b = stride_of(b, !across) != 1;
    return product(turn_a, turn_b, c->shape[across], c->shape[!across], call->dim[MATMUL_K], ridge_data(a),
                   stride_of(a, turn_a ? !across : across), ridge_data(b), stride_of(b, turn_b ? !across : across),
                   ridge_data(c), stride_of(c, across));
}

ridge_status gemm_openblas(const ridge_call *call) { return call_product(call, openblas_product); }
ridge_status gemm_onednn(const ridge_call *call) {
    if (call->dtype == RIDGE_F32) return call_product(call, onednn_product);
    return onednn_matmul_run(call->plan, &call->in[GEMM_A], &call->in[GEMM_B], &call->out[0]);
}
