/* C = A B by libraries. */
#include "matmul.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

typedef ridge_status (*sgemm_fn)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                                 int64_t ldb, float *c, int64_t ldc);

static ridge_status call_sgemm(const ridge_call *call, sgemm_fn sgemm) {
    const DLTensor *a = &call->in[0], *b = &call->in[1], *c = &call->out[0];
    return sgemm(call->dim[MATMUL_M], call->dim[MATMUL_N], call->dim[MATMUL_K], ridge_data(a), ridge_row_stride(a),
                 ridge_data(b), ridge_row_stride(b), ridge_data(c), ridge_row_stride(c));
}

ridge_status matmul_openblas(const ridge_call *call) { return call_sgemm(call, openblas_sgemm); }
ridge_status matmul_onednn(const ridge_call *call) { return call_sgemm(call, onednn_sgemm); }
