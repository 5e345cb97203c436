/* The mbarrier instructions (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). */
#include "async/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ARRIVE_EXPECTS = 1, ARRIVE_DROPS = 2, ARRIVE_NO_COMPLETE = 4, RELAXED = 8, TRY = 16, PARITY = 32 };
/* Of 32 try_waits that find the phase incomplete, one returns false at once, as hardware does after a time limit. */
enum { IMPATIENT_OF = 32 };

/* Operands: 0 the result, 1 count, bytes, parity or state. */
typedef struct mbarrier_detail {
    emu_address address;
    ptx_space space;
    bool cluster;
} mbarrier_detail;

/* Lanes' shared addresses, after memory/ has checked the access and its order with others'. */
static bool resolve(emu_warp *warp, const emu_op *op, emu_mask mask, emu_access_kind kind, uint32_t shared[EMU_LANES]) {
    const mbarrier_detail *detail = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = kind,
                               .semantics = kind == EMU_WRITE ? EMU_WEAK : EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = detail->space,
                               .cluster = detail->cluster,
                               .bytes = 8};
    emu_addresses(warp, &detail->address, address);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (emu_shared_address(detail->space, address[lane], &shared[lane])) continue;
        emu_find(warp, op, lane, EMU_BARRIER, address[lane],
                 "address 0x%" PRIx64 " is not in shared memory: no mbarrier can be there", address[lane]);
        return false;
    }
    return emu_memory_lanes(warp, op, mask, &access, address, pointer);
}

/* ---- init, inval
 * --------------------------------------------------------------------------------------------------------- */
static emu_result run_init(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t shared[EMU_LANES];
    uint64_t count[EMU_LANES];
    if (!resolve(warp, op, mask, EMU_WRITE, shared)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], count);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (count[lane] == 0 || count[lane] > EMU_MBARRIER_MOST) {
            emu_find(warp, op, lane, EMU_BARRIER, shared[lane],
                     "an mbarrier of %" PRIu64 " arrivals: 1 to 2^20 - 1 can be", count[lane]);
            return EMU_ABORT;
        }
        emu_block *block = NULL;
        emu_shared_pointer(warp->block->cluster, shared[lane], 8, &block);
        emu_mbarrier *barrier =
            emu_mbarrier_create(block, (shared[lane] & ((1u << EMU_SHARED_RANK_SHIFT) - 1)) - EMU_SHARED_FIRST);
        if (barrier->live && (barrier->phase.tx != 0 || barrier->phase.pending != barrier->phase.expected))
            emu_find(warp, op, lane, EMU_BARRIER, shared[lane],
                     "the mbarrier at shared+%u is initialized again in the middle of a phase (%u of %u arrivals and "
                     "%" PRId64 " bytes pending)",
                     barrier->offset, barrier->phase.pending, barrier->phase.expected, barrier->phase.tx);
        /* The number of the phase goes on, so that engines' work of an earlier life is not taken for this one's. */
        uint64_t number = barrier->phase.number;
        emu_phase_init(&barrier->phase, (uint32_t)count[lane]);
        barrier->phase.number = barrier->live || number ? (number + 2) & ~UINT64_C(1) : 0;
        barrier->live = true;
        barrier->reported = false;
        barrier->wanted = barrier->arrived = 0;
        emu_mbarrier_seal(barrier);
    }
    return EMU_NEXT;
}

static emu_result run_inval(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t shared[EMU_LANES];
    if (!resolve(warp, op, mask, EMU_WRITE, shared)) return EMU_ABORT;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, shared[lane], NULL);
        if (!emu_mbarrier_usable(barrier, warp, op, lane, shared[lane], "inval of")) continue;
        if (barrier->phase.tx != 0)
            emu_find(warp, op, lane, EMU_TRANSACTIONS, shared[lane],
                     "the mbarrier at shared+%u is invalidated with %" PRId64 " bytes pending (%" PRIu64
                     " expected, %" PRIu64 " arrived)",
                     barrier->offset, barrier->phase.tx, barrier->wanted, barrier->arrived);
        barrier->live = false;
    }
    return EMU_NEXT;
}

/* ---- arrive, arrive_drop, expect_tx, complete_tx
 * ----------------------------------------------------------------------------- */
static void no_complete_check(emu_warp *warp, const emu_op *op, int lane, const emu_mbarrier *barrier,
                              uint64_t before) {
    if (!(op->flags & ARRIVE_NO_COMPLETE) || barrier->phase.number == before) return;
    emu_find(warp, op, lane, EMU_BARRIER, barrier->offset,
             "an arrival with .noComplete completes phase %" PRIu64
             " of the mbarrier at "
             "shared+%u of block rank %u",
             before, barrier->offset, barrier->block->rank);
}

static emu_result run_arrive(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t shared[EMU_LANES];
    uint64_t value[EMU_LANES], state[EMU_LANES] = {0};
    if (!resolve(warp, op, mask, EMU_UPDATE, shared)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], value);
    const emu_mbarrier *released = NULL; /* into this one's phase the warp's knowledge went already */
    uint64_t released_phase = 0;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, shared[lane], NULL);
        if (!emu_mbarrier_usable(barrier, warp, op, lane, shared[lane], "arrival at")) return EMU_ABORT;
        if (op->flags & ARRIVE_EXPECTS) emu_mbarrier_transfer(barrier, warp, op, lane, (int64_t)value[lane]);
        state[lane] = emu_mbarrier_token(barrier);
        if (!(op->flags & RELAXED) && (barrier != released || barrier->phase.number != released_phase)) {
            emu_release(warp, &barrier->arriving);
            released = barrier;
            released_phase = barrier->phase.number;
        }
        uint64_t before = barrier->phase.number;
        emu_mbarrier_arrive(barrier, warp, op, lane, op->flags & ARRIVE_EXPECTS ? 1 : (uint32_t)value[lane],
                            op->flags & ARRIVE_DROPS);
        no_complete_check(warp, op, lane, barrier, before);
    }
    if (op->operand[0].at != EMU_NOWHERE) emu_lanes_write(warp, op->operand[0], mask, state);
    return EMU_NEXT;
}

/* kind: 1 expects, -1 completes. */
static emu_result run_transfer(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t shared[EMU_LANES];
    uint64_t bytes[EMU_LANES];
    if (!resolve(warp, op, mask, EMU_UPDATE, shared)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], bytes);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, shared[lane], NULL);
        if (!emu_mbarrier_usable(barrier, warp, op, lane, shared[lane], "transaction at")) return EMU_ABORT;
        emu_mbarrier_transfer(barrier, warp, op, lane, op->value * (int64_t)bytes[lane]);
    }
    return EMU_NEXT;
}

/* ---- test_wait, try_wait
 * ------------------------------------------------------------------------------------------------------- */
/* Is the phase that the parity or the state means complete? */
static bool phase_done(const emu_mbarrier *barrier, bool parity, uint64_t value) {
    if (parity) return (barrier->phase.number & 1) != (value & 1);
    uint64_t phase;
    emu_mbarrier_token_phase(value, &phase);
    return phase != barrier->phase.number;
}

static bool state_valid(emu_warp *warp, const emu_op *op, int lane, const emu_mbarrier *barrier, uint64_t state) {
    uint64_t phase, now = barrier->phase.number;
    if (emu_mbarrier_token_phase(state, &phase) && (phase == now || phase + 1 == now)) return true;
    emu_find(warp, op, lane, EMU_BARRIER, barrier->offset,
             "0x%" PRIx64 " is no state of the current phase (%" PRIu64
             ") or the one before of the mbarrier at shared+%u",
             state, now, barrier->offset);
    return false;
}

/* object: the mbarrier; value: parity or state, which has a mark that no parity has. */
static bool wait_ready(const emu_warp *warp, const emu_wait *wait) {
    (void)warp;
    const emu_mbarrier *barrier = wait->object;
    return !barrier->live || phase_done(barrier, wait->value < 2, wait->value);
}

static void wait_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)warp;
    const emu_mbarrier *barrier = wait->object;
    char name[80];
    emu_mbarrier_text(barrier, name, sizeof name);
    snprintf(text, bytes, "waits for phase %s %" PRIu64 " of %s: %u of %u arrivals pending, %" PRId64 " bytes pending",
             wait->value < 2 ? "parity" : "number", wait->value < 2 ? wait->value : barrier->phase.number, name,
             barrier->phase.pending, barrier->phase.expected, barrier->phase.tx);
}

/* Lanes that wait for different things: any of them may end the wait, and ready() asks the registers again. */
static bool divergent_ready(const emu_warp *warp, const emu_wait *wait);
static void divergent_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes);

static void suspend(emu_warp *warp, const emu_op *op, bool uniform, const emu_mbarrier *barrier, uint64_t value) {
    emu_wait *wait = &warp->current->wait;
    if (uniform) {
        *wait = (emu_wait){.ready = wait_ready,
                           .describe = wait_describe,
                           .object = barrier,
                           .value = op->flags & PARITY ? value & 1 : value};
    } else {
        *wait = (emu_wait){.ready = divergent_ready, .describe = divergent_describe, .object = op};
    }
}

static emu_result run_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t shared[EMU_LANES];
    uint64_t value[EMU_LANES];
    if (!resolve(warp, op, mask, EMU_READ, shared)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], value);
    const int first = __builtin_ctz(mask);
    emu_mbarrier *barrier = NULL, *acquired = NULL;
    emu_mask done = 0;
    bool uniform = true;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (lane == first || shared[lane] != shared[first]) {
            uniform &= lane == first;
            barrier = emu_mbarrier_at(warp->block->cluster, shared[lane], NULL);
            if (!emu_mbarrier_usable(barrier, warp, op, lane, shared[lane], "wait at")) return EMU_ABORT;
        }
        uniform &= value[lane] == value[first];
        if (!(op->flags & PARITY) && !state_valid(warp, op, lane, barrier, value[lane])) return EMU_ABORT;
        if (!phase_done(barrier, op->flags & PARITY, value[lane])) continue;
        done |= 1u << lane;
        if (!(op->flags & RELAXED) && barrier != acquired) emu_acquire(warp, barrier->finished);
        acquired = barrier;
    }
    if (!done && op->flags & TRY && emu_random_below(emu_dice(warp), IMPATIENT_OF) != 0) {
        suspend(warp, op, uniform, barrier, value[first]);
        return EMU_AGAIN;
    }
    emu_mask *predicate = emu_at(warp, op->operand[0].at);
    *predicate = (*predicate & ~mask) | done;
    return EMU_NEXT;
}

/* Calls visit() for each lane of the suspended fragment with its mbarrier until that says true. */
static bool any_lane(const emu_warp *warp, const emu_wait *wait,
                     bool (*visit)(const emu_mbarrier *, bool parity, uint64_t value)) {
    const emu_fragment *fragment = (const emu_fragment *)((const char *)wait - offsetof(emu_fragment, wait));
    const emu_op *op = wait->object;
    const mbarrier_detail *detail = op->detail;
    uint64_t address[EMU_LANES], value[EMU_LANES];
    emu_mask mask = fragment->mask;
    if (op->guard != EMU_NOWHERE) {
        emu_mask guard = *(const emu_mask *)emu_at(warp, op->guard);
        mask &= op->guard_negated ? ~guard : guard;
    }
    emu_addresses(warp, &detail->address, address);
    emu_lanes_read(warp, op->operand[1], value);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        uint32_t shared;
        emu_shared_address(detail->space, address[lane], &shared);
        const emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, shared, NULL);
        if (!barrier || !barrier->live || visit(barrier, op->flags & PARITY, value[lane])) return true;
    }
    return false;
}

static bool divergent_ready(const emu_warp *warp, const emu_wait *wait) { return any_lane(warp, wait, phase_done); }

static void divergent_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)warp, (void)wait;
    snprintf(text, bytes, "waits for phases of several mbarriers, a different one in each lane; none is complete");
}

/* ---- pending_count
 * ---------------------------------------------------------------------------------------------------------------- */
static emu_result run_pending_count(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t state[EMU_LANES], count[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], state);
    for (int lane = 0; lane < EMU_LANES; lane++) count[lane] = emu_mbarrier_token_pending(state[lane]);
    emu_lanes_write(warp, op->operand[0], mask, count);
    return EMU_NEXT;
}

/* ---- decoding
 * ---------------------------------------------------------------------------------------------------------------------
 */
/* Qualifiers between the operation's name and .b64, each at most once, in any order. */
typedef struct qualifiers {
    bool relaxed, shared, cluster;
} qualifiers;

static bool take_qualifiers(emu_decoding *d, qualifiers *out) {
    static const char *const scopes[] = {"cta", "cluster", NULL};
    *out = (qualifiers){0};
    bool acquire_or_release = ptx_take(&d->words, "release") || ptx_take(&d->words, "acquire");
    if (!acquire_or_release) out->relaxed = ptx_take(&d->words, "relaxed");
    ptx_take_of(&d->words, scopes, -1);
    if (ptx_take(&d->words, "shared") || ptx_take(&d->words, "shared::cta")) {
        out->shared = true;
    } else if (ptx_take(&d->words, "shared::cluster")) {
        out->shared = out->cluster = true;
    }
    if (!ptx_take(&d->words, "b64")) return emu_decode_fail(d, "an mbarrier has the type .b64");
    if (!ptx_words_end(&d->words)) return emu_decode_fail(d, "a word follows .b64");
    return true;
}

static bool take_address(emu_decoding *d, int operand, const qualifiers *q) {
    mbarrier_detail *detail = emu_decode_alloc(d, sizeof *detail);
    detail->space = q->shared ? PTX_SHARED : PTX_GENERIC;
    detail->cluster = q->cluster;
    d->op->detail = detail;
    if (q->relaxed) d->op->flags |= RELAXED;
    return emu_decode_address(d, &d->instruction->operand[operand], detail->space, &detail->address);
}

static bool operands(emu_decoding *d, int least, int most) {
    if (d->instruction->n_operands >= least && d->instruction->n_operands <= most) return true;
    return emu_decode_fail(d, "%d operands, where %d to %d belong", d->instruction->n_operands, least, most);
}

static bool decode_init(emu_decoding *d) {
    qualifiers q;
    d->op->run = run_init;
    return take_qualifiers(d, &q) && operands(d, 2, 2) && take_address(d, 0, &q) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_U32, &d->op->operand[1]);
}

static bool decode_inval(emu_decoding *d) {
    qualifiers q;
    d->op->run = run_inval;
    return take_qualifiers(d, &q) && operands(d, 1, 1) && take_address(d, 0, &q);
}

static bool decode_arrive(emu_decoding *d) {
    static const ptx_operand one = {.kind = PTX_INTEGER, .bits = 1};
    const ptx_instruction *instruction = d->instruction;
    qualifiers q;
    if (ptx_take(&d->words, "expect_tx")) d->op->flags |= ARRIVE_EXPECTS;
    if (ptx_take(&d->words, "noComplete")) d->op->flags |= ARRIVE_NO_COMPLETE;
    d->op->run = run_arrive;
    if (!take_qualifiers(d, &q)) return false;
    /* Without the state, which nothing needs after a remote arrival, the address comes first. */
    int at = instruction->operand[0].kind == PTX_ADDRESS ? 0 : 1;
    bool counted = instruction->n_operands > at + 1;
    if (d->op->flags & (ARRIVE_EXPECTS | ARRIVE_NO_COMPLETE) && !counted)
        return emu_decode_fail(d, "a count is missing");
    d->op->operand[0].at = EMU_NOWHERE;
    if (at && !emu_decode_destination(d, &instruction->operand[0], PTX_B64, &d->op->operand[0])) return false;
    return operands(d, at + 1, at + 2) && take_address(d, at, &q) &&
           emu_decode_source(d, counted ? &instruction->operand[at + 1] : &one, PTX_U32, &d->op->operand[1]);
}

static bool decode_arrive_drop(emu_decoding *d) {
    d->op->flags |= ARRIVE_DROPS;
    return decode_arrive(d);
}

static bool decode_transfer(emu_decoding *d, int sign) {
    qualifiers q;
    d->op->run = run_transfer;
    d->op->value = sign;
    return take_qualifiers(d, &q) && operands(d, 2, 2) && take_address(d, 0, &q) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_U32, &d->op->operand[1]);
}
static bool decode_expect(emu_decoding *d) { return decode_transfer(d, 1); }
static bool decode_complete(emu_decoding *d) { return decode_transfer(d, -1); }

static bool decode_wait(emu_decoding *d) {
    qualifiers q;
    bool parity = ptx_take(&d->words, "parity");
    if (parity) d->op->flags |= PARITY;
    d->op->run = run_wait;
    emu_operand hint; /* of a suspended try_wait's time: what it reads is checked, and not used */
    return take_qualifiers(d, &q) && operands(d, 3, d->op->flags & TRY ? 4 : 3) && take_address(d, 1, &q) &&
           emu_decode_destination(d, &d->instruction->operand[0], PTX_PRED, &d->op->operand[0]) &&
           emu_decode_source(d, &d->instruction->operand[2], parity ? PTX_U32 : PTX_B64, &d->op->operand[1]) &&
           (d->instruction->n_operands == 3 || emu_decode_source(d, &d->instruction->operand[3], PTX_U32, &hint));
}

static bool decode_try(emu_decoding *d) {
    d->op->flags |= TRY;
    return decode_wait(d);
}

static bool decode_pending_count(emu_decoding *d) {
    d->op->run = run_pending_count;
    if (!ptx_take(&d->words, "b64") || !ptx_words_end(&d->words))
        return emu_decode_fail(d, "an mbarrier has the type .b64");
    return operands(d, 2, 2) && emu_decode_destination(d, &d->instruction->operand[0], PTX_B32, &d->op->operand[0]) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_B64, &d->op->operand[1]);
}

bool emu_decode_mbarrier(emu_decoding *d) {
    static const struct {
        const char *word;
        bool (*decode)(emu_decoding *);
    } kinds[] = {
        {"init", decode_init},
        {"inval", decode_inval},
        {"arrive", decode_arrive},
        {"arrive_drop", decode_arrive_drop},
        {"expect_tx", decode_expect},
        {"complete_tx", decode_complete},
        {"test_wait", decode_wait},
        {"try_wait", decode_try},
        {"pending_count", decode_pending_count},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ptx_take(&d->words, kinds[i].word)) return kinds[i].decode(d);
    return emu_decode_fail(d, "an mbarrier operation that is not known");
}
