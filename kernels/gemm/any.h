/* The plan of a product by fp32 multiply-adds, which takes operands as they lie (cuda/gemm/any.cuh). */
#ifndef RIDGE_GEMM_ANY_H
#define RIDGE_GEMM_ANY_H

#include "gemm/problem.h"

/* Microseconds: of so many cycles of such kernels, and of the product. */
double gemm_any_us(const gemm_problem *g, double cycles);
double gemm_any_cost(const gemm_problem *g);
ridge_plan gemm_any_plan(const ridge_way *way, const ridge_problem *p);

#endif
