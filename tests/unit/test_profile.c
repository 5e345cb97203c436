/* Which unit limits a kernel, in words, from what was counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/profile.h"

static ridge_profile nothing(void) {
    ridge_profile p = {0};
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++) p.value[c] = NAN;
    return p;
}

static int counter_of(const char *field) {
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++)
        if (strcmp(ridge_counters[c].field, field) == 0) return c;
    fail_msg("no counter %s", field);
    return 0;
}

static void says(const ridge_profile *p, const char *words) {
    char text[400];
    ridge_profile_explain(p, text, sizeof text);
    if (!strstr(text, words) || strchr(text, '\n')) fail_msg("'%s' is not in '%s'", words, text);
}

static void every_counter_has_its_names(void **state) {
    (void)state;
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++) {
        assert_non_null(ridge_counters[c].metric);
        assert_non_null(ridge_counters[c].field);
        assert_int_equal(counter_of(ridge_counters[c].field), c); /* no two have the same */
        assert_true((ridge_counters[c].words != NULL) == (c >= RIDGE_COUNT_WAITS));
    }
}

static void the_busiest_unit_binds(void **state) {
    static const struct {
        ridge_count unit;
        const char *words;
    } units[] = {{RIDGE_COUNT_DRAM_PCT, "bound by DRAM's bandwidth: 91 %"},
                 {RIDGE_COUNT_L2_PCT, "bound by L2's bandwidth: 91 %"},
                 {RIDGE_COUNT_L1_PCT, "bound by L1 and shared memory: 91 %"},
                 {RIDGE_COUNT_TENSOR_PCT, "bound by the tensor cores: 91 %"},
                 {RIDGE_COUNT_ISSUE_PCT, "bound by the issue of instructions: 91 %"}};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (int others = 0; others < 2; others++) { /* not counted, or less busy */
            ridge_profile p = nothing();
            for (size_t k = 0; others && k < sizeof units / sizeof *units; k++) p.value[units[k].unit] = 40;
            p.value[units[i].unit] = 91.2;
            p.value[RIDGE_COUNT_WAVES] = 3;
            says(&p, units[i].words);
        }
}

static void what_no_unit_binds_waits(void **state) {
    ridge_profile p = nothing();
    (void)state;
    says(&p, "no unit's use was counted");
    p.value[RIDGE_COUNT_L2_PCT] = 31, p.value[RIDGE_COUNT_DRAM_PCT] = 22;
    says(&p, "bound by latency: no unit is above 31 % (L2's bandwidth)");
    p.value[RIDGE_COUNT_LATENCY] = 12.34;
    p.value[counter_of("wait_barrier")] = 2, p.value[counter_of("wait_global")] = 8.04;
    says(&p, "a warp waits 8.0 of 12.3 cycles an instruction for data from L2 or DRAM");
    p.value[RIDGE_COUNT_WAVES] = 0.25;
    says(&p, "its blocks fill 25 % of the places that SMs have for them");
    p.value[RIDGE_COUNT_DRAM_PCT] = 70;
    says(&p, "nearest to DRAM's bandwidth: 70 % of the peak; a warp waits 8.0");
}

static void a_kernel_has_a_short_name(void **state) {
    static const char *const names[][2] = {
        {"void ridge::rows_kernel<float, (int)4>(ridge::problem<float>)", "rows_kernel"},
        {"void <unnamed>::map(int)", "map"},
        {"matmul_kernel", "matmul_kernel"},
        {"void a::b::c<d::e>(f::g)", "c"},
        {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[96];
        ridge_profile_brief(names[i][0], text, sizeof text);
        assert_string_equal(text, names[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counter_has_its_names),
        cmocka_unit_test(the_busiest_unit_binds),
        cmocka_unit_test(what_no_unit_binds_waits),
        cmocka_unit_test(a_kernel_has_a_short_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
