/* Two variants' outputs for the same inputs against each other. */
#include "verify/check.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

#include "verify/judge.h"

typedef struct agree_job {
    const ridge_problem *problem;
    const ridge_operands *a, *b;
    ridge_agreement *total;
    int64_t equal, elements;
    atomic_llong next;
    atomic_flag lock;
} agree_job;

typedef struct tally {
    bool agree;
    double difference;
    int64_t equal, elements;
} tally;

enum { STEP = 1024 };

static void compare(const double *x, const double *y, int64_t n, const ridge_bound *bound, ridge_dtype dtype,
                    tally *t) {
    for (int64_t i = 0; i < n; i++) {
        double error = fabs(x[i] - y[i]);
        double tolerance = 2 * bound->absolute + bound->relative * (fabs(x[i]) + fabs(y[i]));
        t->elements++;
        t->equal += memcmp(&x[i], &y[i], sizeof *x) == 0;
        if (error <= tolerance && error <= DBL_MAX) {
            if (error > t->difference) t->difference = error;
            continue;
        }
        /* Near the end of the storage type's range one may have overflowed where the other just has not. */
        tolerance = 2 * bound->absolute + 2 * bound->relative * (isfinite(x[i]) ? fabs(x[i]) : fabs(y[i]));
        if (ridge_judge_odd(x[i], y[i], tolerance, dtype) || ridge_judge_odd(y[i], x[i], tolerance, dtype)) continue;
        t->agree = false;
        t->difference = isfinite(error) ? (error > t->difference ? error : t->difference) : (double)INFINITY;
    }
}

/* The bound is asked with a's results in place of the oracle's. */
static void compare_chunk(const agree_job *job, const ridge_chunk *chunk, tally *t) {
    const ridge_target *target = job->a->target;
    double other[STEP];
    int64_t all;
    int64_t row = ridge_chunk_rows(job->problem, chunk, 0, &all);
    for (int o = 0; o < target->n_out; o++) {
        ridge_view view = ridge_operands_view(job->a, target->n_in + o);
        ridge_view_load(&view, row * view.row, all * view.row, chunk->out[o]);
    }
    for (int o = 0; o < target->n_out; o++) {
        ridge_view view = ridge_operands_view(job->b, target->n_in + o);
        ridge_bound bound = {0, 0};
        target->bound(&chunk->call, job->a->kind, o, &bound);
        for (int64_t i = 0, n = all * view.row; i < n; i += STEP) {
            int64_t part = n - i < STEP ? n - i : STEP;
            ridge_view_load(&view, row * view.row + i, part, other);
            compare(chunk->out[o] + i, other, part, &bound, view.dtype, t);
        }
    }
}

static void agree_part(void *arg, int rank, int size) {
    (void)size;
    agree_job *job = arg;
    tally mine = {.agree = true};
    int64_t chunks = ridge_problem_chunks(job->problem);
    for (int64_t number; (number = atomic_fetch_add(&job->next, 1)) < chunks;) {
        ridge_chunk chunk;
        ridge_problem_load(job->problem, number, rank, &chunk);
        compare_chunk(job, &chunk, &mine);
    }
    while (atomic_flag_test_and_set_explicit(&job->lock, memory_order_acquire)) {
    }
    if (!mine.agree) job->total->agree = false;
    if (mine.difference > job->total->max_difference) job->total->max_difference = mine.difference;
    job->equal += mine.equal;
    job->elements += mine.elements;
    atomic_flag_clear_explicit(&job->lock, memory_order_release);
}

ridge_status ridge_check_agree(const ridge_operands *a, const ridge_operands *b, ridge_team *team,
                               ridge_agreement *agreement, ridge_error *error) {
    *agreement = (ridge_agreement){.agree = true, .equal_fraction = 1};
    if (a->target != b->target || memcmp(a->c.dim, b->c.dim, sizeof a->c.dim) != 0 || a->c.dtype != b->c.dtype ||
        a->kind != b->kind || a->seed != b->seed || a->user != b->user)
        return ridge_fail(error, RIDGE_INVALID, "%s: the two runs had different inputs", a->target->name);
    if (a->c.dim[0] == 0) return RIDGE_OK;
    ridge_problem problem;
    RIDGE_TRY(ridge_problem_create(a, NULL, a->c.dim[0], team, &problem, error));
    agree_job job = {.problem = &problem, .a = a, .b = b, .total = agreement, .lock = ATOMIC_FLAG_INIT};
    ridge_team_run(team, agree_part, &job);
    ridge_problem_destroy(&problem);
    if (job.elements > 0) agreement->equal_fraction = (double)job.equal / (double)job.elements;
    return RIDGE_OK;
}
