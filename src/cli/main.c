/* The command's front door: finds the subcommand, parses, and hands over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/process.h"

static const char selection[] =
    "PATTERN names a chapter (ch09), a target (fused_l2norm) or both (ch09:fused_l2norm);\n"
    "shell wildcards work ('*softmax*'). Without one, every target is meant.";

const ridge_command ridge_commands[] = {
    {"list", 'l', "Targets, cases and variants, and whether each can run here.", "[PATTERN…]", selection,
     "  ridge list\n  ridge list --chapter ch09 --json -\n", ridge_cmd_list},
    {"run", 'r', "Verify and measure every variant, and place it on this machine's roofline.", "[PATTERN…]", selection,
     "  ridge run ch09 --output runs/today\n  ridge run '*softmax*' --threads 1 --hot\n"
     "  ridge run fused_l2norm --sizes 128x4096 --iterations 100\n"
     "  ridge run linear_softmax --input x=x.npy --input w=w.npy --input b=b.npy\n",
     ridge_cmd_run},
    {"compare", 'c', "Baseline against optimized, interleaved: speedup, bytes saved, agreement.", "[PATTERN…]",
     selection, "  ridge compare ch09:fused_l2norm\n  ridge compare linear_softmax --sizes 1024x1024x100 --threads 1\n",
     ridge_cmd_compare},
    {"peak", 'p', "The ceilings measured on this machine.", "",
     "Kept in the cache directory with their date; measured at the first need, and again with --refresh.",
     "  ridge peak\n  ridge peak --refresh --threads 1 --json peaks.json\n", ridge_cmd_peak},
    {"roofline", 'f', "Measure, and draw the roofline alone.", "[PATTERN…]", selection,
     "  ridge roofline ch09 --max-time 0.5\n  ridge roofline 'linear_*' --output plots\n", ridge_cmd_roofline},
    {"verify", 'v', "Check every variant, case, fill and layout against the fp64 oracle; time nothing.", "[PATTERN…]",
     selection, "  ridge verify\n  ridge verify --mutants\n  ridge verify 'online_*' --isa scalar\n", ridge_cmd_verify},
    {"launch", 'n', "Run variants once in this process, unverified and untimed: for profilers.", "[PATTERN…]",
     selection,
     "  ncu --profile-from-start off --set full ridge launch fused_l2norm --variant cuda/optimized\n"
     "  compute-sanitizer ridge launch --backend cuda --sizes 33x1001 online_softmax\n"
     "  perf record ridge launch micro_tiling_matmul --variant cpu/optimized --iterations 100\n",
     ridge_cmd_launch},
    {"doctor", 'd', "What would make numbers untrue here.", "",
     "Looks at governor, turbo, virtual machine, other load, limits, counters and optional programs.",
     "  ridge doctor\n  ridge doctor --json -\n", ridge_cmd_doctor},
};
const int ridge_command_count = sizeof ridge_commands / sizeof ridge_commands[0];

int ridge_exit_status(ridge_status status) {
    switch (status) {
        case RIDGE_OK: return RIDGE_EXIT_OK;
        case RIDGE_WRONG: return RIDGE_EXIT_VERDICT;
        case RIDGE_INVALID:
        case RIDGE_UNSUPPORTED: /* a file in a format that is not read */
        case RIDGE_NOT_FOUND:
        case RIDGE_CORRUPT: return RIDGE_EXIT_USAGE;
        case RIDGE_INTERRUPTED: return RIDGE_EXIT_INTERRUPTED;
        default: return RIDGE_EXIT_ENVIRONMENT;
    }
}

int ridge_complain(const ridge_error *error) {
    fprintf(stderr, "ridge: %s\n", error->text[0] ? error->text : ridge_status_string(error->status));
    return ridge_exit_status(error->status);
}

static void usage(FILE *stream) {
    fprintf(stream,
            "usage: ridge COMMAND [OPTION…] [PATTERN…]\n\n"
            "Runs kernels as pairs, baseline and optimized, checks each against an fp64 oracle and places it\n"
            "on the roofline measured on this machine.\n\ncommands:\n");
    for (int i = 0; i < ridge_command_count; i++)
        fprintf(stream, "  %-10s %s\n", ridge_commands[i].name, ridge_commands[i].summary);
    fprintf(stream, "\n'ridge COMMAND --help' has the options and examples; 'ridge --version' the version.\n");
}

/* What was printed has to have arrived: a full disk behind a redirection shows only here. A reader that has closed the
 * pipe (`ridge list | head -1`) wanted no more: nothing is said. */
static int flushed(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (ridge_process_unread()) return code ? code : RIDGE_EXIT_UNREAD;
    ridge_error error;
    (void)ridge_fail(&error, RIDGE_IO, "cannot write standard output: %s", strerror(errno));
    return code ? code : ridge_complain(&error);
}

int main(int argc, char **argv) {
    if (!ridge_process_begin()) return RIDGE_EXIT_ENVIRONMENT;
    if (argc < 2) return usage(stderr), RIDGE_EXIT_USAGE;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return usage(stdout), flushed(RIDGE_EXIT_OK);
    if (strcmp(argv[1], "--version") == 0) return printf("ridge %s\n", RIDGE_VERSION), flushed(RIDGE_EXIT_OK);
    const ridge_command *command = NULL;
    for (int i = 0; i < ridge_command_count; i++)
        if (strcmp(argv[1], ridge_commands[i].name) == 0) command = &ridge_commands[i];
    ridge_error error = {0};
    if (!command) {
        (void)ridge_fail(&error, RIDGE_INVALID, "'%.60s' is not a command (ridge --help lists them)", argv[1]);
        return ridge_complain(&error);
    }
    /* getopt reorders its arguments, and the record wants them as typed. */
    char **typed = calloc((size_t)argc + 1, sizeof *typed);
    if (!typed) return RIDGE_EXIT_ENVIRONMENT;
    memcpy(typed, argv, (size_t)argc * sizeof *typed);
    ridge_options options;
    int status;
    if (ridge_options_parse(command, argc, argv, &options, &error) != RIDGE_OK) {
        status = ridge_complain(&error);
    } else if (options.help) {
        ridge_options_help(command, stdout);
        status = RIDGE_EXIT_OK;
    } else {
        options.argv = typed;
        status = command->run(&options);
    }
    free(typed);
    return flushed(status);
}
