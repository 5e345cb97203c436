/* The record: JSON whose field names are an interface, and files that appear whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "device/file.h"
#include "fixture_run.h"
#include "record/expect.h"
#include "record/gate.h"
#include "record/json.h"

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static const json_t *at(const json_t *json, const char *path) {
    char part[64];
    while (json && *path) {
        size_t n = strcspn(path, ".");
        (void)snprintf(part, sizeof part, "%.*s", (int)n, path);
        json =
            part[0] >= '0' && part[0] <= '9' ? json_array_get(json, (size_t)atoi(part)) : json_object_get(json, part);
        path += n + (path[n] == '.');
    }
    return json;
}

static void expect_number(const json_t *json, const char *path, double want) {
    const json_t *got = at(json, path);
    if (!json_is_number(got) || !(fabs(json_number_value(got) - want) <= 1e-9 * fabs(want)))
        fail_msg("%s: %g, want %g", path, json_number_value(got), want);
}

static void expect_text(const json_t *json, const char *path, const char *want) {
    const char *got = json_string_value(at(json, path));
    if (!got || strcmp(got, want) != 0) fail_msg("%s: %s, want %s", path, got ? got : "nothing", want);
}

static void a_run_has_its_fields(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    ridge_run_add_finding(
        &run, &(ridge_finding){.what = "load", .health = RIDGE_HEALTH_BAD, .found = "4.50", .advice = "wait"});
    json_t *json = ridge_json_run(&run);
    assert_non_null(json);
    expect_text(json, "schema", "ridge-run/2");
    assert_int_equal(json_array_size(at(json, "findings")), 1);
    expect_text(json, "findings.0.what", "load");
    expect_text(json, "findings.0.health", "bad");
    expect_text(json, "findings.0.found", "4.50");
    expect_text(json, "findings.0.advice", "wait");
    expect_text(json, "settings.seed", "18446744073709551615");
    expect_text(json, "settings.mode", "cold");
    expect_text(json, "command.0", "ridge");
    expect_text(json, "command.2", "caf\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd"); /* what is not UTF-8 is marked */
    expect_text(json, "machine.key", "invented-1-2c");
    expect_number(json, "machine.memory_bytes", 8589934592.0);
    expect_number(json, "ceilings.levels.3.stream_gbps.median", 50);
    assert_int_equal(json_array_size(at(json, "ceilings.rungs")), 5);
    expect_number(json, "probes.drift_pct.dram_stream", -2);
    expect_number(json, "probes.drift_pct.fp32", 0);
    assert_true(json_is_false(at(json, "interrupted")));
    assert_int_equal(json_array_size(at(json, "results")), run.n_results);
    assert_int_equal(json_array_size(at(json, "pairs")), run.n_pairs);
    assert_true(json_is_null(at(json, "settings.within_s")));
    assert_int_equal(json_array_size(at(json, "plan")), 0);
    json_decref(json);
    ridge_run_free(&run);
    assert_true(!run.results && !run.pairs && run.n_results == 0);
}

static void a_run_has_its_plan(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    run.settings.within = 100;
    run.budget = (ridge_budget){.within_s = 100, .n = 2, .cases = calloc(2, sizeof *run.budget.cases)};
    assert_non_null(run.budget.cases);
    run.budget.cases[0] = (ridge_planned){.target = &fixture_norm,
                                          .c = fixture_norm.cases[1],
                                          .forecast = {.checks_s = 0.5, .round_s = 0.125},
                                          .least_rounds = 8,
                                          .max_time = 1.5,
                                          .state = RIDGE_PLAN_STARTED,
                                          .taken_s = 2.25,
                                          .rounds_s = 1.75};
    run.budget.cases[1] = run.budget.cases[0];
    run.budget.cases[1].state = RIDGE_PLAN_PASSED_OVER;
    run.budget.cases[1].taken_s = 0;
    json_t *json = ridge_json_run(&run);
    expect_number(json, "settings.within_s", 100);
    expect_text(json, "plan.0.target", "toy_norm");
    expect_text(json, "plan.0.case", "16384x1024/bf16");
    expect_text(json, "plan.0.backend", "cpu");
    expect_number(json, "plan.0.forecast.checks_s", 0.5);
    expect_number(json, "plan.0.forecast.least_rounds_s", 1);
    expect_number(json, "plan.0.max_time_s", 1.5);
    expect_number(json, "plan.0.taken_s", 2.25);
    expect_number(json, "plan.0.rounds_s", 1.75);
    static const char *const unknown[] = {"plan.1.max_time_s", "plan.1.taken_s", "plan.1.rounds_s"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) assert_true(json_is_null(at(json, unknown[i])));
    json_decref(json);
    ridge_run_free(&run);
}

static void a_result_has_its_fields(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    json_t *json = ridge_json_run(&run);
    const json_t *r = at(json, "results.1");
    static const char *const texts[][2] = {
        {"target", "toy_norm"}, {"chapter", "ch00"},           {"case", "16384x1024"},     {"dtype", "f32"},
        {"backend", "cpu"},     {"variant", "cpu/optimized"},  {"role", "optimized"},      {"verdict", "ok"},
        {"reason", ""},         {"time_us.stop", "converged"}, {"binding", "DRAM stream"}, {"mode", "cold"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_text(r, texts[i][0], texts[i][1]);
    double n = 16384.0 * 1024, median = run.results[1].time_us.median;
    expect_number(r, "shape.rows", 16384);
    expect_number(r, "shape.cols", 1024);
    expect_number(r, "threads", 2);
    expect_number(r, "time_us.median", median);
    expect_number(r, "time_us.ci_low", run.results[1].time_us.low);
    expect_number(r, "time_us.ci_high", run.results[1].time_us.high);
    expect_number(r, "time_us.n", 24);
    expect_number(r, "work.flops", 3 * n);
    expect_number(r, "work.bytes", 8 * n);
    expect_number(r, "work.bytes_read", 4 * n);
    expect_number(r, "work.bytes_written", 4 * n);
    expect_number(r, "intensity", 0.375);
    expect_number(r, "gflops", 3e-3 * n / median);
    expect_number(r, "gbps", 8e-3 * n / median);
    expect_number(r, "pct_measured", 100 * (8e-3 * n / median) / 50);
    expect_number(r, "floor_us", 8 * n / 50e3);
    expect_number(r, "frame_us", 0.3);
    expect_number(r, "of_copy.median", 0.97);
    expect_number(r, "of_core.ci_low", 0.40);
    expect_number(r, "check.worst", 0.25);
    expect_number(r, "check.rows_checked", 16384);
    assert_int_equal(json_array_size(at(r, "samples")), 24);
    expect_number(r, "samples.3.0", 1);
    expect_number(r, "samples.3.1", 1);
    expect_number(r, "samples.3.2", run.results[1].samples[3].time_us);
    expect_text(r, "samples.3.3", "18364758544493064723"); /* 0xfedcba9876543210 + 3: more than a double holds */
    json_decref(json);
    ridge_run_free(&run);
}

/* "A time is a tagged outcome": what is not timed shows no figure, but keeps its samples as evidence. */
static void untimed_verdicts_show_no_time(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    static const char *const figures[] = {"time_us.median", "time_us.ci_low", "time_us.ci_high",
                                          "gflops",         "gbps",           "pct_measured"};
    for (int i = 0; i < run.n_results; i++) {
        json_t *r = ridge_json_result(&run.results[i]);
        bool timed = ridge_verdict_timed(run.results[i].verdict);
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
            assert_non_null(at(r, figures[f]));
            assert_int_equal(json_is_number(at(r, figures[f])), timed);
        }
        if (!timed) assert_true(json_is_null(at(r, "of_core.median")));
        expect_number(r, "work.bytes", run.results[i].work.bytes_read + run.results[i].work.bytes_written);
        expect_number(r, "intensity", run.results[i].place.intensity);
        assert_int_equal(json_array_size(at(r, "samples")), run.results[i].n_samples);
        json_decref(r);
    }
    json_t *pair = ridge_json_pair(&run, &run.pairs[1]); /* its optimized variant is wrong */
    assert_true(json_is_null(at(pair, "speedup.median")) && json_is_null(at(pair, "speedup.ci_low")));
    expect_text(pair, "verdict", "untimed");
    json_decref(pair);
    ridge_run_free(&run);
}

static void a_pair_has_its_fields(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    json_t *pair = ridge_json_pair(&run, &run.pairs[0]), *peer = ridge_json_pair(&run, &run.pairs[3]);
    expect_text(pair, "target", "toy_norm");
    expect_text(pair, "case", "16384x1024");
    expect_text(pair, "reference", "cpu/baseline");
    expect_text(pair, "reference_role", "baseline");
    expect_text(pair, "optimized", "cpu/optimized");
    expect_number(pair, "speedup.median", 3.21);
    expect_number(pair, "speedup.ci_low", 0.99 * 3.21);
    expect_number(pair, "speedup.ci_high", 1.01 * 3.21);
    expect_number(pair, "speedup.n", 12);
    expect_text(pair, "verdict", "faster");
    expect_text(pair, "traffic.kind", "declared");
    expect_number(pair, "traffic.saved_bytes", run.pairs[0].traffic_a - run.pairs[0].traffic_b);
    assert_true(json_is_true(at(pair, "agreement.agree")));
    expect_number(pair, "agreement.equal_fraction", 0.75);
    expect_text(peer, "reference_role", "peer");
    expect_text(peer, "verdict", "open");
    run.pairs[3].speedup = (ridge_interval){0.9, 0.88, 0.92, 12};
    assert_int_equal(ridge_pair_proof(&run, &run.pairs[3]), RIDGE_PROOF_SLOWER);
    /* Three measurements that differ by more than the speedup leave it open; two say too little. */
    run.pairs[3].repeats = (ridge_repeats){.n = 3, .between = {0.9, 0.7, 1.1, 3}};
    assert_int_equal(ridge_pair_proof(&run, &run.pairs[3]), RIDGE_PROOF_OPEN);
    run.pairs[3].repeats.between.high = 0.99;
    assert_int_equal(ridge_pair_proof(&run, &run.pairs[3]), RIDGE_PROOF_SLOWER);
    run.pairs[3].repeats = (ridge_repeats){.n = 2, .between = {0.9, 0.01, 80, 2}};
    assert_int_equal(ridge_pair_proof(&run, &run.pairs[3]), RIDGE_PROOF_SLOWER);
    run.pairs[3].speedup.low = (double)NAN;
    assert_int_equal(ridge_pair_proof(&run, &run.pairs[3]), RIDGE_PROOF_OPEN);
    json_decref(pair);
    json_decref(peer);
    ridge_run_free(&run);
}

/* The figures of the closing lines, and an optimized variant that is slower than its baseline. */
static void the_summary_is_recorded(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    run.pairs[0].speedup = (ridge_interval){0.9, 0.88, 0.92, 12};
    json_t *json = ridge_json_run(&run);
    expect_number(json, "summary.pairs.faster", 1);
    expect_number(json, "summary.pairs.slower", 1);
    expect_number(json, "summary.pairs.open", 0);
    expect_number(json, "summary.pairs.untimed", 1);
    expect_number(json, "summary.verdicts.ok", 5);
    expect_number(json, "summary.cases", 3);
    expect_number(json, "summary.launches", 6 * 24);
    expect_number(json, "summary.speedup.low", 0.9);
    expect_number(json, "summary.speedup.high", 5.8);
    expect_number(json, "summary.noise_pct.n", 6);
    expect_text(json, "findings.0.what", "slower");
    expect_text(json, "findings.0.advice", "proven slower than cpu/baseline: leave it out for this case");
    json_decref(json);
    ridge_run_free(&run);
}

static void a_target_lists_what_can_run(void **state) {
    (void)state;
    ridge_machine machine = fixture_machine();
    json_t *json = ridge_json_target(&fixture_matmul, &machine);
    expect_text(json, "target", "toy_matmul");
    expect_text(json, "inputs.1.dims.0", "k");
    expect_text(json, "inputs.1.dtype", "case");
    expect_text(json, "cases.1.case", "1024x1024x1024");
    expect_text(json, "variants.2.role", "peer");
    assert_true(json_is_true(at(json, "variants.2.available"))); /* the smaller case can */
    assert_true(json_is_null(at(json, "variants.2.unavailable_by_case.0")));
    expect_text(json, "variants.2.unavailable_by_case.1", "libpeer.so not found");
    json_decref(json);
}

static bool no_odd_number(const json_t *json) {
    const char *key;
    size_t i;
    json_t *item;
    if (json_is_real(json)) return isfinite(json_real_value(json));
    json_object_foreach((json_t *)(uintptr_t)json, key, item) if (!no_odd_number(item)) return false;
    json_array_foreach(json, i, item) if (!no_odd_number(item)) return false;
    return true;
}

/* Unmeasured rates and unknown intervals are NaN inside: they must come out as null, never break the file. */
static void nan_becomes_null(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        run.results[0].time_us = (ridge_interval){bad[i], bad[i], bad[i], 3};
        run.results[0].place.intensity = run.results[0].place.gflops = bad[i];
        run.results[0].samples[0].worst = run.results[0].check.worst = bad[i];
        run.ceilings.levels[0].stream.median = run.wall_s = run.pairs[0].speedup.low = bad[i];
        json_t *json = ridge_json_run(&run);
        assert_non_null(json);
        assert_true(no_odd_number(json) && json_is_null(at(json, "results.0.time_us.median")));
        json_decref(json);
    }
    ridge_run_free(&run);
}

/* Well-formed UTF-8 stays as it is; of anything else each byte is marked. jansson refuses what is not well formed. */
static void texts_are_utf8(void **state) {
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc1\x81",
                                      "\xc2",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%s\xff", good[i]); /* so that it is looked at */
        json_t *json = ridge_json_text(text);
        (void)snprintf(text, sizeof text, "%s\xef\xbf\xbd", good[i]);
        assert_string_equal(json_string_value(json), text);
        json_decref(json);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *json = ridge_json_text(bad[i]);
        assert_int_equal(json_string_length(json), 3 * strlen(bad[i]));
        json_decref(json);
    }
}

/* ---- memory that runs out: a document is whole or there is none ---- */

static int allocations_left; /* before the one that fails */

static void *scarce(size_t size) { return allocations_left-- == 0 ? NULL : malloc(size); }

static json_t *make_run(const ridge_run *run) { return ridge_json_run(run); }
static json_t *make_expectations(const ridge_run *run) {
    ridge_error error = {0};
    json_t *updated = NULL;
    (void)ridge_expect_update(NULL, run, "first", &updated, &error);
    return updated;
}
static json_t *make_gate(const ridge_run *run) {
    ridge_gate gate;
    ridge_error error = {0};
    json_t *expectations = make_expectations(run);
    const bool judged = expectations && ridge_gate_check(expectations, run, &gate, &error) == RIDGE_OK;
    json_t *json = judged ? ridge_json_gate(&gate) : NULL;
    if (expectations) ridge_gate_free(&gate);
    json_decref(expectations);
    return json;
}
static json_t *make_target(const ridge_run *run) { return ridge_json_target(run->results[0].target, &run->machine); }
static json_t *make_ceilings(const ridge_run *run) {
    return ridge_json_gpu_ceilings(&run->machine.gpu, &run->ceilings);
}
static json_t *make_verified(const ridge_run *run) {
    const ridge_result *r = &run->results[0];
    const ridge_verified v = {.target = r->target,
                              .c = r->c,
                              .variant = r->variant,
                              .isa = r->isa,
                              .verdict = "wrong",
                              .reason = "cut in \xc2",
                              .runs = 3,
                              .worst = (double)INFINITY};
    return ridge_json_verified(&v);
}
static json_t *make_mutation(const ridge_run *run) {
    const ridge_mutation m = {run->results[0].target, "zeros", 2, "passed", "\xff"};
    return ridge_json_mutation(&m);
}

static void a_document_is_whole_or_none(void **state) {
    static json_t *(*const make[])(const ridge_run *) = {make_run,      make_expectations, make_gate,    make_target,
                                                         make_ceilings, make_verified,     make_mutation};
    (void)state;
    ridge_run run = fixture_run();
    const int all = run.n_results;
    run.n_results = 2; /* every allocation fails once: few are enough */
    run.n_pairs = 1;
    for (int i = 0; i < run.n_results; i++) run.results[i].n_samples = 3;
    for (size_t d = 0; d < sizeof make / sizeof make[0]; d++) {
        json_t *whole = make[d](&run);
        assert_non_null(whole);
        int failures = 0;
        bool done = false;
        for (int n = 0; !done; n++) {
            allocations_left = n;
            json_set_alloc_funcs(scarce, free);
            json_t *json = make[d](&run);
            done = allocations_left >= 0; /* none failed */
            json_set_alloc_funcs(malloc, free);
            failures += json == NULL;
            if (json && !json_equal(json, whole)) fail_msg("document %zu lacks something at allocation %d", d, n);
            json_decref(json);
        }
        assert_true(failures > 3);
        json_decref(whole);
    }
    run.n_results = all;
    ridge_run_free(&run);
}

/* What verify found: an infinite error is null, a reason that was cut in the middle of a character is marked. */
static void verify_has_an_entry_for_all(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    json_t *wrong = make_verified(&run), *mutant = make_mutation(&run);
    assert_true(json_is_null(at(wrong, "worst")));
    expect_text(wrong, "verdict", "wrong");
    expect_text(wrong, "reason", "cut in \xef\xbf\xbd");
    expect_text(mutant, "reason", "\xef\xbf\xbd");
    expect_number(mutant, "applied", 2);
    json_decref(wrong);
    json_decref(mutant);
    ridge_run_free(&run);
}

static void names_of_cases(void **state) {
    (void)state;
    char name[96], small[8];
    char want[120];
    ridge_case_name(&fixture_matmul, &fixture_matmul_cases[1], name, sizeof name);
    assert_string_equal(name, "1024x1024x1024");
    ridge_case_name(&fixture_norm, &fixture_norm_cases[1], name, sizeof name);
    assert_string_equal(name, "16384x1024/bf16");
    ridge_target told = fixture_norm;
    ridge_case turned = fixture_norm_cases[1];
    told.options[0] = (ridge_option){.name = "ignore", .fallback = -100};
    told.options[1] = (ridge_option){.name = "smoothing"};
    turned.column_major = 1, turned.option[0] = -100, turned.option[1] = 0.1;
    (void)snprintf(want, sizeof want, "%s,%s^T,smoothing=0.1", name, told.in[0].name);
    ridge_case_name(&told, &turned, name, sizeof name);
    assert_string_equal(name, want);
    assert_false(ridge_case_same(&turned, &fixture_norm_cases[1]));
    ridge_case_name(&fixture_norm, &fixture_norm_cases[1], small, sizeof small); /* cut, but ended */
    assert_string_equal(small, "16384x1");
    assert_string_equal(ridge_backend_name(ridge_variant_backend(&fixture_norm_variants[1])), "cpu");
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/ridge-test-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1; /* every test removes its own: leftovers fail here */
}

static size_t read_back(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    assert_int_equal(fclose(file), 0);
    return n;
}

static int files_here(void) {
    int count = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    assert_int_equal(closedir(dir), 0);
    return count;
}

static void a_file_is_written_and_replaced(void **state) {
    (void)state;
    char text[64];
    assert_int_equal(ridge_write_file("a", "one\n", 4, NULL), RIDGE_OK);
    assert_int_equal(read_back("a", text, sizeof text), 4);
    assert_int_equal(chmod("a", 0640), 0);
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(ridge_write_file("link", "second", 6, NULL), RIDGE_OK);
    read_back("a", text, sizeof text);
    assert_string_equal(text, "second"); /* through the link, which stays */
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(files_here(), 2);
    assert_int_equal(unlink("a") | unlink("link"), 0);
}

static void expect_failure(const char *path, const char *words) {
    ridge_error error = {.status = RIDGE_OK};
    assert_int_equal(ridge_write_file(path, "text", 4, &error), RIDGE_IO);
    if (!strstr(error.text, words) || !strstr(error.text, path) || strchr(error.text, '\n'))
        fail_msg("%s: %s", path, error.text);
}

static void failures_name_the_path_and_a_way_out(void **state) {
    (void)state;
    expect_failure("absent/file", "create its directory first");
    expect_failure("/dev/full", "free some space");
    expect_failure("/proc/nothing-here", "");
    assert_int_equal(mkdir("dir", 0755), 0);
    expect_failure("dir", "name a file in it");
    assert_int_equal(rmdir("dir"), 0);
    assert_int_equal(ridge_write_file("plain", "x", 1, NULL), RIDGE_OK);
    expect_failure("plain/file", "not a directory");
    if (geteuid() != 0) {
        assert_int_equal(chmod("plain", 0444), 0);
        expect_failure("plain", "may write to");
    }
    assert_int_equal(unlink("plain"), 0);
    ridge_error error;
    assert_int_equal(ridge_write_file("", "x", 1, &error), RIDGE_INVALID);
}

/* The limit on file sizes stands in for a full disk: the write fails half way. */
static void a_write_that_fails_half_way_leaves_the_old_file(void **state) {
    (void)state;
    static char large[1 << 16];
    char text[64];
    memset(large, 'x', sizeof large);
    assert_int_equal(ridge_write_file("old", "old", 3, NULL), RIDGE_OK);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    limit = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ridge_error error = {.status = RIDGE_OK};
    ridge_status replaced = ridge_write_file("old", large, sizeof large, &error);
    ridge_status fresh = ridge_write_file("new", large, sizeof large, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(replaced, RIDGE_IO);
    assert_int_equal(fresh, RIDGE_IO);
    assert_non_null(strstr(error.text, "new"));
    read_back("old", text, sizeof text);
    assert_string_equal(text, "old");
    assert_int_equal(files_here(), 1); /* neither "new" nor a temporary file */
    assert_int_equal(unlink("old"), 0);
}

static void *read_fifo(void *arg) {
    int fd = open("fifo", O_RDONLY);
    ssize_t n = read(fd, arg, 16);
    (void)close(fd);
    return n == 4 ? arg : NULL;
}

/* What is read by name is a regular file, or an error at once. */
static void only_regular_files_are_read(void **state) {
    static const char *const odd[] = {"fifo", ".", "/dev/zero", "/dev/null"};
    char *text;
    size_t size;
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        ridge_error error = {.status = RIDGE_OK};
        assert_int_equal(ridge_file_read(odd[i], 100, &text, &size, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, "not a regular file"));
        assert_null(text);
    }
    expect_failure("fifo", "no process reads it");
    assert_int_equal(unlink("fifo"), 0);
    assert_int_equal(ridge_file_read("fifo", 100, &text, &size, NULL), RIDGE_NOT_FOUND);
    assert_int_equal(ridge_write_file("short", "12345", 5, NULL), RIDGE_OK);
    assert_int_equal(ridge_file_read("short", 5, &text, &size, NULL), RIDGE_CORRUPT);
    assert_int_equal(ridge_file_read("short", 6, &text, &size, NULL), RIDGE_OK);
    assert_int_equal(size, 5);
    assert_string_equal(text, "12345");
    free(text);
    assert_int_equal(unlink("short"), 0);
}

static void devices_and_pipes_are_written_not_replaced(void **state) {
    (void)state;
    struct stat st;
    char got[17] = "";
    assert_int_equal(ridge_write_file("/dev/null", "text", 4, NULL), RIDGE_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(mkfifo("fifo", 0600), 0);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_fifo, got), 0);
    assert_int_equal(ridge_write_file("fifo", "text", 4, NULL), RIDGE_OK);
    void *result = NULL;
    assert_int_equal(pthread_join(reader, &result), 0);
    assert_true(result && strcmp(got, "text") == 0);
    assert_int_equal(stat("fifo", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(unlink("fifo"), 0);
}

static void standard_output_is_checked(void **state) {
    (void)state;
    char text[64];
    ridge_error error = {.status = RIDGE_OK};
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO), out = open("out", O_CREAT | O_RDWR, 0600), full = open("/dev/full", O_WRONLY);
    assert_true(saved >= 0 && out >= 0 && full >= 0);
    (void)dup2(out, STDOUT_FILENO);
    printf("before ");
    ridge_status good = ridge_write_file("-", "after", 5, NULL);
    (void)dup2(full, STDOUT_FILENO);
    ridge_status bad = ridge_write_file("-", "lost", 4, &error);
    (void)dup2(saved, STDOUT_FILENO);
    clearerr(stdout);
    (void)(close(saved) + close(out) + close(full));
    assert_int_equal(good, RIDGE_OK);
    assert_int_equal(bad, RIDGE_IO);
    assert_non_null(strstr(error.text, "standard output"));
    read_back("out", text, sizeof text);
    assert_string_equal(text, "before after");
    assert_int_equal(unlink("out"), 0);
}

static void json_files_read_back(void **state) {
    (void)state;
    ridge_run run = fixture_run();
    json_t *json = ridge_json_run(&run);
    assert_int_equal(ridge_write_json("run.json", json, NULL), RIDGE_OK);
    json_error_t error;
    json_t *back = json_load_file("run.json", JSON_REJECT_DUPLICATES, &error);
    assert_non_null(back);
    double time =
        json_number_value(at(back, "results.0.samples.5.2")); /* raw samples survive to the last digit that counts */
    assert_true(fabs(time / run.results[0].samples[5].time_us - 1) < 1e-14);
    expect_number(back, "results.0.time_us.median", run.results[0].time_us.median);
    expect_text(back, "results.0.samples.5.3", "18364758544493064725");
    assert_int_equal(json_array_size(at(back, "results")), run.n_results);
    json_decref(back);
    json_decref(json);
    ridge_run_free(&run);
    assert_int_equal(ridge_write_json("none", NULL, NULL), RIDGE_NO_MEMORY);
    assert_int_equal(unlink("run.json"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_its_fields),
        cmocka_unit_test(a_run_has_its_plan),
        cmocka_unit_test(a_result_has_its_fields),
        cmocka_unit_test(untimed_verdicts_show_no_time),
        cmocka_unit_test(a_pair_has_its_fields),
        cmocka_unit_test(the_summary_is_recorded),
        cmocka_unit_test(a_target_lists_what_can_run),
        cmocka_unit_test(nan_becomes_null),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(a_document_is_whole_or_none),
        cmocka_unit_test(verify_has_an_entry_for_all),
        cmocka_unit_test(names_of_cases),
        cmocka_unit_test(a_file_is_written_and_replaced),
        cmocka_unit_test(failures_name_the_path_and_a_way_out),
        cmocka_unit_test(a_write_that_fails_half_way_leaves_the_old_file),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(devices_and_pipes_are_written_not_replaced),
        cmocka_unit_test(standard_output_is_checked),
        cmocka_unit_test(json_files_read_back),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
