/* Help texts, from the tables of commands and options, in 80 columns. */
#include <string.h>

#include "cli/options.h"

enum { WIDTH = 80, OPTION_COLUMN = 27, COMMAND_COLUMN = 13 };

/* Of UTF-8 text whose characters are one column wide. */
static int columns(const char *text, size_t bytes) {
    int n = 0;
    for (size_t i = 0; i < bytes; i++) n += ((unsigned char)text[i] & 0xc0) != 0x80; /* not a continuation byte */
    return n;
}

/* Prints text from column `at` on, breaks lines at spaces and indents them; ends the line. */
static void print_wrapped(FILE *stream, const char *text, int at, int indent) {
    for (bool first = true; *text; first = false) {
        const size_t bytes = strcspn(text, " ");
        const int wide = columns(text, bytes);
        if (!first && at + 1 + wide > WIDTH) {
            fprintf(stream, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(stream, "%s%.*s", first ? "" : " ", (int)bytes, text);
        at += wide + !first;
        text += bytes + (text[bytes] == ' ');
    }
    fputc('\n', stream);
}

/* "  LEFT   text", the text from `column` on; on a line of its own when left is too long. */
static void print_entry(FILE *stream, const char *left, const char *text, int column) {
    int at = 2 + columns(left, strlen(left));
    fprintf(stream, "  %s", left);
    if (at + 1 > column) {
        fputc('\n', stream);
        at = 0;
    }
    fprintf(stream, "%*s", column - at, "");
    print_wrapped(stream, text, column, column);
}

void ridge_usage(FILE *stream) {
    fprintf(stream, "usage: ridge COMMAND [OPTION…] [PATTERN…]\n\n");
    print_wrapped(
        stream,
        "Runs kernels as pairs, baseline and optimized. Checks each against an fp64 oracle and places it on the "
        "roofline measured on this machine.",
        0, 0);
    fprintf(stream, "\ncommands:\n");
    for (int i = 0; i < ridge_command_count; i++)
        print_entry(stream, ridge_commands[i].name, ridge_commands[i].summary, COMMAND_COLUMN);
    fprintf(stream, "\n");
    print_wrapped(stream, "'ridge help COMMAND' prints options and examples, 'ridge --version' the version.", 0, 0);
}

/* An option's text; the words it takes follow a colon at its end. */
static void print_option(const ridge_option_row *row, FILE *stream) {
    char left[48], text[400], list[160] = "";
    const bool lists = row->words && row->help[strlen(row->help) - 1] == ':';
    if (lists) {
        ridge_words words = {0};
        row->words(&words);
        ridge_words_join(&words, list, sizeof list);
    }
    (void)snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    (void)snprintf(text, sizeof text, "%s%s%s", row->help, lists ? " " : "", list);
    print_entry(stream, left, text, OPTION_COLUMN);
}

void ridge_options_help(const ridge_command *command, FILE *stream) {
    fprintf(stream, "usage: ridge %s [OPTION…]%s%s\n\n", command->name, *command->arguments ? " " : "",
            command->arguments);
    print_wrapped(stream, command->summary, 0, 0);
    fputc('\n', stream);
    print_wrapped(stream, command->text, 0, 0);
    fprintf(stream, "\noptions:\n");
    for (int i = 0; i < ridge_option_count; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i])) print_option(&ridge_option_rows[i], stream);
    fprintf(stream, "\nexamples:\n%s", command->examples);
}

int ridge_cmd_help(const ridge_options *o) {
    const ridge_command *command;
    ridge_error error = {0};
    if (o->n_patterns == 0) return ridge_usage(stdout), RIDGE_EXIT_OK;
    if (o->n_patterns > 1) {
        (void)ridge_fail(&error, RIDGE_INVALID, "help takes one command, not %d: ridge help %.40s", o->n_patterns,
                         o->patterns[0]);
        return ridge_complain(&error);
    }
    if (ridge_command_find(o->patterns[0], &command, &error) != RIDGE_OK) return ridge_complain(&error);
    ridge_options_help(command, stdout);
    return RIDGE_EXIT_OK;
}
