#include "record/chain.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "record/json.h"
#include "record/saved.h"

/* What follows from other fields is not hashed: replay derives it anew. */
static const char *const run_facts[] = {"schema",   "version",      "date",     "command", "settings", "machine",
                                        "ceilings", "gpu_ceilings", "probes",   "rates",   "measured", "wall_s",
                                        "plan",     "interrupted",  "findings", NULL};
static const char *const result_facts[] = {
    "target",  "case",       "dtype", "shape",    "column_major", "options",   "backend", "variant",  "way",
    "isa",     "threads",    "mode",  "verdict",  "reason",       "check",     "work",    "frame_us", "floors",
    "time_us", "dram_bytes", "cut",   "measured", "samples",      "companion", NULL};
static const char *const pair_facts[] = {"target",    "case",      "backend", "isa",       "threads", "mode",
                                         "reference", "optimized", "traffic", "agreement", NULL};

/* Of a result where it has them: files of before keep their chain. */
static const char *const later_facts[] = {"profile", NULL};

/* A missing field counts as null. */
static bool add_fields(SHA2_CTX *sha, const json_t *object, const char *const *keys) {
    for (; *keys; keys++) {
        const json_t *value = json_object_get(object, *keys);
        json_t *null = value ? NULL : json_null();
        size_t size = 0;
        char *text = ridge_json_format(value ? value : null, &size);
        json_decref(null);
        if (!text) return false;
        SHA256Update(sha, (const uint8_t *)*keys, strlen(*keys) + 1);
        SHA256Update(sha, (const uint8_t *)text, size);
        free(text);
    }
    return true;
}

/* Appends a link: the hash of the one before and of the object's facts. */
static bool add_link(json_t *links, const json_t *object, const char *const *keys) {
    SHA2_CTX sha;
    char hex[SHA256_DIGEST_STRING_LENGTH];
    const size_t n = json_array_size(links);
    const char *before = n ? json_string_value(json_array_get(links, n - 1)) : "";
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)before, strlen(before));
    if (!add_fields(&sha, object, keys)) return false;
    for (const char *const *key = later_facts; *key; key++)
        if (json_object_get(object, *key) && !add_fields(&sha, object, (const char *const[]){*key, NULL})) return false;
    (void)SHA256End(&sha, hex);
    return json_array_append_new(links, json_string(hex)) == 0;
}

static json_t *links_of(const json_t *run) {
    size_t i;
    const json_t *result, *pair;
    json_t *links = json_array();
    bool whole = links && add_link(links, run, run_facts);
    json_array_foreach(json_object_get(run, "results"), i, result) whole =
        whole && add_link(links, result, result_facts);
    json_array_foreach(json_object_get(run, "pairs"), i, pair) whole = whole && add_link(links, pair, pair_facts);
    if (whole) return links;
    json_decref(links);
    return NULL;
}

json_t *ridge_chain_of(const json_t *run) {
    json_t *links = links_of(run);
    if (!links) return NULL;
    json_t *head = json_array_get(links, json_array_size(links) - 1);
    return json_pack("{s:O, s:o}", "head", head, "links", links);
}

const char *ridge_chain_head(const json_t *run) { return ridge_saved_text(json_object_get(run, "chain"), "head"); }

int ridge_chain_broken(const json_t *run) {
    const json_t *kept = json_object_get(json_object_get(run, "chain"), "links");
    json_t *links = links_of(run);
    const size_t n = json_array_size(links);
    int broken = links && json_array_size(kept) == n ? -1 : -2;
    for (size_t i = 0; broken == -1 && i < n; i++)
        if (!json_equal(json_array_get(kept, i), json_array_get(links, i))) broken = (int)i;
    if (broken == -1 &&
        !json_equal(json_array_get(kept, n - 1), json_object_get(json_object_get(run, "chain"), "head")))
        broken = (int)n - 1;
    json_decref(links);
    return broken;
}
