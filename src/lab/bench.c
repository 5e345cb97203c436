/* ridge/bench.h: one case as a plan for the lab, and its record as plain structs. */
#include "ridge/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"

enum { MOST_NAME = 96 };

struct ridge_bench {
    ridge_backend backend;
    ridge_bench_settings settings;
    ridge_machine machine;
    ridge_run run;
    ridge_target target; /* the run's: the caller's, with the measured variants alone, in their order */
    ridge_variant variants[RIDGE_LAB_MAX_VARIANTS];
    char names[RIDGE_LAB_MAX_VARIANTS][MOST_NAME]; /* of single ways */
    ridge_bench_result results[RIDGE_LAB_MAX_VARIANTS];
    ridge_bench_pair *pairs;
};

static void forget(ridge_bench *bench) {
    ridge_run_free(&bench->run);
    free(bench->pairs);
    bench->run = (ridge_run){.n_results = 0};
    bench->pairs = NULL;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static ridge_status look(ridge_bench *bench, ridge_error *error) {
    RIDGE_TRY(ridge_machine_detect(&bench->machine, error));
    const int threads = bench->settings.threads;
    if (threads < 0 || threads > bench->machine.threads)
        return ridge_fail(error, RIDGE_INVALID, "%d threads: this process may use 1 to %d", threads,
                          bench->machine.threads);
    if (bench->backend != RIDGE_BACKEND_cuda || bench->machine.gpu.sm > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "no GPU: %s", bench->machine.no_gpu);
}

ridge_status ridge_bench_open(ridge_backend backend, const ridge_bench_settings *settings, ridge_bench **bench,
                              ridge_error *error) {
    *bench = NULL;
    if ((unsigned)backend >= RIDGE_BACKEND_COUNT) return ridge_fail(error, RIDGE_INVALID, "no such backend");
    ridge_bench *made = calloc(1, sizeof *made);
    if (!made) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a bench");
    made->backend = backend;
    if (settings) made->settings = *settings;
    const ridge_status status = look(made, error);
    if (status == RIDGE_OK)
        *bench = made;
    else
        ridge_bench_close(made);
    return status;
}

void ridge_bench_close(ridge_bench *bench) {
    if (bench) forget(bench);
    free(bench);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static const ridge_variant *find(const ridge_bench *bench, const ridge_target *target, const char *name,
                                 size_t length) {
    for (int v = 0; v < target->n_variants; v++) {
        const ridge_variant *variant = &target->variants[v];
        if (ridge_variant_backend(variant) == bench->backend && strlen(variant->name) == length &&
            memcmp(variant->name, name, length) == 0)
            return variant;
    }
    return NULL;
}

/* Appends the variant, or a single way of it, to the run's. */
static ridge_status add_named(ridge_bench *bench, const ridge_target *target, const char *name, ridge_error *error) {
    const char *colon = name ? strchr(name, ':') : NULL;
    const int at = bench->target.n_variants;
    if (!name || at == RIDGE_LAB_MAX_VARIANTS)
        return ridge_fail(error, RIDGE_INVALID, "up to %d names of variants", RIDGE_LAB_MAX_VARIANTS);
    const ridge_variant *variant = find(bench, target, name, colon ? (size_t)(colon - name) : strlen(name));
    const ridge_way *way = variant && colon ? ridge_way_find(variant, colon + 1) : NULL;
    if (!variant || (colon && !way) || (colon && strlen(name) >= MOST_NAME))
        return ridge_fail(error, RIDGE_NOT_FOUND, "%s has no variant '%.80s' for %s", target->name, name,
                          ridge_backend_name(bench->backend));
    if (way) (void)snprintf(bench->names[at], MOST_NAME, "%s", name);
    bench->variants[at] = way ? ridge_variant_of_way(variant, way, bench->names[at]) : *variant;
    bench->target.n_variants++;
    return RIDGE_OK;
}

static ridge_status choose_variants(ridge_bench *bench, const ridge_target *target, const char *const *variants, int n,
                                    ridge_error *error) {
    bench->target = *target;
    bench->target.variants = bench->variants;
    bench->target.n_variants = 0;
    for (int i = 0; variants && i < n; i++) RIDGE_TRY(add_named(bench, target, variants[i], error));
    for (int v = 0; !variants && v < target->n_variants; v++)
        if (ridge_variant_backend(&target->variants[v]) == bench->backend)
            RIDGE_TRY(add_named(bench, target, target->variants[v].name, error));
    if (bench->target.n_variants > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NOT_FOUND, "%s: no variant for %s was named, or there is none", target->name,
                      ridge_backend_name(bench->backend));
}

static ridge_status check_case(const ridge_bench *bench, const ridge_target *target, const ridge_case *c,
                               ridge_error *error) {
    const char *why = NULL;
    for (int d = 0; d < ridge_target_rank(target); d++)
        if (c->dim[d] < 0) why = "an extent is negative";
    for (int t = 0; t < target->n_in + target->n_out; t++) {
        const ridge_tensor_spec *spec = t < target->n_in ? &target->in[t] : &target->out[t - target->n_in];
        if (c->column_major >> t & 1u && !spec->takes_column_major) why = "a tensor cannot be column-major";
    }
    if (!ridge_target_takes(target, bench->backend, c->dtype)) why = "it has no case of this type";
    if (!why && target->reject) why = target->reject(c);
    return why ? ridge_fail(error, RIDGE_INVALID, "%s cannot take the case: %s", target->name, why) : RIDGE_OK;
}

static void tell_note(void *arg, const ridge_lab_event *event) {
    const ridge_bench_settings *settings = arg;
    if (event->stage == RIDGE_LAB_NOTE && settings->note) settings->note(settings->arg, event->what);
}

static ridge_status measure(ridge_bench *bench, const ridge_case *c, ridge_error *error) {
    const ridge_bench_settings *s = &bench->settings;
    ridge_lab_item item = {
        .target = &bench->target, .c = *c, .backend = bench->backend, .n_variants = bench->target.n_variants};
    for (int v = 0; v < item.n_variants; v++) item.variants[v] = v;
    const ridge_lab_plan plan = {.items = &item,
                                 .n_items = 1,
                                 .machine = &bench->machine,
                                 .threads = s->threads,
                                 .tuned = s->tuned,
                                 .hot = s->hot,
                                 .refresh = s->refresh,
                                 .seed = s->seed,
                                 .max_time = s->max_time,
                                 .iterations = s->iterations};
    const ridge_lab_watch watch = {.tell = tell_note, .arg = &bench->settings, .interrupted = s->interrupted};
    return ridge_lab_run(&plan, &watch, &bench->run, error);
}

/* A verdict without a valid time has none here. */
static ridge_bench_result result_of(const ridge_result *r) {
    ridge_bench_result told = {.variant = r->variant->name,
                               .role = r->variant->role,
                               .way = r->way ? r->way->name : NULL,
                               .verdict = r->verdict,
                               .reason = r->reason,
                               .work = r->work,
                               .place = r->place,
                               .worst = r->check.worst};
    if (ridge_verdict_timed(r->verdict))
        told.time_us = r->time_us, told.graph_us = r->graph_us;
    else
        told.place.gflops = told.place.gbps = told.place.pct_measured = 0;
    return told;
}

static ridge_bench_pair pair_of(const ridge_run *run, const ridge_pair *p) {
    const bool timed =
        ridge_verdict_timed(run->results[p->a].verdict) && ridge_verdict_timed(run->results[p->b].verdict);
    return (ridge_bench_pair){.reference = p->a,
                              .optimized = p->b,
                              .speedup = timed ? p->speedup : (ridge_interval){.n = 0},
                              .agree = p->compared && p->agree};
}

static ridge_status tell_all(ridge_bench *bench, ridge_error *error) {
    const ridge_run *run = &bench->run;
    bench->pairs = calloc((size_t)run->n_pairs + 1, sizeof *bench->pairs);
    if (!bench->pairs) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d pairs", run->n_pairs);
    for (int i = 0; i < run->n_results; i++) bench->results[i] = result_of(&run->results[i]);
    for (int i = 0; i < run->n_pairs; i++) bench->pairs[i] = pair_of(run, &run->pairs[i]);
    return RIDGE_OK;
}

ridge_status ridge_bench_run(ridge_bench *bench, const ridge_target *target, const ridge_case *c,
                             const char *const *variants, int n_variants, ridge_error *error) {
    if (!bench || !target || !c) return ridge_fail(error, RIDGE_INVALID, "the bench, the target or the case is NULL");
    forget(bench);
    RIDGE_TRY(check_case(bench, target, c, error));
    RIDGE_TRY(choose_variants(bench, target, variants, n_variants, error));
    ridge_status status = measure(bench, c, error);
    if (status == RIDGE_OK) status = tell_all(bench, error);
    if (status != RIDGE_OK) forget(bench);
    return status;
}

const ridge_bench_result *ridge_bench_results(const ridge_bench *bench, int *n) {
    *n = bench->run.n_results;
    return bench->results;
}

const ridge_bench_pair *ridge_bench_pairs(const ridge_bench *bench, int *n) {
    *n = bench->run.n_pairs;
    return bench->pairs;
}

ridge_status ridge_bench_write(const ridge_bench *bench, const char *path, ridge_error *error) {
    if (bench->run.n_results == 0) return ridge_fail(error, RIDGE_INVALID, "nothing was measured");
    json_t *json = ridge_json_run(&bench->run);
    if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the record");
    const ridge_status status = ridge_write_json(path, json, error);
    json_decref(json);
    return status;
}
