/* Accesses against the shadow: runs of cells that warps and engines read or write. */
#include "check/record.h"

#include <string.h>

/* What a run remembers from cell to cell. Ids that are 0 match no cell that anyone accessed. */
typedef struct run {
    emu_accessor *who;
    uint32_t written; /* node known to be ordered before this access, whatever the lanes */
    uint32_t read;    /* set of such nodes */
    uint32_t in, out; /* a set of readers, and that set with this access */
    bool own;         /* the newest of `in` is of this warp and lanes matter */
    uint64_t at;      /* of the page in the memory */
    uint8_t shift;
    bool check, record; /* lanes of one instruction are checked before any is recorded, if they are several runs */
} run;

/* ---- verdicts ------------------------------------------------------------------------------------------------ */
static bool remembered(const emu_accessor *who, uint32_t id) {
    return who->order && who->order->memo[id % EMU_MEMO] == id;
}
static void remember(emu_accessor *who, uint32_t id) {
    if (who->order) who->order->memo[id % EMU_MEMO] = id;
}

/* Checks against all nodes of a set; true: all are ordered before this access for good. */
static bool check_set(run *r, uint32_t id, uint32_t past_lane, uint32_t lane, uint32_t cell) {
    emu_accessor *who = r->who;
    if (remembered(who, id)) return true;
    bool good = true;
    bool first = true;
    for (uint32_t rest = id; rest; first = false) {
        uint32_t member = emu_set_next(&rest);
        emu_verdict verdict = emu_judge(who, member, first ? past_lane : EMU_LANE_WARP, lane);
        if (verdict >= EMU_UNORDERED)
            emu_report_conflict(who, verdict, member, first ? past_lane : EMU_LANE_MANY, lane,
                                r->at + ((uint64_t)cell << r->shift));
        good = good && verdict == EMU_ORDERED;
    }
    if (good) remember(who, id);
    return good;
}

/* The readers of a cell with this one: those that it knows of, and that it is as weak as, are no longer needed. */
static uint32_t with_reader(run *r, uint32_t id) {
    const emu_accessor *who = r->who;
    uint32_t kept[EMU_MOST_MEMBERS + 1], n = 0;
    for (uint32_t rest = id; rest;) {
        uint32_t member = emu_set_next(&rest);
        bool weaker = emu_nodes[member].strength < who->strength;
        emu_verdict verdict = emu_judge(who, member, EMU_LANE_WARP, EMU_LANE_WARP);
        bool ordered = verdict == EMU_ORDERED || verdict == EMU_HARMLESS || verdict == EMU_UNPROXIED;
        if (!ordered || weaker) kept[n++] = member;
    }
    uint32_t set = 0;
    while (n > 0) set = emu_set_add(set, kept[--n]);
    return emu_set_add(set, who->node);
}

static void enter_readers(run *r, uint32_t id) {
    const emu_accessor *who = r->who;
    r->in = id;
    r->out = id == who->node ? id : with_reader(r, id);
    uint32_t rest = id;
    const emu_node *newest = &emu_nodes[emu_set_next(&rest)];
    r->own = emu_lanes_join(who, newest);
}

/* ---- runs: cell i is accessed by lane first + (i >> step) ---------------------------------------------------- */
static void read_run(run *r, emu_cell *cell, uint32_t start, uint32_t n, uint32_t lane_first, uint32_t step) {
    for (uint32_t i = 0; i < n; i++) {
        emu_cell now = cell[start + i];
        uint32_t lane = lane_first + (i >> step), by = now.written >> EMU_LANE_BITS, set = now.read >> EMU_LANE_BITS;
        if (by != r->written && check_set(r, by, now.written & EMU_LANE_MASK, lane, start + i)) r->written = by;
        if (set == 0) {
            cell[start + i].read = emu_cell_of(r->who->node, lane);
            continue;
        }
        if (set != r->in) enter_readers(r, set);
        uint32_t before = now.read & EMU_LANE_MASK;
        if (r->own) lane = emu_lane_join(before, lane);
        uint32_t then = emu_cell_of(r->out, lane);
        if (then != now.read) cell[start + i].read = then;
    }
}

static void check_writes(run *r, const emu_cell *cell, uint32_t start, uint32_t n, uint32_t lane_first, uint32_t step) {
    for (uint32_t i = 0; i < n; i++) {
        emu_cell now = cell[start + i];
        uint32_t lane = lane_first + (i >> step), by = now.written >> EMU_LANE_BITS, set = now.read >> EMU_LANE_BITS;
        if (by != r->written && check_set(r, by, now.written & EMU_LANE_MASK, lane, start + i)) r->written = by;
        if (set && set != r->read && check_set(r, set, now.read & EMU_LANE_MASK, lane, start + i)) r->read = set;
    }
}

static void record_writes(run *r, emu_cell *cell, uint32_t start, uint32_t n, uint32_t lane_first, uint32_t step) {
    for (uint32_t i = 0; i < n; i++)
        cell[start + i] = (emu_cell){.written = emu_cell_of(r->who->node, lane_first + (i >> step))};
}

/* One contiguous range within the memory, in pieces by page. lane_bytes: a power of two, bytes of each lane; 0: one
 * lane. */
static void contiguous(run *r, uint64_t at, uint64_t bytes, uint32_t lane, uint32_t lane_bytes) {
    const emu_accessor *who = r->who;
    for (uint64_t start = at, end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint64_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : end - at;
        emu_page *page = emu_page_for(who->shadow, at >> EMU_PAGE_BITS, within | n | lane_bytes);
        r->at = at - within;
        r->shift = page->shift;
        uint32_t step = lane_bytes ? (uint32_t)__builtin_ctz(lane_bytes) - page->shift : 31;
        uint32_t first = lane_bytes ? lane + (uint32_t)((at - start) / lane_bytes) : lane;
        uint32_t cells = (uint32_t)(n >> page->shift), cell = within >> page->shift;
        if (!(who->access->kind & EMU_WRITE))
            read_run(r, page->cell, cell, cells, first, step);
        else if (r->check)
            check_writes(r, page->cell, cell, cells, first, step);
        if ((who->access->kind & EMU_WRITE) && r->record) record_writes(r, page->cell, cell, cells, first, step);
        at += n;
    }
}

/* ---- initialized bytes --------------------------------------------------------------------------------------- */
static void mark(emu_shadow *shadow, uint64_t at, uint64_t bytes) {
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint32_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : (uint32_t)(end - at);
        emu_page *page = &shadow->page[at >> EMU_PAGE_BITS];
        if (!page->complete) emu_page_mark(shadow, page, within, n);
        at += n;
    }
}

static bool marked(emu_shadow *shadow, uint64_t at, uint64_t bytes, bool any) {
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint32_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : (uint32_t)(end - at);
        const emu_page *page = &shadow->page[at >> EMU_PAGE_BITS];
        bool good = page->complete || emu_page_marked(page, within, n, any);
        if (good == any) return any;
        at += n;
    }
    return !any;
}

/* ---- warps: lanes that lie one after the other are a run ----------------------------------------------------- */
typedef struct piece {
    uint64_t at, bytes;
    uint32_t lane, lane_bytes;
} piece;

/* The run that begins at this lane; takes its lanes off the mask. */
static piece take_piece(emu_mask *mask, const uint64_t at[EMU_LANES], uint32_t bytes) {
    uint32_t first = (uint32_t)__builtin_ctz(*mask), lane = first;
    emu_mask left = *mask & (*mask - 1);
    piece p = {.at = at[first], .bytes = bytes, .lane = first, .lane_bytes = bytes};
    while (lane + 1 < EMU_LANES && (left >> (lane + 1) & 1) && at[lane + 1] == at[lane] + bytes) {
        lane++;
        left &= left - 1;
        p.bytes += bytes;
    }
    if (lane == first) {
        while (lane + 1 < EMU_LANES && (left >> (lane + 1) & 1) && at[lane + 1] == at[first]) {
            lane++;
            left &= left - 1;
            p.lane = EMU_LANE_MANY;
            p.lane_bytes = 0;
        }
    }
    *mask = left;
    return p;
}

static void check_initialized(emu_shadow *shadow, emu_warp *warp, const emu_op *op, const emu_access *access,
                              const piece *p, int n) {
    bool read = access->kind & EMU_READ;
    bool collective = op && op->aligned, any = false;
    for (int i = 0; read && i < n; i++) {
        if (marked(shadow, p[i].at, p[i].bytes, collective)) {
            any = true;
            continue;
        }
        if (collective) continue;
        uint64_t at = p[i].at;
        uint32_t lane = p[i].lane < EMU_LANES ? p[i].lane : 0;
        while (p[i].lane_bytes && marked(shadow, at, access->bytes, false)) {
            at += access->bytes;
            lane++;
        }
        emu_report_uninitialized(shadow, warp, op, (int)lane, at, access->bytes);
        break;
    }
    if (read && collective && !any && n > 0) emu_report_uninitialized(shadow, warp, op, -1, p[0].at, p[0].bytes);
    for (int i = 0; (access->kind & EMU_WRITE) && i < n; i++) mark(shadow, p[i].at, p[i].bytes);
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
    piece p[EMU_LANES];
    int n = 0;
    while (mask) p[n++] = take_piece(&mask, at, access->bytes);
    if (emu_check_initialized()) check_initialized(shadow, warp, op, access, p, n);
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
                        .op = op};
    who.node = node_of_warp(&who);
    if (who.strength) {
        for (int i = 0; i < n; i++) emu_strong_run(&who, p[i].at, p[i].bytes, p[i].lane, p[i].lane_bytes);
        return;
    }
    run r = {.who = &who, .in = UINT32_MAX};
    bool collective = op && op->aligned, apart = n > 1 && (access->kind & EMU_WRITE);
    for (int pass = 0; pass <= apart; pass++) {
        r.check = pass == 0;
        r.record = pass == apart;
        for (int i = 0; i < n; i++)
            contiguous(&r, p[i].at, p[i].bytes, collective ? EMU_LANE_WARP : p[i].lane,
                       collective ? 0 : p[i].lane_bytes);
    }
}

/* ---- engines ------------------------------------------------------------------------------------------------- */
/* The node of an operation, as long as no other comes between that falls on its place. */
static uint32_t node_of_operation(const emu_accessor *who, uint64_t operation) {
    static struct {
        uint64_t operation, sweeps;
        uint32_t node;
    } recent[256];
    unsigned kind = who->access->kind & EMU_WRITE ? 1 : 0, at = (unsigned)((2 * operation + kind) % 256);
    if (recent[at].operation != operation || recent[at].sweeps != emu_sweeps) {
        recent[at].node = node_of(who);
        recent[at].operation = operation;
        recent[at].sweeps = emu_sweeps;
    }
    return recent[at].node;
}

void emu_shadow_range(emu_shadow *shadow, const emu_actor *actor, const emu_access *access, uint64_t at,
                      uint64_t bytes) {
    if (emu_check_initialized()) {
        if ((access->kind & EMU_READ) && bytes > 16 && !marked(shadow, at, bytes, true))
            emu_report_uninitialized(shadow, actor->warp, actor->op, actor->lane, at, bytes);
        if (access->kind & EMU_WRITE) mark(shadow, at, bytes);
    }
    if (!actor->known) return;
    emu_records_breathe();
    emu_accessor who = {.shadow = shadow,
                        .access = access,
                        .clock = actor->known,
                        .family = actor->known->family,
                        .slot = actor->slot,
                        .epoch = (uint32_t)actor->epoch + 1,
                        .operation = (uint32_t)actor->operation,
                        .issuer = actor->issuer,
                        .whole = actor->whole,
                        .rank = actor->block->rank,
                        .strength = strength_of(access),
                        .async = actor->proxy == EMU_PROXY_ASYNC,
                        .warp = actor->warp,
                        .op = actor->op};
    who.node = node_of_operation(&who, actor->operation);
    uint32_t lane = actor->lane >= 0 ? (uint32_t)actor->lane : EMU_LANE_WARP;
    run r = {.who = &who, .in = UINT32_MAX, .check = true, .record = true};
    if (who.strength)
        emu_strong_run(&who, at, bytes, lane, 0);
    else
        contiguous(&r, at, bytes, lane, 0);
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
