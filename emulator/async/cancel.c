/* clusterlaunchcontrol: a cluster takes over the work of one that has not begun (PTX ISA).
 *
 * try_cancel writes a response of 16 bytes, here and by multicast in all blocks of the cluster, and completes on an mbarrier. What
 * is in it is the emulator's own: whether a cluster was cancelled, and the index of its first block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async/internal.h"

enum { BYTES = 16, MOST_BLOCKS = 16 };

typedef struct cancel_detail {
    emu_address to, mbarrier;
    bool all; /* multicast */
} cancel_detail;

typedef struct request {
    emu_operation operation; /* its actor is the first block's */
    uint32_t blocks;
    struct {
        emu_actor actor;
        uint32_t to, mbarrier;
        uint64_t phase;
    } part[MOST_BLOCKS];
} request;

/* ---- responses ------------------------------------------------------------------------------------------- */
static const uint64_t mark = UINT64_C(0x5c1c) << 16;

static bool is_response(const uint64_t word[2]) { return (word[0] & UINT64_C(0xfffffffe)) == mark; }

static emu_dim first_block(const uint64_t word[2]) {
    return (emu_dim){(uint32_t)(word[0] >> 32), (uint32_t)word[1], (uint32_t)(word[1] >> 32)};
}

/* The next cluster that has not begun, as done: its blocks will never run. */
static void take_cluster(emu_grid *grid, uint32_t n_blocks, uint64_t word[2]) {
    word[0] = mark;
    word[1] = 0;
    if (grid->next_cluster == grid->n_clusters) return;
    const emu_dim size = grid->cluster;
    const uint64_t number = grid->next_cluster++, width = grid->blocks.x / size.x, height = grid->blocks.y / size.y;
    grid->finished_clusters++;
    grid->triggered_blocks += n_blocks;
    if (grid->triggered_blocks == grid->n_clusters * n_blocks) grid->dependents_may_start = true;
    word[0] |= 1 | number % width * size.x << 32;
    word[1] = number / width % height * size.y | number / width / height * size.z << 32;
}

/* ---- try_cancel ------------------------------------------------------------------------------------------ */
static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    request *r = (request *)operation;
    emu_cluster *cluster = operation->block->cluster;
    uint64_t word[2];
    take_cluster(cluster->grid, cluster->n_blocks, word);
    for (uint32_t i = 0; i < r->blocks; i++) {
        const emu_access access = {.kind = EMU_WRITE,
                                   .space = PTX_SHARED,
                                   .cluster = true,
                                   .bytes = BYTES,
                                   .align = BYTES,
                                   .after_reads = true};
        uint8_t *to = emu_memory_range(&r->part[i].actor, r->part[i].actor.block, &access, r->part[i].to, BYTES);
        if (to == NULL) {
            emu_engine_fail(operation);
            return true;
        }
        memcpy(to, word, BYTES);
        emu_mbarrier_complete(&r->part[i].actor, cluster, r->part[i].mbarrier, r->part[i].phase, BYTES);
    }
    return true;
}

static void destroy(emu_operation *operation) {
    request *r = (request *)operation;
    for (uint32_t i = 0; i < r->blocks; i++) emu_actor_end(&r->part[i].actor);
    free(r);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    (void)operation;
    snprintf(text, bytes, "clusterlaunchcontrol.try_cancel");
}

/* The response of one block. False: reported. */
static bool add_part(emu_warp *warp, const emu_op *op, int lane, request *r, uint32_t to, uint32_t mbarrier) {
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = EMU_UPDATE,
                               .semantics = EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = PTX_SHARED,
                               .cluster = true,
                               .engine = true,
                               .bytes = 8};
    address[lane] = mbarrier;
    if (!emu_memory_lanes(warp, op, 1u << lane, &access, address, pointer)) return false;
    emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, mbarrier, NULL);
    if (!emu_mbarrier_usable(barrier, warp, op, lane, mbarrier, "try_cancel that completes on")) return false;
    r->part[r->blocks].to = to;
    r->part[r->blocks].mbarrier = mbarrier;
    r->part[r->blocks].phase = barrier->phase.number;
    emu_actor_of_mbarrier(warp, op, lane, barrier->block, &barrier->slot, barrier->phase.number, EMU_PROXY_ASYNC,
                          &r->part[r->blocks].actor);
    r->part[r->blocks++].actor.block = barrier->block;
    r->operation.ranks |= 1u << barrier->block->rank;
    return true;
}

static bool issue(emu_warp *warp, const emu_op *op, int lane, uint32_t to, uint32_t mbarrier) {
    const cancel_detail *detail = op->detail;
    const emu_cluster *cluster = warp->block->cluster;
    request *r = emu_alloc(sizeof *r);
    bool right = true;
    if (cluster->told_no_more)
        emu_find(warp, op, lane, EMU_PROTOCOL, 0,
                 "tries to cancel again after a response that there is no more to cancel");
    r->operation = (emu_operation){.block = warp->block, .step = step, .destroy = destroy, .describe = describe};
    for (uint32_t rank = 0; rank < cluster->n_blocks && right && detail->all; rank++) {
        const uint32_t within = (1u << EMU_SHARED_RANK_SHIFT) - 1, at = rank << EMU_SHARED_RANK_SHIFT;
        right = add_part(warp, op, lane, r, at | (to & within), at | (mbarrier & within));
    }
    right = right && (detail->all || add_part(warp, op, lane, r, to, mbarrier));
    if (!right) {
        destroy(&r->operation);
        return false;
    }
    r->operation.actor = r->part[0].actor; /* for reports: the part owns what it knows */
    emu_engine_add(&r->operation);
    return true;
}

static emu_result run_try(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const cancel_detail *detail = op->detail;
    uint64_t to[EMU_LANES], mbarrier[EMU_LANES];
    uint32_t shared, barrier;
    emu_addresses(warp, &detail->to, to);
    emu_addresses(warp, &detail->mbarrier, mbarrier);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (!emu_shared_address(op->kind, to[lane], &shared) ||
            !emu_shared_address(op->kind, mbarrier[lane], &barrier)) {
            emu_find(warp, op, lane, EMU_BARRIER, 1, "the response or the mbarrier is not in shared memory");
            return EMU_ABORT;
        }
        if (!issue(warp, op, lane, shared, barrier)) return EMU_ABORT;
    }
    return EMU_NEXT;
}

/* ---- query_cancel ---------------------------------------------------------------------------------------- */
/* The response of a lane. False: it is none. */
static bool response(emu_warp *warp, const emu_op *op, int lane, uint64_t word[2]) {
    const uint64_t *lanes = emu_at(warp, op->operand[4].at);
    memcpy(word, lanes + 2 * lane, BYTES);
    if (is_response(word)) return true;
    emu_find(warp, op, lane, EMU_DESCRIPTOR, 0, "0x%016llx%016llx is no response of try_cancel",
             (unsigned long long)word[1], (unsigned long long)word[0]);
    return false;
}

static emu_result run_is_cancelled(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mask yes = 0;
    uint64_t word[2];
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (!response(warp, op, lane, word)) return EMU_ABORT;
        yes |= (emu_mask)(word[0] & 1) << lane;
    }
    if (yes != mask) warp->block->cluster->told_no_more = true;
    uint32_t *to = emu_at(warp, op->operand[0].at);
    *to = (*to & ~mask) | yes;
    return EMU_NEXT;
}

static emu_result run_first(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t word[2];
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (!response(warp, op, lane, word)) return EMU_ABORT;
        if (!(word[0] & 1)) {
            emu_find(warp, op, lane, EMU_PROTOCOL, 1, "asks for the first block of a cluster, and none was cancelled");
            return EMU_ABORT;
        }
        const emu_dim first = first_block(word);
        const uint32_t value[4] = {first.x, first.y, first.z, 0};
        for (int i = 0; i < 4; i++)
            if (op->operand[i].at != EMU_NOWHERE) emu_u32(warp, op->operand[i])[lane] = value[i];
    }
    return EMU_NEXT;
}

/* ---- decoders -------------------------------------------------------------------------------------------- */
static bool due(emu_decoding *d, const char *word) {
    return ptx_take(&d->words, word) || emu_decode_fail(d, ".%s is due", word);
}

static bool decode_try(emu_decoding *d) {
    cancel_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->run = run_try;
    d->op->detail = detail;
    if (!due(d, "async")) return false;
    const ptx_space space = ptx_take(&d->words, "shared::cta") ? PTX_SHARED : PTX_GENERIC;
    d->op->kind = (uint8_t)space;
    if (!due(d, "mbarrier::complete_tx::bytes")) return false;
    detail->all = ptx_take(&d->words, "multicast::cluster::all");
    if (!due(d, "b128") || !ptx_words_end(&d->words) || d->instruction->n_operands != 2)
        return emu_decode_fail(d, "try_cancel has a type .b128, the response's address and the mbarrier's");
    return emu_decode_address(d, &d->instruction->operand[0], space, &detail->to) &&
           emu_decode_address(d, &d->instruction->operand[1], space, &detail->mbarrier);
}

static bool decode_first(emu_decoding *d, int at) {
    const ptx_operand *to = &d->instruction->operand[0];
    d->op->run = run_first;
    if (at >= 0) return due(d, "b32") && emu_decode_destination(d, to, PTX_B32, &d->op->operand[at]);
    if (!due(d, "v4") || !due(d, "b32")) return false;
    if (to->kind != PTX_VECTOR || to->n_parts != 4) return emu_decode_fail(d, "four registers are due");
    for (int i = 0; i < 4; i++)
        if (!emu_decode_destination(d, &to->parts[i], PTX_B32, &d->op->operand[i])) return false;
    return true;
}

static bool decode_query(emu_decoding *d) {
    static const char *const firsts[] = {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", NULL};
    if (d->instruction->n_operands != 2) return emu_decode_fail(d, "2 operands are due");
    bool right;
    if (ptx_take(&d->words, "is_canceled")) {
        d->op->run = run_is_cancelled;
        right = due(d, "pred") && emu_decode_destination(d, &d->instruction->operand[0], PTX_PRED, &d->op->operand[0]);
    } else if (ptx_take(&d->words, "get_first_ctaid")) {
        right = decode_first(d, -1);
    } else {
        const int at = ptx_take_of(&d->words, firsts, -1);
        if (at < 0) return emu_decode_fail(d, "is_canceled or get_first_ctaid is due");
        right = decode_first(d, at);
    }
    return right && due(d, "b128") && ptx_words_end(&d->words) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_B128, &d->op->operand[4]);
}

bool emu_decode_cluster_launch(emu_decoding *d) {
    if (emu_options_get()->architecture < 100)
        return emu_decode_fail(d, "the device is an sm_90a: EMULATOR_ARCHITECTURE=100 makes it an sm_100a");
    if (ptx_take(&d->words, "try_cancel")) return decode_try(d);
    if (ptx_take(&d->words, "query_cancel")) return decode_query(d);
    return emu_decode_fail(d, "try_cancel or query_cancel is due");
}
