/* Numbers of all formats as exact values, and back with any rounding. */
#include "exec/convert.h"
#include "exec/lanes.h"

typedef struct format {
    int exponent, fraction; /* bits */
    int below;              /* bits below the fraction that are zero: tf32 stands in 32 */
    bool finite;            /* no Inf; only all ones is NaN */
} format;

static format format_of(ptx_type type) {
    switch (type) {
        case PTX_F16: return (format){.exponent = 5, .fraction = 10};
        case PTX_BF16: return (format){.exponent = 8, .fraction = 7};
        case PTX_TF32: return (format){.exponent = 8, .fraction = 10, .below = 13};
        case PTX_E4M3: return (format){.exponent = 4, .fraction = 3, .finite = true};
        case PTX_E5M2: return (format){.exponent = 5, .fraction = 2};
        case PTX_F64: return (format){.exponent = 11, .fraction = 52};
        default: return (format){.exponent = 8, .fraction = 23};
    }
}

int emu_fraction_bits(ptx_type type) { return format_of(type).fraction; }

emu_exact emu_exact_of_float(uint64_t bits, ptx_type type) {
    format f = format_of(type);
    bits >>= f.below;
    int bias = (1 << (f.exponent - 1)) - 1, top = (1 << f.exponent) - 1;
    int e = (int)(bits >> f.fraction) & top;
    uint64_t ones = (UINT64_C(1) << f.fraction) - 1, fraction = bits & ones;
    emu_exact value = {.negative = bits >> (f.exponent + f.fraction) & 1};
    if (e == top && (!f.finite || fraction == ones)) {
        value.nan = fraction != 0, value.infinite = !value.nan;
        return value;
    }
    value.m = e ? fraction | (ones + 1) : fraction;
    value.e = (e ? e : 1) - bias - f.fraction;
    return value;
}

emu_exact emu_exact_of_integer(uint64_t bits, ptx_type type) {
    int shift = 64 - 8 * ptx_type_bytes[type];
    uint64_t wide = emu_is_signed(type) ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
    bool negative = emu_is_signed(type) && wide >> 63;
    return (emu_exact){.negative = negative, .m = negative ? 0 - wide : wide};
}

uint64_t emu_exact_rounded(const emu_exact *value, int unit, int rounding) {
    int shift = unit - value->e;
    if (shift <= 0) return shift < -63 ? UINT64_MAX : value->m << -shift;
    uint64_t kept = shift > 63 ? 0 : value->m >> shift;
    uint64_t rest = shift > 64 ? 0 : value->m << (64 - shift); /* as a fraction of 2^64 */
    if (shift > 64) rest = value->m != 0;                      /* less than a half, more than nothing */
    const uint64_t half = UINT64_C(1) << 63;
    if (!rest) return kept;
    switch (rounding) {
        case ROUND_NEAREST: return kept + (rest > half || (rest == half && kept & 1));
        case ROUND_NEAREST_AWAY: return kept + (rest >= half);
        case ROUND_DOWN: return kept + value->negative;
        case ROUND_UP: return kept + !value->negative;
        default: return kept;
    }
}

/* Beyond the largest number. */
static uint64_t overflowed(const emu_exact *value, const format *f, int rounding, bool finite) {
    uint64_t infinite = ((UINT64_C(1) << f->exponent) - 1) << f->fraction;
    uint64_t largest = f->finite ? infinite | ((UINT64_C(1) << f->fraction) - 2) : infinite - 1;
    bool outwards = rounding == ROUND_NEAREST || rounding == ROUND_NEAREST_AWAY ||
                    (rounding == ROUND_UP && !value->negative) || (rounding == ROUND_DOWN && value->negative);
    if (finite || (!outwards && !value->infinite)) return largest;
    return f->finite ? largest + 1 : infinite;
}

uint64_t emu_float_of_exact(const emu_exact *value, ptx_type type, int rounding, bool finite) {
    format f = format_of(type);
    int bias = (1 << (f.exponent - 1)) - 1, top = (1 << f.exponent) - 1;
    uint64_t sign = (uint64_t)value->negative << (f.exponent + f.fraction), one = UINT64_C(1) << f.fraction;
    if (value->nan) return ((uint64_t)top << f.fraction | (one - 1)) << f.below;
    if (value->infinite) return (sign | overflowed(value, &f, rounding, finite)) << f.below;
    if (!value->m) return sign << f.below;
    int exponent = 63 - __builtin_clzll(value->m) + value->e; /* of the leading bit */
    if (exponent < 1 - bias) exponent = 1 - bias;
    uint64_t m = emu_exact_rounded(value, exponent - f.fraction, rounding);
    if (m >> (f.fraction + 1)) m >>= 1, exponent++;
    uint64_t bits = m < one ? m : (uint64_t)(exponent + bias) << f.fraction | (m & (one - 1));
    uint64_t largest = (uint64_t)top << f.fraction | (f.finite ? one - 2 : 0);
    bool over = exponent + bias > top || (f.finite ? bits > largest : bits >= largest);
    return (sign | (over ? overflowed(value, &f, rounding, finite) : bits)) << f.below;
}

/* Of a saturated NaN 0. */
uint64_t emu_integer_of_exact(const emu_exact *value, ptx_type type, int rounding) {
    int bits = 8 * ptx_type_bytes[type];
    bool is_signed = emu_is_signed(type);
    uint64_t most = is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t least = is_signed ? most + 1 : 0; /* as a magnitude below zero */
    if (value->nan) return 0;
    bool huge = value->infinite || (value->m && 63 - __builtin_clzll(value->m) + value->e >= 64);
    uint64_t m = huge ? UINT64_MAX : emu_exact_rounded(value, 0, rounding);
    if (value->negative) return 0 - (m > least ? least : m);
    return m > most ? most : m;
}
