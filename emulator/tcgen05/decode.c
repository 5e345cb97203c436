/* The mnemonic tcgen05, and what its decoders share. */
#include "tcgen05/tensor.h"

bool emu_tensor_group_word(emu_decoding *d) {
    static const char *const groups[] = {"cta_group::1", "cta_group::2", NULL};
    const int group = ptx_take_of(&d->words, groups, -1);
    if (group < 0) return emu_decode_fail(d, ".cta_group::1 or 2 is due");
    d->op->kind = (uint8_t)(group + 1);
    return true;
}

bool emu_tensor_address(emu_decoding *d, int operand, emu_address *out) {
    const ptx_operand *at = &d->instruction->operand[operand];
    if (at->kind != PTX_ADDRESS) return emu_decode_fail(d, "operand %d must be an address", operand + 1);
    if (!emu_decode_address(d, at, PTX_SHARED, out)) return false;
    if (!out->shared_symbol) return true;
    return emu_decode_fail(d, "operand %d is a variable's address, which is not in tensor memory", operand + 1);
}

bool emu_tensor_operands(emu_decoding *d, int least, int most) {
    if (d->instruction->n_operands >= least && d->instruction->n_operands <= most) return true;
    return emu_decode_fail(d, "%d operands, where %d to %d belong", d->instruction->n_operands, least, most);
}

static bool decode_tcgen05(emu_decoding *d) {
    static const struct {
        const char *word;
        emu_decode *decode;
    } kinds[] = {
        {"alloc", emu_decode_tensor_alloc},
        {"dealloc", emu_decode_tensor_dealloc},
        {"relinquish_alloc_permit", emu_decode_tensor_relinquish},
        {"ld", emu_decode_tensor_load},
        {"st", emu_decode_tensor_store},
        {"wait::ld", emu_decode_tensor_wait_load},
        {"wait::st", emu_decode_tensor_wait_store},
        {"fence::before_thread_sync", emu_decode_tensor_fence_before},
        {"fence::after_thread_sync", emu_decode_tensor_fence_after},
        {"commit", emu_decode_tensor_commit},
        {"mma", emu_decode_tensor_product},
        {"cp", emu_decode_tensor_copy},
        {"shift", emu_decode_tensor_shift},
    };
    if (emu_options_get()->architecture < 100)
        return emu_decode_fail(d, "the device is an sm_90a: EMULATOR_ARCHITECTURE=100 makes it an sm_100a");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ptx_take(&d->words, kinds[i].word)) return kinds[i].decode(d);
    return emu_decode_fail(d, "this tcgen05 is not supported");
}

const emu_mnemonic emu_mnemonics_tcgen05[] = {{"tcgen05", decode_tcgen05}, {NULL, NULL}};
