/* What users type: sizes, counts, seconds, seeds, inputs, patterns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static bool accepted(ridge_status status, const ridge_error *error) {
    if (status == RIDGE_OK) return true;
    require(error->status == status && error->text[0] != '\0' && !strchr(error->text, '\n'));
    return false;
}

static void sizes(const char *text) {
    ridge_sizes found = {0};
    ridge_error error = {0};
    if (!accepted(ridge_parse_sizes(text, &found, &error), &error)) return;
    require(found.n >= 1 && found.n <= RIDGE_MAX_SIZES);
    for (int i = 0; i < found.n; i++) {
        require(found.size[i].rank >= 1 && found.size[i].rank <= RIDGE_MAX_RANK);
        for (int d = 0; d < found.size[i].rank; d++)
            require(found.size[i].dim[d] >= 0 && found.size[i].dim[d] <= INT64_C(1) << 40);
    }
}

static void numbers(const char *text) {
    int64_t count;
    uint64_t seed;
    double seconds, value;
    ridge_error error = {0};
    if (ridge_parse_decimal(text, &value)) require(isfinite(value) && strspn(text, "0123456789.eE+-") == strlen(text));
    if (accepted(ridge_parse_count(text, "--threads", 1, 1024, &count, &error), &error))
        require(count >= 1 && count <= 1024);
    (void)accepted(ridge_parse_seed(text, &seed, &error), &error);
    if (accepted(ridge_parse_seconds(text, "--max-time", &seconds, &error), &error))
        require(seconds > 0 && seconds <= 86400);
}

static void names(const char *text) {
    char name[16];
    const char *file = NULL;
    ridge_error error = {0};
    if (accepted(ridge_parse_input(text, name, sizeof name, &file, &error), &error))
        require(strlen(name) < sizeof name && *file != '\0');
    for (int i = 0; i < ridge_target_count; i++) (void)ridge_pattern_matches(text, ridge_targets[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[512];
    if (size >= sizeof text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (strchr(text, '\n')) return 0; /* an argument may hold one, but the check of one line could not tell */
    sizes(text);
    numbers(text);
    names(text);
    return 0;
}
