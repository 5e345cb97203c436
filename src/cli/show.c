#include "cli/show.h"

#include <string.h>

#include "cli/say.h"
#include "core/shortage.h"
#include "report/report.h"

/* The roofline counts as prose: CSV and Markdown contain only tables. */
static void show_plot(const ridge_run *run, const ridge_page *page) {
    ridge_error why = {0};
    if (page->format != RIDGE_FORMAT_TABLE) return;
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        if (!ridge_run_draws(run, (ridge_backend)b)) continue;
        const ridge_status status = ridge_plot_terminal(run, (ridge_backend)b, page, &why);
        if (status != RIDGE_OK) ridge_say("no roofline: %s", why.text);
        if (status == RIDGE_NO_MEMORY) ridge_shortage_note();
    }
}

static void show_profiles(const ridge_run *run, const ridge_page *page) {
    if (run->n_profiles > 0) ridge_report_profile(run->profiles, run->n_profiles, page);
}

static void show_run(const ridge_run *run, const ridge_page *page) {
    ridge_report_run(run, page);
    show_profiles(run, page);
    ridge_report_scaling(run, page);
    show_plot(run, page);
    ridge_report_conditions(run, page);
    ridge_report_closing(run, page);
}

static void show_compare(const ridge_run *run, const ridge_page *page) {
    ridge_report_compare(run, page);
    show_profiles(run, page);
    ridge_report_scaling(run, page);
    ridge_report_conditions(run, page);
    ridge_report_closing(run, page);
}

/* A kernel of the user's own: the table, and what is wrong with it or with the machine. */
static void show_check(const ridge_run *run, const ridge_page *page) {
    ridge_report_run(run, page);
    ridge_report_conditions(run, page);
}

void ridge_show(const char *command, const ridge_run *run, const ridge_page *page) {
    static const struct {
        const char *command;
        void (*show)(const ridge_run *run, const ridge_page *page);
    } rows[] = {{"compare", show_compare}, {"roofline", show_plot}, {"check", show_check}, {"run", show_run}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    int row = 0;
    while (row < ROWS - 1 && strcmp(rows[row].command, command) != 0) row++;
    rows[row].show(run, page);
}
