/* ridge time FILE:SYMBOL --arg …: times a function of the user's own that no target has an oracle for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/foreign_file.h"
#include "cli/contest.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/say.h"
#include "record/json.h"
#include "record/record.h"
#include "report/table.h"
#include "report/text.h"

/* What was measured, of all runs. */
typedef struct timing {
    ridge_foreign_file file;
    ridge_arguments arguments;
    ridge_machine machine;
    ridge_argument_run *runs;
    ridge_solo_result *results;
    int n; /* runs that have a result */
    uint64_t seed;
} timing;

/* ---- what is told ------------------------------------------------------------------------------------------------ */

enum { ARGUMENTS, TIME, WIDTH, LOW, HIGH, RATE, LAUNCHES, VERDICT, REASON, COLUMNS };
static const ridge_column columns[COLUMNS] = {
    [ARGUMENTS] = {.header = "arguments", .field = "arguments", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 20},
    [TIME] = {.header = "time", .field = "time_us", .align = 'r'},
    [WIDTH] = {.header = "±", .align = 'r'},
    [LOW] = {.field = "time_ci_low", .align = 'r'},
    [HIGH] = {.field = "time_ci_high", .align = 'r'},
    [RATE] = {.header = "GB/s", .field = "gbps", .align = 'r', .drop = 10},
    [LAUNCHES] = {.header = "launches", .field = "launches", .align = 'r', .drop = 20},
    [VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [REASON] = {.header = "reason", .field = "reason", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 20},
};

/* Bytes of the arguments in a second. */
static double rate_of(const timing *t, int i) {
    const double us = t->results[i].time_us.median;
    return us > 0 ? t->runs[i].bytes / us * 1e-3 : 0;
}

static void put_times(ridge_table *table, const timing *t, int i) {
    const ridge_solo_result *r = &t->results[i];
    ridge_text text;
    if (!ridge_verdict_timed(r->verdict)) return;
    ridge_table_text(table, TIME, ridge_text_time(&text, r->time_us.median));
    ridge_table_number(table, TIME, r->time_us.median);
    ridge_table_text(table, WIDTH, ridge_text_width(&text, r->time_us));
    ridge_table_number(table, LOW, r->time_us.low);
    ridge_table_number(table, HIGH, r->time_us.high);
    ridge_table_text(table, RATE, ridge_text_significant(&text, rate_of(t, i), 4));
    ridge_table_number(table, RATE, rate_of(t, i));
}

static void show(const timing *t, const ridge_page *page) {
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    char launches[24];
    for (int i = 0; i < t->n; i++) {
        const ridge_solo_result *r = &t->results[i];
        (void)snprintf(launches, sizeof launches, "%d", r->n);
        ridge_table_row(table);
        ridge_table_text(table, ARGUMENTS, t->runs[i].text);
        put_times(table, t, i);
        ridge_table_text(table, LAUNCHES, launches);
        ridge_table_text(table, VERDICT, ridge_verdict_name(r->verdict));
        ridge_table_color(table, VERDICT, ridge_verdict_is_error(r->verdict) ? RIDGE_RED : RIDGE_GREEN);
        ridge_table_text(table, REASON, r->reason);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
}

static json_t *time_item(const void *context, int i) { return ridge_json_number(((const double *)context)[i]); }

static json_t *result_item(const void *context, int i) {
    const timing *t = context;
    const ridge_solo_result *r = &t->results[i];
    const bool timed = ridge_verdict_timed(r->verdict);
    json_t *time = timed ? json_pack("{s:o, s:o, s:o, s:i}", "median", ridge_json_number(r->time_us.median), "low",
                                     ridge_json_number(r->time_us.low), "high", ridge_json_number(r->time_us.high), "n",
                                     r->time_us.n)
                         : json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "arguments", t->runs[i].text, "verdict",
                     ridge_verdict_name(r->verdict), "reason", ridge_json_text(r->reason), "time_us", time, "frame_us",
                     ridge_json_number(r->frame_us), "bytes", ridge_json_number(t->runs[i].bytes), "gbps",
                     timed ? ridge_json_number(rate_of(t, i)) : json_null(), "samples_us",
                     ridge_json_array(timed ? r->n : 0, time_item, r->times));
}

static ridge_status write_json(const ridge_options *o, const timing *t, ridge_error *error) {
    if (!o->json) return RIDGE_OK;
    json_t *json =
        json_pack("{s:s, s:o, s:s, s:o, s:o, s:o}", "schema", "ridge-time/1", "file", ridge_json_text(o->patterns[0]),
                  "symbol", t->file.symbol, "cpu", ridge_json_text(t->machine.cpu), "seed", ridge_json_seed(t->seed),
                  "results", ridge_json_array(t->n, result_item, t));
    const ridge_status status = ridge_write_json(o->json, json, error);
    json_decref(json);
    return status;
}

static int exit_of(const timing *t) {
    int skipped = 0;
    for (int i = 0; i < t->n; i++) {
        if (ridge_verdict_is_error(t->results[i].verdict)) return RIDGE_EXIT_VERDICT;
        skipped += t->results[i].verdict == RIDGE_VERDICT_SKIPPED;
    }
    return skipped == t->n ? RIDGE_EXIT_USAGE : RIDGE_EXIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static double last_level(const ridge_machine *machine) {
    double bytes = 0;
    for (int i = 0; i < 4; i++)
        if ((double)machine->cache_bytes[i] > bytes) bytes = (double)machine->cache_bytes[i];
    return bytes;
}

static ridge_status fits(const timing *t, const ridge_solo *solo, const ridge_argument_run *run, ridge_error *error) {
    const double most = 0.85 * (double)t->machine.memory_bytes;
    double bytes = 0;
    RIDGE_TRY(ridge_solo_bytes(solo, &bytes, error));
    if (bytes <= most) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%.120s needs %.1f GB, and this machine has %.1f GB to give", run->text,
                      bytes * 1e-9, most * 1e-9);
}

static ridge_status measure(const ridge_options *o, timing *t, int i, ridge_error *error) {
    ridge_argument_run *run = &t->runs[i];
    RIDGE_TRY(ridge_arguments_run(&t->arguments, i, run, error));
    ridge_solo solo = {
        .target = &run->target,
        .c = run->c,
        .arguments = run->call,
        .n_arguments = t->arguments.n,
        .cpus = &t->machine.cpus[t->machine.cores - 1], /* the judge is at the first, where there are two */
        .last_level = last_level(&t->machine),
        .seed = t->seed,
        .iterations = o->iterations,
        .max_time = o->max_time,
        .noise = o->noise / 100,
        .limit = o->limit,
        .interrupted = ridge_interrupt_flag()};
    memcpy(solo.from, run->from, sizeof solo.from);
    RIDGE_TRY(fits(t, &solo, run, error));
    t->n = i + 1;
    return ridge_solo_run(&solo, &t->results[i], error);
}

static ridge_status measure_all(const ridge_options *o, timing *t, ridge_error *error) {
    const size_t runs = (size_t)t->arguments.runs;
    RIDGE_TRY(ridge_machine_detect(&t->machine, error));
    t->runs = calloc(runs, sizeof *t->runs);
    t->results = calloc(runs, sizeof *t->results);
    if (!t->runs || !t->results) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu runs", runs);
    ridge_foreign_file_choose(&t->file);
    ridge_interrupt_hold(); /* what was compiled is removed */
    for (int i = 0; i < t->arguments.runs; i++) {
        const ridge_status status = measure(o, t, i, error);
        if (status != RIDGE_OK) return t->n -= t->n > i, status;
    }
    return RIDGE_OK;
}

static void free_all(timing *t) {
    for (int i = 0; t->results && i < t->arguments.runs; i++) ridge_solo_result_free(&t->results[i]);
    free(t->results);
    free(t->runs);
    ridge_arguments_free(&t->arguments);
    ridge_foreign_file_close(&t->file);
}

static int tell(const ridge_options *o, const timing *t) {
    const ridge_page page = ridge_say_page(o);
    ridge_error error = {0};
    const ridge_status status = write_json(o, t, &error);
    show(t, &page);
    return status == RIDGE_OK ? exit_of(t) : ridge_complain(&error);
}

int ridge_cmd_time(const ridge_options *typed) {
    static timing t;
    ridge_error error = {0};
    if (typed->n_patterns != 1 || typed->n_arguments == 0) {
        (void)ridge_fail(&error, RIDGE_INVALID,
                         "time takes a file, its function and arguments: ridge time FILE:SYMBOL --arg f32[1024] …");
        return ridge_complain(&error);
    }
    t = (timing){.n = 0};
    ridge_status status = ridge_output_check(typed, &error);
    if (status == RIDGE_OK) status = ridge_arguments_parse(typed->arguments, typed->n_arguments, &t.arguments, &error);
    if (status == RIDGE_OK) status = ridge_foreign_file_open(typed->patterns[0], "solve", &t.file, &error);
    if (status == RIDGE_OK && strcmp(t.file.symbol, "ridge_kernel") == 0)
        status = ridge_fail(&error, RIDGE_INVALID,
                            "time calls a function by its arguments, and a ridge_kernel has none: "
                            "ridge check times it on a target");
    if (status == RIDGE_OK && t.file.host != RIDGE_FOREIGN_NATIVE)
        status = ridge_fail(&error, RIDGE_INVALID,
                            "time takes C (.c) and shared objects (.so): ridge check takes %.80s", typed->patterns[0]);
    const ridge_options *o = status == RIDGE_OK ? ridge_contest_options(typed) : typed;
    t.seed = o->seed;
    if (status == RIDGE_OK) status = measure_all(o, &t, &error);
    int code = status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
    if (t.n > 0) {
        const int told = tell(o, &t);
        if (code == RIDGE_EXIT_OK) code = told;
    }
    free_all(&t);
    return code;
}
