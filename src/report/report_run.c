/* The tables of `ridge run` and `ridge compare`, grouped by target, and what to know about their numbers. */
#include <math.h>
#include <string.h>

#include "report/report.h"
#include "report/text.h"

static const char *mode_text(const ridge_run *run) {
    return run->settings.hot ? "hot: operands stay in cache"
                             : "cold: operands rotate through 3 times the last-level cache";
}

/* The one instruction set of all results, or "mixed". */
static const char *isa_text(const ridge_run *run) {
    for (int i = 1; i < run->n_results; i++)
        if (run->results[i].isa != run->results[0].isa) return "mixed instruction sets";
    return run->n_results ? ridge_isa_name(run->results[0].isa) : ridge_isa_name(run->machine.isa);
}

static void print_heading(const ridge_run *run, const char *what, const ridge_page *page) {
    ridge_page_explain(page, "%s on %s, %d thread%s, %s, %s\n", what, run->machine.key, run->settings.threads,
                       run->settings.threads == 1 ? "" : "s", isa_text(run), mode_text(run));
    if (run->settings.peers) ridge_page_explain(page, "peers of %s\n", run->settings.peers);
}

static bool same_case(const ridge_result *a, const ridge_result *b) {
    return a->target == b->target && ridge_case_same(&a->c, &b->c) &&
           ridge_variant_backend(a->variant) == ridge_variant_backend(b->variant);
}

static bool on_gpu(const ridge_result *r) { return ridge_variant_backend(r->variant) == RIDGE_BACKEND_cuda; }

static bool same_group(const ridge_result *a, const ridge_result *b) {
    return a->target == b->target && on_gpu(a) == on_gpu(b);
}

/* The first result that was timed on the GPU, or NULL. */
static const ridge_result *gpu_result(const ridge_run *run) {
    for (int i = 0; i < run->n_results; i++)
        if (on_gpu(&run->results[i]) && ridge_verdict_timed(run->results[i].verdict)) return &run->results[i];
    return NULL;
}

/* A line over the group of a target and backend: "ch09:fused_l2norm  row-wise L2 normalization, on NVIDIA H200". */
static void add_group(ridge_table *table, const ridge_run *run, const ridge_result *r) {
    const ridge_target *target = r->target;
    const bool named = on_gpu(r) && run->machine.gpu.sm;
    char line[300];
    (void)snprintf(line, sizeof line, "%s:%s  %s%s%s", target->chapter, target->name, target->summary,
                   named ? ", on " : "", named ? run->machine.gpu.name : "");
    ridge_table_heading(table, line);
}

/* "cpu/optimized", and without the backend, which the heading or the hardware says, as its short form. */
static void put_variant(ridge_table *table, int column, const ridge_variant *variant) {
    const char *slash = strchr(variant->name, '/');
    ridge_table_text(table, column, variant->name);
    if (slash) ridge_table_brief(table, column, slash + 1);
}

static void put_target(ridge_table *table, int column, const ridge_target *target) {
    char name[160];
    (void)snprintf(name, sizeof name, "%s:%s", target->chapter, target->name);
    ridge_table_text(table, column, name);
}

/* ---- run -------------------------------------------------------------------------------------------------------- */

enum {
    RUN_TARGET,
    RUN_CASE,
    RUN_VARIANT,
    RUN_ROLE,
    RUN_TIME,
    RUN_TIME_LOW,
    RUN_TIME_HIGH,
    RUN_SPREAD,
    RUN_GRAPH,
    RUN_GRAPH_LOW,
    RUN_GRAPH_HIGH,
    RUN_GFLOPS,
    RUN_GBPS,
    RUN_CEILING,
    RUN_BINDING,
    RUN_COPY,
    RUN_CORE,
    RUN_SPEEDUP,
    RUN_SPEEDUP_LOW,
    RUN_SPEEDUP_HIGH,
    RUN_SPEEDUP_OVER,
    RUN_PAIR,
    RUN_CLOCK,
    RUN_THROTTLED,
    RUN_VERDICT,
    RUN_REASON,
    RUN_COLUMNS
};

static const ridge_column run_columns[RUN_COLUMNS] = {
    [RUN_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [RUN_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [RUN_VARIANT] =
        {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 13, .shorten = 50},
    [RUN_ROLE] = {.field = "role", .align = 'l'},
    [RUN_TIME] = {.header = "time", .field = "time_us", .align = 'r', .shorten = 40},
    [RUN_TIME_LOW] = {.field = "time_ci_low_us", .align = 'r'},
    [RUN_TIME_HIGH] = {.field = "time_ci_high_us", .align = 'r'},
    [RUN_SPREAD] = {.header = "repeats", .field = "repeat_spread_pct", .align = 'r', .drop = 70},
    [RUN_GRAPH] = {.header = "in graph", .field = "graph_time_us", .align = 'r', .shorten = 55, .drop = 30},
    [RUN_GRAPH_LOW] = {.field = "graph_ci_low_us", .align = 'r'},
    [RUN_GRAPH_HIGH] = {.field = "graph_ci_high_us", .align = 'r'},
    [RUN_GFLOPS] = {.header = "GFLOP/s", .field = "gflops", .align = 'r', .drop = 90},
    [RUN_GBPS] = {.header = "GB/s", .field = "gbps", .align = 'r', .drop = 74},
    [RUN_CEILING] =
        {.header = "of ceiling", .brief = "roof", .field = "pct_of_ceiling", .align = 'l', .shorten = 65, .drop = 20},
    [RUN_BINDING] = {.field = "ceiling", .align = 'l'},
    [RUN_COPY] = {.header = "copy", .field = "of_copy", .align = 'r', .drop = 60},
    [RUN_CORE] = {.header = "core", .field = "of_core", .align = 'r', .drop = 85},
    [RUN_SPEEDUP] = {.header = "speedup", .field = "speedup", .align = 'l', .shorten = 80, .drop = 15},
    [RUN_SPEEDUP_LOW] = {.field = "speedup_ci_low", .align = 'r'},
    [RUN_SPEEDUP_HIGH] = {.field = "speedup_ci_high", .align = 'r'},
    [RUN_SPEEDUP_OVER] = {.field = "speedup_of", .align = 'l'},
    [RUN_PAIR] = {.header = "pair", .field = "pair_verdict", .align = 'l', .drop = 16},
    [RUN_CLOCK] = {.header = "clock", .field = "sm_clock_mhz", .align = 'l', .drop = 95},
    [RUN_THROTTLED] = {.field = "throttled_samples", .align = 'r'},
    [RUN_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l', .shorten = 58},
    [RUN_REASON] = {.field = "reason", .align = 'l'},
};

static ridge_color color_of(ridge_verdict verdict) {
    switch (verdict) {
        case RIDGE_VERDICT_OK: return RIDGE_GREEN;
        case RIDGE_VERDICT_FRAME: return RIDGE_YELLOW;
        case RIDGE_VERDICT_EMULATED:
        case RIDGE_VERDICT_SKIPPED: return RIDGE_DIM;
        default: return RIDGE_RED;
    }
}

static void put_verdict(ridge_table *table, int column, ridge_verdict verdict) {
    static const char *const brief[RIDGE_VERDICT_COUNT] = {[RIDGE_VERDICT_FRAME] = "frame"};
    ridge_table_text(table, column, ridge_verdict_name(verdict));
    if ((unsigned)verdict < RIDGE_VERDICT_COUNT && brief[verdict]) ridge_table_brief(table, column, brief[verdict]);
    ridge_table_color(table, column, color_of(verdict));
}

/* A time with half of its interval; its short form is the median alone. */
static void put_time(ridge_table *table, int column, ridge_interval interval) {
    ridge_text time, width;
    char text[48]; /* widths hold one ± each, so padding by bytes aligns them */
    (void)snprintf(text, sizeof text, "%.20s %6.12s", ridge_text_time(&time, interval.median),
                   ridge_text_width(&width, interval));
    ridge_table_text(table, column, text);
    ridge_table_brief(table, column, time.s);
    ridge_table_number(table, column, interval.median);
    ridge_table_number(table, column + 1, interval.low);
    ridge_table_number(table, column + 2, interval.high);
}

/* The pair whose speedup belongs on the line of result i: over the baseline on an optimized variant's own line; on a
 * peer's line, what the optimized variant gains over it, or the one that gains most. NULL: none was measured. */
static const ridge_pair *pair_of(const ridge_run *run, int i, bool *over_peer) {
    const ridge_pair *best = NULL;
    *over_peer = run->results[i].variant->role == RIDGE_PEER;
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
        if ((a->variant->role == RIDGE_PEER) != *over_peer || (*over_peer ? pair->a : pair->b) != i) continue;
        if (!ridge_verdict_timed(a->verdict) || !ridge_verdict_timed(b->verdict)) continue;
        if (!best || (*over_peer && pair->speedup.median > best->speedup.median)) best = pair;
    }
    return best;
}

static void put_ratio(ridge_table *table, int column, const char *before, ridge_interval ratio) {
    ridge_text text;
    char line[96];
    (void)snprintf(line, sizeof line, "%s%s", before, ridge_text_ratio(&text, ratio));
    ridge_table_text(table, column, line);
    line[strcspn(line, "(")] = '\0'; /* without the interval */
    if (line[0] && line[strlen(line) - 1] == ' ') line[strlen(line) - 1] = '\0';
    if (isfinite(ratio.median) && !isfinite(ratio.low)) (void)snprintf(line, sizeof line, "too few");
    ridge_table_brief(table, column, line);
    ridge_table_number(table, column, ratio.median);
    ridge_table_number(table, column + 1, ratio.low);
    ridge_table_number(table, column + 2, ratio.high);
}

static void put_proof(ridge_table *table, int column, ridge_proof proof) {
    static const ridge_color colors[RIDGE_PROOF_COUNT] = {
        [RIDGE_PROOF_FASTER] = RIDGE_GREEN, [RIDGE_PROOF_OPEN] = RIDGE_YELLOW, [RIDGE_PROOF_SLOWER] = RIDGE_RED};
    ridge_table_text(table, column, ridge_proof_name(proof));
    ridge_table_color(table, column, colors[proof]);
}

static void put_speedup(ridge_table *table, const ridge_run *run, int i) {
    bool over_peer = false;
    const ridge_pair *pair = pair_of(run, i, &over_peer);
    if (!pair) return;
    char over[160];
    put_ratio(table, RUN_SPEEDUP, over_peer ? "opt " : "", pair->speedup);
    (void)snprintf(over, sizeof over, "%s over %s", run->results[pair->b].variant->name,
                   run->results[pair->a].variant->name);
    ridge_table_data(table, RUN_SPEEDUP_OVER, over);
    put_proof(table, RUN_PAIR, ridge_pair_proof(run, pair));
}

static void put_percent(ridge_table *table, int column, ridge_interval ratio) {
    char text[24];
    if (ratio.n <= 0) return;
    (void)snprintf(text, sizeof text, "%.0f%%", 100 * ratio.median);
    ridge_table_text(table, column, text);
    ridge_table_number(table, column, ratio.median);
}

static void put_spread(ridge_table *table, const ridge_result *r) {
    const double spread = 100 * ridge_repeats_spread(&r->repeats);
    char text[32];
    if (!isfinite(spread)) return;
    (void)snprintf(text, sizeof text, "±%.1f%%", spread);
    ridge_table_text(table, RUN_SPREAD, text);
    ridge_table_number(table, RUN_SPREAD, spread);
}

static void put_place(ridge_table *table, const ridge_result *r) {
    ridge_text text;
    char percent[64];
    if (r->work.flops > 0) {
        ridge_table_text(table, RUN_GFLOPS, ridge_text_significant(&text, r->place.gflops, 3));
        ridge_table_number(table, RUN_GFLOPS, r->place.gflops);
    }
    ridge_table_text(table, RUN_GBPS, ridge_text_significant(&text, r->place.gbps, 3));
    ridge_table_number(table, RUN_GBPS, r->place.gbps);
    if (!r->place.binding[0]) return;
    (void)snprintf(percent, sizeof percent, "%3.0f%% %s", r->place.pct_measured, r->place.binding);
    ridge_table_text(table, RUN_CEILING, percent);
    (void)snprintf(percent, sizeof percent, "%3.0f%%", r->place.pct_measured);
    ridge_table_brief(table, RUN_CEILING, percent);
    ridge_table_number(table, RUN_CEILING, r->place.pct_measured);
    ridge_table_data(table, RUN_BINDING, r->place.binding);
}

static void put_clock(ridge_table *table, const ridge_result *r) {
    char clock[64] = "";
    if (r->sm_mhz > 0) {
        (void)snprintf(clock, sizeof clock, "%.0f MHz", r->sm_mhz);
        ridge_table_number(table, RUN_CLOCK, r->sm_mhz);
        ridge_table_number(table, RUN_THROTTLED, r->throttled_samples);
    }
    if (r->throttled_samples > 0) {
        size_t used = strlen(clock);
        (void)snprintf(clock + used, sizeof clock - used, "%s%d of %d throttled", used ? ", " : "",
                       r->throttled_samples, r->n_samples);
    }
    ridge_table_text(table, RUN_CLOCK, clock);
}

static void add_result(ridge_table *table, const ridge_run *run, int i) {
    const ridge_result *r = &run->results[i];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(r->target, &r->c, name, sizeof name);
    ridge_table_row(table);
    put_target(table, RUN_TARGET, r->target);
    ridge_table_text(table, RUN_CASE, name);
    if (i > 0 && same_case(r, &run->results[i - 1])) ridge_table_ditto(table, RUN_CASE);
    put_variant(table, RUN_VARIANT, r->variant);
    ridge_table_data(table, RUN_ROLE, ridge_role_name(r->variant->role));
    put_verdict(table, RUN_VERDICT, r->verdict);
    ridge_table_data(table, RUN_REASON, r->reason);
    if (!ridge_verdict_timed(r->verdict)) return;
    put_time(table, RUN_TIME, r->time_us);
    put_spread(table, r);
    if (r->graph_us.n > 0) put_time(table, RUN_GRAPH, r->graph_us);
    put_place(table, r);
    put_percent(table, RUN_COPY, r->of_copy);
    put_percent(table, RUN_CORE, r->of_core);
    put_speedup(table, run, i);
    put_clock(table, r);
}

/* ---- what is said below a table --------------------------------------------------------------------------------- */

/* "DRAM stream 24.1/24.0 GB/s (-0.4%)" for what was probed before and after, behind what is in text. */
static void add_probe(char *text, size_t size, const char *name, const char *unit, ridge_interval before,
                      ridge_interval after) {
    double drift = ridge_drift_pct(before, after);
    size_t used = strlen(text);
    if (!isfinite(drift)) return;
    ridge_text a, b;
    (void)snprintf(text + used, size - used, "%s%s %s/%s %s (%+.1f%%)", used ? ", " : "Before/after: ", name,
                   ridge_text_significant(&a, before.median, 4), ridge_text_significant(&b, after.median, 4), unit,
                   drift);
}

static void print_probes(const ridge_run *run, const ridge_page *page) {
    const ridge_level *before = &run->dram_before, *after = &run->dram_after;
    char text[300] = "";
    add_probe(text, sizeof text, "DRAM read", "GB/s", before->read, after->read);
    add_probe(text, sizeof text, "stream", "GB/s", before->stream, after->stream);
    add_probe(text, sizeof text, "fp32", "GFLOP/s", run->fp32_before.gflops, run->fp32_after.gflops);
    if (text[0]) ridge_page_say(page, "%s.\n", text);
}

/* What a launch costs by itself: no kernel can be faster than that between two events, or in a graph. */
static void print_floors(const ridge_result *gpu, const ridge_page *page) {
    ridge_text event, graph;
    if (!gpu || !(gpu->event_floor_us > 0)) return;
    (void)ridge_text_time(&event, gpu->event_floor_us);
    if (gpu->graph_floor_us > 0)
        ridge_page_say(page, "An empty kernel: %s between two events, %s as one of many in a graph.\n", event.s,
                       ridge_text_time(&graph, gpu->graph_floor_us));
    else
        ridge_page_say(page, "An empty kernel: %s between two events.\n", event.s);
}

/* What of this machine, while it ran, touches the numbers above. */
static void print_findings(const ridge_run *run, const ridge_page *page) {
    if (run->n_findings) ridge_page_say(page, "\nOn this machine:\n");
    for (int i = 0; i < run->n_findings; i++) {
        const ridge_finding *f = &run->findings[i];
        ridge_page_say(page, "  %s%s%s: %s%s%s\n", ridge_page_start(page, RIDGE_YELLOW), f->what,
                       ridge_page_end(page, RIDGE_YELLOW), f->found, f->advice[0] ? ": " : "", f->advice);
    }
}

/* What lies between whole measurements, which no interval of one of them covers. */
static void print_repeats(const ridge_run *run, const ridge_page *page) {
    ridge_summary s;
    ridge_run_summarize(run, &s);
    if (s.repeats.n == 0) return;
    const ridge_result *worst = &run->results[s.repeats.highest];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(worst->target, &worst->c, name, sizeof name);
    ridge_page_say(page,
                   "%d measurements of each case differ by ±%.1f%% at the median, by ±%.1f%% at most (%s %s %s).\n",
                   run->settings.repeat, 100 * s.repeats.median, 100 * s.repeats.high, worst->target->name, name,
                   worst->variant->name);
}

void ridge_report_conditions(const ridge_run *run, const ridge_page *page) {
    ridge_report_not_ok(run, page);
    ridge_report_slower(run, page);
    print_findings(run, page);
    ridge_page_say(page, "\n");
    print_repeats(run, page);
    print_probes(run, page);
    print_floors(gpu_result(run), page);
}

static const char *date_of(const ridge_ceilings *c) { return c->date[0] ? c->date : "at an unknown date"; }

static void explain_run(const ridge_run *run, const ridge_page *page) {
    ridge_page_explain(page,
                       "Time: median and half of its %g%% interval. GB/s: least traffic over time. Ceilings measured "
                       "%.20s.\n",
                       100 * RIDGE_LEVEL, date_of(&run->ceilings));
    ridge_page_explain(page,
                       "Speedup over the baseline with its %g%% interval; pair: faster, slower, or open where it holds "
                       "1; opt: the optimized over that peer.\n",
                       100 * RIDGE_LEVEL);
    ridge_page_explain(page,
                       "Copy, core: in the same rounds, a plain copy of the least bytes, and this code with operands "
                       "in L2, over this time.\n");
    if (gpu_result(run))
        ridge_page_explain(page,
                           "GPU: %s, ceilings measured %.20s. Time: between two events; in graph: a launch inside a "
                           "captured one, which is what the verdict judges.\n",
                           run->machine.gpu.name, date_of(&run->gpu_ceilings));
    ridge_page_explain(page, "\n");
}

void ridge_report_run(const ridge_run *run, const ridge_page *page) {
    print_heading(run, "Results", page);
    explain_run(run, page);
    ridge_table *table = ridge_table_new(run_columns, RUN_COLUMNS);
    for (int i = 0; i < run->n_results; i++) {
        if (i == 0 || !same_group(&run->results[i], &run->results[i - 1])) add_group(table, run, &run->results[i]);
        add_result(table, run, i);
    }
    if (run->n_results) ridge_table_print(table, page);
    ridge_table_free(table);
}

/* ---- compare ---------------------------------------------------------------------------------------------------- */

enum {
    PAIR_TARGET,
    PAIR_CASE,
    PAIR_AGAINST,
    PAIR_ITS_TIME,
    PAIR_NAME,
    PAIR_TIME,
    PAIR_SPEEDUP,
    PAIR_SPEEDUP_LOW,
    PAIR_SPEEDUP_HIGH,
    PAIR_VERDICT,
    PAIR_BYTES,
    PAIR_BYTES_FROM,
    PAIR_BYTES_TO,
    PAIR_BYTES_KIND,
    PAIR_OUTPUTS,
    PAIR_EQUAL,
    PAIR_DIFFERENCE,
    PAIR_COLUMNS
};

static const ridge_column pair_columns[PAIR_COLUMNS] = {
    [PAIR_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [PAIR_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [PAIR_AGAINST] =
        {.header = "against", .field = "reference", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 12, .shorten = 60},
    [PAIR_ITS_TIME] = {.header = "its time", .field = "reference_time_us", .align = 'r', .drop = 20},
    [PAIR_NAME] = {.field = "optimized", .align = 'l'},
    [PAIR_TIME] = {.header = "optimized", .field = "optimized_time_us", .align = 'r', .drop = 15},
    [PAIR_SPEEDUP] = {.header = "speedup", .field = "speedup", .align = 'l', .shorten = 50},
    [PAIR_SPEEDUP_LOW] = {.field = "speedup_ci_low", .align = 'r'},
    [PAIR_SPEEDUP_HIGH] = {.field = "speedup_ci_high", .align = 'r'},
    [PAIR_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [PAIR_BYTES] = {.header = "bytes (declared)", .brief = "bytes", .align = 'l', .shorten = 80, .drop = 70},
    [PAIR_BYTES_FROM] = {.field = "reference_bytes", .align = 'r'},
    [PAIR_BYTES_TO] = {.field = "optimized_bytes", .align = 'r'},
    [PAIR_BYTES_KIND] = {.field = "bytes_are", .align = 'l'},
    [PAIR_OUTPUTS] = {.header = "outputs", .field = "outputs", .align = 'l', .shorten = 90},
    [PAIR_EQUAL] = {.field = "equal_fraction", .align = 'r'},
    [PAIR_DIFFERENCE] = {.field = "max_difference", .align = 'r'},
};

static void put_agreement(ridge_table *table, const ridge_pair *pair) {
    const char *outcome = !pair->compared ? "not compared" : pair->agree ? "agree" : "DIFFER";
    char text[96];
    ridge_table_text(table, PAIR_OUTPUTS, outcome);
    ridge_table_data(table, PAIR_OUTPUTS, outcome);
    if (!pair->compared) return;
    (void)snprintf(text, sizeof text, "%s, %.0f%% exact, max %.2g", outcome, floor(100 * pair->equal_fraction),
                   pair->max_difference);
    ridge_table_text(table, PAIR_OUTPUTS, text);
    ridge_table_brief(table, PAIR_OUTPUTS, outcome);
    ridge_table_number(table, PAIR_EQUAL, pair->equal_fraction);
    ridge_table_number(table, PAIR_DIFFERENCE, pair->max_difference);
    if (!pair->agree) ridge_table_color(table, PAIR_OUTPUTS, RIDGE_RED);
}

static void put_bytes(ridge_table *table, const ridge_pair *pair) {
    ridge_text from, to;
    char text[64];
    (void)snprintf(text, sizeof text, "%.20s to %.20s%s", ridge_text_scaled(&from, pair->traffic_a, "B"),
                   ridge_text_scaled(&to, pair->traffic_b, "B"), pair->counted ? ", counted" : "");
    ridge_table_text(table, PAIR_BYTES, text);
    (void)snprintf(text, sizeof text, "%+.0f%%", 100 * (pair->traffic_b / pair->traffic_a - 1));
    if (pair->traffic_a > 0) ridge_table_brief(table, PAIR_BYTES, text);
    ridge_table_number(table, PAIR_BYTES_FROM, pair->traffic_a);
    ridge_table_number(table, PAIR_BYTES_TO, pair->traffic_b);
    ridge_table_data(table, PAIR_BYTES_KIND, pair->counted ? "counted" : "declared");
}

/* The median, or why there is none. */
static void put_side(ridge_table *table, int column, const ridge_result *r) {
    ridge_text time;
    if (ridge_verdict_timed(r->verdict)) {
        ridge_table_text(table, column, ridge_text_time(&time, r->time_us.median));
        ridge_table_number(table, column, r->time_us.median);
    } else {
        put_verdict(table, column, r->verdict);
        ridge_table_number(table, column, (double)NAN);
    }
}

static void add_pair(ridge_table *table, const ridge_run *run, const ridge_pair *pair, bool ditto) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(b->target, &b->c, name, sizeof name);
    ridge_table_row(table);
    put_target(table, PAIR_TARGET, b->target);
    ridge_table_text(table, PAIR_CASE, name);
    if (ditto) ridge_table_ditto(table, PAIR_CASE);
    put_variant(table, PAIR_AGAINST, a->variant);
    ridge_table_data(table, PAIR_NAME, b->variant->name);
    put_side(table, PAIR_ITS_TIME, a);
    put_side(table, PAIR_TIME, b);
    if (ridge_verdict_timed(a->verdict) && ridge_verdict_timed(b->verdict))
        put_ratio(table, PAIR_SPEEDUP, "", pair->speedup);
    put_proof(table, PAIR_VERDICT, ridge_pair_proof(run, pair));
    put_bytes(table, pair);
    put_agreement(table, pair);
}

void ridge_report_compare(const ridge_run *run, const ridge_page *page) {
    print_heading(run, "Pairs", page);
    ridge_page_explain(page,
                       "Speedup: median of the rounds' ratios (A B B A) with its %g%% interval; the verdict is open "
                       "where it holds 1.\n",
                       100 * RIDGE_LEVEL);
    ridge_page_explain(page,
                       "Bytes: what each declares to move out of cache, write-allocation included; counted by "
                       "hardware where it says so.\n\n");
    ridge_table *table = ridge_table_new(pair_columns, PAIR_COLUMNS);
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p], *before = p ? &run->pairs[p - 1] : NULL;
        const ridge_result *b = &run->results[pair->b];
        if (!before || !same_group(&run->results[before->b], b)) add_group(table, run, b);
        add_pair(table, run, pair, before && same_case(&run->results[before->b], b));
    }
    if (run->n_pairs) ridge_table_print(table, page);
    ridge_table_free(table);
}
