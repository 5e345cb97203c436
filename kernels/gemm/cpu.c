/* C = alpha A B in fp32, compiled once for each instruction set: see cpu.h. */
#include "gemm/cpu.h"

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->shape[dim] <= 1 || !t->strides) return dim == 0 ? t->shape[1] : 1;
    return t->strides[dim];
}

/* C by rows: of a column-major one, its transpose. */
static gemm_product product_of(const ridge_call *call) {
    const DLTensor *a = &call->in[GEMM_A], *b = &call->in[GEMM_B], *c = &call->out[0];
    const bool across = stride_of(c, 1) != 1;
    const DLTensor *left = across ? b : a, *right = across ? a : b;
    return (gemm_product){.m = c->shape[across],
                          .n = c->shape[!across],
                          .k = call->dim[MATMUL_K],
                          .a = ridge_data(left),
                          .a_row = stride_of(left, across),
                          .a_depth = stride_of(left, !across),
                          .b = ridge_data(right),
                          .b_depth = stride_of(right, across),
                          .b_column = stride_of(right, !across),
                          .c = ridge_data(c),
                          .c_row = stride_of(c, across)};
}

/* A part of C's rows, times alpha. */
typedef struct scaling {
    const gemm_product *p;
    float alpha;
} scaling;
static void scale_rows(void *arg, int rank, int size) {
    const scaling *s = arg;
    int64_t begin, end;
    ridge_share(s->p->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < s->p->n; j++) s->p->c[i * s->p->c_row + j] *= s->alpha;
}

ridge_status RIDGE_ISA_FN(gemm_cpu_optimized)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    scaling s = {&p, (float)call->option[GEMM_ALPHA]};
    if (p.m == 0) return RIDGE_OK;
    RIDGE_ISA_FN(gemm_product)(&p, *(const gemm_way *)call->way->own, call->scratch, call->team);
    if (s.alpha > 1 || s.alpha < 1) ridge_team_run(call->team, scale_rows, &s);
    return RIDGE_OK;
}

/* Each row of C as sums of rows of B, which the compiler makes vectors of where they are contiguous. */
static void loops(void *arg, int rank, int size) {
    const scaling *s = arg;
    const gemm_product *p = s->p;
    int64_t begin, end;
    ridge_share(p->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *restrict c = p->c + i * p->c_row;
        for (int64_t j = 0; j < p->n; j++) c[j] = 0;
        for (int64_t d = 0; d < p->k; d++) {
            const float a = p->a[i * p->a_row + d * p->a_depth];
            const float *restrict b = p->b + d * p->b_depth;
            if (p->b_column == 1)
                for (int64_t j = 0; j < p->n; j++) c[j] += a * b[j];
            else
                for (int64_t j = 0; j < p->n; j++) c[j] += a * b[j * p->b_column];
        }
        for (int64_t j = 0; j < p->n; j++) c[j] *= s->alpha; /* sums first: alpha a may be 0 where a is not */
    }
}

ridge_status RIDGE_ISA_FN(gemm_cpu_baseline)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    scaling s = {&p, (float)call->option[GEMM_ALPHA]};
    ridge_team_run(call->team, loops, &s);
    return RIDGE_OK;
}
