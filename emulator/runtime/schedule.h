/* Who runs next: grids of all streams, clusters, blocks, warps and engines, by seeded dice. One thread runs everything. */
#ifndef EMULATOR_RUNTIME_SCHEDULE_H
#define EMULATOR_RUNTIME_SCHEDULE_H

#include "core/machine.h"

/* Lets the grids run beside each other until all are done or failed. A grid that is programmatic may be in the list with the one
 * it is `after`. Clusters begin a few at a time; when all that run only wait or spin, more begin, up to what the device
 * could hold beside each other. When nothing can run: reports the deadlock, with who waits for what; the grids fail. */
void emu_schedule(emu_grid *const *grids, int n);

/* Blocks of this code that fit on an SM (threads, shared memory, registers as .maxnreg or an estimate, 32 blocks). */
int emu_occupancy(const emu_code *, uint32_t threads, uint32_t dynamic_shared);
#endif
