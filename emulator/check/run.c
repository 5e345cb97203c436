/* Weak accesses against runs of cells. Most often all cells of a row name the same nodes: the verdict is found once,
 * and the cells are compared and written a vector at a time. */
#include "check/record.h"

#include <string.h>

static uint64_t both(uint32_t written, uint32_t read) { return (uint64_t)read << 32 | written; }
#define LANES (((uint64_t)EMU_LANE_MASK << 32) | EMU_LANE_MASK)
#define LANES_WRITTEN ((uint64_t)EMU_LANE_MASK)
#define LANES_READ ((uint64_t)EMU_LANE_MASK << 32)

/* Cells as 64-bit numbers; the lane of cell i is first + (i >> step), put in both halves. */
typedef struct span {
    uint64_t *cell;
    uint32_t n, base, first, step;
} span;
static inline uint64_t lane_at(const span *s, uint32_t i) { return s->first + ((s->base + i) >> s->step); }

/* How many cells from the first one on are as the effect wants them. */
EMU_LANEWISE static uint32_t alike(span s, uint64_t key, uint64_t lanes) {
    enum { BLOCK = 16 };
    uint64_t mask = ~LANES | lanes, first = s.first, step = s.step;
    uint32_t done = 0;
    while (done < s.n) {
        uint32_t n = s.n - done < BLOCK ? s.n - done : BLOCK;
        uint64_t wrong = 0;
        for (uint32_t i = done; i < done + n; i++) {
            uint64_t lane = first + ((uint64_t)(s.base + i) >> step);
            wrong |= (s.cell[i] & mask) ^ (key | ((lane << 32 | lane) & lanes));
        }
        if (wrong) break;
        done += n;
    }
    while (done < s.n) {
        uint64_t lane = lane_at(&s, done);
        if ((s.cell[done] & mask) != (key | ((lane << 32 | lane) & lanes))) break;
        done++;
    }
    return done;
}

EMU_LANEWISE static void record_reads(span s, uint32_t set) {
    uint64_t named = (uint64_t)set << EMU_LANE_BITS, first = s.first, step = s.step;
    for (uint32_t i = 0; i < s.n; i++)
        s.cell[i] = (s.cell[i] & UINT32_MAX) | (named | (first + ((uint64_t)(s.base + i) >> step))) << 32;
}

static void record_reads_joined(span s, uint32_t set) {
    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t before = (uint32_t)(s.cell[i] >> 32) & EMU_LANE_MASK;
        uint32_t lane = emu_lane_join(before, (uint32_t)lane_at(&s, i));
        s.cell[i] = both((uint32_t)s.cell[i], emu_cell_of(set, lane));
    }
}

EMU_LANEWISE static void record_writes(span s, uint32_t node) {
    uint64_t named = (uint64_t)node << EMU_LANE_BITS, first = s.first, step = s.step;
    for (uint32_t i = 0; i < s.n; i++) s.cell[i] = named | (first + ((uint64_t)(s.base + i) >> step));
}

/* ---- verdicts ------------------------------------------------------------------------------------------------ */
static bool remembered(const emu_accessor *who, uint32_t id) {
    return who->order && who->order->memo[id % EMU_MEMO] == id;
}

enum { ANY_LANE, SAME_LANE, CONFLICT };
/* Checks against all nodes of a set, whose newest member was by past_lane; says what other lanes would be. */
static int check_set(emu_runs *r, uint32_t id, uint32_t past_lane, uint32_t lane, uint64_t at) {
    emu_accessor *who = r->who;
    if (!id || remembered(who, id)) return ANY_LANE;
    int result = ANY_LANE;
    bool newest = true, lasting = true;
    for (uint32_t rest = id; rest; newest = false) {
        uint32_t member = emu_set_next(&rest);
        emu_verdict verdict = emu_judge(who, member, newest ? past_lane : EMU_LANE_WARP, lane);
        if (verdict >= EMU_UNORDERED) {
            emu_report_conflict(who, verdict, member, newest ? past_lane : EMU_LANE_MANY, lane, at);
            result = CONFLICT;
        }
        lasting = lasting && verdict == EMU_ORDERED;
        if (verdict == EMU_HARMLESS && newest && result == ANY_LANE) result = past_lane == lane ? SAME_LANE : CONFLICT;
    }
    if (lasting && who->order) who->order->memo[id % EMU_MEMO] = id;
    return result;
}

/* The readers of a cell with this one: those that it knows of, and that it is as weak as, are no longer needed. */
static uint32_t with_reader(const emu_accessor *who, uint32_t id) {
    emu_sieve sieve = {.rest = id};
    if (id == who->node) return id;
    for (uint32_t rest = id; rest;) {
        uint32_t member = emu_set_next(&rest);
        bool weaker = emu_nodes[member].strength < who->strength;
        emu_verdict verdict = emu_judge(who, member, EMU_LANE_WARP, EMU_LANE_WARP);
        bool ordered = verdict == EMU_ORDERED || verdict == EMU_HARMLESS || verdict == EMU_UNPROXIED;
        if (!ordered || weaker)
            emu_sieve_keep(&sieve, member);
        else
            emu_sieve_drop(&sieve, rest);
    }
    return emu_set_add(emu_sieve_set(&sieve), who->node);
}

static emu_effect *effect_of(emu_runs *r, uint64_t key) {
    return &r->effect[(uint32_t)((key >> EMU_LANE_BITS) ^ (key >> (32 + EMU_LANE_BITS))) % EMU_EFFECTS];
}

/* Looks at one cell by itself: reports, and finds the effect on cells like it. */
static const emu_effect *examine(emu_runs *r, uint64_t cell, uint32_t lane, uint64_t at) {
    bool write = r->who->access->kind & EMU_WRITE;
    uint32_t by = (uint32_t)cell >> EMU_LANE_BITS, set = (uint32_t)(cell >> 32) >> EMU_LANE_BITS;
    emu_effect *effect = effect_of(r, cell & ~LANES);
    bool again = effect->key == (cell & ~LANES) && effect->out;
    int written = r->check ? check_set(r, by, (uint32_t)cell & EMU_LANE_MASK, lane, at) : ANY_LANE;
    int read = write && r->check ? check_set(r, set, (uint32_t)(cell >> 32) & EMU_LANE_MASK, lane, at) : ANY_LANE;
    effect->key = cell & ~LANES;
    effect->simple = written != CONFLICT && read != CONFLICT;
    effect->lanes = (written == SAME_LANE ? LANES_WRITTEN : 0) | (read == SAME_LANE ? LANES_READ : 0);
    if (write || again) return effect;
    uint32_t rest = set;
    effect->out = with_reader(r->who, set);
    effect->join = set && emu_lanes_join(r->who, &emu_nodes[emu_set_next(&rest)]);
    return effect;
}

static void record(const emu_runs *r, const emu_effect *effect, span s) {
    if (!r->record) return;
    if (r->who->access->kind & EMU_WRITE)
        record_writes(s, r->who->node);
    else if (effect->join)
        record_reads_joined(s, effect->out);
    else
        record_reads(s, effect->out);
}

static void run_cells(emu_runs *r, span s, uint32_t index, uint32_t shift) {
    for (uint32_t i = 0; i < s.n;) {
        uint64_t key = s.cell[i] & ~LANES;
        const emu_effect *effect = effect_of(r, key);
        span rest = {.cell = s.cell + i, .n = s.n - i, .base = s.base + i, .first = s.first, .step = s.step};
        if (effect->key == key && effect->simple)
            rest.n = rest.n > 1 || effect->lanes ? alike(rest, key, effect->lanes) : 1;
        else
            rest.n = 0;
        if (!rest.n) {
            effect = examine(r, s.cell[i], (uint32_t)lane_at(&s, i), r->at + ((uint64_t)(index + i) << shift));
            rest.n = 1;
        }
        record(r, effect, rest);
        i += rest.n;
    }
}

void emu_run_begin(emu_runs *r, emu_accessor *who) {
    memset(r, 0, sizeof *r);
    r->who = who;
    r->check = r->record = true;
}

void emu_run_range(emu_runs *r, uint64_t at, uint64_t bytes, uint32_t lane, uint32_t lane_bytes) {
    for (uint64_t start = at, end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint64_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : end - at;
        emu_page *page = emu_page_for(r->who->shadow, at >> EMU_PAGE_BITS, within | n | lane_bytes);
        uint32_t index = within >> page->shift, before = lane_bytes ? (uint32_t)((at - start) >> page->shift) : 0;
        span s = {.cell = (uint64_t *)(void *)(page->cell + index),
                  .n = (uint32_t)(n >> page->shift),
                  .base = before,
                  .first = lane,
                  .step = lane_bytes ? (uint32_t)__builtin_ctz(lane_bytes) - page->shift : 31};
        r->at = at - within;
        run_cells(r, s, index, page->shift);
        at += n;
    }
}

/* One cell that is as one before it was, or false. */
static inline bool same_as_before(emu_runs *r, const emu_piece *p) {
    const emu_page *page = &r->who->shadow->page[p->at >> EMU_PAGE_BITS];
    /* Coarse cells have one lane: of several lanes side by side they have to be cut. */
    bool ready = page->cell && page->generation == emu_check_generation && p->bytes >> page->shift == 1 &&
                 (!p->lane_bytes || p->lane_bytes == p->bytes);
    if (!ready || (p->at & (p->bytes - 1))) return false;
    emu_cell *place = &page->cell[(p->at & (EMU_PAGE - 1)) >> page->shift];
    uint64_t cell = both(place->written, place->read), key = cell & ~LANES, lane = p->lane;
    const emu_effect *effect = effect_of(r, key);
    if (effect->key != key || !effect->simple || (cell ^ (lane << 32 | lane)) & effect->lanes) return false;
    if (!r->record) return true;
    if (r->who->access->kind & EMU_WRITE) {
        *place = (emu_cell){.written = emu_cell_of(r->who->node, p->lane)};
    } else {
        uint32_t before = place->read & EMU_LANE_MASK;
        place->read = emu_cell_of(effect->out, effect->join ? emu_lane_join(before, p->lane) : p->lane);
    }
    return true;
}

void emu_run_pieces(emu_runs *r, const emu_piece *p, int n) {
    for (int i = 0; i < n; i++)
        if (!same_as_before(r, &p[i])) emu_run_range(r, p[i].at, p[i].bytes, p[i].lane, p[i].lane_bytes);
}
