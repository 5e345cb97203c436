/* The options of all subcommands: one table defines their parsing, their help, and the commands that take them. */
#ifndef RIDGE_CLI_OPTIONS_H
#define RIDGE_CLI_OPTIONS_H

#include <stdio.h>

#include "cli/parse.h"
#include "cli/words.h"
#include "report/page.h"

/* Exit statuses; docs/METRICS.md and ridge(1) document them. */
enum {
    RIDGE_EXIT_OK = 0,
    RIDGE_EXIT_VERDICT = 1,     /* a verdict is wrong, impossible or failed; a mutant passed */
    RIDGE_EXIT_USAGE = 2,       /* the command line, or a file it names, is bad */
    RIDGE_EXIT_ENVIRONMENT = 3, /* cannot write, no memory, no worker */
    /* run --check: 0 passed, 1 regression, and these two; replay: the second where a file was edited. */
    RIDGE_EXIT_INCONCLUSIVE = 2,
    RIDGE_EXIT_INVALID = 3, /* other hardware, another work model, a wrong result */
    RIDGE_EXIT_INTERRUPTED = 130,
    RIDGE_EXIT_UNREAD = 141, /* the reader of standard output closed it; a shell's status for SIGPIPE */
};
int ridge_exit_status(ridge_status status);

enum { RIDGE_MAX_INPUT_FILES = 8, RIDGE_MAX_SETTINGS = 8, RIDGE_MAX_ARGUMENTS = 24 };

/* What NVIDIA's profiler counts behind the measurements: nothing, bytes of DRAM, or what each kernel did. */
typedef enum ridge_profile_level { RIDGE_PROFILE_NONE, RIDGE_PROFILE_MINIMAL, RIDGE_PROFILE_FULL } ridge_profile_level;

typedef struct ridge_options {
    char **patterns; /* the remaining arguments */
    int n_patterns;
    const char *chapter;
    const char *backend;
    const char *variant;
    ridge_sizes sizes;
    ridge_dtype dtype;             /* RIDGE_DTYPE_NONE: all */
    int iterations;                /* 0: by the stop rule */
    int repeat;                    /* whole measurements of a case; 0: 1 */
    int warmup;                    /* rounds of a case before the timed ones */
    const char *prepare, *cleanup; /* commands around each case, or NULL */
    double max_time;               /* seconds per case */
    double within;                 /* seconds of the whole run; 0: no limit */
    double limit;                  /* seconds per launch */
    double noise;                  /* per cent: half of the interval at which a case has converged; 0: the default */
    int threads;                   /* 0: one per core */
    int isa;                       /* -1: the best */
    bool hot;
    uint64_t seed;
    bool seeded;      /* it was given */
    int layouts;      /* 0: all */
    int cases;        /* of each way and type; 0: all */
    double most_work; /* FLOP of a case that is not cut; 0: no limit */
    double cheap;     /* FLOP of a case that is selected; 0: no limit */
    const char *inputs[RIDGE_MAX_INPUT_FILES];
    int n_inputs;
    const char *settings[RIDGE_MAX_SETTINGS]; /* --option NAME=VALUE */
    int n_settings;
    const char *arguments[RIDGE_MAX_ARGUMENTS]; /* --arg */
    int n_arguments;
    const char *output;       /* directory, or NULL */
    const char *json;         /* file, "-", or NULL */
    const char *expectations; /* file, or NULL: that of this hardware */
    const char *reason;       /* of an update */
    bool check, update;       /* against, or of, the expectations */
    const char *tuned;        /* file, or NULL */
    int text;                 /* a ridge_code whose text is printed; -1: none */
    unsigned peers;           /* kinds of peers in Python, as bits; 0: none */
    bool all;                 /* every case, not only the headline ones */
    bool keep;                /* ceilings, though something disturbed them */
    bool no_ceilings;         /* no option: of a run that only checks */
    bool dry_run, summaries, refresh, mutants, edges, help;
    ridge_profile_level profile;
    ridge_format format; /* of tables */
    bool wide;           /* tables with all their columns */
    ridge_when color;
    int argc;
    char **argv; /* as typed, for the record */
} ridge_options;

/* Completion of a value that is not from a list of words. */
typedef enum ridge_value_kind { RIDGE_VALUE_OTHER, RIDGE_VALUE_FILE, RIDGE_VALUE_DIRECTORY } ridge_value_kind;

typedef ridge_status (*ridge_set_fn)(ridge_options *options, const char *value, ridge_error *error);

typedef struct ridge_option_row {
    const char *name;
    const char *value;    /* placeholder of its value; NULL: takes none */
    const char *commands; /* letters of the commands that take it */
    const char *help;     /* one sentence; if it ends in a colon, the words are appended */
    ridge_set_fn set;
    ridge_words_fn words; /* the values it takes, when they are a list */
    ridge_value_kind kind;
} ridge_option_row;

typedef struct ridge_command {
    const char *name;
    char letter; /* the command's letter in the option table */
    const char *summary;
    const char *arguments; /* "[PATTERN…]" or "" */
    const char *text;      /* a paragraph of help */
    const char *examples;
    int (*run)(const ridge_options *options);
    ridge_words_fn words; /* arguments for completion; NULL: none */
} ridge_command;

extern const ridge_option_row ridge_option_rows[];
extern const int ridge_option_count;
bool ridge_command_takes(const ridge_command *command, const ridge_option_row *row);

extern const ridge_command ridge_commands[];
extern const int ridge_command_count;
void ridge_command_words(ridge_words *words);
void ridge_shell_words(ridge_words *words);
/* RIDGE_INVALID, with a hint, when there is no such command. */
ridge_status ridge_command_find(const char *typed, const ridge_command **command, ridge_error *error);

ridge_status ridge_options_parse(const ridge_command *command, int argc, char **argv, ridge_options *options,
                                 ridge_error *error);
void ridge_options_help(const ridge_command *command, FILE *stream);
void ridge_usage(FILE *stream);

/* Each returns an exit status. */
int ridge_cmd_list(const ridge_options *options);
int ridge_cmd_run(const ridge_options *options);
int ridge_cmd_compare(const ridge_options *options);
int ridge_cmd_tune(const ridge_options *options);
int ridge_cmd_peak(const ridge_options *options);
int ridge_cmd_roofline(const ridge_options *options);
int ridge_cmd_verify(const ridge_options *options);
int ridge_cmd_launch(const ridge_options *options);
int ridge_cmd_asm(const ridge_options *options);
int ridge_cmd_profile(const ridge_options *options);
int ridge_cmd_diff(const ridge_options *options);
int ridge_cmd_replay(const ridge_options *options);
int ridge_cmd_check(const ridge_options *options);
int ridge_cmd_exploits(const ridge_options *options);
int ridge_cmd_time(const ridge_options *options);
int ridge_cmd_new(const ridge_options *options);
int ridge_cmd_doctor(const ridge_options *options);
int ridge_cmd_completion(const ridge_options *options);
int ridge_cmd_help(const ridge_options *options);

/* Prints "ridge: TEXT" on stderr and returns the exit status for error->status. */
int ridge_complain(const ridge_error *error);

#endif
