/* One untimed run of a variant: creates operands, scratch and plan, runs, and frees them. Internal to verify. */
#ifndef RIDGE_VERIFY_TRIAL_H
#define RIDGE_VERIFY_TRIAL_H

#include "device/cuda.h"
#include "verify/verify.h"

typedef struct ridge_trial {
    const ridge_target *target;
    const ridge_case *c;
    const ridge_variant *variant;
    ridge_abilities here;
    ridge_team *team;
    void *plan;
    const ridge_way *way; /* that ran last; NULL: the variant has none */
    char *scratch;
    ridge_stream *stream; /* NULL: runs on the CPU */
    void *gpu_memory, *gpu_scratch;
    size_t scratch_bytes, scratch_memory;
    ridge_operands ops;
    ridge_dtype shortcut; /* inputs are rounded to it before the run and right again after it; NONE: they are not */
    bool shortened;       /* that changed some */
    void *memory;
    size_t memory_bytes;
} ridge_trial;

/* Creates a plan for any number of runs. */
ridge_status ridge_trial_create(ridge_trial *trial, const ridge_target *target, const ridge_case *c,
                                const ridge_variant *variant, const ridge_abilities *here, ridge_team *team,
                                ridge_error *error);
void ridge_trial_destroy(ridge_trial *trial);

/* Places and fills the operands, makes scratch for them and fills it with NaN, runs. *clean false: bytes past the end of the
 * scratch were written to. */
ridge_status ridge_trial_run(ridge_trial *trial, const ridge_layout *layout, ridge_fill_kind kind, uint64_t seed,
                             bool *clean, ridge_error *error);

#endif
