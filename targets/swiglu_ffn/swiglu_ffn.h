/* What the files of this target know of its operands. */
#ifndef SWIGLU_FFN_H
#define SWIGLU_FFN_H

#include "gemm/problem.h"

RIDGE_CPU_DECLARE(swiglu_ffn_cpu_baseline);
RIDGE_CPU_DECLARE(swiglu_ffn_cpu_optimized);

enum { FFN_M, FFN_D, FFN_F, FFN_BOTH }; /* dims: rows, width, hidden width, and twice that */
enum { FFN_X, FFN_W1, FFN_W2 };         /* inputs; y is out[0] */

/* Elements of a line of gate, up or hidden values in scratch: whole pieces of 16 bytes. */
static inline int64_t ffn_line(int64_t f) { return (f + 7) / 8 * 8; }

#endif
