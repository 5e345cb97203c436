/* Barriers of blocks and clusters, fences, and programmatic dependent launch. */
#ifndef EMULATOR_SYNC_SYNC_H
#define EMULATOR_SYNC_SYNC_H

#include "machine/machine.h"

/* Lanes have exited (warp->exited has them, or will): barriers that wait for all threads of the block or cluster count
 * without them. */
void emu_sync_exited(emu_warp *, emu_mask lanes);
/* Frees what barriers hold. Arrivals that nobody waits for are no finding: pipelines end with some in honest programs,
 * too. */
void emu_block_sync_end(emu_block *);
#endif
