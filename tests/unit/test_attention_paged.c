/* ridge_attention_paged: each sequence is what ridge_attention gives of its keys in rows, whatever else the pages hold. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { BATCH = 3, HEADS = 4, KV = 2, MOST_M = 80, D = 20, PAGES = 60, BLOCKS = 9, MOST_PAGE = 40 };
enum {
    SLOTS = PAGES * MOST_PAGE,
    MOST_N = BLOCKS * MOST_PAGE,
    Q = BATCH * HEADS * MOST_M * D,
    LSE = BATCH * HEADS * MOST_M
};

typedef struct fixture {
    ridge_context *context;
    float q[Q], k[SLOTS * KV * D], v[SLOTS * KV * D], out[Q], lse[LSE], want[Q], want_lse[LSE];
    float k_rows[MOST_N * KV * D], v_rows[MOST_N * KV * D], sink[HEADS], slope[HEADS];
    int32_t table[BATCH * BLOCKS], lengths[BATCH];
    int64_t wide_table[BATCH * BLOCKS], wide_lengths[BATCH];
    int m, page;
    bool heads_first; /* pages are [kv_heads, page, d] in memory */
} fixture;

static unsigned next(unsigned *state) { return *state = *state * 1664525U + 1013904223U, *state >> 8; }

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (!f || ridge_context_create(2, &f->context, NULL) != RIDGE_OK) return -1;
    for (int i = 0; i < Q; i++) f->q[i] = sinf(1.3F * (float)i);
    for (int h = 0; h < HEADS; h++) f->sink[h] = 0.5F * (float)h - 1, f->slope[h] = 0.02F * (float)(h + 1);
    *state = f;
    return 0;
}
static int tear_down(void **state) {
    fixture *f = *state;
    ridge_context_destroy(f->context);
    free(f);
    return 0;
}

static DLTensor tensor(void *data, ridge_dtype dtype, int rank, int64_t *shape, int64_t *strides) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = rank,
                      .dtype = ridge_dtype_to_dlpack(dtype),
                      .shape = shape,
                      .strides = strides};
}

static int64_t place(const fixture *f, int page, int row, int kv) {
    return f->heads_first ? (((int64_t)page * KV + kv) * f->page + row) * D
                          : (((int64_t)page * f->page + row) * KV + kv) * D;
}

/* Every row that is no key of any sequence is NaN, and what the table has behind the last key is no page. Pages are not shared. */
static void draw(fixture *f, unsigned *random) {
    static const int odd[] = {-1, INT32_MIN, INT32_MAX, PAGES, 1 << 20};
    static const int pages[] = {1, 3, 8, 16, 24, MOST_PAGE};
    f->m = (int)(next(random) % (MOST_M + 1)), f->page = pages[next(random) % 6], f->heads_first = next(random) % 2;
    for (int i = 0; i < SLOTS * KV * D; i++) f->k[i] = f->v[i] = NAN;
    for (int b = 0; b < BATCH; b++) {
        f->lengths[b] = (int)(next(random) % (unsigned)(BLOCKS * f->page + 1));
        if (next(random) % 6 == 0) f->lengths[b] = 0;
        for (int i = 0; i < BLOCKS; i++) {
            const bool used = i * f->page < f->lengths[b];
            f->table[b * BLOCKS + i] =
                used ? (b + i * 7 + (int)(next(random) % 2) * 31) % PAGES : odd[next(random) % 5];
        }
        for (int j = 0; j < f->lengths[b]; j++)
            for (int i = 0; i < KV * D; i++) {
                const int64_t at = place(f, f->table[b * BLOCKS + j / f->page], j % f->page, i / D) + i % D;
                f->k[at] = cosf(0.7F * (float)at), f->v[at] = sinf(0.9F * (float)at + 1);
            }
    }
    for (int i = 0; i < BATCH * BLOCKS; i++) f->wide_table[i] = f->table[i];
    for (int b = 0; b < BATCH; b++) f->wide_lengths[b] = f->lengths[b];
}

static ridge_status run(fixture *f, bool wide, const ridge_attention_options *o, ridge_error *error) {
    int64_t q[] = {BATCH, HEADS, f->m, D}, k[] = {PAGES, f->page, KV, D}, lse[] = {BATCH, HEADS, f->m};
    int64_t heads_first[] = {(int64_t)KV * f->page * D, D, (int64_t)f->page * D, 1}, table[] = {BATCH, BLOCKS};
    int64_t lengths[] = {BATCH}, *const strides = f->heads_first ? heads_first : NULL;
    const ridge_dtype indices = wide ? RIDGE_I64 : RIDGE_I32;
    const DLTensor of_q = tensor(f->q, RIDGE_F32, 4, q, NULL), of_out = tensor(f->out, RIDGE_F32, 4, q, NULL);
    const DLTensor of_k = tensor(f->k, RIDGE_F32, 4, k, strides), of_v = tensor(f->v, RIDGE_F32, 4, k, strides);
    const DLTensor of_table = tensor(wide ? (void *)f->wide_table : f->table, indices, 2, table, NULL);
    const DLTensor of_lengths = tensor(wide ? (void *)f->wide_lengths : f->lengths, indices, 1, lengths, NULL);
    const DLTensor of_lse = tensor(f->lse, RIDGE_F32, 3, lse, NULL);
    return ridge_attention_paged(f->context, &of_q, &of_k, &of_v, &of_table, &of_lengths, o, &of_out, &of_lse, error);
}

/* Sequence b by ridge_attention, of its keys in rows. */
static void one_alone(fixture *f, int b, const ridge_attention_options *o) {
    int64_t q[] = {1, HEADS, f->m, D}, k[] = {1, KV, f->lengths[b], D}, lse[] = {1, HEADS, f->m};
    int64_t rows[] = {0, D, KV * D, 1};
    for (int j = 0; j < f->lengths[b]; j++)
        for (int kv = 0; kv < KV; kv++) {
            const int64_t at = place(f, f->table[b * BLOCKS + j / f->page], j % f->page, kv);
            memcpy(f->k_rows + (j * KV + kv) * D, f->k + at, sizeof(float) * D);
            memcpy(f->v_rows + (j * KV + kv) * D, f->v + at, sizeof(float) * D);
        }
    const DLTensor of_q = tensor(f->q + b * HEADS * f->m * D, RIDGE_F32, 4, q, NULL);
    const DLTensor of_k = tensor(f->k_rows, RIDGE_F32, 4, k, rows), of_v = tensor(f->v_rows, RIDGE_F32, 4, k, rows);
    const DLTensor out = tensor(f->want + b * HEADS * f->m * D, RIDGE_F32, 4, q, NULL);
    const DLTensor of_lse = tensor(f->want_lse + b * HEADS * f->m, RIDGE_F32, 3, lse, NULL);
    ridge_error error = {0};
    if (ridge_attention(f->context, &of_q, &of_k, &of_v, o, &out, &of_lse, &error) != RIDGE_OK)
        fail_msg("%s", error.text);
}

/* Both take 256 keys at a time: the same bits. */
static void pages_are_rows(void **state) {
    fixture *f = *state;
    unsigned random = 5;
    const ridge_attention_options all[] = {
        RIDGE_ATTENTION_DEFAULTS,
        {.left = -1, .right = -1, .causal = true},
        {.scale = -0.2, .left = 40, .right = 0, .slope = &(DLTensor){0}, .sink = &(DLTensor){0}},
    };
    for (int round = 0; round < 90; round++) {
        ridge_attention_options o = all[round % 3];
        int64_t heads[] = {HEADS};
        const DLTensor sink = tensor(f->sink, RIDGE_F32, 1, heads, NULL),
                       slope = tensor(f->slope, RIDGE_F32, 1, heads, NULL);
        if (o.sink) o.sink = &sink, o.slope = &slope;
        draw(f, &random);
        for (int i = 0; i < Q; i++) f->out[i] = f->want[i] = NAN;
        for (int i = 0; i < LSE; i++) f->lse[i] = f->want_lse[i] = NAN;
        ridge_error error = {0};
        if (run(f, round % 2, &o, &error) != RIDGE_OK) fail_msg("round %d: %s", round, error.text);
        for (int b = 0; b < BATCH; b++) one_alone(f, b, &o);
        assert_memory_equal(f->out, f->want, sizeof f->out);
        assert_memory_equal(f->lse, f->want_lse, sizeof f->lse);
    }
}

/* Tables and lengths of any values: nothing outside is read, which the sanitizers see, and nothing else written. */
static void wrong_tables_stay_within(void **state) {
    static const int odd[] = {0, -1, INT32_MIN, INT32_MAX, PAGES, PAGES - 1, 1 << 20, 17};
    fixture *f = *state;
    unsigned random = 11;
    for (int round = 0; round < 60; round++) {
        draw(f, &random);
        if (f->m == MOST_M) continue;
        for (int i = 0; i < BATCH * BLOCKS; i++) f->table[i] = odd[next(&random) % 8];
        for (int b = 0; b < BATCH; b++) f->lengths[b] = odd[next(&random) % 8];
        f->out[BATCH * HEADS * f->m * D] = 4711;
        assert_int_equal(run(f, false, NULL, NULL), RIDGE_OK);
        assert_true(f->out[BATCH * HEADS * f->m * D] >= 4711 && f->out[BATCH * HEADS * f->m * D] <= 4711);
    }
}

static void bad_tensors_are_refused(void **state) {
    fixture *f = *state;
    unsigned random = 3;
    ridge_error error = {0};
    draw(f, &random);
    f->page = 0;
    assert_int_equal(run(f, false, NULL, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "page, pages and blocks must be at least 1"));
    assert_int_equal(ridge_attention_paged(f->context, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &error),
                     RIDGE_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_tables_stay_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_tensors_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
