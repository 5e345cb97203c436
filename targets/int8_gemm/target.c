/* C[m,n] = (a_scale[m] (sum over k of A[m,k] B[n,k])) b_scale[n]      A: [m,k], B: [n,k], i8      a_scale: [m], b_scale: [n], f32
 * C: [m,n], f32 or bf16      2 m n k operations; least traffic size(A) + size(B) + size(C) bytes and scales. See README.md. */
#include <math.h>

#include "cpu/cost.h"
#include "gemm/gemm8.h"
#include "int8_gemm.h"

RIDGE_CPU_DECLARE(int8_gemm_cpu_baseline);
#if defined(__x86_64__)
ridge_status int8_gemm_cpu_bytes_avx512(const ridge_call *);
#endif
RIDGE_CPU_DECLARE(int8_gemm_cpu_words);
RIDGE_CUDA_DECLARE(int8_gemm_cuda_any);
#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(int8_gemm_cuda_##name);
INT8_TILES(DECLARE)

#define SIZE(m, n, k) .dim = {m, n, k}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {SIZE(512, 512, 1024), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {SIZE(1024, 1024, 1024), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {SIZE(8192, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {SIZE(4096, 7168, 2048), .dtype = RIDGE_BF16, GPU},
    {SIZE(0, 8, 16), .dtype = RIDGE_F32, EDGE},
    {SIZE(1, 1, 1), .dtype = RIDGE_F32, EDGE},
    {SIZE(13, 66, 1), .dtype = RIDGE_F32, EDGE},
    {SIZE(61, 97, 113), .dtype = RIDGE_F32, EDGE},
    {SIZE(3, 5, 131071), .dtype = RIDGE_F32, EDGE}, /* the largest K: sums reach 2^31 - 2^14 */
    {SIZE(390, 130, 1030), .dtype = RIDGE_F32, EDGE},
    {SIZE(1, 1, 1), .dtype = RIDGE_BF16, EDGE},
    {SIZE(67, 45, 259), .dtype = RIDGE_BF16, EDGE},
    {SIZE(40, 140, 2050), .dtype = RIDGE_BF16, EDGE},
    {SIZE(130, 131, 400), .dtype = RIDGE_F32, EDGE, GPU},
    {SIZE(131, 264, 1040), .dtype = RIDGE_F32, EDGE, GPU},
    {SIZE(16, 520, 2064), .dtype = RIDGE_F32, EDGE, GPU},
    {SIZE(257, 264, 528), .dtype = RIDGE_BF16, EDGE, GPU},
    {SIZE(300, 136, 1040), .dtype = RIDGE_BF16, EDGE, GPU},
    {SIZE(129, 392, 640), .dtype = RIDGE_BF16, EDGE, GPU},
    /* Shares of K, the last of which is shorter, or ends within a slice. */
    {SIZE(70, 72, 1680), .dtype = RIDGE_BF16, EDGE, GPU},
    {SIZE(130, 101, 1168), .dtype = RIDGE_F32, EDGE, GPU},
};

static const char *reject(const ridge_case *c) {
    if (c->dim[INT8_N] < 1 || c->dim[INT8_K] < 1) return "n and k must be at least 1";
    return c->dim[INT8_K] <= INT8_MOST_K ? NULL : "k must be at most 131071: sums of more products may not fit 32 bits";
}

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {INT8_M, INT8_K}, .dtype = RIDGE_I8, .by_row = true},
    {.name = "a_scale",
     .rank = 1,
     .dim = {INT8_M},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_SCALE,
     .by_row = true,
     .plain = true},
    {.name = "b", .rank = 2, .dim = {INT8_N, INT8_K}, .dtype = RIDGE_I8},
    {.name = "b_scale", .rank = 1, .dim = {INT8_N}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {INT8_M, INT8_N}}};

static double area(const ridge_case *c, int down, int across) { return (double)c->dim[down] * (double)c->dim[across]; }
static double operations(const ridge_case *c) { return 2 * area(c, INT8_M, INT8_N) * (double)c->dim[INT8_K]; }
static double bytes_read(const ridge_case *c) {
    return area(c, INT8_M, INT8_K) + area(c, INT8_N, INT8_K) + 4 * ((double)c->dim[INT8_M] + (double)c->dim[INT8_N]);
}
static double bytes_written(const ridge_case *c) {
    return area(c, INT8_M, INT8_N) * (double)ridge_dtype_size(c->dtype);
}

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = operations(c), .bytes_read = bytes_read(c), .bytes_written = bytes_written(c)};
}

/* ---- ways on a CPU ---- */

/* group: numbers of K in a lane; instructions: for a vector of them. */
static double cpu_us(const ridge_problem *p, double group, double instructions) {
    const double lanes = cpu_tile_of(p->here.isa).lanes, threads = p->here.threads > 1 ? p->here.threads : 1;
    const double beats = operations(&p->c) / 2 / group / lanes * instructions / 2;
    return cpu_cost_of(&p->here, beats / threads, (bytes_read(&p->c) + bytes_written(&p->c)) / 4 / threads);
}
static ridge_plan words_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.us = cpu_us(p, 2, 2), .arithmetic = {RIDGE_I8, 1}};
}

#if defined(__x86_64__)
static const char *lacks_bytes(void) { return __builtin_cpu_supports("avx512vnni") ? NULL : "needs AVX-512 VNNI"; }
static ridge_plan bytes_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return (ridge_plan){.us = cpu_us(p, 4, 1), .arithmetic = {RIDGE_I8, 1}};
}
#endif

static const ridge_way cpu_ways[] = {
#if defined(__x86_64__)
    {.name = "bytes",
     .idea = "groups of four numbers, by vpdpbusd",
     .lacks = lacks_bytes,
     .plan = bytes_plan,
     .run = RIDGE_CPU_AVX512(int8_gemm_cpu_bytes)},
#endif
    {.name = "words",
     .idea = "groups of two, widened to 16 bits, by vpmaddwd and the like",
     .plan = words_plan,
     .run = RIDGE_CPU(int8_gemm_cpu_words)},
};

/* ---- ways on a GPU ---- */

static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX - 4096;
    if (p->c.dim[INT8_M] < 1) return "for one row and more";
    if (p->c.dim[INT8_M] > most || p->c.dim[INT8_N] > most) return "for extents of 31 bits";
    return gemm8_refusal(p, &p->tensor[INT8_A], &p->tensor[INT8_B], &p->tensor[4], p->c.dim[INT8_N]);
}

static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm8_extents e = {p->c.dim[INT8_M], p->c.dim[INT8_N], p->c.dim[INT8_K], p->here.sm_count};
    return (ridge_plan){.refusal = tiles_refuse(p),
                        .us = gemm8_us(way->own, &e, bytes_read(&p->c) + bytes_written(&p->c)),
                        .scratch = gemm8_scratch(way->own, &e),
                        .arithmetic = {RIDGE_I8, 1}};
}
/* A thread's sum waits for each of its terms, where there are few threads: a dot product of 14080 took 485 us on an H100. */
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    const double sms = p->here.sm_count > 0 ? p->here.sm_count : 1;
    (void)way;
    return (ridge_plan){.us = GEMM8_LAUNCH + fmax(0.034 * (double)p->c.dim[INT8_K], operations(&p->c) / (0.2e6 * sms)),
                        .arithmetic = {RIDGE_I8, 1}};
}

#define WAY(name, columns, stages, cluster_m, cluster_n, promote, shares, slice_us, rate, idea) \
    GEMM8_WAY(int8_gemm, tiles_plan, name, columns, cluster_m, cluster_n, shares, slice_us, rate, idea)
static const ridge_way cuda_ways[] = {
    {.name = "any",
     .idea = "operands as they lie, a thread an element, dp4a where lines are whole words",
     .plan = any_plan,
     .run = RIDGE_CUDA(int8_gemm_cuda_any)},
    INT8_TILES(WAY)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C at a time",
     .run = RIDGE_CPU(int8_gemm_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "B laid out once for 384 x 64 elements of C, integer dot products in lanes",
     .ways = RIDGE_LIST(cpu_ways)},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a thread an element, dp4a where lines are whole words",
     .run = RIDGE_CUDA(int8_gemm_cuda_any)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "int8 tensor cores, scaled as sums leave registers",
     .ways = RIDGE_LIST(cuda_ways)},
};

/* ---- verification ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[INT8_N], k = call->dim[INT8_K];
    for (int64_t i = 0; i < call->dim[INT8_M]; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *a = call->in[INT8_A] + i * k, *b = call->in[INT8_B] + j * k;
            double sum = 0; /* exact */
            for (int64_t d = 0; d < k; d++) sum += a[d] * b[d];
            call->out[0][i * n + j] = sum * call->in[INT8_A_SCALE][i] * call->in[INT8_B_SCALE][j];
        }
}

/* Derived in README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double product = call->in_max[INT8_A] * call->in_max[INT8_B] * (double)call->dim[INT8_K];
    *b = (ridge_bound){.relative = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype)};
    if (kind == RIDGE_EXACT && product * 36 < 0x1p24) return; /* integers times 2^-16 */
    b->relative += 0x1.9p-23;
}

const ridge_target ridge_target_int8_gemm = {
    .name = "int8_gemm",
    .chapter = "ch09",
    .summary = "matrix product in int8, with scales of rows and columns",
    .dims = {"m", "n", "k"},
    .n_sizes = 3,
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
