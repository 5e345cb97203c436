/* tcgen05.ld and st: between registers of a warp and its quarter of the lanes.
 *
 * They are done when they are issued. That nobody looks at their registers and cells before the wait is checked instead. */
#include <stdio.h>

#include "tcgen05/tensor.h"

/* Of thread t and register v of one repetition: a lane of the quarter, and a column. */
typedef struct move_shape {
    const char *name;
    int lanes, columns, registers; /* of one repetition */
    int most;                      /* repetitions */
} move_shape;
enum { SHAPE_32X32B, SHAPE_16X64B, SHAPE_16X128B, SHAPE_16X256B, SHAPE_16X32BX2, N_SHAPES };
static const move_shape shapes[N_SHAPES] = {
    {"32x32b", 32, 1, 1, 128}, {"16x64b", 16, 2, 1, 128},   {"16x128b", 16, 4, 2, 64},
    {"16x256b", 16, 8, 4, 32}, {"16x32bx2", 16, 1, 1, 128},
};
enum { MOST_REGISTERS = 128 };

typedef struct move_detail {
    const move_shape *shape;
    int repetitions, registers;
    bool packed;   /* .pack::16b, .unpack::16b: two columns of 16 bits a register */
    uint32_t half; /* of 16x32bx2: columns from the first half to the second */
    emu_address address;
    emu_operand data[MOST_REGISTERS];
} move_detail;

static void place(const move_detail *detail, int t, int r, uint32_t *lane, uint32_t *column) {
    const move_shape *shape = detail->shape;
    const int v = r % shape->registers, first = r / shape->registers * shape->columns;
    int in = 0;
    switch (shape - shapes) {
        case SHAPE_32X32B: *lane = (uint32_t)t; break;
        case SHAPE_16X64B:
            *lane = (uint32_t)((t >> 2) + 8 * (t & 1));
            in = t >> 1 & 1;
            break;
        case SHAPE_16X128B:
            *lane = (uint32_t)((t >> 2) + 8 * v);
            in = t & 3;
            break;
        case SHAPE_16X256B:
            *lane = (uint32_t)((t >> 2) + 8 * (v >> 1));
            in = 2 * (t & 3) + (v & 1);
            break;
        default: *lane = (uint32_t)t & 15; break;
    }
    *column = (uint32_t)(first + in) << detail->packed;
    if (shape == &shapes[SHAPE_16X32BX2] && t >= 16) *column += detail->half;
}

/* The address in the warp's own quarter. PTX leaves open what other lanes would give; CUTLASS's example 93 names lane 0
 * in all four warps, and needs each to get its own. */
static uint32_t in_quarter(emu_warp *warp, const emu_op *op, const move_detail *detail, uint32_t address) {
    const uint32_t quarter = warp->index % 4 * 32, lane = address >> 16;
    const uint32_t within = detail->shape->lanes == 16 ? lane & 16 : 0;
    if (lane != quarter + within)
        emu_find(warp, op, -1, EMU_TENSOR, 6, "the address 0x%08x has lane %u: warp %u reaches lanes %u to %u", address,
                 lane, warp->index, quarter, quarter + 31);
    return (quarter + within) << 16 | (address & 0xffff);
}

/* Whether lanes and columns are allocated. */
static bool check_place(emu_warp *warp, const emu_op *op, const move_detail *detail, uint32_t address) {
    const uint32_t lanes = (uint32_t)detail->shape->lanes;
    const uint32_t columns = (uint32_t)(detail->repetitions * detail->shape->columns) << detail->packed;
    if (!emu_tensor_allocated(warp, op, warp->block, address, lanes, columns, "the tile")) return false;
    return detail->shape != &shapes[SHAPE_16X32BX2] ||
           emu_tensor_allocated(warp, op, warp->block, address + detail->half, lanes, columns,
                                "the tile's second half");
}

static void touch(emu_warp *warp, const emu_op *op, const move_detail *detail, uint32_t address, bool load) {
    const struct emu_tensor_use *use = emu_tensor_use_of(warp);
    const uint32_t columns = (uint32_t)(detail->repetitions * detail->shape->columns) << detail->packed;
    emu_actor actor;
    emu_tensor_actor(warp, op, -1, load ? EMU_STREAM_TENSOR_LOAD : EMU_STREAM_TENSOR_STORE,
                     load ? use->loads : use->stores, &actor);
    for (uint32_t half = 0; half <= (detail->shape == &shapes[SHAPE_16X32BX2]); half++)
        for (uint32_t i = 0; i < columns; i++)
            emu_tensor_touch(&actor, warp->block, load ? EMU_READ : EMU_WRITE, address >> 16,
                             (address & 0xffff) + half * detail->half + i, (uint32_t)detail->shape->lanes);
    emu_actor_end(&actor);
}

/* Lanes from here on are taken for those of a pair's second block, by which published kernels name the rows of an
 * accumulator of 256. */
enum { SECOND = EMU_TENSOR_LANES << 16 };

static bool begin_move(emu_warp *warp, const emu_op *op, emu_mask mask, bool load, uint32_t *address) {
    const move_detail *detail = op->detail;
    uint64_t addresses[EMU_LANES];
    uint32_t lanes[EMU_LANES];
    emu_addresses(warp, &detail->address, addresses);
    for (int lane = 0; lane < EMU_LANES; lane++) lanes[lane] = (uint32_t)addresses[lane];
    *address = emu_tensor_uniform(warp, op, mask, lanes, "the address");
    if (emu_tensor_of(warp->block)->group == 2 && warp->block->rank & 1 && *address >= SECOND) *address -= SECOND;
    *address = in_quarter(warp, op, detail, *address);
    if (!check_place(warp, op, detail, *address)) return false;
    touch(warp, op, detail, *address, load);
    return true;
}

static emu_result run_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const move_detail *detail = op->detail;
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    uint32_t address, lane, column;
    if (!begin_move(warp, op, mask, true, &address)) return EMU_ABORT;
    for (int r = 0; r < detail->registers; r++) {
        uint32_t *data = emu_u32(warp, detail->data[r]);
        for (int t = 0; t < EMU_LANES; t++) {
            if (!(mask >> t & 1)) continue;
            place(detail, t, r, &lane, &column);
            const uint32_t *cell = &warp->block->tensor->cell[(address & 0xffff) + column][(address >> 16) + lane];
            data[t] = detail->packed ? (cell[0] & 0xffff) | cell[EMU_TENSOR_LANES] << 16 : cell[0];
        }
        use->loaded[detail->data[r].at / 64] = use->loads + 1;
    }
    use->pending = true;
    return EMU_NEXT;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const move_detail *detail = op->detail;
    uint32_t address, lane, column;
    if (!begin_move(warp, op, mask, false, &address)) return EMU_ABORT;
    for (int r = 0; r < detail->registers; r++) {
        const uint32_t *data = emu_u32(warp, detail->data[r]);
        for (int t = 0; t < EMU_LANES; t++) {
            if (!(mask >> t & 1)) continue;
            place(detail, t, r, &lane, &column);
            uint32_t *cell = &warp->block->tensor->cell[(address & 0xffff) + column][(address >> 16) + lane];
            cell[0] = detail->packed ? data[t] & 0xffff : data[t];
            if (detail->packed) cell[EMU_TENSOR_LANES] = data[t] >> 16;
        }
    }
    return EMU_NEXT;
}

/* ---- decoders -------------------------------------------------------------------------------------------- */
static bool take_shape(emu_decoding *d, move_detail *detail) {
    for (int i = 0; i < N_SHAPES && !detail->shape; i++)
        if (ptx_take(&d->words, shapes[i].name)) detail->shape = &shapes[i];
    if (!detail->shape) return emu_decode_fail(d, "a shape is due: 32x32b, 16x64b, 16x128b, 16x256b, 16x32bx2");
    for (int n = 1; n <= detail->shape->most && !detail->repetitions; n *= 2) {
        char word[8];
        snprintf(word, sizeof word, "x%d", n);
        if (ptx_take(&d->words, word)) detail->repetitions = n;
    }
    if (!detail->repetitions) return emu_decode_fail(d, "x1 to x%d is due", detail->shape->most);
    detail->registers = detail->repetitions * detail->shape->registers;
    return true;
}

/* Operand k: columns between the halves. */
static bool take_half(emu_decoding *d, int k, move_detail *detail) {
    if (detail->shape != &shapes[SHAPE_16X32BX2]) return true;
    const ptx_operand *half = &d->instruction->operand[k];
    if (half->kind != PTX_INTEGER || half->bits >= EMU_TENSOR_COLUMNS)
        return emu_decode_fail(d, "the offset of the second half must be a constant below %d", EMU_TENSOR_COLUMNS);
    detail->half = (uint32_t)half->bits;
    return true;
}

static bool begin(emu_decoding *d, emu_run *run, const char *pack, move_detail **out) {
    move_detail *detail = *out = emu_decode_alloc(d, sizeof *detail);
    d->op->run = run;
    d->op->aligned = true;
    d->op->detail = detail;
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !take_shape(d, detail)) return false;
    detail->packed = ptx_take(&d->words, pack);
    const int operands = detail->shape == &shapes[SHAPE_16X32BX2] ? 3 : 2;
    return emu_mma_expect(d, "b32") && emu_mma_end(d) && emu_tensor_operands(d, operands, operands);
}

bool emu_decode_tensor_load(emu_decoding *d) {
    move_detail *detail;
    return begin(d, run_load, "pack::16b", &detail) && emu_tensor_address(d, 1, &detail->address) &&
           take_half(d, 2, detail) && emu_mma_destinations(d, 0, PTX_B32, detail->registers, detail->data);
}

bool emu_decode_tensor_store(emu_decoding *d) {
    move_detail *detail;
    const int data = d->instruction->n_operands - 1;
    return begin(d, run_store, "unpack::16b", &detail) && emu_tensor_address(d, 0, &detail->address) &&
           take_half(d, 1, detail) && emu_mma_sources(d, data, PTX_B32, detail->registers, detail->data);
}
