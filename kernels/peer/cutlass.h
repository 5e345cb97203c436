/* CUTLASS as a peer: headers alone, for files named cuda_cutlass*.cu, where cmake/cutlass.cmake found them. */
#ifndef RIDGE_KERNELS_PEER_CUTLASS_H
#define RIDGE_KERNELS_PEER_CUTLASS_H

#include "ridge/target.h"

/* `unavailable` of a variant of such files. */
static inline const char *cutlass_absent(const ridge_case *c) {
    (void)c;
#ifdef RIDGE_HAVE_CUTLASS
    return NULL;
#else
    return "not built: CUTLASS's headers were not found (configure with -DRIDGE_CUTLASS=DIR)";
#endif
}

#endif
