/* Constants and functions shared by the descriptor and the GPU code of unified_memory. */
#ifndef RIDGE_TARGETS_UNIFIED_MEMORY_H
#define RIDGE_TARGETS_UNIFIED_MEMORY_H

#include "ridge/target.h"

#define UNIFIED_MEMORY_A 1.5f
#define UNIFIED_MEMORY_B 0.25f

/* Scratch: a dense copy of x, then one of y, each starting at a multiple of this many bytes. */
enum { UNIFIED_MEMORY_ALIGN = 256 };
static inline size_t unified_memory_area(const int64_t *dim, ridge_dtype dtype) {
    size_t bytes = (size_t)dim[0] * (size_t)dim[1] * ridge_dtype_size(dtype);
    return (bytes + UNIFIED_MEMORY_ALIGN - 1) & ~(size_t)(UNIFIED_MEMORY_ALIGN - 1);
}

#ifdef __cplusplus
extern "C" {
#endif
/* Returns RIDGE_UNSUPPORTED for what the device cannot do, RIDGE_NO_MEMORY for more than a quarter of its free memory.
 */
ridge_status unified_memory_managed_prepare(const ridge_case *c, int threads, void **plan);
/* A second stream and the events that synchronize it with the call's stream. */
ridge_status unified_memory_overlap_prepare(const ridge_case *c, int threads, void **plan);
void unified_memory_overlap_release(void *plan);
#ifdef __cplusplus
}
#endif

#endif
