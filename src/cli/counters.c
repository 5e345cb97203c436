#include "cli/counters.h"

#include <math.h>
#include <stdio.h>

#include "cli/interrupt.h"
#include "cli/ncu.h"
#include "cli/profiler.h"

enum { METRICS = 2 };
static const ridge_ncu_metric metrics[METRICS] = {{"dram__bytes_read.sum", "byte", false},
                                                  {"dram__bytes_write.sum", "byte", false}};

static ridge_status add(void *context, const char *kernel, const double *values, ridge_error *error) {
    double *sums = context;
    (void)kernel, (void)error;
    for (int m = 0; m < METRICS; m++) sums[m] += values[m];
    return RIDGE_OK;
}

ridge_status ridge_counters_parse(const char *csv, double *read, double *written, ridge_error *error) {
    double sums[METRICS] = {0};
    *read = *written = 0;
    RIDGE_TRY(ridge_ncu_parse(csv, metrics, METRICS, add, sums, error));
    *read = sums[0];
    *written = sums[1];
    return RIDGE_OK;
}

/* Bytes alone. */
static ridge_status count_bytes(ridge_result *r, char *text, ridge_error *error) {
    char names[96], why[256];
    const char *const what[] = {"--metrics", names, NULL};
    (void)snprintf(names, sizeof names, "%s,%s", metrics[0].name, metrics[1].name);
    if (!ridge_ncu_run(what, r->target, &r->c, r->variant->name, text, why, sizeof why))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s", why);
    return ridge_counters_parse(text, &r->dram_read, &r->dram_written, error);
}

/* What was not counted is no bytes. */
static double counted(const ridge_profile *p, ridge_count count) {
    return isnan(p->value[count]) ? 0 : p->value[count];
}

static ridge_status count_kernels(ridge_result *r, ridge_profiler *profiler, ridge_error *error) {
    r->first_profile = profiler->n;
    RIDGE_TRY(ridge_profiler_add(profiler, r->target, &r->c, r->variant, r->way, &r->here, error));
    r->n_profiles = profiler->n - r->first_profile;
    for (int i = r->first_profile; i < profiler->n; i++) {
        r->dram_read += counted(&profiler->kernels[i], RIDGE_COUNT_DRAM_READ);
        r->dram_written += counted(&profiler->kernels[i], RIDGE_COUNT_DRAM_WRITTEN);
    }
    return RIDGE_OK;
}

static void count_pairs(ridge_run *run) {
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_result *a = &run->results[run->pairs[p].a], *b = &run->results[run->pairs[p].b];
        run->pairs[p].counted = a->dram_read + a->dram_written > 0 && b->dram_read + b->dram_written > 0;
        if (!run->pairs[p].counted) continue;
        run->pairs[p].traffic_a = a->dram_read + a->dram_written;
        run->pairs[p].traffic_b = b->dram_read + b->dram_written;
    }
}

static bool launches(const ridge_result *r) {
    return ridge_variant_backend(r->variant) == RIDGE_BACKEND_cuda &&
           (ridge_verdict_timed(r->verdict) || r->verdict == RIDGE_VERDICT_EMULATED);
}

void ridge_counters_read(ridge_run *run, bool kernels, char *why, int size) {
    ridge_profiler profiler;
    ridge_error error = {0};
    const bool opened = ridge_profiler_open(&profiler, &error) == RIDGE_OK;
    for (int i = 0; i < run->n_results && opened && !*ridge_interrupt_flag(); i++) {
        ridge_result *r = &run->results[i];
        if (!launches(r)) continue;
        r->dram_read = r->dram_written = 0;
        (void)(kernels ? count_kernels(r, &profiler, &error) : count_bytes(r, profiler.text, &error));
    }
    (void)snprintf(why, (size_t)size, "%s", error.text);
    run->profiles = profiler.kernels, run->n_profiles = profiler.n;
    profiler.kernels = NULL;
    ridge_profiler_close(&profiler);
    count_pairs(run);
}
