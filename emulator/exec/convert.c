/* cvt between integers, f16, bf16, f32, f64. Narrow floats (e4m3, e5m2, tf32) and pairs: convert_narrow.c. */
#include "exec/convert.h"

#include "exec/lanes.h"
#include "exec/numbers.h"

/* ---- the pairs that programs are full of ------------------------------------------------------------------------- */
EMU_UNARY(u64_u32, uint64_t, uint32_t, a)
EMU_UNARY(s64_s32, int64_t, int32_t, a)
EMU_UNARY(u32_u64, uint32_t, uint64_t, a)
EMU_UNARY(u16_u32, uint16_t, uint32_t, a)
EMU_UNARY(u32_u16, uint32_t, uint16_t, a)
EMU_UNARY(s32_s16, int32_t, int16_t, a)
EMU_UNARY(f32_s32, float, int32_t, (float)a)
EMU_UNARY(f32_s16, float, int16_t, (float)a)
EMU_UNARY(f32_f16, float, uint16_t, f32_canonical(f16_to_f32(a)))
EMU_UNARY(f32_bf16, uint32_t, uint16_t, (uint32_t)a << 16)
EMU_UNARY(f16_f32, uint16_t, float, f16_of_f32(a))
EMU_UNARY(bf16_f32, uint16_t, float, bf16_of_f32(a))

static const struct fast {
    ptx_type to, from;
    uint8_t rounding; /* that it must have; or none */
    emu_run *run;
} fast[] = {
    {PTX_U64, PTX_U32, ROUND_NONE, u64_u32},    {PTX_S64, PTX_U32, ROUND_NONE, u64_u32},
    {PTX_S64, PTX_S32, ROUND_NONE, s64_s32},    {PTX_U64, PTX_S32, ROUND_NONE, s64_s32},
    {PTX_U32, PTX_U64, ROUND_NONE, u32_u64},    {PTX_S32, PTX_U64, ROUND_NONE, u32_u64},
    {PTX_U32, PTX_S64, ROUND_NONE, u32_u64},    {PTX_S32, PTX_S64, ROUND_NONE, u32_u64},
    {PTX_U16, PTX_U32, ROUND_NONE, u16_u32},    {PTX_U16, PTX_S32, ROUND_NONE, u16_u32},
    {PTX_S16, PTX_U32, ROUND_NONE, u16_u32},    {PTX_S16, PTX_S32, ROUND_NONE, u16_u32},
    {PTX_U32, PTX_U16, ROUND_NONE, u32_u16},    {PTX_S32, PTX_U16, ROUND_NONE, u32_u16},
    {PTX_S32, PTX_S16, ROUND_NONE, s32_s16},    {PTX_U32, PTX_S16, ROUND_NONE, s32_s16},
    {PTX_F32, PTX_S32, ROUND_NEAREST, f32_s32}, {PTX_F32, PTX_S16, ROUND_NEAREST, f32_s16},
    {PTX_F32, PTX_F16, ROUND_NONE, f32_f16},    {PTX_F32, PTX_BF16, ROUND_NONE, f32_bf16},
    {PTX_F16, PTX_F32, ROUND_NEAREST, f16_f32}, {PTX_BF16, PTX_F32, ROUND_NEAREST, bf16_f32},
};

/* ---- any pair ---------------------------------------------------------------------------------------------------- */
/* A NaN to or from f64 keeps its sign and the top of its fraction, and is quiet; other floats become the one NaN.
 * Integers become 0, 64 bits of them and all that come from f64 the sign bit alone. bf16 to f32 only moves bits. */
static uint64_t nan_converted(uint64_t bits, ptx_type to, ptx_type from) {
    int size = 8 * ptx_type_bytes[to], fraction = emu_fraction_bits(to), of = emu_fraction_bits(from);
    if (!emu_is_float(to)) return size == 64 || from == PTX_F64 ? UINT64_C(1) << (size - 1) : 0;
    if (to == PTX_F32 && from == PTX_BF16) return bits << 16;
    uint64_t top = (UINT64_C(1) << (size - 1)) - (UINT64_C(1) << fraction); /* the exponent's ones */
    if (to != PTX_F64 && from != PTX_F64) return top | ((UINT64_C(1) << fraction) - 1);
    uint64_t sign = bits >> (8 * ptx_type_bytes[from] - 1) & 1, kept = bits << (64 - of) >> (64 - fraction);
    return sign << (size - 1) | top | kept | UINT64_C(1) << (fraction - 1);
}

/* type, type2: to, from; kind: rounding; flags. */
static uint64_t converted(const emu_op *op, uint64_t bits) {
    ptx_type to = (ptx_type)op->type, from = (ptx_type)op->type2;
    int flags = op->flags;
    if (flags & CONVERT_FTZ && from == PTX_F32) bits = f32_bits(f32_canonical(f32_flushed(f32_of((uint32_t)bits))));
    bool nan = emu_is_float(from) && emu_exact_of_float(bits, from).nan;
    if (nan && !(flags & CONVERT_SAT)) return nan_converted(bits, to, from);
    emu_exact value = emu_is_float(from) ? emu_exact_of_float(bits, from) : emu_exact_of_integer(bits, from);
    if (!emu_is_float(to)) {
        if (emu_is_float(from) || flags & CONVERT_SAT) return emu_integer_of_exact(&value, to, op->kind);
        return value.negative ? 0 - value.m : value.m; /* cut, or extended by its own sign */
    }
    if (flags & CONVERT_RELU && (value.nan ? false : value.negative)) return 0;
    if (flags & CONVERT_TO_INTEGER && !value.nan && !value.infinite && value.m && value.e < 0) {
        value.m = emu_exact_rounded(&value, 0, op->kind);
        value.e = 0;
    }
    if (flags & CONVERT_SAT) {
        bool one = value.infinite || (value.m && 63 - __builtin_clzll(value.m) + value.e >= 0);
        if (value.nan || value.negative)
            value = (emu_exact){0};
        else if (one)
            value = (emu_exact){.m = 1};
    }
    int rounding = flags & CONVERT_TO_INTEGER || op->kind == ROUND_NONE ? ROUND_NEAREST : op->kind;
    uint64_t result = emu_float_of_exact(&value, to, rounding, flags & CONVERT_FINITE);
    if (flags & CONVERT_FTZ && to == PTX_F32) result = f32_bits(f32_flushed(f32_of((uint32_t)result)));
    return result;
}

static emu_result any_to_any(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t value[EMU_LANES];
    int bytes = ptx_type_bytes[op->type2], to_bytes = ptx_type_bytes[op->type];
    emu_lanes_read(warp, op->operand[1], value);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        uint64_t bits = bytes == 8 ? value[lane] : value[lane] & ((UINT64_C(1) << 8 * bytes) - 1);
        bits = converted(op, bits);
        /* A wider register takes the value extended by its type's sign. */
        int shift = 64 - 8 * to_bytes;
        value[lane] =
            emu_is_signed((ptx_type)op->type) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
    }
    emu_lanes_write(warp, op->operand[0], mask, value);
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static const char *const roundings[] = {"rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna", NULL};
static const uint8_t rounding_of[] = {ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP,          ROUND_NEAREST,
                                      ROUND_ZERO,    ROUND_DOWN, ROUND_UP,   ROUND_NEAREST_AWAY};

static bool is_scalar(ptx_type type) {
    bool integer = type == PTX_U8 || type == PTX_S8 || type == PTX_U16 || type == PTX_S16 || type == PTX_U32 ||
                   type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    return integer || type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}

/* A rounding must be given where bits may be lost, and only there (.rn of f16 → bf16 counts). */
static bool check_rounding(emu_decoding *d, ptx_type to, ptx_type from, int word) {
    bool integral = word >= 0 && word < 4, floating = word >= 4;
    bool widens = emu_is_float(to) && emu_is_float(from) && ptx_type_bytes[to] > ptx_type_bytes[from];
    if (!emu_is_float(to) && emu_is_float(from))
        return integral ? true : emu_decode_fail(d, "a rounding to an integer is due: .rzi");
    if (!emu_is_float(from)) {
        if (emu_is_float(to) ? floating : word < 0) return true;
        return emu_decode_fail(d, emu_is_float(to) ? "a rounding is due: .rn" : "integers are not rounded");
    }
    if (to == from || widens) return !floating || to == from ? true : emu_decode_fail(d, "nothing is rounded here");
    return floating ? true : emu_decode_fail(d, "a rounding is due: .rn");
}

static bool decode_cvt(emu_decoding *d) {
    int word = ptx_take_of(&d->words, roundings, -1), flags = 0;
    flags |= ptx_take(&d->words, "relu") ? CONVERT_RELU : 0;
    flags |= ptx_take(&d->words, "satfinite") ? CONVERT_FINITE : 0;
    flags |= ptx_take(&d->words, "ftz") ? CONVERT_FTZ : 0;
    flags |= ptx_take(&d->words, "sat") ? CONVERT_SAT : 0;
    ptx_type to = ptx_take_type(&d->words), from = ptx_take_type(&d->words);
    if (!is_scalar(to) || !is_scalar(from)) return emu_decline(d);
    if (!check_rounding(d, to, from, word)) return false;
    if (emu_is_float(to) && word >= 0 && word < 4) flags |= CONVERT_TO_INTEGER;
    if (flags & (CONVERT_RELU | CONVERT_FINITE) && ((to != PTX_F16 && to != PTX_BF16) || from != PTX_F32))
        return emu_decode_fail(d, ".relu and .satfinite are for f16 and bf16 from f32");
    d->op->type = (uint8_t)to, d->op->type2 = (uint8_t)from;
    d->op->kind = word < 0 ? ROUND_NONE : rounding_of[word];
    d->op->flags = (uint8_t)flags;
    if (!emu_decode_wider(d, any_to_any, 2, (ptx_type[]){to, from})) return false;
    bool as_wide = d->op->operand[0].bytes == ptx_type_bytes[to] && d->op->operand[1].bytes == ptx_type_bytes[from];
    for (size_t i = 0; as_wide && !flags && i < sizeof fast / sizeof *fast; i++)
        if (fast[i].to == to && fast[i].from == from && fast[i].rounding == d->op->kind) d->op->run = fast[i].run;
    return true;
}

extern const emu_mnemonic emu_mnemonics_convert[];
const emu_mnemonic emu_mnemonics_convert[] = {{"cvt", decode_cvt}, {NULL, NULL}};
