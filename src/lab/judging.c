/* Results and pairs of finished jobs. */
#include <stdlib.h>
#include <string.h>

#include "lab/run_parts.h"
#include "record/judge.h"

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
                                  .here = job->here,
                                  .measured = -1,
                                  .cut = job->max_time < run->settings.max_time,
                                  .variant = &job->target->variants[job->variants[i]]};
    run->n_results += job->n_variants;
    return first;
}

/* Keeps what the results of a case share. It takes the samples of the reference, once they are not needed any more. */
static ridge_status keep_shared(ridge_run *run, int first, ridge_job_result *done) {
    ridge_measured *more = realloc(run->measured, (size_t)(run->n_measured + 1) * sizeof *more);
    if (!more) return RIDGE_NO_MEMORY;
    run->measured = more;
    ridge_measured *kept = &more[run->n_measured];
    *kept = (ridge_measured){
        .reference = done->reference.samples, .n_reference = done->reference.n, .n_measurements = done->n_measurements};
    memcpy(kept->first_round, done->first_round, sizeof kept->first_round);
    done->reference.samples = NULL;
    for (int i = first; i < run->n_results; i++) run->results[i].measured = run->n_measured;
    run->n_measured++;
    return RIDGE_OK;
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
            ridge_pair_judge(run, &more[run->n_pairs++], &done->series[a - first], done, run->settings.seed);
        }
    }
    return RIDGE_OK;
}

ridge_status ridge_lab_judge_jobs(ridge_lab *lab, int n, ridge_error *error) {
    ridge_run *run = lab->run;
    const int items = lab->plan->n_items;
    for (int j = 0; j < n && j < items; j++) {
        const ridge_job *job = &lab->jobs[j];
        ridge_job_result *done = &lab->done[j];
        for (int again = j + items; again < n; again += items)
            if (ridge_job_result_join(done, &lab->done[again]) != RIDGE_OK)
                return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
        const int first = run->n_results;
        ridge_result *results = add_results(run, job);
        if (!results) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for results");
        for (int i = 0; i < done->n_series; i++)
            ridge_result_judge(&results[i], &done->series[i], &done->companion[i], done,
                               ridge_run_ceilings(run, job->backend), run->settings.hot);
        if (add_pairs(run, first, job->n_variants, done) != RIDGE_OK)
            return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for pairs");
        if (keep_shared(run, first, done) != RIDGE_OK)
            return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for what a case shares");
        run->rates = job->here.rates;
    }
    return RIDGE_OK;
}
