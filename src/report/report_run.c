/* What `ridge run` and `ridge compare` end with: a table grouped by target, then why some verdicts are not ok. */
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

static void print_heading(const ridge_run *run, const char *what, FILE *stream) {
    fprintf(stream, "%s on %s, %d thread%s, %s, %s\n", what, run->machine.key, run->settings.threads,
            run->settings.threads == 1 ? "" : "s", isa_text(run), mode_text(run));
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
    ridge_table_row(table, (const char *const[]){"", NULL});
    ridge_table_row(table, (const char *const[]){line, NULL});
}

/* The speedup that belongs on the line of result i: over the baseline on an optimized variant's own line; on a peer's
 * line, what the optimized variant gains over it. */
static void speedup_text(const ridge_run *run, int i, char *text, size_t size) {
    text[0] = '\0';
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
        bool over_peer = a->variant->role == RIDGE_PEER;
        if ((over_peer ? pair->a : pair->b) != i) continue;
        if (!ridge_verdict_timed(a->verdict) || !ridge_verdict_timed(b->verdict)) continue;
        ridge_text ratio;
        (void)snprintf(text, size, "%s%s", over_peer ? "opt " : "", ridge_text_ratio(&ratio, pair->speedup));
        return;
    }
}

static void add_result(ridge_table *table, const ridge_run *run, int i) {
    const ridge_result *r = &run->results[i];
    bool timed = ridge_verdict_timed(r->verdict), first = i == 0 || !same_case(r, &run->results[i - 1]);
    char name[96], percent[64] = "", copy[16] = "", core[16] = "", speedup[96];
    ridge_case_name(r->target, &r->c, name, sizeof name);
    if (timed && r->of_copy.n > 0) (void)snprintf(copy, sizeof copy, "%.0f%%", 100 * r->of_copy.median);
    if (timed && r->of_core.n > 0) (void)snprintf(core, sizeof core, "%.0f%%", 100 * r->of_core.median);
    if (timed && r->place.binding[0])
        (void)snprintf(percent, sizeof percent, "%3.0f%% %s", r->place.pct_measured, r->place.binding);
    speedup_text(run, i, speedup, sizeof speedup);
    ridge_text time, width, gflops, gbps, graph, graph_width;
    char in_graph[48] = "", clock[64] = "";
    if (timed && r->graph_us.n > 0)
        (void)snprintf(in_graph, sizeof in_graph, "%.20s %6.12s", ridge_text_time(&graph, r->graph_us.median),
                       ridge_text_width(&graph_width, r->graph_us));
    if (timed && r->sm_mhz > 0) (void)snprintf(clock, sizeof clock, "%.0f MHz", r->sm_mhz);
    if (timed && r->throttled_samples > 0) {
        size_t used = strlen(clock);
        (void)snprintf(clock + used, sizeof clock - used, "%s%d of %d throttled", used ? ", " : "",
                       r->throttled_samples, r->n_samples);
    }
    char interval[48] = ""; /* widths hold one ± each, so padding by bytes aligns them */
    if (timed)
        (void)snprintf(interval, sizeof interval, "%.20s %6.12s", ridge_text_time(&time, r->time_us.median),
                       ridge_text_width(&width, r->time_us));
    const char *cells[] = {first ? name : "",
                           r->variant->name,
                           interval,
                           in_graph,
                           timed && r->work.flops > 0 ? ridge_text_significant(&gflops, r->place.gflops, 3) : "",
                           timed ? ridge_text_significant(&gbps, r->place.gbps, 3) : "",
                           percent,
                           copy,
                           core,
                           speedup,
                           clock,
                           ridge_verdict_name(r->verdict)};
    ridge_table_row(table, cells);
}

static void print_reasons(const ridge_run *run, FILE *stream) {
    int count = 0;
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        if (r->verdict == RIDGE_VERDICT_OK) continue;
        if (count++ == 0) fputs("\nNot ok:\n", stream);
        char name[96];
        ridge_case_name(r->target, &r->c, name, sizeof name);
        fprintf(stream, "  %s %s %s: %s%s%s\n", r->target->name, name, r->variant->name, ridge_verdict_name(r->verdict),
                r->reason[0] ? ": " : "", r->reason);
    }
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p];
        if (!pair->compared || pair->agree) continue;
        const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
        char name[96];
        ridge_case_name(b->target, &b->c, name, sizeof name);
        fprintf(stream, "%s  %s %s: %s and %s disagree by up to %.3g\n", count++ == 0 ? "\nNot ok:\n" : "",
                b->target->name, name, a->variant->name, b->variant->name, pair->max_difference);
    }
}

/* "DRAM stream 24.1/24.0 GB/s (-0.4%)" for what was probed before and after. */
static void print_probe(const char *name, const char *unit, ridge_interval before, ridge_interval after, int *printed,
                        FILE *stream) {
    double drift = ridge_drift_pct(before, after);
    if (!isfinite(drift)) return;
    ridge_text a, b;
    fprintf(stream, "%s%s %s/%s %s (%+.1f%%)", (*printed)++ ? ", " : "Before/after: ", name,
            ridge_text_significant(&a, before.median, 4), ridge_text_significant(&b, after.median, 4), unit, drift);
}

/* What a launch costs by itself: no kernel can be faster than that between two events, or in a graph. */
static void print_floors(const ridge_result *gpu, FILE *stream) {
    ridge_text event, graph;
    if (!gpu || !(gpu->event_floor_us > 0)) return;
    fprintf(stream, "An empty kernel: %s between two events", ridge_text_time(&event, gpu->event_floor_us));
    if (gpu->graph_floor_us > 0)
        fprintf(stream, ", %s as one of many in a graph", ridge_text_time(&graph, gpu->graph_floor_us));
    fputs(".\n", stream);
}

static void print_closing(const ridge_run *run, FILE *stream) {
    int counts[RIDGE_VERDICT_COUNT] = {0}, printed = 0;
    for (int i = 0; i < run->n_results; i++)
        if ((unsigned)run->results[i].verdict < RIDGE_VERDICT_COUNT) counts[run->results[i].verdict]++;
    const ridge_level *before = &run->dram_before, *after = &run->dram_after;
    fputc('\n', stream);
    print_probe("DRAM read", "GB/s", before->read, after->read, &printed, stream);
    print_probe("stream", "GB/s", before->stream, after->stream, &printed, stream);
    print_probe("fp32", "GFLOP/s", run->fp32_before.gflops, run->fp32_after.gflops, &printed, stream);
    if (printed) fputs(".\n", stream);
    print_floors(gpu_result(run), stream);
    for (int v = printed = 0; v < RIDGE_VERDICT_COUNT; v++)
        if (counts[v])
            fprintf(stream, "%s%d %s", printed++ ? ", " : "", counts[v], ridge_verdict_name((ridge_verdict)v));
    fprintf(stream, "%s in %.1f s%s\n", printed ? "" : "nothing was run", run->wall_s,
            run->interrupted ? "; interrupted: what was not reached is missing" : "");
}

static void print_gpu_notes(const ridge_run *run, FILE *stream) {
    if (gpu_result(run))
        fprintf(
            stream,
            "GPU: %s, ceilings measured %.20s. Time: between two events; in graph: a launch inside a captured one.\n",
            run->machine.gpu.name, run->gpu_ceilings.date[0] ? run->gpu_ceilings.date : "at an unknown date");
    fputc('\n', stream);
}

void ridge_report_run(const ridge_run *run, FILE *stream) {
    static const char *const headers[] = {"case",       "variant", "time", "in graph", "GFLOP/s", "GB/s",
                                          "of ceiling", "copy",    "core", "speedup",  "clock",   "verdict"};
    print_heading(run, "Results", stream);
    fprintf(stream,
            "Time: median and half of its %g%% interval. GB/s: least traffic over time. Ceilings measured %.20s.\n"
            "Speedup over the baseline with its %g%% interval (≈ no difference shown); opt: the optimized over that "
            "peer.\n"
            "Copy, core: in the same rounds, a plain copy of the least bytes, and this code with operands in L2, over "
            "this time.\n",
            100 * RIDGE_LEVEL, run->ceilings.date[0] ? run->ceilings.date : "at an unknown date", 100 * RIDGE_LEVEL);
    print_gpu_notes(run, stream);
    ridge_table *table = ridge_table_new(headers, "llrrrrlrrlll", 12);
    for (int i = 0; i < run->n_results; i++) {
        if (i == 0 || !same_group(&run->results[i], &run->results[i - 1])) add_group(table, run, &run->results[i]);
        add_result(table, run, i);
    }
    if (run->n_results) ridge_table_print(table, stream);
    ridge_table_free(table);
    print_reasons(run, stream);
    print_closing(run, stream);
}

/* ---- compare ---------------------------------------------------------------------------------------------------- */

static void agreement_text(const ridge_pair *pair, char *text, size_t size) {
    if (!pair->compared)
        (void)snprintf(text, size, "not compared");
    else
        (void)snprintf(text, size, "%s, %.0f%% exact, max %.2g", pair->agree ? "agree" : "DIFFER",
                       floor(100 * pair->equal_fraction), pair->max_difference);
}

static void add_pair(ridge_table *table, const ridge_run *run, const ridge_pair *pair, const char *name) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    bool timed_a = ridge_verdict_timed(a->verdict), timed_b = ridge_verdict_timed(b->verdict);
    char agreement[96], saved[64];
    ridge_text time_a, time_b, ratio, from, to;
    agreement_text(pair, agreement, sizeof agreement);
    (void)snprintf(saved, sizeof saved, "%.20s to %.20s%s", ridge_text_scaled(&from, pair->traffic_a, "B"),
                   ridge_text_scaled(&to, pair->traffic_b, "B"), pair->counted ? ", counted" : "");
    const char *cells[] = {name,
                           a->variant->name,
                           timed_a ? ridge_text_time(&time_a, a->time_us.median) : ridge_verdict_name(a->verdict),
                           timed_b ? ridge_text_time(&time_b, b->time_us.median) : ridge_verdict_name(b->verdict),
                           timed_a && timed_b ? ridge_text_ratio(&ratio, pair->speedup) : "",
                           saved,
                           agreement};
    ridge_table_row(table, cells);
}

void ridge_report_compare(const ridge_run *run, FILE *stream) {
    static const char *const headers[] = {"case",    "against",          "its time", "optimized",
                                          "speedup", "bytes (declared)", "outputs"};
    print_heading(run, "Pairs", stream);
    fprintf(stream,
            "Speedup: median of the rounds' ratios (A B B A) with its %g%% interval; ≈ no difference shown.\n"
            "Bytes: what each declares to move out of cache, write-allocation included; counted by hardware where it "
            "says so.\n\n",
            100 * RIDGE_LEVEL);
    ridge_table *table = ridge_table_new(headers, "llrrlll", 7);
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_pair *pair = &run->pairs[p], *before = p ? &run->pairs[p - 1] : NULL;
        const ridge_result *b = &run->results[pair->b];
        if (!before || !same_group(&run->results[before->b], b)) add_group(table, run, b);
        char name[96];
        ridge_case_name(b->target, &b->c, name, sizeof name);
        add_pair(table, run, pair, before && same_case(&run->results[before->b], b) ? "" : name);
    }
    if (run->n_pairs) ridge_table_print(table, stream);
    ridge_table_free(table);
    print_reasons(run, stream);
    print_closing(run, stream);
}
