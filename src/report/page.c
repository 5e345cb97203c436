/* The width and colors of a page, and prose wrapped to it. */
#include "report/page.h"
#include "core/shortage.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Only a terminal has a height. */
enum { DEFAULT_WIDTH = 80, DEFAULT_HEIGHT = 34, LEAST_WIDTH = 20, MOST_WIDTH = 10000 };

/* Value of a numeric environment variable; 0 if unset, not a number, or out of range. */
static int number_of(const char *name) {
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return 0;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value > 0 && value <= MOST_WIDTH ? (int)value : 0;
}

static void find_size(FILE *stream, int *width, int *height) {
    struct winsize size = {0};
    int fd = fileno(stream);
    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0) size = (struct winsize){0};
    *width = number_of("COLUMNS");
    *height = number_of("LINES");
    if (!*width) *width = size.ws_col ? size.ws_col : DEFAULT_WIDTH;
    if (!*height) *height = size.ws_row ? size.ws_row : DEFAULT_HEIGHT;
    if (*width < LEAST_WIDTH) *width = LEAST_WIDTH;
}

static bool shows_color(FILE *stream, ridge_when when) {
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when != RIDGE_AUTO) return when == RIDGE_ALWAYS;
    if ((none && *none) || !term || strcmp(term, "dumb") == 0) return false;
    int fd = fileno(stream);
    return fd >= 0 && isatty(fd) == 1;
}

ridge_page ridge_page_on(FILE *tables, FILE *aside, ridge_format format, bool wide, ridge_when color) {
    ridge_page page = {.tables = tables, .format = format, .wide = wide};
    page.prose = format == RIDGE_FORMAT_TABLE ? tables : aside;
    page.color = format == RIDGE_FORMAT_TABLE && shows_color(tables, color);
    find_size(page.prose, &page.width, &page.height);
    return page;
}

static bool starts_code_point(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

int ridge_text_columns(const char *text) {
    int columns = 0;
    for (; *text; text++) columns += starts_code_point(*text);
    return columns;
}

/* A word that is too long is broken behind one of these: "8192x2048/bf16,activation=gelu", "linear_softmax". */
static bool is_joint(char c) { return c == ',' || c == '_' || c == '/' || c == ':'; }

size_t ridge_text_line(const char *text, int width, const char **next) {
    size_t blank = 0, joint = 0, i = 0;
    int columns = 0;
    for (; text[i] && text[i] != '\n'; i++) {
        columns += starts_code_point(text[i]);
        if (columns > width && text[i] != ' ') break;
        if (text[i] == ' ' && i > 0 && text[i - 1] != ' ') blank = i;
        if (is_joint(text[i])) joint = i + 1;
    }
    size_t end = i, rest = i;
    if (text[i] == '\n') {
        rest = i + 1;
    } else if (text[i] && blank > 0) {
        end = rest = blank;
        while (text[rest] == ' ') rest++;
    } else if (text[i] && joint > 0) {
        end = rest = joint;
    } else if (text[i] && i == 0) {
        end = rest = 1; /* no room: one character per line */
        while (!starts_code_point(text[rest])) end = ++rest;
    }
    *next = text[rest] || text[i] == '\n' ? text + rest : NULL;
    return end;
}

/* Columns by which the continuation of a line is indented. */
static int indent_of(const char *line, size_t length, int width) {
    size_t start = 0;
    while (start < length && line[start] == ' ') start++;
    int column = (int)start;
    for (size_t i = start; i + 2 < length; i++) {
        column += starts_code_point(line[i]);
        if (line[i] != ' ' || line[i + 1] != ' ') continue;
        while (i + 1 < length && line[i + 1] == ' ') i++, column++;
        return i + 1 < length && column <= width / 2 ? column : (int)start;
    }
    return (int)start <= width / 2 ? (int)start : 0;
}

static void print_line(FILE *stream, int width, const char *line, size_t length) {
    char *copy = strndup(line, length);
    if (!copy) {
        ridge_shortage_note();
        return;
    }
    int indent = indent_of(copy, length, width), room = width;
    const char *part = copy, *next;
    do {
        size_t used = ridge_text_line(part, room, &next);
        while (used > 0 && part[used - 1] == ' ') used--;
        fprintf(stream, "%*s%.*s\n", part == copy || used == 0 ? 0 : indent, "", (int)used, part);
        room = width - indent;
        part = next;
    } while (part);
    free(copy);
}

void ridge_print_wrapped(FILE *stream, int width, const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        print_line(stream, width, text, length);
        text += length + (text[length] == '\n');
    }
}

static void say(const ridge_page *page, const char *format, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        ridge_shortage_note();
        return;
    }
    ridge_print_wrapped(page->prose, page->width, text);
    free(text);
}

void ridge_page_say(const ridge_page *page, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(page, format, arguments);
    va_end(arguments);
}

void ridge_page_explain(const ridge_page *page, const char *format, ...) {
    if (page->format != RIDGE_FORMAT_TABLE) return;
    va_list arguments;
    va_start(arguments, format);
    say(page, format, arguments);
    va_end(arguments);
}

const char *ridge_page_start(const ridge_page *page, ridge_color color) {
    static const char *const codes[] = {"", "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m"};
    return page->color ? codes[color] : "";
}

const char *ridge_page_end(const ridge_page *page, ridge_color color) {
    return page->color && color != RIDGE_PLAIN ? "\033[0m" : "";
}
