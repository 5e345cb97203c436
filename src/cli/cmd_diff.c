/* ridge diff BEFORE.json AFTER.json: two saved runs beside each other. */
#include "cli/output.h"
#include "cli/say.h"
#include "record/diff.h"
#include "record/saved.h"
#include "report/report.h"

/* Reads both, or neither. */
static ridge_status read_runs(char **paths, json_t **a, json_t **b, ridge_error *error) {
    RIDGE_TRY(ridge_read_json(paths[0], a, error));
    const ridge_status status = ridge_read_json(paths[1], b, error);
    if (status != RIDGE_OK) json_decref(*a);
    return status;
}

static ridge_status show(const ridge_options *o, const ridge_diff *diff, ridge_error *error) {
    const ridge_page page = ridge_say_page(o);
    if (o->json) {
        json_t *json = ridge_json_diff(diff);
        const ridge_status status = ridge_write_json(o->json, json, error);
        json_decref(json);
        RIDGE_TRY(status);
    }
    ridge_report_diff(diff, &page);
    return RIDGE_OK;
}

static int exit_of(const ridge_diff *diff) {
    return diff->count[RIDGE_CHANGE_SLOWER] + diff->count[RIDGE_CHANGE_BROKEN] > 0 ? RIDGE_EXIT_VERDICT : RIDGE_EXIT_OK;
}

int ridge_cmd_diff(const ridge_options *o) {
    ridge_error error = {0};
    json_t *a = NULL, *b = NULL;
    if (o->n_patterns != 2) {
        (void)ridge_fail(&error, RIDGE_INVALID, "diff takes two files, not %d: ridge diff BEFORE.json AFTER.json",
                         o->n_patterns);
        return ridge_complain(&error);
    }
    if (ridge_output_check(o, &error) != RIDGE_OK) return ridge_complain(&error);
    if (read_runs(o->patterns, &a, &b, &error) != RIDGE_OK) return ridge_complain(&error);
    ridge_diff diff;
    ridge_status status = ridge_diff_runs(a, b, &diff, &error);
    if (status == RIDGE_OK) status = show(o, &diff, &error);
    const int code = status == RIDGE_OK ? exit_of(&diff) : ridge_complain(&error);
    ridge_diff_free(&diff);
    return code;
}
