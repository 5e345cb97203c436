/* Compares the outputs of two variants for the same inputs. */
#include "verify/check.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

#include "verify/judge.h"

typedef struct agree_job {
    const ridge_oracle_input *problem;
    const ridge_operands *a, *b;
    ridge_agreement *total;
    bool exact; /* row sizes come from the oracle; false: estimated from the values */
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

static void compare(const double *x, const double *y, int64_t n, const ridge_bound *bound, double extra,
                    ridge_dtype dtype, tally *t) {
    const double absolute = bound->absolute + extra;
    for (int64_t i = 0; i < n; i++) {
        double error = fabs(x[i] - y[i]);
        double tolerance = 2 * absolute + bound->relative * (fabs(x[i]) + fabs(y[i]));
        t->elements++;
        t->equal += memcmp(&x[i], &y[i], sizeof *x) == 0;
        if (error <= tolerance && error <= DBL_MAX) {
            if (error > t->difference) t->difference = error;
            continue;
        }
        /* Near the largest finite value of the storage type, one output may overflow and the other not. */
        tolerance = 2 * absolute + 2 * bound->relative * (isfinite(x[i]) ? fabs(x[i]) : fabs(y[i]));
        if (ridge_judge_odd(x[i], y[i], tolerance, dtype) || ridge_judge_odd(y[i], x[i], tolerance, dtype)) continue;
        t->agree = false;
        t->difference = isfinite(error) ? (error > t->difference ? error : t->difference) : (double)INFINITY;
    }
}

static double mean_square_root(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return n > 0 && isfinite(sum) ? sqrt(sum / (double)n) : 0;
}

/* Compares n elements of b, from `first` on, with those of a. extra: the part of the bound from the row's size. */
static void compare_run(const ridge_view *b, int64_t first, const double *a, int64_t n, const ridge_bound *bound,
                        double extra, tally *t) {
    double other[STEP];
    for (int64_t i = 0; i < n; i += STEP) {
        int64_t part = n - i < STEP ? n - i : STEP;
        ridge_view_load(b, first + i, part, other);
        compare(a + i, other, part, bound, extra, b->dtype, t);
    }
}

/* Compares row by row if the bound depends on the row's size. */
static void compare_rows(const agree_job *job, const ridge_chunk *chunk, int output, int64_t row, int64_t all,
                         const ridge_bound *bound, tally *t) {
    ridge_view view = ridge_operands_view(job->b, job->a->target->n_in + output);
    /* A row of one element gives no estimate of its size: then the whole chunk does. */
    const bool sized = bound->sized > 0;
    const int64_t each = sized && (job->exact || view.row > 1) ? 1 : all;
    for (int64_t i = 0; i < all; i += each) {
        const double *a = chunk->out[output] + i * view.row;
        double size = 0;
        if (sized) size = job->exact ? chunk->size[output][i] : mean_square_root(a, each * view.row);
        compare_run(&view, (row + i) * view.row, a, each * view.row, bound, sized ? bound->sized * size : 0, t);
    }
}

/* Evaluates the bound with a's results in place of the oracle's. */
static void compare_chunk(const agree_job *job, const ridge_chunk *chunk, tally *t) {
    const ridge_target *target = job->a->target;
    int64_t all;
    int64_t row = ridge_chunk_rows(job->problem, chunk, 0, &all);
    if (job->exact) target->oracle(&chunk->call); /* for the sizes; a's results replace its results */
    for (int o = 0; o < target->n_out; o++) {
        ridge_view view = ridge_operands_view(job->a, target->n_in + o);
        if (chunk->out[o]) ridge_view_load(&view, row * view.row, all * view.row, chunk->out[o]);
    }
    for (int o = 0; o < target->n_out; o++) {
        ridge_bound bound;
        if (!chunk->out[o]) continue;
        const ridge_dtype dtype = ridge_operands_view(job->a, target->n_in + o).dtype;
        ridge_judge_bound(target, &chunk->call, job->a->kind, o, dtype, &bound);
        compare_rows(job, chunk, o, row, all, &bound, t);
    }
}

static void agree_part(void *arg, int rank, int size) {
    (void)size;
    agree_job *job = arg;
    tally mine = {.agree = true};
    int64_t chunks = ridge_oracle_input_chunks(job->problem);
    for (int64_t number; (number = atomic_fetch_add(&job->next, 1)) < chunks;) {
        ridge_chunk chunk;
        ridge_oracle_input_load(job->problem, number, rank, &chunk);
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

static ridge_status agree_on(agree_job *job, int lead, ridge_team *team, ridge_error *error) {
    const int64_t rows = job->a->c.dim[lead];
    if (rows == 0) return RIDGE_OK;
    ridge_oracle_input problem;
    RIDGE_TRY(ridge_oracle_input_create(job->a, lead, NULL, rows, team, &problem, error));
    job->problem = &problem;
    atomic_store(&job->next, 0);
    ridge_team_run(team, agree_part, job);
    ridge_oracle_input_destroy(&problem);
    return RIDGE_OK;
}

static ridge_status agree_all(agree_job *job, ridge_team *team, ridge_error *error) {
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (ridge_target_leads(job->a->target) >> d & 1) RIDGE_TRY(agree_on(job, d, team, error));
    job->total->equal_fraction = job->elements > 0 ? (double)job->equal / (double)job->elements : 1;
    return RIDGE_OK;
}

/* Estimates row sizes first, without the oracle. If the outputs then disagree, compares again with the oracle's
 * sizes. */
ridge_status ridge_check_agree(const ridge_operands *a, const ridge_operands *b, ridge_team *team,
                               ridge_agreement *agreement, ridge_error *error) {
    *agreement = (ridge_agreement){.agree = true, .equal_fraction = 1};
    if (a->target != b->target || !ridge_case_same(&a->c, &b->c) || a->kind != b->kind || a->seed != b->seed ||
        a->user != b->user)
        return ridge_fail(error, RIDGE_INVALID, "%s: the two runs had different inputs", a->target->name);
    agree_job job = {.a = a, .b = b, .total = agreement, .lock = ATOMIC_FLAG_INIT};
    RIDGE_TRY(agree_all(&job, team, error));
    if (agreement->agree) return RIDGE_OK;
    *agreement = (ridge_agreement){.agree = true, .equal_fraction = 1};
    job.exact = true;
    job.equal = job.elements = 0;
    return agree_all(&job, team, error);
}
