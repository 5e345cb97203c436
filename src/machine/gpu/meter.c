/* Times the GPU's movers and peak loops. A sample is a burst of launches of at least a millisecond between two events.
 * The bursts of a rate are enqueued back to back, so that the GPU neither idles nor lowers its clock between them. A
 * few samples screen each candidate for a rate; the fastest with correct results is measured. */
#include "machine/ceilings/gpu.h"
#include "machine/gpu/meter.h"

#include "core/cuda.h"

#ifdef RIDGE_HAVE_CUDA

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 31, SCREENING = 5, RUNG_SAMPLES = 5, L2_GRAIN = 1 << 16 };
static const double burst_us = 1250; /* target length of a sample; 1000 is the minimum */
static const int64_t most_bytes = INT64_C(4) << 30, mebibyte = 1 << 20;

typedef struct bench {
    const ridge_gpu *gpu;
    ridge_ceilings *c;
    ridge_stream *stream;
    ridge_gpu_work work;
    size_t all; /* bytes of work.memory */
    ridge_error *error;
} bench;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
fault(ridge_ceilings *c, const char *format, ...) {
    size_t at = strlen(c->faults);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->faults + at, sizeof c->faults - at, format, args);
    va_end(args);
    at = strlen(c->faults);
    (void)snprintf(c->faults + at, sizeof c->faults - at, "; ");
}

/* ---- bursts ----------------------------------------------------------------------------------------------------- */

/* Takes n samples of `repeat` launches each; us[s] is microseconds a launch. */
static ridge_status sample(bench *b, ridge_gpu_launch_fn launch, int repeat, int n, double *us) {
    bool sticky;
    for (int s = 0; s <= n; s++) {
        RIDGE_TRY(ridge_stream_record(b->stream, s, b->error));
        for (int r = 0; r < repeat && s < n; r++) launch(&b->work);
    }
    RIDGE_TRY(ridge_cuda_check(&sticky, b->error));
    RIDGE_TRY(ridge_stream_wait(b->stream, b->error));
    for (int s = 0; s < n; s++) {
        RIDGE_TRY(ridge_stream_elapsed(b->stream, s, s + 1, &us[s], b->error));
        us[s] /= repeat;
    }
    return RIDGE_OK;
}

/* Finds the number of launches of a burst. The first launch of a kernel may include loading it. */
static ridge_status find_repeat(bench *b, ridge_gpu_launch_fn launch, int *repeat) {
    double us;
    RIDGE_TRY(sample(b, launch, 1, 1, &us));
    RIDGE_TRY(sample(b, launch, 2, 1, &us));
    *repeat = (int)fmin(fmax(ceil(burst_us / us), 1), 1000);
    return RIDGE_OK;
}

/* Finds the number of passes of a burst, a multiple of `grain`, starting from `start`. */
static ridge_status find_passes(bench *b, ridge_gpu_launch_fn launch, int64_t start, int64_t grain, int64_t most) {
    double us;
    b->work.passes = start;
    for (int trial = 0; trial < 3; trial++) {
        RIDGE_TRY(sample(b, launch, 1, 1, &us));
        double passes = (double)b->work.passes * (trial < 2 ? fmin(burst_us / us, 50) : burst_us / us);
        b->work.passes = ((int64_t)fmin(passes, (double)(most - grain)) / grain + 1) * grain;
    }
    return RIDGE_OK;
}

static ridge_interval rates(const double *us, int n, double amount) {
    double rate[SAMPLES];
    for (int i = 0; i < n; i++) rate[i] = amount * 1e-3 / us[i]; /* 1e9 a second */
    return ridge_median_interval(rate, n);
}

/* ---- results of a launch, and their check ------------------------------------------------------------------------ */

static ridge_status clear_sums(bench *b) {
    return ridge_cuda_set(b->work.sums, 0, RIDGE_GPU_SUMS * sizeof *b->work.sums, b->error);
}

static ridge_status read_sums(bench *b, uint32_t *sum) {
    uint32_t sums[RIDGE_GPU_SUMS];
    RIDGE_TRY(ridge_cuda_copy(sums, b->work.sums, sizeof sums, b->error));
    *sum = 0;
    for (int i = 0; i < RIDGE_GPU_SUMS; i++) *sum += sums[i];
    return RIDGE_OK;
}

/* Sum of the words below n, modulo 2^32. */
static uint32_t sum_of_words(uint64_t n) {
    uint64_t pairs = n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1); /* wraps at 2^64, a multiple of 2^32 */
    return ridge_gpu_word((uint32_t)pairs);
}

typedef struct place { /* one level's movers, and the bytes and sums of their launches */
    const ridge_gpu_mover *movers;
    int n;
    double (*bytes)(const bench *b, ridge_gpu_motion motion); /* bytes a launch moves */
    uint32_t (*sum)(const bench *b, ridge_gpu_motion motion); /* sum a launch adds */
    bool in_memory; /* copies and writes are checked in memory, not by their sums */
    bool passes;    /* a burst is one launch of many passes, not many launches */
} place;

static bool is_copy(ridge_gpu_motion motion) { return motion == RIDGE_GPU_COPY || motion == RIDGE_GPU_STREAM; }

static uint64_t l2_accesses(const bench *b) {
    return (uint64_t)b->work.passes * (uint64_t)b->work.sm_count * RIDGE_GPU_BLOCKS * RIDGE_GPU_THREADS;
}
static double dram_bytes(const bench *b, ridge_gpu_motion motion) {
    (void)motion; /* a copy reads one half and writes the other */
    return (double)b->work.bytes;
}
static uint32_t dram_sum(const bench *b, ridge_gpu_motion motion) {
    return motion == RIDGE_GPU_READ ? sum_of_words(b->work.bytes / 4) : 0;
}
static double l2_bytes(const bench *b, ridge_gpu_motion motion) {
    return (double)l2_accesses(b) * (is_copy(motion) ? 32 : 16);
}
/* A launch walks `around` times over the whole set and once over `rest` vectors of it. */
static uint32_t l2_sum(const bench *b, ridge_gpu_motion motion) {
    if (motion != RIDGE_GPU_READ) return 0;
    uint64_t vectors = b->work.bytes / 16, around = l2_accesses(b) / vectors, rest = l2_accesses(b) % vectors;
    return (uint32_t)around * sum_of_words(4 * vectors) + sum_of_words(4 * rest);
}
static double shared_bytes(const bench *b, ridge_gpu_motion motion) {
    return (double)b->work.passes * b->work.sm_count * RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS *
           (is_copy(motion) ? 32 : 16);
}
static uint32_t shared_sum(const bench *b, ridge_gpu_motion motion) {
    uint32_t vectors = RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS, blocks = (uint32_t)b->work.sm_count;
    if (motion != RIDGE_GPU_READ) return vectors * blocks;
    return (uint32_t)b->work.passes * blocks * sum_of_words(4 * (uint64_t)vectors);
}

/* Fills the source with its pattern and the target with bytes that no mover writes. */
static ridge_status prepare(bench *b, const place *at, ridge_gpu_motion motion) {
    if (at->bytes != shared_bytes) {
        ridge_gpu_meter_fill(b->work.memory, b->work.bytes, b->work.stream);
        RIDGE_TRY(ridge_stream_wait(b->stream, b->error));
    }
    size_t target = is_copy(motion) ? b->work.bytes / 2 : 0;
    if (at->in_memory && motion != RIDGE_GPU_READ)
        RIDGE_TRY(ridge_cuda_set(b->work.memory + target, 0xa5, b->work.bytes - target, b->error));
    return clear_sums(b);
}

static ridge_status is_right(bench *b, const place *at, ridge_gpu_motion motion, int launches, bool *right) {
    uint32_t sum, wrong = 0;
    RIDGE_TRY(read_sums(b, &sum));
    *right = sum == (uint32_t)launches * at->sum(b, motion);
    if (!at->in_memory || motion == RIDGE_GPU_READ) return RIDGE_OK;
    RIDGE_TRY(clear_sums(b));
    size_t target = is_copy(motion) ? b->work.bytes / 2 : 0, reached = b->work.bytes - target;
    if (at->passes && 16 * l2_accesses(b) < reached) reached = 16 * l2_accesses(b); /* less than one walk */
    ridge_gpu_meter_mismatches(b->work.memory + target, reached, b->work.sums, b->work.stream);
    RIDGE_TRY(ridge_stream_wait(b->stream, b->error));
    RIDGE_TRY(read_sums(b, &wrong));
    *right = *right && wrong == 0;
    return RIDGE_OK;
}

/* Takes n samples of one mover. rate->n is 0 when its results are wrong. */
static ridge_status measure_mover(bench *b, const place *at, const ridge_gpu_mover *m, int n, ridge_interval *rate) {
    int repeat = 1;
    double us[SAMPLES];
    bool right;
    if (at->passes)
        RIDGE_TRY(find_passes(b, m->launch, 64, RIDGE_GPU_DEPTH, INT64_C(1) << 30));
    else
        RIDGE_TRY(find_repeat(b, m->launch, &repeat));
    RIDGE_TRY(prepare(b, at, m->motion));
    RIDGE_TRY(sample(b, m->launch, repeat, n, us));
    RIDGE_TRY(is_right(b, at, m->motion, n * repeat, &right));
    *rate = (ridge_interval){.n = 0};
    if (right)
        *rate = rates(us, n, at->bytes(b, m->motion));
    else
        fault(b->c, "a mover wrote wrong data (%.60s)", m->how);
    return RIDGE_OK;
}

/* Measures the best mover of each motion, with its interval, and names it in the level's `how`. */
static ridge_status measure_level(bench *b, const place *at, ridge_level *level) {
    static const char *const words[] = {"read", "copy", "stream", "write"};
    ridge_interval *const to[] = {&level->read, &level->copy, &level->stream, &level->write};
    for (int motion = 0; motion < RIDGE_GPU_MOTIONS; motion++) {
        const ridge_gpu_mover *best = NULL;
        double fastest = 0;
        for (int i = 0; at->movers && i < at->n; i++) {
            ridge_interval rate;
            if ((int)at->movers[i].motion != motion) continue;
            RIDGE_TRY(measure_mover(b, at, &at->movers[i], SCREENING, &rate));
            if (rate.n > 0 && rate.median > fastest) fastest = rate.median, best = &at->movers[i];
        }
        if (!best) continue;
        RIDGE_TRY(measure_mover(b, at, best, SAMPLES, to[motion]));
        size_t used = strlen(level->how);
        (void)snprintf(level->how + used, sizeof level->how - used, "%s%s: %s", used ? "; " : "", words[motion],
                       best->how);
    }
    return RIDGE_OK;
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

static const ridge_gpu_mover *mover_of(const place *at, ridge_gpu_motion motion) {
    for (int i = 0; i < at->n; i++)
        if (at->movers[i].motion == motion) return &at->movers[i];
    return NULL;
}

/* Rates of one pattern from a sixteenth to eight times the L2 size that the driver reports. The end of the plateau is
 * the capacity. */
static ridge_status climb(bench *b, const place *at) {
    double top = fmin(8.0 * (double)b->gpu->l2_bytes, (double)b->all);
    for (double bytes = (double)b->gpu->l2_bytes / 16; bytes <= top && b->c->n_rungs < RIDGE_MAX_RUNGS;
         bytes *= sqrt(2)) {
        ridge_rung *rung = &b->c->rungs[b->c->n_rungs];
        ridge_interval read, copy;
        b->work.bytes = (size_t)(bytes / L2_GRAIN + 0.5) * L2_GRAIN;
        RIDGE_TRY(measure_mover(b, at, mover_of(at, RIDGE_GPU_READ), RUNG_SAMPLES, &read));
        RIDGE_TRY(measure_mover(b, at, mover_of(at, RIDGE_GPU_COPY), RUNG_SAMPLES, &copy));
        if (read.n == 0 || copy.n == 0) continue;
        *rung = (ridge_rung){(double)b->work.bytes, read.median, copy.median};
        b->c->n_rungs++;
    }
    return RIDGE_OK;
}

static ridge_status measure_l2(bench *b) {
    place at = {.bytes = l2_bytes, .sum = l2_sum, .in_memory = true, .passes = true};
    at.movers = ridge_gpu_l2_movers(&at.n);
    RIDGE_TRY(climb(b, &at));
    double capacity = ridge_gpu_plateau(b->c->rungs, b->c->n_rungs);
    if (capacity <= 0) {
        fault(b->c, "the ladder of working sets shows no L2");
        return RIDGE_OK;
    }
    ridge_level *level = &b->c->levels[b->c->n_levels++];
    *level = (ridge_level){.name = "L2", .capacity = capacity};
    b->work.bytes = (size_t)(capacity / 2 / L2_GRAIN + 1) * L2_GRAIN;
    return measure_level(b, &at, level);
}

static ridge_status measure_dram(bench *b) {
    place at = {.bytes = dram_bytes, .sum = dram_sum, .in_memory = true};
    at.movers = ridge_gpu_dram_movers(&at.n);
    b->work.bytes = b->all;
    ridge_level *level = &b->c->levels[b->c->n_levels++];
    *level = (ridge_level){.name = "DRAM"};
    return measure_level(b, &at, level);
}

static ridge_status measure_shared(bench *b) {
    place at = {.bytes = shared_bytes, .sum = shared_sum, .passes = true};
    at.movers = ridge_gpu_shared_movers(&at.n);
    ridge_level *level = &b->c->levels[b->c->n_levels++];
    *level = (ridge_level){.name = "shared"};
    level->capacity = (double)b->gpu->shared_bytes * b->gpu->sm_count;
    return measure_level(b, &at, level);
}

/* ---- peaks ------------------------------------------------------------------------------------------------------ */

static ridge_status load_operands(bench *b, const ridge_gpu_loop *loop) {
    static ridge_gpu_operands operands;
    if (loop->operand == RIDGE_GPU_OPERANDS) return RIDGE_OK;
    ridge_gpu_operands_make(loop->operand, &operands);
    b->work.operands = (const ridge_gpu_operands *)b->work.memory;
    b->work.unit = (float)ridge_gpu_operand_unit(loop->operand);
    return ridge_cuda_copy(b->work.memory, &operands, sizeof operands, b->error);
}

static ridge_status measure_peak(bench *b, const ridge_gpu_loop *loop) {
    double us[SAMPLES];
    uint32_t right;
    RIDGE_TRY(load_operands(b, loop));
    RIDGE_TRY(find_passes(b, loop->launch, 256, 1, loop->most_steps));
    /* Some GPUs accumulate fp8 with about 14 bits: a sum may be slightly off, but no fraction of the steps is missing.
     */
    b->work.slack = loop->operand == RIDGE_GPU_E4M3 ? 0.05f * (float)b->work.passes * b->work.unit : 0;
    RIDGE_TRY(clear_sums(b));
    RIDGE_TRY(sample(b, loop->launch, 1, SAMPLES, us));
    RIDGE_TRY(read_sums(b, &right));
    int blocks = loop->blocks * b->work.sm_count;
    if (right != (uint32_t)SAMPLES * (uint32_t)blocks * (uint32_t)(loop->threads * loop->sums)) {
        fault(b->c, "%s gives a wrong sum", loop->name);
        return RIDGE_OK;
    }
    ridge_peak *peak = &b->c->peaks[b->c->n_peaks++];
    (void)snprintf(peak->name, sizeof peak->name, "%s", loop->name);
    (void)snprintf(peak->dtype, sizeof peak->dtype, "%s", loop->dtype);
    /* tcgen05 has no loop here yet: Blackwell's peaks are those of mma.sync. */
    bool older = b->gpu->sm >= 100 && b->gpu->sm < 120 && loop->operand != RIDGE_GPU_OPERANDS;
    (void)snprintf(peak->how, sizeof peak->how, "%s%s", loop->how, older ? "; tcgen05 not used" : "");
    peak->gflops = rates(us, SAMPLES, loop->flops * (double)b->work.passes * blocks);
    return RIDGE_OK;
}

/* Records why a launch failed. True if the GPU still works. */
static bool survives(bench *b, const char *what) {
    fault(b->c, "%s: %.100s", what, b->error ? b->error->text : "failed");
    return ridge_stream_wait(b->stream, NULL) == RIDGE_OK;
}

static void measure_peaks(bench *b) {
    const ridge_gpu_loop *(*const tables[])(int *) = {ridge_gpu_scalar_loops, ridge_gpu_mma_loops,
                                                      ridge_gpu_wgmma_loops};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        int n;
        const ridge_gpu_loop *loops = tables[t](&n);
        for (int i = 0; i < n && b->c->n_peaks < RIDGE_MAX_PEAKS; i++)
            if (b->gpu->sm >= loops[i].least_sm && b->gpu->sm <= loops[i].most_sm &&
                measure_peak(b, &loops[i]) != RIDGE_OK && !survives(b, loops[i].name))
                return; /* the peaks measured so far remain */
    }
}

/* Drops a level without a read and a copy rate. */
static ridge_status try_level(bench *b, ridge_status (*measure)(bench *b), const char *what) {
    int before = b->c->n_levels;
    ridge_status status = measure(b);
    if (status != RIDGE_OK && !survives(b, what)) return status;
    if (b->c->n_levels > before && (b->c->levels[before].read.n == 0 || b->c->levels[before].copy.n == 0))
        b->c->n_levels = before;
    return RIDGE_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

ridge_status ridge_gpu_meter(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error) {
    bench b = {.gpu = gpu, .c = c, .error = error};
    void *memory = NULL, *sums = NULL;
    int64_t bytes = gpu->free_bytes / 4 < most_bytes ? gpu->free_bytes / 4 : most_bytes;
    b.all = (size_t)(bytes / mebibyte * mebibyte);
    b.work.sm_count = gpu->sm_count;
    if (b.all < 64 * (size_t)mebibyte)
        return ridge_fail(error, RIDGE_NO_MEMORY, "too little free GPU memory (%.0f MB)",
                          (double)gpu->free_bytes * 1e-6);
    ridge_status status = ridge_stream_create(SAMPLES + 1, &b.stream, error);
    if (status == RIDGE_OK) status = ridge_cuda_alloc(b.all, &memory, error);
    if (status == RIDGE_OK) status = ridge_cuda_alloc(RIDGE_GPU_SUMS * sizeof *b.work.sums, &sums, error);
    if (status == RIDGE_OK) b.work.stream = ridge_stream_handle(b.stream);
    b.work.memory = memory;
    b.work.sums = sums;
    if (status == RIDGE_OK) status = try_level(&b, measure_shared, "shared memory");
    if (status == RIDGE_OK) status = try_level(&b, measure_l2, "L2");
    if (status == RIDGE_OK) status = try_level(&b, measure_dram, "DRAM");
    if (status == RIDGE_OK) measure_peaks(&b); /* last, because they heat the chip */
    if (status == RIDGE_OK && (c->n_levels == 0 || c->n_peaks == 0))
        status = ridge_fail(error, RIDGE_FAILED, "the GPU's ceilings cannot be measured: %.200s", c->faults);
    ridge_cuda_free(sums);
    ridge_cuda_free(memory);
    ridge_stream_destroy(b.stream);
    return status;
}

#else

ridge_status ridge_gpu_meter(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error) {
    (void)gpu, (void)c;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%s", ridge_cuda_absent());
}

#endif
