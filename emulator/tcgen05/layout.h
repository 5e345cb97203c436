/* Where the accumulators of tcgen05.mma, and rows of A, lie in tensor memory: in lanes of one block, or of both of a pair.
 *
 *   blocks M     lanes of row m                 columns
 *   1      128   m                              n
 *   1      64    m % 16 + 32 (m / 16), or + 16  n
 *   2      256   m % 128 of block m / 128       n
 *   2      128   m % 64 of block m / 64;        n % (N / 2)
 *                + 64 for the second half of n */
#ifndef EMULATOR_TCGEN05_LAYOUT_H
#define EMULATOR_TCGEN05_LAYOUT_H

#include "tcgen05/product.h"

typedef enum emu_tensor_layout { EMU_LAYOUT_FULL, EMU_LAYOUT_SPREAD, EMU_LAYOUT_FOLDED } emu_tensor_layout;

static inline emu_tensor_layout emu_layout_of(const emu_tensor_shape *shape, bool pair) {
    const int rows = pair ? shape->m / 2 : shape->m;
    return rows == EMU_TENSOR_LANES ? EMU_LAYOUT_FULL : pair ? EMU_LAYOUT_FOLDED : EMU_LAYOUT_SPREAD;
}

/* Columns that n columns take. */
static inline int emu_layout_columns(emu_tensor_layout layout, int n) {
    return layout == EMU_LAYOUT_FOLDED ? n / 2 : n;
}

/* Of a block's row, from this lane on; folded: is it of the second half of n? */
static inline uint32_t emu_layout_lane(emu_tensor_layout layout, uint32_t first, int row, bool folded) {
    if (layout == EMU_LAYOUT_SPREAD) return first + (uint32_t)(row % 16 + 32 * (row / 16));
    return first + (uint32_t)row + (folded ? EMU_TENSOR_LANES / 2 : 0);
}

static inline bool emu_layout_uses(emu_tensor_layout layout, uint32_t first, uint32_t lane) {
    return layout != EMU_LAYOUT_SPREAD || (lane - first) % 32 < 16;
}
#endif
