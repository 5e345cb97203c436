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

/* ---- the product alone ---- */

static ridge_case product_of(const ridge_case *c) {
    ridge_case p = *c;
    for (int i = 0; i < RIDGE_MAX_OPTIONS; i++) p.option[i] = 0;
    p.option[GEMM_ALPHA] = 1, p.option[GEMM_WIDE] = 1;
    p.column_major &= 1u << GEMM_A | 1u << GEMM_B;
    return p;
}

const char *gemm_fp32_product_unavailable(const ridge_case *c) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_unavailable(&p);
}

size_t gemm_fp32_product_scratch(const ridge_case *c, int threads) {
    return gemm_cublaslt_scratch(c, threads) + 4 * (size_t)c->dim[MATMUL_M] * (size_t)c->dim[MATMUL_N];
}

ridge_status gemm_fp32_product_prepare(const ridge_case *c, int threads, void **plan) {
    const ridge_case p = product_of(c);
    return gemm_cublaslt_search(&p, threads, plan);
}

/* Behind the library's workspace. */
ridge_status gemm_fp32_product_run(const ridge_call *call, float **product) {
    const double option[RIDGE_MAX_OPTIONS] = {[GEMM_ALPHA] = 1, [GEMM_WIDE] = 1};
    int64_t shape[2] = {call->dim[MATMUL_M], call->dim[MATMUL_N]};
    DLTensor whole = call->out[0];
    ridge_call of = *call;
    *product = (float *)((char *)call->scratch + CUBLASLT_WORKSPACE);
    whole.data = *product, whole.byte_offset = 0, whole.shape = shape, whole.strides = NULL;
    whole.dtype = ridge_dtype_to_dlpack(RIDGE_F32);
    of.option = option, of.out = &whole;
    return gemm_cublaslt_run(&of);
}
