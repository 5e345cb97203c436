/* One launch of a variant under NVIDIA's profiler, and what it counted of each kernel. */
#ifndef RIDGE_CLI_PROFILER_H
#define RIDGE_CLI_PROFILER_H

#include "record/profile.h"

enum { RIDGE_PROFILER_KERNELS = 4096 };

typedef struct ridge_profiler {
    ridge_profile *kernels; /* of all launches, in their order */
    int n;
    ridge_profile of; /* what those of the launch have in common */
    char *text;       /* ncu's */
} ridge_profiler;

/* Free it with ridge_profiler_close in every case. */
ridge_status ridge_profiler_open(ridge_profiler *p, ridge_error *error);
void ridge_profiler_close(ridge_profiler *p);

/* Launches the variant once and appends its kernels. way: the one that runs, or NULL. RIDGE_UNSUPPORTED: ncu cannot be run,
 * or failed; RIDGE_INVALID: more kernels than RIDGE_PROFILER_KERNELS; RIDGE_NOT_FOUND and RIDGE_CORRUPT: of its table. */
ridge_status ridge_profiler_add(ridge_profiler *p, const ridge_target *target, const ridge_case *c,
                                const ridge_variant *variant, const ridge_way *way, const ridge_abilities *here,
                                ridge_error *error);

#endif
