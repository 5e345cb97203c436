/* tcgen05.commit: an arrival at an mbarrier, here and in other blocks of the cluster, as soon as all that the warp issued before
 * is done. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tcgen05/product.h"

typedef struct commit_detail {
    emu_address address;
    ptx_space space;
    bool cluster, multicast;
    emu_operand ranks; /* of multicast: a bit a block */
} commit_detail;

typedef struct commit {
    emu_operation base;
    emu_warp *warp;    /* lives as long as the cluster */
    emu_clock *issued; /* what came before the products is done before them: who waits for the commit knows it */
    uint64_t group;    /* the last that is covered */
    bool any;          /* something was issued before */
    uint32_t shared, ranks;
} commit;

static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    commit *c = (commit *)operation;
    for (uint32_t ranks = c->ranks; ranks; ranks &= ranks - 1) {
        const uint32_t rank = (uint32_t)__builtin_ctz(ranks);
        const uint32_t shared = rank << EMU_SHARED_RANK_SHIFT | (c->shared & ((1u << EMU_SHARED_RANK_SHIFT) - 1));
        emu_mbarrier *barrier = emu_mbarrier_at(operation->block->cluster, shared, NULL);
        if (!emu_mbarrier_usable(barrier, c->warp, operation->actor.op, operation->actor.lane, shared, "commit to"))
            continue;
        emu_clock_join(&barrier->arriving, c->issued);
        if (c->any) emu_tensor_group(&barrier->arriving, c->warp, EMU_STREAM_TENSOR, c->group);
        emu_mbarrier_arrive(barrier, c->warp, operation->actor.op, operation->actor.lane, 1, false);
    }
    return true;
}

static void destroy(emu_operation *operation) {
    emu_clock_free(((commit *)operation)->issued);
    emu_actor_end(&operation->actor);
    free(operation);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    (void)operation;
    snprintf(text, bytes, "a tcgen05.commit");
}

static bool resolve(emu_warp *warp, const emu_op *op, int lane, uint64_t address, commit *c) {
    const commit_detail *detail = op->detail;
    const uint32_t blocks = warp->block->cluster->n_blocks;
    if (!emu_shared_address(detail->space, address, &c->shared)) {
        emu_find(warp, op, lane, EMU_BARRIER, address, "address 0x%" PRIx64 " is not in shared memory", address);
        return false;
    }
    c->ranks = 1u << (c->shared >> EMU_SHARED_RANK_SHIFT);
    if (detail->multicast) {
        uint64_t lanes[EMU_LANES];
        emu_lanes_read(warp, detail->ranks, lanes);
        c->ranks = (uint32_t)lanes[lane] & 0xffff;
    }
    if (c->ranks == 0 || c->ranks >> blocks) {
        emu_find(warp, op, lane, EMU_BARRIER, c->ranks, "commits to blocks 0x%x of a cluster of %u", c->ranks, blocks);
        return false;
    }
    return true;
}

static emu_result run_commit(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const commit_detail *detail = op->detail;
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = EMU_UPDATE,
                               .semantics = EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = detail->space,
                               .cluster = detail->cluster,
                               .bytes = 8};
    emu_addresses(warp, &detail->address, address);
    if (!emu_memory_lanes(warp, op, mask, &access, address, pointer)) return EMU_ABORT;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        commit *c = emu_alloc(sizeof *c);
        if (!resolve(warp, op, lane, address[lane], c)) {
            free(c);
            return EMU_ABORT;
        }
        c->base = (emu_operation){.block = warp->block,
                                  .queue = emu_tensor_queue(warp),
                                  .ranks = c->ranks,
                                  .step = step,
                                  .destroy = destroy,
                                  .describe = describe};
        emu_tensor_actor(warp, op, lane, EMU_STREAM_TENSOR, use->products, &c->base.actor);
        c->warp = warp;
        c->issued = emu_clock_copy(use->issued);
        c->any = use->products > 0;
        c->group = use->products - c->any;
        emu_engine_add(&c->base);
    }
    use->committed = use->products;
    return EMU_NEXT;
}

bool emu_decode_tensor_commit(emu_decoding *d) {
    commit_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->run = run_commit;
    d->op->detail = detail;
    if (!emu_tensor_group_word(d) || !emu_mma_expect(d, "mbarrier::arrive::one")) return false;
    detail->cluster = ptx_take(&d->words, "shared::cluster");
    detail->space = detail->cluster ? PTX_SHARED : PTX_GENERIC;
    detail->multicast = ptx_take(&d->words, "multicast::cluster");
    const int operands = 1 + detail->multicast;
    if (!emu_mma_expect(d, "b64") || !emu_mma_end(d) || !emu_tensor_operands(d, operands, operands) ||
        !emu_decode_address(d, &d->instruction->operand[0], detail->space, &detail->address))
        return false;
    if (!detail->multicast) return true;
    return emu_decode_source(d, &d->instruction->operand[1], PTX_U16, &detail->ranks);
}
