/* C[m,n] = alpha A[m,k] B[k,n]      A, B, C row- or column-major; bf16, f32, on a GPU f16 and tf32; sums in fp32, C as A or fp32
 * 2 m n k FLOP; least traffic size(A) + size(B) + size(C). Compute-bound from about m = n = k = 600 on (H200, bf16). */
#include <math.h>

#include "gemm/cpu.h"
#include "gemm/library.h"
#include "gemm/matmul_target.h"
#include "gemm/ways.h"
#include "peer.h"
#include "peer/cublaslt.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

enum { A = 1u << GEMM_A, B = 1u << GEMM_B, C = 1u << GEMM_C };
#define GPU MATMUL_GPU
#define CPU .only = RIDGE_ONLY_CPU
#define EDGE .edge = true

static const ridge_case cases[] = {
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {8192, 8192, 8192}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {4096, 4096, 8192}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {8192, 8192, 1024}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {16384, 16384, 16384}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {8192, 28672, 4096}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {8192, 4096, 14336}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, GPU},
    {.dim = {512, 512, 16384}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F16, .option = {1}, GPU},
    {.dim = {8192, 8192, 8192}, .dtype = RIDGE_F16, .option = {1}, GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F32, .option = {1}, GPU},
    {.dim = {1024, 8192, 8192}, .dtype = RIDGE_F32, .option = {1}, GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_TF32, .option = {1}, GPU},
    {.dim = {1, 8192, 8192}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {8, 8192, 8192}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {16, 8192, 8192}, .dtype = RIDGE_BF16, .option = {1}, GPU},
    {.dim = {16, 8192, 8192}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, GPU},
    {.dim = {256, 256, 256}, .dtype = RIDGE_F32, .option = {1}},
    {.dim = {512, 512, 512}, .dtype = RIDGE_F32, .option = {1}, CPU},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_F32, .option = {1}, CPU},
    {.dim = {256, 256, 256}, .dtype = RIDGE_BF16, .option = {1}, CPU},
    {.dim = {512, 512, 512}, .dtype = RIDGE_BF16, .option = {1}, CPU},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_BF16, .option = {1}, CPU},
    {.dim = {0, 5, 7}, .dtype = RIDGE_F32, .option = {1}, EDGE},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .option = {1}, EDGE},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F32, .option = {-0.5}, EDGE},
    {.dim = {65, 40, 129}, .dtype = RIDGE_F32, .option = {2}, .column_major = A, EDGE},
    {.dim = {33, 70, 31}, .dtype = RIDGE_F32, .option = {1}, .column_major = B, EDGE},
    {.dim = {130, 131, 264}, .dtype = RIDGE_F32, .option = {1}, .column_major = A | B, EDGE},
    {.dim = {77, 18, 90}, .dtype = RIDGE_F32, .option = {1}, .column_major = C, EDGE},
    {.dim = {19, 150, 45}, .dtype = RIDGE_F32, .option = {3}, .column_major = A | B | C, EDGE},
    {.dim = {0, 5, 7}, .dtype = RIDGE_BF16, .option = {1}, EDGE, CPU},
    {.dim = {1, 1, 1}, .dtype = RIDGE_BF16, .option = {1}, EDGE, CPU},
    {.dim = {61, 97, 113}, .dtype = RIDGE_BF16, .option = {-0.5}, EDGE, CPU},
    {.dim = {65, 40, 129}, .dtype = RIDGE_BF16, .option = {2, 1}, .column_major = A, EDGE, CPU},
    {.dim = {33, 70, 31}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, CPU},
    {.dim = {130, 131, 264}, .dtype = RIDGE_BF16, .option = {1}, .column_major = A | B, EDGE, CPU},
    {.dim = {77, 18, 2090}, .dtype = RIDGE_BF16, .option = {1}, .column_major = C, EDGE, CPU}, /* slices of K */
    {.dim = {150, 3, 45}, .dtype = RIDGE_BF16, .option = {3, 1}, .column_major = A | B | C, EDGE, CPU}, /* narrow */
    {.dim = {151, 5, 67}, .dtype = RIDGE_BF16, .option = {1}, .column_major = A, EDGE, CPU},
    {.dim = {5, 150, 66}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, CPU},
    {.dim = {0, 8, 16}, .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {.dim = {1, 8, 8}, .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F16, .option = {1}, EDGE, GPU},
    {.dim = {129, 136, 40}, .dtype = RIDGE_BF16, .option = {-2}, EDGE, GPU},
    {.dim = {257, 264, 200}, .dtype = RIDGE_F16, .option = {1}, .column_major = A, EDGE, GPU},
    {.dim = {300, 520, 584}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, GPU},
    {.dim = {264, 776, 328}, .dtype = RIDGE_F16, .option = {0.5}, .column_major = A | B, EDGE, GPU},
    {.dim = {520, 264, 136}, .dtype = RIDGE_BF16, .option = {1}, .column_major = C, EDGE, GPU},
    {.dim = {328, 136, 2056}, .dtype = RIDGE_BF16, .option = {1, 1}, .column_major = B | C, EDGE, GPU},
    {.dim = {61, 97, 113}, .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {.dim = {259, 131, 77}, .dtype = RIDGE_F16, .option = {1}, .column_major = A | C, EDGE, GPU},
    {.dim = {136, 72, 1096}, .dtype = RIDGE_F16, .option = {1, 1}, EDGE, GPU},
    {.dim = {35, 67, 43}, .dtype = RIDGE_BF16, .option = {1.5, 1}, .column_major = A | B, EDGE, GPU},
    {.dim = {64, 1032, 72}, .dtype = RIDGE_F16, .option = {1}, EDGE, GPU},
    {.dim = {1544, 712, 24}, .dtype = RIDGE_F16, .option = {1}, .column_major = B, EDGE, GPU}, /* more tiles than SMs */
    {.dim = {300, 140, 16},
     .dtype = RIDGE_F32,
     .option = {1},
     EDGE,
     GPU}, /* small integers: lines of different scales */
    {.dim = {100, 120, 1000}, .dtype = RIDGE_F32, .option = {1}, EDGE, GPU}, /* three shares: filled up beyond 1024 */
    {.dim = {100, 120, 4050}, .dtype = RIDGE_TF32, .option = {1}, .column_major = B, EDGE, GPU}, /* beyond 4096 */
    {.dim = {257, 140, 1100}, .dtype = RIDGE_F32, .option = {0.75}, EDGE, GPU},
    {.dim = {130, 250, 1096}, .dtype = RIDGE_F32, .option = {1}, .column_major = A | C, EDGE, GPU},
    {.dim = {13, 31, 4164}, .dtype = RIDGE_F32, .option = {1}, .column_major = A, EDGE, GPU},
    {.dim = {0, 8, 16}, .dtype = RIDGE_TF32, .option = {1}, EDGE, GPU},
    {.dim = {1, 1, 3}, .dtype = RIDGE_TF32, .option = {1}, EDGE, GPU},
    {.dim = {300, 530, 584}, .dtype = RIDGE_TF32, .option = {1.5}, EDGE, GPU},
    {.dim = {259, 131, 77}, .dtype = RIDGE_TF32, .option = {1}, .column_major = A | C, EDGE, GPU},
    {.dim = {390, 40, 328}, .dtype = RIDGE_TF32, .option = {1}, .column_major = A | B, EDGE, GPU},
    {.dim = {130, 250, 2056}, .dtype = RIDGE_TF32, .option = {-2}, .column_major = B, EDGE, GPU},
    {.dim = {1, 264, 1032}, .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {.dim = {16, 200, 520}, .dtype = RIDGE_F16, .option = {-3}, .column_major = B, EDGE, GPU},
    {.dim = {7, 520, 72}, .dtype = RIDGE_F16, .option = {1, 1}, EDGE, GPU},
    {.dim = {390, 8, 328}, .dtype = RIDGE_BF16, .option = {1}, EDGE, GPU},
    {.dim = {392, 11, 328}, .dtype = RIDGE_BF16, .option = {1}, .column_major = A | B, EDGE, GPU},
    {.dim = {264, 16, 264}, .dtype = RIDGE_F16, .option = {2}, .column_major = A | C, EDGE, GPU},
    {.dim = {20, 264, 520}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, GPU}, /* few_rows of 32 */
    {.dim = {264, 24, 456}, .dtype = RIDGE_F16, .option = {-2}, EDGE, GPU},                    /* of 64, across K */
    {.dim = {49, 264, 392}, .dtype = RIDGE_F16, .option = {1, 1}, EDGE, GPU},                  /* of 64, along K */
    {.dim = {5, 300, 403}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, GPU},  /* gemv of 8 */
    {.dim = {301, 37, 533}, .dtype = RIDGE_BF16, .option = {1}, .column_major = A, EDGE, GPU}, /* of 32, twice */
    {.dim = {301, 11, 533}, .dtype = RIDGE_F32, .option = {2}, EDGE, GPU}, /* of 16, three products */
    {.dim = {35, 299, 1157},
     .dtype = RIDGE_F32,
     .option = {1},
     .column_major = A,
     EDGE,
     GPU}, /* of 32, twice, across */
    {.dim = {3, 299, 1157}, .dtype = RIDGE_F32, .option = {1}, .column_major = C, EDGE, GPU},
    {.dim = {21, 299, 645}, .dtype = RIDGE_TF32, .option = {1}, .column_major = B, EDGE, GPU},
    {.dim = {209, 267, 29}, .dtype = RIDGE_F32, .option = {-1}, EDGE, GPU}, /* shallow */
    {.dim = {267, 130, 7}, .dtype = RIDGE_F32, .option = {1}, .column_major = A | B, EDGE, GPU},
    {.dim = {130, 270, 61}, .dtype = RIDGE_F32, .option = {1}, .column_major = B, EDGE, GPU},
    {.dim = {390, 265, 19}, .dtype = RIDGE_BF16, .option = {1}, .column_major = B, EDGE, GPU},
    {.dim = {277, 387, 32}, .dtype = RIDGE_F16, .option = {2}, .column_major = A, EDGE, GPU},
    {.dim = {141, 200, 17}, .dtype = RIDGE_BF16, .option = {1, 1}, .column_major = A | B | C, EDGE, GPU},
    {.dim = {390, 1, 1032}, .dtype = RIDGE_BF16, .option = {2}, EDGE, GPU}, /* vector: 16 bytes a load */
    {.dim = {6, 1, 4211}, .dtype = RIDGE_F16, .option = {1, 1}, EDGE, GPU}, /* one element, several rounds */
    {.dim = {1, 301, 333}, .dtype = RIDGE_F32, .option = {1}, .column_major = B, EDGE, GPU},
    {.dim = {1, 267, 40}, .dtype = RIDGE_TF32, .option = {-1}, .column_major = A | B, EDGE, GPU}, /* fewer lanes */
    {.dim = {203, 1, 19}, .dtype = RIDGE_BF16, .option = {1}, .column_major = C, EDGE, GPU},
};

static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {MATMUL_M, MATMUL_K}, .by_row = true, .takes_column_major = true},
    {.name = "b", .rank = 2, .dim = {MATMUL_K, MATMUL_N}, .takes_column_major = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "c", .rank = 2, .dim = {MATMUL_M, MATMUL_N}, .takes_column_major = true, .wide_option = GEMM_WIDE + 1},
};

static void work(const ridge_case *c, ridge_work *w) {
    matmul_work(c, w);
    if (c->option[GEMM_WIDE] > 0) w->bytes_written *= 4 / (double)ridge_dtype_size(c->dtype);
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t elements = call->dim[MATMUL_M] * call->dim[MATMUL_N];
    matmul_oracle(call);
    for (int64_t i = 0; i < elements; i++) call->out[0][i] *= call->option[GEMM_ALPHA];
}

/* The ladder's, times |alpha|; alpha rounds once in fp32, and a wide C not to 16 bits. It shows the drift of sums of one sign
 * in a CPU's chain over K, which the rounding to 16 bits covers. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    matmul_bound(call, kind, output, b);
    if (narrow && call->option[GEMM_WIDE] > 0) {
        b->relative -= ridge_dtype_roundoff(call->dtype);
        if (b->absolute > 0) b->relative += 0x1p-24 * 7 * sqrt((double)call->dim[MATMUL_K]) / 3;
    }
    b->absolute *= fabs(call->option[GEMM_ALPHA]);
    b->relative += 0x1p-24;
}

static const char *reject(const ridge_case *c) {
    if (c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1) return "n and k must be at least 1";
    if (!(fabs(c->option[GEMM_ALPHA]) <= 0x1p20)) return "alpha must be from -2^20 to 2^20";
    return NULL;
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops over rows of C",
     .run = RIDGE_CPU(gemm_cpu_baseline)},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, operands packed where it pays",
     .ways = gemm_cpu_ways,
     .n_ways = GEMM_CPU_WAYS},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "dnnl_sgemm; oneDNN's matmul in bf16",
     .run = RIDGE_ANY_ISA(gemm_onednn),
     .unavailable = gemm_onednn_unavailable,
     .prepare = gemm_onednn_prepare,
     .arithmetic = gemm_onednn_arithmetic,
     .release = onednn_matmul_destroy,
     .own_threads = true},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "cblas_sgemm",
     .run = RIDGE_ANY_ISA(gemm_openblas),
     .unavailable = gemm_openblas_unavailable,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt, the quickest of its algorithms",
     .run = RIDGE_CUDA(gemm_cublaslt_run),
     .scratch = gemm_cublaslt_scratch,
     .unavailable = gemm_cublaslt_unavailable,
     .prepare = RIDGE_CUDA_PLAN(gemm_cublaslt_search),
     .release = RIDGE_CUDA_PLAN(cublaslt_plan_destroy)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "tiles by TMA and wgmma, fed by a warp of their own",
     .ways = gemm_cuda_ways,
     .n_ways = GEMM_CUDA_WAYS},
};

const ridge_target ridge_target_gemm = {
    .name = "gemm",
    .chapter = "ch09",
    .summary = "matrix product of any layout",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "alpha", .fallback = 1}, {.name = "wide"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
