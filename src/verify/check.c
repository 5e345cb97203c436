/* Checks one run: unwritten outputs, writes outside the outputs, and elements outside their bounds. */
#include "verify/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/random.h"
#include "verify/judge.h"
#include "verify/scan.h"

/* Small operands may still need much arithmetic: above this oracle cost, the team is used. */
#define SERIAL_COST 1e6

/* ---- nothing else touched ------------------------------------------------------------------ */

void ridge_check_tell_guard(const ridge_operands *ops, int tensor, int64_t where, ridge_check *check) {
    ridge_view view = ridge_operands_view(ops, tensor);
    int64_t span = (int64_t)ridge_view_bytes(&view, view.span);
    const char *side = where < 0      ? "before the first element"
                       : where < span ? "between the rows"
                                      : "behind the last element";
    (void)snprintf(check->text, sizeof check->text, "memory %s of %s was written to (byte %lld)", side, view.spec->name,
                   (long long)(where < span ? where : where - span));
}

static bool guards_hold(const ridge_operands *ops, ridge_team *team, ridge_check *check) {
    int tensor = 0;
    int64_t where = 0;
    if (!ridge_scan_guards(ops, team, &tensor, &where)) return true;
    ridge_check_tell_guard(ops, tensor, where, check);
    return false;
}

/* Checks inputs for changes: all rows, or the listed rows of inputs for which these suffice. */
typedef struct input_job {
    const ridge_operands *ops;
    const int64_t *rows; /* NULL: all */
    int64_t n_rows;
    int tensor;
    int64_t changed[64]; /* indexed by rank modulo 64; one entry is enough for the message */
} input_job;

static void input_part(void *arg, int rank, int size) {
    input_job *job = arg;
    ridge_view view = ridge_operands_view(job->ops, job->tensor);
    bool listed = job->rows != NULL;
    int64_t position, end, changed = -1;
    ridge_share(listed ? job->n_rows * view.row : view.elements, 4096, rank, size, &position, &end);
    while (position < end && changed < 0) {
        int64_t n = end - position, first = position;
        if (listed) {
            int64_t column = position % view.row;
            first = job->rows[position / view.row] * view.row + column;
            if (n > view.row - column) n = view.row - column;
        }
        changed = ridge_scan_changed(job->ops, job->tensor, first, n);
        position += n;
    }
    if (rank < 64) job->changed[rank] = changed;
}

static bool inputs_hold(const ridge_operands *ops, const ridge_rows *rows, ridge_team *team, ridge_check *check) {
    for (int t = 0; t < ops->target->n_in; t++) {
        input_job job = {.ops = ops, .tensor = t};
        const int lead = ops->target->in[t].dim[0];
        if (rows && ridge_input_listed(ops->target, t) && !(ops->c.column_major >> t & 1))
            job.rows = rows->row[lead], job.n_rows = rows->n[lead];
        for (int i = 0; i < 64; i++) job.changed[i] = -1;
        ridge_team_run(team, input_part, &job);
        for (int i = 0; i < 64; i++) {
            if (job.changed[i] < 0) continue;
            ridge_view view = ridge_operands_view(ops, t);
            char name[96];
            ridge_view_name(&view, ridge_view_to_rows(&view, job.changed[i]), name, sizeof name);
            (void)snprintf(check->text, sizeof check->text, "input %s was changed", name);
            return false;
        }
    }
    return true;
}

/* ---- outputs ------------------------------------------------------------------------------- */

void ridge_check_tell_unwritten(const ridge_operands *ops, int output, int64_t place, ridge_check *check) {
    ridge_view view = ridge_operands_view(ops, ops->target->n_in + output);
    char name[96];
    ridge_view_name(&view, ridge_view_to_rows(&view, place), name, sizeof name);
    (void)snprintf(check->text, sizeof check->text, "%s was never written", name);
}

static bool outputs_written(const ridge_operands *ops, ridge_team *team, ridge_scan *scan, ridge_check *check) {
    ridge_scan_outputs(ops, team, scan);
    if (scan->poison_output < 0) return true;
    ridge_check_tell_unwritten(ops, (int)scan->poison_output, scan->poison_place, check);
    return false;
}

/* rows NULL: all. */
static ridge_status outputs_right(const ridge_operands *ops, const ridge_rows *rows, bool until_wrong, ridge_team *team,
                                  ridge_check *check, ridge_error *error) {
    ridge_judgement j = {.until_bad = until_wrong};
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (ridge_target_leads(ops->target) >> d & 1)
            RIDGE_TRY(
                ridge_judge(ops, d, rows ? rows->row[d] : NULL, rows ? rows->n[d] : ops->c.dim[d], team, &j, error));
    check->rows_checked = rows ? rows->n[0] : ops->c.dim[0];
    check->worst = j.worst;
    check->max_abs_error = j.max_abs;
    check->max_rel_error = j.max_rel;
    check->ok = !j.bad;
    if (check->ok) return RIDGE_OK;
    ridge_view view = ridge_operands_view(ops, ops->target->n_in + j.output);
    char name[96];
    ridge_view_name(&view, j.element, name, sizeof name);
    const double missed = fabs(j.got - j.want) / j.tolerance;
    char factor[48] = "";
    if (isfinite(missed)) (void)snprintf(factor, sizeof factor, ": %.3g × the bound", missed);
    (void)snprintf(check->text, sizeof check->text, "%s = %.9g, want %.9g ± %.3g%s", name, j.got, j.want, j.tolerance,
                   factor);
    return RIDGE_OK;
}

static ridge_status check_all(const ridge_operands *ops, bool until_wrong, ridge_team *team, ridge_check *check,
                              ridge_error *error) {
    ridge_scan scan;
    *check = (ridge_check){.rows = ops->c.dim[0], .worst = (double)INFINITY};
    if (ridge_check_full_cost(ops->target, &ops->c) < SERIAL_COST) team = ridge_operands_team(ops, team);
    if (!guards_hold(ops, team, check) || !inputs_hold(ops, NULL, team, check) ||
        !outputs_written(ops, team, &scan, check))
        return RIDGE_OK;
    return outputs_right(ops, NULL, until_wrong, team, check, error);
}
ridge_status ridge_check_full(const ridge_operands *ops, ridge_team *team, ridge_check *check, ridge_error *error) {
    return check_all(ops, false, team, check, error);
}
ridge_status ridge_check_until_wrong(const ridge_operands *ops, ridge_team *team, ridge_check *check,
                                     ridge_error *error) {
    return check_all(ops, true, team, check, error);
}

/* ---- a sample's check ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts and removes duplicates. */
int64_t ridge_rows_distinct(int64_t *rows, int64_t n) {
    int64_t kept = 0;
    qsort(rows, (size_t)n, sizeof *rows, by_number);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || rows[kept - 1] != rows[i]) rows[kept++] = rows[i];
    return kept;
}

/* Selection sampling: takes each row with the probability that makes all subsets equally likely. */
static int64_t draw_many(uint64_t seed, int64_t wanted, int64_t all, int64_t *rows) {
    int64_t n = 0;
    for (int64_t r = 0; r < all && n < wanted; r++)
        if (ridge_random_unit(seed, (uint64_t)r) * (double)(all - r) < (double)(wanted - n)) rows[n++] = r;
    return n;
}

int64_t ridge_rows_draw(uint64_t seed, int64_t wanted, int64_t all, int64_t *rows) {
    if (wanted < 0) wanted = 0;
    if (wanted > all) wanted = all;
    uint64_t i = 1, coins = ridge_random(seed, 0);
    if (wanted > all / 4) return draw_many(seed, wanted, all, rows);
    int64_t n = 0;
    if (wanted > 1 && (coins & 1)) rows[n++] = 0;
    if (wanted > 0 && (coins & 2)) rows[n++] = all - 1;
    while (n < wanted) { /* at least 3/4 of the draws are new */
        while (n < wanted) rows[n++] = (int64_t)(ridge_random(seed, i++) % (uint64_t)all);
        n = ridge_rows_distinct(rows, n);
    }
    return n;
}

/* The same fraction of the rows of dimension d; at least one. */
static int64_t share_of(const ridge_operands *ops, int d, int64_t wanted) {
    const int64_t first = ops->c.dim[0], all = ops->c.dim[d];
    if (d == 0 || wanted >= first) return wanted < first ? wanted : all;
    const int64_t share = (int64_t)((double)wanted * ((double)all / (double)first));
    return share > 1 ? share : all > 1 ? 1 : all;
}

ridge_status ridge_rows_choose(const ridge_operands *ops, uint64_t seed, int64_t wanted, const int64_t *odd, int n_odd,
                               ridge_rows *rows, ridge_error *error) {
    const unsigned leads = ridge_target_leads(ops->target);
    int64_t space = 0, share[RIDGE_MAX_RANK] = {0};
    *rows = (ridge_rows){.memory = NULL};
    if (wanted < 0) wanted = 0;
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (leads >> d & 1) space += (share[d] = share_of(ops, d, wanted)) + n_odd;
    rows->memory = calloc((size_t)space + 1, sizeof *rows->memory);
    if (!rows->memory) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a list of %lld rows", (long long)space);
    int64_t *next = rows->memory;
    for (int d = 0; d < RIDGE_MAX_RANK; d++) {
        if (!(leads >> d & 1)) continue;
        int64_t n = ridge_rows_draw(seed + (uint64_t)d, share[d], ops->c.dim[d], next);
        /* A non-finite element may be correct or wrong: the oracle decides. */
        for (int i = 0; i < n_odd; i++)
            if (odd[i] % RIDGE_MAX_RANK == d) next[n++] = odd[i] / RIDGE_MAX_RANK;
        rows->row[d] = next;
        rows->n[d] = ridge_rows_distinct(next, n);
        next += n;
    }
    return RIDGE_OK;
}

ridge_status ridge_check_rows(const ridge_operands *ops, const ridge_rows *rows, ridge_team *team, ridge_check *check,
                              ridge_error *error) {
    *check = (ridge_check){.rows = ops->c.dim[0], .worst = (double)INFINITY};
    if (!inputs_hold(ops, rows, team, check)) return RIDGE_OK;
    return outputs_right(ops, rows, false, team, check, error);
}

ridge_status ridge_check_sample(const ridge_operands *ops, uint64_t row_seed, int64_t wanted, ridge_team *team,
                                ridge_check *check, ridge_error *error) {
    ridge_scan scan;
    ridge_rows rows;
    *check = (ridge_check){.rows = ops->c.dim[0], .worst = (double)INFINITY};
    if (ridge_check_full_cost(ops->target, &ops->c) < SERIAL_COST) team = ridge_operands_team(ops, team);
    if (!guards_hold(ops, team, check) || !outputs_written(ops, team, &scan, check)) return RIDGE_OK;
    RIDGE_TRY(ridge_rows_choose(ops, row_seed, wanted, scan.odd, scan.n_odd, &rows, error));
    ridge_status status = ridge_check_rows(ops, &rows, team, check, error);
    free(rows.memory);
    return status;
}

double ridge_check_full_cost(const ridge_target *target, const ridge_case *c) {
    ridge_work work = {0, 0, 0};
    target->work(c, &work);
    double cost = work.flops;
    /* Generation, conversion and comparison take a few operations per element. */
    for (int t = 0; t < target->n_in; t++) cost += 4 * (double)ridge_spec_elements(&target->in[t], c);
    for (int t = 0; t < target->n_out; t++) cost += 8 * (double)ridge_spec_elements(&target->out[t], c);
    return cost;
}
