/* What runs beside the warps: operations in flight, mbarriers, groups.
 *
 * An operation is queued when it is issued and done in steps by an engine, which the scheduler lets run at times of its
 * own choosing. Operations of one queue number run in order; those of different queues in any order. */
#ifndef EMULATOR_ASYNC_ASYNC_H
#define EMULATOR_ASYNC_ASYNC_H

#include "check/check.h"
#include "machine/machine.h"
#include "memory/memory.h"

typedef struct emu_operation emu_operation;
struct emu_operation {
    emu_actor actor;
    emu_block *block;  /* that issued it */
    uint64_t queue;    /* 0: ordered with nothing; numbers are the block's own */
    uint64_t sequence; /* order of issue, given by emu_engine_add() */
    uint32_t ranks; /* bit a block of the cluster whose shared memory it still reads or writes; the issuer's bit is not
                       implied */
    uint32_t index; /* the engine's own */
    /* Does a part, chosen by the engine's dice: true when all is done. Completion (mbarrier, group) is told within. */
    bool (*step)(emu_operation *, emu_random *);
    void (*destroy)(emu_operation *); /* frees it */
    void (*describe)(const emu_operation *, char *text, size_t bytes);
};
void emu_engine_add(emu_operation *);
/* One step of one operation of the cluster's, chosen by dice. False: nothing is in flight. */
bool emu_engine_step(emu_cluster *, emu_random *);
void emu_engine_finish(emu_operation *); /* runs this one, and those before it in its queue, to its end */
bool emu_engine_busy(
    const emu_block *); /* operations that read or write this block's shared memory, or that it issued */
/* An engine's access failed, which was reported: the launch cannot go on. */
void emu_engine_fail(const emu_operation *);
void emu_block_async_begin(emu_block *);
/* The block has exited, its shared memory is still there: reports what was never waited for where that matters, and
 * brings the operations that it issued or that touch its shared memory to their end. */
void emu_block_async_end(emu_block *);
void emu_block_async_free(emu_block *); /* when the cluster has ended */
void emu_warp_async_end(emu_warp *);    /* at exit of a warp */

/* mbarriers are objects of the emulator's, found by address; memory holds an opaque image of the state, which tells
 * when something else was stored there. */
/* The transaction's bytes have arrived at the barrier at this shared address, by the actor's work, which was issued for
 * this phase of the barrier. */
void emu_mbarrier_complete(const emu_actor *, emu_cluster *, uint32_t shared_address, uint64_t phase, uint32_t bytes);
#endif
