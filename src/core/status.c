#include "ridge/status.h"

#include <stdarg.h>
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

/* In parentheses: static analysis has a macro of that name. */
ridge_status(ridge_fail)(ridge_error *error, ridge_status status, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        error->status = status;
        (void)vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
        /* File names and foreign text may hold anything: the promise is one line, and a terminal is not to be steered.
         */
        for (char *c = error->text; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    }
    return status;
}
