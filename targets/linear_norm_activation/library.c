/* The plan of the baseline's product: cuBLASLt's, to fp32 in scratch, behind its workspace. */
#include "gemm/library.h"
#include "linear_norm_activation.h"
#include "peer/cublaslt.h"

static ridge_case product_of(const ridge_case *c) {
    ridge_case p = *c;
    for (int i = 0; i < RIDGE_MAX_OPTIONS; i++) p.option[i] = 0;
    p.option[GEMM_ALPHA] = 1, p.option[GEMM_WIDE] = 1;
    p.column_major &= 1u << GEMM_NORM_W;
    return p;
}

const char *linear_norm_activation_unavailable(const ridge_case *c) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_unavailable(&p);
}
size_t linear_norm_activation_scratch(const ridge_case *c, int threads) {
    return gemm_cublaslt_scratch(c, threads) + 4 * (size_t)c->dim[MATMUL_M] * (size_t)c->dim[MATMUL_N];
}
ridge_status linear_norm_activation_prepare(const ridge_case *c, int threads, void **plan) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_search(&p, threads, plan);
}
