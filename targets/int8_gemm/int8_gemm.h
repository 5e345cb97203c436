/* What target.c, cpu.c and cuda.cu know of the operands of int8_gemm. */
#ifndef RIDGE_INT8_GEMM_H
#define RIDGE_INT8_GEMM_H

#include "ridge/target.h"

enum { INT8_M, INT8_N, INT8_K };                     /* dims */
enum { INT8_A, INT8_A_SCALE, INT8_B, INT8_B_SCALE }; /* inputs */

/* So many products of two numbers of magnitude 128 are a sum below 2^31. */
enum { INT8_MOST_K = 131071 };

#endif
