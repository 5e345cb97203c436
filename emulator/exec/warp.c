/* A warp's life and its fragments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/program.h"
#include "sync/sync.h"

static uint32_t threads_of(const emu_grid *grid) { return grid->threads.x * grid->threads.y * grid->threads.z; }

void emu_warp_begin(emu_warp *warp) {
    const emu_program *program = emu_program_of(warp->code);
    warp->registers = emu_alloc(warp->code->register_bytes + 64);
    uint64_t value[EMU_LANES];
    for (int i = 0; i < program->n_fills; i++) {
        const emu_fill *fill = program->fill + i;
        for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = fill->value(warp, lane, fill->argument);
        emu_lanes_write(warp, fill->place, UINT32_MAX, value);
    }
    uint32_t first = warp->index * EMU_LANES, threads = threads_of(warp->block->cluster->grid);
    uint32_t n = threads - first < EMU_LANES ? threads - first : EMU_LANES;
    warp->lanes = n == EMU_LANES ? UINT32_MAX : (1u << n) - 1;
    warp->exited = 0, warp->set_registers = 0;
    warp->fragment[0] = (emu_fragment){.mask = warp->lanes};
    warp->n_fragments = 1;
    warp->current = warp->fragment;
    if (program->calls) emu_calls_begin(warp);
}

void emu_warp_end(emu_warp *warp) {
    free(warp->registers);
    warp->registers = NULL;
    if (warp->calls) emu_calls_end(warp);
}

void emu_fragment_remove(emu_warp *warp, emu_fragment *fragment) {
    *fragment = warp->fragment[--warp->n_fragments];
    warp->fragment[warp->n_fragments] = (emu_fragment){0};
}

emu_result emu_jump(emu_warp *warp, emu_mask lanes, uint32_t pc) {
    emu_fragment *fragment = warp->current;
    if (lanes == fragment->mask) {
        fragment->pc = pc;
    } else {
        warp->fragment[warp->n_fragments++] = (emu_fragment){.pc = pc, .mask = lanes, .spins = fragment->spins};
        fragment->mask &= ~lanes;
        fragment->pc++;
    }
    return EMU_JUMP;
}

emu_result emu_leave(emu_warp *warp, emu_mask lanes) {
    emu_fragment *fragment = warp->current;
    warp->exited |= lanes;
    fragment->mask &= ~lanes;
    fragment->pc++;
    if (!fragment->mask) emu_fragment_remove(warp, fragment);
    emu_sync_exited(warp, lanes);
    return EMU_JUMP;
}

bool emu_warp_runnable(const emu_warp *warp) {
    for (int i = 0; i < warp->n_fragments; i++) {
        const emu_wait *wait = &warp->fragment[i].wait;
        if (!wait->ready || wait->ready(warp, wait)) return true;
    }
    return false;
}

/* ---- for reports ------------------------------------------------------------------------------------------------- */
void emu_warp_describe(const emu_warp *warp, void (*line)(void *context, const char *text), void *context) {
    for (int i = 0; i < warp->n_fragments; i++) {
        const emu_fragment *fragment = warp->fragment + i;
        const emu_op *op = warp->code->op + fragment->pc;
        char where[200] = "the end", what[120] = "ret", why[300] = "can run", text[700];
        if (op->source) {
            const ptx_function *function = emu_op_function(warp->code, op);
            ptx_location_text(function, op->source, where, sizeof where);
            ptx_instruction_text(function, op->source, what, sizeof what);
        }
        if (fragment->wait.ready && fragment->wait.describe)
            fragment->wait.describe(warp, &fragment->wait, why, sizeof why);
        snprintf(text, sizeof text, "lanes 0x%08x at %s: %s: %s", fragment->mask, where, what, why);
        line(context, text);
    }
}
