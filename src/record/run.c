/* Memory of a run, and the names of its cases and variants. */
#include "record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/option.h"

void ridge_run_free(ridge_run *run) {
    for (int i = 0; i < run->n_results; i++) {
        free(run->results[i].samples);
        free(run->results[i].companion);
    }
    for (int i = 0; i < run->n_measured; i++) free(run->measured[i].reference);
    free(run->results);
    free(run->measured);
    free(run->pairs);
    free(run->budget.cases);
    free(run->profiles);
    run->budget = (ridge_budget){0};
    run->results = NULL;
    run->pairs = NULL;
    run->measured = NULL;
    run->profiles = NULL;
    run->n_results = run->n_pairs = run->n_measured = run->n_profiles = 0;
}

bool ridge_verdict_is_error(ridge_verdict v) {
    return v == RIDGE_VERDICT_WRONG || v == RIDGE_VERDICT_IMPOSSIBLE || v == RIDGE_VERDICT_FAILED;
}

const ridge_ceilings *ridge_run_ceilings(const ridge_run *run, ridge_backend backend) {
    return backend == RIDGE_BACKEND_cuda ? &run->gpu_ceilings : &run->ceilings;
}

bool ridge_run_draws(const ridge_run *run, ridge_backend backend) {
    bool any = false;
    for (int i = 0; i < run->n_results; i++) any |= ridge_variant_backend(run->results[i].variant) == backend;
    if (backend == RIDGE_BACKEND_cuda) return any && run->has_gpu;
    return any || run->n_results == 0;
}

void ridge_case_name(const ridge_target *target, const ridge_case *c, char *name, int size) {
    int rank = ridge_target_rank(target), used = 0;
    if (size > 0) name[0] = '\0';
    for (int d = 0; d < rank && used < size; d++)
        used += snprintf(name + used, (size_t)(size - used), "%s%" PRId64, d ? "x" : "", c->dim[d]);
    if (c->dtype != RIDGE_F32 && used < size)
        used += snprintf(name + used, (size_t)(size - used), "/%s", ridge_dtype_name(c->dtype));
    for (int t = 0; t < target->n_in + target->n_out && used < size; t++)
        if (c->column_major >> t & 1) {
            const ridge_tensor_spec *spec = t < target->n_in ? &target->in[t] : &target->out[t - target->n_in];
            used += snprintf(name + used, (size_t)(size - used), ",%s^T", spec->name);
        }
    for (int i = 0; i < RIDGE_MAX_OPTIONS && target->options[i].name && used < size; i++) {
        const ridge_option *option = &target->options[i];
        if (!(c->option[i] < option->fallback || c->option[i] > option->fallback)) continue;
        const char *word = ridge_option_word_of(option, c->option[i]);
        if (word)
            used += snprintf(name + used, (size_t)(size - used), ",%s=%s", option->name, word);
        else
            used += snprintf(name + used, (size_t)(size - used), ",%s=%g", option->name, c->option[i]);
    }
}
