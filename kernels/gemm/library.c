#include "gemm/library.h"

#include "peer/cublaslt.h"

const char *gemm_cublaslt_unavailable(const ridge_case *c) {
    if (c->option[GEMM_ALPHA] > 1 || c->option[GEMM_ALPHA] < 1) return "measured for alpha 1";
    return cublaslt_unavailable(c);
}

size_t gemm_cublaslt_scratch(const ridge_case *c, int threads) {
    (void)c, (void)threads;
    return CUBLASLT_WORKSPACE;
}

/* The library's x, w and z are A, B and C; of a column-major C they are B^T, A^T and C^T. */
static bool across(unsigned column_major) { return (column_major >> GEMM_C & 1u) != 0; }

static cublaslt_shape shape_of(const ridge_case *c, unsigned column_major) {
    const bool a = (column_major >> GEMM_A & 1u) != 0, b = (column_major >> GEMM_B & 1u) != 0;
    const bool t = across(column_major);
    const int64_t m = c->dim[MATMUL_M], n = c->dim[MATMUL_N];
    return (cublaslt_shape){.rows = t ? n : m,
                            .depth = c->dim[MATMUL_K],
                            .classes = t ? m : n,
                            .batch = 1,
                            .turned = t ? !a : b,
                            .x_turned = t ? !b : a,
                            .dtype = c->dtype,
                            .to = c->option[GEMM_WIDE] > 0 ? RIDGE_F32 : c->dtype};
}

static cublaslt_operands dense_of(const cublaslt_shape *s) {
    return (cublaslt_operands){
        .x_row = s->x_turned ? s->rows : s->depth, .w_row = s->turned ? s->depth : s->classes, .z_row = s->classes};
}

ridge_status gemm_cublaslt_guess(const ridge_case *c, int threads, void **plan) {
    const cublaslt_shape shape = shape_of(c, c->column_major);
    const cublaslt_operands like = dense_of(&shape);
    (void)threads;
    return cublaslt_plan_create_for(&shape, &like, (cublaslt_plan **)plan);
}

ridge_status gemm_cublaslt_search(const ridge_case *c, int threads, void **plan) {
    RIDGE_TRY(gemm_cublaslt_guess(c, threads, plan));
#ifdef RIDGE_HAVE_CUDA
    const ridge_status status = cublaslt_plan_search(*plan);
    if (status == RIDGE_OK) return status;
    cublaslt_plan_destroy(*plan);
    *plan = NULL;
    return status;
#else
    return RIDGE_OK;
#endif
}

static bool by_columns(const DLTensor *t) {
    return t->strides && t->shape[1] > 1 && t->shape[0] > 1 && t->strides[1] != 1;
}
static int64_t lead_of(const DLTensor *t) {
    if (!t->strides) return t->shape[1];
    if (by_columns(t)) return t->strides[1];
    return t->shape[0] > 1 ? t->strides[0] : t->shape[1];
}

ridge_status gemm_cublaslt_run(const ridge_call *call) {
    const DLTensor *a = &call->in[GEMM_A], *b = &call->in[GEMM_B], *c = &call->out[0];
    ridge_case as = {.dtype = call->dtype};
    for (int d = 0; d < 3; d++) as.dim[d] = call->dim[d];
    as.option[GEMM_WIDE] = call->option[GEMM_WIDE];
    as.column_major =
        (unsigned)by_columns(a) << GEMM_A | (unsigned)by_columns(b) << GEMM_B | (unsigned)by_columns(c) << GEMM_C;
    const cublaslt_shape shape = shape_of(&as, as.column_major);
    const DLTensor *x = across(as.column_major) ? b : a, *w = across(as.column_major) ? a : b;
    const cublaslt_operands o = {.x = ridge_data(x),
                                 .w = ridge_data(w),
                                 .z = ridge_data(c),
                                 .x_row = lead_of(x),
                                 .w_row = lead_of(w),
                                 .z_row = lead_of(c)};
    return cublaslt_run_as(call->plan, &shape, &o, call->scratch, call->stream);
}
