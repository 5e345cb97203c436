/* C[i,:] = alpha A[i,:] B[g] for rows i from ends[g - 1] to below ends[g]; rows behind the last end are zero
 * A: [m, k], B: [groups, k, n], ends: i32 [groups], C: [m, n], row-major; f32, on a GPU bf16 and f16
 * 2 m n k FLOP; least traffic size(A) + size(B) + size(C). */
#include <math.h>

#include "cpu/gemm_product.h"
#include "gemm/grouped.h"
#include "gemm/matmul_target.h"

RIDGE_CPU_DECLARE(grouped_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(grouped_gemm_cpu_optimized);

static const ridge_case cases[] = {
    {.dim = {8192, 4096, 2048, 64}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {8192, 4096, 7168, 8}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {65536, 4096, 2048, 64}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {256, 4096, 2048, 64}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {4096, 1024, 1024, 16}, .dtype = RIDGE_F16, .option = {1}, MATMUL_GPU},
    {.dim = {1024, 512, 256, 16}, .dtype = RIDGE_F32, .option = {1}},
    {.dim = {0, 5, 7, 3}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {3, 19, 23, 11}, .dtype = RIDGE_F32, .option = {2}, .edge = true},
    {.dim = {150, 70, 65, 4}, .dtype = RIDGE_F32, .option = {-0.5}, .edge = true},
    {.dim = {0, 8, 8, 2}, .dtype = RIDGE_BF16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {1, 8, 8, 1}, .dtype = RIDGE_BF16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {700, 264, 200, 5}, .dtype = RIDGE_BF16, .option = {-2}, .edge = true, MATMUL_GPU},
    {.dim = {130, 136, 72, 40}, .dtype = RIDGE_F16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {512, 72, 136, 1}, .dtype = RIDGE_F16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {150, 33, 31, 3}, .dtype = RIDGE_BF16, .option = {1}, .edge = true, MATMUL_GPU},
};

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {MATMUL_M, MATMUL_K}, .by_row = true},
    {.name = "b", .rank = 3, .dim = {GROUPED_GROUPS, MATMUL_K, MATMUL_N}},
    {.name = "ends",
     .rank = 1,
     .dim = {GROUPED_GROUPS},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_ENDS,
     .index_dim = MATMUL_M},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {MATMUL_M, MATMUL_N}}};

static void work(const ridge_case *c, ridge_work *w) {
    matmul_work(c, w);
    w->bytes_read += matmul_b_bytes(c) * (double)(c->dim[GROUPED_GROUPS] - 1) + 4 * (double)c->dim[GROUPED_GROUPS];
}

/* The group of a row; the number of groups: none. */
static int64_t group_of(const ridge_oracle_call *call, int64_t row) {
    int64_t g = 0;
    while (g < call->dim[GROUPED_GROUPS] && (double)row >= call->in[GROUPED_ENDS][g]) g++;
    return g;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t m = call->dim[MATMUL_M], n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    for (int64_t i = 0; i < m; i++) {
        const double *a = call->in[GEMM_A] + i * k;
        double *c = call->out[0] + i * n;
        const int64_t g = group_of(call, call->row[i]);
        for (int64_t j = 0; j < n; j++) c[j] = 0;
        if (g == call->dim[GROUPED_GROUPS]) continue;
        const double *b = call->in[GEMM_B] + g * k * n;
        for (int64_t d = 0; d < k; d++)
            for (int64_t j = 0; j < n; j++) c[j] += a[d] * b[d * n + j];
        for (int64_t j = 0; j < n; j++) c[j] *= call->option[GEMM_ALPHA];
    }
}

/* gemm's. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    matmul_bound(call, kind, output, b);
    b->absolute *= fabs(call->option[GEMM_ALPHA]);
    b->relative += 0x1p-24;
}

static const char *reject(const ridge_case *c) {
    if (c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1) return "n and k must be at least 1";
    if (c->dim[GROUPED_GROUPS] < 1) return "groups must be at least 1";
    if (c->dim[MATMUL_M] > INT32_MAX) return "m must be less than 2^31: ends are of 32 bits";
    return fabs(c->option[GEMM_ALPHA]) <= 0x1p20 ? NULL : "alpha must be from -2^20 to 2^20";
}

static size_t cpu_scratch(const ridge_case *c, int threads) {
    return gemm_product_scratch_of_many(c->dim[MATMUL_M], c->dim[MATMUL_N], c->dim[MATMUL_K], threads);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops for each group",
     .run = RIDGE_CPU(grouped_gemm_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, all threads on a group",
     .run = RIDGE_CPU(grouped_gemm_cpu_optimized),
     .scratch = cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a launch for each group, which finds its rows on the device",
     .ways = gemm_group_by_group_ways,
     .n_ways = GEMM_GROUPED_WAYS},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one launch, whose blocks take tiles of all groups in turn",
     .ways = gemm_grouped_ways,
     .n_ways = GEMM_GROUPED_WAYS},
};

const ridge_target ridge_target_grouped_gemm = {
    .name = "grouped_gemm",
    .chapter = "ch09",
    .summary = "matrix products of groups of rows",
    .dims = {"m", "n", "k", "groups"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "alpha", .fallback = 1}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
