#include "cli/options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "cli/peers.h"
#include "cli/values.h"
#include "measure/job.h"
#include "record/instructions.h"

/* Index of value among the words of an option; -1, with the nearest word and all words in the error, if it is none of
 * them. */
static int find_value(const char *option, const char *value, ridge_words_fn list, ridge_words *words,
                      ridge_error *error) {
    char hint[80], all[160];
    list(words);
    const int found = ridge_words_find(words, value);
    if (found >= 0) return found;
    ridge_words_join(words, all, sizeof all);
    (void)ridge_fail(error, RIDGE_INVALID, "%s '%.40s' is unknown%s (known: %s)", option, value,
                     ridge_words_hint(words, value, hint, sizeof hint), all);
    return -1;
}

static ridge_status set_chapter(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    const int found = find_value("--chapter", v, ridge_chapter_words, &words, e);
    if (found < 0) return RIDGE_INVALID;
    o->chapter = words.word[found];
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
static ridge_status set_tuned(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--tuned takes a file, not an empty name");
    o->tuned = v;
    return RIDGE_OK;
}
static ridge_status set_peers(ridge_options *o, const char *v, ridge_error *e) {
    o->peers = v ? ridge_peer_kinds(v, e) : RIDGE_PEERS_ALL;
    return o->peers ? RIDGE_OK : RIDGE_INVALID;
}
static ridge_status set_expectations(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--expectations takes a file, not an empty name");
    o->expectations = v;
    return RIDGE_OK;
}
static ridge_status set_check(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->check = true;
    return RIDGE_OK;
}
static ridge_status set_update(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->update = true;
    return RIDGE_OK;
}
static ridge_status set_reason(ridge_options *o, const char *v, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "--reason takes a text for the log, not an empty one");
    o->reason = v;
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
static ridge_status set_all(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->all = true;
    return RIDGE_OK;
}
static ridge_status set_keep(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->keep = true;
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
    o->profile = RIDGE_PROFILE_MINIMAL;
    return RIDGE_OK;
}
static void profile_words(ridge_words *words) {
    static const char *const names[] = {
        [RIDGE_PROFILE_NONE] = "none", [RIDGE_PROFILE_MINIMAL] = "minimal", [RIDGE_PROFILE_FULL] = "full"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) ridge_words_add(words, names[i]);
}
static ridge_status set_profile(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    const int found = find_value("--profile", v, profile_words, &words, e);
    if (found < 0) return RIDGE_INVALID;
    o->profile = (ridge_profile_level)found;
    return RIDGE_OK;
}
static ridge_status set_wide(ridge_options *o, const char *v, ridge_error *e) {
    (void)e, (void)v;
    o->wide = true;
    return RIDGE_OK;
}

static void format_words(ridge_words *words) {
    static const char *const names[] = {
        [RIDGE_FORMAT_TABLE] = "table", [RIDGE_FORMAT_CSV] = "csv", [RIDGE_FORMAT_MARKDOWN] = "markdown"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) ridge_words_add(words, names[i]);
}

static ridge_status set_format(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    const int found = find_value("--format", v, format_words, &words, e);
    if (found < 0) return RIDGE_INVALID;
    o->format = (ridge_format)found;
    return RIDGE_OK;
}

static void text_words(ridge_words *words) {
    for (int code = 0; code < RIDGE_CODE_COUNT; code++) ridge_words_add(words, ridge_code_name((ridge_code)code));
}

static ridge_status set_text(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    o->text = find_value("--text", v, text_words, &words, e); /* words are in the order of ridge_code */
    return o->text < 0 ? RIDGE_INVALID : RIDGE_OK;
}

static void color_words(ridge_words *words) {
    static const char *const names[] = {[RIDGE_AUTO] = "auto", [RIDGE_ALWAYS] = "always", [RIDGE_NEVER] = "never"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) ridge_words_add(words, names[i]);
}

static ridge_status set_color(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    const int found = find_value("--color", v, color_words, &words, e);
    if (found < 0) return RIDGE_INVALID;
    o->color = (ridge_when)found;
    return RIDGE_OK;
}

static ridge_status set_sizes(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_sizes(v, &o->sizes, e);
}
static ridge_status set_seed(ridge_options *o, const char *v, ridge_error *e) {
    o->seeded = true;
    return ridge_parse_seed(v, &o->seed, e);
}
static ridge_status set_max_time(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seconds(v, "--max-time", &o->max_time, e);
}
static ridge_status set_count(const char *v, const char *option, int *count, ridge_error *e) {
    int64_t n = 0;
    RIDGE_TRY(ridge_parse_count(v, option, 1, 1000, &n, e));
    *count = (int)n;
    return RIDGE_OK;
}
static ridge_status set_layouts(ridge_options *o, const char *v, ridge_error *e) {
    return set_count(v, "--layouts", &o->layouts, e);
}
static ridge_status set_cases(ridge_options *o, const char *v, ridge_error *e) {
    return set_count(v, "--cases", &o->cases, e);
}
static ridge_status set_work(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_work(v, "--work", &o->most_work, e);
}
static ridge_status set_cheap(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_work(v, "--cheap", &o->cheap, e);
}
static ridge_status set_within(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seconds(v, "--within", &o->within, e);
}
static ridge_status set_noise(ridge_options *o, const char *v, ridge_error *e) {
    if (ridge_parse_decimal(v, &o->noise) && o->noise > 0 && o->noise <= 100) return RIDGE_OK;
    return ridge_fail(e, RIDGE_INVALID, "--noise takes per cent above 0 and up to 100, not '%.40s'", v);
}
static ridge_status set_limit(ridge_options *o, const char *v, ridge_error *e) {
    return ridge_parse_seconds(v, "--limit", &o->limit, e);
}

static ridge_status set_backend(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    const int found = find_value("--backend", v, ridge_backend_words, &words, e);
    if (found < 0) return RIDGE_INVALID;
    o->backend = words.word[found];
    return RIDGE_OK;
}

static ridge_status set_dtype(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    o->dtype = ridge_dtype_by_any_name(v);
    if (o->dtype != RIDGE_DTYPE_NONE) return RIDGE_OK;
    (void)find_value("--dtype", v, ridge_dtype_words, &words, e);
    return RIDGE_INVALID;
}

static ridge_status set_isa(ridge_options *o, const char *v, ridge_error *e) {
    ridge_words words = {0};
    o->isa = find_value("--isa", v, ridge_isa_words, &words, e); /* words are in the order of ridge_isa */
    return o->isa < 0 ? RIDGE_INVALID : RIDGE_OK;
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

static ridge_status set_repeat(ridge_options *o, const char *v, ridge_error *e) {
    return set_int(v, "--repeat", RIDGE_MAX_MEASUREMENTS, &o->repeat, e);
}
static ridge_status set_warmup(ridge_options *o, const char *v, ridge_error *e) {
    int64_t n;
    RIDGE_TRY(ridge_parse_count(v, "--warmup", 0, 1000000, &n, e));
    o->warmup = (int)n;
    return RIDGE_OK;
}
static ridge_status set_hook(const char *v, const char *option, const char **command, ridge_error *e) {
    if (!*v) return ridge_fail(e, RIDGE_INVALID, "%s takes a command, not an empty text", option);
    *command = v;
    return RIDGE_OK;
}
static ridge_status set_prepare(ridge_options *o, const char *v, ridge_error *e) {
    return set_hook(v, "--prepare", &o->prepare, e);
}
static ridge_status set_cleanup(ridge_options *o, const char *v, ridge_error *e) {
    return set_hook(v, "--cleanup", &o->cleanup, e);
}

static ridge_status set_input(ridge_options *o, const char *v, ridge_error *e) {
    if (o->n_inputs == RIDGE_MAX_INPUT_FILES) return ridge_fail(e, RIDGE_INVALID, "--input: more than 8 files");
    o->inputs[o->n_inputs++] = v;
    return RIDGE_OK;
}

static ridge_status set_argument(ridge_options *o, const char *v, ridge_error *e) {
    if (o->n_arguments == RIDGE_MAX_ARGUMENTS) return ridge_fail(e, RIDGE_INVALID, "--arg: more than 24");
    o->arguments[o->n_arguments++] = v;
    return RIDGE_OK;
}

static ridge_status set_option(ridge_options *o, const char *v, ridge_error *e) {
    char name[64];
    const char *values;
    if (o->n_settings == RIDGE_MAX_SETTINGS) return ridge_fail(e, RIDGE_INVALID, "--option: more than 8");
    RIDGE_TRY(ridge_parse_setting(v, name, sizeof name, &values, e));
    o->settings[o->n_settings++] = v;
    return RIDGE_OK;
}

/* Letters of the commands: l list, r run, c compare, t tune, p peak, f roofline, v verify, n launch, a asm, o profile, d doctor,
 * i diff, k check, x exploits, m time, w new, y replay, s completion, h help. */
const ridge_option_row ridge_option_rows[] = {
    {"chapter", "NAME", "l", "only targets of this chapter", set_chapter, ridge_chapter_words, RIDGE_VALUE_OTHER},
    {"backend", "NAME", "lrctfvn", "only variants of this backend:", set_backend, ridge_backend_words,
     RIDGE_VALUE_OTHER},
    {"backend", "NAME", "p", "only ceilings of this backend:", set_backend, ridge_backend_words, RIDGE_VALUE_OTHER},
    {"variant", "PATTERN", "lrctfvnao",
     "only variants whose name matches, or its part after the slash: 'cpu/*', optimized", set_variant,
     ridge_variant_words, RIDGE_VALUE_OTHER},
    {"peers", "NAMES", "rcfv", "PyTorch and its like as variants, with commas between; torch is all of these:",
     set_peers, ridge_peer_words, RIDGE_VALUE_OTHER},
    {"peers", NULL, "l", "also the variants that --peers adds to a run", set_peers, NULL, RIDGE_VALUE_OTHER},
    {"sizes", "AxB[xC][,…]", "rctfvnakxo",
     "shapes instead of the targets' cases, such as 128x4096,1Kx1M; A..B doubles from A to B (2^10..2^16x4096), "
     "A..B:S adds S, A..B*F multiplies by F, [A,B]x64 lists extents",
     set_sizes, NULL, RIDGE_VALUE_OTHER},
    {"dtype", "TYPE", "lrctfvnakxo", "only cases of this type:", set_dtype, ridge_dtype_words, RIDGE_VALUE_OTHER},
    {"option", "NAME=VALUE[,…]", "rctfvnakxo",
     "value of a target's option, such as label_smoothing=0.1 or activation=none,gelu: a case each; may be repeated",
     set_option, NULL, RIDGE_VALUE_OTHER},
    {"arg", "ARG", "m",
     "the next argument: f32[1024x1024], out:f32[64], inout:…, i32[64]%100 (integers below 100), i32=5, f32=0.5; "
     "several values as in --sizes",
     set_argument, NULL, RIDGE_VALUE_OTHER},
    {"all", NULL, "rcf", "every case; else several targets have one of each type", set_all, NULL, RIDGE_VALUE_OTHER},
    {"isa", "NAME", "rctfvn", "this instruction set instead of the best one:", set_isa, ridge_isa_words,
     RIDGE_VALUE_OTHER},
    {"threads", "N", "rctpfvnkx", "N threads, each pinned to its own core (default: one per core)", set_threads, NULL,
     RIDGE_VALUE_OTHER},
    {"hot", NULL, "rcf", "operands in cache (default: cold, from memory)", set_hot, NULL, RIDGE_VALUE_OTHER},
    {"iterations", "N", "rctfkxm", "N rounds per case instead of the stop rule", set_iterations, NULL,
     RIDGE_VALUE_OTHER},
    {"iterations", "N", "n", "N launches of each variant (default 1)", set_iterations, NULL, RIDGE_VALUE_OTHER},
    {"repeat", "N", "rcfk", "measure every case N times, each in processes of its own, and say how the times differ",
     set_repeat, NULL, RIDGE_VALUE_OTHER},
    {"warmup", "N", "rcf", "N rounds per case before the timed ones, verified and not timed (default 0)", set_warmup,
     NULL, RIDGE_VALUE_OTHER},
    {"prepare", "CMD", "rcf", "run CMD in a shell before each case; if it fails, the run ends", set_prepare, NULL,
     RIDGE_VALUE_OTHER},
    {"cleanup", "CMD", "rcf", "run CMD in a shell after each case; if it fails, the run ends", set_cleanup, NULL,
     RIDGE_VALUE_OTHER},
    {"noise", "PCT", "rctfkm", "stop a case when every time is known within ± PCT % (default 0.5)", set_noise, NULL,
     RIDGE_VALUE_OTHER},
    {"max-time", "S", "rctfkm", "at most S seconds of rounds per case (default 2)", set_max_time, NULL,
     RIDGE_VALUE_OTHER},
    {"within", "S", "rctf",
     "at most S seconds for the whole run: shorter rounds, and a case that does not fit is skipped", set_within, NULL,
     RIDGE_VALUE_OTHER},
    {"limit", "S", "rctfvkxm", "a launch that takes longer than S seconds fails (default 60)", set_limit, NULL,
     RIDGE_VALUE_OTHER},
    {"seed", "N", "rctfvnkxm", "first seed of the input values (default 1)", set_seed, NULL, RIDGE_VALUE_OTHER},
    {"input", "NAME=FILE.npy", "rcf", "a NumPy array as input NAME instead of random data; may be repeated", set_input,
     NULL, RIDGE_VALUE_FILE},
    {"output", "DIR", "rctfyk", "write run.json, report.html, trace.json and roofline.svg into DIR", set_output, NULL,
     RIDGE_VALUE_DIRECTORY},
    {"check", NULL, "r",
     "compare with what is expected of this hardware: status 0 passed, 1 regression, 2 inconclusive, 3 invalid",
     set_check, NULL, RIDGE_VALUE_OTHER},
    {"update-expectations", NULL, "r", "accept this run as what is expected of this hardware; needs --reason",
     set_update, NULL, RIDGE_VALUE_OTHER},
    {"reason", "TEXT", "r", "why the expectations are updated, for their log", set_reason, NULL, RIDGE_VALUE_OTHER},
    {"expectations", "FILE", "r", "the file of these (default: expectations/KEY.json, by the hardware)",
     set_expectations, NULL, RIDGE_VALUE_FILE},
    {"tuned", "FILE", "rcf", "take the ways that ridge tune kept in FILE, instead of the predicted ones", set_tuned,
     NULL, RIDGE_VALUE_FILE},
    {"tuned", "FILE", "t", "where the winners are kept (default: ~/.config/ridge/tuned)", set_tuned, NULL,
     RIDGE_VALUE_FILE},
    {"dry-run", NULL, "rcf", "print what would run and how long it would take", set_dry, NULL, RIDGE_VALUE_OTHER},
    {"profile", "LEVEL", "rc",
     "what NVIDIA's profiler (ncu) counts of each GPU variant behind the measurements: bytes of DRAM, or all that "
     "ridge "
     "profile shows of its kernels:",
     set_profile, profile_words, RIDGE_VALUE_OTHER},
    {"counters", NULL, "rc", "the same as --profile minimal", set_counters, NULL, RIDGE_VALUE_OTHER},
    {"summaries", NULL, "r", "one line per case: FLOP, bytes, intensity, bandwidth- or compute-bound", set_summaries,
     NULL, RIDGE_VALUE_OTHER},
    {"refresh", NULL, "rctpfk", "measure the ceilings again, even if they are cached", set_refresh, NULL,
     RIDGE_VALUE_OTHER},
    {"keep", NULL, "p", "keep the ceilings even if something disturbed their measurement", set_keep, NULL,
     RIDGE_VALUE_OTHER},
    {"edges", NULL, "v", "only the small edge cases, with every instruction set", set_edges, NULL, RIDGE_VALUE_OTHER},
    {"cases", "N", "v", "at most N cases of each way and type, drawn by the seed (default: all)", set_cases, NULL,
     RIDGE_VALUE_OTHER},
    {"layouts", "N", "v", "at most N fills and layouts of each case, drawn by the seed (default: all)", set_layouts,
     NULL, RIDGE_VALUE_OTHER},
    {"work", "FLOP", "v",
     "cut rows of cases whose oracle takes more FLOP, such as 2e8; two tiles of 128 rows and the tail stay", set_work,
     NULL, RIDGE_VALUE_OTHER},
    {"cheap", "FLOP", "v", "only cases whose oracle takes at most FLOP", set_cheap, NULL, RIDGE_VALUE_OTHER},
    {"text", "KIND", "a", "also print the text of each kernel:", set_text, text_words, RIDGE_VALUE_OTHER},
    {"mutants", NULL, "v", "break every output on purpose; fail if a check misses it", set_mutants, NULL,
     RIDGE_VALUE_OTHER},
    {"format", "FORMAT", "lrctpvdiykxmao", "format of tables:", set_format, format_words, RIDGE_VALUE_OTHER},
    {"wide", NULL, "lrctpvdiykxmao", "all columns of tables, even wider than the terminal", set_wide, NULL,
     RIDGE_VALUE_OTHER},
    {"color", "WHEN", "lrctpvdiykxmao", "colors; auto is on terminals, unless NO_COLOR is set:", set_color, color_words,
     RIDGE_VALUE_OTHER},
    {"json", "FILE|-", "lrctpfvdiykxmao", "write the same as JSON to FILE, or to standard output (-)", set_json, NULL,
     RIDGE_VALUE_FILE},
    {"help", NULL, "lrctpfvnadiyshkxmwo", "print this text", set_help, NULL, RIDGE_VALUE_OTHER},
};
enum { LONG_OPTION = 256, /* no character */ ROWS = sizeof ridge_option_rows / sizeof ridge_option_rows[0] };
const int ridge_option_count = ROWS;

bool ridge_command_takes(const ridge_command *command, const ridge_option_row *row) {
    return strchr(row->commands, command->letter) != NULL;
}

static const ridge_option_row *find_row(const ridge_command *command, const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (strcmp(ridge_option_rows[i].name, name) == 0 && ridge_command_takes(command, &ridge_option_rows[i]))
            return &ridge_option_rows[i];
    return NULL;
}

/* Options of a command that begin with prefix. */
static void option_words(const ridge_command *command, const char *prefix, ridge_words *words) {
    words->n = 0;
    for (int i = 0; i < ROWS; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i]) &&
            strncmp(ridge_option_rows[i].name, prefix, strlen(prefix)) == 0)
            ridge_words_add(words, ridge_option_rows[i].name);
}

/* Other commands that take the option `name`. */
static void commands_taking(const char *name, ridge_words *words) {
    words->n = 0;
    for (int i = 0; i < ridge_command_count; i++)
        if (find_row(&ridge_commands[i], name)) ridge_words_add(words, ridge_commands[i].name);
}

/* name: what was typed, without dashes and value. */
static ridge_status unknown_long_option(const ridge_command *command, const char *name, ridge_error *error) {
    ridge_words words = {0};
    char list[120];
    option_words(command, name, &words);
    if (*name && words.n > 1) {
        ridge_words_join(&words, list, sizeof list);
        return ridge_fail(error, RIDGE_INVALID, "%s: '--%.60s' is ambiguous: it begins %s", command->name, name, list);
    }
    commands_taking(name, &words);
    if (words.n > 0) {
        ridge_words_join(&words, list, sizeof list);
        return ridge_fail(error, RIDGE_INVALID, "%s does not take '--%.60s': it is an option of %s", command->name,
                          name, list);
    }
    option_words(command, "", &words);
    const char *nearest = ridge_words_nearest(&words, name);
    return ridge_fail(error, RIDGE_INVALID, "%s: '--%.60s' is not an option%s%s%s (ridge help %s lists them)",
                      command->name, name, nearest ? ": did you mean '--" : "", nearest ? nearest : "",
                      nearest ? "'?" : "", command->name);
}

/* After getopt_long returned `found`, ':' or '?'. For a short option optopt is its character, for a long one that
 * is known LONG_OPTION, else 0. */
static ridge_status not_an_option(const ridge_command *command, const char *typed, int found, ridge_error *error) {
    if (optopt != 0 && optopt != LONG_OPTION)
        return ridge_fail(error, RIDGE_INVALID, "%s: '-%c' is not an option (ridge help %s lists them)", command->name,
                          isprint(optopt) ? optopt : '?', command->name);
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
    if (optopt == 0) return unknown_long_option(command, name, error);
    return ridge_fail(error, RIDGE_INVALID, "%s: '--%.60s' %s (ridge help %s)", command->name, name,
                      found == ':' ? "needs a value" : "takes no value", command->name);
}

/* `ridge run help` asks for help, unless a target has that name. */
static bool asks_for_help(const ridge_command *command, const ridge_options *o) {
    return o->n_patterns == 1 && strcmp(o->patterns[0], "help") == 0 && command->run != ridge_cmd_help &&
           !ridge_target_find("help");
}

ridge_status ridge_options_parse(const ridge_command *command, int argc, char **argv, ridge_options *o,
                                 ridge_error *error) {
    *o = (ridge_options){.max_time = 2, .limit = 60, .isa = -1, .text = -1, .seed = 1, .argc = argc, .argv = argv};
    struct option longs[ROWS + 1] = {0};
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i]))
            longs[n++] =
                (struct option){ridge_option_rows[i].name, ridge_option_rows[i].value ? required_argument : no_argument,
                                NULL, LONG_OPTION};
    optind = 2;
    opterr = 0;
    for (int found, index = 0; (found = getopt_long(argc, argv, ":h", longs, &index)) != -1;) {
        if (found == 'h')
            o->help = true;
        else if (found == LONG_OPTION)
            RIDGE_TRY(find_row(command, longs[index].name)->set(o, optarg, error));
        else
            return not_an_option(command, argv[optind - 1], found, error);
    }
    o->patterns = argv + optind;
    o->n_patterns = argc - optind;
    if (asks_for_help(command, o)) o->help = true, o->n_patterns = 0;
    if (o->n_patterns > 0 && !*command->arguments)
        return ridge_fail(error, RIDGE_INVALID, "%s takes no arguments, but got '%.60s' (ridge help %s)", command->name,
                          o->patterns[0], command->name);
    return RIDGE_OK;
}
