/* What the files of this target know of its operands. */
#ifndef NVFP4_SCALED_GEMM_H
#define NVFP4_SCALED_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "quantize/blocks.h"

enum { SCALED_M, SCALED_N, SCALED_K, SCALED_A_TILES, SCALED_B_TILES, SCALED_TILE_BYTES, SCALED_ONE }; /* dims */
enum { SCALED_A, SCALED_A_SCALE, SCALED_A_TENSOR, SCALED_B, SCALED_B_SCALE, SCALED_B_TENSOR, SCALED_C };

/* Where a GPU's dequantized way has what in scratch: sums [m, n] in fp32, A and B in 16 bits in lines of whole pieces. */
typedef struct scaled_scratch {
    int64_t line;
    size_t a, b, bytes;
} scaled_scratch;
static inline scaled_scratch scaled_scratch_of(int64_t m, int64_t n, int64_t k) {
    const int64_t line = (k + 7) / 8 * 8, sums = (m * n * 4 + 255) / 256 * 256, of_a = (m * line * 2 + 255) / 256 * 256;
    return (scaled_scratch){line, (size_t)sums, (size_t)(sums + of_a), (size_t)(sums + of_a + n * line * 2)};
}

#endif
