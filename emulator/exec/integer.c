/* Integer arithmetic: add, sub, mul, mad, their carries, sad, div, rem, abs, neg, min, max. */
#include "exec/lanes.h"

/* The same operation on bits of each width; what is signed is written out. */
#define WIDTHS(name, value)                                    \
    EMU_BINARY(name##_16, uint16_t, uint16_t, uint16_t, value) \
    EMU_BINARY(name##_32, uint32_t, uint32_t, uint32_t, value) \
    EMU_BINARY(name##_64, uint64_t, uint64_t, uint64_t, value)
#define SIGNED_WIDTHS(name, value)                           \
    EMU_BINARY(name##_s16, int16_t, int16_t, int16_t, value) \
    EMU_BINARY(name##_s32, int32_t, int32_t, int32_t, value) \
    EMU_BINARY(name##_s64, int64_t, int64_t, int64_t, value)
#define BITS(name)                                                                                                     \
    [PTX_B16] = name##_16, [PTX_U16] = name##_16, [PTX_S16] = name##_16, [PTX_B32] = name##_32, [PTX_U32] = name##_32, \
    [PTX_S32] = name##_32, [PTX_B64] = name##_64, [PTX_U64] = name##_64, [PTX_S64] = name##_64
#define INTEGERS(name)                                                                                                 \
    [PTX_U16] = name##_16, [PTX_S16] = name##_16, [PTX_U32] = name##_32, [PTX_S32] = name##_32, [PTX_U64] = name##_64, \
    [PTX_S64] = name##_64
#define SIGNED_AND_NOT(name)                                                                      \
    [PTX_U16] = name##_16, [PTX_S16] = name##_s16, [PTX_U32] = name##_32, [PTX_S32] = name##_s32, \
    [PTX_U64] = name##_64, [PTX_S64] = name##_s64

/* Halves of 32 bits. */
static inline uint32_t halves(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
static inline int32_t low_s16(uint32_t a) { return (int16_t)a; }
static inline int32_t high_s16(uint32_t a) { return (int32_t)a >> 16; }

/* ---- add, sub ---------------------------------------------------------------------------------------------------- */
WIDTHS(add, a + b)
WIDTHS(sub, a - b)
static inline int32_t saturated(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}
EMU_BINARY(add_sat, int32_t, int32_t, int32_t, saturated((int64_t)a + b))
EMU_BINARY(sub_sat, int32_t, int32_t, int32_t, saturated((int64_t)a - b))
EMU_BINARY(add_x2, uint32_t, uint32_t, uint32_t, halves(a + b, (a >> 16) + (b >> 16)))

static bool decode_add_sub(emu_decoding *d, emu_run *const *runs, emu_run *sat, emu_run *paired) {
    ptx_type type = emu_last_type(d);
    if (emu_is_float(type) || (d->instruction->n_words > 1 && !strcmp(d->instruction->word[1], "cc")))
        return emu_decline(d);
    emu_run *run = runs[type];
    if (ptx_take(&d->words, "sat")) run = type == PTX_S32 ? sat : NULL;
    if (type == PTX_U16X2 || type == PTX_S16X2) run = paired;
    ptx_take_type(&d->words);
    return emu_decode_same(d, run, 3, type);
}
static emu_run *const adds[PTX_N_TYPES] = {INTEGERS(add)}, *const subs[PTX_N_TYPES] = {INTEGERS(sub)};
static bool decode_add(emu_decoding *d) { return decode_add_sub(d, adds, add_sat, add_x2); }
static bool decode_sub(emu_decoding *d) { return decode_add_sub(d, subs, sub_sat, NULL); }

/* ---- mul, mad ---------------------------------------------------------------------------------------------------- */
__extension__ typedef unsigned __int128 wide_unsigned;
__extension__ typedef __int128 wide_signed;
static inline uint64_t high_u64(uint64_t a, uint64_t b) { return (uint64_t)((wide_unsigned)a * b >> 64); }
static inline int64_t high_s64(int64_t a, int64_t b) { return (int64_t)((wide_signed)a * b >> 64); }
static inline uint32_t high_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static inline int32_t high_s32(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }
static inline uint16_t high_u16(uint16_t a, uint16_t b) { return (uint16_t)((uint32_t)a * b >> 16); }
static inline int16_t high_s16_of(int16_t a, int16_t b) { return (int16_t)(a * b >> 16); }

EMU_BINARY(mul_lo_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)
EMU_BINARY(mul_lo_32, uint32_t, uint32_t, uint32_t, a *b)
EMU_BINARY(mul_lo_64, uint64_t, uint64_t, uint64_t, a *b)
EMU_BINARY(mul_hi_16, uint16_t, uint16_t, uint16_t, high_u16(a, b))
EMU_BINARY(mul_hi_s16, int16_t, int16_t, int16_t, high_s16_of(a, b))
EMU_BINARY(mul_hi_32, uint32_t, uint32_t, uint32_t, high_u32(a, b))
EMU_BINARY(mul_hi_s32, int32_t, int32_t, int32_t, high_s32(a, b))
EMU_BINARY(mul_hi_64, uint64_t, uint64_t, uint64_t, high_u64(a, b))
EMU_BINARY(mul_hi_s64, int64_t, int64_t, int64_t, high_s64(a, b))
EMU_BINARY(mul_wide_16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)
EMU_BINARY(mul_wide_s16, int32_t, int16_t, int16_t, a *b)
EMU_BINARY(mul_wide_32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
EMU_BINARY(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)a *b)

EMU_TERNARY(mad_lo_16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
EMU_TERNARY(mad_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
EMU_TERNARY(mad_lo_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)
EMU_TERNARY(mad_hi_16, uint16_t, uint16_t, uint16_t, uint16_t, high_u16(a, b) + c)
EMU_TERNARY(mad_hi_s16, uint16_t, int16_t, int16_t, uint16_t, (uint16_t)high_s16_of(a, b) + c)
EMU_TERNARY(mad_hi_32, uint32_t, uint32_t, uint32_t, uint32_t, high_u32(a, b) + c)
EMU_TERNARY(mad_hi_s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)high_s32(a, b) + c)
EMU_TERNARY(mad_hi_sat, int32_t, int32_t, int32_t, int32_t, saturated((int64_t)high_s32(a, b) + c))
EMU_TERNARY(mad_hi_64, uint64_t, uint64_t, uint64_t, uint64_t, high_u64(a, b) + c)
EMU_TERNARY(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, (uint64_t)high_s64(a, b) + c)
EMU_TERNARY(mad_wide_16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)
EMU_TERNARY(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)(a *b) + c)
EMU_TERNARY(mad_wide_32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
EMU_TERNARY(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)

enum { LO, HI, WIDE };
static const char *const parts[] = {"lo", "hi", "wide", NULL};
static emu_run *const muls[3][PTX_N_TYPES] = {
    [LO] = {INTEGERS(mul_lo)},
    [HI] = {SIGNED_AND_NOT(mul_hi)},
    [WIDE] = {[PTX_U16] = mul_wide_16, [PTX_S16] = mul_wide_s16, [PTX_U32] = mul_wide_32, [PTX_S32] = mul_wide_s32},
};
static emu_run *const mads[3][PTX_N_TYPES] = {
    [LO] = {INTEGERS(mad_lo)},
    [HI] = {SIGNED_AND_NOT(mad_hi)},
    [WIDE] = {[PTX_U16] = mad_wide_16, [PTX_S16] = mad_wide_s16, [PTX_U32] = mad_wide_32, [PTX_S32] = mad_wide_s32},
};

static ptx_type widened(ptx_type type, int part) {
    if (part != WIDE) return type;
    return ptx_type_bytes[type] == 2 ? PTX_B32 : PTX_B64;
}

static bool decode_mul(emu_decoding *d) {
    if (emu_is_float(emu_last_type(d))) return emu_decline(d);
    int part = ptx_take_of(&d->words, parts, -1);
    if (part < 0) return emu_decode_fail(d, "mul.{lo,hi,wide} of integers");
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_all(d, muls[part][type], 3, (ptx_type[]){widened(type, part), type, type});
}

static bool decode_mad(emu_decoding *d) {
    if (emu_is_float(emu_last_type(d))) return emu_decline(d);
    int part = ptx_take_of(&d->words, parts, -1);
    if (part < 0) return emu_decode_fail(d, "mad.{lo,hi,wide} of integers");
    if (d->words.next < d->instruction->n_words && !strcmp(d->instruction->word[d->words.next], "cc"))
        return emu_decline(d);
    bool sat = ptx_take(&d->words, "sat");
    ptx_type type = ptx_take_type(&d->words), wide = widened(type, part);
    emu_run *run = !sat ? mads[part][type] : part == HI && type == PTX_S32 ? mad_hi_sat : NULL;
    return emu_decode_all(d, run, 4, (ptx_type[]){wide, type, type, wide});
}

/* 24 bits times 24 bits: 48 bits; .lo the low 32 of them, .hi the high 32. */
static inline uint64_t product24(uint32_t a, uint32_t b) { return (uint64_t)(a & 0xffffff) * (b & 0xffffff); }
static inline int64_t signed24(uint32_t a) { return (int32_t)(a << 8) >> 8; }
static inline uint64_t product_s24(uint32_t a, uint32_t b) { return (uint64_t)(signed24(a) * signed24(b)); }
EMU_BINARY(mul24_lo_32, uint32_t, uint32_t, uint32_t, product24(a, b))
EMU_BINARY(mul24_lo_s32, uint32_t, uint32_t, uint32_t, product_s24(a, b))
EMU_BINARY(mul24_hi_32, uint32_t, uint32_t, uint32_t, product24(a, b) >> 16)
EMU_BINARY(mul24_hi_s32, uint32_t, uint32_t, uint32_t, product_s24(a, b) >> 16)
EMU_TERNARY(mad24_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)product24(a, b) + c)
EMU_TERNARY(mad24_lo_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)product_s24(a, b) + c)
EMU_TERNARY(mad24_hi_32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(product24(a, b) >> 16) + c)
EMU_TERNARY(mad24_hi_s32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)(product_s24(a, b) >> 16) + c)
EMU_TERNARY(mad24_hi_sat, int32_t, uint32_t, uint32_t, int32_t,
            saturated((int64_t)(int32_t)(uint32_t)(product_s24(a, b) >> 16) + c))

static bool decode_24(emu_decoding *d) {
    static emu_run *const runs[2][2][2] = {{{mul24_lo_32, mul24_lo_s32}, {mul24_hi_32, mul24_hi_s32}},
                                           {{mad24_lo_32, mad24_lo_s32}, {mad24_hi_32, mad24_hi_s32}}};
    bool mad = !strcmp(d->instruction->word[0], "mad24");
    int part = ptx_take_of(&d->words, parts, -1);
    bool sat = ptx_take(&d->words, "sat");
    ptx_type type = ptx_take_type(&d->words);
    if (part != LO && part != HI) return emu_decode_fail(d, "{mul24,mad24}.{lo,hi}");
    if (type != PTX_U32 && type != PTX_S32) return emu_decode_fail(d, "of .u32 or .s32");
    if (sat && !(mad && part == HI && type == PTX_S32)) return emu_decode_fail(d, ".sat is for mad24.hi.sat.s32");
    return emu_decode_same(d, sat ? mad24_hi_sat : runs[mad][part][type == PTX_S32], mad ? 4 : 3, type);
}

/* ---- div, rem: by zero unspecified in PTX; the hardware's code gives all ones ------------------------------------ */
#define DIVIDES(name, type, least)                                  \
    EMU_BINARY(div_##name, type, type, type,                        \
               b == 0                     ? (type)-1                \
               : (least) && b == (type)-1 ? (type)(0 - (uint64_t)a) \
                                          : (type)(a / b))          \
    EMU_BINARY(rem_##name, type, type, type, b == 0 ? (type)-1 : (least) && b == (type)-1 ? 0 : (type)(a % b))
DIVIDES(16, uint16_t, false)
DIVIDES(s16, int16_t, true)
DIVIDES(32, uint32_t, false)
DIVIDES(s32, int32_t, true)
DIVIDES(64, uint64_t, false)
DIVIDES(s64, int64_t, true)

static emu_run *const divs[PTX_N_TYPES] = {SIGNED_AND_NOT(div)}, *const rems[PTX_N_TYPES] = {SIGNED_AND_NOT(rem)};

/* ---- sad, abs, neg ----------------------------------------------------------------------------------------------- */
#define SADS(name, type, bits) \
    EMU_TERNARY(sad_##name, bits, type, type, bits, (bits)(a > b ? (bits)a - (bits)b : (bits)b - (bits)a) + c)
SADS(16, uint16_t, uint16_t)
SADS(s16, int16_t, uint16_t)
SADS(32, uint32_t, uint32_t)
SADS(s32, int32_t, uint32_t)
SADS(64, uint64_t, uint64_t)
SADS(s64, int64_t, uint64_t)
EMU_UNARY(abs_16, uint16_t, uint16_t, a & 0x8000 ? 0 - a : a)
EMU_UNARY(abs_32, uint32_t, uint32_t, a >> 31 ? 0 - a : a)
EMU_UNARY(abs_64, uint64_t, uint64_t, a >> 63 ? 0 - a : a)
EMU_UNARY(neg_16, uint16_t, uint16_t, 0 - a)
EMU_UNARY(neg_32, uint32_t, uint32_t, 0 - a)
EMU_UNARY(neg_64, uint64_t, uint64_t, 0 - a)
static emu_run *const sads[PTX_N_TYPES] = {SIGNED_AND_NOT(sad)};
static emu_run *const abss[PTX_N_TYPES] = {[PTX_S16] = abs_16, [PTX_S32] = abs_32, [PTX_S64] = abs_64};
static emu_run *const negs[PTX_N_TYPES] = {[PTX_S16] = neg_16, [PTX_S32] = neg_32, [PTX_S64] = neg_64};

static bool decode_by_type(emu_decoding *d, emu_run *const *runs, int n) {
    if (emu_is_float(emu_last_type(d))) return emu_decline(d);
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_same(d, runs[type], n, type);
}
static bool decode_div(emu_decoding *d) { return decode_by_type(d, divs, 3); }
static bool decode_rem(emu_decoding *d) { return decode_by_type(d, rems, 3); }
static bool decode_sad(emu_decoding *d) { return decode_by_type(d, sads, 4); }
static bool decode_abs(emu_decoding *d) { return decode_by_type(d, abss, 2); }
static bool decode_neg(emu_decoding *d) { return decode_by_type(d, negs, 2); }

/* ---- min, max ---------------------------------------------------------------------------------------------------- */
WIDTHS(min, a < b ? a : b)
SIGNED_WIDTHS(min, a < b ? a : b)
WIDTHS(max, a > b ? a : b)
SIGNED_WIDTHS(max, a > b ? a : b)
static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }
static inline uint32_t least_u(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t most_u(uint32_t a, uint32_t b) { return a > b ? a : b; }
#define PAIRS(name, pick, pick_u, floor)                                                                            \
    EMU_BINARY(name##_u16x2, uint32_t, uint32_t, uint32_t,                                                          \
               halves(pick_u(a & 0xffff, b & 0xffff), pick_u(a >> 16, b >> 16)))                                    \
    EMU_BINARY(name##_s16x2, uint32_t, uint32_t, uint32_t,                                                          \
               halves((uint32_t)pick(low_s16(a), low_s16(b)), (uint32_t)pick(high_s16(a), high_s16(b))))            \
    EMU_BINARY(                                                                                                     \
        name##_relu_s16x2, uint32_t, uint32_t, uint32_t,                                                            \
        halves((uint32_t)most(0, pick(low_s16(a), low_s16(b))), (uint32_t)most(0, pick(high_s16(a), high_s16(b))))) \
    EMU_BINARY(name##_relu_s32, int32_t, int32_t, int32_t, most(0, pick(a, b)))
PAIRS(min, least, least_u, 0)
PAIRS(max, most, most_u, 0)
static emu_run *const extremes[2][2][PTX_N_TYPES] = {
    {{SIGNED_AND_NOT(min), [PTX_U16X2] = min_u16x2, [PTX_S16X2] = min_s16x2},
     {[PTX_S16X2] = min_relu_s16x2, [PTX_S32] = min_relu_s32}},
    {{SIGNED_AND_NOT(max), [PTX_U16X2] = max_u16x2, [PTX_S16X2] = max_s16x2},
     {[PTX_S16X2] = max_relu_s16x2, [PTX_S32] = max_relu_s32}},
};

static bool decode_min_max(emu_decoding *d) {
    if (emu_is_float(emu_last_type(d))) return emu_decline(d);
    bool max = d->instruction->word[0][1] == 'a';
    bool relu = ptx_take(&d->words, "relu");
    ptx_type type = ptx_take_type(&d->words);
    relu = relu || ptx_take(&d->words, "relu"); /* PTX's text has it before the type, compilers behind */
    return emu_decode_same(d, extremes[max][relu][type], 3, type);
}

/* ---- carries: CC.CF is a predicate of the register file ---------------------------------------------------------- */
/* flags of an operation: reads the carry, writes it, subtracts; kind: which product. 64 bits have a carry, too. */
enum { READS = 1, WRITES = 2, SUBTRACTS = 4 };
enum { NO_PRODUCT, PRODUCT_LO, PRODUCT_HI };

static uint64_t product_part(const emu_op *op, uint64_t a, uint64_t b) {
    bool s = emu_is_signed((ptx_type)op->type);
    if (op->kind == NO_PRODUCT) return a;
    if (op->kind == PRODUCT_LO) return a * b;
    if (ptx_type_bytes[op->type] == 8) return s ? (uint64_t)high_s64((int64_t)a, (int64_t)b) : high_u64(a, b);
    return s ? (uint32_t)high_s32((int32_t)(uint32_t)a, (int32_t)(uint32_t)b) : high_u32((uint32_t)a, (uint32_t)b);
}

/* d = a + b + CF, a - b - borrow, or the product's part + c + CF. */
static emu_result run_carry(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], d[EMU_LANES];
    const emu_operand carry = {.at = EMU_AT_CARRY};
    bool product = op->kind != NO_PRODUCT;
    int bits = 8 * ptx_type_bytes[op->type];
    uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint32_t first =
        op->flags & SUBTRACTS ? UINT32_MAX : 0; /* a - b is a + ~b + 1: the carry says that nothing was borrowed */
    uint32_t in = op->flags & READS ? emu_pred(warp, carry) : first, out = 0;
    emu_lanes_read(warp, op->operand[1], a);
    emu_lanes_read(warp, op->operand[2], b);
    emu_lanes_read(warp, op->operand[product ? 3 : 2], c);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        wide_unsigned x = product_part(op, a[lane], b[lane]) & all,
                      y = op->flags & SUBTRACTS ? ~c[lane] & all : c[lane];
        wide_unsigned sum = x + y + (in >> lane & 1);
        d[lane] = (uint64_t)sum & all;
        out |= (uint32_t)(sum >> bits & 1) << lane;
    }
    emu_lanes_write(warp, op->operand[0], mask, d);
    if (op->flags & WRITES) emu_set_pred(warp, carry, mask, out);
    return EMU_NEXT;
}

static bool decode_carry(emu_decoding *d) {
    const char *name = d->instruction->word[0];
    bool with_carry = strlen(name) == 4 && name[3] == 'c';
    for (int i = 1; i < d->instruction->n_words; i++) with_carry |= !strcmp(d->instruction->word[i], "cc");
    if (!with_carry) return emu_decline(d);
    bool mad = name[0] == 'm', reads = name[3] == 'c', subtracts = name[0] == 's';
    int part = mad ? ptx_take_of(&d->words, parts, -1) : NO_PRODUCT;
    if (mad && part != LO && part != HI) return emu_decode_fail(d, "{mad,madc}.{lo,hi}");
    bool writes = ptx_take(&d->words, "cc");
    ptx_type type = ptx_take_type(&d->words);
    if (type != PTX_U32 && type != PTX_S32 && type != PTX_U64 && type != PTX_S64)
        return emu_decode_fail(d, "a carry of 32 or 64 bits");
    d->op->type = (uint8_t)type;
    d->op->kind = (uint8_t)(mad ? part == LO ? PRODUCT_LO : PRODUCT_HI : NO_PRODUCT);
    d->op->flags = (uint8_t)((reads ? READS : 0) | (writes ? WRITES : 0) | (subtracts ? SUBTRACTS : 0));
    return emu_decode_same(d, run_carry, mad ? 4 : 3, type);
}

extern const emu_mnemonic emu_mnemonics_integer[];
const emu_mnemonic emu_mnemonics_integer[] = {
    {"add", decode_add},     {"sub", decode_sub},    {"mul", decode_mul},    {"mad", decode_mad},
    {"mul24", decode_24},    {"mad24", decode_24},   {"div", decode_div},    {"rem", decode_rem},
    {"sad", decode_sad},     {"abs", decode_abs},    {"neg", decode_neg},    {"min", decode_min_max},
    {"max", decode_min_max}, {"addc", decode_carry}, {"subc", decode_carry}, {"madc", decode_carry},
    {"add", decode_carry},   {"sub", decode_carry},  {"mad", decode_carry},  {NULL, NULL},
};
