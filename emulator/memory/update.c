/* What atom and red do to a location: one small function for each operation and type. */
#include "memory/parts.h"

#include <math.h>
#include <string.h>

#define INTEGER(name, type, expression)                                                                 \
    static void name(uint8_t *memory, const uint8_t *operand_b, const uint8_t *operand_c, bool flush) { \
        type a, b;                                                                                      \
        (void)operand_c;                                                                                \
        (void)flush;                                                                                    \
        memcpy(&a, memory, sizeof(a));                                                                  \
        memcpy(&b, operand_b, sizeof(b));                                                               \
        a = (expression);                                                                               \
        memcpy(memory, &a, sizeof(a));                                                                  \
    }
/* Signed additions wrap: done unsigned. */
INTEGER(add_32, uint32_t, a + b)
INTEGER(add_64, uint64_t, a + b)
INTEGER(min_u32, uint32_t, b < a ? b : a)
INTEGER(min_s32, int32_t, b < a ? b : a)
INTEGER(min_u64, uint64_t, b < a ? b : a)
INTEGER(min_s64, int64_t, b < a ? b : a)
INTEGER(max_u32, uint32_t, b > a ? b : a)
INTEGER(max_s32, int32_t, b > a ? b : a)
INTEGER(max_u64, uint64_t, b > a ? b : a)
INTEGER(max_s64, int64_t, b > a ? b : a)
INTEGER(inc_32, uint32_t, a >= b ? 0 : a + 1)
INTEGER(dec_32, uint32_t, a == 0 || a > b ? b : a - 1)
INTEGER(and_32, uint32_t, a &b)
INTEGER(and_64, uint64_t, a &b)
INTEGER(or_32, uint32_t, a | b)
INTEGER(or_64, uint64_t, a | b)
INTEGER(xor_32, uint32_t, a ^ b)
INTEGER(xor_64, uint64_t, a ^ b)

#define EXCHANGE(bits)                                                                         \
    static void exch_##bits(uint8_t *memory, const uint8_t *b, const uint8_t *c, bool flush) { \
        (void)c;                                                                               \
        (void)flush;                                                                           \
        memcpy(memory, b, bits / 8);                                                           \
    }                                                                                          \
    static void cas_##bits(uint8_t *memory, const uint8_t *b, const uint8_t *c, bool flush) {  \
        (void)flush;                                                                           \
        if (memcmp(memory, b, bits / 8) == 0) memcpy(memory, c, bits / 8);                     \
    }
EXCHANGE(32)
EXCHANGE(64)
EXCHANGE(128)
static void cas_16(uint8_t *memory, const uint8_t *b, const uint8_t *c, bool flush) {
    (void)flush;
    if (memcmp(memory, b, 2) == 0) memcpy(memory, c, 2);
}

/* ---- floating point ---- */
static float flushed(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x; }

static void add_f32(uint8_t *memory, const uint8_t *operand_b, const uint8_t *c, bool flush) {
    float a, b;
    (void)c;
    memcpy(&a, memory, sizeof(a));
    memcpy(&b, operand_b, sizeof(b));
    float sum = flush ? flushed(flushed(a) + flushed(b)) : a + b;
    uint32_t bits = 0x7fffffff; /* the NaN of every NaN result */
    if (!isnan(sum)) memcpy(&bits, &sum, sizeof(bits));
    memcpy(memory, &bits, sizeof(bits));
}

/* A NaN comes out as it went in, not made quiet; of two, the operand (seen on an H200). */
static void add_f64(uint8_t *memory, const uint8_t *operand_b, const uint8_t *c, bool flush) {
    double a, b;
    (void)c;
    (void)flush;
    memcpy(&a, memory, sizeof(a));
    memcpy(&b, operand_b, sizeof(b));
    double sum = a + b;
    if (isnan(b))
        memcpy(memory, operand_b, sizeof(b));
    else if (!isnan(a))
        memcpy(memory, &sum, sizeof(sum));
}

static float of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}
static uint32_t to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static float f16_to_float(uint16_t h) {
    float magnitude, sign = h & 0x8000 ? -1.0f : 1.0f;
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    if (exponent == 31)
        magnitude = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexpf((float)fraction, -24);
    else
        magnitude = of_bits((exponent + 112) << 23 | fraction << 13);
    return sign * magnitude;
}

/* Rounds to nearest even. */
static uint16_t float_to_f16(float f) {
    if (isnan(f)) return 0x7fff;
    uint32_t sign = to_bits(f) >> 16 & 0x8000, bits = to_bits(f) & 0x7fffffff;
    if (bits >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* 65536 and above */
    if (bits < 0x38800000)
        return (uint16_t)(sign | (uint32_t)lrintf(ldexpf(fabsf(f), 24))); /* subnormal, in units of 2^-24 */
    bits -= 112u << 23;
    return (uint16_t)(sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13); /* may carry into infinity: 65520 and above */
}

static float bf16_to_float(uint16_t b) { return of_bits((uint32_t)b << 16); }
static uint16_t float_to_bf16(float f) {
    if (isnan(f)) return 0x7fff;
    uint32_t bits = to_bits(f);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The sum of two such numbers in f32, rounded once more: f32 has more than twice the digits and two, so that this is
 * the sum rounded once. Of minimum and maximum: the number where one is NaN; -0 is less than +0. */
typedef float combine(float a, float b);
static float sum_of(float a, float b) { return a + b; }
static float min_of(float a, float b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}
static float max_of(float a, float b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    return a > b || (a == b && !signbit(a)) ? a : b;
}
static void update_halves(uint8_t *memory, const uint8_t *operand_b, int n, combine *f, float (*widen)(uint16_t),
                          uint16_t (*narrow)(float)) {
    for (int i = 0; i < n; i++) {
        uint16_t a, b;
        memcpy(&a, memory + 2 * i, sizeof(a));
        memcpy(&b, operand_b + 2 * i, sizeof(b));
        a = narrow(f(widen(a), widen(b)));
        memcpy(memory + 2 * i, &a, sizeof(a));
    }
}
#define HALVES(operation, type, n)                                                                          \
    static void operation##_##type##_##n(uint8_t *memory, const uint8_t *b, const uint8_t *c, bool flush) { \
        (void)c;                                                                                            \
        (void)flush;                                                                                        \
        update_halves(memory, b, n, operation##_of, type##_to_float, float_to_##type);                      \
    }
#define HALVES_OF(operation) \
    HALVES(operation, f16, 1) HALVES(operation, f16, 2) HALVES(operation, bf16, 1) HALVES(operation, bf16, 2)
HALVES_OF(sum)
HALVES_OF(min)
HALVES_OF(max)

static const struct {
    uint8_t kind, type;
    emu_update *update;
} updates[] = {
    {EMU_UPDATE_ADD, PTX_U32, add_32},      {EMU_UPDATE_ADD, PTX_S32, add_32},
    {EMU_UPDATE_ADD, PTX_U64, add_64},      {EMU_UPDATE_ADD, PTX_S64, add_64},
    {EMU_UPDATE_ADD, PTX_F32, add_f32},     {EMU_UPDATE_ADD, PTX_F64, add_f64},
    {EMU_UPDATE_ADD, PTX_F16, sum_f16_1},   {EMU_UPDATE_ADD, PTX_F16X2, sum_f16_2},
    {EMU_UPDATE_ADD, PTX_BF16, sum_bf16_1}, {EMU_UPDATE_ADD, PTX_BF16X2, sum_bf16_2},
    {EMU_UPDATE_MIN, PTX_U32, min_u32},     {EMU_UPDATE_MIN, PTX_S32, min_s32},
    {EMU_UPDATE_MIN, PTX_U64, min_u64},     {EMU_UPDATE_MIN, PTX_S64, min_s64},
    {EMU_UPDATE_MIN, PTX_F16, min_f16_1},   {EMU_UPDATE_MIN, PTX_F16X2, min_f16_2},
    {EMU_UPDATE_MIN, PTX_BF16, min_bf16_1}, {EMU_UPDATE_MIN, PTX_BF16X2, min_bf16_2},
    {EMU_UPDATE_MAX, PTX_U32, max_u32},     {EMU_UPDATE_MAX, PTX_S32, max_s32},
    {EMU_UPDATE_MAX, PTX_U64, max_u64},     {EMU_UPDATE_MAX, PTX_S64, max_s64},
    {EMU_UPDATE_MAX, PTX_F16, max_f16_1},   {EMU_UPDATE_MAX, PTX_F16X2, max_f16_2},
    {EMU_UPDATE_MAX, PTX_BF16, max_bf16_1}, {EMU_UPDATE_MAX, PTX_BF16X2, max_bf16_2},
    {EMU_UPDATE_INC, PTX_U32, inc_32},      {EMU_UPDATE_DEC, PTX_U32, dec_32},
    {EMU_UPDATE_AND, PTX_B32, and_32},      {EMU_UPDATE_AND, PTX_B64, and_64},
    {EMU_UPDATE_OR, PTX_B32, or_32},        {EMU_UPDATE_OR, PTX_B64, or_64},
    {EMU_UPDATE_XOR, PTX_B32, xor_32},      {EMU_UPDATE_XOR, PTX_B64, xor_64},
    {EMU_UPDATE_EXCH, PTX_B32, exch_32},    {EMU_UPDATE_EXCH, PTX_B64, exch_64},
    {EMU_UPDATE_EXCH, PTX_B128, exch_128},  {EMU_UPDATE_CAS, PTX_B16, cas_16},
    {EMU_UPDATE_CAS, PTX_B32, cas_32},      {EMU_UPDATE_CAS, PTX_B64, cas_64},
    {EMU_UPDATE_CAS, PTX_B128, cas_128},
};

emu_update *emu_update_find(emu_update_kind kind, ptx_type type) {
    for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++)
        if (updates[i].kind == kind && updates[i].type == type) return updates[i].update;
    return NULL;
}
