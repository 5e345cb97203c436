#include "cli/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

void ridge_words_add(ridge_words *words, const char *word) {
    for (int i = 0; i < words->n; i++)
        if (strcmp(words->word[i], word) == 0) return;
    if (words->n < RIDGE_MAX_WORDS) words->word[words->n++] = word;
}

int ridge_words_find(const ridge_words *words, const char *typed) {
    for (int i = 0; i < words->n; i++)
        if (strcasecmp(words->word[i], typed) == 0) return i;
    return -1;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

/* Dynamic programming over prefixes. row[i % 3][j] is the distance between the first i bytes of a and the first j of b:
 * a swap looks back two rows. */
int ridge_edit_distance(const char *a, const char *b) {
    const int rows = (int)strnlen(a, LONGEST + 1), columns = (int)strnlen(b, LONGEST + 1);
    if (rows > LONGEST || columns > LONGEST) return LONGEST + 1;
    int row[3][LONGEST + 1];
    for (int j = 0; j <= columns; j++) row[0][j] = j;
    for (int i = 1; i <= rows; i++) {
        int *now = row[i % 3];
        const int *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= columns; j++) {
            now[j] = smaller(before[j - 1] + !same(a[i - 1], b[j - 1]), 1 + smaller(before[j], now[j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = smaller(now[j], two_before[j - 2] + 1);
        }
    }
    return row[rows % 3][columns];
}

static const char *only_completion(const ridge_words *words, const char *typed) {
    const char *found = NULL;
    for (int i = 0; i < words->n; i++) {
        const char *word = words->word[i];
        if (!word || strncasecmp(word, typed, strlen(typed)) != 0) continue;
        if (found) return NULL;
        found = word;
    }
    return found;
}

/* Errors that a typed word may have: one for three letters, one in shorter words. */
static int most_errors(const char *typed) {
    const int third = (int)strlen(typed) / 3;
    return third > 1 ? third : 1;
}

const char *ridge_words_nearest(const ridge_words *words, const char *typed) {
    if (!*typed) return NULL;
    const char *nearest = NULL;
    int best = most_errors(typed) + 1;
    for (int i = 0; i < words->n; i++) {
        const int distance = ridge_edit_distance(typed, words->word[i]);
        /* One error turns any one-letter word into any other: at least one letter must match. */
        if (distance < best && distance < (int)strlen(typed)) best = distance, nearest = words->word[i];
    }
    return nearest ? nearest : only_completion(words, typed);
}

/* Keystroke errors between typed and the nearest part of a word. */
static int part_distance(const char *word, const char *typed) {
    int best = LONGEST + 1;
    for (const char *start = word; start; start = strchr(start, '_') ? strchr(start, '_') + 1 : NULL) {
        char part[LONGEST + 1] = "";
        size_t n = 0;
        for (const char *p = start; n < LONGEST; p++) {
            if (*p && *p != '_') {
                part[n++] = *p;
                continue;
            }
            part[n] = '\0';
            best = smaller(best, ridge_edit_distance(part, typed));
            if (!*p) break;
        }
    }
    return best;
}

void ridge_words_near_parts(const ridge_words *words, const char *typed, ridge_words *found) {
    int best = most_errors(typed);
    if (strlen(typed) < 3) return; /* everything is near two letters */
    for (int i = 0; i < words->n; i++) best = smaller(best, part_distance(words->word[i], typed));
    for (int i = 0; i < words->n; i++)
        if (part_distance(words->word[i], typed) == best) ridge_words_add(found, words->word[i]);
}

void ridge_words_join(const ridge_words *words, char *text, size_t size) {
    static const char more[] = ", …";
    size_t used = 0;
    if (size > 0) text[0] = '\0';
    for (int i = 0; i < words->n; i++) {
        const char *comma = i ? ", " : "";
        const size_t needed = strlen(comma) + strlen(words->word[i]);
        const size_t reserve = i + 1 < words->n ? sizeof more : 1;
        if (used + needed + reserve > size) {
            if (used + sizeof more <= size) (void)snprintf(text + used, size - used, "%s", i ? more : more + 2);
            return;
        }
        (void)snprintf(text + used, size - used, "%s%s", comma, words->word[i]);
        used += needed;
    }
}

const char *ridge_words_hint(const ridge_words *words, const char *typed, char *text, size_t size) {
    const char *nearest = ridge_words_nearest(words, typed);
    (void)snprintf(text, size, "%s%s%s", nearest ? ": did you mean '" : "", nearest ? nearest : "",
                   nearest ? "'?" : "");
    return text;
}
