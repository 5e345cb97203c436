/* Tables of ceilings, of work against them, and of what there is to run. */
#include <math.h>
#include <string.h>

#include "machine/gpu.h"
#include "report/report.h"
#include "report/text.h"

/* ---- peak ------------------------------------------------------------------------------------------------------- */

static void print_levels(const ridge_ceilings *c, FILE *stream) {
    static const char *const headers[] = {"level", "up to", "read", "copy", "streaming copy", "streaming write"};
    ridge_table *table = ridge_table_new(headers, "lrrrrr", 6);
    for (int i = 0; i < c->n_levels; i++) {
        const ridge_level *level = &c->levels[i];
        ridge_text up_to, read, copy, stream_rate, write;
        const char *cells[] = {level->name,
                               level->capacity > 0 ? ridge_text_bytes(&up_to, level->capacity) : "",
                               ridge_text_rate(&read, level->read),
                               ridge_text_rate(&copy, level->copy),
                               ridge_text_rate(&stream_rate, level->stream),
                               ridge_text_rate(&write, level->write)};
        ridge_table_row(table, cells);
    }
    ridge_table_print(table, stream);
    ridge_table_free(table);
}

static void print_peaks(const ridge_ceilings *c, FILE *stream) {
    static const char *const headers[] = {"arithmetic", "GFLOP/s", "ridge point", "measured with"};
    ridge_table *table = ridge_table_new(headers, "lrrl", 4);
    const ridge_level *dram = ridge_ceilings_dram(c);
    double bandwidth =
        dram ? fmax(dram->copy.n > 0 ? dram->copy.median : 0, dram->stream.n > 0 ? dram->stream.median : 0) : 0;
    for (int i = 0; i < c->n_peaks; i++) {
        const ridge_peak *peak = &c->peaks[i];
        ridge_text rate, point;
        const char *cells[] = {peak->name, ridge_text_rate(&rate, peak->gflops),
                               bandwidth > 0 ? ridge_text_significant(&point, peak->gflops.median / bandwidth, 3) : "",
                               peak->how};
        ridge_table_row(table, cells);
    }
    ridge_table_print(table, stream);
    ridge_table_free(table);
}

void ridge_report_ceilings(const ridge_ceilings *c, FILE *stream) {
    fprintf(stream, "Ceilings of %s, %d thread%s, measured %s\n\n", c->key, c->threads, c->threads == 1 ? "" : "s",
            c->date[0] ? c->date : "at an unknown date");
    fprintf(stream,
            "Memory in GB/s (1e9 bytes; copies count bytes read + written), median and half of its %g%% interval.\n"
            "Sizes are working sets of all threads together that stay on the level's plateau.\n\n",
            100 * RIDGE_LEVEL);
    print_levels(c, stream);
    fputs(
        "\nArithmetic in GFLOP/s (int8: GOP/s). Ridge point: FLOP per byte of DRAM copy at which it becomes the "
        "limit.\n\n",
        stream);
    print_peaks(c, stream);
    if (c->faults[0]) fprintf(stream, "\nDoes not fit together: %s\n", c->faults);
}

/* ---- peak of a GPU ---------------------------------------------------------------------------------------------- */

static void print_gpu_levels(const ridge_ceilings *c, const ridge_datasheet *sheet, FILE *stream) {
    static const char *const headers[] = {"level", "up to", "read", "copy", "streaming copy", "write", "datasheet"};
    ridge_table *table = ridge_table_new(headers, "lrrrrrr", 7);
    for (int i = 0; i < c->n_levels; i++) {
        const ridge_level *level = &c->levels[i];
        bool dram = level == ridge_ceilings_dram(c);
        ridge_text up_to, read, copy, stream_rate, write, stated;
        const char *cells[] = {level->name,
                               level->capacity > 0 ? ridge_text_bytes(&up_to, level->capacity) : "",
                               ridge_text_rate(&read, level->read),
                               ridge_text_rate(&copy, level->copy),
                               ridge_text_rate(&stream_rate, level->stream),
                               ridge_text_rate(&write, level->write),
                               dram && sheet ? ridge_text_significant(&stated, sheet->dram_gbps, 4) : ""};
        ridge_table_row(table, cells);
    }
    ridge_table_print(table, stream);
    ridge_table_free(table);
    for (int i = 0; i < c->n_levels; i++)
        if (c->levels[i].how[0]) fprintf(stream, "  %s by %s\n", c->levels[i].name, c->levels[i].how);
}

static void print_gpu_peaks(const ridge_ceilings *c, const ridge_datasheet *sheet, FILE *stream) {
    static const char *const headers[] = {"arithmetic", "TFLOP/s",     "datasheet",
                                          "of it",      "ridge point", "measured with"};
    ridge_table *table = ridge_table_new(headers, "lrrrrl", 6);
    const ridge_level *dram = ridge_ceilings_dram(c);
    double bandwidth = dram ? fmax(dram->copy.median, dram->stream.n > 0 ? dram->stream.median : 0) : 0;
    for (int i = 0; i < c->n_peaks; i++) {
        const ridge_peak *peak = &c->peaks[i];
        ridge_interval tera = {peak->gflops.median / 1e3, peak->gflops.low / 1e3, peak->gflops.high / 1e3,
                               peak->gflops.n};
        double stated = ridge_datasheet_rate(sheet, peak->dtype);
        ridge_text rate, point, maker;
        char share[16] = "";
        if (stated > 0) (void)snprintf(share, sizeof share, "%.0f%%", 100 * peak->gflops.median / stated);
        const char *cells[] = {peak->name,
                               ridge_text_rate(&rate, tera),
                               stated > 0 ? ridge_text_significant(&maker, stated / 1e3, 4) : "",
                               share,
                               bandwidth > 0 ? ridge_text_significant(&point, peak->gflops.median / bandwidth, 3) : "",
                               peak->how};
        ridge_table_row(table, cells);
    }
    ridge_table_print(table, stream);
    ridge_table_free(table);
}

void ridge_report_gpu_ceilings(const ridge_gpu *gpu, const ridge_ceilings *c, FILE *stream) {
    const ridge_datasheet *sheet = ridge_datasheet_find(gpu->name);
    fprintf(stream, "Ceilings of %s (%s), measured %s\n\n", gpu->name, c->key,
            c->date[0] ? c->date : "at an unknown date");
    fprintf(stream,
            "Memory in GB/s (1e9 bytes; copies count bytes read + written), median and half of its %g%% interval.\n\n",
            100 * RIDGE_LEVEL);
    print_gpu_levels(c, sheet, stream);
    fputs(
        "\nArithmetic in TFLOP/s (int8: TOP/s), dense, in bursts of a millisecond. Ridge point: FLOP per byte of DRAM "
        "copy.\n\n",
        stream);
    print_gpu_peaks(c, sheet, stream);
    if (sheet) fprintf(stream, "\nDatasheet: %s.\n", sheet->source);
    if (c->faults[0]) fprintf(stream, "\nDoes not fit together: %s\n", c->faults);
}

/* ---- summaries -------------------------------------------------------------------------------------------------- */

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

/* From the work model alone: nothing need have been timed. */
static void add_summary(ridge_table *table, const ridge_run *run, const ridge_result *r) {
    ridge_work work = {.flops = 0};
    ridge_placement place;
    r->target->work(&r->c, &work);
    const ridge_backend backend = ridge_variant_backend(r->variant);
    ridge_place(&work, 0, ridge_run_ceilings(run, backend), run->settings.hot, "fp32", &place);
    double times = place.memory_bound ? place.ridge_point / place.intensity : place.intensity / place.ridge_point;
    char name[96], target[96], side[96] = "no ceilings: unknown";
    ridge_text flops, bytes, intensity, point, floor_time, factor;
    ridge_case_name(r->target, &r->c, name, sizeof name);
    (void)snprintf(target, sizeof target, "%s:%s", r->target->chapter, r->target->name);
    if (place.binding[0] && isfinite(times))
        (void)snprintf(side, sizeof side, "%s bound, %.20s× %s", place.memory_bound ? "memory" : "compute",
                       ridge_text_significant(&factor, times, 2), place.memory_bound ? "left" : "right");
    else if (place.binding[0])
        (void)snprintf(side, sizeof side, "%s bound", place.memory_bound ? "memory" : "compute");
    const char *cells[] = {target,
                           name,
                           ridge_text_scaled(&flops, work.flops, "FLOP"),
                           ridge_text_scaled(&bytes, work.bytes_read + work.bytes_written, "B"),
                           ridge_text_significant(&intensity, place.intensity, 3),
                           ridge_text_significant(&point, place.ridge_point, 3),
                           side,
                           place.floor_us > 0 ? ridge_text_time(&floor_time, place.floor_us) : ""};
    ridge_table_row(table, cells);
}

void ridge_report_summaries(const ridge_run *run, FILE *stream) {
    static const char *const headers[] = {"target", "case", "work", "traffic", "FLOP/byte", "ridge", "side", "floor"};
    fprintf(stream, "Least work and traffic of each case against the ceilings of %s, %d thread%s, %s.\n\n",
            run->machine.key, run->settings.threads, run->settings.threads == 1 ? "" : "s",
            run->settings.hot ? "hot (the cache level that holds the operands)" : "cold (DRAM)");
    ridge_table *table = ridge_table_new(headers, "llrrrrlr", 8);
    for (int i = 0; i < run->n_results; i++)
        if (first_of_case(run, i)) add_summary(table, run, &run->results[i]);
    ridge_table_print(table, stream);
    ridge_table_free(table);
}

/* ---- list ------------------------------------------------------------------------------------------------------- */

static void print_dims(const ridge_target *target, FILE *stream) {
    for (int d = 0; d < ridge_target_rank(target); d++) fprintf(stream, "%s%s", d ? " x " : "", target->dims[d]);
}

/* Cases on lines of at most 120 columns. */
static void print_cases(const ridge_target *target, bool edge, FILE *stream) {
    int column = 0;
    for (int i = 0; i < target->n_cases; i++) {
        if (target->cases[i].edge != edge) continue;
        char name[96];
        ridge_case_name(target, &target->cases[i], name, sizeof name);
        int width = (int)strlen(name) + 2;
        if (column == 0) column = fprintf(stream, "  %-6s", edge ? "edges" : "cases");
        if (column + width > 120) column = fprintf(stream, "\n%8s", "") - 1;
        column += fprintf(stream, "  %s", name);
    }
    if (column) fputc('\n', stream);
}

/* Whether the variant can run every timed case here, and if not why. Returns into text. */
static void where_it_runs(const ridge_target *target, const ridge_variant *variant, const ridge_machine *machine,
                          char *text, size_t size) {
    const char *why = NULL;
    int can = 0, timed = 0;
    const ridge_backend backend = ridge_variant_backend(variant);
    const ridge_abilities here = ridge_machine_abilities(machine, machine->isa);
    for (int i = 0; i < target->n_cases; i++) {
        if (target->cases[i].edge || !ridge_case_is_for(&target->cases[i], backend)) continue;
        const char *obstacle = ridge_variant_obstacle(variant, &target->cases[i], &here);
        timed++;
        can += !obstacle;
        if (obstacle) why = obstacle;
    }
    if (can == timed)
        (void)snprintf(text, size, "yes, %s",
                       backend == RIDGE_BACKEND_cuda ? machine->gpu.name : ridge_isa_name(machine->isa));
    else if (can)
        (void)snprintf(text, size, "%d of %d cases (%s)", can, timed, why);
    else
        (void)snprintf(text, size, "no: %s", why);
}

/* A row whose idea goes on below itself where it is longer than room: broken at blanks. */
static void add_variant(ridge_table *table, const char *name, const char *role, const char *where, const char *idea,
                        int room) {
    char line[120];
    int length = (int)strlen(idea), cut = length;
    if (length > room)
        for (cut = room; cut > 0 && idea[cut] != ' ';) cut--;
    if (cut == 0) cut = length; /* one long word */
    (void)snprintf(line, sizeof line, "%.*s", cut, idea);
    ridge_table_row(table, (const char *const[]){name, role, where, cut < length ? line : idea});
    if (cut < length) add_variant(table, "", "", "", idea + cut + 1, room);
}

/* What the other columns leave of 120. */
static int room_for_ideas(const ridge_target *target, const ridge_machine *machine) {
    size_t names = strlen("variant"), places = strlen("runs here");
    for (int i = 0; i < target->n_variants; i++) {
        char where[160];
        where_it_runs(target, &target->variants[i], machine, where, sizeof where);
        if (strlen(target->variants[i].name) > names) names = strlen(target->variants[i].name);
        if (strlen(where) > places) places = strlen(where);
    }
    int room = 120 - (int)(names + strlen("optimized") + places) - 8; /* gaps and the indent */
    return room < 30 ? 30 : room;
}

static void print_variants(const ridge_target *target, const ridge_machine *machine, FILE *stream) {
    static const char *const headers[] = {"  variant", "role", "runs here", "idea"};
    ridge_table *table = ridge_table_new(headers, "llll", 4);
    int room = room_for_ideas(target, machine);
    for (int i = 0; i < target->n_variants; i++) {
        const ridge_variant *variant = &target->variants[i];
        char name[80], where[160];
        (void)snprintf(name, sizeof name, "  %s", variant->name);
        where_it_runs(target, variant, machine, where, sizeof where);
        add_variant(table, name, ridge_role_name(variant->role), where, variant->idea, room);
    }
    ridge_table_print(table, stream);
    ridge_table_free(table);
}

void ridge_report_list(const ridge_target *const *targets, int n, const ridge_machine *machine, FILE *stream) {
    for (int i = 0; i < n; i++) {
        const ridge_target *target = targets[i];
        fprintf(stream, "%s%s:%s  %s (", i ? "\n" : "", target->chapter, target->name, target->summary);
        print_dims(target, stream);
        fputs(")\n", stream);
        print_cases(target, false, stream);
        print_cases(target, true, stream);
        print_variants(target, machine, stream);
    }
}
