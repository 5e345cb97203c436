/* What can be known of GPUs without one: operands whose products are predicted, ladders, keys, the ceilings file,
 * datasheets, NVML's words, and that results are held to the ceilings of their own backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/nvml.h"
#include "fixture_run.h"
#include "machine/ceilings/datasheet.h"
#include "machine/ceilings/gpu.h"
#include "machine/doctor/doctor.h"
#include "machine/gpu/operands.h"
#include "machine/survey/survey.h"
#include "report/report.h"
#include "report/roofline.h"

/* ---- operands --------------------------------------------------------------------------------------------------- */

static double element(ridge_gpu_operand kind, const uint8_t *row, int k) {
    return ridge_gpu_operand_value(kind, row + k * ridge_gpu_operand_bytes(kind));
}

/* One slice of a row times one of a column, and the largest partial sum on the way, in units. */
static double product(ridge_gpu_operand kind, const uint8_t *a, const uint8_t *b, int slice, double *largest) {
    int depth = RIDGE_GPU_SLICE / ridge_gpu_operand_bytes(kind);
    double sum = 0, unit = ridge_gpu_operand_unit(kind);
    for (int k = slice * depth; k < (slice + 1) * depth; k++) {
        sum += element(kind, a, k) * element(kind, b, k);
        *largest = fmax(*largest, fabs(sum) / unit);
    }
    return sum;
}

static void test_operands(void **state) {
    (void)state;
    static ridge_gpu_operands o;
    for (int kind = 0; kind < RIDGE_GPU_OPERANDS; kind++) {
        ridge_gpu_operands_make((ridge_gpu_operand)kind, &o);
        double largest = 0, unit = ridge_gpu_operand_unit((ridge_gpu_operand)kind);
        for (int m = 0; m < RIDGE_GPU_ROWS; m++)
            for (int n = 0; n < RIDGE_GPU_COLUMNS; n++)
                for (int slice = 0; slice < RIDGE_GPU_K_BYTES / RIDGE_GPU_SLICE; slice++) {
                    double step = product((ridge_gpu_operand)kind, o.a[0][m], o.b[n], slice, &largest) +
                                  product((ridge_gpu_operand)kind, o.a[1][m], o.b[n], slice, &largest);
                    double want = slice ? 0 : o.row_sign[m] * o.column_sign[n] * unit;
                    if (step != want) fail_msg("kind %d row %d column %d slice %d: %g", kind, m, n, slice, step);
                }
        /* With the steps' own sum on top it is exact in fp32; for fp8 in the 14 bits that some GPUs add it with. */
        assert_true(largest + 32768 < (kind == RIDGE_GPU_E4M3 ? 32768 + 8192 - 4096 : 1 << 24));
    }
}

/* Data that toggles: no zeros, both signs, many different values. */
static void test_operands_are_random(void **state) {
    (void)state;
    static ridge_gpu_operands o;
    for (int kind = 0; kind < RIDGE_GPU_OPERANDS; kind++) {
        int depth = RIDGE_GPU_K_BYTES / ridge_gpu_operand_bytes((ridge_gpu_operand)kind), negative = 0;
        double least = 1e9, most = 0;
        ridge_gpu_operands_make((ridge_gpu_operand)kind, &o);
        for (int m = 0; m < RIDGE_GPU_ROWS; m++)
            for (int k = 0; k < depth; k++) {
                double value = element((ridge_gpu_operand)kind, o.a[0][m], k);
                negative += value < 0;
                least = fmin(least, fabs(value)), most = fmax(most, fabs(value));
            }
        double share = (double)negative / (RIDGE_GPU_ROWS * depth);
        assert_true(least > 0 && most > 1.5 * least);
        assert_true(share > 0.45 && share < 0.55);
        assert_memory_not_equal(o.a[0][0], o.a[0][1], RIDGE_GPU_K_BYTES);
    }
}

/* ---- ladder ----------------------------------------------------------------------------------------------------- */

static int make_ladder(ridge_rung *rungs, double l2, double fast, double slow) {
    int n = 0;
    for (double bytes = 4e6; bytes < 5e8; bytes *= 1.41421356, n++) {
        double in = bytes <= l2 ? 1 : l2 / bytes > 0.5 ? 2 * (l2 / bytes) - 1 : 0; /* a slide down to memory */
        double rate = slow + in * (fast - slow);
        rungs[n] = (ridge_rung){bytes, rate * (n % 2 ? 1.01 : 1), 0.9 * rate};
    }
    return n;
}

static void test_plateau(void **state) {
    (void)state;
    ridge_rung rungs[RIDGE_MAX_RUNGS];
    const double sizes[] = {12e6, 30e6, 50e6, 110e6};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int n = make_ladder(rungs, sizes[i], 6500, 4200);
        double found = ridge_gpu_plateau(rungs, n);
        if (!(found > 0.6 * sizes[i] && found < 1.5 * sizes[i])) fail_msg("%g instead of %g", found, sizes[i]);
    }
    int n = make_ladder(rungs, 30e6, 4250, 4200); /* no faster than memory: no cache seen */
    assert_true(ridge_gpu_plateau(rungs, n) == 0);
    assert_true(ridge_gpu_plateau(rungs, 3) == 0);
    assert_true(ridge_gpu_plateau(rungs, 0) == 0);
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static const ridge_gpu h200 = {.name = "NVIDIA H200",
                               .bus = "00000000:3B:00.0",
                               .sm = 90,
                               .sm_count = 132,
                               .memory_bytes = INT64_C(150000000000),
                               .l2_bytes = 60 << 20};

static ridge_ceilings gpu_ceilings(void) {
    ridge_ceilings c = {.date = "2026-11-21T02:00:00Z"};
    ridge_gpu_key(&h200, c.key, (int)sizeof c.key);
    c.levels[c.n_levels++] = fixture_level("shared", 30.0e6, 33000, 30000, 0);
    c.levels[c.n_levels++] = fixture_level("L2", 26.7e6, 7000, 5500, 0);
    c.levels[c.n_levels++] = fixture_level("DRAM", 0, 4370, 4200, 4260);
    (void)snprintf(c.levels[2].how, sizeof c.levels[2].how, "read: somehow; stream: otherwise");
    fixture_add_peak(&c, "fp32 ffma", "fp32", 60000);
    fixture_add_peak(&c, "bf16 mma", "bf16", 620000);
    fixture_add_peak(&c, "bf16 wgmma", "bf16", 800000);
    c.n_rungs = make_ladder(c.rungs, 30e6, 6500, 4200);
    return c;
}

static void test_key(void **state) {
    (void)state;
    char key[80];
    ridge_gpu_key(&h200, key, (int)sizeof key);
    assert_string_equal(key, "nvidia-h200-sm90-132sm");
    ridge_gpu slice = {.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb", .sm = 80, .sm_count = 14};
    ridge_gpu_key(&slice, key, (int)sizeof key);
    assert_string_equal(key, "nvidia-a100-sxm4-40gb-mig-1g-5gb-sm80-14sm");
    ridge_gpu odd = {.sm = 90, .sm_count = 1};
    memset(odd.name, '/', sizeof odd.name - 1);
    ridge_gpu_key(&odd, key, (int)sizeof key);
    assert_string_equal(key, "sm90-1sm");
    memset(odd.name, 'x', sizeof odd.name - 1);
    ridge_gpu_key(&odd, key, (int)sizeof key);
    assert_true(strlen(key) < sizeof key - 1 && strstr(key, "x-sm90-1sm"));
}

static void test_file(void **state) {
    (void)state;
    char folder[] = "/tmp/ridge-test-gpu-XXXXXX", path[200];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    ridge_ceilings c = gpu_ceilings(), back;
    ridge_error error = {0};
    assert_int_equal(ridge_gpu_ceilings_load(&h200, &back, &error), RIDGE_NOT_FOUND);
    assert_int_equal(ridge_ceilings_save(&c, &error), RIDGE_OK);
    (void)snprintf(path, sizeof path, "%s/ridge/ceilings-nvidia-h200-sm90-132sm.json", folder);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(ridge_gpu_ceilings_load(&h200, &back, &error), RIDGE_OK);
    assert_int_equal(back.threads, 0);
    assert_int_equal(back.n_levels, 3);
    assert_string_equal(back.levels[2].how, c.levels[2].how);
    assert_string_equal(back.levels[0].how, "");
    assert_true(back.levels[2].stream.median == 4260 && back.levels[1].stream.n == 0);
    assert_string_equal(ridge_ceilings_peak(&back, "bf16")->name, "bf16 wgmma");
    ridge_gpu other = h200;
    other.sm_count = 114;
    assert_int_equal(ridge_gpu_ceilings_load(&other, &back, &error), RIDGE_NOT_FOUND);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/ridge", folder);
    (void)rmdir(path);
    (void)rmdir(folder);
}

/* Shared memory holds what a kernel puts there: no working set lies in it by itself. */
static void test_levels(void **state) {
    (void)state;
    ridge_ceilings c = gpu_ceilings();
    assert_string_equal(ridge_ceilings_level(&c, 1e6)->name, "L2");
    assert_string_equal(ridge_ceilings_level(&c, 26e6)->name, "L2");
    assert_string_equal(ridge_ceilings_level(&c, 28e6)->name, "DRAM");
    double cold = ridge_ceilings_last_level(&c);
    assert_true(cold >= 30e6 && cold <= 130e6);
    ridge_ceilings none = {.threads = 0};
    assert_true(ridge_ceilings_last_level(&none) == 0);
}

static void test_no_gpu(void **state) {
    (void)state;
    ridge_gpu none = {.sm = 0};
    ridge_ceilings c;
    ridge_error error = {0};
    assert_int_equal(ridge_gpu_ceilings_measure(&none, NULL, NULL, &c, &error), RIDGE_UNSUPPORTED);
    assert_true(error.text[0] && c.n_levels == 0);
}

/* ---- datasheets and NVML ----------------------------------------------------------------------------------------- */

static void test_datasheets(void **state) {
    (void)state;
    static const char *const names[] = {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3",
                                        "NVIDIA H100 PCIe",      "NVIDIA H100 NVL",       "NVIDIA H200",
                                        "NVIDIA B200",           "NVIDIA L40S",           "NVIDIA GeForce RTX 4090"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const ridge_datasheet *d = ridge_datasheet_find(names[i]);
        if (!d) fail_msg("no datasheet for %s", names[i]);
        assert_true(d->dram_gbps > 500 && strstr(d->source, "NVIDIA"));
        assert_true(d->bf16 >= d->tf32 && d->int8 >= d->bf16 && d->tf32 >= d->fp32);
    }
    const ridge_datasheet *d = ridge_datasheet_find("NVIDIA H200");
    assert_true(ridge_datasheet_rate(d, "bf16") == 989500 && ridge_datasheet_rate(d, "fp32") == 67000);
    assert_true(ridge_datasheet_rate(d, "fp64") == 0 && ridge_datasheet_rate(NULL, "fp32") == 0);
    assert_null(ridge_datasheet_find("NVIDIA H200 MIG 1g.18gb"));
    assert_null(ridge_datasheet_find("NVIDIA GeForce RTX 4090 Laptop GPU"));
    assert_null(ridge_datasheet_find(""));
}

static void test_reasons(void **state) {
    (void)state;
    char text[160], little[12];
    assert_string_equal(ridge_gpu_reasons(0, text, (int)sizeof text), "none");
    assert_string_equal(ridge_gpu_reasons(1, text, (int)sizeof text), "idle");
    assert_string_equal(ridge_gpu_reasons(0x44, text, (int)sizeof text),
                        "software power cap, hardware thermal slowdown");
    assert_string_equal(ridge_gpu_reasons(0x400, text, (int)sizeof text), "reason 0x400");
    assert_string_equal(ridge_gpu_reasons(UINT64_MAX, little, (int)sizeof little), "idle, clock");
    assert_false(ridge_gpu_throttled(0) || ridge_gpu_throttled(1) || ridge_gpu_throttled(2));
    assert_false(ridge_gpu_throttled(0x103));
    assert_true(ridge_gpu_throttled(4) && ridge_gpu_throttled(0x41) && ridge_gpu_throttled(0x80));
    assert_true(ridge_gpu_throttled(0x8000));
}

/* A handle there need not be: everything is then not known. */
static void test_no_nvml(void **state) {
    (void)state;
    ridge_gpu_state now = {.sm_mhz = 7, .known = true};
    ridge_gpu_setup setup = {.ecc = 7};
    ridge_nvml_read(NULL, &now);
    ridge_nvml_setup(NULL, &setup);
    ridge_nvml_close(NULL);
    assert_true(!now.known && now.sm_mhz == 0 && now.throttle == 0);
    assert_true(setup.ecc == -1 && setup.mig == -1 && setup.persistence == -1 && setup.processes == -1);
    ridge_nvml *handle = (ridge_nvml *)&now;
    if (!ridge_nvml_open("0000:ff:1f.7", &handle)) assert_null(handle); /* no such device anywhere */
    ridge_nvml_close(handle);
}

/* ---- a run with both backends --------------------------------------------------------------------------------------
 */

static const ridge_variant both_variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "slow", .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cuda/baseline", .role = RIDGE_BASELINE, .idea = "four kernels", .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cuda/optimized", .role = RIDGE_OPTIMIZED, .idea = "one kernel", .run = RIDGE_ANY_ISA(fixture_nothing)},
};
static const ridge_target both = {
    .name = "toy_both",
    .chapter = "ch00",
    .summary = "row-wise norm",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(fixture_norm_cases),
    .in = RIDGE_LIST(fixture_norm_in),
    .out = RIDGE_LIST(fixture_norm_out),
    .variants = RIDGE_LIST(both_variants),
    .work = fixture_norm_work,
};

static ridge_run run_of_both(void) {
    ridge_run run = fixture_run();
    for (int i = 0; i < run.n_results; i++) free(run.results[i].samples);
    run.machine.gpu = h200;
    run.gpu_ceilings = gpu_ceilings();
    run.has_gpu = true;
    run.n_results = 0, run.n_pairs = 0;
    (void)fixture_add(&run, &both, 0, 0, 9000, RIDGE_VERDICT_OK);
    for (int v = 1; v < 3; v++) {
        ridge_result *r = fixture_add(&run, &both, 0, v, v == 1 ? 120 : 34, RIDGE_VERDICT_OK);
        ridge_place(&r->work, r->time_us.median, ridge_run_ceilings(&run, RIDGE_BACKEND_cuda), false, "fp32",
                    &r->place);
        r->graph_us = fixture_interval(v == 1 ? 118 : 32.5);
        r->event_floor_us = 5.5, r->graph_floor_us = 0.5;
        r->sm_mhz = 1980, r->power_w = 450, r->throttled_samples = v == 1 ? 3 : 0;
        for (int i = 0; i < r->n_samples; i++)
            r->samples[i].gpu = (ridge_gpu_state){1980, 3201, 450, 40, i < r->throttled_samples ? 4 : 0, true};
    }
    fixture_pair(&run, 1, 2, 3.53);
    return run;
}

static void test_run_of_both(void **state) {
    (void)state;
    ridge_run run = run_of_both();
    assert_string_equal(run.results[0].place.binding, "DRAM stream");
    assert_true(run.results[2].place.pct_measured > 80 && run.results[2].place.pct_measured < 105);
    assert_true(run.results[0].place.ridge_point != run.results[2].place.ridge_point);
    assert_true(ridge_run_draws(&run, RIDGE_BACKEND_cpu) && ridge_run_draws(&run, RIDGE_BACKEND_cuda));
    ridge_roofline view;
    assert_int_equal(ridge_roofline_make(&run, RIDGE_BACKEND_cuda, &view, NULL), RIDGE_OK);
    assert_int_equal(view.n_points, 2);
    assert_true(view.peak == 60000 && view.n_levels == 3);
    ridge_roofline_free(&view);
    assert_int_equal(ridge_roofline_make(&run, RIDGE_BACKEND_cpu, &view, NULL), RIDGE_OK);
    assert_int_equal(view.n_points, 1);
    ridge_roofline_free(&view);
    run.has_gpu = false;
    assert_false(ridge_run_draws(&run, RIDGE_BACKEND_cuda));
    run.n_results = 0;
    assert_true(ridge_run_draws(&run, RIDGE_BACKEND_cpu));
    run.n_results = 3;
    ridge_run_free(&run);
}

/* The table with what is said below it. */
static void whole_run(const ridge_run *run, const ridge_page *page) {
    ridge_report_run(run, page);
    ridge_report_conditions(run, page);
}

static char *printed(const ridge_run *run, void (*print)(const ridge_run *run, const ridge_page *page)) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    const ridge_page page = {.tables = stream, .prose = stream, .width = 400, .height = 34};
    print(run, &page);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void print_gpu_peak(const ridge_run *run, const ridge_page *page) {
    ridge_report_peak(NULL, &run->machine.gpu, &run->gpu_ceilings, page);
}

static void expect(const char *text, const char *words) {
    if (strstr(text, words)) return;
    fputs(text, stderr); /* cmocka's messages are short */
    fail_msg("'%s' is not there", words);
}

static void test_tables(void **state) {
    (void)state;
    ridge_run run = run_of_both();
    char *text = printed(&run, whole_run);
    expect(text, "toy_both  row-wise norm, on NVIDIA H200\n");
    expect(text, "in graph");
    expect(text, "32.50 µs");
    expect(text, "1980 MHz, 3 of ");
    expect(text, "An empty kernel: 5.500 µs between two events, 500.0 ns as one of many in a graph.");
    free(text);
    text = printed(&run, print_gpu_peak);
    expect(text, "Ceilings of NVIDIA H200 (nvidia-h200-sm90-132sm)");
    expect(text, "4800");
    expect(text, "989.5");
    expect(text, "81%");
    expect(text, "Datasheet: NVIDIA H200 Tensor Core GPU datasheet");
    expect(text, "DRAM by read: somehow");
    free(text);
    run.n_results = 1, run.n_pairs = 0; /* the CPU's alone: nothing is said of a GPU */
    text = printed(&run, whole_run);
    assert_null(strstr(text, "GPU"));
    assert_null(strstr(text, "in graph"));
    free(text);
    run.n_results = 3;
    ridge_run_free(&run);
}

static double number_at(json_t *json, const char *a, const char *b) {
    json_t *value = json_object_get(json, a);
    if (b) value = json_object_get(value, b);
    if (!json_is_number(value)) fail_msg("no number at %s %s", a, b ? b : "");
    return json_number_value(value);
}

static void test_json(void **state) {
    (void)state;
    ridge_run run = run_of_both();
    json_t *json = ridge_json_run(&run);
    assert_non_null(json);
    json_t *results = json_object_get(json, "results"), *gpu = json_array_get(results, 1);
    assert_null(json_object_get(json_array_get(results, 0), "graph_time_us"));
    assert_true(number_at(gpu, "graph_time_us", "median") == 118);
    assert_true(number_at(gpu, "floors", "graph_us") == 0.5);
    assert_true(number_at(gpu, "clocks", "throttled_samples") == 3);
    json_t *clocks = json_object_get(gpu, "clocks");
    assert_string_equal(json_string_value(json_object_get(clocks, "throttle_reasons")), "software power cap");
    size_t fields = json_array_size(json_object_get(json, "sample_fields")) +
                    json_array_size(json_object_get(json, "gpu_sample_fields"));
    assert_int_equal(json_array_size(json_array_get(json_object_get(gpu, "samples"), 0)), fields);
    json_t *ceilings = json_object_get(json, "gpu_ceilings");
    assert_true(number_at(ceilings, "datasheet", "dram_gbps") == 4800);
    assert_true(number_at(json_object_get(json, "machine"), "gpu", "multiprocessors") == 132);
    json_decref(json);
    run.has_gpu = false;
    run.machine.gpu.sm = 0;
    json = ridge_json_run(&run);
    assert_true(json_is_null(json_object_get(json, "gpu_ceilings")));
    assert_true(json_is_null(json_object_get(json_object_get(json, "machine"), "gpu")));
    json_decref(json);
    ridge_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operands),    cmocka_unit_test(test_operands_are_random),
                                       cmocka_unit_test(test_plateau),     cmocka_unit_test(test_key),
                                       cmocka_unit_test(test_file),        cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_no_gpu),      cmocka_unit_test(test_datasheets),
                                       cmocka_unit_test(test_reasons),     cmocka_unit_test(test_no_nvml),
                                       cmocka_unit_test(test_run_of_both), cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
