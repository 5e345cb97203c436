/* ridge profile: one launch of each variant under NVIDIA's profiler, and what limits its kernels. */
#include <stdio.h>

#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/place.h"
#include "cli/profiler.h"
#include "cli/say.h"
#include "record/json.h"
#include "report/report.h"

typedef struct profiled {
    const ridge_options *options;
    ridge_profiler profiler;
    char skipped[300]; /* why something was, the last time */
} profiled;

static ridge_status profile(void *context, const ridge_placed *p, ridge_error *error) {
    profiled *all = context;
    ridge_error why = {0};
    if (p->obstacle) return (void)snprintf(all->skipped, sizeof all->skipped, "%s", p->obstacle), RIDGE_OK;
    if (*ridge_interrupt_flag()) return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted");
    const ridge_lab_item *item = p->item;
    const ridge_way *way = ridge_variant_dense_way(item->target, p->variant, &item->c, p->here);
    const ridge_status status =
        ridge_profiler_add(&all->profiler, item->target, &item->c, p->variant, way, p->here, &why);
    if (status == RIDGE_OK) return RIDGE_OK;
    if (status != RIDGE_UNSUPPORTED) return ridge_fail(error, status, "%s", why.text);
    if (all->profiler.n == 0)
        return ridge_fail(error, status, "%s %s: %s", item->target->name, p->variant->name, why.text);
    ridge_say("%s %s: %s", item->target->name, p->variant->name, why.text); /* what others gave stays */
    return RIDGE_OK;
}

static ridge_status show(const profiled *all, ridge_error *error) {
    const ridge_options *o = all->options;
    const ridge_page page = ridge_say_page(o);
    if (o->json) {
        json_t *json = ridge_json_profiles(all->profiler.kernels, all->profiler.n);
        if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for JSON");
        const ridge_status status = ridge_write_json(o->json, json, error);
        json_decref(json);
        RIDGE_TRY(status);
    }
    ridge_report_profile(all->profiler.kernels, all->profiler.n, &page);
    return RIDGE_OK;
}

static ridge_status find_and_show(profiled *all, ridge_selection *selection, ridge_error *error) {
    const ridge_options *o = all->options;
    RIDGE_TRY(ridge_profiler_open(&all->profiler, error));
    RIDGE_TRY(ridge_output_check(o, error));
    RIDGE_TRY(ridge_place_each(o, selection, false, profile, all, error));
    if (all->profiler.n == 0)
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
    ridge_profiler_close(&all.profiler);
    ridge_selection_free(&selection);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}
