/* y = h w2^T, h = silu(x g^T) (x u^T), w1 = [g; u]      x: [m, d], w1: [2 f, d], w2: [d, f], y: [m, d]; f32, on a GPU bf16
 * and f16. 6 m d f FLOP and 5 m f; least traffic: all of these once. See README.md. */
#include <math.h>
#include <stdlib.h>

#include "cpu/ffn_rows.h"
#include "gemm/copied.h"
#include "gemm/few_rows.h"
#include "gemm/matmul_target.h"
#include "swiglu_ffn.h"

RIDGE_CUDA_DECLARE(swiglu_ffn_cuda_unfused);
RIDGE_CUDA_DECLARE(swiglu_ffn_cuda_tiles);

#define FFN(m, d, f) .dim = {m, d, f, 2 * (f)}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {FFN(65536, 6144, 24576), .dtype = RIDGE_BF16, GPU}, /* the chapter's */
    {FFN(8192, 4096, 14336), .dtype = RIDGE_BF16, GPU},
    {FFN(4096, 2048, 8192), .dtype = RIDGE_F16, GPU},
    {FFN(256, 512, 2048), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {FFN(1024, 512, 1408), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {FFN(0, 8, 16), .dtype = RIDGE_F32, EDGE, .only = RIDGE_ONLY_CPU},
    {FFN(1, 1, 1), .dtype = RIDGE_F32, EDGE, .only = RIDGE_ONLY_CPU},
    {FFN(5, 33, 70), .dtype = RIDGE_F32, EDGE, .only = RIDGE_ONLY_CPU},
    {FFN(161, 40, 97), .dtype = RIDGE_F32, EDGE, .only = RIDGE_ONLY_CPU},
    {FFN(150, 1060, 530), .dtype = RIDGE_F32, EDGE, .only = RIDGE_ONLY_CPU}, /* chunks of hidden values, slices of d */
    {FFN(0, 8, 16), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(1, 1, 1), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(1, 8, 8), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(16, 520, 264), .dtype = RIDGE_BF16, EDGE, GPU}, /* few rows */
    {FFN(9, 45, 130), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(67, 45, 91), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(257, 72, 264), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(130, 264, 136), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(300, 136, 520), .dtype = RIDGE_BF16, EDGE, GPU},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) { dim[FFN_BOTH] = 2 * dim[FFN_F]; }

static const char *reject(const ridge_case *c) {
    if (c->dim[FFN_D] < 1 || c->dim[FFN_F] < 1) return "d and f must be at least 1";
    return c->dim[FFN_BOTH] == 2 * c->dim[FFN_F] ? NULL : "w1 must have twice as many rows as w2 has columns";
}

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {FFN_M, FFN_D}, .by_row = true},
    {.name = "w1", .rank = 2, .dim = {FFN_BOTH, FFN_D}},
    {.name = "w2", .rank = 2, .dim = {FFN_D, FFN_F}},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {FFN_M, FFN_D}}};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double bytes_in(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * (elements(c, FFN_M, FFN_D) + 3 * elements(c, FFN_D, FFN_F));
}
static void work(const ridge_case *c, ridge_work *w) {
    const double hidden = elements(c, FFN_M, FFN_F), size = (double)ridge_dtype_size(c->dtype);
    *w = (ridge_work){.flops = hidden * (6 * (double)c->dim[FFN_D] + 5),
                      .bytes_read = bytes_in(c),
                      .bytes_written = size * elements(c, FFN_M, FFN_D)};
}

/* ---- oracle and bound ---- */

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
/* As it is stored: in f16 a hidden value that rounds beyond the largest number is infinite. */
static double stored(ridge_dtype dtype, double hidden) {
    return dtype == RIDGE_F16 && fabs(hidden) >= 65520 ? copysign((double)INFINITY, hidden) : hidden;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t d = call->dim[FFN_D], f = call->dim[FFN_F];
    double *h = malloc(sizeof(double) * (size_t)f);
    for (int64_t i = 0; i < call->dim[FFN_M]; i++) {
        const double *x = call->in[FFN_X] + i * d;
        double *y = call->out[0] + i * d;
        for (int64_t j = 0; h && j < f; j++) {
            const double gate = dot(x, call->in[FFN_W1] + j * d, d), up = dot(x, call->in[FFN_W1] + (f + j) * d, d);
            h[j] = stored(call->dtype, gate / (1 + exp(-gate)) * up);
        }
        for (int64_t j = 0; j < d; j++) y[j] = !h ? NAN : dot(h, call->in[FFN_W2] + j * f, f);
    }
    free(h);
}

/* Derived in README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, d = (double)call->dim[FFN_D], f = (double)call->dim[FFN_F];
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    const double rounding = narrow ? ridge_dtype_roundoff(call->dtype) : 0;
    const double largest = call->in_max[FFN_X] * call->in_max[FFN_W1], s = largest * sqrt(d) / 2;
    const double product =
        narrow ? 2 * u * (d / 16 + 1) * (10.0 / 9.0 * sqrt(d) + 1) * largest : 7 * u * d / 7.3 * largest;
    const double hidden = (3.1 * rounding + 8 * u) * s * s + 2.1 * (product + u * s) * s;
    const double walk = 6 * sqrt(f) + 30, sums = 4 * s * s * call->in_max[FFN_W2];
    (void)output, (void)kind;
    b->absolute = walk * hidden * call->in_max[FFN_W2] / 3 +
                  (narrow ? 2 * u * (f / 16 + 1) * (sqrt(f) + 1) : 7 * u * f / 7.3) * sums;
    b->relative = rounding + 2 * u;
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[FFN_M], d = c->dim[FFN_D], f = c->dim[FFN_F];
    const size_t first = gemm_product_scratch(m, f, d, threads), second = gemm_product_scratch(m, d, f, threads);
    const size_t both = (size_t)((2 * m * ffn_line(f) + 15) / 16 * 16) * sizeof(float);
    return both + (first > second ? first : second);
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    return ffn_dense_bytes(c->dim[FFN_M], c->dim[FFN_D], c->dim[FFN_F], threads);
}
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double hidden = 4 * elements(c, FFN_M, FFN_F), y = 4 * elements(c, FFN_M, FFN_D);
    *t = (ridge_traffic){.read = bytes_in(c) + y + 3 * hidden, .written = 3 * hidden + y};
}

/* Bytes of gate and up values, the first of which hidden ones replace. */
static size_t unfused_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)(c->dim[FFN_M] * ffn_line(c->dim[FFN_BOTH])) * ridge_dtype_size(c->dtype);
}
static void unfused_traffic(const ridge_case *c, ridge_traffic *t) {
    const double size = (double)ridge_dtype_size(c->dtype), y = size * elements(c, FFN_M, FFN_D);
    const double hidden = size * elements(c, FFN_M, FFN_F);
    *t = (ridge_traffic){.read = bytes_in(c) + 3 * hidden, .written = 3 * hidden + y};
}

/* Microseconds of a launch, and bytes in one from memory; and those that pairs of tiles read where rows are few. Of an H200. */
static const double LAUNCH = 2, DRAM = 4.2e6, PAIRED = 2.8e6;

/* Of x or hidden values times weights. */
static gemm_problem product_of(const ridge_problem *p, int64_t n, int64_t k) {
    return (gemm_problem){.m = p->c.dim[FFN_M],
                          .n = n,
                          .k = k,
                          .batch = 1,
                          .a = {k, 1, 0},
                          .b = {1, k, 0},
                          .c = {n, 1, 0},
                          .dtype = p->c.dtype,
                          .here = p->here};
}
static double tiles_cost(const ridge_problem *p, int64_t n, int64_t k) {
    const gemm_problem g = product_of(p, n, k);
    return gemm_quickest_tile(&g, false, 0).us;
}
/* By what is quickest, as gemm_at_best does it. */
static double best_cost(const ridge_problem *p, int64_t n, int64_t k) {
    const gemm_problem g = product_of(p, n, k);
    const double tiles = tiles_cost(p, n, k), few = p->here.sm == 90 ? gemm_few_rows_us(&g) : -1;
    return few >= 0 && few < tiles ? few : tiles;
}
static double paired_cost(const ridge_problem *p) {
    const double weights = (double)ridge_dtype_size(p->c.dtype) * elements(&p->c, FFN_BOTH, FFN_D);
    return fmax(tiles_cost(p, p->c.dim[FFN_BOTH], p->c.dim[FFN_D]), LAUNCH + weights / PAIRED);
}
static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for bf16 and f16";
    if (p->c.dim[FFN_M] < 1) return "for one row and more";
    if (p->c.dim[FFN_M] > most || p->c.dim[FFN_D] > most || p->c.dim[FFN_F] > most) return "for extents of 30 bits";
    for (int t = 0; t < 4; t++)
        if (!matmul_in_pieces(p, t)) return "for operands in lines of 16-byte pieces";
    return p->c.dim[FFN_D] % 8 == 0 && p->c.dim[FFN_F] % 8 == 0 ? NULL : "for d and f in multiples of 8";
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    const double hidden = elements(&p->c, FFN_M, FFN_F) * (double)ridge_dtype_size(p->c.dtype);
    (void)way;
    return (ridge_plan){
        .refusal = tiles_refuse(p),
        .us = paired_cost(p) + best_cost(p, p->c.dim[FFN_D], p->c.dim[FFN_F]),
        .scratch = (size_t)(p->c.dim[FFN_M] * ffn_line(p->c.dim[FFN_F])) * ridge_dtype_size(p->c.dtype),
        .traffic = {.read = bytes_in(&p->c) + hidden,
                    .written = hidden + (double)ridge_dtype_size(p->c.dtype) * elements(&p->c, FFN_M, FFN_D)}};
}
/* Behind the fused way but for few rows, which are read at memory's rate by products of their own. */
static ridge_plan unfused_plan(const ridge_way *way, const ridge_problem *p) {
    const int64_t d = p->c.dim[FFN_D], f = p->c.dim[FFN_F];
    const double passes = 3 * elements(&p->c, FFN_M, FFN_F) * (double)ridge_dtype_size(p->c.dtype) / DRAM;
    ridge_plan plan = {.us = best_cost(p, 2 * f, d) + LAUNCH + passes + best_cost(p, d, f),
                       .scratch = unfused_scratch(&p->c, 1)};
    (void)way;
    unfused_traffic(&p->c, &plan.traffic);
    return plan;
}

static const ridge_way cuda_ways[] = {
    {.name = "tiles",
     .idea = "128 rows by 128 gate and 128 up columns a tile: only hidden values leave",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(swiglu_ffn_cuda_tiles)},
    {.name = "any",
     .idea = "two products and a pass, operands as they lie",
     .plan = unfused_plan,
     .run = RIDGE_CUDA(swiglu_ffn_cuda_unfused)},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three products through memory, and a pass",
     .run = RIDGE_CPU(swiglu_ffn_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a block of rows after the other, in cache from x to y",
     .run = RIDGE_CPU(swiglu_ffn_cpu_optimized),
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "two products of the same tiles, and a kernel between",
     .run = RIDGE_CUDA(swiglu_ffn_cuda_unfused),
     .traffic = unfused_traffic,
     .scratch = unfused_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "gate and up in one product, SwiGLU on its sums",
     .ways = RIDGE_LIST(cuda_ways)},
};

const ridge_target ridge_target_swiglu_ffn = {
    .name = "swiglu_ffn",
    .chapter = "ch09",
    .summary = "feed-forward layer with a SwiGLU gate",
    .dims = {"m", "d", "f", "both"},
    .n_sizes = 3,
    .derive = derive,
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
