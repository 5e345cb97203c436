/* oneDNN's primitives over rows through its C API (onednn_api.h): one engine and stream a plan, one primitive, and the memory
 * objects that each run points at its tensors. */
#include "peer/onednn_api.h"

#ifdef ONEDNN_HAVE_HEADER

#include <stdlib.h>

const char *onednn_primitive_unavailable(const ridge_case *c) {
    const char *const missing = onednn_api_missing();
    if (missing) return missing;
    if (c && c->dtype != RIDGE_F32 && c->dtype != RIDGE_BF16) return "oneDNN peer: f32 and bf16 only";
    return NULL;
}

/* One primitive with its memory objects, for one pair of row strides. */
typedef struct onednn_kernel {
    dnnl_primitive_t primitive;
    dnnl_memory_t src, dst, scale, shift;
} onednn_kernel;

struct onednn_plan {
    onednn_op op;
    int64_t rows, cols;
    dnnl_data_type_t dtype;
    float eps;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    onednn_kernel dense;
};

static unsigned norm_flags(onednn_op op) {
    return op == ONEDNN_LAYER_NORM_AFFINE ? (unsigned)dnnl_use_scale | (unsigned)dnnl_use_shift : 0;
}

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t make_primitive_desc(const onednn_plan *p, onednn_memory_desc src, onednn_memory_desc dst,
                                         dnnl_primitive_desc_t *pd) {
    switch (p->op) {
        case ONEDNN_SOFTMAX:
            return onednn_api.dnnl_softmax_forward_primitive_desc_create(pd, p->engine, dnnl_forward_inference,
                                                                         dnnl_softmax_accurate, src, dst, 1, NULL);
        case ONEDNN_GELU_ERF:
            return onednn_api.dnnl_eltwise_forward_primitive_desc_create(pd, p->engine, dnnl_forward_inference,
                                                                         dnnl_eltwise_gelu_erf, src, dst, 0, 0, NULL);
        case ONEDNN_LAYER_NORM:
        case ONEDNN_LAYER_NORM_AFFINE: break;
    }
    return onednn_api.dnnl_layer_normalization_forward_primitive_desc_create(
        pd, p->engine, dnnl_forward_inference, src, dst, NULL, p->eps, norm_flags(p->op), NULL);
}
#else
static dnnl_status_t make_primitive_desc(const onednn_plan *p, onednn_memory_desc src, onednn_memory_desc dst,
                                         dnnl_primitive_desc_t *pd) {
    dnnl_softmax_v2_desc_t softmax;
    dnnl_layer_normalization_desc_t norm;
    dnnl_eltwise_desc_t eltwise;
    const void *op = NULL;
    dnnl_status_t status = dnnl_unimplemented;
    switch (p->op) {
        case ONEDNN_SOFTMAX:
            status = onednn_api.dnnl_softmax_v2_forward_desc_init(&softmax, dnnl_forward_inference,
                                                                  dnnl_softmax_accurate, src, dst, 1);
            op = &softmax;
            break;
        case ONEDNN_GELU_ERF: /* version 2 has one descriptor for both: rows must be spaced alike */
            if (src->format_desc.blocking.strides[0] != dst->format_desc.blocking.strides[0]) return dnnl_unimplemented;
            status = onednn_api.dnnl_eltwise_forward_desc_init(&eltwise, dnnl_forward_inference, dnnl_eltwise_gelu_erf,
                                                               src, 0, 0);
            op = &eltwise;
            break;
        case ONEDNN_LAYER_NORM:
        case ONEDNN_LAYER_NORM_AFFINE:
            if (src->format_desc.blocking.strides[0] != dst->format_desc.blocking.strides[0]) return dnnl_unimplemented;
            status = onednn_api.dnnl_layer_normalization_forward_desc_init(&norm, dnnl_forward_inference, src, NULL,
                                                                           p->eps, norm_flags(p->op));
            op = &norm;
            break;
    }
    return status == dnnl_success ? onednn_api.dnnl_primitive_desc_create(pd, op, NULL, p->engine, NULL) : status;
}
#endif

static dnnl_status_t make_vector(const onednn_plan *p, dnnl_memory_t *memory) {
    const dnnl_dims_t dims = {p->cols}, strides = {1};
    onednn_memory_desc md = NULL;
    dnnl_status_t status = onednn_make_memory_desc(&md, 1, dims, dnnl_f32, strides);
    if (status == dnnl_success) status = onednn_api.dnnl_memory_create(memory, md, p->engine, DNNL_MEMORY_NONE);
    onednn_free_memory_desc(md);
    return status;
}

static void kernel_free(onednn_kernel *k) {
    if (k->primitive) onednn_api.dnnl_primitive_destroy(k->primitive);
    const dnnl_memory_t memories[] = {k->src, k->dst, k->scale, k->shift};
    for (int i = 0; i < 4; i++)
        if (memories[i]) onednn_api.dnnl_memory_destroy(memories[i]);
    *k = (onednn_kernel){0};
}

static ridge_status kernel_make(const onednn_plan *p, int64_t src_stride, int64_t dst_stride, onednn_kernel *k) {
    const dnnl_dims_t dims = {p->rows, p->cols}, src_strides = {src_stride, 1}, dst_strides = {dst_stride, 1};
    onednn_memory_desc src = NULL, dst = NULL;
    dnnl_primitive_desc_t pd = NULL;
    *k = (onednn_kernel){0};
    dnnl_status_t status = onednn_make_memory_desc(&src, 2, dims, p->dtype, src_strides);
    if (status == dnnl_success) status = onednn_make_memory_desc(&dst, 2, dims, p->dtype, dst_strides);
    if (status == dnnl_success) status = make_primitive_desc(p, src, dst, &pd);
    if (status == dnnl_success) status = onednn_api.dnnl_primitive_create(&k->primitive, pd);
    if (status == dnnl_success) status = onednn_api.dnnl_memory_create(&k->src, src, p->engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success) status = onednn_api.dnnl_memory_create(&k->dst, dst, p->engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success && norm_flags(p->op)) status = make_vector(p, &k->scale);
    if (status == dnnl_success && norm_flags(p->op)) status = make_vector(p, &k->shift);
    if (pd) onednn_api.dnnl_primitive_desc_destroy(pd);
    onednn_free_memory_desc(src);
    onednn_free_memory_desc(dst);
    if (status == dnnl_success) return RIDGE_OK;
    kernel_free(k);
    return status == dnnl_unimplemented ? RIDGE_UNSUPPORTED : RIDGE_FAILED;
}

static bool kernel_point(const onednn_kernel *k, const DLTensor *src, const DLTensor *dst, const float *scale,
                         const float *shift) {
    if (onednn_api.dnnl_memory_set_data_handle(k->src, ridge_data(src)) != dnnl_success) return false;
    if (onednn_api.dnnl_memory_set_data_handle(k->dst, ridge_data(dst)) != dnnl_success) return false;
    if (!k->scale) return true;
    /* The API has no const: scale and shift are only read. */
    return scale && shift &&
           onednn_api.dnnl_memory_set_data_handle(k->scale, (void *)(uintptr_t)scale) == dnnl_success &&
           onednn_api.dnnl_memory_set_data_handle(k->shift, (void *)(uintptr_t)shift) == dnnl_success;
}

static ridge_status kernel_run(const onednn_plan *p, const onednn_kernel *k, const DLTensor *src, const DLTensor *dst,
                               const float *scale, const float *shift) {
    if (!kernel_point(k, src, dst, scale, shift)) return RIDGE_FAILED;
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, k->src}, {DNNL_ARG_DST, k->dst}, {DNNL_ARG_SCALE, k->scale}, {DNNL_ARG_SHIFT, k->shift}};
    if (onednn_api.dnnl_primitive_execute(k->primitive, p->stream, k->scale ? 4 : 2, args) != dnnl_success)
        return RIDGE_FAILED;
    return onednn_api.dnnl_stream_wait(p->stream) == dnnl_success ? RIDGE_OK : RIDGE_FAILED;
}

ridge_status onednn_plan_create(onednn_op op, int64_t rows, int64_t cols, ridge_dtype dtype, double eps, int threads,
                                onednn_plan **out) {
    void *none;
    *out = NULL;
    RIDGE_TRY(onednn_prepare(NULL, threads, &none));
    const ridge_case c = {.dtype = dtype};
    if (onednn_primitive_unavailable(&c)) return RIDGE_UNSUPPORTED;
    onednn_plan *p = calloc(1, sizeof *p);
    if (!p) return RIDGE_NO_MEMORY;
    *p = (onednn_plan){.op = op, .rows = rows, .cols = cols, .eps = (float)eps};
    p->dtype = dtype == RIDGE_BF16 ? dnnl_bf16 : dnnl_f32;
    ridge_status status = RIDGE_FAILED;
    if (onednn_api.dnnl_engine_create(&p->engine, dnnl_cpu, 0) != dnnl_success) goto done;
    if (onednn_api.dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) != dnnl_success) goto done;
    status = rows > 0 && cols > 0 ? kernel_make(p, cols, cols, &p->dense) : RIDGE_OK;
    if (status == RIDGE_OK) {
        *out = p;
        p = NULL;
    }
done:
    onednn_plan_destroy(p);
    return status;
}

ridge_status onednn_plan_run(const onednn_plan *p, const DLTensor *src, const DLTensor *dst, const float *scale,
                             const float *shift) {
    if (p->rows == 0 || p->cols == 0) return RIDGE_OK;
    int64_t src_stride = ridge_row_stride(src), dst_stride = ridge_row_stride(dst);
    if (src_stride == p->cols && dst_stride == p->cols) return kernel_run(p, &p->dense, src, dst, scale, shift);
    onednn_kernel k;
    RIDGE_TRY(kernel_make(p, src_stride, dst_stride, &k));
    ridge_status status = kernel_run(p, &k, src, dst, scale, shift);
    kernel_free(&k);
    return status;
}

void onednn_plan_destroy(void *plan) {
    onednn_plan *p = plan;
    if (!p) return;
    kernel_free(&p->dense);
    if (p->stream) onednn_api.dnnl_stream_destroy(p->stream);
    if (p->engine) onednn_api.dnnl_engine_destroy(p->engine);
    free(p);
}

#else /* no header when ridge was built */

const char *onednn_primitive_unavailable(const ridge_case *c) {
    (void)c;
    return "ridge was built without oneDNN's header: apt install libdnnl-dev and build again";
}

ridge_status onednn_plan_create(onednn_op op, int64_t rows, int64_t cols, ridge_dtype dtype, double eps, int threads,
                                onednn_plan **out) {
    (void)op, (void)rows, (void)cols, (void)dtype, (void)eps, (void)threads;
    *out = NULL;
    return RIDGE_UNSUPPORTED;
}

ridge_status onednn_plan_run(const onednn_plan *p, const DLTensor *src, const DLTensor *dst, const float *scale,
                             const float *shift) {
    (void)p, (void)src, (void)dst, (void)scale, (void)shift;
    return RIDGE_UNSUPPORTED;
}

void onednn_plan_destroy(void *plan) { (void)plan; }

#endif
