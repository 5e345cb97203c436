/* Metadata of sparse A in tensor memory. */
#ifndef EMULATOR_TCGEN05_SPARSE_H
#define EMULATOR_TCGEN05_SPARSE_H

#include "tcgen05/layout.h"

/* Of rows of one block: to which of B's 64 bytes of k each of a row's 32 bytes belongs. The address is that of the column which
 * the selector named. Reports codes that mean nothing. */
void emu_tensor_places(const emu_actor *, emu_block *, const emu_tensor_shape *, emu_tensor_layout, uint32_t address,
                       int rows, uint8_t (*place)[EMU_LINE]);
#endif
