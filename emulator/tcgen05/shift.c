/* tcgen05.shift: each row of 32 bytes takes that of the next lane, within the 32 lanes of a warp; the last lane keeps its own,
 * which tcgen05.cp.4x256b is there to replace. It runs in order with the products and copies of the warp. Of a pair, both blocks'
 * rows move.
 *
 * PTX says "downwards across all the rows, except the last" (31x256b), and no figure shows which way that is. This is shfl.down's
 * way, and the one that leaves the lanes which CuTe's copy_traits_sm100.hpp says 4x256b refreshes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcgen05/tensor.h"

enum { ROWS = 32, COLUMNS = 8 };

typedef struct shift {
    emu_operation operation;
    emu_block *block[2];
    int blocks;
    uint32_t address;
} shift;

static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    const shift *s = (const shift *)operation;
    const uint32_t lane = s->address >> 16, first = s->address & 0xffff;
    if (emu_tensor_exited(operation, s->block, s->blocks, "tcgen05.shift")) {
        emu_engine_fail(operation);
        return true;
    }
    for (int b = 0; b < s->blocks; b++)
        for (uint32_t column = first; column < first + COLUMNS; column++) {
            uint32_t *cell = &s->block[b]->tensor->cell[column][lane];
            emu_tensor_touch(&operation->actor, s->block[b], EMU_READ, lane + 1, column, ROWS - 1);
            emu_tensor_touch(&operation->actor, s->block[b], EMU_WRITE, lane, column, ROWS - 1);
            memmove(cell, cell + 1, (ROWS - 1) * sizeof *cell);
        }
    return true;
}

static void destroy(emu_operation *operation) {
    emu_actor_end(&operation->actor);
    free(operation);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    (void)operation;
    snprintf(text, bytes, "tcgen05.shift");
}

static bool check(emu_warp *warp, const emu_op *op, const shift *s) {
    const uint32_t lane = s->address >> 16;
    if (lane % ROWS) {
        emu_find(warp, op, -1, EMU_TENSOR, 7, "the rows at 0x%08x begin in lane %u: a multiple of %d is due",
                 s->address, lane, ROWS);
        return false;
    }
    for (int b = 0; b < s->blocks; b++)
        if (!emu_tensor_allocated(warp, op, s->block[b], s->address, ROWS, COLUMNS, "the matrix")) return false;
    return true;
}

static emu_result run_shift(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t address[EMU_LANES];
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    emu_addresses(warp, op->detail, address);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        shift *s = emu_alloc(sizeof *s);
        s->operation = (emu_operation){.step = step, .destroy = destroy, .describe = describe};
        s->blocks = emu_tensor_blocks(warp, op, s->block);
        s->address = (uint32_t)address[lane];
        if (!check(warp, op, s)) {
            free(s);
            return EMU_ABORT;
        }
        for (int b = 0; b < s->blocks; b++) s->operation.ranks |= 1u << s->block[b]->rank;
        emu_tensor_issue(warp, op, lane, &s->operation);
    }
    return EMU_NEXT;
}

/* ".down" comes last in PTX's syntax and first in its examples. */
bool emu_decode_tensor_shift(emu_decoding *d) {
    emu_address *address = emu_decode_alloc(d, sizeof *address);
    d->op->run = run_shift;
    d->op->detail = address;
    const bool early = ptx_take(&d->words, "down");
    return emu_tensor_group_word(d) && (early || emu_mma_expect(d, "down")) && emu_mma_end(d) &&
           emu_tensor_operands(d, 1, 1) && emu_tensor_address(d, 0, address);
}
