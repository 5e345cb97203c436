/* What plans of products of 8-bit operands in the tiles of gemm8.cuh have in common. Of C alone. */
#ifndef RIDGE_GEMM_GEMM8_H
#define RIDGE_GEMM_GEMM8_H

#include <math.h>

#include "ridge/target.h"

/* Whether an operand lies in lines of 16-byte pieces, as TMA takes it. bytes: of an element. */
static inline bool gemm8_in_pieces(const ridge_operand *t, int64_t bytes) {
    return t->offset % 16 == 0 && t->stride[0] * bytes % 16 == 0;
}
/* Why tiles do not take operands that lie so; n: columns of C, which TMA stores in 16 bits. */
static inline const char *gemm8_refusal(const ridge_problem *p, const ridge_operand *a, const ridge_operand *b,
                                        const ridge_operand *c, int64_t n) {
    if (!gemm8_in_pieces(a, 1) || !gemm8_in_pieces(b, 1)) return "for operands in lines of 16-byte pieces";
    if (p->c.dtype == RIDGE_F32) return NULL;
    return gemm8_in_pieces(c, 2) && n % 8 == 0 ? NULL : "for a C in lines of whole 16-byte pieces";
}

/* Bytes a microsecond, and microseconds of a launch: estimates, which nobody has measured. */
#define GEMM8_DRAM 4.2e6
#define GEMM8_LAUNCH 3.0

/* Microseconds of the products of m x n tiles of down x across: flops of an element of C, rate in FLOP a microsecond of an SM. */
static inline double gemm8_tiles_us(const ridge_problem *p, double m, double n, double flops, double rate, double down,
                                    double across) {
    const double sms = p->here.sm_count > 0 ? p->here.sm_count : 1;
    return ceil(ceil(m / down) * ceil(n / across) / sms) * down * across * flops / rate;
}

#endif
