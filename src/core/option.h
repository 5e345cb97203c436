/* Words for the values of targets' options, where they are a choice and not a quantity: activation=gelu. */
#ifndef RIDGE_CORE_OPTION_H
#define RIDGE_CORE_OPTION_H

#include <stdbool.h>

#include "ridge/target.h"

/* How many words an option has; 0: its values are numbers only. */
int ridge_option_words(const ridge_option *option);

/* The word for a value; NULL: there is none, and the number stands for itself. */
const char *ridge_option_word_of(const ridge_option *option, double value);

/* The value that a word stands for; false: it is no word of the option. */
bool ridge_option_value_of(const ridge_option *option, const char *word, double *value);

#endif
