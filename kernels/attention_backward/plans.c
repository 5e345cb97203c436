/* What the ways of attention's gradients refuse, and how long they take. */
#include <math.h>

#include "attention/plan.h"
#include "attention/unfused.h"
#include "attention_backward/unfused.h"
#include "attention_backward/ways.h"

/* What an SM of an H200 does in a microsecond: FLOP by wgmma, exponentials; and a launch. Fitted to its times. */
static const double PRODUCTS = 5.6e6, EXPONENTIALS = 2.7e4, HIDDEN = 0.6;
static const double LAUNCH = 3, FILL = 3, DRAM = 4.0e6, THROUGH_MEMORY = 3.0e6;

int64_t backward_statistics_floats(const int64_t *dim) {
    return 2 * dim[ATTENTION_BATCH] * dim[ATTENTION_HEADS] * backward_line(dim[ATTENTION_M]);
}

static ridge_traffic traffic_of(const ridge_problem *p) {
    const double statistics = 4 * (double)backward_statistics_floats(p->c.dim);
    return (ridge_traffic){.read = attention_backward_bytes_read(&p->c) + statistics,
                           .written = attention_backward_bytes_written(&p->c) + statistics};
}

static const char *refusal_common(const ridge_problem *p) {
    const ridge_case *c = &p->c;
    const int64_t most = ATTENTION_ALL - 4096;
    if (c->dtype != RIDGE_BF16 && c->dtype != RIDGE_F16) return "for bf16 and f16";
    if (c->dim[ATTENTION_M] > most || c->dim[ATTENTION_N] > most) return "for fewer than 2^30 queries and keys";
    if (attention_heads_of(p) * (attention_extent(p, ATTENTION_M) + attention_extent(p, ATTENTION_N) + 256) > 6e10)
        return "for fewer than 10^9 tiles";
    return NULL;
}

static const char *refusal_of(const backward_tile *t, const ridge_problem *p) {
    const int64_t *dim = p->c.dim;
    const char *why = refusal_common(p);
    if (why) return why;
    if (dim[ATTENTION_D] > t->depth || dim[ATTENTION_V] > t->values) return "for fewer dimensions of a head";
    if (dim[ATTENTION_M] < 1 || dim[ATTENTION_N] < 1 || dim[ATTENTION_BATCH] < 1)
        return "for one query, one key and more";
    if (!attention_is_in_pieces(p, BACKWARD_Q, ATTENTION_OF_QUERIES, 2) ||
        !attention_is_in_pieces(p, BACKWARD_DOUT, ATTENTION_OF_QUERIES, 2) ||
        !attention_is_in_pieces(p, BACKWARD_K, ATTENTION_OF_KEYS, 2) ||
        !attention_is_in_pieces(p, BACKWARD_V, ATTENTION_OF_KEYS, 2))
        return "for rows of q, k, v and dout that begin at multiples of 16 bytes";
    return NULL;
}

/* The tiles of one side: how many, the steps of all and of the longest, microseconds of a step, and of what a part more
 * writes and reads. */
typedef struct backward_side {
    double tiles, steps, longest, step_us, part_us;
} backward_side;

static int64_t floats_of(int64_t rows, int64_t columns) { return rows * backward_part_line((int)columns); }
static int64_t key_part(const int64_t *dim) {
    const int64_t rows = dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS] * dim[ATTENTION_N];
    return floats_of(rows, dim[ATTENTION_D]) + floats_of(rows, dim[ATTENTION_V]);
}
static int64_t query_part(const int64_t *dim) {
    return floats_of(dim[ATTENTION_BATCH] * dim[ATTENTION_HEADS] * dim[ATTENTION_M], dim[ATTENTION_D]);
}
int64_t backward_key_floats(const int64_t *dim, int parts) { return parts > 1 ? parts * key_part(dim) : 0; }
int64_t backward_query_floats(const int64_t *dim, int parts) { return parts > 1 ? parts * query_part(dim) : 0; }

/* Of steps of 128 own rows by `lines`, with `flops` FLOP a score. */
static double step_us(int lines, double flops) {
    const double scores = 128.0 * lines, products = scores * flops / PRODUCTS, exponentials = scores / EXPONENTIALS;
    return fmax(products, exponentials) + (1 - HIDDEN) * fmin(products, exponentials);
}
static backward_side side_of(attention_mask mask, int64_t own, int64_t passing, double heads, double shared,
                             int lines) {
    const int64_t tiles = (own + 127) / 128;
    backward_side s = {.tiles = heads * (double)tiles};
    s.steps = heads * shared * attention_steps_of(mask, (int)own, (int)passing, 128, lines, &s.longest);
    s.longest *= shared;
    return s;
}
static backward_side keys_of(const backward_tile *t, const int64_t *dim, const double *option) {
    const attention_mask mask = attention_mask_transposed(attention_mask_of(dim, option));
    const double kv_heads = (double)(dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS]), both = t->depth + t->values;
    const double shared = (double)dim[ATTENTION_HEADS] / (double)dim[ATTENTION_KV_HEADS];
    backward_side s = side_of(mask, dim[ATTENTION_N], dim[ATTENTION_M], kv_heads, shared, t->queries);
    s.step_us = step_us(t->queries, 2 * (t->apart ? 2.5 * both : 2 * both)); /* two FLOP a multiply-add */
    s.part_us = 8 * (double)key_part(dim) / DRAM;
    return s;
}
static backward_side queries_of(const backward_tile *t, const int64_t *dim, const double *option) {
    const double heads = (double)(dim[ATTENTION_BATCH] * dim[ATTENTION_HEADS]);
    backward_side s = side_of(attention_mask_of(dim, option), dim[ATTENTION_M], dim[ATTENTION_N], heads, 1, t->keys);
    s.step_us = step_us(t->keys, 2 * (2.0 * t->depth + t->values));
    s.part_us = 8 * (double)query_part(dim) / DRAM;
    return s;
}

/* Blocks have the tiles, or parts of them, in whole turns. */
static double side_us(const backward_side *s, int parts, int sms) {
    const double turns = ceil(s->tiles * parts / sms), average = s->steps / fmax(s->tiles, 1) / parts;
    return LAUNCH + FILL + fmax(turns * average, s->longest / parts) * s->step_us +
           (parts > 1 ? LAUNCH + parts * s->part_us : 0);
}
/* The quickest; each has two steps and more where it is longest. */
static int parts_of(const backward_side *s, int sms) {
    int best = 1;
    for (int parts = 2; parts <= BACKWARD_PARTS && 2 * parts <= s->longest; parts++)
        if (side_us(s, parts, sms) < side_us(s, best, sms)) best = parts;
    return best;
}
backward_split backward_parts_of(const backward_tile *t, const int64_t *dim, const double *option, int sms) {
    const backward_side keys = keys_of(t, dim, option), queries = queries_of(t, dim, option);
    if (option[ATTENTION_SOFTCAP] > 0 || option[ATTENTION_SLOPES] > 0) return (backward_split){1, 1};
    return (backward_split){parts_of(&keys, sms), parts_of(&queries, sms)};
}

ridge_plan backward_tile_plan(const ridge_way *way, const ridge_problem *p) {
    const backward_tile *t = way->own;
    const int64_t *dim = p->c.dim;
    ridge_plan plan = {.refusal = refusal_of(t, p)};
    if (plan.refusal) return plan;
    const int sms = attention_sms(p);
    const backward_split parts = backward_parts_of(t, dim, p->c.option, sms);
    const backward_side keys = keys_of(t, dim, p->c.option), queries = queries_of(t, dim, p->c.option);
    const int64_t floats = backward_key_floats(dim, parts.keys) + backward_query_floats(dim, parts.queries);
    plan.us = LAUNCH + attention_backward_bytes_written(&p->c) / DRAM + side_us(&keys, parts.keys, sms) +
              side_us(&queries, parts.queries, sms) + (t->apart ? LAUNCH + FILL : 0);
    plan.scratch = (size_t)(backward_statistics_floats(dim) + floats) * sizeof(float);
    plan.traffic = traffic_of(p);
    plan.traffic.read += 4 * (double)floats, plan.traffic.written += 4 * (double)floats;
    return plan;
}

/* ---- through memory ---- */

size_t attention_backward_unfused_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[ATTENTION_M], n = c->dim[ATTENTION_N], d = c->dim[ATTENTION_D], v = c->dim[ATTENTION_V];
    const int64_t scores = backward_rows_at_once(m, n) * attention_line(n);
    (void)threads;
    return (size_t)(12 * scores) +
           sizeof(float) * (size_t)(backward_statistics_floats(c->dim) + n * (d + v) + n * (d > v ? d : v));
}

/* S and D are written once and read once in fp32; P and G are written once, and read once and twice, in 16 bits. */
void attention_backward_unfused_traffic(const ridge_case *c, ridge_traffic *traffic) {
    const double heads = (double)c->dim[ATTENTION_BATCH] * (double)c->dim[ATTENTION_HEADS];
    const double scores = heads * (double)c->dim[ATTENTION_M] * (double)attention_line(c->dim[ATTENTION_N]);
    *traffic = (ridge_traffic){.read = attention_backward_bytes_read(c) + 14 * scores,
                               .written = attention_backward_bytes_written(c) + 12 * scores};
}

ridge_plan backward_unfused_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = {.refusal = refusal_common(p)};
    (void)way;
    if (plan.refusal) return plan;
    attention_backward_unfused_traffic(&p->c, &plan.traffic);
    plan.scratch = attention_backward_unfused_scratch(&p->c, 1);
    plan.us = LAUNCH * (2 + 9 * attention_heads_of(p)) + (plan.traffic.read + plan.traffic.written) / THROUGH_MEMORY;
    return plan;
}
