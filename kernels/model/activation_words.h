/* The names of activations: words of every target's option "activation", in the order of model/activation.h. */
#ifndef RIDGE_MODEL_ACTIVATION_WORDS_H
#define RIDGE_MODEL_ACTIVATION_WORDS_H

#include <stddef.h>

#include "model/activation.h"

static const char *const activation_words[ACTIVATIONS + 1] = {
    [ACTIVATION_NONE] = "none", [ACTIVATION_GELU] = "gelu", [ACTIVATION_GELU_TANH] = "gelu_tanh",
    [ACTIVATION_SILU] = "silu", [ACTIVATION_RELU] = "relu", [ACTIVATIONS] = NULL,
};

#endif
