/* Lists of words that a user may type: lookup, completion, and suggestions for typing errors. Pure functions;
 * fuzzed. */
#ifndef RIDGE_CLI_WORDS_H
#define RIDGE_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { RIDGE_MAX_WORDS = 512 };

typedef struct ridge_words {
    int n;
    const char *word[RIDGE_MAX_WORDS];
} ridge_words;

/* Appends the words of one kind; the strings are static. */
typedef void (*ridge_words_fn)(ridge_words *words);

/* Ignores duplicates and words beyond RIDGE_MAX_WORDS. */
void ridge_words_add(ridge_words *words, const char *word);

/* Index of a word, ignoring case; -1 if absent. */
int ridge_words_find(const ridge_words *words, const char *typed);

/* Keystroke errors between a and b, ignoring case: insertions, deletions, replacements and swaps of neighbours count
 * one each. Words longer than 63 bytes are at distance 64 from everything. */
int ridge_edit_distance(const char *a, const char *b);

/* The word that the user probably meant by `typed`: the nearest with at most one error per three typed letters (one in
 * shorter words); else the only word that begins with it. NULL if none. */
const char *ridge_words_nearest(const ridge_words *words, const char *typed);

/* Appends the words of which a part is nearest to `typed`, with as many errors at most: a part is one or several of the
 * pieces between underscores, taken without them ("sofmax" is near "softmax" of online_softmax). */
void ridge_words_near_parts(const ridge_words *words, const char *typed, ridge_words *found);

/* Writes "a, b, c"; a list that does not fit ends in "…". */
void ridge_words_join(const ridge_words *words, char *text, size_t size);

/* Writes ": did you mean 'X'?" when there is a nearest word, else "". Returns text. */
const char *ridge_words_hint(const ridge_words *words, const char *typed, char *text, size_t size);

#endif
