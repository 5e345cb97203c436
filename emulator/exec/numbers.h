/* Floating-point formats as PTX has them: bits, subnormals flushed, the one NaN that arithmetic gives. All
 * vectorizable. */
#ifndef EMULATOR_EXEC_NUMBERS_H
#define EMULATOR_EXEC_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float a) {
    uint32_t bits;
    memcpy(&bits, &a, 4);
    return bits;
}
static inline float f32_of(uint32_t bits) {
    float a;
    memcpy(&a, &bits, 4);
    return a;
}
static inline uint64_t f64_bits(double a) {
    uint64_t bits;
    memcpy(&bits, &a, 8);
    return bits;
}
static inline double f64_of(uint64_t bits) {
    double a;
    memcpy(&a, &bits, 8);
    return a;
}

/* Arithmetic gives one NaN, whatever came in. */
static inline float f32_canonical(float a) { return f32_of(a == a ? f32_bits(a) : 0x7fffffffu); }
/* Subnormals become zero of their sign. */
static inline float f32_flushed(float a) {
    uint32_t bits = f32_bits(a);
    return f32_of(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}
/* [0, 1]; a NaN is 0. */
static inline float f32_saturated(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

/* -0 is less than +0, a NaN yields to a number. */
static inline float f32_min(float a, float b) {
    uint32_t x = f32_bits(a), y = f32_bits(b);
    uint32_t less = a < b ? x : a > b ? y : x | y; /* equal: the sign of either */
    less = a != a ? y : b != b ? x : less;
    return f32_canonical(f32_of(less));
}
static inline float f32_max(float a, float b) {
    uint32_t x = f32_bits(a), y = f32_bits(b);
    uint32_t more = a > b ? x : a < b ? y : x & y;
    more = a != a ? y : b != b ? x : more;
    return f32_canonical(f32_of(more));
}
/* Of f64 one operand that is a NaN comes through, quieted: b before c before a. What has no value otherwise is this. */
static inline double f64_quieted(double a) { return f64_of(f64_bits(a) | UINT64_C(1) << 51); }
static inline double f64_of_two(double r, double a, double b) {
    return r == r ? r : b != b ? f64_quieted(b) : a != a ? f64_quieted(a) : f64_of(UINT64_C(0xfff8) << 48);
}
static inline double f64_of_three(double r, double a, double b, double c) {
    return r == r || b != b || c == c ? f64_of_two(r, a, b) : f64_quieted(c);
}
static inline double f64_min(double a, double b) {
    uint64_t x = f64_bits(a), y = f64_bits(b);
    uint64_t less = a < b ? x : a > b ? y : x | y;
    return b == b ? f64_of(a != a ? y : less) : a == a ? a : f64_quieted(b);
}
static inline double f64_max(double a, double b) {
    uint64_t x = f64_bits(a), y = f64_bits(b);
    uint64_t more = a > b ? x : a < b ? y : x & y;
    return b == b ? f64_of(a != a ? y : more) : a == a ? a : f64_quieted(b);
}

/* ---- fp16: 1, 5, 10 bits; bf16: the top half of fp32 ------------------------------------------------------------- */
static inline float f16_to_f32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
    /* Multiplying by 2^112 moves the exponent and makes subnormals normal; Inf and NaN are beyond 2^16 then. */
    float scaled = f32_of(rest << 13) * 0x1p112f;
    uint32_t bits = rest >= 0x7c00 ? 0x7f800000u | (rest & 0x3ff) << 13 : f32_bits(scaled);
    return f32_of(bits | sign);
}
/* To nearest even; a NaN is 0x7fff. */
static inline uint16_t f16_of_f32(float a) {
    uint32_t bits = f32_bits(a), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    uint32_t normal = (rest - 0x38000000u + 0xfff + (rest >> 13 & 1)) >> 13;
    uint32_t subnormal = f32_bits(f32_of(rest) + 0.5f) - 0x3f000000u; /* 2^-24 is the last bit of 0.5 */
    uint32_t half = rest < 0x38800000u ? subnormal : rest >= 0x47800000u ? 0x7c00 : normal;
    return (uint16_t)(rest > 0x7f800000u ? 0x7fff : half | sign);
}
static inline float bf16_to_f32(uint16_t half) { return f32_of((uint32_t)half << 16); }
static inline uint16_t bf16_of_f32(float a) {
    uint32_t bits = f32_bits(a);
    return (uint16_t)(a != a ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- rounding once, from more than twice the bits ---------------------------------------------------------------- */
/* To odd: what is cut off leaves a trace in the last bit, so that rounding again to fewer bits is right. */
static inline float f32_to_odd(double a) {
    float nearest = (float)a;
    uint32_t bits = f32_bits(nearest);
    bool inexact = (double)nearest != a && !(bits & 1), away = (a > (double)nearest) == (a > 0);
    return f32_of(inexact ? (bits & 0x7fffffff ? bits + (away ? 1u : UINT32_MAX) : (a < 0 ? 0x80000001u : 1u)) : bits);
}
/* a + b, to odd in 53 bits. */
static inline double f64_sum_to_odd(double a, double b) {
    double sum = a + b, of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);
    uint64_t bits = f64_bits(sum);
    bool inexact = error != 0 && error == error && !(bits & 1) && sum - sum == 0;
    bool away = (error > 0) == (sum > 0);
    return f64_of(inexact ? bits + (away ? 1 : UINT64_MAX) : bits);
}

/* ---- 2^x to about 2^-36 of its value, for all of a loop's lanes at once: a NaN stays one ------------------------- */
static inline float f32_exp2(float x) {
    double in = (double)(x < -160.0f ? -160.0f : x > 130.0f ? 130.0f : x);
    double shifted = in + 0x1.8p52, whole = shifted - 0x1.8p52, t = (in - whole) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 362880 + t * (1.0 / 3628800);
    p = 1.0 / 40320 + t * p;
    p = 1.0 / 5040 + t * p;
    p = 1.0 / 720 + t * p;
    p = 1.0 / 120 + t * p;
    p = 1.0 / 24 + t * p;
    p = 1.0 / 6 + t * p;
    p = 0.5 + t * p;
    p = 1.0 + t * (1.0 + t * p);
    double scale = f64_of((f64_bits(shifted) + 1023) << 52); /* the low bits of `shifted` are the whole number */
    return x == x ? (float)(p * scale) : x;
}
#endif
