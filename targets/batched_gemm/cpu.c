/* C[i] = alpha A[i] B[i] in fp32, row-major. Baseline: three loops. Optimized: the ways of cpu/gemm_product.h, a product a
 * thread where there are enough of them, else all threads on each. */
#include "cpu/gemm_product.h"
#include "gemm/batched.h"

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

static void scale(const gemm_product *p, float alpha) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) p->c[i * p->c_row + j] *= alpha;
}

static void loops(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[BATCHED_BATCH], 1, rank, size, &begin, &end);
    for (int64_t of = begin; of < end; of++) {
        const gemm_product p = product_of(call, of);
        for (int64_t i = 0; i < p.m; i++) {
            float *restrict c = p.c + i * p.c_row;
            for (int64_t j = 0; j < p.n; j++) c[j] = 0;
            for (int64_t k = 0; k < p.k; k++) {
                const float a = p.a[i * p.a_row + k];
                const float *restrict b = p.b + k * p.b_depth;
                for (int64_t j = 0; j < p.n; j++) c[j] += a * b[j];
            }
        }
        scale(&p, (float)call->option[GEMM_ALPHA]);
    }
}

/* A thread's products, each by itself. */
static void whole_products(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const size_t room = gemm_product_scratch(call->dim[BATCHED_M], call->dim[BATCHED_N], call->dim[BATCHED_K], 1);
    void *const scratch = (char *)call->scratch + (size_t)rank * ((room + 63) / 64 * 64);
    int64_t begin, end;
    ridge_share(call->dim[BATCHED_BATCH], 1, rank, size, &begin, &end);
    for (int64_t of = begin; of < end; of++) {
        const gemm_product p = product_of(call, of);
        gemm_product_best(&p, scratch, NULL);
        scale(&p, (float)call->option[GEMM_ALPHA]);
    }
}

ridge_status RIDGE_ISA_FN(batched_gemm_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, loops, (void *)call);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(batched_gemm_cpu_optimized)(const ridge_call *call) {
    const int64_t batch = call->dim[BATCHED_BATCH];
    if (call->dim[BATCHED_M] == 0) return RIDGE_OK;
    if (batch >= ridge_team_size(call->team)) {
        ridge_team_run(call->team, whole_products, (void *)call);
        return RIDGE_OK;
    }
    for (int64_t of = 0; of < batch; of++) {
        const gemm_product p = product_of(call, of);
        gemm_product_best(&p, call->scratch, call->team);
        scale(&p, (float)call->option[GEMM_ALPHA]);
    }
    return RIDGE_OK;
}
