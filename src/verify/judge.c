/* Compares outputs with the oracle in chunks of rows, scheduled dynamically over the team. */
#include "verify/judge.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

enum { STEP = 2048 };

typedef struct judge_job {
    const ridge_oracle_input *problem;
    ridge_judgement *total;
    atomic_llong next;
    atomic_flag lock;
} judge_job;

/* What rounding costs below the normal range: half of the stored type's smallest subnormal for the result, half of
 * fp32's for one intermediate value. Integers have no such range. */
static double underflow(ridge_dtype dtype) {
    const double least = ridge_dtype_traits_of(dtype)->least;
    if (dtype == RIDGE_F64) return least; /* its half is no number */
    return least > 0 ? least / 2 + 0x1p-150 : 0;
}

/* Below this a result may be flushed to zero: twice the arithmetic's smallest normal number, because the last operation
 * may scale what was flushed up by two. (Exponentials whose shift is the maximum rounded up to an integer are half as
 * large as they could be.) Narrower types are stored from fp32, in which their subnormals are normal. */
static double flushed_below(ridge_dtype dtype) {
    if (ridge_dtype_is_integer(dtype)) return 0;
    return 2 * (dtype == RIDGE_F64 ? DBL_MIN : (double)FLT_MIN);
}

static bool may_overflow(double magnitude, ridge_dtype dtype) {
    const ridge_dtype_traits *traits = ridge_dtype_traits_of(dtype);
    return traits->overflows && magnitude > traits->most;
}

void ridge_judge_bound(const ridge_target *target, const ridge_oracle_call *call, ridge_fill_kind kind, int output,
                       ridge_dtype dtype, ridge_bound *bound) {
    *bound = (ridge_bound){0, 0, 0};
    target->bound(call, kind, output, bound);
    /* A target that allows nothing says that nothing is rounded. */
    if (bound->absolute > 0 || bound->relative > 0 || bound->sized > 0) bound->absolute += underflow(dtype);
}

bool ridge_judge_odd(double got, double want, double tolerance, ridge_dtype dtype) {
    if (ridge_is_undecided(want)) return !isfinite(got) || got == 0;
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    if (got == 0) return fabs(want) - tolerance < flushed_below(dtype);
    bool overflows = isfinite(tolerance) && may_overflow(fabs(want) + tolerance, dtype);
    return overflows && isinf(got) && signbit(got) == signbit(want);
}

static void note_bad(ridge_judgement *j, int output, int64_t element, double got, double want, double tolerance) {
    double error = fabs(got - want), ratio = error / tolerance;
    j->worst = ratio > j->worst ? ratio : isfinite(ratio) ? j->worst : (double)INFINITY;
    if (isfinite(error) && error > j->max_abs) j->max_abs = error;
    if (j->bad && (output > j->output || (output == j->output && element > j->element))) return;
    j->bad = true;
    j->output = output, j->element = element;
    j->got = got, j->want = want, j->tolerance = tolerance;
}

/* Judges n elements from `first` on. extra: the part of the bound from the row's size. */
static void judge_run(const ridge_view *view, int output, int64_t first, const double *want, int64_t n,
                      const ridge_bound *bound, double extra, ridge_judgement *j) {
    double got[STEP];
    const double absolute = bound->absolute + extra;
    for (int64_t begin = 0; begin < n; begin += STEP, want += STEP) {
        int64_t part = n - begin < STEP ? n - begin : STEP;
        ridge_view_load(view, first + begin, part, got);
        for (int64_t i = 0; i < part; i++) {
            double error = fabs(got[i] - want[i]), magnitude = fabs(want[i]);
            double tolerance = absolute + bound->relative * magnitude;
            if (!(error <= tolerance && error <= DBL_MAX)) {
                if (!ridge_judge_odd(got[i], want[i], tolerance, view->dtype))
                    note_bad(j, output, first + begin + i, got[i], want[i], tolerance);
                continue;
            }
            if (error == 0) continue;
            if (error > j->worst * tolerance) j->worst = error / tolerance;
            if (error > j->max_abs) j->max_abs = error;
            if (error > j->max_rel * magnitude && magnitude > 0) j->max_rel = error / magnitude;
        }
    }
}

/* Consecutive rows are one run, unless the bound depends on the row's size. */
static void judge_rows(const ridge_oracle_input *p, const ridge_chunk *chunk, int output, const ridge_bound *bound,
                       ridge_judgement *j) {
    const ridge_view view = ridge_operands_view(p->ops, p->ops->target->n_in + output);
    const bool sized = bound->sized > 0;
    for (int64_t i = 0, n; i < chunk->n; i += n) {
        int64_t row = ridge_chunk_rows(p, chunk, i, &n);
        if (sized) n = 1;
        judge_run(&view, output, row * view.row, chunk->out[output] + i * view.row, n * view.row, bound,
                  sized ? bound->sized * chunk->size[output][i] : 0, j);
    }
}

static void judge_chunk(const ridge_oracle_input *p, const ridge_chunk *chunk, ridge_judgement *j) {
    const ridge_target *target = p->ops->target;
    target->oracle(&chunk->call);
    for (int o = 0; o < target->n_out; o++) {
        ridge_bound bound;
        if (!chunk->out[o]) continue;
        const ridge_dtype dtype = ridge_operands_view(p->ops, target->n_in + o).dtype;
        ridge_judge_bound(target, &chunk->call, p->ops->kind, o, dtype, &bound);
        judge_rows(p, chunk, o, &bound, j);
    }
}

static void merge(ridge_judgement *total, const ridge_judgement *mine) {
    if (mine->bad) note_bad(total, mine->output, mine->element, mine->got, mine->want, mine->tolerance);
    if (mine->worst > total->worst) total->worst = mine->worst;
    if (mine->max_abs > total->max_abs) total->max_abs = mine->max_abs;
    if (mine->max_rel > total->max_rel) total->max_rel = mine->max_rel;
}

static void judge_part(void *arg, int rank, int size) {
    (void)size;
    judge_job *job = arg;
    ridge_judgement mine = {0};
    const bool until_bad = job->total->until_bad;
    int64_t chunks = ridge_oracle_input_chunks(job->problem);
    for (int64_t number; !(until_bad && mine.bad) && (number = atomic_fetch_add(&job->next, 1)) < chunks;) {
        ridge_chunk chunk;
        ridge_oracle_input_load(job->problem, number, rank, &chunk);
        judge_chunk(job->problem, &chunk, &mine);
    }
    while (atomic_flag_test_and_set_explicit(&job->lock, memory_order_acquire)) {
    }
    merge(job->total, &mine);
    atomic_flag_clear_explicit(&job->lock, memory_order_release);
}

static int64_t output_elements(const ridge_operands *ops, int lead) {
    int64_t n = 0;
    for (int o = 0; o < ops->target->n_out; o++)
        if (ops->target->out[o].dim[0] == lead) n += ridge_operands_view(ops, ops->target->n_in + o).elements;
    return n;
}

ridge_status ridge_judge(const ridge_operands *ops, int lead, const int64_t *rows, int64_t n_rows, ridge_team *team,
                         ridge_judgement *judgement, ridge_error *error) {
    if (n_rows == 0 || output_elements(ops, lead) == 0) return RIDGE_OK; /* no element to judge */
    ridge_oracle_input problem;
    RIDGE_TRY(ridge_oracle_input_create(ops, lead, rows, n_rows, team, &problem, error));
    judge_job job = {.problem = &problem, .total = judgement, .lock = ATOMIC_FLAG_INIT};
    ridge_team_run(team, judge_part, &job);
    ridge_oracle_input_destroy(&problem);
    return RIDGE_OK;
}
