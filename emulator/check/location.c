/* What volatile, relaxed and stronger accesses hand on, so that with fences they order others: as in C11 and PTX's
 * memory model: what a warp knew at its last fence (of a release: knows now) goes with the value that it writes; a
 * read-modify-write hands on what was there before. Who reads the value collects that, and has it known at its next
 * fence (of an acquire: at once). Scopes: below the GPU's, only who is in the same cluster or CTA is reached. */
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

/* The location of each lane's access: its first word. */
static emu_location **location_of(emu_accessor *who, uint64_t at, bool make) {
    emu_page *page = emu_page_for(who->shadow, at >> EMU_PAGE_BITS, EMU_PAGE);
    if (!page->location && !make) return NULL;
    if (!page->location) page->location = emu_alloc(EMU_PAGE / 4 * sizeof(emu_location *));
    return &page->location[(at & (EMU_PAGE - 1)) / 4];
}

void emu_locations_before(emu_accessor *who, const emu_piece *p, int n) {
    if (!(who->access->kind & EMU_READ)) return;
    for (int i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].bytes; k += who->access->bytes) {
            emu_location **place = location_of(who, p[i].at + k, false);
            if (place && *place) collect(who, *place);
        }
}

void emu_locations_after(emu_accessor *who, const emu_piece *p, int n) {
    emu_clock *offer[EMU_LEVELS];
    if (!(who->access->kind & EMU_WRITE)) return;
    bool any = offered(who, offer);
    if (!any && who->access->kind == EMU_UPDATE) return;
    for (int i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].bytes; k += who->access->bytes) {
            emu_location **place = location_of(who, p[i].at + k, any);
            if (any) {
                hand_on(who, place, offer);
            } else if (place) {
                emu_location_put(*place);
                *place = NULL;
            }
        }
}
