/* ridge run, compare, roofline, verify and launch: the options as a plan for the lab, its progress on stderr. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/counters.h"
#include "cli/hooks.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "device/device.h"
#include "report/report.h"

/* ---- options to a plan ------------------------------------------------------------------------------------------- */

ridge_status ridge_bench_threads(const ridge_options *o, const ridge_machine *machine, int *threads,
                                 ridge_error *error) {
    *threads = o->threads ? o->threads : machine->cores;
    if (*threads > machine->threads)
        return ridge_fail(error, RIDGE_INVALID,
                          "--threads %d is more than the %d logical processors this process may use", *threads,
                          machine->threads);
    return RIDGE_OK;
}

ridge_status ridge_bench_isa(const ridge_options *o, const ridge_machine *machine, ridge_isa *isa, ridge_error *error) {
    *isa = o->isa >= 0 ? (ridge_isa)o->isa : machine->isa;
    const char *why = ridge_isa_obstacle(*isa);
    if (!why) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "--isa %s: %s (best here: %s)", ridge_isa_name(*isa), why,
                      ridge_isa_name(machine->isa));
}

/* The file of --tuned. Results point to it. */
static ridge_status read_tuned(const ridge_options *o, const ridge_tuned **tuned, ridge_error *error) {
    static ridge_tuned *read;
    *tuned = NULL;
    if (!o->tuned) return RIDGE_OK;
    ridge_tuned_free(read);
    read = ridge_tuned_new();
    if (!read) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for tuned ways");
    *tuned = read;
    return ridge_tuned_read(read, o->tuned, error);
}

static void keep_headlines(ridge_selection *selection) {
    const int left_out = ridge_selection_headlines(selection);
    if (left_out > 0)
        ridge_say("%d case%s, one of each target and type; --all has %d more", selection->n,
                  selection->n == 1 ? "" : "s", left_out);
}

ridge_status ridge_bench_plan_make(const ridge_options *o, ridge_selection *selection, ridge_bench_plan *p,
                                   ridge_error *error) {
    const uint64_t began = ridge_clock_ns();
    const ridge_tuned *tuned;
    int threads;
    RIDGE_TRY(read_tuned(o, &tuned, error));
    RIDGE_TRY(ridge_machine_detect(&p->machine, error));
    RIDGE_TRY(ridge_bench_isa(o, &p->machine, &p->isa, error));
    RIDGE_TRY(ridge_bench_threads(o, &p->machine, &threads, error));
    RIDGE_TRY(ridge_selection_fit(o, &p->machine, selection, error));
    if (selection->headlines) keep_headlines(selection);
    p->plan = (ridge_lab_plan){.items = selection->items,
                               .n_items = selection->n,
                               .user = selection->has_user ? selection->user : NULL,
                               .machine = &p->machine,
                               .threads = threads,
                               .tuned = tuned,
                               .peers = selection->peers.versions[0] ? selection->peers.versions : NULL,
                               .isa = &p->isa,
                               .hot = o->hot,
                               .no_ceilings = o->no_ceilings,
                               .refresh = o->refresh,
                               .seed = o->seed,
                               .max_time = o->max_time,
                               .noise = o->noise / 100,
                               .within = o->within,
                               .launch_limit = o->limit,
                               .iterations = o->iterations,
                               .repeat = o->repeat,
                               .warmup = o->warmup,
                               .hooks = ridge_hooks(o),
                               .began_ns = began,
                               .argc = o->argc,
                               .argv = o->argv};
    return RIDGE_OK;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static void show_ceilings(ridge_progress *p, const ridge_lab_event *event) {
    char text[120];
    (void)snprintf(text, sizeof text, "measuring the ceilings: %s", event->what);
    p->total = event->total;
    p->done = event->done;
    ridge_progress_step(p, text);
}

/* Ctrl-C ends the program at once until there are results to keep. */
static void start_cases(ridge_progress *p, const ridge_lab_event *event) {
    ridge_interrupt_hold();
    ridge_progress_begin(p, event->total);
    if (event->left_s > 0) p->ends_ns = p->began_ns + (uint64_t)(event->left_s * 1e9);
}

static void show(void *arg, const ridge_lab_event *event) {
    ridge_progress *p = arg;
    switch (event->stage) {
        case RIDGE_LAB_CEILINGS: ridge_progress_begin(p, 1); break;
        case RIDGE_LAB_CEILINGS_STEP: show_ceilings(p, event); break;
        case RIDGE_LAB_CASES: start_cases(p, event); break;
        case RIDGE_LAB_CASE: ridge_progress_step(p, event->what); break;
        case RIDGE_LAB_SHARE: ridge_progress_share(p, event->share, event->what); break;
        case RIDGE_LAB_END: ridge_progress_end(p); break;
        case RIDGE_LAB_NOTE: ridge_say("%s", event->what); break;
    }
}

static ridge_lab_watch watch_with(ridge_progress *progress) {
    return (ridge_lab_watch){.tell = show, .arg = progress, .interrupted = ridge_interrupt_flag()};
}

ridge_status ridge_bench_ceilings(const ridge_options *o, const ridge_machine *machine, int threads, ridge_ceilings *c,
                                  ridge_error *error) {
    ridge_progress progress;
    const ridge_lab_watch watch = watch_with(&progress);
    const ridge_lab_effort effort = {.refresh = o->refresh, .keep = o->keep};
    return ridge_lab_ceilings(machine, threads, &effort, &watch, c, error);
}

ridge_status ridge_bench_gpu_ceilings(const ridge_options *o, const ridge_machine *machine, ridge_ceilings *c,
                                      ridge_error *error) {
    ridge_progress progress;
    const ridge_lab_watch watch = watch_with(&progress);
    const ridge_lab_effort effort = {.refresh = o->refresh, .keep = o->keep};
    return ridge_lab_gpu_ceilings(machine, &effort, &watch, c, error);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static ridge_status count(ridge_run *run, bool kernels, ridge_error *error) {
    char why[400];
    ridge_counters_read(run, kernels, why, sizeof why);
    if (why[0]) {
        ridge_finding found = {.what = "counters", .health = RIDGE_HEALTH_BAD};
        (void)snprintf(found.found, sizeof found.found, "not everything was counted: %.120s", why);
        (void)snprintf(found.advice, sizeof found.advice,
                       "bytes are the declared ones; ridge doctor says what is missing");
        ridge_run_add_finding(run, &found);
    }
    if (!*ridge_interrupt_flag()) return RIDGE_OK;
    run->interrupted = true;
    return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted while the GPU's counters were read: the times are kept");
}

ridge_status ridge_bench_measure(const ridge_options *o, ridge_selection *selection, ridge_run *run,
                                 ridge_error *error) {
    static ridge_bench_plan p;
    ridge_progress progress;
    const ridge_lab_watch watch = watch_with(&progress);
    *run = (ridge_run){0};
    RIDGE_TRY(ridge_bench_plan_make(o, selection, &p, error));
    RIDGE_TRY(ridge_lab_run(&p.plan, &watch, run, error));
    if (o->profile == RIDGE_PROFILE_NONE) return RIDGE_OK;
    const ridge_status status = count(run, o->profile == RIDGE_PROFILE_FULL, error);
    run->wall_s = ridge_seconds_since(p.plan.began_ns);
    return status;
}

ridge_status ridge_bench_summarize(const ridge_options *o, ridge_selection *selection, ridge_run *run,
                                   ridge_error *error) {
    static ridge_bench_plan p;
    ridge_progress progress;
    const ridge_lab_watch watch = watch_with(&progress);
    *run = (ridge_run){0};
    RIDGE_TRY(ridge_bench_plan_make(o, selection, &p, error));
    return ridge_lab_summarize(&p.plan, &watch, run, error);
}

int ridge_bench_exit(const ridge_run *run) {
    int skipped = 0;
    for (int i = 0; i < run->n_results; i++) {
        ridge_verdict v = run->results[i].verdict;
        if (ridge_verdict_is_error(v)) return RIDGE_EXIT_VERDICT;
        skipped += v == RIDGE_VERDICT_SKIPPED;
    }
    if (skipped < run->n_results || skipped == 0) return RIDGE_EXIT_OK;
    ridge_say("nothing was measured: %s", run->results[0].reason);
    return RIDGE_EXIT_USAGE;
}
