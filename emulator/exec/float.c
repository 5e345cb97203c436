/* f32 and f64: add, sub, mul, fma, mad, neg, abs, min, max, in all roundings. Division and roots: approximate.c. */
#include <fenv.h>

#include "exec/lanes.h"
#include "exec/numbers.h"

/* flags of an operation of f32. */
enum { FTZ = 1, SAT = 2 };
static const char *const roundings[] = {"rn", "rz", "rm", "rp", NULL};
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* ---- to nearest, what nearly all code asks for ------------------------------------------------------------------- */
#define NEAREST(name, value)                                                                     \
    EMU_BINARY(name##_f32, float, float, float, f32_canonical(value))                            \
    EMU_LANEWISE static emu_result name##_ftz(emu_warp *warp, const emu_op *op, emu_mask mask) { \
        float *d = emu_f32(warp, op->operand[0]);                                                \
        const float *pa = emu_f32(warp, op->operand[1]), *pb = emu_f32(warp, op->operand[2]);    \
        EMU_FOR_LANES(float, d, mask, float a = f32_flushed(pa[lane]);                           \
                      float b = f32_flushed(pb[lane]), f32_flushed(f32_canonical(value)))        \
        return EMU_NEXT;                                                                         \
    }
NEAREST(add, a + b)
NEAREST(sub, a - b)
NEAREST(mul, a *b)
EMU_BINARY(add_f64, double, double, double, f64_of_two(a + b, a, b))
EMU_BINARY(sub_f64, double, double, double, f64_of_two(a - b, a, b))
EMU_BINARY(mul_f64, double, double, double, f64_of_two(a *b, a, b))

EMU_TERNARY(fma_f32, float, float, float, float, f32_canonical(__builtin_fmaf(a, b, c)))
EMU_TERNARY(fma_ftz, float, float, float, float,
            f32_flushed(f32_canonical(__builtin_fmaf(f32_flushed(a), f32_flushed(b), f32_flushed(c)))))
EMU_TERNARY(fma_f64, double, double, double, double, f64_of_three(__builtin_fma(a, b, c), a, b, c))

/* ---- in any rounding: the processor's, set around the loop, which must not be inlined between -------------------- */
typedef void arithmetic(int what, const void *a, const void *b, const void *c, void *d);
enum { ADD, SUB, MUL, FMA };

__attribute__((noinline)) static void in_single(int what, const float *a, const float *b, const float *c, float *d) {
    for (int lane = 0; lane < EMU_LANES; lane++) switch (what) {
            case ADD: d[lane] = a[lane] + b[lane]; break;
            case SUB: d[lane] = a[lane] - b[lane]; break;
            case MUL: d[lane] = a[lane] * b[lane]; break;
            default: d[lane] = fmaf(a[lane], b[lane], c[lane]);
        }
}
__attribute__((noinline)) static void in_double(int what, const double *a, const double *b, const double *c,
                                                double *d) {
    for (int lane = 0; lane < EMU_LANES; lane++) switch (what) {
            case ADD: d[lane] = a[lane] + b[lane]; break;
            case SUB: d[lane] = a[lane] - b[lane]; break;
            case MUL: d[lane] = a[lane] * b[lane]; break;
            default: d[lane] = fma(a[lane], b[lane], c[lane]);
        }
}

/* kind: which; type2: rounding. */
static emu_result any_f32(emu_warp *warp, const emu_op *op, emu_mask mask) {
    float in[3][EMU_LANES], out[EMU_LANES], *d = emu_f32(warp, op->operand[0]);
    int n = op->kind == FMA ? 3 : 2;
    for (int k = 0; k < n; k++) {
        const float *from = emu_f32(warp, op->operand[1 + k]);
        for (int lane = 0; lane < EMU_LANES; lane++)
            in[k][lane] = op->flags & FTZ ? f32_flushed(from[lane]) : from[lane];
    }
    fesetround(modes[op->type2]);
    in_single(op->kind, in[0], in[1], in[2], out);
    fesetround(FE_TONEAREST);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        float r = f32_canonical(out[lane]);
        if (op->flags & FTZ) r = f32_flushed(r);
        if (op->flags & SAT) r = f32_saturated(r);
        if (mask >> lane & 1) d[lane] = r;
    }
    return EMU_NEXT;
}

static emu_result any_f64(emu_warp *warp, const emu_op *op, emu_mask mask) {
    double out[EMU_LANES], *d = emu_f64(warp, op->operand[0]);
    const double *a = emu_f64(warp, op->operand[1]), *b = emu_f64(warp, op->operand[2]);
    const double *c = op->kind == FMA ? emu_f64(warp, op->operand[3]) : b;
    fesetround(modes[op->type2]);
    in_double(op->kind, a, b, c, out);
    fesetround(FE_TONEAREST);
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) d[lane] = f64_of_three(out[lane], a[lane], b[lane], c[lane]);
    return EMU_NEXT;
}

/* Pairs of f32: as in two registers. */
static emu_result run_pairs(emu_warp *warp, const emu_op *op, emu_mask mask) {
    float in[3][EMU_LANES], out[EMU_LANES], *d = emu_at(warp, op->operand[0].at);
    float result[2][EMU_LANES];
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < (op->kind == FMA ? 3 : 2); k++) {
            const float *from = emu_at(warp, op->operand[1 + k].at);
            for (int lane = 0; lane < EMU_LANES; lane++) {
                const float x = from[2 * lane + half];
                in[k][lane] = op->flags & FTZ ? f32_flushed(x) : x;
            }
        }
        fesetround(modes[op->type2]);
        in_single(op->kind, in[0], in[1], in[2], out);
        fesetround(FE_TONEAREST);
        for (int lane = 0; lane < EMU_LANES; lane++) {
            const float r = f32_canonical(out[lane]);
            result[half][lane] = op->flags & FTZ ? f32_flushed(r) : r;
        }
    }
    for (int lane = 0; lane < EMU_LANES; lane++)
        for (int half = 0; half < 2 && mask >> lane & 1; half++) d[2 * lane + half] = result[half][lane];
    return EMU_NEXT;
}

static bool decode_pairs(emu_decoding *d, int what) {
    int rounding = ptx_take_of(&d->words, roundings, -1);
    if (rounding < 0 && what == FMA) return emu_decode_fail(d, "a rounding is due: .rn, .rz, .rm, .rp");
    d->op->flags = ptx_take(&d->words, "ftz") ? FTZ : 0;
    ptx_take_type(&d->words);
    d->op->kind = (uint8_t)what;
    d->op->type2 = (uint8_t)(rounding < 0 ? 0 : rounding);
    if (emu_options_get()->architecture < 100)
        return emu_decode_fail(d, "the device is an sm_90a: EMULATOR_ARCHITECTURE=100 makes it an sm_100a");
    return emu_decode_same(d, run_pairs, what == FMA ? 4 : 3, PTX_F32X2);
}

static emu_run *run_of(int what, ptx_type type, int rounding, int flags) {
    static emu_run *const nearest[4][3] = {{add_f32, add_ftz, add_f64},
                                           {sub_f32, sub_ftz, sub_f64},
                                           {mul_f32, mul_ftz, mul_f64},
                                           {fma_f32, fma_ftz, fma_f64}};
    if (rounding > 0 || flags & SAT) return type == PTX_F64 ? any_f64 : any_f32;
    return nearest[what][type == PTX_F64 ? 2 : flags & FTZ ? 1 : 0];
}

static bool decode_arithmetic(emu_decoding *d, int what, bool must_round) {
    ptx_type type = emu_last_type(d);
    if (type == PTX_F32X2) return decode_pairs(d, what);
    if (type != PTX_F32 && type != PTX_F64) return emu_decline(d);
    int rounding = ptx_take_of(&d->words, roundings, -1);
    if (rounding < 0 && must_round) return emu_decode_fail(d, "a rounding is due: .rn, .rz, .rm, .rp");
    d->op->flags |= (uint8_t)(ptx_take(&d->words, "ftz") ? FTZ : 0);
    d->op->flags |= (uint8_t)(ptx_take(&d->words, "sat") ? SAT : 0);
    if (type == PTX_F64 && d->op->flags) return emu_decode_fail(d, "f64 has no .ftz and no .sat");
    ptx_take_type(&d->words);
    d->op->kind = (uint8_t)what;
    d->op->type2 = (uint8_t)(rounding < 0 ? 0 : rounding);
    return emu_decode_same(d, run_of(what, type, rounding, d->op->flags), what == FMA ? 4 : 3, type);
}
static bool decode_add(emu_decoding *d) { return decode_arithmetic(d, ADD, false); }
static bool decode_sub(emu_decoding *d) { return decode_arithmetic(d, SUB, false); }
static bool decode_mul(emu_decoding *d) { return decode_arithmetic(d, MUL, false); }
static bool decode_fma(emu_decoding *d) { return decode_arithmetic(d, FMA, true); } /* mad of floats is fma */

/* ---- signs: of an f32 that is a NaN the one NaN comes, an f64 that is one keeps its sign ------------------------- */
EMU_UNARY(neg_f32, float, float, f32_canonical(f32_of(f32_bits(a) ^ 0x80000000u)))
EMU_UNARY(abs_f32, float, float, f32_canonical(f32_of(f32_bits(a) & 0x7fffffffu)))
EMU_UNARY(neg_ftz, float, float, f32_canonical(f32_of(f32_bits(f32_flushed(a)) ^ 0x80000000u)))
EMU_UNARY(abs_ftz, float, float, f32_canonical(f32_of(f32_bits(f32_flushed(a)) & 0x7fffffffu)))
EMU_UNARY(neg_f64, double, double, a == a ? f64_of(f64_bits(a) ^ UINT64_C(1) << 63) : f64_quieted(a))
EMU_UNARY(abs_f64, double, double, a == a ? f64_of(f64_bits(a) & ~(UINT64_C(1) << 63)) : f64_quieted(a))

static bool decode_sign(emu_decoding *d) {
    static emu_run *const runs[2][3] = {{neg_f32, neg_ftz, neg_f64}, {abs_f32, abs_ftz, abs_f64}};
    ptx_type type = emu_last_type(d);
    if (type != PTX_F32 && type != PTX_F64) return emu_decline(d);
    bool ftz = ptx_take(&d->words, "ftz");
    ptx_take_type(&d->words);
    if (ftz && type == PTX_F64) return emu_decode_fail(d, "f64 has no .ftz");
    return emu_decode_same(d, runs[d->instruction->word[0][0] == 'a'][type == PTX_F64 ? 2 : ftz], 2, type);
}

/* ---- min, max ---------------------------------------------------------------------------------------------------- */
EMU_BINARY(min_f32, float, float, float, f32_min(a, b))
EMU_BINARY(max_f32, float, float, float, f32_max(a, b))
EMU_BINARY(min_f64, double, double, double, f64_min(a, b))
EMU_BINARY(max_f64, double, double, double, f64_max(a, b))

enum { MAX = 4, NAN_WINS = 8, XORSIGN = 16 };
static inline float extreme(float a, float b, uint32_t flags) {
    if (flags & FTZ) a = f32_flushed(a), b = f32_flushed(b);
    uint32_t sign = (f32_bits(a) ^ f32_bits(b)) & 0x80000000u;
    if (flags & XORSIGN) a = f32_of(f32_bits(a) & 0x7fffffffu), b = f32_of(f32_bits(b) & 0x7fffffffu);
    float r = flags & MAX ? f32_max(a, b) : f32_min(a, b);
    if (flags & NAN_WINS && (a != a || b != b)) r = f32_of(0x7fffffffu);
    if (flags & XORSIGN && r == r) r = f32_of((f32_bits(r) & 0x7fffffffu) | sign);
    return r;
}
EMU_BINARY(any_extreme, float, float, float, extreme(a, b, op->flags))
/* Three inputs. */
EMU_TERNARY(any_extreme3, float, float, float, float, extreme(extreme(a, b, op->flags), c, op->flags))

static bool decode_extreme(emu_decoding *d) {
    static emu_run *const plain[2][2] = {{min_f32, min_f64}, {max_f32, max_f64}};
    ptx_type type = emu_last_type(d);
    if (type != PTX_F32 && type != PTX_F64) return emu_decline(d);
    bool max = d->instruction->word[0][1] == 'a';
    int flags = ptx_take(&d->words, "ftz") ? FTZ : 0;
    flags |= ptx_take(&d->words, "NaN") ? NAN_WINS : 0;
    if (ptx_take(&d->words, "xorsign")) {
        if (!ptx_take(&d->words, "abs")) return emu_decode_fail(d, ".xorsign.abs");
        flags |= XORSIGN;
    }
    ptx_take_type(&d->words);
    if (flags && type == PTX_F64) return emu_decode_fail(d, "f64 has no qualifiers here");
    d->op->flags = (uint8_t)(flags | (max ? MAX : 0));
    if (d->instruction->n_operands == 4 && type == PTX_F32) return emu_decode_same(d, any_extreme3, 4, type);
    return emu_decode_same(d, flags ? any_extreme : plain[max][type == PTX_F64], 3, type);
}

extern const emu_mnemonic emu_mnemonics_float[];
const emu_mnemonic emu_mnemonics_float[] = {
    {"add", decode_add},  {"sub", decode_sub},  {"mul", decode_mul},     {"fma", decode_fma},     {"mad", decode_fma},
    {"neg", decode_sign}, {"abs", decode_sign}, {"min", decode_extreme}, {"max", decode_extreme}, {NULL, NULL},
};
