/* A product in fp32 for which all threads pack B together and share all of it: C = A B, of any order of A and B. */
#ifndef RIDGE_CPU_GEMM_SHARED_H
#define RIDGE_CPU_GEMM_SHARED_H

#include "cpu/gemm_product.h"

/* Upper limits over all instruction sets, which determine the size of scratch. gemm_shared.c asserts them. */
enum { GEMM_SHARED_NR = 32, GEMM_SHARED_MC = 12 * 14, GEMM_SHARED_KC = 1024, GEMM_SHARED_PAD = 64 };
/* Up to so many strips of rows threads share columns, and B does not go to memory again. */
enum { GEMM_SHARED_STRIPS = 9 };
/* Lower limits, which determine the number of flags. */
enum { GEMM_SHARED_NR_LEAST = 2, GEMM_SHARED_KC_LEAST = 384 };

/* add is not looked at. */
#define GEMM_SHARED_DECLARE(isa) void gemm_shared_##isa(const gemm_product *p, void *scratch, ridge_team *team);
RIDGE_ISA_LIST(GEMM_SHARED_DECLARE)
#undef GEMM_SHARED_DECLARE

/* kernels/gemm/product_ways.c */
size_t gemm_shared_scratch(int64_t m, int64_t n, int64_t k, int threads);
double gemm_shared_beats(const gemm_facts *f);
ridge_traffic gemm_shared_traffic(const gemm_facts *f);

#endif
