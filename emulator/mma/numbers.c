/* The rules of dot products by architecture, unit and type, and one product by integers: the reference for tile.c.
 *
 * A chunk of k is one sum: products are exact, with the exponent that their factors' exponents add up to (1.5 × 1.5
 * is 2.25 × 2^0, a subnormal factor has its type's least exponent); the largest exponent among them and the
 * accumulator, and -133 at least, is the sum's; each addend is cut off so many bits of fraction below it; the sum is
 * exact; it is cut off to the result's bits, or rounded to nearest even in f16. A zero has no exponent. A result of
 * zero is positive, NaN is 0x7fffffff or 0x7fff. sm_90's mma.sync of 8-bit floats is made by ptxas of conversions to
 * f16, two HMMA that begin with zero, of elements 0, 1 and 2, 3 of each four, and an addition of the accumulator.
 *
 * Sources: M. Fasi et al., Numerical behavior of NVIDIA tensor cores (2021); P. Xie et al., MMA-Sim (arXiv 2511.10909);
 * F. Khattak and M. Mikaitis, Accurate models of NVIDIA tensor cores (arXiv 2512.07004). The -133, the signs of zeros,
 * f64's NaNs and the 8-bit mma.sync are from products of an H200 (tests/products.h), which all rows agree with on all
 * bits. */
#include "mma/numbers.h"

#include <math.h>
#include <string.h>

/* The newest architecture's rows first: the first that fits is taken. */
enum { MMA = false, WGMMA = true };
#define FUSED(unit, a_, b_, acc, k, bits, out) \
    { 90, unit, PTX_##a_, PTX_##b_, PTX_##acc, EMU_DOT_FUSED, k, bits, out, -133 }
#define FUSED_8(unit, acc, k, bits, out)                                                    \
    FUSED(unit, E4M3, E4M3, acc, k, bits, out), FUSED(unit, E4M3, E5M2, acc, k, bits, out), \
        FUSED(unit, E5M2, E4M3, acc, k, bits, out), FUSED(unit, E5M2, E5M2, acc, k, bits, out)
#define CONVERTED(a_, b_, acc) \
    { 90, MMA, PTX_##a_, PTX_##b_, PTX_##acc, EMU_DOT_CONVERTED, 32, 0, 0, 0 }
#define INTEGER(unit, a_, b_) \
    { 90, unit, PTX_##a_, PTX_##b_, PTX_S32, EMU_DOT_INTEGER, 32, 0, 0, 0 }
/* sm_100's tcgen05 of 8 bits and less keeps all bits of the sum; its other types are as wgmma's. */
#define FUSED_100(a_, acc, out)                                                          \
    {100, WGMMA, PTX_##a_, PTX_E4M3, PTX_##acc, EMU_DOT_FUSED, 32, 25, out, -133},       \
        {100, WGMMA, PTX_##a_, PTX_E5M2, PTX_##acc, EMU_DOT_FUSED, 32, 25, out, -133},   \
        {100, WGMMA, PTX_##a_, PTX_E2M3, PTX_##acc, EMU_DOT_FUSED, 32, 25, out, -133},   \
        {100, WGMMA, PTX_##a_, PTX_E3M2, PTX_##acc, EMU_DOT_FUSED, 32, 25, out, -133}, { \
        100, WGMMA, PTX_##a_, PTX_E2M1, PTX_##acc, EMU_DOT_FUSED, 32, 25, out, -133      \
    }
static const emu_dot dots[] = {
    FUSED_100(E4M3, F32, 23),
    FUSED_100(E5M2, F32, 23),
    FUSED_100(E2M3, F32, 23),
    FUSED_100(E3M2, F32, 23),
    FUSED_100(E2M1, F32, 23),
    FUSED_100(E4M3, F16, 10),
    FUSED_100(E5M2, F16, 10),
    FUSED_100(E2M3, F16, 10),
    FUSED_100(E3M2, F16, 10),
    FUSED_100(E2M1, F16, 10),
    /* types of a, b, accumulator; elements of a chunk; bits of fraction; bits of the result's mantissa */
    FUSED(MMA, F16, F16, F32, 16, 25, 23),
    FUSED(MMA, F16, F16, F16, 16, 25, 10),
    FUSED(MMA, BF16, BF16, F32, 16, 25, 23),
    FUSED(MMA, TF32, TF32, F32, 8, 25, 23),
    CONVERTED(E4M3, E4M3, F32),
    CONVERTED(E4M3, E5M2, F32),
    CONVERTED(E5M2, E4M3, F32),
    CONVERTED(E5M2, E5M2, F32),
    CONVERTED(E4M3, E4M3, F16),
    CONVERTED(E4M3, E5M2, F16),
    CONVERTED(E5M2, E4M3, F16),
    CONVERTED(E5M2, E5M2, F16),
    FUSED(WGMMA, F16, F16, F32, 16, 25, 23),
    FUSED(WGMMA, F16, F16, F16, 16, 25, 10),
    FUSED(WGMMA, BF16, BF16, F32, 16, 25, 23),
    FUSED(WGMMA, TF32, TF32, F32, 8, 25, 23),
    FUSED_8(WGMMA, F32, 32, 13, 13),
    FUSED_8(WGMMA, F16, 32, 13, 10),
    INTEGER(MMA, S8, S8),
    INTEGER(MMA, S8, U8),
    INTEGER(MMA, U8, S8),
    INTEGER(MMA, U8, U8),
    INTEGER(WGMMA, S8, S8),
    INTEGER(WGMMA, S8, U8),
    INTEGER(WGMMA, U8, S8),
    INTEGER(WGMMA, U8, U8),
    {90, MMA, PTX_F64, PTX_F64, PTX_F64, EMU_DOT_DOUBLE, 1, 0, 52, 0},
};

const emu_dot *emu_dot_find(int sm, bool wgmma, ptx_type a, ptx_type b, ptx_type accumulator) {
    for (size_t i = 0; i < sizeof dots / sizeof dots[0]; i++) {
        const emu_dot *dot = &dots[i];
        if (dot->wgmma == wgmma && dot->a == a && dot->b == b && dot->accumulator == accumulator && dot->sm <= sm)
            return dot;
    }
    return NULL;
}

const emu_format *emu_format_of(ptx_type type) {
    static const emu_format formats[PTX_N_TYPES] = {
        [PTX_F16] = {2, 5, 10, 0, true, false},   [PTX_BF16] = {2, 8, 7, 0, true, false},
        [PTX_TF32] = {4, 8, 10, 13, true, false}, [PTX_F32] = {4, 8, 23, 0, true, false},
        [PTX_E4M3] = {1, 4, 3, 0, false, false},  [PTX_E5M2] = {1, 5, 2, 0, true, false},
        [PTX_E2M3] = {1, 2, 3, 0, false, true},   [PTX_E3M2] = {1, 3, 2, 0, false, true},
        [PTX_E2M1] = {1, 2, 1, 0, false, true},
    };
    return formats[type].bytes ? &formats[type] : NULL;
}

emu_factor emu_factor_of(const emu_format *format, uint32_t bits) {
    bits >>= format->dropped;
    uint32_t most = (1u << format->exponent_bits) - 1, exponent = bits >> format->mantissa_bits & most;
    uint32_t mantissa = bits & ((1u << format->mantissa_bits) - 1);
    bool negative = bits >> (format->mantissa_bits + format->exponent_bits) & 1;
    if (exponent == most && !format->finite) {
        bool number = !format->infinities && mantissa != (1u << format->mantissa_bits) - 1;
        bool infinity = format->infinities && mantissa == 0;
        if (!number) return (emu_factor){0, EMU_ZERO_EXPONENT, infinity ? (negative ? -INFINITY : INFINITY) : NAN};
    }
    if (exponent) mantissa |= 1u << format->mantissa_bits;
    int32_t significand = negative ? -(int32_t)mantissa : (int32_t)mantissa;
    int32_t bias = (1 << (format->exponent_bits - 1)) - 1;
    return (emu_factor){significand, mantissa == 0 ? EMU_ZERO_EXPONENT : (int32_t)(exponent ? exponent : 1) - bias, 0};
}

/* Bits of the exponent: all of them are set in what is no number. */
static uint32_t exponents_of(const emu_format *format) {
    return ((1u << format->exponent_bits) - 1) << (format->mantissa_bits + format->dropped);
}

/* ---- rounding sum × 2^exponent --------------------------------------------------------------------------- */
static uint32_t shifted_down(uint64_t magnitude, int shift) {
    return shift >= 64 ? 0 : (uint32_t)(shift >= 0 ? magnitude >> shift : magnitude << -shift);
}

static uint32_t truncated_f32(int64_t sum, int exponent, int mantissa_bits) {
    if (sum == 0) return 0;
    uint32_t sign = sum < 0 ? 0x80000000u : 0;
    uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int top = 63 - __builtin_clzll(magnitude) + exponent; /* 2^top ≤ value */
    if (top > 127) return sign | 0x7f800000u;
    int last = top < -126 ? -149 : top - 23;
    uint32_t bits = shifted_down(magnitude, last - exponent);
    if (top >= -126) bits = (bits & 0x7fffffu) | (uint32_t)(top + 127) << 23;
    bits &= ~((1u << (23 - mantissa_bits)) - 1);
    return bits ? sign | bits : 0; /* zero is positive */
}

static uint32_t nearest_f16(int64_t sum, int exponent) {
    if (sum == 0) return 0;
    uint32_t sign = sum < 0 ? 0x8000u : 0;
    uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int top = 63 - __builtin_clzll(magnitude) + exponent;
    if (top > 15) return sign | 0x7c00u;
    int last = top < -14 ? -24 : top - 10, shift = last - exponent;
    uint32_t bits = shifted_down(magnitude, shift);
    if (shift > 0 && shift < 64) {
        uint64_t rest = magnitude & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
        bits += rest > half || (rest == half && bits & 1);
    }
    /* A carry out of the mantissa goes to the exponent, from the largest to infinity, by itself. */
    if (top >= -14) bits += (uint32_t)(top + 14) << 10;
    return bits ? sign | bits : 0;
}

/* ---- one product ----------------------------------------------------------------------------------------- */
static int64_t aligned(int64_t value, int shift) { /* value × 2^shift, what is below 1 cut off */
    if (shift >= 0) return value * (INT64_C(1) << shift);
    if (shift <= -63) return 0;
    return value < 0 ? -(-value >> -shift) : value >> -shift;
}

/* Infinities and NaNs among k products and the accumulator, added up as floats are; 0: there are none. */
static float special_sum_of(const emu_format *format_a, const emu_format *format_b, const uint32_t *a,
                            const uint32_t *b, int k, float special) {
    const uint32_t top_a = exponents_of(format_a), top_b = exponents_of(format_b);
    for (int i = 0; i < k && !isnan(special); i++) {
        if ((a[i] & top_a) != top_a && (b[i] & top_b) != top_b) continue;
        const emu_factor x = emu_factor_of(format_a, a[i]), y = emu_factor_of(format_b, b[i]);
        if (x.special == 0 && y.special == 0) continue;
        special +=
            (x.special != 0 ? x.special : (float)x.significand) * (y.special != 0 ? y.special : (float)y.significand);
    }
    return special;
}

static uint32_t fused_chunk(const emu_dot *dot, const uint32_t *a, const uint32_t *b, int k, uint32_t c) {
    const emu_format *format_a = emu_format_of(dot->a), *format_b = emu_format_of(dot->b);
    const emu_format *format_c = emu_format_of(dot->accumulator);
    const emu_factor z = emu_factor_of(format_c, c);
    const bool half = dot->accumulator == PTX_F16;
    const float special = special_sum_of(format_a, format_b, a, b, k, z.special);
    if (isnan(special)) return half ? 0x7fff : 0x7fffffff;
    if (special != 0) return (half ? 0x7c00u : 0x7f800000u) | (special < 0 ? (half ? 0x8000u : 0x80000000u) : 0);
    emu_factor x[EMU_MAX_K], y[EMU_MAX_K];
    int largest = z.exponent > dot->least ? z.exponent : dot->least;
    for (int i = 0; i < k; i++) {
        x[i] = emu_factor_of(format_a, a[i]);
        y[i] = emu_factor_of(format_b, b[i]);
        int exponent = x[i].exponent + y[i].exponent;
        if (exponent > largest) largest = exponent;
    }
    int grid = largest - dot->fraction;
    int64_t sum = aligned(z.significand, z.exponent - format_c->mantissa_bits - grid);
    for (int i = 0; i < k; i++) {
        int fraction = format_a->mantissa_bits + format_b->mantissa_bits;
        sum += aligned((int64_t)x[i].significand * y[i].significand, x[i].exponent + y[i].exponent - fraction - grid);
    }
    return half ? nearest_f16(sum, grid) : truncated_f32(sum, grid, dot->mantissa);
}

/* ---- mma.sync of 8-bit floats ---------------------------------------------------------------------------- */
static uint16_t f16_of(const emu_format *format, uint8_t bits) {
    emu_factor x = emu_factor_of(format, bits);
    uint16_t sign = (uint16_t)((bits & 0x80u) << 8);
    if (x.special != 0) return (uint16_t)(isnan(x.special) ? 0x7fff : sign | 0x7c00);
    int64_t significand = x.significand;
    return (uint16_t)(sign | (nearest_f16(significand, x.exponent - format->mantissa_bits) & 0x7fff));
}

void emu_dot_converted(ptx_type type, const uint8_t *line, int k, int part, uint16_t *out) {
    static uint16_t tables[2][256];
    static bool made[2];
    int table = type == PTX_E5M2;
    for (int i = 0; !made[table] && i < 256; i++) tables[table][i] = f16_of(emu_format_of(type), (uint8_t)i);
    made[table] = true;
    for (int i = 0; i < k / 2; i++) out[i] = tables[table][line[i / 2 * 4 + 2 * part + i % 2]];
}

static double value_of(const emu_format *format, uint32_t bits) {
    emu_factor x = emu_factor_of(format, bits);
    return x.special != 0 ? (double)x.special : ldexp(x.significand, x.exponent - format->mantissa_bits);
}

uint32_t emu_dot_terms(const emu_term *term, int n, float special, int fraction, uint32_t c) {
    enum { LEAST = -133 };
    const emu_format *format = emu_format_of(PTX_F32);
    const emu_factor z = emu_factor_of(format, c);
    special += z.special;
    if (isnan(special)) return 0x7fffffff;
    if (special != 0) return 0x7f800000u | (special < 0 ? 0x80000000u : 0);
    int largest = z.exponent > LEAST ? z.exponent : LEAST;
    for (int i = 0; i < n; i++)
        if (term[i].value != 0 && term[i].exponent > largest) largest = term[i].exponent;
    const int grid = largest - fraction;
    int64_t sum = aligned(z.significand, z.exponent - format->mantissa_bits - grid);
    for (int i = 0; i < n; i++) sum += aligned(term[i].value, term[i].exponent - term[i].fraction - grid);
    return truncated_f32(sum, grid, format->mantissa_bits);
}

uint32_t emu_dot_scaled(bool half, uint32_t x, int shift) {
    const emu_format *format = emu_format_of(half ? PTX_F16 : PTX_F32);
    const emu_factor factor = emu_factor_of(format, x);
    if (factor.special != 0) return x;
    const int exponent = factor.exponent - format->mantissa_bits - shift;
    return half ? nearest_f16(factor.significand, exponent) : truncated_f32(factor.significand, exponent, 23);
}

uint32_t emu_dot_sum(bool half, uint32_t x, uint32_t y) {
    if (!half) {
        float a, b;
        memcpy(&a, &x, 4);
        memcpy(&b, &y, 4);
        a += b;
        memcpy(&x, &a, 4);
        return isnan(a) ? 0x7fffffff : x;
    }
    const emu_format *format = emu_format_of(PTX_F16);
    double sum = value_of(format, x) + value_of(format, y); /* exact */
    if (isnan(sum)) return 0x7fff;
    if (isinf(sum)) return sum < 0 ? 0xfc00 : 0x7c00;
    if (sum == 0) return x & y & 0x8000;
    return nearest_f16((int64_t)ldexp(sum, 24), -24);
}

static uint32_t converted(const emu_dot *dot, const uint32_t *a, const uint32_t *b, int k, uint32_t c) {
    const emu_dot *f16 = emu_dot_find(dot->sm, dot->wgmma, PTX_F16, PTX_F16, dot->accumulator);
    uint32_t sum = 0;
    for (int part = 0; part < 2; part++) {
        uint8_t bytes[2][EMU_MAX_K] = {{0}};
        uint16_t halves[2][EMU_MAX_K / 2];
        uint32_t x[EMU_MAX_K / 2], y[EMU_MAX_K / 2];
        for (int i = 0; i < k; i++) bytes[0][i] = (uint8_t)a[i], bytes[1][i] = (uint8_t)b[i];
        emu_dot_converted(dot->a, bytes[0], k, part, halves[0]);
        emu_dot_converted(dot->b, bytes[1], k, part, halves[1]);
        for (int i = 0; i < k / 2; i++) x[i] = halves[0][i], y[i] = halves[1][i];
        sum = fused_chunk(f16, x, y, k / 2, sum);
    }
    return emu_dot_sum(dot->accumulator == PTX_F16, sum, c);
}

static int32_t integer_of(ptx_type type, uint32_t bits) { return type == PTX_S8 ? (int8_t)bits : (uint8_t)bits; }

uint32_t emu_dot_product(const emu_dot *dot, const uint32_t *a, const uint32_t *b, int k, uint32_t c) {
    if (dot->kind == EMU_DOT_INTEGER) {
        for (int i = 0; i < k; i++) c += (uint32_t)(integer_of(dot->a, a[i]) * integer_of(dot->b, b[i]));
        return c;
    }
    if (dot->kind == EMU_DOT_CONVERTED) return converted(dot, a, b, k, c);
    for (int i = 0; i < k; i += dot->chunk)
        c = fused_chunk(dot, a + i, b + i, k - i < dot->chunk ? k - i : dot->chunk, c);
    return c;
}

double emu_dot_fma(double a, double b, double c) {
    double result = isnan(b) ? b : isnan(c) ? c : isnan(a) ? a : fma(a, b, c);
    if (!isnan(result)) return result;
    uint64_t bits = UINT64_C(0xfff8000000000000); /* an invalid operation's */
    if (isnan(a) || isnan(b) || isnan(c)) {
        memcpy(&bits, &result, 8);
        bits |= UINT64_C(1) << 51;
    }
    memcpy(&result, &bits, 8);
    return result;
}
