/* The plan of a product by tcgen05 from tiles (GEMM_TENSOR_TILES of tiles.h), in 16 bits. */
#ifndef RIDGE_GEMM_TENSOR_H
#define RIDGE_GEMM_TENSOR_H

#include "gemm/problem.h"
#include "gemm/tiles.h"

/* Of a way whose `own` is a gemm_tile. */
ridge_plan gemm_tensor_plan(const ridge_way *way, const ridge_problem *p);

#endif
