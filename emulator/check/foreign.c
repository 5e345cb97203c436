/* Knowledge of other families and of launches that ended: shared, copied when changed. */
#include "check/knowledge.h"

#include <stdlib.h>
#include <string.h>

/* ---- launches ------------------------------------------------------------------------------------------------ */
void emu_launches_free(emu_launches *launches) {
    if (launches && --launches->refs == 0) free(launches);
}

bool emu_launches_know(const emu_launches *launches, uint64_t number) {
    if (!launches) return false;
    if (number < launches->floor) return true;
    uint64_t at = number - launches->floor;
    return at / 64 < launches->words && (launches->bit[at / 64] >> at % 64 & 1);
}

/* Room for the numbers from floor to last, all bits clear; the floor is rounded down to 64, and its word filled below
 * it. */
static emu_launches *launches_new(uint64_t floor, uint64_t last) {
    uint64_t start = floor / 64 * 64;
    uint32_t words = (uint32_t)((last - start) / 64 + 1);
    emu_launches *made = emu_alloc(sizeof *made + words * sizeof made->bit[0]);
    made->refs = 1;
    made->words = words;
    made->floor = start;
    made->bit[0] = (UINT64_C(1) << floor % 64) - 1;
    return made;
}

static uint64_t launches_last(const emu_launches *launches) {
    return launches->floor + UINT64_C(64) * launches->words - 1;
}

/* Words that are full go below the floor. */
static void launches_trim(emu_launches *launches) {
    uint32_t full = 0;
    while (full < launches->words && launches->bit[full] == ~UINT64_C(0)) full++;
    launches->words -= full;
    launches->floor += UINT64_C(64) * full;
    memmove(launches->bit, launches->bit + full, launches->words * sizeof launches->bit[0]);
}

static void launches_into(emu_launches *into, const emu_launches *from) {
    for (uint32_t i = 0; i < from->words; i++) {
        uint64_t number = from->floor + UINT64_C(64) * i;
        if (number >= into->floor) into->bit[(number - into->floor) / 64] |= from->bit[i];
    }
}

void emu_launches_add(emu_launches **launches, uint64_t number) {
    if (emu_launches_know(*launches, number)) return;
    uint64_t floor = *launches ? (*launches)->floor : 1, last = number;
    if (*launches && (*launches)->words && launches_last(*launches) > last) last = launches_last(*launches);
    emu_launches *made = launches_new(floor, last);
    if (*launches) launches_into(made, *launches);
    uint64_t at = number - made->floor;
    made->bit[at / 64] |= UINT64_C(1) << at % 64;
    launches_trim(made);
    emu_launches_free(*launches);
    *launches = made;
}

/* Does a know all that b knows? */
static bool launches_cover(const emu_launches *a, const emu_launches *b) {
    if (b->floor > a->floor && !(a->words && b->floor <= launches_last(a))) return false;
    for (uint64_t number = a->floor; number < b->floor; number += 64)
        if (a->bit[(number - a->floor) / 64] != ~UINT64_C(0)) return false;
    for (uint32_t i = 0; i < b->words; i++) {
        uint64_t number = b->floor + UINT64_C(64) * i;
        if (number < a->floor) continue;
        uint64_t at = (number - a->floor) / 64;
        if (b->bit[i] & ~(at < a->words ? a->bit[at] : 0)) return false;
    }
    return true;
}

void emu_launches_join(emu_launches **into, emu_launches *from) {
    if (!from || *into == from || (*into && launches_cover(*into, from))) return;
    emu_launches *old = *into;
    if (!old || launches_cover(from, old)) {
        from->refs++;
        *into = from;
    } else {
        uint64_t floor = old->floor > from->floor ? old->floor : from->floor, last = floor;
        if (old->words && launches_last(old) > last) last = launches_last(old);
        if (from->words && launches_last(from) > last) last = launches_last(from);
        *into = launches_new(floor, last);
        launches_into(*into, old);
        launches_into(*into, from);
        launches_trim(*into);
    }
    emu_launches_free(old);
}

/* ---- parts and chunks ---------------------------------------------------------------------------------------- */
static void part_free(emu_part *part) {
    if (part && --part->refs == 0) free(part);
}

static emu_part *part_new(const uint32_t *epoch, uint32_t n) {
    emu_part *part = emu_alloc(sizeof *part + n * sizeof part->epoch[0]);
    part->refs = 1;
    part->n = n;
    memcpy(part->epoch, epoch, n * sizeof part->epoch[0]);
    return part;
}

static bool part_covers(const emu_part *a, const emu_part *b) {
    for (uint32_t i = 0; i < b->n; i++)
        if (b->epoch[i] > (i < a->n ? a->epoch[i] : 0)) return false;
    return true;
}

/* The join of both, as a reference of the caller's; one of the two where it covers the other. */
static emu_part *part_join(emu_part *a, emu_part *b) {
    emu_part *whole = !b || (a && (a == b || part_covers(a, b))) ? a : !a || part_covers(b, a) ? b : NULL;
    if (whole) {
        whole->refs++;
        return whole;
    }
    if (!a) return NULL;
    emu_part *more = a->n >= b->n ? a : b, *less = more == a ? b : a;
    emu_part *part = part_new(more->epoch, more->n);
    for (uint32_t i = 0; i < less->n; i++)
        if (less->epoch[i] > part->epoch[i]) part->epoch[i] = less->epoch[i];
    return part;
}

static void chunk_free(emu_chunk *chunk) {
    if (!chunk || --chunk->refs > 0) return;
    for (int i = 0; i < EMU_CHUNK; i++) part_free(chunk->part[i]);
    free(chunk);
}

static emu_chunk *chunk_join(emu_chunk *a, emu_chunk *b) {
    bool is_a = true, is_b = true;
    emu_part *joined[EMU_CHUNK];
    for (int i = 0; a != b && a && b && i < EMU_CHUNK; i++) {
        joined[i] = part_join(a->part[i], b->part[i]);
        is_a = is_a && joined[i] == a->part[i];
        is_b = is_b && joined[i] == b->part[i];
    }
    if (a == b || !a || !b || is_a || is_b) {
        emu_chunk *whole = !b || (a && is_a) ? a : b;
        for (int i = 0; a != b && a && b && i < EMU_CHUNK; i++) part_free(joined[i]);
        if (whole) whole->refs++;
        return whole;
    }
    emu_chunk *chunk = emu_alloc(sizeof *chunk);
    chunk->refs = 1;
    memcpy(chunk->part, joined, sizeof joined);
    return chunk;
}

/* ---- trees --------------------------------------------------------------------------------------------------- */
void emu_foreign_free(emu_foreign *foreign) {
    if (!foreign || --foreign->refs > 0) return;
    for (uint32_t i = 0; i < foreign->n; i++) chunk_free(foreign->chunk[i]);
    free(foreign);
}

static emu_foreign *foreign_new(uint32_t first, uint32_t n) {
    emu_foreign *made = emu_alloc(sizeof *made + n * sizeof(emu_chunk *));
    made->refs = 1;
    made->first = first;
    made->n = n;
    return made;
}

static emu_chunk *chunk_at(const emu_foreign *foreign, uint32_t index) {
    uint32_t at = index - foreign->first;
    return at < foreign->n ? foreign->chunk[at] : NULL;
}

void emu_foreign_join(emu_foreign **into, emu_foreign *from) {
    emu_foreign *old = *into;
    if (!from || old == from) return;
    if (!old) {
        *into = emu_foreign_share(from);
        return;
    }
    uint32_t first = old->first < from->first ? old->first : from->first;
    uint32_t end = old->first + old->n > from->first + from->n ? old->first + old->n : from->first + from->n;
    emu_foreign *made = foreign_new(first, end - first);
    bool is_old = true, is_from = true;
    for (uint32_t i = 0; i < made->n; i++) {
        emu_chunk *a = chunk_at(old, first + i), *b = chunk_at(from, first + i);
        made->chunk[i] = chunk_join(a, b);
        is_old = is_old && made->chunk[i] == a;
        is_from = is_from && made->chunk[i] == b;
    }
    if (is_old || is_from) {
        emu_foreign_free(made);
        if (is_old) return;
        made = emu_foreign_share(from);
    }
    *into = made;
    emu_foreign_free(old);
}

void emu_foreign_put(emu_foreign **into, uint32_t family, const uint32_t *epoch, uint32_t n) {
    emu_foreign *one = foreign_new(family >> EMU_CHUNK_BITS, 1);
    one->chunk[0] = emu_alloc(sizeof *one->chunk[0]);
    one->chunk[0]->refs = 1;
    one->chunk[0]->part[family & (EMU_CHUNK - 1)] = part_new(epoch, n);
    emu_foreign_join(into, one);
    emu_foreign_free(one);
}

void emu_foreign_prune(emu_foreign **foreign, bool (*drop)(uint32_t family, const void *context), const void *context) {
    emu_foreign *old = *foreign;
    if (!old) return;
    emu_foreign *made = foreign_new(old->first, old->n);
    bool any = false;
    for (uint32_t i = 0; i < old->n; i++) {
        emu_chunk *chunk = emu_alloc(sizeof *chunk);
        bool some = false;
        chunk->refs = 1;
        for (uint32_t k = 0; old->chunk[i] && k < EMU_CHUNK; k++) {
            emu_part *part = old->chunk[i]->part[k];
            if (!part || drop(((old->first + i) << EMU_CHUNK_BITS) + k, context)) continue;
            part->refs++;
            chunk->part[k] = part;
            some = true;
        }
        if (some)
            made->chunk[i] = chunk;
        else
            chunk_free(chunk);
        any = any || some;
    }
    if (!any) {
        emu_foreign_free(made);
        made = NULL;
    }
    *foreign = made;
    emu_foreign_free(old);
}
