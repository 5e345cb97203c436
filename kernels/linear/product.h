/* Products by gemm's quickest ways within a larger operation, as its plan has them. Of C: product.cuh runs them. */
#ifndef RIDGE_LINEAR_PRODUCT_H
#define RIDGE_LINEAR_PRODUCT_H

#include "gemm/problem.h"

/* A product, gemm's quickest way (NULL: none takes it), and that way's plan. */
typedef struct linear_product {
    ridge_problem problem;
    const ridge_way *way;
    ridge_plan plan;
} linear_product;

/* Of a matrix in scratch, whose lines begin at multiples of 16 bytes. */
static inline ridge_operand operand_dense(int64_t line) {
    ridge_operand o = {{0}, 0};
    o.stride[0] = line, o.stride[1] = 1;
    return o;
}
static inline ridge_operand operand_transposed(ridge_operand o) {
    const int64_t line = o.stride[0];
    o.stride[0] = o.stride[1], o.stride[1] = line;
    return o;
}

/* C[m, n] = A[m, k] B[k, n], of the type and the device of the operation `p`; C is of that type, or fp32 (wide). */
linear_product linear_product_of(const ridge_problem *p, const int64_t dim[3], ridge_operand a, ridge_operand b,
                                 ridge_operand c, bool wide);
/* What the product moves by its plan, or its operands and result. */
ridge_traffic linear_product_traffic(const linear_product *of);

#endif
