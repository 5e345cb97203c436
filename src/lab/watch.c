/* What a run tells its caller, and whether the caller interrupts it. */
#include <stdarg.h>
#include <stdio.h>

#include "lab/run_parts.h"

void ridge_lab_tell(const ridge_lab_watch *watch, const ridge_lab_event *event) {
    if (watch && watch->tell) watch->tell(watch->arg, event);
}

void ridge_lab_note(const ridge_lab_watch *watch, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_NOTE, .what = text});
}

bool ridge_lab_interrupted(const ridge_lab_watch *watch) {
    return watch && watch->interrupted && *watch->interrupted != 0;
}
