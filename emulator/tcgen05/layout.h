/* Where the accumulators of tcgen05.mma, and rows of A, lie in tensor memory: in lanes of one block, or of both of a pair.
 *
 *   blocks M     lanes of row m                  columns
 *   1      128   m                               n
 *   1      64    m % 16 + 32 (m / 16), or + 16   n
 *   2      256   m % 128 of block m / 128        n
 *   2      128   m % 64 of block m / 64, + 64    n % (N / 2)
 *                for the second half of n
 *   2      128   of sparse A: as 64 of one block n
 *   .ws    64    m, + 64 for the second half     n % (N / 2)
 *   .ws    32    m, + 32 for each quarter of n   n % (N / 4) */
#ifndef EMULATOR_TCGEN05_LAYOUT_H
#define EMULATOR_TCGEN05_LAYOUT_H

#include "tcgen05/product.h"

typedef struct emu_tensor_layout {
    bool spread; /* 64 rows in 16 of each 32 lanes */
    int folds;   /* parts of n that lie one below the other */
} emu_tensor_layout;

static inline emu_tensor_layout emu_layout_of(const emu_tensor_shape *shape, bool pair) {
    const int rows = pair ? shape->m / 2 : shape->m;
    const bool spread = rows == EMU_TENSOR_LANES / 2 && (!pair || shape->sparse) && !shape->ws;
    return (emu_tensor_layout){.spread = spread, .folds = spread ? 1 : EMU_TENSOR_LANES / rows};
}

/* Columns that n columns take. */
static inline int emu_layout_columns(emu_tensor_layout layout, int n) { return n / layout.folds; }

/* Of a block's row, from this lane on, in this part of n. */
static inline uint32_t emu_layout_lane(emu_tensor_layout layout, uint32_t first, int row, int fold) {
    if (layout.spread) return first + (uint32_t)(row % 16 + 32 * (row / 16));
    return first + (uint32_t)(row + fold * (EMU_TENSOR_LANES / layout.folds));
}

static inline bool emu_layout_uses(emu_tensor_layout layout, uint32_t first, uint32_t lane) {
    return !layout.spread || (lane - first) % 32 < 16;
}
#endif
