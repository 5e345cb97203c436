/* The cache file of a set of ceilings. It is read with suspicion: it may be of another version, cut off, edited by
 * hand, or no JSON at all. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/file.h"
#include "machine/ceilings/ceilings.h"

#define SCHEMA "ridge-ceilings/1"
enum { PATH = 1024, MAX_FILE = 1 << 20 };
static const double most = 1e18; /* beyond any byte count or rate that can be meant */

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *write_interval(ridge_interval x) {
    return json_pack("{s:o, s:o, s:o, s:i}", "median", number(x.median), "ci_low", number(x.low), "ci_high",
                     number(x.high), "n", x.n);
}

static json_t *write_level(const ridge_ceilings *c, int i) {
    const ridge_level *l = &c->levels[i];
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", l->name, "how", l->how, "capacity",
                     number(l->capacity), "read", write_interval(l->read), "copy", write_interval(l->copy), "stream",
                     write_interval(l->stream), "write", write_interval(l->write));
}

static json_t *write_peak(const ridge_ceilings *c, int i) {
    const ridge_peak *p = &c->peaks[i];
    return json_pack("{s:s, s:s, s:s, s:o}", "name", p->name, "dtype", p->dtype, "how", p->how, "gflops",
                     write_interval(p->gflops));
}

static json_t *write_rung(const ridge_ceilings *c, int i) {
    const ridge_rung *r = &c->rungs[i];
    return json_pack("{s:o, s:o, s:o}", "bytes", number(r->bytes), "read", number(r->read_gbps), "copy",
                     number(r->copy_gbps));
}

/* NULL when one of the n entries cannot be made: a list never lacks one. */
static json_t *write_list(const ridge_ceilings *c, int n, json_t *(*entry)(const ridge_ceilings *, int)) {
    json_t *list = json_array();
    for (int i = 0; list && i < n; i++)
        if (json_array_append_new(list, entry(c, i)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static char *write_text(const ridge_ceilings *c) {
    json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:s}", "schema", SCHEMA, "key", c->key, "date",
                             c->date, "threads", c->threads, "levels", write_list(c, c->n_levels, write_level), "peaks",
                             write_list(c, c->n_peaks, write_peak), "rungs", write_list(c, c->n_rungs, write_rung),
                             "faults", c->faults);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    return text;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_text(const json_t *object, const char *name, char *to, size_t size) {
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) >= size) return false;
    (void)snprintf(to, size, "%s", text);
    return true;
}

static bool read_number(const json_t *object, const char *name, double least, double *to) {
    const json_t *value = json_object_get(object, name);
    *to = json_number_value(value);
    return json_is_number(value) && *to >= least && *to <= most;
}

static bool read_int(const json_t *object, const char *name, int least, int greatest, int *to) {
    const json_t *value = json_object_get(object, name);
    json_int_t n = json_integer_value(value);
    *to = n >= least && n <= greatest ? (int)n : 0;
    return json_is_integer(value) && n >= least && n <= greatest;
}

/* n = 0 is "not measured"; null limits are those of too few samples. */
static bool read_interval(const json_t *object, const char *name, ridge_interval *to) {
    const json_t *value = json_object_get(object, name);
    *to = (ridge_interval){0};
    if (!read_int(value, "n", 0, 1000000, &to->n)) return false;
    if (to->n == 0) return true;
    to->low = to->high = (double)NAN;
    if (!read_number(value, "median", 1e-9, &to->median)) return false;
    bool unknown = json_is_null(json_object_get(value, "ci_low")) && json_is_null(json_object_get(value, "ci_high"));
    if (unknown) return true;
    return read_number(value, "ci_low", 0, &to->low) && read_number(value, "ci_high", 0, &to->high) &&
           to->low <= to->median && to->median <= to->high;
}

static bool read_level(const json_t *json, void *to) {
    ridge_level *l = to;
    l->how[0] = '\0'; /* files of before there were GPUs have none */
    if (json_object_get(json, "how") && !read_text(json, "how", l->how, sizeof l->how)) return false;
    return read_text(json, "name", l->name, sizeof l->name) && read_number(json, "capacity", 0, &l->capacity) &&
           read_interval(json, "read", &l->read) && read_interval(json, "copy", &l->copy) &&
           read_interval(json, "stream", &l->stream) && read_interval(json, "write", &l->write) && l->read.n > 0 &&
           l->copy.n > 0;
}

static bool read_peak(const json_t *json, void *to) {
    ridge_peak *p = to;
    return read_text(json, "name", p->name, sizeof p->name) && read_text(json, "dtype", p->dtype, sizeof p->dtype) &&
           read_text(json, "how", p->how, sizeof p->how) && read_interval(json, "gflops", &p->gflops) &&
           p->gflops.n > 0;
}

static bool read_rung(const json_t *json, void *to) {
    ridge_rung *r = to;
    return read_number(json, "bytes", 1, &r->bytes) && read_number(json, "read", 0, &r->read_gbps) &&
           read_number(json, "copy", 0, &r->copy_gbps);
}

/* An array of least … greatest entries into to[], each `size` bytes. */
static bool read_list(const json_t *root, const char *name, size_t least, size_t greatest, size_t size,
                      bool (*read)(const json_t *, void *), void *to, int *n) {
    const json_t *list = json_object_get(root, name);
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count < least || count > greatest) return false;
    for (size_t i = 0; i < count; i++)
        if (!read(json_array_get(list, i), (char *)to + i * size)) return false;
    *n = (int)count;
    return true;
}

/* Caches grow from level to level; memory, the last, has no capacity. */
static bool levels_sane(const ridge_ceilings *c) {
    double before = 0;
    for (int i = 0; i < c->n_levels - 1; i++) {
        if (!(c->levels[i].capacity > before)) return false;
        if (ridge_level_is_cache(&c->levels[i])) before = c->levels[i].capacity;
    }
    return true;
}

/* NULL, or the part that is wrong. */
static const char *read_root(const json_t *root, ridge_ceilings *c) {
    char schema[32];
    if (!read_text(root, "schema", schema, sizeof schema) || strcmp(schema, SCHEMA) != 0) return "schema";
    if (!read_text(root, "key", c->key, sizeof c->key)) return "key";
    if (!read_text(root, "date", c->date, sizeof c->date)) return "date";
    if (!read_int(root, "threads", 0, RIDGE_MAX_CPUS, &c->threads)) return "threads";
    if (!read_list(root, "levels", 1, RIDGE_MAX_LEVELS, sizeof c->levels[0], read_level, c->levels, &c->n_levels) ||
        !levels_sane(c))
        return "levels";
    if (!read_list(root, "peaks", 1, RIDGE_MAX_PEAKS, sizeof c->peaks[0], read_peak, c->peaks, &c->n_peaks))
        return "peaks";
    if (!read_list(root, "rungs", 0, RIDGE_MAX_RUNGS, sizeof c->rungs[0], read_rung, c->rungs, &c->n_rungs))
        return "rungs";
    if (!read_text(root, "faults", c->faults, sizeof c->faults)) return "faults";
    return NULL;
}

ridge_status ridge_ceilings_parse(const char *text, int size, ridge_ceilings *c, ridge_error *error) {
    memset(c, 0, sizeof *c);
    json_error_t at;
    json_t *root = size > 0 ? json_loadb(text, (size_t)size, JSON_REJECT_DUPLICATES, &at) : NULL;
    if (size <= 0) return ridge_fail(error, RIDGE_CORRUPT, "the file is empty");
    if (!root && !at.text[0])
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory to read it"); /* as jansson says it */
    if (!root) return ridge_fail(error, RIDGE_CORRUPT, "not JSON, line %d: %s", at.line, at.text);
    const char *wrong = read_root(root, c);
    json_decref(root);
    if (!wrong) return RIDGE_OK;
    memset(c, 0, sizeof *c);
    return ridge_fail(error, RIDGE_CORRUPT, "\"%s\" is missing or not as " SCHEMA " has it", wrong);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* $XDG_CACHE_HOME counts only when it is absolute, as its specification says. */
static ridge_status make_path(const char *key, int threads, char *path, int size, ridge_error *error) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char end[16] = "";
    int n;
    if (threads > 0) (void)snprintf(end, sizeof end, "-%dt", threads);
    if (cache && cache[0] == '/')
        n = snprintf(path, (size_t)size, "%s/ridge/ceilings-%s%s.json", cache, key, end);
    else if (home && home[0] == '/')
        n = snprintf(path, (size_t)size, "%s/.cache/ridge/ceilings-%s%s.json", home, key, end);
    else
        return ridge_fail(error, RIDGE_IO, "no cache directory: set XDG_CACHE_HOME or HOME");
    if (n < 0 || n >= size) return ridge_fail(error, RIDGE_IO, "the path of the cache directory is too long");
    return RIDGE_OK;
}

ridge_status ridge_ceilings_path(const ridge_machine *machine, int threads, char *path, int size, ridge_error *error) {
    return make_path(machine->key, threads, path, size, error);
}

ridge_status ridge_ceilings_load(const ridge_machine *machine, int threads, ridge_ceilings *c, ridge_error *error) {
    return ridge_ceilings_load_key(machine->key, threads, c, error);
}

ridge_status ridge_ceilings_load_key(const char *key, int threads, ridge_ceilings *c, ridge_error *error) {
    char path[PATH];
    ridge_error why = {0};
    memset(c, 0, sizeof *c);
    RIDGE_TRY(make_path(key, threads, path, (int)sizeof path, error));
    char *text = NULL;
    size_t size = 0;
    ridge_status status = ridge_file_read(path, MAX_FILE, &text, &size, &why);
    if (status == RIDGE_NOT_FOUND)
        status = ridge_fail(error, RIDGE_NOT_FOUND, "no ceilings measured yet (%.200s)", path);
    else if (status != RIDGE_OK)
        status = ridge_fail(error, status, "cannot read %.220s; delete it or measure again", why.text);
    else if (ridge_ceilings_parse(text, (int)size, c, &why) != RIDGE_OK)
        status = ridge_fail(error, RIDGE_CORRUPT, "%.160s: %.100s; delete it or measure again", path, why.text);
    else if (strcmp(c->key, key) != 0 || c->threads != threads)
        status = ridge_fail(error, RIDGE_NOT_FOUND, "%.200s is of another machine", path);
    free(text);
    if (status != RIDGE_OK) memset(c, 0, sizeof *c);
    return status;
}

ridge_status ridge_ceilings_save(const ridge_ceilings *c, ridge_error *error) {
    char path[PATH];
    RIDGE_TRY(make_path(c->key, c->threads, path, (int)sizeof path, error));
    RIDGE_TRY(ridge_file_make_folders(path, error));
    char *text = write_text(c);
    if (!text) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory to write %.200s", path);
    ridge_status status = ridge_file_write(path, text, strlen(text), error);
    free(text);
    return status;
}
