/* What the files of this target know of its operands. */
#ifndef RIDGE_FP8_FFN_H
#define RIDGE_FP8_FFN_H

#include "gemm/fp8.h"
#include "gemm/fp8_best.h"

/* dims: rows, width, hidden width, twice that; then those of scales: of the widths and of twice the hidden one, blocks of 128, and of
 * x, rows. Of tensors that have one scale each all of these are 1. */
enum {
    FP8_FFN_M,
    FP8_FFN_D,
    FP8_FFN_F,
    FP8_FFN_BOTH,
    FP8_FFN_D_BLOCKS,
    FP8_FFN_F_BLOCKS,
    FP8_FFN_BOTH_BLOCKS,
    FP8_FFN_X_DOWN
};
enum { FP8_FFN_X, FP8_FFN_X_SCALE, FP8_FFN_W1, FP8_FFN_W1_SCALE, FP8_FFN_W2, FP8_FFN_W2_SCALE }; /* inputs */

/* Scratch of hidden values on a GPU: codes, then scales, then, where steps go through memory, gate and up values and hidden ones in
 * y's type. Lines are whole pieces of 16 bytes, parts whole ones of 256. Bytes. */
typedef struct fp8_ffn_scratch {
    int64_t line, both_line, hidden_line; /* of codes, and of values in elements */
    size_t scales, both, hidden, bytes;
} fp8_ffn_scratch;

static inline size_t fp8_ffn_part(int64_t elements, size_t size) { return ((size_t)elements * size + 255) / 256 * 256; }
/* size: of a value, 0 where none goes through memory. */
static inline fp8_ffn_scratch fp8_ffn_scratch_of(const int64_t *dim, size_t size) {
    const int64_t m = dim[FP8_FFN_M];
    fp8_ffn_scratch s;
    s.line = (dim[FP8_FFN_F] + 15) / 16 * 16;
    s.both_line = (dim[FP8_FFN_BOTH] + 7) / 8 * 8, s.hidden_line = (dim[FP8_FFN_F] + 7) / 8 * 8;
    s.scales = fp8_ffn_part(m * s.line, 1);
    s.both = s.scales + fp8_ffn_part(m * fp8_blocks(dim[FP8_FFN_F]), sizeof(float));
    s.hidden = s.both + fp8_ffn_part(m * s.both_line, size);
    s.bytes = s.hidden + fp8_ffn_part(m * s.hidden_line, size);
    return s;
}

/* y's product on so many SMs; sums of its shares of K are behind the rest of scratch. size: of a number of y. */
static inline fp8_choice fp8_ffn_down(const int64_t *dim, int sms, size_t size) {
    const double m = (double)dim[FP8_FFN_M], d = (double)dim[FP8_FFN_D], f = (double)dim[FP8_FFN_F];
    const gemm8_extents e = {dim[FP8_FFN_M], dim[FP8_FFN_D], dim[FP8_FFN_F], sms};
    return fp8_quickest(&e, (m + d) * f + (double)size * m * d);
}

#endif
