/* div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh.
 * Rounded forms are exact. Approximations are computed in double precision and rounded: nearer to the true value than
 * the hardware, whose documented errors are: rcp 1 ulp, div.approx and div.full 2 ulp, sqrt 2^-23 relative, rsqrt
 * 2^-22.9 relative, ex2 2^-22.5 relative, lg2 2^-22 absolute near 1, sin and cos 2^-20.9 absolute in [-pi, pi], tanh
 * 2^-11 relative. Special values, and which subnormals are zero, are as documented. */
#include <fenv.h>

#include "exec/lanes.h"
#include "exec/numbers.h"

enum { FTZ = 1 };
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* ---- one number: a is flushed already when that is due ----------------------------------------------------------- */
static inline float reciprocal(float a) { return 1.0f / a; }
static inline float root(float a) { return __builtin_sqrtf(a); }
static inline float reciprocal_root(float a) { return (float)(1.0 / __builtin_sqrt((double)a)); }
/* a times the reciprocal of b: that is 0 for huge b, so that Inf by it is a NaN. */
static inline float quotient_approximate(float a, float b) {
    bool huge = (f32_bits(b) & 0x7fffffffu) > 0x7e800000u && (f32_bits(b) & 0x7fffffffu) < 0x7f800000u;
    float zero = f32_of((f32_bits(a) ^ f32_bits(b)) & 0x80000000u);
    return huge ? (a - a == 0 ? zero : f32_of(0x7fffffffu)) : a / b;
}
static inline float logarithm(float a) { return (float)log2((double)a); }
static inline float sine(float a) { return (float)sin((double)a); }
static inline float cosine(float a) { return (float)cos((double)a); }
static inline float hyperbolic_tangent(float a) { return (float)tanh((double)a); }

#define APPROXIMATION(name, value)                               \
    EMU_UNARY(name##_f32, float, float, f32_canonical(value(a))) \
    EMU_UNARY(name##_ftz, float, float, f32_flushed(f32_canonical(value(f32_flushed(a)))))
APPROXIMATION(rcp, reciprocal)
APPROXIMATION(sqrt, root)
APPROXIMATION(rsqrt, reciprocal_root)
APPROXIMATION(ex2, f32_exp2)
APPROXIMATION(lg2, logarithm)
APPROXIMATION(sin, sine)
APPROXIMATION(cos, cosine)
EMU_UNARY(tanh_f32, float, float, f32_canonical(hyperbolic_tangent(a)))
EMU_BINARY(div_f32, float, float, float, f32_canonical(a / b))
EMU_BINARY(div_ftz, float, float, float, f32_flushed(f32_canonical(f32_flushed(a) / f32_flushed(b))))
EMU_BINARY(div_approx, float, float, float, f32_canonical(quotient_approximate(a, b)))
EMU_BINARY(div_approx_ftz, float, float, float,
           f32_flushed(f32_canonical(quotient_approximate(f32_flushed(a), f32_flushed(b)))))
EMU_UNARY(rcp_f64, double, double, f64_of_two(1.0 / a, a, a))
EMU_UNARY(sqrt_f64, double, double, f64_of_two(__builtin_sqrt(a), a, a))
/* 1 / sqrt(a) rounded once: what the rounded quotient lacks is added. */
static inline double f64_reciprocal_root(double a) {
    double y = 1.0 / __builtin_sqrt(a), s = y * y, rest = __builtin_fma(-a, s, 1.0) - a * __builtin_fma(y, y, -s);
    double better = __builtin_fma(y * 0.5, rest, y);
    return better == better ? better : y;
}
EMU_UNARY(rsqrt_f64, double, double, f64_of_two(f64_reciprocal_root(a), a, a))
/* Of two NaNs the first comes through. */
EMU_BINARY(div_f64, double, double, double, f64_of_two(a / b, b, a))

/* The high word alone is computed, from the high word alone; subnormals are zero. */
static inline double f64_flushed(double a) {
    return f64_of(f64_bits(a) & UINT64_C(0x7ff0000000000000) ? f64_bits(a) : f64_bits(a) & UINT64_C(1) << 63);
}
static inline double high_word(double a) {
    a = f64_flushed(a);
    return f64_of(a == a ? f64_bits(a) & UINT64_C(0xffffffff00000000) : UINT64_C(0x7fffffff00000000));
}
EMU_UNARY(rcp_high, double, double, high_word(1.0 / high_word(a)))
EMU_UNARY(rsqrt_high, double, double, high_word(1.0 / __builtin_sqrt(high_word(a))))

/* Halves: through fp32, rounded once more. */
static inline uint16_t half_ex2(uint16_t a) { return f16_of_f32(f32_exp2(f16_to_f32(a))); }
static inline uint16_t brain_ex2(uint16_t a) {
    float in = bf16_to_f32((uint16_t)(a & 0x7f80 ? a : a & 0x8000));
    uint16_t r = bf16_of_f32(f32_exp2(in));
    return (uint16_t)(r & 0x7f80 ? r : r & 0x8000);
}
static inline uint16_t half_ex2_ftz(uint16_t a) {
    uint16_t r = half_ex2(a & 0x7c00 ? a : a & 0x8000);
    return r & 0x7c00 ? r : r & 0x8000;
}
static inline uint16_t half_tanh(uint16_t a) { return f16_of_f32(hyperbolic_tangent(f16_to_f32(a))); }
static inline uint16_t brain_tanh(uint16_t a) { return bf16_of_f32(hyperbolic_tangent(bf16_to_f32(a))); }
#define PAIRED(value) value((uint16_t)a) | (uint32_t)value((uint16_t)(a >> 16)) << 16
EMU_UNARY(ex2_f16, uint16_t, uint16_t, half_ex2(a))
EMU_UNARY(ex2_f16x2, uint32_t, uint32_t, PAIRED(half_ex2))
EMU_UNARY(ex2_ftz_f16, uint16_t, uint16_t, half_ex2_ftz(a))
EMU_UNARY(ex2_ftz_f16x2, uint32_t, uint32_t, PAIRED(half_ex2_ftz))
EMU_UNARY(ex2_bf16, uint16_t, uint16_t, brain_ex2(a))
EMU_UNARY(ex2_bf16x2, uint32_t, uint32_t, PAIRED(brain_ex2))
EMU_UNARY(tanh_f16, uint16_t, uint16_t, half_tanh(a))
EMU_UNARY(tanh_f16x2, uint32_t, uint32_t, PAIRED(half_tanh))
EMU_UNARY(tanh_bf16, uint16_t, uint16_t, brain_tanh(a))
EMU_UNARY(tanh_bf16x2, uint32_t, uint32_t, PAIRED(brain_tanh))

/* ---- other roundings: the processor's, set around a loop that is not inlined ------------------------------------- */
enum { DIV, RCP, SQRT };
__attribute__((noinline)) static void in_single(int what, const float *a, const float *b, float *d) {
    for (int lane = 0; lane < EMU_LANES; lane++)
        d[lane] = what == DIV ? a[lane] / b[lane] : what == RCP ? 1.0f / a[lane] : sqrtf(a[lane]);
}
__attribute__((noinline)) static void in_double(int what, const double *a, const double *b, double *d) {
    for (int lane = 0; lane < EMU_LANES; lane++)
        d[lane] = what == DIV ? a[lane] / b[lane] : what == RCP ? 1.0 / a[lane] : sqrt(a[lane]);
}

/* kind: which; type2: rounding. */
static emu_result rounded_f32(emu_warp *warp, const emu_op *op, emu_mask mask) {
    float in[2][EMU_LANES] = {{0}}, out[EMU_LANES], *d = emu_f32(warp, op->operand[0]);
    for (int k = 0; k < (op->kind == DIV ? 2 : 1); k++) {
        const float *from = emu_f32(warp, op->operand[1 + k]);
        for (int lane = 0; lane < EMU_LANES; lane++)
            in[k][lane] = op->flags & FTZ ? f32_flushed(from[lane]) : from[lane];
    }
    fesetround(modes[op->type2]);
    in_single(op->kind, in[0], in[1], out);
    fesetround(FE_TONEAREST);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        float r = f32_canonical(out[lane]);
        if (mask >> lane & 1) d[lane] = op->flags & FTZ ? f32_flushed(r) : r;
    }
    return EMU_NEXT;
}

static emu_result rounded_f64(emu_warp *warp, const emu_op *op, emu_mask mask) {
    double out[EMU_LANES], *d = emu_f64(warp, op->operand[0]);
    const double *a = emu_f64(warp, op->operand[1]), *b = op->kind == DIV ? emu_f64(warp, op->operand[2]) : a;
    fesetround(modes[op->type2]);
    in_double(op->kind, a, b, out);
    fesetround(FE_TONEAREST);
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) d[lane] = f64_of_two(out[lane], b[lane], a[lane]);
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
enum { APPROX = 4, FULL = 5 };
static const char *const ways[] = {"rn", "rz", "rm", "rp", "approx", "full", NULL};

static bool decode_rounded(emu_decoding *d, int what, int way, bool ftz, ptx_type type) {
    static emu_run *const nearest[3][3] = {
        {div_f32, div_ftz, div_f64}, {rcp_f32, rcp_ftz, rcp_f64}, {sqrt_f32, sqrt_ftz, sqrt_f64}};
    emu_run *run = type == PTX_F64 ? rounded_f64 : rounded_f32;
    if (way == 0) run = nearest[what][type == PTX_F64 ? 2 : ftz];
    d->op->kind = (uint8_t)what;
    d->op->type2 = (uint8_t)way;
    d->op->flags = ftz ? FTZ : 0;
    return emu_decode_same(d, run, what == DIV ? 3 : 2, type);
}

static bool decode_quotient(emu_decoding *d) {
    ptx_type type = emu_last_type(d);
    const char *name = d->instruction->word[0];
    int what = name[0] == 'd' ? DIV : name[0] == 'r' ? RCP : SQRT;
    if (type != PTX_F32 && type != PTX_F64) return emu_decline(d);
    int way = ptx_take_of(&d->words, ways, -1);
    bool ftz = ptx_take(&d->words, "ftz");
    ptx_take_type(&d->words);
    if (way < 0 || (way == FULL && what != DIV)) return emu_decode_fail(d, "a rounding or .approx is due");
    if (type == PTX_F64 && way == APPROX && what == RCP && ftz) return emu_decode_same(d, rcp_high, 2, type);
    if (type == PTX_F64 && (way >= APPROX || ftz)) return emu_decode_fail(d, "f64 is rounded");
    if (way < APPROX) return decode_rounded(d, what, way, ftz, type);
    if (what == DIV)
        return emu_decode_same(d, way == FULL ? (ftz ? div_ftz : div_f32) : ftz ? div_approx_ftz : div_approx, 3, type);
    return emu_decode_same(d, what == RCP ? (ftz ? rcp_ftz : rcp_f32) : ftz ? sqrt_ftz : sqrt_f32, 2, type);
}

/* {name, its types without .ftz, with .ftz} */
static const struct function_form {
    const char *name;
    emu_run *run[2][PTX_N_TYPES];
} forms[] = {
    {"rsqrt", {{[PTX_F32] = rsqrt_f32, [PTX_F64] = rsqrt_f64}, {[PTX_F32] = rsqrt_ftz, [PTX_F64] = rsqrt_high}}},
    {"sin", {{[PTX_F32] = sin_f32}, {[PTX_F32] = sin_ftz}}},
    {"cos", {{[PTX_F32] = cos_f32}, {[PTX_F32] = cos_ftz}}},
    {"lg2", {{[PTX_F32] = lg2_f32}, {[PTX_F32] = lg2_ftz}}},
    {"ex2",
     {{[PTX_F32] = ex2_f32, [PTX_F16] = ex2_f16, [PTX_F16X2] = ex2_f16x2},
      {[PTX_F32] = ex2_ftz,
       [PTX_F16] = ex2_ftz_f16,
       [PTX_F16X2] = ex2_ftz_f16x2,
       [PTX_BF16] = ex2_bf16,
       [PTX_BF16X2] = ex2_bf16x2}}},
    {"tanh",
     {{[PTX_F32] = tanh_f32,
       [PTX_F16] = tanh_f16,
       [PTX_F16X2] = tanh_f16x2,
       [PTX_BF16] = tanh_bf16,
       [PTX_BF16X2] = tanh_bf16x2},
      {[PTX_F32] = NULL}}},
};

static bool decode_function(emu_decoding *d) {
    const struct function_form *form = forms;
    while (strcmp(form->name, d->instruction->word[0]) != 0) form++;
    if (!ptx_take(&d->words, "approx")) return emu_decode_fail(d, "%s.approx", form->name);
    bool ftz = ptx_take(&d->words, "ftz");
    ptx_type type = ptx_take_type(&d->words);
    ptx_type bits = type == PTX_F16 || type == PTX_BF16       ? PTX_B16
                    : type == PTX_F16X2 || type == PTX_BF16X2 ? PTX_B32
                                                              : type;
    return emu_decode_same(d, form->run[ftz][type], 2, bits);
}

extern const emu_mnemonic emu_mnemonics_approximate[];
const emu_mnemonic emu_mnemonics_approximate[] = {
    {"div", decode_quotient},  {"rcp", decode_quotient},
    {"sqrt", decode_quotient}, {"rsqrt", decode_function},
    {"sin", decode_function},  {"cos", decode_function},
    {"lg2", decode_function},  {"ex2", decode_function},
    {"tanh", decode_function}, {NULL, NULL},
};
