/* Number and size of the operand sets that a job rotates through. */
#include "measure/event.h"

enum { LINE = 64 };

static size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

ridge_status ridge_rotation_plan(const ridge_job *job, ridge_rotation *r, ridge_error *error) {
    const ridge_layout dense = {0};
    RIDGE_TRY(ridge_operands_bytes(job->target, &job->c, &dense, &r->set_bytes, error));
    /* Every fill shifts each set by up to `slack` bytes, so that consecutive samples use different addresses. */
    size_t slack = at_most(r->set_bytes / 16 + 4096, 65536) / LINE * LINE;
    r->stride = r->set_bytes + slack;
    /* Between the fill and the launch of a set, all other sets are filled or timed. Together they have three times the
     * size of the last-level cache. */
    double apart = 3 * job->last_level / (double)r->stride;
    r->sets = job->hot ? 1 : 2 + (int)(apart < RIDGE_MAX_SETS ? apart : RIDGE_MAX_SETS);
    if (r->sets > RIDGE_MAX_SETS) r->sets = RIDGE_MAX_SETS;
    return RIDGE_OK;
}

ridge_status ridge_job_bytes(const ridge_job *job, double *bytes, ridge_error *error) {
    ridge_rotation r;
    RIDGE_TRY(ridge_rotation_plan(job, &r, error));
    double scratch = 0, fp64 = 0;
    for (int i = 0; i < job->n_variants; i++) {
        const ridge_variant *v = &job->target->variants[job->variants[i]];
        const double want = (double)ridge_variant_dense_scratch(job->target, v, &job->c, &job->here, job->threads);
        if (want > scratch) scratch = want;
    }
    for (int i = 0; i < job->target->n_in; i++) fp64 += 8.0 * (double)ridge_spec_elements(&job->target->in[i], &job->c);
    *bytes = (double)r.stride * (r.sets + 2) + scratch + fp64;
    return RIDGE_OK;
}
