/* The jobs of a run: made from the plan, forecast, and run one after the other within the budget. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/random.h"
#include "device/device.h"
#include "lab/run_parts.h"
#include "measure/foreign.h"
#include "machine/memory/movers.h"

/* Fraction of the machine's memory that a job may use. */
static const double memory_share = 0.85;
/* Without `within`, a case may take this many times max_time for the rounds that an interval needs. */
static const double patience = 30;

/* ---- jobs from the plan ------------------------------------------------------------------------------------------ */

/* Copy loops of this CPU: the reference for bandwidth-bound cases. */
static void add_motion(ridge_motions *motions, ridge_motion_fn fn) {
    if (motions->n < RIDGE_MAX_MOTIONS) motions->fn[motions->n++] = fn;
}

static void find_motions(ridge_reference *reference) {
    int n;
    const ridge_mover *movers = ridge_movers(&n);
    for (int i = 0; i < n; i++) {
        const ridge_mover *m = &movers[i];
        if (*m->feature && !ridge_cpu_has(m->feature)) continue;
        if (m->motion == RIDGE_MOVE_READ) add_motion(&reference->read, m->run);
        if (m->motion == RIDGE_MOVE_STREAM) add_motion(&reference->stream, m->run);
        if (m->motion == RIDGE_MOVE_WRITE) add_motion(&reference->write, m->run);
    }
}

/* Whether the item has a kernel of others that runs there. */
static bool is_foreign(const ridge_lab_item *item, ridge_foreign_host host) {
    for (int i = 0; i < item->n_variants; i++)
        if (ridge_foreign_is(&item->target->variants[item->variants[i]])) return ridge_foreign_chosen() == host;
    return false;
}

/* Measurement k has inputs of its own. */
static ridge_job make_job(const ridge_lab *lab, const ridge_lab_item *item, int k) {
    const ridge_lab_plan *plan = lab->plan;
    const ridge_machine *machine = &lab->run->machine;
    const ridge_settings *settings = &lab->run->settings;
    const bool gpu = item->backend == RIDGE_BACKEND_cuda;
    const bool emulated = gpu ? machine->gpu.emulated : is_foreign(item, RIDGE_FOREIGN_EMULATED);
    const bool reserves = gpu || emulated || is_foreign(item, RIDGE_FOREIGN_GPU);
    const double limit = memory_share * (double)machine->memory_bytes;
    ridge_abilities here = ridge_machine_abilities(machine, lab->isa);
    here.threads = settings->threads;
    here.tuned = plan->tuned;
    here.rates = ridge_ceilings_rates(&lab->run->ceilings, lab->isa);
    return (ridge_job){
        .target = item->target,
        .c = item->c,
        .variants = item->variants,
        .n_variants = item->n_variants,
        .backend = item->backend,
        .isa = lab->isa,
        .here = here,
        .threads = settings->threads,
        .cpus = machine->cpus,
        .hot = plan->hot || emulated, /* one set of operands is enough for a check */
        .emulated = emulated,
        .seed = k == 0 ? plan->seed : ridge_random(plan->seed, (uint64_t)k),
        .noise = settings->noise,
        .max_time = settings->max_time,
        .patience = patience * settings->max_time,
        .iterations = plan->iterations,
        .warmup = plan->warmup,
        .last_level = gpu ? (double)machine->gpu.l2_bytes : ridge_ceilings_last_level(&lab->run->ceilings),
        .user = plan->user,
        .reference = gpu ? NULL : &lab->reference,
        .launch_limit = plan->launch_limit > 0 ? plan->launch_limit : RIDGE_LAB_LAUNCH_LIMIT_S,
        .memory_limit = reserves ? 0 : (int64_t)limit}; /* CUDA reserves more addresses than there is memory */
}

static ridge_status too_large(const ridge_job *job, double bytes, double have, const char *who, ridge_error *error) {
    char name[RIDGE_CASE_NAME];
    ridge_case_name(job->target, &job->c, name, sizeof name);
    return ridge_fail(error, RIDGE_INVALID, "%s %s needs %.1f GB, and %s has %.1f GB to give: choose smaller --sizes",
                      job->target->name, name, bytes * 1e-9, who, have * 1e-9);
}

/* A GPU case needs its operands on the device, and two copies of a set on the host, where they are checked. */
static ridge_status check_memory(const ridge_job *job, const ridge_machine *machine, ridge_error *error) {
    const ridge_layout dense = {0};
    double bytes, have = memory_share * (double)machine->memory_bytes;
    double gpu_has = memory_share * (double)machine->gpu.free_bytes;
    size_t set;
    RIDGE_TRY(ridge_operands_bytes(job->target, &job->c, &dense, &set, error));
    RIDGE_TRY(ridge_job_bytes(job, &bytes, error));
    if (job->backend != RIDGE_BACKEND_cuda)
        return bytes <= have ? RIDGE_OK : too_large(job, bytes, have, "this machine", error);
    if (machine->gpu.sm && bytes > gpu_has) return too_large(job, bytes, gpu_has, "the GPU", error);
    return 3 * (double)set <= have ? RIDGE_OK : too_large(job, 3 * (double)set, have, "this machine", error);
}

/* Rounds that warm up come before the timed ones, like the checks. */
static ridge_planned plan_job(const ridge_run *run, const ridge_job *job) {
    ridge_forecast forecast = ridge_forecast_job(job, ridge_run_ceilings(run, job->backend), &run->ceilings);
    forecast.checks_s += job->warmup * forecast.round_s;
    return (ridge_planned){.target = job->target,
                           .c = job->c,
                           .backend = job->backend,
                           .forecast = forecast,
                           .least_rounds = job->iterations > 0 ? job->iterations : RIDGE_LEAST_ROUNDS,
                           .max_time = job->max_time,
                           .patience = job->patience};
}

int ridge_lab_repeat(const ridge_lab_plan *plan) {
    const int n = plan->repeat < 1 ? 1 : plan->repeat;
    return n < RIDGE_MAX_MEASUREMENTS ? n : RIDGE_MAX_MEASUREMENTS;
}

ridge_status ridge_lab_make_jobs(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    const int items = lab->plan->n_items, n = items * ridge_lab_repeat(lab->plan);
    const size_t room = (size_t)(n > 0 ? n : 1);
    lab->jobs = calloc(room, sizeof *lab->jobs);
    lab->done = calloc(room, sizeof *lab->done);
    run->budget = (ridge_budget){.within_s = run->settings.within, .cases = calloc(room, sizeof *run->budget.cases)};
    if (!lab->jobs || !lab->done || !run->budget.cases)
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", n);
    lab->n_jobs = n;
    find_motions(&lab->reference);
    for (int i = 0; i < n; i++) {
        lab->jobs[i] = make_job(lab, &lab->plan->items[i % items], i / items);
        if (i < items) RIDGE_TRY(check_memory(&lab->jobs[i], &run->machine, error));
        run->budget.cases[run->budget.n] = plan_job(run, &lab->jobs[i]);
        run->budget.cases[run->budget.n++].measurement = i / items;
    }
    return RIDGE_OK;
}

/* ---- jobs within the budget -------------------------------------------------------------------------------------- */

static double left_s(const ridge_lab *lab) {
    return lab->run->budget.within_s - ridge_seconds_since(lab->began_ns) - ridge_lab_closing_s(lab);
}

/* The job to run now, with its share of the time; -1: none is left, or none fits. */
static int next_job(ridge_lab *lab) {
    ridge_budget *budget = &lab->run->budget;
    const int i = ridge_budget_next(budget, budget->within_s > 0 ? left_s(lab) : HUGE_VAL);
    if (i < 0) return i;
    lab->jobs[i].max_time = budget->cases[i].max_time;
    lab->jobs[i].patience = budget->cases[i].patience;
    if (budget->within_s > 0) lab->jobs[i].ends_ns = ridge_clock_ns() + (uint64_t)(fmax(left_s(lab), 0) * 1e9);
    return i;
}

/* A worker that fails (no memory, no process) fails its case, not the run. */
static void fail_all(ridge_job_result *done, const char *reason) {
    for (int i = 0; i < done->n_series; i++) {
        done->series[i].outcome = RIDGE_OUTCOME_FAILED;
        (void)snprintf(done->series[i].reason, sizeof done->series[i].reason, "%.230s", reason);
    }
}

static bool is_regular(const ridge_job_result *done) {
    if (done->cut) return false;
    for (int i = 0; i < done->n_series; i++)
        if (done->series[i].outcome == RIDGE_OUTCOME_FAILED) return false;
    return true;
}

static void tell_case(const ridge_lab *lab, const ridge_job *job) {
    char name[RIDGE_CASE_NAME], what[RIDGE_CASE_NAME + 160];
    ridge_case_name(job->target, &job->c, name, sizeof name);
    (void)snprintf(what, sizeof what, "%s:%s %s", job->target->chapter, job->target->name, name);
    ridge_lab_tell(lab->watch, &(ridge_lab_event){.stage = RIDGE_LAB_CASE, .what = what});
}

static void tell_share(void *arg, double share, const char *doing) {
    const ridge_lab *lab = arg;
    ridge_lab_tell(lab->watch, &(ridge_lab_event){.stage = RIDGE_LAB_SHARE, .share = share, .what = doing});
}

/* Without a process or memory for it, the system is at fault, and no variant. */
static ridge_status measure_job(ridge_lab *lab, int i, ridge_error *error) {
    ridge_job_result *done = &lab->done[i];
    ridge_error why = {0};
    const uint64_t began = ridge_clock_ns();
    const ridge_status status =
        ridge_job_run(&lab->jobs[i], lab->watch ? lab->watch->interrupted : NULL, tell_share, lab, done, &why);
    if (status == RIDGE_INTERRUPTED) return status;
    if (status == RIDGE_IO || status == RIDGE_NO_MEMORY) return ridge_fail(error, status, "%s", why.text);
    if (status != RIDGE_OK) fail_all(done, why.text);
    ridge_planned *planned = &lab->run->budget.cases[i];
    planned->taken_s = ridge_seconds_since(began);
    planned->rounds_s = done->rounds_s;
    planned->rounds = done->rounds;
    if (is_regular(done)) ridge_budget_learn(&lab->run->budget, planned);
    return RIDGE_OK;
}

/* *measured: the job has a result, which an error of a hook does not change. An interruption has no text yet. */
static ridge_status run_job(ridge_lab *lab, int i, bool *measured, ridge_error *error) {
    const ridge_lab_hooks *hooks = &lab->plan->hooks;
    const ridge_lab_item *item = &lab->plan->items[i % lab->plan->n_items];
    *measured = false;
    tell_case(lab, &lab->jobs[i]);
    if (hooks->before) RIDGE_TRY(hooks->before(hooks->arg, item, error));
    const ridge_status status = measure_job(lab, i, error);
    *measured = status == RIDGE_OK;
    const ridge_status after = hooks->after ? hooks->after(hooks->arg, item, error) : RIDGE_OK;
    return status == RIDGE_OK ? after : status;
}

/* Lists the jobs that were passed over among the first `n` as skipped, with an S that would have been enough. */
static ridge_status skip_jobs(ridge_lab *lab, int n, ridge_error *error) {
    const ridge_budget *budget = &lab->run->budget;
    double enough = ridge_seconds_since(lab->began_ns) + ridge_lab_closing_s(lab);
    char reason[200];
    for (int i = 0; i < n; i++)
        if (budget->cases[i].taken_s <= 0) enough += ridge_budget_least_s(budget, &budget->cases[i]);
    (void)snprintf(reason, sizeof reason, "no time was left of --within %g: give --within %.0f, or run the case alone",
                   budget->within_s, 10 * ceil(enough / 10));
    for (int i = 0; i < n; i++)
        if (budget->cases[i].taken_s <= 0) RIDGE_TRY(ridge_job_skip(&lab->jobs[i], reason, &lab->done[i], error));
    return RIDGE_OK;
}

/* A job without a result ends the list of those that are judged, unless it was its second chance: the jobs after it
 * were not decided on. */
ridge_status ridge_lab_run_jobs(ridge_lab *lab, int *finished, ridge_error *error) {
    const int n = lab->n_jobs;
    ridge_status status = RIDGE_OK;
    int furthest = -1, done = 0;
    *finished = n;
    for (int i; status == RIDGE_OK && (i = next_job(lab)) >= 0;) {
        bool measured;
        status = run_job(lab, i, &measured, error);
        done += measured;
        if (!measured) ridge_job_result_free(&lab->done[i]);
        if (status != RIDGE_OK && i > furthest) *finished = i + measured;
        if (i > furthest) furthest = i;
    }
    RIDGE_TRY(skip_jobs(lab, *finished, error));
    if (status == RIDGE_INTERRUPTED)
        return ridge_fail(error, status, "interrupted after %d of %d cases: what was finished is kept", done, n);
    return status;
}
