/* Placement: known points by hand, then what must hold for any work on any ceilings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

static ridge_placement place(double flops, double in, double out, double time_us, bool hot) {
    ridge_ceilings c = fixture_ceilings();
    ridge_work work = {.flops = flops, .bytes_read = in, .bytes_written = out};
    ridge_placement p;
    ridge_place(&work, time_us, &c, hot, "fp32", &p);
    return p;
}

/* ---- by hand ---------------------------------------------------------------------------------------------------- */

static void a_map_is_held_to_the_better_copy(void **state) {
    (void)state;
    ridge_placement p = place(3e6, 4e6, 4e6, 200, false); /* DRAM: copy 40, stream 50 GB/s */
    assert_string_equal(p.binding, "DRAM stream");
    assert_true(p.memory_bound);
    assert_true(near(p.floor_us, 160) && near(p.pct_measured, 80) && near(p.gbps, 40) && near(p.gflops, 15));
    assert_true(near(p.intensity, 0.375) && near(p.ridge_point, 240.0 / 50) && near(p.attainable_gflops, 18.75));
}

static void a_reduction_is_held_to_reading(void **state) {
    (void)state;
    ridge_placement p = place(1e6, 9e6, 0, 400, false);
    assert_string_equal(p.binding, "DRAM read");
    assert_true(near(p.floor_us, 200) && near(p.pct_measured, 50));
    assert_string_equal(place(1e6, 9e6, 36, 400, false).binding, "DRAM read"); /* one float out changes no name */
}

static void a_mixture_is_held_to_its_parts(void **state) {
    (void)state;
    ridge_placement p = place(1e6, 9e6, 4.5e6, 400, false); /* 9 MB at 50 GB/s, 4.5 MB more at 45 GB/s */
    assert_string_equal(p.binding, "DRAM stream+read");
    assert_true(near(p.floor_us, 180 + 100));
    p = place(1e6, 4e6, 12e6, 400, false); /* 8 MB at 50, 8 MB at 45 (streaming stores alone) */
    assert_string_equal(p.binding, "DRAM stream+write");
    assert_true(near(p.floor_us, 160 + 8e6 / 45e3));
}

static void much_arithmetic_is_held_to_the_fastest_peak(void **state) {
    (void)state;
    ridge_placement p = place(2.4e9, 1e6, 1e6, 12500, false);
    assert_string_equal(p.binding, "fp32 avx512");
    assert_false(p.memory_bound);
    assert_true(near(p.floor_us, 10000) && near(p.pct_measured, 80) && near(p.attainable_gflops, 240));
}

static void hot_is_held_to_the_level_that_holds_it(void **state) {
    (void)state;
    assert_string_equal(place(1, 16384, 16384, 1, true).binding, "L1 copy"); /* no streaming figure there */
    assert_string_equal(place(1, 5e5, 5e5, 1, true).binding, "L2 copy"); /* plain copies are faster than streaming */
    assert_string_equal(place(1, 5e6, 5e6, 1, true).binding, "L3 copy");
    assert_string_equal(place(1, 5e7, 5e7, 1, true).binding, "DRAM stream");
    assert_string_equal(place(1, 16384, 16384, 1, false).binding, "DRAM stream");
}

static void no_flop_and_no_bytes_are_placed_too(void **state) {
    (void)state;
    ridge_placement p = place(0, 4e6, 4e6, 200, false);
    assert_true(p.intensity == 0 && p.gflops == 0 && p.attainable_gflops == 0 && near(p.pct_measured, 80));
    p = place(2.4e6, 0, 0, 20, false);
    assert_true(isinf(p.intensity) && !p.memory_bound && near(p.pct_measured, 50) && near(p.attainable_gflops, 240));
}

static void no_time_is_no_rate(void **state) {
    (void)state;
    static const double none[] = {0, -5, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ridge_placement p = place(3e6, 4e6, 4e6, none[i], false);
        assert_true(p.gflops == 0 && p.gbps == 0 && p.pct_measured == 0 && near(p.floor_us, 160));
    }
}

static void without_ceilings_nothing_is_claimed(void **state) {
    (void)state;
    ridge_ceilings empty = {.threads = 1};
    ridge_work work = {.flops = 3e6, .bytes_read = 4e6, .bytes_written = 4e6};
    ridge_placement p;
    for (int hot = 0; hot < 2; hot++) {
        ridge_place(&work, 100, &empty, hot, "fp32", &p);
        assert_string_equal(p.binding, "");
        assert_true(p.pct_measured == 0 && p.floor_us == 0 && near(p.gbps, 80) && near(p.gflops, 30));
        assert_true(ridge_floor_us(&work, &empty, hot, "fp32") == 0);
    }
    ridge_ceilings c = fixture_ceilings();
    ridge_place(&work, 200, &c, false, "bf16", &p); /* a type whose peak was not measured: memory alone decides */
    assert_string_equal(p.binding, "DRAM stream");
}

/* ---- for any work ----------------------------------------------------------------------------------------------- */

typedef struct draw {
    ridge_ceilings c;
    ridge_work w;
    double time;
    bool hot;
} draw;

static double log_uniform(uint64_t seed, uint64_t *i, double low, double high) {
    return low * pow(high / low, ridge_random_unit(seed, (*i)++));
}

static draw draw_any(uint64_t seed) {
    uint64_t i = 0;
    draw d = {.c = fixture_ceilings(), .hot = ridge_random(seed, 1000) & 1};
    for (int l = 0; l < d.c.n_levels; l++) {
        ridge_level *level = &d.c.levels[l];
        level->read = fixture_interval(log_uniform(seed, &i, 1, 1e4));
        level->copy = fixture_interval(log_uniform(seed, &i, 1, 1e4));
        if (ridge_random(seed, i++) % 3 == 0)
            level->stream = (ridge_interval){.n = 0, .median = (double)NAN};
        else
            level->stream = fixture_interval(log_uniform(seed, &i, 1, 1e4));
        if (ridge_random(seed, i++) % 3 == 0)
            level->write = (ridge_interval){.n = 0, .median = (double)NAN};
        else
            level->write = fixture_interval(log_uniform(seed, &i, 1, 1e4));
    }
    for (int p = 0; p < d.c.n_peaks; p++) d.c.peaks[p].gflops = fixture_interval(log_uniform(seed, &i, 1, 1e6));
    bool flops = ridge_random(seed, i++) % 8 != 0, in = ridge_random(seed, i++) % 8 != 0,
         out = ridge_random(seed, i++) % 8 != 0;
    d.w.flops = flops ? log_uniform(seed, &i, 1, 1e15) : 0;
    d.w.bytes_read = in ? log_uniform(seed, &i, 1, 1e13) : 0;
    d.w.bytes_written = out ? log_uniform(seed, &i, 1, 1e13) : 0;
    d.time = log_uniform(seed, &i, 1e-3, 1e9);
    return d;
}

static void any_work_is_placed_consistently(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        draw d = draw_any(seed);
        ridge_placement p;
        ridge_place(&d.w, d.time, &d.c, d.hot, "fp32", &p);
        double bytes = d.w.bytes_read + d.w.bytes_written;
        assert_false(isnan(p.intensity) || isnan(p.ridge_point) || isnan(p.attainable_gflops) || isnan(p.floor_us));
        assert_false(isnan(p.gflops) || isnan(p.gbps) || isnan(p.pct_measured));
        if (d.w.flops == 0 && bytes == 0) continue;
        assert_true(p.floor_us > 0 && p.binding[0]);
        assert_true(near(p.pct_measured * d.time, 100 * p.floor_us)); /* the three say the same */
        if (d.w.flops > 0) assert_true(near(p.pct_measured * p.attainable_gflops, 100 * p.gflops));
        if (d.w.flops > 0 && bytes > 0) { /* the bound is the side of the ridge point it lies on */
            if (fabs(p.intensity / p.ridge_point - 1) > 1e-9)
                assert_int_equal(p.memory_bound, p.intensity < p.ridge_point);
        }
        /* No placement may promise less time than the physical floor: 103 % of a ceiling is then never "impossible"
         * alone. */
        assert_true(p.floor_us >= ridge_floor_us(&d.w, &d.c, d.hot, "fp32") * (1 - 1e-12));
    }
}

static void more_work_or_less_time_never_lowers_a_rate(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        draw d = draw_any(seed);
        ridge_placement p, q;
        double more = 1 + ridge_random_unit(seed, 5000);
        ridge_place(&d.w, d.time, &d.c, false, "fp32", &p);
        ridge_place(&d.w, d.time * more, &d.c, false, "fp32", &q);
        assert_true(q.pct_measured <= p.pct_measured && q.gbps <= p.gbps && q.gflops <= p.gflops);
        assert_true(q.floor_us == p.floor_us);
        ridge_work flops = d.w, all = d.w;
        flops.flops *= more;
        ridge_place(&flops, d.time, &d.c, false, "fp32", &q);
        assert_true(q.floor_us >= p.floor_us);
        all.bytes_read *= more, all.bytes_written *= more;
        ridge_place(&all, d.time, &d.c, false, "fp32", &q);
        assert_true(q.floor_us >= p.floor_us * (1 - 1e-12));
        assert_true(ridge_floor_us(&all, &d.c, false, "fp32") >= ridge_floor_us(&d.w, &d.c, false, "fp32"));
    }
}

static void names_are_total(void **state) {
    (void)state;
    assert_string_equal(ridge_verdict_name(RIDGE_VERDICT_FRAME), "frame-dominated");
    assert_string_equal(ridge_verdict_name((ridge_verdict)99), "?");
    static const bool timed[RIDGE_VERDICT_COUNT] = {[RIDGE_VERDICT_OK] = true, [RIDGE_VERDICT_FRAME] = true};
    for (int v = 0; v < RIDGE_VERDICT_COUNT; v++) assert_int_equal(ridge_verdict_timed((ridge_verdict)v), timed[v]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_held_to_the_better_copy),
        cmocka_unit_test(a_reduction_is_held_to_reading),
        cmocka_unit_test(a_mixture_is_held_to_its_parts),
        cmocka_unit_test(much_arithmetic_is_held_to_the_fastest_peak),
        cmocka_unit_test(hot_is_held_to_the_level_that_holds_it),
        cmocka_unit_test(no_flop_and_no_bytes_are_placed_too),
        cmocka_unit_test(no_time_is_no_rate),
        cmocka_unit_test(without_ceilings_nothing_is_claimed),
        cmocka_unit_test(any_work_is_placed_consistently),
        cmocka_unit_test(more_work_or_less_time_never_lowers_a_rate),
        cmocka_unit_test(names_are_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
