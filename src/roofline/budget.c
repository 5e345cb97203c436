#include "roofline/budget.h"

#include <math.h>
#include <stdlib.h>

#include "core/shortage.h"
#include "measure/event.h"
#include "measure/reference.h"

/* ---- forecasts --------------------------------------------------------------------------------------------------- */

/* Measured on two AVX2 cores of a shared virtual machine over the cases of chapter 9; those of CUDA are assumed. */
static const struct {
    double launch[RIDGE_PEER + 1];        /* time of a launch / time at the ceilings */
    double oracle;                        /* FLOP/s of the fp64 oracle / fp32 peak */
    double handle;                        /* bytes/s at which a set is filled, poisoned and scanned / DRAM bandwidth */
    double first_touch;                   /* bytes/s of a thread that writes fresh memory */
    double start_s[RIDGE_BACKEND_COUNT];  /* of a worker with its libraries */
    double launch_s[RIDGE_BACKEND_COUNT]; /* beside the kernel, with the check of a sample */
    double peer_pause_s;                  /* beside a launch of a library: its threads go to sleep */
} typical = {.launch = {[RIDGE_BASELINE] = 7, [RIDGE_OPTIMIZED] = 2, [RIDGE_PEER] = 2},
             .oracle = 0.025,
             .handle = 0.08,
             .first_touch = 1.5e9,
             .start_s = {[RIDGE_BACKEND_cpu] = 0.1, [RIDGE_BACKEND_cuda] = 1.5},
             .launch_s = {[RIDGE_BACKEND_cpu] = 1e-4, [RIDGE_BACKEND_cuda] = 5e-4},
             .peer_pause_s = 1.5e-3};

/* For a machine whose ceilings were not measured. */
static const double nominal_flops = 5e10, nominal_bytes = 1e10; /* FLOP/s of a thread, bytes/s of the machine */

typedef struct rates {
    double flops, bytes; /* per second */
} rates;

static double giga(ridge_interval interval) {
    return interval.n > 0 && interval.median > 0 ? 1e9 * interval.median : 0;
}

static rates rates_of(const ridge_ceilings *c, int threads) {
    const ridge_level *dram = c && c->n_levels > 0 ? ridge_ceilings_dram(c) : NULL;
    const ridge_peak *peak = c && c->n_peaks > 0 ? ridge_ceilings_peak(c, "fp32") : NULL;
    rates r = {.flops = peak ? giga(peak->gflops) : 0, .bytes = dram ? fmax(giga(dram->copy), giga(dram->stream)) : 0};
    if (!(r.flops > 0)) r.flops = nominal_flops * threads;
    if (!(r.bytes > 0)) r.bytes = nominal_bytes;
    return r;
}

/* Launches of all variants, once each. */
static double launches_s(const ridge_job *job, const rates *own) {
    ridge_work work;
    job->target->work(&job->c, &work);
    const double floor = fmax(work.flops / own->flops, (work.bytes_read + work.bytes_written) / own->bytes);
    double sum = 0;
    for (int i = 0; i < job->n_variants; i++) {
        const ridge_variant *v = &job->target->variants[job->variants[i]];
        sum += typical.launch[v->role] * floor + typical.launch_s[job->backend];
        if (v->own_threads) sum += typical.peer_pause_s;
    }
    return sum;
}

/* Launches of a round that are no variant's: of the reference, and of each optimized variant in the core's caches. */
static int companions(const ridge_job *job, size_t set_bytes) {
    ridge_mover_choice choice;
    int n = 1;
    if (job->backend == RIDGE_BACKEND_cuda || !ridge_reference_wanted(job, set_bytes, &choice)) return 0;
    for (int i = 0; i < job->n_variants; i++) n += job->target->variants[job->variants[i]].role == RIDGE_OPTIMIZED;
    return n;
}

ridge_forecast ridge_forecast_job(const ridge_job *job, const ridge_ceilings *own, const ridge_ceilings *host) {
    const rates here = rates_of(host, job->threads), there = rates_of(own, job->threads);
    const int n = job->n_variants;
    ridge_rotation rotation = {0};
    if (ridge_rotation_plan(job, &rotation, NULL) != RIDGE_OK) return (ridge_forecast){0, 0};
    const double launches = launches_s(job, &there);
    const double handle = (double)rotation.set_bytes / (typical.handle * there.bytes);
    const double touch = (double)rotation.stride * rotation.sets / typical.first_touch;
    return (ridge_forecast){.checks_s = typical.start_s[job->backend] + touch + 2 * launches + 2 * n * handle +
                                        ridge_job_check_flops(job) / (typical.oracle * here.flops),
                            .round_s = 2 * launches + 2 * (n + companions(job, rotation.set_bytes)) * handle};
}

/* ---- the budget -------------------------------------------------------------------------------------------------- */

/* Seconds of forecasts that weigh as much as what was seen: the first small case corrects little. */
static const double prior_s = 5;
/* What a finished case keeps of its weight when another one finishes: the load of the machine changes. */
static const double memory = 0.9;
/* A case that was started may take this many times its share for its least rounds: without them it shows nothing. */
static const double overrun = 4;

static double least_rounds_s(const ridge_planned *p) { return p->least_rounds * p->forecast.round_s; }

static double correction(const ridge_budget *b, ridge_backend backend) {
    return exp(b->log_s[backend] / (prior_s + b->forecast_s[backend]));
}

double ridge_budget_least_s(const ridge_budget *b, const ridge_planned *p) {
    return correction(b, p->backend) * (p->forecast.checks_s + least_rounds_s(p));
}

void ridge_budget_learn(ridge_budget *b, const ridge_planned *p) {
    if (p->rounds < 1 || !(p->rounds_s >= 0 && p->rounds_s <= p->taken_s)) return;
    const double forecast = p->forecast.checks_s + least_rounds_s(p);
    const double taken = p->taken_s - p->rounds_s + p->rounds_s / p->rounds * p->least_rounds;
    if (!(forecast > 0 && taken > 0)) return;
    b->forecast_s[p->backend] = memory * b->forecast_s[p->backend] + forecast;
    b->log_s[p->backend] = memory * b->log_s[p->backend] + forecast * log(taken / forecast);
}

typedef struct cost {
    double s;
    int index;
} cost;

/* The longest first; of equals the last. */
static int by_cost(const void *a, const void *b) {
    const cost *x = a, *y = b;
    if (x->s < y->s || x->s > y->s) return x->s < y->s ? 1 : -1;
    return x->index < y->index ? 1 : -1;
}

static double rounds_s(const ridge_budget *b, int index) {
    const ridge_planned *p = &b->cases[index];
    return correction(b, p->backend) * least_rounds_s(p);
}

/* Seconds of rounds for each case, so that all take `left_s` together: the same for all, but no less than the least
 * rounds of a case take. */
static double equal_share(const ridge_budget *b, const cost *kept, int n, double left_s) {
    double low = 0, high = left_s;
    for (int i = 0; i < n; i++) left_s -= kept[i].s - rounds_s(b, kept[i].index);
    for (int step = 0; step < 40 && high < HUGE_VAL; step++) {
        const double share = (low + high) / 2;
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fmax(share, rounds_s(b, kept[i].index));
        if (sum > left_s)
            high = share;
        else
            low = share;
    }
    return high < HUGE_VAL ? low : high;
}

/* Starts a case. kept: it and those for which time is left after it. */
static int start(ridge_budget *b, int index, const cost *kept, int n, double left_s) {
    ridge_planned *p = &b->cases[index];
    const double share = fmax(rounds_s(b, index), equal_share(b, kept, n, left_s));
    p->max_time = fmin(p->max_time, share);
    p->patience = fmin(p->patience, fmax(p->max_time, fmin(overrun * share, left_s)));
    p->state = RIDGE_PLAN_STARTED;
    return index;
}

/* Starts a waiting case, if it stays when the longest waiting ones are dropped until the others fit. */
static bool starts_in_turn(ridge_budget *b, int index, double left_s, cost *costs) {
    int n = 0, dropped = 0;
    double sum = 0;
    for (int i = index; i < b->n; i++)
        if (b->cases[i].state == RIDGE_PLAN_WAITS) {
            costs[n++] = (cost){ridge_budget_least_s(b, &b->cases[i]), i};
            sum += costs[n - 1].s;
        }
    if (sum > left_s) qsort(costs, (size_t)n, sizeof *costs, by_cost);
    for (; dropped < n && sum > left_s; dropped++) {
        if (costs[dropped].index == index) return false;
        sum -= costs[dropped].s;
    }
    if (dropped == n) return false;
    (void)start(b, index, costs + dropped, n - dropped, left_s);
    return true;
}

/* Starts the shortest case that was passed over, if it fits now. */
static int start_passed_over(ridge_budget *b, double left_s) {
    cost best = {HUGE_VAL, -1};
    for (int i = 0; i < b->n; i++) {
        const double s = ridge_budget_least_s(b, &b->cases[i]);
        if (b->cases[i].state == RIDGE_PLAN_PASSED_OVER && s < best.s) best = (cost){s, i};
    }
    return best.index >= 0 && best.s <= left_s ? start(b, best.index, &best, 1, left_s) : -1;
}

int ridge_budget_next(ridge_budget *b, double left_s) {
    cost *costs = malloc((size_t)(b->n > 0 ? b->n : 1) * sizeof *costs);
    int found = -1;
    if (!costs) ridge_shortage_note();
    for (int i = 0; costs && i < b->n && found < 0; i++) {
        if (b->cases[i].state != RIDGE_PLAN_WAITS) continue;
        if (starts_in_turn(b, i, left_s, costs))
            found = i;
        else
            b->cases[i].state = RIDGE_PLAN_PASSED_OVER;
    }
    free(costs);
    return found >= 0 ? found : start_passed_over(b, left_s);
}
