/* What copies tell the witness (emulator/witness.h), which find their allocations by address. */
#ifndef EMULATOR_MEMORY_WITNESS_H
#define EMULATOR_MEMORY_WITNESS_H

#include <stdint.h>

void emu_witness_copy(void *to, const void *from, uint64_t bytes); /* from NULL: a fill */

#endif
