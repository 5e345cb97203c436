/* JSON of a run: results with every raw sample, pairs, probes. docs/METRICS.md documents each field.
 *
 * A verdict without a time (wrong, impossible, failed, skipped) leaves every figure null. The samples remain for
 * inspection, but they are no result. */
#include <math.h>
#include <stdio.h>

#include "record/chain.h"
#include "record/json.h"
#include "record/record.h"
#include "ridge/version.h"

static json_t *number_if(bool known, double value) { return known ? ridge_json_number(value) : json_null(); }

/* ---- a result --------------------------------------------------------------------------------------------------- */

static json_t *time_json(const ridge_result *r, bool timed) {
    ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
    json_t *json = ridge_json_interval(timed ? r->time_us : none);
    if (!json || json_object_set_new(json, "stop", ridge_json_text(ridge_stop_name(r->stop))) == 0) return json;
    json_decref(json);
    return NULL;
}

static json_t *work_json(const ridge_work *w) {
    return json_pack("{s:o, s:o, s:o, s:o}", "flops", ridge_json_number(w->flops), "bytes",
                     ridge_json_number(w->bytes_read + w->bytes_written), "bytes_read",
                     ridge_json_number(w->bytes_read), "bytes_written", ridge_json_number(w->bytes_written));
}

static json_t *check_json(const ridge_check *c) {
    return json_pack("{s:b, s:o, s:o, s:o, s:I, s:I}", "ok", c->ok, "worst", ridge_json_number(c->worst),
                     "max_abs_error", ridge_json_number(c->max_abs_error), "max_rel_error",
                     ridge_json_number(c->max_rel_error), "rows_checked", (json_int_t)c->rows_checked, "rows",
                     (json_int_t)c->rows);
}

static json_t *sample_item(const void *context, int i) {
    const ridge_sample *s = &((const ridge_sample *)context)[i];
    return json_pack("[i, i, o, o, o, I]", (int)s->round, (int)s->visit, ridge_json_number(s->time_us),
                     ridge_json_seed(s->seed), ridge_json_number(s->worst), (json_int_t)s->rows_checked);
}

/* State of the GPU after the sample; appended to the fields of every sample. */
static json_t *gpu_sample_item(const void *context, int i) {
    const ridge_sample *s = &((const ridge_sample *)context)[i];
    const ridge_gpu_state *g = &s->gpu;
    json_t *json = sample_item(context, i), *state = NULL;
    if (g->known)
        state = json_pack("[i, i, o, i, I]", g->sm_mhz, g->memory_mhz, ridge_json_number(g->power_w), g->temperature_c,
                          (json_int_t)g->throttle);
    else
        state = json_pack("[n, n, n, n, n]");
    if (!json || !state || json_array_extend(json, state) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(state);
    return json;
}

/* Names of all reasons for which the clock was throttled during any sample. */
static json_t *reasons_json(const ridge_result *r) {
    uint64_t reasons = 0;
    char text[240];
    for (int i = 0; i < r->n_samples; i++)
        if (ridge_gpu_throttled(r->samples[i].gpu.throttle)) reasons |= r->samples[i].gpu.throttle;
    return ridge_json_text(reasons ? ridge_gpu_reasons(reasons, text, (int)sizeof text) : "");
}

/* Adds the GPU-only fields of a result. */
static int add_gpu(json_t *json, const ridge_result *r, bool timed) {
    ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
    json_t *gpu = json_pack("{s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:{s:o, s:o, s:i, s:o}}", "graph_time_us",
                            ridge_json_interval(timed ? r->graph_us : none), "floors", "event_us",
                            number_if(r->event_floor_us > 0, r->event_floor_us), "graph_us",
                            number_if(r->graph_floor_us > 0, r->graph_floor_us), "dram_bytes", "read",
                            number_if(r->dram_read > 0, r->dram_read), "written",
                            number_if(r->dram_written > 0, r->dram_written), "clocks", "sm_mhz",
                            number_if(r->sm_mhz > 0, r->sm_mhz), "power_w", number_if(r->power_w > 0, r->power_w),
                            "throttled_samples", r->throttled_samples, "throttle_reasons", reasons_json(r));
    int failed = gpu ? json_object_update(json, gpu) : -1;
    json_decref(gpu);
    return failed;
}

static json_t *interval_item(const void *context, int i) {
    return ridge_json_interval(((const ridge_interval *)context)[i]);
}

/* null: measured once. */
static json_t *repeats_json(const ridge_repeats *r, bool timed) {
    if (r->n == 0 || !timed) return json_null();
    return json_pack("{s:o, s:o, s:o}", "each", ridge_json_array(r->n, interval_item, r->each), "between",
                     ridge_json_interval(r->between), "spread_pct", ridge_json_number(100 * ridge_repeats_spread(r)));
}

/* Takes the other object. */
static int update(json_t *json, json_t *other) {
    const int failed = other ? json_object_update(json, other) : -1;
    json_decref(other);
    return failed;
}

json_t *ridge_json_result(const ridge_result *r) {
    char name[RIDGE_CASE_NAME];
    ridge_case_name(r->target, &r->c, name, sizeof name);
    const char *backend = ridge_backend_name(ridge_variant_backend(r->variant));
    const ridge_placement *p = &r->place;
    bool timed = ridge_verdict_timed(r->verdict), on_gpu = ridge_variant_backend(r->variant) == RIDGE_BACKEND_cuda;
    ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:s, s:s, s:o}", "target", ridge_json_text(r->target->name),
                  "chapter", ridge_json_text(r->target->chapter), "case", ridge_json_text(name), "backend", backend,
                  "variant", ridge_json_text(r->variant->name), "way", ridge_json_text(r->way ? r->way->name : NULL),
                  "role", ridge_role_name(r->variant->role), "isa", ridge_isa_name(r->isa), "verdict",
                  ridge_verdict_name(r->verdict), "reason", ridge_json_text(r->reason));
    json_t *figures = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:b, s:o, s:o}",
        "time_us", time_json(r, timed), "noise_pct", ridge_json_number(100 * ridge_result_noise(r)), "repeats",
        repeats_json(&r->repeats, timed), "work", work_json(&r->work), "intensity",
        ridge_json_number(r->work.flops / (r->work.bytes_read + r->work.bytes_written)), "gflops",
        number_if(timed, p->gflops), "gbps", number_if(timed, p->gbps), "pct_measured",
        number_if(timed && p->binding[0], p->pct_measured), "binding", ridge_json_text(p->binding), "attainable_gflops",
        number_if(p->binding[0], p->attainable_gflops), "floor_us", number_if(p->binding[0], p->floor_us),
        "ridge_point", number_if(p->binding[0], p->ridge_point), "memory_bound", p->memory_bound, "of_copy",
        ridge_json_interval(timed ? r->of_copy : none), "of_core", ridge_json_interval(timed ? r->of_core : none),
        "frame_us", ridge_json_number(r->frame_us), "check", check_json(&r->check), "cut", r->cut, "samples",
        ridge_json_array(r->n_samples, on_gpu ? gpu_sample_item : sample_item, r->samples), "companion",
        ridge_json_array(r->n_companion, on_gpu ? gpu_sample_item : sample_item, r->companion));
    if (!json || !figures || update(json, ridge_json_case(r->target, &r->c)) != 0 ||
        json_object_update(json, figures) != 0 || (on_gpu && add_gpu(json, r, timed) != 0)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(figures);
    return json;
}

/* ---- a pair ----------------------------------------------------------------------------------------------------- */

json_t *ridge_json_pair(const ridge_run *run, const ridge_pair *pair) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    bool timed = ridge_verdict_timed(a->verdict) && ridge_verdict_timed(b->verdict);
    ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
    char name[RIDGE_CASE_NAME];
    ridge_case_name(b->target, &b->c, name, sizeof name);
    const char *backend = ridge_backend_name(ridge_variant_backend(b->variant));
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:s, s:i, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:{s:s, s:o, s:o, s:o}, s:{s:b, s:o, s:o, "
        "s:o}}",
        "target", ridge_json_text(b->target->name), "chapter", ridge_json_text(b->target->chapter), "case",
        ridge_json_text(name), "backend", backend, "isa", ridge_isa_name(b->isa), "threads", run->settings.threads,
        "mode", run->settings.hot ? "hot" : "cold", "reference", ridge_json_text(a->variant->name), "reference_role",
        ridge_role_name(a->variant->role), "optimized", ridge_json_text(b->variant->name), "speedup",
        ridge_json_interval(timed ? pair->speedup : none), "repeats", repeats_json(&pair->repeats, timed), "verdict",
        ridge_proof_name(ridge_pair_proof(run, pair)), "traffic", "kind", pair->counted ? "counted" : "declared",
        "reference_bytes", ridge_json_number(pair->traffic_a), "optimized_bytes", ridge_json_number(pair->traffic_b),
        "saved_bytes", ridge_json_number(pair->traffic_a - pair->traffic_b), "agreement", "compared", pair->compared,
        "agree", pair->compared ? json_boolean(pair->agree) : json_null(), "max_difference",
        number_if(pair->compared, pair->max_difference), "equal_fraction",
        number_if(pair->compared, pair->equal_fraction));
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static json_t *settings_json(const ridge_settings *s) {
    return json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:f}", "threads", s->threads, "mode",
        s->hot ? "hot" : "cold", "seed", ridge_json_seed(s->seed), "max_time_s", ridge_json_number(s->max_time),
        "noise_pct", ridge_json_number(100 * s->noise), "within_s", number_if(s->within > 0, s->within), "iterations",
        s->iterations ? json_integer(s->iterations) : json_null(), "repeat", s->repeat > 1 ? s->repeat : 1, "warmup",
        s->warmup, "prepare", ridge_json_text(s->prepare), "cleanup", ridge_json_text(s->cleanup), "peers",
        ridge_json_text(s->peers), "user_inputs", s->user_inputs, "level", RIDGE_LEVEL);
}

static json_t *argument_item(const void *context, int i) { return ridge_json_text(((char *const *)context)[i]); }

static json_t *probe_json(const ridge_level *dram, const ridge_peak *fp32) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "dram_read_gbps", ridge_json_interval(dram->read), "dram_copy_gbps",
                     ridge_json_interval(dram->copy), "dram_stream_gbps", ridge_json_interval(dram->stream),
                     "dram_write_gbps", ridge_json_interval(dram->write), "fp32_gflops",
                     ridge_json_interval(fp32->gflops));
}

double ridge_drift_pct(ridge_interval before, ridge_interval after) {
    if (before.n == 0 || after.n == 0 || !(before.median > 0) || !(after.median > 0)) return (double)NAN;
    return 100 * (after.median / before.median - 1);
}

static json_t *drift_json(const ridge_run *run) {
    const ridge_level *a = &run->dram_before, *b = &run->dram_after;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "dram_read", ridge_json_number(ridge_drift_pct(a->read, b->read)),
                     "dram_copy", ridge_json_number(ridge_drift_pct(a->copy, b->copy)), "dram_stream",
                     ridge_json_number(ridge_drift_pct(a->stream, b->stream)), "dram_write",
                     ridge_json_number(ridge_drift_pct(a->write, b->write)), "fp32",
                     ridge_json_number(ridge_drift_pct(run->fp32_before.gflops, run->fp32_after.gflops)));
}

/* threads and mode are those of the run, repeated so that each result is self-contained. */
static json_t *result_item(const void *context, int i) {
    const ridge_run *run = context;
    const int measured = run->results[i].measured;
    json_t *json = ridge_json_result(&run->results[i]);
    if (json && run->results[i].n_profiles > 0 &&
        json_object_set_new(
            json, "profile",
            ridge_json_profile(&run->profiles[run->results[i].first_profile], run->results[i].n_profiles)) != 0) {
        json_decref(json);
        return NULL;
    }
    if (json &&
        (json_object_set_new(json, "measured",
                             measured >= 0 && measured < run->n_measured ? json_integer(measured) : json_null()) != 0 ||
         json_object_set_new(json, "threads", json_integer(run->settings.threads)) != 0 ||
         json_object_set_new(json, "mode", json_string(run->settings.hot ? "hot" : "cold")) != 0)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *pair_item(const void *context, int i) {
    const ridge_run *run = context;
    return ridge_json_pair(run, &run->pairs[i]);
}

static json_t *round_item(const void *context, int i) { return json_integer(((const int *)context)[i]); }

/* What the results of a case share. Repeated measurements are told apart by their first rounds. */
static json_t *measured_item(const void *context, int i) {
    const ridge_measured *m = &((const ridge_measured *)context)[i];
    return json_pack("{s:o, s:o}", "reference", ridge_json_array(m->n_reference, sample_item, m->reference),
                     "first_rounds", ridge_json_array(m->n_measurements, round_item, m->first_round));
}

static json_t *planned_item(const void *context, int i) {
    const ridge_planned *p = &((const ridge_planned *)context)[i];
    const bool started = p->state == RIDGE_PLAN_STARTED;
    char name[RIDGE_CASE_NAME];
    ridge_case_name(p->target, &p->c, name, sizeof name);
    json_t *json = json_pack(
        "{s:o, s:o, s:s, s:i, s:{s:o, s:o}, s:o, s:o, s:o}", "target", ridge_json_text(p->target->name), "case",
        ridge_json_text(name), "backend", ridge_backend_name(p->backend), "measurement", p->measurement + 1, "forecast",
        "checks_s", ridge_json_number(p->forecast.checks_s), "least_rounds_s",
        ridge_json_number(p->least_rounds * p->forecast.round_s), "max_time_s", number_if(started, p->max_time),
        "taken_s", number_if(p->taken_s > 0, p->taken_s), "rounds_s", number_if(p->taken_s > 0, p->rounds_s));
    if (!json || update(json, ridge_json_case(p->target, &p->c)) == 0) return json;
    json_decref(json);
    return NULL;
}

/* ---- what it proves ---------------------------------------------------------------------------------------------- */

/* Findings of the machine, then optimized variants that are proven slower than their baselines. */
static json_t *findings_json(const ridge_run *run) {
    json_t *all = ridge_json_findings(run->findings, run->n_findings);
    ridge_finding slower;
    for (int p = 0; all && p < run->n_pairs; p++) {
        if (!ridge_pair_finding(run, &run->pairs[p], &slower)) continue;
        json_t *one = ridge_json_findings(&slower, 1);
        if (!one || json_array_extend(all, one) != 0) {
            json_decref(all);
            all = NULL;
        }
        json_decref(one);
    }
    return all;
}

static json_t *spread_json(const ridge_spread *s, double scale) {
    return json_pack("{s:o, s:o, s:o, s:i}", "median", number_if(s->n > 0, scale * s->median), "low",
                     number_if(s->n > 0, scale * s->low), "high", number_if(s->n > 0, scale * s->high), "n", s->n);
}

static json_t *counts_json(const int *counts, int n, const char *(*name)(int i)) {
    json_t *json = json_object();
    for (int i = 0; json && i < n; i++)
        if (json_object_set_new(json, name(i), json_integer(counts[i])) != 0) {
            json_decref(json);
            json = NULL;
        }
    return json;
}

static const char *verdict_name(int i) { return ridge_verdict_name((ridge_verdict)i); }
static const char *proof_name(int i) { return ridge_proof_name((ridge_proof)i); }

static json_t *summary_json(const ridge_run *run) {
    ridge_summary s;
    ridge_run_summarize(run, &s);
    return json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:i}", "pairs",
                     counts_json(s.pairs, RIDGE_PROOF_COUNT, proof_name), "verdicts",
                     counts_json(s.verdicts, RIDGE_VERDICT_COUNT, verdict_name), "cases", s.cases, "launches",
                     s.launches, "worst", ridge_json_number(s.worst), "speedup", spread_json(&s.speedup, 1),
                     "pct_measured", spread_json(&s.ceiling, 1), "noise_pct", spread_json(&s.noise, 100),
                     "repeat_spread_pct", spread_json(&s.repeats, 100), "without_interval", s.too_few);
}

/* All but the chain. */
static json_t *facts_and_figures(const ridge_run *run) {
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:[s, s, s, s, s, s], s:[s, s, s, s, s], s:o, "
        "s:o, "
        "s:o, "
        "s:b, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o}",
        "schema", RIDGE_SCHEMA, "version", RIDGE_VERSION, "date", ridge_json_text(run->date), "command",
        ridge_json_array(run->settings.argc, argument_item, run->settings.argv), "settings",
        settings_json(&run->settings), "machine", ridge_json_machine(&run->machine), "ceilings",
        ridge_json_ceilings(&run->ceilings), "gpu_ceilings",
        run->has_gpu ? ridge_json_gpu_ceilings(&run->machine.gpu, &run->gpu_ceilings) : json_null(), "probes", "before",
        probe_json(&run->dram_before, &run->fp32_before), "after", probe_json(&run->dram_after, &run->fp32_after),
        "drift_pct", drift_json(run), "sample_fields", "round", "visit", "time_us", "seed", "worst", "rows_checked",
        "gpu_sample_fields", "sm_mhz", "memory_mhz", "power_w", "temperature_c", "throttle", "results",
        ridge_json_array(run->n_results, result_item, run), "pairs", ridge_json_array(run->n_pairs, pair_item, run),
        "wall_s", ridge_json_number(run->wall_s), "interrupted", run->interrupted, "findings", findings_json(run),
        "summary", summary_json(run), "plan", ridge_json_array(run->budget.n, planned_item, run->budget.cases),
        "scaling", ridge_json_scaling(run), "rates", "flops", ridge_json_number(run->rates.flops), "bytes",
        ridge_json_number(run->rates.bytes), "measured",
        ridge_json_array(run->n_measured, measured_item, run->measured));
}

json_t *ridge_json_run(const ridge_run *run) {
    json_t *json = facts_and_figures(run);
    if (!json || json_object_set_new(json, "chain", ridge_chain_of(json)) == 0) return json;
    json_decref(json);
    return NULL;
}
