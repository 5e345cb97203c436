/* Clusters that are resident: their life from begin to end, and which of their warps can run. */
#ifndef EMULATOR_RUNTIME_RESIDENT_H
#define EMULATOR_RUNTIME_RESIDENT_H

#include "machine/machine.h"

/* How much of a grid may be resident. */
typedef struct emu_window {
    uint64_t width;    /* clusters beside each other, for now */
    uint64_t capacity; /* of an empty device */
    uint64_t resident;
    bool told_start; /* the runtime knows that dependents may start */
} emu_window;
emu_window emu_window_of(const emu_grid *);

typedef struct emu_resident {
    emu_cluster *cluster;
    emu_warp **warp; /* first those that can run, then those that wait, then those that exited */
    uint32_t n_runnable, n_live, n_warps;
    uint32_t look; /* the waiting warp to look at next */
    bool idle;     /* of the scheduler: nothing here could run */
    uint64_t spun; /* of the scheduler: instructions that only spun, since others ran */
} emu_resident;
emu_resident *emu_resident_begin(emu_grid *, emu_window *); /* the grid's next cluster */
void emu_resident_end(emu_resident *);                      /* frees it; warps that still live are ended */
void emu_resident_block(emu_resident *, uint32_t at);       /* this runnable warp waits now */
bool emu_resident_exit(emu_resident *, uint32_t at);        /* this runnable warp has exited; true: its block, too */
bool emu_resident_wake(emu_resident *, uint32_t looks);     /* looks at so many that wait; true: some can run */

/* Reports: who waits for what in a deadlock, and where the warps of a launch are that ran too long. */
void emu_resident_tell_deadlock(emu_grid *, emu_resident *const *, uint32_t n);
void emu_resident_tell_limit(emu_grid *, emu_resident *const *, uint32_t n);
#endif
