/* The GPU's meter on an invented GPU: its clock is a number, its launches work on host memory and take the time that
 * their bytes or steps take at invented rates. So what the meter finds can be compared with what is so: rates,
 * capacity, and that loops which do less than they should have no rate, however fast they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ridge_cuda_alloc invented_alloc
#define ridge_cuda_free invented_free
#define ridge_cuda_copy invented_copy
#define ridge_cuda_set invented_set
#define ridge_cuda_check invented_check
#define ridge_stream_create invented_create
#define ridge_stream_destroy invented_destroy
#define ridge_stream_handle invented_handle
#define ridge_stream_record invented_record
#define ridge_stream_wait invented_wait
#define ridge_stream_elapsed invented_elapsed
#define ridge_gpu_dram_movers invented_dram_movers
#define ridge_gpu_l2_movers invented_l2_movers
#define ridge_gpu_shared_movers invented_shared_movers
#define ridge_gpu_scalar_loops invented_scalar_loops
#define ridge_gpu_mma_loops invented_mma_loops
#define ridge_gpu_wgmma_loops invented_wgmma_loops
#define ridge_gpu_meter_fill invented_fill
#define ridge_gpu_meter_mismatches invented_mismatches
#define ridge_gpu_meter invented_meter
#undef RIDGE_HAVE_CUDA
#define RIDGE_HAVE_CUDA 1
#include "machine/gpu/meter.c"

/* ---- the device ------------------------------------------------------------------------------------------------- */

static double now_us, events[SAMPLES + 1];
static bool refuses, dead; /* the next launch; everything */
static int stream_there;

ridge_status ridge_cuda_alloc(size_t bytes, void **memory, ridge_error *e) {
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *memory ? RIDGE_OK : ridge_fail(e, RIDGE_NO_MEMORY, "none");
}
void ridge_cuda_free(void *memory) { free(memory); }
ridge_status ridge_cuda_copy(void *to, const void *from, size_t bytes, ridge_error *e) {
    memcpy(to, from, bytes);
    return dead ? ridge_fail(e, RIDGE_FAILED, "dead") : RIDGE_OK;
}
ridge_status ridge_cuda_set(void *memory, int byte, size_t bytes, ridge_error *e) {
    memset(memory, byte, bytes);
    return dead ? ridge_fail(e, RIDGE_FAILED, "dead") : RIDGE_OK;
}
ridge_status ridge_cuda_check(bool *sticky, ridge_error *e) {
    bool refused = refuses;
    refuses = false;
    *sticky = dead;
    return refused ? ridge_fail(e, RIDGE_FAILED, "launch: refused") : RIDGE_OK;
}
ridge_status ridge_stream_create(int n, ridge_stream **stream, ridge_error *e) {
    *stream = (ridge_stream *)&stream_there;
    return n <= SAMPLES + 1 ? RIDGE_OK : ridge_fail(e, RIDGE_INVALID, "more events than expected");
}
void ridge_stream_destroy(ridge_stream *stream) { (void)stream; }
void *ridge_stream_handle(ridge_stream *stream) { return stream; }
ridge_status ridge_stream_record(ridge_stream *stream, int event, ridge_error *e) {
    (void)stream, (void)e;
    assert_in_range(event, 0, SAMPLES);
    events[event] = now_us;
    return RIDGE_OK;
}
ridge_status ridge_stream_wait(ridge_stream *stream, ridge_error *e) {
    (void)stream;
    return dead ? ridge_fail(e, RIDGE_FAILED, "dead") : RIDGE_OK;
}
ridge_status ridge_stream_elapsed(ridge_stream *stream, int from, int to, double *us, ridge_error *e) {
    (void)stream, (void)e;
    *us = events[to] - events[from];
    return RIDGE_OK;
}

static void spend(double bytes, double gbps) { now_us += 2 + bytes * 1e-3 / gbps; } /* 2 µs to start */

/* ---- movers ----------------------------------------------------------------------------------------------------- */

static const double l2_size = 6e6, l2_gbps = 2, memory_gbps = 1;
static double dram_gbps = 60;

void ridge_gpu_meter_fill(void *memory, size_t bytes, void *stream) {
    uint32_t *words = memory;
    (void)stream;
    for (uint32_t i = 0; i < bytes / 4; i++) words[i] = ridge_gpu_word(i);
}
void ridge_gpu_meter_mismatches(const void *memory, size_t bytes, uint32_t *sums, void *stream) {
    const uint32_t *words = memory;
    (void)stream;
    for (uint32_t i = 0; i < bytes / 4; i++) sums[0] += words[i] != ridge_gpu_word(i);
}

static uint32_t sum_up(const char *memory, size_t from, size_t to) {
    uint32_t sum = 0, word;
    for (size_t at = from; at < to; at += 4) {
        memcpy(&word, memory + at, 4);
        sum += word;
    }
    return sum;
}

static void dram_read(const ridge_gpu_work *w) {
    w->sums[7] += sum_up(w->memory, 0, w->bytes);
    spend((double)w->bytes, dram_gbps);
}
static void dram_copy(const ridge_gpu_work *w) {
    memcpy(w->memory + w->bytes / 2, w->memory, w->bytes / 2);
    spend((double)w->bytes, 0.8 * dram_gbps);
}
static void dram_better_copy(const ridge_gpu_work *w) {
    memcpy(w->memory + w->bytes / 2, w->memory, w->bytes / 2);
    spend((double)w->bytes, 0.9 * dram_gbps);
}
/* Leaves out the last 16 bytes, and is twice as fast. */
static void dram_short_copy(const ridge_gpu_work *w) {
    memcpy(w->memory + w->bytes / 2, w->memory, w->bytes / 2 - 16);
    spend((double)w->bytes, 2 * dram_gbps);
}
static void dram_short_read(const ridge_gpu_work *w) {
    w->sums[0] += sum_up(w->memory, 0, w->bytes - 4);
    spend((double)w->bytes, 2 * dram_gbps);
}
static void dram_write(const ridge_gpu_work *w) {
    ridge_gpu_meter_fill(w->memory, w->bytes, NULL);
    spend((double)w->bytes, dram_gbps);
}

static const ridge_gpu_mover dram_table[] = {
    {RIDGE_GPU_READ, "short read", dram_short_read}, {RIDGE_GPU_READ, "plain read", dram_read},
    {RIDGE_GPU_COPY, "plain copy", dram_copy},       {RIDGE_GPU_COPY, "better copy", dram_better_copy},
    {RIDGE_GPU_COPY, "short copy", dram_short_copy}, {RIDGE_GPU_WRITE, "plain write", dram_write},
};

/* Accesses of the walk: `passes` of every thread, around the set. */
static size_t accesses(const ridge_gpu_work *w) {
    return (size_t)w->passes * (size_t)w->sm_count * RIDGE_GPU_BLOCKS * RIDGE_GPU_THREADS;
}
static double l2_rate(const ridge_gpu_work *w) { return (double)w->bytes <= l2_size ? l2_gbps : memory_gbps; }

static void l2_read(const ridge_gpu_work *w) {
    for (size_t left = accesses(w) * 16; left > 0;) {
        size_t part = left < w->bytes ? left : w->bytes;
        w->sums[3] += sum_up(w->memory, 0, part);
        left -= part;
    }
    spend((double)accesses(w) * 16, l2_rate(w));
}
static void l2_copy(const ridge_gpu_work *w) {
    size_t half = w->bytes / 2, part = accesses(w) * 16 < half ? accesses(w) * 16 : half;
    memcpy(w->memory + half, w->memory, part);
    spend((double)accesses(w) * 32, l2_rate(w));
}
static void l2_write(const ridge_gpu_work *w) {
    ridge_gpu_meter_fill(w->memory, w->bytes, NULL);
    spend((double)accesses(w) * 16, l2_rate(w));
}
static const ridge_gpu_mover l2_table[] = {
    {RIDGE_GPU_READ, "walk", l2_read}, {RIDGE_GPU_COPY, "walk", l2_copy}, {RIDGE_GPU_WRITE, "walk", l2_write}};

static void add_shared(const ridge_gpu_work *w, double bytes, uint32_t sum) {
    w->sums[0] += sum * (uint32_t)w->sm_count;
    spend((double)w->passes * w->sm_count * RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS * bytes, 300);
}
static void shared_read(const ridge_gpu_work *w) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS * 4; i++) sum += ridge_gpu_word(i);
    add_shared(w, 16, sum * (uint32_t)w->passes);
}
static void shared_copy(const ridge_gpu_work *w) { add_shared(w, 32, RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS); }
static const ridge_gpu_mover shared_table[] = {{RIDGE_GPU_READ, "read", shared_read},
                                               {RIDGE_GPU_COPY, "copy", shared_copy}};

const ridge_gpu_mover *ridge_gpu_dram_movers(int *n) { return *n = 6, dram_table; }
const ridge_gpu_mover *ridge_gpu_l2_movers(int *n) { return *n = 3, l2_table; }
const ridge_gpu_mover *ridge_gpu_shared_movers(int *n) { return *n = 2, shared_table; }

/* ---- loops ------------------------------------------------------------------------------------------------------ */

enum { LOOP_BLOCKS = 2, LOOP_THREADS = 128, LOOP_SUMS = 8 };
static int64_t most_seen;

static void add_right(const ridge_gpu_work *w, uint32_t missing, double gflops) {
    uint32_t blocks = LOOP_BLOCKS * (uint32_t)w->sm_count;
    w->sums[9] += blocks * LOOP_THREADS * LOOP_SUMS - missing;
    if (w->passes > most_seen) most_seen = w->passes;
    spend(1e6 * (double)w->passes * blocks, gflops);
}
static void good_loop(const ridge_gpu_work *w) { add_right(w, 0, 4000); }
static void wrong_loop(const ridge_gpu_work *w) { add_right(w, 1, 9000); }
static void refused_loop(const ridge_gpu_work *w) { (void)w, refuses = true; }
static void deadly_loop(const ridge_gpu_work *w) { (void)w, refuses = dead = true; }
static void operand_loop(const ridge_gpu_work *w) {
    static ridge_gpu_operands want;
    ridge_gpu_operands_make(RIDGE_GPU_BF16, &want);
    bool right = memcmp(w->operands, &want, sizeof want) == 0 && (double)w->unit == 0x1p-14;
    add_right(w, right ? 0 : 1, 8000);
}
#define LOOP(name, operand, least, most, launch) \
    { name, "fp32", "somehow", operand, least, most, LOOP_BLOCKS, LOOP_THREADS, LOOP_SUMS, 1e6, 2000, launch }
static const ridge_gpu_loop scalar_table[] = {LOOP("good", RIDGE_GPU_OPERANDS, 80, 9999, good_loop),
                                              LOOP("wrong", RIDGE_GPU_OPERANDS, 80, 9999, wrong_loop),
                                              LOOP("refused", RIDGE_GPU_OPERANDS, 80, 9999, refused_loop),
                                              LOOP("of others", RIDGE_GPU_OPERANDS, 100, 9999, good_loop)};
static const ridge_gpu_loop mma_table[] = {LOOP("operands", RIDGE_GPU_BF16, 80, 9999, operand_loop)};
static const ridge_gpu_loop wgmma_table[] = {LOOP("deadly", RIDGE_GPU_OPERANDS, 90, 90, deadly_loop),
                                             LOOP("after it", RIDGE_GPU_OPERANDS, 90, 90, good_loop)};
const ridge_gpu_loop *ridge_gpu_scalar_loops(int *n) { return *n = 4, scalar_table; }
const ridge_gpu_loop *ridge_gpu_mma_loops(int *n) { return *n = 1, mma_table; }
const ridge_gpu_loop *ridge_gpu_wgmma_loops(int *n) { return *n = 2, wgmma_table; }

/* ---- what is found ---------------------------------------------------------------------------------------------- */

static const ridge_gpu invented = {.name = "Invented",
                                   .sm = 90,
                                   .sm_count = 3,
                                   .free_bytes = INT64_C(64) << 22,
                                   .l2_bytes = 8 << 20,
                                   .shared_bytes = 100000};
static ridge_ceilings found;

static void measure_all(void **state) {
    (void)state;
    ridge_error error = {0};
    memset(&found, 0, sizeof found);
    dead = refuses = false;
    if (ridge_gpu_meter(&invented, &found, &error) != RIDGE_OK) fail_msg("%s", error.text);
}

static void near(ridge_interval rate, double want) {
    assert_int_equal(rate.n, SAMPLES);
    if (!(fabs(rate.median / want - 1) < 0.01)) fail_msg("%g instead of %g", rate.median, want);
}

static void test_levels(void **state) {
    measure_all(state);
    assert_int_equal(found.n_levels, 3);
    assert_string_equal(found.levels[0].name, "shared");
    near(found.levels[0].read, 300);
    near(found.levels[0].copy, 300);
    assert_int_equal(found.levels[0].write.n, 0); /* there is no such mover */
    assert_string_equal(found.levels[1].name, "L2");
    near(found.levels[1].read, l2_gbps);
    near(found.levels[1].copy, l2_gbps);
    assert_true(found.levels[1].capacity <= l2_size + 1e6 && found.levels[1].capacity > 0.6 * l2_size);
    assert_true(found.n_rungs >= 10);
    near(found.levels[2].read, dram_gbps);
    near(found.levels[2].copy, 0.9 * dram_gbps);
    near(found.levels[2].write, dram_gbps);
}

static void test_short_movers_have_no_rate(void **state) {
    (void)state;
    assert_non_null(strstr(found.levels[2].how, "read: plain read"));
    assert_non_null(strstr(found.levels[2].how, "copy: better copy"));
    assert_non_null(strstr(found.faults, "wrong data (short read)"));
    assert_non_null(strstr(found.faults, "wrong data (short copy)"));
    assert_null(strstr(found.faults, "plain"));
}

static void test_peaks(void **state) {
    (void)state;
    assert_int_equal(found.n_peaks, 2);
    assert_string_equal(found.peaks[0].name, "good");
    near(found.peaks[0].gflops, 4000);
    assert_string_equal(found.peaks[1].name, "operands");
    near(found.peaks[1].gflops, 8000);
    assert_true(most_seen <= 2000); /* sums stay exact */
    assert_non_null(strstr(found.faults, "wrong gives a wrong sum"));
    assert_non_null(strstr(found.faults, "refused: launch: refused"));
    assert_non_null(strstr(found.faults, "deadly"));
    assert_null(strstr(found.faults, "after it")); /* nothing is asked of a dead GPU */
}

static void test_no_room(void **state) {
    (void)state;
    ridge_gpu full = invented;
    ridge_error error = {0};
    full.free_bytes = 1 << 20;
    assert_int_equal(ridge_gpu_meter(&full, &found, &error), RIDGE_NO_MEMORY);
    assert_true(error.text[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_short_movers_have_no_rate),
                                       cmocka_unit_test(test_peaks), cmocka_unit_test(test_no_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
