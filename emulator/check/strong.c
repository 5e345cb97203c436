/* Volatile, relaxed and stronger accesses against the cells: they do not race with each other where their scopes reach,
 * and so a cell can have many writers that nothing orders. */
#include "check/record.h"

/* What an access means for cells that name the same nodes. */
typedef struct outcome {
    uint64_t key; /* both ids of the cell */
    uint32_t written, read;
    bool simple; /* whatever the lanes */
    bool join;   /* readers of this warp that nothing orders */
} outcome;

/* The members that a later access may still conflict with, though not with this one; those that conflict are told. */
static uint32_t remaining(emu_accessor *who, uint32_t set, uint32_t past_lane, uint32_t lane, uint64_t at,
                          bool *simple) {
    emu_sieve left = {.rest = set};
    bool first = true;
    for (uint32_t rest = set; rest; first = false) {
        uint32_t member = emu_set_next(&rest), its_lane = first ? past_lane : EMU_LANE_WARP;
        emu_verdict verdict = emu_judge(who, member, its_lane, lane);
        const emu_node *past = &emu_nodes[member];
        bool own = past->family == who->family && past->slot == who->slot, weaker = past->strength < who->strength;
        *simple = *simple && (verdict == EMU_ORDERED || verdict == EMU_STRONG);
        if (verdict >= EMU_UNORDERED) emu_report_conflict(who, verdict, member, its_lane, lane, at);
        if (verdict < EMU_UNORDERED && (weaker || (verdict == EMU_STRONG && !own)))
            emu_sieve_keep(&left, member);
        else
            emu_sieve_drop(&left, rest);
    }
    return emu_sieve_set(&left);
}

/* Reads do not conflict with each other: only those that this one makes redundant are left out. */
static uint32_t with_reader(emu_accessor *who, uint32_t set) {
    emu_sieve left = {.rest = set};
    for (uint32_t rest = set; rest;) {
        uint32_t member = emu_set_next(&rest);
        emu_verdict verdict = emu_judge(who, member, EMU_LANE_WARP, EMU_LANE_WARP);
        const emu_node *past = &emu_nodes[member];
        bool own = past->family == who->family && past->slot == who->slot, weaker = past->strength < who->strength;
        bool ordered = own || verdict == EMU_ORDERED || verdict == EMU_HARMLESS;
        if (!ordered || weaker)
            emu_sieve_keep(&left, member);
        else
            emu_sieve_drop(&left, rest);
    }
    return emu_set_add(emu_sieve_set(&left), who->node);
}

static uint64_t key_of(emu_cell cell) {
    return (uint64_t)(cell.read >> EMU_LANE_BITS) << 32 | cell.written >> EMU_LANE_BITS;
}

static void find_outcome(emu_accessor *who, emu_cell now, uint32_t lane, uint64_t at, outcome *o) {
    uint32_t by = now.written >> EMU_LANE_BITS, set = now.read >> EMU_LANE_BITS;
    *o = (outcome){.key = key_of(now), .simple = true};
    uint32_t written = remaining(who, by, now.written & EMU_LANE_MASK, lane, at, &o->simple);
    if (who->access->kind & EMU_WRITE) {
        o->written = emu_set_add(written, who->node);
        o->read = remaining(who, set, now.read & EMU_LANE_MASK, lane, at, &o->simple);
    } else {
        uint32_t rest = set;
        o->read = with_reader(who, set);
        o->join = set && emu_lanes_join(who, &emu_nodes[emu_set_next(&rest)]);
    }
}

static void access_cells(emu_accessor *who, uint64_t at, uint32_t bytes, uint32_t lane, outcome *o) {
    uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
    emu_page *page = emu_page_for(who->shadow, at >> EMU_PAGE_BITS, within | bytes);
    for (uint32_t i = within >> page->shift; i < (within + bytes) >> page->shift; i++) {
        emu_cell *cell = &page->cell[i];
        if (!o->simple || o->key != key_of(*cell))
            find_outcome(who, *cell, lane, at - within + ((uint64_t)i << page->shift), o);
        if (who->access->kind & EMU_WRITE) {
            cell->written = emu_cell_of(o->written, lane);
            cell->read = o->read ? emu_cell_of(o->read, EMU_LANE_WARP) : 0;
        } else {
            cell->read = emu_cell_of(o->read, o->join ? emu_lane_join(cell->read & EMU_LANE_MASK, lane) : lane);
        }
    }
}

void emu_strong_pieces(emu_accessor *who, const emu_piece *p, int n) {
    outcome o = {.simple = false};
    if (who->order) emu_locations_before(who, p, n);
    for (int i = 0; i < n; i++) {
        uint32_t lane = p[i].lane, each = p[i].lane_bytes ? p[i].lane_bytes : EMU_PAGE;
        for (uint64_t at = p[i].at, end = at + p[i].bytes; at < end; lane += p[i].lane_bytes != 0) {
            uint32_t room = EMU_PAGE - (uint32_t)(at & (EMU_PAGE - 1)), bytes = each < room ? each : room;
            if (bytes > end - at) bytes = (uint32_t)(end - at);
            access_cells(who, at, bytes, lane, &o);
            at += bytes;
        }
    }
    if (who->order) emu_locations_after(who, p, n);
}
