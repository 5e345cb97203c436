/* What a run proves: the verdict of each pair, and the figures of its closing lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/stats.h"
#include "core/shortage.h"
#include "record/judge.h"

static const char *const proof_names[] = {
#define PROOF_NAME(name, text) text,
    RIDGE_PROOF_LIST(PROOF_NAME)
#undef PROOF_NAME
};

const char *ridge_proof_name(ridge_proof proof) {
    return (unsigned)proof < RIDGE_PROOF_COUNT ? proof_names[proof] : "?";
}

static bool has_interval(ridge_interval interval) { return isfinite(interval.low) && isfinite(interval.high); }

ridge_proof ridge_pair_proof(const ridge_run *run, const ridge_pair *pair) {
    if (!ridge_verdict_timed(run->results[pair->a].verdict) || !ridge_verdict_timed(run->results[pair->b].verdict))
        return RIDGE_PROOF_UNTIMED;
    if (!has_interval(pair->speedup) || !ridge_interval_excludes(pair->speedup, 1)) return RIDGE_PROOF_OPEN;
    /* Measurements that are three or more say how far the next one may lie. */
    if (pair->repeats.n >= 3 && !ridge_interval_excludes(pair->repeats.between, 1)) return RIDGE_PROOF_OPEN;
    return pair->speedup.median > 1 ? RIDGE_PROOF_FASTER : RIDGE_PROOF_SLOWER;
}

static bool is_over_baseline(const ridge_run *run, const ridge_pair *pair) {
    return run->results[pair->a].variant->role == RIDGE_BASELINE;
}

bool ridge_pair_finding(const ridge_run *run, const ridge_pair *pair, ridge_finding *finding) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    char name[RIDGE_CASE_NAME];
    if (!is_over_baseline(run, pair) || ridge_pair_proof(run, pair) != RIDGE_PROOF_SLOWER) return false;
    *finding = (ridge_finding){.what = "slower", .health = RIDGE_HEALTH_BAD};
    ridge_case_name(b->target, &b->c, name, sizeof name);
    (void)snprintf(finding->found, sizeof finding->found, "%.40s %.60s: %.24s %.2f× (%.2f–%.2f)", b->target->name, name,
                   b->variant->name, pair->speedup.median, pair->speedup.low, pair->speedup.high);
    (void)snprintf(finding->advice, sizeof finding->advice, "proven slower than %.40s: leave it out for this case",
                   a->variant->name);
    return true;
}

double ridge_repeats_spread(const ridge_repeats *r) {
    double low = HUGE_VAL, high = 0;
    for (int k = 0; k < r->n; k++) {
        if (!(r->each[k].median > 0)) continue;
        low = fmin(low, r->each[k].median);
        high = fmax(high, r->each[k].median);
    }
    return r->between.n < 2 ? (double)NAN : 0.5 * (high - low) / r->between.median;
}

double ridge_result_noise(const ridge_result *r) {
    return ridge_verdict_timed(r->verdict) ? ridge_interval_width(ridge_result_judged(r)) : (double)NAN;
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

/* Values with the index that each belongs to. */
typedef struct values {
    double *value;
    int *index;
    int n;
} values;

static bool open_values(values *v, int most) {
    *v = (values){.value = malloc(((size_t)most + 1) * sizeof *v->value),
                  .index = malloc(((size_t)most + 1) * sizeof *v->index)};
    if (!v->value || !v->index) ridge_shortage_note();
    return v->value && v->index;
}

static void close_values(values *v) {
    free(v->value);
    free(v->index);
}

static void add_value(values *v, double value, int index) {
    v->value[v->n] = value;
    v->index[v->n++] = index;
}

static ridge_spread spread_of(const values *v) {
    ridge_spread s = {.n = v->n, .lowest = -1, .highest = -1};
    if (v->n == 0) return s;
    s.median = ridge_median(v->value, v->n);
    s.low = HUGE_VAL;
    s.high = -HUGE_VAL;
    for (int i = 0; i < v->n; i++) {
        if (v->value[i] < s.low) s.low = v->value[i], s.lowest = v->index[i];
        if (v->value[i] > s.high) s.high = v->value[i], s.highest = v->index[i];
    }
    return s;
}

static bool same_case(const ridge_result *a, const ridge_result *b) {
    return a->target == b->target && ridge_case_same(&a->c, &b->c) &&
           ridge_variant_backend(a->variant) == ridge_variant_backend(b->variant);
}

/* Results of a case stand together. */
static void count_results(const ridge_run *run, ridge_summary *s) {
    const ridge_result *last = NULL;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if ((unsigned)r->verdict < RIDGE_VERDICT_COUNT) s->verdicts[r->verdict]++;
        if (!ridge_verdict_timed(r->verdict)) continue;
        s->cases += !last || !same_case(last, r);
        s->launches += r->n_samples;
        if (r->check.worst > s->worst) s->worst = r->check.worst;
        last = r;
    }
}

static void spread_results(const ridge_run *run, ridge_summary *s) {
    values noise = {0}, ceiling = {0}, repeats = {0};
    if (open_values(&noise, run->n_results) && open_values(&ceiling, run->n_results) &&
        open_values(&repeats, run->n_results)) {
        for (int i = 0; i < run->n_results; i++) {
            const ridge_result *r = &run->results[i];
            const double width = ridge_result_noise(r);
            if (isfinite(width)) add_value(&noise, width, i);
            s->too_few += isinf(width);
            const double spread = ridge_verdict_timed(r->verdict) ? ridge_repeats_spread(&r->repeats) : (double)NAN;
            if (isfinite(spread)) add_value(&repeats, spread, i);
            if (ridge_verdict_timed(r->verdict) && r->variant->role == RIDGE_OPTIMIZED && r->place.binding[0])
                add_value(&ceiling, r->place.pct_measured, i);
        }
        s->noise = spread_of(&noise);
        s->ceiling = spread_of(&ceiling);
        s->repeats = spread_of(&repeats);
    }
    close_values(&repeats);
    close_values(&noise);
    close_values(&ceiling);
}

static void judge_pairs(const ridge_run *run, ridge_summary *s) {
    values speedup = {0};
    const bool open = open_values(&speedup, run->n_pairs);
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        if (!is_over_baseline(run, pair)) continue;
        const ridge_proof proof = ridge_pair_proof(run, pair);
        s->pairs[proof]++;
        if (open && proof != RIDGE_PROOF_UNTIMED && has_interval(pair->speedup))
            add_value(&speedup, pair->speedup.median, p);
    }
    if (open) s->speedup = spread_of(&speedup);
    close_values(&speedup);
}

void ridge_run_summarize(const ridge_run *run, ridge_summary *s) {
    *s = (ridge_summary){0};
    count_results(run, s);
    spread_results(run, s);
    judge_pairs(run, s);
}
