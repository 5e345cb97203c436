/* Characters to names, strings and blocks; failures in words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

void ptx_failed(ptx_parser *p, const char *format, ...) {
    if (p->failed) return;
    p->failed = true;
    p->error->line = p->line;
    char *text = p->error->text;
    size_t room = sizeof p->error->text;
    int used = snprintf(text, room, "line %u of the PTX", p->line);
    const ptx_location *location = p->own->locations.data;
    if (p->function && p->loc && p->loc < p->own->locations.count && location[p->loc].file)
        used += snprintf(text + used, room - (size_t)used, " (%.200s:%u:%u)", location[p->loc].file,
                         location[p->loc].line, location[p->loc].column);
    used += snprintf(text + used, room - (size_t)used, p->opcode ? ": %.80s: " : ": ", p->opcode);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - (size_t)used, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) /* one line, whatever the text holds */
        if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
    p->at = p->end;
}

bool ptx_expected(ptx_parser *p, const char *what) {
    char c = ptx_peek(p);
    if (!c) return ptx_fail(p, "expected %s, found the end%s", what, p->function ? " of the function" : "");
    int length = 0; /* of what is shown */
    while (p->at + length < p->end && length < 30 && strchr(" \t\r\n;,", p->at[length]) == NULL) length++;
    if (!length) length = 1;
    return ptx_fail(p, "expected %s, found '%.*s'", what, length, p->at);
}

static void comment_skip(ptx_parser *p) {
    if (p->at[1] == '/') {
        const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
        p->at = end ? end : p->end;
        return;
    }
    for (p->at += 2; p->at < p->end; p->at++) {
        if (*p->at == '\n') p->line++;
        if (*p->at == '*' && p->at + 1 < p->end && p->at[1] == '/') {
            p->at += 2;
            return;
        }
    }
    ptx_fail(p, "a comment does not end");
}

void ptx_skip_slow(ptx_parser *p) {
    for (; p->at < p->end; p->at++) {
        while (p->at + 1 < p->end && *p->at == '/' && (p->at[1] == '/' || p->at[1] == '*')) comment_skip(p);
        if (p->at >= p->end) return;
        if (*p->at == '\n')
            p->line++;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r' && *p->at != '\f' && *p->at != '\v')
            return;
    }
}

bool ptx_need(ptx_parser *p, char c) {
    if (ptx_accept(p, c)) return true;
    return ptx_expected(p, (char[]){'\'', c, '\'', 0});
}

bool ptx_name_read(ptx_parser *p, ptx_name *name) {
    if (!ptx_is_name_start(ptx_peek(p))) return false;
    const char *at = p->at, *prefix_end = p->at;
    uint32_t hash = 2166136261u;
    *name = (ptx_name){.text = at};
    do {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
        bool digit = ptx_is_digit(*at++);
        if (!digit) {
            prefix_end = at;
            name->prefix_hash = hash;
        }
    } while (at < p->end && ptx_is_name(*at));
    name->length = (uint32_t)(at - p->at);
    name->hash = hash;
    name->prefix = (uint32_t)(prefix_end - p->at);
    p->at = at;
    return true;
}

bool ptx_name_need(ptx_parser *p, ptx_name *name, const char *what) {
    *name = (ptx_name){.text = ""};
    return ptx_name_read(p, name) || ptx_expected(p, what);
}

bool ptx_directive_read(ptx_parser *p, ptx_name *name) {
    if (ptx_peek(p) != '.' || p->at + 1 >= p->end || !ptx_is_name_start(p->at[1])) return false;
    p->at++;
    return ptx_name_read(p, name);
}

bool ptx_name_is(const ptx_name *name, const char *text) {
    return strlen(text) == name->length && memcmp(name->text, text, name->length) == 0;
}

const char *ptx_name_keep(ptx_parser *p, const ptx_name *name) {
    ptx_symbol *known = ptx_table_find(&p->own->globals, PTX_IS_STRING, name->text, name->length, name->hash);
    if (known) return known->text;
    char *text = ptx_arena_take(&p->own->arena, name->length + 1u);
    memcpy(text, name->text, name->length);
    ptx_table_add(&p->own->globals, &p->own->arena, PTX_IS_STRING, text, name->length, name->hash);
    return text;
}

bool ptx_string_read(ptx_parser *p, ptx_name *string) {
    *string = (ptx_name){.text = ""};
    if (!ptx_accept(p, '"')) return ptx_expected(p, "a string");
    string->text = p->at;
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n') p->line++;
        if (*p->at == '\\' && p->at + 1 < p->end)
            p->at++;
        else if (*p->at == '"')
            break;
    }
    if (p->at >= p->end) return ptx_fail(p, "a string does not end");
    string->length = (uint32_t)(p->at++ - string->text);
    string->hash = ptx_hash(string->text, string->length);
    return true;
}

bool ptx_block_skip(ptx_parser *p, char open, char close) {
    ptx_parser start = *p;
    int depth = 1;
    const char *at = p->at, *end = p->end;
    uint32_t line = p->line;
    while (at < end) {
        char c = *at;
        if (c > '/' && c != open && c != close) { /* most */
            at++;
            continue;
        }
        if (c == '\n') {
            line++, at++;
        } else if (c == open) {
            depth++, at++;
        } else if (c == close) {
            at++;
            if (--depth == 0) break;
        } else if (c == '"' || (c == '/' && at + 1 < end && (at[1] == '/' || at[1] == '*'))) {
            ptx_name string;
            p->at = at, p->line = line;
            if (c == '"')
                ptx_string_read(p, &string);
            else
                comment_skip(p);
            if (p->failed) return false;
            at = p->at, line = p->line;
        } else {
            at++;
        }
    }
    p->at = at, p->line = line;
    if (!depth) return true;
    p->line = start.line;
    return ptx_fail(p, "'%c' is never closed", open);
}

bool ptx_digits_read(ptx_parser *p, uint32_t *value) {
    ptx_skip(p);
    if (p->at >= p->end || !ptx_is_digit(*p->at)) return ptx_expected(p, "a number");
    uint64_t number = 0;
    for (; p->at < p->end && ptx_is_digit(*p->at); p->at++) {
        number = 10 * number + (uint64_t)(*p->at - '0');
        if (number > UINT32_MAX) return ptx_fail(p, "a number of more than 32 bits");
    }
    *value = (uint32_t)number;
    return true;
}

bool ptx_u32_read(ptx_parser *p, uint32_t *value, const char *what) {
    *value = 0;
    if (!ptx_constant_starts(p)) return ptx_expected(p, what);
    int64_t integer = ptx_integer_read(p);
    if (p->failed) return false;
    if (integer < 0 || integer > UINT32_MAX) return ptx_fail(p, "%s is %lld", what, (long long)integer);
    *value = (uint32_t)integer;
    return true;
}
