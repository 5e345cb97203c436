/* C[i] = alpha A[i] B[i] in fp32, row-major: see gemm/cpu_many.h. */
#include "gemm/batched.h"
#include "gemm/cpu_many.h"

RIDGE_CPU_DECLARE(batched_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(batched_gemm_cpu_optimized);

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->strides && t->shape[dim] > 1) return t->strides[dim];
    return dim == 2 ? 1 : dim == 1 ? t->shape[2] : t->shape[1] * stride_of(t, 1);
}
static float *matrix(const DLTensor *t, int64_t i) { return (float *)ridge_data(t) + i * stride_of(t, 0); }

static gemm_product product_of(const ridge_call *call, int64_t i) {
    const DLTensor *a = &call->in[GEMM_A], *b = &call->in[GEMM_B], *c = &call->out[0];
    return (gemm_product){.m = call->dim[BATCHED_M],
                          .n = call->dim[BATCHED_N],
                          .k = call->dim[BATCHED_K],
                          .a = matrix(a, i),
                          .a_row = stride_of(a, 1),
                          .a_depth = 1,
                          .b = matrix(b, i),
                          .b_depth = stride_of(b, 1),
                          .b_column = 1,
                          .c = matrix(c, i),
                          .c_row = stride_of(c, 1)};
}

static gemm_many many_of(const ridge_call *call) {
    return (gemm_many){.call = call,
                       .of = product_of,
                       .count = call->dim[BATCHED_M] > 0 ? call->dim[BATCHED_BATCH] : 0,
                       .most_m = call->dim[BATCHED_M],
                       .n = call->dim[BATCHED_N],
                       .k = call->dim[BATCHED_K],
                       .alpha = (float)call->option[GEMM_ALPHA]};
}

ridge_status RIDGE_ISA_FN(batched_gemm_cpu_baseline)(const ridge_call *call) {
    gemm_many many = many_of(call);
    ridge_team_run(call->team, gemm_many_loops, &many);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(batched_gemm_cpu_optimized)(const ridge_call *call) {
    gemm_many many = many_of(call);
    gemm_many_run(&many, many.count >= ridge_team_size(call->team));
    return RIDGE_OK;
}
