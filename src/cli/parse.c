#include "cli/parse.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ridge_status ridge_parse_count(const char *text, const char *what, int64_t low, int64_t high, int64_t *value,
                               ridge_error *error) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)*text) || v < low || v > high)
        return ridge_fail(error, RIDGE_INVALID, "%s takes a whole number from %lld to %lld, not '%.40s'", what,
                          (long long)low, (long long)high, text);
    *value = v;
    return RIDGE_OK;
}

ridge_status ridge_parse_seed(const char *text, uint64_t *seed, ridge_error *error) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    if (end == text || *end || errno || !isdigit((unsigned char)*text))
        return ridge_fail(error, RIDGE_INVALID, "--seed takes a whole number from 0 to 2^64-1, not '%.40s'", text);
    *seed = v;
    return RIDGE_OK;
}

ridge_status ridge_parse_seconds(const char *text, const char *what, double *seconds, ridge_error *error) {
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !(v > 0 && v <= 86400))
        return ridge_fail(error, RIDGE_INVALID, "%s takes seconds above 0 and up to 86400, not '%.40s'", what, text);
    *seconds = v;
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

ridge_status ridge_parse_setting(const char *text, char *name, int size, double *value, ridge_error *error) {
    const char *equals = strchr(text, '=');
    char *end = NULL;
    if (equals) *value = strtod(equals + 1, &end);
    if (!equals || equals == text || equals - text >= size || end == equals + 1 || *end ||
        isspace((unsigned char)equals[1]) || !isfinite(*value))
        return ridge_fail(error, RIDGE_INVALID, "--option takes NAME=VALUE, a number, not '%.80s'", text);
    (void)snprintf(name, (size_t)size, "%.*s", (int)(equals - text), text);
    return RIDGE_OK;
}
