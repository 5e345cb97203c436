/* st.bulk: zeros over a range of shared memory, by one instruction (PTX ISA 8.6). Weak writes of its thread, eight bytes at a
 * time, which is also what address and size are multiples of. */
#include "memory/parts.h"

#include <inttypes.h>
#include <string.h>

enum { UNIT = 8 };

typedef struct clear_form {
    emu_access access;
    emu_address address;
} clear_form;

static emu_mask longer(emu_mask mask, const uint64_t *bytes, uint64_t at) {
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (bytes[lane] <= at) mask &= ~(1u << lane);
    }
    return mask;
}

static bool whole_units(emu_warp *warp, const emu_op *op, emu_mask mask, const uint64_t *bytes) {
    for (; mask; mask &= mask - 1) {
        const int lane = __builtin_ctz(mask);
        if (bytes[lane] % UNIT == 0) continue;
        emu_find(warp, op, lane, EMU_MISALIGNED, bytes[lane],
                 "the size of st.bulk, %" PRIu64 ", is not a multiple of 8", bytes[lane]);
        return false;
    }
    return true;
}

static emu_result run_clear(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const clear_form *form = op->detail;
    uint64_t address[EMU_LANES], bytes[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    emu_addresses(warp, &form->address, address);
    emu_lanes_read(warp, op->operand[0], bytes);
    if (!whole_units(warp, op, mask, bytes)) return EMU_ABORT;
    for (uint64_t at = 0; (mask = longer(mask, bytes, at)); at += UNIT) {
        if (!emu_memory_lanes(warp, op, mask, &form->access, address, pointer)) return EMU_ABORT;
        for (emu_mask rest = mask; rest; rest &= rest - 1) memset(pointer[__builtin_ctz(rest)], 0, UNIT);
        for (int lane = 0; lane < EMU_LANES; lane++) address[lane] += UNIT;
    }
    return EMU_NEXT;
}

bool emu_decode_clear(emu_decoding *d) {
    clear_form *form = emu_decode_alloc(d, sizeof *form);
    const ptx_instruction *instruction = d->instruction;
    ptx_take(&d->words, "weak");
    const bool shared = ptx_take(&d->words, "shared::cta") || ptx_take(&d->words, "shared");
    const ptx_space space = shared ? PTX_SHARED : PTX_GENERIC;
    d->op->run = run_clear;
    d->op->detail = form;
    form->access = (emu_access){.kind = EMU_WRITE, .space = space, .bytes = UNIT};
    if (!ptx_words_end(&d->words)) return emu_decode_fail(d, "a word that is not known");
    if (instruction->n_operands != 3) return emu_decode_fail(d, "st.bulk is [address], size, 0");
    if (instruction->operand[2].kind != PTX_INTEGER || instruction->operand[2].bits != 0)
        return emu_decode_fail(d, "st.bulk stores zeros");
    return emu_decode_address(d, &instruction->operand[0], space, &form->address) &&
           emu_decode_source(d, &instruction->operand[1], PTX_U64, &d->op->operand[0]);
}
