/* oneDNN's matmul primitive (onednn_api.h): one engine, stream and primitive a plan. */
#include "peer/onednn_api.h"

#ifdef ONEDNN_HAVE_HEADER

#include <stdlib.h>

const char *onednn_matmul_unavailable(void) { return onednn_api_missing(); }

enum { SRC, WEIGHTS, DST, TENSORS };

/* The primitive with its memory objects, for the strides of a call. */
struct onednn_matmul {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[TENSORS];
    int64_t strides[TENSORS][2];
};

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t make_primitive_desc(dnnl_engine_t engine, const onednn_memory_desc *md,
                                         dnnl_primitive_desc_t *pd) {
    return onednn_api.dnnl_matmul_primitive_desc_create(pd, engine, md[SRC], md[WEIGHTS], NULL, md[DST], NULL);
}
#else
static dnnl_status_t make_primitive_desc(dnnl_engine_t engine, const onednn_memory_desc *md,
                                         dnnl_primitive_desc_t *pd) {
    dnnl_matmul_desc_t d;
    const dnnl_status_t status = onednn_api.dnnl_matmul_desc_init(&d, md[SRC], md[WEIGHTS], NULL, md[DST]);
    return status == dnnl_success ? onednn_api.dnnl_primitive_desc_create(pd, &d, NULL, engine, NULL) : status;
}
#endif

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->shape[dim] <= 1 || !t->strides) return dim == 0 ? t->shape[1] : 1;
    return t->strides[dim];
}

static void forget(onednn_matmul *p) {
    if (p->primitive) onednn_api.dnnl_primitive_destroy(p->primitive);
    p->primitive = NULL;
    for (int t = 0; t < TENSORS; t++) {
        if (p->memory[t]) onednn_api.dnnl_memory_destroy(p->memory[t]);
        p->memory[t] = NULL;
    }
}

static dnnl_data_type_t type_of(const DLTensor *t) { return ridge_dtype_of(t) == RIDGE_BF16 ? dnnl_bf16 : dnnl_f32; }

static ridge_status make(onednn_matmul *p, const DLTensor *const tensor[TENSORS]) {
    onednn_memory_desc md[TENSORS] = {NULL};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_success;
    forget(p);
    for (int t = 0; t < TENSORS && status == dnnl_success; t++) {
        const dnnl_dims_t dims = {tensor[t]->shape[0], tensor[t]->shape[1]};
        const dnnl_dims_t strides = {p->strides[t][0], p->strides[t][1]};
        status = onednn_make_memory_desc(&md[t], 2, dims, type_of(tensor[t]), strides);
        if (status == dnnl_success)
            status = onednn_api.dnnl_memory_create(&p->memory[t], md[t], p->engine, DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success) status = make_primitive_desc(p->engine, md, &pd);
    if (status == dnnl_success) status = onednn_api.dnnl_primitive_create(&p->primitive, pd);
    if (pd) onednn_api.dnnl_primitive_desc_destroy(pd);
    for (int t = 0; t < TENSORS; t++) onednn_free_memory_desc(md[t]);
    if (status == dnnl_success) return RIDGE_OK;
    forget(p);
    return status == dnnl_unimplemented ? RIDGE_UNSUPPORTED : RIDGE_FAILED;
}

ridge_status onednn_matmul_create(int threads, onednn_matmul **out) {
    void *none;
    *out = NULL;
    RIDGE_TRY(onednn_prepare(NULL, threads, &none));
    if (onednn_matmul_unavailable()) return RIDGE_UNSUPPORTED;
    onednn_matmul *p = calloc(1, sizeof *p);
    if (!p) return RIDGE_NO_MEMORY;
    if (onednn_api.dnnl_engine_create(&p->engine, dnnl_cpu, 0) != dnnl_success ||
        onednn_api.dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) != dnnl_success) {
        onednn_matmul_destroy(p);
        return RIDGE_FAILED;
    }
    *out = p;
    return RIDGE_OK;
}

ridge_status onednn_matmul_run(onednn_matmul *p, const DLTensor *a, const DLTensor *b, const DLTensor *c) {
    const DLTensor *const tensor[TENSORS] = {[SRC] = a, [WEIGHTS] = b, [DST] = c};
    bool same = p->primitive != NULL;
    if (c->shape[0] == 0 || c->shape[1] == 0) return RIDGE_OK;
    for (int t = 0; t < TENSORS; t++)
        for (int d = 0; d < 2; d++) {
            const int64_t stride = stride_of(tensor[t], d);
            same = same && p->strides[t][d] == stride;
            p->strides[t][d] = stride;
        }
    if (!same) RIDGE_TRY(make(p, tensor));
    for (int t = 0; t < TENSORS; t++)
        if (onednn_api.dnnl_memory_set_data_handle(p->memory[t], ridge_data(tensor[t])) != dnnl_success)
            return RIDGE_FAILED;
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, p->memory[SRC]}, {DNNL_ARG_WEIGHTS, p->memory[WEIGHTS]}, {DNNL_ARG_DST, p->memory[DST]}};
    if (onednn_api.dnnl_primitive_execute(p->primitive, p->stream, TENSORS, args) != dnnl_success) return RIDGE_FAILED;
    return onednn_api.dnnl_stream_wait(p->stream) == dnnl_success ? RIDGE_OK : RIDGE_FAILED;
}

void onednn_matmul_destroy(void *plan) {
    onednn_matmul *p = plan;
    if (!p) return;
    forget(p);
    if (p->stream) onednn_api.dnnl_stream_destroy(p->stream);
    if (p->engine) onednn_api.dnnl_engine_destroy(p->engine);
    free(p);
}

#else

const char *onednn_matmul_unavailable(void) { return "built without oneDNN's header: apt install libdnnl-dev"; }
ridge_status onednn_matmul_create(int threads, onednn_matmul **out) {
    (void)threads;
    *out = NULL;
    return RIDGE_UNSUPPORTED;
}
ridge_status onednn_matmul_run(onednn_matmul *p, const DLTensor *a, const DLTensor *b, const DLTensor *c) {
    (void)p, (void)a, (void)b, (void)c;
    return RIDGE_UNSUPPORTED;
}
void onednn_matmul_destroy(void *plan) { (void)plan; }

#endif
