/* See onednn_api.h. */
#include "peer/onednn_api.h"

#ifdef ONEDNN_HAVE_HEADER

#include <pthread.h>
#include <stdlib.h>

#include "peer/library.h"

#if DNNL_VERSION_MAJOR >= 3
#define SONAME "libdnnl.so.3"
#else
#define SONAME "libdnnl.so.2"
#endif

onednn_functions onednn_api;
static bool loaded;

static void load(void) {
    static const char *const sonames[] = {SONAME, "libdnnl.so", NULL};
    static const peer_symbol symbols[] = {
#define SYMBOL(name) {#name, &onednn_api.name, false},
        ONEDNN_FUNCTIONS(SYMBOL)
#undef SYMBOL
    };
    loaded = peer_library_open(sonames, symbols, (int)(sizeof symbols / sizeof symbols[0]));
}

const char *onednn_api_missing(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? NULL : SONAME " not found: apt install libdnnl-dev";
}

#if DNNL_VERSION_MAJOR >= 3
dnnl_status_t onednn_make_memory_desc(onednn_memory_desc *md, int rank, const dnnl_dims_t dims, dnnl_data_type_t dtype,
                                      const dnnl_dims_t strides) {
    return onednn_api.dnnl_memory_desc_create_with_strides(md, rank, dims, dtype, strides);
}
void onednn_free_memory_desc(onednn_memory_desc md) {
    if (md) onednn_api.dnnl_memory_desc_destroy(md);
}
#else
dnnl_status_t onednn_make_memory_desc(onednn_memory_desc *md, int rank, const dnnl_dims_t dims, dnnl_data_type_t dtype,
                                      const dnnl_dims_t strides) {
    *md = malloc(sizeof **md);
    return *md ? onednn_api.dnnl_memory_desc_init_by_strides(*md, rank, dims, dtype, strides) : dnnl_out_of_memory;
}
void onednn_free_memory_desc(onednn_memory_desc md) { free(md); }
#endif

#else

typedef int no_header; /* a file must declare something */

#endif
