#include "record/scaling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/judge.h"

/* Below this exponent, time hardly depends on the size. */
static const double launch_exponent = 0.3;

/* Indices of results. */
typedef struct indices {
    int *at;
    int n;
} indices;

/* ---- which cases form a line ------------------------------------------------------------------------------------- */

static bool same_series(const ridge_result *a, const ridge_result *b) {
    ridge_case like = b->c;
    if (a->target != b->target || a->variant != b->variant || a->isa != b->isa) return false;
    memcpy(like.dim, a->c.dim, sizeof like.dim);
    return ridge_case_same(&a->c, &like);
}

/* The dimensions in which two cases differ. */
static unsigned differing(const ridge_target *target, const ridge_case *a, const ridge_case *b) {
    unsigned axes = 0;
    for (int d = 0; d < ridge_target_rank(target); d++) axes |= (unsigned)(a->dim[d] != b->dim[d]) << d;
    return axes;
}

static unsigned varying(const ridge_run *run, const indices *all) {
    unsigned axes = 0;
    const ridge_result *first = &run->results[all->at[0]];
    for (int i = 1; i < all->n; i++) axes |= differing(first->target, &first->c, &run->results[all->at[i]].c);
    return axes;
}

static double size_of(const ridge_result *r, unsigned axes) {
    double logs = 0;
    int n = 0;
    for (int d = 0; d < ridge_target_rank(r->target); d++)
        if (axes >> d & 1) logs += log((double)r->c.dim[d]), n++;
    return exp(logs / n);
}

/* Whether every dimension of `axes` is larger in b than in a. */
static bool all_grow(const ridge_result *a, const ridge_result *b, unsigned axes) {
    for (int d = 0; d < ridge_target_rank(a->target); d++)
        if (axes >> d & 1 && a->c.dim[d] >= b->c.dim[d]) return false;
    return true;
}

/* Sorts by size; equal sizes keep their order. Lines are short. */
static void sort_by_size(const ridge_run *run, indices *all, unsigned axes) {
    for (int i = 1; i < all->n; i++) {
        const int moved = all->at[i];
        const double size = size_of(&run->results[moved], axes);
        int k = i;
        for (; k > 0 && size_of(&run->results[all->at[k - 1]], axes) > size; k--) all->at[k] = all->at[k - 1];
        all->at[k] = moved;
    }
}

static bool is_chain(const ridge_run *run, const indices *all, unsigned axes) {
    for (int i = 1; i < all->n; i++)
        if (!all_grow(&run->results[all->at[i - 1]], &run->results[all->at[i]], axes)) return false;
    return true;
}

/* ---- what bounds a piece ----------------------------------------------------------------------------------------- */

/* The first word of a memory level's ceiling: "DRAM stream" is DRAM. */
static void regime_of(const ridge_result *r, char *name, size_t size) {
    const char *level = r->place.binding;
    if (r->verdict == RIDGE_VERDICT_FRAME)
        (void)snprintf(name, size, "launch");
    else if (level[0] && !r->place.memory_bound)
        (void)snprintf(name, size, "compute");
    else
        (void)snprintf(name, size, "%.*s", (int)strcspn(level, " "), level);
}

static void name_regime(const ridge_run *run, const ridge_scaling *line, const ridge_power_piece *piece, char *name,
                        size_t size) {
    int most = 0;
    name[0] = '\0';
    for (int i = piece->first; i < piece->first + piece->n; i++) {
        char one[16], other[16];
        int same = 0;
        regime_of(&run->results[line->result[i]], one, sizeof one);
        for (int k = piece->first; k < piece->first + piece->n; k++) {
            regime_of(&run->results[line->result[k]], other, sizeof other);
            same += strcmp(one, other) == 0;
        }
        if (same > most) most = same, (void)snprintf(name, size, "%s", one);
    }
    if (piece->exponent < launch_exponent) (void)snprintf(name, size, "launch");
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static ridge_status add_line(const ridge_run *run, const indices *all, unsigned axes, ridge_scalings *s) {
    ridge_scaling *more = realloc(s->line, (size_t)(s->n + 1) * sizeof *more);
    if (!more) return RIDGE_NO_MEMORY;
    s->line = more;
    ridge_scaling *line = &s->line[s->n++];
    *line = (ridge_scaling){.n = all->n, .axes = axes};
    line->result = malloc((size_t)all->n * sizeof *line->result);
    line->size = malloc((size_t)all->n * sizeof *line->size);
    double *time = malloc((size_t)all->n * sizeof *time);
    ridge_status status = line->result && line->size && time ? RIDGE_OK : RIDGE_NO_MEMORY;
    for (int i = 0; status == RIDGE_OK && i < all->n; i++) {
        const ridge_result *r = &run->results[all->at[i]];
        line->result[i] = all->at[i];
        line->size[i] = size_of(r, axes);
        time[i] = ridge_result_judged(r).median;
    }
    if (status == RIDGE_OK && ridge_power_fit_times(line->size, time, line->n, &line->fit)) {
        for (int p = 0; p < line->fit.n; p++)
            name_regime(run, line, &line->fit.piece[p], line->regime[p], sizeof line->regime[p]);
    } else { /* an extent of 0, or the same case twice */
        free(line->result);
        free(line->size);
        s->n--;
    }
    free(time);
    return status;
}

/* The lines along one dimension: one for each choice of the others. */
static ridge_status add_along(const ridge_run *run, const indices *all, int d, indices *part, ridge_scalings *s) {
    for (int i = 0; i < all->n; i++) {
        const ridge_result *first = &run->results[all->at[i]];
        bool seen = false;
        part->n = 0;
        for (int k = 0; k < all->n; k++) {
            const ridge_result *r = &run->results[all->at[k]];
            if (differing(first->target, &first->c, &r->c) & ~(1u << d)) continue;
            seen |= k < i;
            part->at[part->n++] = all->at[k];
        }
        if (seen || part->n < RIDGE_LEAST_FIT) continue;
        sort_by_size(run, part, 1u << d);
        if (add_line(run, part, 1u << d, s) != RIDGE_OK) return RIDGE_NO_MEMORY;
    }
    return RIDGE_OK;
}

static ridge_status add_series(const ridge_run *run, indices *all, indices *part, ridge_scalings *s) {
    if (all->n < RIDGE_LEAST_FIT) return RIDGE_OK;
    const unsigned axes = varying(run, all);
    if (axes == 0) return RIDGE_OK;
    sort_by_size(run, all, axes);
    if (is_chain(run, all, axes)) return add_line(run, all, axes, s);
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (axes >> d & 1 && add_along(run, all, d, part, s) != RIDGE_OK) return RIDGE_NO_MEMORY;
    return RIDGE_OK;
}

static bool has_time(const ridge_result *r) { return ridge_verdict_timed(r->verdict) && r->time_us.n > 0; }

ridge_status ridge_run_scalings(const ridge_run *run, ridge_scalings *s) {
    const size_t room = (size_t)run->n_results + 1;
    indices all = {malloc(room * sizeof *all.at), 0}, part = {malloc(room * sizeof *part.at), 0};
    bool *seen = calloc(room, sizeof *seen);
    ridge_status status = all.at && part.at && seen ? RIDGE_OK : RIDGE_NO_MEMORY;
    *s = (ridge_scalings){0};
    for (int i = 0; status == RIDGE_OK && i < run->n_results; i++) {
        if (seen[i] || !has_time(&run->results[i])) continue;
        all.n = 0;
        for (int k = i; k < run->n_results; k++) {
            if (!has_time(&run->results[k]) || !same_series(&run->results[i], &run->results[k])) continue;
            seen[k] = true;
            all.at[all.n++] = k;
        }
        status = add_series(run, &all, &part, s);
    }
    free(seen);
    free(part.at);
    free(all.at);
    return status;
}

void ridge_scalings_free(ridge_scalings *s) {
    for (int i = 0; i < s->n; i++) {
        free(s->line[i].result);
        free(s->line[i].size);
    }
    free(s->line);
    *s = (ridge_scalings){0};
}

void ridge_scaling_name(const ridge_run *run, const ridge_scaling *line, char *name, int size) {
    const ridge_result *r = &run->results[line->result[0]];
    char whole[RIDGE_CASE_NAME];
    int used = 0;
    ridge_case_name(r->target, &r->c, whole, sizeof whole);
    if (size > 0) name[0] = '\0';
    for (int d = 0; d < ridge_target_rank(r->target) && used < size; d++) {
        const size_t room = (size_t)(size - used);
        if (line->axes >> d & 1)
            used += snprintf(name + used, room, "%s%s", d ? "x" : "", r->target->dims[d]);
        else
            used += snprintf(name + used, room, "%s%" PRId64, d ? "x" : "", r->c.dim[d]);
    }
    if (used < size) (void)snprintf(name + used, (size_t)(size - used), "%s", whole + strspn(whole, "0123456789x"));
}
