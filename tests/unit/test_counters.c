/* What NVIDIA's profiler prints, taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/counters.h"

#define HEADER \
    "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n\"\",\"\",\"byte\",\"byte\"\n"

static void sums_over_kernels(void **state) {
    (void)state;
    double r, w;
    assert_true(ridge_counters_parse("==PROF== Connected to process 1\n" HEADER
                                     "\"0\",\"square(float, int)\",\"1,000,000\",\"250\"\n"
                                     "\"1\",\"a \"\"quoted\"\" name\",\"24\",\"1.5\"\n"
                                     "==PROF== Disconnected\n",
                                     &r, &w));
    assert_true(r == 1000024);
    assert_true(w == 251.5);
}

static void columns_may_change_places(void **state) {
    (void)state;
    double r, w;
    assert_true(
        ridge_counters_parse("\"dram__bytes_write.sum\",\"x\",\"dram__bytes_read.sum\"\n\"7\",\"\",\"9\"\n", &r, &w));
    assert_true(r == 9 && w == 7);
}

static void anything_else_is_no_count(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "==ERROR== ERR_NVGPUCTRPERM",
        HEADER,
        "\"dram__bytes_read.sum\"\n\"5\"\n",
        HEADER "\"0\",\"k\",\"n/a\",\"1\"\n",
        HEADER "\"0\",\"k\"\n",
        "\"",
        "\"\"\"",
        ",,,\n,,",
        HEADER "\"unended",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double r, w;
        if (ridge_counters_parse(texts[i], &r, &w)) fail_msg("text %zu was counted", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_kernels),
        cmocka_unit_test(columns_may_change_places),
        cmocka_unit_test(anything_else_is_no_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
