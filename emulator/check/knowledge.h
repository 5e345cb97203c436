/* What clocks are made of, from the whole down: launches that have ended, clusters' actors, one cluster's own actors.
 *
 * A family is the set of actors of one cluster; its slots are numbered as they are first needed: warps, then the
 * streams of groups and mbarriers that asynchronous work acts as. A clock is dense in its own family. What it knows of
 * other families is an immutable tree that clocks share (equal pointers: equal knowledge), because most kernels order
 * no cluster after another but by the ends of launches; those are a bitmap over the launches' numbers. */
#ifndef EMULATOR_CHECK_KNOWLEDGE_H
#define EMULATOR_CHECK_KNOWLEDGE_H

#include "check/check.h"

/* ---- launches that have ended -------------------------------------------------------------------------------- */
typedef struct emu_launches {
    uint32_t refs, words;
    uint64_t floor; /* all below are known; bit i tells of floor + i */
    uint64_t bit[];
} emu_launches;
bool emu_launches_know(const emu_launches *, uint64_t number);
void emu_launches_add(emu_launches **, uint64_t number);
void emu_launches_join(emu_launches **into, emu_launches *from);
void emu_launches_free(emu_launches *);

/* ---- other families ------------------------------------------------------------------------------------------ */
enum { EMU_CHUNK_BITS = 5, EMU_CHUNK = 1 << EMU_CHUNK_BITS };
typedef struct emu_part { /* epochs of one family by slot */
    uint32_t refs, n;
    uint32_t epoch[];
} emu_part;
typedef struct emu_chunk {
    uint32_t refs;
    emu_part *part[EMU_CHUNK]; /* by the low bits of the family's number */
} emu_chunk;
typedef struct emu_foreign {
    uint32_t refs, first, n; /* chunks first … first + n - 1 */
    emu_chunk *chunk[];
} emu_foreign;
static inline const emu_part *emu_foreign_part(const emu_foreign *foreign, uint32_t family) {
    if (!foreign) return NULL;
    uint32_t at = (family >> EMU_CHUNK_BITS) - foreign->first;
    const emu_chunk *chunk = at < foreign->n ? foreign->chunk[at] : NULL;
    return chunk ? chunk->part[family & (EMU_CHUNK - 1)] : NULL;
}
void emu_foreign_join(emu_foreign **into, emu_foreign *from);
void emu_foreign_put(emu_foreign **into, uint32_t family, const uint32_t *epoch, uint32_t n);
void emu_foreign_free(emu_foreign *);
static inline emu_foreign *emu_foreign_share(emu_foreign *foreign) {
    if (foreign) foreign->refs++;
    return foreign;
}
/* Without the families for which drop() is true. */
void emu_foreign_prune(emu_foreign **, bool (*drop)(uint32_t family, const void *context), const void *context);

/* ---- clocks -------------------------------------------------------------------------------------------------- */
/* Sides: what is known, and what was known at the last proxy fence, or tcgen05.fence, on the way here. */
typedef enum emu_side { EMU_KNOWN, EMU_PROXIED, EMU_FENCED, EMU_SIDES } emu_side;
struct emu_clock {
    uint32_t refs;   /* above 1 it is not changed: who wants to change it copies it first */
    uint32_t family; /* whose slots the dense part has; 0: none */
    uint32_t capacity, n;
    emu_launches *launches; /* of both sides: the end of a launch orders all proxies */
    emu_foreign *foreign[EMU_SIDES];
    emu_foreign
        *folded[EMU_SIDES]; /* foreign and the dense part as one tree, made when asked for, until the next change */
    uint32_t epoch[];       /* capacity of each side */
};
emu_clock *emu_clock_new(uint32_t family, uint32_t capacity);
/* The clock, for change: nobody else's, room for slots below need. */
emu_clock *emu_clock_own(emu_clock **, uint32_t need);
static inline uint32_t emu_clock_epoch(const emu_clock *clock, emu_side side, uint32_t slot) {
    return slot < clock->n ? clock->epoch[(size_t)side * clock->capacity + slot] : 0;
}
void emu_clock_set(emu_clock **, emu_side, uint32_t slot, uint32_t epoch); /* raises the epoch */
bool emu_clock_knows_foreign(const emu_clock *, emu_side, uint32_t family, uint64_t launch, uint32_t slot,
                             uint32_t epoch);
/* Families of the clock's grids that ended, and are known to have, are left out of trees. */

/* ---- families ------------------------------------------------------------------------------------------------ */
typedef enum emu_slot_kind { EMU_SLOT_WARP, EMU_SLOT_STREAM, EMU_SLOT_MBARRIER } emu_slot_kind;
typedef struct emu_slot {
    uint8_t kind, stream;
    uint16_t rank, warp; /* block in the cluster; warp in the block */
} emu_slot;
typedef struct emu_family {
    uint32_t number, n_slots, capacity, n_blocks;
    emu_slot *slot;
    emu_dim *block; /* their indices, by rank */
    uint64_t launch;
    const char *kernel;
    const emu_code *code;
    bool ended, marked;
} emu_family;
emu_family *emu_family_of(uint32_t number); /* NULL: ended, and nothing recorded names it */
uint32_t emu_family_slot(emu_family *, emu_slot_kind, int stream, uint32_t rank, uint32_t warp);
/* Frees those that ended and are not marked; takes off the marks. */
void emu_families_sweep(void);

/* ---- warps --------------------------------------------------------------------------------------------------- */
enum { EMU_LEVELS = 3 /* CTA, cluster, GPU and beyond */, EMU_COLLECTIVES = 8, EMU_RECORDS = 64, EMU_MEMO = 256 };
static inline int emu_level(emu_scope scope) { return scope >= EMU_SCOPE_GPU ? 2 : (int)scope; }
typedef struct emu_order {
    emu_family *family;
    uint32_t slot, rank;
    uint32_t epoch;  /* of the accesses to come */
    uint32_t whole;  /* accesses up to this epoch are known to all lanes */
    bool touched;    /* something was recorded in this epoch */
    uint32_t *lanes; /* [32][32]: newest epoch of a lane known to a lane by bar.warp.sync of some; NULL: never used */
    uint32_t stream[EMU_N_STREAMS]; /* slot + 1, 0: not yet */
    emu_clock *clock;
    emu_clock *fence[EMU_LEVELS];   /* as of the last fence of this scope or a wider one */
    emu_clock *pending[EMU_LEVELS]; /* read by relaxed reads; taken in by the next fence */
    struct emu_collective { /* of a warpgroup's first warp: what each warp knew when it issued its part of a group of
                               wgmma */
        uint64_t group;
        emu_clock *clock;
    } collective[EMU_COLLECTIVES];
    uint64_t swept; /* count of sweeps when the tables below were filled */
    struct emu_recent {
        const emu_op *op;
        uint32_t epoch, node;
    } recent[EMU_RECORDS];
    uint32_t memo[EMU_MEMO]; /* nodes that are known to be ordered before all that this warp will do */
} emu_order;
/* All accesses up to now have an epoch that the clock holds. */
void emu_order_seal(emu_order *);

/* The host, and the number of times that all records were dropped because the host knows them all. */
extern uint64_t emu_check_generation;
/* Options, as of the first shadow or cluster. */
extern struct emu_checks { bool known, races, initialized, shared_initialized; } emu_checks;
void emu_checks_begin(void);
#endif
