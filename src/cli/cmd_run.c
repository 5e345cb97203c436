/* ridge run, compare and roofline: one measurement, three presentations. */
#include "cli/bench.h"
#include "cli/gate.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/show.h"
#include "report/report.h"

static int measure_and_show(const ridge_options *o, ridge_selection *selection, ridge_gatekeeper *keeper,
                            const char *command) {
    ridge_error error = {0};
    if (ridge_output_check(o, &error) != RIDGE_OK) return ridge_complain(&error);
    static ridge_run run; /* about 100 KB: too large for the stack */
    ridge_status status = ridge_bench_measure(o, selection, &run, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    const ridge_page page = ridge_say_page(o);
    if (run.n_results > 0) { /* files first, so that a terminal error cannot lose them */
        ridge_error unwritten = {0};
        ridge_gatekeeper_judge(keeper, &run);
        if (ridge_output_write(o, &run, keeper->judged ? &keeper->gate : NULL, &unwritten) != RIDGE_OK)
            code = ridge_complain(&unwritten);
        ridge_show(command, &run, &page);
    }
    if (code == RIDGE_EXIT_OK) code = ridge_bench_exit(&run);
    if (status == RIDGE_OK) code = ridge_gatekeeper_end(keeper, &run, &page, code);
    ridge_run_free(&run);
    return code;
}

static bool has_role(const ridge_lab_item *item, ridge_role role) {
    for (int v = 0; v < item->n_variants; v++)
        if (item->target->variants[item->variants[v]].role == role) return true;
    return false;
}

/* compare omits peers, unless --peers or --variant asks for them, and cases without a pair. */
static ridge_status keep_pairs(ridge_selection *selection, bool named, ridge_error *error) {
    int pairs = 0;
    for (int i = 0; i < selection->n; i++) {
        ridge_lab_item *item = &selection->items[i];
        if (!has_role(item, RIDGE_BASELINE) || !has_role(item, RIDGE_OPTIMIZED)) continue;
        int kept = 0;
        for (int v = 0; v < item->n_variants; v++) {
            const ridge_variant *variant = &item->target->variants[item->variants[v]];
            if (named || variant->role != RIDGE_PEER || ridge_python_is(variant))
                item->variants[kept++] = item->variants[v];
        }
        item->n_variants = kept;
        selection->items[pairs++] = *item;
    }
    selection->n = pairs;
    if (pairs > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NOT_FOUND,
                      "compare: --variant leaves no pair of baseline and optimized: leave it out, or use ridge run");
}

static int measure_with_gate(const ridge_options *o, ridge_selection *selection, const char *command) {
    ridge_gatekeeper keeper;
    int code = RIDGE_EXIT_OK;
    if (ridge_gatekeeper_open(o, &keeper, &code)) code = measure_and_show(o, selection, &keeper, command);
    ridge_gatekeeper_close(&keeper);
    return code;
}

static int with_selection(const ridge_options *o, bool pairs_only, const char *command) {
    ridge_selection selection;
    ridge_error error = {0};
    int code;
    ridge_status status = ridge_select(o, false, &selection, &error);
    if (status == RIDGE_OK && pairs_only) status = keep_pairs(&selection, o->variant != NULL, &error);
    selection.headlines = !o->all && o->sizes.n == 0 && o->n_inputs == 0;
    if (status != RIDGE_OK) {
        code = ridge_complain(&error);
    } else {
        if (!o->dry_run)
            code = measure_with_gate(o, &selection, command);
        else
            code = ridge_bench_dry(o, &selection, &error) == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    }
    ridge_selection_free(&selection);
    return code;
}

static int summarize(const ridge_options *o);

int ridge_cmd_run(const ridge_options *o) {
    ridge_error error = {0};
    if (ridge_gatekeeper_options(o, &error) != RIDGE_OK) return ridge_complain(&error);
    return o->summaries ? summarize(o) : with_selection(o, false, "run");
}
int ridge_cmd_compare(const ridge_options *o) { return with_selection(o, true, "compare"); }
int ridge_cmd_roofline(const ridge_options *o) { return with_selection(o, false, "roofline"); }

/* ---- ridge run --summaries: work models and ceilings; nothing is timed ------------------------------------------- */

static ridge_status summarize_selection(const ridge_options *o, ridge_selection *selection, ridge_run *run,
                                        ridge_error *error) {
    RIDGE_TRY(ridge_bench_summarize(o, selection, run, error));
    const ridge_status written = ridge_output_write(o, run, NULL, error);
    const ridge_page page = ridge_say_page(o);
    ridge_report_summaries(run, &page);
    return written;
}

static int summarize(const ridge_options *o) {
    static ridge_run run;
    ridge_selection selection;
    ridge_error error = {0};
    ridge_status status = ridge_output_check(o, &error);
    selection = (ridge_selection){0};
    if (status == RIDGE_OK) status = ridge_select(o, false, &selection, &error);
    if (status == RIDGE_OK) status = summarize_selection(o, &selection, &run, &error);
    ridge_run_free(&run);
    ridge_selection_free(&selection);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}
