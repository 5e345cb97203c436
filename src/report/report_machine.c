/* Tables of ceilings, of work against them, and of findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/ceilings/datasheet.h"
#include "report/report.h"
#include "report/text.h"

/* ---- peak ------------------------------------------------------------------------------------------------------- */

enum {
    LEVEL_BACKEND,
    LEVEL_NAME,
    LEVEL_CAPACITY,
    LEVEL_READ,
    LEVEL_COPY,
    LEVEL_STREAM,
    LEVEL_WRITE,
    LEVEL_SHEET,
    LEVEL_HOW,
    LEVEL_COLUMNS
};
static const ridge_column level_columns[LEVEL_COLUMNS] = {
    [LEVEL_BACKEND] = {.field = "backend", .align = 'l'},
    [LEVEL_NAME] = {.header = "level", .field = "name", .align = 'l'},
    [LEVEL_CAPACITY] = {.header = "up to", .field = "capacity_bytes", .align = 'r', .drop = 40},
    [LEVEL_READ] = {.header = "read", .field = "read_gbps", .align = 'r', .shorten = 50},
    [LEVEL_COPY] = {.header = "copy", .field = "copy_gbps", .align = 'r', .shorten = 51},
    [LEVEL_STREAM] =
        {.header = "streaming copy", .brief = "stream", .field = "stream_gbps", .align = 'r', .shorten = 80},
    [LEVEL_WRITE] = {.header = "streaming write", .brief = "write", .field = "write_gbps", .align = 'r', .shorten = 81},
    [LEVEL_SHEET] = {.header = "datasheet", .field = "datasheet_gbps", .align = 'r', .drop = 60},
    [LEVEL_HOW] = {.field = "measured_with", .align = 'l'},
};

enum { PEAK_BACKEND, PEAK_NAME, PEAK_GFLOPS, PEAK_TFLOPS, PEAK_SHEET, PEAK_SHARE, PEAK_RIDGE, PEAK_HOW, PEAK_COLUMNS };
static const ridge_column peak_columns[PEAK_COLUMNS] = {
    [PEAK_BACKEND] = {.field = "backend", .align = 'l'},
    [PEAK_NAME] = {.header = "arithmetic", .field = "name", .align = 'l'},
    [PEAK_GFLOPS] = {.header = "GFLOP/s", .field = "gflops", .align = 'r'},
    [PEAK_TFLOPS] = {.header = "TFLOP/s", .align = 'r'},
    [PEAK_SHEET] = {.header = "datasheet", .field = "datasheet_gflops", .align = 'r', .drop = 50},
    [PEAK_SHARE] = {.header = "of it", .align = 'r', .drop = 60},
    [PEAK_RIDGE] = {.header = "ridge point", .brief = "ridge", .field = "ridge_point", .align = 'r', .shorten = 70},
    [PEAK_HOW] = {.header = "measured with",
                  .field = "measured_with",
                  .align = 'l',
                  .fit = RIDGE_FIT_WRAP,
                  .least = 20,
                  .drop = 30},
};

/* A rate with half of its interval; its short form is the median alone. */
static void put_rate(ridge_table *table, int column, ridge_interval interval) {
    ridge_text text;
    const bool known = interval.n > 0 && isfinite(interval.median);
    ridge_table_text(table, column, ridge_text_rate(&text, interval));
    if (known) ridge_table_brief(table, column, ridge_text_significant(&text, interval.median, 4));
    ridge_table_number(table, column, known ? interval.median : (double)NAN);
}

static const char *backend_of(const ridge_gpu *gpu) {
    return ridge_backend_name(gpu ? RIDGE_BACKEND_cuda : RIDGE_BACKEND_cpu);
}

/* gpu NULL: the CPU's. */
static ridge_table *levels_table(const ridge_ceilings *c, const ridge_gpu *gpu, const ridge_datasheet *sheet) {
    ridge_table *table = ridge_table_new(level_columns, LEVEL_COLUMNS);
    for (int i = 0; i < c->n_levels; i++) {
        const ridge_level *level = &c->levels[i];
        ridge_text text;
        ridge_table_row(table);
        ridge_table_data(table, LEVEL_BACKEND, backend_of(gpu));
        ridge_table_text(table, LEVEL_NAME, level->name);
        if (level->capacity > 0) {
            ridge_table_text(table, LEVEL_CAPACITY, ridge_text_bytes(&text, level->capacity));
            ridge_table_number(table, LEVEL_CAPACITY, level->capacity);
        }
        put_rate(table, LEVEL_READ, level->read);
        put_rate(table, LEVEL_COPY, level->copy);
        put_rate(table, LEVEL_STREAM, level->stream);
        put_rate(table, LEVEL_WRITE, level->write);
        if (sheet && level == ridge_ceilings_dram(c)) {
            ridge_table_text(table, LEVEL_SHEET, ridge_text_significant(&text, sheet->dram_gbps, 4));
            ridge_table_number(table, LEVEL_SHEET, sheet->dram_gbps);
        }
        ridge_table_data(table, LEVEL_HOW, level->how);
    }
    return table;
}

static double copy_rate(const ridge_ceilings *c) {
    const ridge_level *dram = ridge_ceilings_dram(c);
    if (!dram) return 0;
    return fmax(dram->copy.n > 0 ? dram->copy.median : 0, dram->stream.n > 0 ? dram->stream.median : 0);
}

static ridge_interval in_tera(ridge_interval giga) {
    return (ridge_interval){giga.median / 1e3, giga.low / 1e3, giga.high / 1e3, giga.n};
}

static void put_stated(ridge_table *table, const ridge_peak *peak, double stated) {
    ridge_text text;
    char share[16];
    if (!(stated > 0)) return;
    ridge_table_text(table, PEAK_SHEET, ridge_text_significant(&text, stated / 1e3, 4));
    ridge_table_number(table, PEAK_SHEET, stated);
    (void)snprintf(share, sizeof share, "%.0f%%", 100 * peak->gflops.median / stated);
    ridge_table_text(table, PEAK_SHARE, share);
}

static ridge_table *peaks_table(const ridge_ceilings *c, const ridge_gpu *gpu, const ridge_datasheet *sheet) {
    ridge_table *table = ridge_table_new(peak_columns, PEAK_COLUMNS);
    const double bandwidth = copy_rate(c);
    for (int i = 0; i < c->n_peaks; i++) {
        const ridge_peak *peak = &c->peaks[i];
        ridge_text text;
        ridge_table_row(table);
        ridge_table_data(table, PEAK_BACKEND, backend_of(gpu));
        ridge_table_text(table, PEAK_NAME, peak->name);
        if (gpu) {
            put_rate(table, PEAK_TFLOPS, in_tera(peak->gflops));
            put_stated(table, peak, ridge_datasheet_rate(sheet, peak->dtype));
        } else {
            put_rate(table, PEAK_GFLOPS, peak->gflops);
        }
        ridge_table_number(table, PEAK_GFLOPS, peak->gflops.median);
        if (bandwidth > 0) {
            ridge_table_text(table, PEAK_RIDGE, ridge_text_significant(&text, peak->gflops.median / bandwidth, 3));
            ridge_table_number(table, PEAK_RIDGE, peak->gflops.median / bandwidth);
        }
        ridge_table_text(table, PEAK_HOW, peak->how);
    }
    return table;
}

static const char *date_of(const ridge_ceilings *c) { return c->date[0] ? c->date : "at an unknown date"; }

static void print_faults(const ridge_ceilings *c, const ridge_page *page) {
    if (c->faults[0]) ridge_page_say(page, "\nDoes not fit together: %s\n", c->faults);
}

static void print_ceilings(const ridge_ceilings *c, const ridge_table *levels, const ridge_table *peaks,
                           const ridge_page *page) {
    ridge_page_explain(page, "Ceilings of %s, %d thread%s, measured %s\n\n", c->key, c->threads,
                       c->threads == 1 ? "" : "s", date_of(c));
    ridge_page_explain(page,
                       "Memory in GB/s (1e9 bytes; copies count bytes read + written), median and half of its %g%% "
                       "interval. Sizes are working sets of all threads together that stay on the level's "
                       "plateau.\n\n",
                       100 * RIDGE_LEVEL);
    ridge_table_print(levels, page);
    ridge_page_explain(page,
                       "\nArithmetic in GFLOP/s (int8: GOP/s). Ridge point: FLOP per byte of DRAM copy at which it "
                       "becomes the limit.\n");
    fputc('\n', page->tables);
    ridge_table_print(peaks, page);
    print_faults(c, page);
}

static void print_gpu_ceilings(const ridge_gpu *gpu, const ridge_ceilings *c, const ridge_table *levels,
                               const ridge_table *peaks, const ridge_page *page) {
    const ridge_datasheet *sheet = ridge_datasheet_find(gpu->name);
    ridge_page_explain(page, "Ceilings of %s (%s), measured %s\n\n", gpu->name, c->key, date_of(c));
    ridge_page_explain(page,
                       "Memory in GB/s (1e9 bytes; copies count bytes read + written), median and half of its %g%% "
                       "interval.\n\n",
                       100 * RIDGE_LEVEL);
    ridge_table_print(levels, page);
    for (int i = 0; i < c->n_levels; i++)
        if (c->levels[i].how[0]) ridge_page_explain(page, "  %s by %s\n", c->levels[i].name, c->levels[i].how);
    ridge_page_explain(page,
                       "\nArithmetic in TFLOP/s (int8: TOP/s), dense, in bursts of a millisecond. Ridge point: FLOP "
                       "per byte of DRAM copy.\n");
    fputc('\n', page->tables);
    ridge_table_print(peaks, page);
    if (sheet) ridge_page_explain(page, "\nDatasheet: %s.\n", sheet->source);
    print_faults(c, page);
}

void ridge_report_peak(const ridge_ceilings *cpu, const ridge_gpu *gpu, const ridge_ceilings *gpu_ceilings,
                       const ridge_page *page) {
    ridge_table *tables[4] = {NULL};
    int n = 0;
    if (cpu) {
        tables[n++] = levels_table(cpu, NULL, NULL);
        tables[n++] = peaks_table(cpu, NULL, NULL);
    }
    if (gpu_ceilings) {
        const ridge_datasheet *sheet = ridge_datasheet_find(gpu->name);
        tables[n++] = levels_table(gpu_ceilings, gpu, sheet);
        tables[n++] = peaks_table(gpu_ceilings, gpu, sheet);
    }
    if (page->format == RIDGE_FORMAT_CSV) {
        ridge_tables_print((const ridge_table *const *)tables, n, page);
    } else {
        if (cpu) print_ceilings(cpu, tables[0], tables[1], page);
        if (cpu && gpu_ceilings) fputc('\n', page->tables);
        if (gpu_ceilings) print_gpu_ceilings(gpu, gpu_ceilings, tables[n - 2], tables[n - 1], page);
    }
    for (int i = 0; i < n; i++) ridge_table_free(tables[i]);
}

/* ---- summaries -------------------------------------------------------------------------------------------------- */

enum {
    SUM_TARGET,
    SUM_CASE,
    SUM_WORK,
    SUM_TRAFFIC,
    SUM_INTENSITY,
    SUM_RIDGE,
    SUM_SIDE,
    SUM_CEILING,
    SUM_FLOOR,
    SUM_COLUMNS
};
static const ridge_column sum_columns[SUM_COLUMNS] = {
    [SUM_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [SUM_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 18},
    [SUM_WORK] = {.header = "work", .field = "flop", .align = 'r'},
    [SUM_TRAFFIC] = {.header = "traffic", .field = "bytes", .align = 'r'},
    [SUM_INTENSITY] = {.header = "FLOP/byte", .brief = "FLOP/B", .field = "flop_per_byte", .align = 'r', .shorten = 70},
    [SUM_RIDGE] = {.header = "ridge", .field = "ridge_point", .align = 'r', .drop = 80},
    [SUM_SIDE] = {.header = "side", .field = "side", .align = 'l', .shorten = 75},
    [SUM_CEILING] = {.field = "ceiling", .align = 'l'},
    [SUM_FLOOR] = {.header = "floor", .field = "floor_us", .align = 'r', .drop = 60},
};

static bool first_of_case(const ridge_run *run, int i) {
    const ridge_result *r = &run->results[i];
    for (int j = 0; j < i; j++) {
        const ridge_result *s = &run->results[j];
        if (s->target == r->target && ridge_case_same(&s->c, &r->c) &&
            ridge_variant_backend(s->variant) == ridge_variant_backend(r->variant))
            return false;
    }
    return true;
}

static void put_side(ridge_table *table, const ridge_placement *place) {
    const char *side = place->memory_bound ? "memory" : "compute";
    double times = place->memory_bound ? place->ridge_point / place->intensity : place->intensity / place->ridge_point;
    char text[96] = "no ceilings: unknown", brief[32];
    ridge_text factor;
    (void)snprintf(brief, sizeof brief, "%s", place->binding[0] ? side : "unknown");
    if (place->binding[0] && isfinite(times)) {
        (void)ridge_text_significant(&factor, times, 2);
        (void)snprintf(text, sizeof text, "%s bound, %.20s× %s", side, factor.s,
                       place->memory_bound ? "left" : "right");
        (void)snprintf(brief, sizeof brief, "%s %.16s×", side, factor.s);
    } else if (place->binding[0]) {
        (void)snprintf(text, sizeof text, "%s bound", side);
    }
    ridge_table_text(table, SUM_SIDE, text);
    ridge_table_brief(table, SUM_SIDE, brief);
    ridge_table_data(table, SUM_SIDE, place->binding[0] ? side : "");
    ridge_table_data(table, SUM_CEILING, place->binding);
}

/* From the work model alone: nothing need have been timed. */
static void add_summary(ridge_table *table, const ridge_run *run, const ridge_result *r) {
    ridge_work work = {.flops = 0};
    ridge_placement place;
    r->target->work(&r->c, &work);
    const ridge_backend backend = ridge_variant_backend(r->variant);
    ridge_place(&work, 0, ridge_run_ceilings(run, backend), run->settings.hot, "fp32", &place);
    char name[RIDGE_CASE_NAME], target[160];
    ridge_text text;
    ridge_case_name(r->target, &r->c, name, sizeof name);
    (void)snprintf(target, sizeof target, "%s:%s", r->target->chapter, r->target->name);
    ridge_table_row(table);
    ridge_table_text(table, SUM_TARGET, target);
    ridge_table_text(table, SUM_CASE, name);
    ridge_table_text(table, SUM_WORK, ridge_text_scaled(&text, work.flops, "FLOP"));
    ridge_table_number(table, SUM_WORK, work.flops);
    ridge_table_text(table, SUM_TRAFFIC, ridge_text_scaled(&text, work.bytes_read + work.bytes_written, "B"));
    ridge_table_number(table, SUM_TRAFFIC, work.bytes_read + work.bytes_written);
    ridge_table_text(table, SUM_INTENSITY, ridge_text_significant(&text, place.intensity, 3));
    ridge_table_number(table, SUM_INTENSITY, place.intensity);
    ridge_table_text(table, SUM_RIDGE, ridge_text_significant(&text, place.ridge_point, 3));
    ridge_table_number(table, SUM_RIDGE, place.ridge_point);
    put_side(table, &place);
    if (!(place.floor_us > 0)) return;
    ridge_table_text(table, SUM_FLOOR, ridge_text_time(&text, place.floor_us));
    ridge_table_number(table, SUM_FLOOR, place.floor_us);
}

static void add_sum_heading(ridge_table *table, const ridge_result *r, const ridge_result *before) {
    char line[300];
    if (before && before->target == r->target) return;
    (void)snprintf(line, sizeof line, "%s:%s  %s", r->target->chapter, r->target->name, r->target->summary);
    ridge_table_heading(table, line);
}

void ridge_report_summaries(const ridge_run *run, const ridge_page *page) {
    ridge_page_explain(page, "Least work and traffic of each case against the ceilings of %s, %d thread%s, %s.\n\n",
                       run->machine.key, run->settings.threads, run->settings.threads == 1 ? "" : "s",
                       run->settings.hot ? "hot (the cache level that holds the operands)" : "cold (DRAM)");
    ridge_table *table = ridge_table_new(sum_columns, SUM_COLUMNS);
    for (int i = 0; i < run->n_results; i++) {
        if (!first_of_case(run, i)) continue;
        add_sum_heading(table, &run->results[i], i ? &run->results[i - 1] : NULL);
        add_summary(table, run, &run->results[i]);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
}

/* ---- doctor ----------------------------------------------------------------------------------------------------- */

enum { FIND_WHAT, FIND_HEALTH, FIND_BOTH, FIND_FOUND, FIND_ADVICE, FIND_COLUMNS };
static const ridge_column find_columns[FIND_COLUMNS] = {
    [FIND_WHAT] = {.header = "what", .field = "what", .align = 'l'},
    [FIND_HEALTH] = {.header = "health", .brief = "", .field = "health", .align = 'l', .shorten = 50},
    [FIND_BOTH] = {.header = "found, and what to do", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 24},
    [FIND_FOUND] = {.field = "found", .align = 'l'},
    [FIND_ADVICE] = {.field = "advice", .align = 'l'},
};

void ridge_report_findings(const ridge_finding *findings, int n, const ridge_page *page) {
    static const ridge_color colors[] = {RIDGE_GREEN, RIDGE_PLAIN, RIDGE_RED};
    ridge_table *table = ridge_table_new(find_columns, FIND_COLUMNS);
    for (int i = 0; i < n; i++) {
        const ridge_finding *f = &findings[i];
        char both[sizeof f->found + sizeof f->advice + 8];
        (void)snprintf(both, sizeof both, "%s%s%s", f->found, f->advice[0] ? "\n→ " : "", f->advice);
        ridge_table_row(table);
        ridge_table_text(table, FIND_WHAT, f->what);
        ridge_table_text(table, FIND_HEALTH, ridge_health_name(f->health));
        ridge_table_color(table, FIND_HEALTH, colors[f->health]);
        ridge_table_text(table, FIND_BOTH, both);
        ridge_table_data(table, FIND_FOUND, f->found);
        ridge_table_data(table, FIND_ADVICE, f->advice);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
}
