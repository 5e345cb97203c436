/* The tensors, oracle and bound of attention, of one length, of several, and of keys in pages. Included by their target.c. */
#ifndef RIDGE_ATTENTION_ORACLE_H
#define RIDGE_ATTENTION_ORACLE_H

#include <stdlib.h>
#include <string.h>

#include "attention/target.h"

#define ATTENTION_TENSORS_IN                                                         \
    {OF_HEAD("q", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D), .by_row = true},       \
        {OF_HEAD("k", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D)},                \
        {OF_HEAD("v", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_V), .plain = true}, \
        {OF_HEADS("sink", ATTENTION_SINKS), .plain = true}, {                        \
        OF_HEADS("slope", ATTENTION_SLOPES), .plain = true                           \
    }
#define ATTENTION_TENSORS_OUT \
    {OF_HEAD("out", ATTENTION_M, ATTENTION_HEADS, ATTENTION_V)}, { LSE }

/* Which keys belong to a query, and where they are. */
typedef struct attention_reading {
    const ridge_oracle_call *call; /* with the dims of the target */
    attention_span (*span)(const ridge_oracle_call *call, int64_t row, int64_t batch);
    int64_t (*line)(const ridge_oracle_call *call, int64_t key, int64_t batch, int64_t kv_head); /* of k and of v */
    const double *q_scale, *k_scale, *v_scale; /* of heads, [batch, heads] or [batch, kv_heads]; NULL: 1 */
} attention_reading;

/* Every query sees keys of all. */
static inline attention_span attention_span_of_all(const ridge_oracle_call *call, int64_t row, int64_t batch) {
    const int m = (int)call->whole[ATTENTION_M], n = (int)call->whole[ATTENTION_N];
    (void)row, (void)batch;
    return (attention_span){0, m, {0, n}};
}

static inline double attention_scale_at(const double *scale, int64_t i) { return scale ? scale[i] : 1; }

/* Keys in rows: [n, batch, kv_heads, …]. */
static inline int64_t attention_line_in_rows(const ridge_oracle_call *call, int64_t key, int64_t batch,
                                             int64_t kv_head) {
    return (key * call->whole[ATTENTION_BATCH] + batch) * call->whole[ATTENTION_KV_HEADS] + kv_head;
}

/* A query of one head. s: room for n scores, and twice for v numbers. Returns its root of the sum of (p v)^2, the largest over
 * v. */
static double one_query(const ridge_oracle_call *call, const attention_reading *keys_of, int64_t place, int64_t batch,
                        int64_t head, double *s) {
    const int64_t *d = call->whole, row = call->row[place];
    const attention_span span = keys_of->span(keys_of->call, row, batch);
    const int64_t kv = head / (d[ATTENTION_HEADS] / d[ATTENTION_KV_HEADS]);
    const attention_mask mask = attention_mask_within(attention_mask_of(d, call->option), span);
    const attention_keys keys = attention_keys_among(mask, (int)row, (int)row, span.keys);
    const int64_t of_head = batch * d[ATTENTION_HEADS] + head, of_kv = batch * d[ATTENTION_KV_HEADS] + kv;
    const double cap = call->option[ATTENTION_SOFTCAP];
    const double scale = attention_scale(d, call->option) * attention_scale_at(keys_of->q_scale, of_head) *
                         attention_scale_at(keys_of->k_scale, of_kv);
    const double slope = call->option[ATTENTION_SLOPES] > 0 ? call->in[ATTENTION_IN_SLOPE][head] : 0;
    const double sink = call->option[ATTENTION_SINKS] > 0 ? call->in[ATTENTION_IN_SINK][head] : -(double)INFINITY;
    const int64_t at = (place * d[ATTENTION_BATCH] + batch) * d[ATTENTION_HEADS] + head;
    const double *q = call->in[ATTENTION_IN_Q] + at * d[ATTENTION_D];
    double most = sink, sum = 0, size = 0;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const double *k = call->in[ATTENTION_IN_K] + keys_of->line(keys_of->call, j, batch, kv) * d[ATTENTION_D];
        double x = 0;
        for (int64_t i = 0; i < d[ATTENTION_D]; i++) x += q[i] * k[i];
        x *= scale;
        if (cap > 0) x = cap * tanh(x / cap);
        s[j] = x - slope * fabs((double)(row + mask.shift - j));
        if (!(s[j] <= most)) most = s[j];
    }
    const double less = isinf(most) && most < 0 ? 0 : most;
    for (int64_t j = keys.begin; j < keys.end; j++) sum += s[j] = exp(s[j] - less);
    if (!isinf(sink)) sum += exp(sink - less);
    const double by = sum > 0 || isnan(sum) ? 1 / sum : 0, of_values = attention_scale_at(keys_of->v_scale, of_kv);
    if (call->out[ATTENTION_LSE])
        call->out[ATTENTION_LSE][at] = by > 0 || isnan(by) ? less + log(sum) : -(double)INFINITY;
    /* Key after key, whose values lie together: sums and squares of all columns. */
    double *const sums = s + d[ATTENTION_N], *const squares = sums + d[ATTENTION_V];
    memset(sums, 0, sizeof(double) * 2 * (size_t)d[ATTENTION_V]);
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const double *v = call->in[ATTENTION_IN_V] + keys_of->line(keys_of->call, j, batch, kv) * d[ATTENTION_V];
        for (int64_t i = 0; i < d[ATTENTION_V]; i++) {
            const double p = s[j] * by * v[i] * of_values;
            sums[i] += p, squares[i] += p * p;
        }
    }
    if (call->out[ATTENTION_OUT])
        memcpy(call->out[ATTENTION_OUT] + at * d[ATTENTION_V], sums, sizeof(double) * (size_t)d[ATTENTION_V]);
    for (int64_t i = 0; i < d[ATTENTION_V]; i++) size = squares[i] > size ? squares[i] : size;
    return sqrt(size);
}

/* call: with the dims of attention. */
static void attention_oracle(const ridge_oracle_call *call, const attention_reading *keys_of) {
    double *s = malloc(sizeof(double) * (size_t)(call->whole[ATTENTION_N] + 2 * call->whole[ATTENTION_V] + 1));
    for (int64_t place = 0; place < call->dim[ATTENTION_M]; place++)
        for (int64_t batch = 0; batch < call->whole[ATTENTION_BATCH]; batch++)
            for (int64_t head = 0; head < call->whole[ATTENTION_HEADS]; head++) {
                const double size = s ? one_query(call, keys_of, place, batch, head, s) : (double)NAN;
                double *row = call->size[ATTENTION_OUT] ? &call->size[ATTENTION_OUT][place] : NULL;
                if (row && size > *row) *row = size;
            }
    free(s);
}

/* For scores that are off by so much; of_p: six deviations of what rounding P loses, relative. targets/attention/README.md derives
 * it. call: with the dims of attention. */
static void attention_bound_of(const ridge_oracle_call *call, attention_score_bound of_score, double of_p, int output,
                               ridge_bound *b) {
    const double u = 0x1p-24, score = of_score.error;
    const double sums = attention_sum_bound(call, (double)call->dim[ATTENTION_N]), round = attention_round_bound(call);
    if (output == ATTENTION_LSE) {
        const double sink = call->option[ATTENTION_SINKS] > 0 ? call->in_max[ATTENTION_IN_SINK] : 0;
        *b = (ridge_bound){.absolute = score + sums + 2 * u * (of_score.largest + sink), .relative = 2 * u};
        return;
    }
    *b = (ridge_bound){.relative = round + 2 * u + sums + 2 * score, .sized = of_p + 8 * score + 4 * sums};
}

static inline void attention_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const attention_score_bound of_score =
        attention_score_bound_of(call, kind, ATTENTION_IN_Q, ATTENTION_IN_K, ATTENTION_IN_SLOPE);
    attention_bound_of(call, of_score, 4 * attention_round_bound(call), output, b);
    if (call->dtype == RIDGE_F16 && output == ATTENTION_OUT) /* P may be subnormal */
        b->absolute = call->in_max[ATTENTION_IN_V] * 0x1p-25 * 6 * sqrt((double)call->dim[ATTENTION_N]);
}

#endif
