/* Dot products of eight columns at a time: the same bits as emu_dot_product()'s, by floats.
 *
 * Factors are floats; their product is exact (at most 22 bits). Scaled by a power of two such that the grid of the sum
 * is 1, its conversion to an integer cuts off what the hardware does. Sums of integers are exact: 16 products with 25
 * bits of fraction fit 32 bits, as do 32 with 13. */
#include "mma/block.h"

#include <string.h>

typedef float v8f __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));
typedef uint32_t v8u __attribute__((vector_size(32)));
typedef double v8d __attribute__((vector_size(64)));
typedef int64_t v8l __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))

/* Comparisons give masks of all bits. As macros: vectors as arguments depend on the instruction set. */
#define SELECT(mask, yes, no) (((yes) & (mask)) | ((no) & ~(mask)))
#define MOST(x, y) SELECT((x) > (y), x, y)

/* ---- accumulators ---------------------------------------------------------------------------------------- */
typedef struct addends {
    v8f significand;
    v8i exponent;
} addends;

INLINE void split_f32(const v8i *bits, addends *out) {
    const v8i e = *bits >> 23 & 0xff, mantissa = *bits & 0x7fffff, sign = *bits & INT32_MIN;
    const v8f subnormal = __builtin_convertvector(mantissa, v8f) * 0x1p-23f;
    const v8i normal = e != 0;
    out->significand = (v8f)(SELECT(normal, mantissa | 0x3f800000, (v8i)subnormal) | sign);
    out->exponent = SELECT(normal, e - 127, SELECT(mantissa != 0, (v8i){0} - 126, (v8i){0} + EMU_ZERO_EXPONENT));
}

INLINE void split_f16(const v8i *bits, addends *out) {
    const v8i e = *bits >> 10 & 0x1f, mantissa = *bits & 0x3ff, sign = (*bits & 0x8000) << 16;
    const v8i normal = e != 0;
    const v8f significand = __builtin_convertvector(mantissa | (normal & 0x400), v8f) * 0x1p-10f;
    out->significand = (v8f)((v8i)significand | sign);
    out->exponent = SELECT(normal, e - 15, SELECT(mantissa != 0, (v8i){0} - 14, (v8i){0} + EMU_ZERO_EXPONENT));
}

/* ---- results --------------------------------------------------------------------------------------------- */
/* Towards zero, to the float's lattice and then to the bits that are kept. Zero is positive. */
INLINE void truncate_f32(const v8d *x, int32_t keep, v8i *out) {
    const v8l magnitude = (v8l)*x & INT64_MAX;
    const v8f nearest = __builtin_convertvector(*x, v8f);
    const v8d back = __builtin_convertvector(nearest, v8d);
    const v8l away = (((v8l)back & INT64_MAX) > magnitude) & (magnitude < INT64_C(0x47f0000000000000)); /* 2^128 */
    const v8i bits = ((v8i)nearest + __builtin_convertvector(away, v8i)) & keep;
    *out = bits & (bits << 1 != 0);
}

/* To nearest even. Zero is positive. */
INLINE void round_f16(const v8d *x, v8i *out) {
    const v8l magnitude = (v8l)*x & INT64_MAX, sign = (v8l)*x & INT64_MIN;
    v8l e = (magnitude >> 52) - 1023;
    e = MOST(e, (v8l){0} - 14);
    e = SELECT(e > 16, (v8l){0} + 16, e);
    const v8d magic = (v8d)((e + 42 + 1023) << 52) * 1.5; /* its last place is the f16's */
    v8d rounded = (v8d)magnitude + magic - magic;
    rounded = (v8d)SELECT((v8l)(rounded > 65536.0), (v8l)((v8d){0} + 65536.0), (v8l)rounded);
    const v8i normal = ((v8i) __builtin_convertvector(rounded, v8f) >> 13) - (112 << 10);
    const v8i subnormal = __builtin_convertvector(rounded * 0x1p24, v8i);
    const v8i half = SELECT(__builtin_convertvector((v8l)(rounded < 0x1p-14), v8i), subnormal, normal);
    *out = (half | (__builtin_convertvector(sign >> 48, v8i) & 0x8000)) & (half != 0);
}

/* ---- eight outputs --------------------------------------------------------------------------------------- */
/* half: of f16. narrow: the factors are whole values, as their products are floats; otherwise significands. */
INLINE uint32_t block(const emu_dot *dot, bool half, bool narrow, int k, const float *fa, const int32_t *ea,
                      const float *fb, const int32_t *eb, int stride, uint32_t *d) {
    const int32_t top = half ? 0x7c00 : 0x7f800000;
    addends c;
    v8i bits, special, result;
    memcpy(&bits, d, sizeof bits);
    special = (bits & top) == top;
    if (half)
        split_f16(&bits, &c);
    else
        split_f32(&bits, &c);
    v8i largest = MOST(c.exponent, (v8i){0} + dot->least), sum = {0};
    for (int i = 0; i < k; i++) {
        v8i exponent;
        memcpy(&exponent, eb + i * stride, sizeof exponent);
        exponent += ea[i];
        largest = MOST(exponent, largest);
    }
    const v8i bias = 127 + dot->fraction - largest; /* of the scale 2^(exponent - largest + fraction) */
    const v8f scale = (v8f)(SELECT(bias > 254, (v8i){0} + 254, bias) << 23); /* above: there are only zeros to scale */
    for (int i = 0; i < k; i++) {
        v8f factor;
        memcpy(&factor, fb + i * stride, sizeof factor);
        if (narrow) {
            sum += __builtin_convertvector(factor * fa[i] * scale, v8i);
            continue;
        }
        v8i exponent;
        memcpy(&exponent, eb + i * stride, sizeof exponent);
        exponent += ea[i] + bias;
        exponent = MOST(exponent, (v8i){0}) << 23;
        sum += __builtin_convertvector(factor * fa[i] * (v8f)exponent, v8i);
    }
    v8i exponent = c.exponent + bias;
    exponent = MOST(exponent, (v8i){0}) << 23;
    const v8i addend = __builtin_convertvector(c.significand * (v8f)exponent, v8i);
    const v8l grid = (__builtin_convertvector(largest, v8l) + (1023 - dot->fraction)) << 52;
    const v8d x = (__builtin_convertvector(sum, v8d) + __builtin_convertvector(addend, v8d)) * (v8d)grid;
    if (half)
        round_f16(&x, &result);
    else
        truncate_f32(&x, -(1 << (23 - dot->mantissa)), &result);
    special |= (result & top) == top;
    memcpy(d, &result, sizeof result);
    uint32_t columns = 0;
    for (int j = 0; j < EMU_BLOCK; j++) columns |= (uint32_t)(special[j] & 1) << j;
    return columns;
}

/* Loops of a length that the compiler knows keep their sums in registers. */
#define BLOCK(name, half, narrow)                                                                                     \
    EMU_LANEWISE static uint32_t name(const emu_dot *dot, int k, const float *fa, const int32_t *ea, const float *fb, \
                                      const int32_t *eb, int stride, uint32_t *d) {                                   \
        if (k == 16) return block(dot, half, narrow, 16, fa, ea, fb, eb, stride, d);                                  \
        if (k == 8) return block(dot, half, narrow, 8, fa, ea, fb, eb, stride, d);                                    \
        return block(dot, half, narrow, k, fa, ea, fb, eb, stride, d);                                                \
    }
BLOCK(wide_f32, false, false)
BLOCK(narrow_f32, false, true)
BLOCK(narrow_f16, true, true)

bool emu_block_narrow(ptx_type type) { return type == PTX_F16 || type == PTX_E4M3 || type == PTX_E5M2; }

emu_block_run *emu_block_of(const emu_dot *dot) {
    if (dot->accumulator == PTX_F16) return narrow_f16;
    return emu_block_narrow(dot->a) ? narrow_f32 : wide_f32;
}
