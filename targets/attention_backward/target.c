/* Gradients of attention from its saved lse: dq, dk, dv and dsink, with neither scores nor their gradients in memory
 * 6 d + 4 v FLOP a score that is not masked, for five products; least traffic every operand once.
 * kernels/attention_backward/problem.h has the formula. */
#include "attention/target.h"
#include "attention_backward/cpu.h"
#include "attention_backward/unfused.h"
#include "attention_backward/ways.h"

/* m, batch, heads, n, kv_heads, d, v. lse is drawn, so that P is not below 1: slopes come with narrow windows. */
static const ridge_case cases[] = {
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {8192, 1, 64, 8192, 8, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {1024, 16, 16, 1024, 16, 64, 64}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {8192, 2, 32, 8192, 32, 64, 64}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {4096, 4, 8, 4096, 8, 256, 256}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {512, 32, 32, 512, 8, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_F16, PLAIN, GPU},
    {.dim = {512, 1, 8, 512, 8, 64, 64}, .dtype = RIDGE_F32, PLAIN, CPU},
    {.dim = {1024, 1, 4, 1024, 2, 128, 128}, .dtype = RIDGE_F32, CAUSAL, CPU},
    /* one query, no query, no key, no batch */
    {.dim = {1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {0, 2, 2, 9, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 2, 2, 0, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {61, 1, 2, 97, 2, 19, 33}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {130, 2, 4, 300, 2, 40, 24}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {300, 1, 3, 130, 1, 16, 16}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU}, /* queries without keys */
    {.dim = {290, 1, 2, 600, 2, 32, 32}, .dtype = RIDGE_F32, .option = {-0.3, 0, 50, 20}, EDGE, CPU},
    {.dim = {150, 1, 4, 150, 2, 24, 24}, .dtype = RIDGE_F32, .option = {0.5, 1, 30, -1, 3, 1, 1}, EDGE, CPU},
    {.dim = {80, 1, 2, 20, 1, 8, 8}, .dtype = RIDGE_F32, .option = {0, 1, 5, -1, 0, 1, 0}, EDGE, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {0, 2, 2, 9, 1, 8, 8}, .dtype = RIDGE_F16, PLAIN, EDGE, GPU},
    {.dim = {5, 2, 2, 0, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {70, 1, 2, 97, 1, 19, 33}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU}, /* between 16-byte boundaries */
    {.dim = {300, 1, 1, 270, 1, 64, 64}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {200, 1, 4, 300, 2, 64, 40}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {270, 1, 1, 300, 1, 128, 128}, .dtype = RIDGE_F16, PLAIN, EDGE, GPU},
    {.dim = {150, 2, 2, 300, 1, 96, 128}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {300, 1, 2, 150, 2, 128, 72}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* queries without keys */
    {.dim = {140, 1, 1, 200, 1, 256, 256}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {140, 1, 2, 170, 1, 192, 128}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {70, 1, 1, 1100, 1, 64, 64}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* one tile: its keys in parts */
    {.dim = {1100, 1, 2, 70, 1, 128, 72}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU}, /* its queries */
    {.dim = {300, 1, 1, 500, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {0, 1, 130, -1}, EDGE, GPU},
    {.dim = {260, 1, 1, 400, 1, 128, 128}, .dtype = RIDGE_F16, .option = {0, 0, 70, 40}, EDGE, GPU},
    {.dim = {200, 1, 4, 260, 2, 64, 64}, .dtype = RIDGE_BF16, .option = {0.3, 1, 40, -1, 5, 1, 1}, EDGE, GPU},
    {.dim = {140, 1, 2, 260, 2, 128, 128}, .dtype = RIDGE_F16, .option = {-0.2, 0, ALL, 4}, EDGE, GPU},
    {.dim = {300, 1, 2, 100, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {0, 1, ALL, 0, 1, 0}, EDGE, GPU},
    {.dim = {130, 1, 2, 170, 1, 256, 200}, .dtype = RIDGE_BF16, .option = {0.1, 1, 35, -1, 2, 1, 1}, EDGE, GPU},
};

/* All plain: an infinity reaches what shares a tile with it, since 0 times infinity is NaN. */
static const ridge_tensor_spec in[] = {
    {OF_HEAD("q", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D), .by_row = true, .plain = true},
    {OF_HEAD("k", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D), .by_row = true, .plain = true},
    {OF_HEAD("v", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_V), .by_row = true, .plain = true},
    {OF_HEAD("out", ATTENTION_M, ATTENTION_HEADS, ATTENTION_V), .by_row = true, .plain = true},
    {LSE, .fill = RIDGE_FILL_LOG, .index_dim = ATTENTION_N, .by_row = true, .plain = true},
    {OF_HEAD("dout", ATTENTION_M, ATTENTION_HEADS, ATTENTION_V), .by_row = true, .plain = true},
    {OF_HEADS("sink", ATTENTION_SINKS), .plain = true},
    {OF_HEADS("slope", ATTENTION_SLOPES), .fill = RIDGE_FILL_WEIGHT, .index_dim = ATTENTION_N, .plain = true},
};
static const ridge_tensor_spec out[] = {
    {OF_HEAD("dq", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D)},
    {OF_HEAD("dk", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D)},
    {OF_HEAD("dv", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_V)},
    {OF_HEADS("dsink", ATTENTION_SINKS)}, /* where sinks are not given: NULL, or it gets zeros */
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = attention_backward_flops(c),
                      .bytes_read = attention_backward_bytes_read(c),
                      .bytes_written = attention_backward_bytes_written(c)};
}

/* ---- oracle ---- */

/* Row `row` of an input, of dims [rows, batch, heads, columns]; of a by_row input whose rows are asked for, `place`. */
typedef struct query_key {
    int64_t query, key, batch, head; /* places in the inputs; head: of queries */
} query_key;

static const double *row_of(const ridge_oracle_call *call, int tensor, const query_key *p) {
    const int64_t *d = call->whole;
    const bool of_key = tensor == BACKWARD_K || tensor == BACKWARD_V;
    const int64_t heads = d[of_key ? ATTENTION_KV_HEADS : ATTENTION_HEADS];
    const int64_t head = of_key ? p->head / (d[ATTENTION_HEADS] / heads) : p->head;
    const int64_t columns = tensor == BACKWARD_Q || tensor == BACKWARD_K ? d[ATTENTION_D] : d[ATTENTION_V];
    return call->in[tensor] + (((of_key ? p->key : p->query) * d[ATTENTION_BATCH] + p->batch) * heads + head) * columns;
}

static double dot(const double *x, const double *y, int64_t n, double *size) {
    double sum = 0, all = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i], all += fabs(x[i] * y[i]);
    *size = all;
    return sum;
}

/* P and the gradient of the product q . k, and the magnitude that its error scales with. */
typedef struct pair {
    double p, gradient, size;
} pair;

static double lse_of(const ridge_oracle_call *call, const query_key *at) {
    const int64_t *d = call->whole;
    return call->in[BACKWARD_LSE][(at->query * d[ATTENTION_BATCH] + at->batch) * d[ATTENTION_HEADS] + at->head];
}

/* distance: of the key from the query's own. */
static pair pair_of(const ridge_oracle_call *call, const query_key *at, int64_t distance) {
    const int64_t *d = call->whole, v = d[ATTENTION_V];
    const double *dout = row_of(call, BACKWARD_DOUT, at), cap = call->option[ATTENTION_SOFTCAP];
    const double lse = lse_of(call, at), scale = attention_scale(d, call->option);
    const double slope = call->option[ATTENTION_SLOPES] > 0 ? call->in[BACKWARD_SLOPE][at->head] : 0;
    double ignored, of_d, of_delta;
    const double x = scale * dot(row_of(call, BACKWARD_Q, at), row_of(call, BACKWARD_K, at), d[ATTENTION_D], &ignored);
    const double bend = cap > 0 ? tanh(x / cap) : 0, by = scale * (1 - bend * bend);
    const double delta = dot(row_of(call, BACKWARD_OUT, at), dout, v, &of_delta);
    const double gradient = dot(dout, row_of(call, BACKWARD_V, at), v, &of_d) - delta;
    const double score = (cap > 0 ? cap * bend : x) - slope * fabs((double)distance);
    const double p = isinf(lse) && lse < 0 ? 0 : exp(score - lse);
    /* What D and delta lose is relative to their terms, a small part of what 16 bits lose of their difference. */
    const double terms = (of_d + of_delta) * (ridge_dtype_size(call->dtype) == 2 ? 0x1p-6 : 1);
    return (pair){p, p * gradient * by, p * fabs(by) * (fabs(gradient) + terms)};
}

/* A row of a gradient, and the largest root of its columns' sums of squares. */
typedef struct sums {
    double *to, size[2 * ATTENTION_DEPTH]; /* to NULL: not wanted */
    int64_t columns;
} sums;

static void add(sums *s, double by, double size, const double *row) {
    for (int64_t i = 0; s->to && i < s->columns; i++) {
        s->to[i] += by * row[i];
        if (i < 2 * ATTENTION_DEPTH) s->size[i] += size * row[i] * size * row[i];
    }
}
static void finish(const sums *s, double *row_size) {
    double most = 0;
    for (int64_t i = 0; i < s->columns && i < 2 * ATTENTION_DEPTH; i++) most = s->size[i] > most ? s->size[i] : most;
    if (s->to && row_size && sqrt(most) > *row_size) *row_size = sqrt(most);
}
static sums sums_of(const ridge_oracle_call *call, int output, int64_t row, int64_t columns) {
    sums s = {.to = call->out[output] ? call->out[output] + row * columns : NULL, .columns = columns};
    for (int64_t i = 0; s.to && i < columns; i++) s.to[i] = 0;
    return s;
}
static double *size_of(const ridge_oracle_call *call, int output, int64_t place) {
    return call->size[output] ? &call->size[output][place] : NULL;
}

static void one_query(const ridge_oracle_call *call, int64_t at_place, int64_t batch, int64_t head) {
    const int64_t *d = call->whole, row = call->row[at_place];
    const attention_keys keys =
        attention_keys_of(attention_mask_of(d, call->option), (int)row, (int)row, (int)d[ATTENTION_N]);
    query_key at = {.query = at_place, .batch = batch, .head = head};
    sums dq =
        sums_of(call, BACKWARD_DQ, (at_place * d[ATTENTION_BATCH] + batch) * d[ATTENTION_HEADS] + head, d[ATTENTION_D]);
    for (at.key = keys.begin; at.key < keys.end; at.key++) {
        const pair p = pair_of(call, &at, row + d[ATTENTION_N] - d[ATTENTION_M] - at.key);
        add(&dq, p.gradient, p.size, row_of(call, BACKWARD_K, &at));
    }
    finish(&dq, size_of(call, BACKWARD_DQ, at_place));
}

static void one_key(const ridge_oracle_call *call, int64_t at_place, int64_t batch, int64_t kv) {
    const int64_t *d = call->whole, row = call->row[at_place], group = d[ATTENTION_HEADS] / d[ATTENTION_KV_HEADS];
    const attention_mask mask = attention_mask_transposed(attention_mask_of(d, call->option));
    const attention_keys queries = attention_keys_of(mask, (int)row, (int)row, (int)d[ATTENTION_M]);
    const int64_t line = (at_place * d[ATTENTION_BATCH] + batch) * d[ATTENTION_KV_HEADS] + kv;
    sums dk = sums_of(call, BACKWARD_DK, line, d[ATTENTION_D]), dv = sums_of(call, BACKWARD_DV, line, d[ATTENTION_V]);
    query_key at = {.key = at_place, .batch = batch};
    for (at.head = kv * group; at.head < (kv + 1) * group; at.head++)
        for (at.query = queries.begin; at.query < queries.end; at.query++) {
            const pair p = pair_of(call, &at, at.query + d[ATTENTION_N] - d[ATTENTION_M] - row);
            add(&dk, p.gradient, p.size, row_of(call, BACKWARD_Q, &at));
            add(&dv, p.p, p.p, row_of(call, BACKWARD_DOUT, &at));
        }
    finish(&dk, size_of(call, BACKWARD_DK, at_place)), finish(&dv, size_of(call, BACKWARD_DV, at_place));
}

static void one_sink(const ridge_oracle_call *call, int64_t at_place) {
    const int64_t *d = call->whole;
    double sum = 0, squares = 0, terms;
    query_key at = {.head = call->row[at_place]};
    if (!call->out[BACKWARD_DSINK]) return;
    for (at.batch = 0; call->option[ATTENTION_SINKS] > 0 && at.batch < d[ATTENTION_BATCH]; at.batch++)
        for (at.query = 0; at.query < d[ATTENTION_M]; at.query++) {
            const double lse = lse_of(call, &at), p = exp(call->in[BACKWARD_SINK][at.head] - lse);
            sum -= p * dot(row_of(call, BACKWARD_OUT, &at), row_of(call, BACKWARD_DOUT, &at), d[ATTENTION_V], &terms);
            squares += p * terms * p * terms;
        }
    call->out[BACKWARD_DSINK][at_place] = sum;
    double *const size = size_of(call, BACKWARD_DSINK, at_place);
    if (size) *size = sqrt(squares);
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t *d = call->whole;
    for (int64_t i = 0; i < call->dim[call->rows]; i++) {
        if (call->rows == ATTENTION_HEADS) one_sink(call, i);
        for (int64_t batch = 0; batch < d[ATTENTION_BATCH]; batch++) {
            for (int64_t head = 0; call->rows == ATTENTION_M && head < d[ATTENTION_HEADS]; head++)
                one_query(call, i, batch, head);
            for (int64_t kv = 0; call->rows == ATTENTION_N && kv < d[ATTENTION_KV_HEADS]; kv++)
                one_key(call, i, batch, kv);
        }
    }
}

/* README.md derives it. */
static ridge_bound sink_bound(const ridge_oracle_call *call) {
    const double u = 0x1p-24, terms = (double)(call->whole[ATTENTION_M] * call->whole[ATTENTION_BATCH]);
    const double own = 4 * u * (call->in_max[BACKWARD_SINK] + call->in_max[BACKWARD_LSE] + 2);
    const double delta = 8 * u * (sqrt((double)call->dim[ATTENTION_V]) + 4);
    return (ridge_bound){.relative = 4 * u, .sized = 4 * own + delta + 4 * u * (12 + 2 * sqrt(terms))};
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    if (output == BACKWARD_DSINK) {
        *b = sink_bound(call);
        return;
    }
    const int64_t *whole = call->whole;
    const double u = 0x1p-24, v = (double)whole[ATTENTION_V], scale = fabs(attention_scale(whole, call->option));
    const bool half = ridge_dtype_size(call->dtype) == 2;
    const double group = (double)whole[ATTENTION_HEADS] / (double)whole[ATTENTION_KV_HEADS];
    const double queries = (double)whole[ATTENTION_M] * group;
    const double terms = output == BACKWARD_DQ ? (double)whole[ATTENTION_N] : queries;
    const double slant = call->option[ATTENTION_SOFTCAP] > 0 ? 0x1p-20 : 0; /* of cap' */
    const double score = attention_score_bound_of(call, kind, BACKWARD_Q, BACKWARD_K, BACKWARD_SLOPE).error +
                         4 * u * call->in_max[BACKWARD_LSE] + slant;
    const double summed = attention_sum_bound(call, terms), round = attention_round_bound(call);
    const double inner = u * (half ? 4 * (v / 16 + 1) : 4 * sqrt(v) + 8); /* of D and delta, relative to their terms */
    *b = (ridge_bound){.relative = round + 2 * u + summed + 2 * score,
                       .sized = 4 * round + 8 * score + 4 * summed + (half ? 0x1p6 : 4) * inner};
    if (call->dtype == RIDGE_F16) { /* P and gradients may be subnormal */
        const int of = output == BACKWARD_DV ? BACKWARD_DOUT : output == BACKWARD_DQ ? BACKWARD_K : BACKWARD_Q;
        b->absolute = call->in_max[of] * 0x1p-25 * 6 * sqrt(terms) * (output == BACKWARD_DV || scale < 1 ? 1 : scale);
    }
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scores and their gradients through memory, a head at a time",
     .run = RIDGE_CPU(attention_backward_cpu_baseline),
     .traffic = attention_backward_cpu_baseline_traffic,
     .scratch = attention_backward_cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "keys own dk and dv, queries pass: scores of 128 queries stay in cache, five products",
     .run = RIDGE_CPU(attention_backward_cpu_optimized),
     .scratch = attention_backward_cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scores and their gradients through memory, a head at a time",
     .run = RIDGE_CUDA(attention_backward_cuda_unfused),
     .traffic = attention_backward_unfused_traffic,
     .scratch = attention_backward_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "keys, then queries own gradients: scores stay in registers, no sum crosses blocks",
     .ways = attention_backward_cuda_ways,
     .n_ways = ATTENTION_BACKWARD_CUDA_WAYS},
};

const ridge_target ridge_target_attention_backward = {
    .name = "attention_backward",
    .summary = "gradients of attention from its saved lse, the same bits each time",
    .exact = 1,
    .dims = {ATTENTION_DIMS},
    ATTENTION_TARGET,
    .bound = bound,
    .work = work,
    .reject = attention_reject,
};
