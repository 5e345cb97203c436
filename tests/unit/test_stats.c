/* The statistics judged by simulation: do intervals cover, does A against A show nothing, is a 2 % slowdown seen, and
 * does a drifting clock change either. Every claim is made for several kinds of drift and several seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>

#include "core/random.h"
#include "measure/stats.h"
#include "sanitized.h"

enum { MAX_ROUNDS = 512, RUNS = 200, SEEDS = 5 };

/* ---- a simulated machine ---------------------------------------------------------------------------------------- */

typedef enum drift { STEADY, LINEAR, SINE, DRIFTS } drift;
static const char *const drift_names[DRIFTS] = {"steady", "linear", "sinusoidal"};

typedef struct source {
    uint64_t seed, next;
} source;

static double unit(source *s) { return ridge_random_unit(s->seed, s->next++); }

static double normal(source *s) {
    double u = 1 - unit(s), v = unit(s);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* A launch of a kernel that takes 1: lognormal noise of 1 %, and one in fifteen hit by an interrupt that costs up to
 * half. */
static double launch(source *s) {
    double t = exp(0.01 * normal(s));
    return unit(s) < 1.0 / 15 ? t * (1 + 0.5 * unit(s)) : t;
}

/* How slow the clock is at slot t of `slots`: a slope of 20 % over the run, or waves of 5 % that take 7.3 rounds each.
 */
static double clock_at(drift d, int t, int slots, double phase) {
    if (d == LINEAR) return 1 + 0.2 * t / slots;
    if (d == SINE) return 1 + 0.05 * sin(6.283185307179586 * (t / (4 * 7.3) + phase));
    return 1;
}

/* Rounds of A B B A, where B takes `slowdown` times as long as A; one mean a round and variant. */
static void simulate(source *s, int rounds, double slowdown, drift d, double *a, double *b) {
    double phase = unit(s);
    for (int i = 0; i < rounds; i++) {
        double visit[4];
        for (int v = 0; v < 4; v++) visit[v] = launch(s) * clock_at(d, 4 * i + v, 4 * rounds, phase);
        a[i] = 0.5 * (visit[0] + visit[3]);
        b[i] = 0.5 * (visit[1] + visit[2]) * slowdown;
    }
}

/* In how many of RUNS simulated runs a difference is shown. Rounds vary from min to max. */
static int shown(uint64_t seed, int min_rounds, int max_rounds, double slowdown, drift d) {
    double a[MAX_ROUNDS], b[MAX_ROUNDS];
    int count = 0;
    for (int run = 0; run < RUNS; run++) {
        source s = {.seed = ridge_random(seed, (uint64_t)run)};
        int rounds = min_rounds + (int)(unit(&s) * (max_rounds - min_rounds + 1));
        simulate(&s, rounds, slowdown, d, a, b);
        ridge_interval ratio = ridge_ratio_interval(b, a, rounds, s.seed);
        assert_int_equal(ratio.n, rounds);
        assert_true(ratio.low <= ratio.median && ratio.median <= ratio.high);
        count += ridge_interval_excludes(ratio, 1);
    }
    return count;
}

/* ---- the claims ------------------------------------------------------------------------------------------------- */

static void same_against_same_shows_nothing(void **state) {
    (void)state;
    for (int d = 0; d < DRIFTS; d++)
        for (uint64_t seed = 0; seed < (uint64_t)repetitions(SEEDS); seed++) {
            int wrong = shown(1000 * seed + 17 + 100 * (uint64_t)d, 10, 100, 1.0, (drift)d);
            print_message("  A against A, %s clock: a difference in %d of %d\n", drift_names[d], wrong, RUNS);
            assert_true(wrong <= RUNS * 5 / 100);
        }
}

static void two_percent_is_seen(void **state) {
    (void)state;
    for (int d = 0; d < DRIFTS; d++)
        for (uint64_t seed = 0; seed < (uint64_t)repetitions(SEEDS); seed++) {
            int seen = shown(1000 * seed + 29 + 100 * (uint64_t)d, 30, 100, 1.02, (drift)d);
            print_message("  2 %% slower, %s clock: seen in %d of %d\n", drift_names[d], seen, RUNS);
            assert_true(seen >= RUNS * 90 / 100);
        }
}

/* A smooth distribution whose median is 1, skewed as timings are. */
static double skewed(source *s) { return 0.9 + 0.1 * exp(0.8 * normal(s)); }

static void median_intervals_cover(void **state) {
    (void)state;
    static const int sizes[] = {8, 9, 11, 20, 50, 200, 501};
    enum { TRIALS = 4000 };
    double x[MAX_ROUNDS];
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k], covered = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            source s = {.seed = ridge_random(77, (uint64_t)(trial + TRIALS * n))};
            for (int i = 0; i < n; i++) x[i] = skewed(&s);
            covered += !ridge_interval_excludes(ridge_median_interval(x, n), 1);
        }
        /* 4000 trials at 0.99: standard deviation 0.16 %, so 0.984 is nearly four of them below. */
        if (covered < TRIALS * 0.984) fail_msg("n = %d: %d of %d", n, covered, TRIALS);
    }
}

static void ratio_intervals_cover_when_rounds_are_few(void **state) {
    (void)state;
    enum { TRIALS = 2000 };
    double a[MAX_ROUNDS], b[MAX_ROUNDS];
    for (int n = 8; n <= 24; n += 4) {
        int covered = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            source s = {.seed = ridge_random(99, (uint64_t)(trial + TRIALS * n))};
            simulate(&s, n, 1.3, STEADY, a, b);
            covered += !ridge_interval_excludes(ridge_ratio_interval(b, a, n, s.seed), 1.3);
        }
        if (covered < TRIALS * 0.982) fail_msg("n = %d: %d of %d", n, covered, TRIALS); /* 0.99 less 3.6 deviations */
    }
}

/* Rounds that resemble their neighbours carry less than they seem to: blocks must widen the interval. */
static void neighbours_alike_widen_the_interval(void **state) {
    (void)state;
    enum { N = 400 };
    double a[N], b[N], shuffled[N], wider = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        source s = {.seed = ridge_random(123, seed)};
        double level = 0;
        for (int i = 0; i < N; i++) {
            level = 0.9 * level + 0.01 * normal(&s);
            a[i] = exp(level);
            b[i] = 1;
        }
        for (int i = 0; i < N; i++) shuffled[i] = a[i * 151 % N]; /* 151 and 400 have no common factor */
        ridge_interval together = ridge_ratio_interval(a, b, N, seed),
                       apart = ridge_ratio_interval(shuffled, b, N, seed);
        assert_true(together.median == apart.median);
        wider += ridge_interval_width(together) / ridge_interval_width(apart) / 40;
    }
    assert_true(wider > 1.4);
}

typedef struct tabled {
    int n, rank;
} tabled;

static void order_statistics_are_the_tabled_ones(void **state) {
    (void)state;
    /* n and the 1-based rank of the lower end at 99 %, from tables of the sign test. */
    static const tabled table[] = {{8, 1},  {10, 1}, {11, 1}, {12, 2},  {15, 3},
                                   {20, 4}, {25, 6}, {30, 8}, {50, 16}, {100, 37}};
    double x[100];
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        int n = table[t].n;
        for (int i = 0; i < n; i++) x[i * 37 % n] = i + 1; /* 37 divides no n of the table: a permutation of 1…n */
        ridge_interval interval = ridge_median_interval(x, n);
        if (interval.low != table[t].rank || interval.high != n + 1 - table[t].rank)
            fail_msg("n = %d: ranks %g and %g", n, interval.low, interval.high);
        assert_true(interval.median == 0.5 * (n + 1));
    }
}

static void too_few_values_claim_nothing(void **state) {
    (void)state;
    static const double a[] = {2, 2.1, 2.2, 2.05, 2.15, 2.01, 2.03}, b[] = {1, 1, 1, 1, 1, 1, 1};
    for (int n = 0; n <= 7; n++) {
        ridge_interval one = ridge_median_interval(a, n), ratio = ridge_ratio_interval(a, b, n, 1);
        assert_true(isnan(one.low) && isnan(one.high) && isnan(ratio.low) && isnan(ratio.high));
        assert_true(isnan(one.median) == (n == 0) && isnan(ratio.median) == (n == 0));
        assert_int_equal(one.n, n);
        assert_int_equal(ratio.n, n);
        assert_true(isinf(ridge_interval_width(one)) && isinf(ridge_interval_width(ratio)));
        assert_false(ridge_interval_excludes(ratio, 1)); /* twice as fast, but not shown */
    }
    assert_true(isnan(ridge_median(a, 0)));
}

static void what_is_not_a_time_claims_nothing(void **state) {
    (void)state;
    static const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double a[12], b[12];
        for (int i = 0; i < 12; i++) a[i] = b[i] = 1 + 0.01 * i;
        b[5] = bad[k];
        ridge_interval ratio = ridge_ratio_interval(a, b, 12, 3);
        assert_true(isnan(ratio.median) && isnan(ratio.low) && !ridge_interval_excludes(ratio, 1));
        if (isfinite(bad[k])) continue;
        assert_true(isnan(ridge_median(b, 12)) && isnan(ridge_median_interval(b, 12).median));
    }
}

static void medians_are_medians_and_inputs_stay(void **state) {
    (void)state;
    double x[257], copy[257];
    for (int n = 1; n <= 257; n++) {
        for (int i = 0; i < n; i++) copy[i] = x[i] = ridge_random_unit((uint64_t)n, (uint64_t)i);
        double median = ridge_median(x, n);
        int below = 0, above = 0;
        for (int i = 0; i < n; i++) {
            below += x[i] < median;
            above += x[i] > median;
            assert_true(x[i] == copy[i]);
        }
        assert_int_equal(below, n / 2);
        assert_int_equal(above, n / 2);
    }
}

static void a_seed_decides_everything(void **state) {
    (void)state;
    double a[60], b[60];
    source s = {.seed = 5};
    simulate(&s, 60, 1.01, STEADY, a, b);
    ridge_interval x = ridge_ratio_interval(a, b, 60, 42), y = ridge_ratio_interval(a, b, 60, 42);
    assert_true(x.low == y.low && x.high == y.high && x.median == y.median);
    for (int i = 0; i < 60; i++) a[i] *= 3; /* scale goes through the whole interval */
    ridge_interval z = ridge_ratio_interval(a, b, 60, 42);
    assert_true(fabs(z.low / x.low - 3) < 1e-12 && fabs(z.high / x.high - 3) < 1e-12);
}

static void many_rounds_are_cheap_and_narrow(void **state) {
    (void)state;
    enum { N = 50000 };
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    assert_true(a && b);
    source s = {.seed = 9};
    simulate(&s, N, 1.002, STEADY, a, b);
    ridge_interval ratio = ridge_ratio_interval(b, a, N, 1), one = ridge_median_interval(a, N);
    assert_true(ridge_interval_excludes(ratio, 1) && !ridge_interval_excludes(ratio, 1.002));
    assert_true(ridge_interval_width(ratio) < 5e-4 && ridge_interval_width(one) < 5e-4);
    free(b);
    free(a);
}

/* The interval of a few measurements' mean holds the true one about as often as it says. */
static void means_of_few_are_covered(void **state) {
    (void)state;
    source draws = {.seed = 11};
    for (int n = 2; n <= 6; n += 2) {
        int held = 0;
        for (int i = 0; i < 2000; i++) {
            double x[6];
            for (int k = 0; k < n; k++) x[k] = 5 * exp(0.03 * normal(&draws));
            const ridge_interval interval = ridge_mean_interval(x, n);
            assert_int_equal(interval.n, n);
            held += interval.low <= 5 && interval.high >= 5;
        }
        if (held < 1970 || held > 1995) fail_msg("%d of 2000 intervals of %d hold the mean", held, n);
    }
    const double one[] = {3}, none[] = {3, -1};
    assert_true(ridge_mean_interval(one, 1).median > 2.999 && isnan(ridge_mean_interval(one, 1).low));
    assert_true(isnan(ridge_mean_interval(none, 2).median));
    assert_int_equal(ridge_mean_interval(one, 0).n, 0);
}

/* A mean lies among its values, and in its interval, also where rounding would put it beside them. */
static void means_are_never_outside(void **state) {
    (void)state;
    source draws = {.seed = 12};
    for (int i = 0; i < 5000; i++) {
        const double first = exp(8 * normal(&draws));
        double x[4], least = first, most = first;
        for (int k = 0; k < 4; k++) {
            x[k] = k && i % 3 == 0 ? first * (1 + 1e-15 * k) : first;
            least = fmin(least, x[k]), most = fmax(most, x[k]);
        }
        const ridge_interval interval = ridge_mean_interval(x, 1 + i % 4);
        assert_true(interval.median >= least && interval.median <= most);
        if (i % 4) assert_true(interval.low <= interval.median && interval.median <= interval.high);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_of_few_are_covered),
        cmocka_unit_test(means_are_never_outside),
        cmocka_unit_test(same_against_same_shows_nothing),
        cmocka_unit_test(two_percent_is_seen),
        cmocka_unit_test(median_intervals_cover),
        cmocka_unit_test(ratio_intervals_cover_when_rounds_are_few),
        cmocka_unit_test(neighbours_alike_widen_the_interval),
        cmocka_unit_test(order_statistics_are_the_tabled_ones),
        cmocka_unit_test(too_few_values_claim_nothing),
        cmocka_unit_test(what_is_not_a_time_claims_nothing),
        cmocka_unit_test(medians_are_medians_and_inputs_stay),
        cmocka_unit_test(a_seed_decides_everything),
        cmocka_unit_test(many_rounds_are_cheap_and_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
