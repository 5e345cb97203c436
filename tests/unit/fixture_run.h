/* A run made by hand, for the tests of placement, record and report: two invented targets on an invented machine, so
 * that nothing here depends on what is under targets/. */
#ifndef RIDGE_TESTS_FIXTURE_RUN_H
#define RIDGE_TESTS_FIXTURE_RUN_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "record/record.h"

static ridge_status fixture_nothing(const ridge_call *call) { return call ? RIDGE_OK : RIDGE_INVALID; }

static const char *fixture_no_library(const ridge_case *c) { return c->dim[0] > 512 ? "libpeer.so not found" : NULL; }

static void fixture_norm_work(const ridge_case *c, ridge_work *w) {
    double n = (double)(c->dim[0] * c->dim[1]), bytes = n * (double)ridge_dtype_size(c->dtype);
    *w = (ridge_work){.flops = 3 * n, .bytes_read = bytes, .bytes_written = bytes};
}

static void fixture_matmul_work(const ridge_case *c, ridge_work *w) {
    double m = (double)c->dim[0], k = (double)c->dim[1], n = (double)c->dim[2];
    *w = (ridge_work){.flops = 2 * m * n * k, .bytes_read = 4 * (m * k + k * n), .bytes_written = 4 * m * n};
}

static const ridge_case fixture_norm_cases[] = {
    {.dim = {16384, 1024}, .dtype = RIDGE_F32},
    {.dim = {16384, 1024}, .dtype = RIDGE_BF16},
    {.dim = {1, 1}, .dtype = RIDGE_F32, .edge = true},
};
static const ridge_case fixture_matmul_cases[] = {
    {.dim = {256, 256, 256}, .dtype = RIDGE_F32},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_F32},
};
static const ridge_tensor_spec fixture_norm_in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec fixture_norm_out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};
static const ridge_tensor_spec fixture_matmul_in[] = {{.name = "a", .rank = 2, .dim = {0, 1}, .by_row = true},
                                                      {.name = "b", .rank = 2, .dim = {1, 2}}};
static const ridge_tensor_spec fixture_matmul_out[] = {{.name = "c", .rank = 2, .dim = {0, 2}}};
static const ridge_variant fixture_norm_variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "three passes", .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "one pass", .run = RIDGE_ANY_ISA(fixture_nothing)},
};
static const ridge_variant fixture_matmul_variants[] = {
    {.name = "cpu/baseline", .role = RIDGE_BASELINE, .idea = "loops", .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cpu/optimized", .role = RIDGE_OPTIMIZED, .idea = "tiles", .run = RIDGE_ANY_ISA(fixture_nothing)},
    {.name = "cpu/peer",
     .role = RIDGE_PEER,
     .idea = "a library",
     .run = RIDGE_ANY_ISA(fixture_nothing),
     .unavailable = fixture_no_library},
};
static const ridge_target fixture_norm = {
    .name = "toy_norm",
    .chapter = "ch00",
    .summary = "row-wise norm",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(fixture_norm_cases),
    .in = RIDGE_LIST(fixture_norm_in),
    .out = RIDGE_LIST(fixture_norm_out),
    .variants = RIDGE_LIST(fixture_norm_variants),
    .work = fixture_norm_work,
};
static const ridge_target fixture_matmul = {
    .name = "toy_matmul",
    .chapter = "ch00",
    .summary = "matrix product",
    .dims = {"m", "k", "n"},
    .cases = RIDGE_LIST(fixture_matmul_cases),
    .in = RIDGE_LIST(fixture_matmul_in),
    .out = RIDGE_LIST(fixture_matmul_out),
    .variants = RIDGE_LIST(fixture_matmul_variants),
    .work = fixture_matmul_work,
};

static inline ridge_interval fixture_interval(double median) {
    return (ridge_interval){.median = median, .low = 0.997 * median, .high = 1.004 * median, .n = 40};
}

static inline ridge_level fixture_level(const char *name, double capacity, double read, double copy, double stream) {
    ridge_level level = {.capacity = capacity, .read = fixture_interval(read), .copy = fixture_interval(copy)};
    if (stream > 0) level.stream = fixture_interval(stream), level.write = fixture_interval(0.9 * stream);
    (void)snprintf(level.name, sizeof level.name, "%s", name);
    return level;
}

static inline void fixture_add_peak(ridge_ceilings *c, const char *name, const char *dtype, double gflops) {
    ridge_peak *peak = &c->peaks[c->n_peaks++];
    peak->gflops = fixture_interval(gflops);
    (void)snprintf(peak->name, sizeof peak->name, "%s", name);
    (void)snprintf(peak->dtype, sizeof peak->dtype, "%s", dtype);
    (void)snprintf(peak->how, sizeof peak->how, "16 independent accumulators");
}

static inline ridge_ceilings fixture_ceilings(void) {
    ridge_ceilings c = {.key = "invented-1-2c", .date = "2026-11-21T02:00:00Z", .threads = 2, .n_levels = 4};
    c.levels[0] = fixture_level("L1", 65536, 800, 600, 0);
    c.levels[1] = fixture_level("L2", 2097152, 300, 250, 100);
    c.levels[2] = fixture_level("L3", 33554432, 150, 120, 60);
    c.levels[3] = fixture_level("DRAM", 0, 45, 40, 50);
    fixture_add_peak(&c, "fp32 scalar", "fp32", 15);
    fixture_add_peak(&c, "fp32 avx2", "fp32", 230);
    fixture_add_peak(&c, "fp32 avx512", "fp32", 240);
    fixture_add_peak(&c, "fp64 avx512", "fp64", 120);
    for (int i = 0; i < 5; i++)
        c.rungs[c.n_rungs++] = (ridge_rung){4096.0 * (1 << 4 * i), 800.0 / (1 << i), 600.0 / (1 << i)};
    return c;
}

static inline ridge_machine fixture_machine(void) {
    ridge_machine m = {.key = "invented-1-2c",
                       .cpu = "Invented 1",
                       .arch = "none",
                       .kernel = "Test 1",
                       .compiler = "cc",
                       .cores = 2,
                       .threads = 2,
                       .cpus = {0, 1},
                       .memory_bytes = INT64_C(8) << 30,
                       .cache_bytes = {32768, 1048576, 33554432, 0},
                       .isa = (ridge_isa)(RIDGE_ISA_COUNT - 1)};
    (void)snprintf(m.features, sizeof m.features, "avx2 fma");
    return m;
}

/* Adds a result whose samples lie around time_us: rounds of two visits. */
static inline ridge_result *fixture_add(ridge_run *run, const ridge_target *target, int c, int variant, double time_us,
                                        ridge_verdict verdict) {
    enum { ROUNDS = 12 };
    ridge_result *r = &run->results[run->n_results++];
    *r = (ridge_result){.target = target,
                        .c = target->cases[c],
                        .variant = &target->variants[variant],
                        .isa = run->machine.isa,
                        .verdict = verdict,
                        .stop = RIDGE_STOP_CONVERGED,
                        .frame_us = 0.3};
    target->work(&r->c, &r->work);
    double times[2 * ROUNDS];
    if (verdict != RIDGE_VERDICT_SKIPPED) {
        r->n_samples = 2 * ROUNDS;
        r->samples = calloc((size_t)r->n_samples, sizeof *r->samples);
        for (int i = 0; i < r->n_samples; i++) {
            times[i] = time_us * (1 + 0.01 * ridge_random_unit((uint64_t)run->n_results, (uint64_t)i));
            r->samples[i] = (ridge_sample){.round = i / 2,
                                           .visit = i % 2,
                                           .time_us = times[i],
                                           .worst = 0.25,
                                           .seed = UINT64_C(0xfedcba9876543210) + (uint64_t)i,
                                           .rows_checked = 4};
        }
    }
    r->time_us = ridge_median_interval(times, r->n_samples);
    ridge_place(&r->work, r->time_us.median, &run->ceilings, run->settings.hot, "fp32", &r->place);
    r->check = (ridge_check){.ok = verdict == RIDGE_VERDICT_OK,
                             .worst = 0.25,
                             .max_abs_error = 1e-7,
                             .max_rel_error = 1e-6,
                             .rows_checked = r->c.dim[0],
                             .rows = r->c.dim[0]};
    return r;
}

static inline void fixture_pair(ridge_run *run, int a, int b, double speedup) {
    ridge_work *w = &run->results[b].work;
    run->pairs[run->n_pairs++] = (ridge_pair){.a = a,
                                              .b = b,
                                              .speedup = {speedup, 0.99 * speedup, 1.01 * speedup, 12},
                                              .compared = true,
                                              .agree = true,
                                              .max_difference = 1e-7,
                                              .equal_fraction = 0.75,
                                              .traffic_a = 3 * (w->bytes_read + w->bytes_written),
                                              .traffic_b = w->bytes_read + w->bytes_written};
}

static char fixture_program[] = "ridge", fixture_verb[] = "run", fixture_odd[] = "caf\xc3\xa9 \xff\xfe";
static char *fixture_argv[] = {fixture_program, fixture_verb, fixture_odd, NULL};

/* Every role and every verdict once. Free with ridge_run_free(). */
static inline ridge_run fixture_run(void) {
    ridge_run run = {
        .date = "2026-11-21T02:10:00Z", .machine = fixture_machine(), .ceilings = fixture_ceilings(), .wall_s = 12.5};
    run.settings = (ridge_settings){.threads = 2, .seed = UINT64_MAX, .max_time = 2, .argc = 3, .argv = fixture_argv};
    run.results = calloc(16, sizeof *run.results);
    run.pairs = calloc(16, sizeof *run.pairs);
    fixture_add(&run, &fixture_norm, 0, 0, 9000, RIDGE_VERDICT_OK);
    fixture_add(&run, &fixture_norm, 0, 1, 2800, RIDGE_VERDICT_OK);
    fixture_add(&run, &fixture_norm, 1, 0, 5000, RIDGE_VERDICT_OK);
    ridge_result *wrong = fixture_add(&run, &fixture_norm, 1, 1, 700, RIDGE_VERDICT_WRONG);
    (void)snprintf(wrong->reason, sizeof wrong->reason, "out y[3,17] = 0.25, want 0.5 ± 1e-7");
    fixture_add(&run, &fixture_matmul, 0, 0, 900, RIDGE_VERDICT_OK);
    fixture_add(&run, &fixture_matmul, 0, 1, 155, RIDGE_VERDICT_FRAME);
    fixture_add(&run, &fixture_matmul, 0, 2, 160, RIDGE_VERDICT_OK);
    fixture_add(&run, &fixture_matmul, 1, 0, 60000, RIDGE_VERDICT_FAILED);
    fixture_add(&run, &fixture_matmul, 1, 1, 800, RIDGE_VERDICT_IMPOSSIBLE);
    ridge_result *skipped = fixture_add(&run, &fixture_matmul, 1, 2, 0, RIDGE_VERDICT_SKIPPED);
    (void)snprintf(skipped->reason, sizeof skipped->reason, "libpeer.so not found");
    fixture_pair(&run, 0, 1, 3.21);
    fixture_pair(&run, 2, 3, 7.1);
    fixture_pair(&run, 4, 5, 5.8);
    fixture_pair(&run, 6, 5, 1.003);
    run.results[1].of_copy = (ridge_interval){0.97, 0.96, 0.98, 12};
    run.results[1].of_core = run.results[3].of_core = (ridge_interval){0.41, 0.40, 0.42, 12};
    run.dram_before = run.ceilings.levels[3];
    run.dram_after = fixture_level("DRAM", 0, 44, 40.5, 49);
    run.fp32_before = run.fp32_after = run.ceilings.peaks[2];
    return run;
}

#endif
