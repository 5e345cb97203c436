/* Attention on a GPU, over pages and by tcgen05: which way takes which calls, computed without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attention/paged.h"
#include "attention/ways.h"

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132}, b200 = {.sm = 100, .sm_count = 148};

/* m, batch, heads, page, kv_heads, d, pages, blocks */
static const struct {
    int64_t dim[8];
    const char *way;
} calls[] = {
    {{1, 64, 32, 16, 8, 128, 16384, 256}, "decode"},   {{1, 64, 64, 128, 4, 128, 2048, 32}, "packed_128"},
    {{20, 2, 8, 128, 1, 128, 38, 19}, "packed_128"}, /* few large pages: sequences are not short for that */
    {{512, 4, 32, 16, 8, 128, 2048, 512}, "tile_128"}, {{332, 9, 8, 8, 8, 256, 2223, 247}, "tile_256_64"},
    {{1, 64, 32, 24, 8, 128, 16384, 256}, "decode"}, /* pages that are no part of a step */
    {{20, 64, 32, 24, 8, 128, 16384, 256}, "any"},
};

/* As ridge_way_choose, in builds without CUDA too. */
static const char *chosen(const ridge_way *ways, int n, const ridge_problem *p) {
    const ridge_way *best = NULL;
    double least = 0;
    for (int w = 0; w < n; w++) {
        if (p->here.sm < ways[w].needs || (ways[w].below && p->here.sm >= ways[w].below)) continue;
        const ridge_plan plan = ways[w].plan(&ways[w], p);
        if (plan.refusal) continue;
        assert_true(plan.us > 0 && plan.traffic.read > 0);
        if (!best || plan.us < least) best = &ways[w], least = plan.us;
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
        assert_string_equal(chosen(attention_paged_ways, ATTENTION_PAGED_WAYS, &p), calls[i].way);
    }
}

/* m, batch, heads, n, kv_heads, d, v; causal. */
typedef struct rows_way {
    int64_t dim[7];
    const char *way;
} rows_way;
static void expect_ways(const char *target, const ridge_way *ways, int n_ways, const ridge_abilities *here,
                        const rows_way *rows, int n) {
    for (int i = 0; i < n; i++) {
        ridge_case c = {.dtype = RIDGE_BF16, .option = {0, 1, -1, -1}};
        ridge_problem p;
        memcpy(c.dim, rows[i].dim, sizeof rows[i].dim);
        if (ways == attention_varlen_ways) c.dim[ATTENTION_SEQUENCES] = 4;
        ridge_problem_dense(ridge_target_find(target), &c, here, &p);
        assert_string_equal(chosen(ways, n_ways, &p), rows[i].way);
    }
}

static void tiles_are_chosen_by_depth(void **state) {
    (void)state;
    static const rows_way rows[] = {
        {{4096, 4, 16, 4096, 16, 128, 128}, "tile_128"},   {{8192, 2, 32, 8192, 32, 64, 64}, "tile_64"},
        {{1024, 16, 16, 1024, 16, 64, 64}, "tile_64_128"}, {{4096, 4, 16, 4096, 16, 192, 128}, "tile_192_128"},
        {{4096, 4, 16, 4096, 16, 192, 192}, "tile_192"},   {{4096, 4, 16, 4096, 16, 160, 96}, "tile_192_128"},
        {{4096, 4, 8, 4096, 8, 256, 256}, "tile_256"},     {{6336, 1, 1, 6336, 1, 96, 96}, "packed_128"},
        {{1, 16, 16, 2048, 16, 128, 128}, "decode"},
    };
    expect_ways("attention", attention_cuda_ways, ATTENTION_CUDA_WAYS, &h200, rows, sizeof rows / sizeof rows[0]);
}

static void blackwell_has_ways_of_its_own(void **state) {
    (void)state;
    static const rows_way rows[] = {
        {{4096, 4, 16, 4096, 16, 128, 128}, "tensor_128"}, {{1024, 16, 16, 1024, 16, 64, 64}, "tensor_64"},
        {{2048, 1, 8, 2048, 2, 96, 72}, "tensor_128"},     {{4096, 4, 8, 4096, 8, 256, 256}, "any"},
        {{2048, 1, 8, 2048, 8, 100, 128}, "any"}, /* rows between 16-byte boundaries */
    };
    const int n = sizeof rows / sizeof rows[0];
    expect_ways("attention", attention_cuda_ways, ATTENTION_CUDA_WAYS, &b200, rows, n);
    expect_ways("attention_varlen", attention_varlen_ways, ATTENTION_VARLEN_WAYS, &b200, rows, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_their_ways),
        cmocka_unit_test(tiles_are_chosen_by_depth),
        cmocka_unit_test(blackwell_has_ways_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
