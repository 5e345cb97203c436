#include "record/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"
#include "record/json.h"
#include "record/saved.h"

static const ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
enum { ENOUGH = 3 }; /* measurements that say what lies between processes */

static const char *const names[] = {
#define CHANGE_NAME(name, text) [RIDGE_CHANGE_##name] = text,
    RIDGE_CHANGE_LIST(CHANGE_NAME)
#undef CHANGE_NAME
};

const char *ridge_change_name(ridge_change change) {
    return (unsigned)change < RIDGE_CHANGE_COUNT ? names[change] : "?";
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool has_bounds(ridge_interval interval) { return interval.low > 0 && isfinite(interval.high); }

/* What lies between measurements, if there are enough of them; else n = 0. */
static ridge_interval between_of(const json_t *object) {
    const ridge_interval between = ridge_saved_interval(json_object_get(json_object_get(object, "repeats"), "between"));
    return between.n >= ENOUGH && has_bounds(between) ? between : none;
}

/* The time that the verdict judges: in a graph where that is known. */
static ridge_interval time_of(const json_t *result) {
    const ridge_interval graph = ridge_saved_interval(json_object_get(result, "graph_time_us"));
    return has_bounds(graph) ? graph : ridge_saved_interval(json_object_get(result, "time_us"));
}

/* ---- one result -------------------------------------------------------------------------------------------------- */

/* Independent measurements: the quotient of the bounds that are farthest apart. */
static ridge_interval quotient(ridge_interval over, ridge_interval under) {
    if (over.n == 0 || under.n == 0) return none;
    return (ridge_interval){over.median / under.median, over.low / under.high, over.high / under.low,
                            over.n < under.n ? over.n : under.n};
}

static ridge_change judged(ridge_interval change, double margin) {
    if (!has_bounds(change)) return RIDGE_CHANGE_SAME;
    if (change.high < 1 - margin) return RIDGE_CHANGE_FASTER;
    return change.low > 1 + margin ? RIDGE_CHANGE_SLOWER : RIDGE_CHANGE_SAME;
}

/* A pair is judged by its speedups: less of it is slower. False: not both runs have it. */
static bool judge_pairs(const ridge_diff *diff, const json_t *before, const json_t *after, ridge_diff_line *line) {
    static const char *const keys[] = {"reference", NULL};
    const json_t *a = ridge_saved_pair(diff->a, before), *b = ridge_saved_pair(diff->b, after);
    if (!a || !b || !ridge_saved_same(a, b, keys)) return false;
    const ridge_interval is = between_of(b), was = between_of(a);
    const bool enough = is.n > 0 && was.n > 0;
    const ridge_interval change = enough ? quotient(was, is)
                                         : quotient(ridge_saved_interval(json_object_get(a, "speedup")),
                                                    ridge_saved_interval(json_object_get(b, "speedup")));
    if (change.n == 0) return false;
    line->change = change;
    line->paired = true;
    line->verdict = judged(change, enough ? 0 : RIDGE_DIFF_MARGIN);
    return true;
}

static void judge(const ridge_diff *diff, const json_t *before, const json_t *after, ridge_diff_line *line) {
    static const char *const work[] = {"work", NULL};
    line->before = time_of(before);
    line->after = time_of(after);
    line->change = none;
    line->verdict = RIDGE_CHANGE_TOLD;
    if (!ridge_saved_same(before, after, work)) {
        line->verdict = RIDGE_CHANGE_OTHER;
    } else if (line->before.n == 0 || line->after.n == 0) {
        if (line->before.n > 0) line->verdict = RIDGE_CHANGE_BROKEN;
        if (line->after.n > 0) line->verdict = RIDGE_CHANGE_MENDED;
    } else if (!judge_pairs(diff, before, after, line)) {
        const ridge_interval is = between_of(after), was = between_of(before);
        line->change = is.n > 0 && was.n > 0 ? quotient(is, was) : quotient(line->after, line->before);
        if (is.n > 0 && was.n > 0) line->verdict = judged(line->change, 0);
    }
}

/* ---- both runs --------------------------------------------------------------------------------------------------- */

static ridge_status check_runs(const ridge_diff *diff, ridge_error *error) {
    const json_t *runs[] = {diff->a, diff->b};
    for (int i = 0; i < 2; i++)
        if (strncmp(ridge_saved_text(runs[i], "schema"), "ridge-run/", 10) != 0 ||
            !json_is_array(json_object_get(runs[i], "results")) || !json_is_array(json_object_get(runs[i], "pairs")))
            return ridge_fail(error, RIDGE_CORRUPT, "the %s file is no run: write one with ridge run --json FILE",
                              i ? "second" : "first");
    if (strcmp(ridge_saved_key(diff->a), ridge_saved_key(diff->b)) == 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID,
                      "the runs are of different machines, %.60s and %.60s: their times say nothing",
                      ridge_saved_key(diff->a), ridge_saved_key(diff->b));
}

static void add_line(ridge_diff *diff, const json_t *before, const json_t *after) {
    ridge_diff_line *line = &diff->line[diff->n++];
    *line = (ridge_diff_line){.target = ridge_saved_text(before, "target"),
                              .c = ridge_saved_text(before, "case"),
                              .backend = ridge_saved_text(before, "backend"),
                              .variant = ridge_saved_text(before, "variant"),
                              .was = before,
                              .is = after};
    judge(diff, before, after, line);
    diff->count[line->verdict]++;
}

ridge_status ridge_diff_runs(json_t *a, json_t *b, ridge_diff *diff, ridge_error *error) {
    size_t i;
    json_t *result;
    *diff = (ridge_diff){.a = a, .b = b};
    RIDGE_TRY(check_runs(diff, error));
    const json_t *before = json_object_get(a, "results"), *after = json_object_get(b, "results");
    diff->line = calloc(json_array_size(before) + 1, sizeof *diff->line);
    if (!diff->line) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a comparison");
    json_array_foreach(before, i, result) {
        const json_t *other = ridge_saved_find(b, "results", result, ridge_saved_identity);
        if (other)
            add_line(diff, result, other);
        else
            diff->only_a++;
    }
    json_array_foreach(after, i, result) diff->only_b += !ridge_saved_find(a, "results", result, ridge_saved_identity);
    if (diff->n > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID,
                      "the runs have no result in common: other cases, threads or instruction sets");
}

void ridge_diff_free(ridge_diff *diff) {
    json_decref(diff->a);
    json_decref(diff->b);
    free(diff->line);
    *diff = (ridge_diff){0};
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *line_item(const void *context, int i) {
    const ridge_diff_line *line = &((const ridge_diff_line *)context)[i];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s}", "target", ridge_json_text(line->target), "case",
                     ridge_json_text(line->c), "backend", ridge_json_text(line->backend), "variant",
                     ridge_json_text(line->variant), "before_us", ridge_json_interval(line->before), "after_us",
                     ridge_json_interval(line->after), "change", ridge_json_interval(line->change), "paired",
                     line->paired, "verdict", ridge_change_name(line->verdict));
}

static json_t *counts(const ridge_diff *diff) {
    json_t *json = json_object();
    for (int v = 0; json && v < RIDGE_CHANGE_COUNT; v++)
        if (json_object_set_new(json, ridge_change_name((ridge_change)v), json_integer(diff->count[v])) != 0) {
            json_decref(json);
            json = NULL;
        }
    return json;
}

json_t *ridge_json_diff(const ridge_diff *diff) {
    return json_pack("{s:s, s:o, s:[o, o], s:o, s:i, s:i, s:o}", "schema", "ridge-diff/1", "key",
                     ridge_json_text(ridge_saved_key(diff->a)), "dates", ridge_json_text(ridge_saved_date(diff->a)),
                     ridge_json_text(ridge_saved_date(diff->b)), "counts", counts(diff), "only_before", diff->only_a,
                     "only_after", diff->only_b, "results", ridge_json_array(diff->n, line_item, diff->line));
}
