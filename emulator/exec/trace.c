/* EMULATOR_TRACE prints a warp's instructions with what they read and wrote; EMULATOR_BREAK stops a debugger at a line.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/program.h"

/* ---- trace ------------------------------------------------------------------------------------------------------- */
static uint32_t block_number(const emu_warp *warp) {
    emu_dim index = warp->block->index, blocks = warp->block->cluster->grid->blocks;
    return (index.z * blocks.y + index.y) * blocks.x + index.x;
}

/* "kernel:block:warp": a part of the kernel's name, and numbers; an empty one means any. */
bool emu_trace_wants(const emu_warp *warp) {
    const char *wanted = emu_options_get()->trace;
    if (!wanted || !*wanted) return false;
    const char *block = strchr(wanted, ':'), *index = block ? strchr(block + 1, ':') : NULL;
    char name[256];
    snprintf(name, sizeof name, "%.*s", block ? (int)(block - wanted) : (int)strlen(wanted), wanted);
    const emu_grid *grid = warp->block->cluster->grid;
    bool named = strstr(warp->code->function->name, name) || (grid->name && strstr(grid->name, name));
    return named && (!block || !block[1] || block[1] == ':' || strtoul(block + 1, NULL, 10) == block_number(warp)) &&
           (!index || !index[1] || strtoul(index + 1, NULL, 10) == warp->index);
}

static void print_operand(emu_warp *warp, emu_operand operand, emu_mask mask) {
    uint64_t value[EMU_LANES];
    emu_lanes_read(warp, operand, value);
    bool same = true;
    int first = mask ? __builtin_ctz(mask) : 0;
    for (int lane = first; lane < EMU_LANES; lane++) same &= !(mask >> lane & 1) || value[lane] == value[first];
    for (int lane = first; lane < EMU_LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        fprintf(stderr, " %0*llx", operand.bytes * 2, (unsigned long long)value[lane]);
        if (same) break;
    }
    if (same) fputs(" in all", stderr);
}

void emu_trace(emu_warp *warp, const emu_op *op, emu_mask mask, emu_result result) {
    static const char *const results[] = {"", " (again)", "", " (abort)"};
    char where[200], text[240];
    if (!op->source) return;
    const ptx_function *function = emu_op_function(warp->code, op);
    ptx_location_text(function, op->source, where, sizeof where);
    ptx_instruction_text(function, op->source, text, sizeof text);
    fprintf(stderr, "trace %u:%u %08x %s%s  [%s]\n", block_number(warp), warp->index, mask, text, results[result],
            where);
    int n;
    const emu_touch *touch = emu_op_touches(warp->code, op, &n);
    for (int i = 0; i < n; i++) {
        if (!touch[i].written) continue;
        fputs("    =", stderr);
        print_operand(warp, touch[i].operand, mask);
        fputs("\n", stderr);
    }
}

/* ---- break ------------------------------------------------------------------------------------------------------- */
static emu_run **original; /* of operations that stop first; by the number in the program's map */
static uint32_t n_original;

static emu_result run_broken(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const uint32_t *index = emu_map_find(&emu_program_of(warp->code)->broken, (uint64_t)(op - warp->code->op), 0);
    raise(SIGTRAP);
    return original[*index](warp, op, mask);
}

static bool is_at(const ptx_function *function, const ptx_instruction *instruction, const char *file,
                  unsigned long line) {
    if (!file) return instruction->line == line;
    for (uint32_t at = instruction->loc; at; at = function->location[at].inlined_at) {
        const ptx_location *location = function->location + at;
        if (location->line == line && location->file && strstr(location->file, file)) return true;
    }
    return false;
}

/* "file.cu:line", or the number of a line of PTX. */
void emu_break_mark(emu_program *program, uint32_t n_ops) {
    const char *wanted = emu_options_get()->break_at;
    if (!wanted || !*wanted) return;
    const char *colon = strrchr(wanted, ':');
    char file[256] = "";
    if (colon) snprintf(file, sizeof file, "%.*s", (int)(colon - wanted), wanted);
    unsigned long line = strtoul(colon ? colon + 1 : wanted, NULL, 10);
    for (uint32_t pc = 0; pc < n_ops; pc++) {
        emu_op *op = program->code.op + pc;
        if (!op->source || !is_at(emu_part_of(program, pc)->function, op->source, colon ? file : NULL, line)) continue;
        bool fresh;
        original = emu_grow(original, n_original + 1, sizeof *original);
        *emu_map_at(&program->broken, pc, 0, &fresh) = n_original;
        original[n_original++] = op->run;
        op->run = run_broken;
    }
}
