/* C[m,n] = A[m,k] B[k,n]      f32, rows possibly strided
 * 2 m n k FLOP; least traffic 4 (m k + k n + m n) bytes. Compute-bound from about m = n = k = 100 on. */
#include <math.h>

#include "cpu/gemm_product.h"
#include "matmul.h"
#include "model/cpu_cost.h"
#include "model/matmul_target.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

static const ridge_case cases[] = {
    {.dim = {512, 512, 512}, .dtype = RIDGE_F32},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_F32},
    {.dim = {1536, 1536, 1536}, .dtype = RIDGE_F32},
    {.dim = {1023, 1025, 1031}, .dtype = RIDGE_F32},
    {.dim = {0, 5, 7}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 100, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {100, 1, 50}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {15, 33, 2}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {191, 49, 769}, .dtype = RIDGE_F32, .edge = true}, /* partial blocks and slices, several threads */
    {.dim = {1, 1031, 515}, .dtype = RIDGE_F32, .edge = true}, /* one row; two blocks of columns */
    {.dim = {5, 2053, 67}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {13, 1041, 263}, .dtype = RIDGE_F32, .edge = true}, /* several strips, two slices, two bands of columns */
    {.dim = {151, 401, 259}, .dtype = RIDGE_F32, .edge = true}, /* A packed, two blocks of rows */
    {.dim = {517, 3, 1027}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {67, 16, 1025}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 9, 4099}, .dtype = RIDGE_F32, .edge = true}, /* threads split the depth */
    {.dim = {129, 127, 1}, .dtype = RIDGE_F32, .edge = true},
};

/* Every row of C reads all of B. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) * (double)c->dim[MATMUL_M],
                         .written = matmul_c_bytes(c)};
}

/* ---- ways of the optimized variant: number is a gemm_way, or SHARED ---- */

enum { SHARED = GEMM_WAY_COUNT };

static gemm_facts facts_of(const ridge_problem *p) {
    return (gemm_facts){.m = p->c.dim[MATMUL_M],
                        .n = p->c.dim[MATMUL_N],
                        .k = p->c.dim[MATMUL_K],
                        .a_by_depth = true,
                        .b_by_row = true,
                        .a_stride = p->tensor[0].stride[0],
                        .b_stride = p->tensor[1].stride[0],
                        .threads = p->here.threads > 1 ? p->here.threads : 1,
                        .isa = p->here.isa};
}
static const char *way_refuses(const ridge_way *way, const ridge_problem *p) {
    const gemm_facts facts = facts_of(p);
    return gemm_way_refusal((gemm_way)way->number, &facts);
}
static double product_cost(const ridge_problem *p, const gemm_facts *facts, double beats) {
    return cpu_cost_of(&p->here, beats, gemm_operands(facts) + gemm_results(facts));
}
static double way_cost(const ridge_way *way, const ridge_problem *p) {
    const gemm_facts facts = facts_of(p);
    return product_cost(p, &facts, gemm_way_beats((gemm_way)way->number, &facts));
}
static size_t way_scratch(const ridge_case *c, int threads) {
    return gemm_product_scratch(c->dim[MATMUL_M], c->dim[MATMUL_N], c->dim[MATMUL_K], threads);
}

/* B is read once, with more than one strip of rows again from cache. */
static void stream_traffic(const ridge_problem *p, ridge_traffic *t) {
    *t = (ridge_traffic){.read = matmul_a_bytes(&p->c) + matmul_b_bytes(&p->c), .written = matmul_c_bytes(&p->c)};
}

/* Each block of B is read and packed. Each slice of the depth after the first reads C again. */
static void blocked_traffic(const ridge_problem *p, ridge_traffic *t) {
    const double slices = ceil((double)p->c.dim[MATMUL_K] / GEMM_BLOCK_DEPTH);
    *t = (ridge_traffic){.read = matmul_a_bytes(&p->c) + matmul_b_bytes(&p->c) + matmul_c_bytes(&p->c) * (slices - 1),
                         .written = matmul_c_bytes(&p->c) * slices};
}

/* Beside the blocked way. AVX2, a Zen 3 core: a factor. AVX-512, an Emerald Rapids core: faster by a factor, but it
 * reads C before it adds to it, and packs all of A; beats of an element (1629 x 1671 x 9 takes twice as long). */
static const double shared_avx2 = 1.15, shared_avx512 = 0.92, shared_result = 1.5, shared_operand = 0.6;

static double shared_cost(const ridge_way *way, const ridge_problem *p) {
    const gemm_facts facts = facts_of(p);
    const double blocked = gemm_way_beats(GEMM_WAY_BLOCKED, &facts), threads = facts.threads;
    const double m = (double)facts.m, n = (double)facts.n, k = (double)facts.k;
    (void)way;
    if (cpu_tile_of(p->here.isa).lanes < 16) return product_cost(p, &facts, shared_avx2 * blocked);
    const double more = (shared_result * m * n + shared_operand * k * (m + n)) / threads;
    const double ceiling = m * n * k / (2 * cpu_tile_of(p->here.isa).lanes) / threads;
    return product_cost(p, &facts, fmax(shared_avx512 * blocked, ceiling) + more);
}

/* B is read, packed, and read once per block of rows. Each slice of the depth after the first reads C again. */
static void shared_traffic(const ridge_problem *p, ridge_traffic *t) {
    const ridge_case *c = &p->c;
    double blocks = ceil((double)c->dim[MATMUL_M] / MATMUL_MC), slices = ceil((double)c->dim[MATMUL_K] / MATMUL_KC);
    *t =
        (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) * (1 + blocks) + matmul_c_bytes(c) * (slices - 1),
                        .written = matmul_b_bytes(c) + matmul_c_bytes(c) * slices};
}

static size_t shared_scratch(const ridge_case *c, int threads) {
    size_t packed_b = (size_t)(c->dim[MATMUL_N] + MATMUL_NR) * (size_t)c->dim[MATMUL_K] + MATMUL_PAD;
    size_t packed_a = (size_t)MATMUL_MC * MATMUL_KC + MATMUL_PAD;
    size_t panels = (size_t)c->dim[MATMUL_N] / MATMUL_NR_LEAST + 1,
           slices = (size_t)c->dim[MATMUL_K] / MATMUL_KC_LEAST + 1;
    return (packed_b + packed_a * (size_t)threads) * sizeof(float) + panels * slices * sizeof(int);
}

#define PRODUCT_WAY(number_, name_, idea_, traffic_)                                                 \
    {                                                                                                \
        .name = name_, .idea = idea_, .refuses = way_refuses, .cost = way_cost, .traffic = traffic_, \
        .scratch = way_scratch, .run = RIDGE_CPU(matmul_cpu_product), .number = number_              \
    }
static const ridge_way ways[] = {
    PRODUCT_WAY(GEMM_WAY_STREAM, "stream", "nothing is packed; B is read in row order", stream_traffic),
    PRODUCT_WAY(GEMM_WAY_DOTS, "dots", "vectors along the depth, B transposed slice by slice", stream_traffic),
    PRODUCT_WAY(GEMM_WAY_BLOCKED, "blocked", "a thread packs panels of its own block of B", blocked_traffic),
    {.name = "shared",
     .idea = "threads pack B together and share all of it",
     .cost = shared_cost,
     .traffic = shared_traffic,
     .scratch = shared_scratch,
     .run = RIDGE_CPU(matmul_cpu_shared),
     .number = SHARED},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops, i-k-j, vectorized by the compiler",
     .run = RIDGE_CPU(matmul_cpu_baseline),
     .traffic = baseline_traffic},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, operands packed where it pays, prefetch",
     .ways = RIDGE_LIST(ways)},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "dnnl_sgemm",
     .run = RIDGE_ANY_ISA(matmul_onednn),
     .unavailable = onednn_unavailable,
     .prepare = onednn_prepare,
     .own_threads = true},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "cblas_sgemm",
     .run = RIDGE_ANY_ISA(matmul_openblas),
     .unavailable = openblas_unavailable,
     .prepare = openblas_prepare,
     .own_threads = true},
};

/* Both terms are derived in README.md: partial sums as a random walk, and partial sums that drift towards the result.
 */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double k = (double)call->dim[MATMUL_K], product = call->in_max[0] * call->in_max[1], u = 0x1p-24;
    *b = (ridge_bound){0};
    if (kind == RIDGE_EXACT && k * product < 0x1p24) return; /* every partial sum is an integer that fits */
    b->absolute = 7 * u * product * k / 7.3;
    b->relative = u * (1 + 7 * sqrt(k) / 3);
}

static const char *reject(const ridge_case *c) {
    if (c->dtype != RIDGE_F32) return "micro_tiling_matmul is f32 only";
    return c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1 ? "n and k must be at least 1" : NULL;
}

const ridge_target ridge_target_micro_tiling_matmul = {
    .name = "micro_tiling_matmul",
    .chapter = "ch09",
    .summary = "matrix product from register tiles",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(matmul_in),
    .out = RIDGE_LIST(matmul_out),
    .variants = RIDGE_LIST(variants),
    .work = matmul_work,
    .oracle = matmul_oracle,
    .bound = bound,
    .reject = reject,
};
