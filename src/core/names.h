/* Types and instruction sets by their own names. */
#ifndef RIDGE_CORE_NAMES_H
#define RIDGE_CORE_NAMES_H

#include "ridge/target.h"

/* RIDGE_DTYPE_NONE: there is none of that name. */
ridge_dtype ridge_dtype_named(const char *name);
/* RIDGE_ISA_scalar, which every machine has, if there is none of that name. */
ridge_isa ridge_isa_named(const char *name);

#endif
