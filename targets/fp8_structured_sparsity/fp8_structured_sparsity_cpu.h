/* Scratch memory of fp8_structured_sparsity's threads on a CPU: rows of A and of B in fp32. */
#ifndef RIDGE_FP8_STRUCTURED_SPARSITY_CPU_H
#define RIDGE_FP8_STRUCTURED_SPARSITY_CPU_H

#include "cpu/gemm_product.h"
#include "sparse/rows.h"

/* Where a thread's arrays begin, in floats; each a multiple of 16. */
typedef struct sparse_room {
    int64_t kept, a, b, c, product,
        all; /* a row as it is stored; rows of A with zeros; rows of B; their product; its scratch */
} sparse_room;

static inline int64_t sparse_room_up(int64_t floats) { return (floats + 15) / 16 * 16; }

static inline sparse_room sparse_room_of(int64_t k) {
    const int64_t rows = sparse_rows(k);
    sparse_room r = {0};
    r.a = sparse_room_up(k / 2);
    r.b = r.a + sparse_room_up(rows * k);
    r.c = r.b + sparse_room_up(rows * k);
    r.product = r.c + sparse_room_up(rows * rows);
    r.all = r.product + sparse_room_up((int64_t)(gemm_product_scratch(rows, rows, k, 1) / sizeof(float)) + 1);
    return r;
}

#endif
