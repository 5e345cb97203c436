/* OpenBLAS as a peer, opened at run time. It has its own threads, so a variant that uses it sets own_threads.
 *
 *     .unavailable = openblas_unavailable, .prepare = openblas_prepare, .own_threads = true,
 *
 * and calls openblas_sgemm in run. */
#ifndef RIDGE_PEER_OPENBLAS_H
#define RIDGE_PEER_OPENBLAS_H

#include "ridge/target.h"

/* NULL when it can be used, else why not. The case is not looked at. */
const char *openblas_unavailable(const ridge_case *c);

/* Loads the library and sets its number of threads; leaves no plan. */
ridge_status openblas_prepare(const ridge_case *c, int threads, void **plan);

/* C[m,n] = A[m,k] B[k,n], row-major, leading dimensions in elements. RIDGE_INVALID beyond 32-bit sizes. */
ridge_status openblas_sgemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                            float *c, int64_t ldc);

/* The same for operands stored transposed: turn_a: A is [k,m]; turn_b: B is [n,k]. */
ridge_status openblas_product(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                              const float *b, int64_t ldb, float *c, int64_t ldc);

#endif
