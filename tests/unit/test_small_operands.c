/* Operand sets of types of 8 bits and less: fills are the same in every layout, what was not written and what was written
 * too much is found, a right answer passes and every mutant that applies fails. */
#include "verify_fixture.h"

#include <math.h>

#include "core/dtype.h"
#include "core/random.h"
#include "verify/check.h"
#include "verify/scan.h"
#include "verify/verify.h"

static const ridge_dtype types[] = {RIDGE_E4M3, RIDGE_E5M2, RIDGE_E2M1, RIDGE_UE8M0, RIDGE_UE4M3, RIDGE_I8};
enum { TYPES = sizeof types / sizeof types[0], ROWS = 37, COLS = 130 };

/* y = x reversed along its rows, and a second, odd-sized output of fp32 beside it. */
static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1];
    for (int64_t i = 0; i < call->dim[0]; i++) {
        for (int64_t j = 0; j < n; j++) call->out[0][i * n + j] = call->in[0][i * n + n - 1 - j];
        call->out[1][i] = call->in[0][i * n];
    }
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}
static void work(const ridge_case *c, ridge_work *w) {
    const double n = (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){n, n, n};
}

typedef struct reversal {
    ridge_tensor_spec in[1], out[2];
    ridge_target target;
} reversal;

static void reversal_of(ridge_dtype dtype, reversal *r) {
    *r = (reversal){.in = {{.name = "x", .rank = 2, .dim = {0, 1}, .dtype = dtype, .by_row = true}},
                    .out = {{.name = "y", .rank = 2, .dim = {0, 1}, .dtype = dtype},
                            {.name = "s", .rank = 1, .dim = {0}, .dtype = RIDGE_F32}}};
    r->target = (ridge_target){.name = "reversal",
                               .dims = {"rows", "cols"},
                               .in = r->in,
                               .n_in = 1,
                               .out = r->out,
                               .n_out = 2,
                               .work = work,
                               .oracle = oracle,
                               .bound = bound};
}

static void run(const ridge_operands *ops, ridge_dtype dtype) {
    const DLTensor *x = &ops->in[0], *y = &ops->out[0];
    for (int64_t i = 0; i < ops->c.dim[0]; i++) {
        for (int64_t j = 0; j < ops->c.dim[1]; j++)
            ridge_store(ridge_data(y), dtype, i * ridge_row_stride(y) + j,
                        ridge_load(ridge_data(x), dtype, i * ridge_row_stride(x) + ops->c.dim[1] - 1 - j));
        ridge_store(ridge_data(&ops->out[1]), RIDGE_F32, i, ridge_load(ridge_data(x), dtype, i * ridge_row_stride(x)));
    }
}

static const ridge_layout layouts[] = {{0}, {.row_pad = 6}, {.row_pad = 3, .misalign = 1}, {.misalign = 5, .apart = 1}};
static const ridge_case shape = {.dim = {ROWS, COLS}, .dtype = RIDGE_F32};

static double largest(ridge_dtype dtype, ridge_fill_kind kind) {
    if (dtype == RIDGE_I8 && kind == RIDGE_RANDOM) return 127;
    return dtype == RIDGE_E2M1 ? 6 : 4;
}

static void fills_do_not_depend_on_the_layout(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++)
        for (int kind = RIDGE_EXACT; kind <= RIDGE_RANDOM; kind++) {
            reversal r;
            reversal_of(types[k], &r);
            double first[ROWS * COLS], values[ROWS * COLS], least = INFINITY, most = -INFINITY;
            for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++) {
                ridge_operands *ops = operands_new(&r.target, shape, layouts[l]);
                ridge_operands_fill(ops, (ridge_fill_kind)kind, 5, NULL);
                const ridge_view view = ridge_operands_view(ops, 0);
                ridge_view_load(&view, 0, view.elements, l ? values : first);
                for (int i = 0; l && i < ROWS * COLS; i++) assert_true(values[i] == first[i]);
                for (int64_t e = 1; e < view.elements; e += 7) { /* also from the middle of a byte */
                    double one[3];
                    const int64_t n = view.elements - e < 3 ? view.elements - e : 3;
                    ridge_view_load(&view, e, n, one);
                    for (int64_t i = 0; i < n; i++) assert_true(one[i] == first[e + i]);
                }
                assert_int_equal(ridge_scan_changed(ops, 0, 0, view.elements), -1);
                assert_true(ridge_scan_max(ops, 0, NULL) <= largest(types[k], (ridge_fill_kind)kind));
                operands_delete(ops);
            }
            for (int i = 0; i < ROWS * COLS; i++) least = fmin(least, first[i]), most = fmax(most, first[i]);
            assert_true(most > least && most >= 1);
            const bool scale = types[k] == RIDGE_UE8M0 || types[k] == RIDGE_UE4M3;
            assert_true(scale ? least >= 0 : least <= -1);
        }
}

/* Long runs are loaded by a table of codes, and e2m1 is filled by one of bounds. */
/* An element of random or exact fills, as generate.c documents them. */
static double element_of(const ridge_recipe *recipe, int64_t i) {
    const uint64_t key = ridge_random32_key(recipe->seed, (uint64_t)i / RIDGE_RANDOM_BLOCK);
    const uint32_t hash = ridge_random32(key, (uint32_t)(i % RIDGE_RANDOM_BLOCK));
    if (recipe->integer) return (double)(((uint64_t)hash * recipe->range) >> 32) + recipe->low;
    return (double)(2 * ((int32_t)(hash >> 8) - (1 << 23)) + 1) * 0x1p-24 * (double)recipe->scale;
}

static void tables_agree(ridge_dtype dtype, ridge_fill_kind kind) {
    static double values[3 * 2050];
    reversal r;
    reversal_of(dtype, &r);
    ridge_operands *ops =
        operands_new(&r.target, (ridge_case){.dim = {3, 2050}, .dtype = RIDGE_F32}, (ridge_layout){0});
    ridge_operands_fill(ops, kind, 5, NULL);
    const ridge_recipe recipe = ridge_operands_recipe(ops, 0);
    const ridge_view view = ridge_operands_view(ops, 0);
    ridge_view_load(&view, 0, view.elements, values);
    for (int64_t i = 0; i < view.elements; i++) {
        unsigned char rounded = 0;
        assert_true(values[i] == ridge_load(ridge_data(&ops->in[0]), dtype, i));
        ridge_store(&rounded, RIDGE_E2M1, 0, element_of(&recipe, i));
        assert_true(dtype != RIDGE_E2M1 || values[i] == ridge_load(&rounded, RIDGE_E2M1, 0));
    }
    operands_delete(ops);
}

/* Long runs are loaded by a table of codes, and e2m1 is filled by bounds of its codes. */
static void tables_say_what_single_elements_do(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++) tables_agree(types[k], RIDGE_EXACT), tables_agree(types[k], RIDGE_RANDOM);
}

static void what_is_unwritten_is_found(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++)
        for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++) {
            reversal r;
            reversal_of(types[k], &r);
            ridge_operands *ops = operands_new(&r.target, shape, layouts[l]);
            ridge_check check;
            ridge_error error;
            ridge_scan scan;
            ridge_operands_fill(ops, RIDGE_RANDOM, 7, NULL);
            ridge_scan_outputs(ops, NULL, &scan);
            assert_true(scan.poison_output == 0 && scan.poison_place < 16);
            run(ops, types[k]);
            ridge_scan_outputs(ops, NULL, &scan);
            assert_int_equal(scan.poison_output, -1);
            assert_int_equal(ridge_check_full(ops, NULL, &check, &error), RIDGE_OK);
            if (!check.ok) fail_msg("%s: %s", ridge_dtype_name(types[k]), check.text);
            /* A row of one block that nobody wrote, in a scan of all; and a byte beside each tensor. */
            const ridge_view y = ridge_operands_view(ops, 1);
            char *row = ridge_view_at(&y, ridge_row_stride(&ops->out[0]) * 3);
            ridge_poison_write(types[k], row, 64);
            ridge_scan_outputs(ops, NULL, &scan);
            assert_true(scan.poison_output == 0 && scan.poison_place >= 3 * COLS && scan.poison_place < 3 * COLS + 16);
            run(ops, types[k]);
            ridge_view_at(&y, y.span)[0] ^= 1;
            assert_int_equal(ridge_check_full(ops, NULL, &check, &error), RIDGE_OK);
            assert_true(!check.ok && strstr(check.text, "written to"));
            operands_delete(ops);
        }
}

static void mutants_are_caught(void **state) {
    (void)state;
    for (int k = 0; k < TYPES; k++) {
        int applied = 0;
        for (int m = 0; m < ridge_mutant_count; m++)
            for (uint64_t seed = 0; seed < 12 && ridge_mutants[m].apply; seed++) { /* shortcuts are for fp32 */
                reversal r;
                reversal_of(types[k], &r);
                ridge_operands *ops = operands_new(&r.target, shape, layouts[seed % 4]);
                ridge_check check;
                ridge_error error;
                ridge_operands_fill(ops, RIDGE_RANDOM, seed, NULL);
                run(ops, types[k]);
                const bool did = ridge_mutants[m].apply(ops, seed * 2); /* the output of small type */
                assert_int_equal(ridge_check_full(ops, NULL, &check, &error), RIDGE_OK);
                if (did == check.ok)
                    fail_msg("%s, seed %d: %s %s", ridge_dtype_name(types[k]), (int)seed, ridge_mutants[m].name,
                             did ? "passed for right" : "left a wrong output");
                applied += did && seed == 0;
                operands_delete(ops);
            }
        if (applied < 8) fail_msg("%s: only %d mutants apply", ridge_dtype_name(types[k]), applied);
    }
}

static void odd_rows_of_pairs_are_refused(void **state) {
    (void)state;
    reversal r;
    reversal_of(RIDGE_E2M1, &r);
    const ridge_case odd = {.dim = {3, 5}, .dtype = RIDGE_F32};
    size_t bytes;
    ridge_error error;
    assert_int_equal(ridge_operands_bytes(&r.target, &odd, &layouts[0], &bytes, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "must be even"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_do_not_depend_on_the_layout), cmocka_unit_test(tables_say_what_single_elements_do),
        cmocka_unit_test(what_is_unwritten_is_found),        cmocka_unit_test(mutants_are_caught),
        cmocka_unit_test(odd_rows_of_pairs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
