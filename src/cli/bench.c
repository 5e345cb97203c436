#include "cli/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/counters.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "device/device.h"
#include "machine/ceilings/gpu.h"
#include "machine/memory/movers.h"
#include "record/judge.h"
#include "report/report.h"

/* Fraction of the machine's memory that a job may use. */
static const double memory_share = 0.85;
/* For estimates: seconds to measure the ceilings, to probe them after the last case and to write what is left behind.
 */
static const double ceilings_s = 10, probe_s = 1, closing_s = 2;
/* Without --within, a case may take this many times --max-time for the rounds that an interval needs. */
static const double patience = 30;

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
    if (!ridge_isa_supported(*isa))
        return ridge_fail(error, RIDGE_INVALID, "--isa %s: this processor has no %s (best here: %s)",
                          ridge_isa_name(*isa), ridge_isa_name(*isa), ridge_isa_name(machine->isa));
    return RIDGE_OK;
}

/* ---- ceilings
 * -------------------------------------------------------------------------------------------------------- */

static void show_ceiling_step(void *arg, int done, int total, const char *what) {
    ridge_progress *p = arg;
    char text[120];
    (void)snprintf(text, sizeof text, "measuring the ceilings: %s", what);
    p->total = total > 0 ? total : 1;
    p->done = done;
    ridge_progress_step(p, text);
}

ridge_status ridge_bench_ceilings(const ridge_options *o, const ridge_machine *machine, int threads, ridge_ceilings *c,
                                  ridge_error *error) {
    if (!o->refresh) {
        ridge_error why = {0};
        ridge_status status = ridge_ceilings_load(machine, threads, c, &why);
        if (status == RIDGE_OK) return RIDGE_OK;
        if (status != RIDGE_NOT_FOUND) ridge_say("%s; measuring anew", why.text);
    }
    ridge_progress progress;
    ridge_progress_begin(&progress, 1);
    ridge_status status = ridge_ceilings_measure(machine, threads, show_ceiling_step, &progress, c, error);
    ridge_progress_end(&progress);
    RIDGE_TRY(status);
    ridge_error unsaved = {0};
    if (ridge_ceilings_save(c, &unsaved) != RIDGE_OK) ridge_say("the ceilings are not kept: %s", unsaved.text);
    return RIDGE_OK;
}

ridge_status ridge_bench_gpu_ceilings(const ridge_options *o, const ridge_machine *machine, ridge_ceilings *c,
                                      ridge_error *error) {
    *c = (ridge_ceilings){.n_levels = 0};
    if (machine->gpu.sm == 0) return ridge_fail(error, RIDGE_UNSUPPORTED, "no GPU: %s", machine->no_gpu);
    if (machine->gpu.emulated) return ridge_fail(error, RIDGE_UNSUPPORTED, "the GPU is emulated: it has no ceilings");
    if (!o->refresh) {
        ridge_error why = {0};
        ridge_status status = ridge_gpu_ceilings_load(&machine->gpu, c, &why);
        if (status == RIDGE_OK) return RIDGE_OK;
        if (status != RIDGE_NOT_FOUND) ridge_say("%s; measuring anew", why.text);
    }
    ridge_progress progress;
    ridge_progress_begin(&progress, 1);
    ridge_status status = ridge_gpu_ceilings_measure(&machine->gpu, show_ceiling_step, &progress, c, error);
    ridge_progress_end(&progress);
    RIDGE_TRY(status);
    ridge_error unsaved = {0};
    if (ridge_ceilings_save(c, &unsaved) != RIDGE_OK) ridge_say("the GPU's ceilings are not kept: %s", unsaved.text);
    return RIDGE_OK;
}

static bool selects(const ridge_selection *selection, ridge_backend backend) {
    for (int i = 0; i < selection->n; i++)
        if (selection->items[i].backend == backend) return true;
    return false;
}

void ridge_bench_want_gpu(const ridge_options *o, const ridge_selection *selection, ridge_run *run) {
    ridge_error why = {0};
    if (!selects(selection, RIDGE_BACKEND_cuda) || run->machine.gpu.sm == 0 || run->machine.gpu.emulated) return;
    run->has_gpu = ridge_bench_gpu_ceilings(o, &run->machine, &run->gpu_ceilings, &why) == RIDGE_OK;
    if (!run->has_gpu) ridge_say("CUDA results have no percentages: %s", why.text);
}

/* Ceilings of the selected backends. */
static ridge_status find_ceilings(const ridge_options *o, const ridge_selection *selection, ridge_run *run,
                                  ridge_error *error) {
    if (selects(selection, RIDGE_BACKEND_cpu))
        RIDGE_TRY(ridge_bench_ceilings(o, &run->machine, run->settings.threads, &run->ceilings, error));
    ridge_bench_want_gpu(o, selection, run);
    return RIDGE_OK;
}

static void raise_to(ridge_interval *ceiling, ridge_interval probe) {
    if (probe.n > 0 && probe.median > ceiling->median) *ceiling = probe;
}

/* A ceiling is a rate that was reached: the best of the cached rate and the probes before and after this run. */
static void raise_ceilings(ridge_run *run) {
    if (run->ceilings.n_levels == 0) return;
    const ridge_level *probes[] = {&run->dram_before, &run->dram_after};
    const ridge_peak *peaks[] = {&run->fp32_before, &run->fp32_after};
    ridge_level *dram = &run->ceilings.levels[run->ceilings.n_levels - 1];
    for (int i = 0; i < 2; i++) {
        raise_to(&dram->read, probes[i]->read);
        raise_to(&dram->copy, probes[i]->copy);
        raise_to(&dram->stream, probes[i]->stream);
        raise_to(&dram->write, probes[i]->write);
        for (int p = 0; p < run->ceilings.n_peaks; p++)
            if (strcmp(run->ceilings.peaks[p].name, peaks[i]->name) == 0)
                raise_to(&run->ceilings.peaks[p].gflops, peaks[i]->gflops);
    }
}

/* ---- jobs
 * -------------------------------------------------------------------------------------------------------------- */

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

static ridge_job make_job(const ridge_options *o, const ridge_selected *item, const ridge_selection *selection,
                          const ridge_run *run, ridge_isa isa) {
    static ridge_reference reference; /* of CPU cases */
    if (!reference.read.n) find_motions(&reference);
    const bool gpu = item->backend == RIDGE_BACKEND_cuda;
    double limit = memory_share * (double)run->machine.memory_bytes;
    return (ridge_job){
        .target = item->target,
        .c = item->c,
        .variants = item->variants,
        .n_variants = item->n_variants,
        .backend = item->backend,
        .isa = isa,
        .here = ridge_machine_abilities(&run->machine, isa),
        .threads = run->settings.threads,
        .cpus = run->machine.cpus,
        .hot = o->hot || (gpu && run->machine.gpu.emulated), /* one set of operands is enough for a check */
        .emulated = gpu && run->machine.gpu.emulated,
        .seed = o->seed,
        .max_time = o->max_time,
        .patience = patience * o->max_time,
        .iterations = o->iterations,
        .last_level = gpu ? (double)run->machine.gpu.l2_bytes : ridge_ceilings_last_level(&run->ceilings),
        .user = selection->has_user ? selection->user : NULL,
        .reference = gpu ? NULL : &reference,
        .launch_limit = o->limit,
        .memory_limit = gpu ? 0 : (int64_t)limit}; /* CUDA reserves more addresses than there is memory */
}

static ridge_status too_large(const ridge_job *job, double bytes, double have, const char *who, ridge_error *error) {
    char name[80];
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

/* All results of a case, in the order of its variants. */
static ridge_result *add_results(ridge_run *run, const ridge_job *job) {
    ridge_result *more = realloc(run->results, (size_t)(run->n_results + job->n_variants) * sizeof *more);
    if (!more) return NULL;
    run->results = more;
    ridge_result *first = more + run->n_results;
    for (int i = 0; i < job->n_variants; i++)
        first[i] = (ridge_result){.target = job->target,
                                  .c = job->c,
                                  .isa = job->isa,
                                  .sm = job->here.sm,
                                  .cut = job->max_time < run->settings.max_time,
                                  .variant = &job->target->variants[job->variants[i]]};
    run->n_results += job->n_variants;
    return first;
}

/* Pairs of baselines and peers with each optimized variant. */
static ridge_status add_pairs(ridge_run *run, int first, int n, const ridge_job_result *done) {
    for (int b = first; b < first + n; b++) {
        if (run->results[b].variant->role != RIDGE_OPTIMIZED) continue;
        for (int a = first; a < first + n; a++) {
            if (run->results[a].variant->role == RIDGE_OPTIMIZED) continue;
            ridge_pair *more = realloc(run->pairs, (size_t)(run->n_pairs + 1) * sizeof *more);
            if (!more) return RIDGE_NO_MEMORY;
            run->pairs = more;
            more[run->n_pairs] = (ridge_pair){.a = a, .b = b};
            ridge_pair_judge(run, &more[run->n_pairs++], &done->series[a - first], run->settings.seed);
        }
    }
    return RIDGE_OK;
}

/* A worker that fails (no memory, no process) fails its case, not the run. */
static void fail_all(ridge_job_result *done, const char *reason) {
    for (int i = 0; i < done->n_series; i++) {
        done->series[i].outcome = RIDGE_OUTCOME_FAILED;
        (void)snprintf(done->series[i].reason, sizeof done->series[i].reason, "%.230s", reason);
    }
}

/* The jobs of a run. */
typedef struct work {
    ridge_run *run; /* its budget has a case for each job */
    ridge_job *jobs;
    ridge_job_result *done;
    int n;
    uint64_t began_ns;
} work;

static bool plan_jobs(ridge_run *run, const ridge_job *jobs, int n) {
    run->budget = (ridge_budget){.within_s = run->settings.within, .n = n};
    run->budget.cases = calloc((size_t)(n > 0 ? n : 1), sizeof *run->budget.cases);
    for (int i = 0; run->budget.cases && i < n; i++)
        run->budget.cases[i] = (ridge_planned){
            .target = jobs[i].target,
            .c = jobs[i].c,
            .backend = jobs[i].backend,
            .forecast = ridge_forecast_job(&jobs[i], ridge_run_ceilings(run, jobs[i].backend), &run->ceilings),
            .least_rounds = jobs[i].iterations > 0 ? jobs[i].iterations : RIDGE_LEAST_ROUNDS,
            .max_time = jobs[i].max_time,
            .patience = jobs[i].patience};
    return run->budget.cases != NULL;
}

/* The job to run now, with its share of the time; -1: none is left, or none fits. */
static int next_job(const work *w) {
    ridge_budget *budget = &w->run->budget;
    const double left = budget->within_s - ridge_seconds_since(w->began_ns) - closing_s;
    const int i = ridge_budget_next(budget, budget->within_s > 0 ? left : HUGE_VAL);
    if (i < 0) return i;
    w->jobs[i].max_time = budget->cases[i].max_time;
    w->jobs[i].patience = budget->cases[i].patience;
    return i;
}

static bool is_regular(const ridge_job_result *done) {
    for (int i = 0; i < done->n_series; i++)
        if (done->series[i].outcome == RIDGE_OUTCOME_FAILED) return false;
    return true;
}

static ridge_status run_job(const work *w, int i, ridge_progress *progress) {
    const ridge_job *job = &w->jobs[i];
    ridge_job_result *done = &w->done[i];
    char name[80], what[160];
    ridge_error why = {0};
    ridge_case_name(job->target, &job->c, name, sizeof name);
    (void)snprintf(what, sizeof what, "%s:%s %s", job->target->chapter, job->target->name, name);
    ridge_progress_step(progress, what);
    const uint64_t began = ridge_clock_ns();
    ridge_status status = ridge_job_run(job, ridge_interrupt_flag(), ridge_progress_share, progress, done, &why);
    if (status == RIDGE_INTERRUPTED) return status;
    if (status != RIDGE_OK) fail_all(done, why.text);
    ridge_planned *planned = &w->run->budget.cases[i];
    planned->taken_s = ridge_seconds_since(began);
    planned->rounds_s = done->rounds_s;
    planned->rounds = done->rounds;
    if (is_regular(done)) ridge_budget_learn(&w->run->budget, planned);
    return RIDGE_OK;
}

/* Lists the jobs that were passed over among the first `n` as skipped, with an S that would have been enough. */
static ridge_status skip_jobs(const work *w, int n, ridge_error *error) {
    const ridge_budget *budget = &w->run->budget;
    double enough = ridge_seconds_since(w->began_ns) + closing_s;
    char reason[200];
    for (int i = 0; i < n; i++)
        if (budget->cases[i].taken_s <= 0) enough += ridge_budget_least_s(budget, &budget->cases[i]);
    (void)snprintf(reason, sizeof reason, "no time was left of --within %g: give --within %.0f, or run the case alone",
                   budget->within_s, 10 * ceil(enough / 10));
    for (int i = 0; i < n; i++)
        if (budget->cases[i].taken_s <= 0) RIDGE_TRY(ridge_job_skip(&w->jobs[i], reason, &w->done[i], error));
    return RIDGE_OK;
}

/* *finished: that many jobs, from the first on, have a result. */
static ridge_status run_jobs(const work *w, int *finished, ridge_error *error) {
    ridge_progress progress;
    ridge_progress_begin(&progress, w->n);
    if (w->run->budget.within_s > 0) progress.ends_ns = w->began_ns + (uint64_t)(w->run->budget.within_s * 1e9);
    ridge_status status = RIDGE_OK;
    int furthest = -1, done = 0;
    *finished = w->n;
    for (int i; status == RIDGE_OK && (i = next_job(w)) >= 0;) {
        status = run_job(w, i, &progress);
        done += status == RIDGE_OK;
        if (status == RIDGE_INTERRUPTED) {
            ridge_job_result_free(&w->done[i]);
            if (i > furthest) *finished = i; /* not a second chance: the cases after it were not decided on */
        }
        if (i > furthest) furthest = i;
    }
    ridge_progress_end(&progress);
    RIDGE_TRY(skip_jobs(w, *finished, error));
    if (status == RIDGE_INTERRUPTED)
        return ridge_fail(error, status, "interrupted after %d of %d cases: what was finished is kept", done, w->n);
    return RIDGE_OK;
}

static ridge_status judge_jobs(ridge_run *run, const ridge_job *jobs, ridge_job_result *done, int n,
                               ridge_error *error) {
    for (int j = 0; j < n; j++) {
        int first = run->n_results;
        ridge_result *results = add_results(run, &jobs[j]);
        if (!results) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for results");
        for (int i = 0; i < done[j].n_series; i++)
            ridge_result_judge(&results[i], &done[j].series[i], &done[j].companion[i], &done[j],
                               ridge_run_ceilings(run, jobs[j].backend), run->settings.hot);
        if (add_pairs(run, first, jobs[j].n_variants, &done[j]) != RIDGE_OK)
            return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for pairs");
    }
    return RIDGE_OK;
}

/* ---- a whole run
 * --------------------------------------------------------------------------------------------------------- */

static ridge_status begin_run(const ridge_options *o, ridge_run *run, ridge_isa *isa, ridge_error *error) {
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(run->date, sizeof run->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    RIDGE_TRY(ridge_machine_detect(&run->machine, error));
    RIDGE_TRY(ridge_bench_isa(o, &run->machine, isa, error));
    int threads;
    RIDGE_TRY(ridge_bench_threads(o, &run->machine, &threads, error));
    run->settings = (ridge_settings){.threads = threads,
                                     .hot = o->hot,
                                     .seed = o->seed,
                                     .max_time = o->max_time,
                                     .within = o->within,
                                     .iterations = o->iterations,
                                     .user_inputs = o->n_inputs > 0,
                                     .argc = o->argc,
                                     .argv = o->argv};
    return RIDGE_OK;
}

static ridge_status measure_jobs(const work *w, ridge_error *error) {
    ridge_run *run = w->run;
    int finished = 0, threads = run->settings.threads;
    const bool probe = run->ceilings.n_levels > 0; /* something runs on the CPU */
    if (probe) RIDGE_TRY(ridge_ceilings_probe(&run->machine, threads, &run->dram_before, &run->fp32_before, error));
    ridge_interrupt_hold();
    ridge_status status = run_jobs(w, &finished, error);
    run->interrupted = status == RIDGE_INTERRUPTED;
    if (!run->interrupted && probe)
        (void)ridge_ceilings_probe(&run->machine, threads, &run->dram_after, &run->fp32_after, NULL);
    if (*ridge_interrupt_flag() && !run->interrupted) {
        run->interrupted = true;
        status = ridge_fail(error, RIDGE_INTERRUPTED, "interrupted after the last of %d cases", w->n);
    }
    raise_ceilings(run);
    ridge_status judged = judge_jobs(run, w->jobs, w->done, finished, error);
    ridge_run_look_after(run);
    return judged != RIDGE_OK ? judged : status;
}

/* Measures the selected cases, whose jobs and results the caller frees. */
static ridge_status measure(const ridge_options *o, const ridge_selection *selection, ridge_isa isa, const work *w,
                            ridge_error *error) {
    for (int i = 0; i < w->n; i++) {
        w->jobs[i] = make_job(o, &selection->items[i], selection, w->run, isa);
        RIDGE_TRY(check_memory(&w->jobs[i], &w->run->machine, error));
    }
    if (!plan_jobs(w->run, w->jobs, w->n)) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", w->n);
    return measure_jobs(w, error);
}

static ridge_status count_bytes(ridge_run *run, ridge_error *error) {
    char why[400];
    (void)ridge_counters_read(run, why, sizeof why);
    if (why[0]) {
        ridge_finding found = {.what = "counters", .health = RIDGE_HEALTH_BAD};
        (void)snprintf(found.found, sizeof found.found, "not all bytes were counted: %.120s", why);
        (void)snprintf(found.advice, sizeof found.advice,
                       "bytes are the declared ones; ridge doctor says what is missing");
        ridge_run_add_finding(run, &found);
    }
    if (!*ridge_interrupt_flag()) return RIDGE_OK;
    run->interrupted = true;
    return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted while bytes were counted: the times are kept");
}

ridge_status ridge_bench(const ridge_options *o, ridge_selection *selection, ridge_run *run, ridge_error *error) {
    *run = (ridge_run){0};
    uint64_t began = ridge_clock_ns();
    ridge_isa isa = RIDGE_ISA_scalar;
    RIDGE_TRY(begin_run(o, run, &isa, error));
    RIDGE_TRY(ridge_selection_fit(o, &run->machine, selection, error));
    RIDGE_TRY(find_ceilings(o, selection, run, error));
    ridge_run_look_before(run, selects(selection, RIDGE_BACKEND_cpu), selects(selection, RIDGE_BACKEND_cuda));
    const size_t n = (size_t)(selection->n > 0 ? selection->n : 1);
    const work w = {run, calloc(n, sizeof *w.jobs), calloc(n, sizeof *w.done), selection->n, began};
    ridge_status status = w.jobs && w.done ? measure(o, selection, isa, &w, error)
                                           : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", selection->n);
    for (int i = 0; w.done && i < w.n; i++) ridge_job_result_free(&w.done[i]);
    free(w.jobs);
    free(w.done);
    if (status == RIDGE_OK && o->counters) status = count_bytes(run, error);
    run->wall_s = ridge_seconds_since(began);
    return status;
}

enum { DRY_TARGET, DRY_CASE, DRY_VARIANTS, DRY_COLUMNS };
static const ridge_column dry_columns[DRY_COLUMNS] = {
    [DRY_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 20},
    [DRY_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 16},
    [DRY_VARIANTS] = {.header = "variants", .field = "variants", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

static void add_dry(ridge_table *table, const ridge_selected *item, const ridge_selected *before) {
    char name[96], target[160], *variants = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&variants, &size);
    for (int v = 0; list && v < item->n_variants; v++)
        fprintf(list, "%s%s", v ? " " : "", item->target->variants[item->variants[v]].name);
    if (list) (void)fclose(list);
    ridge_case_name(item->target, &item->c, name, sizeof name);
    (void)snprintf(target, sizeof target, "%s:%s", item->target->chapter, item->target->name);
    ridge_table_row(table);
    ridge_table_text(table, DRY_TARGET, target);
    if (before && before->target == item->target) ridge_table_ditto(table, DRY_TARGET);
    ridge_table_text(table, DRY_CASE, name);
    ridge_table_text(table, DRY_VARIANTS, variants);
    free(variants);
}

/* Lists what would be skipped, for --within. */
static void say_passed_over(const ridge_budget *budget, const ridge_page *page) {
    char *text = NULL, name[96];
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    const char *comma = "";
    for (int i = 0; list && i < budget->n; i++) {
        const ridge_planned *p = &budget->cases[i];
        if (p->state == RIDGE_PLAN_STARTED) continue;
        ridge_case_name(p->target, &p->c, name, sizeof name);
        fprintf(list, "%s%s %s", comma, p->target->name, name);
        comma = ", ";
    }
    if (list) (void)fclose(list);
    if (text && *comma) ridge_page_say(page, "does not fit --within %g: %s\n", budget->within_s, text);
    free(text);
}

/* Seconds of the whole run, by the forecasts: a case takes all of its time. */
static double forecast_run(ridge_budget *budget, double seconds) {
    const bool limited = budget->within_s > 0;
    for (int i; (i = ridge_budget_next(budget, limited ? budget->within_s - seconds - closing_s : HUGE_VAL)) >= 0;) {
        const ridge_planned *p = &budget->cases[i];
        const double least = p->least_rounds * p->forecast.round_s;
        const bool counted = p->least_rounds != RIDGE_LEAST_ROUNDS; /* --iterations: no time limit */
        seconds += p->forecast.checks_s + (counted ? least : fmax(least, p->max_time));
    }
    return seconds;
}

static ridge_status plan_all(const ridge_options *o, const ridge_selection *selection, ridge_run *run, ridge_isa isa,
                             ridge_error *error) {
    ridge_job *jobs = calloc((size_t)(selection->n > 0 ? selection->n : 1), sizeof *jobs);
    ridge_status status = jobs ? RIDGE_OK : RIDGE_NO_MEMORY;
    for (int i = 0; i < selection->n && status == RIDGE_OK; i++) {
        jobs[i] = make_job(o, &selection->items[i], selection, run, isa);
        status = check_memory(&jobs[i], &run->machine, error);
    }
    if (status == RIDGE_OK && !plan_jobs(run, jobs, selection->n)) status = RIDGE_NO_MEMORY;
    free(jobs);
    if (status == RIDGE_NO_MEMORY) return ridge_fail(error, status, "no memory for %d cases", selection->n);
    return status;
}

ridge_status ridge_bench_dry(const ridge_options *o, ridge_selection *selection, ridge_error *error) {
    static ridge_run run; /* large; only the machine, settings and budget are used */
    ridge_isa isa;
    RIDGE_TRY(ridge_machine_detect(&run.machine, error));
    RIDGE_TRY(ridge_bench_isa(o, &run.machine, &isa, error));
    RIDGE_TRY(ridge_bench_threads(o, &run.machine, &run.settings.threads, error));
    RIDGE_TRY(ridge_selection_fit(o, &run.machine, selection, error));
    run.settings.within = o->within;
    bool cached =
        !o->refresh && ridge_ceilings_load(&run.machine, run.settings.threads, &run.ceilings, NULL) == RIDGE_OK;
    RIDGE_TRY(plan_all(o, selection, &run, isa, error));
    const ridge_page page = ridge_say_page(o);
    ridge_table *table = ridge_table_new(dry_columns, DRY_COLUMNS);
    for (int i = 0; i < selection->n; i++) add_dry(table, &selection->items[i], i ? &selection->items[i - 1] : NULL);
    ridge_table_print(table, &page);
    ridge_table_free(table);
    const int seconds = (int)(forecast_run(&run.budget, cached ? probe_s : probe_s + ceilings_s) + closing_s);
    ridge_page_say(&page, "%d case%s, %d thread%s, %s; about %d:%02d%s\n", selection->n, selection->n == 1 ? "" : "s",
                   run.settings.threads, run.settings.threads == 1 ? "" : "s", ridge_isa_name(isa), seconds / 60,
                   seconds % 60, cached ? "" : ", the ceilings' measurement included");
    say_passed_over(&run.budget, &page);
    ridge_run_free(&run);
    return RIDGE_OK;
}

/* ---- what is left behind
 * --------------------------------------------------------------------------------------------------- */

static ridge_status make_directories(const char *path, ridge_error *error) {
    char part[512];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return ridge_fail(error, RIDGE_INVALID, "--output: the name is longer than %zu bytes", sizeof part);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return ridge_fail(error, RIDGE_IO, "cannot make the directory %.200s: %s", part, strerror(errno));
        *p = end;
        if (end == '\0') return RIDGE_OK;
    }
}

ridge_status ridge_bench_check_output(const ridge_options *o, ridge_error *error) {
    if (!o->output) return RIDGE_OK;
    RIDGE_TRY(make_directories(o->output, error));
    struct stat info;
    if (stat(o->output, &info) != 0 || !S_ISDIR(info.st_mode))
        return ridge_fail(error, RIDGE_IO, "--output %.200s is not a directory: name another", o->output);
    char probe[600];
    (void)snprintf(probe, sizeof probe, "%s/.ridge-XXXXXX", o->output);
    int fd = mkstemp(probe);
    if (fd < 0)
        return ridge_fail(error, RIDGE_IO, "cannot write in %.200s: %s; name another --output", o->output,
                          strerror(errno));
    close(fd);
    (void)unlink(probe);
    return RIDGE_OK;
}

static ridge_status write_plot(const ridge_options *o, const ridge_run *run, ridge_backend backend,
                               ridge_error *error) {
    const char *name = backend == RIDGE_BACKEND_cuda ? "roofline-cuda.svg" : "roofline.svg";
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", o->output, name);
    ridge_error why = {0};
    ridge_status status = ridge_plot_svg(run, backend, path, &why);
    if (status == RIDGE_OK)
        ridge_say("the roofline is in %s", path);
    else if (status == RIDGE_UNSUPPORTED)
        ridge_say("no %s: %s", name, why.text);
    else
        return ridge_fail(error, status, "%s", why.text);
    return RIDGE_OK;
}

static ridge_status write_output(const ridge_options *o, const ridge_run *run, const json_t *json, ridge_error *error) {
    char path[600];
    (void)snprintf(path, sizeof path, "%s/run.json", o->output);
    RIDGE_TRY(ridge_write_json(path, json, error));
    ridge_say("every sample is in %s", path);
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++)
        if (ridge_run_draws(run, (ridge_backend)b)) RIDGE_TRY(write_plot(o, run, (ridge_backend)b, error));
    return RIDGE_OK;
}

static ridge_status write_expectations(const char *path, const ridge_run *run, ridge_error *error) {
    json_t *json = ridge_json_expectations(run);
    if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for expectations");
    ridge_status status = ridge_write_json(path, json, error);
    json_decref(json);
    return status;
}

ridge_status ridge_bench_write(const ridge_options *o, const ridge_run *run, ridge_error *error) {
    if (o->expectations) RIDGE_TRY(write_expectations(o->expectations, run, error));
    if (!o->output && !o->json) return RIDGE_OK;
    json_t *json = ridge_json_run(run);
    if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the record");
    ridge_status status = o->output ? write_output(o, run, json, error) : RIDGE_OK;
    ridge_error second = {0};
    ridge_status also = o->json ? ridge_write_json(o->json, json, &second) : RIDGE_OK;
    if (status == RIDGE_OK && also != RIDGE_OK) status = ridge_fail(error, also, "%s", second.text);
    json_decref(json);
    return status;
}

int ridge_bench_exit(const ridge_run *run) {
    for (int i = 0; i < run->n_results; i++) {
        ridge_verdict v = run->results[i].verdict;
        if (v == RIDGE_VERDICT_WRONG || v == RIDGE_VERDICT_IMPOSSIBLE || v == RIDGE_VERDICT_FAILED)
            return RIDGE_EXIT_VERDICT;
    }
    return RIDGE_EXIT_OK;
}
