/* C[m,n] = sum over slices of 128 of k of sa[i,slice] sb[j,slice] A[i,slice] B[j,slice]^T      A: [m,k], B: [n,k], e4m3
 * sa: [a_down, across], sb: [b_down, across], f32      C: [m,n], f32 or bf16
 * 2 m n k FLOP; least traffic size(A) + size(B) + size(C) bytes and scales. See README.md. */
#include <math.h>

#include "fp8_gemm.h"
#include "gemm/gemm8.h"
#include "gemm/fp8_lost.h"

RIDGE_CPU_DECLARE(fp8_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_gemm_cpu_optimized);
RIDGE_CUDA_DECLARE(fp8_gemm_cuda_any);
#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(fp8_gemm_cuda_##name);
FP8_TILES(DECLARE)

#define UP(n) (((n) + FP8_BLOCK - 1) / FP8_BLOCK)
/* Scales of one row (of A) and of squares (of B); of squares of both; of tensors. */
#define ROWS(m, n, k) .dim = {m, n, k, m, UP(n), UP(k)}
#define SQUARES(m, n, k) .dim = {m, n, k, UP(m), UP(n), UP(k)}
#define TENSORS(m, n, k) .dim = {m, n, k, 1, 1, 1}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {ROWS(512, 512, 1024), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {ROWS(1024, 1024, 1024), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {ROWS(8192, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {ROWS(4096, 7168, 2048), .dtype = RIDGE_BF16, GPU},
    {TENSORS(8192, 8192, 8192), .dtype = RIDGE_BF16, .option = {1}, GPU},
    {ROWS(0, 8, 16), .dtype = RIDGE_F32, EDGE},
    {ROWS(1, 1, 1), .dtype = RIDGE_F32, EDGE},
    {ROWS(61, 97, 113), .dtype = RIDGE_F32, EDGE},
    {SQUARES(135, 140, 40), .dtype = RIDGE_F32,
     EDGE}, /* on a CPU few terms: behind many, bf16's rounding is in the bound */
    {TENSORS(65, 70, 24), .dtype = RIDGE_F32, EDGE},
    {ROWS(130, 131, 400), .dtype = RIDGE_F32, EDGE, GPU},
    {SQUARES(150, 260, 272), .dtype = RIDGE_F32, EDGE, GPU},
    {TENSORS(65, 70, 384), .dtype = RIDGE_F32, EDGE, GPU},
    {ROWS(1, 1, 1), .dtype = RIDGE_BF16, EDGE},
    {ROWS(67, 45, 259), .dtype = RIDGE_BF16, EDGE},
    {SQUARES(40, 140, 272), .dtype = RIDGE_BF16, EDGE},
    {TENSORS(29, 70, 300), .dtype = RIDGE_BF16, EDGE},
    {ROWS(257, 264, 528), .dtype = RIDGE_BF16, EDGE, GPU},
    {SQUARES(300, 136, 1040), .dtype = RIDGE_BF16, EDGE, GPU},
    {TENSORS(129, 392, 640), .dtype = RIDGE_BF16, EDGE, GPU},
    {ROWS(16, 520, 2064), .dtype = RIDGE_F32, EDGE, GPU},
    {TENSORS(131, 264, 1040), .dtype = RIDGE_F32, .option = {1}, EDGE, GPU},
    {TENSORS(257, 520, 400), .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {ROWS(100, 264, 272), .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    /* Shares of K, the last of which is shorter, or ends within a slice. */
    {ROWS(70, 72, 1680), .dtype = RIDGE_BF16, EDGE, GPU},
    {SQUARES(130, 101, 1168), .dtype = RIDGE_F32, EDGE, GPU},
    {TENSORS(5, 136, 1536), .dtype = RIDGE_F32, EDGE, GPU},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[FP8_A_DOWN] = dim[FP8_M], dim[FP8_B_DOWN] = fp8_blocks(dim[FP8_N]), dim[FP8_ACROSS] = fp8_blocks(dim[FP8_K]);
}

static const char *reject(const ridge_case *c) {
    const int64_t m = c->dim[FP8_M], n = c->dim[FP8_N], down = c->dim[FP8_A_DOWN], beside = c->dim[FP8_B_DOWN];
    if (n < 1 || c->dim[FP8_K] < 1) return "n and k must be at least 1";
    if (down == 1 && beside == 1 && c->dim[FP8_ACROSS] == 1) return NULL;
    if (down != m && down != fp8_blocks(m)) return "a_down must be m, ceil(m / 128), or 1 with b_down and across 1";
    if (beside != n && beside != fp8_blocks(n)) return "b_down must be n, ceil(n / 128), or 1 with a_down and across 1";
    return c->dim[FP8_ACROSS] == fp8_blocks(c->dim[FP8_K])
               ? NULL
               : "across must be ceil(k / 128), or 1 with a_down and b_down 1";
}

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {FP8_M, FP8_K}, .dtype = RIDGE_E4M3, .by_row = true},
    {.name = "a_scale",
     .rank = 2,
     .dim = {FP8_A_DOWN, FP8_ACROSS},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_SCALE,
     .plain = true},
    {.name = "b", .rank = 2, .dim = {FP8_N, FP8_K}, .dtype = RIDGE_E4M3},
    {.name = "b_scale",
     .rank = 2,
     .dim = {FP8_B_DOWN, FP8_ACROSS},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_SCALE,
     .plain = true},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {FP8_M, FP8_N}}};

static double area(const ridge_case *c, int down, int across) { return (double)c->dim[down] * (double)c->dim[across]; }
static double flops(const ridge_case *c) { return 2 * area(c, FP8_M, FP8_N) * (double)c->dim[FP8_K]; }
static double bytes_read(const ridge_case *c) {
    return area(c, FP8_M, FP8_K) + area(c, FP8_N, FP8_K) +
           4 * (area(c, FP8_A_DOWN, FP8_ACROSS) + area(c, FP8_B_DOWN, FP8_ACROSS));
}
static double bytes_written(const ridge_case *c) { return area(c, FP8_M, FP8_N) * (double)ridge_dtype_size(c->dtype); }

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = flops(c), .bytes_read = bytes_read(c), .bytes_written = bytes_written(c)};
}

/* ---- ways on a GPU ---- */

/* One scale for each tensor, and sums that may stay in the tensor cores. */
static bool is_fast(const double *option, const int64_t *dim) {
    return option[FP8_FAST_SUMS] > 0 && dim[FP8_A_DOWN] == 1 && dim[FP8_B_DOWN] == 1 && dim[FP8_ACROSS] == 1;
}
static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX - 4096;
    if (p->c.dim[FP8_M] < 1) return "for one row and more";
    if (p->c.dim[FP8_M] > most || p->c.dim[FP8_N] > most || p->c.dim[FP8_K] > most) return "for extents of 31 bits";
    if (p->c.dim[FP8_B_DOWN] > fp8_blocks(p->c.dim[FP8_N])) return "for scales of 128 rows of B and more";
    if (!fp8_scales_are_near(&p->tensor[FP8_A_SCALE], p->c.dim[FP8_A_DOWN]) ||
        !fp8_scales_are_near(&p->tensor[FP8_B_SCALE], p->c.dim[FP8_B_DOWN]))
        return "for scales within 2^31 numbers";
    return gemm8_refusal(p, &p->tensor[FP8_A], &p->tensor[FP8_B], &p->tensor[4], p->c.dim[FP8_N]);
}

static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm8_extents e = {p->c.dim[FP8_M], p->c.dim[FP8_N], p->c.dim[FP8_K], p->here.sm_count};
    return (ridge_plan){.refusal = tiles_refuse(p),
                        .us = gemm8_us(way->own, &e, bytes_read(&p->c) + bytes_written(&p->c)),
                        .scratch = gemm8_scratch(way->own, &e),
                        .arithmetic = {RIDGE_E4M3, 1}};
}
static ridge_plan fast_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = tiles_plan(way, p);
    if (!is_fast(p->c.option, p->c.dim)) plan.refusal = "for fast sums, with one scale a tensor";
    return plan;
}
/* A thread's sum waits for each of its terms, where there are few threads:. */
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    const double sms = p->here.sm_count > 0 ? p->here.sm_count : 1;
    (void)way;
    return (ridge_plan){.us = GEMM8_LAUNCH + fmax(0.048 * (double)p->c.dim[FP8_K], flops(&p->c) / (0.1e6 * sms))};
}

#define PLAN_OF(promote) ((promote) ? tiles_plan : fast_plan)
#define WAY(name, columns, stages, cluster_m, cluster_n, promote, shares, slice_us, rate, idea) \
    GEMM8_WAY(fp8_gemm, PLAN_OF(promote), name, columns, cluster_m, cluster_n, shares, slice_us, rate, idea)
static const ridge_way cuda_ways[] = {{.name = "any",
                                       .idea = "operands as they lie, a thread an element",
                                       .plan = any_plan,
                                       .run = RIDGE_CUDA(fp8_gemm_cuda_any)},
                                      FP8_TILES(WAY)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C at a time, codes decoded in its loop",
     .run = RIDGE_CPU(fp8_gemm_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "slices decoded once for 64 x 64 elements of C, products in registers",
     .run = RIDGE_CPU(fp8_gemm_cpu_optimized)},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a thread an element, codes decoded in its loop",
     .run = RIDGE_CUDA(fp8_gemm_cuda_any)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "fp8 tensor cores, promoted every 128 of K",
     .ways = RIDGE_LIST(cuda_ways)},
};

/* ---- verification ---- */

static int64_t block_of(int64_t row, int64_t down, int64_t extent) {
    return down == extent ? row : down == 1 ? 0 : row / FP8_BLOCK;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[FP8_N], k = call->dim[FP8_K], across = call->dim[FP8_ACROSS];
    for (int64_t i = 0; i < call->dim[FP8_M]; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *a = call->in[FP8_A] + i * k, *b = call->in[FP8_B] + j * k;
            const double *sa =
                call->in[FP8_A_SCALE] + block_of(call->row[i], call->whole[FP8_A_DOWN], call->whole[FP8_M]) * across;
            const double *sb = call->in[FP8_B_SCALE] + block_of(j, call->dim[FP8_B_DOWN], n) * across;
            double total = 0;
            for (int64_t first = 0; first < k; first += FP8_BLOCK) {
                const int64_t end = first + FP8_BLOCK < k ? first + FP8_BLOCK : k,
                              s = across > 1 ? first / FP8_BLOCK : 0;
                double sum = 0;
                for (int64_t d = first; d < end; d++) sum += a[d] * b[d];
                total += sum * sa[s] * sb[s];
            }
            call->out[0][i * n + j] = total;
        }
}

/* Derived in README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double k = (double)call->dim[FP8_K], slices = ceil(k / FP8_BLOCK);
    const double product = call->in_max[FP8_A] * call->in_max[FP8_B];
    const double scale = call->in_max[FP8_A_SCALE] * call->in_max[FP8_B_SCALE];
    *b = (ridge_bound){.relative = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype)};
    const bool fast = is_fast(call->option, call->whole);
    const bool fits = k * product * 36 < 0x1p24 && !(fast && k > FP8_BLOCK); /* integers times 2^-16 */
    if (kind == RIDGE_EXACT && fits) return;
    b->absolute = scale * product * (fast ? fp8_lost(k) : fp8_lost(fmin(k, FP8_BLOCK)) * sqrt(slices));
    b->relative += 0x1p-22;
}

const ridge_target ridge_target_fp8_gemm = {
    .name = "fp8_gemm",
    .chapter = "ch09",
    .summary = "matrix product in e4m3, with scales of tensors, rows or squares",
    .dims = {"m", "n", "k", "a_down", "b_down", "across"},
    .n_sizes = 3,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "fast"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
