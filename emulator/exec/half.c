/* f16, bf16 and pairs of them: add, sub, mul, fma, neg, abs, min, max. All are computed as one fma, rounded once. */
#include "exec/lanes.h"
#include "exec/numbers.h"

enum { FTZ = 1, SAT = 2, RELU = 4, OOB = 8, MAX = 16, NAN_WINS = 32, XORSIGN = 64 };

/* An operand that is this, of either sign: the result of fma.oob is zero. */
enum { OOB_NAN = 0x7ff7 };

/* ---- one number -------------------------------------------------------------------------------------------------- */
static inline uint16_t f16_flushed(uint16_t a) { return a & 0x7c00 ? a : a & 0x8000; }
static inline uint16_t f16_checked(int a) { return (a & 0x7fff) > 0x7c00 ? 0x7fff : (uint16_t)a; }
static inline uint16_t bf16_checked(int a) { return (a & 0x7fff) > 0x7f80 ? 0x7fff : (uint16_t)a; }
static inline uint16_t bf16_flushed(uint16_t a) { return a & 0x7f80 ? a : a & 0x8000; }

/* What is done to the result; the same bits mean 1 or NaN in either format but for `one`. */
static inline uint16_t finished(uint16_t r, uint32_t flags, uint16_t infinity, uint16_t one) {
    bool nan = (r & 0x7fff) > infinity, negative = r & 0x8000;
    if (flags & SAT) r = nan || negative ? 0 : r > one ? one : r;
    if (flags & RELU) r = negative && !nan ? 0 : r;
    return r;
}

static inline uint16_t f16_fma(uint16_t a, uint16_t b, uint16_t c, uint32_t flags) {
    bool out_of_bounds = flags & OOB && ((a & 0x7fff) == OOB_NAN || (b & 0x7fff) == OOB_NAN);
    if (flags & FTZ) a = f16_flushed(a), b = f16_flushed(b), c = f16_flushed(c);
    double product = (double)f16_to_f32(a) * (double)f16_to_f32(b);
    uint16_t r = f16_of_f32(f32_to_odd(f64_sum_to_odd(product, (double)f16_to_f32(c))));
    if (flags & FTZ) r = f16_flushed(r);
    return out_of_bounds ? 0 : finished(r, flags, 0x7c00, 0x3c00);
}
static inline uint16_t bf16_fma(uint16_t a, uint16_t b, uint16_t c, uint32_t flags) {
    bool out_of_bounds = flags & OOB && ((a & 0x7fff) == OOB_NAN || (b & 0x7fff) == OOB_NAN);
    double product = (double)bf16_to_f32(a) * (double)bf16_to_f32(b);
    uint16_t r = bf16_of_f32(f32_to_odd(f64_sum_to_odd(product, (double)bf16_to_f32(c))));
    return out_of_bounds ? 0 : finished(r, flags, 0x7f80, 0x3f80);
}

static inline float extreme(float a, float b, uint32_t flags) {
    uint32_t sign = (f32_bits(a) ^ f32_bits(b)) & 0x80000000u;
    if (flags & XORSIGN) a = f32_of(f32_bits(a) & 0x7fffffffu), b = f32_of(f32_bits(b) & 0x7fffffffu);
    float r = flags & MAX ? f32_max(a, b) : f32_min(a, b);
    if (flags & NAN_WINS && (a != a || b != b)) r = f32_of(0x7fffffffu);
    return flags & XORSIGN && r == r ? f32_of((f32_bits(r) & 0x7fffffffu) | sign) : r;
}
static inline uint16_t f16_extreme(uint16_t a, uint16_t b, uint32_t flags) {
    if (flags & FTZ) a = f16_flushed(a), b = f16_flushed(b);
    return f16_of_f32(extreme(f16_to_f32(a), f16_to_f32(b), flags));
}
static inline uint16_t bf16_extreme(uint16_t a, uint16_t b, uint32_t flags) {
    return bf16_of_f32(extreme(bf16_to_f32(a), bf16_to_f32(b), flags));
}

/* ---- lanes: a pair is two numbers beside each other -------------------------------------------------------------- */
/* ib, ic: the operands that b and c are; those without one name another. */
#define HALVES(name, n, ib, ic, value)                                                            \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {        \
        uint16_t *d = emu_u16(warp, op->operand[0]);                                              \
        const uint16_t *pa = emu_u16(warp, op->operand[1]), *pb = emu_u16(warp, op->operand[ib]), \
                       *pc = emu_u16(warp, op->operand[ic]);                                      \
        const uint32_t flags = op->flags;                                                         \
        EMU_IVDEP for (int k = 0; k < (n)*EMU_LANES; k++) {                                       \
            uint16_t a = pa[k], b = pb[k], c = pc[k];                                             \
            uint16_t r = (uint16_t)(value);                                                       \
            (void)b, (void)c;                                                                     \
            d[k] = mask >> (k / (n)) & 1 ? r : d[k];                                              \
        }                                                                                         \
        return EMU_NEXT;                                                                          \
    }
#define BOTH(name, ib, ic, value) HALVES(name, 1, ib, ic, value) HALVES(name##x2, 2, ib, ic, value)
#define FORMATS(format, one, minus_one)                                                          \
    BOTH(add_##format, 2, 2, format##_fma(a, one, b, flags))                                     \
    BOTH(sub_##format, 2, 2, format##_fma(b, minus_one, a, flags))                               \
    BOTH(mul_##format, 2, 2, format##_fma(a, b, 0x8000, flags))                                  \
    BOTH(fma_##format, 2, 3, format##_fma(a, b, c, flags))                                       \
    BOTH(extreme_##format, 2, 2, format##_extreme(a, b, flags))                                  \
    BOTH(neg_##format, 1, 1, format##_checked((flags & FTZ ? format##_flushed(a) : a) ^ 0x8000)) \
    BOTH(abs_##format, 1, 1, format##_checked((flags & FTZ ? format##_flushed(a) : a) & 0x7fff))
FORMATS(f16, 0x3c00, 0xbc00)
FORMATS(bf16, 0x3f80, 0xbf80)

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
#define OF(name) \
    { [PTX_F16] = name##_f16, [PTX_F16X2] = name##_f16x2, [PTX_BF16] = name##_bf16, [PTX_BF16X2] = name##_bf16x2 }
static const struct half_form {
    const char *name;
    int operands;
    bool rounds, must_round;
    uint8_t may; /* qualifiers of f16; bf16 has neither .ftz nor .sat */
    emu_run *run[PTX_N_TYPES];
} forms[] = {
    {"add", 3, true, false, FTZ | SAT, OF(add)},
    {"sub", 3, true, false, FTZ | SAT, OF(sub)},
    {"mul", 3, true, false, FTZ | SAT, OF(mul)},
    {"fma", 4, true, true, FTZ | SAT | RELU | OOB, OF(fma)},
    {"neg", 2, false, false, FTZ, OF(neg)},
    {"abs", 2, false, false, FTZ, OF(abs)},
    {"min", 3, false, false, FTZ | NAN_WINS | XORSIGN, OF(extreme)},
    {"max", 3, false, false, FTZ | NAN_WINS | XORSIGN, OF(extreme)},
};

static int take_flags(emu_decoding *d) {
    static const struct {
        const char *word;
        int flag;
    } words[] = {{"oob", OOB}, {"ftz", FTZ}, {"NaN", NAN_WINS}, {"sat", SAT}, {"relu", RELU}};
    int flags = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_take(&d->words, words[i].word)) flags |= words[i].flag;
    if (ptx_take(&d->words, "xorsign") && ptx_take(&d->words, "abs")) flags |= XORSIGN;
    return flags;
}

static bool decode_half(emu_decoding *d) {
    ptx_type type = emu_last_type(d);
    const struct half_form *form = forms;
    while (strcmp(form->name, d->instruction->word[0]) != 0) form++;
    if (!form->run[type]) return emu_decline(d);
    bool brain = type == PTX_BF16 || type == PTX_BF16X2, rounded = ptx_take(&d->words, "rn");
    if (rounded ? !form->rounds : form->must_round)
        return emu_decode_fail(d, rounded ? "nothing is rounded" : ".rn is due");
    int flags = take_flags(d), may = brain ? form->may & ~(FTZ | SAT) : form->may;
    if (flags & ~may)
        return emu_decode_fail(d, "a qualifier that %s.%s does not have", form->name, ptx_type_text[type]);
    ptx_take_type(&d->words);
    d->op->flags = (uint8_t)(flags | (!strcmp(form->name, "max") ? MAX : 0));
    ptx_type bits = ptx_type_bytes[type] == 2 ? PTX_B16 : PTX_B32;
    return emu_decode_same(d, form->run[type], form->operands, bits);
}

extern const emu_mnemonic emu_mnemonics_half[];
const emu_mnemonic emu_mnemonics_half[] = {
    {"add", decode_half}, {"sub", decode_half}, {"mul", decode_half}, {"fma", decode_half}, {"neg", decode_half},
    {"abs", decode_half}, {"min", decode_half}, {"max", decode_half}, {NULL, NULL},
};
