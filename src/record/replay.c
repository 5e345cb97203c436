#include "record/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "record/chain.h"
#include "record/judge.h"
#include "record/replay_parts.h"
#include "record/saved.h"

enum { MOST_ROUNDS = 1 << 22 };

/* ---- cases and variants ------------------------------------------------------------------------------------------ */

static bool is_listed(const json_t *list, const char *name) {
    size_t i;
    const json_t *item;
    json_array_foreach(list, i,
                       item) if (strcmp(json_string_value(item) ? json_string_value(item) : "", name) == 0) return true;
    return false;
}

ridge_status ridge_replay_case(const json_t *item, const ridge_target **target, ridge_case *c, ridge_error *error) {
    const char *name = ridge_saved_text(item, "target");
    const json_t *shape = json_object_get(item, "shape"), *options = json_object_get(item, "options"),
                 *columns = json_object_get(item, "column_major");
    const ridge_target *t = *target = ridge_target_find(name);
    *c = (ridge_case){.dtype = ridge_dtype_named(ridge_saved_text(item, "dtype"))};
    if (!t)
        return ridge_fail(error, RIDGE_NOT_FOUND, "this ridge has no target '%.60s': replay needs that of the run",
                          name);
    if (c->dtype == RIDGE_DTYPE_NONE || !json_is_object(options))
        return ridge_fail(error, RIDGE_CORRUPT, "a case of %.60s has no dtype or no options: an older ridge wrote it",
                          name);
    for (int d = 0; d < ridge_target_rank(t); d++) {
        c->dim[d] = json_integer_value(json_object_get(shape, t->dims[d]));
        if (c->dim[d] < 0 || c->dim[d] > INT64_C(1) << 40)
            return ridge_fail(error, RIDGE_CORRUPT, "a case of %.60s has an impossible extent", name);
    }
    for (int i = 0; i < t->n_in + t->n_out; i++) {
        const ridge_tensor_spec *spec = i < t->n_in ? &t->in[i] : &t->out[i - t->n_in];
        if (is_listed(columns, spec->name)) c->column_major |= 1u << i;
    }
    for (int i = 0; i < RIDGE_MAX_OPTIONS && t->options[i].name; i++)
        c->option[i] = ridge_saved_number(options, t->options[i].name);
    const char *why = t->reject ? t->reject(c) : NULL;
    return why ? ridge_fail(error, RIDGE_CORRUPT, "a case of %.60s is none: %.120s", name, why) : RIDGE_OK;
}

static const ridge_variant *plain_variant(const ridge_target *target, const char *name, size_t length) {
    for (int v = 0; v < target->n_variants; v++)
        if (strlen(target->variants[v].name) == length && strncmp(target->variants[v].name, name, length) == 0)
            return &target->variants[v];
    return NULL;
}

/* "cuda/optimized:rows_warp" is one way alone. Peers in Python have no descriptor: their name and role say all that is derived
 * from it. Names live in the file. */
static ridge_status find_variant(const json_t *item, ridge_result *r, ridge_variant *forced, ridge_error *error) {
    const char *name = ridge_saved_text(item, "variant"), *colon = strchr(name, ':');
    r->variant = plain_variant(r->target, name, strlen(name));
    if (r->variant) return RIDGE_OK;
    if (strcmp(ridge_saved_text(item, "role"), ridge_role_name(RIDGE_PEER)) == 0) {
        *forced = (ridge_variant){.name = name, .role = RIDGE_PEER, .idea = ""};
        r->variant = forced;
        return RIDGE_OK;
    }
    const ridge_variant *whole = colon ? plain_variant(r->target, name, (size_t)(colon - name)) : NULL;
    const ridge_way *way = whole ? ridge_way_find(whole, colon + 1) : NULL;
    if (!way)
        return ridge_fail(error, RIDGE_NOT_FOUND,
                          "this ridge has no variant '%.60s' of %.60s: replay needs that of the run", name,
                          r->target->name);
    *forced = ridge_variant_of_way(whole, way, name);
    r->variant = forced;
    return RIDGE_OK;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static double infinite_if_missing(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)INFINITY;
}

static void read_gpu_state(const json_t *json, ridge_gpu_state *state) {
    if (!json_is_integer(json_array_get(json, 6))) return;
    *state = (ridge_gpu_state){.known = true,
                               .sm_mhz = (int)json_integer_value(json_array_get(json, 6)),
                               .memory_mhz = (int)json_integer_value(json_array_get(json, 7)),
                               .power_w = json_number_value(json_array_get(json, 8)),
                               .temperature_c = (int)json_integer_value(json_array_get(json, 9)),
                               .throttle = (uint64_t)json_integer_value(json_array_get(json, 10))};
}

static ridge_status read_samples(const json_t *list, ridge_sample **samples, int *n, ridge_error *error) {
    size_t i;
    const json_t *json;
    *n = 0;
    *samples = calloc(json_array_size(list) + 1, sizeof **samples);
    if (!*samples) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
    json_array_foreach(list, i, json) {
        ridge_sample *s = &(*samples)[(*n)++];
        const json_int_t round = json_integer_value(json_array_get(json, 0));
        const char *seed = json_string_value(json_array_get(json, 3));
        if (json_array_size(json) < 6 || round < 0 || round > MOST_ROUNDS || !seed)
            return ridge_fail(error, RIDGE_CORRUPT, "sample %zu is none: it has six fields, and a round", i);
        *s = (ridge_sample){.round = (int32_t)round,
                            .visit = (int32_t)json_integer_value(json_array_get(json, 1)),
                            .time_us = infinite_if_missing(json_array_get(json, 2)),
                            .seed = strtoull(seed, NULL, 10),
                            .worst = infinite_if_missing(json_array_get(json, 4)),
                            .rows_checked = json_integer_value(json_array_get(json, 5))};
        read_gpu_state(json, &s->gpu);
    }
    return RIDGE_OK;
}

static ridge_status read_measured(ridge_replay *replay, ridge_error *error) {
    size_t i;
    const json_t *json, *all = json_object_get(replay->file, "measured");
    ridge_run *run = &replay->run;
    run->measured = calloc(json_array_size(all) + 1, sizeof *run->measured);
    if (!run->measured) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for measurements");
    json_array_foreach(all, i, json) {
        ridge_measured *m = &run->measured[run->n_measured++];
        const json_t *rounds = json_object_get(json, "first_rounds");
        RIDGE_TRY(read_samples(json_object_get(json, "reference"), &m->reference, &m->n_reference, error));
        for (size_t k = 0; k < json_array_size(rounds) && m->n_measurements < RIDGE_MAX_MEASUREMENTS; k++)
            m->first_round[m->n_measurements++] = (int)json_integer_value(json_array_get(rounds, k));
    }
    return RIDGE_OK;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static ridge_check check_of(const json_t *json) {
    return (ridge_check){.ok = json_is_true(json_object_get(json, "ok")),
                         .worst = infinite_if_missing(json_object_get(json, "worst")),
                         .max_abs_error = infinite_if_missing(json_object_get(json, "max_abs_error")),
                         .max_rel_error = infinite_if_missing(json_object_get(json, "max_rel_error")),
                         .rows_checked = json_integer_value(json_object_get(json, "rows_checked")),
                         .rows = json_integer_value(json_object_get(json, "rows"))};
}

static int index_of(const char *text, int n, const char *(*name)(int i)) {
    for (int i = 0; i < n; i++)
        if (strcmp(text, name(i)) == 0) return i;
    return -1;
}
static const char *verdict_name(int i) { return ridge_verdict_name((ridge_verdict)i); }
static const char *stop_name(int i) { return ridge_stop_name((ridge_stop)i); }

static ridge_outcome outcome_of(ridge_verdict verdict) {
    if (verdict == RIDGE_VERDICT_WRONG) return RIDGE_OUTCOME_WRONG;
    if (verdict == RIDGE_VERDICT_FAILED) return RIDGE_OUTCOME_FAILED;
    return verdict == RIDGE_VERDICT_SKIPPED ? RIDGE_OUTCOME_SKIPPED : RIDGE_OUTCOME_DONE;
}

/* The job of a result, as far as judging reads it. */
static ridge_job_result job_of(const ridge_run *run, const ridge_result *r, const json_t *json) {
    const json_t *floors = json_object_get(json, "floors");
    const int stop = index_of(ridge_saved_text(json_object_get(json, "time_us"), "stop"), RIDGE_STOP_COUNT, stop_name);
    const double graph = ridge_saved_number(floors, "graph_us");
    ridge_job_result job = {.stop = stop < 0 ? RIDGE_STOP_ENDED : (ridge_stop)stop,
                            .frame_us = ridge_saved_number(json, "frame_us"),
                            .graph_frame_us = isnan(graph) ? 0 : graph};
    if (r->measured < 0) return job;
    const ridge_measured *m = &run->measured[r->measured];
    job.reference = (ridge_series){.samples = m->reference, .n = m->n_reference};
    job.n_measurements = m->n_measurements;
    memcpy(job.first_round, m->first_round, sizeof job.first_round);
    return job;
}

static int way_of(const ridge_variant *variant, const char *name) {
    for (int w = 0; w < variant->n_ways; w++)
        if (strcmp(variant->ways[w].name, name) == 0) return w + 1;
    return 0;
}

static ridge_status judge_result(ridge_run *run, ridge_result *r, const json_t *json, ridge_error *error) {
    const int verdict = index_of(ridge_saved_text(json, "verdict"), RIDGE_VERDICT_COUNT, verdict_name);
    const int measured = json_is_integer(json_object_get(json, "measured")) ? ridge_read_int(json, "measured") : -1;
    if (verdict < 0) return ridge_fail(error, RIDGE_CORRUPT, "a result has no verdict");
    r->measured = measured < run->n_measured ? measured : -1;
    ridge_series series = {.outcome = outcome_of((ridge_verdict)verdict),
                           .check = check_of(json_object_get(json, "check")),
                           .way = way_of(r->variant, ridge_saved_text(json, "way"))},
                 companion = {.n = 0};
    ridge_read_text(json, "reason", series.reason, sizeof series.reason);
    ridge_status status = read_samples(json_object_get(json, "samples"), &series.samples, &series.n, error);
    if (status == RIDGE_OK)
        status = read_samples(json_object_get(json, "companion"), &companion.samples, &companion.n, error);
    ridge_job_result job = job_of(run, r, json);
    job.emulated = verdict == RIDGE_VERDICT_EMULATED;
    ridge_result_judge(r, &series, &companion, &job, ridge_run_ceilings(run, ridge_variant_backend(r->variant)),
                       run->settings.hot);
    const json_t *dram = json_object_get(json, "dram_bytes");
    if (json_is_number(json_object_get(dram, "read"))) r->dram_read = ridge_saved_number(dram, "read");
    if (json_is_number(json_object_get(dram, "written"))) r->dram_written = ridge_saved_number(dram, "written");
    return status;
}

/* Kernels behind those of the results before; the array has room for all of the file's. */
static void read_profiles(ridge_run *run, ridge_result *r, const json_t *json) {
    size_t i;
    const json_t *kernel;
    r->first_profile = run->n_profiles;
    json_array_foreach(json_object_get(json, "profile"), i, kernel) {
        ridge_profile *p = &run->profiles[run->n_profiles++];
        *p = (ridge_profile){
            .target = r->target, .c = &r->c, .variant = r->variant, .way = r->way, .place = r->n_profiles++};
        ridge_profile_read(kernel, p);
    }
}

static ridge_status make_profiles(ridge_run *run, const json_t *results, ridge_error *error) {
    size_t i, n = 0;
    const json_t *result;
    json_array_foreach(results, i, result) n += json_array_size(json_object_get(result, "profile"));
    if (n == 0) return RIDGE_OK;
    run->profiles = calloc(n, sizeof *run->profiles);
    return run->profiles ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for profiles");
}

static ridge_status read_result(ridge_replay *replay, const json_t *json, ridge_error *error) {
    ridge_run *run = &replay->run;
    ridge_result *r = &run->results[run->n_results];
    *r = (ridge_result){.cut = json_is_true(json_object_get(json, "cut")), .measured = -1};
    RIDGE_TRY(ridge_replay_case(json, &r->target, &r->c, error));
    RIDGE_TRY(find_variant(json, r, &replay->forced[run->n_results], error));
    r->isa = ridge_isa_named(ridge_saved_text(json, "isa"));
    r->here = ridge_machine_abilities(&run->machine, r->isa);
    r->here.threads = run->settings.threads;
    r->here.rates = run->rates;
    run->n_results++;
    RIDGE_TRY(judge_result(run, r, json, error));
    read_profiles(run, r, json);
    return RIDGE_OK;
}

static ridge_status read_results(ridge_replay *replay, ridge_error *error) {
    size_t i;
    const json_t *json, *all = json_object_get(replay->file, "results");
    const size_t n = json_array_size(all);
    replay->run.results = calloc(n + 1, sizeof *replay->run.results);
    replay->forced = calloc(n + 1, sizeof *replay->forced);
    if (!replay->run.results || !replay->forced) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for results");
    RIDGE_TRY(make_profiles(&replay->run, all, error));
    json_array_foreach(all, i, json) RIDGE_TRY(read_result(replay, json, error));
    return RIDGE_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* The result of the pair's case with the variant; -1: there is none. */
static int find_side(const ridge_replay *replay, const json_t *pair, const char *side) {
    static const char *const keys[] = {"target", "case", "backend", NULL};
    const json_t *all = json_object_get(replay->file, "results");
    for (int i = 0; i < replay->run.n_results; i++) {
        const json_t *result = json_array_get(all, (size_t)i);
        if (ridge_saved_same(result, pair, keys) &&
            strcmp(ridge_saved_text(result, "variant"), ridge_saved_text(pair, side)) == 0)
            return i;
    }
    return -1;
}

static ridge_status read_pair(ridge_replay *replay, const json_t *json, ridge_error *error) {
    ridge_run *run = &replay->run;
    ridge_pair *pair = &run->pairs[run->n_pairs];
    const json_t *agreement = json_object_get(json, "agreement"), *traffic = json_object_get(json, "traffic");
    *pair = (ridge_pair){.a = find_side(replay, json, "reference"), .b = find_side(replay, json, "optimized")};
    if (pair->a < 0 || pair->b < 0) return ridge_fail(error, RIDGE_CORRUPT, "a pair has no results");
    const ridge_series compared = {
        .compared = json_is_true(json_object_get(agreement, "compared")),
        .agreement = {.agree = json_is_true(json_object_get(agreement, "agree")),
                      .max_difference = infinite_if_missing(json_object_get(agreement, "max_difference")),
                      .equal_fraction = ridge_saved_number(agreement, "equal_fraction")}};
    const json_t *result = json_array_get(json_object_get(replay->file, "results"), (size_t)pair->b);
    const ridge_job_result job = job_of(run, &run->results[pair->b], result);
    run->n_pairs++;
    ridge_pair_judge(run, pair, &compared, &job, run->settings.seed);
    pair->counted = strcmp(ridge_saved_text(traffic, "kind"), "counted") == 0;
    if (pair->counted) {
        pair->traffic_a = ridge_saved_number(traffic, "reference_bytes");
        pair->traffic_b = ridge_saved_number(traffic, "optimized_bytes");
    }
    return RIDGE_OK;
}

static ridge_status read_pairs(ridge_replay *replay, ridge_error *error) {
    size_t i;
    const json_t *json, *all = json_object_get(replay->file, "pairs");
    replay->run.pairs = calloc(json_array_size(all) + 1, sizeof *replay->run.pairs);
    if (!replay->run.pairs) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for pairs");
    json_array_foreach(all, i, json) RIDGE_TRY(read_pair(replay, json, error));
    return RIDGE_OK;
}

/* ---- does the file follow from its samples ----------------------------------------------------------------------- */

/* Writes the path of the first value that differs: "results.3.time_us.median". False: none does. */
static bool first_difference(const json_t *a, const json_t *b, char *path, size_t size) {
    const size_t used = strlen(path);
    const char *key;
    json_t *value;
    if (json_is_object(a) && json_is_object(b)) {
        json_object_foreach((json_t *)(uintptr_t)a, key, value) {
            (void)snprintf(path + used, size - used, "%s%s", used ? "." : "", key);
            if (first_difference(value, json_object_get(b, key), path, size)) return true;
        }
    } else if (json_is_array(a) && json_array_size(a) == json_array_size(b)) {
        for (size_t i = 0; i < json_array_size(a); i++) {
            (void)snprintf(path + used, size - used, "%s%zu", used ? "." : "", i);
            if (first_difference(json_array_get(a, i), json_array_get(b, i), path, size)) return true;
        }
    }
    path[used] = '\0';
    return !json_equal(a, b);
}

static void name_link(ridge_replay *replay, int link) {
    char name[RIDGE_CASE_NAME];
    if (link == -2) {
        (void)snprintf(replay->found, sizeof replay->found, "it has no whole chain");
    } else if (link == 0) {
        (void)snprintf(replay->found, sizeof replay->found, "its settings, machine or ceilings were edited");
    } else if (link > replay->run.n_results) {
        (void)snprintf(replay->found, sizeof replay->found, "traffic or agreement of pair %d was edited",
                       link - replay->run.n_results);
    } else {
        const ridge_result *r = &replay->run.results[link - 1];
        if (!r->target || !r->variant) return; /* of a result that was not read */
        ridge_case_name(r->target, &r->c, name, sizeof name);
        (void)snprintf(replay->found, sizeof replay->found, "the facts of %.60s %.100s, %.60s were edited",
                       r->target->name, name, r->variant->name);
    }
}

static ridge_status compare(ridge_replay *replay, ridge_error *error) {
    char path[200] = "";
    const int link = ridge_chain_broken(replay->file);
    if (link != -1) return name_link(replay, link), RIDGE_OK;
    json_t *again = ridge_json_run(&replay->run);
    if (!again) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a comparison");
    replay->intact = !first_difference(replay->file, again, path, sizeof path) && json_equal(replay->file, again);
    if (!replay->intact)
        (void)snprintf(replay->found, sizeof replay->found, "%.200s does not follow from its samples",
                       path[0] ? path : "a field");
    json_decref(again);
    return RIDGE_OK;
}

static ridge_status check_schema(const json_t *file, ridge_error *error) {
    if (strcmp(ridge_saved_text(file, "schema"), RIDGE_SCHEMA) != 0 || !json_is_array(json_object_get(file, "results")))
        return ridge_fail(error, RIDGE_CORRUPT,
                          "no run of this ridge (" RIDGE_SCHEMA "): write one with ridge run --json FILE");
    if (json_is_object(json_object_get(file, "chain"))) return RIDGE_OK;
    return ridge_fail(error, RIDGE_CORRUPT,
                      "the run has no chain: an older ridge wrote it, without all that replay needs");
}

ridge_status ridge_replay_run(json_t *file, ridge_replay *replay, ridge_error *error) {
    *replay = (ridge_replay){.file = file};
    RIDGE_TRY(check_schema(file, error));
    (void)json_object_del(file, "gate"); /* it compared with a file that is not at hand */
    RIDGE_TRY(ridge_replay_head(replay, error));
    RIDGE_TRY(read_measured(replay, error));
    RIDGE_TRY(read_results(replay, error));
    RIDGE_TRY(read_pairs(replay, error));
    return compare(replay, error);
}

void ridge_replay_free(ridge_replay *replay) {
    ridge_run_free(&replay->run);
    free(replay->forced);
    free(replay->argv);
    json_decref(replay->file);
    *replay = (ridge_replay){.file = NULL};
}
