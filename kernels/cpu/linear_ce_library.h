/* Unfused variant of linear_ce.h: a library's matrix products, with logits and their gradient in memory in between. */
#ifndef RIDGE_CPU_LINEAR_CE_LIBRARY_H
#define RIDGE_CPU_LINEAR_CE_LIBRARY_H

#include "cpu/linear_ce.h"

/* C[m,n] = op(A) op(B), row-major; turn: the operand is stored transposed. `parallel` runs a body on the library's own
 * threads. */
typedef ridge_status (*linear_ce_product)(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a,
                                          int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc);
typedef struct linear_ce_library {
    linear_ce_product product;
    void (*parallel)(ridge_team_fn body, void *arg); /* NULL: use the team */
} linear_ce_library;

#define LINEAR_CE_DECLARE(isa) \
    ridge_status linear_ce_unfused_##isa(const linear_ce *job, const linear_ce_library *library);
RIDGE_ISA_LIST(LINEAR_CE_DECLARE)
#undef LINEAR_CE_DECLARE

#endif
