/* mbarrier.test_wait and try_wait: a try_wait whose phase is not complete suspends its fragment. */
#include "async/mbarrier_ops.h"

#include <inttypes.h>
#include <stdio.h>

/* Of 32 try_waits that find the phase incomplete, one returns false at once, as hardware does after a time limit. */
enum { IMPATIENT_OF = 32 };

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

/* object: the mbarrier; value: the phase that a parity meant when the wait began, or a state, which has a mark that no phase
 * has. Who is suspended has seen that phase complete, however many others have since. */
static bool of_parity(const emu_wait *wait) { return wait->value >> 56 == 0; }

static bool wait_ready(const emu_warp *warp, const emu_wait *wait) {
    (void)warp;
    const emu_mbarrier *barrier = wait->object;
    if (!barrier->live) return true;
    return of_parity(wait) ? barrier->phase.number != wait->value : phase_done(barrier, false, wait->value);
}

static void wait_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)warp;
    const emu_mbarrier *barrier = wait->object;
    char name[80];
    emu_mbarrier_text(barrier, name, sizeof name);
    snprintf(text, bytes, "waits for phase %s %" PRIu64 " of %s: %u of %u arrivals pending, %" PRId64 " bytes pending",
             of_parity(wait) ? "parity" : "number", of_parity(wait) ? wait->value & 1 : barrier->phase.number, name,
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
                           .value = op->flags & EMU_WAIT_PARITY ? barrier->phase.number : value};
    } else {
        *wait = (emu_wait){.ready = divergent_ready, .describe = divergent_describe, .object = op};
    }
}

emu_result emu_mbarrier_run_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mbarrier *barrier[EMU_LANES], *acquired = NULL;
    uint64_t value[EMU_LANES];
    if (!emu_mbarrier_resolve(warp, op, mask, EMU_READ, "wait at", barrier)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], value);
    const int first = __builtin_ctz(mask);
    const bool parity = op->flags & EMU_WAIT_PARITY;
    const emu_wait *wait = &warp->current->wait;
    const bool seen = parity && wait->ready == wait_ready && wait_ready(warp, wait);
    emu_mask done = 0;
    bool uniform = true;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        uniform &= barrier[lane] == barrier[first] && value[lane] == value[first];
        if (!parity && !state_valid(warp, op, lane, barrier[lane], value[lane])) return EMU_ABORT;
        if (!(seen && barrier[lane] == wait->object) && !phase_done(barrier[lane], parity, value[lane])) continue;
        done |= 1u << lane;
        if (!(op->flags & EMU_MBARRIER_RELAXED) && barrier[lane] != acquired)
            emu_acquire(warp, barrier[lane]->finished);
        acquired = barrier[lane];
    }
    if (!done && op->flags & EMU_WAIT_TRIES && emu_random_below(emu_dice(warp), IMPATIENT_OF) != 0) {
        suspend(warp, op, uniform, barrier[first], value[first]);
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
    const emu_mbarrier_detail *detail = op->detail;
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
        if (!barrier || !barrier->live || visit(barrier, op->flags & EMU_WAIT_PARITY, value[lane])) return true;
    }
    return false;
}

static bool divergent_ready(const emu_warp *warp, const emu_wait *wait) { return any_lane(warp, wait, phase_done); }

static void divergent_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)warp, (void)wait;
    snprintf(text, bytes, "waits for phases of several mbarriers, a different one in each lane; none is complete");
}
