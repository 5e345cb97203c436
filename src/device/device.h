/* Memory and clock of the CPU. device/cuda.h has the GPU's. */
#ifndef RIDGE_DEVICE_DEVICE_H
#define RIDGE_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "ridge/status.h"

/* Allocates zeroed, page-aligned memory, on huge pages where the system grants them. Free it with the same size. */
ridge_status ridge_memory_alloc(size_t bytes, void **memory, ridge_error *error);
void ridge_memory_free(void *memory, size_t bytes);

/* Nanoseconds of a clock that neither steps nor slews. */
uint64_t ridge_clock_ns(void);
/* Seconds from `ns` to now; 0 if `ns` is in the future, as when another thread or process has just set it. */
double ridge_seconds_since(uint64_t ns);

#endif
