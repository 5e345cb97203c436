/* Volatile, relaxed and stronger accesses: they do not race with each other, and with fences they order others.
 *
 * As in C11 and PTX's memory model: what a warp knew at its last fence (of a release: knows now) goes with the value
 * that it writes; a read-modify-write hands on what was there before. Who reads the value collects that, and has it
 * known at its next fence (of an acquire: at once). Scopes: below the GPU's, only who is in the same cluster or CTA is
 * reached. */
#include <stdlib.h>
#include <string.h>

#include "check/record.h"

/* ---- locations ----------------------------------------------------------------------------------------------- */
static void take(emu_accessor *who, int level, const emu_clock *clock) {
    bool at_once = who->access->semantics == EMU_ACQUIRE || who->access->semantics == EMU_ACQUIRE_RELEASE;
    if (at_once)
        emu_acquire(who->warp, clock);
    else
        emu_clock_join(&who->order->pending[level], clock);
}

static void collect(emu_accessor *who, const emu_location *location) {
    emu_order *order = who->order;
    int reach = who->strength - EMU_STRENGTH_CTA;
    if (reach == EMU_LEVELS - 1) take(who, reach, location->all);
    for (uint32_t i = 0; i < location->n; i++) {
        const struct emu_owner *owner = &location->owner[i];
        if (owner->family != order->family->number) continue;
        if (reach >= 1) take(who, 1, owner->near[1]);
        if (owner->rank == order->rank) take(who, 0, owner->near[0]);
    }
    who->clock = order->clock;
    who->whole = order->whole;
}

/* What goes with the value: by level. */
static bool offered(emu_accessor *who, emu_clock *offer[EMU_LEVELS]) {
    emu_order *order = who->order;
    bool at_once = who->access->semantics == EMU_RELEASE || who->access->semantics == EMU_ACQUIRE_RELEASE, any = false;
    if (at_once) emu_order_seal(order);
    for (int level = 0; level < EMU_LEVELS; level++) {
        bool within = level <= who->strength - EMU_STRENGTH_CTA;
        offer[level] = !within ? NULL : at_once ? order->clock : order->fence[level];
        any = any || offer[level];
    }
    who->clock = order->clock;
    return any;
}

static emu_clock *joined(const emu_clock *before, const emu_clock *offer) {
    emu_clock *clock = emu_clock_copy(before);
    emu_clock_join(&clock, offer);
    return clock;
}

static emu_location *location_new(const emu_location *old, const emu_order *order, emu_clock *const offer[EMU_LEVELS]) {
    emu_location *made = emu_alloc(sizeof *made);
    struct emu_owner *mine = &made->owner[made->n++], before = {0};
    made->refs = 1;
    made->all = joined(old ? old->all : NULL, offer[EMU_LEVELS - 1]);
    mine->family = order->family->number;
    mine->rank = order->rank;
    for (uint32_t i = 0; old && i < old->n; i++) {
        const struct emu_owner *owner = &old->owner[i];
        if (owner->family == mine->family && owner->rank == mine->rank) {
            before = *owner;
        } else if (made->n < EMU_MOST_OWNERS) {
            struct emu_owner *kept = &made->owner[made->n++];
            *kept = *owner;
            for (int level = 0; level < EMU_LEVELS - 1; level++) kept->near[level] = emu_clock_copy(owner->near[level]);
        }
    }
    for (int level = 0; level < EMU_LEVELS - 1; level++) mine->near[level] = joined(before.near[level], offer[level]);
    return made;
}

static bool same_offer(const emu_location *location, const emu_order *order, emu_clock *const offer[EMU_LEVELS]) {
    const struct emu_owner *owner = &location->owner[0];
    return location->n == 1 && owner->family == order->family->number && owner->rank == order->rank &&
           owner->near[0] == offer[0] && owner->near[1] == offer[1] && location->all == offer[2];
}

static void hand_on(emu_accessor *who, emu_location **place, emu_clock *const offer[EMU_LEVELS]) {
    /* The last change, which the next words of an array will most often take, too. */
    static struct { emu_location *old, *offered, *made; } last;
    const emu_location *old = who->access->kind == EMU_UPDATE ? *place : NULL;
    if (*place && same_offer(*place, who->order, offer)) return;
    bool again = last.made && last.old == old && same_offer(last.offered, who->order, offer);
    if (!again) {
        emu_location_put(last.old);
        emu_location_put(last.offered);
        emu_location_put(last.made);
        last.old = (emu_location *)(uintptr_t)old;
        if (last.old) last.old->refs++;
        last.offered = location_new(NULL, who->order, offer);
        last.made = location_new(old, who->order, offer);
    }
    emu_location_put(*place);
    *place = last.made;
    last.made->refs++;
}

static void locate(emu_accessor *who, uint64_t at, bool before) {
    emu_page *page = &who->shadow->page[at >> EMU_PAGE_BITS];
    uint32_t word = (uint32_t)(at & (EMU_PAGE - 1)) / 4;
    if (before) {
        if ((who->access->kind & EMU_READ) && page->location && page->location[word])
            collect(who, page->location[word]);
        return;
    }
    emu_clock *offer[EMU_LEVELS];
    if (!(who->access->kind & EMU_WRITE)) return;
    if (offered(who, offer)) {
        if (!page->location) page->location = emu_alloc(EMU_PAGE / 4 * sizeof(emu_location *));
        hand_on(who, &page->location[word], offer);
    } else if (page->location && who->access->kind == EMU_WRITE) {
        emu_location_put(page->location[word]);
        page->location[word] = NULL;
    }
}

/* ---- cells --------------------------------------------------------------------------------------------------- */
/* The members that a later access may still conflict with, though not ordered after this one; reports those that
 * conflict now. */
static uint32_t remaining(emu_accessor *who, uint32_t set, uint32_t past_lane, uint32_t lane, uint64_t at,
                          bool *reported) {
    uint32_t kept[EMU_MOST_MEMBERS + 1], n = 0;
    bool first = true;
    for (uint32_t rest = set; rest; first = false) {
        uint32_t member = emu_set_next(&rest), its_lane = first ? past_lane : EMU_LANE_WARP;
        emu_verdict verdict = emu_judge(who, member, its_lane, lane);
        if (verdict >= EMU_UNORDERED) {
            emu_report_conflict(who, verdict, member, its_lane, lane, at);
            *reported = true;
        } else if (verdict == EMU_STRONG || emu_nodes[member].strength < who->strength) {
            bool own = emu_nodes[member].family == who->family && emu_nodes[member].slot == who->slot;
            if (!own || emu_nodes[member].strength < who->strength) kept[n++] = member;
        }
    }
    uint32_t left = 0;
    while (n > 0) left = emu_set_add(left, kept[--n]);
    return left;
}

static void access_cell(emu_accessor *who, emu_cell *cell, uint32_t lane, uint64_t at) {
    emu_cell now = *cell;
    bool reported = false;
    uint32_t written = remaining(who, now.written >> EMU_LANE_BITS, now.written & EMU_LANE_MASK, lane, at, &reported);
    if (who->access->kind & EMU_WRITE) {
        uint32_t read = remaining(who, now.read >> EMU_LANE_BITS, now.read & EMU_LANE_MASK, lane, at, &reported);
        cell->written = emu_cell_of(emu_set_add(written, who->node), lane);
        cell->read = read ? emu_cell_of(read, EMU_LANE_WARP) : 0;
    } else {
        /* Reads do not conflict with each other: only those that this one makes redundant are left out. */
        uint32_t kept[EMU_MOST_MEMBERS + 1], n = 0, set = 0;
        for (uint32_t rest = now.read >> EMU_LANE_BITS; rest;) {
            uint32_t member = emu_set_next(&rest);
            emu_verdict verdict = emu_judge(who, member, EMU_LANE_WARP, EMU_LANE_WARP);
            bool ordered = verdict == EMU_ORDERED || verdict == EMU_HARMLESS;
            if (!ordered || emu_nodes[member].strength < who->strength) kept[n++] = member;
        }
        while (n > 0) set = emu_set_add(set, kept[--n]);
        uint32_t rest = now.read >> EMU_LANE_BITS;
        if (rest && emu_lanes_join(who, &emu_nodes[emu_set_next(&rest)]))
            lane = emu_lane_join(now.read & EMU_LANE_MASK, lane);
        cell->read = emu_cell_of(emu_set_add(set, who->node), lane);
    }
}

static void access_cells(emu_accessor *who, uint64_t at, uint32_t bytes, uint32_t lane, uint32_t alignment) {
    uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
    emu_page *page = emu_page_for(who->shadow, at >> EMU_PAGE_BITS, within | bytes | alignment);
    for (uint32_t i = within >> page->shift; i < (within + bytes) >> page->shift; i++) {
        emu_cell *cell = &page->cell[i];
        bool again = cell->written == emu_cell_of(who->node, lane) && !cell->read;
        if (again && (who->access->kind & EMU_WRITE)) continue;
        access_cell(who, cell, lane, at - within + ((uint64_t)i << page->shift));
    }
}

void emu_strong_run(emu_accessor *who, uint64_t at, uint64_t bytes, uint32_t lane, uint32_t lane_bytes) {
    uint32_t each = lane_bytes ? lane_bytes : (uint32_t)(bytes < EMU_PAGE ? bytes : EMU_PAGE);
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t room = EMU_PAGE - (uint32_t)(at & (EMU_PAGE - 1));
        uint32_t n = each < room ? each : room;
        if (n > end - at) n = (uint32_t)(end - at);
        if (who->order) {
            emu_page_for(who->shadow, at >> EMU_PAGE_BITS, EMU_PAGE); /* so that its locations are of this generation */
            locate(who, at, true);
        }
        access_cells(who, at, n, lane, n);
        if (who->order) locate(who, at, false);
        at += n;
        if (lane_bytes) lane++;
    }
}
