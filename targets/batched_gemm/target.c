/* C[i] = alpha A[i] B[i]      A: [batch, m, k], B: [batch, k, n], C: [batch, m, n], row-major; f32, on a GPU bf16 and f16
 * 2 batch m n k FLOP; least traffic size(A) + size(B) + size(C). */
#include <math.h>

#include "cpu/gemm_product.h"
#include "gemm/batched.h"
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "peer/cublaslt.h"

RIDGE_CPU_DECLARE(batched_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(batched_gemm_cpu_optimized);
const char *batched_gemm_library_unavailable(const ridge_case *c);
ridge_status batched_gemm_library_prepare(const ridge_case *c, int threads, void **plan);
ridge_status batched_gemm_library_run(const ridge_call *call);

static const ridge_case cases[] = {
    {.dim = {64, 512, 512, 512}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {16, 1024, 1024, 1024}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {128, 512, 2048, 1024}, .dtype = RIDGE_BF16, .option = {1}, MATMUL_GPU},
    {.dim = {512, 128, 128, 64}, .dtype = RIDGE_F16, .option = {1}, MATMUL_GPU},
    {.dim = {32, 256, 256, 256}, .dtype = RIDGE_F32, .option = {1}},
    {.dim = {0, 3, 5, 7}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {2, 0, 5, 7}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {7, 19, 23, 65}, .dtype = RIDGE_F32, .option = {-0.5}, .edge = true},
    {.dim = {2, 70, 130, 260}, .dtype = RIDGE_F32, .option = {1}, .edge = true},
    {.dim = {0, 8, 8, 8}, .dtype = RIDGE_BF16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {1, 136, 264, 72}, .dtype = RIDGE_BF16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {5, 130, 264, 136}, .dtype = RIDGE_BF16, .option = {2}, .edge = true, MATMUL_GPU},
    {.dim = {9, 40, 136, 200}, .dtype = RIDGE_F16, .option = {1}, .edge = true, MATMUL_GPU},
    {.dim = {3, 17, 33, 31}, .dtype = RIDGE_F16, .option = {1}, .edge = true, MATMUL_GPU},
};

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 3, .dim = {BATCHED_BATCH, BATCHED_M, BATCHED_K}, .by_row = true},
    {.name = "b", .rank = 3, .dim = {BATCHED_BATCH, BATCHED_K, BATCHED_N}, .by_row = true},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 3, .dim = {BATCHED_BATCH, BATCHED_M, BATCHED_N}}};

static void work(const ridge_case *c, ridge_work *w) {
    const double batch = (double)c->dim[BATCHED_BATCH], m = (double)c->dim[BATCHED_M], n = (double)c->dim[BATCHED_N];
    const double k = (double)c->dim[BATCHED_K], size = (double)ridge_dtype_size(c->dtype);
    *w = (ridge_work){.flops = 2 * batch * m * n * k,
                      .bytes_read = size * batch * k * (m + n),
                      .bytes_written = size * batch * m * n};
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t m = call->dim[BATCHED_M], n = call->dim[BATCHED_N], k = call->dim[BATCHED_K];
    for (int64_t of = 0; of < call->dim[BATCHED_BATCH]; of++) {
        const double *a = call->in[GEMM_A] + of * m * k, *b = call->in[GEMM_B] + of * k * n;
        double *c = call->out[0] + of * m * n;
        for (int64_t i = 0; i < m; i++, c += n, a += k) {
            for (int64_t j = 0; j < n; j++) c[j] = 0;
            for (int64_t d = 0; d < k; d++)
                for (int64_t j = 0; j < n; j++) c[j] += a[d] * b[d * n + j];
            for (int64_t j = 0; j < n; j++) c[j] *= call->option[GEMM_ALPHA];
        }
    }
}

/* gemm's. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    ridge_oracle_call one = *call;
    one.dim = call->dim + BATCHED_M;
    matmul_bound(&one, kind, output, b);
    b->absolute *= fabs(call->option[GEMM_ALPHA]);
    b->relative += 0x1p-24;
}

static const char *reject(const ridge_case *c) {
    if (c->dim[BATCHED_N] < 1 || c->dim[BATCHED_K] < 1) return "n and k must be at least 1";
    return fabs(c->option[GEMM_ALPHA]) <= 0x1p20 ? NULL : "alpha must be from -2^20 to 2^20";
}

static size_t cpu_scratch(const ridge_case *c, int threads) {
    return gemm_product_scratch_of_many(c->dim[BATCHED_M], c->dim[BATCHED_N], c->dim[BATCHED_K], threads);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops for each product",
     .run = RIDGE_CPU(batched_gemm_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, a product a thread",
     .run = RIDGE_CPU(batched_gemm_cpu_optimized),
     .scratch = cpu_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt, the quickest of its algorithms, a call for each product",
     .run = RIDGE_CUDA(batched_gemm_library_run),
     .scratch = gemm_cublaslt_scratch,
     .unavailable = batched_gemm_library_unavailable,
     .prepare = RIDGE_CUDA_PLAN(batched_gemm_library_prepare),
     .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one launch, whose blocks take tiles of all products in turn",
     .ways = gemm_batched_ways,
     .n_ways = GEMM_BATCHED_WAYS},
};

const ridge_target ridge_target_batched_gemm = {
    .name = "batched_gemm",
    .chapter = "ch09",
    .summary = "matrix products side by side",
    .dims = {"batch", "m", "n", "k"},
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
