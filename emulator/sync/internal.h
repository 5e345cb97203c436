/* What the files of sync/ share. */
#ifndef EMULATOR_SYNC_INTERNAL_H
#define EMULATOR_SYNC_INTERNAL_H

#include "machine/decode.h"
#include "sync/sync.h"

/* What an instruction at a barrier of the block does; emu_op's kind. */
typedef enum emu_way { EMU_BAR_SYNC, EMU_BAR_ARRIVE, EMU_BAR_POPC, EMU_BAR_AND, EMU_BAR_OR } emu_way;
/* Operands of such an op; flags: which of them are there. */
enum { EMU_BAR_RESULT, EMU_BAR_NUMBER, EMU_BAR_THREADS, EMU_BAR_PREDICATE };

emu_run emu_run_barrier;
emu_run emu_run_cluster_arrive; /* flags: relaxed */
emu_run emu_run_cluster_wait;
emu_run emu_run_fence; /* kind: emu_scope */
emu_run emu_run_fence_proxy_async;
emu_run emu_run_fence_proxy_tensormap; /* kind: emu_scope */
emu_run emu_run_nothing;
emu_run emu_run_launch_dependents;
emu_run emu_run_dependency_wait;

void emu_barrier_exited(emu_warp *, emu_mask exited);
void emu_cluster_exited(emu_warp *, emu_mask lanes);

static inline emu_mask emu_live(const emu_warp *warp) { return warp->lanes & ~warp->exited; }
#endif
