/* Several measurements of one case as one result: rounds are numbered on, so that pairs of rounds stay pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/job.h"

static int last_round(const ridge_series *series) {
    int last = -1;
    for (int i = 0; i < series->n; i++)
        if (series->samples[i].round > last) last = series->samples[i].round;
    return last;
}

/* The first number that no round of the result has. */
static int next_round(const ridge_job_result *result) {
    int last = last_round(&result->reference);
    for (int i = 0; i < result->n_series; i++) {
        const int own = last_round(&result->series[i]), beside = last_round(&result->companion[i]);
        last = own > last ? own : last;
        last = beside > last ? beside : last;
    }
    return last + 1;
}

static ridge_status append_samples(ridge_series *all, const ridge_series *more, int first_round) {
    if (more->n == 0) return RIDGE_OK;
    ridge_sample *samples = realloc(all->samples, (size_t)(all->n + more->n) * sizeof *samples);
    if (!samples) return RIDGE_NO_MEMORY;
    all->samples = samples;
    memcpy(samples + all->n, more->samples, (size_t)more->n * sizeof *samples);
    for (int i = all->n; i < all->n + more->n; i++) samples[i].round += first_round;
    all->n += more->n;
    return RIDGE_OK;
}

/* The check of all: what any of them found, of as many rows as the first. */
static void join_checks(ridge_check *all, const ridge_check *more) {
    all->worst = fmax(all->worst, more->worst);
    all->max_abs_error = fmax(all->max_abs_error, more->max_abs_error);
    all->max_rel_error = fmax(all->max_rel_error, more->max_rel_error);
}

/* Wrong and failed stay, whichever measurement found it. */
static ridge_status join_series(ridge_series *all, const ridge_series *more, int first_round) {
    if (more->outcome == RIDGE_OUTCOME_WRONG || more->outcome == RIDGE_OUTCOME_FAILED) {
        if (all->outcome != RIDGE_OUTCOME_DONE) return RIDGE_OK;
        all->outcome = more->outcome;
        all->check = more->check;
        memcpy(all->reason, more->reason, sizeof all->reason);
        return RIDGE_OK;
    }
    if (all->outcome != RIDGE_OUTCOME_DONE || more->outcome != RIDGE_OUTCOME_DONE) return RIDGE_OK;
    join_checks(&all->check, &more->check);
    if (!all->compared) {
        all->agreement = more->agreement;
        all->compared = more->compared;
    }
    return append_samples(all, more, first_round);
}

static bool has_samples(const ridge_job_result *result) {
    for (int i = 0; i < result->n_series; i++)
        if (result->series[i].n > 0) return true;
    return false;
}

static bool is_skipped(const ridge_job_result *result) {
    for (int i = 0; i < result->n_series; i++)
        if (result->series[i].outcome != RIDGE_OUTCOME_SKIPPED) return false;
    return true;
}

ridge_status ridge_job_result_join(ridge_job_result *all, ridge_job_result *more) {
    if (more->n_series != all->n_series || is_skipped(more)) return RIDGE_OK;
    if (is_skipped(all)) {
        const ridge_job_result kept = *all;
        *all = *more;
        *more = kept;
        return RIDGE_OK;
    }
    const int first = next_round(all);
    if (has_samples(more)) {
        if (all->n_measurements == 0) all->n_measurements = 1; /* the first one begins at round 0 */
        if (all->n_measurements < RIDGE_MAX_MEASUREMENTS) all->first_round[all->n_measurements++] = first;
    }
    RIDGE_TRY(append_samples(&all->reference, &more->reference, first));
    for (int i = 0; i < all->n_series; i++) {
        RIDGE_TRY(join_series(&all->series[i], &more->series[i], first));
        if (all->series[i].outcome == RIDGE_OUTCOME_DONE)
            RIDGE_TRY(append_samples(&all->companion[i], &more->companion[i], first));
    }
    all->rounds += more->rounds;
    all->rounds_s += more->rounds_s;
    return RIDGE_OK;
}
