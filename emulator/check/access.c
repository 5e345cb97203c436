/* Accesses of warps and engines: who accesses, and the runs that lanes make together. */
#include "check/record.h"
#include "check/witness.h"

#include <string.h>

/* ---- warps: lanes that lie one after the other are a run ----------------------------------------------------- */
/* Are the lanes' addresses a row of so many bytes each? */
EMU_LANEWISE static bool is_row(const uint64_t at[EMU_LANES], uint64_t bytes) {
    uint64_t wrong = 0, first = at[0];
    for (uint64_t lane = 0; lane < EMU_LANES; lane++) wrong |= at[lane] ^ (first + lane * bytes);
    return !wrong;
}

/* The run that begins at this lane; takes its lanes off the mask. */
static emu_piece take_piece(emu_mask *mask, const uint64_t at[EMU_LANES], uint32_t bytes) {
    uint32_t first = (uint32_t)__builtin_ctz(*mask), lane = first;
    emu_mask left = *mask & (*mask - 1);
    emu_piece p = {.at = at[first], .bytes = bytes, .lane = first, .lane_bytes = bytes};
    for (; (left >> lane >> 1 & 1) && at[lane + 1] == at[lane] + bytes; left &= left - 1, lane++) p.bytes += bytes;
    for (; lane == first || p.lane == EMU_LANE_MANY; left &= left - 1, lane++) {
        if (!(left >> lane >> 1 & 1) || at[lane + 1] != at[first]) break;
        p.lane = EMU_LANE_MANY;
        p.lane_bytes = 0;
    }
    *mask = left;
    return p;
}

static int pieces_of(emu_mask mask, const uint64_t at[EMU_LANES], uint32_t bytes, emu_piece p[EMU_LANES]) {
    if (mask == UINT32_MAX && is_row(at, bytes)) {
        p[0] = (emu_piece){.at = at[0], .bytes = (uint64_t)bytes * EMU_LANES, .lane_bytes = bytes};
        return 1;
    }
    int n = 0;
    while (mask) p[n++] = take_piece(&mask, at, bytes);
    return n;
}

static uint8_t strength_of(const emu_access *access) {
    if (access->semantics == EMU_WEAK) return EMU_STRENGTH_WEAK;
    if (access->semantics == EMU_VOLATILE) return EMU_STRENGTH_GPU;
    return (uint8_t)(EMU_STRENGTH_CTA + emu_level(access->scope));
}

static uint32_t node_of(const emu_accessor *who) {
    uint32_t id = emu_node_new();
    emu_node *node = &emu_nodes[id];
    node->op = who->op;
    node->family = who->family;
    node->slot = who->slot;
    node->epoch = who->epoch;
    node->operation = who->operation;
    node->rank = (uint8_t)who->rank;
    node->strength = who->strength;
    node->engine = !who->order;
    node->async = who->async;
    node->write = (who->access->kind & EMU_WRITE) != 0;
    return id;
}

static uint32_t node_of_warp(const emu_accessor *who) {
    emu_order *order = who->order;
    if (order->swept != emu_sweeps) {
        memset(order->recent, 0, sizeof order->recent);
        memset(order->memo, 0, sizeof order->memo);
        order->swept = emu_sweeps;
    }
    struct emu_recent *recent = &order->recent[((uintptr_t)who->op / sizeof *who->op) % EMU_RECORDS];
    if (recent->op != who->op || recent->epoch != order->epoch || !recent->node)
        *recent = (struct emu_recent){.op = who->op, .epoch = order->epoch, .node = node_of(who)};
    order->touched = true;
    return recent->node;
}

void emu_shadow_lanes(emu_shadow *shadow, emu_warp *warp, const emu_op *op, emu_mask mask, const emu_access *access,
                      const uint64_t at[EMU_LANES]) {
    emu_piece p[EMU_LANES];
    int n = pieces_of(mask, at, access->bytes, p);
    for (int i = 0; emu_witnessing && !shadow->shared && i < n; i++)
        emu_witness_access(shadow, access, p[i].at, p[i].bytes, warp->block->cluster->grid->name);
    if (emu_checks.initialized) emu_initialized_pieces(shadow, warp, op, access, p, n);
    emu_order *order = warp->order;
    if (!order) return;
    emu_records_breathe();
    emu_accessor who = {.shadow = shadow,
                        .access = access,
                        .clock = order->clock,
                        .order = order,
                        .family = order->family->number,
                        .slot = order->slot,
                        .epoch = order->epoch,
                        .issuer = order->slot,
                        .whole = order->whole,
                        .rank = order->rank,
                        .strength = strength_of(access),
                        .warp = warp,
                        .op = op,
                        .at = at};
    who.node = node_of_warp(&who);
    if (who.strength) {
        emu_strong_pieces(&who, p, n);
        return;
    }
    emu_runs r;
    emu_run_begin(&r, &who);
    bool apart = n > 1 && (access->kind & EMU_WRITE);
    for (int i = 0; op && op->aligned && i < n; i++) {
        p[i].lane = EMU_LANE_WARP;
        p[i].lane_bytes = 0;
    }
    for (int pass = 0; pass <= apart; pass++) {
        r.check = pass == 0;
        r.record = pass == apart;
        if (pass) memset(r.effect, 0, sizeof r.effect);
        emu_run_pieces(&r, p, n);
    }
}

/* ---- engines ------------------------------------------------------------------------------------------------- */
/* An operation's accesses come one after the other, in small ranges: what the last one found out holds for the next. */
typedef struct engine {
    const emu_clock *known;
    uint64_t operation, sweeps;
    emu_accessor who;
    emu_runs run;
} engine;

static engine *engine_of(emu_shadow *shadow, const emu_actor *actor, const emu_access *access) {
    static engine engines[4];
    engine *e = &engines[2 * shadow->shared + ((access->kind & EMU_WRITE) != 0)];
    uint8_t strength = strength_of(access);
    if (e->operation == actor->operation && e->sweeps == emu_sweeps && e->known == actor->known &&
        e->who.strength == strength && e->who.shadow == shadow) {
        e->who.access = access;
        return e;
    }
    bool same_node = e->operation == actor->operation && e->sweeps == emu_sweeps && e->who.strength == strength;
    uint32_t node = e->who.node;
    e->known = actor->known;
    e->operation = actor->operation;
    e->sweeps = emu_sweeps;
    e->who = (emu_accessor){.shadow = shadow,
                            .access = access,
                            .clock = actor->known,
                            .fenced = shadow->tensor ? actor->fenced : NULL,
                            .family = actor->known->family,
                            .slot = actor->slot,
                            .epoch = (uint32_t)actor->epoch + 1,
                            .operation = (uint32_t)actor->operation,
                            .issuer = actor->issuer,
                            .whole = actor->whole,
                            .rank = actor->block->rank,
                            .strength = strength,
                            .async = actor->proxy == EMU_PROXY_ASYNC,
                            .warp = actor->warp,
                            .op = actor->op};
    e->who.node = same_node ? node : node_of(&e->who);
    emu_run_begin(&e->run, &e->who);
    return e;
}

void emu_shadow_range(emu_shadow *shadow, const emu_actor *actor, const emu_access *access, uint64_t at,
                      uint64_t bytes) {
    if (emu_witnessing && !shadow->shared)
        emu_witness_access(shadow, access, at, bytes, actor->block->cluster->grid->name);
    if (emu_checks.initialized) emu_initialized_range(shadow, actor, access, at, bytes);
    if (!actor->known) return;
    emu_records_breathe();
    engine *e = engine_of(shadow, actor, access);
    uint32_t lane = actor->lane >= 0 ? (uint32_t)actor->lane : EMU_LANE_WARP;
    if (e->who.strength)
        emu_strong_pieces(&e->who, &(emu_piece){.at = at, .bytes = bytes, .lane = lane}, 1);
    else
        emu_run_range(&e->run, at, bytes, lane, 0);
}

void emu_check_stored(emu_warp *warp, const emu_op *op, emu_mask mask, uint32_t bytes,
                      uint8_t *const pointer[EMU_LANES], const void *value, size_t stride) {
    for (emu_mask left = mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (!memcmp(pointer[lane], (const uint8_t *)value + (size_t)lane * stride, bytes)) continue;
        emu_find(warp, op, lane, EMU_RACE, 1,
                 "another lane stores another value to the same %u bytes by the same instruction", bytes);
        return;
    }
}
