/* A whole run: machine, ceilings, probe, jobs, probe, judging, findings. Beside it what can be said without measuring.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "device/device.h"
#include "lab/run_parts.h"
#include "machine/survey/survey.h"
#include "roofline/place.h"

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static ridge_status choose_threads(const ridge_lab_plan *plan, ridge_run *run, ridge_error *error) {
    const ridge_machine *machine = &run->machine;
    run->settings.threads = plan->threads ? plan->threads : machine->cores;
    if (run->settings.threads >= 1 && run->settings.threads <= machine->threads) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%d threads: this process may use 1 to %d", plan->threads,
                      machine->threads);
}

static ridge_status choose_isa(const ridge_lab_plan *plan, ridge_lab *lab, ridge_error *error) {
    lab->isa = plan->isa ? *plan->isa : lab->run->machine.isa;
    const char *why = ridge_isa_obstacle(lab->isa);
    if (!why) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%s: %s (best here: %s)", ridge_isa_name(lab->isa), why,
                      ridge_isa_name(lab->run->machine.isa));
}

ridge_status ridge_lab_open(ridge_lab *lab, const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                            ridge_error *error) {
    *run = (ridge_run){0};
    *lab = (ridge_lab){.plan = plan, .watch = watch, .run = run, .began_ns = plan->began_ns};
    if (!lab->began_ns) lab->began_ns = ridge_clock_ns();
    const time_t now = time(NULL);
    struct tm utc;
    (void)strftime(run->date, sizeof run->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    run->settings = (ridge_settings){.hot = plan->hot,
                                     .seed = plan->seed,
                                     .max_time = plan->max_time > 0 ? plan->max_time : RIDGE_LAB_MAX_TIME_S,
                                     .noise = plan->noise > 0 ? plan->noise : RIDGE_LAB_NOISE,
                                     .within = plan->within,
                                     .iterations = plan->iterations,
                                     .repeat = ridge_lab_repeat(plan),
                                     .warmup = plan->warmup,
                                     .prepare = plan->hooks.before_text,
                                     .cleanup = plan->hooks.after_text,
                                     .peers = plan->peers,
                                     .user_inputs = plan->user != NULL,
                                     .argc = plan->argc,
                                     .argv = plan->argv};
    if (plan->machine)
        run->machine = *plan->machine;
    else
        RIDGE_TRY(ridge_machine_detect(&run->machine, error));
    RIDGE_TRY(choose_isa(plan, lab, error));
    return choose_threads(plan, run, error);
}

void ridge_lab_close(ridge_lab *lab) {
    for (int i = 0; lab->done && i < lab->n_jobs; i++) ridge_job_result_free(&lab->done[i]);
    free(lab->jobs);
    free(lab->done);
    lab->jobs = NULL;
    lab->done = NULL;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static ridge_status run_jobs(ridge_lab *lab, int *finished, ridge_error *error) {
    const double within = lab->run->settings.within;
    const double left = within > 0 ? fmax(within - ridge_seconds_since(lab->began_ns), 1e-9) : 0;
    ridge_lab_tell(lab->watch, &(ridge_lab_event){.stage = RIDGE_LAB_CASES, .total = lab->n_jobs, .left_s = left});
    const ridge_status status = ridge_lab_run_jobs(lab, finished, error);
    ridge_lab_tell(lab->watch, &(ridge_lab_event){.stage = RIDGE_LAB_END});
    return status;
}

/* Ceilings that are a probe need no other one. */
static ridge_status probe_before(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    const uint64_t began = ridge_clock_ns();
    if (lab->probe_s > 0) return RIDGE_OK;
    const ridge_peak *known = ridge_ceilings_peak(&run->ceilings, "fp32");
    if (known) (void)snprintf(lab->probe.fp32, sizeof lab->probe.fp32, "%s", known->name);
    RIDGE_TRY(ridge_ceilings_probe(&run->machine, run->settings.threads, &lab->probe, &run->dram_before,
                                   &run->fp32_before, error));
    lab->probe_s = ridge_seconds_since(began);
    return RIDGE_OK;
}

double ridge_lab_closing_s(const ridge_lab *lab) { return fmax(RIDGE_LAB_CLOSING_S, 1 + lab->probe_s); }

/* Whether the second probe fits `within`: half of what was reserved is for it. */
static bool has_time(const ridge_lab *lab) {
    const double within = lab->run->settings.within;
    return !(within > 0) || within - ridge_seconds_since(lab->began_ns) > lab->probe_s;
}

static ridge_status measure(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    const int threads = run->settings.threads;
    const bool probe = run->ceilings.n_levels > 0; /* something runs on the CPU */
    int finished = 0;
    if (probe) RIDGE_TRY(probe_before(lab, error));
    ridge_status status = run_jobs(lab, &finished, error);
    run->interrupted = status != RIDGE_OK;
    if (!run->interrupted && probe && has_time(lab))
        (void)ridge_ceilings_probe(&run->machine, threads, &lab->probe, &run->dram_after, &run->fp32_after, NULL);
    if (ridge_lab_interrupted(lab->watch) && !run->interrupted) {
        run->interrupted = true;
        status = ridge_fail(error, RIDGE_INTERRUPTED, "interrupted after the last of %d cases", lab->n_jobs);
    }
    ridge_lab_raise_ceilings(run);
    const ridge_status judged = ridge_lab_judge_jobs(lab, finished, error);
    ridge_run_look_after(run);
    return judged != RIDGE_OK ? judged : status;
}

static ridge_status run_plan(ridge_lab *lab, ridge_error *error) {
    RIDGE_TRY(ridge_lab_find_ceilings(lab, error));
    ridge_run_look_before(lab->run, ridge_lab_uses(lab->plan, RIDGE_BACKEND_cpu),
                          ridge_lab_uses(lab->plan, RIDGE_BACKEND_cuda));
    RIDGE_TRY(ridge_lab_make_jobs(lab, error));
    return measure(lab, error);
}

ridge_status ridge_lab_run(const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                           ridge_error *error) {
    ridge_lab lab;
    ridge_status status = ridge_lab_open(&lab, plan, watch, run, error);
    if (status == RIDGE_OK) status = run_plan(&lab, error);
    ridge_lab_close(&lab);
    run->wall_s = ridge_seconds_since(lab.began_ns);
    return status;
}

/* ---- without measuring ------------------------------------------------------------------------------------------- */

/* Adds the forecasts of the cases that fit to the seconds before them: a case takes all of its time. */
static double forecast_cases(ridge_budget *budget, double seconds) {
    const bool limited = budget->within_s > 0;
    for (int i;
         (i = ridge_budget_next(budget, limited ? budget->within_s - seconds - RIDGE_LAB_CLOSING_S : HUGE_VAL)) >= 0;) {
        const ridge_planned *p = &budget->cases[i];
        const double least = p->least_rounds * p->forecast.round_s;
        const bool counted = p->least_rounds != RIDGE_LEAST_ROUNDS; /* iterations: no time limit */
        seconds += p->forecast.checks_s + (counted ? least : fmax(least, p->max_time));
    }
    return seconds;
}

ridge_status ridge_lab_forecast(const ridge_lab_plan *plan, ridge_run *run, double *seconds, ridge_error *error) {
    ridge_lab lab;
    *seconds = 0;
    ridge_status status = ridge_lab_open(&lab, plan, NULL, run, error);
    const bool cached = status == RIDGE_OK && !plan->refresh &&
                        ridge_ceilings_load(&run->machine, run->settings.threads, &run->ceilings, NULL) == RIDGE_OK;
    if (!cached) run->ceilings = (ridge_ceilings){.n_levels = 0}; /* what a file that cannot be used left */
    if (status == RIDGE_OK) status = ridge_lab_make_jobs(&lab, error);
    if (status == RIDGE_OK)
        *seconds =
            forecast_cases(&run->budget, RIDGE_LAB_PROBE_S + (cached ? 0 : RIDGE_LAB_CEILINGS_S)) + RIDGE_LAB_CLOSING_S;
    ridge_lab_close(&lab);
    return status;
}

static ridge_result summary(const ridge_lab *lab, const ridge_lab_item *item) {
    const ridge_run *run = lab->run;
    ridge_result r = {.target = item->target,
                      .c = item->c,
                      .variant = &item->target->variants[item->variants[0]],
                      .isa = lab->isa,
                      .verdict = RIDGE_VERDICT_SKIPPED,
                      .reason = "summary only"};
    item->target->work(&item->c, &r.work);
    ridge_place(&r.work, 0, ridge_run_ceilings(run, item->backend), run->settings.hot, "fp32", &r.place);
    return r;
}

ridge_status ridge_lab_summarize(const ridge_lab_plan *plan, const ridge_lab_watch *watch, ridge_run *run,
                                 ridge_error *error) {
    ridge_lab lab;
    RIDGE_TRY(ridge_lab_open(&lab, plan, watch, run, error));
    RIDGE_TRY(ridge_lab_find_ceilings(&lab, error));
    run->results = calloc((size_t)(plan->n_items > 0 ? plan->n_items : 1), sizeof *run->results);
    if (!run->results) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", plan->n_items);
    for (int i = 0; i < plan->n_items; i++) run->results[run->n_results++] = summary(&lab, &plan->items[i]);
    return RIDGE_OK;
}
