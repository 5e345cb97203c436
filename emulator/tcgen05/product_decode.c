/* The decoder of tcgen05.mma, of all its forms: dense, sparse, .ws, block-scaled. */
#include <stdio.h>

#include "tcgen05/product.h"

/* Hints of what stays in the collector say nothing of the result. */
static void take_collector(emu_decoding *d, bool ws) {
    static const char *const buffers[] = {"a", "b0", "b1", "b2", "b3"}, *const uses[] = {"fill", "use", "lastuse",
                                                                                         "discard"};
    for (int i = 0; i < (int)(sizeof buffers / sizeof *buffers) * 4; i++) {
        char word[40];
        snprintf(word, sizeof word, "collector::%s::%s", buffers[i / 4], uses[i % 4]);
        if (ws == (i >= 4) && ptx_take(&d->words, word)) return;
    }
}

/* What follows the instruction descriptor, from operand `at` on: lanes that are not written, enable-input-d, scale-input-d. */
static bool take_rest(emu_decoding *d, emu_tensor_product *detail, int at) {
    const ptx_instruction *instruction = d->instruction;
    if (instruction->operand[at].kind == PTX_VECTOR && !detail->form.ws) {
        detail->masked = true;
        if (!emu_mma_sources(d, at++, PTX_B32, EMU_TENSOR_MASK_WORDS * d->op->kind, detail->mask)) return false;
    }
    if (!emu_tensor_operands(d, at + 1, at + 2) || !emu_decode_predicate(d, &instruction->operand[at++], &detail->add))
        return false;
    if (at == instruction->n_operands) return true;
    if (detail->form.ws) return emu_decode_fail(d, "a mask of zero columns is not supported");
    const ptx_operand *scale = &instruction->operand[at];
    if (scale->kind != PTX_INTEGER || scale->bits > 15)
        return emu_decode_fail(d, "scale-input-d must be a constant from 0 to 15");
    if (!emu_tensor_halves(detail->form.kind))
        return emu_decode_fail(d, "scale-input-d is of kind::f16 and kind::tf32");
    detail->scale = (int)scale->bits;
    return true;
}

/* ".block_scale" and how many scales a row has. */
static bool take_scales(emu_decoding *d, emu_tensor_product *detail) {
    static const char *const words[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block32", "block16", NULL};
    const bool packed = detail->form.kind != EMU_KIND_MXF8F6F4;
    if (!emu_mma_expect(d, "block_scale")) return false;
    const int word = ptx_take_of(&d->words, words, -1), by_default = detail->form.kind == EMU_KIND_MXF4NVF4 ? 0
                                                                     : packed                               ? 2
                                                                                                            : 1;
    const int of[] = {1, 2, 4, packed ? 2 : 1, 4};
    detail->form.scales = word < 0 ? by_default : of[word];
    const bool right = detail->form.kind == EMU_KIND_MXF4NVF4 ? detail->form.scales == 2 || detail->form.scales == 4
                                                              : detail->form.scales == by_default;
    return right || emu_decode_fail(d, "the kind has no such number of scales");
}

bool emu_decode_tensor_product(emu_decoding *d) {
    static const char *const kinds[] = {"kind::f16",      "kind::tf32", "kind::f8f6f4",   "kind::i8",
                                        "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", NULL};
    emu_tensor_product *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->run = emu_tensor_product_run;
    d->op->detail = detail;
    emu_tensor_form *form = &detail->form;
    form->ws = ptx_take(&d->words, "ws");
    form->sparse = ptx_take(&d->words, "sp");
    if (form->ws && form->sparse) return emu_decode_fail(d, "sparse .ws is not supported");
    if (!emu_tensor_group_word(d)) return false;
    form->pair = d->op->kind == 2;
    if (form->ws && form->pair) return emu_decode_fail(d, ".ws has .cta_group::1");
    const int kind = ptx_take_of(&d->words, kinds, -1);
    if (kind < 0) return emu_decode_fail(d, "kind::f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 and mxf4nvf4 are supported");
    form->kind = (emu_tensor_kind)kind;
    if (form->ws && kind >= EMU_KIND_MXF8F6F4) return emu_decode_fail(d, ".ws has no block-scaled kinds");
    if (kind >= EMU_KIND_MXF8F6F4 && !take_scales(d, detail)) return false;
    take_collector(d, form->ws);
    const int shape = 3 + form->sparse; /* the operand, behind sparse A's metadata */
    if (!emu_mma_end(d) || !emu_tensor_operands(d, shape + 2, shape + 4) || !emu_tensor_address(d, 0, &detail->d))
        return false;
    detail->a_in_tensor = d->instruction->operand[1].kind == PTX_ADDRESS;
    const bool a = detail->a_in_tensor ? emu_tensor_address(d, 1, &detail->a_address)
                                       : emu_mma_sources(d, 1, PTX_B64, 1, &detail->a);
    if (!a || !emu_mma_sources(d, 2, PTX_B64, 1, &detail->b)) return false;
    if (form->sparse && !emu_tensor_address(d, 3, &detail->metadata)) return false;
    if (!emu_mma_sources(d, shape, PTX_B32, 1, &detail->shape)) return false;
    if (!form->scales) return take_rest(d, detail, shape + 1);
    return emu_tensor_operands(d, shape + 4, shape + 4) && emu_tensor_address(d, shape + 1, &detail->scale_a) &&
           emu_tensor_address(d, shape + 2, &detail->scale_b) &&
           emu_decode_predicate(d, &d->instruction->operand[shape + 3], &detail->add);
}
