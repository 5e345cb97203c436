/* Attention's gradients in fp32, compiled once for each instruction set: see cpu.h. */
#include "attention_backward/cpu.h"

#include <math.h>
#include <stdatomic.h>

#include "attention/cpu_lines.h"
#include "cpu/gemm_panels.h"
#include "cpu/vec_math.h"

typedef struct work {
    lines q, k, v, out, lse, dout, dq, dk, dv;
    const float *sink, *slope; /* NULL: none */
    float *dsink;              /* NULL: not wanted */
    attention_mask mask;
    int m, n, batch, heads, group;
    int64_t d, values, thread;
    float scale, softcap;
    float *lses, *deltas; /* [batch, head, m]; a query without keys has lse +inf here, so that its P is 0 */
    float *scratch;       /* behind them */
    backward_jobs jobs;   /* of the optimized variant, whose sums of dq lie behind the threads' memory */
    float *sums;
    int keys;           /* of a block */
    atomic_llong *next; /* its next job that no thread has taken */
} work;

static work work_of(const ridge_call *call) {
    const int64_t *dim = call->dim;
    const double *option = call->option;
    work w = {.q = lines_of(&call->in[BACKWARD_Q]),
              .k = lines_of(&call->in[BACKWARD_K]),
              .v = lines_of(&call->in[BACKWARD_V]),
              .out = lines_of(&call->in[BACKWARD_OUT]),
              .lse = lines_of(&call->in[BACKWARD_LSE]),
              .dout = lines_of(&call->in[BACKWARD_DOUT]),
              .dq = lines_of(&call->out[BACKWARD_DQ]),
              .dk = lines_of(&call->out[BACKWARD_DK]),
              .dv = lines_of(&call->out[BACKWARD_DV]),
              .dsink = ridge_data(&call->out[BACKWARD_DSINK]),
              .mask = attention_mask_of(dim, option),
              .m = (int)dim[ATTENTION_M],
              .n = (int)dim[ATTENTION_N],
              .batch = (int)dim[ATTENTION_BATCH],
              .heads = (int)dim[ATTENTION_HEADS],
              .group = (int)(dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS]),
              .d = dim[ATTENTION_D],
              .values = dim[ATTENTION_V],
              .thread = backward_cpu_thread(dim),
              .scale = (float)attention_scale(dim, option),
              .softcap = (float)option[ATTENTION_SOFTCAP],
              .lses = call->scratch};
    if (option[ATTENTION_SINKS] > 0) w.sink = ridge_data(&call->in[BACKWARD_SINK]);
    if (option[ATTENTION_SLOPES] > 0) w.slope = ridge_data(&call->in[BACKWARD_SLOPE]);
    w.deltas = w.lses + backward_cpu_statistics(dim) / 2;
    w.scratch = w.lses + backward_cpu_statistics(dim);
    return w;
}

/* Of queries of a head. */
static int64_t statistics_of(const work *w, int batch, int head) { return ((int64_t)batch * w->heads + head) * w->m; }

/* ---- statistics ---- */

static float dot(const float *x, const float *y, int64_t n) {
    vf sum = vf_zero();
    int64_t j = 0;
    for (; j + VF_LANES <= n; j += VF_LANES) sum = vf_fma(vf_load(x + j), vf_load(y + j), sum);
    return vf_sum(vf_fma(vf_load_n(x + j, (int)(n - j)), vf_load_n(y + j, (int)(n - j)), sum));
}

static void statistics_fn(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share((int64_t)w->m * w->batch * w->heads, 1, rank, size, &begin, &end);
    for (int64_t line = begin; line < end; line++) { /* in the order of memory */
        const int64_t row = line / w->heads / w->batch;
        const int b = (int)(line / w->heads % w->batch), h = (int)(line % w->heads);
        const int64_t at = statistics_of(w, b, h) + row;
        const float lse = *line_of(&w->lse, row, b, h);
        w->lses[at] = isinf(lse) && lse < 0 ? INFINITY : lse;
        w->deltas[at] = dot(line_of(&w->out, row, b, h), line_of(&w->dout, row, b, h), w->values);
    }
}

static void sinks_fn(void *arg, int rank, int size) {
    const work *w = arg;
    for (int head = rank; head < w->heads; head += size) {
        double sum = 0;
        for (int batch = 0; w->sink && batch < w->batch; batch++) {
            const int64_t from = statistics_of(w, batch, head);
            for (int i = 0; i < w->m; i++)
                sum -= (double)(expf(w->sink[head] - w->lses[from + i]) * w->deltas[from + i]);
        }
        w->dsink[head] = (float)sum;
    }
}

static void statistics(work *w, ridge_team *team) {
    ridge_team_run(team, statistics_fn, w);
    if (w->dsink) ridge_team_run(team, sinks_fn, w);
}

/* ---- a row of scores ---- */

/* A query's scores of the keys [first, first + count). */
typedef struct score_row {
    int64_t query, first, count;
    float lse, delta, slope;
} score_row;

/* Scores of their products, and by what the products' gradients differ from theirs. */
static void shape_scores(const work *w, const score_row *r, float *s, float *slants, int64_t low, int64_t high) {
    for (int64_t j = low; j < high; j++) {
        const float x = s[j] * w->scale, bend = w->softcap > 0 ? tanhf(x / w->softcap) : 0;
        slants[j] = w->scale * (1 - bend * bend);
        s[j] = (w->softcap > 0 ? w->softcap * bend : x) -
               r->slope * fabsf((float)(r->query + w->mask.shift - r->first - j));
    }
}

/* P = 2^(log2 s - less), and its gradient (d - delta) P by `slant`. */
typedef struct score_vectors {
    vf log2, less, delta, scale;
} score_vectors;
VF_INLINE void take_vector(const score_vectors *by, float *s, float *d, vf slant, int n) {
    const bool whole = n == VF_LANES;
    const vf x = whole ? vf_load(s) : vf_load_n(s, n), y = whole ? vf_load(d) : vf_load_n(d, n);
    const vf p = vf_exp2(vf_sub(vf_mul(x, by->log2), by->less)), g = vf_mul(vf_mul(p, vf_sub(y, by->delta)), slant);
    if (whole)
        vf_store(s, p), vf_store(d, g);
    else
        vf_store_n(s, n, p), vf_store_n(d, n, g);
}

/* s becomes P, d the gradient of the products: 0 where a key is masked. */
static void take(const work *w, const score_row *r, float *s, float *d, float *slants) {
    const attention_keys seen = attention_keys_of(w->mask, (int)r->query, (int)r->query, w->n);
    const int64_t low = seen.begin > r->first ? seen.begin - r->first : 0;
    const int64_t high = seen.end - r->first < r->count ? seen.end - r->first : r->count;
    const bool shaped = w->softcap > 0 || w->slope;
    const size_t all = sizeof(float) * (size_t)r->count;
    if (low >= high) {
        memset(s, 0, all), memset(d, 0, all);
        return;
    }
    if (shaped) shape_scores(w, r, s, slants, low, high);
    const score_vectors by = {.log2 = vf_set1(LOG2_E * (shaped ? 1 : w->scale)),
                              .less = vf_set1(LOG2_E * r->lse),
                              .delta = vf_set1(r->delta),
                              .scale = vf_set1(w->scale)};
    int64_t j = low;
    for (; j + VF_LANES <= high; j += VF_LANES)
        take_vector(&by, s + j, d + j, shaped ? vf_load(slants + j) : by.scale, VF_LANES);
    if (j < high) {
        const int n = (int)(high - j);
        take_vector(&by, s + j, d + j, shaped ? vf_load_n(slants + j, n) : by.scale, n);
    }
    const size_t before = sizeof(float) * (size_t)low, behind = all - sizeof(float) * (size_t)high;
    if (before) memset(s, 0, before), memset(d, 0, before);
    if (behind) memset(s + high, 0, behind), memset(d + high, 0, behind);
}

/* ---- optimized ---- */

/* Keys of a block, with their values and gradients, scores, and queries, in a thread's memory. Rows are dense. */
typedef struct block {
    float *k, *k_panels, *v_panels, *dk, *dv;
    float *s, *d, *slants;
    float *q, *dout; /* [group, m]: of all queries that share the head */
    int first, keys, batch, kv;
    bool begun, dq_begun; /* dk and dv are sums of some queries, dq of some keys; before, they are nothing */
} block;

static block block_of(const work *w, float *memory) {
    const int64_t d = BACKWARD_KEYS * w->d, v = BACKWARD_KEYS * w->values;
    block b = {.k = memory};
    b.k_panels = b.k + d, b.dk = b.k_panels + d + GEMM_PRODUCT_PAD;
    b.v_panels = b.dk + d, b.dv = b.v_panels + v + GEMM_PRODUCT_PAD;
    b.s = b.dv + v, b.d = b.s + BACKWARD_QUERIES * BACKWARD_KEYS, b.slants = b.d + BACKWARD_QUERIES * BACKWARD_KEYS;
    b.q = b.slants + BACKWARD_KEYS, b.dout = b.q + w->jobs.rows * w->d;
    return b;
}

static void copy_lines(const lines *from, int first, int rows, int batch, int head, int64_t columns, float *to) {
    for (int i = 0; i < rows; i++)
        memcpy(to + i * columns, line_of(from, first + i, batch, head), sizeof(float) * (size_t)columns);
}
static void store_lines(const lines *to, int first, int rows, int batch, int head, int64_t columns, const float *from) {
    for (int i = 0; i < rows; i++)
        memcpy(line_of(to, first + i, batch, head), from + i * columns, sizeof(float) * (size_t)columns);
}

/* A block's scores [rows, keys] = rows of x [k] times packed ones. */
static void scores_in(const block *b, int rows, const float *x, const float *panels, int64_t k, float *scores) {
    RIDGE_ISA_FN(gemm_panels)
    (&(gemm_panels){.m = rows,
                    .n = b->keys,
                    .k = k,
                    .a = x,
                    .a_row = k,
                    .a_depth = 1,
                    .b = panels,
                    .b_panel = GEMM_NR * k,
                    .b_step = GEMM_NR,
                    .c = scores,
                    .c_row = BACKWARD_KEYS});
}

/* to [m, columns] += a times the k rows of x; a: scores, or their transpose. */
static void add_gradient(int64_t m, int64_t k, const float *a, bool transposed, const float *x, int64_t columns,
                         float *to, bool add) {
    RIDGE_ISA_FN(gemm_panels)
    (&(gemm_panels){.m = m,
                    .n = columns,
                    .k = k,
                    .a = a,
                    .a_row = transposed ? 1 : BACKWARD_KEYS,
                    .a_depth = transposed ? BACKWARD_KEYS : 1,
                    .b = x,
                    .b_panel = GEMM_NR,
                    .b_step = columns,
                    .c = to,
                    .c_row = columns,
                    .add = add});
}

/* Queries [first, first + rows) of head i of the group pass the block. dq: [group, m, d]. */
static void some_queries(const work *w, block *b, int i, int first, int rows, float *dq) {
    const int head = b->kv * w->group + i;
    const int64_t at = statistics_of(w, b->batch, head), line = (int64_t)i * w->m + first;
    const float *const q = b->q + line * w->d, *const dout = b->dout + line * w->values;
    scores_in(b, rows, q, b->k_panels, w->d, b->s);
    scores_in(b, rows, dout, b->v_panels, w->values, b->d);
    for (int row = 0; row < rows; row++) {
        const score_row r = {.query = first + row,
                             .first = b->first,
                             .count = b->keys,
                             .lse = w->lses[at + first + row],
                             .delta = w->deltas[at + first + row],
                             .slope = w->slope ? w->slope[head] : 0};
        take(w, &r, b->s + (int64_t)row * BACKWARD_KEYS, b->d + (int64_t)row * BACKWARD_KEYS, b->slants);
    }
    add_gradient(rows, b->keys, b->d, false, b->k, w->d, dq + line * w->d, b->dq_begun);
    add_gradient(b->keys, rows, b->d, true, q, w->d, b->dk, b->begun);
    add_gradient(b->keys, rows, b->s, true, dout, w->values, b->dv, b->begun);
    b->begun = true;
}

/* The keys from b->first on of b->kv. dq: [group, m, d]. */
static void some_keys(const work *w, block *b, float *dq) {
    b->keys = w->n - b->first < w->keys ? w->n - b->first : w->keys;
    const attention_keys by =
        attention_keys_of(attention_mask_transposed(w->mask), b->first, b->first + b->keys - 1, w->m);
    copy_lines(&w->k, b->first, b->keys, b->batch, b->kv, w->d, b->k);
    gemm_panels_pack(b->k, w->d, b->keys, w->d, b->k_panels);
    gemm_panels_pack(line_of(&w->v, b->first, b->batch, b->kv), w->v.row, b->keys, w->values, b->v_panels);
    b->begun = false;
    if (!b->dq_begun && (by.begin > 0 || by.end < w->m)) {
        memset(dq, 0, sizeof(float) * (size_t)(w->jobs.rows * w->d));
        b->dq_begun = true;
    }
    for (int i = 0; i < w->group; i++)
        for (int first = by.begin; first < by.end; first += BACKWARD_QUERIES)
            some_queries(w, b, i, first, by.end - first < BACKWARD_QUERIES ? by.end - first : BACKWARD_QUERIES, dq);
    b->dq_begun = true;
    if (!b->begun) {
        memset(b->dk, 0, sizeof(float) * (size_t)(b->keys * w->d));
        memset(b->dv, 0, sizeof(float) * (size_t)(b->keys * w->values));
    }
    store_lines(&w->dk, b->first, b->keys, b->batch, b->kv, w->d, b->dk);
    store_lines(&w->dv, b->first, b->keys, b->batch, b->kv, w->values, b->dv);
}

/* dq of lines [begin, end) of the unit's [group, m] is the sum of its parts', in their order. */
static void gather_queries(const work *w, int64_t unit, const float *dq, int64_t begin, int64_t end) {
    const int kv_heads = w->heads / w->group, batch = (int)(unit / kv_heads), kv = (int)(unit % kv_heads);
    for (int64_t line = begin; line < end; line++) {
        float *const to = line_of(&w->dq, line % w->m, batch, kv * w->group + (int)(line / w->m));
        memcpy(to, dq + line * w->d, sizeof(float) * (size_t)w->d);
        for (int part = 1; part < w->jobs.parts; part++)
            for (int64_t j = 0; j < w->d; j++) to[j] += dq[part * w->jobs.rows * w->d + line * w->d + j];
    }
}

/* A job is a part of a unit's keys: blocks go round, since under a mask early keys are seen by more queries. */
static void jobs_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const int kv_heads = w->heads / w->group, parts = w->jobs.parts;
    const int64_t rows = w->jobs.rows;
    block b = block_of(w, w->scratch + rank * w->thread);
    (void)size;
    for (int64_t job; (job = atomic_fetch_add_explicit(w->next, 1, memory_order_relaxed)) < w->jobs.units * parts;) {
        const int64_t unit = job / parts;
        float *const dq = w->sums + (parts > 1 ? job : rank) * rows * w->d;
        b.dq_begun = false;
        b.batch = (int)(unit / kv_heads), b.kv = (int)(unit % kv_heads);
        for (int i = 0; i < w->group; i++) {
            copy_lines(&w->q, 0, w->m, b.batch, b.kv * w->group + i, w->d, b.q + (int64_t)i * w->m * w->d);
            copy_lines(&w->dout, 0, w->m, b.batch, b.kv * w->group + i, w->values,
                       b.dout + (int64_t)i * w->m * w->values);
        }
        for (b.first = (int)(job % parts) * w->keys; b.first < w->n; b.first += parts * w->keys) some_keys(w, &b, dq);
        if (!b.dq_begun) memset(dq, 0, sizeof(float) * (size_t)(rows * w->d));
        if (parts == 1) gather_queries(w, unit, dq, 0, rows);
    }
}
static void gather_fn(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share(w->jobs.rows, 1, rank, size, &begin, &end);
    for (int64_t unit = 0; unit < w->jobs.units; unit++)
        gather_queries(w, unit, w->sums + unit * w->jobs.parts * w->jobs.rows * w->d, begin, end);
}

ridge_status RIDGE_ISA_FN(attention_backward_cpu_optimized)(const ridge_call *call) {
    work w = work_of(call);
    const int threads = ridge_team_size(call->team);
    w.jobs = backward_cpu_jobs(call->dim, threads);
    w.sums = w.scratch + threads * w.thread;
    const bool masked = w.mask.left < ATTENTION_ALL || w.mask.right < ATTENTION_ALL;
    w.keys = masked ? BACKWARD_MASKED_KEYS : BACKWARD_KEYS;
    atomic_llong next;
    atomic_init(&next, 0);
    w.next = &next;
    statistics(&w, call->team);
    ridge_team_run(call->team, jobs_fn, &w);
    if (w.jobs.parts > 1) ridge_team_run(call->team, gather_fn, &w);
    return RIDGE_OK;
}

/* ---- baseline ---- */

typedef struct head_of {
    const work *w;
    float *s, *d, *slants; /* slants: n a thread */
    int batch, head;
} head_of;

static void scores_fn(void *arg, int rank, int size) {
    const head_of *h = arg;
    const work *w = h->w;
    const int64_t at = statistics_of(w, h->batch, h->head);
    int64_t begin, end;
    ridge_share(w->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const score_row r = {.query = i,
                             .count = w->n,
                             .lse = w->lses[at + i],
                             .delta = w->deltas[at + i],
                             .slope = w->slope ? w->slope[h->head] : 0};
        take(w, &r, h->s + i * w->n, h->d + i * w->n, h->slants + (int64_t)rank * w->n);
    }
}

/* scores [m, n] = rows of x times rows of y. */
static void scores_of(const head_of *h, const lines *x, const lines *y, int64_t k, float *scores, ridge_team *team,
                      void *scratch) {
    const work *w = h->w;
    const gemm_product p = {.m = w->m,
                            .n = w->n,
                            .k = k,
                            .a = line_of(x, 0, h->batch, h->head),
                            .a_row = x->row,
                            .a_depth = 1,
                            .b = line_of(y, 0, h->batch, h->head / w->group),
                            .b_depth = 1,
                            .b_column = y->row,
                            .c = scores,
                            .c_row = w->n};
    gemm_product_best(&p, scratch, team);
}

/* to (+)= scores, or their transpose, times rows of x. */
static void gradient_of(const head_of *h, const float *scores, bool of_keys, const lines *x, int64_t columns,
                        const lines *to, ridge_team *team, void *scratch) {
    const work *w = h->w;
    const int kv = h->head / w->group, own = of_keys ? kv : h->head, passing = of_keys ? h->head : kv;
    const gemm_product p = {.m = of_keys ? w->n : w->m,
                            .n = columns,
                            .k = of_keys ? w->m : w->n,
                            .a = scores,
                            .a_row = of_keys ? 1 : w->n,
                            .a_depth = of_keys ? w->n : 1,
                            .b = line_of(x, 0, h->batch, passing),
                            .b_depth = x->row,
                            .b_column = 1,
                            .c = line_of(to, 0, h->batch, own),
                            .c_row = to->row,
                            .add = of_keys && h->head % w->group > 0};
    gemm_product_best(&p, scratch, team);
}

static void clear(const work *w, const lines *to, int rows, int heads, int64_t columns) {
    for (int batch = 0; batch < w->batch; batch++)
        for (int head = 0; head < heads; head++)
            for (int i = 0; i < rows; i++) memset(line_of(to, i, batch, head), 0, sizeof(float) * (size_t)columns);
}

ridge_status RIDGE_ISA_FN(attention_backward_cpu_baseline)(const ridge_call *call) {
    work w = work_of(call);
    const int64_t scores = backward_cpu_scores(call->dim);
    head_of h = {.w = &w, .s = w.scratch, .d = w.scratch + scores, .slants = w.scratch + 2 * scores};
    void *const scratch = h.slants + (int64_t)ridge_team_size(call->team) * w.n;
    statistics(&w, call->team);
    if (w.m == 0 || w.n == 0) {
        clear(&w, &w.dq, w.m, w.heads, w.d);
        clear(&w, &w.dk, w.n, w.heads / w.group, w.d), clear(&w, &w.dv, w.n, w.heads / w.group, w.values);
        return RIDGE_OK;
    }
    for (h.batch = 0; h.batch < w.batch; h.batch++)
        for (h.head = 0; h.head < w.heads; h.head++) {
            scores_of(&h, &w.q, &w.k, w.d, h.s, call->team, scratch);
            scores_of(&h, &w.dout, &w.v, w.values, h.d, call->team, scratch);
            ridge_team_run(call->team, scores_fn, &h);
            gradient_of(&h, h.d, false, &w.k, w.d, &w.dq, call->team, scratch);
            gradient_of(&h, h.d, true, &w.q, w.d, &w.dk, call->team, scratch);
            gradient_of(&h, h.s, true, &w.dout, w.values, &w.dv, call->team, scratch);
        }
    return RIDGE_OK;
}
