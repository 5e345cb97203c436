/* Help texts, from the tables of commands and options, wrapped to the terminal. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/say.h"
#include "core/shortage.h"

enum { WIDEST = 80, OPTION_COLUMN = 27, COMMAND_COLUMN = 14 };

/* "  LEFT   text", the text from `column` on. */
static void write_entry(FILE *stream, const char *left, const char *text, int column) {
    const int gap = column - 2 - ridge_text_columns(left);
    fprintf(stream, "  %s%*s%s\n", left, gap > 1 ? gap : 2, "", text);
}

static void write_usage(FILE *stream) {
    fputs(
        "usage: ridge COMMAND [OPTION…] [PATTERN…]\n\n"
        "Runs kernels as pairs, baseline and optimized. Checks each against an fp64 oracle and places it on the "
        "roofline measured on this machine.\n\ncommands:\n",
        stream);
    for (int i = 0; i < ridge_command_count; i++)
        write_entry(stream, ridge_commands[i].name, ridge_commands[i].summary, COMMAND_COLUMN);
    fputs("\n'ridge help COMMAND' prints options and examples, 'ridge --version' the version.\n", stream);
}

/* An option's help; its list of words follows a colon at the end. */
static void write_option(const ridge_option_row *row, FILE *stream) {
    char left[48], text[400], list[160] = "";
    const bool lists = row->words && row->help[strlen(row->help) - 1] == ':';
    if (lists) {
        ridge_words words = {0};
        row->words(&words);
        ridge_words_join(&words, list, sizeof list);
    }
    (void)snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
    (void)snprintf(text, sizeof text, "%s%s%s", row->help, lists ? " " : "", list);
    write_entry(stream, left, text, OPTION_COLUMN);
}

static void write_help(const ridge_command *command, FILE *stream) {
    fprintf(stream, "usage: ridge %s [OPTION…]%s%s\n\n%s\n\n%s\n\noptions:\n", command->name,
            *command->arguments ? " " : "", command->arguments, command->summary, command->text);
    for (int i = 0; i < ridge_option_count; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i])) write_option(&ridge_option_rows[i], stream);
    fprintf(stream, "\nexamples:\n%s", command->examples);
}

/* The help of a command, or of all (NULL), in the stream's width, limited to a readable line length. */
static void print_help(const ridge_command *command, FILE *stream) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory && command) write_help(command, memory);
    if (memory && !command) write_usage(memory);
    const int width = ridge_say_width(stream);
    if (ridge_memory_text(memory, &text)) ridge_print_wrapped(stream, width < WIDEST ? width : WIDEST, text);
    free(text);
}

void ridge_usage(FILE *stream) { print_help(NULL, stream); }
void ridge_options_help(const ridge_command *command, FILE *stream) { print_help(command, stream); }

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
