/* The precision fill: neighbours that cancel, magnitudes far apart, and bits that narrower types do not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "verify/shortcut.h"
#include "verify/view.h"

enum { LINE = 64 };
static const ridge_layout dense = {0};

/* x of fused_l2norm. The caller frees what is returned. */
static char *make(ridge_operands *ops, int64_t rows, int64_t columns, ridge_dtype dtype, uint64_t seed) {
    const ridge_target *target = ridge_target_find("fused_l2norm");
    ridge_case c = {.dim = {rows, columns}, .dtype = dtype};
    size_t bytes;
    ridge_target_options(target, c.option);
    assert_int_equal(ridge_operands_bytes(target, &c, &dense, &bytes, NULL), RIDGE_OK);
    char *memory = aligned_alloc(LINE, bytes);
    assert_non_null(memory);
    ridge_operands_place(ops, target, &c, &dense, memory);
    ridge_operands_fill(ops, RIDGE_PRECISION, seed, NULL);
    return memory;
}

static int64_t draw(uint64_t seed, uint64_t i, int64_t most) {
    return 1 + (int64_t)(ridge_random(seed, i) % (uint64_t)most);
}

static void values_are_finite_and_at_most_one(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        ridge_operands ops;
        char *memory = make(&ops, draw(seed, 0, 40), draw(seed, 1, 300), RIDGE_F32, seed);
        const ridge_view x = ridge_operands_view(&ops, 0);
        for (int64_t i = 0; i < x.elements; i++) {
            const double value = ridge_load(x.base, RIDGE_F32, i);
            assert_true(fabs(value) <= 1 && fabs(value) > 0x1p-32);
        }
        free(memory);
    }
}

/* A pair cancels to its last bits, and its members differ. */
static void neighbours_cancel(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        ridge_operands ops;
        const int64_t columns = 2 * draw(seed, 0, 100);
        char *memory = make(&ops, 3, columns, RIDGE_F32, seed);
        const ridge_view x = ridge_operands_view(&ops, 0);
        int same = 0;
        for (int64_t i = 0; i < x.elements; i += 2) {
            const double a = ridge_load(x.base, RIDGE_F32, i), b = ridge_load(x.base, RIDGE_F32, i + 1);
            assert_true(fabs(a + b) <= 0x1.001p-12 * fabs(a));
            same += a + b == 0;
        }
        assert_true(same <= x.elements / 8 + 2);
        free(memory);
    }
}

/* Magnitudes are more powers of two apart than fp16 has below one. */
static void exponents_are_wide(void **state) {
    (void)state;
    ridge_operands ops;
    char *memory = make(&ops, 64, 1024, RIDGE_F32, 3);
    const ridge_view x = ridge_operands_view(&ops, 0);
    double least = 1, most = 0;
    for (int64_t i = 0; i < x.elements; i++) {
        const double magnitude = fabs(ridge_load(x.base, RIDGE_F32, i));
        least = fmin(least, magnitude);
        most = fmax(most, magnitude);
    }
    assert_true(most / least > 0x1p15);
    free(memory);
}

static void every_shortcut_changes_nearly_all(void **state) {
    (void)state;
    static const ridge_dtype types[] = {RIDGE_TF32, RIDGE_BF16, RIDGE_F16};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        ridge_operands ops, rounded;
        char *memory = make(&ops, 7, 333, RIDGE_F32, 5), *other = make(&rounded, 7, 333, RIDGE_F32, 5);
        const ridge_view x = ridge_operands_view(&ops, 0), y = ridge_operands_view(&rounded, 0);
        int64_t changed = 0;
        assert_true(ridge_shortcut_round(&rounded, types[t]));
        for (int64_t i = 0; i < x.elements; i++) changed += memcmp(x.base + 4 * i, y.base + 4 * i, 4) != 0;
        assert_true(changed > x.elements * 9 / 10);
        assert_false(ridge_shortcut_round(&rounded, types[t])); /* once is enough */
        free(memory);
        free(other);
    }
}

static void other_types_have_random_values(void **state) {
    (void)state;
    ridge_operands ops;
    char *memory = make(&ops, 4, 64, RIDGE_BF16, 5);
    char values[2 * 4 * 64];
    const ridge_view x = ridge_operands_view(&ops, 0);
    memcpy(values, x.base, sizeof values);
    assert_false(ridge_shortcut_round(&ops, RIDGE_TF32));
    ridge_operands_fill(&ops, RIDGE_RANDOM, 5, NULL);
    assert_memory_equal(values, x.base, sizeof values);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_finite_and_at_most_one),
        cmocka_unit_test(neighbours_cancel),
        cmocka_unit_test(exponents_are_wide),
        cmocka_unit_test(every_shortcut_changes_nearly_all),
        cmocka_unit_test(other_types_have_random_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
