/* p[i,:] = softmax(x[i,:] w + b)      x: [batch, depth], w: [depth, classes], b: [classes], rows possibly strided;
 * f32, and on a GPU tf32, bf16 and f16, sums in fp32
 * 2 batch depth classes FLOP for the product, 5 batch classes for bias, max, exp, sum and scale.
 * Least traffic: every operand once, batch depth + depth classes + classes + batch classes elements. */
#include <math.h>

#include "linear/cpu_ways.h"
#include "linear_softmax.h"
#include "peer/cublaslt.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

static const linear_softmax_dims dims = {
    .batch = LINEAR_BATCH, .heads = -1, .depth = LINEAR_DEPTH, .classes = LINEAR_CLASSES};
#define DIMS dims
#include "linear/softmax_target.h"

#define EDGE_CUDA(type) .dtype = RIDGE_##type, .edge = true, .only = RIDGE_ONLY_CUDA

static const ridge_case cases[] = {
    {.dim = {64, 128, 10}, .dtype = RIDGE_F32},
    {.dim = {256, 512, 50}, .dtype = RIDGE_F32},
    {.dim = {1024, 1024, 100}, .dtype = RIDGE_F32},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_F32},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_TF32, .only = RIDGE_ONLY_CUDA},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {0, 3, 4}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {37, 5, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 257, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {33, 129, 29}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {131, 113, 127}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {29, 61, 35}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {21, 19, 68}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {13, 130, 80}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1, 5}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {35, 131, 10}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {67, 769, 100}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {701, 7, 60}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CPU}, /* product: two chunks of rows */
    {.dim = {5, 33, 3001}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CPU},
    {.dim = {7, 261, 1033}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {9, 1031, 113}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {67, 769, 521}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 256, 100}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 272, 57}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {65, 1040, 128}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {300, 528, 56}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {70, 208, 50}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {333, 2064, 77}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* several slabs */
    {.dim = {333, 2064, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {73, 16, 58}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* skinny/stream.cuh */
    {.dim = {970, 624, 99}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {1025, 1024, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {1000, 848, 33}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {1025, 1152, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {130, 784, 10}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* clusters of four */
    {.dim = {37, 144, 10}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {5, 33, 3001}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {2100, 1028, 1000}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {2100, 1028, 1001},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {41, 333, 100}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* copied operands */
    {.dim = {37, 150, 77}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {70, 203, 33}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {3, 48, 9001}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* tiles of classes */
    {.dim = {3, 48, 9001}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {131, 77, 259}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* split, of odd lines */
    {.dim = {130, 67, 259}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {35, 131, 259}, EDGE_CUDA(TF32)},
    {.dim = {35, 131, 260}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {300, 1024, 104}, EDGE_CUDA(BF16)}, /* a depth in shares */
    {.dim = {40, 777, 33}, EDGE_CUDA(BF16)},
    {.dim = {40, 1030, 24}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {9, 57, 8300}, EDGE_CUDA(BF16)},
    {.dim = {300, 72, 40}, EDGE_CUDA(BF16)}, /* narrow tiles */
    {.dim = {131, 200, 21}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {67, 35, 257}, EDGE_CUDA(TF32)},
    {.dim = {601, 76, 50}, EDGE_CUDA(TF32)}, /* narrow tiles */
    {.dim = {300, 132, 33}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {300, 204, 1000}, EDGE_CUDA(TF32)},
    {.dim = {129, 512, 1009}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {40, 64, 9000}, EDGE_CUDA(TF32)},
    {.dim = {1, 130, 301}, EDGE_CUDA(F32)}, /* few rows */
    {.dim = {3, 259, 1003}, EDGE_CUDA(TF32)},
    {.dim = {7, 70, 1026}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {19, 900, 131}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {1, 1000, 257}, EDGE_CUDA(BF16)},
    {.dim = {4, 33, 2503}, EDGE_CUDA(F16)},
    {.dim = {5, 261, 515}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {16, 1030, 520}, EDGE_CUDA(BF16)},
    {.dim = {33, 72, 600}, EDGE_CUDA(BF16), .column_major = 1u << LINEAR_W},
    {.dim = {20, 130, 301}, EDGE_CUDA(BF16)},
    {.dim = {12, 99, 203}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {7, 300, 67}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W}, /* likewise, by tensor cores */
    {.dim = {8, 130, 69}, EDGE_CUDA(BF16)},
    {.dim = {40, 300, 72}, EDGE_CUDA(F16)},
    {.dim = {12, 301, 70}, EDGE_CUDA(F32)},
    {.dim = {14, 270, 68}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {23, 261, 77}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {39, 650, 40}, EDGE_CUDA(F32)},
    {.dim = {10, 259, 35}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {15, 264, 36}, EDGE_CUDA(TF32)},
    {.dim = {50, 261, 31}, EDGE_CUDA(TF32)},
    {.dim = {33, 140, 69}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},

    {.dim = {0, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {1, 1, 1}, EDGE_CUDA(BF16)},
    {.dim = {1, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {67, 129, 131}, EDGE_CUDA(BF16)},
    {.dim = {300, 520, 1000}, EDGE_CUDA(BF16)},
    {.dim = {257, 200, 1009}, EDGE_CUDA(BF16), .column_major = 1u << LINEAR_W},
    {.dim = {40, 64, 9000}, EDGE_CUDA(BF16)},
    {.dim = {131, 257, 521}, EDGE_CUDA(F16)},
    {.dim = {256, 512, 1024}, EDGE_CUDA(F16)},
    {.dim = {66, 136, 1009}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {17, 6000, 12},
     .dtype = RIDGE_F32,
     .edge = true}, /* logits of several hundred in the special fill: exp overflows unless the maximum is subtracted */
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {LINEAR_BATCH, LINEAR_DEPTH}, .by_row = true},
    {.name = "w",
     .rank = 2,
     .dim = {LINEAR_DEPTH, LINEAR_CLASSES},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = LINEAR_DEPTH,
     .takes_column_major = true},
    {.name = "b", .rank = 1, .dim = {LINEAR_CLASSES}},
};
static const ridge_tensor_spec out[] = {{.name = "p", .rank = 2, .dim = {LINEAR_BATCH, LINEAR_CLASSES}}};

static double bytes_of(const ridge_case *c, int64_t elements) {
    return (double)ridge_dtype_size(c->dtype) * (double)elements;
}
static double x_bytes(const ridge_case *c) { return bytes_of(c, c->dim[LINEAR_BATCH] * c->dim[LINEAR_DEPTH]); }
static double w_bytes(const ridge_case *c) { return bytes_of(c, c->dim[LINEAR_DEPTH] * c->dim[LINEAR_CLASSES]); }
static double y_bytes(const ridge_case *c) { return bytes_of(c, c->dim[LINEAR_BATCH] * c->dim[LINEAR_CLASSES]); }
static double b_bytes(const ridge_case *c) { return bytes_of(c, c->dim[LINEAR_CLASSES]); }

static void work(const ridge_case *c, ridge_work *w) {
    const double logits = (double)c->dim[LINEAR_BATCH] * (double)c->dim[LINEAR_CLASSES];
    w->flops = logits * (2.0 * (double)c->dim[LINEAR_DEPTH] + 6); /* bias, max, subtract, exp, sum, scale */
    w->bytes_read = x_bytes(c) + w_bytes(c) + b_bytes(c);
    w->bytes_written = y_bytes(c);
}

/* Every row reads all of w; logits are written and read back. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c) + (w_bytes(c) + b_bytes(c)) * (double)c->dim[LINEAR_BATCH] + y_bytes(c),
                         .written = 2 * y_bytes(c)};
}

static const ridge_way cpu_ways[] = {
#if defined(__x86_64__)
    LINEAR_CPU_WIDE(linear_softmax_cpu_wide, &dims),
#endif
    LINEAR_CPU_FUSED(linear_softmax_cpu_fused, &dims),
    LINEAR_CPU_PRODUCT(linear_softmax_cpu_product, &dims),
};

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)y_bytes(c);
}

/* Logits are written and read in fp32: in the output for 4-byte probabilities, else in scratch. */
static void unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    const double logits = 4.0 * (double)c->dim[LINEAR_BATCH] * (double)c->dim[LINEAR_CLASSES];
    *t = (ridge_traffic){.read = x_bytes(c) + w_bytes(c) + b_bytes(c) + logits, .written = logits + y_bytes(c)};
}

static const char *fp32_only(const ridge_case *c) { return c->dtype == RIDGE_F32 ? NULL : "is for f32 only"; }
static const char *onednn_unavailable_for(const ridge_case *c) {
    return fp32_only(c) ? fp32_only(c) : onednn_unavailable(c);
}
static const char *openblas_unavailable_for(const ridge_case *c) {
    return fp32_only(c) ? fp32_only(c) : openblas_unavailable(c);
}
static const char *cublaslt_unavailable_for(const ridge_case *c) {
    return ridge_dtype_size(c->dtype) == 2 ? "would round logits to 16 bits" : cublaslt_unavailable(c);
}

static size_t library_scratch(const ridge_case *c, int threads) {
    (void)c, (void)threads;
    return CUBLASLT_WORKSPACE;
}

static ridge_status library_prepare(const ridge_case *c, int threads, void **plan) {
    const cublaslt_shape shape = {.rows = c->dim[LINEAR_BATCH],
                                  .depth = c->dim[LINEAR_DEPTH],
                                  .classes = c->dim[LINEAR_CLASSES],
                                  .batch = 1,
                                  .turned = (c->column_major & 1u << LINEAR_W) != 0,
                                  .dtype = c->dtype};
    (void)threads;
    return cublaslt_plan_create(&shape, (cublaslt_plan **)plan);
}

static const ridge_way optimized_ways[] = {
    LINEAR_WAYS_SKINNY(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_STREAM(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_SPLIT(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_TILES(linear_softmax_cuda_optimized, &dims),
    LINEAR_LOGITS_WAY(&dims),
    LINEAR_WAYS_FEW_ROWS(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_COPIED(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAYS_THIN(linear_softmax_cuda_optimized, &dims),
};
static const ridge_way unfused_ways[] = {LINEAR_LOGITS_WAY(&dims)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "plain product, logits to memory, then softmax",
     .run = RIDGE_CPU(linear_softmax_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch,
     .unavailable = fp32_only},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits never leave the cache, or a product that suits the shape",
     .ways = RIDGE_LIST(cpu_ways),
     .unavailable = fp32_only},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "dnnl_sgemm, then bias and softmax in place",
     .run = RIDGE_CPU(linear_softmax_cpu_onednn),
     .unavailable = onednn_unavailable_for,
     .prepare = onednn_prepare,
     .own_threads = true},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "cblas_sgemm, then bias and softmax in place",
     .run = RIDGE_CPU(linear_softmax_cpu_openblas),
     .unavailable = openblas_unavailable_for,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's product with bias, logits to memory, softmax in place",
     .run = RIDGE_CUDA(linear_softmax_cuda_baseline),
     .traffic = unfused_traffic,
     .scratch = library_scratch,
     .unavailable = cublaslt_unavailable_for,
     .prepare = library_prepare,
     .release = cublaslt_plan_destroy},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own product, logits to memory, softmax in place",
     .ways = RIDGE_LIST(unfused_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits stay on the chip: depth split over a cluster, or tiles whose rows' sums meet",
     .ways = RIDGE_LIST(optimized_ways)},
};

static void softmax(double *z, int64_t n) {
    double max = z[0], sum = 0;
    for (int64_t j = 1; j < n; j++) max = fmax(max, z[j]);
    for (int64_t j = 0; j < n; j++) sum += z[j] = exp(z[j] - max);
    for (int64_t j = 0; j < n; j++) z[j] /= sum;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t rows = call->dim[LINEAR_BATCH], depth = call->dim[LINEAR_DEPTH], n = call->dim[LINEAR_CLASSES];
    for (int64_t i = 0; i < rows; i++) {
        double *restrict z = call->out[0] + i * n;
        for (int64_t j = 0; j < n; j++) z[j] = call->in[LINEAR_B][j];
        for (int64_t d = 0; d < depth; d++) {
            const double s = call->in[LINEAR_X][i * depth + d];
            const double *restrict w = call->in[LINEAR_W] + d * n;
            for (int64_t j = 0; j < n; j++) z[j] += s * w[j];
        }
        softmax(z, n);
    }
}

/* README.md derives the terms. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double u = 0x1p-24, depth = (double)call->dim[LINEAR_DEPTH];
    const double product = call->in_max[LINEAR_X] * call->in_max[LINEAR_W], bias = call->in_max[LINEAR_B];
    const double deviation = product * sqrt(depth) / 3, spread = 2 * (6 * deviation + bias); /* of logits */
    const bool exact = kind == RIDGE_EXACT && depth * product + bias < 0x1p24;               /* then logits are exact */
    const bool half = ridge_dtype_size(call->dtype) == 2, tf32 = call->dtype == RIDGE_TF32;
    /* Partial sums as a random walk, and those of the largest logits, which drift towards five standard deviations. */
    const double wander = 1 / 7.3, drift = (5.0 / 3) / 3;
    double logit = u * (4 * product * depth * sqrt(wander * wander + drift * drift) + bias);
    if (half || tf32) logit += 2 * u * (depth / (tf32 ? 8 : 16) + 1) * (5 * deviation * 2 / 3 + product);
    if (tf32) logit += 4 * 0x1p-11 * deviation;
    if (exact) logit = 0;
    b->relative = 2 * logit + u * spread + u * (12 + 2 * sqrt((double)call->dim[LINEAR_CLASSES]));
    if (half) b->relative += ridge_dtype_roundoff(call->dtype);
}

static const char *reject(const ridge_case *c) {
    return c->dim[LINEAR_DEPTH] < 1 || c->dim[LINEAR_CLASSES] < 1 ? "depth and classes must be at least 1" : NULL;
}

const ridge_target ridge_target_linear_softmax = {
    .name = "linear_softmax",
    .chapter = "ch09",
    .summary = "softmax regression: softmax(x w + b)",
    .dims = {"batch", "depth", "classes"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .exact = 1,
    .large = 8,
    .products = true,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
