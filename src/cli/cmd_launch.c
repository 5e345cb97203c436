/* ridge launch: runs variants in this process, once and untimed, for external profilers and debuggers. Only GPU
 * launches are between cudaProfilerStart and cudaProfilerStop: filling the operands is not profiled. */
#include "cli/place.h"
#include "cli/say.h"

typedef struct launches {
    const ridge_options *options;
    int launched; /* variants */
} launches;

static ridge_status run_there(const ridge_placed *p, int times, ridge_error *error) {
    ridge_status status = RIDGE_OK;
    if (p->stream) RIDGE_TRY(ridge_stream_wait(p->stream, error));
    ridge_cuda_profile(p->stream != NULL);
    for (int i = 0; i < times && status == RIDGE_OK; i++)
        status = ridge_variant_run(p->item->target, p->variant, p->here, &p->call);
    if (status != RIDGE_OK) return ridge_fail(error, status, "%s: %s", p->variant->name, ridge_status_string(status));
    if (p->stream) RIDGE_TRY(ridge_stream_wait(p->stream, error));
    ridge_cuda_profile(false);
    return RIDGE_OK;
}

static ridge_status launch(void *context, const ridge_placed *p, ridge_error *error) {
    launches *l = context;
    const ridge_page said = ridge_say_page(l->options), *page = &said;
    char name[RIDGE_CASE_NAME];
    ridge_case_name(p->item->target, &p->item->c, name, sizeof name);
    if (p->obstacle) {
        ridge_page_say(page, "%s %s %s: skipped: %s\n", p->item->target->name, name, p->variant->name, p->obstacle);
        return RIDGE_OK;
    }
    RIDGE_TRY(run_there(p, l->options->iterations ? l->options->iterations : 1, error));
    l->launched++;
    ridge_page_say(page, "%s %s %s: launched, not verified\n", p->item->target->name, name, p->variant->name);
    return RIDGE_OK;
}

int ridge_cmd_launch(const ridge_options *o) {
    launches l = {.options = o};
    ridge_selection selection;
    ridge_error error = {0};
    ridge_status status = ridge_select(o, false, &selection, &error);
    if (status == RIDGE_OK) status = ridge_place_each(o, &selection, true, launch, &l, &error);
    ridge_selection_free(&selection);
    if (status != RIDGE_OK) return ridge_complain(&error);
    if (l.launched > 0) return RIDGE_EXIT_OK;
    ridge_say("nothing was launched");
    return RIDGE_EXIT_USAGE;
}
