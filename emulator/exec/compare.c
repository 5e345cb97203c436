/* setp and set: comparisons, combined with a predicate; testp, copysign. */
#include "exec/lanes.h"
#include "exec/numbers.h"

/* ---- what becomes of the lanes' answers -------------------------------------------------------------------------- */
/* kind: where they go; flags: how they are combined with the predicate operand[4], and which destinations there are.
 * operand[0]: p or d, [1], [2]: a, b, [3]: q. type: of a set's destination. */
enum { TO_PREDICATE, TO_REGISTER };
enum { PLAIN, AND, OR, XOR, SECOND = 4 };

static emu_mask combined(int how, emu_mask bits, emu_mask c) {
    return how == AND ? bits & c : how == OR ? bits | c : how == XOR ? bits ^ c : bits;
}

static uint64_t set_value(ptx_type type) {
    switch (type) {
        case PTX_F32: return 0x3f800000;
        case PTX_F16: return 0x3c00;
        case PTX_BF16: return 0x3f80;
        default: return UINT64_MAX;
    }
}

static emu_result answer_in_full(emu_warp *warp, const emu_op *op, emu_mask mask, emu_mask bits) {
    int how = op->flags & 3;
    emu_mask c = how ? emu_pred(warp, op->operand[4]) : 0;
    if (op->kind == TO_PREDICATE) {
        emu_set_pred(warp, op->operand[0], mask, combined(how, bits, c));
        if (op->flags & SECOND) emu_set_pred(warp, op->operand[3], mask, combined(how, ~bits, c));
        return EMU_NEXT;
    }
    uint64_t value[EMU_LANES], one = set_value((ptx_type)op->type);
    bits = combined(how, bits, c);
    for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = bits >> lane & 1 ? one : 0;
    emu_lanes_write(warp, op->operand[0], mask, value);
    return EMU_NEXT;
}

static inline emu_result answer(emu_warp *warp, const emu_op *op, emu_mask mask, emu_mask bits) {
    if (op->kind | op->flags) return answer_in_full(warp, op, mask, bits);
    emu_set_pred(warp, op->operand[0], mask, bits);
    return EMU_NEXT;
}

#define COMPARE(name, type, load, test)                                                          \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {       \
        const type *pa = emu_at(warp, op->operand[1].at), *pb = emu_at(warp, op->operand[2].at); \
        emu_mask bits = 0;                                                                       \
        for (int lane = 0; lane < EMU_LANES; lane++) {                                           \
            load;                                                                                \
            bits |= (emu_mask)(test) << lane;                                                    \
        }                                                                                        \
        return answer(warp, op, mask, bits);                                                     \
    }

/* ---- comparisons: in the order of the names ---------------------------------------------------------------------- */
enum { EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NANS, N_COMPARISONS };
static const char *const comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",
                                          "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};

#define ORDERED(name, type, load)          \
    COMPARE(eq_##name, type, load, a == b) \
    COMPARE(ne_##name, type, load, a != b) \
    COMPARE(lt_##name, type, load, a < b)  \
    COMPARE(le_##name, type, load, a <= b) \
    COMPARE(gt_##name, type, load, a > b)  \
    COMPARE(ge_##name, type, load, a >= b)
#define INTEGERS(name, type) ORDERED(name, type, type a = pa[lane]; type b = pb[lane])
INTEGERS(u16, uint16_t)
INTEGERS(s16, int16_t)
INTEGERS(u32, uint32_t)
INTEGERS(s32, int32_t)
INTEGERS(u64, uint64_t)
INTEGERS(s64, int64_t)

/* Ordered comparisons are false with a NaN, ne too; the ones that end with u are true. */
#define FLOATS(name, type, load)                          \
    COMPARE(eq_##name, type, load, a == b)                \
    COMPARE(ne_##name, type, load, (a < b) | (a > b))     \
    COMPARE(lt_##name, type, load, a < b)                 \
    COMPARE(le_##name, type, load, a <= b)                \
    COMPARE(gt_##name, type, load, a > b)                 \
    COMPARE(ge_##name, type, load, a >= b)                \
    COMPARE(equ_##name, type, load, !((a < b) | (a > b))) \
    COMPARE(neu_##name, type, load, a != b)               \
    COMPARE(ltu_##name, type, load, !(a >= b))            \
    COMPARE(leu_##name, type, load, !(a > b))             \
    COMPARE(gtu_##name, type, load, !(a <= b))            \
    COMPARE(geu_##name, type, load, !(a < b))             \
    COMPARE(num_##name, type, load, (a == a) & (b == b))  \
    COMPARE(nan_##name, type, load, (a != a) | (b != b))
FLOATS(f32, float, float a = pa[lane]; float b = pb[lane])
FLOATS(ftz, float, float a = f32_flushed(pa[lane]); float b = f32_flushed(pb[lane]))
FLOATS(f64, double, double a = pa[lane]; double b = pb[lane])
/* fp16 to fp32 makes no subnormal: flushing comes before. */
static inline float f16_input(uint16_t a, bool ftz) { return f16_to_f32(ftz && !(a & 0x7c00) ? a & 0x8000 : a); }
FLOATS(f16, uint16_t, float a = f16_input(pa[lane], op->value & 1); float b = f16_input(pb[lane], op->value & 1))
FLOATS(bf16, uint16_t, float a = bf16_to_f32(pa[lane]); float b = bf16_to_f32(pb[lane]))

#define OF_INTEGERS(name) \
    { [EQ] = eq_##name, [NE] = ne_##name, [LT] = lt_##name, [LE] = le_##name, [GT] = gt_##name, [GE] = ge_##name }
#define OF_UNSIGNED(name)                                                                                           \
    {                                                                                                               \
        [EQ] = eq_##name, [NE] = ne_##name, [LT] = lt_##name, [LE] = le_##name, [GT] = gt_##name, [GE] = ge_##name, \
        [LO] = lt_##name, [LS] = le_##name, [HI] = gt_##name, [HS] = ge_##name                                      \
    }
#define OF_BITS(name) \
    { [EQ] = eq_##name, [NE] = ne_##name }
#define OF_FLOATS(name)                                                                                             \
    {                                                                                                               \
        [EQ] = eq_##name, [NE] = ne_##name, [LT] = lt_##name, [LE] = le_##name, [GT] = gt_##name, [GE] = ge_##name, \
        [EQU] = equ_##name, [NEU] = neu_##name, [LTU] = ltu_##name, [LEU] = leu_##name, [GTU] = gtu_##name,         \
        [GEU] = geu_##name, [NUM] = num_##name, [NANS] = nan_##name                                                 \
    }
static emu_run *const runs[PTX_N_TYPES][N_COMPARISONS] = {
    [PTX_B16] = OF_BITS(u16),     [PTX_U16] = OF_UNSIGNED(u16), [PTX_S16] = OF_INTEGERS(s16),
    [PTX_B32] = OF_BITS(u32),     [PTX_U32] = OF_UNSIGNED(u32), [PTX_S32] = OF_INTEGERS(s32),
    [PTX_B64] = OF_BITS(u64),     [PTX_U64] = OF_UNSIGNED(u64), [PTX_S64] = OF_INTEGERS(s64),
    [PTX_F32] = OF_FLOATS(f32),   [PTX_F64] = OF_FLOATS(f64),   [PTX_F16] = OF_FLOATS(f16),
    [PTX_BF16] = OF_FLOATS(bf16),
};
static emu_run *const flushing[N_COMPARISONS] = OF_FLOATS(ftz);

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
/* Comparison, combination, .ftz; the type comes next. */
static bool decode_comparison(emu_decoding *d, int *comparison, bool *ftz) {
    static const char *const ways[] = {"and", "or", "xor", NULL};
    *comparison = ptx_take_of(&d->words, comparisons, -1);
    if (*comparison < 0) return emu_decode_fail(d, "a comparison is due");
    d->op->flags = (uint8_t)(ptx_take_of(&d->words, ways, -1) + 1);
    *ftz = ptx_take(&d->words, "ftz");
    return true;
}

static emu_run *find(emu_decoding *d, ptx_type type, int comparison, bool ftz) {
    bool may_flush = type == PTX_F32 || type == PTX_F16 || type == PTX_BF16;
    emu_run *run = ftz && type == PTX_F32 ? flushing[comparison] : runs[type][comparison];
    if (!run || (ftz && !may_flush)) {
        emu_decode_fail(d, "there is no such comparison of .%s", ptx_type_text[type]);
        return NULL;
    }
    d->op->value = ftz && type == PTX_F16;
    return run;
}

static bool decode_inputs(emu_decoding *d, ptx_type type) {
    const ptx_operand *operand = d->instruction->operand;
    int n = 3 + (d->op->flags & 3 ? 1 : 0);
    if (!ptx_words_end(&d->words) || d->instruction->n_operands != n)
        return emu_decode_fail(d, "%d operands are due", n);
    return emu_exact_source(d, operand + 1, type, d->op->operand + 1) &&
           emu_exact_source(d, operand + 2, type, d->op->operand + 2) &&
           (n == 3 || emu_decode_predicate(d, operand + 3, d->op->operand + 4));
}

static bool is_pair(ptx_type type) { return type == PTX_F16X2 || type == PTX_BF16X2; }

/* Pairs: p of the low halves, q of the high ones. */
static emu_result setp_pair(emu_warp *warp, const emu_op *op, emu_mask mask);

static bool decode_setp(emu_decoding *d) {
    int comparison = 0;
    bool ftz = false;
    if (!decode_comparison(d, &comparison, &ftz)) return false;
    ptx_type type = ptx_take_type(&d->words);
    const ptx_operand *operand = d->instruction->operand;
    ptx_type single = type == PTX_F16X2 ? PTX_F16 : type == PTX_BF16X2 ? PTX_BF16 : type;
    emu_run *run = find(d, single, comparison, ftz);
    if (!run || !decode_inputs(d, type)) return false;
    d->op->run = run;
    if (is_pair(type)) {
        d->op->run = setp_pair;
        d->op->type = (uint8_t)single, d->op->type2 = (uint8_t)comparison;
        if (operand->kind != PTX_PAIR) return emu_decode_fail(d, "the destinations are p|q");
    }
    if (operand->kind != PTX_PAIR) return emu_exact_destination(d, operand, PTX_PRED, d->op->operand);
    d->op->flags |= SECOND;
    return emu_exact_destination(d, operand->parts, PTX_PRED, d->op->operand) &&
           emu_exact_destination(d, operand->parts + 1, PTX_PRED, d->op->operand + 3);
}

static bool holds(int comparison, float a, float b) {
    bool unordered = a != a || b != b;
    switch (comparison) {
        case EQ: return a == b;
        case NE: return a < b || a > b;
        case LT: return a < b;
        case LE: return a <= b;
        case GT: return a > b;
        case GE: return a >= b;
        case EQU: return a == b || unordered;
        case NEU: return a != b;
        case LTU: return a < b || unordered;
        case LEU: return a <= b || unordered;
        case GTU: return a > b || unordered;
        case GEU: return a >= b || unordered;
        case NUM: return !unordered;
        default: return unordered;
    }
}

static void compare_pairs(emu_warp *warp, const emu_op *op, emu_mask bits[2]) {
    const uint32_t *a = emu_u32(warp, op->operand[1]), *b = emu_u32(warp, op->operand[2]);
    bits[0] = bits[1] = 0;
    for (int lane = 0; lane < EMU_LANES; lane++)
        for (int k = 0; k < 2; k++) {
            uint16_t x = (uint16_t)(a[lane] >> 16 * k), y = (uint16_t)(b[lane] >> 16 * k);
            bool is_half = op->type == PTX_F16;
            float of_x = is_half ? f16_input(x, op->value & 1) : bf16_to_f32(x);
            float of_y = is_half ? f16_input(y, op->value & 1) : bf16_to_f32(y);
            bits[k] |= (emu_mask)holds(op->type2, of_x, of_y) << lane;
        }
}

static emu_result setp_pair(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mask bits[2], c = op->flags & 3 ? emu_pred(warp, op->operand[4]) : 0;
    compare_pairs(warp, op, bits);
    emu_set_pred(warp, op->operand[0], mask, combined(op->flags & 3, bits[0], c));
    emu_set_pred(warp, op->operand[3], mask, combined(op->flags & 3, bits[1], c));
    return EMU_NEXT;
}

/* set of pairs: 1.0 in each half that holds, or ones in all bits of it. */
static emu_result set_pair(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_mask bits[2], c = op->flags & 3 ? emu_pred(warp, op->operand[4]) : 0;
    uint64_t value[EMU_LANES];
    compare_pairs(warp, op, bits);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        value[lane] = 0;
        for (int k = 0; k < 2; k++)
            if (combined(op->flags & 3, bits[k], c) >> lane & 1) value[lane] |= (uint64_t)op->target << 16 * k;
    }
    emu_lanes_write(warp, op->operand[0], mask, value);
    return EMU_NEXT;
}

static bool decode_set(emu_decoding *d) {
    int comparison = 0;
    bool ftz = false;
    if (!decode_comparison(d, &comparison, &ftz)) return false;
    ptx_type to = ptx_take_type(&d->words), type = ptx_take_type(&d->words);
    ptx_type single = type == PTX_F16X2 ? PTX_F16 : type == PTX_BF16X2 ? PTX_BF16 : type;
    emu_run *run = find(d, single, comparison, ftz);
    if (!run || !decode_inputs(d, type)) return false;
    d->op->run = run;
    d->op->kind = TO_REGISTER;
    d->op->type = (uint8_t)to;
    if (is_pair(type)) {
        bool ones = to == PTX_U32 || to == PTX_S32;
        if (!ones && to != type)
            return emu_decode_fail(d, "set.…{.u32,.s32,.%s}.%s", ptx_type_text[type], ptx_type_text[type]);
        d->op->run = set_pair;
        d->op->type = (uint8_t)single, d->op->type2 = (uint8_t)comparison;
        d->op->target = ones ? 0xffff : (uint32_t)set_value(single);
    } else if (to != PTX_U32 && to != PTX_S32 && to != PTX_F32 && to != PTX_F16 && to != PTX_BF16 && to != PTX_U16 &&
               to != PTX_S16) {
        return emu_decode_fail(d, "set to .%s", ptx_type_text[to]);
    }
    return emu_exact_destination(d, d->instruction->operand, to, d->op->operand);
}

/* ---- testp, copysign --------------------------------------------------------------------------------------------- */
static emu_result run_testp(emu_warp *warp, const emu_op *op, emu_mask mask) {
    static const uint8_t wanted[6][5] = {
        /* zero, subnormal, normal, Inf, NaN */
        {1, 1, 1, 0, 0}, {0, 0, 0, 1, 0}, {1, 1, 1, 1, 0}, {0, 0, 0, 0, 1}, {1, 0, 1, 0, 0}, {0, 1, 0, 0, 0}};
    uint64_t value[EMU_LANES];
    emu_mask bits = 0;
    emu_lanes_read(warp, op->operand[1], value);
    int fraction = op->type == PTX_F64 ? 52 : 23, exponent = op->type == PTX_F64 ? 11 : 8;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        uint64_t top = (UINT64_C(1) << exponent) - 1, e = value[lane] >> fraction & top;
        uint64_t f = value[lane] & ((UINT64_C(1) << fraction) - 1);
        int class = e == top ? (f ? 4 : 3) : e ? 2 : f ? 1 : 0;
        bits |= (emu_mask)wanted[op->kind][class] << lane;
    }
    emu_set_pred(warp, op->operand[0], mask, bits);
    return EMU_NEXT;
}

static bool decode_testp(emu_decoding *d) {
    static const char *const kinds[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    int kind = ptx_take_of(&d->words, kinds, -1);
    ptx_type type = ptx_take_type(&d->words);
    if (kind < 0 || (type != PTX_F32 && type != PTX_F64)) return emu_decode_fail(d, "testp.kind.{f32,f64}");
    d->op->kind = (uint8_t)kind;
    d->op->type = (uint8_t)type;
    return emu_decode_all(d, run_testp, 2, (ptx_type[]){PTX_PRED, type});
}

EMU_BINARY(copysign_32, uint32_t, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))
EMU_BINARY(copysign_64, uint64_t, uint64_t, uint64_t, (a & UINT64_C(1) << 63) | (b & ~(UINT64_C(1) << 63)))
static bool decode_copysign(emu_decoding *d) {
    ptx_type type = ptx_take_type(&d->words);
    return emu_decode_same(d, type == PTX_F32 ? copysign_32 : type == PTX_F64 ? copysign_64 : NULL, 3, type);
}

extern const emu_mnemonic emu_mnemonics_compare[];
const emu_mnemonic emu_mnemonics_compare[] = {
    {"setp", decode_setp}, {"set", decode_set}, {"testp", decode_testp}, {"copysign", decode_copysign}, {NULL, NULL},
};
