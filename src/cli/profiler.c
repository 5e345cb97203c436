#include "cli/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ncu.h"

ridge_status ridge_profiler_open(ridge_profiler *p, ridge_error *error) {
    *p = (ridge_profiler){.kernels = calloc(RIDGE_PROFILER_KERNELS, sizeof *p->kernels),
                          .text = calloc(1, RIDGE_NCU_MOST_TEXT)};
    return p->kernels && p->text ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for what is counted");
}

void ridge_profiler_close(ridge_profiler *p) {
    free(p->text);
    free(p->kernels);
    *p = (ridge_profiler){0};
}

static ridge_status note(void *context, const char *kernel, const double *values, ridge_error *error) {
    ridge_profiler *p = context;
    if (p->n == RIDGE_PROFILER_KERNELS)
        return ridge_fail(error, RIDGE_INVALID, "more than %d kernels: name fewer cases", RIDGE_PROFILER_KERNELS);
    ridge_profile *kernel_of = &p->kernels[p->n++];
    *kernel_of = p->of;
    p->of.place++; /* of the next one */
    ridge_profile_brief(kernel, kernel_of->kernel, sizeof kernel_of->kernel);
    memcpy(kernel_of->value, values, sizeof kernel_of->value);
    return RIDGE_OK;
}

/* ncu prints what its sections hold; those that are not the same on every GPU are optional. */
static ridge_status read_table(ridge_profiler *p, ridge_error *error) {
    ridge_ncu_metric metrics[RIDGE_COUNT_COUNT];
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++)
        metrics[c] = (ridge_ncu_metric){ridge_counters[c].metric, NULL, c != RIDGE_COUNT_NS};
    return ridge_ncu_parse(p->text, metrics, RIDGE_COUNT_COUNT, note, p, error);
}

/* Sections bring those metrics that this GPU has; the named ones are of every GPU, and none of these sections has them. */
static const char *const what[] = {
    "--section", "SpeedOfLight",
    "--section", "ComputeWorkloadAnalysis",
    "--section", "MemoryWorkloadAnalysis",
    "--section", "WarpStateStats",
    "--section", "Occupancy",
    "--section", "LaunchStats",
    "--metrics", "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum",
    NULL};

ridge_status ridge_profiler_add(ridge_profiler *p, const ridge_target *target, const ridge_case *c,
                                const ridge_variant *variant, const ridge_way *way, const ridge_abilities *here,
                                ridge_error *error) {
    ridge_traffic moved;
    char why[256];
    p->of = (ridge_profile){.target = target, .c = c, .variant = variant, .way = way};
    p->of.model =
        ridge_variant_traffic(target, variant, c, here, &moved) ? moved.read + moved.written + moved.streamed : NAN;
    if (!ridge_ncu_run(what, target, c, variant->name, p->text, why, sizeof why))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s", why);
    return read_table(p, error);
}
