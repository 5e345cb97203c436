/* oneDNN's matmul primitive: one engine, stream and primitive a plan. Types come from the header, functions from the library
 * at run time; versions 2 and 3 differ in how descriptors are made. */
#include "peer/onednn.h"

#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define HAVE_HEADER 1
#endif
#endif

#ifdef HAVE_HEADER

#include <pthread.h>
#include <stdlib.h>

#include "peer/library.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t memory_desc; /* already a pointer */
#define SONAME "libdnnl.so.3"
#define VERSION_FUNCTIONS(X)                \
    X(dnnl_memory_desc_create_with_strides) \
    X(dnnl_memory_desc_destroy)             \
    X(dnnl_matmul_primitive_desc_create)
#else
typedef dnnl_memory_desc_t *memory_desc;
#define SONAME "libdnnl.so.2"
#define VERSION_FUNCTIONS(X)            \
    X(dnnl_memory_desc_init_by_strides) \
    X(dnnl_matmul_desc_init)            \
    X(dnnl_primitive_desc_create)
#endif

#define FUNCTIONS(X)               \
    VERSION_FUNCTIONS(X)           \
    X(dnnl_engine_create)          \
    X(dnnl_engine_destroy)         \
    X(dnnl_stream_create)          \
    X(dnnl_stream_destroy)         \
    X(dnnl_stream_wait)            \
    X(dnnl_primitive_desc_destroy) \
    X(dnnl_primitive_create)       \
    X(dnnl_primitive_destroy)      \
    X(dnnl_primitive_execute)      \
    X(dnnl_memory_create)          \
    X(dnnl_memory_destroy)         \
    X(dnnl_memory_set_data_handle)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} api;
static bool loaded;

static void load(void) {
    static const char *const sonames[] = {SONAME, "libdnnl.so", NULL};
    static const peer_symbol symbols[] = {
#define SYMBOL(name) {#name, &api.name, false},
        FUNCTIONS(SYMBOL)
#undef SYMBOL
    };
    loaded = peer_library_open(sonames, symbols, (int)(sizeof symbols / sizeof symbols[0]));
}

const char *onednn_matmul_unavailable(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? NULL : SONAME " not found: apt install libdnnl-dev";
}

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
static dnnl_status_t make_memory_desc(memory_desc *md, const dnnl_dims_t dims, dnnl_data_type_t dtype,
                                      const dnnl_dims_t strides) {
    return api.dnnl_memory_desc_create_with_strides(md, 2, dims, dtype, strides);
}
static void free_memory_desc(memory_desc md) {
    if (md) api.dnnl_memory_desc_destroy(md);
}
static dnnl_status_t make_primitive_desc(dnnl_engine_t engine, const memory_desc *md, dnnl_primitive_desc_t *pd) {
    return api.dnnl_matmul_primitive_desc_create(pd, engine, md[SRC], md[WEIGHTS], NULL, md[DST], NULL);
}
#else
static dnnl_status_t make_memory_desc(memory_desc *md, const dnnl_dims_t dims, dnnl_data_type_t dtype,
                                      const dnnl_dims_t strides) {
    *md = malloc(sizeof **md);
    return *md ? api.dnnl_memory_desc_init_by_strides(*md, 2, dims, dtype, strides) : dnnl_out_of_memory;
}
static void free_memory_desc(memory_desc md) { free(md); }
static dnnl_status_t make_primitive_desc(dnnl_engine_t engine, const memory_desc *md, dnnl_primitive_desc_t *pd) {
    dnnl_matmul_desc_t d;
    const dnnl_status_t status = api.dnnl_matmul_desc_init(&d, md[SRC], md[WEIGHTS], NULL, md[DST]);
    return status == dnnl_success ? api.dnnl_primitive_desc_create(pd, &d, NULL, engine, NULL) : status;
}
#endif

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->shape[dim] <= 1 || !t->strides) return dim == 0 ? t->shape[1] : 1;
    return t->strides[dim];
}

static void forget(onednn_matmul *p) {
    if (p->primitive) api.dnnl_primitive_destroy(p->primitive);
    p->primitive = NULL;
    for (int t = 0; t < TENSORS; t++) {
        if (p->memory[t]) api.dnnl_memory_destroy(p->memory[t]);
        p->memory[t] = NULL;
    }
}

static dnnl_data_type_t type_of(const DLTensor *t) { return ridge_dtype_of(t) == RIDGE_BF16 ? dnnl_bf16 : dnnl_f32; }

static ridge_status make(onednn_matmul *p, const DLTensor *const tensor[TENSORS]) {
    memory_desc md[TENSORS] = {NULL};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_success;
    forget(p);
    for (int t = 0; t < TENSORS && status == dnnl_success; t++) {
        const dnnl_dims_t dims = {tensor[t]->shape[0], tensor[t]->shape[1]};
        const dnnl_dims_t strides = {p->strides[t][0], p->strides[t][1]};
        status = make_memory_desc(&md[t], dims, type_of(tensor[t]), strides);
        if (status == dnnl_success) status = api.dnnl_memory_create(&p->memory[t], md[t], p->engine, DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success) status = make_primitive_desc(p->engine, md, &pd);
    if (status == dnnl_success) status = api.dnnl_primitive_create(&p->primitive, pd);
    if (pd) api.dnnl_primitive_desc_destroy(pd);
    for (int t = 0; t < TENSORS; t++) free_memory_desc(md[t]);
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
    if (api.dnnl_engine_create(&p->engine, dnnl_cpu, 0) != dnnl_success ||
        api.dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) != dnnl_success) {
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
        if (api.dnnl_memory_set_data_handle(p->memory[t], ridge_data(tensor[t])) != dnnl_success) return RIDGE_FAILED;
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, p->memory[SRC]}, {DNNL_ARG_WEIGHTS, p->memory[WEIGHTS]}, {DNNL_ARG_DST, p->memory[DST]}};
    if (api.dnnl_primitive_execute(p->primitive, p->stream, TENSORS, args) != dnnl_success) return RIDGE_FAILED;
    return api.dnnl_stream_wait(p->stream) == dnnl_success ? RIDGE_OK : RIDGE_FAILED;
}

void onednn_matmul_destroy(void *plan) {
    onednn_matmul *p = plan;
    if (!p) return;
    forget(p);
    if (p->stream) api.dnnl_stream_destroy(p->stream);
    if (p->engine) api.dnnl_engine_destroy(p->engine);
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
