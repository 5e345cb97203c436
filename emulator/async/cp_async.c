/* cp.async: 4, 8 or 16 bytes a thread from global to shared memory, waited for by groups of the thread or through an
 * mbarrier. Generic proxy. Lanes land one after the other in any order, until a wait forces the rest. */
#include "async/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the copy ---------------------------------------------------------------------------------------------------- */
typedef struct cp_copy {
    emu_operation base;
    emu_pending pending;
    uint8_t bytes; /* of a lane */
    ptx_space to_space, from_space;
    uint8_t read[EMU_LANES]; /* of the bytes; the rest are zeros */
    uint64_t to[EMU_LANES], from[EMU_LANES];
    struct cp_copy *free;
} cp_copy;

static cp_copy *spare; /* copies are made at every step of a pipeline: they are used again */

static void copy_destroy(emu_operation *operation) {
    cp_copy *copy = (cp_copy *)operation;
    emu_pending_remove(&copy->pending);
    emu_actor_end(&operation->actor);
    copy->free = spare;
    spare = copy;
}

static cp_copy *copy_create(void) {
    cp_copy *copy = spare;
    if (!copy) return emu_alloc(sizeof *copy);
    spare = copy->free;
    return copy;
}

/* Lanes whose bytes follow those of the lane before are one access: how many from this one on. */
static int run_of(const uint64_t *address, const uint8_t *read, emu_mask lanes, int first, uint32_t bytes) {
    int n = 1;
    while (first + n < EMU_LANES && lanes >> (first + n) & 1 &&
           address[first + n] == address[first] + (uint64_t)n * bytes &&
           (!read || (read[first + n] == bytes && read[first] == bytes)))
        n++;
    return n;
}

static bool land(cp_copy *copy, emu_mask lanes) {
    emu_actor actor = copy->base.actor;
    emu_block *block = copy->base.block;
    uint8_t line[EMU_LANES][16];
    for (emu_mask rest = lanes; rest;) {
        actor.lane = __builtin_ctz(rest);
        int n = run_of(copy->from, copy->read, rest, actor.lane, copy->bytes);
        rest &= n == EMU_LANES ? 0 : ~(((1u << n) - 1) << actor.lane);
        uint32_t read = copy->read[actor.lane];
        if (n == 1) memset(line[actor.lane], 0, sizeof *line);
        if (read == 0) continue;
        const emu_access access = {.kind = EMU_READ, .space = copy->from_space, .bytes = read, .align = copy->bytes};
        const uint8_t *source =
            emu_memory_range(&actor, block, &access, copy->from[actor.lane], (uint64_t)read * (uint32_t)n);
        if (!source) return false;
        for (int i = 0; i < n; i++) memcpy(line[actor.lane + i], source + (uint32_t)i * read, read);
    }
    for (emu_mask rest = lanes; rest;) {
        actor.lane = __builtin_ctz(rest);
        int n = run_of(copy->to, NULL, rest, actor.lane, copy->bytes);
        rest &= n == EMU_LANES ? 0 : ~(((1u << n) - 1) << actor.lane);
        const emu_access access = {
            .kind = EMU_WRITE, .space = copy->to_space, .bytes = copy->bytes, .align = copy->bytes};
        uint8_t *target =
            emu_memory_range(&actor, block, &access, copy->to[actor.lane], (uint64_t)copy->bytes * (uint32_t)n);
        if (!target) return false;
        for (int i = 0; i < n; i++) memcpy(target + (uint32_t)i * copy->bytes, line[actor.lane + i], copy->bytes);
    }
    return true;
}

/* A random half of the lanes, or all. */
static bool copy_step(emu_operation *operation, emu_random *random) {
    cp_copy *copy = (cp_copy *)operation;
    emu_mask lanes = copy->pending.lanes;
    if (emu_random_below(random, 4) == 0) lanes &= emu_random_next(random);
    if (!land(copy, lanes)) {
        emu_engine_fail(operation);
        return true;
    }
    copy->pending.lanes &= ~lanes;
    return copy->pending.lanes == 0;
}

static void copy_describe(const emu_operation *operation, char *text, size_t bytes) {
    const cp_copy *copy = (const cp_copy *)operation;
    snprintf(text, bytes, "a cp.async of %d lanes", __builtin_popcount(copy->pending.lanes));
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */
enum { CP_HAS_SIZE = 1, CP_HAS_IGNORE = 2 };

/* Operand 0: src-size or ignore-src. */
typedef struct cp_detail {
    emu_address to, from;
    ptx_space to_space, from_space;
    uint8_t bytes;
} cp_detail;

/* One copy for the lanes that are in the same group as the first. Returns these. */
static emu_mask issue(emu_warp *warp, const emu_op *op, emu_mask mask, const uint64_t *to, const uint64_t *from,
                      const uint8_t *read) {
    const cp_detail *detail = op->detail;
    emu_stream *stream = &emu_groups_of(warp)->cp_async;
    uint32_t group = stream->group[__builtin_ctz(mask)];
    emu_mask lanes = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) lanes |= (emu_mask)(stream->group[lane] == group) << lane;
    lanes &= mask;
    cp_copy *copy = copy_create();
    copy->base = (emu_operation){.block = warp->block,
                                 .ranks = 1u << warp->block->rank,
                                 .step = copy_step,
                                 .destroy = copy_destroy,
                                 .describe = copy_describe};
    emu_actor_of_group(warp, op, __builtin_ctz(lanes), EMU_STREAM_CP_ASYNC, stream->serial, EMU_PROXY_GENERIC,
                       &copy->base.actor);
    copy->pending = (emu_pending){.operation = &copy->base, .lanes = lanes, .group = group};
    copy->bytes = detail->bytes;
    copy->to_space = detail->to_space;
    copy->from_space = detail->from_space;
    memcpy(copy->to, to, sizeof copy->to);
    memcpy(copy->from, from, sizeof copy->from);
    memcpy(copy->read, read, sizeof copy->read);
    emu_stream_add(stream, &copy->pending);
    emu_engine_add(&copy->base);
    return lanes;
}

static emu_result run_copy(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const cp_detail *detail = op->detail;
    uint64_t to[EMU_LANES], from[EMU_LANES], size[EMU_LANES];
    uint8_t read[EMU_LANES];
    emu_addresses(warp, &detail->to, to);
    emu_addresses(warp, &detail->from, from);
    memset(read, detail->bytes, sizeof read);
    if (op->flags & CP_HAS_SIZE) {
        emu_lanes_read(warp, op->operand[0], size);
        for (emu_mask rest = mask; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            if (size[lane] > detail->bytes) {
                emu_find(warp, op, lane, EMU_PROTOCOL, size[lane], "cp.async of %u bytes with a src-size of %" PRIu64,
                         detail->bytes, size[lane]);
                return EMU_ABORT;
            }
            read[lane] = (uint8_t)size[lane];
        }
    } else if (op->flags & CP_HAS_IGNORE) {
        emu_mask ignore = emu_pred(warp, op->operand[0]);
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (ignore >> lane & 1) read[lane] = 0;
    }
    while (mask) mask &= ~issue(warp, op, mask, to, from, read);
    return EMU_NEXT;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */
/* All lanes of mask have all but their `left` newest groups complete. Landing now is the latest that may be. */
static void wait_groups(emu_warp *warp, emu_mask mask, uint32_t left) {
    emu_stream *stream = &emu_groups_of(warp)->cp_async;
    for (emu_pending *pending; (pending = emu_stream_pending(stream, mask, left, false)) != NULL;)
        emu_engine_finish(pending->operation);
    uint64_t serial = 0;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        uint64_t of_lane = emu_stream_serial(stream, __builtin_ctz(rest), left);
        if (of_lane > serial) serial = of_lane;
    }
    if (serial) emu_acquire_group(warp, EMU_STREAM_CP_ASYNC, serial);
}

static emu_result run_commit(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op;
    emu_stream_commit(&emu_groups_of(warp)->cp_async, mask);
    return EMU_NEXT;
}

static emu_result after_wait(const emu_warp *warp) { return warp->block->cluster->grid->failed ? EMU_ABORT : EMU_NEXT; }

static emu_result run_wait_group(emu_warp *warp, const emu_op *op, emu_mask mask) {
    wait_groups(warp, mask, (uint32_t)op->value);
    return after_wait(warp);
}

static emu_result run_wait_all(emu_warp *warp, const emu_op *op, emu_mask mask) {
    run_commit(warp, op, mask);
    wait_groups(warp, mask, 0);
    return after_wait(warp);
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static bool decode_copy(emu_decoding *d) {
    static const char *const prefetch[] = {"L2::64B", "L2::128B", "L2::256B", NULL};
    const ptx_instruction *instruction = d->instruction;
    bool cg = ptx_take(&d->words, "cg");
    if (!cg && !ptx_take(&d->words, "ca")) return emu_decode_fail(d, "cp.async is .ca or .cg");
    if (!ptx_take(&d->words, "shared") && !ptx_take(&d->words, "shared::cta"))
        return emu_decode_fail(d, "cp.async goes to .shared");
    if (!ptx_take(&d->words, "global")) return emu_decode_fail(d, "cp.async comes from .global");
    bool hint = ptx_take(&d->words, "L2::cache_hint");
    ptx_take_of(&d->words, prefetch, -1);
    if (!ptx_words_end(&d->words)) return emu_decode_fail(d, "a word of cp.async that is not known");
    int n = instruction->n_operands - hint;
    if (n < 3 || n > 4) return emu_decode_fail(d, "%d operands of cp.async", instruction->n_operands);
    const ptx_operand *size = &instruction->operand[2];
    if (size->kind != PTX_INTEGER || !(size->bits == 16 || (!cg && (size->bits == 4 || size->bits == 8))))
        return emu_decode_fail(d, "cp.async copies 4, 8 or 16 bytes, .cg 16");
    cp_detail *detail = emu_decode_alloc(d, sizeof *detail);
    *detail = (cp_detail){.to_space = PTX_SHARED, .from_space = PTX_GLOBAL, .bytes = (uint8_t)size->bits};
    d->op->detail = detail;
    d->op->run = run_copy;
    if (n == 4) {
        const ptx_operand *last = &instruction->operand[3];
        bool predicate = last->kind == PTX_REGISTER && d->function->reg[last->reg].type == PTX_PRED;
        d->op->flags = predicate ? CP_HAS_IGNORE : CP_HAS_SIZE;
        if (!(predicate ? emu_decode_predicate(d, last, &d->op->operand[0])
                        : emu_decode_source(d, last, PTX_U32, &d->op->operand[0])))
            return false;
    }
    emu_operand policy; /* decoded to be checked; a hint changes nothing */
    if (hint && !emu_decode_source(d, &instruction->operand[n], PTX_B64, &policy)) return false;
    return emu_decode_address(d, &instruction->operand[0], PTX_SHARED, &detail->to) &&
           emu_decode_address(d, &instruction->operand[1], PTX_GLOBAL, &detail->from);
}

static bool decode_groups(emu_decoding *d, emu_run *run, int n_operands) {
    const ptx_instruction *instruction = d->instruction;
    if (!ptx_words_end(&d->words) || instruction->n_operands != n_operands)
        return emu_decode_fail(d, "a cp.async that is not known");
    if (n_operands && instruction->operand[0].kind != PTX_INTEGER)
        return emu_decode_fail(d, "the number of groups is a constant");
    d->op->run = run;
    d->op->value = n_operands ? (int64_t)instruction->operand[0].bits : 0;
    if (d->op->value < 0 || d->op->value > UINT32_MAX / 2) return emu_decode_fail(d, "a number of groups out of range");
    return true;
}

bool emu_decode_cp_async(emu_decoding *d) {
    if (ptx_take(&d->words, "commit_group")) return decode_groups(d, run_commit, 0);
    if (ptx_take(&d->words, "wait_group")) return decode_groups(d, run_wait_group, 1);
    if (ptx_take(&d->words, "wait_all")) return decode_groups(d, run_wait_all, 0);
    if (ptx_take(&d->words, "mbarrier")) return emu_decode_cp_arrive(d);
    return decode_copy(d);
}
