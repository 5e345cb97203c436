/* out = v_scale softmax(scale q_scale k_scale q k^T + mask) v of codes in e4m3, without the matrix of scores in memory; lse: its
 * logarithm. q: [m, batch, heads, d], k: [n, batch, kv_heads, d], v: [n, batch, kv_heads, v], scales f32 [batch, heads] of q and
 * [batch, kv_heads] of k and v; out f32, bf16 or f16. 2 (d + v) FLOP a score that is not masked; least traffic: all of these once.
 * kernels/attention/problem.h has the formula, README.md the bound. */
#include "attention/cpu.h"
#include "attention/fp8.h"
#include "attention/oracle.h"
#include "gemm/fp8_lost.h"

RIDGE_CPU_DECLARE(fp8_attention_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_attention_cpu_optimized);
RIDGE_CUDA_DECLARE(attention_fp8_cuda_baseline);

/* m, batch, heads, n, kv_heads, d, v */
static const ridge_case cases[] = {
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {16384, 1, 16, 16384, 16, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {4096, 4, 16, 4096, 16, 128, 128}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {8192, 1, 64, 8192, 8, 128, 128}, .dtype = RIDGE_BF16, CAUSAL, GPU},
    {.dim = {8192, 2, 32, 8192, 32, 64, 64}, .dtype = RIDGE_BF16, PLAIN, GPU},
    {.dim = {512, 1, 8, 512, 8, 64, 64}, .dtype = RIDGE_F32, PLAIN, CPU},
    {.dim = {1024, 1, 4, 1024, 2, 128, 128}, .dtype = RIDGE_F32, CAUSAL, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {0, 2, 2, 9, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 2, 2, 0, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8}, .dtype = RIDGE_F32, PLAIN, EDGE, CPU},
    {.dim = {61, 1, 2, 97, 2, 19, 33}, .dtype = RIDGE_F32, .option = {2, 0, ALL}, EDGE, CPU},
    {.dim = {130, 2, 4, 300, 2, 40, 24}, .dtype = RIDGE_F32, CAUSAL, EDGE, CPU},
    {.dim = {150, 1, 4, 150, 2, 24, 24}, .dtype = RIDGE_F32, .option = {0.5, 1, ALL, 3, 1, 1}, EDGE, CPU},
    {.dim = {1, 1, 1, 1, 1, 1, 1}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {0, 2, 2, 9, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 2, 2, 0, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {5, 0, 2, 7, 1, 8, 8}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {70, 1, 2, 97, 1, 19, 33}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU}, /* between 16-byte boundaries */
    {.dim = {300, 1, 2, 500, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {2, 0, ALL}, EDGE, GPU},
    {.dim = {200, 1, 2, 300, 1, 64, 40}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {300, 1, 1, 270, 1, 128, 128}, .dtype = RIDGE_BF16, .option = {1, 0, ALL}, EDGE, GPU},
    {.dim = {150, 2, 2, 640, 1, 96, 128}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU},
    {.dim = {400, 1, 2, 150, 2, 128, 72}, .dtype = RIDGE_BF16, CAUSAL, EDGE, GPU}, /* queries without keys */
    {.dim = {140, 1, 1, 200, 1, 256, 256}, .dtype = RIDGE_BF16, PLAIN, EDGE, GPU},
    {.dim = {300, 1, 2, 340, 1, 64, 64}, .dtype = RIDGE_F16, CAUSAL, EDGE, GPU},
    {.dim = {150, 1, 4, 400, 2, 128, 128}, .dtype = RIDGE_F16, .option = {2, 0, ALL}, EDGE, GPU},
    {.dim = {300, 1, 1, 600, 1, 64, 64}, .dtype = RIDGE_BF16, .option = {0, 1, 130, -1}, EDGE, GPU},
    {.dim = {260, 1, 4, 500, 2, 128, 128}, .dtype = RIDGE_BF16, .option = {3, 0, 70, 40}, EDGE, GPU},
    {.dim = {200, 1, 4, 260, 2, 64, 64}, .dtype = RIDGE_BF16, .option = {0.3, 1, ALL, 5, 1, 1}, EDGE, GPU},
    {.dim = {140, 1, 2, 260, 2, 128, 128}, .dtype = RIDGE_BF16, .option = {-0.2, 0, ALL, 0, 0, 1}, EDGE, GPU},
};

#define SCALE(tensor, heads) \
    .name = tensor, .rank = 2, .dim = {ATTENTION_BATCH, heads}, .dtype = RIDGE_F32, .plain = true
#define CODES .dtype = RIDGE_E4M3
static const ridge_tensor_spec in[] = {
    {OF_HEAD("q", ATTENTION_M, ATTENTION_HEADS, ATTENTION_D), CODES, .by_row = true},
    {OF_HEAD("k", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D), CODES},
    {OF_HEAD("v", ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_V), CODES, .plain = true},
    {OF_HEADS("sink", ATTENTION_SINKS), .plain = true},
    {OF_HEADS("slope", ATTENTION_SLOPES), .plain = true},
    {SCALE("q_scale", ATTENTION_HEADS)},
    {SCALE("k_scale", ATTENTION_KV_HEADS)},
    {SCALE("v_scale", ATTENTION_KV_HEADS)},
};
static const ridge_tensor_spec out[] = {ATTENTION_TENSORS_OUT};

/* ---- oracle ---- */

static void oracle(const ridge_oracle_call *call) {
    attention_oracle(call, &(attention_reading){.call = call,
                                                .span = attention_span_of_all,
                                                .line = attention_line_in_rows,
                                                .q_scale = call->in[ATTENTION_IN_Q_SCALE],
                                                .k_scale = call->in[ATTENTION_IN_K_SCALE],
                                                .v_scale = call->in[ATTENTION_IN_V_SCALE]});
}

/* README.md derives it. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double n = (double)call->dim[ATTENTION_N], d = (double)call->dim[ATTENTION_D];
    const double scales = call->in_max[ATTENTION_IN_Q_SCALE] * call->in_max[ATTENTION_IN_K_SCALE];
    const double products = call->in_max[ATTENTION_IN_Q] * call->in_max[ATTENTION_IN_K] * scales *
                            fabs(attention_scale(call->whole, call->option));
    const bool codes = call->dtype != RIDGE_F32, exact = kind == RIDGE_EXACT;
    attention_score_bound s = attention_score_bound_of(call, kind, ATTENTION_IN_Q, ATTENTION_IN_K, ATTENTION_IN_SLOPE);
    s.largest *= scales;
    s.error = 2 * fmax(scales, 1) * s.error + 0x1p-21 * s.largest + (codes && !exact ? 3 * products * fp8_lost(d) : 0);
    attention_bound_of(call, s, codes ? 2.6 * 0x1p-4 : 0, output, b);
    if (!codes || output != ATTENTION_OUT) return;
    b->sized += 0x1p-13 * (4 + sqrt(n));
    b->absolute = call->in_max[ATTENTION_IN_V] * call->in_max[ATTENTION_IN_V_SCALE] * 0x1p-18 * 6 * sqrt(n);
}

/* fp32 values of codes come before what attention's variants need. */
static size_t values_bytes(const ridge_case *c) { return sizeof(float) * (size_t)attention_unpacked_elements(c->dim); }
static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    return values_bytes(c) + attention_cpu_baseline_scratch(c, threads);
}
static size_t cpu_scratch(const ridge_case *c, int threads) {
    return values_bytes(c) + attention_cpu_scratch(c, threads);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "values of codes, scores, softmax, product, through memory",
     .run = RIDGE_CPU(fp8_attention_cpu_baseline),
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "126 queries by 256 keys at a time: scores stay in cache",
     .run = RIDGE_CPU(fp8_attention_cpu_optimized),
     .scratch = cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "operands in 16 bits, product, softmax, product, through memory, a head at a time",
     .run = RIDGE_CUDA(attention_fp8_cuda_baseline),
     .traffic = attention_fp8_unfused_traffic,
     .scratch = attention_fp8_unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: codes are multiplied, P in codes, sums of a step in fp32",
     .ways = attention_fp8_ways,
     .n_ways = ATTENTION_FP8_WAYS},
};

const ridge_target ridge_target_fp8_attention = {
    .name = "fp8_attention",
    .summary = "attention of e4m3 with scales of heads, P in e4m3, too",
    .exact = 2,
    .dims = {ATTENTION_DIMS},
    ATTENTION_TARGET,
    .bound = bound,
    .work = attention_fp8_work,
    .reject = attention_reject,
};
