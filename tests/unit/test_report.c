/* What people read: widths in code points, everything a run holds is told, nothing that was not measured is, and both
 * plots come out of gnuplot whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture_run.h"
#include "report/gnuplot.h"
#include "report/report.h"
#include "report/roofline.h"
#include "report/text.h"

/* ---- helpers ------------------------------------------------------------------------------------------------------
 */

static char text[1 << 16];

typedef void (*report_fn)(const ridge_run *run, const ridge_page *page);

/* A page over `text`; close_page() ends it. */
static ridge_page open_page(int width) {
    memset(text, 0, sizeof text);
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(stream);
    return (ridge_page){.tables = stream, .prose = stream, .width = width, .height = 34};
}

static const char *close_page(const ridge_page *page) {
    assert_int_equal(fclose(page->tables), 0);
    return text;
}

static const char *print_at(report_fn report, const ridge_run *run, int width) {
    ridge_page page = open_page(width);
    report(run, &page);
    return close_page(&page);
}

/* A table with what is said below it. */
static void whole_run(const ridge_run *run, const ridge_page *page) {
    ridge_report_run(run, page);
    ridge_report_conditions(run, page);
}

static void whole_compare(const ridge_run *run, const ridge_page *page) {
    ridge_report_compare(run, page);
    ridge_report_conditions(run, page);
}

/* Nothing shortened, nothing broken. */
static const char *print(report_fn report, const ridge_run *run) { return print_at(report, run, 400); }

static int columns_of(const char *line, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    return columns;
}

static void expect_lines_fit(const char *all, int limit) {
    for (const char *line = all; *line;) {
        size_t length = strcspn(line, "\n");
        if (columns_of(line, length) > limit) fail_msg("%d columns: %.*s", columns_of(line, length), (int)length, line);
        if (length && line[length - 1] == ' ') fail_msg("ends with a blank: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* The line that holds all words, or a failure. */
static void expect_line(const char *all, const char *a, const char *b, const char *c) {
    for (const char *line = all; *line;) {
        size_t length = strcspn(line, "\n");
        char copy[512];
        (void)snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        if (strstr(copy, a) && strstr(copy, b) && strstr(copy, c)) return;
        line += length + (line[length] == '\n');
    }
    fail_msg("no line with \"%s\", \"%s\", \"%s\" in:\n%s", a, b, c, all);
}

/* ---- tables and numbers ------------------------------------------------------------------------------------------ */

static void numbers_have_the_digits_that_count(void **state) {
    (void)state;
    ridge_text t;
    assert_string_equal(ridge_text_time(&t, 71.0249), "71.02 µs");
    assert_string_equal(ridge_text_time(&t, 255123.4), "255.1 ms");
    assert_string_equal(ridge_text_time(&t, 0.0425), "42.50 ns");
    assert_string_equal(ridge_text_time(&t, 12.3e6), "12.30 s");
    assert_string_equal(ridge_text_time(&t, (double)NAN), "–");
    assert_string_equal(ridge_text_significant(&t, 1234567, 4), "1234567");
    assert_string_equal(ridge_text_significant(&t, 0.01234, 3), "0.012");
    assert_string_equal(ridge_text_significant(&t, (double)INFINITY, 3), "∞");
    assert_string_equal(ridge_text_significant(&t, 999.96, 4), "1000"); /* rounding may add a digit, not two */
    assert_string_equal(ridge_text_scaled(&t, 134217728, "B"), "134 MB");
    assert_string_equal(ridge_text_scaled(&t, 12, "FLOP"), "12 FLOP");
    assert_string_equal(ridge_text_bytes(&t, 2097152), "2.00 MiB");
    assert_string_equal(ridge_text_width(&t, (ridge_interval){100, 99, 101, 9}), "±1.0%");
    assert_string_equal(ridge_text_width(&t, (ridge_interval){100, (double)NAN, (double)NAN, 3}), "±?");
    assert_string_equal(ridge_text_ratio(&t, (ridge_interval){1.82, 1.8, 1.84, 30}), "1.82× (1.80–1.84)");
    assert_string_equal(ridge_text_ratio(&t, (ridge_interval){1.004, 0.99, 1.02, 30}), "≈1.00× (0.99–1.02)");
    assert_string_equal(ridge_text_ratio(&t, (ridge_interval){1.5, (double)NAN, (double)NAN, 4}), "too few rounds");
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static void the_run_table_tells_all_and_no_more(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    const char *all = print(whole_run, &run);
    expect_line(all, "invented-1-2c", "2 threads", "cold");
    expect_line(all, ridge_isa_name(run.machine.isa), "Results on", "");
    expect_line(all, "99% interval", "Ceilings measured 2026-11-21", "");
    expect_line(all, "ch00:toy_norm", "row-wise norm", "");
    expect_line(all, "cpu/optimized", "96% DRAM stream   97%   41%", "3.21× (3.18–3.24)");
    expect_line(all, "cpu/peer", "opt ≈1.00×", "open");
    expect_line(all, "cpu/optimized", "3.21×", "faster");
    expect_line(all, "stream 50.00/49.00 GB/s (-2.0%)", "", "");
    assert_null(strstr(all, "7.10×")); /* the speedup of a wrong result */
    for (int i = 0; i < run.n_results; i++) run.results[i].of_copy.n = run.results[i].of_core.n = 0;
    assert_null(strstr(print(whole_run, &run), "  core")); /* a column of nothing */
    run.settings.hot = true;
    all = print(whole_run, &run);
    expect_line(all, "hot", "2 threads", "");
    ridge_run_free(&run);
}

static void an_untimed_line_shows_no_figure(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    for (int v = 0; v < RIDGE_VERDICT_COUNT; v++) {
        run.n_results = 1;
        run.results[0].verdict = (ridge_verdict)v;
        const char *all = print(whole_run, &run);
        assert_int_equal(strstr(all, " ms") != NULL, ridge_verdict_timed((ridge_verdict)v));
        assert_int_equal(strstr(all, "% DRAM stream") != NULL, ridge_verdict_timed((ridge_verdict)v));
    }
    run.n_results = 10;
    ridge_run_free(&run);
}

static void comparisons_say_what_is_declared_and_what_agrees(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    run.pairs[0].agree = false;
    const char *all = print(whole_compare, &run);
    expect_line(all, "bytes (declared)", "outputs", "");
    expect_line(all, "3.21× (3.18–3.24)", "403 MB to 134 MB", "DIFFER");
    expect_line(all, "cpu/baseline and cpu/optimized disagree by up to 1e-07", "", "");
    expect_line(all, "cpu/peer", "≈1.00×", "agree, 75% exact");
    ridge_run_free(&run);
}

/* Each page is as wide as it says, whatever the table; CSV has every column on any page. */
static void every_report_fits_its_page(void **state) {
    (void)state;
    static const report_fn reports[] = {whole_run, whole_compare, ridge_report_summaries, ridge_report_not_ok};
    ridge_run run = fixture_run();
    const ridge_target *targets[] = {&fixture_norm, &fixture_matmul};
    ridge_run_add_finding(&run, &(ridge_finding){.what = "load",
                                                 .found = "load of the last minute 4.50 on 2 logical processors",
                                                 .advice = "stop other programs, or wait a minute"});
    for (int width = 40; width <= 200; width += 20) {
        for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
            expect_lines_fit(print_at(reports[i], &run, width), width);
        ridge_page page = open_page(width);
        ridge_report_list(targets, 2, &run.machine, &page);
        ridge_report_peak(&run.ceilings, NULL, NULL, &page);
        ridge_report_findings(run.findings, run.n_findings, &page);
        expect_lines_fit(close_page(&page), width);
    }
    const char *all = print_at(whole_run, &run, 80);
    expect_line(all, "optimized  2.8", "96%", "3.21×");
    ridge_run_free(&run);
}

static void the_closing_list_groups_and_folds(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    const char *all = print(ridge_report_not_ok, &run);
    expect_line(all, "  1 wrong: out y[3,17] = 0.25, want 0.5 ± 1e-7", "ridge verify", "");
    expect_line(all, "    toy_norm 16384x1024/bf16 cpu/optimized", "", "");
    expect_line(all, "  1 skipped: libpeer.so not found", "", "");
    expect_line(all, "  1 impossible: faster by 1012 % than", "ridge peak --refresh", "");
    run.results = realloc(run.results, 40 * sizeof *run.results);
    assert_non_null(run.results);
    for (int i = 0; i < 20; i++) {
        ridge_result *r = fixture_add(&run, &fixture_matmul, i % 2, i / 10, 155 + i, RIDGE_VERDICT_FRAME);
        r->frame_us = 31;
    }
    run.results[5].frame_us = 31;
    all = print(ridge_report_not_ok, &run);
    expect_line(all, "  21 frame-dominated: as long as 5.0–5.6 empty launches", "take larger --sizes", "");
    expect_line(all, "    toy_matmul 256x256x256 cpu/optimized, cpu/baseline; 1024x1024x1024 cpu/baseline; 256",
                "; … and 13 more: --wide lists all", "");
    ridge_page page = open_page(80);
    page.wide = true;
    ridge_report_not_ok(&run, &page);
    assert_null(strstr(close_page(&page), "more: --wide"));
    ridge_run_free(&run);
}

/* The five lines can be quoted: each fits 80 columns, and the figures are the record's. */
static void five_lines_say_what_was_proven(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    const char *all = print_at(ridge_report_closing, &run, 80);
    int lines = 0;
    for (const char *p = all; *p; p++) lines += *p == '\n';
    assert_int_equal(lines, 1 + 5); /* a blank one before them */
    expect_lines_fit(all, 80);
    expect_line(all, "Pairs: of 2, 2 faster, 0 open, 0 slower than the baseline.", "", "");
    expect_line(all, "Speedup: 4.50× at the median, 3.21× to 5.80× (toy_matmul 256x256x256).", "", "");
    expect_line(all, "Verified: 6 of 10 in 144 launches; 1 wrong, 1 failed, 1 impossible, ", "", "");
    expect_line(all, "Ceilings: optimized reach ", "% at the median, ", "% at most (");
    expect_line(all, "Noise: times ±", "% at the median, ±", "; 12 s on 2 threads.");
    run.interrupted = true;
    expect_line(print(ridge_report_closing, &run), "Interrupted: what was not reached is missing.", "", "");
    ridge_run_free(&run);
}

/* A page without colors, and one with them: the finding is red there. */
static void a_slower_variant_is_a_finding(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    assert_string_equal(print(ridge_report_slower, &run), "");
    run.pairs[0].speedup = (ridge_interval){0.9, 0.88, 0.95, 12};
    run.pairs[3].speedup = (ridge_interval){0.5, 0.4, 0.6, 12}; /* slower than a peer: that is no finding */
    const char *all = print(ridge_report_slower, &run);
    expect_line(all, "Slower than the baseline:", "", "");
    expect_line(all, "  toy_norm 16384x1024: cpu/optimized 0.90× (0.88–0.95): proven slower than cpu/baseline", "", "");
    assert_null(strstr(all, "toy_matmul"));
    ridge_page page = open_page(200);
    page.color = true;
    ridge_report_slower(&run, &page);
    assert_non_null(strstr(close_page(&page), "\033[31mtoy_norm"));
    expect_line(print(ridge_report_closing, &run), "Pairs: of 2, 1 faster, 0 open, 1 slower", "", "");
    run.pairs[0].speedup = (ridge_interval){0.9, (double)NAN, (double)NAN, 3}; /* too few rounds prove nothing */
    assert_string_equal(print(ridge_report_slower, &run), "");
    expect_line(print_at(whole_run, &run, 80), "too few", "open", "");
    ridge_run_free(&run);
}

static void findings_are_said_beside_the_numbers(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    assert_null(strstr(print(whole_run, &run), "On this machine"));
    run.dram_after = fixture_level("DRAM", 0, 45, 51.2, 50);
    ridge_run_look_after(&run);
    const char *all = print(whole_run, &run);
    expect_line(all, "  memory speed: copying changed by +28 % during the run", "trust the speedups", "");
    assert_null(strstr(all, "clock: "));
    run.fp32_after.gflops = fixture_interval(200);
    run.results[1].sm_mhz = 1800, run.results[1].throttled_samples = 3;
    run.n_findings = 0;
    ridge_run_look_after(&run);
    all = print(whole_run, &run);
    expect_line(all, "  clock: the fp32 rate changed by -17 % during the run", "", "");
    expect_line(all, "  gpu clocks: 3 of 24 samples were throttled", "", "");
    run.n_findings = 0;
    for (int i = 0; i < run.n_results; i++) run.results[i].place.memory_bound = false, run.results[i].sm_mhz = 0;
    ridge_run_look_after(&run); /* memory's speed is nothing to arithmetic */
    assert_int_equal(run.n_findings, 1);
    ridge_run_free(&run);
}

static void csv_has_every_column_and_raw_numbers(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    (void)snprintf(run.results[3].reason, sizeof run.results[3].reason, "y is \"0.25\", not 0.5");
    ridge_page page = open_page(80);
    page.format = RIDGE_FORMAT_CSV;
    page.prose = fopen("/dev/null", "w");
    assert_non_null(page.prose);
    whole_run(&run, &page);
    (void)fclose(page.prose);
    const char *all = close_page(&page);
    assert_int_equal(strncmp(all, "target,case,variant,role,time_us,time_ci_low_us,", 48), 0);
    expect_line(all, "ch00:toy_norm,16384x1024,cpu/optimized,optimized,28",
                ",DRAM stream,0.97,0.41,3.21,3.1779,3.2421,", ",ok,");
    expect_line(all, "ch00:toy_norm,16384x1024/bf16,cpu/optimized,optimized,,,,",
                ",wrong,\"y is \"\"0.25\"\", not 0.5\"", "");
    int lines = 0;
    for (const char *p = all; *p; p++) lines += *p == '\n';
    assert_int_equal(lines, 1 + run.n_results);
    ridge_run_free(&run);
}

static void ceilings_and_summaries(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    (void)snprintf(run.ceilings.faults, sizeof run.ceilings.faults, "L2 read is above L1 read");
    ridge_page page = open_page(400);
    ridge_report_peak(&run.ceilings, NULL, NULL, &page);
    close_page(&page);
    expect_line(text, "invented-1-2c", "2 threads", "2026-11-21");
    expect_line(text, "L2", "2.00 MiB", "250.0 ±0.");
    expect_line(text, "L1", "–", "");
    expect_line(text, "fp32 avx512", "240.0", "4.80");
    expect_line(text, "L2 read is above L1 read", "", "");

    const char *all = print(ridge_report_summaries, &run);
    expect_line(all, "16384x1024", "50.3 MFLOP", "memory bound, 13× left");
    expect_line(all, "1024x1024x1024", "2.15 GFLOP", "compute bound");
    int lines = 0;
    for (const char *p = all; (p = strstr(p, " bound")); p++) lines++;
    assert_int_equal(lines, 4); /* one a case, however many variants */
    ridge_run_free(&run);
}

static void the_list_says_why_not(void **state) {
    (void)state;
    const ridge_target *targets[] = {&fixture_norm, &fixture_matmul};
    ridge_machine machine = fixture_machine();
    ridge_variant variants[3];
    ridge_target wordy = fixture_matmul;
    memcpy(variants, fixture_matmul_variants, sizeof variants);
    variants[0].idea =
        "an idea that takes so many words that it would run far over the edge of any line, were it not "
        "for the line below it";
    wordy.variants = variants;
    targets[1] = &wordy;
    ridge_page page = open_page(120);
    ridge_report_list(targets, 2, &machine, &page);
    close_page(&page);
    expect_lines_fit(text, 120);
    expect_line(text, "ch00:toy_matmul", "matrix product", "m x k x n");
    expect_line(text, "cases", "16384x1024/bf16", "");
    expect_line(text, "edges", "1x1", "");
    expect_line(text, "cpu/baseline", "an idea that takes so many words that it would", "");
    expect_line(text, "          ", "below it", "");
    expect_line(text, "cpu/peer", "1 of 2 cases", "a library");
}

/* ---- plots ------------------------------------------------------------------------------------------------------- */

static void ranges_hold_every_point(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    for (uint64_t seed = 0; seed < 500; seed++) {
        for (int i = 0; i < run.n_results; i++) {
            run.results[i].place.intensity = pow(10, 16 * ridge_random_unit(seed, (uint64_t)(2 * i)) - 8);
            run.results[i].place.gflops = pow(10, 16 * ridge_random_unit(seed, (uint64_t)(2 * i + 1)) - 8);
        }
        run.results[0].place.intensity =
            seed % 2 ? 0 : (double)INFINITY; /* no FLOP, no bytes: not on a logarithmic plot */
        ridge_roofline view;
        assert_int_equal(ridge_roofline_make(&run, RIDGE_BACKEND_cpu, &view, NULL), RIDGE_OK);
        int drawable = 0;
        for (int i = 1; i < run.n_results; i++) drawable += ridge_verdict_timed(run.results[i].verdict);
        assert_int_equal(view.n_points, drawable);
        assert_true(view.xmin > 0 && view.ymin > 0 && view.xmin < view.ridge_point && view.ridge_point < view.xmax);
        assert_true(view.ymin < view.peak && view.peak < view.ymax && view.peak == 240 &&
                    view.ridge_point == 240.0 / 50);
        for (int i = 0; i < view.n_points; i++) {
            const ridge_point *p = &view.points[i];
            assert_true(p->x > view.xmin && p->x < view.xmax && p->y > view.ymin && p->y < view.ymax);
            assert_true(p->number >= 1 && p->number <= view.n_cases && p->target >= 0 && p->target < view.n_targets);
        }
        ridge_roofline_free(&view);
    }
    ridge_run_free(&run);
}

static void a_roofline_needs_ceilings(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    ridge_error error;
    run.ceilings.n_peaks = 0;
    const ridge_page page = {.tables = stdout, .prose = stdout, .width = 100, .height = 34};
    assert_int_equal(ridge_plot_terminal(&run, RIDGE_BACKEND_cpu, &page, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "ridge peak"));
    assert_int_equal(ridge_plot_svg(&run, RIDGE_BACKEND_cpu, "/nowhere/x.svg", &error), RIDGE_INVALID);
    ridge_run_free(&run);
}

static void the_terminal_plot_fits_and_shows_every_target(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    for (int width = 60; width <= 140; width += 20) {
        ridge_page page = open_page(width);
        page.height = width == 80 ? 24 : 34;
        ridge_error error = {.text = ""};
        ridge_status status = ridge_plot_terminal(&run, RIDGE_BACKEND_cpu, &page, &error);
        close_page(&page);
        if (status == RIDGE_UNSUPPORTED) skip(); /* gnuplot is not installed, and the text said so */
        if (status != RIDGE_OK) fail_msg("%s", error.text);
        expect_lines_fit(text, width);
        int lines = 0;
        for (const char *p = text; *p; p++) lines += *p == '\n';
        assert_true(lines < page.height);
        expect_line(text, "DRAM stream 50 GB/s", "fp32 avx512 240 GFLOP/s", "");
        expect_line(text, "A toy_norm", "B toy_matmul", "");
        char *legend = strstr(text, "x: FLOP");
        assert_non_null(legend);
        *legend = '\0';
        assert_true(strchr(text, 'A') && strchr(text, 'a') && strchr(text, 'B') && strchr(text, 'b') &&
                    strstr(text, "***"));
    }
    ridge_run_free(&run);
}

static void the_svg_is_whole_or_absent(void **state) {
    (void)state;
    char path[] = "/tmp/ridge-plot-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    ridge_run run = fixture_run();
    (void)snprintf(run.machine.key, sizeof run.machine.key, "it's <odd> & \"quoted\" \\ `x` é");
    ridge_error error = {.text = ""};
    ridge_status status = ridge_plot_svg(&run, RIDGE_BACKEND_cpu, path, &error);
    if (status == RIDGE_UNSUPPORTED) skip();
    if (status != RIDGE_OK) fail_msg("%s", error.text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(text, 0, sizeof text);
    size_t n = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(n > 4000 && strstr(text, "<svg") && strstr(text, "</svg>"));
    assert_non_null(strstr(
        text, "it's &lt;odd> &amp; \"quoted\" \\ `x` é")); /* data stay data, through gnuplot's quoting and XML's */
    assert_non_null(strstr(text, "toy_matmul"));
    assert_int_equal(ridge_plot_svg(&run, RIDGE_BACKEND_cpu, "/absent-folder/x.svg", &error), RIDGE_IO);
    assert_non_null(strstr(error.text, "/absent-folder/x.svg"));
    ridge_run_free(&run);
}

/* x of the text that stands at `found` in an SVG by gnuplot: that of the last translation before it. */
static double svg_x(const char *all, const char *found) {
    const char *at = NULL;
    for (const char *p = all; (p = strstr(p, "translate(")) && p < found; p++) at = p;
    return at ? atof(at + strlen("translate(")) : (double)NAN;
}

/* What stands behind a case of the list begins where the longest case has ended. */
static void the_list_of_the_svg_never_overprints(void **state) {
    (void)state;
    static const char longest[] = "1099511627776x1099511627776/bf16";
    char path[] = "/tmp/ridge-plot-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    ridge_run run = fixture_run();
    run.results[2].c.dim[0] = run.results[2].c.dim[1] = INT64_C(1) << 40;
    ridge_error error = {.text = ""};
    ridge_status status = ridge_plot_svg(&run, RIDGE_BACKEND_cpu, path, &error);
    if (status == RIDGE_UNSUPPORTED) skip();
    if (status != RIDGE_OK) fail_msg("%s", error.text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(text, 0, sizeof text);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    const char *name = strstr(text, longest), *behind = name ? strstr(name, "% of") : NULL;
    assert_non_null(behind);
    assert_true(svg_x(text, behind) - svg_x(text, name) > 7 * (double)strlen(longest)); /* 12 pixels high: 7 a letter */
    ridge_run_free(&run);
}

/* One file: nothing is fetched, data stay data, and what the tables have is there. */
static void the_html_report_needs_nothing_else(void **state) {
    (void)state;
    char path[] = "/tmp/ridge-page-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    ridge_run run = fixture_run();
    run.pairs[0].speedup = (ridge_interval){0.9, 0.88, 0.95, 12};
    (void)snprintf(run.machine.key, sizeof run.machine.key, "<script> & \"co\"");
    ridge_error error = {.text = ""};
    if (ridge_report_html(&run, path, &error) != RIDGE_OK) fail_msg("%s", error.text);
    FILE *file = fopen(path, "r");
    char *all = calloc(1, 1 << 20);
    assert_true(file && all && fread(all, 1, (1 << 20) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    assert_null(strstr(all, "<script"));
    assert_non_null(strstr(all, "&lt;script&gt; &amp; &quot;co&quot;"));
    for (const char *p = all; (p = strstr(p, "http")); p++) /* names of XML, not places */
        assert_true(strncmp(p, "http://www.w3.org/", 18) == 0);
    static const char *const has[] = {"Pairs: of 2, 1 faster, 0 open, 1 slower",
                                      "<td class='slower'>slower</td>",
                                      "16384x1024/bf16",
                                      "<svg class='d'",
                                      "libpeer.so not found",
                                      "0.90× (0.88–0.95)",
                                      "fp32 avx512",
                                      "</html>"};
    for (size_t i = 0; i < sizeof has / sizeof has[0]; i++)
        if (!strstr(all, has[i])) fail_msg("no %s", has[i]);
    assert_null(strstr(all, "7.10×")); /* a side of that pair is wrong */
    free(all);
    ridge_run_free(&run);
}

static void without_gnuplot_the_text_says_what_to_install(void **state) {
    (void)state;
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
    ridge_run run = fixture_run();
    ridge_error error = {.text = ""};
    assert_true(path && setenv("PATH", "/nowhere", 1) == 0);
    const ridge_page page = {.tables = stdout, .prose = stdout, .width = 100, .height = 34};
    ridge_status terminal = ridge_plot_terminal(&run, RIDGE_BACKEND_cpu, &page, &error);
    struct stat st;
    ridge_status svg = ridge_plot_svg(&run, RIDGE_BACKEND_cpu, "/tmp/ridge-never-written.svg", &error);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(terminal, RIDGE_UNSUPPORTED);
    assert_int_equal(svg, RIDGE_UNSUPPORTED);
    assert_string_equal(error.text, "gnuplot not found: install gnuplot-nox");
    assert_int_not_equal(stat("/tmp/ridge-never-written.svg", &st), 0);
    free(path);
    ridge_run_free(&run);
}

static void a_bad_script_is_reported_in_gnuplots_words(void **state) {
    (void)state;
    char *output = NULL;
    size_t size = 0;
    ridge_error error = {.text = ""};
    static const char script[] = "set no-such-option 1\n";
    ridge_status status = ridge_gnuplot_run(script, sizeof script - 1, &output, &size, &error);
    if (status == RIDGE_UNSUPPORTED) skip();
    assert_int_equal(status, RIDGE_FAILED);
    assert_non_null(strstr(error.text, "gnuplot could not draw: line "));
    assert_null(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_the_digits_that_count),
        cmocka_unit_test(the_run_table_tells_all_and_no_more),
        cmocka_unit_test(an_untimed_line_shows_no_figure),
        cmocka_unit_test(comparisons_say_what_is_declared_and_what_agrees),
        cmocka_unit_test(every_report_fits_its_page),
        cmocka_unit_test(the_closing_list_groups_and_folds),
        cmocka_unit_test(five_lines_say_what_was_proven),
        cmocka_unit_test(a_slower_variant_is_a_finding),
        cmocka_unit_test(findings_are_said_beside_the_numbers),
        cmocka_unit_test(csv_has_every_column_and_raw_numbers),
        cmocka_unit_test(ceilings_and_summaries),
        cmocka_unit_test(the_list_says_why_not),
        cmocka_unit_test(ranges_hold_every_point),
        cmocka_unit_test(a_roofline_needs_ceilings),
        cmocka_unit_test(the_terminal_plot_fits_and_shows_every_target),
        cmocka_unit_test(the_svg_is_whole_or_absent),
        cmocka_unit_test(the_list_of_the_svg_never_overprints),
        cmocka_unit_test(the_html_report_needs_nothing_else),
        cmocka_unit_test(without_gnuplot_the_text_says_what_to_install),
        cmocka_unit_test(a_bad_script_is_reported_in_gnuplots_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
