/* cvt with pairs, tf32, e4m3 and e5m2, and cvt.pack. */
#include "exec/convert.h"
#include "exec/lanes.h"
#include "exec/numbers.h"

/* ---- what programs are full of ----------------------------------------------------------------------------------- */
EMU_BINARY(f16x2_f32, uint32_t, float, float, (uint32_t)f16_of_f32(a) << 16 | f16_of_f32(b))
EMU_BINARY(bf16x2_f32, uint32_t, float, float, (uint32_t)bf16_of_f32(a) << 16 | bf16_of_f32(b))
static inline float no_negative(float a) { return f32_of(f32_bits(a) >> 31 && a == a ? 0 : f32_bits(a)); }
EMU_BINARY(f16x2_f32_relu, uint32_t, float, float,
           (uint32_t)f16_of_f32(no_negative(a)) << 16 | f16_of_f32(no_negative(b)))
EMU_BINARY(bf16x2_f32_relu, uint32_t, float, float,
           (uint32_t)bf16_of_f32(no_negative(a)) << 16 | bf16_of_f32(no_negative(b)))
/* To nearest, ties away: half of the last bit is added. Of a NaN the low bits are cut off, even if that makes it Inf.
 */
EMU_UNARY(tf32_f32, uint32_t, uint32_t, (a + ((a & 0x7fffffffu) > 0x7f800000u ? 0 : 0x1000)) & 0xffffe000u)

/* ---- any --------------------------------------------------------------------------------------------------------- */
/* type, type2: of one number; kind: rounding. */
static uint64_t narrowed(const emu_op *op, uint64_t bits) {
    emu_exact value = emu_exact_of_float(bits, (ptx_type)op->type2);
    if (op->type == PTX_TF32 && op->kind == ROUND_NEAREST_AWAY && (value.nan || value.infinite))
        return (bits & 0xffffe000u) -
               (op->flags & CONVERT_FINITE ? 0x2000 : 0); /* of a NaN, too, as the hardware does */
    if (op->flags & CONVERT_RELU && value.negative && !value.nan) return 0;
    return emu_float_of_exact(&value, (ptx_type)op->type, op->kind, op->flags & CONVERT_FINITE);
}

static emu_result single(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t a[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], a);
    for (int lane = 0; lane < EMU_LANES; lane++) a[lane] = narrowed(op, a[lane]);
    emu_lanes_write(warp, op->operand[0], mask, a);
    return EMU_NEXT;
}

/* Two numbers, a in the upper part. */
static emu_result joined(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t a[EMU_LANES], b[EMU_LANES];
    int bits = 8 * ptx_type_bytes[op->type];
    emu_lanes_read(warp, op->operand[1], a);
    emu_lanes_read(warp, op->operand[2], b);
    for (int lane = 0; lane < EMU_LANES; lane++) a[lane] = narrowed(op, a[lane]) << bits | narrowed(op, b[lane]);
    emu_lanes_write(warp, op->operand[0], mask, a);
    return EMU_NEXT;
}

/* A pair from a pair. */
static emu_result paired(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t a[EMU_LANES];
    int to = 8 * ptx_type_bytes[op->type], from = 8 * ptx_type_bytes[op->type2];
    emu_lanes_read(warp, op->operand[1], a);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        uint64_t low = a[lane] & ((UINT64_C(1) << from) - 1), high = a[lane] >> from & ((UINT64_C(1) << from) - 1);
        a[lane] = narrowed(op, high) << to | narrowed(op, low);
    }
    emu_lanes_write(warp, op->operand[0], mask, a);
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static ptx_type element_of(ptx_type pair) {
    switch (pair) {
        case PTX_F16X2: return PTX_F16;
        case PTX_BF16X2: return PTX_BF16;
        case PTX_E4M3X2: return PTX_E4M3;
        case PTX_E5M2X2: return PTX_E5M2;
        default: return PTX_NONE;
    }
}

static bool decode_narrow(emu_decoding *d) {
    static const char *const roundings[] = {"rn", "rz", "rna", NULL};
    static const uint8_t rounding_of[] = {ROUND_NEAREST, ROUND_ZERO, ROUND_NEAREST_AWAY};
    int rounding = ptx_take_of(&d->words, roundings, -1), flags = 0;
    flags |= ptx_take(&d->words, "satfinite") ? CONVERT_FINITE : 0;
    flags |= ptx_take(&d->words, "relu") ? CONVERT_RELU : 0;
    flags |= ptx_take(&d->words, "satfinite") ? CONVERT_FINITE : 0;
    ptx_type to = ptx_take_type(&d->words), from = ptx_take_type(&d->words);
    if (rounding < 0) return emu_decline(d);
    bool byte = to == PTX_E4M3X2 || to == PTX_E5M2X2, of_byte = from == PTX_E4M3X2 || from == PTX_E5M2X2;
    d->op->kind = rounding_of[rounding];
    d->op->flags = (uint8_t)flags;
    if (to == PTX_TF32 && from == PTX_F32) {
        d->op->type = PTX_TF32, d->op->type2 = PTX_F32;
        return emu_decode_all(d, rounding == 2 && !flags ? tf32_f32 : single, 2, (ptx_type[]){PTX_B32, PTX_F32});
    }
    if (byte && (rounding != 0 || !(flags & CONVERT_FINITE)))
        return emu_decode_fail(d, "to .%s: .rn.satfinite", ptx_type_text[to]);
    if (rounding == 2) return emu_decode_fail(d, ".rna is for tf32");
    d->op->type = (uint8_t)element_of(to), d->op->type2 = (uint8_t)(from == PTX_F32 ? PTX_F32 : element_of(from));
    if (from == PTX_F32 && element_of(to) != PTX_NONE) {
        emu_run *run = joined;
        bool plain = rounding == 0 && !(flags & CONVERT_FINITE), relu = flags & CONVERT_RELU;
        if (to == PTX_F16X2 && plain) run = relu ? f16x2_f32_relu : f16x2_f32;
        if (to == PTX_BF16X2 && plain) run = relu ? bf16x2_f32_relu : bf16x2_f32;
        return emu_decode_all(d, run, 3, (ptx_type[]){byte ? PTX_B16 : PTX_B32, PTX_F32, PTX_F32});
    }
    if (byte && from == PTX_F16X2) return emu_decode_all(d, paired, 2, (ptx_type[]){PTX_B16, PTX_B32});
    if (to == PTX_F16X2 && of_byte && rounding == 0)
        return emu_decode_all(d, paired, 2, (ptx_type[]){PTX_B32, PTX_B16});
    return emu_decline(d);
}

/* ---- cvt.pack: integers clamped to few bits, beside what was packed before --------------------------------------- */
/* kind: bits; flags: signed. */
static emu_result run_pack(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const int32_t *a = emu_at(warp, op->operand[1].at), *b = emu_at(warp, op->operand[2].at);
    const uint32_t *c = op->operand[3].at == EMU_NOWHERE ? NULL : emu_u32(warp, op->operand[3]);
    uint32_t *d = emu_u32(warp, op->operand[0]), ones = (1u << op->kind) - 1;
    int32_t least = op->flags ? -(1 << (op->kind - 1)) : 0,
            most = op->flags ? (1 << (op->kind - 1)) - 1 : (int32_t)ones;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        int32_t x = a[lane] < least ? least : a[lane] > most ? most : a[lane];
        int32_t y = b[lane] < least ? least : b[lane] > most ? most : b[lane];
        uint32_t both = ((uint32_t)x & ones) << op->kind | ((uint32_t)y & ones);
        if (c) both |= c[lane] << 2 * op->kind;
        if (mask >> lane & 1) d[lane] = both;
    }
    return EMU_NEXT;
}

static bool decode_pack(emu_decoding *d) {
    static const char *const types[] = {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2", NULL};
    if (!ptx_take(&d->words, "pack")) return emu_decline(d);
    bool sat = ptx_take(&d->words, "sat");
    int type = ptx_take_of(&d->words, types, -1);
    if (!sat || type < 0 || !ptx_take(&d->words, "s32")) return emu_decode_fail(d, "cvt.pack.sat.type.s32{.b32}");
    bool more = ptx_take(&d->words, "b32");
    if (more != (type > 1)) return emu_decode_fail(d, "c is packed beside fewer than 16 bits");
    d->op->kind = (uint8_t)(16 >> type / 2);
    d->op->flags = type & 1;
    return emu_decode_all(d, run_pack, more ? 4 : 3, (ptx_type[]){PTX_B32, PTX_S32, PTX_S32, PTX_B32});
}

extern const emu_mnemonic emu_mnemonics_narrow[];
const emu_mnemonic emu_mnemonics_narrow[] = {{"cvt", decode_pack}, {"cvt", decode_narrow}, {NULL, NULL}};
