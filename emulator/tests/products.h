/* Products to compare with a GPU's: rows of (unit, types, shape) and a generator of their operands, the same bits
 * wherever it is compiled. One product is one output element, d = c + sum over k of a[k] b[k], of one instruction.
 *
 * Included by the CUDA program that runs them (C++) and by the tests that compare (C): integer hashes, and double
 * arithmetic by explicit fma() alone. */
#ifndef EMULATOR_TESTS_PRODUCTS_H
#define EMULATOR_TESTS_PRODUCTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum product_type {
    PRODUCT_F16,
    PRODUCT_BF16,
    PRODUCT_TF32,
    PRODUCT_E4M3,
    PRODUCT_E5M2,
    PRODUCT_S8,
    PRODUCT_U8,
    PRODUCT_F32,
    PRODUCT_S32,
    PRODUCT_F64
} product_type;

typedef struct product_format {
    const char *name;
    int bytes, exponent_bits, mantissa_bits; /* of tf32, as it lies in memory: an f32 whose low 13 bits do not count */
} product_format;
static const product_format product_formats[] = {
    {"f16", 2, 5, 10}, {"bf16", 2, 8, 7}, {"tf32", 4, 8, 23}, {"e4m3", 1, 4, 3}, {"e5m2", 1, 5, 2},
    {"s8", 1, 0, 8},   {"u8", 1, 0, 8},   {"f32", 4, 8, 23},  {"s32", 4, 0, 32}, {"f64", 8, 11, 52},
};

/* X(name, unit, m, n, k, a, b, accumulator): unit is mma, wgmma, wgmma_zero (scale-d is 0: no c) or mma_satfinite. */
#define PRODUCT_ROWS(X)                                        \
    X(mma_f16_k16, mma, 16, 8, 16, F16, F16, F32)              \
    X(mma_f16_k8, mma, 16, 8, 8, F16, F16, F32)                \
    X(mma_f16_k16_f16, mma, 16, 8, 16, F16, F16, F16)          \
    X(mma_f16_k8_f16, mma, 16, 8, 8, F16, F16, F16)            \
    X(mma_bf16_k16, mma, 16, 8, 16, BF16, BF16, F32)           \
    X(mma_bf16_k8, mma, 16, 8, 8, BF16, BF16, F32)             \
    X(mma_tf32_k8, mma, 16, 8, 8, TF32, TF32, F32)             \
    X(mma_tf32_k4, mma, 16, 8, 4, TF32, TF32, F32)             \
    X(mma_e4m3_e4m3, mma, 16, 8, 32, E4M3, E4M3, F32)          \
    X(mma_e4m3_e5m2, mma, 16, 8, 32, E4M3, E5M2, F32)          \
    X(mma_e5m2_e4m3, mma, 16, 8, 32, E5M2, E4M3, F32)          \
    X(mma_e5m2_e5m2, mma, 16, 8, 32, E5M2, E5M2, F32)          \
    X(mma_e4m3_k16, mma, 16, 8, 16, E4M3, E4M3, F32)           \
    X(mma_e4m3_f16, mma, 16, 8, 32, E4M3, E4M3, F16)           \
    X(mma_e5m2_f16, mma, 16, 8, 32, E5M2, E5M2, F16)           \
    X(mma_s8_k32, mma, 16, 8, 32, S8, S8, S32)                 \
    X(mma_s8_u8_k32, mma, 16, 8, 32, S8, U8, S32)              \
    X(mma_s8_satfinite, mma_satfinite, 16, 8, 32, S8, S8, S32) \
    X(mma_f64_m8, mma, 8, 8, 4, F64, F64, F64)                 \
    X(mma_f64_k16, mma, 16, 8, 16, F64, F64, F64)              \
    X(wgmma_f16, wgmma, 64, 8, 16, F16, F16, F32)              \
    X(wgmma_f16_zero, wgmma_zero, 64, 8, 16, F16, F16, F32)    \
    X(wgmma_f16_f16, wgmma, 64, 8, 16, F16, F16, F16)          \
    X(wgmma_bf16, wgmma, 64, 8, 16, BF16, BF16, F32)           \
    X(wgmma_tf32, wgmma, 64, 8, 8, TF32, TF32, F32)            \
    X(wgmma_e4m3_e4m3, wgmma, 64, 8, 32, E4M3, E4M3, F32)      \
    X(wgmma_e4m3_e5m2, wgmma, 64, 8, 32, E4M3, E5M2, F32)      \
    X(wgmma_e5m2_e4m3, wgmma, 64, 8, 32, E5M2, E4M3, F32)      \
    X(wgmma_e5m2_e5m2, wgmma, 64, 8, 32, E5M2, E5M2, F32)      \
    X(wgmma_e4m3_zero, wgmma_zero, 64, 8, 32, E4M3, E4M3, F32) \
    X(wgmma_e4m3_f16, wgmma, 64, 8, 32, E4M3, E4M3, F16)       \
    X(wgmma_e5m2_f16, wgmma, 64, 8, 32, E5M2, E5M2, F16)       \
    X(wgmma_s8, wgmma, 64, 8, 32, S8, S8, S32)                 \
    X(wgmma_u8_s8, wgmma, 64, 8, 32, U8, S8, S32)

typedef enum product_unit { product_mma, product_wgmma, product_wgmma_zero, product_mma_satfinite } product_unit;
typedef struct product_row {
    const char *name;
    product_unit unit;
    int m, n, k;
    product_type a, b, c;
} product_row;
static const product_row product_rows[] = {
#define PRODUCT_ROW(name, unit, m, n, k, a, b, c) \
    {#name, product_##unit, m, n, k, PRODUCT_##a, PRODUCT_##b, PRODUCT_##c},
    PRODUCT_ROWS(PRODUCT_ROW)
#undef PRODUCT_ROW
};
enum {
    PRODUCT_N_ROWS = sizeof product_rows / sizeof product_rows[0],
    PRODUCT_OUTPUTS = 1 << 20, /* of each row */
    PRODUCT_BLOCK = 1024,      /* outputs a hash is of … */
    PRODUCT_BLOCKS = 16,       /* … and such hashes that one hash in the file is of: a line has 64 */
    PRODUCT_HASHES = PRODUCT_OUTPUTS / PRODUCT_BLOCK / PRODUCT_BLOCKS,
    PRODUCT_SAMPLE = 1 << 16, /* outputs kept in full, the first ones */
    PRODUCT_MAX_A = 64 * 32,
    PRODUCT_MAX_B = 8 * 32,
    PRODUCT_MAX_C = 64 * 8
};

/* ---- hashes and numbers ---------------------------------------------------------------------------------- */
static inline uint64_t product_mix(uint64_t x) { /* the finalizer of splitmix64 */
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
/* A stream of random numbers that begins at a hash of four numbers. */
typedef struct product_random {
    uint64_t state;
} product_random;
static inline product_random product_random_of(uint64_t row, uint64_t tile, uint64_t role, uint64_t index) {
    product_random random = {product_mix(product_mix(product_mix(product_mix(row + 1) + tile) + role) + index)};
    return random;
}
static inline uint64_t product_next(product_random *random) {
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return product_mix(random->state);
}
static inline int product_below(product_random *random, int n) {
    return (int)(((product_next(random) >> 32) * (uint64_t)n) >> 32);
}
static inline uint64_t product_hash(uint64_t hash, uint64_t value) {
    return product_mix(hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);
}

static inline int product_bias(const product_format *f) { return (1 << (f->exponent_bits - 1)) - 1; }
static inline int product_least(const product_format *f) { return 1 - product_bias(f); } /* exponent of normals */
static inline int product_most(const product_format *f) {
    return product_bias(f) + (f->bytes == 1 && f->exponent_bits == 4);
}
static inline uint64_t product_mask(int bits) { return bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

/* (-1)^negative 2^e (1 + mantissa 2^-mantissa_bits), below the normals as a subnormal (truncated), above as the largest
 * power. */
static inline uint64_t product_encode(const product_format *f, bool negative, int e, uint64_t mantissa) {
    uint64_t sign = (uint64_t)negative << (8 * f->bytes - 1);
    mantissa &= product_mask(f->mantissa_bits);
    if (e > product_most(f)) e = product_most(f);
    if (e < product_least(f)) {
        int shift = product_least(f) - e;
        uint64_t significand = mantissa | UINT64_C(1) << f->mantissa_bits;
        return sign | (shift > f->mantissa_bits ? 0 : significand >> shift);
    }
    if (f->bytes == 1 && f->exponent_bits == 4 && e == product_most(f) && mantissa == 7) mantissa = 6; /* 7 is NaN */
    return sign | (uint64_t)(e + product_bias(f)) << f->mantissa_bits | mantissa;
}
/* Infinities and NaNs as 0: only for making operands that nearly cancel. */
static inline double product_value(product_type type, uint64_t bits) {
    const product_format *f = &product_formats[type];
    if (type == PRODUCT_S8) return (int8_t)bits;
    if (type == PRODUCT_U8) return (uint8_t)bits;
    if (type == PRODUCT_S32) return (int32_t)bits;
    if (type == PRODUCT_TF32) bits &= ~UINT64_C(0x1fff);
    int e = (int)(bits >> f->mantissa_bits & product_mask(f->exponent_bits));
    uint64_t mantissa = bits & product_mask(f->mantissa_bits);
    if (e - product_bias(f) > product_most(f)) return 0;
    if (e) mantissa |= UINT64_C(1) << f->mantissa_bits;
    double x = ldexp((double)mantissa, (e ? e : 1) - product_bias(f) - f->mantissa_bits);
    return bits >> (8 * f->bytes - 1) & 1 ? -x : x;
}
/* Truncated. */
static inline uint64_t product_from(product_type type, double x) {
    const product_format *f = &product_formats[type];
    if (type == PRODUCT_S32)
        return (uint32_t)(int32_t)(x > 2147483647.0 ? 2147483647.0 : x < -2147483648.0 ? -2147483648.0 : x);
    int e;
    double fraction = frexp(fabs(x), &e);
    if (isinf(x)) return product_encode(f, signbit(x) != 0, -1, 0); /* so it was where the GPU's hashes were made */
    if (fraction == 0) return (uint64_t)(signbit(x) != 0) << (8 * f->bytes - 1);
    return product_encode(f, signbit(x) != 0, e - 1, (uint64_t)ldexp(fraction, f->mantissa_bits + 1));
}

/* ---- vectors: rows of a, columns of b -------------------------------------------------------------------- */
typedef enum product_scheme {
    PRODUCT_SPREAD,    /* normals, exponents within a window */
    PRODUCT_POWERS,    /* powers of two */
    PRODUCT_ONE_LARGE, /* one element, the others smaller by up to 30 binary orders */
    PRODUCT_SPARSE,    /* mostly zeros of both signs */
    PRODUCT_TINY,      /* subnormals and the least normals */
    PRODUCT_HUGE,      /* near overflow */
    PRODUCT_INTEGERS,  /* -8 … 8 */
    PRODUCT_RAW,       /* all finite bit patterns */
    PRODUCT_N_SCHEMES,
    PRODUCT_SPECIAL = PRODUCT_N_SCHEMES, /* one or more infinities or NaNs among finite ones */
} product_scheme;

static inline uint64_t product_special(const product_format *f, product_random *random) {
    uint64_t sign = (product_next(random) & 1) << (8 * f->bytes - 1);
    uint64_t top = product_mask(f->exponent_bits) << f->mantissa_bits;
    if (f->bytes == 1 && f->exponent_bits == 4) return sign | 0x7f;
    switch (product_below(random, 5)) {
        case 0:
        case 1: return sign | top;
        case 2: return sign | top | 1; /* signalling; of tf32 an infinity with bits that do not count */
        case 3: return sign | top | UINT64_C(1) << (f->mantissa_bits - 1);
        default: return sign | top | (product_next(random) & product_mask(f->mantissa_bits));
    }
}
static inline uint64_t product_raw(const product_format *f, product_random *random) {
    uint64_t bits = product_next(random) & product_mask(8 * f->bytes);
    if (f->exponent_bits == 0) return bits;
    uint64_t top = product_mask(f->exponent_bits) << f->mantissa_bits;
    if (f->bytes == 1 && f->exponent_bits == 4) return (bits & 0x7f) == 0x7f ? bits ^ 1 : bits;
    return (bits & top) == top ? bits ^ UINT64_C(1) << f->mantissa_bits : bits;
}
static inline int product_exponent(const product_format *f, product_random *random) {
    int least = product_least(f), most = product_most(f);
    if (f->exponent_bits < 8) return least + product_below(random, most - least + 1);
    switch (product_below(random, 5)) {
        case 0: return least / 2 - 20 + product_below(random, 40); /* products near the least normals of f32 */
        case 1: return most / 2 - 10 + product_below(random, 20);
        default: return product_below(random, 41) - 20;
    }
}
static inline uint64_t product_element(const product_format *f, product_scheme scheme, int e, int spread, bool large,
                                       product_random *random) {
    bool negative = product_next(random) & 1;
    uint64_t mantissa = product_next(random);
    if (f->bytes == 4 && (mantissa >> 62) == 0) mantissa &= ~UINT64_C(0x1fff); /* a true tf32 */
    switch (scheme) {
        case PRODUCT_SPREAD: return product_encode(f, negative, e - product_below(random, spread + 1), mantissa);
        case PRODUCT_POWERS: return product_encode(f, negative, e - product_below(random, spread + 1), 0);
        case PRODUCT_ONE_LARGE:
            return product_encode(f, negative, large ? e : e - spread + 1 - product_below(random, 4), mantissa);
        case PRODUCT_SPARSE:
            if (product_below(random, 4)) return (uint64_t)negative << (8 * f->bytes - 1);
            return product_encode(f, negative, e - product_below(random, 8), mantissa);
        case PRODUCT_TINY:
            return product_encode(f, negative, product_least(f) + 1 - product_below(random, f->mantissa_bits + 3),
                                  mantissa);
        case PRODUCT_HUGE: return product_encode(f, negative, product_most(f) - product_below(random, 2), mantissa);
        case PRODUCT_INTEGERS: {
            int value = product_below(random, 17) - 8;
            int log = value * value >= 64 ? 3 : value * value >= 16 ? 2 : value * value >= 4 ? 1 : 0;
            uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);
            return value ? product_encode(f, value < 0, log, magnitude << f->mantissa_bits >> log) : 0;
        }
        default: return product_raw(f, random);
    }
}
/* pair: distance of elements of which one is the other's negative (of b: equal), so that sums cancel; 0: none */
static inline void product_vector(product_type type, int k, int pair, bool negate, bool special, product_random *random,
                                  uint64_t *out) {
    static const int spreads[] = {0, 2, 6, 12, 16, 22, 27, 32};
    const product_format *f = &product_formats[type];
    if (f->exponent_bits == 0) {
        bool extreme = product_below(random, 4) == 0;
        for (int i = 0; i < k; i++)
            out[i] = extreme ? (product_next(random) & 1 ? 0x80 : 0x7f) : product_next(random) & 0xff;
        return;
    }
    product_scheme scheme = (product_scheme)product_below(random, PRODUCT_N_SCHEMES);
    int e = product_exponent(f, random), spread = spreads[product_below(random, 8)], large = product_below(random, k);
    for (int i = 0; i < k; i++) out[i] = product_element(f, scheme, e, spread, i == large, random);
    if (pair)
        for (int i = 0; i < k; i++)
            if (i & pair && product_below(random, 16)) out[i] = out[i ^ pair] ^ (uint64_t)negate << (8 * f->bytes - 1);
    if (special && product_below(random, 4) == 0)
        for (int i = product_below(random, 3); i >= 0; i--) {
            int at = product_below(random, k);
            out[at] = product_special(f, random);
        }
}

/* ---- addends --------------------------------------------------------------------------------------------- */
static inline uint64_t product_addend(product_type type, double dot, bool special, product_random *random) {
    const product_format *f = &product_formats[type];
    uint64_t sign = UINT64_C(1) << (8 * f->bytes - 1);
    if (f->exponent_bits == 0)
        return product_below(random, 2) ? product_next(random) & 0xffffffff : product_from(type, -dot);
    int e;
    frexp(dot, &e);
    bool negative = product_next(random) & 1;
    uint64_t mantissa = product_next(random);
    if (special && product_below(random, 8) == 0) return product_special(f, random);
    switch (product_below(random, 10)) {
        case 0: return negative ? sign : 0;
        case 1: return product_from(type, -dot);
        case 2: { /* a few units in the last place off */
            uint64_t bits = product_from(type, -dot);
            return bits & ~sign ? bits ^ (UINT64_C(1) << product_below(random, 4)) : bits;
        }
        case 3:
        case 4:
        case 5: return product_encode(f, negative, e - 1 + product_below(random, 61) - 30, mantissa);
        case 6: return product_encode(f, negative, e - 1 + product_below(random, 61) - 30, 0);
        case 7: return product_raw(f, random);
        case 8:
            return product_encode(f, negative, product_least(f) - product_below(random, f->mantissa_bits), mantissa);
        default: return product_encode(f, negative, product_below(random, 9) - 4, mantissa);
    }
}

/* Operands of tile number `tile` of a row: a[m][k], b[n][k], c[m][n], raw bits. Every eighth tile has infinities and
 * NaNs. */
static inline void product_tile(int row, uint32_t tile, uint64_t *a, uint64_t *b, uint64_t *c) {
    const product_row *r = &product_rows[row];
    bool special = tile % 8 == 7;
    product_random random = product_random_of((uint64_t)row, tile, 0, 0);
    int pair = tile % 4 == 1 ? 1 << product_below(&random, r->k > 16 ? 5 : r->k > 8 ? 4 : r->k > 4 ? 3 : 2) : 0;
    for (int i = 0; i < r->m; i++) {
        random = product_random_of((uint64_t)row, tile, 1, (uint64_t)i);
        product_vector(r->a, r->k, pair, true, special, &random, a + i * r->k);
    }
    for (int j = 0; j < r->n; j++) {
        random = product_random_of((uint64_t)row, tile, 2, (uint64_t)j);
        product_vector(r->b, r->k, pair, false, special, &random, b + j * r->k);
    }
    double x[PRODUCT_MAX_A], y[PRODUCT_MAX_B];
    for (int i = 0; i < r->m * r->k; i++) x[i] = product_value(r->a, a[i]);
    for (int i = 0; i < r->n * r->k; i++) y[i] = product_value(r->b, b[i]);
    for (int i = 0; i < r->m; i++)
        for (int j = 0; j < r->n; j++) {
            double dot = 0;
            for (int k = 0; k < r->k; k++) dot = fma(x[i * r->k + k], y[j * r->k + k], dot);
            random = product_random_of((uint64_t)row, tile, 3, (uint64_t)(i * r->n + j));
            c[i * r->n + j] = product_addend(r->c, dot, special, &random);
        }
}
static inline void product_pack(product_type type, const uint64_t *bits, int n, uint8_t *out) {
    int bytes = product_formats[type].bytes;
    for (int i = 0; i < n; i++) memcpy(out + (size_t)i * (size_t)bytes, &bits[i], (size_t)bytes); /* little-endian */
}
#endif
