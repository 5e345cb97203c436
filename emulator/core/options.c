/* Options from the environment: one table names each with its default and its help. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "emulator/emulator.h"

typedef enum option_kind { FLAG, INTEGER, NUMBER, TEXT } option_kind;
typedef struct option {
    const char *name;
    option_kind kind;
    size_t at; /* in emu_options */
    uint64_t number;
    const char *text, *help;
} option;

#define AT(field) offsetof(emu_options, field)
static const option table[] = {
    {"EMULATOR_SEED", NUMBER, AT(seed), 1, NULL, "order of warps, blocks, clusters and asynchronous engines"},
    {"EMULATOR_RACES", FLAG, AT(check_races), 1, NULL, "0: do not look for races"},
    {"EMULATOR_INITIALIZED", INTEGER, AT(check_initialized), 1, NULL,
     "uninitialized reads: 0 off, 1 those of shared memory by source line, 2 each of them"},
    {"EMULATOR_STOP", FLAG, AT(stop), 0, NULL, "1: any finding ends its launch"},
    {"EMULATOR_FINDINGS", TEXT, AT(findings), 0, "error",
     "error: after a finding the next synchronizing call fails; report: it succeeds"},
    {"EMULATOR_MAX_FINDINGS", INTEGER, AT(max_findings), 20, NULL, "findings printed per launch"},
    {"EMULATOR_REPORT", TEXT, AT(report), 0, NULL, "file to which findings and counts are appended as JSON lines"},
    {"EMULATOR_LIMIT", NUMBER, AT(limit), 0, NULL, "warp instructions that a launch may take, 0: no limit"},
    {"EMULATOR_ARCHITECTURE", INTEGER, AT(architecture), 90, NULL, "90 or 100: the device is an sm_90a or an sm_100a"},
    {"EMULATOR_SM_COUNT", INTEGER, AT(sm_count), 132, NULL, "number of SMs"},
    {"EMULATOR_RESIDENT", INTEGER, AT(resident), 4, NULL, "clusters that run beside each other"},
    {"EMULATOR_MEMORY", NUMBER, AT(memory), 0, NULL, "MiB of global memory, 0: half of the host's memory"},
    {"EMULATOR_TRACE", TEXT, AT(trace), 0, NULL,
     "kernel:block:warp, prints each instruction of that warp and its results"},
    {"EMULATOR_BREAK", TEXT, AT(break_at), 0, NULL, "file.cu:line or line of the PTX, stops there under a debugger"},
};
enum { N_OPTIONS = sizeof table / sizeof *table };

static emu_options options;
static bool read_once;

static uint64_t parse_number(const option *o, const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*text && *text != '-' && !*end && errno == 0 && (o->kind == NUMBER || value <= INT32_MAX)) return value;
    (void)fprintf(stderr, "emulator: %s=%s is not a number: %llu is used\n", o->name, text,
                  (unsigned long long)o->number);
    return o->number;
}

static void read_option(const option *o) {
    const char *text = getenv(o->name);
    if (text && !*text) text = NULL;
    void *at = (char *)&options + o->at;
    uint64_t number = o->kind != TEXT && text ? parse_number(o, text) : o->number;
    switch (o->kind) {
        case FLAG: *(bool *)at = number != 0; break;
        case INTEGER: *(int *)at = (int)number; break;
        case NUMBER: *(uint64_t *)at = number; break;
        case TEXT: *(const char **)at = text ? text : o->text; break;
    }
}

static uint64_t half_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 2 >> 20 : 1024;
}

const emu_options *emu_options_get(void) {
    if (read_once) return &options;
    for (int i = 0; i < N_OPTIONS; i++) read_option(&table[i]);
    if (options.architecture != 100) options.architecture = 90;
    if (options.sm_count < 1) options.sm_count = 1;
    if (options.resident < 1) options.resident = 1;
    if (options.memory == 0) options.memory = half_of_memory();
    read_once = true;
    return &options;
}

void emu_options_seed(uint64_t seed) {
    (void)emu_options_get();
    options.seed = seed;
}

const char *emulator_help(void) {
    static char text[4096];
    size_t used = 0;
    for (int i = 0; i < N_OPTIONS && used < sizeof text; i++) {
        const option *o = &table[i];
        char value[32];
        (void)snprintf(value, sizeof value, "%llu", (unsigned long long)o->number);
        const char *standard = o->kind != TEXT ? value : o->text ? o->text : "unset";
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%-22s %s (default: %s)\n", o->name, o->help, standard);
    }
    return text;
}
