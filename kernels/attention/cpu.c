/* Attention in fp32, compiled once for each instruction set: see cpu.h. */
#include "attention/cpu.h"

#include <math.h>
#include <stdatomic.h>

#include "attention/cpu_lines.h"
#include "attention/paged.h"
#include "cpu/gemm_panels.h"
#include "cpu/vec_math.h"

typedef struct work {
    lines q, k, v, out, lse;
    const float *sink, *slope; /* NULL: none */
    attention_mask mask;
    int m, n, batch, heads, group;
    int64_t d, values;
    float scale, softcap;
    bool shaped;
    float *scratch;
    const int *q_ends, *k_ends; /* NULL: there is one sequence */
    int sequences;
    const DLTensor *table, *lengths; /* of keys in pages, whose k and v are [page, pages, …]; NULL: they lie in rows */
    int page, pages;                 /* rows of a page; pages */
    int tile;                        /* queries of a tile of the optimized variant */
    atomic_llong *next;              /* its next tile that no thread has taken */
} work;

static work work_of(const ridge_call *call) {
    const int64_t *dim = call->dim;
    const double *option = call->option;
    work w = {.q = lines_of(&call->in[ATTENTION_IN_Q]),
              .k = lines_of(&call->in[ATTENTION_IN_K]),
              .v = lines_of(&call->in[ATTENTION_IN_V]),
              .out = lines_of(&call->out[ATTENTION_OUT]),
              .lse = lines_of(&call->out[ATTENTION_LSE]),
              .mask = attention_mask_of(dim, option),
              .m = (int)dim[ATTENTION_M],
              .n = (int)dim[ATTENTION_N],
              .batch = (int)dim[ATTENTION_BATCH],
              .heads = (int)dim[ATTENTION_HEADS],
              .group = (int)(dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS]),
              .d = dim[ATTENTION_D],
              .values = dim[ATTENTION_V],
              .scale = (float)attention_scale(dim, option),
              .softcap = (float)option[ATTENTION_SOFTCAP],
              .scratch = call->scratch};
    if (option[ATTENTION_SINKS] > 0) w.sink = ridge_data(&call->in[ATTENTION_IN_SINK]);
    if (option[ATTENTION_SLOPES] > 0) w.slope = ridge_data(&call->in[ATTENTION_IN_SLOPE]);
    w.shaped = w.softcap > 0 || w.slope;
    return w;
}

static work varlen_work_of(const ridge_call *call) {
    work w = work_of(call);
    w.q_ends = ridge_data(&call->in[ATTENTION_IN_Q_ENDS]), w.k_ends = ridge_data(&call->in[ATTENTION_IN_K_ENDS]);
    w.sequences = (int)call->dim[ATTENTION_SEQUENCES];
    return w;
}

static lines lines_behind(lines l, int rows) {
    l.base += rows * l.row;
    return l;
}
/* One of its sequences, as if there were no other. */
static work sequence_of(const work *w, attention_span span) {
    work one = *w;
    one.q = lines_behind(w->q, span.query), one.out = lines_behind(w->out, span.query);
    one.lse = lines_behind(w->lse, span.query);
    one.k = lines_behind(w->k, span.keys.begin), one.v = lines_behind(w->v, span.keys.begin);
    one.m = span.query_end - span.query, one.n = span.keys.end - span.keys.begin;
    one.mask.shift = one.n - one.m;
    return one;
}
static attention_span span_of(const work *w, int s) {
    return attention_sequence(w->q_ends, w->k_ends, w->sequences, s, w->m, w->n);
}

/* ---- keys in pages ---- */

static lines page_is_batch(lines l) { return (lines){l.base, l.batch, l.row, l.head}; }
static work paged_work_of(const ridge_call *paged) {
    ridge_case rows = {0};
    ridge_call call = *paged;
    memcpy(rows.dim, paged->dim, sizeof rows.dim);
    rows = attention_paged_rows(&rows);
    call.dim = rows.dim;
    work w = work_of(&call);
    w.k = page_is_batch(w.k), w.v = page_is_batch(w.v);
    w.table = &paged->in[ATTENTION_IN_TABLE], w.lengths = &paged->in[ATTENTION_IN_LENGTHS];
    w.page = (int)paged->dim[ATTENTION_PAGE], w.pages = (int)paged->dim[ATTENTION_PAGES];
    return w;
}
/* Of i32 or i64. */
static int64_t index_at(const DLTensor *t, int64_t i) {
    return t->dtype.bits == 64 ? ((const int64_t *)ridge_data(t))[i] : ((const int *)ridge_data(t))[i];
}
/* An entry that is no page is one modulo their number: nothing is read outside. */
static int page_of(const work *w, int batch, int key) {
    const int64_t row = w->table->strides ? w->table->strides[0] : w->table->shape[1];
    return (int)((uint64_t)index_at(w->table, batch * row + key / w->page) % (unsigned)w->pages);
}
/* Its keys alone are seen. */
static work batch_of(const work *w, int batch) {
    work one = *w;
    one.n = attention_ending(index_at(w->lengths, batch), w->m, w->n).keys.end;
    one.mask.shift = one.n - one.m;
    return one;
}
/* Keys of a sequence and head one behind the other, in `to`. */
static lines rows_of_pages(const work *w, const lines *from, int batch, int kv, int first, int count, float *to) {
    for (int j = first; j < first + count; j++)
        memcpy(to + (j - first) * w->d, line_of(from, j % w->page, page_of(w, batch, j), kv),
               sizeof(float) * (size_t)w->d);
    return (lines){to, w->d, 0, 0};
}

/* ---- a row of scores ---- */

/* A query's maximum and sum so far: exponentials are relative to `most`. */
typedef struct running {
    float most, sum;
} running;

/* s[j] is of key first + j. */
static void shape_scores(const work *w, float *s, int64_t count, int head, int64_t row, int64_t first) {
    const float slope = w->slope ? w->slope[head] : 0, own = (float)(row + w->mask.shift - first);
    for (int64_t j = 0; j < count; j++) {
        float x = s[j] * w->scale;
        if (w->softcap > 0) x = w->softcap * tanhf(x / w->softcap);
        s[j] = x - slope * fabsf(own - (float)j);
    }
}

static float largest(const float *s, int64_t count, float scale) {
    const int64_t whole = count / VF_LANES * VF_LANES;
    vf m = vf_set1(-INFINITY);
    float most = -INFINITY;
    for (int64_t j = 0; j < whole; j += VF_LANES) m = vf_max(m, vf_mul(vf_load(s + j), vf_set1(scale)));
    if (whole > 0) most = vf_hmax(m);
    for (int64_t j = whole; j < count; j++) most = s[j] * scale > most ? s[j] * scale : most;
    return most;
}

/* s[j] = exp(scale s[j] - most); returns their sum. */
static float exponentials(float *s, int64_t count, float scale, float most) {
    const int64_t whole = count / VF_LANES * VF_LANES;
    const vf less = vf_set1(most), by = vf_set1(scale);
    vf sum = vf_zero();
    for (int64_t j = 0; j < whole; j += VF_LANES) {
        const vf e = vf_exp_bounded(vf_sub(vf_mul(vf_load(s + j), by), less));
        sum = vf_add(sum, e);
        vf_store(s + j, e);
    }
    float total = vf_sum(sum);
    if (count > whole) {
        float rest[VF_LANES];
        const int n = (int)(count - whole);
        vf_store(rest, vf_exp_bounded(vf_sub(vf_mul(vf_load_n(s + whole, n), by), less)));
        for (int j = 0; j < n; j++) total += rest[j];
        memcpy(s + whole, rest, sizeof(float) * (size_t)n);
    }
    return total;
}

/* A query's scores of the keys [first, first + count) become exponentials, 0 where they are masked. Returns what its sums
 * so far are multiplied by. */
static float take(const work *w, float *s, int64_t first, int64_t count, int64_t row, int head, running *r) {
    const attention_keys keys = attention_keys_of(w->mask, (int)row, (int)row, w->n);
    const int64_t low = keys.begin > first ? keys.begin - first : 0;
    const int64_t high = keys.end - first < count ? keys.end - first : count;
    const float scale = w->shaped ? 1 : w->scale, before = r->most;
    if (low >= high) return memset(s, 0, sizeof(float) * (size_t)count), 1;
    if (w->shaped) shape_scores(w, s + low, high - low, head, row, first + low);
    const float top = largest(s + low, high - low, scale);
    r->most = top > before ? top : before;
    const float less = isinf(r->most) && r->most < 0 ? 0 : r->most;
    const float kept = before < r->most ? expf(before - less) : 1;
    memset(s, 0, sizeof(float) * (size_t)low);
    memset(s + high, 0, sizeof(float) * (size_t)(count - high));
    r->sum = r->sum * kept + exponentials(s + low, high - low, scale, less);
    return kept;
}

/* Behind the last key: what sums are multiplied by. A sum of 0 is of no key; NaN is of some. */
static float finish(const work *w, int head, const running *r, float *lse) {
    const float sink = w->sink ? w->sink[head] : -INFINITY;
    const bool seen = !(r->sum <= 0), sinks = !(isinf(sink) && sink < 0);
    const float top = seen && !(r->most < sink) ? r->most : sink, kept = seen ? expf(r->most - top) : 0;
    if (!seen && !sinks) return *lse = -INFINITY, 0;
    const float total = (seen ? r->sum * kept : 0) + (sinks ? expf(sink - top) : 0);
    *lse = top + logf(total);
    return seen ? kept / total : 0;
}

static void scale_line(float *x, int64_t n, float by) {
    for (int64_t j = 0; j < n; j++) x[j] *= by;
}

/* ---- optimized ---- */

/* A tile of queries of a head, and a thread's memory. Rows there are dense. */
typedef struct block {
    int first, rows, batch, head;
    float *scores, *panels, *v, *q, *sums, *scratch, *pages;
    running row[ATTENTION_TILE];
} block;

static block block_of(const work *w, float *memory) {
    block b = {.scores = memory, .pages = memory + attention_thread_floats(w->d, w->values)};
    b.panels = b.scores + ATTENTION_QUERIES * ATTENTION_KEYS;
    b.v = b.panels + ATTENTION_KEYS * w->d + GEMM_PRODUCT_PAD;
    b.q = b.v + ATTENTION_KEYS * w->values;
    b.sums = b.q + ATTENTION_TILE * w->d, b.scratch = b.sums + ATTENTION_TILE * w->values;
    return b;
}

/* Scores of queries [row, row + rows) of the tile become exponentials. */
static void take_rows(const work *w, block *b, int row, int rows, int first, int count) {
    for (int i = 0; i < rows; i++) {
        const int at = row + i;
        const float kept = take(w, b->scores + (int64_t)i * count, first, count, b->first + at, b->head, &b->row[at]);
        if (kept < 1) scale_line(b->sums + at * w->values, w->values, kept);
    }
}

/* Few queries: keys and values are read where they lie, the `at`-th row first. */
static void few_queries(const work *w, block *b, const lines *k, const lines *v, int at, int first, int count) {
    const int kv = b->head / w->group;
    multiply_lines(b->rows, line_of(&w->q, b->first, b->batch, b->head), w->q.row,
                   by_columns(k, line_of(k, at, b->batch, kv)), w->d, b->scores, count, false, b->scratch);
    take_rows(w, b, 0, b->rows, first, count);
    multiply_lines(b->rows, b->scores, count, by_rows(v, line_of(v, at, b->batch, kv)), count, b->sums, w->values, true,
                   b->scratch);
}

/* Queries [row, row + rows) of the tile, and the keys that are packed. */
static void many_queries(const work *w, block *b, int row, int rows, int first, int count) {
    const gemm_panels scores = {.m = rows,
                                .n = count,
                                .k = w->d,
                                .a = b->q + row * w->d,
                                .a_row = w->d,
                                .a_depth = 1,
                                .b = b->panels,
                                .b_panel = GEMM_NR * w->d,
                                .b_step = GEMM_NR,
                                .c = b->scores,
                                .c_row = count};
    const gemm_panels sums = {.m = rows,
                              .n = w->values,
                              .k = count,
                              .a = b->scores,
                              .a_row = count,
                              .a_depth = 1,
                              .b = b->v,
                              .b_panel = GEMM_NR,
                              .b_step = w->values,
                              .c = b->sums + row * w->values,
                              .c_row = w->values,
                              .add = true};
    RIDGE_ISA_FN(gemm_panels)(&scores);
    take_rows(w, b, row, rows, first, count);
    RIDGE_ISA_FN(gemm_panels)(&sums);
}

static void copy_lines(const lines *from, int first, int rows, int batch, int head, int64_t columns, float *to) {
    for (int i = 0; i < rows; i++)
        memcpy(to + i * columns, line_of(from, first + i, batch, head), sizeof(float) * (size_t)columns);
}

static void some_keys(const work *w, block *b, int first, int count) {
    const int kv = b->head / w->group, at = w->table ? 0 : first;
    lines k = w->k, v = w->v;
    if (w->table) {
        k = rows_of_pages(w, &w->k, b->batch, kv, first, count, b->pages);
        v = rows_of_pages(w, &w->v, b->batch, kv, first, count, b->v);
    }
    if (w->m < ATTENTION_FEW) {
        few_queries(w, b, &k, &v, at, first, count);
        return;
    }
    gemm_panels_pack(line_of(&k, at, b->batch, kv), k.row, count, w->d, b->panels);
    if (!w->table) copy_lines(&v, first, count, b->batch, kv, w->values, b->v);
    for (int row = 0; row < b->rows; row += ATTENTION_QUERIES) {
        const int rows = b->rows - row < ATTENTION_QUERIES ? b->rows - row : ATTENTION_QUERIES;
        const attention_keys keys = attention_keys_of(w->mask, b->first + row, b->first + row + rows - 1, w->n);
        if (keys.begin < first + count && keys.end > first) many_queries(w, b, row, rows, first, count);
    }
}

/* Rows of a head lie apart: the lines of a later row are prefetched. */
static void write_rows(const work *w, const block *b) {
    enum { ROWS_AHEAD = 8, LINE = 64 / sizeof(float) };
    for (int i = 0; i < b->rows; i++) {
        const float by = finish(w, b->head, &b->row[i], line_of(&w->lse, b->first + i, b->batch, b->head));
        const float *const sums = b->sums + i * w->values;
        float *const out = line_of(&w->out, b->first + i, b->batch, b->head);
        for (int64_t j = 0; j < w->values && i + ROWS_AHEAD < b->rows; j += LINE)
            __builtin_prefetch(line_of(&w->out, b->first + i + ROWS_AHEAD, b->batch, b->head) + j, 1);
        for (int64_t j = 0; j < w->values; j++) out[j] = sums[j] * by;
    }
}

/* From b->first on. Blocks of keys begin at the same ones in all tiles: a query's bits depend on no tile. */
static void some_queries(const work *w, block *b) {
    b->rows = w->m - b->first < w->tile ? w->m - b->first : w->tile;
    const attention_keys keys = attention_keys_of(w->mask, b->first, b->first + b->rows - 1, w->n);
    memset(b->sums, 0, sizeof(float) * (size_t)(b->rows * w->values));
    if (w->m >= ATTENTION_FEW) copy_lines(&w->q, b->first, b->rows, b->batch, b->head, w->d, b->q);
    for (int i = 0; i < b->rows; i++) b->row[i] = (running){-INFINITY, 0};
    for (int first = keys.begin / ATTENTION_KEYS * ATTENTION_KEYS; first < keys.end; first += ATTENTION_KEYS)
        some_keys(w, b, first, keys.end - first < ATTENTION_KEYS ? keys.end - first : ATTENTION_KEYS);
    write_rows(w, b);
}

static void some_of_sequence(const work *w, int tile, block *b) {
    const int s = attention_sequence_of_tile(w->q_ends, w->sequences, tile, w->tile, w->m);
    const attention_span span = span_of(w, s);
    const work one = sequence_of(w, span);
    b->first = attention_first_of_tile(span, s, tile, w->tile) - span.query;
    if (b->first < one.m) some_queries(&one, b);
}

/* Of a head; of varlen's sequences, empty ones among them. */
static int tiles_of(const work *w, int tile) {
    return w->q_ends ? attention_tiles_of(w->sequences, tile, w->m) : (w->m + tile - 1) / tile;
}

/* A thread takes one tile after the other. A head's last is the first: its queries may see the most keys. */
static void tiles_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const int each = tiles_of(w, w->tile);
    const int64_t floats = attention_thread_floats(w->d, w->values), all = (int64_t)each * w->batch * w->heads;
    block b = block_of(w, w->scratch + rank * (floats + (w->table ? attention_page_floats(w->d) : 0)));
    (void)size;
    for (int64_t i; (i = atomic_fetch_add_explicit(w->next, 1, memory_order_relaxed)) < all;) {
        const int head = (int)(i / each), tile = each - 1 - (int)(i % each);
        b.batch = head / w->heads, b.head = head % w->heads;
        b.first = tile * w->tile;
        const work one = w->table ? batch_of(w, b.batch) : *w;
        if (w->q_ends)
            some_of_sequence(w, tile, &b);
        else
            some_queries(&one, &b);
    }
}

/* As few tiles as give each thread some, of lengths that differ little. */
static ridge_status in_tiles(work w, ridge_team *team) {
    enum { EACH = 8 };
    const int64_t heads = (int64_t)w.batch * w.heads, wanted = (int64_t)EACH * ridge_team_size(team);
    atomic_llong next;
    w.tile = ATTENTION_TILE;
    while (w.tile > ATTENTION_QUERIES && tiles_of(&w, w.tile) * heads < wanted) w.tile -= ATTENTION_QUERIES;
    if (!w.q_ends && w.m > 0) w.tile = (w.m + tiles_of(&w, w.tile) - 1) / tiles_of(&w, w.tile);
    atomic_init(&next, 0);
    w.next = &next;
    ridge_team_run(team, tiles_fn, &w);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(attention_cpu_optimized)(const ridge_call *call) {
    return in_tiles(work_of(call), call->team);
}

ridge_status RIDGE_ISA_FN(attention_varlen_cpu_optimized)(const ridge_call *call) {
    return in_tiles(varlen_work_of(call), call->team);
}

ridge_status RIDGE_ISA_FN(attention_paged_cpu_optimized)(const ridge_call *call) {
    return in_tiles(paged_work_of(call), call->team);
}

/* ---- baseline ---- */

typedef struct head_of {
    const work *w;
    float *scores;
    int batch, head;
} head_of;

static void softmax_fn(void *arg, int rank, int size) {
    const head_of *h = arg;
    const work *w = h->w;
    int64_t begin, end;
    ridge_share(w->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        running r = {-INFINITY, 0};
        float *const s = h->scores + i * w->n;
        (void)take(w, s, 0, w->n, i, h->head, &r);
        scale_line(s, w->n, finish(w, h->head, &r, line_of(&w->lse, i, h->batch, h->head)));
    }
}

static void one_head(const head_of *h, ridge_team *team, void *scratch) {
    const work *w = h->w;
    const int kv = h->head / w->group;
    const gemm_product first = {.m = w->m,
                                .n = w->n,
                                .k = w->d,
                                .a = line_of(&w->q, 0, h->batch, h->head),
                                .a_row = w->q.row,
                                .a_depth = 1,
                                .b = line_of(&w->k, 0, h->batch, kv),
                                .b_depth = 1,
                                .b_column = w->k.row,
                                .c = h->scores,
                                .c_row = w->n};
    const gemm_product second = {.m = w->m,
                                 .n = w->values,
                                 .k = w->n,
                                 .a = h->scores,
                                 .a_row = w->n,
                                 .a_depth = 1,
                                 .b = line_of(&w->v, 0, h->batch, kv),
                                 .b_depth = w->v.row,
                                 .b_column = 1,
                                 .c = line_of(&w->out, 0, h->batch, h->head),
                                 .c_row = w->out.row};
    gemm_product_best(&first, scratch, team);
    ridge_team_run(team, softmax_fn, (void *)(uintptr_t)h);
    gemm_product_best(&second, scratch, team);
}

/* Without a key nothing is multiplied. */
static void no_keys(const work *w, int batch, int head) {
    for (int i = 0; i < w->m; i++) {
        const running r = {-INFINITY, 0};
        (void)finish(w, head, &r, line_of(&w->lse, i, batch, head));
        memset(line_of(&w->out, i, batch, head), 0, sizeof(float) * (size_t)w->values);
    }
}

static void one_head_alone(const work *w, int batch, int head, ridge_team *team) {
    const head_of h = {w, w->scratch, batch, head};
    if (w->n == 0)
        no_keys(w, batch, head);
    else
        one_head(&h, team, w->scratch + (int64_t)w->m * w->n + GEMM_PRODUCT_PAD);
}

static void head_after_head(const work *w, ridge_team *team) {
    for (int batch = 0; batch < w->batch; batch++)
        for (int head = 0; head < w->heads; head++) one_head_alone(w, batch, head, team);
}

ridge_status RIDGE_ISA_FN(attention_cpu_baseline)(const ridge_call *call) {
    const work w = work_of(call);
    head_after_head(&w, call->team);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(attention_varlen_cpu_baseline)(const ridge_call *call) {
    const work w = varlen_work_of(call);
    for (int s = 0; s <= w.sequences; s++) {
        const work one = sequence_of(&w, span_of(&w, s));
        if (one.m > 0) head_after_head(&one, call->team);
    }
    return RIDGE_OK;
}

/* Sequence after sequence and head after head, whose keys and values are copied to rows. */
ridge_status RIDGE_ISA_FN(attention_paged_cpu_baseline)(const ridge_call *call) {
    work w = paged_work_of(call);
    float *const k = w.scratch, *const v = k + w.n * w.d;
    w.scratch = k + (2 * w.n * w.d + 63) / 64 * 64; /* attention_paged_cpu_baseline_scratch */
    for (int batch = 0; batch < w.batch; batch++)
        for (int head = 0; head < w.heads; head++) {
            work one = batch_of(&w, batch);
            one.k = rows_of_pages(&w, &w.k, batch, head / w.group, 0, one.n, k);
            one.v = rows_of_pages(&w, &w.v, batch, head / w.group, 0, one.n, v);
            one_head_alone(&one, batch, head, call->team);
        }
    return RIDGE_OK;
}
