/* Verdicts from fabricated samples: which time is judged, what an empty launch costs there, and what peak a variant is
 * held to. No GPU is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"
#include "record/judge.h"

static const ridge_variant variants[] = {
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cuda/optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(fixture_nothing)},
};
static const ridge_case small = {.dim = {128, 4096}, .dtype = RIDGE_F32};
static const ridge_target norm = {
    .name = "toy",
    .chapter = "ch00",
    .dims = {"rows", "cols"},
    .cases = &small,
    .n_cases = 1,
    .variants = RIDGE_LIST(variants),
    .work = fixture_norm_work,
};

/* n samples within `spread` (a share) of us. */
static ridge_series series_of(double us, double spread, int n) {
    ridge_series s = {.outcome = RIDGE_OUTCOME_DONE, .n = n, .check = {.ok = true}};
    s.samples = calloc((size_t)(n > 0 ? n : 1), sizeof *s.samples);
    for (int i = 0; i < n; i++)
        s.samples[i] = (ridge_sample){
            .round = i / 2, .visit = i % 2, .time_us = us * (1 + spread * (2 * ridge_random_unit(7, (uint64_t)i) - 1))};
    return s;
}

typedef struct times {
    double event, event_spread, graph, graph_spread, frame, graph_frame; /* graph 0: not measured */
} times;

static ridge_result judge(int variant, const times *t) {
    ridge_ceilings c = fixture_ceilings();
    c.levels[3] = fixture_level("DRAM", 0, 4500, 4000, 4200);
    fixture_add_peak(&c, "fp32 ffma", "fp32", 60000);
    ridge_result r = {.target = &norm, .c = small, .variant = &variants[variant]};
    ridge_series event = series_of(t->event, t->event_spread, 40);
    ridge_series graph = series_of(t->graph, t->graph_spread, t->graph > 0 ? 40 : 0);
    const ridge_job_result job = {.frame_us = t->frame, .graph_frame_us = t->graph_frame};
    ridge_result_judge(&r, &event, &graph, &job, &c, false);
    free(r.samples);
    r.samples = NULL;
    free(r.companion);
    r.companion = NULL;
    return r;
}

/* Floor of 128 x 4096 in fp32 at these ceilings: about 0.5 µs (its outputs fit in the last level). */
static void the_time_inside_a_graph_is_judged(void **state) {
    (void)state;
    static const struct {
        times t;
        ridge_verdict verdict;
        const char *reason;
    } cases[] = {
        {{5.6, 0.01, 2.9, 0.01, 2.2, 0.9}, RIDGE_VERDICT_OK, ""},
        {{5.6, 0.01, 0, 0, 2.2, 0}, RIDGE_VERDICT_FRAME, "2.2 us for an empty launch:"},
        {{5.6, 0.01, 1.5, 0.01, 2.2, 0.9}, RIDGE_VERDICT_FRAME, "0.9 us for an empty launch in a graph"},
        {{5.6, 0.5, 2.9, 0.01, 2.2, 0.9}, RIDGE_VERDICT_OK, ""}, /* starting varies, the kernel does not */
        {{99, 0.01, 98, 0.5, 2.2, 0.9}, RIDGE_VERDICT_OK, ""},   /* noise is a number, not a verdict */
        {{5.6, 0.01, 0.2, 0.01, 2.2, 0.05}, RIDGE_VERDICT_IMPOSSIBLE, "0.1998 us is below"},
        {{0.2, 0.01, 2.9, 0.01, 0.01, 0.01},
         RIDGE_VERDICT_IMPOSSIBLE,
         "0.1998 us is below"}, /* whichever of both is faster */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ridge_result r = judge(1, &cases[i].t);
        if (r.verdict != cases[i].verdict || !strstr(r.reason, cases[i].reason))
            fail_msg("case %zu is %s: %s", i, ridge_verdict_name(r.verdict), r.reason);
        const bool graph = cases[i].t.graph > 0;
        assert_true(ridge_result_judged(&r).median == (graph ? r.graph_us.median : r.time_us.median));
        assert_true(ridge_result_frame_us(&r) == (graph ? cases[i].t.graph_frame : cases[i].t.frame));
        assert_true(r.place.gbps * r.time_us.median * 1e3 > 0.99 * 2 * 128 * 4096 * 4); /* placed by the launch */
    }
}

static void a_graph_without_an_interval_is_not_judged(void **state) {
    (void)state;
    ridge_ceilings c = fixture_ceilings();
    ridge_result r = {.target = &norm, .c = small, .variant = &variants[1]};
    ridge_series event = series_of(900, 0.01, 40), graph = series_of(800, 0.01, 5);
    const ridge_job_result job = {.frame_us = 2.2, .graph_frame_us = 0.9};
    ridge_result_judge(&r, &event, &graph, &job, &c, false);
    assert_int_equal(r.verdict, RIDGE_VERDICT_OK);
    assert_true(ridge_result_judged(&r).median == r.time_us.median);
    free(r.samples);
    free(r.companion);
}

static void a_processors_companion_is_no_graph(void **state) {
    (void)state;
    const times t = {5.6, 0.01, 2.9, 0.01, 2.2, 0};
    ridge_result r = judge(0, &t); /* the companion is the same code in the core's own caches */
    assert_int_equal(r.verdict, RIDGE_VERDICT_FRAME);
    assert_true(ridge_result_judged(&r).median == r.time_us.median);
}

/* ---- what a variant is held to ---------------------------------------------------------------------------------- */

static ridge_arithmetic by_halves(const ridge_case *c, int sm) {
    return sm == 90 && c->dim[0] > 256 ? (ridge_arithmetic){RIDGE_F16, 3} : (ridge_arithmetic){.products = 0};
}

static const ridge_variant products_variants[] = {
    {.name = "cuda/optimized", .role = RIDGE_OPTIMIZED, .run = RIDGE_ANY_ISA(fixture_nothing), .arithmetic = by_halves},
};
static const ridge_target products = {
    .name = "toy_products",
    .chapter = "ch00",
    .dims = {"m", "k", "n"},
    .cases = RIDGE_LIST(fixture_matmul_cases),
    .variants = RIDGE_LIST(products_variants),
    .work = fixture_matmul_work,
    .products = true,
};

static ridge_placement place_products(int c, int sm, bool fp16) {
    ridge_ceilings ceilings = {.n_levels = 1};
    ceilings.levels[0] = fixture_level("DRAM", 0, 4500, 4000, 4200);
    fixture_add_peak(&ceilings, "fp32 ffma", "fp32", 60000);
    fixture_add_peak(&ceilings, "tf32 wgmma", "tf32", 480000);
    if (fp16) fixture_add_peak(&ceilings, "fp16 wgmma", "fp16", 900000);
    ridge_result r = {
        .target = &products, .c = products.cases[c], .variant = &products_variants[0], .here = {.sm = sm}};
    ridge_series event = series_of(20, 0.001, 40), none = {.n = 0};
    const ridge_job_result job = {.frame_us = 0.1};
    ridge_result_judge(&r, &event, &none, &job, &ceilings, false);
    free(r.samples);
    return r.place;
}

/* 1024^3: 2.15 GFLOP in 20 µs are 107 TFLOP/s: 179 % of multiply-adds, 36 % of fp16 in threes. */
static void a_variant_is_held_to_its_own_arithmetic(void **state) {
    (void)state;
    ridge_placement p = place_products(1, 90, true);
    assert_string_equal(p.binding, "fp16 wgmma x3");
    assert_true(fabs(p.pct_measured - 35.8) < 0.5 && p.pct_measured < 100);
    assert_true(fabs(p.attainable_gflops / 300000 - 1) < 1e-6);
    assert_string_equal(place_products(1, 90, false).binding, "fp32 ffma"); /* that peak was not measured */
    p = place_products(1, 80, true);                                        /* another GPU, another kernel */
    assert_string_equal(p.binding, "fp32 ffma");
    assert_true(p.pct_measured > 170);
    assert_string_equal(place_products(0, 90, true).binding, "fp32 ffma"); /* another case, another kernel */
}

static ridge_arithmetic by_one_half(const ridge_case *c, int sm) {
    (void)c;
    return sm == 90 ? (ridge_arithmetic){RIDGE_F16, 1} : (ridge_arithmetic){.products = 0};
}

/* Of tf32, 1024^3 in so many µs. fp16_first: in the list of peaks. */
static ridge_verdict verdict_of_one_half(double us, int sm, bool fp16_first) {
    const ridge_variant variant = {.name = "cuda/optimized",
                                   .role = RIDGE_OPTIMIZED,
                                   .run = RIDGE_ANY_ISA(fixture_nothing),
                                   .arithmetic = by_one_half};
    ridge_ceilings ceilings = {.n_levels = 1};
    ceilings.levels[0] = fixture_level("DRAM", 0, 45000, 40000, 42000);
    for (int i = 0; i < 2; i++) {
        const bool fp16 = (i == 0) == fp16_first;
        fixture_add_peak(&ceilings, fp16 ? "fp16 wgmma" : "tf32 wgmma", fp16 ? "fp16" : "tf32", fp16 ? 900000 : 480000);
    }
    ridge_result r = {.target = &products, .c = products.cases[1], .variant = &variant, .here = {.sm = sm}};
    r.c.dtype = RIDGE_TF32;
    ridge_series event = series_of(us, 0.001, 40), none = {.n = 0};
    const ridge_job_result job = {.frame_us = 0.001};
    ridge_result_judge(&r, &event, &none, &job, &ceilings, false);
    free(r.samples);
    return r.verdict;
}

/* 4.5 µs at tf32's peak, 2.4 at fp16's, by which one product is made in the place of each. */
static void a_faster_type_has_its_own_floor(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        assert_int_equal(verdict_of_one_half(3.5, 90, first), RIDGE_VERDICT_OK);
        assert_int_equal(verdict_of_one_half(3.5, 80, first), RIDGE_VERDICT_IMPOSSIBLE);
        assert_int_equal(verdict_of_one_half(1.9, 90, first), RIDGE_VERDICT_IMPOSSIBLE);
    }
}

static ridge_arithmetic of_four_bits(const ridge_case *c, int sm) {
    (void)c;
    return sm == 100 ? (ridge_arithmetic){RIDGE_E2M1, 1} : (ridge_arithmetic){.products = 0};
}

/* 1024^3 of e2m1 in so many µs; fp4: that peak was measured. */
static ridge_verdict verdict_of_four_bits(double us, int sm, bool fp4) {
    static const ridge_tensor_spec in[] = {{.name = "a", .rank = 2, .dim = {0, 1}, .dtype = RIDGE_E2M1}};
    const ridge_variant variant = {.name = "cuda/optimized",
                                   .role = RIDGE_OPTIMIZED,
                                   .run = RIDGE_ANY_ISA(fixture_nothing),
                                   .arithmetic = of_four_bits};
    ridge_target target = products;
    ridge_ceilings ceilings = {.n_levels = 1};
    target.in = in, target.n_in = 1;
    ceilings.levels[0] = fixture_level("DRAM", 0, 45000, 40000, 42000);
    fixture_add_peak(&ceilings, "fp32 ffma", "fp32", 60000);
    fixture_add_peak(&ceilings, "fp8 wgmma", "fp8", 1800000);
    if (fp4) fixture_add_peak(&ceilings, "fp4", "fp4", 3600000);
    ridge_result r = {.target = &target, .c = products.cases[1], .variant = &variant, .here = {.sm = sm}};
    ridge_series event = series_of(us, 0.001, 40), none = {.n = 0};
    const ridge_job_result job = {.frame_us = 0.001};
    ridge_result_judge(&r, &event, &none, &job, &ceilings, false);
    free(r.samples);
    return r.verdict;
}

/* 1.2 µs at fp8's peak, by which the values of e2m1 can be multiplied, and 0.6 at fp4's. */
static void four_bits_have_the_floor_of_their_peak_or_none(void **state) {
    (void)state;
    assert_int_equal(verdict_of_four_bits(1.5, 90, false), RIDGE_VERDICT_OK);
    assert_int_equal(verdict_of_four_bits(0.8, 90, false), RIDGE_VERDICT_IMPOSSIBLE);
    assert_int_equal(verdict_of_four_bits(0.8, 100, true), RIDGE_VERDICT_OK);
    assert_int_equal(verdict_of_four_bits(0.5, 100, true), RIDGE_VERDICT_IMPOSSIBLE);
    assert_int_equal(verdict_of_four_bits(0.8, 100, false), RIDGE_VERDICT_OK);
}

/* What the targets say of their cases: the kernels' own choice, from the header that makes it. */
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_inside_a_graph_is_judged),
        cmocka_unit_test(a_graph_without_an_interval_is_not_judged),
        cmocka_unit_test(a_processors_companion_is_no_graph),
        cmocka_unit_test(a_variant_is_held_to_its_own_arithmetic),
        cmocka_unit_test(a_faster_type_has_its_own_floor),
        cmocka_unit_test(four_bits_have_the_floor_of_their_peak_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
