/* Decoding of cp.async.bulk, cp.reduce.async.bulk and their tensor forms; bulk groups (PTX ISA, "Data Movement and
 * Conversion Instructions: Asynchronous copy"). */
#include "async/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- groups ------------------------------------------------------------------------------------------------------ */
enum { READ_ONLY = 1 };

static emu_result run_commit(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op;
    emu_stream_commit(&emu_groups_of(warp)->bulk, mask);
    return EMU_NEXT;
}

static emu_pending *awaited(const emu_warp *warp, const emu_op *op, emu_mask mask) {
    return warp->groups ? emu_stream_pending(&warp->groups->bulk, mask, (uint32_t)op->value, op->flags & READ_ONLY)
                        : NULL;
}

/* object: the instruction; value: the lanes. */
static bool group_ready(const emu_warp *warp, const emu_wait *wait) {
    return !awaited(warp, wait->object, (emu_mask)wait->value);
}

static void group_describe(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    const emu_op *op = wait->object;
    snprintf(text, bytes, "waits until at most %" PRId64 " bulk groups are %s", op->value,
             op->flags & READ_ONLY ? "unread" : "incomplete");
    const emu_pending *pending = awaited(warp, op, (emu_mask)wait->value);
    size_t length = strlen(text);
    if (!pending || length + 12 > bytes) return;
    snprintf(text + length, bytes - length, "; first: ");
    pending->operation->describe(pending->operation, text + length + 9, bytes - length - 9);
}

static emu_result run_wait(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (awaited(warp, op, mask)) {
        warp->current->wait = (emu_wait){.ready = group_ready, .describe = group_describe, .object = op, .value = mask};
        return EMU_AGAIN;
    }
    emu_stream *stream = &emu_groups_of(warp)->bulk;
    uint64_t serial = 0;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        uint64_t of_lane = emu_stream_serial(stream, __builtin_ctz(rest), (uint32_t)op->value);
        if (of_lane > serial) serial = of_lane;
    }
    if (serial == 0) return EMU_NEXT;
    if (serial > stream->waited) stream->waited = serial;
    emu_acquire_group(warp, EMU_STREAM_BULK_READ, serial);
    if (!(op->flags & READ_ONLY)) emu_acquire_group(warp, EMU_STREAM_BULK, serial);
    return EMU_NEXT;
}

static emu_result run_nothing(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)warp, (void)op, (void)mask;
    return EMU_NEXT;
}

/* ---- decoding: helpers ------------------------------------------------------------------------------------------- */
static bool take_shared(emu_decoding *d) { return ptx_take(&d->words, "shared::cta") || ptx_take(&d->words, "shared"); }

/* The operand after those that were decoded; fails when there is none. */
static const ptx_operand *next_operand(emu_decoding *d, int *next) {
    if (*next < d->instruction->n_operands) return &d->instruction->operand[(*next)++];
    emu_decode_fail(d, "an operand is missing");
    return NULL;
}

static bool next_address(emu_decoding *d, int *next, ptx_space space, emu_address *out) {
    const ptx_operand *operand = next_operand(d, next);
    return operand && emu_decode_address(d, operand, space, out);
}

static bool next_source(emu_decoding *d, int *next, ptx_type type, emu_operand *out) {
    const ptx_operand *operand = next_operand(d, next);
    return operand && emu_decode_source(d, operand, type, out);
}

/* [map, {c0, c1, …}] */
static bool next_tensor(emu_decoding *d, int *next, emu_copy_detail *detail) {
    const ptx_operand *operand = next_operand(d, next);
    if (!operand) return false;
    if (operand->kind != PTX_TENSOR || operand->n_parts != 2 || operand->parts[1].kind != PTX_VECTOR ||
        operand->parts[1].n_parts != detail->coordinates)
        return emu_decode_fail(d, "[tensor map, {%d coordinates}] belongs here", detail->coordinates);
    const ptx_operand address = {.kind = PTX_ADDRESS, .parts = operand->parts, .n_parts = 1};
    const ptx_operand *map = operand->parts[0].kind == PTX_ADDRESS ? operand->parts : &address;
    for (int i = 0; i < detail->coordinates; i++)
        if (!emu_decode_source(d, &operand->parts[1].parts[i], PTX_S32, &d->op->operand[2 + i])) return false;
    return emu_decode_address(d, map, PTX_GENERIC, &detail->other);
}

/* im2col's {offsets}, if the mode has them. */
static bool next_offsets(emu_decoding *d, int *next, emu_copy_detail *detail) {
    if (detail->offsets == 0) return true;
    const ptx_operand *operand = next_operand(d, next);
    if (!operand) return false;
    if (operand->kind != PTX_VECTOR || operand->n_parts != detail->offsets)
        return emu_decode_fail(d, "{%d offsets} of .im2col belong here", detail->offsets);
    for (int i = 0; i < detail->offsets; i++)
        if (!emu_decode_source(d, &operand->parts[i], PTX_U16, &detail->offset[i])) return false;
    return true;
}

/* A cache policy, which changes nothing, and the end. */
static bool finish(emu_decoding *d, int next, bool hint) {
    emu_operand policy;
    if (hint && !next_source(d, &next, PTX_B64, &policy)) return false;
    if (!ptx_words_end(&d->words)) return emu_decode_fail(d, "a word that is not known");
    return next == d->instruction->n_operands ||
           emu_decode_fail(d, "%d operands, where %d belong", d->instruction->n_operands, next);
}

static bool take_reduction(emu_decoding *d, emu_copy_detail *detail) {
    detail->reduce = (emu_reduce_kind)(ptx_take_of(&d->words, emu_reduce_words, -1) + 1);
    return detail->reduce != EMU_REDUCE_NONE || emu_decode_fail(d, "a reduction that is not known");
}

/* ---- cp.async.bulk and cp.reduce.async.bulk ---------------------------------------------------------------------- */
static emu_copy_detail *new_detail(emu_decoding *d) {
    emu_copy_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->detail = detail;
    d->op->run = emu_copy_run;
    return detail;
}

/* .dst.src and what is told upon completion. */
static bool take_way(emu_decoding *d, emu_copy_detail *detail) {
    if (ptx_take(&d->words, "global")) {
        detail->kind = EMU_COPY_STORE;
        return take_shared(d) || emu_decode_fail(d, "a copy to .global comes from .shared::cta");
    }
    if (!ptx_take(&d->words, "shared::cluster") && !take_shared(d))
        return emu_decode_fail(d, "a bulk copy goes to .shared::cluster or .global");
    detail->kind = EMU_COPY_LOAD;
    if (ptx_take(&d->words, "global")) return true;
    detail->kind = EMU_COPY_PEER;
    return take_shared(d) || emu_decode_fail(d, "a copy to .shared::cluster comes from .global or .shared::cta");
}

static bool take_completion(emu_decoding *d, const emu_copy_detail *detail) {
    const char *word = detail->kind == EMU_COPY_STORE ? "bulk_group" : "mbarrier::complete_tx::bytes";
    return ptx_take(&d->words, word) || emu_decode_fail(d, "this copy completes by .%s", word);
}

/* The cache policy, and the mask behind it. */
static bool next_mask(emu_decoding *d, int *next, bool hint) {
    emu_operand policy;
    return (!hint || next_source(d, next, PTX_B64, &policy)) && next_source(d, next, PTX_U16, &d->op->operand[1]);
}

static bool decode_bulk(emu_decoding *d, bool reduces) {
    emu_copy_detail *detail = new_detail(d);
    if (!take_way(d, detail) || !take_completion(d, detail)) return false;
    detail->multicast = detail->kind == EMU_COPY_LOAD && ptx_take(&d->words, "multicast::cluster");
    bool hint = ptx_take(&d->words, "L2::cache_hint");
    detail->masked = detail->kind == EMU_COPY_STORE && !reduces && ptx_take(&d->words, "cp_mask");
    if (reduces) {
        if (detail->kind == EMU_COPY_LOAD || !take_reduction(d, detail)) return emu_decode_fail(d, "no such reduction");
        ptx_take(&d->words, "noftz");
        detail->type = ptx_take_type(&d->words);
        if (!emu_reduce_valid(detail->reduce, detail->type, detail->kind == EMU_COPY_PEER))
            return emu_decode_fail(d, "a reduction with this type does not exist");
    }
    int next = 0;
    emu_address *to = detail->kind == EMU_COPY_STORE ? &detail->other : &detail->shared;
    emu_address *from = detail->kind == EMU_COPY_STORE ? &detail->shared : &detail->other;
    return next_address(d, &next, detail->kind == EMU_COPY_STORE ? PTX_GLOBAL : PTX_SHARED, to) &&
           next_address(d, &next, detail->kind == EMU_COPY_LOAD ? PTX_GLOBAL : PTX_SHARED, from) &&
           next_source(d, &next, PTX_U32, &d->op->operand[0]) &&
           (detail->kind == EMU_COPY_STORE || next_address(d, &next, PTX_SHARED, &detail->mbarrier)) &&
           (!detail->multicast || next_source(d, &next, PTX_U16, &d->op->operand[1])) &&
           (!detail->masked || next_mask(d, &next, hint)) && finish(d, next, hint && !detail->masked);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */
static bool take_rank(emu_decoding *d, int *rank) {
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    *rank = ptx_take_of(&d->words, ranks, -1) + 1;
    return *rank || emu_decode_fail(d, "a tensor copy has 1d to 5d");
}

/* Loads and prefetches gather rows and have offsets of im2col, stores scatter rows and have none. */
static bool take_mode(emu_decoding *d, emu_copy_detail *detail) {
    static const char *const others[] = {"im2col::w", "im2col::w::128", NULL};
    const bool loads = detail->kind == EMU_COPY_LOAD;
    detail->coordinates = detail->rank;
    if (ptx_take(&d->words, "tile")) return true;
    if (ptx_take_of(&d->words, others, -1) >= 0)
        return emu_decode_fail(d, "tensor copies of .im2col::w are not emulated");
    if (ptx_take(&d->words, loads ? "im2col" : "im2col_no_offs")) {
        detail->mode = EMU_TENSOR_IM2COL;
        detail->offsets = loads ? detail->rank - 2 : 0;
        return detail->rank >= 3 || emu_decode_fail(d, "a tensor of .im2col has 3 to 5 dimensions");
    }
    if (!ptx_take(&d->words, loads ? "tile::gather4" : "tile::scatter4")) return true;
    detail->mode = EMU_TENSOR_FOUR;
    detail->coordinates = 5;
    return detail->rank == 2 || emu_decode_fail(d, "four rows are those of a tensor of 2 dimensions");
}

static bool decode_tensor(emu_decoding *d, bool reduces) {
    static const char *const groups[] = {"cta_group::1", "cta_group::2", NULL};
    emu_copy_detail *detail = new_detail(d);
    detail->tensor = true;
    if (!take_rank(d, &detail->rank)) return false;
    const int group = ptx_take_of(&d->words, groups, -1); /* here or at the end: compilers take both */
    if (!take_way(d, detail)) return false;
    if (detail->kind == EMU_COPY_PEER) return emu_decode_fail(d, "a tensor is in .global memory");
    if (reduces && (detail->kind != EMU_COPY_STORE || !take_reduction(d, detail)))
        return emu_decode_fail(d, "no such reduction");
    if (!take_mode(d, detail) || !take_completion(d, detail)) return false;
    detail->multicast = detail->kind == EMU_COPY_LOAD && ptx_take(&d->words, "multicast::cluster");
    detail->pair = group == 1 || ptx_take_of(&d->words, groups, -1) == 1;
    bool hint = ptx_take(&d->words, "L2::cache_hint");
    int next = 0;
    if (detail->kind == EMU_COPY_STORE)
        return next_tensor(d, &next, detail) && next_address(d, &next, PTX_SHARED, &detail->shared) &&
               finish(d, next, hint);
    return next_address(d, &next, PTX_SHARED, &detail->shared) && next_tensor(d, &next, detail) &&
           next_address(d, &next, PTX_SHARED, &detail->mbarrier) && next_offsets(d, &next, detail) &&
           (!detail->multicast || next_source(d, &next, PTX_U16, &d->op->operand[1])) && finish(d, next, hint);
}

bool emu_decode_cp_tensor(emu_decoding *d) { return decode_tensor(d, false); }

/* ---- prefetches: nothing that a program could see ---------------------------------------------------------------- */
static bool decode_prefetch(emu_decoding *d) {
    emu_copy_detail *detail = new_detail(d);
    d->op->run = run_nothing;
    int next = 0;
    detail->tensor = ptx_take(&d->words, "tensor");
    if (detail->tensor && !take_rank(d, &detail->rank)) return false;
    if (!ptx_take(&d->words, "L2") || !ptx_take(&d->words, "global"))
        return emu_decode_fail(d, "a prefetch is .L2.global");
    if (detail->tensor && !take_mode(d, detail)) return false;
    bool hint = ptx_take(&d->words, "L2::cache_hint");
    if (detail->tensor) return next_tensor(d, &next, detail) && next_offsets(d, &next, detail) && finish(d, next, hint);
    return next_address(d, &next, PTX_GLOBAL, &detail->other) && next_source(d, &next, PTX_U32, &d->op->operand[0]) &&
           finish(d, next, hint);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */
static bool decode_wait(emu_decoding *d) {
    d->op->run = run_wait;
    if (ptx_take(&d->words, "read")) d->op->flags = READ_ONLY;
    if (d->instruction->n_operands != 1 || d->instruction->operand[0].kind != PTX_INTEGER)
        return emu_decode_fail(d, "the number of groups is a constant");
    d->op->value = (int64_t)d->instruction->operand[0].bits;
    if (d->op->value < 0 || d->op->value > UINT32_MAX / 2) return emu_decode_fail(d, "a number of groups out of range");
    return finish(d, 1, false);
}

bool emu_decode_cp_bulk(emu_decoding *d) {
    if (ptx_take(&d->words, "prefetch")) return decode_prefetch(d);
    if (ptx_take(&d->words, "wait_group")) return decode_wait(d);
    if (!ptx_take(&d->words, "commit_group")) return decode_bulk(d, false);
    d->op->run = run_commit;
    return finish(d, 0, false);
}

bool emu_decode_cp_reduce(emu_decoding *d) {
    if (!ptx_take(&d->words, "async") || !ptx_take(&d->words, "bulk"))
        return emu_decode_fail(d, "cp.reduce is .async.bulk");
    return ptx_take(&d->words, "tensor") ? decode_tensor(d, true) : decode_bulk(d, true);
}
