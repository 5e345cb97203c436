/* Words for the values of targets' options, where they are a choice and not a quantity: activation=gelu. */
#ifndef RIDGE_CORE_OPTION_H
#define RIDGE_CORE_OPTION_H

#include <stdbool.h>

/* The word for value number i of an option; NULL: the option has no words, or not that many. */
const char *ridge_option_word(const char *option, int i);

/* The word for a value of an option; NULL: there is none, and the number stands for itself. */
const char *ridge_option_word_of(const char *option, double value);

/* The value that a word stands for; false: it is no word of the option. */
bool ridge_option_value_of(const char *option, const char *word, double *value);

#endif
