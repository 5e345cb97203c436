#include "cli/peers.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/spawn.h"
#include "measure/beside.h"

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
#define KIND_NAME(name) #name,
    RIDGE_PEER_KINDS(KIND_NAME)
#undef KIND_NAME
};
enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

void ridge_peer_words(ridge_words *words) {
    ridge_words_add(words, "torch");
    for (int i = 0; i < KINDS; i++) ridge_words_add(words, kind_names[i]);
}

static int kind_by_name(const char *name) {
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kind_names[i], name) == 0) return i;
    return -1;
}

unsigned ridge_peer_kinds(const char *typed, ridge_error *error) {
    ridge_words words = {0};
    char list[200], hint[80], all[160];
    unsigned kinds = 0;
    ridge_peer_words(&words);
    if (snprintf(list, sizeof list, "%s", typed) >= (int)sizeof list) list[0] = '\0';
    char *rest = list;
    for (const char *word; (word = strsep(&rest, ","));) {
        const int found = ridge_words_find(&words, word);
        if (found < 0) {
            ridge_words_join(&words, all, sizeof all);
            (void)ridge_fail(error, RIDGE_INVALID, "--peers '%.40s' is unknown%s (known: %s)", word,
                             ridge_words_hint(&words, word, hint, sizeof hint), all);
            return 0;
        }
        kinds |= found == 0 ? RIDGE_PEERS_ALL : 1u << (found - 1);
    }
    return kinds;
}

/* Python starts and looks for packages, on a slow file system too. */
static const double listing_limit_s = 60;

/* ---- what Python has --------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *json, const char *field) {
    const char *text = json_string_value(json_object_get(json, field));
    return text ? text : "";
}

static ridge_status no_table(ridge_error *error) {
    return ridge_fail(error, RIDGE_UNSUPPORTED, "--peers: the table of peers is not installed beside this ridge");
}

/* The listing as JSON. `table`: its file, of $RIDGE_PEERS or the one that came along. */
static ridge_status ask(const char **table, json_t **listing, ridge_error *error) {
    static char script[600], own[600];
    pid_t pid;
    int output, code = -1;
    ridge_error why = {0};
    json_error_t wrong;
    if (!ridge_find_beside("peers/ridge_peers/listing.py", script, sizeof script) ||
        !ridge_find_beside("peers/ridge_peers/table.py", own, sizeof own))
        return no_table(error);
    *table = ridge_environment("RIDGE_PEERS", own);
    const char *const arguments[] = {ridge_environment("PYTHON", "python3"), "-B", script, *table, NULL};
    if (ridge_spawn(arguments, &pid, &output, &why) != RIDGE_OK)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "--peers needs Python: %.60s: %.80s (set PYTHON)", arguments[0],
                          why.text);
    char *text;
    const ridge_status read = ridge_spawn_read(pid, output, listing_limit_s, &text, &why);
    *listing = read == RIDGE_OK ? json_loads(text, 0, &wrong) : NULL;
    free(text);
    RIDGE_TRY(ridge_spawn_wait(pid, &code, error));
    if (read != RIDGE_OK)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "--peers: %.60s could not list the table of peers: %.80s",
                          arguments[0], why.text);
    if (code == 0 && *listing) return RIDGE_OK;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "--peers: %.60s could not list the table of peers, %.200s",
                      arguments[0], *table);
}

static void choose_host(const json_t *python, const char *table) {
    ridge_python_choose(&(ridge_python_host){.library = text_of(python, "library"),
                                             .program = text_of(python, "program"),
                                             .home = text_of(python, "home"),
                                             .path = text_of(python, "path"),
                                             .table = table});
}

static void add_version(ridge_peers *peers, const char *what, const char *version) {
    const size_t used = strlen(peers->versions);
    char one[100];
    (void)snprintf(one, sizeof one, "%.40s %.40s", what, version);
    if (!strstr(peers->versions, one)) /* of several kinds */
        (void)snprintf(peers->versions + used, sizeof peers->versions - used, "%s%s", used ? ", " : "", one);
}

static void note_versions(const json_t *listing, unsigned kinds, ridge_peers *peers) {
    add_version(peers, "Python", text_of(json_object_get(listing, "python"), "version"));
    for (int k = 0; k < KINDS; k++) {
        const char *library;
        json_t *version, *packages = json_object_get(json_object_get(listing, "packages"), kind_names[k]);
        if (!(kinds & 1u << k)) continue;
        json_object_foreach(packages, library, version) add_version(peers, library, json_string_value(version));
    }
}

static ridge_status take(const json_t *item, unsigned kinds, const char *missing, ridge_peers *peers,
                         ridge_error *error) {
    const char *name = text_of(item, "variant"), *target = text_of(item, "target");
    const int kind = kind_by_name(text_of(item, "kind"));
    ridge_python_peer *p = &peers->peer[peers->n];
    if (kind < 0 || (strncmp(name, "cpu/", 4) != 0 && strncmp(name, "cuda/", 5) != 0))
        return ridge_fail(error, RIDGE_INVALID, "the table of peers: '%.40s' of %.60s is of kind '%.40s'", name, target,
                          text_of(item, "kind"));
    if (!(kinds & 1u << kind)) return RIDGE_OK;
    *p =
        (ridge_python_peer){.target = ridge_target_find(target), .graph = json_is_true(json_object_get(item, "graph"))};
    if (!p->target)
        return ridge_fail(error, RIDGE_INVALID, "the table of peers: this ridge has no target '%.60s'", target);
    (void)snprintf(p->name, sizeof p->name, "%s", name);
    (void)snprintf(p->idea, sizeof p->idea, "%s", text_of(item, "idea"));
    (void)snprintf(p->absent, sizeof p->absent, "%s", *missing ? missing : text_of(item, "absent"));
    peers->n++;
    return RIDGE_OK;
}

static ridge_status read_listing(const json_t *listing, unsigned kinds, ridge_peers *peers, ridge_error *error) {
    const json_t *items = json_object_get(listing, "peers"), *python = json_object_get(listing, "python");
    const size_t n = json_array_size(items);
    peers->peer = calloc(n + 1, sizeof *peers->peer);
    if (!peers->peer) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu peers", n);
    for (size_t i = 0; i < n; i++)
        RIDGE_TRY(take(json_array_get(items, i), kinds, text_of(python, "missing"), peers, error));
    note_versions(listing, kinds, peers);
    return RIDGE_OK;
}

ridge_status ridge_peers_find(unsigned kinds, ridge_peers *peers, ridge_error *error) {
    const char *table = "";
    json_t *listing = NULL;
    *peers = (ridge_peers){0};
    ridge_status status = ask(&table, &listing, error);
    if (status == RIDGE_OK) choose_host(json_object_get(listing, "python"), table);
    if (status == RIDGE_OK) status = read_listing(listing, kinds, peers, error);
    json_decref(listing);
    return status;
}

void ridge_peers_free(ridge_peers *peers) {
    free(peers->peer);
    *peers = (ridge_peers){0};
}

/* ---- targets with peers ------------------------------------------------------------------------------------------ */

/* Copies of a target have its name. */
static bool is_of(const ridge_python_peer *peer, const ridge_target *target) {
    return strcmp(peer->target->name, target->name) == 0;
}

bool ridge_peers_have(const ridge_peers *peers, const ridge_target *target) {
    for (int i = 0; i < peers->n; i++)
        if (is_of(&peers->peer[i], target)) return true;
    return false;
}

ridge_status ridge_expand_peers(const ridge_target *target, const ridge_peers *peers, ridge_expanded *e,
                                ridge_error *error) {
    *e = (ridge_expanded){.target = *target};
    e->variants = calloc((size_t)target->n_variants + (size_t)peers->n + 1, sizeof *e->variants);
    if (!e->variants) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the peers of %s", target->name);
    int n = target->n_variants;
    memcpy(e->variants, target->variants, (size_t)n * sizeof *e->variants);
    for (int i = 0; i < peers->n; i++)
        if (is_of(&peers->peer[i], target)) e->variants[n++] = ridge_python_variant(&peers->peer[i]);
    e->target.variants = e->variants;
    e->target.n_variants = n;
    return RIDGE_OK;
}
