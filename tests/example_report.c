/* Writes the report of a run made by hand, every verdict once and a series of sizes: what docs/report.png shows. It
 * has invented figures, so that the picture changes only when the report does.
 *
 *     example_report FILE.html */
#include "report/report.h"
#include "unit/fixture_run.h"

/* Time of a launch, of a stream from memory, and of both. */
static void add_series(ridge_run *run) {
    for (int i = 0; i < 8; i++) {
        const ridge_case c = {.dim = {INT64_C(16) << i, 4096}, .dtype = RIDGE_F32};
        ridge_target one = fixture_norm;
        one.cases = &c;
        for (int v = 0; v < 2; v++) {
            const double us = fmax(60, (v ? 0.7 : 2.1) * (double)c.dim[0]);
            fixture_add(run, &one, 0, v, us, RIDGE_VERDICT_OK)->target = &fixture_norm;
        }
        fixture_pair(run, run->n_results - 2, run->n_results - 1, i < 2 ? 1.002 : 3.0 - 1.0 / i);
    }
}

int main(int argc, char **argv) {
    static const ridge_finding load = {.what = "example",
                                       .health = RIDGE_HEALTH_BAD,
                                       .found = "every figure of this report is invented",
                                       .advice = ""};
    ridge_error error = {.text = ""};
    if (argc != 2) return fputs("usage: example_report FILE.html\n", stderr), 2;
    ridge_run run = fixture_run();
    run.results = realloc(run.results, 64 * sizeof *run.results);
    run.pairs = realloc(run.pairs, 32 * sizeof *run.pairs);
    if (!run.results || !run.pairs) return 3;
    add_series(&run);
    ridge_run_add_finding(&run, &load);
    const ridge_status status = ridge_report_html(&run, argv[1], &error);
    if (status != RIDGE_OK) fprintf(stderr, "example_report: %s\n", error.text);
    ridge_run_free(&run);
    return status == RIDGE_OK ? 0 : 3;
}
