/* Clocks: dense in their own family, trees for the others; changed in place when nobody shares them. */
#include "check/knowledge.h"

#include <stdlib.h>
#include <string.h>

emu_clock *emu_clock_new(uint32_t family, uint32_t capacity) {
    emu_clock *clock = emu_alloc(sizeof *clock + (size_t)EMU_SIDES * capacity * sizeof clock->epoch[0]);
    clock->refs = 1;
    clock->family = family;
    clock->capacity = capacity;
    return clock;
}

static void unfold(emu_clock *clock) {
    for (int side = 0; side < EMU_SIDES; side++) {
        emu_foreign_free(clock->folded[side]);
        clock->folded[side] = NULL;
    }
}

void emu_clock_free(emu_clock *clock) {
    if (!clock || --clock->refs > 0) return;
    unfold(clock);
    for (int side = 0; side < EMU_SIDES; side++) emu_foreign_free(clock->foreign[side]);
    emu_launches_free(clock->launches);
    free(clock);
}

emu_clock *emu_clock_copy(const emu_clock *clock) {
    emu_clock *shared = (emu_clock *)(uintptr_t)clock; /* the count of references is no part of what a clock says */
    if (shared) shared->refs++;
    return shared;
}

emu_clock *emu_clock_own(emu_clock **place, uint32_t need) {
    emu_clock *old = *place;
    if (old->refs == 1 && need <= old->capacity) {
        unfold(old);
        return old;
    }
    uint32_t capacity = need > old->capacity ? (need + 7) / 8 * 8 : old->capacity;
    emu_clock *made = emu_clock_new(old->family, capacity);
    made->n = old->n;
    made->launches = old->launches;
    if (made->launches) made->launches->refs++;
    for (int side = 0; side < EMU_SIDES; side++) {
        made->foreign[side] = emu_foreign_share(old->foreign[side]);
        memcpy(made->epoch + (size_t)side * capacity, old->epoch + (size_t)side * old->capacity,
               old->n * sizeof old->epoch[0]);
    }
    emu_clock_free(old);
    *place = made;
    return made;
}

void emu_clock_set(emu_clock **place, emu_side side, uint32_t slot, uint32_t epoch) {
    if (emu_clock_epoch(*place, side, slot) >= epoch) return;
    emu_clock *clock = emu_clock_own(place, slot + 1);
    if (clock->n <= slot) clock->n = slot + 1;
    clock->epoch[(size_t)side * clock->capacity + slot] = epoch;
}

/* Raises the dense epochs to those given. */
static void raise(emu_clock **place, emu_side side, const uint32_t *epoch, uint32_t n) {
    const emu_clock *now = *place;
    const uint32_t *have = now->epoch + (size_t)side * now->capacity;
    uint32_t both = n < now->n ? n : now->n, higher = n > now->n;
    for (uint32_t i = 0; i < both; i++) higher |= epoch[i] > have[i];
    if (!higher) return;
    emu_clock *clock = emu_clock_own(place, n);
    uint32_t *into = clock->epoch + (size_t)side * clock->capacity;
    if (clock->n < n) clock->n = n;
    for (uint32_t i = 0; i < n; i++) into[i] = epoch[i] > into[i] ? epoch[i] : into[i];
}

/* All that this side knows as one tree; the clock keeps it. */
static emu_foreign *folded(emu_clock *clock, emu_side side) {
    if (!clock->family || !clock->n) return clock->foreign[side];
    if (!clock->folded[side]) {
        emu_foreign *tree = emu_foreign_share(clock->foreign[side]);
        emu_foreign_put(&tree, clock->family, clock->epoch + (size_t)side * clock->capacity, clock->n);
        clock->folded[side] = tree;
    }
    return clock->folded[side];
}

static bool adds(const emu_foreign *have, const emu_foreign *more) { return more && have != more; }

static void join_foreign(emu_clock **into, emu_side side, emu_foreign *more) {
    if (!adds((*into)->foreign[side], more)) return;
    emu_foreign *joined = emu_foreign_share((*into)->foreign[side]);
    emu_foreign_join(&joined, more);
    if (joined == (*into)->foreign[side]) {
        emu_foreign_free(joined);
        return;
    }
    emu_clock *clock = emu_clock_own(into, 0);
    emu_foreign_free(clock->foreign[side]);
    clock->foreign[side] = joined;
}

static void join_launches(emu_clock **into, emu_launches *more) {
    if (!more || (*into)->launches == more) return;
    emu_launches *joined = (*into)->launches;
    if (joined) joined->refs++;
    emu_launches_join(&joined, more);
    if (joined == (*into)->launches) {
        emu_launches_free(joined);
        return;
    }
    emu_clock *clock = emu_clock_own(into, 0);
    emu_launches_free(clock->launches);
    clock->launches = joined;
}

void emu_clock_join(emu_clock **into, const emu_clock *from) {
    if (!from || *into == from) return;
    if (!*into) {
        *into = emu_clock_copy(from);
        return;
    }
    join_launches(into, from->launches);
    for (int i = 0; i < EMU_SIDES; i++) {
        emu_side side = (emu_side)i;
        if ((*into)->family == from->family) {
            raise(into, side, from->epoch + (size_t)side * from->capacity, from->n);
            join_foreign(into, side, from->foreign[side]);
            continue;
        }
        emu_foreign *all = folded((emu_clock *)(uintptr_t)from, side);
        join_foreign(into, side, all);
        const emu_part *own = (*into)->family ? emu_foreign_part(all, (*into)->family) : NULL;
        if (own) raise(into, side, own->epoch, own->n);
    }
}

bool emu_clock_knows_foreign(const emu_clock *clock, emu_side side, uint32_t family, uint64_t launch, uint32_t slot,
                             uint32_t epoch) {
    if (emu_launches_know(clock->launches, launch)) return true;
    const emu_part *part = emu_foreign_part(clock->foreign[side], family);
    return part && slot < part->n && part->epoch[slot] >= epoch;
}
