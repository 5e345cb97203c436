/* Types of 8 bits and less: every code, every bf16 and f16 number, all midpoints, against values found from the format's
 * definition and a search for the nearest of them. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/dtype.h"
#include "core/random.h"

typedef struct small {
    ridge_dtype dtype;
    int bits, exponent_bits, fraction_bits, bias;
    bool is_signed;
    int infinity, nan; /* the codes, -1: none; all codes beyond the first of them, but for the sign, are NaN */
    double most;
} small;

static const small types[] = {
    {RIDGE_E4M3, 8, 4, 3, 7, true, -1, 0x7f, 448},
    {RIDGE_E5M2, 8, 5, 2, 15, true, 0x7c, 0x7d, 57344},
    {RIDGE_E2M1, 4, 2, 1, 1, true, -1, -1, 6},
    {RIDGE_UE4M3, 8, 4, 3, 7, false, -1, 0x7f, 448},
    {RIDGE_UE8M0, 8, 8, 0, 127, false, -1, 0xff, 0x1p127},
};
enum { TYPES = sizeof types / sizeof types[0] };

/* By the definition: (-1)^s 2^(e - bias) (1 + m / 2^f), or 2^(1 - bias) m / 2^f where e is 0. ue8m0 has 2^(e - bias)
 * throughout. */
static double by_definition(const small *t, int code) {
    const int sign_bit = t->exponent_bits + t->fraction_bits, magnitude = code & ((1 << sign_bit) - 1);
    const int exponent = magnitude >> t->fraction_bits, fraction = magnitude & ((1 << t->fraction_bits) - 1);
    if (magnitude != code && !t->is_signed) return (double)NAN;
    if (magnitude == t->infinity) return magnitude == code ? (double)INFINITY : -(double)INFINITY;
    if (t->nan >= 0 && magnitude >= t->nan) return (double)NAN;
    const double m = fraction * pow(2, -t->fraction_bits);
    const double value = t->dtype == RIDGE_UE8M0 ? pow(2, exponent - t->bias)
                         : exponent              ? pow(2, exponent - t->bias) * (1 + m)
                                                 : pow(2, 1 - t->bias) * m;
    return magnitude == code ? value : -value;
}

static double value_of(const small *t, int code) {
    static double values[TYPES][256];
    static bool made;
    for (int k = 0; !made && k < TYPES; k++)
        for (int c = 0; c < 1 << types[k].bits; c++) values[k][c] = by_definition(&types[k], c);
    made = true;
    return values[t - types][code & ((1 << t->bits) - 1)];
}

static double load(const small *t, int code) {
    const unsigned char byte = (unsigned char)code;
    return ridge_load(&byte, t->dtype, 0);
}

static int store(const small *t, double value) {
    unsigned char byte = 0;
    ridge_store(&byte, t->dtype, 0, value);
    return byte;
}

static bool same_value(double a, double b) { return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b); }

static void every_code_has_its_value_and_comes_back(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++)
        for (int code = 0; code < 1 << types[k].bits; code++) {
            const double want = value_of(&types[k], code), got = load(&types[k], code);
            assert_true(same_value(got, want));
            if (isnan(want))
                assert_true(isnan(load(&types[k], store(&types[k], got))));
            else
                assert_int_equal(store(&types[k], got), code);
        }
}

/* The nearest finite value; of two the one with the even code, in ue8m0 the larger one. Distances are exact: all numbers
 * are multiples of 2^-149 below 2^128 in magnitude, compared where they are near each other, or else both are far. */
static int nearest(const small *t, double value) {
    if (isnan(value) || (!t->is_signed && value < 0))
        return t->dtype == RIDGE_E2M1 ? 7 : t->dtype == RIDGE_UE8M0 ? 0xff : 0x7f;
    const int sign = t->is_signed && signbit(value) ? 1 << (t->bits - 1) : 0;
    const double magnitude = fabs(value);
    int best = 0;
    if (isinf(magnitude) && t->infinity >= 0) return sign | t->infinity;
    for (int code = 1; code < 1 << (t->exponent_bits + t->fraction_bits); code++) {
        const double v = value_of(t, code);
        if (!isfinite(v)) continue;
        const double below = value_of(t, best), middle = below + (v - below) / 2; /* codes follow their values */
        const bool tie_goes_up = t->dtype == RIDGE_UE8M0 || code % 2 == 0;
        if (magnitude > middle || (magnitude == middle && tie_goes_up)) best = code;
    }
    return sign | best;
}

static void check_store(const small *t, double value) {
    const int got = store(t, value), want = nearest(t, value);
    if (got != want) fail_msg("%s of %a is 0x%02x, not 0x%02x", ridge_dtype_name(t->dtype), value, got, want);
}

static void every_number_of_16_bits_goes_to_the_nearest(void **state) {
    (void)state;
    static const ridge_dtype halves[] = {RIDGE_BF16, RIDGE_F16};
    for (int h = 0; h < 2; h++)
        for (int bits = 0; bits < 65536; bits++) {
            const uint16_t half = (uint16_t)bits;
            for (int k = 0; k < TYPES; k++) check_store(&types[k], ridge_load(&half, halves[h], 0));
        }
}

/* Each value, each midpoint between two, and the fp32 and fp64 numbers beside them. */
static void midpoints_go_where_they_should(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++)
        for (int code = 0; code < 1 << types[k].bits; code++) {
            const double v = value_of(&types[k], code), next = value_of(&types[k], code + 1);
            if (!isfinite(v)) continue;
            const double at[] = {v, isfinite(next) ? v + (next - v) / 2 : v, v * 1.5, v * 1.0625};
            for (int i = 0; i < 4; i++) {
                const double beside[] = {at[i], (double)nextafterf((float)at[i], INFINITY), nextafter(at[i], 1e300),
                                         (double)nextafterf((float)at[i], -INFINITY), nextafter(at[i], -1e300)};
                for (int j = 0; j < 5; j++) check_store(&types[k], beside[j]), check_store(&types[k], -beside[j]);
            }
        }
}

static void other_numbers_go_to_the_nearest(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint32_t bits = (uint32_t)ridge_random(3, i);
        float f;
        memcpy(&f, &bits, sizeof f);
        for (int k = 0; k < TYPES; k++) check_store(&types[k], (double)f);
    }
    static const double far[] = {1e300, -1e300, DBL_MIN, 0x1p-1074, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < TYPES; k++) check_store(&types[k], far[i]);
    for (int k = 0; k < TYPES; k++) {
        assert_true(load(&types[k], store(&types[k], 1e300)) == types[k].most);
        assert_true(ridge_dtype_traits_of(types[k].dtype)->most == types[k].most);
        assert_true(ridge_dtype_traits_of(types[k].dtype)->least ==
                    (types[k].dtype == RIDGE_UE8M0 ? 0x1p-127 : value_of(&types[k], 1)));
    }
}

/* A known few, as the OCP formats' tables print them. */
static void known_codes(void **state) {
    (void)state;
    static const struct {
        ridge_dtype dtype;
        int code;
        double value;
    } known[] = {
        {RIDGE_E4M3, 0x7e, 448},   {RIDGE_E4M3, 0x08, 0x1p-6},  {RIDGE_E4M3, 0x01, 0x1p-9},   {RIDGE_E4M3, 0xb8, -1},
        {RIDGE_E5M2, 0x7b, 57344}, {RIDGE_E5M2, 0x04, 0x1p-14}, {RIDGE_E5M2, 0x01, 0x1p-16},  {RIDGE_E5M2, 0x3c, 1},
        {RIDGE_E2M1, 0x7, 6},      {RIDGE_E2M1, 0x6, 4},        {RIDGE_E2M1, 0x5, 3},         {RIDGE_E2M1, 0x4, 2},
        {RIDGE_E2M1, 0x3, 1.5},    {RIDGE_E2M1, 0x2, 1},        {RIDGE_E2M1, 0x1, 0.5},       {RIDGE_E2M1, 0x9, -0.5},
        {RIDGE_UE8M0, 0x7f, 1},    {RIDGE_UE8M0, 0, 0x1p-127},  {RIDGE_UE8M0, 0xfe, 0x1p127}, {RIDGE_UE4M3, 0x38, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const unsigned char byte = (unsigned char)known[i].code;
        assert_true(ridge_load(&byte, known[i].dtype, 0) == known[i].value);
    }
}

/* Value i of a packed row is the low half of byte i / 2 where i is even; a store leaves the other half alone. */
static void pairs_share_bytes(void **state) {
    (void)state;
    unsigned char row[8];
    for (int i = 0; i < 16; i++) {
        for (int other = 0; other < 256; other += 51) {
            memset(row, other, sizeof row);
            ridge_store(row, RIDGE_E2M1, i, -1.5);
            for (int k = 0; k < 16; k++)
                assert_int_equal(row[k / 2] >> (k % 2 * 4) & 15, k == i ? 0xb : other >> (k % 2 * 4) & 15);
            assert_true(ridge_load(row, RIDGE_E2M1, i) == -1.5);
        }
    }
    assert_int_equal(ridge_dtype_bits(RIDGE_E2M1), 4);
    assert_int_equal(ridge_dtype_bytes(RIDGE_E2M1, 16), 8);
    assert_int_equal(ridge_dtype_bytes(RIDGE_E2M1, 17), 9);
    assert_int_equal(ridge_dtype_bytes(RIDGE_E4M3, 17), 17);
    assert_int_equal(ridge_dtype_bytes(RIDGE_F64, 3), 24);
    assert_int_equal(ridge_dtype_bytes(RIDGE_DTYPE_NONE, 3), 0);
}

static void names_and_dlpack(void **state) {
    (void)state;
    static const struct {
        ridge_dtype dtype, back;
        const char *name;
        int code, bits;
    } known[] = {{RIDGE_E4M3, RIDGE_E4M3, "e4m3", 10, 8},
                 {RIDGE_E5M2, RIDGE_E5M2, "e5m2", 12, 8},
                 {RIDGE_E2M1, RIDGE_E2M1, "e2m1", 17, 4},
                 {RIDGE_UE8M0, RIDGE_UE8M0, "ue8m0", 14, 8},
                 {RIDGE_UE4M3, RIDGE_E4M3, "ue4m3", 10, 8}};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ridge_dtype_parse(known[i].name), known[i].dtype);
        assert_string_equal(ridge_dtype_name(known[i].dtype), known[i].name);
        const DLTensor t = {.dtype = ridge_dtype_to_dlpack(known[i].dtype)};
        assert_int_equal(t.dtype.code, known[i].code);
        assert_int_equal(t.dtype.bits, known[i].bits);
        assert_int_equal(ridge_dtype_of(&t), known[i].back);
    }
}

/* What a fill leaves beside a tensor and in unwritten outputs: not finite, where the type has such values, and nothing
 * that a conversion stores. */
static void poison_is_no_result(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++) {
        const ridge_dtype_traits *t = ridge_dtype_traits_of(types[k].dtype);
        if (ridge_dtype_is_packed(types[k].dtype)) continue;
        if (types[k].dtype != RIDGE_UE8M0) assert_true(isnan(load(&types[k], (int)t->poison)));
        assert_int_not_equal(store(&types[k], (double)NAN), t->poison);
        assert_true(isnan(load(&types[k], (int)t->guard)));
        for (int code = 0; code < 256; code++) {
            const double v = value_of(&types[k], code);
            const bool odd = !isfinite(v) || (unsigned)code == t->poison;
            if (types[k].is_signed || code < 0x80 || types[k].dtype == RIDGE_UE8M0)
                assert_int_equal(((unsigned)code & t->exponent) == t->exponent, odd);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_value_and_comes_back),
        cmocka_unit_test(every_number_of_16_bits_goes_to_the_nearest),
        cmocka_unit_test(midpoints_go_where_they_should),
        cmocka_unit_test(other_numbers_go_to_the_nearest),
        cmocka_unit_test(known_codes),
        cmocka_unit_test(pairs_share_bytes),
        cmocka_unit_test(names_and_dlpack),
        cmocka_unit_test(poison_is_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
