/* Memory of the emulator's own. */
#include <stdio.h>
#include <stdlib.h>

#include "core/core.h"

static void *enough(void *memory) {
    if (memory) return memory;
    (void)fputs("emulator: out of host memory\n", stderr);
    exit(EXIT_FAILURE);
}

void *emu_alloc(size_t bytes) { return enough(calloc(1, bytes ? bytes : 1)); }

void *emu_grow(void *old, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) return enough(NULL);
    size_t bytes = count * size;
    return enough(realloc(old, bytes ? bytes : 1));
}
