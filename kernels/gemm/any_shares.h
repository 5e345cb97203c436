/* The plan of a product by fp32 multiply-adds in shares of K, for few tiles of a long K: sums of shares go to scratch, and a
 * second launch adds them in their order. */
#ifndef RIDGE_GEMM_ANY_SHARES_H
#define RIDGE_GEMM_ANY_SHARES_H

#include <stddef.h>

#include "cuda/gemm/any_plan.h"
#include "gemm/problem.h"

typedef struct gemm_any_shares {
    any_split split; /* one share: not worth it */
    double us;
    size_t bytes; /* of all sums: [shares][m][gemm_share_line(n)] */
} gemm_any_shares;

gemm_any_shares gemm_any_shares_of(const gemm_problem *g);
ridge_plan gemm_any_shares_plan(const ridge_way *way, const ridge_problem *p);

#endif
