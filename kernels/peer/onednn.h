/* oneDNN as a peer, opened at run time. It uses OpenMP's threads, so a variant that uses it sets own_threads.
 *
 * sgemm:       .unavailable = onednn_unavailable, .prepare = onednn_prepare, and onednn_sgemm in run.
 * primitives:  .unavailable calls onednn_primitive_unavailable; .prepare calls onednn_plan_create with the case's rows,
 *              columns and storage type; .release = onednn_plan_destroy; run is one onednn_plan_run(call->plan, …).
 *
 * dnnl_sgemm takes plain types and needs no header; primitives need the header of the same major version (2 or 3) at
 * build time, and report its absence. */
#ifndef RIDGE_PEER_ONEDNN_H
#define RIDGE_PEER_ONEDNN_H

#include "ridge/target.h"

/* NULL when it can be used, else why not. The case is not looked at. */
const char *onednn_unavailable(const ridge_case *c);

/* Loads the library and sets OpenMP's number of threads for the calling thread; leaves no plan. */
ridge_status onednn_prepare(const ridge_case *c, int threads, void **plan);

/* C[m,n] = A[m,k] B[k,n], row-major, leading dimensions in elements. */
ridge_status onednn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float *c, int64_t ldc);

/* The same for operands stored transposed: turn_a: A is [k,m]; turn_b: B is [n,k]. */
ridge_status onednn_product(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                            const float *b, int64_t ldb, float *c, int64_t ldc);

/* Runs body on the OpenMP threads that oneDNN itself uses: for parts of a peer that oneDNN lacks. */
void onednn_parallel(ridge_team_fn body, void *arg);

/* C = A B by the matmul primitive: f32 or bf16, C of that type or f32, any strides of which one is 1. It is made at the first
 * call, and again for other strides: correct, but slow. */
typedef struct onednn_matmul onednn_matmul;
const char *onednn_matmul_unavailable(void);
ridge_status onednn_matmul_create(int threads, onednn_matmul **out);
ridge_status onednn_matmul_run(onednn_matmul *p, const DLTensor *a, const DLTensor *b, const DLTensor *c);
void onednn_matmul_destroy(void *plan); /* NULL is allowed */

/* ---- primitives over the last dimension of [rows, cols]; f32 or bf16 storage ------------------------------------- */

typedef enum onednn_op {
    ONEDNN_SOFTMAX,
    ONEDNN_LAYER_NORM,        /* (x - mean) / sqrt(variance + eps) */
    ONEDNN_LAYER_NORM_AFFINE, /* the same, times scale[cols] plus shift[cols], both f32 */
    ONEDNN_GELU_ERF,          /* elementwise x/2 (1 + erf(x/sqrt 2)) */
} onednn_op;

typedef struct onednn_plan onednn_plan;

const char *onednn_primitive_unavailable(const ridge_case *c);

/* Makes the primitive for dense rows. eps is used by layer normalization only. */
ridge_status onednn_plan_create(onednn_op op, int64_t rows, int64_t cols, ridge_dtype dtype, double eps, int threads,
                                onednn_plan **plan);

/* dst = op(src). For rows that are not dense the call makes another primitive: correct, but slow. scale and
 * shift are NULL unless the operation is affine. */
ridge_status onednn_plan_run(const onednn_plan *plan, const DLTensor *src, const DLTensor *dst, const float *scale,
                             const float *shift);
void onednn_plan_destroy(void *plan); /* NULL is allowed */

#endif
