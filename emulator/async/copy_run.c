/* A bulk or tensor instruction, lane by lane, and block by block of a multicast. */
#include "async/copy.h"

#include <inttypes.h>
#include <string.h>

enum { COORDINATES = 2 };
static const uint32_t within_mask = (1u << EMU_SHARED_RANK_SHIFT) - 1;

/* ---- tensor maps ------------------------------------------------------------------------------------------------- */
/* In parameters (__grid_constant__), global or constant memory. */
static const uint8_t *map_memory(emu_warp *warp, const emu_op *op, int lane, uint64_t address) {
    const emu_access access = {.kind = EMU_READ, .space = PTX_GENERIC, .bytes = 1, .align = 64};
    emu_actor actor;
    emu_actor_of_group(warp, op, lane, EMU_STREAM_BULK_READ, emu_groups_of(warp)->bulk.serial, EMU_PROXY_GENERIC,
                       &actor);
    const uint8_t *memory = emu_memory_range(&actor, warp->block, &access, address, EMU_TENSOR_MAP_BYTES);
    emu_actor_end(&actor);
    return memory;
}

bool emu_tensor_map_read(emu_warp *warp, const emu_op *op, int lane, uint64_t address, emu_tensor_map *map) {
    const char *wrong = address % 64 ? "a tensor map is aligned to 64 bytes" : NULL;
    if (!wrong) {
        const uint8_t *memory = map_memory(warp, op, lane, address);
        if (!memory) wrong = "there is no tensor map in accessible memory";
        if (memory) {
            memcpy(map, memory, sizeof *map);
            wrong = emu_tensor_map_wrong(map);
        }
    }
    if (wrong) emu_find(warp, op, lane, EMU_DESCRIPTOR, address, "tensor map at 0x%" PRIx64 ": %s", address, wrong);
    return !wrong;
}

#define KIND(name) (1u << EMU_REDUCE_##name)
enum {
    ADDS = KIND(ADD),
    COMPARES = KIND(MIN) | KIND(MAX),
    BITWISE = KIND(AND) | KIND(OR) | KIND(XOR),
    COUNTS = KIND(INC) | KIND(DEC)
};

/* What the tensor unit reduces, by the tensor's type; anything else is an illegal instruction (tried on an H200). */
static const struct {
    uint8_t type, bits;
    uint32_t kinds;
} reductions[EMU_N_TENSOR_TYPES] = {
    [EMU_TENSOR_U32] = {PTX_U32, PTX_B32, ADDS | COMPARES | BITWISE | COUNTS},
    [EMU_TENSOR_S32] = {PTX_S32, PTX_B32, ADDS | COMPARES | BITWISE},
    [EMU_TENSOR_U64] = {PTX_U64, PTX_B64, ADDS | COMPARES | BITWISE},
    [EMU_TENSOR_S64] = {PTX_S64, 0, COMPARES},
    [EMU_TENSOR_F16] = {PTX_F16, 0, ADDS | COMPARES},
    [EMU_TENSOR_BF16] = {PTX_BF16, 0, ADDS | COMPARES},
    [EMU_TENSOR_F32] = {PTX_F32, 0, ADDS},
    [EMU_TENSOR_F32_FTZ] = {PTX_F32, 0, ADDS},
    [EMU_TENSOR_TF32] = {PTX_F32, 0, ADDS},
    [EMU_TENSOR_TF32_FTZ] = {PTX_F32, 0, ADDS},
    [EMU_TENSOR_F64] = {PTX_F64, 0, ADDS},
};

static bool reduction_of_map(emu_warp *warp, const emu_op *op, int lane, emu_copy_order *order) {
    if (order->reduce == EMU_REDUCE_NONE) return true;
    const uint8_t type = order->map->type;
    order->type = (ptx_type)(order->reduce >= EMU_REDUCE_AND ? reductions[type].bits : reductions[type].type);
    if (reductions[type].kinds >> order->reduce & 1) return true;
    emu_find(warp, op, lane, EMU_DESCRIPTOR, type, "a reduction .%s is not possible with the tensor's data type %u",
             emu_reduce_words[order->reduce - 1], type);
    return false;
}

/* Both are illegal instructions. */
static bool coordinates_valid(emu_warp *warp, const emu_op *op, int lane, const emu_copy_order *order) {
    const int64_t bits = (int64_t)order->place.coordinate[0] * emu_tensor_type_bits(order->map->type);
    const bool gaps = emu_tensor_piece(order->map) < 16;
    if (bits % 128 != 0 || (gaps && order->place.coordinate[0] % 128)) {
        emu_find(warp, op, lane, EMU_DESCRIPTOR, 0,
                 "the box begins at element %d of the inner dimension, %" PRId64 " bytes: not a multiple of %s",
                 order->place.coordinate[0], bits / 8, gaps ? "128 elements" : "16");
        return false;
    }
    if (order->kind == EMU_COPY_STORE && order->map->type == EMU_TENSOR_U4_ALIGN16) {
        emu_find(warp, op, lane, EMU_DESCRIPTOR, order->map->type,
                 "elements of 4 bits with gaps are loaded, not stored");
        return false;
    }
    const int coordinates = ((const emu_copy_detail *)op->detail)->coordinates;
    for (int i = 0; order->kind == EMU_COPY_STORE && i < coordinates; i++) {
        if (order->place.coordinate[i] >= 0) continue;
        emu_find(warp, op, lane, EMU_DESCRIPTOR, 1, "a store to a negative coordinate: %d in dimension %d",
                 order->place.coordinate[i], i);
        return false;
    }
    return true;
}

/* The tensor map is of the instruction's mode. */
static bool mode_fits(emu_warp *warp, const emu_op *op, int lane, uint64_t address, const emu_tensor_map *map) {
    const emu_tensor_mode mode = ((const emu_copy_detail *)op->detail)->mode;
    const char *why = NULL;
    if (mode == EMU_TENSOR_IM2COL && !map->pixels) why = "a copy of mode .im2col with a tensor map of tiles";
    if (mode != EMU_TENSOR_IM2COL && map->pixels) why = "a copy of tiles with a tensor map of im2col";
    if (mode == EMU_TENSOR_FOUR && map->box[1] != 1)
        why = "a copy of four rows with a tensor map whose box has more than one row";
    if (why) emu_find(warp, op, lane, EMU_DESCRIPTOR, address, "%s", why);
    return !why;
}

static bool order_tensor(emu_warp *warp, const emu_op *op, int lane, uint64_t address, emu_tensor_map *map,
                         emu_copy_order *order) {
    const emu_copy_detail *detail = op->detail;
    if (!emu_tensor_map_read(warp, op, lane, address, map)) return false;
    if (map->rank != detail->rank) {
        emu_find(warp, op, lane, EMU_DESCRIPTOR, address, "a copy of %d dimensions with a tensor map of %u",
                 detail->rank, map->rank);
        return false;
    }
    if (!mode_fits(warp, op, lane, address, map)) return false;
    order->map = map;
    order->bytes = emu_tensor_row_bytes(map) * emu_tensor_rows(map, detail->mode);
    order->place.mode = detail->mode;
    for (int i = 0; i < detail->coordinates; i++)
        order->place.coordinate[i] = (int32_t)emu_u32(warp, op->operand[COORDINATES + i])[lane];
    for (int i = 0; i < detail->offsets; i++) {
        uint64_t offset[EMU_LANES];
        emu_lanes_read(warp, detail->offset[i], offset);
        order->place.offset[i] = (uint16_t)offset[lane];
    }
    return coordinates_valid(warp, op, lane, order) && reduction_of_map(warp, op, lane, order);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */
static bool issue_multicast(emu_warp *warp, const emu_op *op, int lane, emu_copy_order *order, uint32_t blocks) {
    const emu_cluster *cluster = warp->block->cluster;
    if (blocks >> cluster->n_blocks) {
        emu_find(warp, op, lane, EMU_EXITED, blocks, "multicast to blocks 0x%x of a cluster of %u", blocks,
                 cluster->n_blocks);
        return false;
    }
    const uint32_t shared = order->shared & within_mask, mbarrier = order->mbarrier & within_mask;
    const uint32_t pair_bit = 1u << EMU_SHARED_RANK_SHIFT; /* the same block of each pair */
    for (; blocks; blocks &= blocks - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(blocks) << EMU_SHARED_RANK_SHIFT;
        order->shared = rank | shared;
        order->mbarrier = (order->pair ? (rank & ~pair_bit) | (order->mbarrier & pair_bit) : rank) | mbarrier;
        if (!emu_copy_issue(warp, op, lane, order)) return false;
    }
    return true;
}

static bool own_shared(emu_warp *warp, const emu_op *op, int lane, uint32_t address) {
    if (address >> EMU_SHARED_RANK_SHIFT == warp->block->rank) return true;
    emu_find(warp, op, lane, EMU_OUT_OF_BOUNDS, address,
             "source 0x%x is not in the block's own shared memory (.shared::cta)", address);
    return false;
}

/* Lanes before this one that store the same bytes to the same place: a warp that issues a store as a whole, as
 * CUTLASS's epilogue does. Hardware does it once a lane (seen on an H200 with reductions), which nobody can tell from
 * once. */
static bool stored_already(const emu_copy_detail *detail, const emu_warp *warp, const emu_op *op, emu_mask before,
                           int lane, const uint64_t *shared, const uint64_t *other, const uint64_t *bytes) {
    if (detail->kind != EMU_COPY_STORE || detail->reduce != EMU_REDUCE_NONE) return false;
    for (; before; before &= before - 1) {
        const int past = __builtin_ctz(before);
        bool same = shared[past] == shared[lane] && other[past] == other[lane] && bytes[past] == bytes[lane];
        for (int i = 0; same && detail->tensor && i < detail->coordinates; i++) {
            const uint32_t *coordinate = emu_u32(warp, op->operand[COORDINATES + i]);
            same = coordinate[past] == coordinate[lane];
        }
        if (same) return true;
    }
    return false;
}

emu_result emu_copy_run(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_copy_detail *detail = op->detail;
    uint64_t shared[EMU_LANES], other[EMU_LANES], mbarrier[EMU_LANES] = {0}, bytes[EMU_LANES] = {0},
                                                  blocks[EMU_LANES] = {0};
    emu_addresses(warp, &detail->shared, shared);
    emu_addresses(warp, &detail->other, other);
    if (detail->kind != EMU_COPY_STORE) emu_addresses(warp, &detail->mbarrier, mbarrier);
    if (!detail->tensor) emu_lanes_read(warp, op->operand[0], bytes);
    if (detail->multicast || detail->masked) emu_lanes_read(warp, op->operand[1], blocks);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (stored_already(detail, warp, op, mask & ((1u << lane) - 1), lane, shared, other, bytes)) continue;
        emu_tensor_map map;
        emu_copy_order order = {.kind = detail->kind,
                                .reduce = detail->reduce,
                                .type = detail->type,
                                .bytes = (uint32_t)bytes[lane],
                                .shared = (uint32_t)shared[lane],
                                .mbarrier = (uint32_t)mbarrier[lane],
                                .without = detail->masked ? (uint16_t)~blocks[lane] : 0,
                                .pair = detail->pair};
        if (detail->kind == EMU_COPY_PEER) order.from = (uint32_t)other[lane];
        if (detail->kind == EMU_COPY_LOAD || detail->kind == EMU_COPY_STORE) order.global = other[lane];
        uint32_t source = detail->kind == EMU_COPY_PEER ? order.from : order.shared;
        if (detail->kind != EMU_COPY_LOAD && !own_shared(warp, op, lane, source)) return EMU_ABORT;
        if (detail->tensor && !order_tensor(warp, op, lane, other[lane], &map, &order)) return EMU_ABORT;
        if (!(detail->multicast ? issue_multicast(warp, op, lane, &order, (uint32_t)blocks[lane])
                                : emu_copy_issue(warp, op, lane, &order)))
            return EMU_ABORT;
    }
    return EMU_NEXT;
}
