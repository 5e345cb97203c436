/* The plan of a product by fp32 multiply-adds, which takes operands as they lie (cuda/gemm/any.cuh). */
#ifndef RIDGE_GEMM_ANY_H
#define RIDGE_GEMM_ANY_H

#include "gemm/problem.h"

double gemm_any_cost(const gemm_problem *g); /* microseconds */
ridge_plan gemm_any_plan(const ridge_way *way, const ridge_problem *p);

#endif
