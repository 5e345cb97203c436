/* The closing list of a run: what is not ok, grouped by verdict and reason, with one line of advice a group; optimized
 * variants that are slower than their baselines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/judge.h"
#include "core/shortage.h"
#include "report/report.h"

enum { NAMES_SHOWN = 8 };

/* ---- groups ----------------------------------------------------------------------------------------------------- */

/* Verdicts whose reasons differ by their numbers alone make one group; those whose reasons are words, one a reason. */
static bool same_reason(const ridge_result *a, const ridge_result *b) {
    if (a->verdict != b->verdict) return false;
    switch (a->verdict) {
        case RIDGE_VERDICT_EMULATED:
        case RIDGE_VERDICT_SKIPPED:
        case RIDGE_VERDICT_FAILED: return strcmp(a->reason, b->reason) == 0;
        default: return true;
    }
}

/* A value over the members of a group. */
typedef struct range {
    double low, high;
} range;

static range range_of(const ridge_run *run, int first, double (*value)(const ridge_result *r)) {
    range found = {HUGE_VAL, -HUGE_VAL};
    for (int i = first; i < run->n_results; i++) {
        if (!same_reason(&run->results[first], &run->results[i])) continue;
        double v = value(&run->results[i]);
        if (!isfinite(v)) continue;
        found.low = fmin(found.low, v);
        found.high = fmax(found.high, v);
    }
    return found;
}

static double frames_of(const ridge_result *r) {
    double frame = ridge_result_frame_us(r);
    return frame > 0 ? ridge_result_judged(r).median / frame : (double)NAN;
}

static double beyond_floor(const ridge_result *r) {
    return r->place.floor_us > 0 ? 100 * (r->place.floor_us / ridge_result_judged(r).median - 1) : (double)NAN;
}

/* "5–14" or, where both round to the same, "5". Nothing finite is "?". */
static const char *range_text(range r, char *text, size_t size) {
    char low[24], high[24];
    (void)snprintf(low, sizeof low, r.low < 9.95 ? "%.1f" : "%.0f", r.low);
    (void)snprintf(high, sizeof high, r.high < 9.95 ? "%.1f" : "%.0f", r.high);
    bool one = strcmp(low, high) == 0;
    if (r.low > r.high)
        (void)snprintf(text, size, "?");
    else
        (void)snprintf(text, size, "%s%s%s", low, one ? "" : "–", one ? "" : high);
    return text;
}

/* Why, and what to do about it, for the group that result `first` begins. */
static void explain(const ridge_run *run, int first, int n, char *text, size_t size) {
    const ridge_result *r = &run->results[first];
    char numbers[64];
    switch (r->verdict) {
        case RIDGE_VERDICT_WRONG:
            (void)snprintf(text, size, "%s%s: no time is given; ridge verify looks closer", n > 1 ? "first, " : "",
                           r->reason[0] ? r->reason : "a check failed");
            break;
        case RIDGE_VERDICT_IMPOSSIBLE:
            (void)snprintf(text, size,
                           "faster by %s %% than the ceilings allow, so a ceiling or the work model is at fault: ridge "
                           "peak --refresh measures the ceilings anew",
                           range_text(range_of(run, first, beyond_floor), numbers, sizeof numbers));
            break;
        case RIDGE_VERDICT_FRAME:
            (void)snprintf(text, size, "as long as %s empty launches, so calling weighs too much: take larger --sizes",
                           range_text(range_of(run, first, frames_of), numbers, sizeof numbers));
            break;
        default: (void)snprintf(text, size, "%s", r->reason[0] ? r->reason : "no reason was given");
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* "toy_norm 64x256 cpu/baseline, cpu/optimized; 64x512 cpu/baseline; toy_matmul …": what repeats is left out. */
static void add_name(FILE *names, const ridge_result *r, const ridge_result *before) {
    char name[RIDGE_CASE_NAME];
    const bool target = before && before->target == r->target, same = target && ridge_case_same(&before->c, &r->c);
    ridge_case_name(r->target, &r->c, name, sizeof name);
    fputs(!before ? "" : same ? ", " : "; ", names);
    if (!target) fprintf(names, "%s ", r->target->name);
    if (!same) fprintf(names, "%s ", name);
    fputs(r->variant->name, names);
}

static void print_names(const ridge_run *run, int first, int n, const ridge_page *page) {
    char *text = NULL;
    size_t size = 0;
    FILE *names = open_memstream(&text, &size);
    const ridge_result *before = NULL;
    int told = 0, most = page->wide || n <= NAMES_SHOWN + 1 ? n : NAMES_SHOWN;
    for (int i = first; names && i < run->n_results && told < most; i++) {
        if (!same_reason(&run->results[first], &run->results[i])) continue;
        add_name(names, &run->results[i], before);
        before = &run->results[i];
        told++;
    }
    if (names && told < n) fprintf(names, "; … and %d more: --wide lists all", n - told);
    if (ridge_memory_text(names, &text)) ridge_page_say(page, "    %s\n", text);
    free(text);
}

/* ---- the list --------------------------------------------------------------------------------------------------- */

static bool is_first(const ridge_run *run, int i) {
    for (int j = 0; j < i; j++)
        if (same_reason(&run->results[j], &run->results[i])) return false;
    return true;
}

static void print_group(const ridge_run *run, int first, const ridge_page *page) {
    char why[400];
    int n = 0;
    for (int i = first; i < run->n_results; i++) n += same_reason(&run->results[first], &run->results[i]);
    explain(run, first, n, why, sizeof why);
    ridge_page_say(page, "  %d %s: %s\n", n, ridge_verdict_name(run->results[first].verdict), why);
    print_names(run, first, n, page);
}

static void print_disagreement(const ridge_run *run, const ridge_pair *pair, const ridge_page *page) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(b->target, &b->c, name, sizeof name);
    ridge_page_say(page, "  %s %s: %s and %s disagree by up to %.3g\n", b->target->name, name, a->variant->name,
                   b->variant->name, pair->max_difference);
}

/* Graver verdicts come first. */
void ridge_report_not_ok(const ridge_run *run, const ridge_page *page) {
    static const ridge_verdict order[] = {RIDGE_VERDICT_WRONG, RIDGE_VERDICT_FAILED,   RIDGE_VERDICT_IMPOSSIBLE,
                                          RIDGE_VERDICT_FRAME, RIDGE_VERDICT_EMULATED, RIDGE_VERDICT_SKIPPED};
    int printed = 0;
    for (size_t o = 0; o < sizeof order / sizeof order[0]; o++)
        for (int i = 0; i < run->n_results; i++) {
            if (run->results[i].verdict != order[o] || !is_first(run, i)) continue;
            if (printed++ == 0) ridge_page_say(page, "\nNot ok:\n");
            print_group(run, i, page);
        }
    for (int p = 0; p < run->n_pairs; p++) {
        if (!run->pairs[p].compared || run->pairs[p].agree) continue;
        if (printed++ == 0) ridge_page_say(page, "\nNot ok:\n");
        print_disagreement(run, &run->pairs[p], page);
    }
}

void ridge_report_slower(const ridge_run *run, const ridge_page *page) {
    ridge_finding found;
    int printed = 0;
    for (int p = 0; p < run->n_pairs; p++) {
        if (!ridge_pair_finding(run, &run->pairs[p], &found)) continue;
        if (printed++ == 0) ridge_page_say(page, "\nSlower than the baseline:\n");
        ridge_page_say(page, "  %s%s%s: %s\n", ridge_page_start(page, RIDGE_RED), found.found,
                       ridge_page_end(page, RIDGE_RED), found.advice);
    }
}
