/* The five lines that a run ends with, which can be quoted as they are: pairs, speedups, verification, ceilings, noise.
 * Each fits 80 columns. */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/text.h"

/* A line about the record's figures that ends with the result it is about, as far as 80 columns have room: target and
 * case, or the target alone. */
static void say_about(const ridge_result *r, const char *line, const ridge_page *page) {
    enum { MOST = 80 };
    char name[RIDGE_CASE_NAME], whole[RIDGE_CASE_NAME + 300];
    ridge_case_name(r->target, &r->c, name, sizeof name);
    (void)snprintf(whole, sizeof whole, "%.120s (%.60s %s).", line, r->target->name, name);
    if (ridge_text_columns(whole) > MOST) (void)snprintf(whole, sizeof whole, "%.120s (%.60s).", line, r->target->name);
    if (ridge_text_columns(whole) > MOST) (void)snprintf(whole, sizeof whole, "%.120s.", line);
    ridge_page_say(page, "%s\n", whole);
}

/* "27 faster, 5 open, 2 slower", with a color each. */
static void say_pairs(const ridge_summary *s, const ridge_page *page) {
    const int timed = s->pairs[RIDGE_PROOF_FASTER] + s->pairs[RIDGE_PROOF_OPEN] + s->pairs[RIDGE_PROOF_SLOWER];
    const ridge_color slower = s->pairs[RIDGE_PROOF_SLOWER] ? RIDGE_RED : RIDGE_PLAIN;
    if (timed == 0) {
        ridge_page_say(page, "Pairs: no baseline and optimized variant were timed beside each other.\n");
        return;
    }
    ridge_page_say(page, "Pairs: of %d, %s%d faster%s, %d open, %s%d slower%s than the baseline.\n", timed,
                   ridge_page_start(page, RIDGE_GREEN), s->pairs[RIDGE_PROOF_FASTER], ridge_page_end(page, RIDGE_GREEN),
                   s->pairs[RIDGE_PROOF_OPEN], ridge_page_start(page, slower), s->pairs[RIDGE_PROOF_SLOWER],
                   ridge_page_end(page, slower));
}

static void say_speedups(const ridge_run *run, const ridge_summary *s, const ridge_page *page) {
    char line[120];
    if (s->speedup.n == 0) {
        ridge_page_say(page, "Speedup: too few rounds for an interval: give more --iterations or time.\n");
        return;
    }
    (void)snprintf(line, sizeof line, "Speedup: %.2f× at the median, %.2f× to %.2f×", s->speedup.median, s->speedup.low,
                   s->speedup.high);
    say_about(&run->results[run->pairs[s->speedup.highest].b], line, page);
}

/* What was not verified, behind what was: ", 2 wrong, 1 skipped". */
static void say_verified(const ridge_run *run, const ridge_summary *s, const ridge_page *page) {
    static const ridge_verdict others[] = {RIDGE_VERDICT_WRONG, RIDGE_VERDICT_FAILED, RIDGE_VERDICT_IMPOSSIBLE,
                                           RIDGE_VERDICT_SKIPPED, RIDGE_VERDICT_EMULATED};
    char text[160] = "";
    int verified = 0;
    for (int v = 0; v < RIDGE_VERDICT_COUNT; v++)
        if (ridge_verdict_timed((ridge_verdict)v)) verified += s->verdicts[v];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const size_t used = strlen(text);
        if (s->verdicts[others[i]] || others[i] == RIDGE_VERDICT_WRONG)
            (void)snprintf(text + used, sizeof text - used, "%s%d %s", i ? ", " : "", s->verdicts[others[i]],
                           ridge_verdict_name(others[i]));
    }
    ridge_page_say(page, "Verified: %d of %d in %d launches; %s.\n", verified, run->n_results, s->launches, text);
}

static void say_ceilings(const ridge_run *run, const ridge_summary *s, const ridge_page *page) {
    char line[120];
    if (s->ceiling.n == 0) {
        ridge_page_say(page, "Ceilings: no optimized variant was placed under one.\n");
        return;
    }
    (void)snprintf(line, sizeof line, "Ceilings: optimized reach %.0f%% at the median, %.0f%% at most",
                   s->ceiling.median, s->ceiling.high);
    say_about(&run->results[s->ceiling.highest], line, page);
}

static void say_noise(const ridge_run *run, const ridge_summary *s, const ridge_page *page) {
    char few[60] = "";
    if (s->too_few) (void)snprintf(few, sizeof few, "; too few rounds for %d", s->too_few);
    if (s->noise.n == 0)
        ridge_page_say(page, "Noise: no time has an interval; %.0f s.\n", run->wall_s);
    else
        ridge_page_say(page, "Noise: times ±%.1f%% at the median, ±%.1f%% at most%s; %.0f s on %d thread%s.\n",
                       100 * s->noise.median, 100 * s->noise.high, few, run->wall_s, run->settings.threads,
                       run->settings.threads == 1 ? "" : "s");
}

void ridge_report_closing(const ridge_run *run, const ridge_page *page) {
    ridge_summary s;
    ridge_run_summarize(run, &s);
    ridge_page_say(page, "\n");
    if (run->interrupted) ridge_page_say(page, "Interrupted: what was not reached is missing.\n");
    say_pairs(&s, page);
    say_speedups(run, &s, page);
    say_verified(run, &s, page);
    say_ceilings(run, &s, page);
    say_noise(run, &s, page);
}
