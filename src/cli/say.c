#include "cli/say.h"
#include "core/shortage.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ridge_say_by_lines(void) {
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
}

ridge_page ridge_say_page(const ridge_options *o) {
    FILE *tables = o->json && strcmp(o->json, "-") == 0 ? stderr : stdout;
    return ridge_page_on(tables, stderr, o->format, o->wide, o->color);
}

int ridge_say_width(FILE *stream) {
    return ridge_page_on(stream, stream, RIDGE_FORMAT_TABLE, false, RIDGE_NEVER).width;
}

void ridge_say(const char *format, ...) {
    char *text = NULL, *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0) {
        ridge_shortage_note();
        fputs("ridge: out of memory\n", stderr);
        return;
    }
    (void)fflush(stdout);
    if (isatty(STDERR_FILENO) == 1 && asprintf(&line, "ridge: %s", text) >= 0) {
        ridge_print_wrapped(stderr, ridge_say_width(stderr), line);
        free(line);
    } else {
        fprintf(stderr, "ridge: %s\n", text);
    }
    free(text);
    (void)fflush(stderr);
}
