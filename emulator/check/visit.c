/* Accesses to shared memory of other blocks of the cluster. Whether such a block still runs is luck, unless its exit is
 * ordered behind the access: by the cluster's barrier, or by a phase that it waited for. */
#include <stdlib.h>

#include "check/knowledge.h"

/* The newest access of each warp of the cluster. */
struct emu_visits {
    struct emu_visit {
        uint32_t epoch; /* 0: none */
        int lane;
        const emu_op *op;
    } by[1];
};

static uint32_t place_of(const emu_warp *warp) { return warp->block->rank * warp->block->n_warps + warp->index; }

void emu_check_visit(emu_block *owner, emu_warp *warp, const emu_op *op, int lane) {
    emu_order *order = warp->order;
    if (!order) return;
    if (!owner->visits) {
        size_t warps = (size_t)owner->cluster->n_blocks * owner->n_warps;
        owner->visits = emu_alloc(warps * sizeof owner->visits->by[0]);
    }
    order->touched = true;
    owner->visits->by[place_of(warp)] = (struct emu_visit){.epoch = order->epoch, .lane = lane, .op = op};
}

static bool known(const emu_block *owner, uint32_t slot, uint32_t epoch) {
    for (uint32_t w = 0; w < owner->n_warps; w++) {
        const emu_order *order = owner->warp[w].order;
        if (order && emu_clock_epoch(order->clock, EMU_KNOWN, slot) >= epoch) return true;
    }
    return false;
}

void emu_check_block_exit(emu_block *owner) {
    struct emu_visits *visits = owner->visits;
    owner->visits = NULL;
    const emu_cluster *cluster = owner->cluster;
    for (uint32_t i = 0; visits && !cluster->grid->failed && i < cluster->n_blocks * owner->n_warps; i++) {
        const struct emu_visit *visit = &visits->by[i];
        emu_warp *warp = &cluster->block[i / owner->n_warps].warp[i % owner->n_warps];
        if (!visit->epoch || !warp->order || known(owner, warp->order->slot, visit->epoch)) continue;
        emu_find(warp, visit->op, visit->lane, EMU_EXITED, owner->rank,
                 "accesses shared memory of block rank %u of the cluster, which exits without waiting for that",
                 owner->rank);
    }
    free(visits);
}
