/* Matches a user's patterns with targets. */
#include <stdlib.h>
#include <string.h>

#include "cli/select.h"
#include "cli/target_file.h"
#include "cli/values.h"
#include "ridge/targets.h"

static bool has_wildcard(const char *pattern) { return strpbrk(pattern, "*?[") != NULL; }

static const char *name_part(const char *typed) {
    const char *colon = strchr(typed, ':');
    return colon ? colon + 1 : typed;
}

/* "ch09:l2norm" and "l2norm": the target's name contains the part after the colon, and the chapter is the one named. */
static bool is_part_of(const char *typed, const ridge_target *target) {
    const char *colon = strchr(typed, ':'), *name = name_part(typed);
    if (colon && (strlen(target->chapter) != (size_t)(colon - typed) ||
                  strncmp(typed, target->chapter, (size_t)(colon - typed)) != 0))
        return false;
    return *name && strcasestr(target->name, name);
}

static ridge_status no_such_target(const char *typed, ridge_error *error) {
    ridge_words words = {0}, near = {0};
    char hint[160], list[140];
    ridge_pattern_words(&words);
    (void)ridge_words_hint(&words, name_part(typed), hint, sizeof hint);
    if (!hint[0]) ridge_words_near_parts(&words, name_part(typed), &near);
    if (near.n == 1) (void)snprintf(hint, sizeof hint, ": did you mean '%.100s'?", near.word[0]);
    if (near.n > 1) {
        ridge_words_join(&near, list, sizeof list);
        (void)snprintf(hint, sizeof hint, ": did you mean %s?", list);
    }
    return ridge_fail(error, RIDGE_NOT_FOUND, "no target matches '%.60s'%s (ridge list shows all)", typed, hint);
}

/* The exact pattern for typed text: the text if it matches, else the name of the only target that contains it. */
static ridge_status resolve(const char *typed, const char **pattern, ridge_error *error) {
    ridge_words parts = {0};
    char list[200];
    *pattern = typed;
    if (ridge_target_file_is(typed)) return ridge_target_file_open(typed, pattern, error);
    for (int i = 0; i < ridge_target_total(); i++) {
        if (ridge_pattern_matches(typed, ridge_target_at(i))) return RIDGE_OK;
        if (!has_wildcard(typed) && is_part_of(typed, ridge_target_at(i)))
            ridge_words_add(&parts, ridge_target_at(i)->name);
    }
    if (parts.n == 0) return no_such_target(typed, error);
    if (parts.n == 1) return *pattern = parts.word[0], RIDGE_OK;
    ridge_words_join(&parts, list, sizeof list);
    return ridge_fail(error, RIDGE_NOT_FOUND, "'%.60s' is ambiguous: %s (write one, or '*%.60s*' for all)", typed, list,
                      name_part(typed));
}

/* Sets selected[i] for each of ridge_targets that a pattern matches. */
static ridge_status select_matches(const char *typed, const ridge_target **selected, ridge_error *error) {
    const char *pattern;
    RIDGE_TRY(resolve(typed, &pattern, error));
    if (pattern != typed && !ridge_target_file_is(typed)) fprintf(stderr, "ridge: '%s' selects %s\n", typed, pattern);
    for (int i = 0; i < ridge_target_total(); i++)
        if (ridge_pattern_matches(pattern, ridge_target_at(i))) selected[i] = ridge_target_at(i);
    return RIDGE_OK;
}

/* Before the list is made: each one makes it longer. */
static ridge_status open_files(const ridge_options *o, ridge_error *error) {
    const char *name;
    for (int p = 0; p < o->n_patterns; p++)
        if (ridge_target_file_is(o->patterns[p])) RIDGE_TRY(ridge_target_file_open(o->patterns[p], &name, error));
    return RIDGE_OK;
}

ridge_status ridge_select_targets(const ridge_options *o, const ridge_target ***list, int *n, ridge_error *error) {
    *n = 0;
    RIDGE_TRY(open_files(o, error));
    const ridge_target **targets = *list = calloc((size_t)ridge_target_total() + 1, sizeof *targets);
    if (!targets) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the list of targets");
    for (int i = 0; i < ridge_target_total(); i++) targets[i] = o->n_patterns == 0 ? ridge_target_at(i) : NULL;
    for (int p = 0; p < o->n_patterns; p++) RIDGE_TRY(select_matches(o->patterns[p], targets, error));
    for (int i = 0; i < ridge_target_total(); i++)
        if (targets[i] && (!o->chapter || strcmp(o->chapter, targets[i]->chapter) == 0)) targets[(*n)++] = targets[i];
    if (*n > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NOT_FOUND, "none of the selected targets is of chapter %.40s (ridge list shows all)",
                      o->chapter ? o->chapter : "");
}
