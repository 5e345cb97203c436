/* Offsets in scratch memory. C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_HOST_SCRATCH_H
#define RIDGE_KERNELS_CUDA_HOST_SCRATCH_H

#include <stddef.h>

/* Appends `size` bytes at a multiple of 1024. */
static inline size_t linear_scratch_take(size_t *bytes, double size) {
    const size_t at = *bytes;
    *bytes += ((size_t)size + 1023) / 1024 * 1024;
    return at;
}

#endif
