/* Tensor cores: matrix products as the hardware rounds them. numbers.c is pure arithmetic and knows no warp. */
#ifndef EMULATOR_MMA_MMA_H
#define EMULATOR_MMA_MMA_H

#include "machine/machine.h"

/* d[i] = c + sum over k of a[k] b[k], as one architecture's unit does it: products exact, aligned to the largest
 * exponent, truncated to so many fraction bits, summed, then rounded or truncated to the accumulator's type; longer k
 * in chunks. */
typedef struct emu_dot emu_dot; /* one per (architecture, unit: mma | wgmma, type of a and b, accumulator) */
const emu_dot *emu_dot_find(int sm, bool wgmma, ptx_type a, ptx_type b, ptx_type accumulator);
/* a and b as raw bits of k elements, each in a uint32_t; c and result raw bits of the accumulator's type. */
uint32_t emu_dot_product(const emu_dot *, const uint32_t *a, const uint32_t *b, int k, uint32_t c);

/* wgmma groups of a warp. */
void emu_warp_mma_begin(emu_warp *);
void emu_warp_mma_end(emu_warp *);
/* For exec/, before each op while emu_products_pending(): reports if the op touches registers of a wgmma that nobody
 * waited for. False: the op, a mov, must wait until that wgmma is done (compilers copy accumulators in flight; the copy
 * is in flight, too); current->wait is set. */
bool emu_products_pending(const emu_warp *);
bool emu_products_check(emu_warp *, const emu_op *, emu_mask);
#endif
