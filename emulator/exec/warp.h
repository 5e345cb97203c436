/* A warp's program as others run it: runtime/ schedules warps by these. */
#ifndef EMULATOR_EXEC_WARP_H
#define EMULATOR_EXEC_WARP_H

#include "machine/machine.h"

/* Runs a warp for up to `budget` instructions, until it has exited or no fragment is runnable. */
typedef enum emu_progress { EMU_WARP_RAN, EMU_WARP_BLOCKED, EMU_WARP_EXITED, EMU_WARP_ABORTED } emu_progress;
emu_progress emu_warp_run(emu_warp *, uint32_t budget);
void emu_warp_begin(emu_warp *); /* registers allocated and zeroed, one fragment at the entry */
void emu_warp_end(emu_warp *);
/* Does any fragment's wait report ready? For the scheduler's choice. */
bool emu_warp_runnable(const emu_warp *);
/* Lines that say where each fragment is and what it waits for. */
void emu_warp_describe(const emu_warp *, void (*line)(void *context, const char *text), void *context);

#endif
