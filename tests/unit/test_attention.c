/* ridge_attention: heads in any order of memory, shared keys, optional tensors, queries without keys; what it refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { BATCH = 2, HEADS = 4, KV = 2, M = 70, N = 300, D = 24, V = 20, ROOM = BATCH * HEADS * N * 32 };

/* Tensors of one call: [batch, heads, rows, depth], strides of the caller's choice. */
typedef struct fixture {
    ridge_context *context;
    float q[ROOM], k[ROOM], v[ROOM], out[ROOM], lse[BATCH * HEADS * M], sink[HEADS], slope[HEADS];
    int64_t shape[5][4], strides[5][4], heads;
    DLTensor t[5], sinks, slopes; /* q, k, v, out, lse */
} fixture;

static DLTensor tensor(float *data, int rank, int64_t *shape, int64_t *strides) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = rank,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .shape = shape,
                      .strides = strides};
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f || ridge_context_create(2, &f->context, NULL) != RIDGE_OK) return -1;
    for (int i = 0; i < ROOM; i++) {
        f->q[i] = sinf(1.3F * (float)i), f->k[i] = cosf(0.7F * (float)i), f->v[i] = sinf(0.9F * (float)i + 1);
        f->out[i] = NAN;
    }
    for (int i = 0; i < BATCH * HEADS * M; i++) f->lse[i] = NAN;
    for (int h = 0; h < HEADS; h++) f->sink[h] = 0.5F * (float)h - 1, f->slope[h] = 0.02F * (float)(h + 1);
    const int64_t shapes[5][4] = {
        {BATCH, HEADS, M, D}, {BATCH, KV, N, D}, {BATCH, KV, N, V}, {BATCH, HEADS, M, V}, {BATCH, HEADS, M}};
    float *const data[5] = {f->q, f->k, f->v, f->out, f->lse};
    memcpy(f->shape, shapes, sizeof shapes);
    for (int i = 0; i < 5; i++) f->t[i] = tensor(data[i], i < 4 ? 4 : 3, f->shape[i], NULL);
    f->heads = HEADS;
    f->sinks = tensor(f->sink, 1, &f->heads, NULL), f->slopes = tensor(f->slope, 1, &f->heads, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    ridge_context_destroy(f->context);
    free(f);
    return 0;
}

static double element(const DLTensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t s[4] = {t->shape[1] * t->shape[2] * (t->ndim > 3 ? t->shape[3] : 1),
                    t->shape[2] * (t->ndim > 3 ? t->shape[3] : 1), t->ndim > 3 ? t->shape[3] : 1, 1};
    for (int d = 0; t->strides && d < t->ndim; d++) s[d] = t->strides[d];
    return (double)((const float *)t->data)[b * s[0] + h * s[1] + i * s[2] + (t->ndim > 3 ? j * s[3] : 0)];
}

/* The formula of ops.h, in fp64. */
static void holds(const fixture *f, const ridge_attention_options *o) {
    const int64_t m = f->shape[0][2], n = f->shape[1][2];
    double s[N];
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t i = 0; i < m; i++) {
                const int64_t own = i + n - m;
                double sum = o->sink ? exp((double)f->sink[h]) : 0, want[V] = {0};
                for (int64_t j = 0; j < n; j++) {
                    const bool far = (o->left >= 0 && j < own - o->left) || (o->right >= 0 && j > own + o->right);
                    s[j] = 0;
                    if (far || (o->causal && j > own)) continue;
                    for (int64_t d = 0; d < D; d++)
                        s[j] += element(&f->t[0], b, h, i, d) * element(&f->t[1], b, h / (HEADS / KV), j, d);
                    s[j] *= o->scale > 0 || o->scale < 0 ? o->scale : 1 / sqrt(D);
                    if (o->softcap > 0) s[j] = o->softcap * tanh(s[j] / o->softcap);
                    if (o->slope) s[j] -= (double)f->slope[h] * fabs((double)(own - j));
                    sum += s[j] = exp(s[j]);
                    for (int64_t d = 0; d < V; d++) want[d] += s[j] * element(&f->t[2], b, h / (HEADS / KV), j, d);
                }
                const double lse = element(&f->t[4], b, h, i, 0);
                if (sum > 0)
                    assert_true(fabs(lse - log(sum)) < 1e-5);
                else
                    assert_true(isinf(lse) && lse < 0);
                for (int64_t d = 0; d < V; d++)
                    assert_true(fabs(element(&f->t[3], b, h, i, d) - (sum > 0 ? want[d] / sum : 0)) < 1e-5);
            }
}

static void run(fixture *f, const ridge_attention_options *o) {
    ridge_error error = {0};
    const ridge_status status =
        ridge_attention(f->context, &f->t[0], &f->t[1], &f->t[2], o, &f->t[3], &f->t[4], &error);
    if (status != RIDGE_OK) fail_msg("%s", error.text);
}

static void heads_before_rows(void **state) {
    const ridge_attention_options o = RIDGE_ATTENTION_DEFAULTS;
    run(*state, NULL);
    holds(*state, &o);
}

/* [batch, rows, heads, depth] in memory. */
static void rows_before_heads(void **state) {
    fixture *f = *state;
    ridge_attention_options o = RIDGE_ATTENTION_DEFAULTS;
    for (int i = 0; i < 5; i++) {
        const int64_t *n = f->shape[i], last = i < 4 ? n[3] : 1;
        const int64_t strides[4] = {n[1] * n[2] * last, last, n[1] * last, 1};
        memcpy(f->strides[i], strides, sizeof strides);
        f->t[i].strides = f->strides[i];
    }
    o.causal = true;
    run(f, &o);
    holds(f, &o);
}

/* q, k and v of one token beside each other: [batch, rows, heads of q, of k and of v, depth]. */
static void tensors_of_one_array(void **state) {
    fixture *f = *state;
    const ridge_attention_options o = RIDGE_ATTENTION_DEFAULTS;
    const int64_t token = (HEADS + 2 * KV) * D, places[3] = {0, HEADS * D, (HEADS + KV) * D};
    for (int i = 0; i < 3; i++) {
        const int64_t strides[4] = {N * token, D, token, 1};
        memcpy(f->strides[i], strides, sizeof strides);
        f->t[i].strides = f->strides[i];
        f->t[i].data = f->q + places[i];
    }
    run(f, &o);
    holds(f, &o);
}

static void sinks_slopes_and_windows(void **state) {
    fixture *f = *state;
    const ridge_attention_options all[] = {
        {.left = -1, .right = -1, .sink = &f->sinks},
        {.left = 17, .right = -1, .causal = true, .slope = &f->slopes},
        {.scale = -0.2, .left = 30, .right = 9, .softcap = 0.7, .sink = &f->sinks, .slope = &f->slopes},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        run(f, &all[i]);
        holds(f, &all[i]);
    }
}

static void queries_without_keys(void **state) {
    fixture *f = *state;
    ridge_attention_options o = {.left = -1, .right = -1, .causal = true};
    f->shape[1][2] = f->shape[2][2] = 9;
    run(f, &o);
    holds(f, &o);
    o.sink = &f->sinks;
    run(f, &o);
    holds(f, &o);
    f->sink[1] = -INFINITY; /* as good as none */
    run(f, &o);
    holds(f, &o);
    f->shape[1][2] = f->shape[2][2] = 0;
    o = (ridge_attention_options)RIDGE_ATTENTION_DEFAULTS;
    run(f, &o);
    holds(f, &o);
}

static void refused(fixture *f, const char *text) {
    ridge_error error = {0};
    assert_int_equal(ridge_attention(f->context, &f->t[0], &f->t[1], &f->t[2], NULL, &f->t[3], &f->t[4], &error),
                     RIDGE_INVALID);
    if (!strstr(error.text, text)) fail_msg("'%s' has no '%s'", error.text, text);
}

static void bad_calls_are_refused(void **state) {
    fixture *f = *state;
    f->shape[1][1] = f->shape[2][1] = 3;
    refused(f, "multiple of kv_heads");
    f->shape[1][1] = f->shape[2][1] = KV;
    f->t[0].ndim = 3;
    refused(f, "q has 3 dimensions, not 4");
    f->t[0].ndim = 4;
    const int64_t inside[4] = {HEADS * M * D, M * D, 1, M};
    memcpy(f->strides[0], inside, sizeof inside);
    f->t[0].strides = f->strides[0];
    refused(f, "last dimension of q");
    const int64_t shared[4] = {M * D, M * D, D, 1}; /* batches at one place */
    memcpy(f->strides[3], shared, sizeof shared);
    f->t[0].strides = NULL, f->t[3].strides = f->strides[3];
    refused(f, "out overlaps itself");
    f->t[3].strides = NULL, f->t[3].data = f->q;
    refused(f, "memory of its own");
}

/* ---- sequences of different lengths ---- */

enum { SEQUENCES = 7 };

/* Sequences one behind the other in q [m, heads, d] and so on, and what each gives alone. */
typedef struct varlen {
    int64_t shape[5][3], ends_shape;
    int32_t q_ends[SEQUENCES], k_ends[SEQUENCES];
    DLTensor t[5], of_q, of_k;
    float out[M * HEADS * V], lse[HEADS * M];
} varlen;

static void set_up_varlen(fixture *f, varlen *x) {
    const int64_t shapes[5][3] = {{M, HEADS, D}, {N, KV, D}, {N, KV, V}, {M, HEADS, V}, {HEADS, M}};
    memcpy(x->shape, shapes, sizeof shapes);
    for (int i = 0; i < 5; i++) x->t[i] = tensor(f->t[i].data, i < 4 ? 3 : 2, x->shape[i], NULL);
    x->ends_shape = SEQUENCES;
    x->of_q = tensor((float *)(void *)x->q_ends, 1, &x->ends_shape, NULL);
    x->of_k = tensor((float *)(void *)x->k_ends, 1, &x->ends_shape, NULL);
    x->of_q.dtype = x->of_k.dtype = ridge_dtype_to_dlpack(RIDGE_I32);
}

static int compare_ends(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* Some equal, and some behind the last row of `all`, or none there. */
static void draw_ends(int32_t *ends, int all, unsigned *state) {
    for (int s = 0; s < SEQUENCES; s++)
        *state = *state * 1664525U + 1013904223U, ends[s] = (int32_t)(*state >> 8) % (all + 1);
    ends[1] = ends[0];
    qsort(ends, SEQUENCES, sizeof *ends, compare_ends);
}

static void run_varlen(fixture *f, varlen *x, const ridge_attention_options *o) {
    ridge_error error = {0};
    if (ridge_attention_varlen(f->context, &x->t[0], &x->t[1], &x->t[2], &x->of_q, &x->of_k, o, &x->t[3], &x->t[4],
                               &error) != RIDGE_OK)
        fail_msg("%s", error.text);
}

/* Rows [first, end) of a tensor [rows, heads, columns], as [1, heads, rows, columns]. */
static DLTensor part(const DLTensor *t, int first, int end, int64_t shape[4], int64_t strides[4]) {
    const int64_t heads = t->shape[1], columns = t->shape[2];
    const int64_t its[4] = {1, heads, end - first, columns}, steps[4] = {1, columns, heads * columns, 1};
    memcpy(shape, its, sizeof its), memcpy(strides, steps, sizeof steps);
    return tensor((float *)t->data + first * heads * columns, 4, shape, strides);
}

static void one_alone(fixture *f, varlen *x, int s, const ridge_attention_options *o) {
    const int q = s > 0 ? x->q_ends[s - 1] : 0, k = s > 0 ? x->k_ends[s - 1] : 0;
    const int q_end = s < SEQUENCES ? x->q_ends[s] : M, k_end = s < SEQUENCES ? x->k_ends[s] : k;
    int64_t shape[5][4], strides[5][4];
    const DLTensor of_out = tensor(x->out, 3, x->shape[3], NULL);
    const DLTensor t[4] = {
        part(&x->t[0], q, q_end, shape[0], strides[0]), part(&x->t[1], k, k_end, shape[1], strides[1]),
        part(&x->t[2], k, k_end, shape[2], strides[2]), part(&of_out, q, q_end, shape[3], strides[3])};
    const int64_t lse_shape[3] = {1, HEADS, q_end - q}, lse_strides[3] = {1, M, 1};
    memcpy(shape[4], lse_shape, sizeof lse_shape), memcpy(strides[4], lse_strides, sizeof lse_strides);
    const DLTensor lse = tensor(x->lse + q, 3, shape[4], strides[4]);
    assert_int_equal(ridge_attention(f->context, &t[0], &t[1], &t[2], o, &t[3], &lse, NULL), RIDGE_OK);
}

/* Each sequence has the bits that it has alone. */
static void sequences_do_not_see_each_other(void **state) {
    fixture *f = *state;
    static varlen x;
    unsigned random = 7;
    set_up_varlen(f, &x);
    const ridge_attention_options all[] = {
        RIDGE_ATTENTION_DEFAULTS,
        {.left = -1, .right = -1, .causal = true, .sink = &f->sinks},
        {.scale = -0.2, .left = 11, .right = 5, .slope = &f->slopes},
    };
    for (int round = 0; round < 60; round++) {
        const ridge_attention_options *o = &all[round % 3];
        draw_ends(x.q_ends, M, &random), draw_ends(x.k_ends, N, &random);
        for (int i = 0; i < M * HEADS * V; i++) f->out[i] = x.out[i] = NAN;
        for (int i = 0; i < HEADS * M; i++) f->lse[i] = x.lse[i] = NAN;
        run_varlen(f, &x, o);
        for (int s = 0; s <= SEQUENCES; s++) one_alone(f, &x, s, o);
        assert_memory_equal(f->out, x.out, sizeof x.out);
        assert_memory_equal(f->lse, x.lse, sizeof x.lse);
    }
}

/* Ends that are none: nothing but the results is written. */
static void wrong_ends_stay_within(void **state) {
    static const int32_t odd[] = {0, -5, 1 << 30, 3, M, INT32_MIN, INT32_MAX, N, 12, -1};
    fixture *f = *state;
    static varlen x;
    set_up_varlen(f, &x);
    for (int round = 0; round < 200; round++) {
        for (int s = 0; s < SEQUENCES; s++)
            x.q_ends[s] = odd[(round * 7 + s * 3 + round / 10) % 10], x.k_ends[s] = odd[(round * 3 + s * 7) % 10];
        f->out[M * HEADS * V] = f->lse[HEADS * M - 1] = 4711;
        run_varlen(f, &x, NULL);
        assert_true(f->out[M * HEADS * V] >= 4711 && f->out[M * HEADS * V] <= 4711);
    }
}

static void bad_sequences_are_refused(void **state) {
    fixture *f = *state;
    static varlen x;
    ridge_error error = {0};
    set_up_varlen(f, &x);
    x.t[0].ndim = 4;
    assert_int_equal(
        ridge_attention_varlen(f->context, &x.t[0], &x.t[1], &x.t[2], &x.of_q, &x.of_k, NULL, &x.t[3], &x.t[4], &error),
        RIDGE_INVALID);
    assert_non_null(strstr(error.text, "q has 4 dimensions, not 3: [rows, heads, depth]"));
    x.t[0].ndim = 3;
    assert_int_equal(
        ridge_attention_varlen(f->context, &x.t[0], &x.t[1], &x.t[2], &x.of_q, NULL, NULL, &x.t[3], &x.t[4], &error),
        RIDGE_INVALID);
    x.ends_shape = 0;
    assert_int_equal(
        ridge_attention_varlen(f->context, &x.t[0], &x.t[1], &x.t[2], &x.of_q, &x.of_k, NULL, &x.t[3], &x.t[4], &error),
        RIDGE_INVALID);
    assert_non_null(strstr(error.text, "sequences must be at least 1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(heads_before_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_before_heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tensors_of_one_array, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sinks_slopes_and_windows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queries_without_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_calls_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sequences_do_not_see_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_ends_stay_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_sequences_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
