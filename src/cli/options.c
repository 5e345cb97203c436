#include "cli/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"

typedef ridge_status (*set_fn)(ridge_options *o, const char *value, ridge_error *error);

static ridge_status set_chapter(ridge_options *o, const char *v, ridge_error *e) {
    (void)e;
    o->chapter = v;
    return RIDGE_OK;
}
static ridge_status set_variant(ridge_options *o, const char *v, ridge_error *e) {
    (void)e;
    o->variant = v;
    return RIDGE_OK;
}
static ridge_status set_output(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--output takes a directory, not an empty name");
    o->output = v;
    return RIDGE_OK;
}
static ridge_status set_json(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--json takes a file, or -, not an empty name");
    o->json = v;
    return RIDGE_OK;
}
static ridge_status set_expectations(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--expectations takes a file, not an empty name");
    o->expectations = v;
    return RIDGE_OK;
}
static ridge_status set_hot(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->hot = true;
    return RIDGE_OK;
}
static ridge_status set_dry(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->dry_run = true;
    return RIDGE_OK;
}
static ridge_status set_help(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->help = true;
    return RIDGE_OK;
}
static ridge_status set_summaries(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->summaries = true;
    return RIDGE_OK;
}
static ridge_status set_refresh(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->refresh = true;
    return RIDGE_OK;
}
static ridge_status set_mutants(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->mutants = true;
    return RIDGE_OK;
}
static ridge_status set_edges(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->edges = true;
    return RIDGE_OK;
}
static ridge_status set_counters(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->counters = true;
    return RIDGE_OK;
}
static ridge_status set_wide(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->wide = true;
    return RIDGE_OK;
}

static ridge_status set_word(const char *v, const char *what, const char *const *words, int n, int *value,
                             ridge_error *e) {
    char names[80] = "";
    for (int i = 0; i < n; i++) {
        if (strcmp(v, words[i]) == 0) return *value = i, RIDGE_OK;
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", words[i]);
    }
    return ridge_fail(e, RIDGE_INVALID, "%s '%.40s' is none of %s", what, v, names);
}

static ridge_status set_format(ridge_options *o, const char *v, ridge_error *e) {
    static const char *const words[] = {"table", "csv", "markdown"};
    int value = 0;
    RIDGE_TRY(set_word(v, "--format", words, 3, &value, e));
    o->format = (ridge_format)value;
    return RIDGE_OK;
}

static ridge_status set_color(ridge_options *o, const char *v, ridge_error *e) {
    static const char *const words[] = {"auto", "always", "never"};
    int value = 0;
    RIDGE_TRY(set_word(v, "--color", words, 3, &value, e));
    o->color = (ridge_when)value;
    return RIDGE_OK;
}

static ridge_status set_sizes(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_sizes(v, &o->sizes, e);
}
static ridge_status set_seed(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seed(v, &o->seed, e);
}
static ridge_status set_max_time(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seconds(v, "--max-time", &o->max_time, e);
}
static ridge_status set_limit(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seconds(v, "--limit", &o->limit, e);
}

static ridge_status set_backend(ridge_options *o, const char *v, ridge_error *e) {
    char names[64] = "";
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        const char *name = ridge_backend_name((ridge_backend)b);
        if (strcmp(v, name) == 0) return o->backend = name, RIDGE_OK;
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", b ? ", " : "", name);
    }
    return ridge_fail(e, RIDGE_INVALID, "--backend '%.40s' is none of %s", v, names);
}

static ridge_status set_dtype(ridge_options *o, const char *v, ridge_error *e) {
    o->dtype = ridge_dtype_parse(v);
    if (o->dtype == RIDGE_DTYPE_NONE)
        return ridge_fail(e, RIDGE_INVALID, "--dtype '%.40s' is unknown: f32, tf32, bf16, f16 or f64", v);
    return RIDGE_OK;
}

static ridge_status set_isa(ridge_options *o, const char *v, ridge_error *e) {
    char names[120] = "";
    for (int i = 0; i < RIDGE_ISA_COUNT; i++) {
        const char *name = ridge_isa_name((ridge_isa)i);
        if (strcmp(v, name) == 0) return o->isa = i, RIDGE_OK;
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", name);
    }
    return ridge_fail(e, RIDGE_INVALID, "--isa '%.40s' is unknown: %s", v, names);
}

static ridge_status set_int(const char *v, const char *what, int64_t high, int *value, ridge_error *e) {
    int64_t n;
    RIDGE_TRY(ridge_parse_count(v, what, 1, high, &n, e));
    *value = (int)n;
    return RIDGE_OK;
}

static ridge_status set_iterations(ridge_options *o, const char *v, ridge_error *e) {
    return set_int(v, "--iterations", 1000000, &o->iterations, e);
}
static ridge_status set_threads(ridge_options *o, const char *v, ridge_error *e) {
    return set_int(v, "--threads", 1024, &o->threads, e);
}

static ridge_status set_input(ridge_options *o, const char *v, ridge_error *e) {
    if (o->n_inputs == RIDGE_MAX_INPUT_FILES) return ridge_fail(e, RIDGE_INVALID, "--input: more than 8 files");
    o->inputs[o->n_inputs++] = v;
    return RIDGE_OK;
}

static ridge_status set_option(ridge_options *o, const char *v, ridge_error *e) {
    char name[64];
    double value;
    if (o->n_settings == RIDGE_MAX_SETTINGS) return ridge_fail(e, RIDGE_INVALID, "--option: more than 8");
    RIDGE_TRY(ridge_parse_setting(v, name, sizeof name, &value, e));
    o->settings[o->n_settings++] = v;
    return RIDGE_OK;
}

/* commands: letters of ridge_command.letter. l list, r run, c compare, p peak, f roofline, v verify, n launch, d doctor
 */
static const struct option_row {
    const char *name, *value, *commands, *help;
    set_fn set;
} rows[] = {
    {"chapter", "NAME", "l", "only this chapter's targets", set_chapter},
    {"backend", "NAME", "lrcfvn", "only this backend's variants: cpu, cuda", set_backend},
    {"backend", "NAME", "p", "only the ceilings of this backend: cpu, cuda", set_backend},
    {"variant", "PATTERN", "lrcfvn", "only variants that match, e.g. '*/optimized'", set_variant},
    {"sizes", "AxB[xC][,…]", "rcfvn", "your own shapes instead of the targets' cases", set_sizes},
    {"dtype", "TYPE", "lrcfvn", "only this type: f32, tf32, bf16, f16", set_dtype},
    {"option", "NAME=VALUE", "rcfvn", "what a target can be told beside its tensors", set_option},
    {"isa", "NAME", "rcfvn", "force an instruction set (scalar works everywhere)", set_isa},
    {"threads", "N", "rcpfvn", "threads, each on a core of its own (default: one a core)", set_threads},
    {"hot", NULL, "rcf", "operands in cache, instead of cold ones from memory", set_hot},
    {"iterations", "N", "rcfn", "N rounds a case instead of the stop rule (launch: N launches)", set_iterations},
    {"max-time", "S", "rcf", "at most S seconds of rounds a case (default 2)", set_max_time},
    {"limit", "S", "rcfv", "a launch longer than S seconds is an endless loop (default 60)", set_limit},
    {"seed", "N", "rcfvn", "first seed of the input values (default 1)", set_seed},
    {"input", "NAME=FILE.npy", "rcf", "a NumPy array as input NAME instead of random data", set_input},
    {"output", "DIR", "rcf", "write run.json and roofline.svg into DIR", set_output},
    {"expectations", "FILE", "r", "write what was reached, in short, to keep and to compare with", set_expectations},
    {"dry-run", NULL, "rcf", "say what would run, and for how long", set_dry},
    {"counters", NULL, "rc", "count each GPU variant's bytes with NVIDIA's profiler (ncu)", set_counters},
    {"summaries", NULL, "r", "one line a case: FLOP, bytes, intensity, which side of the ridge", set_summaries},
    {"refresh", NULL, "rcpf", "measure the ceilings anew, whatever the cache holds", set_refresh},
    {"edges", NULL, "v", "only the small edge cases, with every instruction set", set_edges},
    {"mutants", NULL, "v", "break every output on purpose; fail if a check does not see it", set_mutants},
    {"format", "FORMAT", "lrcpvd", "of tables: table, csv or markdown (default table)", set_format},
    {"wide", NULL, "lrcpvd", "every column at its full width, whatever the terminal's", set_wide},
    {"color", "WHEN", "lrcpvd", "auto (on terminals; heeds NO_COLOR), always or never", set_color},
    {"json", "FILE|-", "lrcpfvd", "the same as JSON, to a file or to standard output", set_json},
    {"help", NULL, "lrcpfvnd", "this text", set_help},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static bool takes(const ridge_command *command, const struct option_row *row) {
    return strchr(row->commands, command->letter) != NULL;
}

static const struct option_row *find_row(const ridge_command *command, const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && takes(command, &rows[i])) return &rows[i];
    return NULL;
}

static ridge_status not_an_option(const ridge_command *command, const char *typed, bool misses_value,
                                  ridge_error *error) {
    const char *what = misses_value ? "needs a value" : "is not an option, or not a whole one, here";
    return ridge_fail(error, RIDGE_INVALID, "%s: '%.60s' %s (ridge %s --help lists them)", command->name, typed, what,
                      command->name);
}

ridge_status ridge_options_parse(const ridge_command *command, int argc, char **argv, ridge_options *o,
                                 ridge_error *error) {
    *o = (ridge_options){.max_time = 2, .limit = 60, .isa = -1, .seed = 1, .argc = argc, .argv = argv};
    struct option longs[ROWS + 1] = {0};
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (takes(command, &rows[i]))
            longs[n++] = (struct option){rows[i].name, rows[i].value ? required_argument : no_argument, NULL, 1};
    optind = 2;
    opterr = 0;
    for (int found, index = 0; (found = getopt_long(argc, argv, ":h", longs, &index)) != -1;) {
        if (found == 'h')
            o->help = true;
        else if (found == 1)
            RIDGE_TRY(find_row(command, longs[index].name)->set(o, optarg, error));
        else
            return not_an_option(command, argv[optind - 1], found == ':', error);
    }
    o->patterns = argv + optind;
    o->n_patterns = argc - optind;
    if (o->n_patterns > 0 && !*command->arguments)
        return ridge_fail(error, RIDGE_INVALID, "%s takes no arguments, but got '%.60s' (ridge %s --help)",
                          command->name, o->patterns[0], command->name);
    return RIDGE_OK;
}

static void write_help(const ridge_command *command, FILE *stream) {
    fprintf(stream, "usage: ridge %s [OPTION…]%s%s\n\n%s\n\n%s\n\noptions:\n", command->name,
            *command->arguments ? " " : "", command->arguments, command->summary, command->text);
    for (int i = 0; i < ROWS; i++) {
        if (!takes(command, &rows[i])) continue;
        char left[48];
        (void)snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                       rows[i].value ? rows[i].value : "");
        /* "…" is one column and three bytes. */
        int width = 24 + (strstr(left, "…") ? 2 : 0);
        fprintf(stream, "  %-*s %s\n", width, left, rows[i].help);
    }
    fprintf(stream, "\nexamples:\n%s", command->examples);
}

void ridge_options_help(const ridge_command *command, FILE *stream) {
    char *text = NULL;
    size_t size = 0;
    FILE *help = open_memstream(&text, &size);
    if (!help) return;
    write_help(command, help);
    if (fclose(help) == 0) ridge_print_wrapped(stream, ridge_say_width(stream), text);
    free(text);
}
