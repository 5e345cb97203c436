/* Parking: a fragment at an instruction that needs more lanes than it has waits for the others. */
#include <stddef.h>
#include <stdio.h>

#include "exec/program.h"

/* What a parked fragment's wait has as its object: the op of member masks, NULL for .aligned, or this: go on all the
 * same. */
static const int forced;

static const emu_fragment *fragment_of(const emu_wait *wait) {
    return (const emu_fragment *)(const void *)((const char *)wait - offsetof(emu_fragment, wait));
}

static emu_mask alive(const emu_warp *warp) { return warp->lanes & ~warp->exited; }

emu_mask emu_guarded(const emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (op->guard == EMU_NOWHERE) return mask;
    uint32_t bits = *(const uint32_t *)(const void *)(warp->registers + op->guard);
    return mask & (op->guard_negated ? ~bits : bits);
}

static emu_mask missing_of(const emu_warp *warp, const emu_fragment *fragment) {
    const emu_op *op = fragment->wait.object;
    if (!op) return alive(warp) & ~fragment->mask;
    return emu_members_missing(warp, op, emu_guarded(warp, op, fragment->mask));
}

static bool parked_ready(const emu_warp *warp, const emu_wait *wait) {
    const emu_fragment *fragment = fragment_of(wait);
    const emu_op *op = wait->object;
    if (wait->object == &forced) return true;
    if (!op) return !(alive(warp) & ~fragment->mask);
    emu_mask here = emu_guarded(warp, op, fragment->mask);
    return here != fragment->mask || emu_members_ready(warp, op, here);
}

static void parked_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    snprintf(text, bytes, "waits for lanes 0x%08x of its warp to come to the same instruction",
             wait->object == &forced ? 0 : missing_of(warp, fragment_of(wait)));
}

bool emu_is_parked(const emu_fragment *fragment) { return fragment->wait.ready == parked_ready; }
bool emu_is_forced(const emu_fragment *fragment) { return emu_is_parked(fragment) && fragment->wait.object == &forced; }

bool emu_gather(emu_warp *warp, emu_mask here) {
    if (!(alive(warp) & ~here) || emu_is_forced(warp->current)) return true;
    warp->current->wait = (emu_wait){.ready = parked_ready, .describe = parked_describe};
    return false;
}

void emu_park(emu_warp *warp, emu_mask waiting, const emu_op *op) {
    emu_fragment *fragment = warp->current;
    emu_mask others = fragment->mask & ~waiting;
    if (others) warp->fragment[warp->n_fragments++] = (emu_fragment){.pc = fragment->pc + 1, .mask = others};
    fragment->mask = waiting;
    fragment->wait = (emu_wait){.ready = parked_ready, .describe = parked_describe, .object = op};
}

/* bar.warp.sync need not be the same one: lanes of a mask may come to it in different branches. */
static bool barriers_met(emu_warp *warp) {
    bool met = false;
    for (int i = 0; i < warp->n_fragments; i++) {
        emu_fragment *fragment = warp->fragment + i;
        const emu_op *op = fragment->wait.object;
        if (!emu_is_parked(fragment) || emu_is_forced(fragment) || !op || op->run != emu_run_warp_barrier) continue;
        uint32_t named = emu_u32(warp, op->operand[EMU_MEMBERS])[__builtin_ctz(fragment->mask)];
        emu_mask here = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < warp->n_fragments; j++) {
                emu_fragment *other = warp->fragment + j;
                const emu_op *at = other->wait.object;
                if (!emu_is_parked(other) || emu_is_forced(other) || !at || at->run != emu_run_warp_barrier) continue;
                if (emu_u32(warp, at->operand[EMU_MEMBERS])[__builtin_ctz(other->mask)] != named) continue;
                here |= other->mask;
                if (pass && !(named & alive(warp) & ~here)) other->wait.object = &forced, met = true;
            }
    }
    return met;
}

bool emu_unpark(emu_warp *warp) {
    emu_fragment *first = NULL;
    if (barriers_met(warp)) return true;
    for (int i = 0; i < warp->n_fragments; i++) {
        emu_fragment *fragment = warp->fragment + i;
        if (!emu_is_parked(fragment)) return false;
        if (!first || fragment->pc < first->pc) first = fragment;
    }
    if (!first) return false;
    emu_mask missing = missing_of(warp, first);
    warp->current = first;
    emu_find(warp, warp->code->op + first->pc, __builtin_ctz(first->mask), EMU_DIVERGENT, missing,
             "lanes 0x%08x are here without lanes 0x%08x, which cannot come", first->mask, missing);
    first->wait.object = &forced;
    return true;
}
