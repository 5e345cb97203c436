/* ridge completion: scripts that complete the command line, from the tables of commands and options. Target names and
 * other words are those of this build; the scripts run no command. */
#include <string.h>

#include "cli/options.h"

static const char head[] = "# %s completion for ridge, written by: ridge completion %s\n";

/* Prints text with a backslash before special characters, and `quote` instead of a single quote. */
static void print_escaped(FILE *out, const char *text, const char *special, const char *quote) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

static void print_words(FILE *out, ridge_words_fn list) {
    ridge_words words = {0};
    if (list) list(&words);
    for (int i = 0; i < words.n; i++) fprintf(out, "%s%s", i ? " " : "", words.word[i]);
}

/* An option of several commands can have several rows; the first row has its values. */
static bool is_first(const ridge_option_row *row) {
    for (const ridge_option_row *r = ridge_option_rows; r < row; r++)
        if (strcmp(r->name, row->name) == 0) return false;
    return true;
}

/* Help of an option without the colon before its list of words. */
static void print_help(FILE *out, const ridge_option_row *row, const char *special, const char *quote) {
    char text[400];
    (void)snprintf(text, sizeof text, "%s", row->help);
    if (text[strlen(text) - 1] == ':') text[strlen(text) - 1] = '\0';
    print_escaped(out, text, special, quote);
}

static bool has_name_part(const ridge_option_row *row) { return row->value && strchr(row->value, '='); }

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void bash_value(FILE *out, const ridge_option_row *row) {
    fprintf(out, "    --%s) ", row->name);
    if (row->words) {
        fprintf(out, "words='");
        print_words(out, row->words);
        fprintf(out, "' ;;\n");
    } else if (row->kind == RIDGE_VALUE_OTHER || has_name_part(row)) {
        fprintf(out, "return ;;\n");
    } else {
        fprintf(out, "_ridge_paths %s; return ;;\n", row->kind == RIDGE_VALUE_FILE ? "-f" : "-d");
    }
}

static void bash_command(FILE *out, const ridge_command *command) {
    fprintf(out, "        %s)\n            options='", command->name);
    for (int i = 0; i < ridge_option_count; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i])) fprintf(out, "--%s ", ridge_option_rows[i].name);
    fprintf(out, "'\n            words='");
    print_words(out, command->words);
    fprintf(out, "' ;;\n");
}

static void print_bash(FILE *out) {
    fprintf(out, head, "bash", "bash");
    fputs(
        "_ridge_paths() {\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n"
        "}\n\n"
        "_ridge() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} words='' options='' at=$((COMP_CWORD - 1)) option\n"
        "    COMPREPLY=()\n"
        "    # --option=VALUE and NAME=FILE arrive as three words\n"
        "    if [ \"$current\" = = ]; then\n"
        "        current=''\n"
        "    elif [ \"${COMP_WORDS[at]}\" = = ]; then\n"
        "        at=$((at - 1))\n"
        "    fi\n"
        "    option=${COMP_WORDS[at]}\n",
        out);
    for (int i = 0; i < ridge_option_count; i++)
        if (has_name_part(&ridge_option_rows[i]) && ridge_option_rows[i].kind == RIDGE_VALUE_FILE)
            fprintf(out,
                    "    if [ \"${COMP_WORDS[at + 1]}\" = = ] && [ \"${COMP_WORDS[at - 1]}\" = --%s ]; then\n"
                    "        _ridge_paths -f\n        return\n    fi\n",
                    ridge_option_rows[i].name);
    fputs("    if [ \"$COMP_CWORD\" = 1 ]; then\n        words='", out);
    print_words(out, ridge_command_words);
    fputs(" --help --version'\n    else\n        case ${COMP_WORDS[1]} in\n", out);
    for (int i = 0; i < ridge_command_count; i++) bash_command(out, &ridge_commands[i]);
    fputs("        *) return ;;\n        esac\n    fi\n", out);
    fputs(
        "    case $current in -*) words=${options:-$words} ;; *) words=${words:-$options} ;; esac\n"
        "    case $option in\n",
        out);
    for (int i = 0; i < ridge_option_count; i++)
        if (ridge_option_rows[i].value && is_first(&ridge_option_rows[i])) bash_value(out, &ridge_option_rows[i]);
    fputs(
        "    esac\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
        "}\n\n"
        "complete -F _ridge ridge\n",
        out);
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

static const char sh_quote[] = "'\\''";

static void zsh_option(FILE *out, const ridge_option_row *row) {
    fprintf(out, "            '%s--%s%s[", has_name_part(row) ? "*" : "", row->name, row->value ? "=" : "");
    print_help(out, row, "[]\\", sh_quote);
    fputc(']', out);
    if (row->value) {
        fputc(':', out);
        print_escaped(out, row->value, ":\\", sh_quote);
        fputc(':', out);
        if (row->words) {
            fputc('(', out);
            print_words(out, row->words);
            fputc(')', out);
        } else if (row->kind == RIDGE_VALUE_FILE) {
            fputs(has_name_part(row) ? "{compset -P \"*=\" && _files}" : "_files", out);
        } else if (row->kind == RIDGE_VALUE_DIRECTORY) {
            fputs("_files -/", out);
        }
    }
    fputs("'\n", out);
}

static void zsh_command(FILE *out, const ridge_command *command) {
    fprintf(out, "    %s)\n        specs=(\n", command->name);
    for (int i = 0; i < ridge_option_count; i++)
        if (ridge_command_takes(command, &ridge_option_rows[i])) zsh_option(out, &ridge_option_rows[i]);
    if (command->words) {
        fputs("            '*:", out);
        print_escaped(out, command->arguments, ":\\", sh_quote);
        fputs(":(", out);
        print_words(out, command->words);
        fputs(")'\n", out);
    }
    fputs("        ) ;;\n", out);
}

static void print_zsh(FILE *out) {
    fputs("#compdef ridge\n", out);
    fprintf(out, head, "zsh", "zsh");
    fputs("_ridge() {\n    local -a commands specs\n    commands=(\n", out);
    for (int i = 0; i < ridge_command_count; i++) {
        fprintf(out, "        '%s:", ridge_commands[i].name);
        print_escaped(out, ridge_commands[i].summary, ":\\", sh_quote);
        fputs("'\n", out);
    }
    fputs(
        "    )\n"
        "    if (( CURRENT == 2 )); then\n"
        "        _describe command commands\n"
        "        return\n"
        "    fi\n"
        "    shift words\n"
        "    (( CURRENT-- ))\n"
        "    case $words[1] in\n",
        out);
    for (int i = 0; i < ridge_command_count; i++) zsh_command(out, &ridge_commands[i]);
    fputs(
        "    esac\n"
        "    _arguments $specs\n"
        "}\n\n"
        "# The file is a function body where $fpath finds it, and a script where it is sourced.\n"
        "if [[ $funcstack[1] = _ridge ]]; then _ridge \"$@\"; else compdef _ridge ridge; fi\n",
        out);
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

static void fish_condition(FILE *out, const ridge_option_row *row, const ridge_command *only) {
    fputs("complete -c ridge -n '__fish_seen_subcommand_from", out);
    for (int i = 0; i < ridge_command_count; i++)
        if (row ? ridge_command_takes(&ridge_commands[i], row) : &ridge_commands[i] == only)
            fprintf(out, " %s", ridge_commands[i].name);
    fputc('\'', out);
}

static const char fish_special[] = "\\", fish_quote[] = "\\'";

static void fish_option(FILE *out, const ridge_option_row *row) {
    fish_condition(out, row, NULL);
    fprintf(out, " -l %s", row->name);
    if (row->words) {
        fputs(" -x -a '", out);
        print_words(out, row->words);
        fputc('\'', out);
    } else if (row->kind == RIDGE_VALUE_FILE) {
        fputs(" -r -F", out);
    } else if (row->kind == RIDGE_VALUE_DIRECTORY) {
        fputs(" -x -a '(__fish_complete_directories)'", out);
    } else if (row->value) {
        fputs(" -x", out);
    }
    fputs(" -d '", out);
    print_help(out, row, fish_special, fish_quote);
    fputs("'\n", out);
}

static void print_fish(FILE *out) {
    fprintf(out, head, "fish", "fish");
    fputs("complete -c ridge -f\n", out);
    for (int i = 0; i < ridge_command_count; i++) {
        fprintf(out, "complete -c ridge -n __fish_use_subcommand -a %s -d '", ridge_commands[i].name);
        print_escaped(out, ridge_commands[i].summary, fish_special, fish_quote);
        fputs("'\n", out);
    }
    for (int i = 0; i < ridge_command_count; i++) {
        if (!ridge_commands[i].words) continue;
        fish_condition(out, NULL, &ridge_commands[i]);
        fputs(" -a '", out);
        print_words(out, ridge_commands[i].words);
        fputs("'\n", out);
    }
    for (int i = 0; i < ridge_option_count; i++) fish_option(out, &ridge_option_rows[i]);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const struct shell {
    const char *name;
    void (*print)(FILE *out);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
enum { SHELLS = sizeof shells / sizeof shells[0] };

void ridge_shell_words(ridge_words *words) {
    for (int i = 0; i < SHELLS; i++) ridge_words_add(words, shells[i].name);
}

int ridge_cmd_completion(const ridge_options *o) {
    ridge_words words = {0};
    ridge_error error = {0};
    char hint[80];
    ridge_shell_words(&words);
    if (o->n_patterns != 1) {
        (void)ridge_fail(&error, RIDGE_INVALID, "completion takes one shell: bash, zsh or fish");
        return ridge_complain(&error);
    }
    const int shell = ridge_words_find(&words, o->patterns[0]);
    if (shell < 0) {
        (void)ridge_fail(&error, RIDGE_INVALID, "completion: '%.60s' is none of bash, zsh, fish%s", o->patterns[0],
                         ridge_words_hint(&words, o->patterns[0], hint, sizeof hint));
        return ridge_complain(&error);
    }
    shells[shell].print(stdout);
    return RIDGE_EXIT_OK;
}
