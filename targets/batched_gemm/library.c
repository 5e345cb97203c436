/* The baseline on a GPU: cuBLASLt's product, with the quickest of its algorithms, called for each of the batch. */
#include "gemm/batched.h"
#include "gemm/library.h"
#include "peer/cublaslt.h"

const char *batched_gemm_library_unavailable(const ridge_case *c);
ridge_status batched_gemm_library_prepare(const ridge_case *c, int threads, void **plan);
ridge_status batched_gemm_library_run(const ridge_call *call);

static ridge_case product_of(const ridge_case *c) {
    return (ridge_case){.dim = {c->dim[BATCHED_M], c->dim[BATCHED_N], c->dim[BATCHED_K]},
                        .dtype = c->dtype,
                        .option = {c->option[GEMM_ALPHA]}};
}

const char *batched_gemm_library_unavailable(const ridge_case *c) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_unavailable(&p);
}
ridge_status batched_gemm_library_prepare(const ridge_case *c, int threads, void **plan) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_search(&p, threads, plan);
}

/* Matrix i of a tensor. */
static DLTensor matrix(const DLTensor *t, int64_t i) {
    const int64_t next = t->strides && t->shape[0] > 1 ? t->strides[0] : t->shape[1] * t->shape[2];
    DLTensor one = *t;
    one.ndim = 2, one.shape = t->shape + 1, one.strides = t->strides ? t->strides + 1 : NULL;
    one.byte_offset = t->byte_offset + (uint64_t)(i * next * (t->dtype.bits / 8));
    return one;
}
ridge_status batched_gemm_library_run(const ridge_call *call) {
    for (int64_t i = 0; i < call->dim[BATCHED_BATCH] && call->dim[BATCHED_M] > 0; i++) {
        const DLTensor in[] = {matrix(&call->in[GEMM_A], i), matrix(&call->in[GEMM_B], i)};
        const DLTensor out = matrix(&call->out[0], i);
        ridge_call one = *call;
        one.dim = call->dim + BATCHED_M, one.in = in, one.out = &out;
        RIDGE_TRY(gemm_cublaslt_run(&one));
    }
    return RIDGE_OK;
}
