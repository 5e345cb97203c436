#include "core/option.h"

#include <stddef.h>
#include <string.h>

int ridge_option_words(const ridge_option *option) {
    int n = 0;
    while (option->words && option->words[n]) n++;
    return n;
}

const char *ridge_option_word_of(const ridge_option *option, double value) {
    const int n = ridge_option_words(option);
    for (int i = 0; i < n; i++)
        if (value >= i && value <= i) return option->words[i]; /* a NaN has none */
    return NULL;
}

bool ridge_option_value_of(const ridge_option *option, const char *word, double *value) {
    const int n = ridge_option_words(option);
    for (int i = 0; i < n; i++)
        if (strcmp(option->words[i], word) == 0) return *value = i, true;
    return false;
}
