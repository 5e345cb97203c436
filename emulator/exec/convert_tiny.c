/* cvt between f32, f16x2, bf16x2 and pairs of 4 and 6 bits, and of exponents (ue8m0), of sm_100.
 *
 * Floats of 4 and 6 bits have no infinities and no NaN: what is beyond the largest number, and a NaN, becomes that number. */
#include <math.h>
#include <string.h>

#include "exec/convert.h"
#include "exec/lanes.h"
#include "exec/numbers.h"

typedef struct tiny {
    const char *word;
    int exponent_bits, mantissa_bits;
    int apart; /* bits from one of the pair to the other */
} tiny;
static const tiny tinies[] = {{"e2m1x2", 2, 1, 4}, {"e2m3x2", 2, 3, 8}, {"e3m2x2", 3, 2, 8}};
enum { N_TINIES = 3, DOWN = 0, UP = 1 };

/* Of a code without its sign. */
static float magnitude_of(const tiny *t, uint32_t code) {
    const int exponent = (int)(code >> t->mantissa_bits), bias = (1 << (t->exponent_bits - 1)) - 1;
    const uint32_t mantissa = code & ((1u << t->mantissa_bits) - 1);
    const uint32_t whole = exponent ? mantissa | 1u << t->mantissa_bits : mantissa;
    return ldexpf((float)whole, (exponent ? exponent : 1) - bias - t->mantissa_bits);
}

static float value_of(const tiny *t, uint32_t code) {
    const int sign = t->exponent_bits + t->mantissa_bits;
    const float magnitude = magnitude_of(t, code & ((1u << sign) - 1));
    return code >> sign & 1 ? -magnitude : magnitude;
}

/* To nearest, ties to even codes. */
static uint32_t code_of(const tiny *t, float value, bool relu) {
    const int sign = t->exponent_bits + t->mantissa_bits;
    const uint32_t largest = (1u << sign) - 1, negative = f32_bits(value) >> 31;
    if (value != value) return largest;
    if (relu && negative) return 0;
    const float magnitude = fabsf(value);
    uint32_t code = 0;
    while (code < largest) {
        const float middle = (magnitude_of(t, code) + magnitude_of(t, code + 1)) / 2; /* exact */
        if (magnitude < middle || (magnitude == middle && code % 2 == 0)) break;
        code++;
    }
    return code | negative << sign;
}

/* The exponent of a power of two, the next one below or above. */
static uint32_t exponent_of(float value, bool up, bool finite) {
    const uint32_t bits = f32_bits(value) & 0x7fffffffu, exponent = bits >> 23, mantissa = bits & 0x7fffffu;
    if (bits > 0x7f800000u) return 255;
    if (bits == 0x7f800000u) return finite ? 254 : 255;
    if (exponent == 0) return up && mantissa > 1u << 22; /* code 0 is 2^-127, half of the least normal number */
    const uint32_t code = exponent + (up && mantissa);
    return code == 255 && finite ? 254 : code;
}

/* type: which of the tiny ones; flags: of conversions. a is in the upper part. */
static emu_result run_to_tiny(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const tiny *t = &tinies[op->type];
    const float *a = emu_f32(warp, op->operand[1]), *b = emu_f32(warp, op->operand[2]);
    const bool relu = op->flags & CONVERT_RELU;
    uint64_t out[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++)
        out[lane] = code_of(t, a[lane], relu) << t->apart | code_of(t, b[lane], relu);
    emu_lanes_write(warp, op->operand[0], mask, out);
    return EMU_NEXT;
}

static emu_result run_of_tiny(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const tiny *t = &tinies[op->type];
    uint64_t in[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], in);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        float high = value_of(t, (uint32_t)(in[lane] >> t->apart)), low = value_of(t, (uint32_t)in[lane]);
        if (op->flags & CONVERT_RELU) high = fmaxf(high, 0), low = fmaxf(low, 0);
        in[lane] = (uint32_t)f16_of_f32(high) << 16 | f16_of_f32(low);
    }
    emu_lanes_write(warp, op->operand[0], mask, in);
    return EMU_NEXT;
}

/* kind: up or down; from f32, or from one pair of bf16. */
static emu_result run_to_exponents(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const bool up = op->kind == UP, finite = op->flags & CONVERT_FINITE;
    const uint32_t *a = emu_u32(warp, op->operand[1]);
    const uint32_t *b = op->operand[2].at == EMU_NOWHERE ? NULL : emu_u32(warp, op->operand[2]);
    uint64_t out[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++) {
        const float high = f32_of(b ? a[lane] : a[lane] & 0xffff0000u), low = f32_of(b ? b[lane] : a[lane] << 16);
        out[lane] = exponent_of(high, up, finite) << 8 | exponent_of(low, up, finite);
    }
    emu_lanes_write(warp, op->operand[0], mask, out);
    return EMU_NEXT;
}

static uint32_t bf16_of_exponent(uint32_t code) { return code == 255 ? 0x7fff : code ? code << 7 : 0x40; }

static emu_result run_of_exponents(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t in[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], in);
    for (int lane = 0; lane < EMU_LANES; lane++)
        in[lane] = bf16_of_exponent(in[lane] >> 8 & 255) << 16 | bf16_of_exponent(in[lane] & 255);
    emu_lanes_write(warp, op->operand[0], mask, in);
    return EMU_NEXT;
}

/* ---- decoding -------------------------------------------------------------------------------------------- */
static int take_tiny(emu_decoding *d) {
    for (int i = 0; i < N_TINIES; i++)
        if (ptx_take(&d->words, tinies[i].word)) return i;
    return -1;
}

static bool decode_exponents(emu_decoding *d, int rounding) {
    if (rounding != 1 && rounding != 2) return emu_decode_fail(d, "to .ue8m0x2: .rz or .rp");
    d->op->kind = rounding == 2 ? UP : DOWN;
    if (ptx_take(&d->words, "f32"))
        return emu_decode_all(d, run_to_exponents, 3, (ptx_type[]){PTX_B16, PTX_F32, PTX_F32});
    return ptx_take(&d->words, "bf16x2") ? emu_decode_all(d, run_to_exponents, 2, (ptx_type[]){PTX_B16, PTX_B32})
                                         : emu_decode_fail(d, "to .ue8m0x2: from .f32 or .bf16x2");
}

static bool decode_tiny(emu_decoding *d) {
    static const char *const roundings[] = {"rn", "rz", "rp", NULL};
    const int rounding = ptx_take_of(&d->words, roundings, -1);
    const bool finite = ptx_take(&d->words, "satfinite"), relu = ptx_take(&d->words, "relu");
    const bool exponents = ptx_take(&d->words, "ue8m0x2");
    const int to = exponents ? -1 : take_tiny(d);
    d->op->flags = (uint8_t)((finite ? CONVERT_FINITE : 0) | (relu ? CONVERT_RELU : 0));
    if (exponents) return decode_exponents(d, rounding);
    if (to >= 0) {
        d->op->type = (uint8_t)to;
        if (rounding != 0 || !finite || !ptx_take(&d->words, "f32"))
            return emu_decode_fail(d, "to .%s: .rn.satfinite, from .f32", tinies[to].word);
        return emu_decode_all(d, run_to_tiny, 3, (ptx_type[]){to ? PTX_B16 : PTX_B8, PTX_F32, PTX_F32});
    }
    if (ptx_take(&d->words, "bf16x2") && ptx_take(&d->words, "ue8m0x2"))
        return emu_decode_all(d, run_of_exponents, 2, (ptx_type[]){PTX_B32, PTX_B16});
    if (!ptx_take(&d->words, "f16x2")) return emu_decline(d);
    const int from = take_tiny(d);
    if (from < 0) return emu_decline(d);
    d->op->type = (uint8_t)from;
    return emu_decode_all(d, run_of_tiny, 2, (ptx_type[]){PTX_B32, from ? PTX_B16 : PTX_B8});
}

/* Architectures before sm_100 do not have them. */
static bool decode_cvt(emu_decoding *d) {
    return emu_options_get()->architecture < 100 ? emu_decline(d) : decode_tiny(d);
}

extern const emu_mnemonic emu_mnemonics_tiny[];
const emu_mnemonic emu_mnemonics_tiny[] = {{"cvt", decode_cvt}, {NULL, NULL}};
