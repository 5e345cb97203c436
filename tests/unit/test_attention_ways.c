/* Attention over pages on a GPU: which way takes which calls, computed without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attention/paged.h"

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132};

/* m, batch, heads, page, kv_heads, d, pages, blocks */
static const struct {
    int64_t dim[8];
    const char *way;
} calls[] = {
    {{1, 64, 32, 16, 8, 128, 16384, 256}, "packed_128"}, {{1, 64, 32, 128, 8, 128, 2048, 32}, "packed_128"},
    {{20, 2, 8, 128, 1, 128, 38, 19}, "packed_128"}, /* few large pages: sequences are not short for that */
    {{512, 4, 32, 16, 8, 128, 2048, 512}, "tile_128"},   {{332, 9, 8, 8, 8, 256, 2223, 247}, "tile_256_64"},
    {{1, 64, 32, 24, 8, 128, 16384, 256}, "any"}, /* pages that are no part of a step */
};

/* As ridge_way_choose, in builds without CUDA too. */
static const char *chosen(const ridge_problem *p) {
    const ridge_way *best = NULL;
    double least = 0;
    for (int w = 0; w < ATTENTION_PAGED_WAYS; w++) {
        const ridge_plan plan = attention_paged_ways[w].plan(&attention_paged_ways[w], p);
        if (plan.refusal) continue;
        assert_true(plan.us > 0 && plan.traffic.read > 0);
        if (!best || plan.us < least) best = &attention_paged_ways[w], least = plan.us;
    }
    assert_non_null(best);
    return best->name;
}

static void calls_have_their_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        ridge_case c = {.dtype = RIDGE_BF16, .option = {0, 1, -1, -1}};
        ridge_problem p;
        memcpy(c.dim, calls[i].dim, sizeof calls[i].dim);
        ridge_problem_dense(ridge_target_find("attention_paged"), &c, &h200, &p);
        assert_string_equal(chosen(&p), calls[i].way);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_their_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
