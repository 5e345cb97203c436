#include "core/option.h"

#include <stddef.h>
#include <string.h>

#include "ridge/ops.h"

enum { MOST_WORDS = 8 };

/* Option and words, in the order of their values from 0 on. */
static const struct words {
    const char *option, *word[MOST_WORDS];
} table[] = {
    {"activation",
     {[RIDGE_ACTIVATION_NONE] = "none",
      [RIDGE_ACTIVATION_GELU] = "gelu",
      [RIDGE_ACTIVATION_GELU_TANH] = "gelu_tanh",
      [RIDGE_ACTIVATION_SILU] = "silu",
      [RIDGE_ACTIVATION_RELU] = "relu"}},
};

const char *ridge_option_word(const char *option, int i) {
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++)
        if (strcmp(table[t].option, option) == 0) return i >= 0 && i < MOST_WORDS ? table[t].word[i] : NULL;
    return NULL;
}

const char *ridge_option_word_of(const char *option, double value) {
    const int i = value >= 0 && value < MOST_WORDS ? (int)value : -1;
    return value > i || value < i ? NULL : ridge_option_word(option, i);
}

bool ridge_option_value_of(const char *option, const char *word, double *value) {
    const char *known;
    for (int i = 0; (known = ridge_option_word(option, i)); i++)
        if (strcmp(known, word) == 0) return *value = i, true;
    return false;
}
