#include "ridge/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

const char *ridge_status_string(ridge_status status) {
    static const char *const strings[] = {
#define STATUS_TEXT(name, text) [RIDGE_##name] = text,
        RIDGE_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    };
    if ((unsigned)status >= RIDGE_STATUS_COUNT) return "unknown status";
    return strings[status];
}

/* File names and foreign text may hold control characters. An error text is one line without terminal escapes. */
static void make_plain(char *text) {
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
}

/* The parentheses prevent macro expansion: the static analyzer's build defines a macro of that name. */
ridge_status(ridge_fail)(ridge_error *error, ridge_status status, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        error->status = status;
        (void)vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
        make_plain(error->text);
    }
    return status;
}

/* ---- the reason for a status ------------------------------------------------------------------------------------- */

static _Thread_local struct {
    bool noted;
    char text[200];
} why = {.text = ": "};

void ridge_note_why(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why.text + 2, sizeof why.text - 2, format, args);
    va_end(args);
    make_plain(why.text);
    why.noted = true;
}

const char *ridge_why(void) {
    const bool noted = why.noted;
    why.noted = false;
    return noted ? why.text : "";
}
