/* Lines of JSON, appended to the file that EMULATOR_REPORT names. */
#include "core/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int report_file(void) {
    static int file = -2;
    if (file != -2) return file;
    const char *path = emu_options_get()->report;
    file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (path && file < 0) (void)fprintf(stderr, "emulator: EMULATOR_REPORT=%s cannot be written\n", path);
    return file;
}

static void put(emu_json *json, char c) {
    if (json->used + 4 < sizeof json->text) json->text[json->used++] = c; /* leaves room for the end */
}

static void put_all(emu_json *json, const char *text) {
    while (*text) put(json, *text++);
}

static void put_string(emu_json *json, const char *text) {
    put(json, '"');
    for (; *text && json->used + 16 < sizeof json->text; text++) {
        unsigned char c = (unsigned char)*text;
        char escape[8];
        if (c == '"' || c == '\\') put(json, '\\');
        if (c >= 32) {
            put(json, (char)c);
        } else {
            (void)snprintf(escape, sizeof escape, "\\u%04x", c);
            put_all(json, escape);
        }
    }
    put(json, '"');
}

static void put_key(emu_json *json, const char *key) {
    if (json->used > 1) put(json, ',');
    put_string(json, key);
    put(json, ':');
}

bool emu_json_begin(emu_json *json, const char *event) {
    if (report_file() < 0) return false;
    json->used = 0;
    put(json, '{');
    emu_json_text(json, "event", event);
    return true;
}

void emu_json_text(emu_json *json, const char *key, const char *value) {
    put_key(json, key);
    put_string(json, value);
}

void emu_json_number(emu_json *json, const char *key, uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_key(json, key);
    put_all(json, text);
}

void emu_json_seconds(emu_json *json, const char *key, double value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%.6f", value);
    put_key(json, key);
    put_all(json, text);
}

void emu_json_end(emu_json *json) {
    json->text[json->used++] = '}';
    json->text[json->used++] = '\n';
    ssize_t written = write(report_file(), json->text, json->used);
    (void)written; /* a full disk loses the report, not the run */
}
