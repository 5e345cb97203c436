/* oneDNN's C API as primitives of peers use it: types from the header, functions from the library at run time. Versions 2 and 3
 * differ in how descriptors are made. Included where the header is there alone: ONEDNN_HAVE_HEADER. */
#ifndef RIDGE_PEER_ONEDNN_API_H
#define RIDGE_PEER_ONEDNN_API_H

#include "peer/onednn.h"

#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define ONEDNN_HAVE_HEADER 1
#endif
#endif

#ifdef ONEDNN_HAVE_HEADER

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t onednn_memory_desc; /* already a pointer */
#define ONEDNN_VERSION_FUNCTIONS(X)                           \
    X(dnnl_memory_desc_create_with_strides)                   \
    X(dnnl_memory_desc_destroy)                               \
    X(dnnl_matmul_primitive_desc_create)                      \
    X(dnnl_softmax_forward_primitive_desc_create)             \
    X(dnnl_layer_normalization_forward_primitive_desc_create) \
    X(dnnl_eltwise_forward_primitive_desc_create)
#else
typedef dnnl_memory_desc_t *onednn_memory_desc;
#define ONEDNN_VERSION_FUNCTIONS(X)               \
    X(dnnl_memory_desc_init_by_strides)           \
    X(dnnl_matmul_desc_init)                      \
    X(dnnl_softmax_v2_forward_desc_init)          \
    X(dnnl_layer_normalization_forward_desc_init) \
    X(dnnl_eltwise_forward_desc_init)             \
    X(dnnl_primitive_desc_create)
#endif

#define ONEDNN_FUNCTIONS(X)        \
    ONEDNN_VERSION_FUNCTIONS(X)    \
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

typedef struct onednn_functions {
#define ONEDNN_MEMBER(name) __typeof__(name) *name;
    ONEDNN_FUNCTIONS(ONEDNN_MEMBER)
#undef ONEDNN_MEMBER
} onednn_functions;

/* All of them once onednn_api_missing() has returned NULL; it opens the library, and says why not. */
extern onednn_functions onednn_api;
const char *onednn_api_missing(void);

/* Strides in elements. free takes NULL. */
dnnl_status_t onednn_make_memory_desc(onednn_memory_desc *md, int rank, const dnnl_dims_t dims, dnnl_data_type_t dtype,
                                      const dnnl_dims_t strides);
void onednn_free_memory_desc(onednn_memory_desc md);

#endif
#endif
