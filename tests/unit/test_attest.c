/* Attestation from fabricated witnesses: right outputs of a launch that did not read, write or do what it has to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "measure/attest.h"
#include "ridge/bench.h"
#include "verify/view.h"

enum { LINE = 64, READ = RIDGE_CHANNEL_READ, WROTE = RIDGE_CHANNEL_WROTE, FROM_HOST = RIDGE_CHANNEL_FROM_HOST };

/* A right launch of fused_l2norm: x is input 0, y output 0 (tensor 1). */
typedef struct launch {
    ridge_operands ops;
    char *memory;
    unsigned char *flags[2];
    ridge_attested seen;
} launch;

static void norm(launch *l) {
    const ridge_view x = ridge_operands_view(&l->ops, 0), y = ridge_operands_view(&l->ops, 1);
    const int64_t n = l->ops.c.dim[1];
    for (int64_t row = 0; row < l->ops.c.dim[0]; row++) {
        const float *from = (const float *)(const void *)x.base + row * n;
        float *to = (float *)(void *)y.base + row * n;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += (double)from[j] * (double)from[j];
        for (int64_t j = 0; j < n; j++) to[j] = (float)((double)from[j] / fmax(sqrt(sum), 1e-12));
    }
}

static void make(launch *l, int64_t rows, int64_t columns, uint64_t seed) {
    static const ridge_layout dense = {0};
    const ridge_target *target = ridge_target_find("fused_l2norm");
    ridge_case c = {.dim = {rows, columns}, .dtype = RIDGE_F32};
    size_t bytes;
    *l = (launch){.memory = NULL};
    ridge_target_options(target, c.option);
    assert_int_equal(ridge_operands_bytes(target, &c, &dense, &bytes, NULL), RIDGE_OK);
    l->memory = aligned_alloc(LINE, bytes);
    assert_non_null(l->memory);
    ridge_operands_place(&l->ops, target, &c, &dense, l->memory);
    ridge_operands_fill(&l->ops, RIDGE_RANDOM, seed, NULL);
    norm(l);
    for (int t = 0; t < 2; t++) {
        const size_t n = (size_t)(rows * columns) * sizeof(float);
        l->flags[t] = malloc(n);
        assert_non_null(l->flags[t]);
        memset(l->flags[t], t == 0 ? READ : WROTE, n);
        l->seen.flags[t] = l->flags[t];
    }
}

static void drop(launch *l) {
    free(l->flags[0]);
    free(l->flags[1]);
    free(l->memory);
}

/* Attests and frees. reason: a part of what is said; NULL: it is attested. */
static void expect(launch *l, const char *reason) {
    (void)ridge_why();
    const ridge_status status = ridge_attest(&l->ops, &l->seen);
    const char *why = ridge_why();
    assert_int_equal(status, reason ? RIDGE_FAILED : RIDGE_OK);
    if (reason && !strstr(why, reason)) fail_msg("'%s' does not say '%s'", why, reason);
    drop(l);
}

static void what_reads_and_writes_all_is_attested(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        launch l;
        make(&l, 1 + (int64_t)(ridge_random(seed, 0) % 9), 1 + (int64_t)(ridge_random(seed, 1) % 300), seed);
        expect(&l, NULL);
    }
}

/* Any one element, although the outputs are right. */
static void an_input_that_matters_has_to_be_read(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        launch l;
        char name[32];
        const int64_t rows = 1 + (int64_t)(ridge_random(seed, 0) % 9), n = 2 + (int64_t)(ridge_random(seed, 1) % 60);
        const int64_t element = (int64_t)(ridge_random(seed, 2) % (uint64_t)(rows * n));
        make(&l, rows, n, seed);
        memset(l.flags[0] + 4 * element, 0, 4);
        (void)snprintf(name, sizeof name, "x[%lld,%lld]", (long long)(element / n), (long long)(element % n));
        expect(&l, name);
    }
}

/* The upper two bytes of a float are a bf16. */
static void half_of_every_input_is_not_enough(void **state) {
    (void)state;
    launch l;
    make(&l, 3, 50, 7);
    for (int i = 0; i < 150; i++) memset(l.flags[0] + 4 * i, 0, 2);
    expect(&l, "did not read");
}

static void every_byte_of_an_output_has_to_be_written(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        launch l;
        make(&l, 4, 33, seed);
        l.flags[1][ridge_random(seed, 0) % (4 * 33 * 4)] = 0;
        expect(&l, "was not written in this launch");
    }
}

static void outputs_do_not_come_from_the_host(void **state) {
    (void)state;
    launch l;
    make(&l, 2, 2, 1);
    l.flags[1][9] = FROM_HOST;
    expect(&l, "came from the host");
}

static void a_launch_keeps_to_its_stream_and_its_memory(void **state) {
    (void)state;
    launch l;
    make(&l, 2, 2, 1);
    l.seen.launch.elsewhere = 1;
    expect(&l, "another stream");
    make(&l, 2, 2, 1);
    l.seen.launch.fetched = 4;
    expect(&l, "4 bytes to the host");
    make(&l, 2, 2, 1);
    l.seen.launch.kept = 16;
    expect(&l, "an earlier launch");
}

static void wrong_outputs_are_not_attested(void **state) {
    (void)state;
    launch l;
    make(&l, 2, 3, 1);
    ((float *)(void *)ridge_operands_view(&l.ops, 1).base)[4] = NAN;
    expect(&l, "y[1,1] = nan");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reads_and_writes_all_is_attested),
        cmocka_unit_test(an_input_that_matters_has_to_be_read),
        cmocka_unit_test(half_of_every_input_is_not_enough),
        cmocka_unit_test(every_byte_of_an_output_has_to_be_written),
        cmocka_unit_test(outputs_do_not_come_from_the_host),
        cmocka_unit_test(a_launch_keeps_to_its_stream_and_its_memory),
        cmocka_unit_test(wrong_outputs_are_not_attested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
