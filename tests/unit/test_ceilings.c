/* Ceilings: the plateau detector on made-up ladders, the consistency check, the cache file against every kind of
 * damage, and one real measurement whose parts must fit what a processor can be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/random.h"
#include "device/device.h"
#include "machine/ceilings/ladder.h"
#include "machine/memory/meter.h"
#include "machine/peaks/meter.h"
#include "machine/peaks/peaks.h"
#include "machine/survey/survey.h"

/* ---- made-up ladders --------------------------------------------------------------------------------------------- */

enum { RUNGS = 37 }; /* 4 KiB to 1 GiB */

typedef struct made_level {
    double capacity, read, copy;
} made_level;

static double rung_bytes(int k) { return (double)((size_t)(k % 2 ? 6144 : 4096) << (k / 2)); }

/* Normal deviate of mean 0 and deviation 1 from four uniforms' sum: close enough, and bounded. */
static double noise(uint64_t seed, uint64_t i) {
    double sum = 0;
    for (uint64_t k = 0; k < 4; k++) sum += ridge_random_unit(seed, 4 * i + k);
    return (sum - 2) * sqrt(3);
}

/* Rate at a working set: the part that fits a level comes from it, and beyond the edge a share falls through to the
 * next level that grows over `slide` octaves. */
static double made_rate(const made_level *levels, int n, double bytes, double slide, bool copy) {
    double result = copy ? levels[n - 1].copy : levels[n - 1].read;
    for (int i = n - 2; i >= 0; i--) {
        double own = copy ? levels[i].copy : levels[i].read, over = log2(bytes / levels[i].capacity);
        double share = over <= 0 ? 0 : slide > 0 && over < slide ? over / slide : 1;
        result = exp2(log2(own) * (1 - share) + log2(result) * share);
    }
    return result;
}

static void make_ladder(const made_level *levels, int n, double sigma, double slide, double outliers, uint64_t seed,
                        ridge_rung *rungs) {
    for (int k = 0; k < RUNGS; k++) {
        uint64_t i = (uint64_t)k;
        double hit = ridge_random_unit(seed ^ 77, i) < outliers ? 0.55 : 1;
        rungs[k].bytes = rung_bytes(k);
        rungs[k].read_gbps = made_rate(levels, n, rungs[k].bytes, slide, false) * hit * exp(sigma * noise(seed, 2 * i));
        rungs[k].copy_gbps =
            made_rate(levels, n, rungs[k].bytes, slide, true) * hit * exp(sigma * noise(seed, 2 * i + 1));
    }
}

/* A ladder found right: the number of levels, and each edge within one rung (a factor of 1.5) of the true one, or up to
 * the end of its slide. */
static bool found_right(const made_level *levels, int n, double slide, const ridge_rung *rungs) {
    ridge_plateau p[RIDGE_MAX_LEVELS];
    if (ridge_ladder_plateaus(rungs, RUNGS, p) != n) return false;
    for (int i = 0; i < n; i++) {
        double rate = sqrt(p[i].read * p[i].copy), want = sqrt(levels[i].read * levels[i].copy);
        if (fabs(log2(rate / want)) > 0.2) return false;
        double end = rungs[p[i].last].bytes;
        if (i < n - 1 && (end < levels[i].capacity / 1.51 || end > levels[i].capacity * 1.51 * exp2(slide / 2)))
            return false;
    }
    return p[n - 1].last == RUNGS - 1;
}

static const made_level one[] = {{0, 30, 25}};
static const made_level two[] = {{1 << 20, 200, 150}, {0, 20, 18}};
static const made_level three[] = {{32 << 10, 210, 235}, {32 << 20, 100, 95}, {0, 30, 25}};
static const made_level four[] = {{48 << 10, 400, 300}, {2 << 20, 150, 110}, {48 << 20, 60, 45}, {0, 14, 12}};
static const made_level close_pair[] = {{32 << 10, 200, 230}, {1 << 20, 116, 114}, {16 << 20, 97, 96}, {0, 30, 25}};
static const struct {
    const made_level *levels;
    int n;
} ladders[] = {{one, 1}, {two, 2}, {three, 3}, {four, 4}, {close_pair, 4}};

static void test_clean_ladders(void **state) {
    (void)state;
    ridge_rung rungs[RIDGE_MAX_RUNGS];
    for (size_t l = 0; l < sizeof ladders / sizeof ladders[0]; l++)
        for (double slide = 0; slide <= 1.5; slide += 0.5) {
            make_ladder(ladders[l].levels, ladders[l].n, 0, slide, 0, 1, rungs);
            if (!found_right(ladders[l].levels, ladders[l].n, slide, rungs))
                fail_msg("ladder %zu with slides of %.1f octaves", l, slide);
        }
}

/* Right in at least 97 of 100 ladders at 3 % noise with one rung in thirty hit by an interruption. */
static void test_noisy_ladders(void **state) {
    (void)state;
    enum { TRIALS = 200 };
    ridge_rung rungs[RIDGE_MAX_RUNGS];
    for (size_t l = 0; l < sizeof ladders / sizeof ladders[0]; l++) {
        int right = 0;
        for (uint64_t seed = 1; seed <= TRIALS; seed++) {
            double slide = 1.5 * ridge_random_unit(seed, 1000);
            make_ladder(ladders[l].levels, ladders[l].n, 0.03, slide, 1.0 / 30, seed, rungs);
            right += found_right(ladders[l].levels, ladders[l].n, slide, rungs);
        }
        if (right < TRIALS * 97 / 100) fail_msg("ladder %zu: %d of %d right", l, right, TRIALS);
    }
}

/* Whatever the numbers are, the answer is well formed. */
static void test_any_ladder(void **state) {
    (void)state;
    ridge_rung rungs[RIDGE_MAX_RUNGS];
    static const double odd[] = {0, -1, 1e300, 1e-300, (double)INFINITY, (double)NAN};
    for (uint64_t seed = 0; seed < 200; seed++) {
        int n = (int)(ridge_random(seed, 0) % (RIDGE_MAX_RUNGS + 1));
        for (int k = 0; k < n; k++) {
            uint64_t r = ridge_random(seed, 10 + (uint64_t)k);
            rungs[k] = (ridge_rung){rung_bytes(k), exp(10 * ridge_random_unit(seed, r)), exp(3 * noise(seed, r))};
            if (seed % 4 == 0 && r % 5 == 0) rungs[k].read_gbps = odd[r % 6];
            if (seed % 8 == 0 && r % 7 == 0) rungs[k].copy_gbps = odd[r % 6];
        }
        ridge_plateau p[RIDGE_MAX_LEVELS];
        int levels = ridge_ladder_plateaus(rungs, n, p);
        assert_in_range(levels, 0, RIDGE_MAX_LEVELS);
        for (int i = 0; i < levels; i++) {
            assert_true(p[i].first <= p[i].last && p[i].first >= 0 && p[i].last < n);
            if (i > 0) assert_true(p[i].first > p[i - 1].last);
        }
        if (levels > 0) assert_int_equal(p[levels - 1].last, n - 1);
    }
}

/* ---- a set of ceilings made by hand ------------------------------------------------------------------------------ */

static ridge_interval about(double x) { return (ridge_interval){x, x * 0.99, x * 1.01, 15}; }

static void sample_set(ridge_ceilings *c) {
    *c = (ridge_ceilings){.key = "test-key", .date = "2024-01-01T00:00:00Z", .threads = 2, .n_levels = 3, .n_peaks = 4};
    static const double rates[3][5] = {{65536, 200, 230, 60, 50}, {1 << 21, 110, 105, 100, 80}, {0, 30, 25, 50, 60}};
    static const char *const names[] = {"L1", "L2", "DRAM"};
    for (int i = 0; i < 3; i++) {
        ridge_level *l = &c->levels[i];
        (void)snprintf(l->name, sizeof l->name, "%s", names[i]);
        l->capacity = rates[i][0];
        l->read = about(rates[i][1]), l->copy = about(rates[i][2]);
        l->stream = about(rates[i][3]), l->write = about(rates[i][4]);
    }
    static const struct {
        const char *name, *dtype;
        double rate;
    } peaks[] = {{"fp32 avx2", "fp32", 115},
                 {"fp64 avx2", "fp64", 57},
                 {"bf16 avx512_bf16", "bf16", 230},
                 {"int8 avx2", "int8", 330}};
    for (int i = 0; i < 4; i++) {
        (void)snprintf(c->peaks[i].name, sizeof c->peaks[i].name, "%s", peaks[i].name);
        (void)snprintf(c->peaks[i].dtype, sizeof c->peaks[i].dtype, "%s", peaks[i].dtype);
        (void)snprintf(c->peaks[i].how, sizeof c->peaks[i].how, "by hand");
        c->peaks[i].gflops = about(peaks[i].rate);
    }
    c->n_rungs = RUNGS;
    static const made_level levels[] = {{65536, 200, 230}, {1 << 21, 110, 105}, {0, 30, 25}};
    make_ladder(levels, 3, 0, 1, 0, 1, c->rungs);
}

static void test_lookups(void **state) {
    (void)state;
    ridge_ceilings c;
    sample_set(&c);
    assert_string_equal(ridge_ceilings_dram(&c)->name, "DRAM");
    assert_string_equal(ridge_ceilings_level(&c, 1000)->name, "L1");
    assert_string_equal(ridge_ceilings_level(&c, 65537)->name, "L2");
    assert_string_equal(ridge_ceilings_level(&c, 1e9)->name, "DRAM");
    assert_string_equal(ridge_ceilings_peak(&c, "fp32")->name, "fp32 avx2");
    assert_null(ridge_ceilings_peak(&c, "fp16"));
#if defined(__x86_64__)
    const ridge_rates rates = ridge_ceilings_rates(&c, RIDGE_ISA_avx2); /* of one of two threads, in a microsecond */
    assert_true(rates.flops > 57.4e3 && rates.flops < 57.6e3 && rates.bytes > 14.9e3 && rates.bytes < 15.1e3);
    assert_false(ridge_ceilings_rates(&c, RIDGE_ISA_avx512).flops > 0); /* this set has no such peak */
#endif
    /* The last level ends where memory's rates begin: after the slide of one octave, but not far after. */
    assert_true(ridge_ceilings_last_level(&c) >= 1 << 21 && ridge_ceilings_last_level(&c) <= 1 << 23);
    c.n_rungs = 0;
    assert_true(ridge_ceilings_last_level(&c) == 1 << 21);
    memset(&c, 0, sizeof c);
    assert_null(ridge_ceilings_dram(&c));
    assert_true(ridge_ceilings_last_level(&c) == 0);
}

typedef void (*spoil_fn)(ridge_ceilings *c);
static void spoil_nothing(ridge_ceilings *c) { (void)c; }
static void spoil_l2(ridge_ceilings *c) { c->levels[1].read = about(300); }
static void spoil_dram(ridge_ceilings *c) { c->levels[2].stream = about(150); }
static void spoil_fp64(ridge_ceilings *c) { c->peaks[1].gflops = about(100); }
static void spoil_bf16(ridge_ceilings *c) { c->peaks[2].gflops = about(90); }
static void spoil_int8(ridge_ceilings *c) { c->peaks[3].gflops = about(90); }
static void spoil_nan(ridge_ceilings *c) { c->peaks[0].gflops = about((double)NAN); }
static void spoil_width(ridge_ceilings *c) { c->levels[2].read.low = 15; }
static void spoil_cache(ridge_ceilings *c) { c->levels[0] = c->levels[2], c->n_levels = 1; }
static void spoil_fp32(ridge_ceilings *c) { c->peaks[0] = c->peaks[3], c->n_peaks = 3; }

static void test_faults(void **state) {
    (void)state;
    static const struct {
        spoil_fn spoil;
        const char *says;
    } rows[] = {{spoil_nothing, ""},
                {spoil_l2, "L2 read is above L1 read"},
                {spoil_dram, "DRAM copy is above L2 copy"},
                {spoil_fp64, "fp32 avx2 is 1.15 times fp64 avx2"},
                {spoil_bf16, "bf16 avx512_bf16 is below fp32 avx2"},
                {spoil_int8, "int8 avx2 is below fp32 avx2"},
                {spoil_nan, "fp32 avx2 is not positive"},
                {spoil_width, "rates of DRAM vary"},
                {spoil_cache, "shows no cache"},
                {spoil_fp32, "no fp32 peak"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ridge_ceilings c;
        sample_set(&c);
        rows[i].spoil(&c);
        ridge_ceilings_check(&c);
        if (rows[i].says[0] == '\0')
            assert_string_equal(c.faults, "");
        else if (!strstr(c.faults, rows[i].says))
            fail_msg("want '%s', got '%s'", rows[i].says, c.faults);
    }
}

/* ---- the cache file ---------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/ridge-test-XXXXXX";

static char *slurp(const char *path, int *size) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    *size = (int)fread(text, 1, 1 << 16, file);
    (void)fclose(file);
    return text;
}

static void spit(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int setup_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    char cache[64];
    (void)snprintf(cache, sizeof cache, "%s/deep/er", folder); /* does not exist yet */
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static int teardown_folder(void **state) {
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static void test_file_round_trip(void **state) {
    (void)state;
    static ridge_machine m = {.key = "test-key"};
    ridge_ceilings c, back;
    ridge_error error = {0};
    assert_int_equal(ridge_ceilings_load(&m, 2, &back, &error), RIDGE_NOT_FOUND);
    sample_set(&c);
    c.levels[0].stream = (ridge_interval){0};
    c.levels[1].write.low = c.levels[1].write.high = (double)NAN;
    (void)snprintf(c.faults, sizeof c.faults, "a \"quoted\" fault\n");
    assert_int_equal(ridge_ceilings_save(&c, &error), RIDGE_OK);
    assert_int_equal(ridge_ceilings_load(&m, 2, &back, &error), RIDGE_OK);
    assert_string_equal(back.date, c.date);
    assert_string_equal(back.faults, c.faults);
    assert_int_equal(back.n_rungs, c.n_rungs);
    assert_int_equal(back.levels[0].stream.n, 0);
    assert_true(isnan(back.levels[1].write.low) && isnan(back.levels[1].write.high));
    for (int i = 0; i < c.n_peaks; i++) {
        assert_string_equal(back.peaks[i].how, c.peaks[i].how);
        assert_true(fabs(back.peaks[i].gflops.low / c.peaks[i].gflops.low - 1) < 1e-7);
    }
    assert_int_equal(ridge_ceilings_load(&m, 1, &back, &error), RIDGE_NOT_FOUND); /* other thread count, other file */
    char path[512], other[512];
    assert_int_equal(ridge_ceilings_path(&m, 2, path, (int)sizeof path, &error), RIDGE_OK);
    m.key[0] = 'b';
    assert_int_equal(ridge_ceilings_path(&m, 2, other, (int)sizeof other, &error), RIDGE_OK);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(ridge_ceilings_load(&m, 2, &back, &error), RIDGE_NOT_FOUND); /* right name, wrong machine */
    m.key[0] = 't';
    assert_int_equal(rename(other, path), 0);
    spit(path, "{}", 2);
    assert_int_equal(ridge_ceilings_load(&m, 2, &back, &error), RIDGE_CORRUPT);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(back.n_levels, 0);
}

static void test_file_unwritable(void **state) {
    (void)state;
    ridge_ceilings c;
    ridge_error error = {0};
    char blocked[64], before[256];
    (void)snprintf(before, sizeof before, "%s", getenv("XDG_CACHE_HOME"));
    (void)snprintf(blocked, sizeof blocked, "%s/file", folder);
    spit(blocked, "x", 1);
    sample_set(&c);
    assert_int_equal(setenv("XDG_CACHE_HOME", blocked, 1), 0);
    assert_int_equal(ridge_ceilings_save(&c, &error), RIDGE_IO);
    assert_true(error.text[0] != '\0');
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    char home[512] = "";
    if (getenv("HOME")) (void)snprintf(home, sizeof home, "%s", getenv("HOME"));
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(ridge_ceilings_save(&c, &error), RIDGE_IO);
    if (home[0]) assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", before, 1), 0);
}

/* Every truncation, and thousands of random changes: a clean refusal or a sane set, never a crash. */
static void test_parse_survives(void **state) {
    (void)state;
    static ridge_machine m = {.key = "test-key"};
    ridge_ceilings c, back;
    ridge_error error;
    char path[512];
    int size, refused = 0;
    sample_set(&c);
    assert_int_equal(ridge_ceilings_save(&c, &error), RIDGE_OK);
    assert_int_equal(ridge_ceilings_path(&m, 2, path, (int)sizeof path, &error), RIDGE_OK);
    char *text = slurp(path, &size), *copy = malloc((size_t)size);
    assert_non_null(copy);
    assert_int_equal(ridge_ceilings_parse(text, size, &back, &error), RIDGE_OK);
    for (int cut = 0; cut < size; cut += 1 + size / 500) {
        error.text[0] = '\0';
        assert_int_equal(ridge_ceilings_parse(text, cut, &back, &error), RIDGE_CORRUPT);
        assert_true(error.text[0] != '\0');
    }
    for (uint64_t seed = 0; seed < 4000; seed++) {
        memcpy(copy, text, (size_t)size);
        for (uint64_t k = 0; k <= seed % 3; k++)
            copy[ridge_random(seed, 2 * k) % (uint64_t)size] = (char)(ridge_random(seed, 2 * k + 1) & 255);
        ridge_status status = ridge_ceilings_parse(copy, size, &back, &error);
        assert_true(status == RIDGE_OK || status == RIDGE_CORRUPT);
        refused += status != RIDGE_OK;
        if (status != RIDGE_OK) continue;
        assert_in_range(back.n_levels, 1, RIDGE_MAX_LEVELS);
        for (int i = 0; i < back.n_levels; i++)
            assert_true(back.levels[i].read.median > 0 && back.levels[i].read.n > 0);
    }
    assert_true(refused > 500);
    free(copy);
    free(text);
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "3",
                                        "\"x\"",
                                        "{\"schema\": 1}",
                                        "{\"schema\": \"ridge-ceilings/0\"}",
                                        "{\"schema\": \"ridge-ceilings/1\", \"key\": {}}",
                                        "[[[[[[[[[[[[[[[[",
                                        "\xff\xfe"};
    ridge_ceilings c;
    ridge_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(ridge_ceilings_parse(texts[i], (int)strlen(texts[i]), &c, &error), RIDGE_CORRUPT);
    assert_int_equal(ridge_ceilings_parse(texts[0], -1, &c, &error), RIDGE_CORRUPT);
    assert_int_equal(ridge_ceilings_parse(texts[0], 0, &c, NULL), RIDGE_CORRUPT);
}

/* ---- this machine ------------------------------------------------------------------------------------------------ */

/* Every mover moves every byte it should and touches nothing else. */
static void test_movers_move(void **state) {
    (void)state;
    enum { EDGE = 64 };
    int count;
    const ridge_mover *movers = ridge_movers(&count);
    char *source = aligned_alloc(64, 1 << 17), *target = aligned_alloc(64, 1 << 17);
    assert_non_null(source);
    assert_non_null(target);
    for (size_t i = 0; i < 1 << 17; i++) source[i] = (char)(ridge_random(1, i) | 1);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        if (movers[i].feature[0] && !ridge_cpu_has(movers[i].feature)) continue;
        for (size_t bytes = 1024; bytes <= 1 << 16; bytes += 1024 * 7) {
            memset(target, 0x5a, 1 << 17);
            movers[i].run(target + EDGE, source + EDGE, bytes);
            for (size_t k = 0; k < EDGE; k++) assert_true(target[k] == 0x5a && target[EDGE + bytes + k] == 0x5a);
            if (movers[i].motion == RIDGE_MOVE_COPY || movers[i].motion == RIDGE_MOVE_STREAM)
                assert_memory_equal(target + EDGE, source + EDGE, bytes);
            if (movers[i].motion == RIDGE_MOVE_WRITE)
                for (size_t k = 0; k < bytes; k++) assert_int_equal(target[EDGE + k], 0);
        }
    }
    free(source);
    free(target);
}

/* All loops leave the sums that the host predicts, on every thread, and none claims an absurd rate. */
static void test_peaks_agree(void **state) {
    (void)state;
    static ridge_machine m;
    ridge_error error;
    ridge_meter meter;
    ridge_peak peaks[RIDGE_MAX_PEAKS];
    char wrong[320];
    assert_int_equal(ridge_machine_detect(&m, &error), RIDGE_OK);
    assert_int_equal(ridge_meter_create(&m, m.threads < 2 ? 1 : 2, &meter, &error), RIDGE_OK);
    int n = ridge_meter_peaks(&meter, NULL, NULL, 2, peaks, wrong, (int)sizeof wrong);
    assert_string_equal(wrong, "");
    assert_true(n >= 3 && n <= RIDGE_MAX_PEAKS);
    for (int i = 0; i < n; i++) assert_true(peaks[i].gflops.median > 0.01 && peaks[i].gflops.median < 1e5);
    ridge_meter_destroy(&meter);
}

static void test_bad_threads(void **state) {
    (void)state;
    static ridge_machine m;
    ridge_ceilings c;
    ridge_level dram;
    ridge_peak fp32;
    ridge_probe probe = {0};
    ridge_error error;
    assert_int_equal(ridge_machine_detect(&m, &error), RIDGE_OK);
    assert_int_equal(ridge_ceilings_measure(&m, 0, NULL, NULL, &c, &error), RIDGE_INVALID);
    assert_int_equal(ridge_ceilings_measure(&m, m.threads + 1, NULL, NULL, &c, &error), RIDGE_INVALID);
    assert_int_equal(ridge_ceilings_probe(&m, -3, &probe, &dram, &fp32, &error), RIDGE_INVALID);
}

static bool count_steps(void *arg, int done, int total, const char *what) {
    int *last = arg;
    assert_true(done >= *last && done <= total && what[0] != '\0');
    *last = done;
    return true;
}

static bool end_at_once(void *arg, int done, int total, const char *what) {
    (void)arg, (void)done, (void)total;
    return what[0] == '\0';
}

static void test_measure_and_probe(void **state) {
    (void)state;
    static ridge_machine m;
    static ridge_ceilings c;
    ridge_level dram, again;
    ridge_peak fp32, same;
    ridge_probe probe = {0};
    ridge_error error = {0};
    int last = 0;
    assert_int_equal(ridge_machine_detect(&m, &error), RIDGE_OK);
    assert_int_equal(ridge_ceilings_measure(&m, 1, count_steps, &last, &c, &error), RIDGE_OK);
    assert_true(last > 0);
    assert_string_equal(c.key, m.key);
    assert_int_equal(c.threads, 1);
    assert_true(c.n_levels >= 1 && c.n_rungs > 20);
    assert_true(c.rungs[c.n_rungs - 1].bytes >= 4 * ridge_ceilings_level(&c, 0)->capacity);
    assert_true(ridge_ceilings_dram(&c)->read.median > 0.1 && ridge_ceilings_dram(&c)->copy.median > 0.1);
    assert_non_null(ridge_ceilings_peak(&c, "fp32"));
    assert_non_null(ridge_ceilings_peak(&c, "fp64"));
    assert_int_equal(ridge_ceilings_measure(&m, 1, end_at_once, NULL, &c, &error), RIDGE_INTERRUPTED);
    assert_int_equal(ridge_ceilings_probe(&m, 1, &probe, &dram, &fp32, &error), RIDGE_OK);
    const ridge_probe chosen = probe;
    assert_true(probe.movers.n[RIDGE_MOVE_READ] > 0 && probe.movers.n[RIDGE_MOVE_COPY] > 0);
    assert_int_equal(ridge_ceilings_probe(&m, 1, &probe, &again, &same, &error), RIDGE_OK);
    assert_memory_equal(&probe, &chosen, sizeof probe);
    assert_string_equal(same.name, fp32.name);
    assert_true(again.read.n == dram.read.n && again.copy.n == dram.copy.n && again.read.median > 0.1);
    ridge_ceilings_of_probe(&m, 1, &dram, &fp32, &c); /* a set that cold operands and placement can use */
    assert_true(ridge_ceilings_last_level(&c) >= (double)m.cache_bytes[2] && c.faults[0]);
    assert_true(ridge_ceilings_dram(&c)->read.median > 0 && ridge_ceilings_peak(&c, "fp32"));
    assert_true(dram.read.n > 0 && dram.copy.n > 0 && fp32.gflops.median > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean_ladders),    cmocka_unit_test(test_noisy_ladders),
                                       cmocka_unit_test(test_any_ladder),       cmocka_unit_test(test_lookups),
                                       cmocka_unit_test(test_faults),           cmocka_unit_test(test_file_round_trip),
                                       cmocka_unit_test(test_file_unwritable),  cmocka_unit_test(test_parse_survives),
                                       cmocka_unit_test(test_parse_refuses),    cmocka_unit_test(test_movers_move),
                                       cmocka_unit_test(test_peaks_agree),      cmocka_unit_test(test_bad_threads),
                                       cmocka_unit_test(test_measure_and_probe)};
    return cmocka_run_group_tests(tests, setup_folder, teardown_folder);
}
