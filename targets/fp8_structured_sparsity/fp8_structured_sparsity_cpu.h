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

/* Rows of A of a block, each a row of B is decoded for once: 1 MiB. */
static inline int64_t sparse_room_rows(int64_t k) {
    const int64_t rows = (1 << 18) / (k > 0 ? k : 1);
    return rows > GEMM_BLOCK_ROWS ? GEMM_BLOCK_ROWS : rows < 8 ? 8 : rows;
}

static inline sparse_room sparse_room_of(int64_t k) {
    const int64_t rows = sparse_room_rows(k), columns = sparse_rows(k);
    sparse_room r = {0};
    r.a = sparse_room_up(k / 2);
    r.b = r.a + sparse_room_up(rows * k);
    r.c = r.b + sparse_room_up(columns * k);
    r.product = r.c + sparse_room_up(rows * columns);
    r.all = r.product + sparse_room_up((int64_t)(gemm_product_scratch(rows, columns, k, 1) / sizeof(float)) + 1);
    return r;
}

#endif
