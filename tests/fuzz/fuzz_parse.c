/* What users type: sizes, counts, seconds, seeds, inputs, patterns, mistyped words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/parse.h"
#include "cli/values.h"

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
    static ridge_sizes found;
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

static void words(const char *text) {
    ridge_words list = {0};
    char exact[40];
    ridge_pattern_words(&list);
    const char *nearest = ridge_words_nearest(&list, text);
    const int n = (int)strlen(text);
    require(!nearest || ridge_edit_distance(text, nearest) <= (n > 3 ? n / 3 : 1) ||
            strncasecmp(text, nearest, strlen(text)) == 0);
    require(ridge_edit_distance(text, text) == (n > 63 ? 64 : 0));
    for (int i = 0; i < list.n; i++)
        require(ridge_edit_distance(text, list.word[i]) == ridge_edit_distance(list.word[i], text));
    (void)ridge_words_hint(&list, text, exact, sizeof exact);
    require(strlen(exact) < sizeof exact);
    (void)ridge_dtype_by_any_name(text);
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
    words(text);
    return 0;
}
