/* Expectations: results of one kind of machine, short enough for the repository and for reading a diff. They are
 * written from a run. Machine, driver and clocks are at the top. */
#include <stdio.h>
#include <stdlib.h>

#include "record/json.h"
#include "record/record.h"

#define SCHEMA "ridge-expectations/1"

/* Rounds to 0.1 % of the value: more digits would differ from run to run. */
static json_t *rounded(double value) {
    char text[32];
    if (!(value > 0)) return json_null();
    (void)snprintf(text, sizeof text, "%.4g", value);
    return json_real(strtod(text, NULL));
}

static json_t *result_item(const void *context, int i) {
    const ridge_result *r = &((const ridge_run *)context)->results[i];
    char name[RIDGE_CASE_NAME];
    bool timed = ridge_verdict_timed(r->verdict);
    ridge_case_name(r->target, &r->c, name, sizeof name);
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "target", ridge_json_text(r->target->name), "case",
        ridge_json_text(name), "variant", ridge_json_text(r->variant->name), "verdict", ridge_verdict_name(r->verdict),
        "time_us", rounded(timed ? r->time_us.median : 0), "graph_us", rounded(timed ? r->graph_us.median : 0), "gbps",
        rounded(timed ? r->place.gbps : 0), "pct_measured", rounded(timed ? r->place.pct_measured : 0), "binding",
        ridge_json_text(r->place.binding), "dram_bytes", rounded(r->dram_read + r->dram_written),
        "worst_error_of_bound", rounded(r->check.worst));
}

static json_t *pair_item(const void *context, int i) {
    const ridge_run *run = context;
    const ridge_pair *p = &run->pairs[i];
    const ridge_result *a = &run->results[p->a], *b = &run->results[p->b];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(b->target, &b->c, name, sizeof name);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "target", ridge_json_text(b->target->name), "case",
                     ridge_json_text(name), "reference", ridge_json_text(a->variant->name), "optimized",
                     ridge_json_text(b->variant->name), "speedup", rounded(p->speedup.median), "ci_low",
                     rounded(p->speedup.low), "ci_high", rounded(p->speedup.high));
}

static json_t *level_item(const void *context, int i) {
    const ridge_level *l = &((const ridge_ceilings *)context)->levels[i];
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", ridge_json_text(l->name), "read_gbps",
                     rounded(l->read.median), "copy_gbps", rounded(l->copy.median), "stream_gbps",
                     rounded(l->stream.n > 0 ? l->stream.median : 0), "write_gbps", rounded(l->write.median));
}

static json_t *peak_item(const void *context, int i) {
    const ridge_peak *p = &((const ridge_ceilings *)context)->peaks[i];
    return json_pack("{s:o, s:o}", "name", ridge_json_text(p->name), "gflops", rounded(p->gflops.median));
}

static json_t *ceilings_json(const ridge_ceilings *c) {
    return json_pack("{s:o, s:o, s:o, s:o}", "key", ridge_json_text(c->key), "date", ridge_json_text(c->date), "levels",
                     ridge_json_array(c->n_levels, level_item, c), "peaks", ridge_json_array(c->n_peaks, peak_item, c));
}

/* Clocks during the samples: least and greatest of the results' medians. */
static json_t *clocks_json(const ridge_run *run) {
    double low = 0, high = 0, power = 0;
    int throttled = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (!(r->sm_mhz > 0)) continue;
        if (!(low > 0) || r->sm_mhz < low) low = r->sm_mhz;
        if (r->sm_mhz > high) high = r->sm_mhz;
        if (r->power_w > power) power = r->power_w;
        throttled += r->throttled_samples;
    }
    return json_pack("{s:o, s:o, s:o, s:i}", "sm_mhz_low", rounded(low), "sm_mhz_high", rounded(high), "power_w_most",
                     rounded(power), "throttled_samples", throttled);
}

json_t *ridge_json_expectations(const ridge_run *run) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "date", ridge_json_text(run->date),
                     "machine", ridge_json_machine(&run->machine), "clocks", clocks_json(run), "ceilings",
                     ceilings_json(&run->ceilings), "gpu_ceilings", ceilings_json(&run->gpu_ceilings), "results",
                     ridge_json_array(run->n_results, result_item, run), "pairs",
                     ridge_json_array(run->n_pairs, pair_item, run));
}
