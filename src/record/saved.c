#include "record/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/file.h"

static const size_t largest = (size_t)1 << 28;

ridge_status ridge_read_json(const char *path, json_t **json, ridge_error *error) {
    char *text = NULL;
    size_t size = 0;
    json_error_t at;
    *json = NULL;
    RIDGE_TRY(ridge_file_read(path, largest, &text, &size, error));
    *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);
    free(text);
    if (*json) return RIDGE_OK;
    if (!at.text[0])
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory to read %.80s", path); /* as jansson says it */
    return ridge_fail(error, RIDGE_CORRUPT, "%.80s: not JSON, line %d: %.80s", path, at.line, at.text);
}

const char *ridge_saved_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double ridge_saved_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

ridge_interval ridge_saved_interval(const json_t *object) {
    const json_t *n = json_object_get(object, "n");
    const ridge_interval found = {ridge_saved_number(object, "median"), ridge_saved_number(object, "ci_low"),
                                  ridge_saved_number(object, "ci_high"),
                                  json_is_integer(n) ? (int)json_integer_value(n) : 0};
    const ridge_interval none = {(double)NAN, (double)NAN, (double)NAN, 0};
    return found.n > 0 && found.median > 0 ? found : none;
}

bool ridge_saved_same(const json_t *a, const json_t *b, const char *const *keys) {
    for (; *keys; keys++)
        if (!json_equal(json_object_get(a, *keys), json_object_get(b, *keys))) return false;
    return true;
}

const char *const ridge_saved_identity[] = {"target", "case", "backend", "variant", "isa", "threads", "mode", NULL};

const json_t *ridge_saved_find(const json_t *run, const char *list, const json_t *like, const char *const *keys) {
    size_t i;
    const json_t *item;
    const json_t *all = json_object_get(run, list);
    json_array_foreach(all, i, item) if (ridge_saved_same(item, like, keys)) return item;
    return NULL;
}

/* Pairs of runs that an older ridge wrote do not say how they were measured: all of their run was measured alike. */
static bool is_pair_of(const json_t *pair, const json_t *result) {
    static const char *const keys[] = {"target", "case", "backend", NULL}, *const how[] = {"isa", "threads", "mode",
                                                                                           NULL};
    if (!ridge_saved_same(pair, result, keys)) return false;
    if (json_object_get(pair, how[0]) && !ridge_saved_same(pair, result, how)) return false;
    return strcmp(ridge_saved_text(pair, "reference_role"), "baseline") == 0 &&
           strcmp(ridge_saved_text(pair, "optimized"), ridge_saved_text(result, "variant")) == 0;
}

const json_t *ridge_saved_pair(const json_t *run, const json_t *result) {
    size_t i;
    const json_t *pair, *all = json_object_get(run, "pairs");
    json_array_foreach(all, i, pair) if (is_pair_of(pair, result)) return pair;
    return NULL;
}

const char *ridge_saved_key(const json_t *run) { return ridge_saved_text(json_object_get(run, "machine"), "key"); }
const char *ridge_saved_date(const json_t *run) { return ridge_saved_text(run, "date"); }
