/* Attention of some queries a sequence over a cache of keys and values in pages, as when text is generated: row b of `table` names
 * the pages of sequence b, `lengths` how many of their rows are keys, and its m queries are the last of these.
 * 4 d FLOP a score that is not masked, taken as if each sequence had the mean of drawn lengths; least traffic likewise. */
#include <string.h>

#include "attention/cpu.h"
#include "attention/oracle.h"
#include "attention/paged.h"

RIDGE_CUDA_DECLARE(attention_paged_cuda_baseline);

/* m, batch, heads, page, kv_heads, d, pages, blocks: drawn lengths are below the number of pages. */
static const ridge_case cases[] = {
    {.dim = {1, 64, 32, 16, 8, 128, 8192, 512}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {1, 64, 32, 64, 8, 128, 8192, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {1, 16, 64, 16, 8, 128, 32768, 2048}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {4, 128, 16, 32, 2, 64, 4096, 128}, .dtype = RIDGE_F16, CAUSAL, GPU},
    {.dim = {512, 4, 32, 16, 8, 128, 8192, 512}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {1, 8, 8, 16, 2, 64, 1024, 64}, .dtype = RIDGE_F32, CAUSAL, CPU},
    /* one of each, no query, no batch, one page, pages of 3 and of 24 rows, more queries than keys */
    {.dim = {1, 1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {0, 2, 2, 4, 1, 8, 9, 3}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {3, 0, 2, 4, 1, 8, 9, 3}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {2, 5, 4, 40, 2, 16, 30, 1}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {3, 6, 4, 3, 2, 19, 400, 111}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {70, 3, 2, 24, 1, 24, 300, 13}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {90, 4, 3, 16, 3, 8, 60, 4}, .dtype = RIDGE_F32, .option = {0.5, 1, 30, -1, 3, 1, 1}, EDGE, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {0, 2, 2, 4, 1, 8, 9, 3}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {3, 0, 2, 4, 1, 8, 9, 3}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {3, 6, 4, 3, 2, 19, 400, 111}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},   /* what TMA does not take */
    {.dim = {2, 5, 8, 24, 2, 64, 320, 13}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},    /* pages of no part of a step */
    {.dim = {1, 7, 8, 8, 2, 64, 620, 76}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},    /* the smallest pages of TMA */
    {.dim = {1, 6, 8, 16, 2, 128, 1000, 64}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* keys in parts */
    {.dim = {5, 5, 4, 128, 1, 128, 900, 6},
     .dtype = RIDGE_F16,
     CAUSAL,
     EDGE,
     GPU}, /* lengths beyond the room for keys */
    {.dim = {3, 4, 6, 256, 3, 96, 500, 4}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU}, /* pages of two steps */
    {.dim = {3, 4, 4, 32, 1, 256, 400, 14}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {2, 3, 2, 64, 2, 200, 500, 8}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {150, 3, 2, 16, 1, 64, 400, 25}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* queries without keys */
    {.dim = {300, 2, 4, 64, 1, 128, 512, 8}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {4, 4, 8, 40, 2, 64, 600, 15}, .dtype = RIDGE_BF16, .option = {0.3, 1, 200, -1, 5, 1, 1}, EDGE, GPU},
    {.dim = {4, 4, 8, 32, 2, 128, 640, 20}, .dtype = RIDGE_F16, .option = {-0.2, 1, 300, -1, 4, 1, 1}, EDGE, GPU},
};

#define PAGES(tensor) \
    .name = tensor, .rank = 4, .dim = {ATTENTION_PAGES, ATTENTION_PAGE, ATTENTION_KV_HEADS, ATTENTION_D}, .any_order = 3
static const ridge_tensor_spec in[] = {
    {OF_HEAD("q", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D), .by_row = true},
    {PAGES("k")},
    {PAGES("v"), .plain = true},
    {OF_HEADS("sink", ATTENTION_SINKS), .plain = true},
    {OF_HEADS("slope", ATTENTION_SLOPES), .plain = true},
    {.name = "table",
     .rank = 2,
     .dim = {ATTENTION_BATCH, ATTENTION_BLOCKS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_INDEX,
     .index_dim = ATTENTION_PAGES},
    {.name = "lengths",
     .rank = 1,
     .dim = {ATTENTION_BATCH},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_INDEX,
     .index_dim = ATTENTION_PAGES},
};
static const ridge_tensor_spec out[] = {{OF_HEAD("out", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D)}, {LSE}};

/* ---- oracle ---- */

static attention_span span_of(const ridge_oracle_call *call, int64_t row, int64_t batch) {
    const int64_t *d = call->whole;
    (void)row;
    return attention_ending((int64_t)call->in[ATTENTION_IN_LENGTHS][batch], (int)d[ATTENTION_M],
                            (int)(d[ATTENTION_PAGE] * d[ATTENTION_BLOCKS]));
}

static int64_t line_of(const ridge_oracle_call *call, int64_t key, int64_t batch, int64_t kv_head) {
    const int64_t *d = call->whole, page = d[ATTENTION_PAGE];
    const int64_t entry = (int64_t)call->in[ATTENTION_IN_TABLE][batch * d[ATTENTION_BLOCKS] + key / page];
    return (entry * page + key % page) * d[ATTENTION_KV_HEADS] + kv_head;
}

/* The call as attention's. */
typedef struct rows_call {
    ridge_case some, whole;
    ridge_oracle_call call;
} rows_call;
static void rows_call_of(const ridge_oracle_call *paged, rows_call *rows) {
    *rows = (rows_call){.call = *paged};
    memcpy(rows->some.dim, paged->dim, sizeof rows->some.dim);
    memcpy(rows->whole.dim, paged->whole, sizeof rows->whole.dim);
    rows->some = attention_paged_rows(&rows->some), rows->whole = attention_paged_rows(&rows->whole);
    rows->call.dim = rows->some.dim, rows->call.whole = rows->whole.dim;
}

static void oracle(const ridge_oracle_call *paged) {
    rows_call rows;
    rows_call_of(paged, &rows);
    attention_oracle(&rows.call, &(attention_reading){.call = paged, .span = span_of, .line = line_of});
}
static void bound(const ridge_oracle_call *paged, ridge_fill_kind kind, int output, ridge_bound *b) {
    rows_call rows;
    rows_call_of(paged, &rows);
    attention_bound(&rows.call, kind, output, b);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "keys and values copied to rows, then attention through memory",
     .run = RIDGE_CPU(attention_paged_cpu_baseline),
     .scratch = attention_paged_cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "126 queries by 256 keys, which are copied to where they stay in cache",
     .run = RIDGE_CPU(attention_paged_cpu_optimized),
     .scratch = attention_paged_cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "keys and values copied to rows, then product, softmax, product, a head at a time",
     .run = RIDGE_CUDA(attention_paged_cuda_baseline),
     .traffic = attention_paged_unfused_traffic,
     .scratch = attention_paged_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass over the pages where they lie, keys in parts side by side",
     .ways = attention_paged_ways,
     .n_ways = ATTENTION_PAGED_WAYS},
};

const ridge_target ridge_target_attention_paged = {
    .name = "attention_paged",
    .summary = "softmax(q k^T) v over keys and values in pages that a table names",
    .exact = 2,
    .dims = {"m", "batch", "heads", "page", "kv_heads", "d", "pages", "blocks"},
    ATTENTION_TARGET,
    .bound = bound,
    .work = attention_paged_work,
    .reject = attention_paged_reject,
};
