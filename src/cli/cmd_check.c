/* ridge check TARGET FILE[:SYMBOL]: a kernel of the user's own, judged on a target's cases beside ridge's variants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/contest.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/show.h"
#include "measure/foreign.h"

/* ---- edge cases -------------------------------------------------------------------------------------------------- */

typedef struct tally {
    int right, wrong, skipped;
} tally;

/* Told once: the same reason on every case says nothing more. */
static void say_errors(const ridge_run *run, tally *t) {
    char name[RIDGE_CASE_NAME];
    const char *told = "";
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        const bool is_error = ridge_contest_refutes(r, true);
        t->wrong += is_error;
        t->skipped += r->verdict == RIDGE_VERDICT_SKIPPED;
        t->right += !is_error && r->verdict != RIDGE_VERDICT_SKIPPED;
        ridge_case_name(r->target, &r->c, name, sizeof name);
        if (is_error && strcmp(told, r->reason) != 0)
            ridge_say("%s on %s: %s: %s", r->variant->name, name, ridge_verdict_name(r->verdict), r->reason);
        if (is_error) told = r->reason;
    }
}

static int check_edges(const ridge_options *o, ridge_contest *x, tally *t) {
    static ridge_run run;
    ridge_error error = {0};
    const ridge_status status = ridge_contest_run(o, x, true, &run, &error);
    say_errors(&run, t);
    ridge_run_free(&run);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}

/* ---- timed cases ------------------------------------------------------------------------------------------------- */

/* ridge's fastest beside the judged one, from the same rounds. */
static void say_pairs(const ridge_run *run, const ridge_page *page) {
    char name[RIDGE_CASE_NAME], interval[64];
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
        if (!ridge_foreign_is(a->variant) || ridge_pair_proof(run, pair) == RIDGE_PROOF_UNTIMED) continue;
        ridge_case_name(a->target, &a->c, name, sizeof name);
        const bool known = isfinite(pair->speedup.low) && isfinite(pair->speedup.high);
        if (known)
            (void)snprintf(interval, sizeof interval, "%.2f–%.2f", pair->speedup.low, pair->speedup.high);
        else
            (void)snprintf(interval, sizeof interval, "too few rounds for an interval");
        ridge_page_say(page, "%s: %s takes %.2f× the time of ridge's %s (%s).\n", name, a->variant->name,
                       pair->speedup.median, b->variant->name, interval);
    }
}

static int time_cases(const ridge_options *o, ridge_contest *x, const tally *edges) {
    static ridge_run run;
    ridge_error error = {0}, unwritten = {0};
    const ridge_page page = ridge_say_page(o);
    const ridge_status status = ridge_contest_run(o, x, false, &run, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    if (run.n_results > 0) {
        if (ridge_output_write(o, &run, NULL, &unwritten) != RIDGE_OK) code = ridge_complain(&unwritten);
        ridge_show("check", &run, &page);
        ridge_page_say(&page, "\n%s is right on %d edge case%s%s.\n", x->file.name, edges->right,
                       edges->right == 1 ? "" : "s", edges->skipped ? ", and does not take the others" : "");
        say_pairs(&run, &page);
    }
    if (code == RIDGE_EXIT_OK) code = ridge_bench_exit(&run);
    ridge_run_free(&run);
    return code;
}

/* ---- emulated cases ---------------------------------------------------------------------------------------------- */

static const char attested[] =
    "\n%s is right on %d case%s on the emulator, and each launch is attested: every byte of the inputs that results "
    "depend on "
    "was read in it, every byte of the outputs was written in it, on its stream, and nothing was kept for the next. "
    "The device "
    "is emulated: there is no time.\n";

/* Edge cases, or those of --sizes. */
static int attest_cases(const ridge_options *o, ridge_contest *x) {
    static ridge_run run;
    ridge_error error = {0}, unwritten = {0};
    tally t = {0};
    const ridge_page page = ridge_say_page(o);
    const ridge_status status = ridge_contest_run(o, x, o->sizes.n == 0, &run, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    say_errors(&run, &t);
    if (run.n_results > 0) {
        if (ridge_output_write(o, &run, NULL, &unwritten) != RIDGE_OK) code = ridge_complain(&unwritten);
        ridge_show("check", &run, &page);
    }
    ridge_run_free(&run);
    if (code != RIDGE_EXIT_OK) return code;
    if (t.wrong > 0) return RIDGE_EXIT_VERDICT;
    if (t.right == 0) {
        (void)ridge_fail(&error, RIDGE_NOT_FOUND, "%s took no case that was tried: nothing is proved", x->file.name);
        return ridge_complain(&error);
    }
    ridge_page_say(&page, attested, x->file.name, t.right, t.right == 1 ? "" : "s");
    return RIDGE_EXIT_OK;
}

static int judge(const ridge_options *o, ridge_contest *x) {
    tally edges = {0};
    if (*ridge_foreign_file_loose(&x->file)) ridge_say("%s", ridge_foreign_file_loose(&x->file));
    if (!ridge_contest_timed(x)) return attest_cases(o, x);
    const int code = check_edges(o, x, &edges);
    if (code != RIDGE_EXIT_OK) return code;
    if (edges.wrong > 0) {
        ridge_say("%s is not right on %d of %d edge cases: nothing is timed", x->file.name, edges.wrong,
                  edges.wrong + edges.right + edges.skipped);
        return RIDGE_EXIT_VERDICT;
    }
    return time_cases(o, x, &edges);
}

int ridge_cmd_check(const ridge_options *o) {
    static ridge_contest x;
    ridge_error error = {0};
    if (o->n_patterns != 2) {
        (void)ridge_fail(&error, RIDGE_INVALID,
                         "check takes a target and a file, not %d: ridge check TARGET FILE[:SYMBOL]", o->n_patterns);
        return ridge_complain(&error);
    }
    x = (ridge_contest){.judged = 0};
    int code = RIDGE_EXIT_OK;
    if (ridge_output_check(o, &error) != RIDGE_OK ||
        ridge_foreign_file_open(o->patterns[1], "ridge_kernel", &x.file, &error) != RIDGE_OK) {
        code = ridge_complain(&error);
    } else {
        code = judge(ridge_contest_options(o), &x);
    }
    ridge_foreign_file_close(&x.file);
    return code;
}
