#include "exec/lanes.h"

static bool exact(emu_decoding *d, ptx_type type, const emu_operand *operand) {
    uint8_t bytes = ptx_type_bytes[type];
    if (operand->bytes == (bytes == 1 ? 2 : bytes)) return true;
    return emu_decode_fail(d, "a register of %d bytes where a .%s is due", operand->bytes, ptx_type_text[type]);
}

bool emu_exact_source(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    return emu_decode_source(d, operand, type, out) && exact(d, type, out);
}

bool emu_exact_destination(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    return emu_decode_destination(d, operand, type, out) && exact(d, type, out);
}

bool emu_decode_all(emu_decoding *d, emu_run *run, int n, const ptx_type *types) {
    if (!emu_decode_wider(d, run, n, types)) return false;
    for (int k = 0; k < n; k++)
        if (!exact(d, types[k], d->op->operand + k)) return false;
    return true;
}

bool emu_decode_wider(emu_decoding *d, emu_run *run, int n, const ptx_type *types) {
    if (!ptx_words_end(&d->words))
        return emu_decode_fail(d, "a qualifier that %s does not have", d->instruction->word[0]);
    if (!run) return emu_decode_fail(d, "a type that %s does not have", d->instruction->word[0]);
    if (d->instruction->n_operands != n) return emu_decode_fail(d, "%d operands are due", n);
    d->op->run = run;
    for (int k = 0; k < n; k++) {
        const ptx_operand *operand = d->instruction->operand + k;
        emu_operand *out = d->op->operand + k;
        if (!(k ? emu_decode_source(d, operand, types[k], out) : emu_decode_destination(d, operand, types[k], out)))
            return false;
    }
    return true;
}

bool emu_decode_same(emu_decoding *d, emu_run *run, int n, ptx_type type) {
    ptx_type types[EMU_OPERANDS];
    for (int k = 0; k < EMU_OPERANDS; k++) types[k] = type;
    return emu_decode_all(d, run, n, types);
}

emu_run *emu_decode_typed(emu_decoding *d, emu_run *const *by_type, ptx_type *type) {
    *type = ptx_take_type(&d->words);
    if (by_type[*type]) return by_type[*type];
    emu_decode_fail(d, "a type that this form of %s does not have", d->instruction->word[0]);
    return NULL;
}
