/* D[m,n] = f(alpha A[m,k] B[k,n] + beta C[m,n] + bias[n] + row_bias[m])      C and the biases may be absent
 * f: none, GELU, GELU's tanh form, SiLU, ReLU, ReLU squared. Types and orders as gemm. 2 m n k FLOP and some for each element
 * of D; least traffic: what is given, once, and D. */
#include <math.h>

#include "gemm/cpu.h"
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "gemm/ways.h"
#include "peer/cublaslt.h"

RIDGE_CUDA_DECLARE(gemm_epilogue_cuda_baseline);

enum { A = 1u << GEMM_A, B = 1u << GEMM_B, C = 1u << GEMM_ADDEND, D = 1u << GEMM_D };
#define GPU MATMUL_GPU
#define EDGE .edge = true
/* alpha, wide, beta, function; whether C, bias and row_bias are given */
#define WITH(...) .option = {__VA_ARGS__}
enum { NONE = ACTIVATION_NONE, GELU = ACTIVATION_GELU, TANH = ACTIVATION_GELU_TANH, SILU = ACTIVATION_SILU };
enum { RELU = ACTIVATION_RELU, SQUARED = GEMM_RELU_SQUARED };

static const ridge_case cases[] = {
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, WITH(1, 0, 0, GELU, 0, 1, 0), GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, WITH(1, 0, 1, NONE, 1, 1, 0), GPU},
    {.dim = {8192, 4096, 14336}, .dtype = RIDGE_BF16, WITH(1, 0, 1, NONE, 1, 0, 0), GPU},
    {.dim = {16, 8192, 8192}, .dtype = RIDGE_BF16, WITH(1, 0, 0, SILU, 0, 1, 0), GPU},
    {.dim = {2048, 2048, 2048}, .dtype = RIDGE_F32, WITH(1, 0, 0, GELU, 0, 1, 0), GPU},
    {.dim = {512, 512, 512}, .dtype = RIDGE_F32, WITH(1, 0, 1, GELU, 1, 1, 0)},
    {.dim = {0, 5, 7}, .dtype = RIDGE_F32, WITH(1, 0, 1, GELU, 1, 1, 1), EDGE},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, WITH(1, 0, 0, NONE, 0, 0, 0), EDGE},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F32, WITH(-0.5, 0, 2, GELU, 1, 1, 1), EDGE},
    {.dim = {33, 70, 31}, .dtype = RIDGE_F32, WITH(1, 0, 0, SILU, 0, 0, 1), .column_major = B | D, EDGE},
    {.dim = {65, 40, 129}, .dtype = RIDGE_F32, WITH(2, 0, -1, RELU, 1, 1, 0), .column_major = A | C, EDGE},
    {.dim = {77, 18, 90}, .dtype = RIDGE_F32, WITH(1, 0, 1, SQUARED, 1, 0, 1), .column_major = C | D, EDGE},
    {.dim = {140, 136, 300}, .dtype = RIDGE_F32, WITH(1, 0, 0.5, TANH, 1, 1, 0), EDGE},
    {.dim = {100, 130, 1096}, .dtype = RIDGE_F32, WITH(0.5, 0, 1, GELU, 1, 1, 1), .column_major = A | D, EDGE, GPU},
    {.dim = {0, 8, 16}, .dtype = RIDGE_BF16, WITH(1, 0, 0, GELU, 0, 1, 0), EDGE, GPU},
    {.dim = {300, 520, 200}, .dtype = RIDGE_BF16, WITH(1, 0, 0.5, NONE, 1, 0, 0), EDGE, GPU},
    {.dim = {257, 264, 136}, .dtype = RIDGE_F16, WITH(2, 0, -1, GELU, 1, 1, 1), .column_major = A, EDGE, GPU},
    {.dim = {264, 776, 72}, .dtype = RIDGE_F16, WITH(1, 0, 0, SILU, 0, 1, 0), .column_major = B, EDGE, GPU},
    {.dim = {520, 264, 136}, .dtype = RIDGE_BF16, WITH(1, 0, 1, RELU, 1, 1, 0), .column_major = C | D, EDGE, GPU},
    {.dim = {264, 392, 72}, .dtype = RIDGE_BF16, WITH(1, 0, 1, TANH, 1, 0, 1), .column_major = C, EDGE, GPU},
    {.dim = {328, 264, 136}, .dtype = RIDGE_F16, WITH(1, 1, 1, GELU, 1, 1, 0), EDGE, GPU},
    {.dim = {136, 72, 1096}, .dtype = RIDGE_F16, WITH(1, 0, 1, SQUARED, 1, 1, 0), EDGE, GPU},
    {.dim = {61, 97, 113}, .dtype = RIDGE_BF16, WITH(1, 0, 1, GELU, 1, 1, 1), EDGE, GPU},
    {.dim = {300, 130, 200}, .dtype = RIDGE_TF32, WITH(1, 0, 0.5, GELU, 1, 1, 0), EDGE, GPU},
    {.dim = {140, 70, 1096}, .dtype = RIDGE_TF32, WITH(2, 0, 1, RELU, 1, 1, 1), .column_major = A | D, EDGE, GPU},
    {.dim = {7, 264, 520}, .dtype = RIDGE_F16, WITH(1, 0, 1, GELU, 1, 1, 1), EDGE, GPU},
    {.dim = {264, 8, 264}, .dtype = RIDGE_BF16, WITH(1, 1, 1, SILU, 1, 1, 1), .column_major = A | D, EDGE, GPU},
    {.dim = {209, 267, 21}, .dtype = RIDGE_F32, WITH(1, 0, 1, GELU, 1, 1, 1), EDGE, GPU},
    {.dim = {267, 141, 27}, .dtype = RIDGE_BF16, WITH(2, 1, -1, SILU, 1, 1, 1), .column_major = B | D, EDGE, GPU},
    {.dim = {391, 1, 520}, .dtype = RIDGE_F16, WITH(1, 0, 1, GELU, 1, 1, 1), .column_major = D, EDGE, GPU},
    {.dim = {1, 267, 411}, .dtype = RIDGE_F32, WITH(2, 0, -1, SILU, 1, 1, 1), .column_major = B, EDGE, GPU},
};

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {MATMUL_M, MATMUL_K}, .by_row = true, .takes_column_major = true},
    {.name = "b", .rank = 2, .dim = {MATMUL_K, MATMUL_N}, .takes_column_major = true},
    {.name = "c",
     .rank = 2,
     .dim = {MATMUL_M, MATMUL_N},
     .by_row = true,
     .takes_column_major = true,
     .wide_option = GEMM_WIDE + 1,
     .given_option = GEMM_HAS_ADDEND + 1},
    {.name = "bias", .rank = 1, .dim = {MATMUL_N}, .given_option = GEMM_HAS_BIAS + 1},
    {.name = "row_bias", .rank = 1, .dim = {MATMUL_M}, .by_row = true, .given_option = GEMM_HAS_ROW_BIAS + 1},
};
static const ridge_tensor_spec out[] = {
    {.name = "d", .rank = 2, .dim = {MATMUL_M, MATMUL_N}, .takes_column_major = true, .wide_option = GEMM_WIDE + 1},
};

static const char *const words[] = {"none", "gelu", "gelu_tanh", "silu", "relu", "relu_squared", NULL};

/* An activation 0, 3, 8, 4, 1 or 2; a bias 1, the addend 2 an element. */
static void work(const ridge_case *c, ridge_work *w) {
    static const double function[GEMM_FUNCTIONS] = {0, 3, 8, 4, 1, 2};
    const double m = (double)c->dim[MATMUL_M], n = (double)c->dim[MATMUL_N], size = (double)ridge_dtype_size(c->dtype);
    const double wide = c->option[GEMM_WIDE] > 0 ? 4 : size;
    matmul_work(c, w);
    w->flops += m * n *
                (2 * c->option[GEMM_HAS_ADDEND] + c->option[GEMM_HAS_BIAS] + c->option[GEMM_HAS_ROW_BIAS] +
                 function[(int)c->option[GEMM_FUNCTION]]);
    w->bytes_read += c->option[GEMM_HAS_ADDEND] * m * n * wide + c->option[GEMM_HAS_BIAS] * n * size +
                     c->option[GEMM_HAS_ROW_BIAS] * m * size;
    w->bytes_written = m * n * wide;
}

/* As PyTorch has them: ReLU keeps NaN; the others make NaN of -inf, which is -inf times 0. */
static double activated(int function, double h) {
    switch (function) {
        case ACTIVATION_GELU: return 0.5 * h * (1.0 + erf(h * sqrt(0.5)));
        case ACTIVATION_GELU_TANH: return h / (1.0 + exp(-1.5957691216057308 * (h + 0.044715 * h * h * h)));
        case ACTIVATION_SILU: return h / (1.0 + exp(-h));
        case ACTIVATION_RELU: return h < 0 ? 0 : h;
        case GEMM_RELU_SQUARED: return h < 0 ? 0 : h * h;
        default: return h;
    }
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t m = call->dim[MATMUL_M], n = call->dim[MATMUL_N];
    const double *o = call->option;
    matmul_oracle(call);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double *d = &call->out[0][i * n + j], v = o[GEMM_ALPHA] * *d;
            if (o[GEMM_HAS_BIAS] > 0) v += call->in[GEMM_BIAS][j];
            if (o[GEMM_HAS_ROW_BIAS] > 0) v += call->in[GEMM_ROW_BIAS][i];
            if (o[GEMM_HAS_ADDEND] > 0) v += o[GEMM_BETA] * call->in[GEMM_ADDEND][i * n + j];
            *d = activated((int)o[GEMM_FUNCTION], v);
        }
}

/* Before the function, absolute and in proportion to |v|: gemm's, whose relative part is of alpha A B and not of v; and
 * four roundings of sums that `terms` may have made larger than v. */
static ridge_bound bound_before(const ridge_oracle_call *call, ridge_fill_kind kind, double *size) {
    const double *o = call->option, *max = call->in_max, u = 0x1p-24;
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    const double terms = o[GEMM_HAS_BIAS] * max[GEMM_BIAS] + o[GEMM_HAS_ROW_BIAS] * max[GEMM_ROW_BIAS] +
                         o[GEMM_HAS_ADDEND] * fabs(o[GEMM_BETA]) * max[GEMM_ADDEND];
    ridge_bound b;
    matmul_bound(call, kind, 0, &b);
    if (narrow) b.relative -= ridge_dtype_roundoff(call->dtype);
    b.absolute = b.absolute * fabs(o[GEMM_ALPHA]) + terms * (b.relative + 8 * u);
    b.relative += 4 * u;
    *size = fabs(o[GEMM_ALPHA]) * max[GEMM_A] * max[GEMM_B] * sqrt((double)call->dim[MATMUL_K]) / 3 + terms;
    return b;
}

/* Behind it: README.md. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    static const struct {
        double slope, own,
            tail; /* own: error in u |v|; tail: |v| below 0 from which on results are too small to count */
    } of[GEMM_FUNCTIONS] = {{1, 0, 0}, {1.13, 5, 6}, {1.13, 10, 6}, {1.1, 3, 16}, {1, 0, 0}, {0, 0, 0}};
    const int f = (int)call->option[GEMM_FUNCTION];
    const bool narrow = ridge_dtype_size(call->dtype) == 2, wide = narrow && call->option[GEMM_WIDE] > 0;
    const double u = 0x1p-24;
    double size;
    (void)output;
    *b = bound_before(call, kind, &size);
    if (f == GEMM_RELU_SQUARED) {
        const double e = b->absolute, share = size > 0 ? e / size : 0;
        b->absolute = e * size + 2 * e * e, b->relative = 2 * b->relative + share + 2 * u;
    } else if (f != ACTIVATION_NONE && f != ACTIVATION_RELU) {
        const double relative = of[f].slope * b->relative + of[f].own * u;
        b->absolute = of[f].slope * b->absolute + relative * of[f].tail, b->relative = 2 * relative;
    }
    b->relative += wide || !narrow ? u : ridge_dtype_roundoff(call->dtype);
}

static const char *reject(const ridge_case *c) {
    if (c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1) return "n and k must be at least 1";
    if (!(fabs(c->option[GEMM_ALPHA]) <= 0x1p20)) return "alpha must be from -2^20 to 2^20";
    if (!(fabs(c->option[GEMM_BETA]) <= 0x1p20)) return "beta must be from -2^20 to 2^20";
    for (int f = 0; f < GEMM_FUNCTIONS; f++)
        if (!(c->option[GEMM_FUNCTION] > f) && !(c->option[GEMM_FUNCTION] < f)) return NULL;
    return "activation must be 0 (none), 1 (gelu), 2 (gelu's tanh form), 3 (silu), 4 (relu) or 5 (relu squared)";
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops over rows, then each term in a pass of its own",
     .run = RIDGE_CPU(gemm_terms_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, then all terms in one pass",
     .ways = gemm_terms_cpu_ways,
     .n_ways = GEMM_TERMS_CPU_WAYS},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt, the quickest of its algorithms, to fp32; then a kernel for all terms",
     .run = RIDGE_CUDA(gemm_epilogue_cuda_baseline),
     .scratch = gemm_fp32_product_scratch,
     .unavailable = gemm_fp32_product_unavailable,
     .prepare = RIDGE_CUDA_PLAN(gemm_fp32_product_prepare),
     .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "terms while sums are in registers: biases loaded ahead, C by TMA",
     .ways = gemm_terms_ways,
     .n_ways = GEMM_TERMS_WAYS},
};

const ridge_target ridge_target_gemm_epilogue = {
    .name = "gemm_epilogue",
    .chapter = "ch09",
    .summary = "matrix product with biases, residual and activation",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "alpha", .fallback = 1},
                {.name = "wide"},
                {.name = "beta", .fallback = 1},
                {.name = "activation", .words = words},
                {.name = "with_c"},
                {.name = "with_bias", .fallback = 1},
                {.name = "with_row_bias"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
