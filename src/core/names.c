#include "core/names.h"

#include <string.h>

ridge_dtype ridge_dtype_named(const char *name) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        if (strcmp(name, ridge_dtype_name((ridge_dtype)d)) == 0) return (ridge_dtype)d;
    return RIDGE_DTYPE_NONE;
}

ridge_isa ridge_isa_named(const char *name) {
    for (int i = 0; i < RIDGE_ISA_COUNT; i++)
        if (strcmp(name, ridge_isa_name((ridge_isa)i)) == 0) return (ridge_isa)i;
    return RIDGE_ISA_scalar;
}
