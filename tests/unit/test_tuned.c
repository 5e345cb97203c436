/* Measured ways: text that goes in comes out again, damaged text is refused by its line, and a measured way comes
 * before a predicted one. */
#include "ridge/tuned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132}, h100 = {.sm = 90, .sm_count = 114};

static const ridge_variant *variant_with_ways(const ridge_target *target) {
    for (int v = 0; v < target->n_variants; v++)
        if (target->variants[v].n_ways > 0) return &target->variants[v];
    fail_msg("%s has no ways", target->name);
    return NULL;
}

static ridge_status parse(ridge_tuned *tuned, const char *text, ridge_error *error) {
    return ridge_tuned_parse(tuned, text, strlen(text), "mine", error);
}

static const char *way_for(const ridge_tuned *tuned, int64_t rows, int64_t columns, const ridge_abilities *here) {
    const ridge_target *target = ridge_target_find("online_softmax");
    const ridge_case c = {.dim = {rows, columns}, .dtype = RIDGE_F32};
    ridge_problem p;
    ridge_problem_dense(target, &c, here, &p);
    const ridge_way *way = ridge_tuned_way(tuned, variant_with_ways(target), &p);
    return way ? way->name : "none";
}

#define LINE "sm90x132 online_softmax cuda/optimized rows_warp f32 64x100 0 -\n"

static void a_file_is_read(void **state) {
    (void)state;
    ridge_error error;
    ridge_tuned *tuned = ridge_tuned_new();
    assert_int_equal(parse(tuned, "ridge-tuned 1\n# a comment\n\n" LINE, &error), RIDGE_OK);
    assert_int_equal(ridge_tuned_count(tuned), 1);
    assert_string_equal(way_for(tuned, 64, 100, &h200), "rows_warp");
    assert_string_equal(way_for(tuned, 64, 100, &h100), "none"); /* another device */
    assert_string_equal(way_for(tuned, 65, 100, &h200), "none");
    assert_int_equal(
        parse(tuned, "ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_block f32 64x100 0 -", &error),
        RIDGE_OK);
    assert_int_equal(ridge_tuned_count(tuned), 1); /* the last one counts */
    assert_string_equal(way_for(tuned, 64, 100, &h200), "rows_block");
    ridge_tuned_free(tuned);
}

static void what_goes_in_comes_out(void **state) {
    (void)state;
    ridge_error error;
    ridge_tuned *tuned = ridge_tuned_new(), *again = ridge_tuned_new();
    int set = 0;
    for (int t = 0; t < ridge_target_count; t++)
        for (int v = 0; v < ridge_targets[t]->n_variants; v++) {
            const ridge_variant *variant = &ridge_targets[t]->variants[v];
            for (int i = 0; i < ridge_targets[t]->n_cases && variant->n_ways > 0; i++, set++)
                assert_int_equal(ridge_tuned_set(tuned, ridge_targets[t], variant, &ridge_targets[t]->cases[i], &h200,
                                                 &variant->ways[i % variant->n_ways], &error),
                                 RIDGE_OK);
        }
    assert_true(set > 100 && ridge_tuned_count(tuned) > 100);
    char *text, *second;
    size_t size, second_size;
    assert_int_equal(ridge_tuned_text(tuned, &text, &size, &error), RIDGE_OK);
    if (ridge_tuned_parse(again, text, size, "again", &error) != RIDGE_OK) fail_msg("%s", error.text);
    assert_int_equal(ridge_tuned_count(again), ridge_tuned_count(tuned));
    assert_int_equal(ridge_tuned_text(again, &second, &second_size, &error), RIDGE_OK);
    assert_string_equal(text, second);
    free(text), free(second);
    ridge_tuned_free(tuned), ridge_tuned_free(again);
}

static void the_predicted_one_is_no_entry(void **state) {
    (void)state;
    ridge_error error;
    ridge_tuned *tuned = ridge_tuned_new();
    const ridge_target *target = ridge_target_find("online_softmax");
    const ridge_variant *variant = variant_with_ways(target);
    const ridge_case c = {.dim = {64, 100}, .dtype = RIDGE_F32};
    assert_int_equal(parse(tuned, "ridge-tuned 1\n" LINE, &error), RIDGE_OK);
    assert_int_equal(ridge_tuned_set(tuned, target, variant, &c, &h200, NULL, &error), RIDGE_OK);
    assert_int_equal(ridge_tuned_count(tuned), 0);
    assert_int_equal(ridge_tuned_set(tuned, target, variant, &c, &h200, NULL, &error), RIDGE_OK);
    ridge_tuned_free(tuned);
}

static void what_another_version_wrote_is_skipped(void **state) {
    (void)state;
    ridge_error error;
    ridge_tuned *tuned = ridge_tuned_new();
    assert_int_equal(parse(tuned,
                           "ridge-tuned 1\nsm90x132 no_target cuda/optimized rows_warp f32 64x100 0 -\n"
                           "sm90x132 online_softmax cuda/optimized no_way f32 64x100 0 -\n"
                           "sm90x132 online_softmax cuda/optimized rows_warp f99 64x100 0 -\n",
                           &error),
                     RIDGE_OK);
    assert_int_equal(ridge_tuned_count(tuned), 0);
    ridge_tuned_free(tuned);
}

static void damaged_text_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "does not begin"},
        {"ridge-tuned 10\n", "does not begin"},
        {"{}\n", "does not begin"},
        {"ridge-tuned 1\n\nonly three fields\n", "mine:3: a line has eight fields"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64x100 0 - more\n", "eight fields"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64 0 -\n", "mine:2: extents"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 -64x100 0 -\n", "extents"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64x100x2 0 -\n", "extents"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64x100 4 -\n", "layout"},
        {"ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64x100 0 1\n", "options"},
        {"ridge-tuned 1\nsm90x132sm90x132sm90x132sm90x132sm90x132sm90x132 online_softmax cuda/optimized rows_warp f32 "
         "64x100 0 -\n",
         "device"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ridge_error error = {0};
        ridge_tuned *tuned = ridge_tuned_new();
        assert_int_equal(parse(tuned, bad[i].text, &error), RIDGE_CORRUPT);
        if (!strstr(error.text, bad[i].says)) fail_msg("'%s' does not say '%s'", error.text, bad[i].says);
        ridge_tuned_free(tuned);
    }
}

/* ---- on ways of no kernel ---------------------------------------------------------------------------------------- */

static const char *ran;
static ridge_status run_it(const ridge_call *call) {
    ran = call->way->name;
    return RIDGE_OK;
}
static ridge_plan plan_of(const ridge_way *way, const ridge_problem *p) {
    return (ridge_plan){.refusal = way->number > 1 && p->c.dim[0] % 2 ? "for even rows" : NULL, .us = way->number};
}
#define WAY(name_, number_) \
    { .name = name_, .run = RIDGE_ANY_ISA(run_it), .plan = plan_of, .number = number_ }
static const ridge_way two[] = {WAY("cheap", 1), WAY("dear", 2)};

static const char *run_with(const ridge_tuned *tuned, int64_t rows) {
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(two)};
    const int64_t dim[RIDGE_MAX_RANK] = {rows, 8};
    int64_t shape[2] = {rows, 8}, strides[2] = {8, 1};
    float data[64] = {0};
    const DLTensor x = {.data = data, .ndim = 2, .shape = shape, .strides = strides, .dtype = {kDLFloat, 32, 1}};
    const ridge_call call = {.dim = dim, .dtype = RIDGE_F32, .in = &x, .out = &x};
    const ridge_abilities here = {.isa = (ridge_isa)0, .tuned = tuned};
    assert_int_equal(ridge_variant_run(ridge_target_find("online_softmax"), &variant, &here, &call), RIDGE_OK);
    return ran;
}

static void a_measured_way_comes_first(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(two)};
    ridge_error error;
    ridge_tuned *tuned = ridge_tuned_new();
    for (int rows = 2; rows <= 3; rows++) {
        const ridge_case c = {.dim = {rows, 8}, .dtype = RIDGE_F32};
        assert_int_equal(ridge_tuned_set(tuned, ridge_target_find("online_softmax"), &variant, &c,
                                         &(ridge_abilities){.threads = 1}, &two[1], &error),
                         RIDGE_OK);
    }
    assert_string_equal(run_with(NULL, 2), "cheap");
    assert_string_equal(run_with(tuned, 2), "dear");
    assert_string_equal(run_with(tuned, 4), "cheap");
    assert_string_equal(run_with(tuned, 3), "cheap"); /* the measured one refuses it */
    ridge_tuned_free(tuned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(the_predicted_one_is_no_entry),
        cmocka_unit_test(what_another_version_wrote_is_skipped),
        cmocka_unit_test(damaged_text_is_refused),
        cmocka_unit_test(a_measured_way_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
