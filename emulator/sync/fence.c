/* Fences, and programmatic dependent launch. */
#include <stdio.h>

#include "check/check.h"
#include "sync/internal.h"

/* What a fence has ordered, barrier.cluster.arrive.relaxed behind it makes known. */
static void remember(emu_warp *warp, emu_scope scope) {
    if (scope < EMU_SCOPE_CLUSTER) return;
    emu_clock_free(warp->fenced);
    warp->fenced = NULL;
    emu_release(warp, &warp->fenced);
}

emu_result emu_run_fence(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)mask;
    emu_fence(warp, (emu_scope)op->kind);
    remember(warp, (emu_scope)op->kind);
    return EMU_NEXT;
}

emu_result emu_run_fence_proxy_async(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    emu_fence_proxy_async(warp);
    return EMU_NEXT;
}

/* Tensor maps that the kernel itself wrote: the engine that reads them is the async proxy to the check. */
emu_result emu_run_fence_proxy_tensormap(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)mask;
    emu_fence(warp, (emu_scope)op->kind);
    emu_fence_proxy_async(warp);
    return EMU_NEXT;
}

emu_result emu_run_nothing(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)warp, (void)op, (void)mask;
    return EMU_NEXT;
}

emu_result emu_run_launch_dependents(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    emu_block_trigger(warp->block);
    return EMU_NEXT;
}

static bool dependency_ready(const emu_warp *warp, const emu_wait *wait) {
    (void)wait;
    const emu_grid *after = warp->block->cluster->grid->after;
    return !after || after->done;
}

static void describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)wait;
    const emu_grid *after = warp->block->cluster->grid->after;
    snprintf(text, bytes, "waits for launch %llu (%s) to end", after ? (unsigned long long)after->number : 0,
             after && after->name ? after->name : "?");
}

emu_result emu_run_dependency_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    const emu_grid *after = warp->block->cluster->grid->after;
    if (!after) return EMU_NEXT;
    if (!after->done) {
        warp->current->wait = (emu_wait){.ready = dependency_ready, .describe = describe, .object = after};
        return EMU_AGAIN;
    }
    emu_acquire(warp, after->end_clock);
    return EMU_NEXT;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void emu_sync_exited(emu_warp *warp, emu_mask lanes) {
    emu_barrier_exited(warp, warp->exited | lanes);
    emu_cluster_exited(warp, lanes);
}

void emu_block_sync_end(emu_block *block) {
    for (int k = 0; k < EMU_BARRIERS; k++) {
        emu_clock_free(block->barrier[k].clock);
        block->barrier[k].clock = NULL;
    }
    for (uint32_t w = 0; w < block->n_warps; w++) {
        emu_clock_free(block->warp[w].fenced);
        block->warp[w].fenced = NULL;
    }
    emu_cluster *cluster = block->cluster;
    if (cluster->live_blocks > 1) return; /* the last one of its cluster */
    for (int k = 0; k < 2; k++) {
        emu_clock_free(cluster->barrier_clock[k]);
        cluster->barrier_clock[k] = NULL;
    }
}
