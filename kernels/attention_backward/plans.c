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
    if (!attention_is_in_pieces(p, BACKWARD_Q, ATTENTION_M, ATTENTION_HEADS) ||
        !attention_is_in_pieces(p, BACKWARD_DOUT, ATTENTION_M, ATTENTION_HEADS) ||
        !attention_is_in_pieces(p, BACKWARD_K, ATTENTION_N, ATTENTION_KV_HEADS) ||
        !attention_is_in_pieces(p, BACKWARD_V, ATTENTION_N, ATTENTION_KV_HEADS))
        return "for rows of q, k, v and dout that begin at multiples of 16 bytes";
    return NULL;
}

/* Microseconds of a launch with `products` products of one step. */
static double launch_us(const ridge_problem *p, double steps, double longest, int lines, double flops) {
    const double scores = 128.0 * lines, products = scores * flops / PRODUCTS, exponentials = scores / EXPONENTIALS;
    const double step = fmax(products, exponentials) + (1 - HIDDEN) * fmin(products, exponentials);
    return LAUNCH + FILL + fmax(steps / attention_sms(p), longest) * step;
}

ridge_plan backward_tile_plan(const ridge_way *way, const ridge_problem *p) {
    const backward_tile *t = way->own;
    const int64_t *dim = p->c.dim;
    ridge_plan plan = {.refusal = refusal_of(t, p)};
    if (plan.refusal) return plan;
    const attention_mask mask = attention_mask_of(dim, p->c.option);
    const int m = (int)dim[ATTENTION_M], n = (int)dim[ATTENTION_N];
    const double group = attention_extent(p, ATTENTION_HEADS) / attention_extent(p, ATTENTION_KV_HEADS),
                 both = t->depth + t->values;
    double longest;
    const double keys =
        attention_heads_of(p) * attention_steps_of(attention_mask_turned(mask), n, m, 128, t->queries, &longest);
    const double of_keys = t->apart ? 2.5 * both : 2 * both; /* products of D and V, two FLOP a multiply-add */
    plan.us = LAUNCH + attention_backward_bytes_written(&p->c) / DRAM;
    plan.us += launch_us(p, keys, longest * group, t->queries, 2 * of_keys) + (t->apart ? LAUNCH + FILL : 0);
    const double queries = attention_heads_of(p) * attention_steps_of(mask, m, n, 128, t->keys, &longest);
    plan.us += launch_us(p, queries, longest, t->keys, 2 * (both + t->depth));
    plan.scratch = (size_t)backward_statistics_floats(dim) * sizeof(float);
    plan.traffic = traffic_of(p);
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
