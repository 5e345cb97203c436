#include "cli/counters.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/interrupt.h"
#include "cli/ncu.h"

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

static bool profile(ridge_result *r, char *text, char *why, int size) {
    char names[96];
    const char *const what[] = {"--metrics", names, NULL};
    ridge_error error = {0};
    (void)snprintf(names, sizeof names, "%s,%s", metrics[0].name, metrics[1].name);
    r->dram_read = r->dram_written = 0;
    if (!ridge_ncu_run(what, r->target, &r->c, r->variant->name, text, why, size)) return false;
    if (ridge_counters_parse(text, &r->dram_read, &r->dram_written, &error) == RIDGE_OK) return true;
    (void)snprintf(why, (size_t)size, "%s", error.text);
    return false;
}

int ridge_counters_read(ridge_run *run, char *why, int size) {
    char *text = calloc(1, RIDGE_NCU_MOST_TEXT);
    int known = 0;
    why[0] = '\0';
    if (!text) return 0;
    for (int i = 0; i < run->n_results; i++) {
        ridge_result *r = &run->results[i];
        if (ridge_variant_backend(r->variant) != RIDGE_BACKEND_cuda || !ridge_verdict_timed(r->verdict)) continue;
        if (*ridge_interrupt_flag()) break;
        known += profile(r, text, why, size);
    }
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_result *a = &run->results[run->pairs[p].a], *b = &run->results[run->pairs[p].b];
        run->pairs[p].counted = a->dram_read + a->dram_written > 0 && b->dram_read + b->dram_written > 0;
        if (!run->pairs[p].counted) continue;
        run->pairs[p].traffic_a = a->dram_read + a->dram_written;
        run->pairs[p].traffic_b = b->dram_read + b->dram_written;
    }
    free(text);
    return known;
}
