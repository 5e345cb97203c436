/* EMULATOR_REPORT: lines of JSON, each an object whose "event" says what it is. Each is one write(): processes may
 * share the file. */
#ifndef EMULATOR_CORE_REPORT_H
#define EMULATOR_CORE_REPORT_H

#include "core/core.h"

typedef struct emu_json {
    char text[8192];
    size_t used;
} emu_json;
bool emu_json_begin(emu_json *, const char *event); /* false: no report is wanted */
void emu_json_text(emu_json *, const char *key, const char *value);
void emu_json_number(emu_json *, const char *key, uint64_t value);
void emu_json_seconds(emu_json *, const char *key, double value);
void emu_json_end(emu_json *); /* writes the line */
#endif
