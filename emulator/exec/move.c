/* mov: registers, immediates, special registers, addresses; packing parts into a whole and back. selp and slct. */
#include "exec/lanes.h"
#include "exec/numbers.h"

EMU_UNARY(mov_16, uint16_t, uint16_t, a)
EMU_UNARY(mov_32, uint32_t, uint32_t, a)
EMU_UNARY(mov_64, uint64_t, uint64_t, a)

static emu_result mov_pred(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_set_pred(warp, op->operand[0], mask, emu_pred(warp, op->operand[1]));
    return EMU_NEXT;
}

static emu_result mov_128(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t *d = emu_u64(warp, op->operand[0]);
    const uint64_t *a = emu_u64(warp, op->operand[1]);
    for (int k = 0; k < 2 * EMU_LANES; k++) d[k] = mask >> k / 2 & 1 ? a[k] : d[k];
    return EMU_NEXT;
}

/* ---- {a, b, …} as one -------------------------------------------------------------------------------------------- */
EMU_BINARY(pack_16_16, uint32_t, uint16_t, uint16_t, a | (uint32_t)b << 16)
EMU_BINARY(pack_32_32, uint64_t, uint32_t, uint32_t, a | (uint64_t)b << 32)

/* Any: n parts of `type` bytes each. */
static emu_result pack(emu_warp *warp, const emu_op *op, emu_mask mask) {
    int n = op->kind, bytes = op->type;
    uint8_t whole[16 * EMU_LANES];
    for (int k = 0; k < n; k++) {
        uint64_t part[EMU_LANES];
        emu_lanes_read(warp, op->operand[1 + k], part);
        for (int lane = 0; lane < EMU_LANES; lane++)
            memcpy(whole + lane * n * bytes + k * bytes, part + lane, (size_t)bytes);
    }
    uint8_t *d = emu_at(warp, op->operand[0].at);
    const size_t size = (size_t)n * (size_t)bytes;
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) memcpy(d + (size_t)lane * size, whole + (size_t)lane * size, size);
    return EMU_NEXT;
}

static emu_result unpack(emu_warp *warp, const emu_op *op, emu_mask mask) {
    int n = op->kind, bytes = op->type;
    uint8_t whole[16 * EMU_LANES];
    memcpy(whole, emu_at(warp, op->operand[1 + n].at), (size_t)n * (size_t)bytes * EMU_LANES);
    for (int k = 0; k < n; k++) {
        uint64_t part[EMU_LANES] = {0};
        for (int lane = 0; lane < EMU_LANES; lane++)
            memcpy(part + lane, whole + lane * n * bytes + k * bytes, (size_t)bytes);
        emu_lanes_write(warp, op->operand[k], mask, part);
    }
    return EMU_NEXT;
}

/* Whole and parts do not overlap: a source's place is not given to a destination of the same instruction. */
EMU_LANEWISE static emu_result unpack_16_16(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint16_t *low = emu_u16(warp, op->operand[0]), *high = emu_u16(warp, op->operand[1]);
    const uint32_t *whole = emu_u32(warp, op->operand[3]);
    EMU_FOR_LANES(uint16_t, low, mask, uint32_t a = whole[lane], a)
    EMU_FOR_LANES(uint16_t, high, mask, uint32_t a = whole[lane], a >> 16)
    return EMU_NEXT;
}
EMU_LANEWISE static emu_result unpack_32_32(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint32_t *low = emu_u32(warp, op->operand[0]), *high = emu_u32(warp, op->operand[1]);
    const uint64_t *whole = emu_u64(warp, op->operand[3]);
    EMU_FOR_LANES(uint32_t, low, mask, uint64_t a = whole[lane], a)
    EMU_FOR_LANES(uint32_t, high, mask, uint64_t a = whole[lane], a >> 32)
    return EMU_NEXT;
}

/* The type of n parts of a whole; PTX_NONE: there is none. */
static ptx_type part_type(ptx_type whole, int n) {
    switch (ptx_type_bytes[whole] / (n ? n : 1)) {
        case 1: return PTX_B8;
        case 2: return PTX_B16;
        case 4: return PTX_B32;
        case 8: return n > 1 ? PTX_B64 : PTX_NONE;
        default: return PTX_NONE;
    }
}

static bool decode_parts(emu_decoding *d, ptx_type type, const ptx_operand *vector, bool into) {
    const ptx_operand *operand = d->instruction->operand;
    int n = vector->n_parts;
    ptx_type part = part_type(type, n);
    if (part == PTX_NONE || n > 4 || ptx_type_bytes[part] * n != ptx_type_bytes[type])
        return emu_decode_fail(d, "%d parts of a .%s", n, ptx_type_text[type]);
    for (int k = 0; k < n; k++) {
        emu_operand *out = d->op->operand + k + (into ? 1 : 0);
        if (!(into ? emu_exact_source(d, vector->parts + k, part, out)
                   : emu_exact_destination(d, vector->parts + k, part, out)))
            return false;
    }
    bool halves = n == 2 && part != PTX_B8 && part != PTX_B64, words = part == PTX_B32;
    for (int k = 0; k < n; k++) halves &= d->op->operand[k + (into ? 1 : 0)].bytes == ptx_type_bytes[part];
    d->op->kind = (uint8_t)n;
    d->op->type = ptx_type_bytes[part];
    if (into) {
        d->op->run = !halves ? pack : words ? pack_32_32 : pack_16_16;
        return emu_exact_destination(d, operand, type, d->op->operand);
    }
    d->op->run = !halves ? unpack : words ? unpack_32_32 : unpack_16_16;
    return emu_exact_source(d, operand + 1, type, d->op->operand + 1 + n);
}

static bool decode_mov(emu_decoding *d) {
    static emu_run *const runs[17] = {[2] = mov_16, [4] = mov_32, [8] = mov_64, [16] = mov_128};
    const ptx_operand *operand = d->instruction->operand;
    ptx_type type = ptx_take_type(&d->words);
    if (d->instruction->n_operands != 2 || !ptx_words_end(&d->words)) return emu_decode_fail(d, "mov.type d, a");
    if (operand[1].kind == PTX_VECTOR) return decode_parts(d, type, operand + 1, true);
    if (operand[0].kind == PTX_VECTOR) return decode_parts(d, type, operand, false);
    emu_run *run = type == PTX_PRED ? mov_pred : type == PTX_NONE ? NULL : runs[ptx_type_bytes[type]];
    return emu_decode_same(d, run, 2, type);
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */
#define SELECT(name, type)                                                                        \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {        \
        type *d = emu_at(warp, op->operand[0].at);                                                \
        const type *pa = emu_at(warp, op->operand[1].at), *pb = emu_at(warp, op->operand[2].at);  \
        emu_mask p = emu_pred(warp, op->operand[3]);                                              \
        EMU_FOR_LANES(type, d, mask, type a = pa[lane]; type b = pb[lane], p >> lane & 1 ? a : b) \
        return EMU_NEXT;                                                                          \
    }
SELECT(selp_16, uint16_t)
SELECT(selp_32, uint32_t)
SELECT(selp_64, uint64_t)

static bool decode_selp(emu_decoding *d) {
    static emu_run *const runs[17] = {[2] = selp_16, [4] = selp_32, [8] = selp_64};
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_all(d, runs[ptx_type_bytes[type]], 4, (ptx_type[]){type, type, type, PTX_PRED});
}

/* slct: a when c is not negative; a NaN is. */
#define SIGN_SELECT(bits)                                                                                  \
    EMU_TERNARY(slct_s32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, int32_t, c >= 0 ? a : b)  \
    EMU_TERNARY(slct_f32_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float, c >= 0.0f ? a : b) \
    EMU_TERNARY(slct_ftz_##bits, uint##bits##_t, uint##bits##_t, uint##bits##_t, float, f32_flushed(c) >= 0.0f ? a : b)
SIGN_SELECT(16)
SIGN_SELECT(32)
SIGN_SELECT(64)

static bool decode_slct(emu_decoding *d) {
    static emu_run *const runs[3][9] = {{[2] = slct_s32_16, [4] = slct_s32_32, [8] = slct_s32_64},
                                        {[2] = slct_f32_16, [4] = slct_f32_32, [8] = slct_f32_64},
                                        {[2] = slct_ftz_16, [4] = slct_ftz_32, [8] = slct_ftz_64}};
    bool ftz = ptx_take(&d->words, "ftz");
    ptx_type type = ptx_take_type(&d->words), by = ptx_take_type(&d->words);
    if ((by != PTX_S32 && by != PTX_F32) || (ftz && by != PTX_F32) || ptx_type_bytes[type] > 8)
        return emu_decode_fail(d, "slct{.ftz}.type.{s32,f32}");
    emu_run *run = runs[by == PTX_S32 ? 0 : 1 + ftz][ptx_type_bytes[type]];
    return emu_decode_all(d, run, 4, (ptx_type[]){type, type, type, by});
}

extern const emu_mnemonic emu_mnemonics_move[];
const emu_mnemonic emu_mnemonics_move[] = {
    {"mov", decode_mov},
    {"selp", decode_selp},
    {"slct", decode_slct},
    {NULL, NULL},
};
