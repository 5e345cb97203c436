/* mma.sync: a product by one warp, operands and result in its registers. */
#include "mma/decode.h"
#include "mma/fragments.h"

typedef struct product {
    const emu_dot *dot;
    emu_shape shape;
    bool saturate;
    emu_operand d[4], a[8], b[4], c[4];
} product;

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

/* Which shapes: by bytes of k, 16 or 32 of rows of 16, and the small ones of integers and f64. */
static bool shape_known(const emu_shape *s, ptx_type a) {
    if (s->n != 8) return false;
    if (a == PTX_F64) return s->k == 4 || (s->m == 16 && (s->k == 8 || s->k == 16));
    int bytes = s->k * ptx_type_bytes[a];
    if (s->m == 8) return (a == PTX_S8 || a == PTX_U8) && bytes == 16;
    return s->m == 16 && (bytes == 16 || bytes == 32);
}

static bool operands(emu_decoding *d, product *p) {
    const ptx_type a = p->dot->a, acc = p->dot->accumulator;
    const bool wide = a == PTX_F64;
    const ptx_type word = wide ? PTX_F64 : PTX_B32, sum = acc == PTX_F16 ? PTX_B32 : acc;
    const int blocks = p->shape.m / 8, parts = wide ? p->shape.k / 4 : p->shape.k * ptx_type_bytes[a] / 16;
    const int sums = blocks * (acc == PTX_F16 ? 1 : 2);
    if (d->instruction->n_operands != 4) return emu_decode_fail(d, "four operands are due");
    return emu_mma_sources(d, 1, word, blocks * parts, p->a) && emu_mma_sources(d, 2, word, parts, p->b) &&
           emu_mma_sources(d, 3, sum, sums, p->c) && emu_mma_destinations(d, 0, sum, sums, p->d);
}

bool emu_decode_mma(emu_decoding *d) {
    if (ptx_take(&d->words, "sp") || ptx_take(&d->words, "sp::ordered_metadata"))
        return emu_decode_fail(d, "sparse products (mma.sp) are not supported");
    product *p = emu_decode_alloc(d, sizeof *p);
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !emu_mma_shape(d, &p->shape) ||
        !emu_mma_expect(d, "row") || !emu_mma_expect(d, "col"))
        return false;
    p->saturate = ptx_take(&d->words, "satfinite");
    int at = d->words.next;
    ptx_type type[4];
    for (int i = 0; i < 4; i++) {
        type[i] = ptx_take_type(&d->words);
        if (type[i] == PTX_NONE)
            return emu_decode_fail(d, "%s is no type that mma.sync is supported with",
                                   at + i < d->instruction->n_words ? d->instruction->word[at + i] : "nothing");
    }
    if (!emu_mma_end(d)) return false;
    p->dot = type[0] == type[3] ? emu_dot_find(90, false, type[1], type[2], type[0]) : NULL;
    if (p->dot == NULL || !shape_known(&p->shape, type[1]) || (p->saturate && p->dot->kind != EMU_DOT_INTEGER))
        return emu_decode_fail(d, "this shape and these types are not supported together");
    d->op->run = p->dot->kind == EMU_DOT_DOUBLE ? run_double : run_product;
    d->op->aligned = true;
    d->op->detail = p;
    return operands(d, p);
}
