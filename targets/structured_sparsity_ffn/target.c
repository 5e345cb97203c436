/* y = h w2^T, h = silu(x g^T) (x u^T), w1 = [g; u], of w1 and w2 two of each four columns kept      x: [m, d], y: [m, d]
 * w1: [2 f, d/2], w1_codes: [2 f, d/32] i32, w2: [d, f/2], w2_codes: [d, f/32] i32; f32 on a CPU, bf16 and f16 on a GPU; d and f
 * multiples of 32. 3 m d f FLOP and 5 m f; least traffic: all of these once. See README.md. */
#include <math.h>
#include <stdlib.h>

#include "cpu/ffn_rows.h"
#include "gemm/copied.h"
#include "gemm/matmul_target.h"
#include "sparse/oracle.h"
#include "structured_sparsity_ffn.h"

RIDGE_CUDA_DECLARE(structured_sparsity_ffn_cuda_dense);
RIDGE_CUDA_DECLARE(structured_sparsity_ffn_cuda_tiles);

#define FFN(m, d, f) .dim = {m, d, f, 2 * (f), (d) / 2, (d) / PATTERN_COLUMNS, (f) / 2, (f) / PATTERN_COLUMNS}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {FFN(65536, 6144, 24576), .dtype = RIDGE_BF16, GPU}, /* the chapter's */
    {FFN(8192, 4096, 14336), .dtype = RIDGE_BF16, GPU},   {FFN(4096, 2048, 8192), .dtype = RIDGE_F16, GPU},
    {FFN(256, 512, 1024), .dtype = RIDGE_F32, CPU},       {FFN(512, 256, 1408), .dtype = RIDGE_F32, CPU},
    {FFN(0, 32, 64), .dtype = RIDGE_F32, EDGE, CPU},      {FFN(1, 32, 32), .dtype = RIDGE_F32, EDGE, CPU},
    {FFN(5, 64, 96), .dtype = RIDGE_F32, EDGE, CPU},      {FFN(161, 96, 160), .dtype = RIDGE_F32, EDGE, CPU},
    {FFN(0, 32, 64), .dtype = RIDGE_BF16, EDGE, GPU},     {FFN(1, 32, 32), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(67, 96, 160), .dtype = RIDGE_BF16, EDGE, GPU},   {FFN(257, 160, 288), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(300, 736, 544), .dtype = RIDGE_BF16, EDGE, GPU}, /* more slices than stages, and codes in turn */
    {FFN(521, 288, 96), .dtype = RIDGE_BF16, EDGE, GPU},  /* two tiles of rows of x and a tail */
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[SPARSE_FFN_BOTH] = 2 * dim[SPARSE_FFN_F];
    dim[SPARSE_FFN_D_HALF] = dim[SPARSE_FFN_D] / 2, dim[SPARSE_FFN_D_WORDS] = dim[SPARSE_FFN_D] / PATTERN_COLUMNS;
    dim[SPARSE_FFN_F_HALF] = dim[SPARSE_FFN_F] / 2, dim[SPARSE_FFN_F_WORDS] = dim[SPARSE_FFN_F] / PATTERN_COLUMNS;
}

static const char *reject(const ridge_case *c) {
    int64_t whole[RIDGE_MAX_RANK];
    const int64_t d = c->dim[SPARSE_FFN_D], f = c->dim[SPARSE_FFN_F];
    if (d < 1 || d % PATTERN_COLUMNS != 0) return "d must be a multiple of 32, and not 0";
    if (f < 1 || f % PATTERN_COLUMNS != 0) return "f must be a multiple of 32, and not 0";
    memcpy(whole, c->dim, sizeof whole);
    derive(whole);
    return memcmp(whole, c->dim, sizeof whole) == 0
               ? NULL
               : "weights must have half of the columns, codes a 32nd, and w1 twice as many rows as w2 has columns";
}

/* x and w1 are plain: a hidden value that is infinite where w2 keeps nothing is NaN in the dense way alone. */
static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {SPARSE_FFN_M, SPARSE_FFN_D}, .by_row = true, .plain = true},
    {.name = "w1", .rank = 2, .dim = {SPARSE_FFN_BOTH, SPARSE_FFN_D_HALF}, .plain = true},
    {.name = "w1_codes",
     .rank = 2,
     .dim = {SPARSE_FFN_BOTH, SPARSE_FFN_D_WORDS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_PATTERN},
    {.name = "w2", .rank = 2, .dim = {SPARSE_FFN_D, SPARSE_FFN_F_HALF}},
    {.name = "w2_codes",
     .rank = 2,
     .dim = {SPARSE_FFN_D, SPARSE_FFN_F_WORDS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_PATTERN},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {SPARSE_FFN_M, SPARSE_FFN_D}}};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double size_of(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double x_bytes(const ridge_case *c) { return size_of(c) * elements(c, SPARSE_FFN_M, SPARSE_FFN_D); }
static double hidden_bytes(const ridge_case *c) { return size_of(c) * elements(c, SPARSE_FFN_M, SPARSE_FFN_F); }
/* Values and codes of the three matrices. */
static double weight_bytes(const ridge_case *c) {
    return 3 * elements(c, SPARSE_FFN_D, SPARSE_FFN_F) * (size_of(c) / 2 + 0.125);
}
static double whole_bytes(const ridge_case *c) { return 3 * size_of(c) * elements(c, SPARSE_FFN_D, SPARSE_FFN_F); }
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = elements(c, SPARSE_FFN_M, SPARSE_FFN_F) * (3 * (double)c->dim[SPARSE_FFN_D] + 5),
                      .bytes_read = x_bytes(c) + weight_bytes(c),
                      .bytes_written = x_bytes(c)};
}

/* ---- oracle and bound ---- */

/* to[j] = row j of w times from: NaN where its codes are not of a pattern. */
static void multiply(const double *w, const double *codes, int64_t rows, const double *from, int64_t k, double *to) {
    for (int64_t j = 0; j < rows; j++, w += k / 2, codes += k / PATTERN_COLUMNS)
        to[j] = pattern_is_whole(codes, k / PATTERN_COLUMNS) ? pattern_sum(w, codes, from, k) : (double)NAN;
}
/* As it is stored: in f16 a hidden value that rounds beyond the largest number is infinite. */
static double stored(ridge_dtype dtype, double hidden) {
    return dtype == RIDGE_F16 && fabs(hidden) >= 65520 ? copysign((double)INFINITY, hidden) : hidden;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t d = call->dim[SPARSE_FFN_D], f = call->dim[SPARSE_FFN_F];
    double *const gate = calloc(2 * (size_t)f, sizeof(double)), *const up = gate ? gate + f : NULL;
    for (int64_t i = 0; i < call->dim[SPARSE_FFN_M]; i++) {
        double *y = call->out[0] + i * d;
        if (!gate) {
            for (int64_t j = 0; j < d; j++) y[j] = (double)NAN;
            continue;
        }
        multiply(call->in[SPARSE_FFN_W1], call->in[SPARSE_FFN_W1_CODES], 2 * f, call->in[SPARSE_FFN_X] + i * d, d,
                 gate);
        for (int64_t j = 0; j < f; j++) up[j] = stored(call->dtype, gate[j] / (1 + exp(-gate[j])) * up[j]);
        multiply(call->in[SPARSE_FFN_W2], call->in[SPARSE_FFN_W2_CODES], d, up, f, y);
    }
    free(gate);
}

/* That of swiglu_ffn for half of the terms; derived in README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, d = (double)call->dim[SPARSE_FFN_D], f = (double)call->dim[SPARSE_FFN_F];
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    const double rounding = narrow ? ridge_dtype_roundoff(call->dtype) : 0, w2 = call->in_max[SPARSE_FFN_W2];
    const double largest = call->in_max[SPARSE_FFN_X] * call->in_max[SPARSE_FFN_W1], s = largest * sqrt(d / 2) / 2;
    const double product =
        narrow ? 2 * u * (d / 16 + 1) * (10.0 / 9.0 * sqrt(d / 2) + 1) * largest : 7 * u * d / 14.6 * largest;
    const double hidden = (3.1 * rounding + 8 * u) * s * s + 2.1 * (product + u * s) * s;
    const double walk = 6 * sqrt(f / 2) + 30, sums = 4 * s * s * w2;
    (void)output, (void)kind;
    b->absolute =
        walk * hidden * w2 / 3 + (narrow ? 2 * u * (f / 16 + 1) * (sqrt(f / 2) + 1) : 7 * u * f / 14.6) * sums;
    b->relative = rounding + 2 * u;
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 2 * (size_t)(c->dim[SPARSE_FFN_M] * c->dim[SPARSE_FFN_F]) * sizeof(float);
}
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c) + weight_bytes(c) + 3 * hidden_bytes(c),
                         .written = 3 * hidden_bytes(c) + x_bytes(c)};
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    const int64_t d = c->dim[SPARSE_FFN_D], f = c->dim[SPARSE_FFN_F];
    return 3 * (size_t)(d * f) * sizeof(float) + ffn_dense_bytes(c->dim[SPARSE_FFN_M], d, f, threads);
}
static void cpu_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c) + weight_bytes(c) + whole_bytes(c), .written = whole_bytes(c) + x_bytes(c)};
}

static size_t dense_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)(whole_bytes(c) + 2 * hidden_bytes(c));
}
static void dense_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = weight_bytes(c) + whole_bytes(c) + 2 * x_bytes(c) + 3 * hidden_bytes(c),
                         .written = whole_bytes(c) + 3 * hidden_bytes(c) + x_bytes(c)};
}

/* The two products without sparsity, of which the first has gate and up values side by side. */
static double products_cost(const ridge_problem *p) {
    const gemm_problem first = {.m = p->c.dim[SPARSE_FFN_M],
                                .n = p->c.dim[SPARSE_FFN_BOTH],
                                .k = p->c.dim[SPARSE_FFN_D],
                                .batch = 1,
                                .dtype = p->c.dtype,
                                .here = p->here};
    gemm_problem second = first;
    second.n = p->c.dim[SPARSE_FFN_D], second.k = p->c.dim[SPARSE_FFN_F];
    return gemm_quickest_tile(&first, false, 0).us + gemm_quickest_tile(&second, false, 0).us;
}
static const char *tiles_refuse(const ridge_problem *p) {
    static const int in_lines[] = {SPARSE_FFN_X, SPARSE_FFN_W1, SPARSE_FFN_W2, 5 /* y */};
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for bf16 and f16";
    if (p->c.dim[SPARSE_FFN_M] < 1) return "for one row and more";
    for (int i = SPARSE_FFN_M; i <= SPARSE_FFN_F; i++)
        if (p->c.dim[i] > most) return "for extents of 30 bits";
    for (size_t t = 0; t < sizeof in_lines / sizeof *in_lines; t++)
        if (!matmul_in_pieces(p, in_lines[t])) return "for operands in lines of 16-byte pieces";
    return NULL;
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.refusal = tiles_refuse(p),
                        .us = products_cost(p) / 1.5,
                        .scratch = (size_t)hidden_bytes(&p->c),
                        .traffic = {.read = x_bytes(&p->c) + weight_bytes(&p->c) + hidden_bytes(&p->c),
                                    .written = hidden_bytes(&p->c) + x_bytes(&p->c)}};
}
static ridge_plan dense_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = {.us = 2 * products_cost(p), .scratch = dense_scratch(&p->c, 1)};
    (void)way;
    dense_traffic(&p->c, &plan.traffic);
    return plan;
}

static const ridge_way cuda_ways[] = {
    {.name = "tiles",
     .idea = "sparse wgmma; 64 gate and 64 up rows by 256 of x a tile; results transposed on their way to memory",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(structured_sparsity_ffn_cuda_tiles)},
    {.name = "any",
     .idea = "weights with their zeros, then three dense products and a pass",
     .plan = dense_plan,
     .run = RIDGE_CUDA(structured_sparsity_ffn_cuda_dense)},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element at a time, from the elements that codes name",
     .run = RIDGE_CPU(structured_sparsity_ffn_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "weights with their zeros, then a block of rows after the other, in cache from x to y",
     .run = RIDGE_CPU(structured_sparsity_ffn_cpu_optimized),
     .traffic = cpu_optimized_traffic,
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "weights with their zeros through memory, three dense products, a kernel between",
     .run = RIDGE_CUDA(structured_sparsity_ffn_cuda_dense),
     .traffic = dense_traffic,
     .scratch = dense_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "sparse tensor cores, gate and up in one product, SwiGLU on its sums",
     .ways = RIDGE_LIST(cuda_ways)},
};

const ridge_target ridge_target_structured_sparsity_ffn = {
    .name = "structured_sparsity_ffn",
    .chapter = "ch09",
    .summary = "feed-forward layer with a SwiGLU gate, of 2:4 sparse weights",
    .dims = {"m", "d", "f", "both", "d_half", "d_words", "f_half", "f_words"},
    .n_sizes = 3,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .exact = 2,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
