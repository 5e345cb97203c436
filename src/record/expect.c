#include "record/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/ceilings/gpu.h"
#include "record/diff.h"
#include "record/json.h"
#include "record/saved.h"

#define SCHEMA "ridge-expectations/2"

void ridge_expect_key(const ridge_machine *machine, char *key, int size) {
    char gpu[RIDGE_EXPECT_KEY / 2] = "";
    const bool has_gpu = machine->gpu.sm > 0 && !machine->gpu.emulated;
    if (has_gpu) ridge_gpu_key(&machine->gpu, gpu, (int)sizeof gpu);
    (void)snprintf(key, (size_t)size, "%s%s%s", machine->key, has_gpu ? "+" : "", gpu);
}

ridge_status ridge_expect_check(const json_t *e, const char *key, ridge_error *error) {
    const char *schema = ridge_saved_text(e, "schema"), *own = ridge_saved_text(e, "key");
    if (strcmp(schema, SCHEMA) != 0)
        return ridge_fail(error, RIDGE_CORRUPT, "no expectations of this ridge: schema '%.40s', not " SCHEMA, schema);
    if (!json_is_array(json_object_get(e, "results")) || !json_is_array(json_object_get(e, "pairs")) ||
        !json_is_array(json_object_get(e, "log")) || !json_is_object(json_object_get(e, "best")))
        return ridge_fail(error, RIDGE_CORRUPT, "the expectations lack results, pairs, best or log");
    if (strcmp(own, key) == 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "the expectations are of %.80s, this is %.80s: their times say nothing",
                      own, key);
}

/* ---- a run in short ---------------------------------------------------------------------------------------------- */

/* Rounds the figures of an interval to five digits: more of them would differ from run to run. */
static json_t *rounded(const json_t *value) {
    char text[32];
    if (!json_is_real(value)) return json_deep_copy(value);
    (void)snprintf(text, sizeof text, "%.5g", json_real_value(value));
    return json_real(strtod(text, NULL));
}

static json_t *short_interval(const json_t *interval) {
    const char *key;
    json_t *value, *made = json_object();
    json_object_foreach((json_t *)(uintptr_t)interval, key,
                        value) if (strcmp(key, "stop") != 0 && json_object_set_new(made, key, rounded(value)) != 0) {
        json_decref(made);
        return NULL;
    }
    return made;
}

/* Of whole measurements only what lies between them. */
static json_t *short_repeats(const json_t *repeats) {
    if (!json_is_object(repeats)) return json_null();
    return json_pack("{s:o}", "between", short_interval(json_object_get(repeats, "between")));
}

/* The work of a case is compared exactly. */
static json_t *short_value(const char *key, const json_t *value) {
    if (strcmp(key, "repeats") == 0) return short_repeats(value);
    if (strcmp(key, "work") == 0) return json_deep_copy(value);
    return json_object_get(value, "median") ? short_interval(value) : rounded(value);
}

/* The item with the listed keys alone, those that it has. */
static json_t *short_item(const json_t *item, const char *const *keys) {
    json_t *made = json_object();
    for (; made && *keys; keys++) {
        const json_t *value = json_object_get(item, *keys);
        if (value && json_object_set_new(made, *keys, short_value(*keys, value)) != 0) {
            json_decref(made);
            made = NULL;
        }
    }
    return made;
}

static bool is_timed(const json_t *item, const char *figure) {
    return ridge_saved_interval(json_object_get(item, figure)).n > 0;
}

static json_t *short_list(const json_t *run, const char *list, const char *figure, const char *const *keys) {
    size_t i;
    const json_t *item;
    json_t *made = json_array();
    json_array_foreach(json_object_get(run, list), i, item) {
        if (!is_timed(item, figure)) continue;
        if (json_array_append_new(made, short_item(item, keys)) == 0) continue;
        json_decref(made);
        return NULL;
    }
    return made;
}

static json_t *short_results(const json_t *run) {
    static const char *const keys[] = {"target",  "case",          "backend",      "variant", "isa",
                                       "threads", "mode",          "way",          "verdict", "work",
                                       "time_us", "graph_time_us", "pct_measured", "repeats", NULL};
    return short_list(run, "results", "time_us", keys);
}

static json_t *short_pairs(const json_t *run) {
    static const char *const keys[] = {"target",    "case",           "backend",   "isa",     "threads", "mode",
                                       "reference", "reference_role", "optimized", "speedup", "repeats", NULL};
    return short_list(run, "pairs", "speedup", keys);
}

/* ---- as runs ----------------------------------------------------------------------------------------------------- */

static json_t *as_run(const json_t *e, const json_t *lists) {
    json_t *results = json_object_get(lists, "results"), *pairs = json_object_get(lists, "pairs");
    return json_pack("{s:s, s:O, s:O, s:O?, s:O?}", "schema", RIDGE_SCHEMA, "machine", json_object_get(e, "machine"),
                     "date", json_object_get(e, "date"), "results", results, "pairs", pairs);
}

json_t *ridge_expect_run(const json_t *e) { return as_run(e, e); }
json_t *ridge_expect_best(const json_t *e) { return as_run(e, json_object_get(e, "best")); }

/* ---- update ------------------------------------------------------------------------------------------------------ */

static const char *const pair_identity[] = {"target", "case",      "backend",   "isa", "threads",
                                            "mode",   "reference", "optimized", NULL};

static int put(json_t *list, const json_t *item, const char *const *keys) {
    size_t i;
    const json_t *other;
    json_t *copy = json_deep_copy(item);
    json_array_foreach(list, i, other) if (ridge_saved_same(other, item, keys)) return json_array_set_new(list, i,
                                                                                                          copy);
    return json_array_append_new(list, copy);
}

/* Puts a result and its pair into a part of the expectations. */
static int put_result(json_t *part, const json_t *run, const json_t *result) {
    const json_t *pair = ridge_saved_pair(run, result);
    if (put(json_object_get(part, "results"), result, ridge_saved_identity) != 0) return -1;
    return pair ? put(json_object_get(part, "pairs"), pair, pair_identity) : 0;
}

typedef struct counts {
    int added, updated, faster, slower;
} counts;

/* The best keeps its place unless it is beaten beyond the intervals, or its work is no longer the same. */
static int put_best(json_t *best, const json_t *run, const json_t *before, const ridge_diff *since_best) {
    size_t i;
    const json_t *result;
    json_array_foreach(json_object_get(run, "results"), i, result) {
        if (ridge_saved_find(before, "results", result, ridge_saved_identity)) continue;
        if (put_result(best, run, result) != 0) return -1;
    }
    for (int k = 0; k < since_best->n; k++) {
        const ridge_change change = since_best->line[k].verdict;
        if (change != RIDGE_CHANGE_FASTER && change != RIDGE_CHANGE_OTHER) continue;
        if (put_result(best, run, since_best->line[k].is) != 0) return -1;
    }
    return 0;
}

static int put_expected(json_t *e, const json_t *run, const json_t *before, counts *n) {
    size_t i;
    const json_t *result;
    json_array_foreach(json_object_get(run, "results"), i, result) {
        const bool known = ridge_saved_find(before, "results", result, ridge_saved_identity) != NULL;
        n->added += !known;
        n->updated += known;
        if (put_result(e, run, result) != 0) return -1;
    }
    return 0;
}

static json_t *begin(void) {
    return json_pack("{s:s, s:s, s:s, s:{}, s:[], s:[], s:{s:[], s:[]}, s:[]}", "schema", SCHEMA, "key", "", "date", "",
                     "machine", "results", "pairs", "best", "results", "pairs", "log");
}

/* Compares with a part of what was expected; an empty difference where they have nothing in common. */
static ridge_status compare(json_t *before, json_t *run, ridge_diff *diff, ridge_error *error) {
    *diff = (ridge_diff){0};
    if (!before) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for expectations");
    const bool empty = json_array_size(json_object_get(before, "results")) == 0;
    const ridge_status status =
        empty ? RIDGE_INVALID : ridge_diff_runs(json_incref(before), json_incref(run), diff, error);
    return status == RIDGE_INVALID ? RIDGE_OK : status;
}

static int put_log(json_t *e, const ridge_run *run, const char *reason, const counts *n) {
    return json_array_append_new(json_object_get(e, "log"),
                                 json_pack("{s:o, s:o, s:i, s:i, s:i, s:i}", "date", ridge_json_text(run->date),
                                           "reason", ridge_json_text(reason), "added", n->added, "updated", n->updated,
                                           "faster", n->faster, "slower", n->slower));
}

/* The head of the file: hardware and date of the last update. */
static int put_head(json_t *e, const ridge_run *run) {
    char key[RIDGE_EXPECT_KEY];
    ridge_expect_key(&run->machine, key, sizeof key);
    return json_object_set_new(e, "key", ridge_json_text(key)) |
           json_object_set_new(e, "date", ridge_json_text(run->date)) |
           json_object_set_new(e, "machine", ridge_json_machine(&run->machine));
}

static ridge_status merge(json_t *e, json_t *run, const ridge_run *measured, const char *reason, ridge_error *error) {
    counts n = {0};
    ridge_diff now = {0}, ever = {0};
    int failed = put_head(e, measured);
    json_t *expected = json_deep_copy(e); /* as it was: what follows changes it */
    json_t *before = ridge_expect_run(expected), *best = ridge_expect_best(expected);
    ridge_status status = failed ? ridge_fail(error, RIDGE_NO_MEMORY, "no memory for expectations") : RIDGE_OK;
    if (status == RIDGE_OK) status = compare(before, run, &now, error);
    if (status == RIDGE_OK) status = compare(best, run, &ever, error);
    if (status == RIDGE_OK) {
        n.faster = now.count[RIDGE_CHANGE_FASTER];
        n.slower = now.count[RIDGE_CHANGE_SLOWER];
        failed = put_best(json_object_get(e, "best"), run, best, &ever) | put_expected(e, run, before, &n) |
                 put_log(e, measured, reason, &n);
        if (failed) status = ridge_fail(error, RIDGE_NO_MEMORY, "no memory for expectations");
    }
    ridge_diff_free(&now);
    ridge_diff_free(&ever);
    json_decref(before);
    json_decref(best);
    json_decref(expected);
    return status;
}

static ridge_status check_run(const ridge_run *run, ridge_error *error) {
    int timed = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (ridge_verdict_is_error(r->verdict))
            return ridge_fail(error, RIDGE_INVALID, "nothing is expected of a run with errors: %.40s %.40s is %s",
                              r->target->name, r->variant->name, ridge_verdict_name(r->verdict));
        timed += ridge_verdict_timed(r->verdict);
    }
    return timed > 0 ? RIDGE_OK : ridge_fail(error, RIDGE_INVALID, "nothing was timed: there is nothing to expect");
}

ridge_status ridge_expect_update(const json_t *old, const ridge_run *run, const char *reason, json_t **updated,
                                 ridge_error *error) {
    *updated = NULL;
    RIDGE_TRY(check_run(run, error));
    json_t *full = ridge_json_run(run), *made = old ? json_deep_copy(old) : begin();
    json_t *brief = full ? json_pack("{s:s, s:O, s:O, s:o, s:o}", "schema", RIDGE_SCHEMA, "machine",
                                     json_object_get(full, "machine"), "date", json_object_get(full, "date"), "results",
                                     short_results(full), "pairs", short_pairs(full))
                         : NULL;
    json_decref(full);
    ridge_status status = brief && made ? merge(made, brief, run, reason, error)
                                        : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for expectations");
    json_decref(brief);
    if (status == RIDGE_OK)
        *updated = made;
    else
        json_decref(made);
    return status;
}
