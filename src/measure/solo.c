#include "measure/solo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/event.h"
#include "measure/stats.h"
#include "verify/check.h"
#include "verify/scan.h"

enum { LEAST = 8 };                      /* launches of which a median has an interval */
static const double frames_needed = 20;  /* as of any other kernel */
static const double patience = 30;       /* times max_time, for the fewest launches */
static const double usual_noise = 0.005; /* as of any other kernel */

/* Sets in turn, then one in which a launch is repeated. */
typedef struct rig {
    const ridge_solo *solo;
    ridge_solo_result *result;
    ridge_variant variant;
    void *plan;
    ridge_rotation rotation;
    char *memory;
    size_t bytes;
    ridge_operands *sets;
    uint64_t *seeds;
    double *times; /* of the sets, in this batch */
    uint64_t fills, began_ns;
    bool varies; /* two launches had different outputs */
} rig;

static const ridge_layout dense = {0};

static int spare(const rig *r) { return r->rotation.sets; }

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static ridge_status plan_sets(const ridge_solo *solo, ridge_rotation *rotation, ridge_error *error) {
    const ridge_job job = {.target = solo->target, .c = solo->c, .last_level = solo->last_level};
    return ridge_rotation_plan(&job, rotation, error);
}

/* The judge's sets, and the copies that the kernel sees. */
ridge_status ridge_solo_bytes(const ridge_solo *solo, double *bytes, ridge_error *error) {
    ridge_rotation rotation;
    RIDGE_TRY(plan_sets(solo, &rotation, error));
    *bytes = 2 * (double)rotation.stride * (rotation.sets + 1);
    return RIDGE_OK;
}

static ridge_status out_of_memory(ridge_error *error) {
    return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for operands and times");
}

/* What ridge_why says, without what leads from a status to it. */
static const char *told(const char *why) { return *why ? why + strlen(": ") : "no process for the kernel"; }

static ridge_status open_rig(rig *r, ridge_error *error) {
    const ridge_solo *solo = r->solo;
    RIDGE_TRY(plan_sets(solo, &r->rotation, error));
    const size_t sets = (size_t)r->rotation.sets + 1;
    r->bytes = r->rotation.stride * sets;
    RIDGE_TRY(ridge_memory_alloc(r->bytes, (void **)&r->memory, error));
    r->sets = calloc(sets, sizeof *r->sets);
    r->seeds = calloc(sets, sizeof *r->seeds);
    r->times = calloc(sets, sizeof *r->times);
    r->result->times = calloc(RIDGE_MAX_SAMPLES, sizeof *r->result->times);
    if (!r->sets || !r->seeds || !r->times || !r->result->times) return out_of_memory(error);
    ridge_foreign_pin(solo->cpus);
    ridge_foreign_limit(solo->limit, solo->interrupted);
    unsigned filled = (1u << solo->target->n_in) - 1;
    for (int i = 0; i < solo->target->n_out; i++) /* such an output has the values, and the input is not an argument */
        if (solo->from[i]) filled ^= 1u << (solo->from[i] - 1) | 1u << (solo->target->n_in + i);
    ridge_foreign_call(solo->arguments, solo->n_arguments, filled);
    r->variant = ridge_foreign_variant("cpu/solo");
    const ridge_status status = r->variant.prepare(&solo->c, 1, &r->plan);
    if (status != RIDGE_OK) return ridge_fail(error, status, "%s", told(ridge_why()));
    return ridge_foreign_open((int)sets, error);
}

static void close_rig(rig *r) {
    if (r->plan) r->variant.release(r->plan);
    ridge_foreign_call(NULL, -1, 0);
    ridge_foreign_limit(0, NULL);
    ridge_memory_free(r->memory, r->bytes);
    free(r->sets);
    free(r->seeds);
    free(r->times);
}

/* ---- one launch -------------------------------------------------------------------------------------------------- */

static ridge_status fill(rig *r, int set, uint64_t seed, ridge_error *error) {
    const ridge_solo *solo = r->solo;
    ridge_operands *ops = &r->sets[set];
    r->seeds[set] = seed;
    ridge_operands_place(ops, solo->target, &solo->c, &dense, r->memory + (size_t)set * r->rotation.stride);
    ridge_operands_fill(ops, RIDGE_RANDOM, seed, NULL);
    for (int i = 0; i < solo->target->n_out; i++) {
        if (!solo->from[i]) continue;
        const ridge_view to = ridge_operands_view(ops, solo->target->n_in + i);
        const ridge_view from = ridge_operands_view(ops, solo->from[i] - 1);
        memcpy(to.base, from.base, ridge_view_bytes(&to, to.span));
    }
    return ridge_foreign_fill(set, ops, error);
}

/* What the kernel did wrong is a verdict, and the end. */
static bool refute(rig *r, ridge_verdict verdict, const char *reason) {
    r->result->verdict = verdict;
    (void)snprintf(r->result->reason, sizeof r->result->reason, "%s", reason);
    return false;
}

static bool failed(rig *r, ridge_status status) {
    const char *why = ridge_why();
    if (status == RIDGE_UNSUPPORTED) return refute(r, RIDGE_VERDICT_SKIPPED, "it does not take these arguments");
    return refute(r, RIDGE_VERDICT_FAILED, *why ? why + strlen(": ") : ridge_status_string(status));
}

static bool has_written(rig *r, int set) {
    ridge_scan scan;
    ridge_check check = {.ok = true};
    ridge_scan_outputs(&r->sets[set], NULL, &scan);
    if (scan.poison_output < 0) return true;
    ridge_check_tell_unwritten(&r->sets[set], (int)scan.poison_output, scan.poison_place, &check);
    return refute(r, RIDGE_VERDICT_WRONG, check.text);
}

/* false: there is a verdict. */
static bool launch(rig *r, int set, double *time_us) {
    const ridge_call call = {.dim = r->solo->c.dim};
    ridge_status status = ridge_foreign_ready(set, &r->sets[set]);
    if (status != RIDGE_OK) return failed(r, status);
    const uint64_t begin = ridge_clock_ns();
    status = r->variant.run[0](&call);
    *time_us = (double)(ridge_clock_ns() - begin) * 1e-3;
    if (status == RIDGE_OK) status = ridge_foreign_collect(set, &r->sets[set]);
    return status == RIDGE_OK ? has_written(r, set) : failed(r, status);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* The first element of output t whose bits differ; -1: none. *n counts them. */
static int64_t differing(const ridge_view *a, const ridge_view *b, int64_t *n) {
    int64_t first = -1;
    *n = 0;
    if (memcmp(a->base, b->base, ridge_view_bytes(a, a->span)) == 0) return -1;
    for (int64_t i = 0; i < a->elements; i++) {
        if (memcmp(ridge_view_at(a, i), ridge_view_at(b, i), a->size) == 0) continue;
        if (first < 0) first = i;
        ++*n;
    }
    return first;
}

static bool agree(rig *r, int set) {
    const ridge_target *target = r->solo->target;
    for (int t = target->n_in; t < target->n_in + target->n_out; t++) {
        const ridge_view a = ridge_operands_view(&r->sets[set], t), b = ridge_operands_view(&r->sets[spare(r)], t);
        char name[80], text[200];
        double was, is;
        int64_t n;
        const int64_t first = differing(&a, &b, &n);
        if (first < 0) continue;
        ridge_view_name(&a, first, name, sizeof name);
        ridge_view_load(&a, first, 1, &was);
        ridge_view_load(&b, first, 1, &is);
        (void)snprintf(text, sizeof text, "the same inputs gave other outputs: %s = %.9g, then %.9g (%lld element%s)",
                       name, was, is, (long long)n, n == 1 ? "" : "s");
        return refute(r, RIDGE_VERDICT_WRONG, text);
    }
    return true;
}

/* Whether two launches with other inputs had other outputs. */
static void note_variety(rig *r, int a, int b) {
    const ridge_target *target = r->solo->target;
    for (int t = target->n_in; t < target->n_in + target->n_out && !r->varies; t++) {
        const ridge_view x = ridge_operands_view(&r->sets[a], t), y = ridge_operands_view(&r->sets[b], t);
        r->varies = memcmp(x.base, y.base, ridge_view_bytes(&x, x.span)) != 0;
    }
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static uint64_t next_seed(rig *r) { return ridge_random(r->solo->seed, r->fills++); }

static ridge_status interrupted(const rig *r, ridge_error *error) {
    if (!r->solo->interrupted || !*r->solo->interrupted) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted");
}

/* All sets are filled, then launched: in between, the others have passed through the caches. Then each launch is repeated, and
 * that time counts for nothing: who has kept results by their inputs would be fast there. *on: there is no verdict yet. */
static ridge_status run_batch(rig *r, int most, bool *on, ridge_error *error) {
    double ignored;
    const int n = most < r->rotation.sets ? most : r->rotation.sets;
    for (int set = 0; set < r->rotation.sets; set++) RIDGE_TRY(fill(r, set, next_seed(r), error));
    for (int set = 0; set < n && *on; set++) {
        RIDGE_TRY(interrupted(r, error));
        *on = launch(r, set, &r->times[set]);
    }
    for (int set = 0; set < n && *on; set++) {
        RIDGE_TRY(interrupted(r, error));
        if (set > 0) note_variety(r, set - 1, set);
        RIDGE_TRY(fill(r, spare(r), r->seeds[set], error));
        *on = launch(r, spare(r), &ignored) && agree(r, set);
        if (*on && r->result->n < RIDGE_MAX_SAMPLES) r->result->times[r->result->n++] = r->times[set];
    }
    return RIDGE_OK;
}

static bool enough(const rig *r) {
    const ridge_solo *solo = r->solo;
    const int n = r->result->n;
    const double spent = ridge_seconds_since(r->began_ns), noise = solo->noise > 0 ? solo->noise : usual_noise;
    if (solo->iterations > 0) return n >= solo->iterations || n == RIDGE_MAX_SAMPLES;
    if (n < LEAST) return n > 0 && spent > patience * solo->max_time;
    if (n == RIDGE_MAX_SAMPLES || spent > solo->max_time) return true;
    return ridge_interval_width(ridge_median_interval(r->result->times, n)) < noise;
}

static void judge(rig *r) {
    ridge_solo_result *result = r->result;
    result->verdict = RIDGE_VERDICT_OK;
    result->time_us = ridge_median_interval(result->times, result->n);
    if (result->time_us.median < frames_needed * result->frame_us) {
        result->verdict = RIDGE_VERDICT_FRAME;
        (void)snprintf(result->reason, sizeof result->reason, "%.3g us, where an empty launch takes %.3g us",
                       result->time_us.median, result->frame_us);
    } else if (!r->varies && result->n > 1 && r->solo->target->n_in > 0) {
        (void)snprintf(result->reason, sizeof result->reason, "its outputs did not depend on its inputs");
    }
}

/* The first launch is not timed: it brings code into the caches and the pages of libraries into memory. */
static ridge_status measure(rig *r, ridge_error *error) {
    bool on;
    double ignored;
    RIDGE_TRY(fill(r, spare(r), next_seed(r), error));
    on = launch(r, spare(r), &ignored);
    if (on) r->result->frame_us = ridge_foreign_frame();
    r->began_ns = ridge_clock_ns();
    while (on && !enough(r)) {
        const int asked = r->solo->iterations > 0 ? r->solo->iterations - r->result->n : RIDGE_MAX_SAMPLES;
        RIDGE_TRY(run_batch(r, asked, &on, error));
    }
    RIDGE_TRY(interrupted(r, error)); /* the signal may have reached the kernel, too */
    if (on) judge(r);
    return RIDGE_OK;
}

ridge_status ridge_solo_run(const ridge_solo *solo, ridge_solo_result *result, ridge_error *error) {
    rig r = {.solo = solo, .result = result};
    *result = (ridge_solo_result){.verdict = RIDGE_VERDICT_FAILED};
    ridge_status status = open_rig(&r, error);
    if (status == RIDGE_OK) status = measure(&r, error);
    close_rig(&r);
    return status;
}

void ridge_solo_result_free(ridge_solo_result *result) {
    free(result->times);
    result->times = NULL;
    result->n = 0;
}
