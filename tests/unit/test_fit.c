/* Power laws in pieces, on synthetic times with known exponents and breaks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "core/random.h"
#include "measure/fit.h"
#include "measure/stats.h"

enum { MOST = 64 };

typedef struct data {
    double size[MOST], time[MOST];
    int n;
} data;

/* Sizes double. Between the breaks the time grows with the exponents; it is continuous there. `noise` is the standard
 * deviation of the logarithm, roughly. */
static data series(int n, const double *exponent, const double *breaks, int pieces, double noise, uint64_t seed) {
    data d = {.n = n};
    for (int i = 0; i < n; i++) {
        double size = 16 * pow(2, i), y = 0, from = 16;
        for (int p = 0; p < pieces; p++) {
            const double to = p + 1 < pieces ? fmin(size, breaks[p]) : size;
            if (to > from) y += exponent[p] * log(to / from);
            from = fmax(from, to);
        }
        double sum = 0;
        for (int k = 0; k < 12; k++) sum += ridge_random_unit(seed, (uint64_t)(12 * i + k)) - 0.5;
        d.size[i] = size;
        d.time[i] = 3.5 * exp(y + noise * sum);
    }
    return d;
}

static void assert_near(double got, double want, double within) {
    if (!(fabs(got - want) <= within)) fail_msg("%g, want %g within %g", got, want, within);
}

static void one_power(void **state) {
    (void)state;
    static const double exponents[] = {0, 0.5, 1, 1.5, 2, 3};
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        const data d = series(10, &exponents[e], NULL, 1, 0, 1);
        ridge_power_fit fit;
        assert_true(ridge_power_fit_times(d.size, d.time, d.n, &fit));
        assert_int_equal(fit.n, 1);
        assert_near(fit.piece[0].exponent, exponents[e], 1e-9);
        assert_near(fit.piece[0].begins, 16, 1e-9);
        assert_int_equal(fit.piece[0].n, 10);
        assert_near(fit.residual, 0, 1e-9);
    }
}

/* Launch-bound, bandwidth-bound, compute-bound. */
static void exponents_and_breaks_are_found(void **state) {
    (void)state;
    static const double exponent[] = {0.05, 1, 3}, breaks[] = {700, 40000};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const data d = series(18, exponent, breaks, 3, 0.02, seed);
        ridge_power_fit fit;
        assert_true(ridge_power_fit_times(d.size, d.time, d.n, &fit));
        assert_int_equal(fit.n, 3);
        for (int p = 0; p < 3; p++) {
            assert_near(fit.piece[p].exponent, exponent[p], 0.05);
            assert_true(fit.piece[p].error < 0.1);
        }
        for (int p = 0; p < 2; p++) assert_near(log2(fit.piece[p + 1].begins / breaks[p]), 0, 0.3);
        assert_int_equal(fit.piece[0].n + fit.piece[1].n + fit.piece[2].n, 18);
        assert_int_equal(fit.piece[1].first, fit.piece[0].n);
    }
}

/* What scatters about one line is no break: 99 of 100 series have none. */
static void noise_is_no_break(void **state) {
    (void)state;
    static const double exponent = 1, noises[] = {0.005, 0.02, 0.1};
    static const int counts[] = {7, 8, 10, 14, 24};
    int broken = 0, tried = 0;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (size_t v = 0; v < sizeof noises / sizeof noises[0]; v++)
            for (uint64_t seed = 1; seed <= 40; seed++, tried++) {
                const data d = series(counts[c], &exponent, NULL, 1, noises[v], seed);
                ridge_power_fit fit;
                assert_true(ridge_power_fit_times(d.size, d.time, d.n, &fit));
                broken += fit.n > 1;
            }
    if (broken > tried / 50) fail_msg("%d of %d lines were broken", broken, tried);
}

/* The interval of the exponent holds it about as often as it says. */
static void intervals_cover(void **state) {
    (void)state;
    static const double exponent = 1.5;
    int held = 0, tried = 0;
    for (uint64_t seed = 1; seed <= 400; seed++, tried++) {
        const data d = series(9, &exponent, NULL, 1, 0.05, seed);
        ridge_power_fit fit;
        assert_true(ridge_power_fit_times(d.size, d.time, d.n, &fit));
        held += fit.n == 1 && fabs(fit.piece[0].exponent - exponent) <= fit.piece[0].error;
    }
    if (held < 0.97 * tried) fail_msg("%d of %d intervals hold the exponent", held, tried);
}

/* A clear knee shows in eight points; six cannot show one. */
static void few_points(void **state) {
    (void)state;
    static const double exponent[] = {0, 1}, breaks[] = {200};
    ridge_power_fit fit;
    data d = series(8, exponent, breaks, 2, 0.003, 1);
    assert_true(ridge_power_fit_times(d.size, d.time, d.n, &fit));
    assert_int_equal(fit.n, 2);
    assert_near(fit.piece[0].exponent, 0, 0.1);
    assert_near(fit.piece[1].exponent, 1, 0.1);
    assert_true(ridge_power_fit_times(d.size, d.time, 6, &fit));
    assert_int_equal(fit.n, 1);
    assert_true(ridge_power_fit_times(d.size, d.time, 4, &fit));
    assert_false(ridge_power_fit_times(d.size, d.time, 3, &fit));
    assert_int_equal(fit.n, 0);
}

static void what_is_no_series(void **state) {
    (void)state;
    ridge_power_fit fit;
    static const double size[] = {1, 2, 4, 8, 16}, time[] = {1, 1, 1, 1, 1};
    static const double equal[] = {1, 2, 2, 8, 16}, nothing[] = {0, 2, 4, 8, 16}, nan[] = {1, NAN, 1, 1, 1},
                        endless[] = {1, 1, HUGE_VAL, 1, 1}, negative[] = {1, 1, 1, 1, -1};
    assert_true(ridge_power_fit_times(size, time, 5, &fit));
    assert_false(ridge_power_fit_times(equal, time, 5, &fit));
    assert_false(ridge_power_fit_times(nothing, time, 5, &fit));
    assert_false(ridge_power_fit_times(size, nan, 5, &fit));
    assert_false(ridge_power_fit_times(size, endless, 5, &fit));
    assert_false(ridge_power_fit_times(size, negative, 5, &fit));
}

/* Against printed tables of Student's t at 99.5 %. */
static void students_quantiles(void **state) {
    (void)state;
    static const struct {
        int degrees;
        double t;
    } table[] = {{1, 63.657}, {2, 9.925}, {5, 4.032}, {10, 3.169}, {11, 3.106}, {15, 2.947}, {30, 2.750}, {120, 2.617}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_near(ridge_student(table[i].degrees), table[i].t, 0.002);
    assert_true(isinf(ridge_student(0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_power),          cmocka_unit_test(exponents_and_breaks_are_found),
        cmocka_unit_test(noise_is_no_break),  cmocka_unit_test(intervals_cover),
        cmocka_unit_test(few_points),         cmocka_unit_test(what_is_no_series),
        cmocka_unit_test(students_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
