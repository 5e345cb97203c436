/* The sixteen barriers of a block (PTX ISA: bar, barrier).
 *
 * A warp arrives when its last lane that has not exited comes, and counts as 32 threads then, as a whole warp does on
 * the device. The phase completes when as many threads have arrived as the instructions name, or all warps that have
 * not exited. Whoever completes it hands what the phase knows to all that wait: they need nothing of the barrier any
 * more, which may be in its next phase when they go on. */
#include <stdio.h>

#include "check/check.h"
#include "sync/internal.h"

static uint32_t whole_block(const emu_block *block) { return block->n_warps * EMU_LANES; }

static uint32_t expected_now(const emu_block *block, const emu_barrier *barrier) {
    return barrier->all ? (block->n_warps - block->exited_warps) * EMU_LANES : barrier->expected;
}

static uint32_t result_of(const emu_barrier *barrier) {
    switch ((emu_way)barrier->way) {
        case EMU_BAR_POPC: return barrier->votes[1];
        case EMU_BAR_AND: return barrier->votes[0] == 0;
        case EMU_BAR_OR: return barrier->votes[1] != 0;
        default: return 0;
    }
}

static void complete(emu_block *block, uint32_t number) {
    emu_barrier *barrier = &block->barrier[number];
    uint32_t result = result_of(barrier);
    for (uint64_t left = barrier->waiting; left; left &= left - 1) {
        emu_warp *warp = &block->warp[__builtin_ctzll(left)];
        emu_gate *gate = &warp->gate[number];
        emu_acquire(warp, barrier->clock);
        emu_warp_synchronized(warp, gate->waiting);
        gate->waiting = 0;
        gate->result = result;
    }
    emu_clock_free(barrier->clock);
    *barrier = (emu_barrier){.generation = barrier->generation + 1};
}

static void complete_if_all_came(emu_block *block, uint32_t number) {
    emu_barrier *barrier = &block->barrier[number];
    if (barrier->arrived && barrier->arrived >= expected_now(block, barrier)) complete(block, number);
}

/* The warp's last lane came, or exited. */
static void warp_arrives(emu_warp *warp, uint32_t number) {
    emu_barrier *barrier = &warp->block->barrier[number];
    emu_gate *gate = &warp->gate[number];
    barrier->arrived += EMU_LANES;
    barrier->came |= UINT64_C(1) << warp->index;
    if (gate->waiting) barrier->waiting |= UINT64_C(1) << warp->index;
    gate->here = 0;
    complete_if_all_came(warp->block, number);
}

void emu_barrier_exited(emu_warp *warp, emu_mask exited) {
    emu_block *block = warp->block;
    emu_mask live = warp->lanes & ~exited;
    if (!live) block->exited_warps++;
    for (uint32_t k = 0; k < EMU_BARRIERS; k++) {
        if (warp->gate[k].here && !(live & ~warp->gate[k].here))
            warp_arrives(warp, k);
        else if (!live && block->barrier[k].all)
            complete_if_all_came(block, k);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* value: lanes, and the barrier's number above them. */
static uint32_t number_of(const emu_wait *wait) { return (uint32_t)(wait->value >> 32); }

static bool phase_ready(const emu_warp *warp, const emu_wait *wait) {
    return !(warp->gate[number_of(wait)].waiting & (emu_mask)wait->value);
}

static bool warp_ready(const emu_warp *warp, const emu_wait *wait) {
    return !(warp->gate[number_of(wait)].here & (emu_mask)wait->value);
}

/* " (warps 0, 2, 3)" */
static void warps_text(uint64_t warps, const char *before, char *text, size_t bytes) {
    size_t used = 0;
    if (bytes) *text = 0;
    for (const char *between = ""; warps && used < bytes; warps &= warps - 1, between = ", ")
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%d", *between ? between : before, __builtin_ctzll(warps));
    if (*text && used < bytes) snprintf(text + used, bytes - used, ")");
}

static void describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    const emu_block *block = warp->block;
    uint32_t number = number_of(wait);
    const emu_barrier *barrier = &block->barrier[number];
    uint64_t exited = 0, partly = 0;
    for (uint32_t w = 0; w < block->n_warps; w++) {
        if (!emu_live(&block->warp[w])) exited |= UINT64_C(1) << w;
        if (block->warp[w].gate[number].here) partly |= UINT64_C(1) << w;
    }
    char here[200], gone[200], some[200];
    warps_text(barrier->came, " (warps ", here, sizeof here);
    warps_text(barrier->all ? 0 : exited, " (exited: warps ", gone, sizeof gone);
    warps_text(partly, " (not with all their lanes: warps ", some, sizeof some);
    snprintf(text, bytes, "waits at barrier %u for %u threads, %u are here%s%s%s", number, expected_now(block, barrier),
             barrier->arrived, here, some, gone);
}

static void describe_warp(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    emu_mask missing = emu_live(warp) & ~warp->gate[number_of(wait)].here;
    snprintf(text, bytes, "arrives at barrier %u, which lanes 0x%08x of its warp have not reached", number_of(wait),
             missing);
}

static emu_result wait_for(emu_warp *warp, uint32_t number, emu_mask mask, bool phase) {
    warp->current->wait = (emu_wait){.ready = phase ? phase_ready : warp_ready,
                                     .describe = phase ? describe : describe_warp,
                                     .object = &warp->block->barrier[number],
                                     .value = (uint64_t)number << 32 | mask};
    return EMU_AGAIN;
}

/* ---- arriving -------------------------------------------------------------------------------- */

/* The operand's value, which all lanes must agree on. */
static uint32_t uniform(emu_warp *warp, const emu_op *op, int k, emu_mask mask, const char *what) {
    const uint32_t *lanes = emu_u32(warp, op->operand[k]);
    uint32_t first = (uint32_t)__builtin_ctz(mask), value = lanes[first];
    emu_mask other = 0;
    if (op->operand[k].at & EMU_CONSTANT) return value;
    for (uint32_t lane = 0; lane < EMU_LANES; lane++) other |= (emu_mask)(lanes[lane] != value) << lane;
    other &= mask;
    if (other)
        emu_find(warp, op, __builtin_ctz(other), EMU_BARRIER, 0,
                 "the warp's lanes name different %s: %u, and %u in lane %u", what, lanes[__builtin_ctz(other)], value,
                 first);
    return value;
}

/* Threads that the instruction waits for, in whole warps; 0: all of the block. */
static uint32_t threads_of(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (!(op->flags >> EMU_BAR_THREADS & 1)) return 0;
    uint32_t threads = uniform(warp, op, EMU_BAR_THREADS, mask, "numbers of threads");
    if (threads % EMU_LANES)
        emu_find(warp, op, -1, EMU_BARRIER, threads, "a barrier for %u threads, which is no multiple of %d", threads,
                 EMU_LANES);
    if (threads > whole_block(warp->block))
        emu_find(warp, op, -1, EMU_BARRIER, threads, "a barrier for %u threads in a block of %u", threads,
                 whole_block(warp->block));
    if (!threads && op->kind == EMU_BAR_ARRIVE)
        emu_find(warp, op, -1, EMU_BARRIER, threads, "arrives at a barrier for 0 threads");
    return (threads + EMU_LANES - 1) / EMU_LANES * EMU_LANES;
}

static bool is_reduction(uint32_t way) { return way >= EMU_BAR_POPC; }

/* Compares with those that came before in this phase. */
static void agree(emu_warp *warp, const emu_op *op, uint32_t number, uint32_t threads) {
    emu_barrier *barrier = &warp->block->barrier[number];
    uint32_t expected = threads ? threads : whole_block(warp->block);
    if (!barrier->expected) {
        barrier->expected = expected;
        barrier->all = !threads;
        barrier->way = op->kind;
        return;
    }
    const bool other_way =
        is_reduction(barrier->way) != is_reduction(op->kind) || (is_reduction(op->kind) && barrier->way != op->kind);
    const bool twice = barrier->came >> warp->index & 1 && op->kind == EMU_BAR_ARRIVE; /* then bar.sync is no fault */
    if (barrier->expected == expected && !other_way && !twice) return;
    char here[200];
    warps_text(barrier->came, " (warps ", here, sizeof here);
    if (barrier->expected != expected)
        emu_find(warp, op, -1, EMU_BARRIER, number, "comes to barrier %u for %u threads; others came for %u%s", number,
                 expected, barrier->expected, here);
    if (other_way)
        emu_find(warp, op, -1, EMU_BARRIER, number,
                 "comes to barrier %u with another instruction than others of the same phase%s", number, here);
    if (twice)
        emu_find(warp, op, -1, EMU_BARRIER, number, "arrives at barrier %u a second time in one phase%s", number, here);
}

static void come(emu_warp *warp, const emu_op *op, uint32_t number, emu_mask mask) {
    emu_barrier *barrier = &warp->block->barrier[number];
    emu_gate *gate = &warp->gate[number];
    agree(warp, op, number, threads_of(warp, op, mask));
    if (is_reduction(op->kind)) {
        emu_mask votes = emu_pred(warp, op->operand[EMU_BAR_PREDICATE]);
        barrier->votes[0] += (uint32_t)__builtin_popcount(mask & ~votes);
        barrier->votes[1] += (uint32_t)__builtin_popcount(mask & votes);
    }
    gate->here |= mask;
    if (op->kind != EMU_BAR_ARRIVE) gate->waiting |= mask;
    emu_release(warp, &barrier->clock);
    if (!(emu_live(warp) & ~gate->here)) warp_arrives(warp, number);
}

static void write_result(emu_warp *warp, const emu_op *op, emu_mask mask, uint32_t result) {
    emu_operand to = op->operand[EMU_BAR_RESULT];
    if (!is_reduction(op->kind) || to.at == EMU_NOWHERE) return;
    uint32_t *lanes = emu_u32(warp, to);
    if (op->kind != EMU_BAR_POPC) {
        *lanes = (*lanes & ~mask) | (result ? mask : 0);
        return;
    }
    for (uint32_t lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) lanes[lane] = result;
}

emu_result emu_run_barrier(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_wait *wait = &warp->current->wait;
    const bool again = wait->ready == phase_ready || wait->ready == warp_ready; /* it came before */
    const uint32_t number = again ? number_of(wait) : uniform(warp, op, EMU_BAR_NUMBER, mask, "barriers");
    if (number >= EMU_BARRIERS) {
        emu_find(warp, op, -1, EMU_BARRIER, number, "barrier %u: a block has %d", number, EMU_BARRIERS);
        return EMU_ABORT;
    }
    if (!again) come(warp, op, number, mask);
    const emu_gate *gate = &warp->gate[number];
    if (op->kind == EMU_BAR_ARRIVE) return gate->here & mask ? wait_for(warp, number, mask, false) : EMU_NEXT;
    if (gate->waiting & mask) return wait_for(warp, number, mask, true);
    write_result(warp, op, mask, gate->result);
    return EMU_NEXT;
}
