/* Source lines: .file, .loc with what was inlined where, and the strings of .debug_str that .loc refers to. */
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

enum { MAX_FILES = 1 << 16, MAX_LEVELS = 100 };

/* .file 1 "name.cu", timestamp, size */
bool ptx_file_read(ptx_parser *p) {
    uint32_t number;
    ptx_name name;
    if (!ptx_u32_read(p, &number, "file number")) return false;
    if (number >= MAX_FILES) return ptx_fail(p, "file number %u", number);
    if (!ptx_string_read(p, &name)) return false;
    while (ptx_accept(p, ',')) ptx_integer_read(p);
    while (p->own->files.count <= number) ptx_list_add(&p->own->files, sizeof(const char *));
    ((const char **)p->own->files.data)[number] = ptx_name_keep(p, &name);
    return !p->failed;
}

/* "label:" and ".b8 95,90,…" lines, each string ended by 0. */
static void debug_strings_read(struct ptx_private *own) {
    const char *at = own->debug_strings.text, *end = at ? at + own->debug_strings.bytes : NULL;
    own->debug_strings = (ptx_section){0};
    ptx_symbol *label = NULL;
    char string[4096];
    size_t length = 0;
    while (at < end) {
        if (*at == '.') { /* .b8 */
            while (at < end && *at != ' ' && *at != '\t') at++;
        } else if (ptx_is_digit(*at)) {
            unsigned byte = 0;
            for (; at < end && ptx_is_digit(*at); at++) byte = 10 * byte + (unsigned)(*at - '0');
            if (byte && length + 1 < sizeof string) string[length++] = (char)byte;
            if (byte || !label) continue;
            char *text = ptx_arena_take(&own->arena, length + 1);
            memcpy(text, string, length);
            label->object = text;
            label = NULL;
        } else if (ptx_is_name_start(*at)) {
            const char *from = at;
            while (at < end && (ptx_is_name(*at) || at == from)) at++;
            uint32_t n = (uint32_t)(at - from);
            label = ptx_table_add(&own->globals, &own->arena, PTX_IS_DEBUG, from, n, ptx_hash(from, n));
            length = 0;
        } else {
            at++;
        }
    }
}

static uint32_t location_hash(const ptx_location *l) {
    uint32_t hash = 2166136261u ^ l->line;
    hash = hash * 16777619u ^ l->column;
    return hash * 16777619u ^ (uint32_t)(uintptr_t)l->file;
}

/* The newest location with this file, line and column; NULL: none. Those of one place are chained in the locals' table.
 */
static ptx_symbol *place_find(const ptx_parser *p, const ptx_location *l) {
    uint32_t hash = location_hash(l);
    const ptx_location *known = p->own->locations.data;
    for (ptx_symbol *s = p->own->places[hash % PTX_PLACES]; s; s = s->next)
        if (known[s->index].file == l->file && known[s->index].line == l->line && known[s->index].column == l->column)
            return s;
    return NULL;
}

static bool same(const ptx_location *a, const ptx_location *b) {
    return a->file == b->file && a->line == b->line && a->column == b->column && a->function == b->function &&
           a->inlined_at == b->inlined_at;
}

/* Its index, new or that of an equal one, which becomes the newest of its place. */
static uint32_t location_keep(ptx_parser *p, const ptx_location *l) {
    ptx_symbol **bucket = &p->own->places[location_hash(l) % PTX_PLACES];
    const ptx_location *known = p->own->locations.data;
    int tried = 0;
    for (ptx_symbol **s = bucket; *s && tried < 32; s = &(*s)->next, tried++) {
        if (!same(&known[(*s)->index], l)) continue;
        ptx_symbol *found = *s;
        *s = found->next;
        found->next = *bucket;
        *bucket = found;
        return found->index;
    }
    ptx_symbol *place = ptx_arena_take(&p->own->scratch, sizeof *place);
    *place = (ptx_symbol){.next = *bucket, .index = (uint32_t)p->own->locations.count};
    *bucket = place;
    *(ptx_location *)ptx_list_add(&p->own->locations, sizeof *l) = *l;
    return place->index;
}

static bool place_read(ptx_parser *p, ptx_location *l) {
    uint32_t file;
    if (!ptx_digits_read(p, &file) || !ptx_digits_read(p, &l->line) || !ptx_digits_read(p, &l->column)) return false;
    l->file = file < p->own->files.count ? ((const char **)p->own->files.data)[file] : NULL;
    return true;
}

/* ", function_name label+4" and ", inlined_at 1 2 3" */
static bool inlined_read(ptx_parser *p, ptx_location *l) {
    ptx_name word;
    while (ptx_accept(p, ',')) {
        if (!ptx_name_need(p, &word, "function_name or inlined_at")) return false;
        if (ptx_name_is(&word, "inlined_at")) {
            ptx_location call = {0};
            if (!place_read(p, &call)) return false;
            ptx_symbol *place = place_find(p, &call);
            l->inlined_at = place ? place->index : location_keep(p, &call);
        } else if (ptx_name_is(&word, "function_name")) {
            if (!ptx_name_need(p, &word, "a label of .debug_str")) return false;
            if (p->own->debug_strings.text) debug_strings_read(p->own);
            ptx_symbol *label = ptx_table_find(&p->own->globals, PTX_IS_DEBUG, word.text, word.length, word.hash);
            uint32_t skip = 0;
            if (ptx_accept(p, '+') && !ptx_digits_read(p, &skip)) return false;
            if (label && label->object && skip <= strlen(label->object))
                l->function = (const char *)label->object + skip;
        } else {
            return ptx_fail(p, "'%.*s' in a .loc", (int)word.length, word.text);
        }
    }
    return true;
}

bool ptx_location_read(ptx_parser *p) {
    ptx_location location = {0};
    if (!place_read(p, &location) || !inlined_read(p, &location)) return false;
    p->loc = location_keep(p, &location);
    return true;
}

/* Outside of functions it says nothing. */
bool ptx_location_skip(ptx_parser *p) {
    ptx_location location = {0};
    return place_read(p, &location);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void ptx_location_text(const ptx_function *f, const ptx_instruction *instruction, char *text, size_t bytes) {
    const ptx_location *l = instruction->loc < (uint32_t)f->n_locations ? &f->location[instruction->loc] : NULL;
    if (!l || !l->file) {
        snprintf(text, bytes, "line %u of the PTX", instruction->line);
        return;
    }
    size_t used = (size_t)snprintf(text, bytes, "%s:%u:%u", l->file, l->line, l->column);
    if (!l->inlined_at) return;
    const char *between = " (inlined at";
    int depth = 0, levels = 0;
    for (const ptx_location *call = l; call->inlined_at && levels < MAX_LEVELS; call = &f->location[call->inlined_at])
        levels++;
    for (; depth < levels && used < bytes; depth++) { /* the nearest two and the outermost */
        l = &f->location[l->inlined_at];
        if (depth > 1 && depth < levels - 1) continue;
        if (depth == levels - 1 && levels > 3) between = ", ...,";
        used += (size_t)snprintf(text + used, bytes - used, "%s %s:%u:%u", between, l->file ? base_name(l->file) : "?",
                                 l->line, l->column);
        between = ",";
    }
    if (used < bytes) snprintf(text + used, bytes - used, ")");
}
