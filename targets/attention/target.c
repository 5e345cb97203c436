/* out = softmax(scale q k^T + mask) v, a head at a time, without the matrix of scores in memory; lse: its logarithm
 * 2 (d + v) FLOP a score that is not masked; least traffic size(q) + size(k) + size(v) + size(out) + size(lse).
 * kernels/attention/problem.h has the formula. */
#include "attention/cpu.h"
#include "attention/oracle.h"
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
    {.dim = {192, 1, 3, 191, 1, 40, 40}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* steps for some of a tile's rows */
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
    {.dim = {1, 1, 4, 700, 4, 64, 64}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {2, 2, 6, 900, 2, 64, 40}, .dtype = RIDGE_F16, .option = {0, 1, 500, -1}, EDGE, GPU},
    {.dim = {2, 1, 4, 1100, 1, 96, 96}, .dtype = RIDGE_BF16, .option = {0.2, 1, ALL, 4, 1, 1}, EDGE, GPU},
    {.dim = {5, 2, 6, 900, 2, 64, 40}, .dtype = RIDGE_F16, .option = {0, 1, 500, -1}, EDGE, GPU},
    {.dim = {3, 1, 4, 1100, 1, 96, 96}, .dtype = RIDGE_BF16, .option = {0.2, 1, ALL, 4, 1, 1}, EDGE, GPU},
    {.dim = {3, 2, 4, 330, 1, 256, 200}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {40, 1, 4, 200, 2, 64, 64}, .dtype = RIDGE_F16, .option = {0, 1, ALL, 0, 1, 0}, EDGE, GPU},
    {.dim = {130, 1, 2, 170, 1, 256, 200}, .dtype = RIDGE_BF16, .option = {0.1, 1, 90, -1, 2, 1, 1}, EDGE, GPU},
};

static const ridge_tensor_spec in[] = {ATTENTION_TENSORS_IN};
static const ridge_tensor_spec out[] = {ATTENTION_TENSORS_OUT};

static void oracle(const ridge_oracle_call *call) {
    attention_oracle(call,
                     &(attention_reading){.call = call, .span = attention_span_of_all, .line = attention_line_in_rows});
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
     .idea = "126 queries by 256 keys at a time: scores stay in cache",
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
    .dims = {ATTENTION_DIMS},
    ATTENTION_TARGET,
    .bound = attention_bound,
    .work = attention_work,
    .reject = attention_reject,
};
