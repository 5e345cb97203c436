/* cp.async.mbarrier.arrive: an arrival at an mbarrier as soon as all that the thread copied by cp.async before is
 * there. */
#include "async/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_INCREMENT = 1 };

typedef struct arrive_detail {
    emu_address address;
    ptx_space space;
} arrive_detail;

typedef struct late_arrival {
    emu_operation base;
    emu_warp *warp;  /* whose copies are meant; lives as long as the block */
    uint64_t serial; /* of the copies */
    emu_mask lanes;
    uint32_t shared[EMU_LANES];
} late_arrival;

/* A copy of these lanes that was issued before the arrival and is not there yet. */
static emu_operation *copy_before(const late_arrival *arrival, emu_mask lanes) {
    const struct emu_groups *groups = arrival->warp->groups;
    for (emu_pending *pending = groups ? groups->cp_async.pending : NULL; pending; pending = pending->next)
        if (pending->lanes & lanes && pending->operation->sequence < arrival->base.sequence) return pending->operation;
    return NULL;
}

/* The latest that the copies may land is now. */
static bool arrive_step(emu_operation *operation, emu_random *random) {
    late_arrival *arrival = (late_arrival *)operation;
    emu_mask lanes = arrival->lanes;
    if (emu_random_below(random, 2) == 0) lanes &= emu_random_next(random);
    for (emu_operation *copy; (copy = copy_before(arrival, lanes)) != NULL;) emu_engine_finish(copy);
    const emu_mbarrier *published = NULL;
    for (emu_mask rest = lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = emu_mbarrier_at(operation->block->cluster, arrival->shared[lane], NULL);
        if (!emu_mbarrier_usable(barrier, arrival->warp, operation->actor.op, lane, arrival->shared[lane],
                                 "arrival at"))
            continue;
        uint64_t phase = barrier->phase.number;
        if (barrier != published)
            emu_clock_group(&barrier->arriving, arrival->warp, EMU_STREAM_CP_ASYNC, arrival->serial);
        emu_mbarrier_arrive(barrier, arrival->warp, operation->actor.op, lane, 1, false);
        published = barrier->phase.number == phase ? barrier : NULL;
    }
    arrival->lanes &= ~lanes;
    return arrival->lanes == 0;
}

static void arrive_destroy(emu_operation *operation) {
    emu_actor_end(&operation->actor);
    free(operation);
}

static void arrive_describe(const emu_operation *operation, char *text, size_t bytes) {
    const late_arrival *arrival = (const late_arrival *)operation;
    snprintf(text, bytes, "a cp.async.mbarrier.arrive of %d lanes", __builtin_popcount(arrival->lanes));
}

/* Without .noinc the arrival is one that nobody counts on: the pending count goes up by one until it has arrived. */
static bool count_up(emu_warp *warp, const emu_op *op, int lane, emu_mbarrier *barrier) {
    if (barrier->phase.pending < EMU_MBARRIER_MOST) {
        barrier->phase.pending++;
        emu_mbarrier_seal(barrier);
        return true;
    }
    emu_find(warp, op, lane, EMU_BARRIER, barrier->offset,
             "pending arrivals of the mbarrier at shared+%u leave their range", barrier->offset);
    return false;
}

static emu_result run_arrive(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const arrive_detail *detail = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {
        .kind = EMU_UPDATE, .semantics = EMU_RELAXED, .scope = EMU_SCOPE_CTA, .space = detail->space, .bytes = 8};
    emu_addresses(warp, &detail->address, address);
    if (!emu_memory_lanes(warp, op, mask, &access, address, pointer)) return EMU_ABORT;
    late_arrival *arrival = emu_alloc(sizeof *arrival);
    emu_stream *stream = &emu_groups_of(warp)->cp_async;
    arrival->base = (emu_operation){.block = warp->block,
                                    .ranks = 1u << warp->block->rank,
                                    .step = arrive_step,
                                    .destroy = arrive_destroy,
                                    .describe = arrive_describe};
    emu_actor_of_group(warp, op, __builtin_ctz(mask), EMU_STREAM_CP_ASYNC, stream->serial, EMU_PROXY_GENERIC,
                       &arrival->base.actor);
    arrival->warp = warp;
    arrival->serial = stream->serial++; /* copies to come are not covered */
    arrival->lanes = mask;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (!emu_shared_address(detail->space, address[lane], &arrival->shared[lane])) arrival->shared[lane] = 0;
        emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, arrival->shared[lane], NULL);
        if (!emu_mbarrier_usable(barrier, warp, op, lane, arrival->shared[lane], "arrival at") ||
            (!(op->flags & NO_INCREMENT) && !count_up(warp, op, lane, barrier))) {
            arrive_destroy(&arrival->base);
            return EMU_ABORT;
        }
    }
    emu_engine_add(&arrival->base);
    return EMU_NEXT;
}

bool emu_decode_cp_arrive(emu_decoding *d) {
    if (!ptx_take(&d->words, "arrive")) return emu_decode_fail(d, "cp.async.mbarrier has only .arrive");
    if (ptx_take(&d->words, "noinc")) d->op->flags = NO_INCREMENT;
    arrive_detail *detail = emu_decode_alloc(d, sizeof *detail);
    detail->space = ptx_take(&d->words, "shared") || ptx_take(&d->words, "shared::cta") ? PTX_SHARED : PTX_GENERIC;
    if (!ptx_take(&d->words, "b64") || !ptx_words_end(&d->words))
        return emu_decode_fail(d, "an mbarrier has the type .b64");
    if (d->instruction->n_operands != 1)
        return emu_decode_fail(d, "%d operands, where 1 belongs", d->instruction->n_operands);
    d->op->detail = detail;
    d->op->run = run_arrive;
    return emu_decode_address(d, &d->instruction->operand[0], detail->space, &detail->address);
}
