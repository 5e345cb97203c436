/* C[m,n] = sa sb A[m,k] B[n,k]^T, of A two of each four columns: a: [m, k/2], b: [n, k], e4m3; codes: [m, k/32] i32; sa, sb: [1],
 * f32; c: [m, n], f32 or bf16; k a multiple of 32. m n k FLOP; least traffic: all of these once. See README.md. */
#include <math.h>

#include "fp8_structured_sparsity.h"
#include "gemm/gemm8.h"
#include "fp8_structured_sparsity_cpu.h"
#include "gemm/fp8_lost.h"
#include "sparse/oracle.h"

RIDGE_CUDA_DECLARE(fp8_structured_sparsity_cuda_any);
RIDGE_CUDA_DECLARE(fp8_structured_sparsity_cuda_tiles);

#define CASE(m, n, k) .dim = {m, n, k, (k) / 2, (k) / PATTERN_COLUMNS, 1}
#define WIDE .dtype = RIDGE_F32
#define NARROW .dtype = RIDGE_BF16
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {CASE(8192, 8192, 8192), NARROW, GPU},
    {CASE(4096, 4096, 4096), NARROW, GPU},
    {CASE(4096, 32768, 4096), NARROW, GPU}, /* weights, and a batch of many rows */
    {CASE(256, 256, 512), NARROW, CPU},
    {CASE(1024, 512, 1024), NARROW, CPU},
    {CASE(0, 8, 32), WIDE, EDGE},
    {CASE(1, 1, 32), WIDE, EDGE},
    {CASE(67, 45, 96), WIDE, EDGE},
    {CASE(1, 8, 32), NARROW, EDGE},
    {CASE(35, 40, 160), NARROW, EDGE},
    {CASE(129, 264, 224), WIDE, EDGE, GPU},
    {CASE(300, 521, 1440), WIDE, EDGE, GPU},
    {CASE(257, 136, 352), NARROW, EDGE, GPU},
    {CASE(131, 264, 1120), NARROW, EDGE, GPU}, /* tails in each extent, more slices than stages and codes in turn */
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[SPARSE_HALF] = dim[SPARSE_K] / 2, dim[SPARSE_WORDS] = dim[SPARSE_K] / PATTERN_COLUMNS, dim[SPARSE_ONE] = 1;
}

static const char *reject(const ridge_case *c) {
    const int64_t k = c->dim[SPARSE_K];
    if (c->dim[SPARSE_N] < 1) return "n must be at least 1";
    if (k < 1 || k % PATTERN_COLUMNS != 0) return "k must be a multiple of 32, and not 0";
    if (c->dim[SPARSE_HALF] != k / 2) return "a must have k / 2 columns";
    if (c->dim[SPARSE_WORDS] != k / PATTERN_COLUMNS) return "codes must have k / 32 columns";
    return c->dim[SPARSE_ONE] == 1 ? NULL : "a scale must be one number";
}

#define SCALE .rank = 1, .dim = {SPARSE_ONE}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true
static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {SPARSE_M, SPARSE_HALF}, .dtype = RIDGE_E4M3, .by_row = true},
    {.name = "codes",
     .rank = 2,
     .dim = {SPARSE_M, SPARSE_WORDS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_PATTERN,
     .by_row = true},
    {.name = "a_scale", SCALE},
    {.name = "b", .rank = 2, .dim = {SPARSE_N, SPARSE_K}, .dtype = RIDGE_E4M3, .plain = true}, /* README.md: its NaNs */
    {.name = "b_scale", SCALE},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {SPARSE_M, SPARSE_N}}};

static double area(const ridge_case *c, int down, int across) { return (double)c->dim[down] * (double)c->dim[across]; }
static double flops(const ridge_case *c) { return area(c, SPARSE_M, SPARSE_N) * (double)c->dim[SPARSE_K]; }
static double bytes_read(const ridge_case *c) {
    return area(c, SPARSE_M, SPARSE_HALF) + area(c, SPARSE_N, SPARSE_K) + 4 * area(c, SPARSE_M, SPARSE_WORDS) + 8;
}
static double bytes_written(const ridge_case *c) {
    return area(c, SPARSE_M, SPARSE_N) * (double)ridge_dtype_size(c->dtype);
}
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = flops(c), .bytes_read = bytes_read(c), .bytes_written = bytes_written(c)};
}

/* ---- oracle and bound ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[SPARSE_N], k = call->dim[SPARSE_K];
    const double scale = *call->in[SPARSE_A_SCALE] * *call->in[SPARSE_B_SCALE];
    for (int64_t i = 0; i < call->dim[SPARSE_M]; i++) {
        const double *a = call->in[SPARSE_A] + i * k / 2, *words = call->in[SPARSE_CODES] + i * k / PATTERN_COLUMNS;
        const bool patterned = pattern_is_whole(words, k / PATTERN_COLUMNS);
        for (int64_t j = 0; j < n; j++)
            call->out[0][i * n + j] =
                patterned ? scale * pattern_sum(a, words, call->in[SPARSE_B] + j * k, k) : (double)NAN;
    }
}

/* Derived in README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double terms = (double)call->dim[SPARSE_K] / 2, product = call->in_max[SPARSE_A] * call->in_max[SPARSE_B];
    const double scale = call->in_max[SPARSE_A_SCALE] * call->in_max[SPARSE_B_SCALE];
    (void)output;
    *b = (ridge_bound){.relative = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype)};
    if (kind == RIDGE_EXACT && terms * product < 0x1p13) return;
    b->absolute = scale * product * fp8_lost(terms);
    b->relative += 0x1p-22;
}

/* ---- variants ---- */

static size_t cpu_scratch(const ridge_case *c, int threads) {
    return (size_t)threads * (size_t)sparse_room_of(c->dim[SPARSE_K]).all * sizeof(float);
}

static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dim[SPARSE_M] < 1) return "for one row and more";
    if (p->c.dim[SPARSE_M] > most || p->c.dim[SPARSE_N] > most || p->c.dim[SPARSE_K] > most)
        return "for extents of 30 bits";
    return gemm8_refusal(p, &p->tensor[SPARSE_A], &p->tensor[SPARSE_B], &p->tensor[SPARSE_C], p->c.dim[SPARSE_N]);
}

/* Estimates, which nobody has measured: FLOP a microsecond of an SM. */
static const double TILES_RATE = 8e6, ANY_RATE = 0.1e6;

static double cost(const ridge_problem *p, double rate, double down, double across) {
    const double products = gemm8_tiles_us(p, (double)p->c.dim[SPARSE_M], (double)p->c.dim[SPARSE_N],
                                           (double)p->c.dim[SPARSE_K], rate, down, across);
    return GEMM8_LAUNCH + fmax(products, (bytes_read(&p->c) + bytes_written(&p->c)) / GEMM8_DRAM);
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.refusal = tiles_refuse(p), .us = cost(p, TILES_RATE, 128, 256), .arithmetic = {RIDGE_E4M3, 1}};
}
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.us = cost(p, ANY_RATE, 16, 16)};
}

static const ridge_way cuda_ways[] = {
    {.name = "tiles",
     .idea = "128 x 256 by TMA and sparse wgmma, codes from memory to registers 256 of K ahead",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(fp8_structured_sparsity_cuda_tiles)},
    {.name = "any",
     .idea = "operands as they lie, a thread an element",
     .plan = any_plan,
     .run = RIDGE_CUDA(fp8_structured_sparsity_cuda_any)},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C at a time, from the elements of B that codes name",
     .run = RIDGE_CPU(fp8_structured_sparsity_cpu_baseline),
     .scratch = cpu_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "blocks of A's rows with zeros and of B's in fp32, in cache, then a dense product",
     .run = RIDGE_CPU(fp8_structured_sparsity_cpu_optimized),
     .scratch = cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a thread an element, from the elements of B that codes name",
     .run = RIDGE_CUDA(fp8_structured_sparsity_cuda_any)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "sparse fp8 tensor cores: half of the products are not made",
     .ways = RIDGE_LIST(cuda_ways)},
};

const ridge_target ridge_target_fp8_structured_sparsity = {
    .name = "fp8_structured_sparsity",
    .chapter = "ch09",
    .summary = "matrix product of a 2:4 sparse matrix in e4m3",
    .dims = {"m", "n", "k", "half", "words", "one"},
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
