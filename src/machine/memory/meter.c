/* Memory side of the meter: slices, bursts, and the choice among movers. */
#include "machine/memory/meter.h"

#include <stdlib.h>

#include "device/device.h"

enum {
    MAX_MOVERS = 96,
    RUNG_SAMPLES = 5,
    RUNG_BEST_OF = 3,      /* the edges of the caches must show even on a busy machine */
    SLICE_ALIGN = 2 << 20, /* huge pages: a thread's first touch decides where each lies */
    WINDOW = 64 << 20, /* bytes of a burst's pass for all threads together; larger sets are walked window by window */
    WINDOW_ALIGN = 8 << 10,
};
static const double burst_ns = 1.5e6, trial_ns = 3e5, rung_ns = 1e6;

ridge_status ridge_meter_create(const ridge_machine *machine, int threads, ridge_meter *meter, ridge_error *error) {
    *meter = (ridge_meter){.threads = threads};
    if (threads < 1 || threads > machine->threads)
        return ridge_fail(error, RIDGE_INVALID, "%d threads: this process may use 1 to %d", threads, machine->threads);
    return ridge_team_create(threads, machine->cpus, &meter->team, error);
}

void ridge_meter_destroy(ridge_meter *meter) {
    ridge_memory_free(meter->memory, meter->bytes);
    ridge_team_destroy(meter->team);
    *meter = (ridge_meter){0};
}

/* Each thread its own slice: a page lies near the one that writes to it first. */
static void touch(void *arg, int rank, int size) {
    (void)size;
    enum { PAGE = 4096 };
    ridge_meter *meter = arg;
    char *slice = meter->memory + (size_t)rank * meter->stride;
    for (size_t at = 0; at < meter->stride; at += PAGE) slice[at] = 1;
}

ridge_status ridge_meter_reserve(ridge_meter *meter, size_t slice, ridge_error *error) {
    ridge_memory_free(meter->memory, meter->bytes);
    meter->memory = NULL;
    meter->stride = (slice + 2 * (size_t)SLICE_ALIGN - 1) & ~((size_t)SLICE_ALIGN - 1);
    meter->bytes = meter->stride * (size_t)meter->threads;
    void *memory = NULL;
    RIDGE_TRY(ridge_memory_alloc(meter->bytes, &memory, error));
    meter->memory = memory;
    ridge_team_run(meter->team, touch, meter);
    return RIDGE_OK;
}

/* ---- bursts ------------------------------------------------------------------------------------------------------ */

typedef struct move_job {
    const ridge_meter *meter;
    const ridge_mover *mover;
    size_t slice;  /* bytes a thread works in */
    size_t window; /* bytes a pass moves; a part of the slice when the slice is large */
    int64_t start; /* the window to begin with */
    int64_t passes;
} move_job;

static bool two_sided(ridge_motion motion) { return motion == RIDGE_MOVE_COPY || motion == RIDGE_MOVE_STREAM; }

static void move_body(void *arg, int rank, int size) {
    (void)size;
    const move_job *job = arg;
    /* Small slices lie as if they were packed, or all threads would fight for the same sets of a shared cache. */
    size_t skew = (size_t)rank * job->slice % SLICE_ALIGN;
    char *base = job->meter->memory + (size_t)rank * job->meter->stride + (job->slice < SLICE_ALIGN ? skew : 0);
    size_t windows = job->slice / job->window, half = job->slice / 2, part = job->window / 2;
    for (int64_t p = 0; p < job->passes; p++) {
        size_t w = (size_t)(job->start + p) % windows;
        if (two_sided(job->mover->motion))
            job->mover->run(base + half + w * part, base + w * part, part);
        else
            job->mover->run(base + w * job->window, base + w * job->window, job->window);
    }
}

static move_job make_job(const ridge_meter *meter, const ridge_mover *mover, size_t slice) {
    size_t window = WINDOW / (size_t)meter->threads / WINDOW_ALIGN * WINDOW_ALIGN;
    if (window < WINDOW_ALIGN) window = WINDOW_ALIGN;
    if (window > slice) window = slice;
    return (move_job){.meter = meter, .mover = mover, .slice = slice, .window = window, .passes = 1};
}

static double run_ns(move_job *job) {
    uint64_t begin = ridge_clock_ns();
    ridge_team_run(job->meter->team, move_body, job);
    double ns = (double)(ridge_clock_ns() - begin);
    job->start += job->passes;
    return ns > 0 ? ns : 1;
}

static double rate(const move_job *job, double ns) {
    return (double)job->window * (double)job->passes * (double)job->meter->threads / ns;
}

/* Sets job->passes so that a burst takes about the time given; the working set is in its level afterwards. */
static double calibrate(move_job *job, double target_ns) {
    double ns;
    (void)run_ns(job); /* not counted: brings the data in */
    for (job->passes = 1;; job->passes *= 4) {
        ns = run_ns(job);
        if (ns * 4 > target_ns) break;
    }
    double passes = (double)job->passes * target_ns / ns;
    double gbps = rate(job, ns);
    job->passes = passes > 1 ? (int64_t)passes : 1;
    return gbps;
}

static bool runs_here(const ridge_mover *mover) { return mover->feature[0] == '\0' || ridge_cpu_has(mover->feature); }

/* The first mover of that motion that runs here: tables begin with the widest vectors and the plainest pattern. */
static const ridge_mover *plainest(ridge_motion motion) {
    int count;
    const ridge_mover *movers = ridge_movers(&count);
    for (int i = 0; i < count; i++)
        if (movers[i].motion == motion && runs_here(&movers[i])) return &movers[i];
    return NULL;
}

/* Runs a burst after a pass that brings the working set in, unless it is memory's and comes window by window anyway. */
static double warm_run_ns(move_job *job) {
    if (job->window == job->slice) {
        int64_t passes = job->passes;
        job->passes = 1;
        (void)run_ns(job);
        job->passes = passes;
    }
    return run_ns(job);
}

static void keep_best(double *samples, int i, double gbps) {
    if (gbps > samples[i]) samples[i] = gbps;
}

typedef struct rung_trial {
    move_job read, copy;
    double reads[RUNG_SAMPLES], copies[RUNG_SAMPLES];
} rung_trial;

ridge_status ridge_meter_rungs(ridge_meter *meter, const size_t *slices, int n, ridge_rung *rungs, ridge_error *error) {
    const ridge_mover *read = plainest(RIDGE_MOVE_READ), *copy = plainest(RIDGE_MOVE_COPY);
    rung_trial *trials = calloc((size_t)n, sizeof *trials);
    if (!trials || !read || !copy) {
        free(trials);
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the ladder's samples");
    }
    for (int i = 0; i < n; i++) {
        trials[i].read = make_job(meter, read, slices[i]);
        trials[i].copy = make_job(meter, copy, slices[i]);
        (void)calibrate(&trials[i].read, rung_ns);
        (void)calibrate(&trials[i].copy, rung_ns);
    }
    for (int k = 0; k < RUNG_SAMPLES * RUNG_BEST_OF; k++)
        for (int i = 0; i < n; i++) {
            keep_best(trials[i].reads, k / RUNG_BEST_OF, rate(&trials[i].read, warm_run_ns(&trials[i].read)));
            keep_best(trials[i].copies, k / RUNG_BEST_OF, rate(&trials[i].copy, warm_run_ns(&trials[i].copy)));
        }
    for (int i = 0; i < n; i++)
        rungs[i] = (ridge_rung){.bytes = (double)slices[i] * meter->threads,
                                .read_gbps = ridge_median(trials[i].reads, RUNG_SAMPLES),
                                .copy_gbps = ridge_median(trials[i].copies, RUNG_SAMPLES)};
    free(trials);
    return RIDGE_OK;
}

/* ---- the best of all movers -------------------------------------------------------------------------------------- */

typedef struct entrant {
    move_job job;
    double trial; /* GB/s */
    double samples[RIDGE_METER_SAMPLES];
} entrant;

static int by_trial(const void *a, const void *b) {
    double x = ((const entrant *)a)->trial, y = ((const entrant *)b)->trial;
    return (x < y) - (x > y);
}

/* The narrowest vectors, which need no feature, are for processors that have no others. */
static bool worth_trying(const ridge_mover *movers, int count, int i) {
    if (movers[i].feature[0]) return runs_here(&movers[i]);
    for (int k = 0; k < count; k++)
        if (movers[k].motion == movers[i].motion && movers[k].feature[0] && runs_here(&movers[k])) return false;
    return true;
}

/* Runs a mover once; what that says of its speed decides how long its bursts are. */
static void try_mover(ridge_meter *meter, const ridge_mover *mover, size_t slice, entrant *e) {
    e->job = make_job(meter, mover, slice);
    (void)calibrate(&e->job, trial_ns);
    e->trial = rate(&e->job, run_ns(&e->job));
    int64_t passes = (int64_t)(e->trial * burst_ns / ((double)e->job.window * meter->threads));
    e->job.passes = passes > 1 ? passes : 1;
}

/* Tries every mover of the motion; the best `finalists` stay, first among the entrants. Returns how many. */
static int qualify(ridge_meter *meter, ridge_motion motion, size_t slice, int finalists, entrant *entrants) {
    int count, n = 0;
    const ridge_mover *movers = ridge_movers(&count);
    for (int i = 0; i < count && n < MAX_MOVERS; i++)
        if (movers[i].motion == motion && worth_trying(movers, count, i))
            try_mover(meter, &movers[i], slice, &entrants[n++]);
    qsort(entrants, (size_t)n, sizeof *entrants, by_trial);
    return n < finalists ? n : finalists;
}

/* The finalists of a motion: those of the list, or else the best of all, which the list has from then on. */
static int enter(ridge_meter *meter, ridge_motion motion, size_t slice, int finalists, ridge_shortlist *list,
                 entrant *entrants) {
    int *n = &list->n[motion];
    const ridge_mover **movers = list->movers[motion];
    for (int i = 0; i < *n; i++) try_mover(meter, movers[i], slice, &entrants[i]);
    if (*n > 0) return *n;
    *n = qualify(meter, motion, slice, finalists, entrants);
    for (int i = 0; i < *n; i++) movers[i] = entrants[i].job.mover;
    return *n;
}

static ridge_interval best_interval(const entrant *list, int n, int samples) {
    ridge_interval best = {0};
    for (int i = 0; i < n; i++) {
        ridge_interval each = ridge_median_interval(list[i].samples, samples);
        if (best.n == 0 || each.median > best.median) best = each;
    }
    return best;
}

void ridge_meter_level(ridge_meter *meter, size_t slice, int finalists, int samples, ridge_shortlist *list,
                       ridge_level *level) {
    ridge_shortlist none = {0};
    entrant *lists = calloc(RIDGE_MOTIONS * MAX_MOVERS, sizeof *lists);
    ridge_interval *results[RIDGE_MOTIONS] = {&level->read, &level->copy, &level->stream, &level->write};
    int n[RIDGE_MOTIONS] = {0};
    for (int m = 0; m < RIDGE_MOTIONS; m++) *results[m] = (ridge_interval){0};
    if (!lists) return; /* n = 0 everywhere: the caller reports a level without rates */
    if (finalists > RIDGE_METER_FINALISTS) finalists = RIDGE_METER_FINALISTS;
    if (samples > RIDGE_METER_SAMPLES) samples = RIDGE_METER_SAMPLES;
    for (int m = 0; m < RIDGE_MOTIONS; m++)
        n[m] = enter(meter, (ridge_motion)m, slice, finalists, list ? list : &none, lists + m * MAX_MOVERS);
    for (int r = 0; r < samples * RIDGE_METER_BEST_OF; r++)
        for (int m = 0; m < RIDGE_MOTIONS; m++)
            for (int i = 0; i < n[m]; i++) {
                move_job *job = &lists[m * MAX_MOVERS + i].job;
                keep_best(lists[m * MAX_MOVERS + i].samples, r / RIDGE_METER_BEST_OF, rate(job, warm_run_ns(job)));
            }
    for (int m = 0; m < RIDGE_MOTIONS; m++) *results[m] = best_interval(lists + m * MAX_MOVERS, n[m], samples);
    free(lists);
}
