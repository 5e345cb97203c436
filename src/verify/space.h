/* Memory for one check or run: small blocks from the heap, where a sanitizer detects overruns, large blocks on huge
 * pages. 64-byte aligned, uninitialized. Internal to verify. */
#ifndef RIDGE_VERIFY_SPACE_H
#define RIDGE_VERIFY_SPACE_H

#include <stdlib.h>

#include "device/device.h"

#define RIDGE_SPACE_LARGE ((size_t)1 << 20)

static inline ridge_status ridge_space_alloc(size_t bytes, void **space, ridge_error *error) {
    if (bytes >= RIDGE_SPACE_LARGE) return ridge_memory_alloc(bytes, space, error);
    *space = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
    return *space ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu bytes", bytes);
}

/* bytes: as in ridge_space_alloc. space may be NULL. */
static inline void ridge_space_free(void *space, size_t bytes) {
    if (bytes >= RIDGE_SPACE_LARGE)
        ridge_memory_free(space, bytes);
    else
        free(space);
}

#endif
