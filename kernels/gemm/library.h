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

/* The product alone, row-major and in fp32, by the quickest of them, to scratch: for baselines that make the rest of it.
 * Inputs 0 and 1 of the target are A and B. */
const char *gemm_fp32_product_unavailable(const ridge_case *c);
size_t gemm_fp32_product_scratch(const ridge_case *c, int threads);
ridge_status gemm_fp32_product_prepare(const ridge_case *c, int threads, void **plan);
ridge_status gemm_fp32_product_run(const ridge_call *call, float **product);

/* A variant that is cuBLASLt's: prepare_ is gemm_cublaslt_search, or gemm_cublaslt_guess. Of targets without an option alpha. */
#define GEMM_CUBLASLT(name_, role_, idea_, prepare_)                                                                 \
    {                                                                                                                \
        .name = name_, .role = role_, .idea = idea_, .run = RIDGE_CUDA(gemm_cublaslt_run),                           \
        .scratch = gemm_cublaslt_scratch, .unavailable = cublaslt_unavailable, .prepare = RIDGE_CUDA_PLAN(prepare_), \
        .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)                                                            \
    }

#endif
