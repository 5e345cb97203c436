/* Who runs next: grids of all streams, clusters, blocks, warps and engines, by seeded dice. One thread runs everything.
 *
 * Of each grid a few clusters are resident at first. When those only wait or spin, more begin, up to what the device
 * could hold beside each other: blocks that spin until others have set a flag get to see it. Of the resident clusters a
 * few are in focus and run; the focus moves by dice, and at once when it only waits or spins. */
#ifndef EMULATOR_RUNTIME_SCHEDULE_H
#define EMULATOR_RUNTIME_SCHEDULE_H

#include "machine/machine.h"

/* The grid may run from now on. Its seed, begin_clock and `after` are set. */
void emu_schedule_add(emu_grid *);
/* Runs the grids that were added until one has ended (done is set) or lets its dependents start, for about so many warp
 * instructions. Returns that grid, NULL: the instructions are spent, or nothing can run. */
emu_grid *emu_schedule_run(uint64_t instructions);
/* The last run ended because nothing could run: each grid waits for what nobody here will do. */
bool emu_schedule_stalled(void);
/* Reports the deadlock, with who waits for what; all grids that were added fail. */
void emu_schedule_deadlock(void);
int emu_schedule_grids(void); /* added and not ended */

/* Runs these grids, all at once, until they are done or failed. */
void emu_schedule(emu_grid *const *grids, int n);

/* Blocks of this code that fit on an SM (threads, shared memory, registers, 32 blocks). */
int emu_occupancy(const emu_code *, uint32_t threads, uint32_t dynamic_shared);
/* Clusters of so many blocks that fit on the device. */
uint64_t emu_capacity(const emu_code *, uint32_t threads, uint32_t dynamic_shared, uint64_t cluster);
/* Registers of a thread that ptxas cannot go below, a multiple of 8: what launches and occupancy are checked by, so that
 * nothing is refused that a device takes. */
int emu_registers_at_least(const ptx_function *);
/* Registers that ptxas might give a thread: .maxnreg, launch bounds, or an estimate from the lives of PTX's registers.
 */
int emu_registers_of(const ptx_function *);
#endif
