/* mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, pending_count (PTX ISA, "mbarrier"). */
#include "async/mbarrier_ops.h"

#include <inttypes.h>

/* Lanes' shared addresses. False: one is not in shared memory. */
static bool shared_addresses(emu_warp *warp, const emu_op *op, emu_mask mask, const uint64_t address[EMU_LANES],
                             uint32_t shared[EMU_LANES]) {
    const emu_mbarrier_detail *detail = op->detail;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (emu_shared_address(detail->space, address[lane], &shared[lane])) continue;
        emu_find(warp, op, lane, EMU_BARRIER, address[lane],
                 "address 0x%" PRIx64 " is not in shared memory: no mbarrier can be there", address[lane]);
        return false;
    }
    return true;
}

/* memory/ checks the access and its order with others'. */
static bool touch(emu_warp *warp, const emu_op *op, emu_mask mask, emu_access_kind kind,
                  const uint64_t address[EMU_LANES]) {
    const emu_mbarrier_detail *detail = op->detail;
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = kind,
                               .semantics = kind == EMU_WRITE ? EMU_WEAK : EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = detail->space,
                               .cluster = detail->cluster,
                               .bytes = 8};
    return emu_memory_lanes(warp, op, mask, &access, address, pointer);
}

/* The mbarriers that lanes mean. False: an address is wrong, or there is no mbarrier to use. */
bool emu_mbarrier_resolve(emu_warp *warp, const emu_op *op, emu_mask mask, emu_access_kind kind, const char *use,
                          emu_mbarrier *barrier[EMU_LANES]) {
    const emu_mbarrier_detail *detail = op->detail;
    uint64_t address[EMU_LANES];
    uint32_t shared[EMU_LANES];
    emu_addresses(warp, &detail->address, address);
    if (!shared_addresses(warp, op, mask, address, shared)) return false;
    int before = -1;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (before >= 0 && shared[lane] == shared[before]) {
            barrier[lane] = barrier[before];
        } else {
            barrier[lane] = emu_mbarrier_at(warp->block->cluster, shared[lane], NULL);
            if (!emu_mbarrier_usable(barrier[lane], warp, op, lane, shared[lane], use)) return false;
        }
        before = lane;
    }
    return touch(warp, op, mask, kind, address);
}

/* ---- init, inval ------------------------------------------------------------------------------------------------- */
emu_result emu_mbarrier_run_init(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_mbarrier_detail *detail = op->detail;
    uint32_t shared[EMU_LANES];
    uint64_t count[EMU_LANES], address[EMU_LANES];
    emu_addresses(warp, &detail->address, address);
    if (!shared_addresses(warp, op, mask, address, shared) || !touch(warp, op, mask, EMU_WRITE, address))
        return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], count);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (count[lane] == 0 || count[lane] > EMU_MBARRIER_MOST) {
            emu_find(warp, op, lane, EMU_BARRIER, shared[lane],
                     "an mbarrier of %" PRIu64 " arrivals: 1 to 2^20 - 1 can be", count[lane]);
            return EMU_ABORT;
        }
        emu_block *block = NULL;
        emu_shared_pointer(warp->block->cluster, shared[lane], 8, &block);
        emu_mbarrier *barrier =
            emu_mbarrier_create(block, (shared[lane] & ((1u << EMU_SHARED_RANK_SHIFT) - 1)) - EMU_SHARED_FIRST);
        if (barrier->live && (barrier->phase.tx != 0 || barrier->phase.pending != barrier->phase.expected))
            emu_find(warp, op, lane, EMU_BARRIER, shared[lane],
                     "the mbarrier at shared+%u is initialized again in the middle of a phase (%u of %u arrivals and "
                     "%" PRId64 " bytes pending)",
                     barrier->offset, barrier->phase.pending, barrier->phase.expected, barrier->phase.tx);
        /* The number of the phase goes on, so that engines' work of an earlier life is not taken for this one's. */
        uint64_t number = barrier->phase.number;
        emu_phase_init(&barrier->phase, (uint32_t)count[lane]);
        barrier->phase.number = barrier->live || number ? (number + 2) & ~UINT64_C(1) : 0;
        barrier->live = true;
        barrier->reported = false;
        barrier->wanted = barrier->arrived = 0;
        emu_mbarrier_seal(barrier);
    }
    return EMU_NEXT;
}

emu_result emu_mbarrier_run_inval(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mbarrier *barriers[EMU_LANES];
    if (!emu_mbarrier_resolve(warp, op, mask, EMU_WRITE, "inval of", barriers)) return EMU_ABORT;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = barriers[lane];
        if (barrier->phase.tx != 0)
            emu_find(warp, op, lane, EMU_TRANSACTIONS, barrier->offset,
                     "the mbarrier at shared+%u is invalidated with %" PRId64 " bytes pending (%" PRIu64
                     " expected, %" PRIu64 " arrived)",
                     barrier->offset, barrier->phase.tx, barrier->wanted, barrier->arrived);
        barrier->live = false;
    }
    return EMU_NEXT;
}

/* ---- arrive, arrive_drop, expect_tx, complete_tx ----------------------------------------------------------------- */
static void no_complete_check(emu_warp *warp, const emu_op *op, int lane, const emu_mbarrier *barrier,
                              uint64_t before) {
    if (!(op->flags & EMU_ARRIVE_NO_COMPLETE) || barrier->phase.number == before) return;
    emu_find(warp, op, lane, EMU_BARRIER, barrier->offset,
             "an arrival with .noComplete completes phase %" PRIu64
             " of the mbarrier at "
             "shared+%u of block rank %u",
             before, barrier->offset, barrier->block->rank);
}

emu_result emu_mbarrier_run_arrive(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mbarrier *barriers[EMU_LANES];
    uint64_t value[EMU_LANES], state[EMU_LANES] = {0};
    if (!emu_mbarrier_resolve(warp, op, mask, EMU_UPDATE, "arrival at", barriers)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], value);
    const emu_mbarrier *released = NULL; /* into this one's phase the warp's knowledge went already */
    uint64_t released_phase = 0;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier *barrier = barriers[lane];
        if (op->flags & EMU_ARRIVE_EXPECTS) emu_mbarrier_transfer(barrier, warp, op, lane, (int64_t)value[lane]);
        state[lane] = emu_mbarrier_token(barrier);
        const bool again = released && barrier == released && barrier->phase.number == released_phase;
        if (!(op->flags & EMU_MBARRIER_RELAXED) && !again) {
            emu_release(warp, &barrier->arriving);
            released = barrier;
            released_phase = barrier->phase.number;
        }
        uint64_t before = barrier->phase.number;
        emu_mbarrier_arrive(barrier, warp, op, lane, op->flags & EMU_ARRIVE_EXPECTS ? 1 : (uint32_t)value[lane],
                            op->flags & EMU_ARRIVE_DROPS);
        no_complete_check(warp, op, lane, barrier, before);
    }
    if (op->operand[0].at != EMU_NOWHERE) emu_lanes_write(warp, op->operand[0], mask, state);
    return EMU_NEXT;
}

/* kind: 1 expects, -1 completes. */
emu_result emu_mbarrier_run_transfer(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mbarrier *barriers[EMU_LANES];
    uint64_t bytes[EMU_LANES];
    if (!emu_mbarrier_resolve(warp, op, mask, EMU_UPDATE, "transaction at", barriers)) return EMU_ABORT;
    emu_lanes_read(warp, op->operand[1], bytes);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        emu_mbarrier_transfer(barriers[lane], warp, op, lane, op->value * (int64_t)bytes[lane]);
    }
    return EMU_NEXT;
}

/* ---- pending_count ----------------------------------------------------------------------------------------------- */
emu_result emu_mbarrier_run_pending_count(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t state[EMU_LANES], count[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], state);
    for (int lane = 0; lane < EMU_LANES; lane++) count[lane] = emu_mbarrier_token_pending(state[lane]);
    emu_lanes_write(warp, op->operand[0], mask, count);
    return EMU_NEXT;
}
