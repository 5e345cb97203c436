/* The interpreter's loop: chooses a fragment of a warp and runs it until it meets another, waits, spins or ends. */
#include "exec/program.h"
#include "mma/mma.h"
#include "tcgen05/tcgen05.h"

/* A fragment that has spun so long lets others run: 64 rounds of a loop that polls, and many more of any other. */
enum { SPINS = 64 * EMU_POLL, SPINS_AGAIN = SPINS - 8 * EMU_POLL, ROUNDS = 1 << 16, SLICE = 256 };

static bool spins(const emu_fragment *fragment) { return fragment->spins >= SPINS || fragment->rounds >= ROUNDS; }

static void give_again(emu_warp *warp) {
    for (int i = 0; i < warp->n_fragments; i++) {
        emu_fragment *fragment = warp->fragment + i;
        if (fragment->spins >= SPINS) fragment->spins = SPINS_AGAIN;
        if (fragment->rounds >= ROUNDS) fragment->rounds = ROUNDS / 2;
    }
}

static bool may_merge(const emu_fragment *fragment) { return !fragment->wait.ready || emu_is_parked(fragment); }

static void merge(emu_warp *warp) {
    for (int i = 0; i < warp->n_fragments; i++) {
        emu_fragment *into = warp->fragment + i;
        if (!may_merge(into)) continue;
        for (int j = warp->n_fragments - 1; j > i; j--) {
            emu_fragment *from = warp->fragment + j;
            if (from->pc != into->pc || !may_merge(from)) continue;
            /* Two that were parked stay so until their lanes together are enough. */
            bool parked = emu_is_parked(into) && emu_is_parked(from);
            *into = (emu_fragment){
                .pc = into->pc, .mask = into->mask | from->mask, .wait = parked ? into->wait : (emu_wait){0}};
            emu_fragment_remove(warp, from);
        }
    }
}

/* The runnable one with the least pc, or when that spins, another. */
static emu_fragment *choose(emu_warp *warp, bool *spinning) {
    for (;;) {
        emu_fragment *best = NULL;
        *spinning = false;
        for (int i = 0; i < warp->n_fragments; i++) {
            emu_fragment *fragment = warp->fragment + i;
            if (fragment->wait.ready && !fragment->wait.ready(warp, &fragment->wait)) continue;
            if (spins(fragment))
                *spinning = true;
            else if (!best || fragment->pc < best->pc)
                best = fragment;
        }
        if (best) return best;
        if (*spinning) {
            give_again(warp);
        } else if (!emu_unpark(warp)) {
            return NULL;
        }
    }
}

/* Where the fragment would meet another. */
static uint32_t next_meeting(const emu_warp *warp, const emu_fragment *of) {
    uint32_t pc = UINT32_MAX;
    for (int i = 0; i < warp->n_fragments; i++) {
        const emu_fragment *other = warp->fragment + i;
        if (other != of && other->pc > of->pc && other->pc < pc && may_merge(other)) pc = other->pc;
    }
    return pc;
}

/* Lanes whose guard is false go on while the others wait. */
static void leave_behind(emu_warp *warp, emu_fragment *fragment, emu_mask waiting) {
    emu_mask others = fragment->mask & ~waiting;
    if (!others) return;
    warp->fragment[warp->n_fragments++] = (emu_fragment){.pc = fragment->pc + 1, .mask = others};
    fragment->mask = waiting;
}

/* .aligned: the whole warp, and no guard that tells lanes apart. */
static bool aligned(emu_warp *warp, const emu_op *op, emu_mask mask, emu_mask active) {
    if (!emu_gather(warp, mask)) return false;
    if (active && active != mask)
        emu_find(warp, op, __builtin_ctz(mask & ~active), EMU_DIVERGENT, mask & ~active,
                 "its guard is false for lanes 0x%08x and true for lanes 0x%08x", mask & ~active, active);
    return true;
}

static bool registers_pending(const emu_warp *warp) {
    return (warp->products && emu_products_pending(warp)) || (warp->tensor && emu_tensor_pending(warp));
}

typedef struct emu_stint {
    uint32_t budget, meeting, ran;
    bool slow; /* traced, or registers of a wgmma or tcgen05.ld are pending */
} emu_stint;

static emu_result run_op(emu_warp *warp, const emu_op *op, emu_mask mask, emu_mask active, emu_stint *stint) {
    if (op->aligned && !aligned(warp, op, mask, active)) return EMU_AGAIN;
    if (!active && !op->always) return EMU_NEXT;
    if (!stint->slow && !op->aligned) return op->run(warp, op, active);
    if (warp->products && emu_products_pending(warp) && !emu_products_check(warp, op, active)) return EMU_AGAIN;
    if (warp->tensor) emu_tensor_check(warp, op, active);
    emu_result result = op->run(warp, op, active);
    bool traced = emu_trace_wants(warp);
    if (traced) emu_trace(warp, op, active, result);
    stint->slow = traced || registers_pending(warp);
    return result;
}

/* Returns EMU_NEXT when the budget is used or another fragment was met. */
static emu_result run_fragment(emu_warp *warp, emu_fragment *fragment, emu_stint *stint) {
    const emu_op *ops = warp->code->op;
    const emu_mask mask = fragment->mask;
    const int n_fragments = warp->n_fragments;
    uint32_t pc = fragment->pc;
    emu_result result = EMU_NEXT;
    for (; stint->ran < stint->budget && pc < stint->meeting; stint->ran++) {
        const emu_op *op = ops + pc;
        emu_mask active = op->guard == EMU_NOWHERE ? mask : emu_guarded(warp, op, mask);
        if (!active && !op->always && !op->aligned) {
            pc++;
            continue;
        }
        fragment->pc = pc;
        result = op->aligned || stint->slow ? run_op(warp, op, mask, active, stint) : op->run(warp, op, active);
        if (result == EMU_NEXT) {
            if (fragment->wait.ready) fragment->wait = (emu_wait){0}, fragment->spins = fragment->rounds = 0;
            pc++;
        } else if (result == EMU_JUMP) {
            if (warp->n_fragments != n_fragments || n_fragments > 1 || fragment->mask != mask) {
                stint->ran++;
                return EMU_NEXT; /* the fragments are as the instruction left them */
            }
            fragment->wait = (emu_wait){0};
            pc = fragment->pc;
        } else {
            if (result == EMU_AGAIN) leave_behind(warp, fragment, active ? active : mask);
            return result;
        }
    }
    fragment->pc = pc;
    return EMU_NEXT;
}

static void count(emu_warp *warp, uint32_t instructions, emu_mask mask) {
    warp->instructions += instructions;
    emu_total.lane_instructions += (uint64_t)instructions * (uint64_t)__builtin_popcount(mask);
}

emu_progress emu_warp_run(emu_warp *warp, uint32_t budget) {
    bool traced = emu_trace_wants(warp);
    for (uint32_t ran = 0; ran < budget;) {
        bool spinning = false;
        if (warp->n_fragments > 1) merge(warp);
        emu_fragment *fragment = choose(warp, &spinning);
        if (!fragment) return warp->n_fragments ? EMU_WARP_BLOCKED : EMU_WARP_EXITED;
        emu_mask mask = fragment->mask;
        emu_stint stint = {.budget = budget - ran, .meeting = next_meeting(warp, fragment)};
        if (spinning && stint.budget > SLICE) stint.budget = SLICE;
        stint.slow = traced || registers_pending(warp);
        warp->current = fragment;
        emu_result result = run_fragment(warp, fragment, &stint);
        count(warp, stint.ran, mask);
        if (result == EMU_ABORT) return EMU_WARP_ABORTED;
        ran += stint.ran ? stint.ran : 1;
        if (spinning) give_again(warp);
    }
    return warp->n_fragments ? EMU_WARP_RAN : EMU_WARP_EXITED;
}
