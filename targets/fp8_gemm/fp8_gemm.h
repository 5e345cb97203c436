/* What target.c, cpu.c and cuda.cu know of the operands of fp8_gemm. */
#ifndef RIDGE_FP8_GEMM_H
#define RIDGE_FP8_GEMM_H

#include "gemm/fp8.h"

enum { FP8_M, FP8_N, FP8_K, FP8_A_DOWN, FP8_B_DOWN, FP8_ACROSS }; /* dims */
enum { FP8_A, FP8_A_SCALE, FP8_B, FP8_B_SCALE };                  /* inputs */
enum { FP8_FAST_SUMS };                                           /* options */

#endif
