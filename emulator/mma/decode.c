/* The mnemonics of mma/, and what their decoders share. */
#include "mma/decode.h"

#include <stdio.h>

const emu_mnemonic emu_mnemonics_mma[] = {
    {"mma", emu_decode_mma},
    {"wgmma", emu_decode_wgmma},
    {"ldmatrix", emu_decode_ldmatrix},
    {"stmatrix", emu_decode_stmatrix},
    {"movmatrix", emu_decode_movmatrix},
    {"wmma", emu_decode_wmma},
    {NULL, NULL},
};

bool emu_mma_expect(emu_decoding *d, const char *word) {
    if (ptx_take(&d->words, word)) return true;
    const char *found = ptx_words_end(&d->words) ? "nothing" : d->instruction->word[d->words.next];
    return emu_decode_fail(d, ".%s is due, %s found", word, found);
}

bool emu_mma_end(emu_decoding *d) {
    if (ptx_words_end(&d->words)) return true;
    return emu_decode_fail(d, ".%s is not supported here", d->instruction->word[d->words.next]);
}

bool emu_mma_shape(emu_decoding *d, emu_shape *shape) {
    if (ptx_words_end(&d->words)) return emu_decode_fail(d, "a shape is due");
    const char *word = d->instruction->word[d->words.next];
    int length = 0;
    if (sscanf(word, "m%3dn%3dk%3d%n", &shape->m, &shape->n, &shape->k, &length) != 3 || word[length] != 0)
        return emu_decode_fail(d, ".%s is no shape that is supported here", word);
    d->words.next++;
    return true;
}

static const ptx_operand *vector_of(emu_decoding *d, int k, int n) {
    if (k >= d->instruction->n_operands) {
        emu_decode_fail(d, "%d operands are too few", d->instruction->n_operands);
        return NULL;
    }
    const ptx_operand *operand = &d->instruction->operand[k];
    int found = operand->kind == PTX_VECTOR ? operand->n_parts : 1;
    if (found != n) {
        emu_decode_fail(d, "operand %d has %d registers, %d are due", k + 1, found, n);
        return NULL;
    }
    return operand->kind == PTX_VECTOR ? operand->parts : operand;
}

/* Lanes are read as arrays of the type: wider registers would be read wrongly. */
static bool exact_width(emu_decoding *d, const emu_operand *operand, ptx_type type) {
    if (operand->bytes == ptx_type_bytes[type]) return true;
    return emu_decode_fail(d, "a register of %d bytes where .%s is due", operand->bytes, ptx_type_text[type]);
}

bool emu_mma_sources(emu_decoding *d, int k, ptx_type type, int n, emu_operand *out) {
    const ptx_operand *part = vector_of(d, k, n);
    for (int i = 0; part != NULL && i < n; i++)
        if (!emu_decode_source(d, &part[i], type, &out[i]) || !exact_width(d, &out[i], type)) return false;
    return part != NULL;
}

bool emu_mma_destinations(emu_decoding *d, int k, ptx_type type, int n, emu_operand *out) {
    const ptx_operand *part = vector_of(d, k, n);
    for (int i = 0; part != NULL && i < n; i++)
        if (!emu_decode_destination(d, &part[i], type, &out[i]) || !exact_width(d, &out[i], type)) return false;
    return part != NULL;
}
