/* out = softmax(scale q k^T + mask) v, a head at a time, without the matrix of scores in memory; lse: its logarithm
 * 2 (d + v) FLOP a score that is not masked; least traffic size(q) + size(k) + size(v) + size(out) + size(lse).
 * kernels/attention/problem.h has the formula. */
#include <stdlib.h>

#include "attention/cpu.h"
#include "attention/target.h"
#include "attention/unfused.h"
#include "attention/ways.h"

RIDGE_CUDA_DECLARE(attention_cuda_baseline);

/* m, batch, heads, n, kv_heads, d, v */
static const ridge_case cases[] = {
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {8192, 1, 64, 8192, 8, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {1024, 16, 16, 1024, 16, 64, 64}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {8192, 2, 32, 8192, 32, 64, 64}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {4096, 4, 8, 4096, 8, 256, 256}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {512, 32, 32, 512, 8, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, .option = {0, 1, 1023, -1}, GPU},
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_F16, PLAIN, GPU},
    {.dim = {1, 1, 32, 32768, 8, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU}, /* one query: decoding */
    {.dim = {1, 64, 32, 4096, 8, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
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
    {.dim = {90, 1, 2, 600, 2, 32, 32}, .dtype = RIDGE_F32, .option = {-0.3, 0, 50, 20}, EDGE, CPU},
    {.dim = {150, 1, 4, 150, 2, 24, 24}, .dtype = RIDGE_F32, .option = {0.5, 1, ALL, 3, 1, 1}, EDGE, CPU},
    {.dim = {80, 1, 2, 20, 1, 8, 8}, .dtype = RIDGE_F32, .option = {0, 1, 5, -1, 0, 1, 0}, EDGE, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {0, 2, 2, 9, 1, 8, 8}, .dtype = RIDGE_F16, PLAIN, EDGE, GPU},
    {.dim = {5, 2, 2, 0, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {70, 1, 2, 97, 1, 19, 33}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU}, /* between 16-byte boundaries */
    {.dim = {450, 1, 1, 300, 1, 64, 64}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {200, 1, 2, 300, 1, 64, 40}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {300, 1, 1, 270, 1, 128, 128}, .dtype = RIDGE_F16, PLAIN, EDGE, GPU},
    {.dim = {150, 2, 2, 400, 1, 96, 128}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {400, 1, 2, 150, 2, 128, 72}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* queries without keys */
    {.dim = {140, 1, 1, 200, 1, 256, 256}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {140, 1, 2, 170, 1, 192, 128}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {300, 1, 1, 600, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {0, 1, 130, -1}, EDGE, GPU},
    {.dim = {260, 1, 1, 500, 1, 128, 128}, .dtype = RIDGE_F16, .option = {0, 0, 70, 40}, EDGE, GPU},
    {.dim = {200, 1, 4, 260, 2, 64, 64}, .dtype = RIDGE_BF16, .option = {0.3, 1, ALL, 5, 1, 1}, EDGE, GPU},
    {.dim = {140, 1, 2, 260, 2, 128, 128}, .dtype = RIDGE_F16, .option = {-0.2, 0, ALL, 0, 0, 1}, EDGE, GPU},
    {.dim = {300, 1, 2, 100, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {0, 1, ALL, 0, 1, 0}, EDGE, GPU},
    {.dim = {1, 1, 8, 700, 2, 128, 128}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 2, 6, 900, 2, 64, 40}, .dtype = RIDGE_F16, .option = {0, 1, 500, -1}, EDGE, GPU},
    {.dim = {3, 1, 4, 1100, 1, 96, 96}, .dtype = RIDGE_BF16, .option = {0.2, 1, ALL, 4, 1, 1}, EDGE, GPU},
    {.dim = {3, 2, 4, 330, 1, 256, 200}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {40, 1, 4, 200, 2, 64, 64}, .dtype = RIDGE_F16, .option = {0, 1, ALL, 0, 1, 0}, EDGE, GPU},
    {.dim = {130, 1, 2, 170, 1, 256, 200}, .dtype = RIDGE_BF16, .option = {0.1, 1, 90, -1, 2, 1, 1}, EDGE, GPU},
};

static const ridge_tensor_spec in[] = {
    {OF_HEAD("q", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D), .by_row = true},
    {OF_HEAD("k", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D)},
    {OF_HEAD("v", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_V), .plain = true},
    {OF_HEADS("sink", ATTENTION_SINKS), .plain = true},
    {OF_HEADS("slope", ATTENTION_SLOPES), .plain = true},
};
static const ridge_tensor_spec out[] = {
    {OF_HEAD("out", ATTENTION_M, ATTENTION_HEADS, ATTENTION_V)},
    {LSE},
};

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = attention_flops(c),
                      .bytes_read = attention_bytes_read(c),
                      .bytes_written = attention_bytes_written(c)};
}

/* ---- oracle ---- */

/* A query of one head. s: room for n scores. Returns its root of the sum of (p v)^2, the largest over v. */
static double one_query(const ridge_oracle_call *call, int64_t place, int64_t batch, int64_t head, double *s) {
    const int64_t *d = call->whole, row = call->row[place], shift = d[ATTENTION_N] - d[ATTENTION_M];
    const int64_t kv = head / (d[ATTENTION_HEADS] / d[ATTENTION_KV_HEADS]);
    const attention_mask mask = attention_mask_of(d, call->option);
    const attention_keys keys = attention_keys_of(mask, (int)row, (int)row, (int)d[ATTENTION_N]);
    const double cap = call->option[ATTENTION_SOFTCAP], scale = attention_scale(d, call->option);
    const double slope = call->option[ATTENTION_SLOPES] > 0 ? call->in[ATTENTION_IN_SLOPE][head] : 0;
    const double sink = call->option[ATTENTION_SINKS] > 0 ? call->in[ATTENTION_IN_SINK][head] : -(double)INFINITY;
    const int64_t at = (place * d[ATTENTION_BATCH] + batch) * d[ATTENTION_HEADS] + head;
    const double *q = call->in[ATTENTION_IN_Q] + at * d[ATTENTION_D];
    double most = sink, sum = 0, size = 0;
    for (int64_t j = keys.begin; j < keys.end; j++) {
        const double *k =
            call->in[ATTENTION_IN_K] + ((j * d[ATTENTION_BATCH] + batch) * d[ATTENTION_KV_HEADS] + kv) * d[ATTENTION_D];
        double x = 0;
        for (int64_t i = 0; i < d[ATTENTION_D]; i++) x += q[i] * k[i];
        x *= scale;
        if (cap > 0) x = cap * tanh(x / cap);
        s[j] = x - slope * fabs((double)(row + shift - j));
        if (!(s[j] <= most)) most = s[j];
    }
    const double less = isinf(most) && most < 0 ? 0 : most;
    for (int64_t j = keys.begin; j < keys.end; j++) sum += s[j] = exp(s[j] - less);
    if (!isinf(sink)) sum += exp(sink - less);
    const double by = sum > 0 || isnan(sum) ? 1 / sum : 0;
    if (call->out[ATTENTION_LSE])
        call->out[ATTENTION_LSE][at] = by > 0 || isnan(by) ? less + log(sum) : -(double)INFINITY;
    double *result = call->out[ATTENTION_OUT] ? call->out[ATTENTION_OUT] + at * d[ATTENTION_V] : NULL;
    for (int64_t i = 0; result && i < d[ATTENTION_V]; i++) {
        double total = 0, squares = 0;
        for (int64_t j = keys.begin; j < keys.end; j++) {
            const double p =
                s[j] * by *
                call->in[ATTENTION_IN_V]
                        [((j * d[ATTENTION_BATCH] + batch) * d[ATTENTION_KV_HEADS] + kv) * d[ATTENTION_V] + i];
            total += p, squares += p * p;
        }
        result[i] = total;
        if (squares > size) size = squares;
    }
    return sqrt(size);
}

static void oracle(const ridge_oracle_call *call) {
    double *s = malloc(sizeof(double) * (size_t)(call->whole[ATTENTION_N] + 1));
    for (int64_t place = 0; place < call->dim[ATTENTION_M]; place++)
        for (int64_t batch = 0; batch < call->whole[ATTENTION_BATCH]; batch++)
            for (int64_t head = 0; head < call->whole[ATTENTION_HEADS]; head++) {
                const double size = s ? one_query(call, place, batch, head, s) : (double)NAN;
                double *row = call->size[ATTENTION_OUT] ? &call->size[ATTENTION_OUT][place] : NULL;
                if (row && size > *row) *row = size;
            }
    free(s);
}

/* README.md derives it. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, n = (double)call->dim[ATTENTION_N];
    const attention_score_bound of_score =
        attention_score_bound_of(call, kind, ATTENTION_IN_Q, ATTENTION_IN_K, ATTENTION_IN_SLOPE);
    const double score = of_score.error, sums = attention_sum_bound(call, n), round = attention_round_bound(call);
    if (output == ATTENTION_LSE) {
        const double sink = call->option[ATTENTION_SINKS] > 0 ? call->in_max[ATTENTION_IN_SINK] : 0;
        *b = (ridge_bound){.absolute = score + sums + 2 * u * (of_score.largest + sink), .relative = 2 * u};
        return;
    }
    *b = (ridge_bound){.relative = round + 2 * u + sums + 2 * score, .sized = 4 * round + 8 * score + 4 * sums};
    if (call->dtype == RIDGE_F16)
        b->absolute = call->in_max[ATTENTION_IN_V] * 0x1p-25 * 6 * sqrt(n); /* P may be subnormal */
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scores, softmax, product, through memory",
     .run = RIDGE_CPU(attention_cpu_baseline),
     .traffic = attention_cpu_baseline_traffic,
     .scratch = attention_cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "64 queries by 256 keys at a time: scores stay in cache",
     .run = RIDGE_CPU(attention_cpu_optimized),
     .scratch = attention_cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "product, softmax, product, through memory, a head at a time",
     .run = RIDGE_CUDA(attention_cuda_baseline),
     .traffic = attention_unfused_traffic,
     .scratch = attention_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: scores and P stay in registers",
     .ways = attention_cuda_ways,
     .n_ways = ATTENTION_CUDA_WAYS},
};

const ridge_target ridge_target_attention = {
    .name = "attention",
    .summary = "softmax(q k^T) v in one pass, with masks, shared key heads, sinks",
    .exact = 2,
    ATTENTION_TARGET,
};
