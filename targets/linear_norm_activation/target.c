/* y[i,:] = gelu((h - mean) / sqrt(var + 1e-5) gamma + beta), h = x[i,:] w + b      x: [m, k], w: [k, n] row- or column-major,
 * b, gamma, beta: [n], y: [m, n]; f32, on a GPU bf16 and f16. 2 m n k FLOP and 12 for each element of y; least traffic: all
 * of these once. */
#include <math.h>
#include <stdlib.h>

#include "cpu/gemm_product.h"
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "linear_norm_activation.h"
#include "model/norm_eps.h"
#include "model/norm_weight.h"
#include "peer/cublaslt.h"

enum { W = 1u << GEMM_NORM_W };
#define GPU MATMUL_GPU
#define EDGE .edge = true

static const ridge_case cases[] = {
    {.dim = {8192, 4096, 4096}, .dtype = RIDGE_BF16, GPU},
    {.dim = {8192, 4096, 4096}, .dtype = RIDGE_BF16, .column_major = W, GPU},
    {.dim = {8192, 1024, 1024}, .dtype = RIDGE_BF16, GPU},
    {.dim = {4096, 8192, 8192}, .dtype = RIDGE_F16, GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F32, GPU},
    {.dim = {1024, 1024, 512}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {.dim = {0, 5, 7}, .dtype = RIDGE_F32, EDGE},
    {.dim = {1, 3, 1}, .dtype = RIDGE_F32, EDGE},
    {.dim = {3, 3, 5}, .dtype = RIDGE_F32, .column_major = W, EDGE}, /* of 2 columns all rows are alike */
    {.dim = {161, 97, 113}, .dtype = RIDGE_F32, EDGE},
    {.dim = {33, 170, 31}, .dtype = RIDGE_F32, .column_major = W, EDGE},
    {.dim = {140, 136, 300}, .dtype = RIDGE_F32, EDGE, GPU},
    {.dim = {0, 8, 16}, .dtype = RIDGE_BF16, EDGE, GPU},
    {.dim = {1, 8, 8}, .dtype = RIDGE_BF16, EDGE, GPU},
    {.dim = {300, 520, 200}, .dtype = RIDGE_BF16, EDGE, GPU},
    {.dim = {257, 777, 72}, .dtype = RIDGE_F16, .column_major = W, EDGE, GPU},
    {.dim = {130, 264, 136}, .dtype = RIDGE_F16, EDGE, GPU},
    {.dim = {5, 8712, 40}, .dtype = RIDGE_BF16, .column_major = W, EDGE, GPU}, /* more tiles than a warp has lanes */
    {.dim = {61, 97, 113}, .dtype = RIDGE_BF16, EDGE, GPU},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, EDGE, GPU}, /* every y is gelu(beta), and the bound too wide for mutants */
};

static const ridge_tensor_spec in[GEMM_NORM_INPUTS] = {
    {.name = "x", .rank = 2, .dim = {MATMUL_M, MATMUL_K}, .by_row = true},
    {.name = "w", .rank = 2, .dim = {MATMUL_K, MATMUL_N}, .takes_column_major = true},
    {.name = "b", .rank = 1, .dim = {MATMUL_N}},
    {.name = "gamma", .rank = 1, .dim = {MATMUL_N}},
    {.name = "beta", .rank = 1, .dim = {MATMUL_N}},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {MATMUL_M, MATMUL_N}}};

/* Bias 1, mean 1, variance 3, normalization 4, GELU 3. */
static void work(const ridge_case *c, ridge_work *w) {
    const double m = (double)c->dim[MATMUL_M], n = (double)c->dim[MATMUL_N];
    matmul_work(c, w);
    w->flops += 12 * m * n;
    w->bytes_read += 3 * n * (double)ridge_dtype_size(c->dtype);
}

/* ---- oracle and bound ---- */

/* h of one row, its mean, 1 / deviation, largest |h - mean| and largest |h|. */
typedef struct statistics {
    double mean, inverse, spread, largest;
} statistics;
static statistics row_of(const ridge_oracle_call *call, int64_t i, double *h) {
    const int64_t n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    statistics s = {0};
    double squares = 0;
    for (int64_t j = 0; j < n; j++) h[j] = call->in[GEMM_NORM_BIAS][j];
    for (int64_t d = 0; d < k; d++) {
        const double x = call->in[GEMM_NORM_X][i * k + d], *w = call->in[GEMM_NORM_W] + d * n;
        for (int64_t j = 0; j < n; j++) h[j] += x * w[j];
    }
    for (int64_t j = 0; j < n; j++) s.mean += h[j] / (double)n, s.largest = fmax(s.largest, fabs(h[j]));
    for (int64_t j = 0; j < n; j++) {
        squares += (h[j] - s.mean) * (h[j] - s.mean);
        s.spread = fmax(s.spread, fabs(h[j] - s.mean));
    }
    s.inverse = 1.0 / sqrt(squares / (double)n + (double)NORM_EPS);
    return s;
}

/* Error of (h - mean) inverse: README.md. */
static double normalized_error(const ridge_oracle_call *call, ridge_fill_kind kind, const statistics *s) {
    const double u = 0x1p-24, n = (double)call->dim[MATMUL_N], walk = 1 + sqrt(fmin(n, 2048) / 8);
    const double t = s->spread * s->inverse;
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    ridge_bound b;
    matmul_bound(call, kind, 0, &b);
    if (narrow) b.relative -= ridge_dtype_roundoff(call->dtype);
    const double h = b.absolute + (b.relative + u) * (s->largest + call->in_max[GEMM_NORM_BIAS]);
    double error = h * s->inverse * (2 + t);
    error += u * (t * (6 + walk) + s->largest * s->inverse * (4 + 0.25 * walk) * (1 + t * t * 0.25));
    return narrow ? error + 2 * t * ridge_dtype_roundoff(call->dtype) : error;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[MATMUL_N];
    for (int64_t i = 0; i < call->dim[MATMUL_M]; i++) {
        double *y = call->out[0] + i * n;
        const statistics s = row_of(call, i, y);
        const double error = normalized_error(call, RIDGE_RANDOM, &s);
        for (int64_t j = 0; j < n; j++) {
            const double v = norm_weighted((y[j] - s.mean) * s.inverse, error, call->in[GEMM_NORM_GAMMA][j],
                                           call->in[GEMM_NORM_BETA][j]);
            y[j] = ridge_is_undecided(v) ? v : 0.5 * v * (1.0 + erf(v * sqrt(0.5)));
        }
    }
}

/* The worst row at hand. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, gamma = call->in_max[GEMM_NORM_GAMMA], beta = call->in_max[GEMM_NORM_BETA];
    const double stored = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype);
    double *h = malloc(sizeof(double) * (size_t)call->dim[MATMUL_N]), worst = 0;
    (void)output;
    for (int64_t i = 0; h && i < call->dim[MATMUL_M]; i++) {
        const statistics s = row_of(call, i, h);
        const double v = s.spread * s.inverse * gamma + beta;
        const double error = 1.13 * (normalized_error(call, kind, &s) * gamma + 2 * u * v) + 5 * u * v;
        if (error > worst) worst = error;
    }
    free(h);
    *b = (ridge_bound){.absolute = worst * (1 + stored), .relative = u + stored};
}

static const char *reject(const ridge_case *c) {
    return c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1 ? "n and k must be at least 1" : NULL;
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    return gemm_product_scratch(c->dim[MATMUL_M], c->dim[MATMUL_N], c->dim[MATMUL_K], threads);
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[MATMUL_M], n = c->dim[MATMUL_N], rows = linear_norm_rows(n);
    return gemm_product_scratch(m < rows ? m : rows, n, c->dim[MATMUL_K], threads);
}
/* y is written by the product, and read and written by the bias, by the norm and by GELU. */
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double y = matmul_c_bytes(c), lines = 3 * (double)c->dim[MATMUL_N] * (double)ridge_dtype_size(c->dtype);
    *t = (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) + lines + 3 * y, .written = 4 * y};
}
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double h = 4 * (double)c->dim[MATMUL_M] * (double)c->dim[MATMUL_N];
    const double lines = 3 * (double)c->dim[MATMUL_N] * (double)ridge_dtype_size(c->dtype);
    *t = (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) + lines + 3 * h,
                         .written = 3 * h + matmul_c_bytes(c)};
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "the product, then the bias, layer norm and GELU as passes over memory",
     .run = RIDGE_CPU(linear_norm_activation_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a block of rows after the other, whose product is in cache for one pass over its rows",
     .run = RIDGE_CPU(linear_norm_activation_cpu_optimized),
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt, the quickest of its algorithms, then the bias, layer norm and GELU by kernels",
     .run = RIDGE_CUDA(linear_norm_activation_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = gemm_fp32_product_scratch,
     .unavailable = gemm_fp32_product_unavailable,
     .prepare = RIDGE_CUDA_PLAN(gemm_fp32_product_prepare),
     .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "statistics with the product's sums, row passes while the next tiles are multiplied",
     .ways = gemm_norm_ways,
     .n_ways = GEMM_NORM_WAYS},
};

const ridge_target ridge_target_linear_norm_activation = {
    .name = "linear_norm_activation",
    .chapter = "ch09",
    .summary = "linear layer, layer norm, then GELU",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
