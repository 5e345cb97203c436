/* ridge profile: one launch of each variant under NVIDIA's profiler, and what limits its kernels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/ncu.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/say.h"
#include "record/json.h"
#include "report/report.h"

enum { MOST_KERNELS = 4096 };

typedef struct profiled {
    const ridge_options *options;
    ridge_profile *kernels;
    int n;
    ridge_profile of;  /* what its kernels have in common */
    char *text;        /* ncu's */
    char skipped[300]; /* why something was, the last time */
} profiled;

static ridge_status note(void *context, const char *kernel, const double *values, ridge_error *error) {
    profiled *all = context;
    if (all->n == MOST_KERNELS)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "more than %d kernels: name fewer cases", MOST_KERNELS);
    ridge_profile *p = &all->kernels[all->n++];
    *p = all->of;
    all->of.place++; /* of the next one */
    ridge_profile_brief(kernel, p->kernel, sizeof p->kernel);
    memcpy(p->value, values, sizeof p->value);
    return RIDGE_OK;
}

/* ncu prints what its sections hold; those that are not the same on every GPU are optional. */
static ridge_status read_table(profiled *all, ridge_error *error) {
    ridge_ncu_metric metrics[RIDGE_COUNT_COUNT];
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++)
        metrics[c] = (ridge_ncu_metric){ridge_counters[c].metric, NULL, c != RIDGE_COUNT_NS};
    return ridge_ncu_parse(all->text, metrics, RIDGE_COUNT_COUNT, note, all, error);
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

static ridge_status profile(void *context, const ridge_placed *p, ridge_error *error) {
    profiled *all = context;
    ridge_traffic moved;
    char why[256];
    if (p->obstacle) return (void)snprintf(all->skipped, sizeof all->skipped, "%s", p->obstacle), RIDGE_OK;
    if (*ridge_interrupt_flag()) return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted");
    const ridge_lab_item *item = p->item;
    all->of = (ridge_profile){.target = item->target,
                              .c = &item->c,
                              .variant = p->variant,
                              .way = ridge_variant_dense_way(item->target, p->variant, &item->c, p->here)};
    all->of.model = ridge_variant_traffic(item->target, p->variant, &item->c, p->here, &moved)
                        ? moved.read + moved.written + moved.streamed
                        : NAN;
    if (ridge_ncu_run(what, item->target, &item->c, p->variant->name, all->text, why, sizeof why))
        return read_table(all, error);
    if (all->n == 0)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s: %s", item->target->name, p->variant->name, why);
    ridge_say("%s %s: %s", item->target->name, p->variant->name, why); /* what others gave stays */
    return RIDGE_OK;
}

static ridge_status show(const profiled *all, ridge_error *error) {
    const ridge_options *o = all->options;
    const ridge_page page = ridge_say_page(o);
    if (o->json) {
        json_t *json = ridge_json_profiles(all->kernels, all->n);
        if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for JSON");
        const ridge_status status = ridge_write_json(o->json, json, error);
        json_decref(json);
        RIDGE_TRY(status);
    }
    ridge_report_profile(all->kernels, all->n, &page);
    return RIDGE_OK;
}

static ridge_status find_and_show(profiled *all, ridge_selection *selection, ridge_error *error) {
    const ridge_options *o = all->options;
    all->kernels = calloc(MOST_KERNELS, sizeof *all->kernels);
    all->text = calloc(1, RIDGE_NCU_MOST_TEXT);
    if (!all->kernels || !all->text) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for what is counted");
    RIDGE_TRY(ridge_output_check(o, error));
    RIDGE_TRY(ridge_place_each(o, selection, false, profile, all, error));
    if (all->n == 0)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "nothing was profiled%s%s", all->skipped[0] ? ": " : "",
                          all->skipped);
    return show(all, error);
}

int ridge_cmd_profile(const ridge_options *typed) {
    ridge_options o = *typed;
    profiled all = {.options = &o};
    ridge_selection selection = {0};
    ridge_error error = {0};
    o.backend = "cuda";
    ridge_status status = o.n_patterns ? RIDGE_OK : ridge_fail(&error, RIDGE_INVALID, "profile: name a target");
    if (status == RIDGE_OK) status = ridge_select(&o, false, &selection, &error);
    if (status == RIDGE_OK) status = find_and_show(&all, &selection, &error);
    free(all.text);
    free(all.kernels);
    ridge_selection_free(&selection);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}
