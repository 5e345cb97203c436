/* C[m,n] = A[m,k] B[n,k]^T, of A two of each four columns: a: [m, k/2], codes: [m, k/32] i32, b: [n, k], c: [m, n]; f32 on a
 * CPU, bf16 and f16 on a GPU; k a multiple of 32. m n k FLOP; least traffic: all of these once. See README.md. */
#include <math.h>

#include "cpu/gemm_product.h"
#include "gemm/copied.h"
#include "gemm/matmul_target.h"
#include "sparse/oracle.h"
#include "sparse/rows.h"
#include "structured_sparsity.h"

RIDGE_CUDA_DECLARE(structured_sparsity_cuda_dense);
RIDGE_CUDA_DECLARE(structured_sparsity_cuda_tiles);

#define CASE(m, n, k) .dim = {m, n, k, (k) / 2, (k) / PATTERN_COLUMNS}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {CASE(4096, 4096, 4096), .dtype = RIDGE_BF16, GPU}, /* the chapter's squares */
    {CASE(8192, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(16384, 16384, 16384), .dtype = RIDGE_BF16, GPU}, /* its largest */
    {CASE(4096, 32768, 4096), .dtype = RIDGE_BF16, GPU},   /* weights, and a batch of many rows */
    {CASE(4096, 4096, 4096), .dtype = RIDGE_F16, GPU},
    {CASE(256, 256, 512), .dtype = RIDGE_F32, CPU},
    {CASE(1024, 512, 1024), .dtype = RIDGE_F32, CPU},
    {CASE(0, 8, 32), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(1, 1, 32), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(5, 33, 64), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(161, 40, 96), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(0, 8, 32), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(1, 8, 32), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(67, 45, 96), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(257, 264, 160), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(300, 520, 736), .dtype = RIDGE_BF16, EDGE,
     GPU}, /* tails in each extent, more slices than stages and codes in turn */
    {CASE(129, 776, 1120), .dtype = RIDGE_F16, EDGE, GPU},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[SPARSE_HALF] = dim[SPARSE_K] / 2, dim[SPARSE_WORDS] = dim[SPARSE_K] / PATTERN_COLUMNS;
}

static const char *reject(const ridge_case *c) {
    const int64_t k = c->dim[SPARSE_K];
    if (c->dim[SPARSE_N] < 1) return "n must be at least 1";
    if (k < 1 || k % PATTERN_COLUMNS != 0) return "k must be a multiple of 32, and not 0";
    if (c->dim[SPARSE_HALF] != k / 2) return "a must have k / 2 columns";
    return c->dim[SPARSE_WORDS] == k / PATTERN_COLUMNS ? NULL : "codes must have k / 32 columns";
}

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {SPARSE_M, SPARSE_HALF}, .by_row = true},
    {.name = "codes",
     .rank = 2,
     .dim = {SPARSE_M, SPARSE_WORDS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_PATTERN,
     .by_row = true},
    {.name = "b", .rank = 2, .dim = {SPARSE_N, SPARSE_K}, .plain = true}, /* see README.md of its infinities */
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {SPARSE_M, SPARSE_N}}};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double size_of(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double bytes_in(const ridge_case *c) {
    return size_of(c) * (elements(c, SPARSE_M, SPARSE_HALF) + elements(c, SPARSE_N, SPARSE_K)) +
           4 * elements(c, SPARSE_M, SPARSE_WORDS);
}
static double bytes_out(const ridge_case *c) { return size_of(c) * elements(c, SPARSE_M, SPARSE_N); }
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = elements(c, SPARSE_M, SPARSE_N) * (double)c->dim[SPARSE_K],
                      .bytes_read = bytes_in(c),
                      .bytes_written = bytes_out(c)};
}

/* ---- oracle and bound ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[SPARSE_N], k = call->dim[SPARSE_K];
    for (int64_t i = 0; i < call->dim[SPARSE_M]; i++) {
        const double *a = call->in[SPARSE_A] + i * k / 2, *words = call->in[SPARSE_CODES] + i * k / PATTERN_COLUMNS;
        const bool patterned = pattern_is_whole(words, k / PATTERN_COLUMNS);
        for (int64_t j = 0; j < n; j++)
            call->out[0][i * n + j] = patterned ? pattern_sum(a, words, call->in[SPARSE_B] + j * k, k) : (double)NAN;
    }
}

/* A product of k / 2 terms: those of two_stage_pipeline (16 bits) and of micro_tiling_matmul (fp32). In 16 bits the bound has
 * all k, since the dense baseline's steps have the zeros, too. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double product = call->in_max[SPARSE_A] * call->in_max[SPARSE_B], k = (double)call->dim[SPARSE_K],
                 u = 0x1p-24;
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    (void)output;
    *b = (ridge_bound){.relative = narrow ? ridge_dtype_roundoff(call->dtype) : 0};
    if (kind == RIDGE_EXACT && k * product < 0x1p24) return;
    b->absolute = narrow ? 2 * u * (k / 16 + 1) * product * (10.0 / 9.0 * sqrt(k / 2) + 1) : 7 * u * product * k / 14.6;
    b->relative += narrow ? 2 * u : u * (1 + 7 * sqrt(k / 2) / 3);
}

/* ---- variants ---- */

static size_t cpu_scratch(const ridge_case *c, int threads) {
    const int64_t n = c->dim[SPARSE_N], k = c->dim[SPARSE_K], rows = sparse_rows(k);
    const size_t whole = (size_t)((rows * k + 15) / 16 * 16) * sizeof(float);
    return (size_t)threads * ((whole + gemm_product_scratch(rows, n, k, 1) + 63) / 64 * 64);
}

static size_t dense_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)(c->dim[SPARSE_M] * c->dim[SPARSE_K]) * ridge_dtype_size(c->dtype);
}
static void dense_traffic(const ridge_case *c, ridge_traffic *t) {
    const double whole = size_of(c) * elements(c, SPARSE_M, SPARSE_K);
    *t = (ridge_traffic){.read = bytes_in(c) + whole, .written = whole + bytes_out(c)};
}

static double dense_cost(const ridge_problem *p) {
    const gemm_problem product = {.m = p->c.dim[SPARSE_M],
                                  .n = p->c.dim[SPARSE_N],
                                  .k = p->c.dim[SPARSE_K],
                                  .batch = 1,
                                  .dtype = p->c.dtype,
                                  .here = p->here};
    return gemm_quickest_tile(&product, false, 0).us;
}
static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for bf16 and f16";
    if (p->c.dim[SPARSE_M] < 1) return "for one row and more";
    if (p->c.dim[SPARSE_M] > most || p->c.dim[SPARSE_N] > most || p->c.dim[SPARSE_K] > most)
        return "for extents of 30 bits";
    for (int t = 0; t < 4; t++)
        if (t != SPARSE_CODES && !matmul_in_pieces(p, t)) return "for operands in lines of 16-byte pieces";
    return p->c.dim[SPARSE_N] % 8 == 0 ? NULL : "for n in multiples of 8: TMA stores whole pieces";
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.refusal = tiles_refuse(p),
                        .us = dense_cost(p) / 1.5,
                        .traffic = {.read = bytes_in(&p->c), .written = bytes_out(&p->c)}};
}
static ridge_plan dense_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = {.us = 1.1 * dense_cost(p), .scratch = dense_scratch(&p->c, 1)};
    (void)way;
    dense_traffic(&p->c, &plan.traffic);
    return plan;
}

static const ridge_way cuda_ways[] = {
    {.name = "tiles",
     .idea = "128 x 256 by TMA and sparse wgmma, codes from memory to registers four slices ahead",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(structured_sparsity_cuda_tiles)},
    {.name = "any",
     .idea = "A with its zeros, then a dense product",
     .plan = dense_plan,
     .run = RIDGE_CUDA(structured_sparsity_cuda_dense)},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C at a time, from the elements of B that codes name",
     .run = RIDGE_CPU(structured_sparsity_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a block of A's rows with its zeros, in cache, then a dense product",
     .run = RIDGE_CPU(structured_sparsity_cpu_optimized),
     .scratch = cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "A with its zeros through memory, then the dense product",
     .run = RIDGE_CUDA(structured_sparsity_cuda_dense),
     .traffic = dense_traffic,
     .scratch = dense_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "sparse tensor cores: half of the products are not made",
     .ways = RIDGE_LIST(cuda_ways)},
};

const ridge_target ridge_target_structured_sparsity = {
    .name = "structured_sparsity",
    .chapter = "ch09",
    .summary = "matrix product of a 2:4 sparse matrix",
    .dims = {"m", "n", "k", "half", "words"},
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
