/* What warps learn and tell: barriers, fences, and the identity of asynchronous work. */
#include <string.h>

#include "check/knowledge.h"

/* ---- releases and acquires ----------------------------------------------------------------------------------- */
void emu_order_seal(emu_order *order) {
    if (order->touched) order->epoch++;
    order->touched = false;
    emu_clock_set(&order->clock, EMU_KNOWN, order->slot, order->epoch - 1);
}

void emu_release(emu_warp *warp, emu_clock **into) {
    if (!warp->order) return;
    emu_order_seal(warp->order);
    emu_clock_join(into, warp->order->clock);
}

static void acquire(emu_order *order, const emu_clock *from) {
    if (!from) return;
    emu_clock_join(&order->clock, from);
    /* What some of the warp's lanes released comes back to all of them. */
    uint32_t back = 0, family = order->family->number;
    if (from->family == family) {
        back = emu_clock_epoch(from, EMU_KNOWN, order->slot);
    } else {
        const emu_part *part = emu_foreign_part(from->foreign[EMU_KNOWN], family);
        if (part && order->slot < part->n) back = part->epoch[order->slot];
    }
    if (back > order->whole) order->whole = back;
}

void emu_acquire(emu_warp *warp, const emu_clock *from) {
    if (warp->order) acquire(warp->order, from);
}

/* ---- lanes of one warp --------------------------------------------------------------------------------------- */
static void lanes_synchronized(emu_order *order, emu_mask mask, uint32_t newest) {
    if (!order->lanes) order->lanes = emu_alloc((size_t)EMU_LANES * EMU_LANES * sizeof order->lanes[0]);
    uint32_t together[EMU_LANES] = {0};
    for (int a = 0; a < EMU_LANES; a++)
        for (int b = 0; (mask >> a & 1) && b < EMU_LANES; b++) {
            uint32_t known = order->lanes[a * EMU_LANES + b];
            if (known > together[b]) together[b] = known;
        }
    for (int b = 0; b < EMU_LANES; b++)
        if (mask >> b & 1) together[b] = newest;
    for (int a = 0; a < EMU_LANES; a++)
        if (mask >> a & 1) memcpy(order->lanes + (size_t)a * EMU_LANES, together, sizeof together);
}

void emu_warp_synchronized(emu_warp *warp, emu_mask mask) {
    emu_order *order = warp->order;
    if (!order) return;
    if (order->touched) order->epoch++;
    order->touched = false;
    uint32_t newest = order->epoch - 1;
    if (warp->lanes & ~warp->exited & ~mask)
        lanes_synchronized(order, mask, newest);
    else
        order->whole = newest;
}

/* ---- fences -------------------------------------------------------------------------------------------------- */
void emu_fence(emu_warp *warp, emu_scope scope) {
    emu_order *order = warp->order;
    if (!order) return;
    for (int level = 0; level <= emu_level(scope); level++) {
        acquire(order, order->pending[level]);
        emu_clock_free(order->pending[level]);
        order->pending[level] = NULL;
    }
    emu_order_seal(order);
    for (int level = 0; level <= emu_level(scope); level++) {
        emu_clock_free(order->fence[level]);
        order->fence[level] = emu_clock_copy(order->clock);
    }
}

/* All that the warp knows is known on this side, too. */
static void fence_side(emu_warp *warp, emu_side side) {
    emu_order *order = warp->order;
    if (!order) return;
    emu_order_seal(order);
    emu_clock *clock = emu_clock_own(&order->clock, 0);
    memcpy(clock->epoch + (size_t)side * clock->capacity, clock->epoch, clock->n * sizeof clock->epoch[0]);
    emu_foreign_free(clock->foreign[side]);
    clock->foreign[side] = emu_foreign_share(clock->foreign[EMU_KNOWN]);
}

void emu_fence_proxy_async(emu_warp *warp) { fence_side(warp, EMU_PROXIED); }

void emu_tensor_before(emu_warp *warp) { fence_side(warp, EMU_FENCED); }

void emu_tensor_unfenced(emu_warp *warp, emu_clock **fenced) {
    if (warp->order) *fenced = emu_clock_new(warp->order->family->number, warp->order->family->n_slots);
}

void emu_tensor_after(emu_warp *warp, emu_clock **fenced) {
    if (!warp->order) return;
    emu_order_seal(warp->order);
    emu_clock_free(*fenced);
    *fenced = emu_clock_copy(warp->order->clock);
}

/* ---- asynchronous work --------------------------------------------------------------------------------------- */
static uint64_t operations;

static void issue(emu_warp *warp, const emu_op *op, int lane, emu_proxy proxy, emu_actor *out) {
    *out = (emu_actor){
        .warp = warp, .block = warp->block, .op = op, .lane = lane, .proxy = proxy, .operation = ++operations};
    emu_order *order = warp->order;
    if (!order) return;
    emu_order_seal(order);
    out->known = emu_clock_copy(order->clock);
    out->issuer = order->slot;
    out->whole = order->whole;
}

static emu_order *stream_owner(emu_warp *warp, emu_stream_kind stream) {
    uint32_t index = stream == EMU_STREAM_WGMMA ? warp->index & ~3u : warp->index;
    return warp->block->warp[index].order;
}

static uint32_t stream_slot(emu_warp *warp, emu_stream_kind stream) {
    emu_order *order = stream_owner(warp, stream);
    uint32_t index = stream == EMU_STREAM_WGMMA ? warp->index & ~3u : warp->index;
    if (!order->stream[stream])
        order->stream[stream] = emu_family_slot(order->family, EMU_SLOT_STREAM, (int)stream, order->rank, index) + 1;
    return order->stream[stream] - 1;
}

void emu_actor_of_group(emu_warp *warp, const emu_op *op, int lane, emu_stream_kind stream, uint64_t group,
                        emu_proxy proxy, emu_actor *out) {
    issue(warp, op, lane, proxy, out);
    out->epoch = group;
    if (!warp->order) return;
    out->slot = stream_slot(warp, stream);
    if (stream != EMU_STREAM_WGMMA) return;
    /* The four warps issue together: what one did before is done when the group is. */
    struct emu_collective *together = &stream_owner(warp, stream)->collective[group % EMU_COLLECTIVES];
    together->group = group; /* what stood there belongs to groups before this one: it is done before, too */
    emu_clock_join(&together->clock, out->known);
}

void emu_actor_of_mbarrier(emu_warp *warp, const emu_op *op, int lane, emu_block *owner, uint32_t *slot, uint64_t phase,
                           emu_proxy proxy, emu_actor *out) {
    issue(warp, op, lane, proxy, out);
    out->epoch = phase;
    if (!warp->order) return;
    if (!*slot) *slot = emu_family_slot(owner->cluster->family, EMU_SLOT_MBARRIER, 0, owner->rank, 0) + 1;
    out->slot = *slot - 1;
}

void emu_actor_end(emu_actor *actor) {
    emu_clock_free(actor->known);
    emu_clock_free(actor->fenced);
    actor->known = actor->fenced = NULL;
}

static void know_group(emu_clock **into, emu_warp *warp, emu_stream_kind stream, uint64_t group) {
    if (!*into) *into = emu_clock_new(warp->order->family->number, warp->order->family->n_slots);
    emu_clock_set(into, EMU_KNOWN, stream_slot(warp, stream), (uint32_t)group + 1);
    if (stream == EMU_STREAM_BULK)
        emu_clock_set(into, EMU_KNOWN, stream_slot(warp, EMU_STREAM_BULK_READ), (uint32_t)group + 1);
}

void emu_clock_group(emu_clock **into, emu_warp *warp, emu_stream_kind stream, uint64_t group) {
    if (warp->order) know_group(into, warp, stream, group);
}

void emu_tensor_group(emu_clock **into, emu_warp *warp, emu_stream_kind stream, uint64_t group) {
    if (!warp->order) return;
    know_group(into, warp, stream, group);
    emu_clock_set(into, EMU_FENCED, stream_slot(warp, stream), (uint32_t)group + 1);
}

void emu_acquire_group(emu_warp *warp, emu_stream_kind stream, uint64_t group) {
    emu_order *order = warp->order;
    if (!order) return;
    know_group(&order->clock, warp, stream, group);
    if (stream != EMU_STREAM_WGMMA) return;
    const emu_order *owner = stream_owner(warp, stream);
    for (int i = 0; i < EMU_COLLECTIVES; i++)
        if (owner->collective[i].clock && owner->collective[i].group <= group)
            acquire(order, owner->collective[i].clock);
}

void emu_clock_phase(emu_clock **into, emu_block *owner, uint32_t slot, uint64_t phase) {
    emu_family *family = owner->cluster->family;
    if (!family || !slot) return;
    if (!*into) *into = emu_clock_new(family->number, family->n_slots);
    emu_clock_set(into, EMU_KNOWN, slot - 1, (uint32_t)phase + 1);
}
