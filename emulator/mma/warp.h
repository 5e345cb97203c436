/* What the warp's products share: mma.sync dense, of elements below a byte, and sparse. */
#ifndef EMULATOR_MMA_WARP_H
#define EMULATOR_MMA_WARP_H

#include "mma/decode.h"
#include "mma/fragments.h"

/* Multiplicands of four bits and of one, which ptx_type does not have; integers, summed in s32. */
typedef enum emu_narrow { EMU_NARROW_NONE, EMU_NARROW_S4, EMU_NARROW_U4, EMU_NARROW_B1 } emu_narrow;

typedef struct emu_warp_product {
    const emu_dot *dot; /* NULL: narrow */
    emu_narrow narrow[2];
    bool exclusive; /* of b1: counts the bits of a xor b instead of a and b */
    emu_shape shape;
    bool saturate;
    bool sparse, ordered; /* ordered: metadata ascends */
    int selector;
    emu_operand d[4], a[8], b[4], c[4], metadata;
} emu_warp_product;

/* Bits of an element of a. */
int emu_warp_product_bits(const emu_warp_product *);
/* Sums of 16 or 8 rows by 8 columns of narrow elements, `bytes` of a row. kept: NULL, or the bytes of b's line that each byte of
 * a's row meets. */
void emu_narrow_tile(const emu_warp_product *, int bytes, const uint8_t (*a)[EMU_LINE],
                     const uint8_t (*b)[2 * EMU_LINE], const uint8_t (*kept)[EMU_LINE], uint32_t *d);

emu_run emu_run_warp_narrow, emu_run_warp_sparse;
#endif
