/* Bits: logic, shifts, fields, counts, permutations, dot products of bytes. */
#include "exec/lanes.h"

#define WIDTHS(name, value)                                    \
    EMU_BINARY(name##_16, uint16_t, uint16_t, uint16_t, value) \
    EMU_BINARY(name##_32, uint32_t, uint32_t, uint32_t, value) \
    EMU_BINARY(name##_64, uint64_t, uint64_t, uint64_t, value)
#define BITS(name) [PTX_B16] = name##_16, [PTX_B32] = name##_32, [PTX_B64] = name##_64

/* ---- logic ------------------------------------------------------------------------------------------------------- */
WIDTHS(and, a &b)
WIDTHS(or, a | b)
WIDTHS(xor, a ^ b)
EMU_UNARY(not_16, uint16_t, uint16_t, ~a)
EMU_UNARY(not_32, uint32_t, uint32_t, ~a)
EMU_UNARY(not_64, uint64_t, uint64_t, ~a)
EMU_UNARY(cnot_16, uint16_t, uint16_t, a == 0)
EMU_UNARY(cnot_32, uint32_t, uint32_t, a == 0)
EMU_UNARY(cnot_64, uint64_t, uint64_t, a == 0)

#define PREDICATES(name, value)                                                          \
    static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {            \
        emu_mask a = emu_pred(warp, op->operand[1]), b = emu_pred(warp, op->operand[2]); \
        emu_set_pred(warp, op->operand[0], mask, value);                                 \
        return EMU_NEXT;                                                                 \
    }
PREDICATES(and_pred, a &b)
PREDICATES(or_pred, a | b)
PREDICATES(xor_pred, a ^ b)
static emu_result not_pred(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_set_pred(warp, op->operand[0], mask, ~emu_pred(warp, op->operand[1]));
    return EMU_NEXT;
}

static bool decode_typed(emu_decoding *d, emu_run *const *runs, int n) {
    ptx_type type;
    emu_run *run = emu_decode_typed(d, runs, &type);
    return run && emu_decode_same(d, run, n, type);
}
static bool decode_and(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {BITS(and), [PTX_PRED] = and_pred};
    return decode_typed(d, runs, 3);
}
static bool decode_or(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {BITS(or), [PTX_PRED] = or_pred};
    return decode_typed(d, runs, 3);
}
static bool decode_xor(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {BITS(xor), [PTX_PRED] = xor_pred};
    return decode_typed(d, runs, 3);
}
static bool decode_not(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {BITS(not ), [PTX_PRED] = not_pred};
    return decode_typed(d, runs, 2);
}
static bool decode_cnot(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {BITS(cnot)};
    return decode_typed(d, runs, 2);
}

/* lop3: any function of three bits; the table's bit 4a + 2b + c. As masks, so that it is the same for each lane. */
static inline uint32_t lut_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t d = 0;
    for (uint32_t row = 0; row < 8; row++) {
        uint32_t here = 0 - (table >> row & 1);
        d |= here & (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    }
    return d;
}
EMU_TERNARY(lop3, uint32_t, uint32_t, uint32_t, uint32_t, lut_bits(a, b, c, (uint32_t)op->value))

/* lop3.{or,and}.b32 d|p: p = (d != 0) op q. */
static emu_result lop3_pred(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const uint32_t *a = emu_u32(warp, op->operand[1]), *b = emu_u32(warp, op->operand[2]),
                   *c = emu_u32(warp, op->operand[3]);
    emu_mask q = emu_pred(warp, op->operand[5]), any = 0;
    uint32_t result[EMU_LANES], *d = emu_u32(warp, op->operand[0]);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        result[lane] = lut_bits(a[lane], b[lane], c[lane], (uint32_t)op->value);
        any |= (emu_mask)(result[lane] != 0) << lane;
    }
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) d[lane] = result[lane];
    emu_set_pred(warp, op->operand[4], mask, op->kind ? any & q : any | q);
    return EMU_NEXT;
}

static bool decode_lop3(emu_decoding *d) {
    static const char *const ways[] = {"or", "and", NULL};
    const ptx_operand *operand = d->instruction->operand;
    int way = ptx_take_of(&d->words, ways, -1), n = way < 0 ? 5 : 6;
    if (!ptx_take(&d->words, "b32") || !ptx_words_end(&d->words) || d->instruction->n_operands != n ||
        operand[4].kind != PTX_INTEGER || operand[4].bits > 255)
        return emu_decode_fail(d, "lop3{.or,.and}.b32 d{|p}, a, b, c, table{, q}");
    d->op->value = (int64_t)operand[4].bits;
    d->op->run = way < 0 ? lop3 : lop3_pred;
    for (int k = 1; k < 4; k++)
        if (!emu_exact_source(d, operand + k, PTX_B32, d->op->operand + k)) return false;
    if (way < 0) return emu_exact_destination(d, operand, PTX_B32, d->op->operand);
    d->op->kind = (uint8_t)way;
    if (operand->kind != PTX_PAIR) return emu_decode_fail(d, "the destinations are d|p");
    return emu_exact_destination(d, operand->parts, PTX_B32, d->op->operand) &&
           emu_exact_destination(d, operand->parts + 1, PTX_PRED, d->op->operand + 4) &&
           emu_decode_predicate(d, operand + 5, d->op->operand + 5);
}

/* ---- shifts: by more than the width is by the width -------------------------------------------------------------- */
EMU_BINARY(shl_16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : (uint32_t)a << (b & 15))
EMU_BINARY(shl_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << (b & 31))
EMU_BINARY(shl_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << (b & 63))
EMU_BINARY(shr_16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : a >> (b & 15))
EMU_BINARY(shr_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> (b & 31))
EMU_BINARY(shr_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> (b & 63))
EMU_BINARY(shr_s16, int16_t, int16_t, uint32_t, a >> (b > 15 ? 15 : b))
EMU_BINARY(shr_s32, int32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))
EMU_BINARY(shr_s64, int64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))

static bool decode_shift(emu_decoding *d) {
    static emu_run *const runs[2][PTX_N_TYPES] = {
        {BITS(shl)},
        {BITS(shr), [PTX_U16] = shr_16, [PTX_S16] = shr_s16, [PTX_U32] = shr_32, [PTX_S32] = shr_s32,
         [PTX_U64] = shr_64, [PTX_S64] = shr_s64},
    };
    ptx_type type;
    emu_run *run = emu_decode_typed(d, runs[d->instruction->word[0][2] == 'r'], &type);
    return run && emu_decode_all(d, run, 3, (ptx_type[]){type, type, PTX_U32});
}

/* Funnel: b above a, shifted as 64 bits. */
static inline uint64_t joined(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
EMU_TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, joined(a, b) << (c & 31) >> 32)
EMU_TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, joined(a, b) << (c > 32 ? 32 : c) >> 32)
EMU_TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, joined(a, b) >> (c & 31))
EMU_TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, joined(a, b) >> (c > 32 ? 32 : c))

static bool decode_funnel(emu_decoding *d) {
    static const char *const ways[] = {"l", "r", NULL}, *const modes[] = {"wrap", "clamp", NULL};
    static emu_run *const runs[2][2] = {{shf_l_wrap, shf_l_clamp}, {shf_r_wrap, shf_r_clamp}};
    int way = ptx_take_of(&d->words, ways, -1), mode = ptx_take_of(&d->words, modes, -1);
    if (way < 0 || mode < 0 || !ptx_take(&d->words, "b32")) return emu_decode_fail(d, "shf.{l,r}.{clamp,wrap}.b32");
    return emu_decode_same(d, runs[way][mode], 4, PTX_B32);
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */
static inline uint32_t ones(uint64_t a) {
    a -= a >> 1 & UINT64_C(0x5555555555555555);
    a = (a & UINT64_C(0x3333333333333333)) + (a >> 2 & UINT64_C(0x3333333333333333));
    a = (a + (a >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(a * UINT64_C(0x0101010101010101) >> 56);
}
static inline uint32_t zeros_above(uint64_t a, uint32_t bits) {
    return a ? (uint32_t)__builtin_clzll(a) - (64 - bits) : bits;
}
static inline uint64_t reversed(uint64_t a) {
    a = (a >> 1 & UINT64_C(0x5555555555555555)) | (a & UINT64_C(0x5555555555555555)) << 1;
    a = (a >> 2 & UINT64_C(0x3333333333333333)) | (a & UINT64_C(0x3333333333333333)) << 2;
    a = (a >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (a & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(a);
}
EMU_UNARY(popc_32, uint32_t, uint32_t, ones(a))
EMU_UNARY(popc_64, uint32_t, uint64_t, ones(a))
EMU_UNARY(clz_32, uint32_t, uint32_t, zeros_above(a, 32))
EMU_UNARY(clz_64, uint32_t, uint64_t, zeros_above(a, 64))
EMU_UNARY(brev_32, uint32_t, uint32_t, reversed(a) >> 32)
EMU_UNARY(brev_64, uint64_t, uint64_t, reversed(a))

static bool decode_count(emu_decoding *d) {
    bool popc = d->instruction->word[0][0] == 'p';
    ptx_type type = ptx_take_type(&d->words);
    if (type != PTX_B32 && type != PTX_B64) return emu_decode_fail(d, ".b32 or .b64");
    emu_run *run = type == PTX_B32 ? (popc ? popc_32 : clz_32) : (popc ? popc_64 : clz_64);
    return emu_decode_all(d, run, 2, (ptx_type[]){PTX_U32, type});
}
static bool decode_brev(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {[PTX_B32] = brev_32, [PTX_B64] = brev_64};
    return decode_typed(d, runs, 2);
}

/* bfind: the highest bit that differs from the sign, all ones when there is none; .shiftamt: how far to shift it to the
 * top. */
static inline uint32_t highest(uint64_t a, uint32_t bits, bool shift) {
    if (!a) return UINT32_MAX;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(a);
    return shift ? bits - 1 - at : at;
}
EMU_UNARY(bfind_u32, uint32_t, uint32_t, highest(a, 32, op->kind))
EMU_UNARY(bfind_s32, uint32_t, uint32_t, highest(a >> 31 ? (uint32_t)~a : a, 32, op->kind))
EMU_UNARY(bfind_u64, uint32_t, uint64_t, highest(a, 64, op->kind))
EMU_UNARY(bfind_s64, uint32_t, uint64_t, highest(a >> 63 ? ~a : a, 64, op->kind))

static bool decode_bfind(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {
        [PTX_U32] = bfind_u32, [PTX_S32] = bfind_s32, [PTX_U64] = bfind_u64, [PTX_S64] = bfind_s64};
    d->op->kind = ptx_take(&d->words, "shiftamt");
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_all(d, runs[type], 2, (ptx_type[]){PTX_U32, type});
}

/* fns: the offset-th set bit at or above base (below it for a negative one); offset 0: base itself. */
static inline uint32_t nth_set(uint32_t bits, uint32_t base, int32_t offset) {
    if (offset == 0) return base < 32 && bits >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    int32_t left = offset > 0 ? offset : -offset;
    for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += step)
        if (bits >> at & 1 && --left == 0) return (uint32_t)at;
    return UINT32_MAX;
}
EMU_TERNARY(fns, uint32_t, uint32_t, uint32_t, int32_t, nth_set(a, b, c))
static bool decode_fns(emu_decoding *d) {
    if (!ptx_take(&d->words, "b32")) return emu_decode_fail(d, "fns.b32");
    return emu_decode_all(d, fns, 4, (ptx_type[]){PTX_B32, PTX_B32, PTX_B32, PTX_S32});
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */
/* Position and length: of 32-bit fields their low 8 bits count, of 64-bit fields all, as on the hardware. */
static inline uint64_t low_ones(uint32_t n) { return n > 63 ? UINT64_MAX : (UINT64_C(1) << n) - 1; }
static inline uint64_t field(uint64_t a, uint32_t at, uint32_t length, uint32_t bits, bool is_signed) {
    if (bits == 32) at &= 255, length &= 255;
    if (at > bits) at = bits;
    if (length > bits) length = bits;
    uint32_t top = at + length > bits ? bits - 1 : at + length - 1; /* of the field; above it is the sign's copy */
    uint64_t value = at > 63 ? 0 : (a >> at) & low_ones(length);
    if (length == 0) return 0;
    bool negative = is_signed && (a >> top & 1);
    uint32_t within = at > bits ? 0 : bits - at < length ? bits - at : length;
    return negative ? value | ~low_ones(within) : value & low_ones(within);
}
static inline uint64_t inserted(uint64_t a, uint64_t b, uint32_t at, uint32_t length, uint32_t bits) {
    if (bits == 32) at &= 255, length &= 255;
    uint64_t where = at > 63 ? 0 : low_ones(length) << at;
    return (b & ~where) | (at > 63 ? 0 : a << at & where);
}
EMU_TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, false))
EMU_TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, field(a, b, c, 32, true))
EMU_TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, false))
EMU_TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, field(a, b, c, 64, true))

static bool decode_bfe(emu_decoding *d) {
    static emu_run *const runs[PTX_N_TYPES] = {
        [PTX_U32] = bfe_u32, [PTX_S32] = bfe_s32, [PTX_U64] = bfe_u64, [PTX_S64] = bfe_s64};
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_all(d, runs[type], 4, (ptx_type[]){type, type, PTX_U32, PTX_U32});
}

#define INSERT(name, type)                                                                           \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {           \
        type *d = emu_at(warp, op->operand[0].at);                                                   \
        const type *pa = emu_at(warp, op->operand[1].at), *pb = emu_at(warp, op->operand[2].at);     \
        const uint32_t *at = emu_u32(warp, op->operand[3]), *length = emu_u32(warp, op->operand[4]); \
        EMU_FOR_LANES(type, d, mask, type a = pa[lane];                                              \
                      type b = pb[lane], inserted(a, b, at[lane], length[lane], 8 * sizeof(type)))   \
        return EMU_NEXT;                                                                             \
    }
INSERT(bfi_32, uint32_t)
INSERT(bfi_64, uint64_t)
static bool decode_bfi(emu_decoding *d) {
    ptx_type type = ptx_take_type(&d->words);
    emu_run *run = type == PTX_B32 ? bfi_32 : type == PTX_B64 ? bfi_64 : NULL;
    return emu_decode_all(d, run, 5, (ptx_type[]){type, type, type, PTX_U32, PTX_U32});
}

/* bmsk: b ones from bit a up; szext: the low b bits of a, extended. Out of 32: .clamp to it, .wrap around. */
static inline uint32_t mask_at(uint32_t at, uint32_t n, bool wrap) {
    if (wrap) at &= 31, n &= 31;
    return at > 31 ? 0 : (uint32_t)(low_ones(n > 32 ? 32 : n) << at);
}
static inline uint32_t extended(uint32_t a, uint32_t n, bool wrap, bool is_signed) {
    if (wrap) n &= 31;
    if (n > 31) return a;
    if (n == 0) return 0;
    uint32_t low = a & (uint32_t)low_ones(n);
    return is_signed && low >> (n - 1) & 1 ? low | ~(uint32_t)low_ones(n) : low;
}
EMU_BINARY(bmsk, uint32_t, uint32_t, uint32_t, mask_at(a, b, op->kind))
EMU_BINARY(szext_u32, uint32_t, uint32_t, uint32_t, extended(a, b, op->kind, false))
EMU_BINARY(szext_s32, uint32_t, uint32_t, uint32_t, extended(a, b, op->kind, true))

static const char *const clamp_or_wrap[] = {"clamp", "wrap", NULL};
static bool decode_bmsk(emu_decoding *d) {
    int mode = ptx_take_of(&d->words, clamp_or_wrap, -1);
    if (mode < 0 || !ptx_take(&d->words, "b32")) return emu_decode_fail(d, "bmsk.{clamp,wrap}.b32");
    d->op->kind = (uint8_t)mode;
    return emu_decode_same(d, bmsk, 3, PTX_B32);
}
static bool decode_szext(emu_decoding *d) {
    int mode = ptx_take_of(&d->words, clamp_or_wrap, -1);
    ptx_type type = ptx_take_type(&d->words);
    if (mode < 0 || (type != PTX_U32 && type != PTX_S32)) return emu_decode_fail(d, "szext.{clamp,wrap}.{u32,s32}");
    d->op->kind = (uint8_t)mode;
    return emu_decode_all(d, type == PTX_S32 ? szext_s32 : szext_u32, 3, (ptx_type[]){type, type, PTX_U32});
}

/* ---- prmt: four bytes chosen out of eight ------------------------------------------------------------------------ */
enum { PRMT_INDEX, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
static inline uint32_t byte_of(uint64_t both, uint32_t at) { return (uint32_t)(both >> 8 * (at & 7)) & 0xff; }
static inline uint32_t permuted(uint32_t a, uint32_t b, uint32_t select) {
    uint64_t both = joined(a, b);
    uint32_t d = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t nibble = select >> 4 * k, byte = byte_of(both, nibble);
        d |= (nibble & 8 ? (byte & 0x80 ? 0xffu : 0) : byte) << 8 * k; /* the nibble's top bit: copies of the sign */
    }
    return d;
}
/* The named modes, by the low two bits of the selector, as selectors of the general mode. */
static const uint16_t selectors[7][4] = {
    [PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};
EMU_TERNARY(prmt, uint32_t, uint32_t, uint32_t, uint32_t, permuted(a, b, c))
EMU_TERNARY(prmt_mode, uint32_t, uint32_t, uint32_t, uint32_t, permuted(a, b, selectors[op->kind][c & 3]))

static bool decode_prmt(emu_decoding *d) {
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
    if (!ptx_take(&d->words, "b32")) return emu_decode_fail(d, "prmt.b32{.mode}");
    d->op->kind = (uint8_t)(ptx_take_of(&d->words, modes, -1) + 1);
    return emu_decode_same(d, d->op->kind ? prmt_mode : prmt, 4, PTX_B32);
}

/* ---- dp4a, dp2a: products of bytes with bytes, of halves with bytes, summed with c ------------------------------- */
static inline int32_t signed_or_not(uint32_t value, uint32_t bits, bool is_signed) {
    return is_signed ? (int32_t)(value << (32 - bits)) >> (32 - bits) : (int32_t)(value & (uint32_t)low_ones(bits));
}
static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, uint32_t signs) {
    for (uint32_t k = 0; k < 32; k += 8)
        c += (uint32_t)(signed_or_not(a >> k, 8, signs & 1) * signed_or_not(b >> k, 8, signs & 2));
    return c;
}
static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, uint32_t signs, uint32_t high) {
    for (uint32_t k = 0; k < 2; k++)
        c += (uint32_t)(signed_or_not(a >> 16 * k, 16, signs & 1) *
                        signed_or_not(b >> (8 * k + 16 * high), 8, signs & 2));
    return c;
}
EMU_TERNARY(dp4a, uint32_t, uint32_t, uint32_t, uint32_t, dot4(a, b, c, op->kind))
EMU_TERNARY(dp2a, uint32_t, uint32_t, uint32_t, uint32_t, dot2(a, b, c, op->kind, op->flags))

static bool decode_dot(emu_decoding *d) {
    static const char *const halves[] = {"lo", "hi", NULL};
    bool four = d->instruction->word[0][2] == '4';
    int half = four ? 0 : ptx_take_of(&d->words, halves, -1);
    ptx_type a = ptx_take_type(&d->words), b = ptx_take_type(&d->words);
    if (half < 0 || (a != PTX_U32 && a != PTX_S32) || (b != PTX_U32 && b != PTX_S32))
        return emu_decode_fail(d, "dp4a.type.type or dp2a.{lo,hi}.type.type of u32, s32");
    d->op->kind = (uint8_t)((a == PTX_S32 ? 1 : 0) | (b == PTX_S32 ? 2 : 0));
    d->op->flags = (uint8_t)half;
    return emu_decode_same(d, four ? dp4a : dp2a, 4, PTX_B32);
}

extern const emu_mnemonic emu_mnemonics_bits[];
const emu_mnemonic emu_mnemonics_bits[] = {
    {"and", decode_and},     {"or", decode_or},
    {"xor", decode_xor},     {"not", decode_not},
    {"cnot", decode_cnot},   {"lop3", decode_lop3},
    {"shl", decode_shift},   {"shr", decode_shift},
    {"shf", decode_funnel},  {"popc", decode_count},
    {"clz", decode_count},   {"brev", decode_brev},
    {"bfind", decode_bfind}, {"fns", decode_fns},
    {"bfe", decode_bfe},     {"bfi", decode_bfi},
    {"bmsk", decode_bmsk},   {"szext", decode_szext},
    {"prmt", decode_prmt},   {"dp4a", decode_dot},
    {"dp2a", decode_dot},    {NULL, NULL},
};
