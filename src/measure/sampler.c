/* The worker's body: verifies each variant once in full, then times rounds of launches until the stop rule holds.
 *
 * A batch fills as many operand sets as the rotation has, times one launch on each, and checks each after the clock has
 * stopped. Launches follow one endless schedule: rounds of A B … B A. Before a short launch the same variant runs
 * once, untimed, on a set of its own: its threads are awake and its code is in cache, while the timed operands stay
 * cold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/event.h"
#include "measure/reference.h"
#include "measure/stats.h"

/* Launches longer than this need no lead-in: waking threads costs tens of microseconds. */
static const double lead_in_below_us = 3000;
/* Oracle work spent on one sample's rows, and on a first check before it is cut to rows instead of everything. */
static const double sample_check_flops = 4e6, full_check_flops = 3e10;
static const double converged_width = 0.005;
/* Operands of a core slot: well inside the second-level cache of every processor of the last ten years. */
static const double core_bytes = 160 * 1024;
enum { MIN_ROUNDS = 8, MAX_SAMPLES = 4000, LINE = 64, FRAME_LAUNCHES = 1001 };
/* How many times max_time a case may take to reach MIN_ROUNDS, the fewest that give an interval. */
static const double patience = 30;

typedef struct slot {
    const ridge_variant *variant;
    void *plan;
    double *times; /* microseconds, MAX_SAMPLES */
    int n;
    double estimate_us;
    bool active;
    int64_t core_rows; /* > 0: a core slot, which runs on this many rows */
} slot;

/* One launch of a batch: what to run, and what came of it. */
typedef struct launch {
    int slot;
    ridge_sample sample;
    ridge_status status;
    ridge_check check; /* of a core slot, whose operands the next one overwrites */
} launch;

typedef struct sampler {
    const ridge_job *job;
    const ridge_sampler_io *io;
    ridge_team *team;
    slot *slots;
    int active[RIDGE_MAX_SLOTS]; /* slots in a round, forward order: variants, then the reference and core slots */
    int n_active;
    int n_running;      /* variants among them */
    bool has_reference; /* slot n_variants, without a variant */
    char *core_memory;
    size_t core_bytes;
    ridge_mover_choice reference;
    ridge_rotation rotation;
    char *arena;
    size_t arena_bytes;
    ridge_operands *sets;
    ridge_operands lead; /* for lead-ins and for the second side of comparisons */
    launch *batch;
    void *scratch;
    size_t scratch_bytes;
    int64_t sample_rows;
    uint64_t fillings; /* every filling takes the next seed */
    int64_t scheduled; /* launches handed out */
    int next_look;     /* rounds after which the stop rule is asked again */
    uint64_t began_ns;
} sampler;

static const ridge_layout dense = {0};

static void send_event(const sampler *s, ridge_event *event) {
    event->magic = RIDGE_EVENT_MAGIC;
    const char *p = (const char *)event;
    size_t left = sizeof *event;
    while (left > 0) {
        ssize_t n = write(s->io->fd, p, left);
        if (n <= 0) _exit(1); /* the parent is gone */
        p += n;
        left -= (size_t)n;
    }
}

static void send_text(const sampler *s, ridge_event_kind kind, int slot_index, const char *text) {
    ridge_event event = {.kind = kind, .slot = slot_index};
    (void)snprintf(event.text, sizeof event.text, "%.*s", (int)sizeof event.text - 1, text);
    send_event(s, &event);
}

static double seconds_since(uint64_t ns) { return (double)(ridge_clock_ns() - ns) * 1e-9; }

/* ---- filling and launching --------------------------------------------------------------------------------------- */

static void fill_set(sampler *s, ridge_operands *ops, size_t index, uint64_t seed) {
    size_t room = (s->rotation.stride - s->rotation.set_bytes) / LINE;
    size_t shift = room ? (size_t)(ridge_random(seed, 7) % room) * LINE : 0;
    ridge_operands_place(ops, s->job->target, &s->job->c, &dense, s->arena + index * s->rotation.stride + shift);
    ops->user = s->job->user;
    ridge_operands_fill(ops, RIDGE_RANDOM, seed, s->team);
}

static uint64_t next_seed(sampler *s) { return ridge_random(s->job->seed, s->fillings++); }

/* Tells the parent what runs now, so that it knows whom to blame. index -1: the harness itself. */
static void watch(const sampler *s, int index) {
    atomic_store(&s->io->watch->since_ns, ridge_clock_ns());
    atomic_store(&s->io->watch->slot, index);
}

static ridge_status run_variant(sampler *s, int index, const ridge_operands *ops, double *time_us) {
    const slot *sl = &s->slots[index];
    int blamed = index > s->job->n_variants ? index - s->job->n_variants - 1 : index;
    /* On few rows the start of a team would weigh as much as the work: one thread does them. */
    ridge_team *team = sl->core_rows > 0 ? NULL : s->team;
    const ridge_call call = {.dim = ops->c.dim,
                             .dtype = ops->c.dtype,
                             .in = ops->in,
                             .out = ops->out,
                             .scratch = s->scratch,
                             .team = team,
                             .plan = sl->plan};
    const ridge_run_fn run = sl->variant->run[s->job->isa];
    watch(s, blamed);
    uint64_t begin = ridge_clock_ns();
    ridge_status status = run(&call);
    uint64_t end = ridge_clock_ns();
    watch(s, -1);
    *time_us = (double)(end - begin) * 1e-3;
    return status;
}

static void run_reference(sampler *s, const ridge_operands *ops, double *time_us) {
    uint64_t begin = ridge_clock_ns();
    ridge_reference_run(&s->reference, s->team, ops->memory);
    *time_us = (double)(ridge_clock_ns() - begin) * 1e-3;
}

static bool own_threads(const sampler *s, int index) {
    const ridge_variant *v = s->slots[index].variant;
    return v && v->own_threads;
}

/* A library's own threads spin for a while after their work; the team's do too. Neither may take cycles from the other.
 */
static void settle(sampler *s, int next, int previous) {
    const struct timespec pause = {.tv_nsec = 1500000};
    if (own_threads(s, next)) ridge_team_rest(s->team);
    if (previous >= 0 && previous != next && own_threads(s, previous)) nanosleep(&pause, NULL);
}

/* ---- before the first round
 * ------------------------------------------------------------------------------------------ */

static ridge_status empty_launch(const ridge_call *call) { return call->plan ? RIDGE_INVALID : RIDGE_OK; }

/* Reported, not subtracted: a time is what a caller would see. */
static double measure_frame(void) {
    double times[FRAME_LAUNCHES];
    volatile ridge_run_fn run = empty_launch;
    const ridge_call call = {0};
    for (int i = 0; i < FRAME_LAUNCHES; i++) {
        uint64_t begin = ridge_clock_ns();
        (void)run(&call);
        times[i] = (double)(ridge_clock_ns() - begin) * 1e-3;
    }
    return ridge_median(times, FRAME_LAUNCHES);
}

/* The slots of a round: every variant that is left; beside them, while there are any, the reference and the core slots.
 */
static void line_up(sampler *s) {
    int n = s->job->n_variants;
    s->n_active = 0;
    for (int i = 0; i < n; i++)
        if (s->slots[i].active) s->active[s->n_active++] = i;
    s->n_running = s->n_active;
    if (!s->has_reference || s->n_running == 0) return;
    s->active[s->n_active++] = n;
    for (int i = 0; i < n; i++)
        if (s->slots[i].active && s->slots[n + 1 + i].core_rows > 0) s->active[s->n_active++] = n + 1 + i;
}

/* A round is begun anew with those that remain. */
static void drop_slot(sampler *s, int index) {
    int64_t round = s->n_active ? s->scheduled / (2 * s->n_active) + 1 : 0;
    s->slots[index].active = false;
    line_up(s);
    s->scheduled = round * 2 * s->n_active;
}

static void fail_slot(sampler *s, int index, ridge_status status) {
    char text[160];
    (void)snprintf(text, sizeof text, "the variant returned: %s", ridge_status_string(status));
    send_text(s, RIDGE_EVENT_FAILED, index, text);
    drop_slot(s, index);
}

/* The first launch of a variant: not timed, checked as widely as the oracle's cost allows. The first optimized variant
 * is always checked in full, so that every case is. */
static ridge_status first_check(sampler *s, int index, bool must_be_full, ridge_error *error) {
    ridge_operands *ops = &s->sets[0];
    fill_set(s, ops, 0, next_seed(s));
    double time_us;
    ridge_status status = run_variant(s, index, ops, &time_us);
    if (status != RIDGE_OK) {
        fail_slot(s, index, status);
        return RIDGE_OK;
    }
    ridge_event event = {.kind = RIDGE_EVENT_CHECKED, .slot = index};
    bool full = must_be_full || ridge_check_full_cost(s->job->target, &s->job->c) <= full_check_flops;
    if (full)
        RIDGE_TRY(ridge_check_full(ops, s->team, &event.check, error));
    else
        RIDGE_TRY(ridge_check_sample(ops, ops->seed, 16 * s->sample_rows, s->team, &event.check, error));
    s->slots[index].estimate_us = time_us;
    send_event(s, &event);
    if (event.check.ok) return RIDGE_OK;
    send_text(s, RIDGE_EVENT_WRONG, index, event.check.text);
    drop_slot(s, index);
    return RIDGE_OK;
}

static int first_optimized(const sampler *s) {
    for (int i = 0; i < s->job->n_variants; i++)
        if (s->slots[i].active && s->slots[i].variant->role == RIDGE_OPTIMIZED) return i;
    return -1;
}

/* Every other variant's output against the optimized one's, on identical inputs. */
static ridge_status compare_outputs(sampler *s, ridge_error *error) {
    int optimized = first_optimized(s);
    if (optimized < 0) return RIDGE_OK;
    uint64_t seed = next_seed(s);
    double time_us;
    fill_set(s, &s->sets[0], 0, seed);
    if (run_variant(s, optimized, &s->sets[0], &time_us) != RIDGE_OK) return RIDGE_OK;
    for (int i = 0; i < s->job->n_variants; i++) {
        if (!s->slots[i].active || i == optimized) continue;
        fill_set(s, &s->lead, (size_t)s->rotation.sets, seed);
        if (run_variant(s, i, &s->lead, &time_us) != RIDGE_OK) continue;
        ridge_event event = {.kind = RIDGE_EVENT_AGREES, .slot = i};
        RIDGE_TRY(ridge_check_agree(&s->lead, &s->sets[0], s->team, &event.agreement, error));
        send_event(s, &event);
    }
    return RIDGE_OK;
}

/* ---- rounds
 * ------------------------------------------------------------------------------------------------------------- */

static launch next_launch(sampler *s) {
    int64_t per_round = 2 * s->n_active, place = s->scheduled % per_round;
    int64_t round = s->scheduled / per_round;
    int visit = place >= s->n_active;
    int64_t order = visit ? per_round - 1 - place : place;
    /* A B B A, then B A A B: a disturbance with the period of a round does not always meet the same variant. */
    if (round % 2) order = s->n_active - 1 - order;
    launch l = {.slot = s->active[order]};
    l.sample.round = (int32_t)round;
    l.sample.visit = visit;
    s->scheduled++;
    return l;
}

/* The same code on few rows: filled and run, then filled again, so that all of it lies in the core's own caches, and
 * timed. */
static void time_core(sampler *s, launch *l) {
    slot *sl = &s->slots[l->slot];
    ridge_operands ops;
    ridge_case c = s->job->c;
    double warm;
    c.dim[0] = sl->core_rows;
    ridge_operands_place(&ops, s->job->target, &c, &dense, s->core_memory);
    ridge_operands_fill(&ops, RIDGE_RANDOM, next_seed(s), NULL);
    (void)run_variant(s, l->slot, &ops, &warm);
    ridge_operands_fill(&ops, RIDGE_RANDOM, l->sample.seed, NULL);
    l->status = run_variant(s, l->slot, &ops, &l->sample.time_us);
    ridge_error error;
    if (l->status == RIDGE_OK)
        l->status = ridge_check_sample(&ops, ridge_clock_ns(), s->sample_rows, s->team, &l->check, &error);
    l->sample.time_us *= (double)s->job->c.dim[0] / (double)(sl->core_rows * s->job->threads);
}

static void time_launch(sampler *s, launch *l, const ridge_operands *ops, int previous) {
    slot *sl = &s->slots[l->slot];
    settle(s, l->slot, previous);
    if (!sl->variant) {
        run_reference(s, ops, &l->sample.time_us);
        return;
    }
    if (sl->core_rows > 0) {
        time_core(s, l);
        return;
    }
    double ignored;
    if (s->job->hot || sl->estimate_us < lead_in_below_us) (void)run_variant(s, l->slot, &s->lead, &ignored);
    l->status = run_variant(s, l->slot, ops, &l->sample.time_us);
    sl->estimate_us = l->sample.time_us;
}

/* Checks a launch after the fact; a wrong one costs its variant the case. */
static ridge_status judge_launch(sampler *s, launch *l, const ridge_operands *ops, ridge_error *error) {
    slot *sl = &s->slots[l->slot];
    if (!sl->variant) {
        ridge_event moved = {.kind = RIDGE_EVENT_SAMPLE, .slot = l->slot, .sample = l->sample};
        send_event(s, &moved);
        return RIDGE_OK;
    }
    int variant = sl->core_rows > 0 ? l->slot - s->job->n_variants - 1 : l->slot;
    if (!s->slots[variant].active) return RIDGE_OK;
    if (l->status != RIDGE_OK) {
        fail_slot(s, variant, l->status);
        return RIDGE_OK;
    }
    ridge_event event = {.kind = RIDGE_EVENT_SAMPLE, .slot = l->slot};
    /* The rows are drawn now, from a seed that did not exist when the launch ran. */
    uint64_t row_seed = ridge_random(ridge_clock_ns(), l->sample.seed);
    if (sl->core_rows > 0)
        event.check = l->check;
    else
        RIDGE_TRY(ridge_check_sample(ops, row_seed, s->sample_rows, s->team, &event.check, error));
    event.sample = l->sample;
    event.sample.worst = event.check.worst;
    event.sample.rows_checked = event.check.rows_checked;
    if (!event.check.ok) {
        event.kind = RIDGE_EVENT_WRONG;
        event.slot = variant;
        (void)snprintf(event.text, sizeof event.text, "round %d: %.200s", l->sample.round, event.check.text);
        send_event(s, &event);
        drop_slot(s, variant);
        return RIDGE_OK;
    }
    if (sl->times && sl->n < MAX_SAMPLES) sl->times[sl->n++] = l->sample.time_us;
    send_event(s, &event);
    return RIDGE_OK;
}

static int rounds_done(const sampler *s) { return (int)(s->scheduled / (2 * s->n_active)); }

/* Fills the whole rotation, then times and checks that many launches on it. Sets that no launch uses (the last of a
 * given number of iterations) are filled all the same, or the others would not be cold. */
static ridge_status run_batch(sampler *s, int launches, ridge_error *error) {
    fill_set(s, &s->lead, (size_t)s->rotation.sets, next_seed(s));
    for (int i = 0; i < s->rotation.sets; i++) {
        if (i < launches) s->batch[i] = next_launch(s);
        s->batch[i].sample.seed = next_seed(s);
        fill_set(s, &s->sets[i], (size_t)i, s->batch[i].sample.seed);
    }
    for (int i = 0; i < launches; i++) time_launch(s, &s->batch[i], &s->sets[i], i ? s->batch[i - 1].slot : -1);
    for (int i = 0; i < launches; i++) RIDGE_TRY(judge_launch(s, &s->batch[i], &s->sets[i], error));
    return RIDGE_OK;
}

static bool converged(const sampler *s) {
    for (int i = 0; i < s->n_active; i++) {
        const slot *sl = &s->slots[s->active[i]];
        if (sl->times && !(ridge_interval_width(ridge_median_interval(sl->times, sl->n)) < converged_width))
            return false;
    }
    return true;
}

static bool must_stop(sampler *s, ridge_stop *stop) {
    if (s->n_running == 0) return *stop = RIDGE_STOP_ENDED, true;
    int rounds = rounds_done(s);
    if (s->job->iterations > 0) return *stop = RIDGE_STOP_ITERATIONS, rounds >= s->job->iterations;
    double spent = seconds_since(s->began_ns);
    if (spent > s->job->max_time * (rounds < MIN_ROUNDS ? patience : 1)) return *stop = RIDGE_STOP_TIME, true;
    if (rounds < MIN_ROUNDS) return false;
    if (2 * rounds >= MAX_SAMPLES) return *stop = RIDGE_STOP_TIME, true;
    if (rounds < s->next_look) return false;
    s->next_look = rounds + 1 + rounds / 8;
    return *stop = RIDGE_STOP_CONVERGED, converged(s);
}

static ridge_status run_rounds(sampler *s, ridge_stop *stop, ridge_error *error) {
    while (!must_stop(s, stop)) {
        int64_t launches = s->rotation.sets, all = (int64_t)s->job->iterations * 2 * s->n_active;
        if (all > 0 && all - s->scheduled < launches) launches = all - s->scheduled;
        RIDGE_TRY(run_batch(s, (int)launches, error));
    }
    return RIDGE_OK;
}

/* ---- set-up
 * -------------------------------------------------------------------------------------------------------------- */

static ridge_status prepare_slots(sampler *s, ridge_error *error) {
    const ridge_job *job = s->job;
    s->slots = calloc(2 * (size_t)job->n_variants + 1, sizeof *s->slots);
    if (!s->slots) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d variants", job->n_variants);
    for (int i = 0; i < job->n_variants; i++) {
        slot *sl = &s->slots[i];
        const ridge_variant *v = sl->variant = &job->target->variants[job->variants[i]];
        if (s->io->excluded[i]) continue;
        const char *why = ridge_variant_obstacle(v, &job->c, &job->here);
        if (why) {
            send_text(s, RIDGE_EVENT_SKIPPED, i, why);
            continue;
        }
        watch(s, i);
        ridge_status status = v->prepare ? v->prepare(&job->c, job->threads, &sl->plan) : RIDGE_OK;
        watch(s, -1);
        if (status != RIDGE_OK) {
            char text[160];
            (void)snprintf(text, sizeof text, "could not be prepared: %s", ridge_status_string(status));
            send_text(s, RIDGE_EVENT_FAILED, i, text);
            continue;
        }
        sl->times = malloc(MAX_SAMPLES * sizeof *sl->times);
        if (!sl->times) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
        sl->active = true;
        size_t want = v->scratch ? v->scratch(&job->c, job->threads) : 0;
        if (want > s->scratch_bytes) s->scratch_bytes = want;
    }
    line_up(s);
    return RIDGE_OK;
}

static ridge_status allocate(sampler *s, ridge_error *error) {
    RIDGE_TRY(ridge_rotation_plan(s->job, &s->rotation, error));
    size_t sets = (size_t)s->rotation.sets;
    s->arena_bytes = s->rotation.stride * (sets + 1);
    RIDGE_TRY(ridge_memory_alloc(s->arena_bytes, (void **)&s->arena, error));
    if (s->scratch_bytes) RIDGE_TRY(ridge_memory_alloc(s->scratch_bytes, &s->scratch, error));
    s->sets = calloc(sets, sizeof *s->sets);
    s->batch = calloc(sets, sizeof *s->batch);
    if (!s->sets || !s->batch) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu operand sets", sets);
    ridge_work work;
    s->job->target->work(&s->job->c, &work);
    double rows = (double)s->job->c.dim[0], per_row = rows > 0 ? work.flops / rows : 1;
    double affordable = sample_check_flops / (per_row > 1 ? per_row : 1);
    s->sample_rows = affordable < 1 ? 1 : affordable > 64 ? 64 : (int64_t)affordable;
    return RIDGE_OK;
}

/* Rows whose operands fit well into one core's own caches; 0 when there are none so few. */
static int64_t rows_in_core(const sampler *s) {
    ridge_work work;
    s->job->target->work(&s->job->c, &work);
    double rows = (double)s->job->c.dim[0], per_row = (work.bytes_read + work.bytes_written) / (rows > 0 ? rows : 1);
    int64_t few = (int64_t)(core_bytes / per_row);
    return few >= 1 && few < s->job->c.dim[0] ? few : 0;
}

/* The reference, and the core slots of the optimized variants; variants with a plan are tied to the case they planned
 * for. */
static ridge_status add_reference(sampler *s, ridge_error *error) {
    int n = s->job->n_variants;
    if (s->n_running == 0 || !ridge_reference_wanted(s->job, s->rotation.set_bytes, &s->reference)) return RIDGE_OK;
    fill_set(s, &s->sets[0], 0, next_seed(s));
    ridge_reference_choose(s->job, s->team, s->sets[0].memory, &s->reference);
    s->has_reference = true;
    ridge_case few = s->job->c;
    few.dim[0] = rows_in_core(s);
    if (few.dim[0] > 0) {
        RIDGE_TRY(ridge_operands_bytes(s->job->target, &few, &dense, &s->core_bytes, error));
        RIDGE_TRY(ridge_memory_alloc(s->core_bytes, (void **)&s->core_memory, error));
    }
    for (int i = 0; i < n; i++) {
        const ridge_variant *v = s->slots[i].variant;
        if (!s->slots[i].active || v->role != RIDGE_OPTIMIZED || v->prepare) continue;
        s->slots[n + 1 + i] = (slot){.variant = v, .core_rows = few.dim[0]};
    }
    line_up(s);
    return RIDGE_OK;
}

static ridge_status sample_case(sampler *s, ridge_error *error) {
    s->began_ns = ridge_clock_ns();
    /* Libraries are opened before the team pins this thread: they take its affinity for the processors they may use. */
    RIDGE_TRY(prepare_slots(s, error));
    if (s->n_active == 0) return RIDGE_OK;
    RIDGE_TRY(ridge_team_create(s->job->threads, s->job->cpus, &s->team, error));
    RIDGE_TRY(allocate(s, error));
    ridge_event frame = {.kind = RIDGE_EVENT_FRAME, .slot = -1, .value = measure_frame()};
    send_event(s, &frame);
    int optimized = first_optimized(s);
    for (int i = 0; i < s->job->n_variants; i++)
        if (s->slots[i].active) RIDGE_TRY(first_check(s, i, i == optimized, error));
    RIDGE_TRY(compare_outputs(s, error));
    RIDGE_TRY(add_reference(s, error));
    s->began_ns = ridge_clock_ns(); /* max_time is for timing and its checks */
    s->scheduled = 0;
    ridge_event stopped = {.kind = RIDGE_EVENT_STOPPED, .slot = -1};
    ridge_stop stop = RIDGE_STOP_ENDED;
    RIDGE_TRY(run_rounds(s, &stop, error));
    stopped.stop = (int32_t)stop;
    send_event(s, &stopped);
    return RIDGE_OK;
}

void ridge_sampler_run(const ridge_job *job, const ridge_sampler_io *io) {
    sampler s = {.job = job, .io = io};
    ridge_error error = {0};
    if (sample_case(&s, &error) != RIDGE_OK) send_text(&s, RIDGE_EVENT_BROKEN, -1, error.text);
    for (int i = 0; s.slots && i < job->n_variants; i++) {
        slot *sl = &s.slots[i];
        if (sl->plan && sl->variant->release) sl->variant->release(sl->plan);
        free(sl->times);
    }
    ridge_team_destroy(s.team);
    ridge_memory_free(s.arena, s.arena_bytes);
    ridge_memory_free(s.scratch, s.scratch_bytes);
    ridge_memory_free(s.core_memory, s.core_bytes);
    free(s.sets);
    free(s.batch);
    free(s.slots);
}
