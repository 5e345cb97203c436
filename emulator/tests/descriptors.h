/* Matrix descriptors of wgmma to compare with a GPU's reading of them: which element of shared memory is element (row,
 * k) of the operand. The GPU's answer is an index of 16-bit elements into a region of 64 KiB that is aligned to 1024
 * bytes. */
#ifndef EMULATOR_TESTS_DESCRIPTORS_H
#define EMULATOR_TESTS_DESCRIPTORS_H

#include "products.h"

enum {
    DESCRIPTOR_VARIANTS = 8,
    DESCRIPTOR_CASES = 2 * 2 * 4 * DESCRIPTOR_VARIANTS,
    DESCRIPTOR_REGION = 1 << 16,
    DESCRIPTOR_ROWS_A = 64,
    DESCRIPTOR_ROWS_B = 256,
    DESCRIPTOR_K = 16,
};
typedef struct descriptor_case {
    bool b;                         /* operand b: 256 rows (columns of the matrix b), else a: 64 rows */
    bool trans;                     /* not K-major */
    int swizzle;                    /* field of the descriptor: 0 none, 1: 128 bytes, 2: 64, 3: 32 */
    uint32_t start, lbo, sbo, base; /* bytes relative to the region, bytes, bytes, field of three bits */
} descriptor_case;

static inline descriptor_case descriptor_case_of(int index) {
    int variant = index % DESCRIPTOR_VARIANTS, rest = index / DESCRIPTOR_VARIANTS;
    descriptor_case c = {.b = (rest >> 3 & 1) != 0,
                         .trans = (rest >> 2 & 1) != 0,
                         .swizzle = rest & 3,
                         .start = 0,
                         .lbo = 0,
                         .sbo = 0,
                         .base = 0};
    product_random random = product_random_of(77, (uint64_t)index, 0, 0);
    uint32_t line = c.swizzle == 0 ? 16 : 256u >> c.swizzle; /* bytes of a line of the swizzle's atom */
    c.sbo = 8 * line;
    c.lbo = c.trans && c.swizzle ? 16 * line : 8 * line * (c.swizzle ? 1 : 2);
    switch (variant) {
        case 0: break;
        case 1: c.start = c.trans ? 8 * line : 32; break;
        case 2:
            c.sbo *= 2;
            c.lbo += 1024;
            break;
        case 3: c.start = 1024 + 128 * (uint32_t)(1 + product_below(&random, 7)); break;
        case 4:
            c.start = 1024 + 128 * (uint32_t)(1 + product_below(&random, 7));
            c.base = c.start >> 7 & 7;
            break;
        case 5:
            c.lbo = 16;
            c.start = 2048;
            break;
        default:
            c.start = 16 * (uint32_t)product_below(&random, 256);
            c.lbo = 16 * (uint32_t)product_below(&random, 64);
            c.sbo = 16 * (uint32_t)product_below(&random, 64);
            if (variant == 7) c.base = (uint32_t)product_below(&random, 8);
    }
    return c;
}
/* Of a region at shared address 0: region >> 4 is to be added. */
static inline uint64_t descriptor_bits(const descriptor_case *c) {
    return (uint64_t)c->start >> 4 | (uint64_t)(c->lbo >> 4) << 16 | (uint64_t)(c->sbo >> 4) << 32 |
           (uint64_t)c->base << 49 | (uint64_t)c->swizzle << 62;
}
#endif
