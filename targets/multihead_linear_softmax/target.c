/* p[i,h,:] = softmax(x[i,:] w[h] + b[h])    x: [batch, depth], w: [heads, depth, classes], b: [heads, classes];
 * f32, and on a GPU tf32, bf16 and f16, sums in fp32
 * 2 batch heads depth classes FLOP for the products, 6 batch heads classes for bias, maximum, difference, exp, sum,
 * scale. Least traffic: every operand once, batch depth + heads depth classes + heads classes + batch heads classes
 * elements. */
#include <math.h>

#include "linear/cpu_ways.h"
#include "multihead_linear_softmax.h"
#include "peer/cublaslt.h"

static const linear_softmax_dims dims = {
    .batch = HEADS_BATCH, .heads = HEADS_HEADS, .depth = HEADS_DEPTH, .classes = HEADS_CLASSES};
/* Of a launch a head. */
static const linear_softmax_dims dims_apart = {
    .batch = HEADS_BATCH, .heads = HEADS_HEADS, .depth = HEADS_DEPTH, .classes = HEADS_CLASSES, .apart = true};
#define DIMS dims
#include "linear/softmax_target.h"

#define EDGE_CUDA(type) .dtype = RIDGE_##type, .edge = true, .only = RIDGE_ONLY_CUDA

static const ridge_case cases[] = {
    {.dim = {1024, 16, 1024, 100}, .dtype = RIDGE_F32},
    {.dim = {1024, 16, 1024, 100}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {256, 8, 512, 50}, .dtype = RIDGE_F32},
    {.dim = {0, 2, 3, 4}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 5, 257, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {33, 3, 129, 29}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {70, 3, 208, 50}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 2, 272, 100}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {17, 4, 64, 10}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {9, 2, 61, 131}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {70, 3, 203, 100}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* copied operands */
    {.dim = {3, 96, 256, 10}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {130, 48, 260, 101}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {257, 32, 300, 131}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {35, 3, 131, 21}, .dtype = RIDGE_TF32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {131, 5, 68, 131}, .dtype = RIDGE_TF32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {0, 3, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {1, 1, 1, 1}, EDGE_CUDA(F16)},
    {.dim = {70, 4, 33, 1}, EDGE_CUDA(BF16)},
    {.dim = {131, 3, 72, 21}, EDGE_CUDA(F16)},
    {.dim = {130, 6, 520, 5}, EDGE_CUDA(BF16)}, /* a depth in shares */
    {.dim = {201, 7, 1031, 2}, EDGE_CUDA(F16)},
    {.dim = {300, 3, 72, 40}, EDGE_CUDA(BF16)},
    {.dim = {300, 2, 61, 64}, EDGE_CUDA(BF16)},
    {.dim = {130, 3, 203, 100}, EDGE_CUDA(BF16)},
    {.dim = {257, 2, 200, 104}, EDGE_CUDA(F16)},
    {.dim = {67, 1, 129, 131}, EDGE_CUDA(F16)}, /* one head, copied */
    {.dim = {129, 3, 72, 131}, EDGE_CUDA(BF16)},
    {.dim = {66, 2, 136, 520}, EDGE_CUDA(F16)},  /* tiles that wait for each other */
    {.dim = {70, 2, 40, 8200}, EDGE_CUDA(BF16)}, /* more classes than tiles wait for */
    {.dim = {65, 2, 35, 8209}, EDGE_CUDA(F16)},
    {.dim = {4, 5, 131, 259}, EDGE_CUDA(BF16)}, /* few rows */
    {.dim = {12, 3, 99, 203}, EDGE_CUDA(F16)},
    {.dim = {9, 300, 3, 2}, EDGE_CUDA(F32)}, /* likewise, a block's tiles of several heads */
    {.dim = {9, 300, 3, 2}, EDGE_CUDA(BF16)},
    {.dim = {18, 3, 130, 70}, EDGE_CUDA(F32)},
    {.dim = {34, 2, 70, 133}, EDGE_CUDA(TF32)},
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {HEADS_BATCH, HEADS_DEPTH}, .by_row = true},
    {.name = "w",
     .rank = 3,
     .dim = {HEADS_HEADS, HEADS_DEPTH, HEADS_CLASSES},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = HEADS_DEPTH},
    {.name = "b", .rank = 2, .dim = {HEADS_HEADS, HEADS_CLASSES}},
};
static const ridge_tensor_spec out[] = {{.name = "p", .rank = 3, .dim = {HEADS_BATCH, HEADS_HEADS, HEADS_CLASSES}}};

static double d(const ridge_case *c, int which) { return (double)c->dim[which]; }
static double size(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double outputs(const ridge_case *c) { return d(c, HEADS_BATCH) * d(c, HEADS_HEADS) * d(c, HEADS_CLASSES); }
static double x_bytes(const ridge_case *c) { return size(c) * d(c, HEADS_BATCH) * d(c, HEADS_DEPTH); }
static double b_bytes(const ridge_case *c) { return size(c) * d(c, HEADS_HEADS) * d(c, HEADS_CLASSES); }
static double w_bytes(const ridge_case *c) { return b_bytes(c) * d(c, HEADS_DEPTH); }
static double p_bytes(const ridge_case *c) { return size(c) * outputs(c); }

static void work(const ridge_case *c, ridge_work *w) {
    w->flops = outputs(c) * (2.0 * d(c, HEADS_DEPTH) + 6);
    w->bytes_read = x_bytes(c) + w_bytes(c) + b_bytes(c);
    w->bytes_written = p_bytes(c);
}

/* Every head reads x again, every row w; logits are written and read. */
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){
        .read = x_bytes(c) * d(c, HEADS_HEADS) + (w_bytes(c) + b_bytes(c)) * d(c, HEADS_BATCH) + p_bytes(c),
        .written = 2 * p_bytes(c)};
}
static void unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c) + w_bytes(c) + b_bytes(c) + p_bytes(c), .written = 2 * p_bytes(c)};
}

static const char *fp32_only(const ridge_case *c) { return c->dtype == RIDGE_F32 ? NULL : "is for f32 only"; }
static const char *cublaslt_unavailable_for(const ridge_case *c) {
    return ridge_dtype_size(c->dtype) == 2 ? "would round logits to 16 bits" : cublaslt_unavailable(c);
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return sizeof(float) * (size_t)c->dim[HEADS_BATCH] * (size_t)c->dim[HEADS_CLASSES];
}

static const ridge_way cpu_ways[] = {
#if defined(__x86_64__)
    LINEAR_CPU_WIDE(multihead_linear_softmax_cpu_optimized, &dims),
#endif
    LINEAR_CPU_FUSED(multihead_linear_softmax_cpu_optimized, &dims),
    LINEAR_CPU_PRODUCT(multihead_linear_softmax_cpu_optimized, &dims),
};

static size_t library_scratch(const ridge_case *c, int threads) {
    (void)c, (void)threads;
    return CUBLASLT_WORKSPACE;
}
static ridge_status library_prepare(const ridge_case *c, int threads, void **plan) {
    const cublaslt_shape shape = {.rows = c->dim[HEADS_BATCH],
                                  .depth = c->dim[HEADS_DEPTH],
                                  .classes = c->dim[HEADS_CLASSES],
                                  .batch = (int)c->dim[HEADS_HEADS],
                                  .dtype = c->dtype};
    (void)threads;
    return cublaslt_plan_create(&shape, (cublaslt_plan **)plan);
}

static const ridge_way optimized_ways[] = {
    LINEAR_WAYS_SKINNY(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_SPLIT(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_HEADS(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_LOGITS_WAY(&dims),
    LINEAR_WAYS_FEW_ROWS(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_COPIED(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_THIN(multihead_linear_softmax_cuda_optimized, &dims),
};
static const ridge_way launches_ways[] = {
    LINEAR_WAYS_SKINNY(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_WAYS_STREAM(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_WAYS_TILES(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_LOGITS_WAY(&dims_apart),
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "plain products head by head, logits to memory, then softmax",
     .run = RIDGE_CPU(multihead_linear_softmax_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = baseline_scratch,
     .unavailable = fp32_only},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "linear_softmax's ways head by head",
     .ways = RIDGE_LIST(cpu_ways),
     .unavailable = fp32_only},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products of all heads in one call, logits to memory, then bias and softmax in place",
     .run = RIDGE_CUDA(multihead_linear_softmax_cuda_baseline),
     .traffic = unfused_traffic,
     .scratch = library_scratch,
     .unavailable = cublaslt_unavailable_for,
     .prepare = library_prepare,
     .release = cublaslt_plan_destroy},
    {.name = "cuda/launches",
     .role = RIDGE_PEER,
     .idea = "linear_softmax's fused kernel, a launch a head",
     .ways = RIDGE_LIST(launches_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "few tiles: one launch, heads are a dimension of the grid; many: fp16 parts or 16 bits, a tile per head",
     .ways = RIDGE_LIST(optimized_ways)},
};

static void softmax(double *z, int64_t n) {
    double max = z[0], sum = 0;
    for (int64_t j = 1; j < n; j++) max = fmax(max, z[j]);
    for (int64_t j = 0; j < n; j++) sum += z[j] = exp(z[j] - max);
    for (int64_t j = 0; j < n; j++) z[j] /= sum;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t rows = call->dim[HEADS_BATCH], heads = call->dim[HEADS_HEADS], depth = call->dim[HEADS_DEPTH];
    const int64_t n = call->dim[HEADS_CLASSES];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            double *restrict z = call->out[0] + (i * heads + h) * n;
            for (int64_t j = 0; j < n; j++) z[j] = call->in[HEADS_B][h * n + j];
            for (int64_t k = 0; k < depth; k++) {
                const double s = call->in[HEADS_X][i * depth + k];
                const double *restrict w = call->in[HEADS_W] + (h * depth + k) * n;
                for (int64_t j = 0; j < n; j++) z[j] += s * w[j];
            }
            softmax(z, n);
        }
}

/* The bound of linear_softmax, derived in its README. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double u = 0x1p-24, depth = (double)call->dim[HEADS_DEPTH];
    const double product = call->in_max[HEADS_X] * call->in_max[HEADS_W], bias = call->in_max[HEADS_B];
    const double spread = 2 * (6 * product * sqrt(depth) / 3 + bias);
    const bool half = ridge_dtype_size(call->dtype) == 2, tf32 = call->dtype == RIDGE_TF32;
    const bool exact = kind == RIDGE_EXACT && depth * product + bias < 0x1p24;
    const double wander = 1 / 7.3, drift = (5.0 / 3) / 3;
    double logit = u * (4 * product * depth * sqrt(wander * wander + drift * drift) + bias);
    if (half || tf32)
        logit += 2 * u * (depth / (tf32 ? 8 : 16) + 1) * (5 * product * sqrt(depth) / 3 * 2 / 3 + product);
    if (tf32) logit += 4 * 0x1p-11 * product * sqrt(depth) / 3;
    if (exact) logit = 0;
    b->relative = 2 * logit + u * spread + u * (12 + 2 * sqrt((double)call->dim[HEADS_CLASSES]));
    if (half) b->relative += ridge_dtype_roundoff(call->dtype);
}

static const char *reject(const ridge_case *c) {
    if (c->dim[HEADS_HEADS] < 1 || c->dim[HEADS_HEADS] > 65535) return "heads must be 1 ... 65535";
    return c->dim[HEADS_DEPTH] < 1 || c->dim[HEADS_CLASSES] < 1 ? "depth and classes must be at least 1" : NULL;
}

const ridge_target ridge_target_multihead_linear_softmax = {
    .name = "multihead_linear_softmax",
    .chapter = "ch09",
    .summary = "many softmax classifiers over one x: softmax(x w[h] + b[h])",
    .dims = {"batch", "heads", "depth", "classes"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .exact = 1,
    .products = true,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
