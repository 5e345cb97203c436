/* Findings: each is told once in a line on stderr and, where EMULATOR_REPORT names a file, as a line of JSON. Those
 * that repeat are counted. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"
#include "core/report.h"
#include "machine/decode.h"

/* Numbers of cudaError: what the next synchronizing call returns. */
enum {
    ILLEGAL_ADDRESS = 700,
    TIMEOUT = 702,
    ASSERT = 710,
    ILLEGAL_INSTRUCTION = 715,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILURE = 719,
    TENSOR_MEMORY_LEAK = 721
};

static const char *const kind_key[EMU_N_FINDINGS] = {
#define KEY(name, key) [EMU_##name] = key,
    EMU_FINDINGS(KEY)
#undef KEY
};
static const int kind_error[EMU_N_FINDINGS] = {[EMU_OUT_OF_BOUNDS] = ILLEGAL_ADDRESS,
                                               [EMU_MISALIGNED] = MISALIGNED_ADDRESS,
                                               [EMU_UNSUPPORTED] = ILLEGAL_INSTRUCTION,
                                               [EMU_LIMIT] = TIMEOUT,
                                               [EMU_ASSERTION] = ASSERT,
                                               [EMU_TENSOR_LEAK] = TENSOR_MEMORY_LEAK};

static int error_of(emu_finding_kind kind) { return kind_error[kind] ? kind_error[kind] : LAUNCH_FAILURE; }

/* What was told, in a hash table with open addressing that doubles when it is half full. */
typedef struct entry {
    uint64_t hash; /* 0: empty */
    char *text;    /* as told */
    uint64_t times;
} entry;
static entry *told;
static size_t told_size, told_used;
static uint64_t total;
static const char *first; /* since the last take */
static bool more_is_shown;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static entry *slot(entry *table, size_t size, uint64_t hash) {
    size_t i = hash & (size - 1);
    while (table[i].hash && table[i].hash != hash) i = (i + 1) & (size - 1);
    return &table[i];
}

static entry *find_entry(uint64_t hash) {
    if (told_used * 2 >= told_size) {
        size_t size = told_size ? told_size * 2 : 64;
        entry *grown = emu_alloc(size * sizeof *grown);
        for (size_t i = 0; i < told_size; i++)
            if (told[i].hash) *slot(grown, size, told[i].hash) = told[i];
        free(told);
        told = grown;
        told_size = size;
    }
    return slot(told, told_size, hash | 1);
}

/* ---- place ----------------------------------------------------------------------------------------------------- */

typedef struct place {
    const emu_grid *grid;
    const emu_block *block;
    const emu_warp *warp;
    int lane;
    char source[512];
} place;

static void append(char *line, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *line, size_t bytes, const char *format, ...) {
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + used, bytes - used, format, arguments);
    va_end(arguments);
}

static void place_text(const place *p, char *line, size_t bytes) {
    append(line, bytes, "kernel %s", p->grid->name ? p->grid->name : "?");
    if (p->source[0]) append(line, bytes, ", %s", p->source);
    if (p->block) append(line, bytes, ", block (%u,%u,%u)", p->block->index.x, p->block->index.y, p->block->index.z);
    if (p->warp) append(line, bytes, ", warp %u", p->warp->index);
    if (p->lane >= 0) append(line, bytes, ", lane %d", p->lane);
}

static void report_json(const place *p, emu_finding_kind kind, const char *text) {
    emu_json json;
    if (!emu_json_begin(&json, "finding")) return;
    emu_json_text(&json, "kind", kind_key[kind]);
    emu_json_text(&json, "kernel", p->grid->name ? p->grid->name : "?");
    emu_json_number(&json, "launch", p->grid->number);
    if (p->source[0]) emu_json_text(&json, "source", p->source);
    if (p->block) {
        char index[64];
        (void)snprintf(index, sizeof index, "%u,%u,%u", p->block->index.x, p->block->index.y, p->block->index.z);
        emu_json_text(&json, "block", index);
    }
    if (p->warp) emu_json_number(&json, "warp", p->warp->index);
    if (p->lane >= 0) emu_json_number(&json, "lane", (uint64_t)p->lane);
    emu_json_text(&json, "text", text);
    emu_json_end(&json);
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

static void tell(emu_grid *grid, const place *p, emu_finding_kind kind, uint64_t hash, const char *format,
                 va_list arguments) {
    if (grid->ending) return;
    total++;
    if (!grid->error) grid->error = error_of(kind);
    if (emu_options_get()->stop) grid->failed = true;
    entry *e = find_entry(hash);
    more_is_shown = false;
    if (e->hash) {
        e->times++;
        if (!first) first = e->text;
        return;
    }
    char text[1024], line[2048] = "";
    (void)vsnprintf(text, sizeof text, format, arguments);
    append(line, sizeof line, "%s: ", kind_key[kind]);
    place_text(p, line, sizeof line);
    append(line, sizeof line, ": %s", text);
    *e = (entry){.hash = hash | 1, .text = strdup(line), .times = 1};
    told_used++;
    if (!first) first = e->text;
    report_json(p, kind, text);
    if (++grid->told <= emu_options_get()->max_findings) {
        (void)fprintf(stderr, "emulator: %s\n", line);
        more_is_shown = true;
    } else if (grid->told == emu_options_get()->max_findings + 1) {
        (void)fprintf(stderr,
                      "emulator: more findings of this launch are counted, not printed (EMULATOR_MAX_FINDINGS)\n");
    }
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; text && *text; text++) hash = mix(hash, (unsigned char)*text);
    return hash;
}

/* The one whose locations the source refers to: the entry, or a device function that it calls. */
static const ptx_function *function_of(const emu_code *code, const emu_op *op) {
    const ptx_function *f = code->function;
    bool of_entry = op->source >= f->instruction && op->source < f->instruction + f->n_instructions;
    return of_entry ? f : emu_op_function(code, op);
}

void emu_find(emu_warp *warp, const emu_op *op, int lane, emu_finding_kind kind, uint64_t key, const char *format,
              ...) {
    emu_grid *grid = warp->block->cluster->grid;
    place p = {.grid = grid, .block = warp->block, .warp = warp, .lane = lane};
    if (!op && warp->current && warp->code) op = &warp->code->op[warp->current->pc];
    if (op && op->source) ptx_location_text(function_of(warp->code, op), op->source, p.source, sizeof p.source);
    uint64_t hash = hash_text(mix(mix(mix(1, kind), (uintptr_t)(op ? op->source : NULL)), key), grid->name);
    va_list arguments;
    va_start(arguments, format);
    tell(grid, &p, kind, hash, format, arguments);
    va_end(arguments);
}

void emu_find_grid(emu_grid *grid, emu_finding_kind kind, uint64_t key, const char *format, ...) {
    place p = {.grid = grid, .lane = -1};
    uint64_t hash = hash_text(mix(mix(2, kind), key), grid->name);
    va_list arguments;
    va_start(arguments, format);
    tell(grid, &p, kind, hash, format, arguments);
    va_end(arguments);
}

void emu_find_more(const char *format, ...) {
    if (!more_is_shown) return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "emulator:   %s\n", text);
    emu_json json;
    if (!emu_json_begin(&json, "more")) return;
    emu_json_text(&json, "text", text);
    emu_json_end(&json);
}

uint64_t emu_findings_count(void) { return total; }

const char *emu_findings_take(void) {
    const char *text = first;
    first = NULL;
    return text;
}
