/* Findings: conditions of the machine that affect the numbers of a run. They are reported and recorded. */
#include <math.h>
#include <stdio.h>

#include "record/json.h"
#include "record/record.h"

/* Least change of a rate between the probes that exceeds their noise. */
static const double memory_drift_pct = 5, fp32_drift_pct = 3, gpu_clock_pct = 5;

void ridge_run_add_finding(ridge_run *run, const ridge_finding *finding) {
    if (run->n_findings < RIDGE_MAX_FINDINGS) run->findings[run->n_findings++] = *finding;
}

void ridge_run_look_before(ridge_run *run, bool cpu, bool gpu) {
    run->n_findings += ridge_doctor_timing(&run->machine, cpu, gpu, run->findings + run->n_findings,
                                           RIDGE_MAX_FINDINGS - run->n_findings);
}

/* Results with a time on one backend; bound_by_memory counts those that are bandwidth-bound. */
static int count_timed(const ridge_run *run, ridge_backend backend, int *bound_by_memory) {
    int timed = 0;
    *bound_by_memory = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (ridge_variant_backend(r->variant) != backend || !ridge_verdict_timed(r->verdict)) continue;
        timed++;
        *bound_by_memory += r->place.memory_bound;
    }
    return timed;
}

/* Reports the memory rate that changed most. */
static void look_at_memory(ridge_run *run) {
    const ridge_level *a = &run->dram_before, *b = &run->dram_after;
    const struct {
        const char *name;
        ridge_interval before, after;
    } rates[] = {{"reading", a->read, b->read}, {"copying", a->copy, b->copy}, {"streaming", a->stream, b->stream}};
    double most = 0;
    ridge_finding found = {.what = "memory speed", .health = RIDGE_HEALTH_BAD};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        double drift = ridge_drift_pct(rates[i].before, rates[i].after);
        if (!isfinite(drift) || !(fabs(drift) > most)) continue;
        most = fabs(drift);
        (void)snprintf(found.found, sizeof found.found, "%s changed by %+.0f %% during the run", rates[i].name, drift);
    }
    (void)snprintf(found.advice, sizeof found.advice,
                   "trust the speedups and the column copy, which are paired; measure times again on a quiet machine");
    if (most > memory_drift_pct) ridge_run_add_finding(run, &found);
}

static void look_at_clock(ridge_run *run) {
    double drift = ridge_drift_pct(run->fp32_before.gflops, run->fp32_after.gflops);
    ridge_finding found = {.what = "clock", .health = RIDGE_HEALTH_BAD};
    if (!isfinite(drift) || !(fabs(drift) > fp32_drift_pct)) return;
    (void)snprintf(found.found, sizeof found.found, "the fp32 rate changed by %+.0f %% during the run", drift);
    (void)snprintf(found.advice, sizeof found.advice,
                   "clock or load changed: trust the speedups, and fix the clock (ridge doctor says how)");
    ridge_run_add_finding(run, &found);
}

static void look_at_gpu(ridge_run *run) {
    double low = HUGE_VAL, high = 0;
    int throttled = 0, samples = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (!ridge_verdict_timed(r->verdict) || !(r->sm_mhz > 0)) continue;
        low = fmin(low, r->sm_mhz);
        high = fmax(high, r->sm_mhz);
        throttled += r->throttled_samples;
        samples += r->n_samples;
    }
    ridge_finding found = {.what = "gpu clocks", .health = RIDGE_HEALTH_BAD};
    if (throttled > 0) {
        (void)snprintf(found.found, sizeof found.found, "%d of %d samples were throttled", throttled, samples);
        (void)snprintf(found.advice, sizeof found.advice,
                       "let the GPU cool, stop what else runs on it, or raise its power limit");
        ridge_run_add_finding(run, &found);
    } else if (high > low * (1 + gpu_clock_pct / 100)) {
        (void)snprintf(found.found, sizeof found.found, "between %.0f and %.0f MHz from case to case", low, high);
        (void)snprintf(found.advice, sizeof found.advice, "lock it for times that repeat: nvidia-smi -lgc (as root)");
        ridge_run_add_finding(run, &found);
    }
}

void ridge_run_look_after(ridge_run *run) {
    int bound_by_memory;
    const int timed = count_timed(run, RIDGE_BACKEND_cpu, &bound_by_memory);
    if (bound_by_memory > 0) look_at_memory(run);
    if (timed > 0) look_at_clock(run);
    look_at_gpu(run);
}

static json_t *finding_item(const void *context, int i) {
    const ridge_finding *f = (const ridge_finding *)context + i;
    return json_pack("{s:s, s:s, s:s, s:s}", "what", f->what, "health", ridge_health_name(f->health), "found", f->found,
                     "advice", f->advice);
}

json_t *ridge_json_findings(const ridge_finding *findings, int n) {
    return ridge_json_array(n, finding_item, findings);
}
