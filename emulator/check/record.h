/* What the shadow remembers: accesses as nodes, sets of them, and cells that name nodes.
 *
 * A node is an access: an instruction by an actor in an epoch. Sets of nodes are lists with shared tails, made once for
 * each (tail, node) as long as a cache remembers it, so that a tile that four warps read costs one look-up a cell and
 * no memory. Nodes that no cell names are swept when their number has doubled. */
#ifndef EMULATOR_CHECK_RECORD_H
#define EMULATOR_CHECK_RECORD_H

#include "check/knowledge.h"

/* Of a warp's access: a lane, many, or the warp as a whole (collective instructions; never in conflict with its own
 * lanes). */
enum { EMU_LANE_MANY = 32, EMU_LANE_WARP = 33, EMU_LANE_BITS = 6, EMU_LANE_MASK = (1 << EMU_LANE_BITS) - 1 };
/* Of a set. One that would have more is cut to fewer, the newest and the oldest: that makes a list anew, and so is rare. */
enum { EMU_MOST_MEMBERS = 24, EMU_MEMBERS_KEPT = 16 };
enum { EMU_STRENGTH_WEAK, EMU_STRENGTH_CTA, EMU_STRENGTH_CLUSTER, EMU_STRENGTH_GPU };

typedef struct emu_node {
    const emu_op *op;             /* NULL: a set, or free */
    uint32_t family, slot, epoch; /* of a set: first is its newest member, slot; rest is another set or node, epoch */
    uint32_t operation;
    uint8_t rank;     /* of the block in its cluster */
    uint8_t strength; /* of relaxed and stronger accesses: the scope's */
    uint8_t members;  /* 1, or those of the set */
    bool engine, async, write, set, marked;
} emu_node;
extern emu_node *emu_nodes;
static inline uint32_t emu_set_first(const emu_node *node) { return node->slot; }
static inline uint32_t emu_set_rest(const emu_node *node) { return node->epoch; }
uint32_t emu_node_new(void);
/* The set with this node; tail 0: the node itself. */
uint32_t emu_set_add(uint32_t tail, uint32_t node);
/* Walks the members: id of the next, *set becomes the rest (0 at the end). */
static inline uint32_t emu_set_next(uint32_t *set) {
    const emu_node *node = &emu_nodes[*set];
    uint32_t member = node->set ? emu_set_first(node) : *set;
    *set = node->set ? emu_set_rest(node) : 0;
    return member;
}
/* A set less some of its members, which are dropped while it is walked from the newest on: what comes after the last one
 * dropped stays the list that it is. */
typedef struct emu_sieve {
    uint32_t rest;     /* the list after the last member dropped; before there is one, the whole set */
    uint32_t n, newer; /* members kept, and how many of them are not in `rest` */
    uint32_t kept[EMU_MOST_MEMBERS];
} emu_sieve;
static inline void emu_sieve_keep(emu_sieve *s, uint32_t member) { s->kept[s->n++] = member; }
static inline void emu_sieve_drop(emu_sieve *s, uint32_t rest) {
    s->rest = rest;
    s->newer = s->n;
}
static inline uint32_t emu_sieve_set(const emu_sieve *s) {
    uint32_t set = s->rest;
    for (uint32_t i = s->newer; i-- > 0;) set = emu_set_add(set, s->kept[i]);
    return set;
}
void emu_records_clear(void); /* no cell names a node any more */
/* May sweep: at the start of an access only, ids held elsewhere are void when emu_sweeps changes. */
void emu_records_sweep(void);
extern uint32_t emu_nodes_live, emu_nodes_limit;
static inline void emu_records_breathe(void) {
    if (emu_nodes_live >= emu_nodes_limit) emu_records_sweep();
}
extern uint64_t emu_sweeps;

/* ---- cells and pages ----------------------------------------------------------------------------------------- */
typedef struct emu_cell {
    uint32_t written, read;
} emu_cell; /* node or set << EMU_LANE_BITS | lane; 0: nobody */
static inline uint32_t emu_cell_of(uint32_t node, uint32_t lane) { return node << EMU_LANE_BITS | lane; }

/* What relaxed and volatile accesses and atomics hand on at a word. Shared by words, not changed. */
enum { EMU_MOST_OWNERS = 8 /* blocks that were the last to write there */ };
typedef struct emu_location {
    uint32_t refs, n;
    emu_clock *all; /* offered to the whole GPU */
    struct emu_owner {
        uint32_t family, rank;
        emu_clock *near[EMU_LEVELS - 1]; /* offered to the CTA, to the cluster (or beyond) */
    } owner[EMU_MOST_OWNERS];            /* the newest first */
} emu_location;

enum { EMU_PAGE_BITS = 12, EMU_PAGE = 1 << EMU_PAGE_BITS, EMU_COARSE = 4 /* bits of the largest granule: 16 bytes */ };
typedef struct emu_page {
    emu_cell *cell;          /* EMU_PAGE >> shift; NULL: none yet */
    uint64_t *initialized;   /* a bit a byte; NULL: all or none */
    emu_location **location; /* a word each; NULL: none */
    uint64_t generation;
    uint16_t missing; /* bytes not initialized, when `initialized` is there */
    uint8_t shift;    /* bytes of a granule, as a power of two */
    bool complete;    /* all bytes are initialized */
} emu_page;
struct emu_shadow {
    const uint8_t *memory;
    uint64_t bytes, n_pages;
    emu_page *page;
    bool shared;
    bool tensor;            /* tensor memory, which is shared, too */
    bool hosted;            /* pinned or managed: the host reads it, unseen */
    unsigned char *witness; /* flags of each byte (check/witness.c); NULL: none yet */
    emu_shadow *next, *previous;
};
extern emu_shadow *emu_shadows;
/* The page's cells of this generation, fine enough for accesses of this alignment (bits of address or length). */
emu_page *emu_page_prepare(emu_shadow *, uint64_t index, uint64_t alignment);
static inline emu_page *emu_page_for(emu_shadow *shadow, uint64_t index, uint64_t alignment) {
    emu_page *page = &shadow->page[index];
    bool fine = !(alignment & ((UINT64_C(1) << page->shift) - 1));
    return fine && page->cell && page->generation == emu_check_generation ? page
                                                                          : emu_page_prepare(shadow, index, alignment);
}
void emu_page_mark(emu_shadow *, emu_page *, uint32_t at, uint32_t bytes);     /* initialized; all within the page */
bool emu_page_marked(const emu_page *, uint32_t at, uint32_t bytes, bool any); /* all of the bytes, or any */
void emu_location_put(emu_location *);

/* ---- who accesses -------------------------------------------------------------------------------------------- */
typedef struct emu_accessor {
    emu_shadow *shadow;
    const emu_access *access;
    const emu_clock *clock, *fenced; /* fenced: of tensor memory, NULL: no fence is demanded */
    emu_order *order;                /* of a warp; NULL: an engine */
    uint32_t family, slot, epoch, operation;
    uint32_t issuer, whole; /* the warp's slot; its epoch up to which lanes do not matter */
    uint32_t rank;
    uint32_t node;
    uint8_t strength;
    bool async;
    emu_warp *warp;
    const emu_op *op;
    const uint64_t *at; /* of a warp: where its lanes' bytes begin */
} emu_accessor;

/* The lane of a cell's readers is that of the newest; of lanes of one warp that nothing orders, they are many. */
static inline bool emu_lanes_join(const emu_accessor *who, const emu_node *newest) {
    return who->order && newest->family == who->family && newest->slot == who->slot && newest->epoch > who->whole &&
           newest->strength == who->strength;
}
static inline uint32_t emu_lane_join(uint32_t before, uint32_t lane) {
    if (before == lane || before == EMU_LANE_WARP) return lane;
    return lane == EMU_LANE_WARP ? before : EMU_LANE_MANY;
}

typedef enum emu_verdict {
    EMU_ORDERED,  /* by clocks: for good, for whatever this accessor does later */
    EMU_HARMLESS, /* this time: same lane, or both are atomic */
    EMU_STRONG,   /* nothing orders them, and nothing has to: both are atomic */
    EMU_UNORDERED,
    EMU_NARROW, /* both are atomic, and a scope does not reach the other */
    EMU_UNPROXIED,
    EMU_UNFENCED,
} emu_verdict;
emu_verdict emu_judge(const emu_accessor *, uint32_t past, uint32_t past_lane, uint32_t lane);

/* ---- initialized bytes (check/initialized.c) ----------------------------------------------------------------- */
struct emu_piece;
void emu_initialized_pieces(emu_shadow *, emu_warp *, const emu_op *, const emu_access *, const struct emu_piece *,
                            int n);
void emu_initialized_range(emu_shadow *, const emu_actor *, const emu_access *, uint64_t at, uint64_t bytes);
void emu_initialized_end(emu_grid *); /* tells what can only be told of the launch as a whole */

/* ---- reports ------------------------------------------------------------------------------------------------- */
void emu_report_begin(void);
void emu_report_conflict(const emu_accessor *, emu_verdict, uint32_t past, uint32_t past_lane, uint32_t lane,
                         uint64_t at);
void emu_report_uninitialized(emu_shadow *, emu_warp *, const emu_op *, int lane, uint64_t at, uint64_t bytes);

/* ---- runs of cells (check/run.c) ----------------------------------------------------------------------------- */
/* What an access means for cells that name the same nodes; by the two ids, lanes left out. */
typedef struct emu_effect {
    uint64_t key;
    uint64_t lanes; /* bits of the cell where the lane must be the accessing one, or the cell is looked at by itself */
    uint32_t out;   /* of reads: the set with this one */
    bool simple;    /* no conflict, if the lanes are as demanded */
    bool join;      /* of reads: with lanes of this warp that nothing orders */
} emu_effect;
enum { EMU_EFFECTS = 4 };
typedef struct emu_runs {
    emu_accessor *who;
    emu_effect effect[EMU_EFFECTS];
    uint64_t at;        /* of the page in the memory */
    bool check, record; /* lanes of one instruction are checked before any is recorded, if they are several runs */
} emu_runs;
void emu_run_begin(emu_runs *, emu_accessor *);
typedef struct emu_piece { /* a range, in turns of lane_bytes each by lanes from `lane` on; 0: all by this lane */
    uint64_t at, bytes;
    uint32_t lane, lane_bytes;
} emu_piece;
/* A contiguous range. lane_bytes: a power of two, bytes of each lane from `lane` on; 0: all by this lane. */
void emu_run_range(emu_runs *, uint64_t at, uint64_t bytes, uint32_t lane, uint32_t lane_bytes);
void emu_run_pieces(emu_runs *, const emu_piece *, int n);

/* ---- relaxed and stronger accesses ------------------------------------------------------------------------------ */
void emu_strong_pieces(emu_accessor *, const emu_piece *, int n);    /* check/strong.c */
void emu_locations_before(emu_accessor *, const emu_piece *, int n); /* check/location.c: what reads collect */
void emu_locations_after(emu_accessor *, const emu_piece *, int n);  /* what writes hand on */
#endif
