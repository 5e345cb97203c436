/* Atomic operations on one location against references that are written otherwise: all 16-bit numbers for the
 * conversions, random and special ones for the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "memory/parts.h"

static emu_random dice = {{1, 2, 3, 4}};
static uint64_t draw64(void) {
    static const uint64_t special[] = {
        0, 1, UINT64_MAX, 0x7fffffff, 0x80000000, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1};
    if (emu_random_below(&dice, 4) == 0) return special[emu_random_below(&dice, 7)];
    return (uint64_t)emu_random_next(&dice) << 32 | emu_random_next(&dice);
}

/* The operation on the low `bytes`, as a wide integer; the manual's words. */
static uint64_t reference(emu_update_kind kind, bool is_signed, int bytes, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t mask = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
    int shift = 64 - 8 * bytes;
    a &= mask, b &= mask, c &= mask;
    bool less = is_signed ? (int64_t)(a << shift) < (int64_t)(b << shift) : a < b;
    switch (kind) {
        case EMU_UPDATE_ADD: return (a + b) & mask;
        case EMU_UPDATE_MIN: return less ? a : b;
        case EMU_UPDATE_MAX: return less ? b : a;
        case EMU_UPDATE_INC: return a >= b ? 0 : a + 1;
        case EMU_UPDATE_DEC: return a == 0 || a > b ? b : a - 1;
        case EMU_UPDATE_AND: return a & b;
        case EMU_UPDATE_OR: return a | b;
        case EMU_UPDATE_XOR: return a ^ b;
        case EMU_UPDATE_EXCH: return b;
        default: return a == b ? c : a;
    }
}

static void integers(void **state) {
    (void)state;
    static const struct {
        emu_update_kind kind;
        ptx_type types[4];
    } forms[] = {
        {EMU_UPDATE_ADD, {PTX_U32, PTX_S32, PTX_U64, PTX_S64}},
        {EMU_UPDATE_MIN, {PTX_U32, PTX_S32, PTX_U64, PTX_S64}},
        {EMU_UPDATE_MAX, {PTX_U32, PTX_S32, PTX_U64, PTX_S64}},
        {EMU_UPDATE_INC, {PTX_U32}},
        {EMU_UPDATE_DEC, {PTX_U32}},
        {EMU_UPDATE_AND, {PTX_B32, PTX_B64}},
        {EMU_UPDATE_OR, {PTX_B32, PTX_B64}},
        {EMU_UPDATE_XOR, {PTX_B32, PTX_B64}},
        {EMU_UPDATE_EXCH, {PTX_B32, PTX_B64}},
        {EMU_UPDATE_CAS, {PTX_B16, PTX_B32, PTX_B64}},
    };
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (int t = 0; t < 4 && forms[f].types[t] != PTX_NONE; t++) {
            ptx_type type = forms[f].types[t];
            emu_update *update = emu_update_find(forms[f].kind, type);
            assert_non_null(update);
            for (int i = 0; i < 20000; i++) {
                uint64_t a = draw64(), b = emu_random_below(&dice, 3) == 0 ? a : draw64(), c = draw64();
                uint64_t want =
                    reference(forms[f].kind, type == PTX_S32 || type == PTX_S64, ptx_type_bytes[type], a, b, c);
                uint64_t memory[2] = {a, UINT64_C(0x1234)};
                update((uint8_t *)memory, (const uint8_t *)&b, (const uint8_t *)&c, i & 1);
                uint64_t whole = a; /* bytes above stay */
                memcpy(&whole, &want, ptx_type_bytes[type]);
                assert_int_equal(memory[0], whole);
                assert_int_equal(memory[1], 0x1234);
            }
        }
    assert_null(emu_update_find(EMU_UPDATE_INC, PTX_U64));
    assert_null(emu_update_find(EMU_UPDATE_MIN, PTX_F32));
    assert_null(emu_update_find(EMU_UPDATE_ADD, PTX_B32));
}

static void wide_words(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t a[2] = {draw64(), draw64()}, b[2] = {a[0], i & 1 ? a[1] : draw64()}, c[2] = {draw64(), draw64()},
                 memory[2] = {a[0], a[1]};
        bool same = a[1] == b[1];
        emu_update_find(EMU_UPDATE_CAS, PTX_B128)((uint8_t *)memory, (const uint8_t *)b, (const uint8_t *)c, false);
        assert_memory_equal(memory, same ? c : a, 16);
        emu_update_find(EMU_UPDATE_EXCH, PTX_B128)((uint8_t *)memory, (const uint8_t *)b, NULL, false);
        assert_memory_equal(memory, b, 16);
    }
}

static float of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static void add_f32(void **state) {
    (void)state;
    emu_update *update = emu_update_find(EMU_UPDATE_ADD, PTX_F32);
    for (int i = 0; i < 300000; i++) {
        uint32_t a = emu_random_next(&dice), b = emu_random_next(&dice);
        if (i % 3 == 0) a &= 0x80ffffff, b &= 0x80ffffff; /* subnormal, or nearly */
        bool flush = i & 1;
        float x = of_bits(a), y = of_bits(b);
        if (flush && !(fabsf(x) >= 0x1p-126f)) x = isnan(x) ? x : copysignf(0, x);
        if (flush && !(fabsf(y) >= 0x1p-126f)) y = isnan(y) ? y : copysignf(0, y);
        float want = (float)((double)x + (double)y); /* more than twice the digits: rounds as if once */
        if (flush && fabsf(want) < 0x1p-126f) want = copysignf(0, want);
        uint32_t got = a, want_bits;
        memcpy(&want_bits, &want, sizeof(want_bits));
        if (isnan(want)) want_bits = 0x7fffffff;
        update((uint8_t *)&got, (const uint8_t *)&b, NULL, flush);
        assert_int_equal(got, want_bits);
    }
}

/* The nearest number of 16 bits, found by looking at all of them: sorted by value; ties go to the even one. */
typedef struct number {
    double value;
    uint16_t bits;
} number;
static number numbers[65536];
static int n_numbers;

static double value_of(uint16_t h, bool bf16) {
    int exponent_bits = bf16 ? 8 : 5, fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = h >> fraction_bits & ((1 << exponent_bits) - 1), fraction = h & ((1 << fraction_bits) - 1);
    double sign = h & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static int by_value(const void *a, const void *b) {
    double x = ((const number *)a)->value, y = ((const number *)b)->value;
    return x < y ? -1 : x > y;
}

static uint16_t nearest(double x, bool bf16) {
    if (isnan(x)) return 0x7fff;
    double largest = numbers[n_numbers - 1].value, step = largest - numbers[n_numbers - 2].value;
    if (fabs(x) >= largest + step / 2) return (uint16_t)((bf16 ? 0x7f80 : 0x7c00) | (x < 0 ? 0x8000 : 0));
    if (x == 0) return signbit(x) ? 0x8000 : 0;
    int low = 0, high = n_numbers - 1; /* the last that is not greater */
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (numbers[middle].value <= x)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == n_numbers - 1) return numbers[low].bits;
    double below = x - numbers[low].value, above = numbers[low + 1].value - x;
    uint16_t bits =
        below < above || (below == above && !(numbers[low].bits & 1)) ? numbers[low].bits : numbers[low + 1].bits;
    return (bits & 0x7fff) == 0 ? (uint16_t)(x < 0 ? 0x8000 : 0) : bits;
}

static void halves_of(bool bf16) {
    n_numbers = 0;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double value = value_of((uint16_t)bits, bf16);
        if (isfinite(value) && bits != 0x8000) numbers[n_numbers++] = (number){value, (uint16_t)bits};
    }
    qsort(numbers, (size_t)n_numbers, sizeof(numbers[0]), by_value);
    emu_update *const sum = emu_update_find(EMU_UPDATE_ADD, bf16 ? PTX_BF16X2 : PTX_F16X2);
    emu_update *const least = emu_update_find(EMU_UPDATE_MIN, bf16 ? PTX_BF16 : PTX_F16);
    emu_update *const most = emu_update_find(EMU_UPDATE_MAX, bf16 ? PTX_BF16 : PTX_F16);
    for (int i = 0; i < 400000; i++) {
        uint32_t a = emu_random_next(&dice), b = emu_random_next(&dice);
        if (i % 4 == 0) b = (a ^ 0x80008000) + (b & 0x00070007); /* sums that nearly cancel */
        if (i % 4 == 1) a &= 0x83ff83ff, b &= 0x87ff87ff;        /* subnormal */
        uint32_t got = a;
        sum((uint8_t *)&got, (const uint8_t *)&b, NULL, false);
        for (int half = 0; half < 32; half += 16) {
            double x = value_of((uint16_t)(a >> half), bf16), y = value_of((uint16_t)(b >> half), bf16);
            assert_int_equal((uint16_t)(got >> half), nearest(x + y, bf16));
        }
        uint16_t low = (uint16_t)a, high = (uint16_t)a, other = (uint16_t)b;
        double x = value_of(low, bf16), y = value_of(other, bf16);
        least((uint8_t *)&low, (const uint8_t *)&other, NULL, false);
        most((uint8_t *)&high, (const uint8_t *)&other, NULL, false);
        if (isnan(x) && isnan(y)) {
            assert_int_equal(low, 0x7fff);
            assert_int_equal(high, 0x7fff);
        } else if (isnan(x) || isnan(y)) {
            assert_int_equal(low, isnan(x) ? other : (uint16_t)a);
            assert_int_equal(high, isnan(x) ? other : (uint16_t)a);
        } else {
            bool a_first = x < y || (x == y && signbit(x));
            assert_int_equal(low, a_first ? (uint16_t)a : other);
            assert_int_equal(high, a_first ? other : (uint16_t)a);
        }
    }
}
static void f16(void **state) {
    (void)state;
    halves_of(false);
}
static void bf16(void **state) {
    (void)state;
    halves_of(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers), cmocka_unit_test(wide_words), cmocka_unit_test(add_f32),
        cmocka_unit_test(f16),      cmocka_unit_test(bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
