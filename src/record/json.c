/* JSON of plain values, and its layout in a file. */
#include "record/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortage.h"
#include "record/record.h"

json_t *ridge_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static bool follows(char byte, int low, int high) {
    int value = (unsigned char)byte;
    return value >= low && value <= high;
}

/* Length of the well-formed UTF-8 sequence (RFC 3629) at s; 0: none. Allocates nothing, so that the result does not
 * depend on free memory. */
static size_t utf8_length(const char *s) {
    const int first = (unsigned char)s[0];
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    size_t n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    int low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;  /* no overlong forms */
    int high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf; /* no surrogates, nothing beyond U+10FFFF */
    if (!follows(s[1], low, high)) return 0;
    for (size_t i = 2; i < n; i++)
        if (!follows(s[i], 0x80, 0xbf)) return 0;
    return n;
}

json_t *ridge_json_text(const char *text) {
    if (!text) return json_null();
    json_t *json = json_string(text);
    if (json) return json;
    char *clean = malloc(3 * strlen(text) + 1); /* U+FFFD takes three bytes */
    if (!clean) return NULL;
    size_t used = 0;
    while (*text) {
        size_t n = utf8_length(text);
        if (n)
            memcpy(clean + used, text, n);
        else
            memcpy(clean + used, "\xef\xbf\xbd", 3);
        used += n ? n : 3;
        text += n ? n : 1;
    }
    json = json_stringn(clean, used);
    free(clean);
    return json;
}

json_t *ridge_json_seed(uint64_t seed) {
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, seed);
    return json_string(text);
}

json_t *ridge_json_shape(const ridge_target *target, const ridge_case *c) {
    json_t *shape = json_object();
    for (int d = 0; shape && d < ridge_target_rank(target); d++)
        if (json_object_set_new(shape, target->dims[d], json_integer(c->dim[d])) != 0) {
            json_decref(shape);
            return NULL;
        }
    return shape;
}

static int add_columns(json_t *names, const ridge_tensor_spec *specs, int n, unsigned column_major) {
    int failed = 0;
    for (int t = 0; t < n; t++)
        if (column_major >> t & 1) failed |= json_array_append_new(names, ridge_json_text(specs[t].name));
    return failed;
}

json_t *ridge_json_case(const ridge_target *target, const ridge_case *c) {
    json_t *columns = json_array(), *options = json_object();
    int failed = add_columns(columns, target->in, target->n_in, c->column_major) |
                 add_columns(columns, target->out, target->n_out, c->column_major >> target->n_in);
    for (int i = 0; i < RIDGE_MAX_OPTIONS && target->options[i].name; i++)
        failed |= json_object_set_new(options, target->options[i].name, ridge_json_number(c->option[i]));
    json_t *json = json_pack("{s:s, s:o, s:o, s:o}", "dtype", ridge_dtype_name(c->dtype), "shape",
                             ridge_json_shape(target, c), "column_major", columns, "options", options);
    if (!failed) return json;
    json_decref(json);
    return NULL;
}

json_t *ridge_json_array(int n, json_t *(*item)(const void *context, int i), const void *context) {
    json_t *array = json_array();
    for (int i = 0; array && i < n; i++)
        if (json_array_append_new(array, item(context, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *ridge_json_interval(ridge_interval interval) {
    if (interval.n <= 0) interval.median = interval.low = interval.high = (double)NAN;
    return json_pack("{s:o, s:o, s:o, s:i}", "median", ridge_json_number(interval.median), "ci_low",
                     ridge_json_number(interval.low), "ci_high", ridge_json_number(interval.high), "n", interval.n);
}

/* ---- layout ----------------------------------------------------------------------------------------------------- */

static bool is_plain(const json_t *json) { return !json_is_object(json) && !json_is_array(json); }

static bool all_plain(const json_t *json) {
    const char *key;
    size_t i;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)json, key, item) if (!is_plain(item)) return false;
    json_array_foreach(json, i, item) if (!is_plain(item)) return false;
    return true;
}

/* Whether the value fits on one line: a plain value, a list of plain values, a few named values. */
static bool fits_line(const json_t *json) {
    return all_plain(json) && json_object_size(json) <= 6; /* 0 for anything but an object */
}

/* As few digits as read back as the same value: 15, or the 17 that always do. A replay depends on it. */
static bool print_real(double value, FILE *out) {
    char text[40];
    (void)snprintf(text, sizeof text, "%.15g", value);
    const double read = strtod(text, NULL);
    if (read < value || read > value) (void)snprintf(text, sizeof text, "%.17g", value);
    const size_t length = strlen(text);
    if (!strpbrk(text, ".e")) (void)snprintf(text + length, sizeof text - length, ".0"); /* stays a real number */
    return fputs(text, out) >= 0;
}

static bool print_plain(const json_t *json, FILE *out) {
    if (json_is_real(json)) return print_real(json_real_value(json), out);
    return json_dumpf(json, out, JSON_ENCODE_ANY) == 0;
}

static bool print_key(const char *name, FILE *out) {
    json_t *key = json_string(name);
    const bool ok = key && print_plain(key, out);
    json_decref(key);
    return ok && fputs(": ", out) >= 0;
}

/* A value that fits_line holds for. */
static bool print_inline(const json_t *json, FILE *out) {
    const char *key, *comma = "";
    size_t i;
    json_t *item;
    bool ok = true;
    if (is_plain(json)) return print_plain(json, out);
    fputc(json_is_object(json) ? '{' : '[', out);
    json_object_foreach((json_t *)(uintptr_t)json, key, item) {
        ok = ok && fputs(comma, out) >= 0 && print_key(key, out) && print_plain(item, out);
        comma = ", ";
    }
    json_array_foreach(json, i, item) ok = ok && fputs(i ? ", " : "", out) >= 0 && print_plain(item, out);
    fputc(json_is_object(json) ? '}' : ']', out);
    return ok;
}

static void print_break(FILE *out, int depth) { fprintf(out, "\n%*s", 2 * depth, ""); }

static bool print_json(const json_t *json, FILE *out, int depth) {
    bool object = json_is_object(json), ok = true;
    if (fits_line(json)) return print_inline(json, out);
    fputc(object ? '{' : '[', out);
    size_t count = object ? json_object_size(json) : json_array_size(json), i = 0;
    void *iterator = object ? json_object_iter((json_t *)(uintptr_t)json) : NULL;
    for (; ok && i < count; i++) {
        const json_t *item = object ? json_object_iter_value(iterator) : json_array_get(json, i);
        if (i) fputc(',', out);
        print_break(out, depth + 1);
        if (object) {
            ok = print_key(json_object_iter_key(iterator), out);
            iterator = json_object_iter_next((json_t *)(uintptr_t)json, iterator);
        }
        ok = ok && print_json(item, out, depth + 1);
    }
    print_break(out, depth);
    fputc(object ? '}' : ']', out);
    return ok;
}

char *ridge_json_format(const json_t *json, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    const bool whole = out && print_json(json, out, 0) && fputc('\n', out) != EOF;
    if (ridge_memory_text(out, &text) && whole) return text;
    free(text);
    return NULL;
}

ridge_status ridge_write_json(const char *path, const json_t *json, ridge_error *error) {
    size_t size = 0;
    char *text = json ? ridge_json_format(json, &size) : NULL;
    if (!text) return ridge_fail(error, RIDGE_NO_MEMORY, "cannot write %.200s: no memory to build the JSON text", path);
    ridge_status status = ridge_write_file(path, text, size, error);
    free(text);
    return status;
}
