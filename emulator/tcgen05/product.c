/* tcgen05.mma: one thread issues it, an engine does it; it reads shared memory by the async proxy, and tensor memory. Of a pair
 * of blocks, each has half of the rows of A and D, and half of the columns of B, at the same addresses. Rows of A in tensor
 * memory lie as those of D, 32 bytes of k in 8 columns; 16-bit accumulators in the low half of a cell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcgen05/sparse.h"

enum { MOST_ROWS = 256, A_COLUMNS = EMU_LINE / 4, MASK_WORDS = EMU_TENSOR_MASK_WORDS };

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

static bool check(emu_warp *warp, const emu_op *op, int lane, const emu_tensor_product *detail, uint32_t bits,
                  product *p) {
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

static void read_operands(const emu_warp *warp, const emu_tensor_product *detail, int lane, product *p) {
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
    const emu_tensor_product *detail = op->detail;
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

emu_result emu_tensor_product_run(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    if (mask & (mask - 1))
        emu_find(warp, op, __builtin_ctz(mask), EMU_PROTOCOL, 0, "%d threads issue tcgen05.mma, each the whole product",
                 __builtin_popcount(mask));
    for (emu_mask rest = mask; rest; rest &= rest - 1)
        if (!issue(warp, op, __builtin_ctz(rest))) return EMU_ABORT;
    return EMU_NEXT;
}
