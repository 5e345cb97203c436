/* Measures a set of ceilings: the ladder, its levels, the compute peaks; then checks their consistency. */
#include "machine/survey/survey.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "machine/ceilings/ladder.h"
#include "machine/memory/meter.h"
#include "machine/peaks/meter.h"

enum {
    LEVEL_SAMPLES = 15,
    MEMORY_SAMPLES = 31,
    PEAK_SAMPLES = 15,
    PROBE_SAMPLES = 7,
    FINALISTS = 3,
    STEPS_LEVEL = 6, /* a level takes as much time as this many rungs, the peaks as PEAK_STEPS */
    STEPS_PEAKS = 16,
};
static const double ladder_least = 256e6 * 1.048576, ladder_most = 8.0 * (1u << 30);

/* Working set of a thread on rung k: 4 KiB, 6 KiB, 8 KiB, 12 KiB, … */
static size_t rung_slice(int k) { return (size_t)(k % 2 ? 6144 : 4096) << (k / 2); }

/* Number of rungs whose last is at least `bytes` for all threads together. */
static int rungs_for(double bytes, int threads) {
    int n = 1;
    while (n < RIDGE_MAX_RUNGS && (double)rung_slice(n - 1) * threads < bytes) n++;
    return n;
}

/* First end of the ladder. The sizes that the system reports only extend it: a thread may have a last-level cache to
 * itself. */
static double first_top(const ridge_machine *m, int threads) {
    double reported = 0;
    for (int i = 0; i < 4; i++) reported = fmax(reported, (double)m->cache_bytes[i]);
    return fmax(ladder_least, fmin(4 * reported * threads, ladder_most));
}

static double memory_limit(const ridge_machine *m) {
    return m->memory_bytes > 0 ? (double)m->memory_bytes / 3 : ladder_most;
}

typedef struct steps {
    ridge_progress_fn fn;
    void *arg;
    int done, total;
} steps;

static ridge_status step(steps *s, int cost, const char *what, ridge_error *error) {
    if (s->fn && !s->fn(s->arg, s->done, s->total, what))
        return ridge_fail(error, RIDGE_INTERRUPTED, "the measurement of the ceilings was ended before %s", what);
    s->done += cost;
    if (s->done > s->total) s->total = s->done;
    return RIDGE_OK;
}

/* Largest rung within 10 % of the plateau in read and copy together. */
static int plateau_end(const ridge_ceilings *c, const ridge_plateau *p) {
    for (int i = p->last; i > p->first; i--)
        if (c->rungs[i].read_gbps * c->rungs[i].copy_gbps >= 0.81 * p->read * p->copy) return i;
    return p->first;
}

static ridge_status climb(ridge_meter *meter, int from, int to, ridge_ceilings *c, steps *s, ridge_error *error) {
    size_t slices[RIDGE_MAX_RUNGS];
    for (int k = from; k < to; k++) slices[k] = rung_slice(k);
    RIDGE_TRY(ridge_meter_reserve(meter, slices[to - 1], error));
    RIDGE_TRY(step(s, to - from, "ladder of working sets", error));
    RIDGE_TRY(ridge_meter_rungs(meter, slices + from, to - from, c->rungs + from, error));
    c->n_rungs = to;
    return RIDGE_OK;
}

/* Extends the ladder to four times the last cache it shows, or as far as memory allows. */
static ridge_status find_levels(const ridge_machine *machine, ridge_meter *meter, ridge_ceilings *c,
                                ridge_plateau *plateaus, steps *s, ridge_error *error) {
    double top = first_top(machine, meter->threads), limit = memory_limit(machine);
    bool cut_short = top > limit;
    int n = rungs_for(cut_short ? limit / 2 : top, meter->threads), from = 0;
    for (;;) {
        RIDGE_TRY(climb(meter, from, n, c, s, error));
        c->n_levels = ridge_ladder_plateaus(c->rungs, n, plateaus);
        if (c->n_levels < 1)
            return ridge_fail(error, RIDGE_NO_MEMORY, "too little memory for a ladder of working sets");
        double cache = c->n_levels < 2 ? 0 : c->rungs[plateau_end(c, &plateaus[c->n_levels - 2])].bytes;
        double end = c->rungs[n - 1].bytes;
        if (end >= 4 * cache) break;
        cut_short = n + 2 > RIDGE_MAX_RUNGS || 2 * end > limit;
        if (cut_short) break;
        from = n, n += 2;
    }
    if (cut_short)
        (void)snprintf(c->faults, sizeof c->faults, "too little memory to be certain to exceed the last cache; ");
    return RIDGE_OK;
}

static ridge_status measure_levels(ridge_meter *meter, const ridge_plateau *plateaus, ridge_ceilings *c, steps *s,
                                   ridge_error *error) {
    for (int i = 0; i < c->n_levels; i++) {
        ridge_level *level = &c->levels[i];
        bool memory = i == c->n_levels - 1;
        int end = plateau_end(c, &plateaus[i]);
        /* Half of the level's capacity: away from its edge, and mostly beyond the level before. */
        int rung = memory ? c->n_rungs - 1 : end - 2 > plateaus[i].first ? end - 2 : plateaus[i].first;
        level->capacity = memory ? 0 : c->rungs[end].bytes;
        if (memory)
            (void)snprintf(level->name, sizeof level->name, "DRAM");
        else
            (void)snprintf(level->name, sizeof level->name, "L%d", i + 1);
        RIDGE_TRY(step(s, STEPS_LEVEL, level->name, error));
        ridge_meter_level(meter, rung_slice(rung), FINALISTS, memory ? MEMORY_SAMPLES : LEVEL_SAMPLES, NULL, level);
    }
    return step(s, STEPS_PEAKS, "compute peaks", error);
}

static void stamp(const ridge_machine *machine, int threads, ridge_ceilings *c) {
    memset(c, 0, sizeof *c);
    (void)snprintf(c->key, sizeof c->key, "%s", machine->key);
    c->threads = threads;
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) (void)strftime(c->date, sizeof c->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

ridge_status ridge_ceilings_measure(const ridge_machine *machine, int threads, ridge_progress_fn progress, void *arg,
                                    ridge_ceilings *c, ridge_error *error) {
    ridge_meter meter;
    ridge_plateau plateaus[RIDGE_MAX_LEVELS];
    steps s = {.fn = progress, .arg = arg};
    stamp(machine, threads, c);
    ridge_status status = ridge_meter_create(machine, threads, &meter, error);
    if (status != RIDGE_OK) goto done;
    s.total = rungs_for(first_top(machine, threads), threads) + 4 * STEPS_LEVEL + STEPS_PEAKS;
    status = find_levels(machine, &meter, c, plateaus, &s, error);
    if (status == RIDGE_OK) status = measure_levels(&meter, plateaus, c, &s, error);
    if (status != RIDGE_OK) goto done;
    size_t used = strlen(c->faults);
    c->n_peaks =
        ridge_meter_peaks(&meter, NULL, NULL, PEAK_SAMPLES, c->peaks, c->faults + used, (int)(sizeof c->faults - used));
    ridge_ceilings_check(c);
    if (progress) (void)progress(arg, s.total, s.total, "done");
done:
    ridge_meter_destroy(&meter);
    return status;
}

ridge_status ridge_ceilings_probe(const ridge_machine *machine, int threads, ridge_probe *probe, ridge_level *dram,
                                  ridge_peak *fp32, ridge_error *error) {
    ridge_meter meter;
    ridge_peak peaks[RIDGE_MAX_PEAKS];
    char wrong[160];
    *dram = (ridge_level){.name = "DRAM"};
    *fp32 = (ridge_peak){.dtype = "fp32"};
    ridge_status status = ridge_meter_create(machine, threads, &meter, error);
    if (status != RIDGE_OK) goto done;
    double top = fmin(first_top(machine, threads), memory_limit(machine) / 2);
    size_t slice = rung_slice(rungs_for(top, threads) - 1);
    status = ridge_meter_reserve(&meter, slice, error);
    if (status != RIDGE_OK) goto done;
    ridge_meter_level(&meter, slice, 2, PROBE_SAMPLES, &probe->movers, dram);
    int n = ridge_meter_peaks(&meter, "fp32", probe->fp32[0] ? probe->fp32 : NULL, PROBE_SAMPLES, peaks, wrong,
                              (int)sizeof wrong);
    if (n == 0) status = ridge_fail(error, RIDGE_FAILED, "no fp32 peak could be measured: %s", wrong);
    for (int i = 0; i < n; i++)
        if (i == 0 || peaks[i].gflops.median > fp32->gflops.median) *fp32 = peaks[i];
    (void)snprintf(probe->fp32, sizeof probe->fp32, "%s", fp32->name);
done:
    ridge_meter_destroy(&meter);
    return status;
}

void ridge_ceilings_of_probe(const ridge_machine *machine, int threads, const ridge_level *dram, const ridge_peak *fp32,
                             ridge_ceilings *c) {
    double reported = 32.0 * (1 << 20); /* where the system reports nothing */
    for (int i = 0; i < 4; i++) reported = fmax(reported, (double)machine->cache_bytes[i] * threads);
    stamp(machine, threads, c);
    c->levels[c->n_levels++] = *dram;
    c->peaks[c->n_peaks++] = *fp32;
    c->rungs[c->n_rungs++] =
        (ridge_rung){.bytes = reported, .read_gbps = dram->read.median, .copy_gbps = dram->copy.median};
    (void)snprintf(c->faults, sizeof c->faults, "only memory and fp32 were probed");
}
