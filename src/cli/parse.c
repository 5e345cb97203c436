#include "cli/parse.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/words.h"
#include "core/option.h"

/* Parses a string of decimal digits with a value up to `high`. */
static bool whole_number(const char *text, uint64_t high, uint64_t *value) {
    *value = 0;
    if (!*text) return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (!isdigit((unsigned char)*text) || *value > (high - digit) / 10 || high < digit) return false;
        *value = *value * 10 + digit;
    }
    return true;
}

static const char *skip_digits(const char *p) {
    while (isdigit((unsigned char)*p)) p++;
    return p;
}

bool ridge_parse_decimal(const char *text, double *value) {
    const char *digits = text + (*text == '-'), *p = skip_digits(digits);
    if (p == digits) return false;
    if (*p == '.') {
        digits = p + 1;
        p = skip_digits(digits);
        if (p == digits) return false;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        digits = p + (*p == '-' || *p == '+');
        p = skip_digits(digits);
        if (p == digits) return false;
    }
    if (*p) return false;
    *value = strtod(text, NULL);
    return isfinite(*value);
}

ridge_status ridge_parse_count(const char *text, const char *what, int64_t low, int64_t high, int64_t *value,
                               ridge_error *error) {
    uint64_t v;
    if (!whole_number(text, (uint64_t)high, &v) || (int64_t)v < low)
        return ridge_fail(error, RIDGE_INVALID, "%s takes a whole number from %lld to %lld, not '%.40s'", what,
                          (long long)low, (long long)high, text);
    *value = (int64_t)v;
    return RIDGE_OK;
}

ridge_status ridge_parse_seed(const char *text, uint64_t *seed, ridge_error *error) {
    uint64_t v;
    if (!whole_number(text, UINT64_MAX, &v))
        return ridge_fail(error, RIDGE_INVALID, "--seed takes a whole number from 0 to 2^64-1, not '%.40s'", text);
    *seed = v;
    return RIDGE_OK;
}

ridge_status ridge_parse_seconds(const char *text, const char *what, double *seconds, ridge_error *error) {
    double v;
    if (!ridge_parse_decimal(text, &v) || !(v > 0 && v <= 86400))
        return ridge_fail(error, RIDGE_INVALID, "%s takes seconds above 0 and up to 86400, not '%.40s'", what, text);
    *seconds = v;
    return RIDGE_OK;
}

ridge_status ridge_parse_work(const char *text, const char *what, double *flop, ridge_error *error) {
    double v;
    if (!ridge_parse_decimal(text, &v) || !(v > 0))
        return ridge_fail(error, RIDGE_INVALID, "%s takes FLOP above 0, such as 2e8, not '%.40s'", what, text);
    *flop = v;
    return RIDGE_OK;
}

bool ridge_pattern_matches(const char *pattern, const ridge_target *target) {
    char full[256];
    (void)snprintf(full, sizeof full, "%s:%s", target->chapter, target->name);
    return fnmatch(pattern, target->name, 0) == 0 || fnmatch(pattern, target->chapter, 0) == 0 ||
           fnmatch(pattern, full, 0) == 0;
}

ridge_status ridge_parse_input(const char *text, char *name, int size, const char **file, ridge_error *error) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1] || equals - text >= size)
        return ridge_fail(error, RIDGE_INVALID, "--input takes NAME=FILE.npy, not '%.80s'", text);
    (void)snprintf(name, (size_t)size, "%.*s", (int)(equals - text), text);
    *file = equals + 1;
    return RIDGE_OK;
}

ridge_status ridge_parse_setting(const char *text, char *name, int size, const char **values, ridge_error *error) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1] || equals - text >= size)
        return ridge_fail(error, RIDGE_INVALID, "--option takes NAME=VALUE, a number, not '%.80s'", text);
    (void)snprintf(name, (size_t)size, "%.*s", (int)(equals - text), text);
    *values = equals + 1;
    return RIDGE_OK;
}

static ridge_status parse_value(const ridge_option *option, const char *text, double *value, ridge_error *error) {
    ridge_words words = {0};
    char hint[80], all[100];
    if (ridge_parse_decimal(text, value) || ridge_option_value_of(option, text, value)) return RIDGE_OK;
    for (int i = 0; i < ridge_option_words(option); i++) ridge_words_add(&words, option->words[i]);
    if (words.n == 0)
        return ridge_fail(error, RIDGE_INVALID, "--option takes NAME=VALUE, a number, not '%.40s=%.40s'", option->name,
                          text);
    ridge_words_join(&words, all, sizeof all);
    return ridge_fail(error, RIDGE_INVALID, "--option %.40s: '%.40s' is unknown%s (known: %s)", option->name, text,
                      ridge_words_hint(&words, text, hint, sizeof hint), all);
}

ridge_status ridge_parse_option_values(const ridge_option *option, const char *text, double *value, int *n,
                                       ridge_error *error) {
    *n = 0;
    for (const char *at = text;; at++) {
        char one[64];
        const size_t length = strcspn(at, ",");
        if (*n == RIDGE_MAX_VALUES)
            return ridge_fail(error, RIDGE_INVALID, "--option %.40s: more than %d values", option->name,
                              RIDGE_MAX_VALUES);
        (void)snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), at);
        RIDGE_TRY(parse_value(option, one, &value[(*n)++], error));
        at += length;
        if (!*at) return RIDGE_OK;
    }
}
