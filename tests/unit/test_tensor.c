/* Data types and tensors: every 16-bit pattern both ways, rounding against the definition, and strides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "ridge/tensor.h"

static const ridge_dtype all[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64, RIDGE_I32, RIDGE_I64, RIDGE_I8};
enum { ALL = sizeof all / sizeof all[0] };

static void names_go_both_ways(void **state) {
    (void)state;
    static const size_t sizes[] = {4, 2, 2, 8, 4, 8, 1};
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(ridge_dtype_parse(ridge_dtype_name(all[i])), all[i]);
        assert_int_equal(ridge_dtype_size(all[i]), sizes[i]);
        DLTensor tensor = {.dtype = ridge_dtype_to_dlpack(all[i])};
        assert_int_equal(tensor.dtype.bits, 8 * sizes[i]);
        assert_int_equal(ridge_dtype_of(&tensor), all[i]);
        tensor.dtype.lanes = 4;
        assert_int_equal(ridge_dtype_of(&tensor), RIDGE_DTYPE_NONE);
    }
    static const char *const unknown[] = {"", "?", "f3", "F32", "f32 ", "bf16x2"};
    for (int i = 0; i < 6; i++) assert_int_equal(ridge_dtype_parse(unknown[i]), RIDGE_DTYPE_NONE);
    assert_string_equal(ridge_dtype_name((ridge_dtype)99), "?");
    assert_int_equal(ridge_dtype_size((ridge_dtype)-1), 0);
    DLTensor unsigned_ints = {.dtype = {kDLUInt, 32, 1}};
    assert_int_equal(ridge_dtype_of(&unsigned_ints), RIDGE_DTYPE_NONE);
}

/* The value of a 16-bit pattern by the definition of the format. */
static double value_of(uint16_t bits, int mantissa_bits, int bias) {
    int exponent_bits = 15 - mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    double magnitude =
        ldexp(exponent ? (1 << mantissa_bits) + mantissa : mantissa, (exponent ? exponent : 1) - bias - mantissa_bits);
    if (exponent == (1 << exponent_bits) - 1) magnitude = mantissa ? (double)NAN : (double)INFINITY;
    return bits >> 15 ? -magnitude : magnitude;
}

static const struct half {
    ridge_dtype dtype;
    int mantissa_bits, bias;
} halves[] = {{RIDGE_BF16, 7, 127}, {RIDGE_F16, 10, 15}};

static void every_half_has_its_value_and_comes_back(void **state) {
    (void)state;
    for (int h = 0; h < 2; h++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            uint16_t pattern = (uint16_t)bits, back = 0;
            double want = value_of(pattern, halves[h].mantissa_bits, halves[h].bias);
            double got = ridge_load(&pattern, halves[h].dtype, 0);
            ridge_store(&back, halves[h].dtype, 0, got);
            if (isnan(want)) {
                assert_true(isnan(got) && isnan(ridge_load(&back, halves[h].dtype, 0)));
                continue;
            }
            assert_true(got == want && !signbit(got) == !signbit(want));
            assert_int_equal(back, pattern);
        }
}

/* Midpoints between neighbours go to the even one, a hair to either side goes there. */
static void halves_round_to_nearest_even(void **state) {
    (void)state;
    for (int h = 0; h < 2; h++) {
        uint16_t infinity = (uint16_t)(0x7fff & ~((1 << halves[h].mantissa_bits) - 1));
        for (uint16_t low = 0; low < infinity; low++) {
            double below = value_of(low, halves[h].mantissa_bits, halves[h].bias);
            double above = value_of((uint16_t)(low + 1), halves[h].mantissa_bits, halves[h].bias);
            if (isinf(above))
                above = 2 * below - value_of((uint16_t)(low - 1), halves[h].mantissa_bits, halves[h].bias);
            double middle = below + (above - below) / 2;
            const struct {
                double value;
                uint16_t want;
            } at[] = {{middle, (uint16_t)(low & 1 ? low + 1 : low)},
                      {nextafter(middle, 0), low},
                      {nextafter(middle, 1e300), (uint16_t)(low + 1)}};
            for (int i = 0; i < 3; i++)
                for (int negative = 0; negative < 2; negative++) {
                    uint16_t got = 0;
                    ridge_store(&got, halves[h].dtype, 0, negative ? -at[i].value : at[i].value);
                    assert_int_equal(got, at[i].want | (negative ? 0x8000 : 0));
                }
        }
        static const double beyond[] = {1e300, (double)INFINITY};
        for (int i = 0; i < 2; i++) {
            uint16_t got = 0;
            ridge_store(&got, halves[h].dtype, 0, beyond[i]);
            assert_int_equal(got, infinity);
        }
    }
}

static void wide_types_keep_their_bits(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t bits = ridge_random(1, i);
        uint32_t word = (uint32_t)bits, word_back;
        double value;
        float single;
        memcpy(&value, &bits, sizeof value);
        memcpy(&single, &word, sizeof single);
        if (isnan(value) || isnan(single)) continue;
        uint64_t back;
        ridge_store(&back, RIDGE_F64, 0, ridge_load(&bits, RIDGE_F64, 0));
        ridge_store(&word_back, RIDGE_F32, 0, ridge_load(&word, RIDGE_F32, 0));
        assert_true(back == bits && word_back == word);
        ridge_store(&word_back, RIDGE_I32, 0, ridge_load(&word, RIDGE_I32, 0));
        assert_true(word_back == word);
    }
}

static void integers_round_and_saturate(void **state) {
    (void)state;
    const struct {
        double value;
        int32_t want;
    } cases[] = {{0.5, 0},
                 {1.5, 2},
                 {2.5, 2},
                 {-0.5, 0},
                 {-1.5, -2},
                 {7, 7},
                 {2147483646.75, 2147483647},
                 {1e18, INT32_MAX},
                 {-1e18, INT32_MIN},
                 {(double)INFINITY, INT32_MAX},
                 {-(double)INFINITY, INT32_MIN},
                 {(double)NAN, INT32_MIN},
                 {-2147483647.75, INT32_MIN},
                 {-2147483648.0, INT32_MIN},
                 {2147483647.0, INT32_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t got;
        ridge_store(&got, RIDGE_I32, 0, cases[i].value);
        assert_int_equal(got, cases[i].want);
    }
    const struct {
        double value;
        int8_t want;
    } narrow[] = {{0.5, 0},           {2.5, 2},       {-1.5, -2},   {126.6, 127}, {127.5, 127},
                  {1e300, 127},       {-127.4, -127}, {-128, -128}, {-129, -128}, {(double)INFINITY, 127},
                  {(double)NAN, -128}};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        int8_t got;
        ridge_store(&got, RIDGE_I8, 0, narrow[i].value);
        assert_int_equal(got, narrow[i].want);
        assert_true(ridge_load(&got, RIDGE_I8, 0) == narrow[i].want);
    }
    const struct {
        double value;
        int64_t want;
    } wide[] = {{2.5, 2},
                {-1.5, -2},
                {4503599627370497.0, 4503599627370497},
                {1e19, INT64_MAX},
                {0x1p63, INT64_MAX},
                {-0x1p63, INT64_MIN},
                {-1e300, INT64_MIN},
                {(double)NAN, INT64_MIN}};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        int64_t got;
        ridge_store(&got, RIDGE_I64, 0, wide[i].value);
        assert_true(got == wide[i].want);
    }
}

/* Only the element named is written, and it is the one read. */
static void index_counts_elements(void **state) {
    (void)state;
    for (int d = 0; d < ALL; d++) {
        char bytes[10 * 8];
        size_t size = ridge_dtype_size(all[d]);
        for (int64_t i = 0; i < 10; i++) {
            memset(bytes, 0x2a, sizeof bytes);
            ridge_store(bytes, all[d], i, -3.0);
            assert_true(ridge_load(bytes, all[d], i) == -3.0);
            for (size_t b = 0; b < sizeof bytes; b++)
                if (b < (size_t)i * size || b >= (size_t)(i + 1) * size) assert_int_equal(bytes[b], 0x2a);
        }
    }
}

/* Of values of every sign and exponent, of which a third has few digits and so lies at ties. */
static void rounded_is_what_is_stored(void **state) {
    (void)state;
    const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 464, 465, 61440, -57344, 0x1p-10, 0.25, -5, 7};
    uint64_t bits = 1;
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        for (int i = 0; i < 30000; i++) {
            char stored[8] = {0};
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            double value = (double)(int64_t)bits * exp2(i % 320 - 220);
            if (i % 3 == 0) value = (double)((int64_t)bits >> 59) * exp2(i % 200 - 150);
            if (i < (int)(sizeof special / sizeof special[0])) value = special[i];
            ridge_store(stored, (ridge_dtype)d, 0, value);
            const double want = ridge_load(stored, (ridge_dtype)d, 0), got = ridge_rounded((ridge_dtype)d, value);
            assert_true(isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want));
        }
}

static void roundoff_is_half_an_ulp_of_one(void **state) {
    (void)state;
    for (int d = 0; d < 4; d++) {
        char bytes[8];
        double unit = ridge_dtype_roundoff(all[d]);
        ridge_store(bytes, all[d], 0, 1 + 2 * unit);
        assert_true(ridge_load(bytes, all[d], 0) == 1 + 2 * unit);
        ridge_store(bytes, all[d], 0, 1 + unit);
        assert_true(ridge_load(bytes, all[d], 0) == 1);
    }
    assert_true(ridge_dtype_roundoff(RIDGE_I32) == 0);
}

static void rows_are_found(void **state) {
    (void)state;
    int64_t shape[3] = {4, 5, 6}, strides[3] = {100, 10, 1};
    float data[8];
    DLTensor tensor = {.data = data, .ndim = 3, .shape = shape, .byte_offset = 12};
    assert_int_equal(ridge_row_stride(&tensor), 30);
    assert_ptr_equal(ridge_data(&tensor), data + 3);
    tensor.strides = strides;
    assert_int_equal(ridge_row_stride(&tensor), 100);
    tensor.ndim = 1, tensor.strides = NULL;
    assert_int_equal(ridge_row_stride(&tensor), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(every_half_has_its_value_and_comes_back),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(wide_types_keep_their_bits),
        cmocka_unit_test(integers_round_and_saturate),
        cmocka_unit_test(index_counts_elements),
        cmocka_unit_test(rounded_is_what_is_stored),
        cmocka_unit_test(roundoff_is_half_an_ulp_of_one),
        cmocka_unit_test(rows_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
