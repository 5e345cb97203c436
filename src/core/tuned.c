/* Measured ways: a list in memory, and as text. */
#include "ridge/tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"

static const char heading[] = "ridge-tuned 1";
enum { MOST_ENTRIES = 1 << 16, MOST_LINE = 512, DEVICE_SIZE = 40 };

typedef struct entry {
    char device[DEVICE_SIZE];
    const ridge_target *target;
    const ridge_variant *variant;
    const ridge_way *way;
    ridge_case c;
} entry;

struct ridge_tuned {
    entry *entries;
    int n, room;
    uint64_t number;
};

static void renumber(ridge_tuned *tuned) {
    static _Atomic uint64_t last;
    tuned->number = ++last;
}

ridge_tuned *ridge_tuned_new(void) {
    ridge_tuned *tuned = calloc(1, sizeof *tuned);
    if (tuned) renumber(tuned);
    return tuned;
}
uint64_t ridge_tuned_number(const ridge_tuned *tuned) { return tuned->number; }
void ridge_tuned_free(ridge_tuned *tuned) {
    if (tuned) free(tuned->entries);
    free(tuned);
}
int ridge_tuned_count(const ridge_tuned *tuned) { return tuned->n; }

static void device_of(const ridge_variant *variant, const ridge_abilities *here, char name[DEVICE_SIZE]) {
    if (ridge_variant_backend(variant) == RIDGE_BACKEND_cuda)
        (void)snprintf(name, DEVICE_SIZE, "sm%dx%d", here->sm, here->sm_count);
    else
        (void)snprintf(name, DEVICE_SIZE, "%sx%d", ridge_isa_name(here->isa), here->threads > 0 ? here->threads : 1);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* A copy of a variant, with its ways or some of them, has the same ways in memory. */
static bool has_way(const ridge_variant *variant, const ridge_way *way) {
    return way >= variant->ways && way < variant->ways + variant->n_ways;
}

const ridge_way *ridge_tuned_way(const ridge_tuned *tuned, const ridge_variant *variant, const ridge_problem *problem) {
    char device[DEVICE_SIZE] = "";
    for (int i = 0; i < tuned->n; i++) {
        const entry *e = &tuned->entries[i];
        if (!has_way(variant, e->way) || !ridge_case_same(&e->c, &problem->c)) continue;
        if (!device[0]) device_of(variant, &problem->here, device);
        if (strcmp(device, e->device) == 0) return e->way;
    }
    return NULL;
}

static entry *find(const ridge_tuned *tuned, const char *device, const ridge_variant *variant, const ridge_case *c) {
    for (int i = 0; i < tuned->n; i++) {
        entry *e = &tuned->entries[i];
        if (has_way(variant, e->way) && ridge_case_same(&e->c, c) && strcmp(device, e->device) == 0) return e;
    }
    return NULL;
}

static ridge_status put(ridge_tuned *tuned, const entry *new, ridge_error *error) {
    entry *old = find(tuned, new->device, new->variant, &new->c);
    renumber(tuned);
    if (old) return *old = *new, RIDGE_OK;
    if (tuned->n == MOST_ENTRIES) return ridge_fail(error, RIDGE_INVALID, "more than %d tuned cases", MOST_ENTRIES);
    if (tuned->n == tuned->room) {
        const int room = tuned->room ? 2 * tuned->room : 16;
        entry *more = realloc(tuned->entries, (size_t)room * sizeof *more);
        if (!more) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d tuned cases", room);
        tuned->entries = more;
        tuned->room = room;
    }
    tuned->entries[tuned->n++] = *new;
    return RIDGE_OK;
}

/* The target's own variant, of which `variant` may be a copy. */
static const ridge_variant *own_variant(const ridge_target *target, const char *name) {
    for (int v = 0; v < target->n_variants; v++)
        if (strcmp(target->variants[v].name, name) == 0) return &target->variants[v];
    return NULL;
}

ridge_status ridge_tuned_set(ridge_tuned *tuned, const ridge_target *target, const ridge_variant *variant,
                             const ridge_case *c, const ridge_abilities *here, const ridge_way *way,
                             ridge_error *error) {
    entry new = {.target = target, .variant = variant, .way = way, .c = *c};
    device_of(variant, here, new.device);
    if (way) return put(tuned, &new, error);
    entry *old = find(tuned, new.device, variant, c);
    renumber(tuned);
    if (old) *old = tuned->entries[--tuned->n];
    return RIDGE_OK;
}

/* ---- from text --------------------------------------------------------------------------------------------------- */

typedef enum field { DEVICE, TARGET, VARIANT, WAY, TYPE, EXTENTS, LAYOUT, OPTIONS, FIELDS } field;

/* Cuts the line into its fields, in place. */
static int cut(char *line, char *word[FIELDS]) {
    int n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(line, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
        if (n == FIELDS) return n + 1;
        word[n++] = w;
    }
    return n;
}

/* Whole numbers separated by x. */
static bool read_extents(const char *text, int rank, int64_t *dim) {
    for (int d = 0; d < rank; d++) {
        char *end;
        const long long extent = strtoll(text, &end, 10);
        if (end == text || *text == '-' || *end != (d == rank - 1 ? '\0' : 'x')) return false;
        dim[d] = extent;
        text = end + 1;
    }
    return true;
}

static bool read_options(const char *text, const ridge_target *target, double *option) {
    int n = 0;
    while (n < RIDGE_MAX_OPTIONS && target->options[n].name) n++;
    if (n == 0) return strcmp(text, "-") == 0;
    for (int i = 0; i < n; i++) {
        char *end;
        option[i] = strtod(text, &end);
        if (end == text || !isfinite(option[i]) || *end != (i == n - 1 ? '\0' : ',')) return false;
        text = end + 1;
    }
    return true;
}

static bool read_layout(const char *text, const ridge_target *target, unsigned *column_major) {
    char *end;
    const unsigned long bits = strtoul(text, &end, 10);
    *column_major = (unsigned)bits;
    return end != text && *text != '-' && *end == '\0' && bits >> (target->n_in + target->n_out) == 0;
}

/* NULL: right, and *known says whether this build has what it names. Else what is wrong. */
static const char *read_entry(char *line, entry *e, bool *known) {
    char *word[FIELDS];
    *known = false;
    if (cut(line, word) != FIELDS) return "a line has eight fields";
    if (strlen(word[DEVICE]) >= sizeof e->device) return "no such device";
    (void)snprintf(e->device, sizeof e->device, "%s", word[DEVICE]);
    e->target = ridge_target_find(word[TARGET]);
    e->variant = e->target ? own_variant(e->target, word[VARIANT]) : NULL;
    e->way = e->variant ? ridge_way_find(e->variant, word[WAY]) : NULL;
    e->c.dtype = ridge_dtype_named(word[TYPE]);
    if (!e->way || e->c.dtype == RIDGE_DTYPE_NONE) return NULL;
    if (!read_extents(word[EXTENTS], ridge_target_rank(e->target), e->c.dim)) return "extents are like 64x1024";
    if (!read_layout(word[LAYOUT], e->target, &e->c.column_major)) return "layout is a number, a bit for each tensor";
    if (!read_options(word[OPTIONS], e->target, e->c.option)) return "options are numbers separated by commas, or -";
    *known = true;
    return NULL;
}

static ridge_status parse_line(ridge_tuned *tuned, const char *at, size_t size, const char *name, int number,
                               ridge_error *error) {
    char line[MOST_LINE];
    entry e = {0};
    bool known;
    if (size >= sizeof line || memchr(at, '\0', size))
        return ridge_fail(error, RIDGE_CORRUPT, "%.120s:%d: no line of tuned cases", name, number);
    memcpy(line, at, size);
    line[size] = '\0';
    if (line[0] == '#' || line[strspn(line, " \t\r")] == '\0') return RIDGE_OK;
    if (number == 1) return RIDGE_OK; /* the heading */
    const char *wrong = read_entry(line, &e, &known);
    if (wrong) return ridge_fail(error, RIDGE_CORRUPT, "%.120s:%d: %s", name, number, wrong);
    return known ? put(tuned, &e, error) : RIDGE_OK;
}

ridge_status ridge_tuned_parse(ridge_tuned *tuned, const char *text, size_t size, const char *name,
                               ridge_error *error) {
    const size_t first = strlen(heading);
    if (size < first || memcmp(text, heading, first) != 0 || (size > first && !strchr("\r\n", text[first])))
        return ridge_fail(error, RIDGE_CORRUPT, "%.120s: not written by ridge tune: it does not begin with '%s'", name,
                          heading);
    int number = 1;
    for (size_t at = 0; at < size; number++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - (text + at)) : size - at;
        RIDGE_TRY(parse_line(tuned, text + at, length, name, number, error));
        at += length + 1;
    }
    return RIDGE_OK;
}

/* ---- to text ----------------------------------------------------------------------------------------------------- */

static void print_entry(const entry *e, FILE *to) {
    const int rank = ridge_target_rank(e->target);
    fprintf(to, "%s %s %s %s %s ", e->device, e->target->name, e->variant->name, e->way->name,
            ridge_dtype_name(e->c.dtype));
    for (int d = 0; d < rank; d++) fprintf(to, "%s%lld", d ? "x" : "", (long long)e->c.dim[d]);
    fprintf(to, " %u ", e->c.column_major);
    for (int i = 0; i < RIDGE_MAX_OPTIONS && e->target->options[i].name; i++)
        fprintf(to, "%s%.17g", i ? "," : "", e->c.option[i]);
    fprintf(to, "%s\n", e->target->options[0].name ? "" : "-");
}

ridge_status ridge_tuned_text(const ridge_tuned *tuned, char **text, size_t *size, ridge_error *error) {
    *text = NULL;
    FILE *to = open_memstream(text, size);
    if (to) {
        fprintf(to, "%s\n# device target variant way type extents layout options\n", heading);
        for (int i = 0; i < tuned->n; i++) print_entry(&tuned->entries[i], to);
    }
    if (to && fclose(to) == 0) return RIDGE_OK;
    free(*text);
    *text = NULL;
    return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d tuned cases", tuned->n);
}
