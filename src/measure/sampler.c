/* The worker: verifies each variant once in full, then times rounds of launches until the stop rule holds.
 *
 * A batch fills all operand sets of the rotation, times launches on them, and checks each after the clock has stopped.
 * Launches follow one endless schedule: rounds of A B … B A. The rig stores operands and times launches. */
#include "measure/sampler.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/foreign.h"
#include "measure/python.h"
#include "measure/stats.h"

/* Oracle FLOP per sample's check. A first check above full_check_flops looks at drawn rows instead of all; that of the first
 * optimized variant at all, or at as many as most_check_flops pays for. */
static const double sample_check_flops = 4e6, full_check_flops = 3e10, most_check_flops = 3e11;
static const double converged_width = 0.005;

typedef ridge_sampler sampler;

void ridge_sampler_send(const sampler *s, ridge_event *event) {
    event->magic = RIDGE_EVENT_MAGIC;
    ssize_t n;
    do n = write(s->io->fd, event, sizeof *event); /* one packet: sent whole or not at all */
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *event) return;
    /* The parent has ended, or the variant of this event has closed the socket. */
    const int slot = event->slot;
    ridge_sampler_watch(s, slot < 0 || !s->slots ? -1 : s->slots[slot].of);
    _exit(1);
}

static void send_text(const sampler *s, ridge_event_kind kind, int slot, const char *text) {
    ridge_event event = {.kind = kind, .slot = slot};
    (void)snprintf(event.text, sizeof event.text, "%.*s", (int)sizeof event.text - 1, text);
    ridge_sampler_send(s, &event);
}

_Noreturn void ridge_sampler_give_up(const sampler *s, int slot, const char *why) {
    send_text(s, slot < 0 ? RIDGE_EVENT_LOST : RIDGE_EVENT_FAILED, slot, why);
    _exit(0);
}

void ridge_sampler_watch(const sampler *s, int slot) {
    atomic_store(&s->io->watch->since_ns, ridge_clock_ns());
    atomic_store(&s->io->watch->slot, slot);
    if (slot >= 0) atomic_store(&s->io->watch->last, slot);
}

uint64_t ridge_sampler_next_seed(sampler *s) { return ridge_random(s->job->seed, s->fillings++); }

size_t ridge_sampler_shift(const sampler *s, uint64_t seed) {
    size_t room = (s->rotation.stride - s->rotation.set_bytes) / RIDGE_LINE;
    return room ? (size_t)(ridge_random(seed, 7) % room) * RIDGE_LINE : 0;
}

/* ---- before the first round ------------------------------------------------------------------------------------- */

/* Lists the slots of a round: the active variants and, while there are any, the reference and the companions. */
static void line_up(sampler *s) {
    const int n = s->job->n_variants;
    s->n_active = 0;
    for (int i = 0; i < n; i++)
        if (s->slots[i].active) s->active[s->n_active++] = i;
    s->n_running = s->n_active;
    if (s->n_running == 0) return;
    for (int i = n; i <= 2 * n; i++) {
        const ridge_slot *slot = &s->slots[i];
        if (slot->active && (slot->of >= n || s->slots[slot->of].active)) s->active[s->n_active++] = i;
    }
}

/* Restarts the round with the remaining slots. */
static void drop_slot(sampler *s, int index) {
    int64_t round = s->n_active ? s->scheduled / (2 * s->n_active) + 1 : 0;
    s->slots[index].active = false;
    line_up(s);
    s->scheduled = round * 2 * s->n_active;
}

static void fail_slot(sampler *s, int index, ridge_status status) {
    char text[240];
    (void)snprintf(text, sizeof text, "the variant returned: %s%s", ridge_status_string(status), ridge_why());
    send_text(s, RIDGE_EVENT_FAILED, index, text);
    drop_slot(s, index);
}

/* A failed check drops the variant from the case. */
static void wrong_slot(sampler *s, int index, const ridge_check *check, const char *text) {
    ridge_event event = {.kind = RIDGE_EVENT_WRONG, .slot = index, .check = *check};
    (void)snprintf(event.text, sizeof event.text, "%.239s", text);
    ridge_sampler_send(s, &event);
    drop_slot(s, index);
}

void ridge_sampler_estimate(ridge_slot *slot, double time_us) {
    if (slot->estimate_us <= 0 || time_us < slot->estimate_us) slot->estimate_us = time_us;
}

static bool affords_full_check(const ridge_job *job) {
    return ridge_check_full_cost(job->target, &job->c) <= full_check_flops;
}

/* Of the first optimized variant's first check: at least one. */
static int64_t first_check_rows(const ridge_job *job) {
    const double cost = ridge_check_full_cost(job->target, &job->c), share = fmin(1, most_check_flops / fmax(cost, 1));
    return (int64_t)ceil((double)job->c.dim[0] * share);
}

double ridge_job_check_flops(const ridge_job *job) {
    const double cost = ridge_check_full_cost(job->target, &job->c), rows = (double)job->c.dim[0];
    return affords_full_check(job) ? job->n_variants * cost : cost * (double)first_check_rows(job) / fmax(rows, 1);
}

/* A kernel of somebody else, and a library, may learn of a case when it is asked: whether a library has a kernel of these types for
 * this processor, say. A variant of ridge has said before that it takes it. */
static bool may_refuse(const ridge_variant *v) {
    return v->role == RIDGE_PEER || ridge_foreign_is(v) || ridge_python_is(v);
}

/* What a library or a kernel of others says of a case that it does not take: `why` without what leads to it. */
static const char *refusal(const char *why) { return *why ? why + strlen(": ") : "it does not take this case"; }

/* The first launch of a variant is untimed. It is checked in full if the oracle's cost allows. That of the first optimized
 * variant is checked in full up to most_check_flops, so that every case but the largest has a full check. */
static ridge_status first_check(sampler *s, int index, bool is_first_optimized, ridge_error *error) {
    const uint64_t seed = ridge_sampler_next_seed(s);
    ridge_status status;
    double time_us;
    RIDGE_TRY(s->rig->fill(s, 0, seed, error));
    RIDGE_TRY(s->rig->launch(s, index, 0, &status, &time_us, error));
    if (status == RIDGE_UNSUPPORTED && may_refuse(s->slots[index].variant)) {
        send_text(s, RIDGE_EVENT_SKIPPED, index, refusal(ridge_why()));
        drop_slot(s, index);
        return RIDGE_OK;
    }
    if (status != RIDGE_OK) {
        fail_slot(s, index, status);
        return RIDGE_OK;
    }
    const ridge_slot *slot = &s->slots[index];
    ridge_event event = {.kind = RIDGE_EVENT_CHECKED, .slot = index};
    if (slot->way) event.way = (int32_t)(slot->way - slot->variant->ways) + 1;
    const int64_t some = is_first_optimized ? first_check_rows(s->job) : 16 * s->sample_rows;
    const int64_t rows = affords_full_check(s->job) || some >= s->job->c.dim[0] ? -1 : some;
    RIDGE_TRY(s->rig->check(s, 0, seed, rows, &event.check, error));
    ridge_sampler_estimate(&s->slots[index], time_us);
    ridge_sampler_send(s, &event);
    if (event.check.ok) return RIDGE_OK;
    wrong_slot(s, index, &event.check, event.check.text);
    return RIDGE_OK;
}

static int first_optimized(const sampler *s) {
    for (int i = 0; i < s->job->n_variants; i++)
        if (s->slots[i].active && s->slots[i].variant->role == RIDGE_OPTIMIZED) return i;
    return -1;
}

/* Two outputs differ: checks both in full to find the wrong one. If the oracle passes both, the variant that was
 * compared with the optimized one is wrong. */
static ridge_status settle_difference(sampler *s, int index, int optimized, const ridge_agreement *agreement,
                                      ridge_error *error) {
    const struct { int slot, set; } sides[] = {{index, s->rotation.sets}, {optimized, 0}};
    ridge_check check;
    bool settled = false;
    char text[240];
    for (int i = 0; i < 2; i++) {
        RIDGE_TRY(s->rig->check(s, sides[i].set, 0, -1, &check, error));
        if (check.ok) continue;
        (void)snprintf(text, sizeof text, "not in every launch: %.180s", check.text);
        wrong_slot(s, sides[i].slot, &check, text);
        settled = true;
    }
    if (settled) return RIDGE_OK;
    check.ok = false;
    (void)snprintf(text, sizeof text,
                   "differs from %.60s by up to %.3g on identical inputs, more than both bounds permit, though each "
                   "passes the oracle: look at the oracle and the bounds too",
                   s->slots[optimized].variant->name, agreement->max_difference);
    wrong_slot(s, index, &check, text);
    return RIDGE_OK;
}

/* Compares a variant's output with the optimized variant's, which is in set 0, on identical inputs. */
static ridge_status compare_output(sampler *s, int index, int optimized, uint64_t seed, ridge_error *error) {
    const int lead = s->rotation.sets;
    ridge_status status;
    double time_us;
    RIDGE_TRY(s->rig->fill(s, lead, seed, error));
    RIDGE_TRY(s->rig->launch(s, index, lead, &status, &time_us, error));
    if (status != RIDGE_OK) {
        fail_slot(s, index, status);
        return RIDGE_OK;
    }
    ridge_sampler_estimate(&s->slots[index], time_us);
    ridge_event event = {.kind = RIDGE_EVENT_AGREES, .slot = index};
    RIDGE_TRY(s->rig->agree(s, lead, 0, &event.agreement, error));
    ridge_sampler_send(s, &event);
    return event.agreement.agree ? RIDGE_OK : settle_difference(s, index, optimized, &event.agreement, error);
}

/* Compares every other variant with the first optimized one. If that one is wrong, the next takes its place. */
static ridge_status compare_outputs(sampler *s, ridge_error *error) {
    for (int optimized; (optimized = first_optimized(s)) >= 0;) {
        const uint64_t seed = ridge_sampler_next_seed(s);
        ridge_status status;
        double time_us;
        RIDGE_TRY(s->rig->fill(s, 0, seed, error));
        RIDGE_TRY(s->rig->launch(s, optimized, 0, &status, &time_us, error));
        if (status != RIDGE_OK) {
            fail_slot(s, optimized, status);
            continue;
        }
        ridge_sampler_estimate(&s->slots[optimized], time_us);
        for (int i = 0; i < s->job->n_variants && s->slots[optimized].active; i++)
            if (s->slots[i].active && i != optimized) RIDGE_TRY(compare_output(s, i, optimized, seed, error));
        if (s->slots[optimized].active) return RIDGE_OK;
    }
    return RIDGE_OK;
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

static ridge_launch next_launch(const sampler *s) {
    int64_t per_round = 2 * s->n_active, place = s->scheduled % per_round;
    int64_t round = s->scheduled / per_round;
    int visit = place >= s->n_active;
    int64_t order = visit ? per_round - 1 - place : place;
    /* A B B A, then B A A B: a disturbance with the period of a round does not always hit the same variant. */
    if (round % 2) order = s->n_active - 1 - order;
    ridge_launch l = {.slot = s->active[order]};
    l.sample.round = (int32_t)round;
    l.sample.visit = visit;
    return l;
}

/* Checks a finished launch; a wrong one drops its variant from the case. */
static ridge_status judge_launch(sampler *s, ridge_launch *l, ridge_error *error) {
    ridge_slot *slot = &s->slots[l->slot];
    if (slot->kind == RIDGE_SLOT_REFERENCE) {
        if (s->warming) return RIDGE_OK;
        ridge_event moved = {.kind = RIDGE_EVENT_SAMPLE, .slot = l->slot, .sample = l->sample};
        ridge_sampler_send(s, &moved);
        return RIDGE_OK;
    }
    if (!s->slots[slot->of].active) return RIDGE_OK;
    if (l->status != RIDGE_OK) {
        fail_slot(s, slot->of, l->status);
        return RIDGE_OK;
    }
    ridge_event event = {.kind = RIDGE_EVENT_SAMPLE, .slot = l->slot, .check = l->check};
    /* The rows are drawn now, with a seed that did not exist when the launch ran. */
    const uint64_t row_seed = ridge_random(ridge_clock_ns(), l->sample.seed);
    for (int i = 0; i < slot->sets && slot->kind != RIDGE_SLOT_CORE && !l->refuted; i++) {
        ridge_check check;
        RIDGE_TRY(s->rig->check(s, l->set + i, row_seed + (uint64_t)i, s->sample_rows, &check, error));
        if (i == 0 || !check.ok || check.worst > event.check.worst) event.check = check;
        if (!check.ok) break;
    }
    event.sample = l->sample;
    event.sample.worst = event.check.worst;
    event.sample.rows_checked = event.check.rows_checked;
    if (!event.check.ok) {
        char text[240];
        (void)snprintf(text, sizeof text, "%sround %d: %.200s", s->warming ? "warm-up, " : "", l->sample.round,
                       event.check.text);
        wrong_slot(s, slot->of, &event.check, text);
        return RIDGE_OK;
    }
    if (s->warming) return RIDGE_OK;
    if (slot->times && slot->n < RIDGE_MAX_SAMPLES) slot->times[slot->n++] = l->sample.time_us;
    ridge_sampler_send(s, &event);
    return RIDGE_OK;
}

static int rounds_done(const sampler *s) { return (int)(s->scheduled / (2 * s->n_active)); }

/* Fills all sets of the rotation, then times and checks one launch per set. In the last batch some sets may have no
 * launch; they are filled all the same, or the others would not be cold. */
static ridge_status run_batch(sampler *s, int64_t most, ridge_error *error) {
    /* With --hot, a second set would compete with the timed one for the cache. */
    if (!s->job->hot) RIDGE_TRY(s->rig->fill(s, s->rotation.sets, ridge_sampler_next_seed(s), error));
    int n = 0, set = 0;
    for (; n < most; n++) {
        ridge_launch l = next_launch(s);
        if (set + s->slots[l.slot].sets > s->rotation.sets) break;
        l.set = set;
        for (int i = 0; i < s->slots[l.slot].sets; i++, set++) {
            const uint64_t seed = ridge_sampler_next_seed(s);
            if (i == 0) l.sample.seed = seed;
            RIDGE_TRY(s->rig->fill(s, set, seed, error));
        }
        s->batch[n] = l;
        s->scheduled++;
    }
    for (; set < s->rotation.sets; set++) RIDGE_TRY(s->rig->fill(s, set, ridge_sampler_next_seed(s), error));
    RIDGE_TRY(s->rig->time(s, s->batch, n, error));
    for (int i = 0; i < n; i++) RIDGE_TRY(judge_launch(s, &s->batch[i], error));
    return RIDGE_OK;
}

static bool converged(const sampler *s) {
    const double width = s->job->noise > 0 ? s->job->noise : converged_width;
    for (int i = 0; i < s->n_active; i++) {
        const ridge_slot *slot = &s->slots[s->active[i]];
        if (slot->times && !(ridge_interval_width(ridge_median_interval(slot->times, slot->n)) < width)) return false;
    }
    return true;
}

static bool must_stop(sampler *s, ridge_stop *stop) {
    if (s->n_running == 0) return *stop = RIDGE_STOP_ENDED, true;
    int rounds = rounds_done(s);
    if (s->job->iterations > 0) return *stop = RIDGE_STOP_ITERATIONS, rounds >= s->job->iterations;
    if (rounds < 1) return false; /* at least one round, whatever the limit */
    double spent = ridge_seconds_since(s->began_ns);
    bool few = rounds < RIDGE_LEAST_ROUNDS;
    if (spent > (few ? s->job->patience : s->job->max_time)) return *stop = RIDGE_STOP_TIME, true;
    if (few) return false;
    if (2 * rounds >= RIDGE_MAX_SAMPLES) return *stop = RIDGE_STOP_TIME, true;
    if (rounds < s->next_look) return false;
    s->next_look = rounds + 1 + rounds / 8;
    return *stop = RIDGE_STOP_CONVERGED, converged(s);
}

/* Rounds that so many seconds pay for by the shortest launch of each variant so far, its first ones included. */
static double rounds_paid(const sampler *s, double seconds) {
    double round_s = 1e-9;
    for (int i = 0; i < s->n_active; i++) round_s += 2e-6 * s->slots[s->active[i]].estimate_us;
    return seconds / round_s;
}

/* Launches until the stop rule should be evaluated: the rounds asked for; the least rounds, as far as patience pays for them; then
 * what fits max_time at the pace so far. A batch of small operands could hold hundreds more. */
static int64_t launches_ahead(const sampler *s) {
    const int64_t round = 2 * (int64_t)s->n_active;
    if (s->job->iterations > 0) return s->job->iterations * round - s->scheduled;
    const double spent = ridge_seconds_since(s->began_ns);
    const int64_t least = RIDGE_LEAST_ROUNDS * round - s->scheduled;
    if (least > 0) {
        const double paid = fmin(rounds_paid(s, s->job->patience - spent), RIDGE_LEAST_ROUNDS);
        const int64_t launches = round * (int64_t)fmax(paid, 1);
        return launches < least ? launches : least;
    }
    const double left = s->job->max_time - spent;
    const double rounds = left > 0 ? left * rounds_done(s) / fmax(spent, 1e-9) : 0;
    return round * (1 + (int64_t)fmin(rounds, RIDGE_MAX_SAMPLES));
}

static ridge_status run_rounds(sampler *s, ridge_stop *stop, ridge_error *error) {
    while (!must_stop(s, stop)) {
        const int64_t ahead = launches_ahead(s);
        RIDGE_TRY(run_batch(s, ahead < s->rotation.sets ? ahead : s->rotation.sets, error));
    }
    return RIDGE_OK;
}

/* Rounds like the timed ones, in batches of as many sets, so that clocks and caches meet what they will meet. */
static ridge_status warm_up(sampler *s, ridge_error *error) {
    s->warming = true;
    s->scheduled = 0;
    while (s->n_running > 0 && rounds_done(s) < s->job->warmup) {
        const int64_t ahead = 2 * (int64_t)s->n_active * s->job->warmup - s->scheduled;
        RIDGE_TRY(run_batch(s, ahead < s->rotation.sets ? ahead : s->rotation.sets, error));
    }
    s->warming = false;
    return RIDGE_OK;
}

/* ---- set-up ----------------------------------------------------------------------------------------------------- */

static ridge_status prepare_slot(sampler *s, int i, ridge_error *error) {
    const ridge_job *job = s->job;
    const ridge_variant *v = &job->target->variants[job->variants[i]];
    ridge_slot *slot = &s->slots[i];
    *slot = (ridge_slot){.kind = RIDGE_SLOT_VARIANT, .variant = v, .of = i, .sets = 1};
    if (s->io->excluded[i]) return RIDGE_OK;
    const char *why = ridge_variant_dense_obstacle(job->target, v, &job->c, &job->here);
    if (why) {
        send_text(s, RIDGE_EVENT_SKIPPED, i, why);
        return RIDGE_OK;
    }
    atomic_store(&s->io->watch->preparing, true);
    ridge_sampler_watch(s, i);
    (void)ridge_why(); /* clears the reason of the previous slot */
    ridge_python_next(v);
    ridge_status status = v->prepare ? v->prepare(&job->c, job->threads, &slot->plan) : RIDGE_OK;
    ridge_sampler_watch(s, -1);
    atomic_store(&s->io->watch->preparing, false);
    if (status == RIDGE_UNSUPPORTED && may_refuse(v)) {
        send_text(s, RIDGE_EVENT_SKIPPED, i, refusal(ridge_why()));
        return RIDGE_OK;
    }
    if (status != RIDGE_OK) {
        char text[240];
        (void)snprintf(text, sizeof text, "could not be prepared: %s%s", ridge_status_string(status), ridge_why());
        send_text(s, RIDGE_EVENT_FAILED, i, text);
        return RIDGE_OK;
    }
    slot->times = malloc(RIDGE_MAX_SAMPLES * sizeof *slot->times);
    if (!slot->times) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
    slot->active = true;
    const size_t want = ridge_variant_dense_scratch(job->target, v, &job->c, &job->here, job->threads);
    if (want > s->scratch_bytes) s->scratch_bytes = want;
    return RIDGE_OK;
}

static ridge_status prepare_slots(sampler *s, ridge_error *error) {
    s->slots = calloc(2 * (size_t)s->job->n_variants + 1, sizeof *s->slots);
    if (!s->slots) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d variants", s->job->n_variants);
    for (int i = 0; i < s->job->n_variants; i++) RIDGE_TRY(prepare_slot(s, i, error));
    line_up(s);
    return RIDGE_OK;
}

static ridge_status allocate(sampler *s, ridge_error *error) {
    RIDGE_TRY(ridge_rotation_plan(s->job, &s->rotation, error));
    s->batch = calloc((size_t)s->rotation.sets, sizeof *s->batch);
    if (!s->batch) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d operand sets", s->rotation.sets);
    RIDGE_TRY(s->rig->allocate(s, error));
    ridge_work work;
    s->job->target->work(&s->job->c, &work);
    double rows = (double)s->job->c.dim[0], per_row = rows > 0 ? work.flops / rows : 1;
    double affordable = sample_check_flops / (per_row > 1 ? per_row : 1);
    s->sample_rows = affordable < 1 ? 1 : affordable > 64 ? 64 : (int64_t)affordable;
    return RIDGE_OK;
}

/* On the emulator: once more, with other inputs in the same device memory. */
static ridge_status check_foreign_again(sampler *s, ridge_error *error) {
    ridge_status status;
    ridge_check check;
    double time_us;
    for (int i = 0; i < s->job->n_variants; i++) {
        if (!s->slots[i].active || !ridge_foreign_is(s->slots[i].variant)) continue;
        RIDGE_TRY(s->rig->fill(s, 0, ridge_sampler_next_seed(s), error));
        RIDGE_TRY(s->rig->launch(s, i, 0, &status, &time_us, error));
        if (status != RIDGE_OK) {
            fail_slot(s, i, status);
            continue;
        }
        RIDGE_TRY(s->rig->check(s, 0, 0, -1, &check, error));
        if (!check.ok) wrong_slot(s, i, &check, check.text);
    }
    return RIDGE_OK;
}

static ridge_status sample_case(sampler *s, ridge_error *error) {
    s->began_ns = ridge_clock_ns();
    RIDGE_TRY(s->rig->open(s, error));
    RIDGE_TRY(prepare_slots(s, error));
    if (s->n_active == 0) return RIDGE_OK;
    RIDGE_TRY(allocate(s, error));
    if (!s->job->emulated) RIDGE_TRY(s->rig->frame(s, error));
    int optimized = first_optimized(s);
    for (int i = 0; i < s->job->n_variants; i++)
        if (s->slots[i].active) RIDGE_TRY(first_check(s, i, i == optimized, error));
    RIDGE_TRY(compare_outputs(s, error));
    if (s->job->emulated) return check_foreign_again(s, error);
    if (s->n_running > 0) RIDGE_TRY(s->rig->companions(s, error));
    line_up(s);
    RIDGE_TRY(warm_up(s, error));
    s->began_ns = ridge_clock_ns(); /* max_time covers timing and its checks */
    s->scheduled = 0;
    ridge_event stopped = {.kind = RIDGE_EVENT_STOPPED, .slot = -1};
    ridge_stop stop = RIDGE_STOP_ENDED;
    RIDGE_TRY(run_rounds(s, &stop, error));
    stopped.stop = (int32_t)stop;
    stopped.value = ridge_seconds_since(s->began_ns);
    stopped.sample.round = s->n_active ? rounds_done(s) : 0;
    ridge_sampler_send(s, &stopped);
    return RIDGE_OK;
}

void ridge_sampler_run(const ridge_job *job, const ridge_sampler_io *io) {
    sampler s = {.job = job, .io = io};
    s.rig = job->backend == RIDGE_BACKEND_cuda ? &ridge_rig_cuda : &ridge_rig_cpu;
    ridge_error error = {0};
    if (sample_case(&s, &error) != RIDGE_OK) send_text(&s, RIDGE_EVENT_BROKEN, -1, error.text);
    for (int i = 0; s.slots && i <= 2 * job->n_variants; i++) {
        ridge_slot *slot = &s.slots[i];
        if (slot->kind == RIDGE_SLOT_VARIANT && slot->plan && slot->variant->release)
            slot->variant->release(slot->plan);
        free(slot->times);
    }
    s.rig->close(&s);
    free(s.batch);
    free(s.slots);
}
