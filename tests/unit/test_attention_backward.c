/* ridge_attention_backward against differences of the formula in ops.h, in fp64: masks, shared heads, optional tensors, rows
 * that see nothing; and what it refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { BATCH = 2, HEADS = 4, KV = 2, GROUP = HEADS / KV, M = 7, N = 9, D = 5, V = 3, ROOM = BATCH * HEADS * N * D };
enum { Q, K, VALUES, OUT, LSE, DOUT, DQ, DK, DV, TENSORS };

typedef struct fixture {
    ridge_context *context;
    float data[TENSORS][ROOM], sink[HEADS], slope[HEADS], dsink[HEADS];
    int64_t shape[TENSORS][4], heads;
    DLTensor t[TENSORS], sinks, slopes, dsinks;
} fixture;

static DLTensor tensor(float *data, int rank, int64_t *shape) {
    return (DLTensor){
        .data = data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = ridge_dtype_to_dlpack(RIDGE_F32), .shape = shape};
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f || ridge_context_create(2, &f->context, NULL) != RIDGE_OK) return -1;
    const int64_t q[4] = {BATCH, HEADS, M, D}, k[4] = {BATCH, KV, N, D}, v[4] = {BATCH, KV, N, V},
                  out[4] = {BATCH, HEADS, M, V};
    const int64_t *const shapes[TENSORS] = {q, k, v, out, out, out, q, k, v};
    for (int t = 0; t < TENSORS; t++) {
        memcpy(f->shape[t], shapes[t], sizeof f->shape[t]);
        f->t[t] = tensor(f->data[t], t == LSE ? 3 : 4, f->shape[t]);
        for (int i = 0; i < ROOM; i++) f->data[t][i] = t >= DQ ? NAN : sinf(1.7F * (float)(i + 1) * (float)(t + 1));
    }
    for (int h = 0; h < HEADS; h++) f->sink[h] = 0.5F * (float)h - 1, f->slope[h] = 0.1F * (float)(h + 1);
    f->heads = HEADS;
    f->sinks = tensor(f->sink, 1, &f->heads), f->slopes = tensor(f->slope, 1, &f->heads);
    f->dsinks = tensor(f->dsink, 1, &f->heads);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ridge_context_destroy(f->context);
    free(f);
    return 0;
}

/* ---- sum of out . dout, in fp64 ---- */

typedef struct inputs {
    double of[3][ROOM], sink[HEADS]; /* q, k, v */
} inputs;

static double row(const inputs *x, const fixture *f, const ridge_attention_options *o, int64_t b, int64_t h,
                  int64_t i) {
    const int64_t m = f->shape[Q][2], n = f->shape[K][2], kv = b * KV + h / GROUP, own = i + n - m;
    const double scale = o->scale > 0 || o->scale < 0 ? o->scale : 1 / sqrt(D);
    double sum = o->sink ? exp(x->sink[h]) : 0, total = 0;
    for (int64_t j = 0; j < n; j++) {
        if ((o->left >= 0 && j < own - o->left) || (o->right >= 0 && j > own + o->right)) continue;
        if (o->causal && j > own) continue;
        double s = 0, value = 0;
        for (int64_t d = 0; d < D; d++)
            s += x->of[Q][((b * HEADS + h) * m + i) * D + d] * x->of[K][(kv * n + j) * D + d];
        s *= scale;
        if (o->softcap > 0) s = o->softcap * tanh(s / o->softcap);
        if (o->slope) s -= (double)f->slope[h] * fabs((double)(own - j));
        for (int64_t d = 0; d < V; d++)
            value += x->of[VALUES][(kv * n + j) * V + d] * (double)f->data[DOUT][((b * HEADS + h) * m + i) * V + d];
        sum += exp(s), total += exp(s) * value;
    }
    return sum > 0 ? total / sum : 0;
}

static double loss(const inputs *x, const fixture *f, const ridge_attention_options *o) {
    double sum = 0;
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t i = 0; i < f->shape[Q][2]; i++) sum += row(x, f, o, b, h, i);
    return sum;
}

/* `got` is the loss's difference when *of changes. */
static void is_slope_of(const inputs *x, double *of, const fixture *f, const ridge_attention_options *o, double got) {
    const double kept = *of, step = 1e-4;
    *of = kept + step;
    const double above = loss(x, f, o);
    *of = kept - step;
    const double want = (above - loss(x, f, o)) / (2 * step);
    *of = kept;
    if (!(fabs(got - want) < 2e-5 * (1 + fabs(want)))) fail_msg("%.8g, want %.8g", got, want);
}

static void run(fixture *f, const ridge_attention_options *o) {
    const ridge_attention_saved saved = {&f->t[Q], &f->t[K], &f->t[VALUES], &f->t[OUT], &f->t[LSE]};
    ridge_error error = {0};
    if (ridge_attention(f->context, &f->t[Q], &f->t[K], &f->t[VALUES], o, &f->t[OUT], &f->t[LSE], &error) != RIDGE_OK ||
        ridge_attention_backward(f->context, &saved, &f->t[DOUT], o, &f->t[DQ], &f->t[DK], &f->t[DV],
                                 o->sink ? &f->dsinks : NULL, &error) != RIDGE_OK)
        fail_msg("%s", error.text);
}

static void holds(fixture *f, const ridge_attention_options *o) {
    inputs *x = calloc(1, sizeof *x);
    assert_non_null(x);
    run(f, o);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < ROOM; i++) x->of[t][i] = (double)f->data[t][i];
    for (int h = 0; h < HEADS; h++) x->sink[h] = (double)f->sink[h];
    for (int t = 0; t < 3; t++) {
        const int64_t *n = f->shape[t];
        for (int64_t i = 0; i < n[0] * n[1] * n[2] * n[3]; i += 3)
            is_slope_of(x, &x->of[t][i], f, o, (double)f->data[DQ + t][i]);
    }
    for (int h = 0; o->sink && h < HEADS; h++) is_slope_of(x, &x->sink[h], f, o, (double)f->dsink[h]);
    free(x);
}

static void every_option(void **state) {
    fixture *f = *state;
    const ridge_attention_options all[] = {
        RIDGE_ATTENTION_DEFAULTS,
        {.left = -1, .right = -1, .causal = true},
        {.left = -1, .right = -1, .sink = &f->sinks},
        {.left = 3, .right = 1, .scale = -0.3, .slope = &f->slopes},
        {.left = -1, .right = -1, .softcap = 0.7, .scale = 0.9},
        {.left = 4, .right = -1, .causal = true, .softcap = 0.5, .sink = &f->sinks, .slope = &f->slopes},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) holds(f, &all[i]);
}

/* Queries that see nothing have gradient 0 and add nothing; so have keys that nobody sees. */
static void rows_that_see_nothing(void **state) {
    fixture *f = *state;
    const ridge_attention_options causal = {.left = -1, .right = -1, .causal = true}, own = {.left = 0, .right = 0};
    f->shape[K][2] = f->shape[VALUES][2] = f->shape[DK][2] = f->shape[DV][2] = 4;
    holds(f, &causal);
    f->shape[K][2] = f->shape[VALUES][2] = f->shape[DK][2] = f->shape[DV][2] = N;
    holds(f, &own);
    f->shape[K][2] = f->shape[VALUES][2] = f->shape[DK][2] = f->shape[DV][2] = 0;
    holds(f, &causal);
    for (int i = 0; i < BATCH * HEADS * M * D; i++) assert_true(fpclassify(f->data[DQ][i]) == FP_ZERO);
    f->shape[K][2] = f->shape[VALUES][2] = f->shape[DK][2] = f->shape[DV][2] = N;
    f->shape[Q][2] = f->shape[OUT][2] = f->shape[LSE][2] = f->shape[DOUT][2] = f->shape[DQ][2] = 0;
    holds(f, &causal);
    for (int i = 0; i < BATCH * KV * N * D; i++) assert_true(fpclassify(f->data[DK][i]) == FP_ZERO);
    for (int i = 0; i < BATCH * KV * N * V; i++) assert_true(fpclassify(f->data[DV][i]) == FP_ZERO);
}

static void refused(fixture *f, const ridge_attention_options *o, const DLTensor *dsink, const char *text) {
    const ridge_attention_saved saved = {&f->t[Q], &f->t[K], &f->t[VALUES], &f->t[OUT], &f->t[LSE]};
    ridge_error error = {0};
    assert_int_equal(
        ridge_attention_backward(f->context, &saved, &f->t[DOUT], o, &f->t[DQ], &f->t[DK], &f->t[DV], dsink, &error),
        RIDGE_INVALID);
    if (!strstr(error.text, text)) fail_msg("'%s' has no '%s'", error.text, text);
}

static void bad_calls_are_refused(void **state) {
    fixture *f = *state;
    const ridge_attention_options with_sinks = {.left = -1, .right = -1, .sink = &f->sinks};
    ridge_error error = {0};
    refused(f, &with_sinks, NULL, "dsink");
    f->t[DOUT].ndim = 3;
    refused(f, NULL, NULL, "dout has 3 dimensions, not 4");
    f->t[DOUT].ndim = 4, f->shape[DK][2] = N - 1;
    refused(f, NULL, NULL, "dk");
    f->shape[DK][2] = N, f->t[DK].data = f->data[K];
    refused(f, NULL, NULL, "memory of its own");
    assert_int_equal(
        ridge_attention_backward(f->context, NULL, &f->t[DOUT], NULL, &f->t[DQ], &f->t[DK], &f->t[DV], NULL, &error),
        RIDGE_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_option, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_see_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_calls_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
