/* Tensors of heads on a CPU, and products of some of their rows. For cpu.c of attention and of its gradients. */
#ifndef RIDGE_ATTENTION_CPU_LINES_H
#define RIDGE_ATTENTION_CPU_LINES_H

#include "cpu/gemm_product.h"

/* [rows, batch, heads, columns]: strides in elements. */
typedef struct lines {
    float *base;
    int64_t row, batch, head;
} lines;

static inline lines lines_of(const DLTensor *t) {
    int64_t below[RIDGE_MAX_RANK], inner = 1;
    for (int d = t->ndim - 1; d >= 0; d--) below[d] = inner, inner *= t->shape[d];
    const int64_t *s = t->strides ? t->strides : below;
    return (lines){ridge_data(t), s[0], s[1], s[2]};
}
static inline float *line_of(const lines *l, int64_t row, int batch, int head) {
    return l->base + row * l->row + batch * l->batch + head * l->head;
}

/* b: [k, n] with these steps. c (+)= a b of `rows` rows; c is dense. scratch: of a thread. */
typedef struct lines_factor {
    const float *base;
    int64_t depth_step, column_step;
} lines_factor;
static inline void multiply_lines(int rows, const float *a, int64_t a_row, lines_factor b, int64_t k, float *c,
                                  int64_t n, bool add, void *scratch) {
    const gemm_product p = {.m = rows,
                            .n = n,
                            .k = k,
                            .a = a,
                            .a_row = a_row,
                            .a_depth = 1,
                            .b = b.base,
                            .b_depth = b.depth_step,
                            .b_column = b.column_step,
                            .c = c,
                            .c_row = n,
                            .add = add};
    gemm_product_best(&p, scratch, NULL);
}
/* The rows of a tensor as the columns of b, and as its rows. */
static inline lines_factor by_columns(const lines *l, const float *first) { return (lines_factor){first, 1, l->row}; }
static inline lines_factor by_rows(const lines *l, const float *first) { return (lines_factor){first, l->row, 1}; }

#endif
