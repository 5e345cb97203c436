/* mma.sync: a product by one warp, operands and result in its registers. */
#include "mma/warp.h"

#include <string.h>

typedef emu_warp_product product;

static emu_result run_product(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const product *p = op->detail;
    const emu_shape *s = &p->shape;
    const bool half = p->dot->accumulator == PTX_F16;
    const int bytes = s->k * ptx_type_bytes[p->dot->a];
    uint8_t a[16][EMU_LINE], b[8][EMU_LINE];
    uint32_t d[16 * 8];
    emu_fragment_lines(warp, p->a, s->m, bytes, a);
    emu_fragment_lines(warp, p->b, 8, bytes, b);
    emu_fragment_accumulators(warp, p->c, s->m, 8, half, d);
    emu_tile(p->dot, s->m, 8, s->k, (const uint8_t(*)[EMU_LINE])a, (const uint8_t(*)[EMU_LINE])b, d, p->saturate);
    emu_fragment_results(warp, p->d, s->m, 8, half, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}

static emu_result run_double(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const product *p = op->detail;
    double a[16 * 16], b[8 * 16], d[16 * 8];
    emu_fragment_doubles(warp, p->a, p->shape.m, p->shape.k, a);
    emu_fragment_doubles(warp, p->b, 8, p->shape.k, b);
    emu_fragment_double_accumulators(warp, p->c, p->shape.m, d);
    emu_tile_double(p->shape.m, 8, p->shape.k, a, b, d);
    emu_fragment_double_results(warp, p->d, p->shape.m, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}

int emu_warp_product_bits(const product *p) {
    if (p->dot) return 8 * ptx_type_bytes[p->dot->a];
    return p->narrow[0] == EMU_NARROW_B1 ? 1 : 4;
}

/* Which shapes: by bytes of k, 16 or 32 of rows of 16, of sparse ones as they are stored; and the small ones of integers and f64. */
static bool shape_known(const product *p) {
    const emu_shape *s = &p->shape;
    if (s->n != 8) return false;
    if (p->dot && p->dot->a == PTX_F64) return !p->sparse && (s->k == 4 || (s->m == 16 && (s->k == 8 || s->k == 16)));
    const int bytes = s->k * emu_warp_product_bits(p) / (p->sparse ? 16 : 8);
    const bool integers = !p->dot || p->dot->kind == EMU_DOT_INTEGER;
    if (p->sparse && !p->dot && p->narrow[0] == EMU_NARROW_B1) return false;
    if (s->m == 8) return integers && !p->sparse && bytes == 16;
    return s->m == 16 && (bytes == 16 || bytes == 32);
}

static bool take_selector(emu_decoding *d, product *p) {
    const ptx_operand *selector = &d->instruction->operand[5];
    const int groups = p->shape.k * emu_warp_product_bits(p) / 8 / (emu_warp_product_bits(p) >= 16 ? 8 : 4);
    if (selector->kind != PTX_INTEGER || selector->bits >= (uint64_t)(16 / groups))
        return emu_decode_fail(d, "the sparsity selector must be a constant below %d", 16 / groups);
    p->selector = (int)selector->bits;
    return emu_mma_sources(d, 4, PTX_B32, 1, &p->metadata);
}

static bool operands(emu_decoding *d, product *p) {
    const ptx_type a = p->dot ? p->dot->a : PTX_B32, acc = p->dot ? p->dot->accumulator : PTX_S32;
    const bool wide = a == PTX_F64;
    const ptx_type word = wide ? PTX_F64 : PTX_B32, sum = acc == PTX_F16 ? PTX_B32 : acc;
    const int blocks = p->shape.m / 8, parts = wide ? p->shape.k / 4 : p->shape.k * emu_warp_product_bits(p) / 128;
    const int sums = blocks * (acc == PTX_F16 ? 1 : 2), due = p->sparse ? 6 : 4;
    if (d->instruction->n_operands != due) return emu_decode_fail(d, "%d operands are due", due);
    return emu_mma_sources(d, 1, word, blocks * parts / (p->sparse ? 2 : 1), p->a) &&
           emu_mma_sources(d, 2, word, parts, p->b) && emu_mma_sources(d, 3, sum, sums, p->c) &&
           emu_mma_destinations(d, 0, sum, sums, p->d) && (!p->sparse || take_selector(d, p));
}

/* .s32.s4.u4.s32, .s32.b1.b1.s32.xor.popc: false without an error where the words are others. */
static bool take_narrow(emu_decoding *d, product *p) {
    static const char *const names[] = {"s4", "u4", "b1", NULL};
    const int at = d->words.next;
    if (at + 3 >= d->instruction->n_words || !ptx_take(&d->words, "s32")) return false;
    for (int i = 0; i < 2; i++) p->narrow[i] = (emu_narrow)(ptx_take_of(&d->words, names, -1) + 1);
    if (p->narrow[0] && p->narrow[1] && ptx_take(&d->words, "s32")) {
        if (p->narrow[0] != EMU_NARROW_B1) return p->narrow[1] != EMU_NARROW_B1;
        p->exclusive = ptx_take(&d->words, "xor");
        if (p->narrow[1] == EMU_NARROW_B1 && (p->exclusive || ptx_take(&d->words, "and")) &&
            ptx_take(&d->words, "popc"))
            return true;
    }
    d->words.next = at;
    return false;
}

static bool take_types(emu_decoding *d, product *p) {
    if (take_narrow(d, p)) return true;
    const int at = d->words.next;
    ptx_type type[4];
    for (int i = 0; i < 4; i++) {
        type[i] = ptx_take_type(&d->words);
        if (type[i] == PTX_NONE)
            return emu_decode_fail(d, "%s is no type that mma.sync is supported with",
                                   at + i < d->instruction->n_words ? d->instruction->word[at + i] : "nothing");
    }
    p->dot = type[0] == type[3] ? emu_dot_find(90, false, type[1], type[2], type[0]) : NULL;
    return p->dot || emu_decode_fail(d, "these types are not supported together");
}

bool emu_decode_mma(emu_decoding *d) {
    product *p = emu_decode_alloc(d, sizeof *p);
    p->ordered = ptx_take(&d->words, "sp::ordered_metadata");
    p->sparse = p->ordered || ptx_take(&d->words, "sp");
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !emu_mma_shape(d, &p->shape) ||
        !emu_mma_expect(d, "row") || !emu_mma_expect(d, "col"))
        return false;
    p->saturate = ptx_take(&d->words, "satfinite");
    if (!take_types(d, p) || !emu_mma_end(d)) return false;
    if (!shape_known(p) || (p->saturate && p->dot && p->dot->kind != EMU_DOT_INTEGER))
        return emu_decode_fail(d, "this shape and these types are not supported together");
    d->op->run = p->sparse                        ? emu_run_warp_sparse
                 : !p->dot                        ? emu_run_warp_narrow
                 : p->dot->kind == EMU_DOT_DOUBLE ? run_double
                                                  : run_product;
    d->op->aligned = true;
    d->op->detail = p;
    return operands(d, p);
}
