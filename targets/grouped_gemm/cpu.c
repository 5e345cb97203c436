/* Grouped products in fp32: see gemm/cpu_many.h. */
#include "gemm/cpu_many.h"
#include "gemm/grouped.h"

RIDGE_CPU_DECLARE(grouped_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(grouped_gemm_cpu_optimized);

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->strides && t->shape[dim] > 1) return t->strides[dim];
    if (dim == t->ndim - 1) return 1;
    return dim == t->ndim - 2 ? t->shape[t->ndim - 1] : t->shape[1] * stride_of(t, 1);
}
static int64_t bounded(int64_t end, int64_t least, int64_t most) {
    return end < least ? least : end > most ? most : end;
}

/* Behind row `from`, where group i ends, ends before it considered; of the group behind the last, all rows. */
static int64_t end_of(const ridge_call *call, int64_t i) {
    const int32_t *ends = ridge_data(&call->in[GROUPED_ENDS]);
    int64_t end = 0;
    if (i >= call->dim[GROUPED_GROUPS]) return call->dim[MATMUL_M];
    for (int64_t g = 0; g <= i; g++) end = bounded(ends[g], end, call->dim[MATMUL_M]);
    return end;
}

static gemm_product product_of(const ridge_call *call, int64_t i) {
    const DLTensor *a = &call->in[GEMM_A], *b = &call->in[GEMM_B], *c = &call->out[0];
    const int64_t begin = i > 0 ? end_of(call, i - 1) : 0;
    return (gemm_product){.m = end_of(call, i) - begin,
                          .n = call->dim[MATMUL_N],
                          .k = call->dim[MATMUL_K],
                          .a = (const float *)ridge_data(a) + begin * stride_of(a, 0),
                          .a_row = stride_of(a, 0),
                          .a_depth = 1,
                          .b = (const float *)ridge_data(b) + i * stride_of(b, 0),
                          .b_depth = stride_of(b, 1),
                          .b_column = 1,
                          .c = (float *)ridge_data(c) + begin * stride_of(c, 0),
                          .c_row = stride_of(c, 0)};
}

static gemm_many many_of(const ridge_call *call) {
    return (gemm_many){.call = call,
                       .of = product_of,
                       .count = call->dim[GROUPED_GROUPS],
                       .most_m = call->dim[MATMUL_M],
                       .n = call->dim[MATMUL_N],
                       .k = call->dim[MATMUL_K],
                       .alpha = (float)call->option[GEMM_ALPHA]};
}

/* Zero in rows behind the last group. */
static void clear_the_rest(const ridge_call *call) {
    const gemm_product rest = product_of(call, call->dim[GROUPED_GROUPS]);
    for (int64_t i = 0; i < rest.m; i++)
        for (int64_t j = 0; j < rest.n; j++) rest.c[i * rest.c_row + j] = 0;
}

ridge_status RIDGE_ISA_FN(grouped_gemm_cpu_baseline)(const ridge_call *call) {
    gemm_many many = many_of(call);
    ridge_team_run(call->team, gemm_many_loops, &many);
    clear_the_rest(call);
    return RIDGE_OK;
}

/* Groups differ in size, so threads that each had some of them would end far apart. */
ridge_status RIDGE_ISA_FN(grouped_gemm_cpu_optimized)(const ridge_call *call) {
    gemm_many many = many_of(call);
    gemm_many_run(&many, false);
    clear_the_rest(call);
    return RIDGE_OK;
}
