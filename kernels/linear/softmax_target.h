/* What the descriptors of linear_softmax and multihead_linear_softmax have in common. Included once, by target.c, which
 * defines before: DIMS, the linear_softmax_dims of its extents. */
#include <math.h>

#include "linear/cpu_ways.h"
#include "linear/logits.h"
#include "peer/cublaslt.h"

#define EDGE_CUDA(type) .dtype = RIDGE_##type, .edge = true, .only = RIDGE_ONLY_CUDA

/* ---- sizes: of p[i, h, :] = softmax(x[i, :] w[h] + b[h]) ---- */

static int64_t batch_of(const int64_t *dim) { return dim[DIMS.batch]; }
static int64_t depth_of(const int64_t *dim) { return dim[DIMS.depth]; }
static int64_t classes_of(const int64_t *dim) { return dim[DIMS.classes]; }
static int64_t heads_of(const int64_t *dim) { return DIMS.heads < 0 ? 1 : dim[DIMS.heads]; }

static double size(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double outputs(const ridge_case *c) {
    return (double)batch_of(c->dim) * (double)heads_of(c->dim) * (double)classes_of(c->dim);
}
static double x_bytes(const ridge_case *c) { return size(c) * (double)batch_of(c->dim) * (double)depth_of(c->dim); }
static double b_bytes(const ridge_case *c) { return size(c) * (double)heads_of(c->dim) * (double)classes_of(c->dim); }
static double w_bytes(const ridge_case *c) { return b_bytes(c) * (double)depth_of(c->dim); }
static double p_bytes(const ridge_case *c) { return size(c) * outputs(c); }

static void work(const ridge_case *c, ridge_work *w) {
    w->flops = outputs(c) * (2.0 * (double)depth_of(c->dim) + 6); /* bias, max, subtract, exp, sum, scale */
    w->bytes_read = x_bytes(c) + w_bytes(c) + b_bytes(c);
    w->bytes_written = p_bytes(c);
}

/* ---- the plain variants ---- */

/* Every head reads x again, every row w; logits are written and read. */
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c) * (double)heads_of(c->dim) +
                                 (w_bytes(c) + b_bytes(c)) * (double)batch_of(c->dim) + p_bytes(c),
                         .written = 2 * p_bytes(c)};
}
/* Logits of a head. */
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return sizeof(float) * (size_t)batch_of(c->dim) * (size_t)classes_of(c->dim);
}
/* Logits are written and read in fp32: in the output for 4-byte probabilities, else in scratch. */
static void unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    const double logits = 4.0 * outputs(c);
    *t = (ridge_traffic){.read = x_bytes(c) + w_bytes(c) + b_bytes(c) + logits, .written = logits + p_bytes(c)};
}

static const char *fp32_only(const ridge_case *c) { return c->dtype == RIDGE_F32 ? NULL : "is for f32 only"; }
static const char *cublaslt_unavailable_for(const ridge_case *c) {
    return ridge_dtype_size(c->dtype) == 2 ? "would round logits to 16 bits" : cublaslt_unavailable(c);
}
static size_t library_scratch(const ridge_case *c, int threads) {
    (void)c, (void)threads;
    return CUBLASLT_WORKSPACE;
}
static ridge_status library_prepare(const ridge_case *c, int threads, void **plan) {
    const cublaslt_shape shape = {.rows = batch_of(c->dim),
                                  .depth = depth_of(c->dim),
                                  .classes = classes_of(c->dim),
                                  .batch = (int)heads_of(c->dim),
                                  .turned = (c->column_major & 1u << LINEAR_W) != 0,
                                  .dtype = c->dtype};
    (void)threads;
    return cublaslt_plan_create(&shape, (cublaslt_plan **)plan);
}

#define LINEAR_CPU_BASELINE .traffic = cpu_baseline_traffic, .scratch = baseline_scratch, .unavailable = fp32_only
#define LINEAR_CUDA_BASELINE                                                                         \
    .traffic = unfused_traffic, .scratch = library_scratch, .unavailable = cublaslt_unavailable_for, \
    .prepare = library_prepare, .release = cublaslt_plan_destroy

/* ---- ways ---- */

#define LINEAR_CPU_WAY(number_, name_, idea_, run_) \
    { .name = name_, .idea = idea_, .plan = linear_cpu_plan, .run = run_, .number = number_, .own = &DIMS }
#if defined(__x86_64__)
#define LINEAR_CPU_WIDE(fn) \
    LINEAR_CPU_WAY(LINEAR_WAY_WIDE, "wide", "vectors along the classes, nothing is packed", RIDGE_CPU_AVX512(fn)),
#else
#define LINEAR_CPU_WIDE(fn)
#endif
#define LINEAR_CPU_WAYS(wide, fused, product)                                                                        \
    LINEAR_CPU_WIDE(wide)                                                                                            \
    LINEAR_CPU_WAY(LINEAR_WAY_FUSED, "fused",                                                                        \
                   "vectors along the batch, classes in registers, logits never leave the cache", RIDGE_CPU(fused)), \
        LINEAR_CPU_WAY(LINEAR_WAY_PRODUCT, "product", "a product of any shape to the output, softmax in place",      \
                       RIDGE_CPU(product))

/* fn: its extern "C" function, which reads call->way->number. dims: a const linear_softmax_dims *. */
#define LINEAR_WAY(number_, name_, idea_, fn, needs_, dims_)                                                   \
    {                                                                                                          \
        .name = name_, .idea = idea_, .needs = needs_, .plan = linear_softmax_way_plan, .run = RIDGE_CUDA(fn), \
        .number = number_, .own = dims_                                                                        \
    }
#define LINEAR_WAYS_SKINNY(fn, dims)                                                                                   \
    LINEAR_WAY(SKINNY_SINGLE, "skinny_single", "16 rows a block, operands by single loads: any alignment", fn, 80,     \
               dims),                                                                                                  \
        LINEAR_WAY(SKINNY_NARROW, "skinny_narrow", "16 rows a block, up to 16 classes", fn, 90, dims),                 \
        LINEAR_WAY(SKINNY_SHARED, "skinny_shared", "the same, four blocks share the depth", fn, 90, dims),             \
        LINEAR_WAY(SKINNY_CLUSTER, "skinny_cluster", "16 rows a cluster, eight blocks share the depth", fn, 90, dims), \
        LINEAR_WAY(SKINNY_WGMMA, "skinny_wgmma", "64 rows a cluster, wgmma, blocks share the depth", fn, 90, dims)
#define LINEAR_WAY_STREAM(fn, dims)                                                                                    \
    LINEAR_WAY(SKINNY_STREAM, "skinny_stream", "72 rows a cluster of eight that has all of the depth at once", fn, 90, \
               dims)
#define LINEAR_WAY_SPLIT(fn, dims)                                                                                    \
    LINEAR_WAY(LINEAR_TILES_SPLIT, "tiles_split", "operands split once; tiles of 128 rows exchange their rows' sums", \
               fn, 90, dims)
#define LINEAR_WAY_TILES(fn, dims) \
    LINEAR_WAY(LINEAR_TILES_16, "tiles_16", "tiles of 128 rows exchange their rows' sums", fn, 90, dims)
#define LINEAR_WAY_HEADS(fn, dims)                                                                                  \
    LINEAR_WAY(LINEAR_TILES_HEADS, "tiles_heads", "w copied, each head's classes in whole tiles; then as tiles_16", \
               fn, 90, dims)
#define LINEAR_WAY_FEW_ROWS(fn, dims) \
    LINEAR_WAY(LINEAR_FEW_ROWS, "few_rows", "w read once at memory's rate, by tensor cores from 9 rows on", fn, 0, dims)
#define LINEAR_WAY_COPIED(fn, dims)                                                                                  \
    LINEAR_WAY(LINEAR_COPIED, "copied", "operands copied to aligned memory, then the way that suits the copies", fn, \
               90, dims)
#define LINEAR_WAY_THIN(fn, dims)                                                                                     \
    LINEAR_WAY(LINEAR_THIN, "thin", "all columns of 32 rows a warp, by mma.sync; x is read once, as it lies", fn, 80, \
               dims)

/* ---- oracle and bound: targets/linear_softmax/README.md derives its terms ---- */

static void softmax(double *z, int64_t n) {
    double max = z[0], sum = 0;
    for (int64_t j = 1; j < n; j++) max = fmax(max, z[j]);
    for (int64_t j = 0; j < n; j++) sum += z[j] = exp(z[j] - max);
    for (int64_t j = 0; j < n; j++) z[j] /= sum;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t rows = batch_of(call->dim), heads = heads_of(call->dim), depth = depth_of(call->dim);
    const int64_t n = classes_of(call->dim);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            double *restrict z = call->out[0] + (i * heads + h) * n;
            for (int64_t j = 0; j < n; j++) z[j] = call->in[LINEAR_B][h * n + j];
            for (int64_t k = 0; k < depth; k++) {
                const double s = call->in[LINEAR_X][i * depth + k];
                const double *restrict w = call->in[LINEAR_W] + (h * depth + k) * n;
                for (int64_t j = 0; j < n; j++) z[j] += s * w[j];
            }
            softmax(z, n);
        }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double u = 0x1p-24, depth = (double)depth_of(call->dim);
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
    b->relative = 2 * logit + u * spread + u * (12 + 2 * sqrt((double)classes_of(call->dim)));
    if (half) b->relative += ridge_dtype_roundoff(call->dtype);
}

static const char *reject(const ridge_case *c) {
    if (heads_of(c->dim) < 1 || heads_of(c->dim) > 65535) return "heads must be 1 ... 65535";
    return depth_of(c->dim) < 1 || classes_of(c->dim) < 1 ? "depth and classes must be at least 1" : NULL;
}

/* The target's fields whose names are those of this file and of the including one. */
#define LINEAR_TARGET                                                                                               \
    .chapter = "ch09", .cases = RIDGE_LIST(cases), .in = RIDGE_LIST(in), .out = RIDGE_LIST(out),                    \
    .variants = RIDGE_LIST(variants), .exact = 1, .products = true, .work = work, .oracle = oracle, .bound = bound, \
    .reject = reject
