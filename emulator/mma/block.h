/* Eight outputs at a time. */
#ifndef EMULATOR_MMA_BLOCK_H
#define EMULATOR_MMA_BLOCK_H

#include "mma/numbers.h"

enum { EMU_BLOCK = 8 };
/* d[j] += sum of fa[i] fb[i * stride + j] over at most a chunk of k; exponents of the factors in ea, eb. Returns the
 * columns, bit j: column j, whose accumulator or result is an infinity or NaN: what d has there means nothing. */
typedef uint32_t emu_block_run(const emu_dot *, int k, const float *fa, const int32_t *ea, const float *fb,
                               const int32_t *eb, int stride, uint32_t *d);
emu_block_run *emu_block_of(const emu_dot *);
/* Factors of the type are whole values; otherwise significands. */
bool emu_block_narrow(ptx_type);
#endif
