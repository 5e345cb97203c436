/* barrier.cluster (PTX ISA): all threads of all blocks of the cluster, in two steps, arrive and wait; threads that have
 * exited count as arrived. A thread arrives once in a phase and waits for it before it arrives in the next: when a
 * phase completes, nobody waits for the one before it any more, so two clocks are enough. */
#include <stdio.h>

#include "check/check.h"
#include "sync/internal.h"
#include "tcgen05/tcgen05.h"

static uint32_t threads_of(const emu_cluster *cluster) {
    const emu_dim *t = &cluster->grid->threads;
    return cluster->n_blocks * t->x * t->y * t->z;
}

/* Lanes that arrived in the phase that has not completed. */
static emu_mask arrived_now(const emu_warp *warp) {
    return warp->cluster_phase == warp->block->cluster->generation ? warp->cluster_arrived : 0;
}

static void count(emu_cluster *cluster, emu_mask lanes) {
    cluster->arrived += (uint32_t)__builtin_popcount(lanes);
    if (cluster->arrived < threads_of(cluster)) return;
    cluster->generation++;
    cluster->arrived = cluster->exited;
    struct emu_clock **clock = &cluster->barrier_clock[cluster->generation & 1];
    emu_clock_free(*clock);
    *clock = NULL;
}

void emu_cluster_exited(emu_warp *warp, emu_mask lanes) {
    emu_cluster *cluster = warp->block->cluster;
    emu_mask late = lanes & ~arrived_now(warp); /* the others have been counted */
    cluster->exited += (uint32_t)__builtin_popcount(lanes);
    warp->cluster_due &= ~lanes;
    count(cluster, late);
}

emu_result emu_run_cluster_arrive(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_cluster *cluster = warp->block->cluster;
    emu_mask again = mask & warp->cluster_due;
    if (again)
        emu_find(warp, op, __builtin_ctz(again), EMU_BARRIER, 0,
                 "arrives at barrier.cluster again without barrier.cluster.wait in between");
    mask &= ~again;
    if (!mask) return EMU_NEXT;
    struct emu_clock **clock = &cluster->barrier_clock[cluster->generation & 1];
    if (op->flags) { /* .relaxed: what a fence before it has ordered */
        emu_clock_join(clock, warp->fenced);
        emu_tensor_completed(warp, clock);
    } else {
        emu_release(warp, clock);
    }
    warp->cluster_arrived = arrived_now(warp) | mask;
    warp->cluster_phase = cluster->generation;
    warp->cluster_due |= mask;
    count(cluster, mask);
    return EMU_NEXT;
}

static bool phase_ready(const emu_warp *warp, const emu_wait *wait) {
    return warp->block->cluster->generation != (uint32_t)wait->value;
}

static void describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    const emu_cluster *cluster = warp->block->cluster;
    (void)wait;
    size_t used = (size_t)snprintf(text, bytes, "waits at barrier.cluster for %u threads, %u have arrived or exited",
                                   threads_of(cluster), cluster->arrived);
    int told = 0;
    for (uint32_t b = 0; b < cluster->n_blocks; b++)
        for (uint32_t w = 0; w < cluster->block[b].n_warps && used < bytes; w++) {
            const emu_warp *other = &cluster->block[b].warp[w];
            if (!(emu_live(other) & ~arrived_now(other)) || told++ >= 8) continue;
            used += (size_t)snprintf(text + used, bytes - used, "%s warp %u of block rank %u",
                                     told == 1 ? "; not" : ",", w, b);
        }
    if (told > 8 && used < bytes) snprintf(text + used, bytes - used, " and %d more", told - 8);
}

emu_result emu_run_cluster_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_cluster *cluster = warp->block->cluster;
    emu_mask early = mask & ~warp->cluster_due;
    if (early)
        emu_find(warp, op, __builtin_ctz(early), EMU_BARRIER, 0, "waits at barrier.cluster without having arrived");
    if (mask & arrived_now(warp) & warp->cluster_due) {
        warp->current->wait =
            (emu_wait){.ready = phase_ready, .describe = describe, .object = cluster, .value = cluster->generation};
        return EMU_AGAIN;
    }
    warp->cluster_due &= ~mask;
    if (early == mask) return EMU_NEXT;
    emu_acquire(warp, cluster->barrier_clock[(cluster->generation - 1) & 1]);
    emu_warp_synchronized(warp, mask);
    return EMU_NEXT;
}
