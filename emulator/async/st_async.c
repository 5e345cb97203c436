/* st.async and red.async: a thread's stores into shared memory of the cluster, which tell an mbarrier their bytes.
 * Generic proxy; lanes arrive in any order. */
#include "async/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 4 };

/* Operands: 0 to 3 the values. */
typedef struct store_detail {
    emu_address to, mbarrier;
    ptx_space space;
    ptx_type type;
    emu_reduce_kind reduce;
    uint8_t values;
} store_detail;

/* Stores of lanes that complete on the same mbarrier. */
typedef struct late_store {
    emu_operation base;
    const store_detail *detail;
    uint64_t phase;
    emu_mask lanes;
    uint32_t mbarrier;
    uint8_t bytes; /* a lane */
    uint64_t to[EMU_LANES];
    uint8_t data[EMU_LANES][16];
    struct late_store *free;
} late_store;

static late_store *spare;

static bool store_lane(late_store *store, int lane) {
    const store_detail *detail = store->detail;
    bool reduces = detail->reduce != EMU_REDUCE_NONE;
    const emu_access access = {.kind = reduces ? EMU_UPDATE : EMU_WRITE,
                               .semantics = reduces ? EMU_RELAXED : EMU_WEAK,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = detail->space,
                               .cluster = true,
                               .bytes = store->bytes};
    emu_actor actor = store->base.actor;
    actor.lane = lane;
    uint8_t *memory = emu_memory_range(&actor, store->base.block, &access, store->to[lane], store->bytes);
    if (!memory) return false;
    if (reduces) {
        emu_reduce(detail->reduce, detail->type, false, memory, store->data[lane], store->bytes);
    } else {
        memcpy(memory, store->data[lane], store->bytes);
    }
    return true;
}

/* Completion is a release at the scope of the cluster: who waits for the phase knows what the issuer knew. Rows of
 * several blocks rely on it, whose values alone tell that those of the exchange before have been read. */
static void complete(late_store *store, uint32_t bytes) {
    emu_cluster *cluster = store->base.block->cluster;
    emu_mbarrier *barrier = emu_mbarrier_at(cluster, store->mbarrier, NULL);
    if (barrier) emu_clock_join(&barrier->arriving, store->base.actor.known);
    emu_mbarrier_complete(&store->base.actor, cluster, store->mbarrier, store->phase, bytes);
}

static bool store_step(emu_operation *operation, emu_random *random) {
    late_store *store = (late_store *)operation;
    emu_mask lanes = store->lanes;
    if (emu_random_below(random, 4) == 0) lanes &= emu_random_next(random);
    for (emu_mask rest = lanes; rest; rest &= rest - 1) {
        if (store_lane(store, __builtin_ctz(rest))) continue;
        emu_engine_fail(operation);
        return true;
    }
    store->lanes &= ~lanes;
    uint32_t bytes = (uint32_t)__builtin_popcount(lanes) * store->bytes;
    if (bytes) complete(store, bytes);
    return store->lanes == 0;
}

static void store_destroy(emu_operation *operation) {
    late_store *store = (late_store *)operation;
    emu_actor_end(&operation->actor);
    store->free = spare;
    spare = store;
}

static void store_describe(const emu_operation *operation, char *text, size_t bytes) {
    const late_store *store = (const late_store *)operation;
    snprintf(text, bytes, "a %s.async of %d lanes", store->detail->reduce == EMU_REDUCE_NONE ? "st" : "red",
             __builtin_popcount(store->lanes));
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */
static void gather(const emu_warp *warp, const emu_op *op, late_store *store) {
    const store_detail *detail = op->detail;
    const uint32_t size = ptx_type_bytes[detail->type];
    for (uint32_t i = 0; i < detail->values; i++) {
        uint64_t value[EMU_LANES];
        emu_lanes_read(warp, op->operand[i], value);
        for (int lane = 0; lane < EMU_LANES; lane++) memcpy(store->data[lane] + i * size, &value[lane], size);
    }
}

/* Lanes of mask that complete on the same mbarrier as the first. 0: reported. */
static emu_mask issue(emu_warp *warp, const emu_op *op, emu_mask mask, const uint64_t *to, const uint64_t *mbarriers) {
    const store_detail *detail = op->detail;
    const int first = __builtin_ctz(mask);
    uint32_t shared, target;
    emu_mask lanes = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) lanes |= (emu_mask)(mbarriers[lane] == mbarriers[first]) << lane;
    lanes &= mask;
    if (!emu_shared_address(detail->space, mbarriers[first], &shared)) shared = 0;
    emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, shared, NULL);
    if (!emu_mbarrier_usable(barrier, warp, op, first, shared, "store that completes on")) return 0;
    for (emu_mask rest = lanes; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (emu_shared_address(detail->space, to[lane], &target) &&
            target >> EMU_SHARED_RANK_SHIFT == shared >> EMU_SHARED_RANK_SHIFT)
            continue;
        emu_find(warp, op, lane, EMU_BARRIER, shared,
                 "a store to 0x%" PRIx64 " completes on an mbarrier of block rank %u, which is another one", to[lane],
                 shared >> EMU_SHARED_RANK_SHIFT);
        return 0;
    }
    late_store *store = spare;
    if (store) spare = store->free;
    if (!store) store = emu_alloc(sizeof *store);
    store->base = (emu_operation){.block = warp->block,
                                  .ranks = 1u << (shared >> EMU_SHARED_RANK_SHIFT),
                                  .step = store_step,
                                  .destroy = store_destroy,
                                  .describe = store_describe};
    store->detail = detail;
    store->phase = barrier->phase.number;
    store->lanes = lanes;
    store->mbarrier = shared;
    store->bytes = (uint8_t)(ptx_type_bytes[detail->type] * detail->values);
    memcpy(store->to, to, sizeof store->to);
    gather(warp, op, store);
    emu_actor_of_mbarrier(warp, op, first, barrier->block, &barrier->slot, store->phase, EMU_PROXY_GENERIC,
                          &store->base.actor);
    emu_engine_add(&store->base);
    return lanes;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const store_detail *detail = op->detail;
    uint64_t to[EMU_LANES], mbarriers[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = EMU_UPDATE,
                               .semantics = EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = detail->space,
                               .cluster = true,
                               .engine = true,
                               .bytes = 8};
    emu_addresses(warp, &detail->to, to);
    emu_addresses(warp, &detail->mbarrier, mbarriers);
    if (!emu_memory_lanes(warp, op, mask, &access, mbarriers, pointer)) return EMU_ABORT;
    while (mask) {
        emu_mask lanes = issue(warp, op, mask, to, mbarriers);
        if (!lanes) return EMU_ABORT;
        mask &= ~lanes;
    }
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static bool take_space(emu_decoding *d, store_detail *detail) {
    detail->space = ptx_take(&d->words, "shared::cluster") ? PTX_SHARED : PTX_GENERIC;
    return ptx_take(&d->words, "mbarrier::complete_tx::bytes") ||
           emu_decode_fail(d, "emulated are stores to .shared::cluster that complete by .mbarrier::complete_tx::bytes");
}

static bool decode_operands(emu_decoding *d, store_detail *detail) {
    const ptx_instruction *instruction = d->instruction;
    if (instruction->n_operands != 3) return emu_decode_fail(d, "%d operands, where 3 belong", instruction->n_operands);
    const ptx_operand *value = &instruction->operand[1];
    if (detail->values > 1 && (value->kind != PTX_VECTOR || value->n_parts != detail->values))
        return emu_decode_fail(d, "a vector of %d values belongs here", detail->values);
    for (int i = 0; i < detail->values; i++)
        if (!emu_decode_source(d, detail->values > 1 ? &value->parts[i] : value, detail->type, &d->op->operand[i]))
            return false;
    d->op->detail = detail;
    d->op->run = run_store;
    return emu_decode_address(d, &instruction->operand[0], detail->space, &detail->to) &&
           emu_decode_address(d, &instruction->operand[2], detail->space, &detail->mbarrier);
}

bool emu_decode_st_async(emu_decoding *d) {
    static const char *const vectors[] = {"v2", "v4", NULL};
    static const int counts[] = {1, 2, 4};
    store_detail *detail = emu_decode_alloc(d, sizeof *detail);
    ptx_take(&d->words, "weak");
    if (!take_space(d, detail)) return false;
    detail->values = (uint8_t)counts[ptx_take_of(&d->words, vectors, -1) + 1];
    detail->type = ptx_take_type(&d->words);
    uint32_t size = ptx_type_bytes[detail->type];
    if (!ptx_words_end(&d->words) || (size != 4 && size != 8) || size * detail->values > 16)
        return emu_decode_fail(d, "no such st.async");
    return decode_operands(d, detail);
}

bool emu_decode_red_async(emu_decoding *d) {
    store_detail *detail = emu_decode_alloc(d, sizeof *detail);
    if (!ptx_take(&d->words, "relaxed") || !ptx_take(&d->words, "cluster"))
        return emu_decode_fail(d, "red.async is .relaxed.cluster");
    if (!take_space(d, detail)) return false;
    detail->values = 1;
    detail->reduce = (emu_reduce_kind)(ptx_take_of(&d->words, emu_reduce_words, -1) + 1);
    detail->type = ptx_take_type(&d->words);
    if (!ptx_words_end(&d->words) || detail->reduce == EMU_REDUCE_NONE ||
        !emu_reduce_valid(detail->reduce, detail->type, true))
        return emu_decode_fail(d, "no such red.async");
    return decode_operands(d, detail);
}
