/* Products by cuBLASLt, for targets that compare with it (problem.h): an algorithm by the library's own guess, or the
 * quickest of all that it offers, measured when the plan is made. */
#ifndef RIDGE_GEMM_LIBRARY_H
#define RIDGE_GEMM_LIBRARY_H

#include "gemm/problem.h"

const char *gemm_cublaslt_unavailable(const ridge_case *c);
size_t gemm_cublaslt_scratch(const ridge_case *c, int threads);
ridge_status gemm_cublaslt_guess(const ridge_case *c, int threads, void **plan);
ridge_status gemm_cublaslt_search(const ridge_case *c, int threads, void **plan);
ridge_status gemm_cublaslt_run(const ridge_call *call);

#endif
