/* Scales in tiles of 128 x 4 as the oracles of products read them: written from the layout's text, apart from the kernels' own. */
#ifndef RIDGE_QUANTIZE_SCALE_AT_H
#define RIDGE_QUANTIZE_SCALE_AT_H

#include <stdint.h>

/* The scale of block (r, k); line: bytes of a row of tiles. Rows r, r + 32, r + 64, r + 96 lie side by side, 4 bytes each. */
static inline double quantize_scale_at(const double *scales, int64_t line, int64_t r, int64_t k) {
    const double *tile = scales + r / 128 * line + k / 4 * 512;
    return tile[r % 32 * 16 + r % 128 / 32 * 4 + k % 4];
}

#endif
