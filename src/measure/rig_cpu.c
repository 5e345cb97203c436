/* The CPU rig: operand sets in host memory, launches timed by the clock. Before a short launch, the same variant runs
 * once untimed on the lead set. This wakes its threads and brings its code into cache, while the timed operands stay
 * cold. With --hot the untimed launch runs on the timed set, the only one, whose outputs are then poisoned again. */
#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/foreign.h"
#include "measure/python.h"
#include "measure/sampler.h"
#include "measure/stats.h"
#include "measure/threads.h"

/* Launches longer than this need no lead-in, because waking threads takes tens of microseconds. */
static const double lead_in_below_us = 3000;
/* Operand bytes of a core slot: well below the L2 capacity of every processor of the last ten years. */
static const double core_bytes = 160 * 1024;
enum { FRAME_LAUNCHES = 1001 };
static const double longest_rest_s = 0.2; /* for threads of a library that never sleep */
static const ridge_layout dense = {0};

typedef struct cpu_rig {
    char *arena;
    size_t arena_bytes;
    void *scratch;
    ridge_operands *sets; /* rotating sets, then the lead set */
    ridge_mover_choice reference;
    char *core_memory;
    size_t core_bytes;
} cpu_rig;

static ridge_status cpu_open(ridge_sampler *s, ridge_error *error) {
    s->own = calloc(1, sizeof(cpu_rig));
    ridge_foreign_pin(s->job->cpus);
    return s->own ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a rig");
}

static bool has_foreign(const ridge_sampler *s) {
    for (int i = 0; i < s->job->n_variants; i++)
        if (s->slots[i].active && ridge_foreign_is(s->slots[i].variant)) return true;
    return false;
}

/* Libraries are opened before the team pins this thread, because they read its affinity as the set of usable
 * processors. */
static ridge_status cpu_allocate(ridge_sampler *s, ridge_error *error) {
    cpu_rig *r = s->own;
    const size_t sets = (size_t)s->rotation.sets;
    RIDGE_TRY(ridge_team_create(s->job->threads, s->job->cpus, &s->team, error));
    r->arena_bytes = s->rotation.stride * (sets + 1);
    RIDGE_TRY(ridge_memory_alloc(r->arena_bytes, (void **)&r->arena, error));
    if (s->scratch_bytes) RIDGE_TRY(ridge_memory_alloc(s->scratch_bytes, &r->scratch, error));
    if (has_foreign(s)) RIDGE_TRY(ridge_foreign_open((int)sets + 1, error));
    r->sets = calloc(sets + 1, sizeof *r->sets);
    return r->sets ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu operand sets", sets);
}

static void cpu_close(ridge_sampler *s) {
    cpu_rig *r = s->own;
    if (!r) return;
    ridge_team_destroy(s->team);
    ridge_memory_free(r->arena, r->arena_bytes);
    ridge_memory_free(r->scratch, s->scratch_bytes);
    ridge_memory_free(r->core_memory, r->core_bytes);
    free(r->sets);
    free(r);
}

/* Every second set of a kernel of others is one that shortcuts of precision fail. */
static ridge_fill_kind kind_of(const ridge_sampler *s, uint64_t seed) {
    return has_foreign(s) && ridge_random(seed, 1) & 1 ? RIDGE_PRECISION : RIDGE_RANDOM;
}

static ridge_status cpu_fill(ridge_sampler *s, int set, uint64_t seed, ridge_error *error) {
    cpu_rig *r = s->own;
    ridge_operands *ops = &r->sets[set];
    char *memory = r->arena + (size_t)set * s->rotation.stride + ridge_sampler_shift(s, seed);
    ridge_operands_place(ops, s->job->target, &s->job->c, &dense, memory);
    ops->user = s->job->user;
    ridge_operands_fill(ops, kind_of(s, seed), seed, s->team);
    return has_foreign(s) ? ridge_foreign_fill(set, ops, error) : RIDGE_OK;
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

/* The clock is here, in the judge: from before the turn is given to the kernel's process to after it is back. */
static ridge_status run_foreign(ridge_sampler *s, int index, const ridge_operands *ops, double *time_us) {
    const int set = (int)(ops - ((const cpu_rig *)s->own)->sets);
    const ridge_call call = {.dim = ops->c.dim};
    ridge_sampler_watch(s, index);
    RIDGE_TRY(ridge_foreign_ready(set, ops));
    const uint64_t begin = ridge_clock_ns();
    const ridge_status status = s->slots[index].variant->run[s->job->isa](&call);
    *time_us = (double)(ridge_clock_ns() - begin) * 1e-3;
    RIDGE_TRY(status);
    RIDGE_TRY(ridge_foreign_collect(set, ops));
    ridge_sampler_watch(s, -1);
    return RIDGE_OK;
}

static ridge_status run_variant(ridge_sampler *s, int index, const ridge_operands *ops, double *time_us) {
    if (ridge_foreign_is(s->slots[index].variant)) return run_foreign(s, index, ops, time_us);
    const cpu_rig *r = s->own;
    ridge_slot *slot = &s->slots[index];
    /* Few rows run on one thread: starting the team would take as long as the work. */
    ridge_team *team = slot->kind == RIDGE_SLOT_CORE ? NULL : s->team;
    const ridge_call call = {.dim = ops->c.dim,
                             .dtype = ops->c.dtype,
                             .option = ops->c.option,
                             .in = ops->in,
                             .out = ops->out,
                             .scratch = r->scratch,
                             .team = team,
                             .plan = slot->plan};
    ridge_sampler_watch(s, slot->of);
    if (ridge_python_is(slot->variant)) RIDGE_TRY(ridge_python_bind(&call));
    uint64_t begin = ridge_clock_ns();
    ridge_status status = ridge_variant_run_way(s->job->target, slot->variant, &s->job->here, &call, &slot->way);
    uint64_t end = ridge_clock_ns();
    ridge_sampler_watch(s, -1);
    *time_us = (double)(end - begin) * 1e-3;
    return status;
}

static ridge_status cpu_launch(ridge_sampler *s, int slot, int set, ridge_status *status, double *time_us,
                               ridge_error *error) {
    (void)error;
    const cpu_rig *r = s->own;
    *status = run_variant(s, slot, &r->sets[set], time_us);
    return RIDGE_OK;
}

static bool own_threads(const ridge_sampler *s, int index) {
    const ridge_variant *v = s->slots[index].variant;
    return v && v->own_threads;
}

/* Library threads and team helpers spin after their work and would take CPU time from each other. The helpers sleep
 * before a library runs; after it, its threads are waited for. Those of libgomp spin for tens of milliseconds. */
static void settle(ridge_sampler *s, int next, int previous) {
    if (own_threads(s, next)) ridge_team_rest(s->team);
    if (previous >= 0 && previous != next && own_threads(s, previous)) ridge_threads_rest(longest_rest_s);
}

/* Times the variant on few rows: fill, untimed run, fill again, so that operands and code are in the core's private
 * caches, then the timed run. */
static void time_core(ridge_sampler *s, ridge_launch *l) {
    const cpu_rig *r = s->own;
    const ridge_slot *slot = &s->slots[l->slot];
    ridge_operands ops;
    ridge_case c = s->job->c;
    double warm;
    c.dim[0] = slot->core_rows;
    ridge_operands_place(&ops, s->job->target, &c, &dense, r->core_memory);
    ridge_operands_fill(&ops, RIDGE_RANDOM, ridge_sampler_next_seed(s), NULL);
    (void)run_variant(s, l->slot, &ops, &warm);
    ridge_operands_fill(&ops, RIDGE_RANDOM, l->sample.seed, NULL);
    l->status = run_variant(s, l->slot, &ops, &l->sample.time_us);
    ridge_error error;
    if (l->status == RIDGE_OK)
        l->status = ridge_check_sample(&ops, ridge_clock_ns(), s->sample_rows, s->team, &l->check, &error);
    l->sample.time_us *= (double)s->job->c.dim[0] / (double)(slot->core_rows * s->job->threads);
}

/* A launch before, on operands of its own: code and threads are warm then. That of a kernel which is judged writes to poison
 * and is checked, as each of its launches. */
static ridge_status lead_in(ridge_sampler *s, ridge_launch *l) {
    const cpu_rig *r = s->own;
    ridge_operands *ops = &r->sets[s->rotation.sets];
    ridge_error error = {0};
    double ignored;
    if (!ridge_foreign_is(s->slots[l->slot].variant)) return (void)run_variant(s, l->slot, ops, &ignored), RIDGE_OK;
    ridge_operands_poison(ops, s->team);
    RIDGE_TRY(ridge_foreign_fill(s->rotation.sets, ops, &error));
    RIDGE_TRY(run_variant(s, l->slot, ops, &ignored));
    RIDGE_TRY(ridge_check_sample(ops, ridge_clock_ns(), s->sample_rows, s->team, &l->check, &error));
    l->refuted = !l->check.ok;
    return RIDGE_OK;
}

static void time_one(ridge_sampler *s, ridge_launch *l, int previous) {
    cpu_rig *r = s->own;
    ridge_slot *slot = &s->slots[l->slot];
    double ignored;
    settle(s, l->slot, previous);
    if (slot->kind == RIDGE_SLOT_REFERENCE) {
        uint64_t begin = ridge_clock_ns();
        ridge_reference_run(&r->reference, s->team, r->sets[l->set].memory);
        l->sample.time_us = (double)(ridge_clock_ns() - begin) * 1e-3;
        return;
    }
    if (slot->kind == RIDGE_SLOT_CORE) {
        time_core(s, l);
        return;
    }
    if (s->job->hot && !ridge_foreign_is(slot->variant)) { /* a foreign kernel's operands never stay in cache */
        (void)run_variant(s, l->slot, &r->sets[l->set], &ignored);
        ridge_operands_poison(&r->sets[l->set], s->team);
    } else if (slot->estimate_us < lead_in_below_us) {
        l->status = lead_in(s, l);
        if (l->status != RIDGE_OK || l->refuted) return;
    }
    l->status = run_variant(s, l->slot, &r->sets[l->set], &l->sample.time_us);
    ridge_sampler_estimate(slot, l->sample.time_us);
}

static ridge_status cpu_time(ridge_sampler *s, ridge_launch *batch, int n, ridge_error *error) {
    (void)error;
    for (int i = 0; i < n; i++) time_one(s, &batch[i], i ? batch[i - 1].slot : -1);
    return RIDGE_OK;
}

/* ---- verdicts --------------------------------------------------------------------------------------------------- */

static ridge_status cpu_check(ridge_sampler *s, int set, uint64_t row_seed, int64_t rows, ridge_check *check,
                              ridge_error *error) {
    const cpu_rig *r = s->own;
    if (rows < 0) return ridge_check_full(&r->sets[set], s->team, check, error);
    return ridge_check_sample(&r->sets[set], row_seed, rows, s->team, check, error);
}

static ridge_status cpu_agree(ridge_sampler *s, int a, int b, ridge_agreement *agreement, ridge_error *error) {
    const cpu_rig *r = s->own;
    return ridge_check_agree(&r->sets[a], &r->sets[b], s->team, agreement, error);
}

static ridge_status empty_launch(const ridge_call *call) { return call->plan ? RIDGE_INVALID : RIDGE_OK; }

/* The empty launch is reported and not subtracted: a time is what a caller would measure. */
static ridge_status cpu_frame(ridge_sampler *s, ridge_error *error) {
    (void)error;
    double times[FRAME_LAUNCHES];
    volatile ridge_run_fn run = empty_launch;
    const ridge_call call = {0};
    for (int i = 0; i < FRAME_LAUNCHES; i++) {
        uint64_t begin = ridge_clock_ns();
        (void)run(&call);
        times[i] = (double)(ridge_clock_ns() - begin) * 1e-3;
    }
    ridge_event event = {.kind = RIDGE_EVENT_FRAME, .slot = -1, .value = ridge_median(times, FRAME_LAUNCHES)};
    /* To a foreign kernel's process and back, which is more than a call. */
    if (has_foreign(s)) event.value = fmax(event.value, ridge_foreign_frame());
    ridge_sampler_send(s, &event);
    return RIDGE_OK;
}

/* Number of rows whose operands take at most core_bytes; 0 if not even one row does, or if all rows do. */
static int64_t rows_in_core(const ridge_sampler *s) {
    ridge_work work;
    s->job->target->work(&s->job->c, &work);
    double rows = (double)s->job->c.dim[0], per_row = (work.bytes_read + work.bytes_written) / (rows > 0 ? rows : 1);
    int64_t few = (int64_t)(core_bytes / per_row);
    return few >= 1 && few < s->job->c.dim[0] ? few : 0;
}

/* The reference, and the core slots of the optimized variants. Variants with a plan have none, because the plan is for
 * the full case. */
static ridge_status cpu_companions(ridge_sampler *s, ridge_error *error) {
    cpu_rig *r = s->own;
    const int n = s->job->n_variants;
    if (!ridge_reference_wanted(s->job, s->rotation.set_bytes, &r->reference)) return RIDGE_OK;
    RIDGE_TRY(cpu_fill(s, 0, ridge_sampler_next_seed(s), error));
    ridge_reference_choose(s->job, s->team, r->sets[0].memory, &r->reference);
    s->slots[n] = (ridge_slot){.kind = RIDGE_SLOT_REFERENCE, .of = n, .active = true, .sets = 1};
    ridge_case few = s->job->c;
    few.dim[0] = rows_in_core(s);
    if (few.dim[0] == 0) return RIDGE_OK;
    RIDGE_TRY(ridge_operands_bytes(s->job->target, &few, &dense, &r->core_bytes, error));
    RIDGE_TRY(ridge_memory_alloc(r->core_bytes, (void **)&r->core_memory, error));
    for (int i = 0; i < n; i++) {
        const ridge_variant *v = s->slots[i].variant;
        if (!s->slots[i].active || v->role != RIDGE_OPTIMIZED || v->prepare) continue;
        s->slots[n + 1 + i] = (ridge_slot){
            .kind = RIDGE_SLOT_CORE, .variant = v, .of = i, .core_rows = few.dim[0], .active = true, .sets = 1};
    }
    return RIDGE_OK;
}

const ridge_rig ridge_rig_cpu = {
    .open = cpu_open,
    .allocate = cpu_allocate,
    .close = cpu_close,
    .frame = cpu_frame,
    .fill = cpu_fill,
    .launch = cpu_launch,
    .time = cpu_time,
    .check = cpu_check,
    .agree = cpu_agree,
    .companions = cpu_companions,
};
