/* tcgen05.mma: one thread issues it, an engine does it; it reads shared memory by the async proxy, and tensor memory. Of a pair
 * of blocks, each has half of the rows of A and D, and half of the columns of B, at the same addresses. Rows of A in tensor
 * memory lie as those of D, 32 bytes of k in 8 columns; 16-bit accumulators in the low half of a cell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcgen05/sparse.h"

enum { MOST_ROWS = 256, A_COLUMNS = EMU_LINE / 4, MASK_WORDS = 4 };

typedef struct product_detail {
    emu_tensor_form form;
    bool a_in_tensor, masked;
    int scale; /* d is multiplied by 2^-scale */
    emu_address d, a_address, metadata, scale_a, scale_b;
    emu_operand a, b, shape, add, mask[2 * MASK_WORDS];
} product_detail;

typedef struct product {
    emu_operation operation;
    emu_tensor_shape shape;
    emu_tensor_layout layout;
    bool a_in_tensor, add;
    int scale, blocks;
    emu_block *block[2]; /* the rows' owners, in order */
    uint32_t d, a_address, metadata, scale_a, scale_b;
    uint64_t a, b;
    uint32_t disabled[2][MASK_WORDS]; /* a bit a lane */
    uint64_t number;
} product;

static bool enabled(const product *p, int block, uint32_t lane) {
    return !(p->disabled[block][lane / 32] >> lane % 32 & 1);
}

/* Columns of all lanes of the layout, or of those that are not disabled. */
static void touch(const product *p, int block, emu_access_kind kind, uint32_t address, uint32_t columns, bool all) {
    const uint32_t from = address >> 16;
    for (uint32_t first = 0; first < EMU_TENSOR_LANES; first++) {
        uint32_t n = 0;
        while (first + n < EMU_TENSOR_LANES && emu_layout_uses(p->layout, from, first + n) &&
               (all || enabled(p, block, first + n)))
            n++;
        for (uint32_t i = 0; i < columns && n; i++)
            emu_tensor_touch(&p->operation.actor, p->block[block], kind, first, (address & 0xffff) + i, n);
        first += n;
    }
}

static bool gather_a(const product *p, int block, uint8_t (*line)[EMU_LINE]) {
    const int rows = p->shape.m / p->blocks;
    if (!p->a_in_tensor)
        return emu_tensor_gather(&p->operation, p->block[block], p->a, p->shape.a, p->shape.trans_a, rows, 1, line);
    touch(p, block, EMU_READ, p->a_address, A_COLUMNS, true);
    const struct emu_tensor *tensor = p->block[block]->tensor;
    for (int row = 0; row < rows; row++)
        for (uint32_t i = 0; i < A_COLUMNS; i++)
            memcpy(line[row] + 4 * i,
                   &tensor->cell[(p->a_address & 0xffff) + i][emu_layout_lane(p->layout, p->a_address >> 16, row, 0)],
                   4);
    return true;
}

/* The lane and the cell of an accumulator of a block. */
static uint32_t *cell_of(const product *p, int block, int row, int column, uint32_t *lane) {
    const int columns = emu_layout_columns(p->layout, p->shape.n);
    *lane = emu_layout_lane(p->layout, p->d >> 16, row, column / columns);
    return &p->block[block]->tensor->cell[(p->d & 0xffff) + (uint32_t)(column % columns)][*lane];
}

static void read_accumulators(const product *p, int block, uint32_t *d) {
    const bool half = p->shape.dot->accumulator == PTX_F16;
    uint32_t lane;
    touch(p, block, EMU_READ, p->d, (uint32_t)emu_layout_columns(p->layout, p->shape.n), false);
    for (int column = 0; column < p->shape.n; column++)
        for (int row = 0; row < p->shape.m / p->blocks; row++) {
            const uint32_t *cell = cell_of(p, block, row, column, &lane);
            d[row * p->shape.n + column] = half ? *cell & 0xffff : *cell;
        }
}

static void write_results(const product *p, int block, const uint32_t *d) {
    uint32_t lane;
    touch(p, block, EMU_WRITE, p->d, (uint32_t)emu_layout_columns(p->layout, p->shape.n), false);
    for (int column = 0; column < p->shape.n; column++)
        for (int row = 0; row < p->shape.m / p->blocks; row++) {
            uint32_t *cell = cell_of(p, block, row, column, &lane);
            if (enabled(p, block, lane)) *cell = d[row * p->shape.n + column];
        }
}

/* B's k is twice as long as sparse A's: its second half is in the lines from EMU_MAX_N on. */
static bool gather(const product *p, uint8_t (*a)[EMU_LINE], uint8_t (*place)[EMU_LINE], uint8_t (*b)[EMU_LINE]) {
    const emu_tensor_shape *shape = &p->shape;
    const int m = shape->m / p->blocks, n = shape->n / p->blocks, parts = 1 + shape->sparse;
    for (int i = 0; i < p->blocks; i++) {
        if (!gather_a(p, i, a + i * m) ||
            !emu_tensor_gather(&p->operation, p->block[i], p->b, shape->b, shape->trans_b, n, parts, b + i * n))
            return false;
        if (shape->sparse)
            emu_tensor_places(&p->operation.actor, p->block[i], shape, p->layout, p->metadata, m, place + i * m);
    }
    if (shape->negate_a) emu_tensor_negate(shape->a, shape->m, a);
    for (int part = 0; part < parts && shape->negate_b; part++)
        emu_tensor_negate(shape->b, shape->n, b + part * EMU_MAX_N);
    return true;
}

/* Each block has the scales of its own rows, and of all columns. */
static void multiply_scaled(const product *p, emu_tensor_rows a, const uint8_t (*b)[EMU_LINE], uint32_t *d) {
    const int rows = p->shape.m / p->blocks;
    uint32_t scale_a[MOST_ROWS], scale_b[EMU_MAX_N];
    for (int i = 0; i < p->blocks; i++) {
        emu_tensor_scales(&p->operation.actor, p->block[i], p->scale_a, rows, scale_a);
        emu_tensor_scales(&p->operation.actor, p->block[i], p->scale_b, p->shape.n, scale_b);
        const emu_tensor_rows own = {a.line + i * rows, a.place + i * rows};
        emu_tensor_multiply_scaled(&p->shape, rows, own, b, scale_a, scale_b, d + i * rows * p->shape.n);
    }
}

static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    static uint8_t a[MOST_ROWS][EMU_LINE], b[2 * EMU_MAX_N][EMU_LINE]; /* one thread runs everything */
    static uint8_t place[MOST_ROWS][EMU_LINE];
    static uint32_t d[MOST_ROWS * EMU_MAX_N];
    const product *p = (const product *)operation;
    const int half = p->shape.m / p->blocks * p->shape.n;
    if (emu_tensor_exited(operation, p->block, p->blocks, "tcgen05.mma") || !gather(p, a, place, b)) {
        emu_engine_fail(operation);
        return true;
    }
    memset(d, 0, (size_t)(p->blocks * half) * sizeof d[0]);
    for (int i = 0; i < p->blocks && p->add; i++) read_accumulators(p, i, d + i * half);
    const emu_tensor_rows rows = {(const uint8_t(*)[EMU_LINE])a, (const uint8_t(*)[EMU_LINE])place};
    if (p->shape.scales)
        multiply_scaled(p, rows, (const uint8_t(*)[EMU_LINE])b, d);
    else
        emu_tensor_multiply(&p->shape, rows, (const uint8_t(*)[EMU_LINE])b, p->scale, d);
    for (int i = 0; i < p->blocks; i++) write_results(p, i, d + i * half);
    emu_total.tiles++;
    return true;
}

static void destroy(emu_operation *operation) {
    emu_actor_end(&operation->actor);
    free(operation);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    const product *p = (const product *)operation;
    snprintf(text, bytes, "tcgen05.mma number %llu of its warp", (unsigned long long)p->number);
}

/* ---- issue ----------------------------------------------------------------------------------------------- */
static bool wrong(emu_warp *warp, const emu_op *op, int lane, const char *what, uint64_t bits, const char *why) {
    if (why == NULL) return false;
    emu_find(warp, op, lane, EMU_DESCRIPTOR, bits, "the descriptor of %s, 0x%llx: %s", what, (unsigned long long)bits,
             why);
    return true;
}

static bool check_lanes(emu_warp *warp, const emu_op *op, const product *p, uint32_t address, uint32_t columns,
                        const char *what) {
    const bool spread = p->layout.spread;
    const uint32_t lane = address >> 16, lanes = spread ? EMU_TENSOR_LANES - 16 : EMU_TENSOR_LANES;
    if (lane != 0 && !(lane == 16 && spread)) {
        emu_find(warp, op, -1, EMU_TENSOR, 7, "%s at 0x%08x begins in lane %u: lane 0%s is due", what, address, lane,
                 spread ? ", or 16," : "");
        return false;
    }
    for (int i = 0; i < p->blocks; i++)
        if (!emu_tensor_allocated(warp, op, p->block[i], address, lanes, columns, what)) return false;
    return true;
}

/* parts: 2 where k is 64 bytes long. How that would leave a line of 32 bytes is not documented. */
static bool check_matrix(emu_warp *warp, const emu_op *op, int lane, uint64_t bits, ptx_type type, bool trans, int rows,
                         int parts, const char *what) {
    emu_descriptor descriptor;
    const char *why = emu_tensor_matrix_read(bits, type, trans, &descriptor);
    if (why == NULL && trans && rows % (16 / ptx_type_bytes[type])) why = "its rows do not fill chunks of 16 bytes";
    if (why == NULL && !trans && parts > 1 && descriptor.line == EMU_LINE)
        why = "64 bytes of k do not fit lines of 32 bytes";
    return !wrong(warp, op, lane, what, bits, why);
}

/* The selector is added to the address: it names a column of two. */
static bool check_metadata(emu_warp *warp, const emu_op *op, emu_tensor_kind kind, product *p) {
    if (p->metadata & 1) {
        emu_find(warp, op, -1, EMU_TENSOR, 11, "the metadata at 0x%08x begins in an odd column: an even one is due",
                 p->metadata);
        return false;
    }
    p->metadata += (uint32_t)p->shape.selector;
    return check_lanes(warp, op, p, p->metadata, emu_tensor_halves(kind) ? 1 : 2, "the metadata");
}

/* Where half of the lanes are used, it is the same half for all. */
static bool check_half(emu_warp *warp, const emu_op *op, const product *p, uint32_t address, const char *what) {
    if (!p->layout.spread || address >> 16 == p->d >> 16) return true;
    emu_find(warp, op, -1, EMU_TENSOR, 12, "%s begins in lane %u, and D in lane %u: the same is due", what,
             address >> 16, p->d >> 16);
    return false;
}

static uint32_t columns_of_scales(int rows) { return ((uint32_t)rows + 31) / 32; }

static bool check(emu_warp *warp, const emu_op *op, int lane, const product_detail *detail, uint32_t bits, product *p) {
    if (wrong(warp, op, lane, "the instruction", bits, emu_tensor_shape_read(&detail->form, bits, &p->shape)))
        return false;
    const emu_tensor_shape *shape = &p->shape;
    p->layout = emu_layout_of(shape, detail->form.pair);
    if (p->a_in_tensor && (shape->trans_a || p->layout.folds > 1))
        return !wrong(warp, op, lane, "the instruction", bits,
                      shape->trans_a ? "A in tensor memory is not transposed"
                                     : "A in tensor memory is not supported for so few rows");
    if (p->a_in_tensor
            ? !check_lanes(warp, op, p, p->a_address, A_COLUMNS, "A") || !check_half(warp, op, p, p->a_address, "A")
            : !check_matrix(warp, op, lane, p->a, shape->a, shape->trans_a, shape->m / p->blocks, 1, "A"))
        return false;
    if (shape->sparse &&
        (!check_metadata(warp, op, detail->form.kind, p) || !check_half(warp, op, p, p->metadata, "the metadata")))
        return false;
    if (shape->scales &&
        (!check_lanes(warp, op, p, p->scale_a, columns_of_scales(shape->m / p->blocks), "A's scales") ||
         !check_lanes(warp, op, p, p->scale_b, columns_of_scales(shape->n), "B's scales")))
        return false;
    return check_matrix(warp, op, lane, p->b, shape->b, shape->trans_b, shape->n / p->blocks, 1 + shape->sparse, "B") &&
           check_lanes(warp, op, p, p->d, (uint32_t)emu_layout_columns(p->layout, shape->n), "D");
}

static void read_operands(const emu_warp *warp, const product_detail *detail, int lane, product *p) {
    uint64_t lanes[EMU_LANES];
    emu_addresses(warp, &detail->d, lanes);
    p->d = (uint32_t)lanes[lane];
    if (detail->a_in_tensor) {
        emu_addresses(warp, &detail->a_address, lanes);
        p->a_address = (uint32_t)lanes[lane];
    } else {
        p->a = emu_u64(warp, detail->a)[lane];
    }
    if (detail->form.sparse) {
        emu_addresses(warp, &detail->metadata, lanes);
        p->metadata = (uint32_t)lanes[lane];
    }
    if (detail->form.scales) { /* the two highest bits repeat the instruction descriptor's byte */
        emu_addresses(warp, &detail->scale_a, lanes);
        p->scale_a = (uint32_t)lanes[lane] & 0x3fffffff;
        emu_addresses(warp, &detail->scale_b, lanes);
        p->scale_b = (uint32_t)lanes[lane] & 0x3fffffff;
    }
    p->a_in_tensor = detail->a_in_tensor;
    p->b = emu_u64(warp, detail->b)[lane];
    p->add = emu_pred(warp, detail->add) >> lane & 1;
    p->scale = detail->scale;
    for (int i = 0; i < MASK_WORDS * p->blocks && detail->masked; i++)
        p->disabled[i / MASK_WORDS][i % MASK_WORDS] = emu_u32(warp, detail->mask[i])[lane];
}

static bool issue(emu_warp *warp, const emu_op *op, int lane) {
    const product_detail *detail = op->detail;
    product *p = emu_alloc(sizeof *p);
    p->blocks = emu_tensor_blocks(warp, op, p->block);
    read_operands(warp, detail, lane, p);
    if (!check(warp, op, lane, detail, emu_u32(warp, detail->shape)[lane], p)) {
        free(p);
        return false;
    }
    for (int i = 0; i < p->blocks; i++) p->operation.ranks |= 1u << p->block[i]->rank;
    p->operation.step = step;
    p->operation.destroy = destroy;
    p->operation.describe = describe;
    emu_tensor_issue(warp, op, lane, &p->operation);
    p->number = emu_tensor_use_of(warp)->products;
    return true;
}

static emu_result run_product(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    if (mask & (mask - 1))
        emu_find(warp, op, __builtin_ctz(mask), EMU_PROTOCOL, 0, "%d threads issue tcgen05.mma, each the whole product",
                 __builtin_popcount(mask));
    for (emu_mask rest = mask; rest; rest &= rest - 1)
        if (!issue(warp, op, __builtin_ctz(rest))) return EMU_ABORT;
    return EMU_NEXT;
}

/* ---- decoder --------------------------------------------------------------------------------------------- */
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
static bool take_rest(emu_decoding *d, product_detail *detail, int at) {
    const ptx_instruction *instruction = d->instruction;
    if (instruction->operand[at].kind == PTX_VECTOR && !detail->form.ws) {
        detail->masked = true;
        if (!emu_mma_sources(d, at++, PTX_B32, MASK_WORDS * d->op->kind, detail->mask)) return false;
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
static bool take_scales(emu_decoding *d, product_detail *detail) {
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
    product_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->run = run_product;
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
