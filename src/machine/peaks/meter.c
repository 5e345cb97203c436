/* Compute side of the meter: operands whose sums are known, bursts of peak loops, and the check of what they leave. */
#include "machine/peaks/meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "machine/peaks/peaks.h"

enum { MAX_LOOPS = 32, LINE = 64 };
static const double burst_ns = 2e6;

/* Small integers: x in {2, -1}, y = 3, and start values below 64 make every sum exact. */
enum { X_DOT = 2, X_SPLIT = -1, Y = 3 };

static bool split(ridge_peak_kind kind) {
    return kind == RIDGE_PEAK_F32_SPLIT || kind == RIDGE_PEAK_F64_SPLIT || kind == RIDGE_PEAK_I32_SPLIT;
}

/* Steps beyond which an fp32 sum would no longer be exact; integer sums wrap, which is as predictable. */
static int64_t step_limit(const ridge_peak_loop *loop) {
    bool single = loop->kind == RIDGE_PEAK_F32 || loop->kind == RIDGE_PEAK_BF16 || loop->kind == RIDGE_PEAK_F32_SPLIT;
    int64_t most = single ? (INT64_C(1) << 24) - 64 : INT64_C(1) << 40;
    return most / (split(loop->kind) ? Y : (int64_t)loop->depth * X_DOT * Y);
}

static int64_t start_value(int chain, int lane) { return 1 + (chain * 7 + lane) % 61; }

static int64_t expected(const ridge_peak_loop *loop, int chain, int lane, int64_t steps) {
    int64_t start = start_value(chain, lane);
    if (!split(loop->kind)) return start + steps * loop->depth * X_DOT * Y;
    if (chain < loop->chains / 2) return start + steps * Y;
    return steps % 2 ? -start : start;
}

/* How an operand or an accumulator element is stored. */
typedef enum element { E_F32, E_F64, E_BF16, E_I8, E_I16, E_I32 } element;
static const struct {
    element operand, sum;
} elements[] = {
    [RIDGE_PEAK_F32] = {E_F32, E_F32},       [RIDGE_PEAK_F64] = {E_F64, E_F64},
    [RIDGE_PEAK_BF16] = {E_BF16, E_F32},     [RIDGE_PEAK_I8_I32] = {E_I8, E_I32},
    [RIDGE_PEAK_I8_I16] = {E_I8, E_I16},     [RIDGE_PEAK_F32_SPLIT] = {E_F32, E_F32},
    [RIDGE_PEAK_F64_SPLIT] = {E_F64, E_F64}, [RIDGE_PEAK_I32_SPLIT] = {E_I32, E_I32},
};

static size_t element_bytes(element e) {
    static const size_t bytes[] = {4, 8, 2, 1, 2, 4};
    return bytes[e];
}

static void encode(element e, int64_t value, void *to) {
    float f = (float)value;
    double d = (double)value;
    uint32_t bits, word = (uint32_t)value;
    memcpy(&bits, &f, sizeof bits);
    uint16_t upper = (uint16_t)(bits >> 16), half = (uint16_t)word;
    uint8_t byte = (uint8_t)word;
    const void *from[] = {&f, &d, &upper, &byte, &half, &word};
    memcpy(to, from[e], element_bytes(e));
}

static void fill(element e, int64_t value, char *to, size_t bytes) {
    for (size_t i = 0; i + element_bytes(e) <= bytes; i += element_bytes(e)) encode(e, value, to + i);
}

/* ---- bursts ------------------------------------------------------------------------------------------------------ */

typedef struct bench { /* one thread's operands */
    _Alignas(LINE) char sums[RIDGE_PEAK_MAX_BYTES];
    char x[1024], y[1024];
} bench;

typedef struct peak_job {
    const ridge_peak_loop *loop;
    ridge_team *team;
    bench *benches;
    int threads;
    int64_t steps;
    double samples[RIDGE_METER_SAMPLES];
    bool wrong;
} peak_job;

static void peak_body(void *arg, int rank, int size) {
    (void)size;
    peak_job *job = arg;
    bench *b = &job->benches[rank];
    job->loop->run(b->sums, b->x, b->y, job->steps);
}

static void prepare(peak_job *job) {
    const ridge_peak_loop *loop = job->loop;
    element operand = elements[loop->kind].operand, sum = elements[loop->kind].sum;
    for (int t = 0; t < job->threads; t++) {
        bench *b = &job->benches[t];
        fill(operand, split(loop->kind) ? X_SPLIT : X_DOT, b->x, sizeof b->x);
        fill(operand, Y, b->y, sizeof b->y);
        memset(b->sums, 0, sizeof b->sums);
        for (int c = 0; c < loop->chains; c++)
            for (int l = 0; l < loop->lanes; l++)
                encode(sum, start_value(c, l), b->sums + c * loop->bytes + l * (int)element_bytes(sum));
    }
}

static bool sums_right(const peak_job *job) {
    const ridge_peak_loop *loop = job->loop;
    element sum = elements[loop->kind].sum;
    char want[8];
    for (int t = 0; t < job->threads; t++)
        for (int c = 0; c < loop->chains; c++)
            for (int l = 0; l < loop->lanes; l++) {
                encode(sum, expected(loop, c, l, job->steps), want);
                const char *got = job->benches[t].sums + c * loop->bytes + l * (int)element_bytes(sum);
                if (memcmp(got, want, element_bytes(sum)) != 0) return false;
            }
    return true;
}

static double run_ns(peak_job *job) {
    prepare(job);
    uint64_t begin = ridge_clock_ns();
    ridge_team_run(job->team, peak_body, job);
    double ns = (double)(ridge_clock_ns() - begin);
    if (!sums_right(job)) job->wrong = true;
    return ns > 0 ? ns : 1;
}

/* GFLOP/s; a step makes a multiplication and an addition for each product, or one of them in split chains. */
static double rate(const peak_job *job, double ns) {
    const ridge_peak_loop *loop = job->loop;
    double each = split(loop->kind) ? 1 : 2.0 * loop->depth;
    return (double)job->steps * loop->chains * loop->lanes * each * job->threads / ns;
}

static void set_steps(peak_job *job, double steps) {
    int64_t limit = step_limit(job->loop);
    job->steps = steps < (double)limit ? (int64_t)steps : limit;
    job->steps |= 1; /* odd: a chain of sign changes must not end where it began */
    if (job->steps > limit) job->steps -= 2;
}

/* Of three: steps told by a run that was interrupted would be far too few for all that follow. */
static double least_ns(peak_job *job) {
    double least = run_ns(job);
    for (int i = 1; i < 3; i++) least = fmin(least, run_ns(job));
    return least;
}

static void calibrate(peak_job *job) {
    job->steps = 1001;
    (void)run_ns(job);
    set_steps(job, (double)job->steps * 1e5 / least_ns(job));
    set_steps(job, (double)job->steps * burst_ns / least_ns(job));
}

/* Sections of a round: the warm-up lets the processor settle at the frequency that this kind of instruction gets. */
static void measure_rounds(peak_job *jobs, int n, int samples) {
    for (int r = 0; r < samples * RIDGE_METER_BEST_OF; r++)
        for (int i = 0; i < n; i++) {
            int64_t steps = jobs[i].steps;
            set_steps(&jobs[i], (double)steps / 8);
            (void)run_ns(&jobs[i]);
            jobs[i].steps = steps;
            double gflops = rate(&jobs[i], run_ns(&jobs[i])), *best = &jobs[i].samples[r / RIDGE_METER_BEST_OF];
            if (gflops > *best) *best = gflops;
        }
}

static bool loop_runs(const ridge_peak_loop *loop, const char *dtype, const char *name) {
    if ((dtype && strcmp(loop->dtype, dtype) != 0) || (name && strcmp(loop->name, name) != 0)) return false;
    if (loop->feature[0] && !ridge_cpu_has(loop->feature)) return false;
    return strncmp(loop->feature, "amx", 3) != 0 || ridge_tiles_allowed();
}

static int collect(ridge_meter *meter, const char *dtype, const char *name, bench *benches, peak_job *jobs) {
    int n = 0;
    const ridge_peak_loop *(*const tables[])(int *) = {ridge_peaks_scalar, ridge_peaks_native};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        int count;
        const ridge_peak_loop *loops = tables[t](&count);
        for (int i = 0; i < count && n < MAX_LOOPS; i++)
            if (loop_runs(&loops[i], dtype, name))
                jobs[n++] =
                    (peak_job){.loop = &loops[i], .team = meter->team, .benches = benches, .threads = meter->threads};
    }
    return n;
}

/* Adds the job's rate to the list, or replaces the rate of the same name when it is faster. */
static int merge(ridge_peak *peaks, int n, const peak_job *job, int samples) {
    ridge_peak peak = {.gflops = ridge_median_interval(job->samples, samples)};
    (void)snprintf(peak.name, sizeof peak.name, "%s", job->loop->name);
    (void)snprintf(peak.dtype, sizeof peak.dtype, "%s", job->loop->dtype);
    (void)snprintf(peak.how, sizeof peak.how, "%s", job->loop->how);
    int i = 0;
    while (i < n && strcmp(peaks[i].name, peak.name) != 0) i++;
    if (i == RIDGE_MAX_PEAKS) return n;
    if (i == n || peak.gflops.median > peaks[i].gflops.median) peaks[i] = peak;
    return i == n ? n + 1 : n;
}

int ridge_meter_peaks(ridge_meter *meter, const char *dtype, const char *name, int samples,
                      ridge_peak peaks[RIDGE_MAX_PEAKS], char *wrong, int size) {
    bench *benches = aligned_alloc(LINE, (size_t)meter->threads * sizeof *benches);
    peak_job *jobs = calloc(MAX_LOOPS, sizeof *jobs);
    int n = 0, at = 0;
    wrong[0] = '\0';
    if (samples > RIDGE_METER_SAMPLES) samples = RIDGE_METER_SAMPLES;
    if (!benches || !jobs) goto done;
    int count = collect(meter, dtype, name, benches, jobs);
    for (int i = 0; i < count; i++) calibrate(&jobs[i]);
    measure_rounds(jobs, count, samples);
    for (int i = 0; i < count; i++) {
        if (!jobs[i].wrong)
            n = merge(peaks, n, &jobs[i], samples);
        else if (at < size)
            at += snprintf(wrong + at, (size_t)(size - at), "%s gives a wrong sum; ", jobs[i].loop->name);
    }
done:
    free(benches);
    free(jobs);
    return n;
}
