/* Attention's gradients in fp32, compiled once for each instruction set: see cpu.h. */
#include "attention_backward/cpu.h"

#include <math.h>

#include "attention/cpu_lines.h"
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

static void statistics_fn(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share((int64_t)w->batch * w->heads * w->m, 1, rank, size, &begin, &end);
    for (int64_t at = begin; at < end; at++) {
        const int64_t head = at / w->m, row = at % w->m;
        const int b = (int)(head / w->heads), h = (int)(head % w->heads);
        const float *out = line_of(&w->out, row, b, h), *dout = line_of(&w->dout, row, b, h);
        const float lse = *line_of(&w->lse, row, b, h);
        float sum = 0;
        for (int64_t j = 0; j < w->values; j++) sum += out[j] * dout[j];
        w->lses[at] = isinf(lse) && lse < 0 ? INFINITY : lse;
        w->deltas[at] = sum;
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

/* An own row, and the rows [first, first + count) that pass it. */
typedef struct own_row {
    attention_mask mask; /* as own rows see passing ones */
    int passing;         /* how many there are */
    int64_t own, first, count;
    const float *lse, *delta; /* its own, or those of the passing rows, one after the other */
    bool keys;                /* the row is a key's: statistics pass */
    float slope;
} own_row;

/* Scores of their products, and by what the products' gradients differ from theirs. */
static void shape_scores(const work *w, const own_row *r, float *s, float *slants, int64_t low, int64_t high) {
    for (int64_t j = low; j < high; j++) {
        const float x = s[j] * w->scale, bend = w->softcap > 0 ? tanhf(x / w->softcap) : 0;
        slants[j] = w->scale * (1 - bend * bend);
        s[j] =
            (w->softcap > 0 ? w->softcap * bend : x) - r->slope * fabsf((float)(r->own + r->mask.shift - r->first - j));
    }
}

/* s becomes P, d the gradient of the products: 0 where a key is masked. */
static void take(const work *w, const own_row *r, float *s, float *d, float *slants) {
    const attention_keys seen = attention_keys_of(r->mask, (int)r->own, (int)r->own, r->passing);
    const int64_t low = seen.begin > r->first ? seen.begin - r->first : 0;
    const int64_t high = seen.end - r->first < r->count ? seen.end - r->first : r->count;
    const bool shaped = w->softcap > 0 || w->slope;
    const size_t all = sizeof(float) * (size_t)r->count;
    if (low >= high) {
        memset(s, 0, all), memset(d, 0, all);
        return;
    }
    if (shaped) shape_scores(w, r, s, slants, low, high);
    const vf scale = vf_set1(w->scale);
    for (int64_t j = low; j < high; j += VF_LANES) {
        const int n = high - j < VF_LANES ? (int)(high - j) : VF_LANES;
        const vf less = r->keys ? vf_load_n(r->lse + j, n) : vf_set1(*r->lse);
        const vf delta = r->keys ? vf_load_n(r->delta + j, n) : vf_set1(*r->delta);
        const vf x = vf_load_n(s + j, n), by = shaped ? vf_load_n(slants + j, n) : scale;
        const vf p = vf_exp(vf_sub(shaped ? x : vf_mul(x, scale), less));
        vf_store_n(d + j, n, vf_mul(vf_mul(p, vf_sub(vf_load_n(d + j, n), delta)), by));
        vf_store_n(s + j, n, p);
    }
    memset(s, 0, sizeof(float) * (size_t)low), memset(d, 0, sizeof(float) * (size_t)low);
    memset(s + high, 0, all - sizeof(float) * (size_t)high), memset(d + high, 0, all - sizeof(float) * (size_t)high);
}

/* ---- optimized ---- */

/* One side's rows own gradients, the other side's pass. */
typedef struct sides {
    const work *w;
    bool keys; /* own rows are keys */
    lines own_x, own_y, x, y, dx, dy;
    attention_mask mask;
    int own, passing, heads, shared; /* heads of own rows; of passing ones that share an own one */
    int group;                       /* own heads that share a passing one */
} sides;

static sides sides_of(const work *w, bool keys) {
    if (!keys)
        return (sides){w, false, w->q, w->dout, w->k, w->v, w->dq, w->dq, w->mask, w->m, w->n, w->heads, 1, w->group};
    return (sides){w,        true,  w->k,
                   w->v,     w->q,  w->dout,
                   w->dk,    w->dv, attention_mask_transposed(w->mask),
                   w->n,     w->m,  w->heads / w->group,
                   w->group, 1};
}

/* Some own rows of a head, and a thread's memory. */
typedef struct block {
    int first, rows, batch, head;
    float *s, *d, *slants, *sums_x, *sums_y, *scratch;
} block;

/* Passing rows [first, first + count) of one of their heads. */
static void some_passing(const sides *p, block *b, int head, int first, int count) {
    const work *w = p->w;
    const float *own_x = line_of(&p->own_x, b->first, b->batch, b->head);
    const float *own_y = line_of(&p->own_y, b->first, b->batch, b->head);
    const float *x = line_of(&p->x, first, b->batch, head), *y = line_of(&p->y, first, b->batch, head);
    const int of_query = p->keys ? head : b->head;
    const int64_t at = statistics_of(w, b->batch, of_query);
    multiply_lines(b->rows, own_x, p->own_x.row, by_columns(&p->x, x), w->d, b->s, count, false, b->scratch);
    multiply_lines(b->rows, own_y, p->own_y.row, by_columns(&p->y, y), w->values, b->d, count, false, b->scratch);
    for (int i = 0; i < b->rows; i++) {
        const int64_t own = b->first + i, statistic = at + (p->keys ? first : own);
        const own_row r = {.mask = p->mask,
                           .passing = p->passing,
                           .own = own,
                           .first = first,
                           .count = count,
                           .lse = w->lses + statistic,
                           .delta = w->deltas + statistic,
                           .keys = p->keys,
                           .slope = w->slope ? w->slope[of_query] : 0};
        take(w, &r, b->s + (int64_t)i * count, b->d + (int64_t)i * count, b->slants);
    }
    multiply_lines(b->rows, b->d, count, by_rows(&p->x, x), count, b->sums_x, w->d, true, b->scratch);
    if (p->keys) multiply_lines(b->rows, b->s, count, by_rows(&p->y, y), count, b->sums_y, w->values, true, b->scratch);
}

static void some_own(const sides *p, block *b) {
    const work *w = p->w;
    const attention_keys seen = attention_keys_of(p->mask, b->first, b->first + b->rows - 1, p->passing);
    memset(b->sums_x, 0, sizeof(float) * (size_t)(b->rows * w->d));
    memset(b->sums_y, 0, sizeof(float) * (size_t)(b->rows * w->values));
    for (int i = 0; i < p->shared; i++)
        for (int first = seen.begin; first < seen.end; first += BACKWARD_PASSING)
            some_passing(p, b, b->head / p->group * p->shared + i, first,
                         seen.end - first < BACKWARD_PASSING ? seen.end - first : BACKWARD_PASSING);
    for (int i = 0; i < b->rows; i++) {
        const size_t d = sizeof(float) * (size_t)w->d, v = sizeof(float) * (size_t)w->values;
        memcpy(line_of(&p->dx, b->first + i, b->batch, b->head), b->sums_x + i * w->d, d);
        if (p->keys) memcpy(line_of(&p->dy, b->first + i, b->batch, b->head), b->sums_y + i * w->values, v);
    }
}

/* Blocks go round: where later rows see more, each thread has of all lengths. */
static void blocks_fn(void *arg, int rank, int size) {
    const sides *p = arg;
    const work *w = p->w;
    const int64_t columns = w->d > w->values ? w->d : w->values;
    const int each = (p->own + BACKWARD_OWN - 1) / BACKWARD_OWN;
    block b = {.s = w->scratch + rank * w->thread};
    b.d = b.s + BACKWARD_OWN * BACKWARD_PASSING, b.slants = b.d + BACKWARD_OWN * BACKWARD_PASSING;
    b.sums_x = b.slants + BACKWARD_PASSING, b.sums_y = b.sums_x + BACKWARD_OWN * columns;
    b.scratch = b.sums_y + BACKWARD_OWN * columns;
    for (int64_t i = rank; i < (int64_t)each * w->batch * p->heads; i += size) {
        const int head = (int)(i / each);
        b.first = (int)(i % each) * BACKWARD_OWN;
        b.rows = p->own - b.first < BACKWARD_OWN ? p->own - b.first : BACKWARD_OWN;
        b.batch = head / p->heads, b.head = head % p->heads;
        some_own(p, &b);
    }
}

ridge_status RIDGE_ISA_FN(attention_backward_cpu_optimized)(const ridge_call *call) {
    work w = work_of(call);
    statistics(&w, call->team);
    sides keys = sides_of(&w, true), queries = sides_of(&w, false);
    ridge_team_run(call->team, blocks_fn, &keys);
    ridge_team_run(call->team, blocks_fn, &queries);
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
        const own_row r = {.mask = w->mask,
                           .passing = w->n,
                           .own = i,
                           .count = w->n,
                           .lse = w->lses + at + i,
                           .delta = w->deltas + at + i,
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
