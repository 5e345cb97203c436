/* Tensor memory and tcgen05, the tensor cores of compute capability 10.0: what the rest of the machine calls. */
#ifndef EMULATOR_TCGEN05_TCGEN05_H
#define EMULATOR_TCGEN05_TCGEN05_H

#include "machine/machine.h"

/* For exec/, before each op while emu_tensor_pending(): reports if the op reads a register that a tcgen05.ld writes which
 * the warp has not waited for. */
bool emu_tensor_pending(const emu_warp *);
void emu_tensor_check(emu_warp *, const emu_op *, emu_mask);

/* Loads and stores that the warp has waited for are done, whatever orders memory: a relaxed barrier tells so much. */
void emu_tensor_completed(emu_warp *, struct emu_clock **into);

void emu_warp_tensor_end(emu_warp *);   /* at its exit: reports what it never committed */
void emu_block_tensor_end(emu_block *); /* at its exit: reports columns that are still allocated */
void emu_block_tensor_free(emu_block *);
#endif
