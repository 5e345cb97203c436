/* ridge run, compare and roofline: one measurement, three presentations. */
#include "cli/bench.h"
#include "cli/output.h"
#include "cli/say.h"
#include "report/report.h"

typedef void (*show_fn)(const ridge_run *run, const ridge_page *page);

/* The roofline counts as prose: CSV and Markdown contain only tables. */
static void show_plot(const ridge_run *run, const ridge_page *page) {
    ridge_error why = {0};
    if (page->format != RIDGE_FORMAT_TABLE) return;
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        if (!ridge_run_draws(run, (ridge_backend)b)) continue;
        if (ridge_plot_terminal(run, (ridge_backend)b, page, &why) != RIDGE_OK) ridge_say("no roofline: %s", why.text);
    }
}

static void show_run(const ridge_run *run, const ridge_page *page) {
    ridge_report_run(run, page);
    ridge_report_scaling(run, page);
    show_plot(run, page);
    ridge_report_conditions(run, page);
    ridge_report_closing(run, page);
}

static void show_compare(const ridge_run *run, const ridge_page *page) {
    ridge_report_compare(run, page);
    ridge_report_scaling(run, page);
    ridge_report_conditions(run, page);
    ridge_report_closing(run, page);
}

static int measure_and_show(const ridge_options *o, ridge_selection *selection, show_fn show) {
    ridge_error error = {0};
    if (ridge_output_check(o, &error) != RIDGE_OK) return ridge_complain(&error);
    static ridge_run run; /* about 100 KB: too large for the stack */
    ridge_status status = ridge_bench_measure(o, selection, &run, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    if (run.n_results > 0) { /* files first, so that a terminal error cannot lose them */
        ridge_error unwritten = {0};
        if (ridge_output_write(o, &run, &unwritten) != RIDGE_OK) code = ridge_complain(&unwritten);
        const ridge_page page = ridge_say_page(o);
        show(&run, &page);
    }
    if (code == RIDGE_EXIT_OK) code = ridge_bench_exit(&run);
    ridge_run_free(&run);
    return code;
}

static bool has_role(const ridge_lab_item *item, ridge_role role) {
    for (int v = 0; v < item->n_variants; v++)
        if (item->target->variants[item->variants[v]].role == role) return true;
    return false;
}

/* compare omits peers and cases without a pair. */
static ridge_status keep_pairs(ridge_selection *selection, ridge_error *error) {
    int pairs = 0;
    for (int i = 0; i < selection->n; i++) {
        ridge_lab_item *item = &selection->items[i];
        if (!has_role(item, RIDGE_BASELINE) || !has_role(item, RIDGE_OPTIMIZED)) continue;
        int kept = 0;
        for (int v = 0; v < item->n_variants; v++)
            if (item->target->variants[item->variants[v]].role != RIDGE_PEER)
                item->variants[kept++] = item->variants[v];
        item->n_variants = kept;
        selection->items[pairs++] = *item;
    }
    selection->n = pairs;
    if (pairs > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NOT_FOUND,
                      "compare: --variant leaves no pair of baseline and optimized: leave it out, or use ridge run");
}

static int with_selection(const ridge_options *o, bool pairs_only, show_fn show) {
    ridge_selection selection;
    ridge_error error = {0};
    int code;
    ridge_status status = ridge_select(o, false, &selection, &error);
    if (status == RIDGE_OK && pairs_only) status = keep_pairs(&selection, &error);
    selection.headlines = !o->all && o->sizes.n == 0 && o->n_inputs == 0;
    if (status != RIDGE_OK) {
        code = ridge_complain(&error);
    } else {
        if (!o->dry_run)
            code = measure_and_show(o, &selection, show);
        else
            code = ridge_bench_dry(o, &selection, &error) == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    }
    ridge_selection_free(&selection);
    return code;
}

static int summarize(const ridge_options *o);

int ridge_cmd_run(const ridge_options *o) { return o->summaries ? summarize(o) : with_selection(o, false, show_run); }
int ridge_cmd_compare(const ridge_options *o) { return with_selection(o, true, show_compare); }
int ridge_cmd_roofline(const ridge_options *o) { return with_selection(o, false, show_plot); }

/* ---- ridge run --summaries: work models and ceilings; nothing is timed
 * ----------------------------------- */

static ridge_status summarize_selection(const ridge_options *o, ridge_selection *selection, ridge_run *run,
                                        ridge_error *error) {
    RIDGE_TRY(ridge_bench_summarize(o, selection, run, error));
    const ridge_status written = ridge_output_write(o, run, error);
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
