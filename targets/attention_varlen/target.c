/* Attention of sequences of different lengths that lie one behind the other: query i sees keys of its own sequence alone
 * 2 (d + v) FLOP a score that is not masked, taken as if all lengths were one; least traffic as of attention, and the ends.
 * Sequence s has the queries from q_ends[s - 1] to below q_ends[s], and keys likewise; kernels/attention/problem.h. */
#include "attention/cpu.h"
#include "attention/oracle.h"
#include "attention/unfused.h"
#include "attention/ways.h"

RIDGE_CUDA_DECLARE(attention_varlen_cuda_baseline);

/* m, batch, heads, n, kv_heads, d, v, sequences */
static const ridge_case cases[] = {
    {.dim = {16384, 1, 16, 16384, 16, 128, 128, 8}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {16384, 1, 32, 16384, 8, 128, 128, 32}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 64, 64, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {16384, 1, 8, 16384, 8, 256, 256, 16}, .dtype = RIDGE_F16, PLAIN, GPU},
    {.dim = {2048, 1, 4, 2048, 2, 64, 64, 8}, .dtype = RIDGE_F32, CAUSAL, CPU},
    /* one of each, more sequences than queries, no query, no key, no batch */
    {.dim = {1, 1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 2, 2, 17, 1, 8, 8, 9}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {0, 1, 2, 9, 1, 8, 8, 2}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 1, 2, 0, 1, 8, 8, 3}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8, 2}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {200, 1, 2, 700, 2, 19, 33, 3}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {300, 1, 3, 130, 1, 16, 16, 5}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU}, /* queries without keys */
    {.dim = {190, 2, 2, 600, 2, 32, 32, 4}, .dtype = RIDGE_F32, .option = {-0.3, 0, 50, 20}, EDGE, CPU},
    {.dim = {150, 1, 4, 150, 2, 24, 24, 2}, .dtype = RIDGE_F32, .option = {0.5, 1, ALL, 3, 1, 1}, EDGE, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 2, 2, 17, 1, 8, 8, 9}, .dtype = RIDGE_F16, PLAIN, EDGE, GPU},
    {.dim = {0, 1, 2, 9, 1, 8, 8, 2}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 1, 2, 0, 1, 8, 8, 3}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8, 2}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {170, 1, 2, 197, 1, 19, 33, 3}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU}, /* between 16-byte boundaries */
    {.dim = {450, 1, 2, 300, 1, 64, 64, 3}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {500, 1, 1, 620, 1, 64, 40, 2}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {330, 2, 2, 400, 1, 96, 128, 4}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {400, 1, 2, 150, 2, 128, 72, 3}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* queries without keys */
    {.dim = {300, 1, 2, 270, 1, 192, 128, 3}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {290, 1, 1, 350, 1, 256, 256, 2}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {400, 1, 1, 600, 1, 64, 64, 2}, .dtype = RIDGE_BF16, .option = {0, 1, 130, -1}, EDGE, GPU},
    {.dim = {360, 1, 1, 500, 1, 128, 128, 3}, .dtype = RIDGE_F16, .option = {0, 0, 70, 40}, EDGE, GPU},
    {.dim = {300, 1, 4, 260, 2, 64, 64, 4}, .dtype = RIDGE_BF16, .option = {0.3, 1, ALL, 5, 1, 1}, EDGE, GPU},
    {.dim = {280, 1, 2, 260, 2, 128, 128, 3}, .dtype = RIDGE_F16, .option = {-0.2, 0, ALL, 0, 0, 1}, EDGE, GPU},
    {.dim = {140, 1, 2, 270, 1, 256, 200, 3}, .dtype = RIDGE_BF16, .option = {0.1, 1, 90, -1, 2, 1, 1}, EDGE, GPU},
};

#define ENDS(tensor, of)                                                                                      \
    {                                                                                                         \
        .name = tensor, .rank = 1, .dim = {ATTENTION_SEQUENCES}, .dtype = RIDGE_I32, .fill = RIDGE_FILL_ENDS, \
        .index_dim = of                                                                                       \
    }
static const ridge_tensor_spec in[] = {ATTENTION_TENSORS_IN, ENDS("q_ends", ATTENTION_M), ENDS("k_ends", ATTENTION_N)};
static const ridge_tensor_spec out[] = {ATTENTION_TENSORS_OUT};

/* ---- oracle ---- */

static int64_t end_of(const ridge_oracle_call *call, int ends, int64_t s) {
    return s < 0 ? 0 : (int64_t)call->in[ends][s];
}

/* Rows behind the last end are of no sequence. */
static attention_span span_of(const ridge_oracle_call *call, int64_t row, int64_t batch) {
    (void)batch;
    const int64_t count = call->whole[ATTENTION_SEQUENCES];
    int64_t s = 0;
    while (s < count && row >= end_of(call, ATTENTION_IN_Q_ENDS, s)) s++;
    if (s == count) return (attention_span){0, 0, {0, 0}};
    return (attention_span){(int)end_of(call, ATTENTION_IN_Q_ENDS, s - 1),
                            (int)end_of(call, ATTENTION_IN_Q_ENDS, s),
                            {(int)end_of(call, ATTENTION_IN_K_ENDS, s - 1), (int)end_of(call, ATTENTION_IN_K_ENDS, s)}};
}

static void oracle(const ridge_oracle_call *call) {
    attention_oracle(call, &(attention_reading){.call = call, .span = span_of, .line = attention_line_in_rows});
}

static const char *reject(const ridge_case *c) {
    if (c->dim[ATTENTION_SEQUENCES] < 1) return "sequences must be at least 1";
    if (c->dim[ATTENTION_SEQUENCES] >= ATTENTION_ALL) return "sequences must be below 2^30";
    return attention_reject(c);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "sequence after sequence: scores, softmax, product, through memory",
     .run = RIDGE_CPU(attention_varlen_cpu_baseline),
     .scratch = attention_cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "64 queries of a sequence by 256 keys at a time: scores stay in cache",
     .run = RIDGE_CPU(attention_varlen_cpu_optimized),
     .scratch = attention_cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scores of all pairs through memory, masked but within a sequence",
     .run = RIDGE_CUDA(attention_varlen_cuda_baseline),
     .traffic = attention_unfused_traffic,
     .scratch = attention_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one launch, whose tiles find their sequences on the device",
     .ways = attention_varlen_ways,
     .n_ways = ATTENTION_VARLEN_WAYS},
};

const ridge_target ridge_target_attention_varlen = {
    .name = "attention_varlen",
    .summary = "softmax(q k^T) v of sequences of different lengths, one behind the other",
    .exact = 2,
    .dims = {ATTENTION_DIMS, "sequences"},
    ATTENTION_TARGET,
    .bound = attention_bound,
    .work = attention_work,
    .reject = reject,
};
