/* The vector layer of every instruction set this processor has, against libm in fp64: dense samples over each
 * function's range, every special value, every length of an edge, and every bf16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/cpu/vec_array.h"
#include "core/random.h"
#include "machine/identity/machine.h"

typedef struct isa_entry {
    const char *name;
    const ridge_vec_array *f;
    ridge_isa isa;
    bool here;
} isa_entry;

#define ENTRY(isa) \
    { #isa, &ridge_vec_array_##isa, RIDGE_ISA_##isa, false }
static isa_entry isas[] = {
    ENTRY(scalar),
#if defined(__x86_64__) && !defined(RIDGE_WITHOUT_avx2)
    ENTRY(avx2),
#endif
#if defined(__x86_64__) && !defined(RIDGE_WITHOUT_avx512)
    ENTRY(avx512),
#endif
#if defined(__aarch64__)
    ENTRY(neon),
#endif
};
enum { ISAS = sizeof isas / sizeof isas[0], MANY = 1 << 16 };

static int find_isas(void **state) {
    (void)state;
    for (int i = 0; i < ISAS; i++) isas[i].here = ridge_isa_supported(isas[i].isa);
    return 0;
}

static double ulp_of(double want) {
    double magnitude = fmax(fabs(want), (double)FLT_MIN);
    int exponent;
    (void)frexp(magnitude, &exponent);
    return ldexp(1.0, exponent - 24);
}

/* ---- functions ---- */

static double want_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static double want_silu(double x) { return x / (1.0 + exp(-x)); }
static double want_silu_slope(double x) { return want_sigmoid(x) * (1.0 + x * want_sigmoid(-x)); }
static double want_gelu(double x) { return 0.5 * x * (1.0 + erf(x * sqrt(0.5))); }

/* GELU is 1 + erf times x: near -3 the sum cancels, so its error is a multiple of x and not of the result. */
static double unit_gelu(double x, double want) { return fmax(fabs(x) * 0x1p-23, ulp_of(want) * 0x1p-22); }
static double unit_silu(double x, double want) {
    (void)want;
    return fmax(fabs(x), 1.0) * 0x1p-23;
}
static double unit_one(double x, double want) {
    (void)x, (void)want;
    return 0x1p-23;
}
static double unit_ulp(double x, double want) {
    (void)x;
    return ulp_of(want);
}

typedef struct function {
    const char *name;
    size_t member; /* offset in ridge_vec_array */
    double (*want)(double);
    double (*unit)(double x, double want);
    double permitted; /* units */
    double low, high; /* samples are dense here */
} function;

static const function functions[] = {
    {"exp", offsetof(ridge_vec_array, exp), exp, unit_ulp, 1.5, -104.0, 89.0},
    {"exp near 0", offsetof(ridge_vec_array, exp), exp, unit_ulp, 1.5, -1.0, 1.0},
    {"sin", offsetof(ridge_vec_array, sin), sin, unit_ulp, 2.5, -1.6, 1.6},
    {"sin to 8192", offsetof(ridge_vec_array, sin), sin, unit_ulp, 2.5, -8192.0, 8192.0},
    {"sin beyond", offsetof(ridge_vec_array, sin), sin, unit_ulp, 2.5, -1e30, 1e30},
    {"erf", offsetof(ridge_vec_array, erf), erf, unit_ulp, 8.0, -4.5, 4.5},
    {"sigmoid", offsetof(ridge_vec_array, sigmoid), want_sigmoid, unit_ulp, 3.0, -87.0, 100.0},
    {"exp2", offsetof(ridge_vec_array, exp2), exp2, unit_ulp, 3.0, -150.0, 128.5},
    {"sin_absolute", offsetof(ridge_vec_array, sin_absolute), sin, unit_one, 1.5, -3.0, 3.0},
    {"sin_absolute", offsetof(ridge_vec_array, sin_absolute), sin, unit_one, 1.5, -9000.0, 9000.0},
    {"silu", offsetof(ridge_vec_array, silu), want_silu, unit_silu, 1.5, -100.0, 100.0},
    {"silu_slope", offsetof(ridge_vec_array, silu_slope), want_silu_slope, unit_one, 3.0, -100.0, 100.0},
    {"gelu", offsetof(ridge_vec_array, gelu), want_gelu, unit_gelu, 2.5, -12.0, 12.0},
    {"sqrt", offsetof(ridge_vec_array, sqrt), sqrt, unit_ulp, 0.5, 0.0, 1e30},
    {"round", offsetof(ridge_vec_array, round), rint, unit_ulp, 0.0, -1e7, 1e7},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static ridge_vec_map_fn member_of(const ridge_vec_array *f, size_t offset) {
    ridge_vec_map_fn fn;
    memcpy(&fn, (const char *)f + offset, sizeof fn);
    return fn;
}

static double worst_of(const function *f, const isa_entry *isa, const float *x, float *y) {
    double worst = 0.0;
    member_of(isa->f, f->member)(x, y, MANY);
    for (int i = 0; i < MANY; i++) {
        double want = f->want((double)x[i]), error = fabs((double)y[i] - want) / f->unit((double)x[i], want);
        if (fabs(want) > (double)FLT_MAX) error = isinf(y[i]) && signbit(y[i]) == signbit(want) ? 0.0 : INFINITY;
        if (!(error <= worst)) worst = error;
        if (isnan(error)) return error;
    }
    return worst;
}

/* Uniform over the range, then uniform over the exponents below it, where relative errors show. */
static void fill_range(const function *f, float *x, uint64_t seed) {
    for (int i = 0; i < MANY; i++) {
        double u = ridge_random_unit(seed, (uint64_t)i);
        double v = f->low + (f->high - f->low) * u;
        if (i % 2) v = (i % 4 == 1 ? f->high : f->low) * exp2(-40.0 * u);
        x[i] = (float)v;
    }
}

static void test_functions(void **state) {
    (void)state;
    float *x = malloc(MANY * sizeof *x), *y = malloc(MANY * sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    for (int k = 0; k < FUNCTIONS; k++)
        for (int i = 0; i < ISAS; i++) {
            if (!isas[i].here) continue;
            double worst = 0.0;
            for (uint64_t seed = 1; seed <= 8; seed++) {
                fill_range(&functions[k], x, seed);
                double w = worst_of(&functions[k], &isas[i], x, y);
                if (!(w <= worst)) worst = w;
            }
            print_message("%-12s %-7s %.3f of %.1f\n", functions[k].name, isas[i].name, worst, functions[k].permitted);
            assert_true(worst <= functions[k].permitted);
        }
    free(x);
    free(y);
}

/* Floats on both sides of multiples of pi, where a poor reduction loses all digits. */
static void test_sin_near_multiples_of_pi(void **state) {
    (void)state;
    enum { N = 2600 };
    float x[N], y[N];
    for (int n = 0; n < N; n++) {
        double multiple = (n + 1) * 3.14159265358979323846;
        x[n] = n % 2 ? nextafterf((float)multiple, 0.0f) : -(float)multiple;
    }
    for (int i = 0; i < ISAS; i++) {
        if (!isas[i].here) continue;
        isas[i].f->sin(x, y, N);
        for (int n = 0; n < N; n++) {
            double want = sin((double)x[n]);
            assert_true(fabs((double)y[n] - want) <= 2.5 * ulp_of(want));
        }
    }
}

/* ---- special values ---- */

typedef struct special {
    const char *name;
    size_t member;
    float x, want;
} special;

static const special specials[] = {
    {"exp", offsetof(ridge_vec_array, exp), 0.0f, 1.0f},
    {"exp", offsetof(ridge_vec_array, exp), -0.0f, 1.0f},
    {"exp", offsetof(ridge_vec_array, exp), INFINITY, INFINITY},
    {"exp", offsetof(ridge_vec_array, exp), -INFINITY, 0.0f},
    {"exp", offsetof(ridge_vec_array, exp), NAN, NAN},
    {"exp", offsetof(ridge_vec_array, exp), 88.73f, INFINITY},
    {"exp", offsetof(ridge_vec_array, exp), FLT_MAX, INFINITY},
    {"exp", offsetof(ridge_vec_array, exp), -FLT_MAX, 0.0f},
    {"exp", offsetof(ridge_vec_array, exp), -104.0f, 0.0f},
    {"exp", offsetof(ridge_vec_array, exp), 0x1p-149f, 1.0f},
    {"sin", offsetof(ridge_vec_array, sin), 0.0f, 0.0f},
    {"sin", offsetof(ridge_vec_array, sin), INFINITY, NAN},
    {"sin", offsetof(ridge_vec_array, sin), -INFINITY, NAN},
    {"sin", offsetof(ridge_vec_array, sin), NAN, NAN},
    {"sin", offsetof(ridge_vec_array, sin), 0x1p-126f, 0x1p-126f},
    {"erf", offsetof(ridge_vec_array, erf), 0.0f, 0.0f},
    {"erf", offsetof(ridge_vec_array, erf), INFINITY, 1.0f},
    {"erf", offsetof(ridge_vec_array, erf), -INFINITY, -1.0f},
    {"erf", offsetof(ridge_vec_array, erf), NAN, NAN},
    {"exp2", offsetof(ridge_vec_array, exp2), INFINITY, INFINITY},
    {"exp2", offsetof(ridge_vec_array, exp2), -INFINITY, 0.0f},
    {"exp2", offsetof(ridge_vec_array, exp2), -FLT_MAX, 0.0f},
    {"exp2", offsetof(ridge_vec_array, exp2), FLT_MAX, INFINITY},
    {"exp2", offsetof(ridge_vec_array, exp2), NAN, NAN},
    {"exp2", offsetof(ridge_vec_array, exp2), 10.0f, 1024.0f},
    {"sin_absolute", offsetof(ridge_vec_array, sin_absolute), INFINITY, NAN},
    {"sin_absolute", offsetof(ridge_vec_array, sin_absolute), NAN, NAN},
    {"silu", offsetof(ridge_vec_array, silu), -FLT_MAX, 0.0f},
    {"silu", offsetof(ridge_vec_array, silu), FLT_MAX, FLT_MAX},
    {"silu", offsetof(ridge_vec_array, silu), -200.0f, 0.0f},
    {"silu_slope", offsetof(ridge_vec_array, silu_slope), -FLT_MAX, 0.0f},
    {"silu_slope", offsetof(ridge_vec_array, silu_slope), FLT_MAX, 1.0f},
    {"silu_slope", offsetof(ridge_vec_array, silu_slope), NAN, NAN},
    {"gelu", offsetof(ridge_vec_array, gelu), -200.0f, 0.0f},
    {"sigmoid", offsetof(ridge_vec_array, sigmoid), INFINITY, 1.0f},
    {"sigmoid", offsetof(ridge_vec_array, sigmoid), -INFINITY, 0.0f},
    {"sigmoid", offsetof(ridge_vec_array, sigmoid), 0.0f, 0.5f},
    {"sigmoid", offsetof(ridge_vec_array, sigmoid), NAN, NAN},
    {"silu", offsetof(ridge_vec_array, silu), INFINITY, INFINITY},
    {"silu", offsetof(ridge_vec_array, silu), -INFINITY, NAN},
    {"gelu", offsetof(ridge_vec_array, gelu), INFINITY, INFINITY},
    {"gelu", offsetof(ridge_vec_array, gelu), -INFINITY, NAN},
    {"gelu", offsetof(ridge_vec_array, gelu), NAN, NAN},
    {"gelu", offsetof(ridge_vec_array, gelu), 0.0f, 0.0f},
    {"gelu", offsetof(ridge_vec_array, gelu), FLT_MAX, FLT_MAX},
    {"sqrt", offsetof(ridge_vec_array, sqrt), -1.0f, NAN},
    {"sqrt", offsetof(ridge_vec_array, sqrt), INFINITY, INFINITY},
    {"round", offsetof(ridge_vec_array, round), 2.5f, 2.0f},
    {"round", offsetof(ridge_vec_array, round), -3.5f, -4.0f},
};

/* One special value between ordinary ones, at each place of a vector: lanes must not disturb each other. */
static void test_specials(void **state) {
    (void)state;
    for (int i = 0; i < ISAS; i++) {
        if (!isas[i].here) continue;
        int lanes = isas[i].f->lanes;
        for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++)
            for (int place = 0; place < lanes; place++) {
                float x[64], y[64], plain[64];
                ridge_vec_map_fn fn = member_of(isas[i].f, specials[k].member);
                for (int j = 0; j < lanes; j++) x[j] = 0.25f + 0.01f * (float)j;
                fn(x, plain, lanes);
                x[place] = specials[k].x;
                fn(x, y, lanes);
                for (int j = 0; j < lanes; j++) {
                    float want = j == place ? specials[k].want : plain[j];
                    bool same = isnan(want)              ? isnan(y[j])
                                : fabsf(y[j]) <= FLT_MAX ? fabsf(y[j] - want) <= 0x1p-23f * fabsf(want)
                                                         : y[j] == want;
                    if (!same)
                        print_message("%s %s(%g) = %g\n", isas[i].name, specials[k].name, (double)x[j], (double)y[j]);
                    assert_true(same);
                }
            }
    }
}

static void test_scale2(void **state) {
    (void)state;
    const float x[] = {1.0f, -1.0f, 1.5f, 0x1.fffffep-1f, 0x1.6a09e6p0f, 0.0f, NAN};
    enum { N = sizeof x / sizeof x[0] };
    float y[N];
    for (int i = 0; i < ISAS; i++)
        for (int n = -200; isas[i].here && n <= 200; n++) {
            isas[i].f->scale2(x, (float)n, y, N);
            for (int k = 0; k < N; k++) {
                float want = (float)ldexp((double)x[k], n);
                assert_true(isnan(want) ? isnan(y[k]) : y[k] == want);
            }
        }
}

/* ---- edges: nothing beyond n is read or written ---- */

static void test_every_length(void **state) {
    (void)state;
    enum { MOST = 70, GUARD = 64 };
    for (int i = 0; i < ISAS; i++)
        for (int n = 0; isas[i].here && n <= MOST; n++) {
            float *x = malloc((size_t)(n + (n == 0)) * sizeof *x); /* exactly n: a sanitizer sees a read beyond */
            float y[MOST + GUARD];
            uint16_t h[MOST + GUARD];
            assert_non_null(x);
            double total = 0.0, largest = -INFINITY;
            for (int k = 0; k < n; k++) {
                x[k] = (float)((k * 37) % 41 - 20);
                total += (double)x[k];
                largest = fmax(largest, (double)x[k]);
            }
            memset(y, 0x5a, sizeof y);
            memset(h, 0x5a, sizeof h);
            isas[i].f->round(x, y, n);
            isas[i].f->narrow(x, h, n, 0);
            assert_true(n == 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0);
            for (int k = n; k < MOST + GUARD; k++) {
                assert_int_equal(h[k], 0x5a5a);
                assert_memory_equal(&y[k], "\x5a\x5a\x5a\x5a", 4);
            }
            isas[i].f->widen(h, y, n);
            assert_true(n == 0 || memcmp(x, y, (size_t)n * sizeof *x) == 0); /* small integers are bf16 values */
            assert_memory_equal(&y[n], "\x5a\x5a\x5a\x5a", 4);
            assert_true((double)isas[i].f->sum(x, n) == total);
            assert_true((double)isas[i].f->max(x, n) == largest);
            free(x);
        }
}

/* ---- bf16 ---- */

static void test_widen_every_bf16(void **state) {
    (void)state;
    uint16_t *h = malloc(MANY * sizeof *h);
    float *y = malloc(MANY * sizeof *y);
    assert_non_null(h);
    assert_non_null(y);
    for (int k = 0; k < MANY; k++) h[k] = (uint16_t)k;
    for (int i = 0; i < ISAS; i++) {
        if (!isas[i].here) continue;
        isas[i].f->widen(h, y, MANY);
        for (int k = 0; k < MANY; k++) {
            uint32_t bits;
            memcpy(&bits, &y[k], sizeof bits);
            assert_int_equal(bits, (uint32_t)k << 16);
        }
    }
    free(h);
    free(y);
}

/* Every sign, exponent and short mantissa, at the ties and one bit to either side of them; NaNs of every short payload.
 */
static void test_narrow(void **state) {
    (void)state;
    static const uint32_t low[] = {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff};
    float *x = malloc(MANY * sizeof *x);
    uint16_t *h = aligned_alloc(64, MANY * sizeof *h);
    assert_non_null(x);
    assert_non_null(h);
    for (size_t l = 0; l < sizeof low / sizeof low[0]; l++) {
        for (uint32_t k = 0; k < MANY; k++) {
            uint32_t bits = k << 16 | low[l];
            memcpy(&x[k], &bits, sizeof bits);
        }
        for (int i = 0; i < ISAS; i++)
            for (int way = 0; isas[i].here && way < 4; way++) {
                bool native = way >= 2;
                memset(h, 0, MANY * sizeof *h);
                (native ? isas[i].f->narrow_native : isas[i].f->narrow)(x, h, MANY, way % 2);
                for (int k = 0; k < MANY; k++) {
                    uint16_t want;
                    ridge_store(&want, RIDGE_BF16, 0, (double)x[k]);
                    if (native && fabsf(x[k]) < FLT_MIN && (h[k] & 0x7fff) == 0) continue;
                    if (isnan(x[k]))
                        assert_true((h[k] & 0x7f80) == 0x7f80 && (h[k] & 0x7f) != 0);
                    else
                        assert_int_equal(h[k], want);
                }
            }
    }
    free(x);
    free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),    cmocka_unit_test(test_sin_near_multiples_of_pi),
        cmocka_unit_test(test_specials),     cmocka_unit_test(test_scale2),
        cmocka_unit_test(test_every_length), cmocka_unit_test(test_widen_every_bf16),
        cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, find_isas, NULL);
}
