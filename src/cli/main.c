/* Entry point of the command: finds the subcommand, parses options, and runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/process.h"
#include "cli/say.h"
#include "core/shortage.h"
#include "ridge/version.h"

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
    ridge_say("%s", error->text[0] ? error->text : ridge_status_string(error->status));
    return ridge_exit_status(error->status);
}

/* Checks that output was written: a full disk behind a redirection shows only here. A reader that closed the pipe
 * (`ridge list | head -1`) is no error. */
static int flushed(int code) {
    ridge_error error;
    if (ridge_process_mute()) {
        (void)ridge_fail(&error, RIDGE_IO, "cannot write standard output: it is closed");
        return code ? code : ridge_complain(&error);
    }
    if (ridge_shortage() && code != RIDGE_EXIT_ENVIRONMENT) {
        (void)ridge_fail(&error, RIDGE_NO_MEMORY, "out of memory: what was told is not whole");
        code = ridge_complain(&error);
    }
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (ridge_process_unread()) return code ? code : RIDGE_EXIT_UNREAD;
    (void)ridge_fail(&error, RIDGE_IO, "cannot write standard output: %s", strerror(errno));
    return code ? code : ridge_complain(&error);
}

static bool is_one_of(const char *text, const char *const *names) {
    for (; *names; names++)
        if (strcmp(text, *names) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    static const char *const help[] = {"--help", "-h", NULL}, *const version[] = {"--version", "version", NULL};
    if (!ridge_process_begin()) return RIDGE_EXIT_ENVIRONMENT;
    ridge_say_by_lines();
    if (argc < 2) return ridge_usage(stderr), RIDGE_EXIT_USAGE;
    if (is_one_of(argv[1], version)) return printf("ridge %s\n", RIDGE_VERSION), flushed(RIDGE_EXIT_OK);
    const ridge_command *command;
    ridge_error error = {0};
    if (ridge_command_find(is_one_of(argv[1], help) ? "help" : argv[1], &command, &error) != RIDGE_OK)
        return ridge_complain(&error);
    /* getopt reorders its arguments, and the record wants them as typed. */
    char **typed = calloc((size_t)argc + 1, sizeof *typed);
    if (!typed) return ridge_say("no memory for the command line"), RIDGE_EXIT_ENVIRONMENT;
    memcpy(typed, argv, (size_t)argc * sizeof *typed);
    static ridge_options options; /* its list of sizes is too large for the stack */
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
