#include "record/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/expect.h"
#include "record/json.h"
#include "record/saved.h"

static const char *const names[] = {
#define GATE_NAME(name, text) [RIDGE_GATE_##name] = text,
    RIDGE_GATE_LIST(GATE_NAME)
#undef GATE_NAME
};

const char *ridge_gate_name(ridge_gate_verdict verdict) {
    return (unsigned)verdict < RIDGE_GATE_COUNT ? names[verdict] : "?";
}

/* ---- one result -------------------------------------------------------------------------------------------------- */

static void say(ridge_gate_line *line, ridge_gate_verdict verdict, const char *reason) {
    line->verdict = verdict;
    (void)snprintf(line->reason, sizeof line->reason, "%.*s", (int)sizeof line->reason - 1, reason);
}

/* A result that has no time: skipped is no answer, anything else an error. */
static void judge_untimed(ridge_gate_line *line) {
    const char *verdict = ridge_saved_text(line->now->is, "verdict");
    char text[320];
    (void)snprintf(text, sizeof text, "%s: %s", verdict, ridge_saved_text(line->now->is, "reason"));
    say(line, strcmp(verdict, "skipped") == 0 ? RIDGE_GATE_INCONCLUSIVE : RIDGE_GATE_INVALID, text);
}

/* A time that is compared: the change, and the change since the best. */
static void judge_change(ridge_gate_line *line) {
    const ridge_interval change = line->now->change;
    char text[240];
    if (line->now->verdict == RIDGE_CHANGE_SLOWER) {
        (void)snprintf(text, sizeof text, "%.1f %% slower than expected (%.1f to %.1f %%)", 100 * (change.median - 1),
                       100 * (change.low - 1), 100 * (change.high - 1));
        say(line, RIDGE_GATE_REGRESSION, text);
    } else if (line->since_best.n > 0 && line->since_best.low > 1 + RIDGE_GATE_DRIFT) {
        (void)snprintf(text, sizeof text, "as expected, but %.1f %% slower than the best that was accepted here",
                       100 * (line->since_best.median - 1));
        say(line, RIDGE_GATE_REGRESSION, text);
    } else if (change.high < 1 + RIDGE_GATE_SEEN) {
        say(line, RIDGE_GATE_PASSED, "");
    } else if (isfinite(change.high)) {
        (void)snprintf(
            text, sizeof text,
            "up to %.0f %% slower cannot be excluded: measure longer (--max-time, --repeat 3) or on a quieter "
            "machine",
            100 * (change.high - 1));
        say(line, RIDGE_GATE_INCONCLUSIVE, text);
    } else {
        say(line, RIDGE_GATE_INCONCLUSIVE, "too few rounds for an interval: measure longer (--max-time)");
    }
}

static void judge(ridge_gate_line *line) {
    switch (line->now->verdict) {
        case RIDGE_CHANGE_OTHER:
            say(line, RIDGE_GATE_INVALID, "its work model is another one: accept it with --update-expectations");
            break;
        case RIDGE_CHANGE_BROKEN: judge_untimed(line); break;
        case RIDGE_CHANGE_FASTER:
        case RIDGE_CHANGE_SAME:
        case RIDGE_CHANGE_SLOWER: judge_change(line); break;
        default: say(line, RIDGE_GATE_UNJUDGED, ""); break;
    }
}

/* The relative width below the median is how much of a slowdown its own interval hides; the margin of the comparison comes
 * on top. */
static double detectable(const ridge_diff_line *line) {
    const double margin =
        line->change.n >= 8 ? RIDGE_DIFF_MARGIN : 0; /* fewer: between whole measurements, no margin */
    if (line->verdict == RIDGE_CHANGE_TOLD || !(line->change.low > 0)) return (double)NAN;
    return (1 + margin) * line->change.median / line->change.low - 1;
}

static ridge_interval since_best(const ridge_diff *ever, const json_t *result) {
    for (int i = 0; i < ever->n; i++) {
        const ridge_diff_line *line = &ever->line[i];
        if (line->is == result && line->verdict != RIDGE_CHANGE_TOLD && line->verdict != RIDGE_CHANGE_OTHER)
            return line->change;
    }
    return (ridge_interval){(double)NAN, (double)NAN, (double)NAN, 0};
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Errors of results that nothing is expected of count as well. */
static void judge_errors(ridge_gate *gate, const ridge_run *run) {
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (!ridge_verdict_is_error(r->verdict)) continue;
        gate->verdict = RIDGE_GATE_INVALID;
        (void)snprintf(gate->reason, sizeof gate->reason, "%.40s %.40s is %s: %.120s", r->target->name,
                       r->variant->name, ridge_verdict_name(r->verdict), r->reason);
    }
}

static ridge_status judge_lines(ridge_gate *gate, ridge_error *error) {
    gate->line = calloc((size_t)gate->now.n + 1, sizeof *gate->line);
    if (!gate->line) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a check");
    for (gate->n = 0; gate->n < gate->now.n; gate->n++) {
        ridge_gate_line *line = &gate->line[gate->n];
        line->now = &gate->now.line[gate->n];
        line->since_best = since_best(&gate->ever, line->now->is);
        line->detectable = detectable(line->now);
        judge(line);
        gate->count[line->verdict]++;
        if (line->verdict > gate->verdict) gate->verdict = line->verdict;
    }
    if (gate->verdict != RIDGE_GATE_UNJUDGED) return RIDGE_OK;
    gate->verdict = RIDGE_GATE_INCONCLUSIVE;
    (void)snprintf(gate->reason, sizeof gate->reason,
                   "nothing could be judged: no pair with expectations, and times count from three measurements on "
                   "(--repeat 3)");
    return RIDGE_OK;
}

/* Takes both references. The results of the run stand in the same object for both comparisons. */
static ridge_status compare(json_t *before, json_t *run, ridge_diff *diff, ridge_error *error) {
    if (before && run) return ridge_diff_runs(before, run, diff, error);
    json_decref(before);
    json_decref(run);
    return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a check");
}

static ridge_status compare_both(const json_t *expectations, json_t *run, ridge_gate *gate, ridge_error *error) {
    ridge_status status = compare(ridge_expect_run(expectations), json_incref(run), &gate->now, error);
    gate->unexpected = gate->now.only_b;
    if (status == RIDGE_INVALID) { /* nothing in common: the hardware is the same */
        (void)snprintf(gate->reason, sizeof gate->reason,
                       "nothing is expected of what was measured: accept it with --update-expectations");
        if (gate->verdict < RIDGE_GATE_INCONCLUSIVE) gate->verdict = RIDGE_GATE_INCONCLUSIVE;
        return RIDGE_OK;
    }
    if (status == RIDGE_OK) status = compare(ridge_expect_best(expectations), json_incref(run), &gate->ever, error);
    return status == RIDGE_OK || status == RIDGE_INVALID ? judge_lines(gate, error) : status;
}

ridge_status ridge_gate_check(const json_t *expectations, const ridge_run *run, ridge_gate *gate, ridge_error *error) {
    char key[RIDGE_EXPECT_KEY];
    *gate = (ridge_gate){0};
    ridge_expect_key(&run->machine, key, sizeof key);
    RIDGE_TRY(ridge_expect_check(expectations, key, error));
    judge_errors(gate, run);
    json_t *json = ridge_json_run(run);
    const ridge_status status = json ? compare_both(expectations, json, gate, error)
                                     : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a check");
    json_decref(json);
    return status;
}

void ridge_gate_free(ridge_gate *gate) {
    ridge_diff_free(&gate->now);
    ridge_diff_free(&gate->ever);
    free(gate->line);
    *gate = (ridge_gate){0};
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *line_item(const void *context, int i) {
    const ridge_gate_line *line = &((const ridge_gate_line *)context)[i];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "target", ridge_json_text(line->now->target),
                     "case", ridge_json_text(line->now->c), "backend", ridge_json_text(line->now->backend), "variant",
                     ridge_json_text(line->now->variant), "change", ridge_json_interval(line->now->change),
                     "since_best", ridge_json_interval(line->since_best), "detectable_pct",
                     ridge_json_number(100 * line->detectable), "verdict", ridge_gate_name(line->verdict), "reason",
                     ridge_json_text(line->reason));
}

json_t *ridge_json_gate(const ridge_gate *gate) {
    return json_pack("{s:s, s:o, s:i, s:o, s:o}", "verdict", ridge_gate_name(gate->verdict), "reason",
                     ridge_json_text(gate->reason), "unexpected", gate->unexpected, "expected_of",
                     ridge_json_text(ridge_saved_date(gate->now.a)), "results",
                     ridge_json_array(gate->n, line_item, gate->line));
}
