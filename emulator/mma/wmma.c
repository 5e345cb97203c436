/* wmma: load, store, mma. The ISA leaves open which lane has which element; here, as on sm_80 and later, fragments are
 * those of mma.sync, one after the other: of a by 16 rows, of b by eight columns. Those of f16 a and b are there twice.
 */
#include <string.h>

#include "memory/memory.h"
#include "mma/decode.h"
#include "mma/fragments.h"

enum { MAX_REGISTERS = 8, MAX_ROWS = 32 };
typedef enum part { PART_A, PART_B, PART_C } part;

typedef struct fragment {
    part part;
    ptx_type type;
    int rows, columns, k; /* rows of a and c, columns of b and c */
    int registers;        /* that are used; those beyond are copies */
    int copies;
    emu_operand reg[MAX_REGISTERS];
} fragment;

typedef struct move {
    fragment f;
    bool row_major;
    ptx_space space;
    emu_address address;
    emu_operand stride; /* EMU_NOWHERE: packed */
} move;

typedef struct product {
    const emu_dot *dot;
    emu_shape shape;
    bool saturate;
    fragment a, b, c, d;
} product;

/* ---- fragments ------------------------------------------------------------------------------------------- */
static int size_of(const fragment *f) { return ptx_type_bytes[f->type]; }
static int register_bytes(const fragment *f) { return f->type == PTX_F64 ? 8 : 4; }
static int slots_of(const fragment *f) { return f->registers * register_bytes(f) / size_of(f); }

static void make_fragment(part what, ptx_type type, const emu_shape *shape, fragment *f) {
    *f = (fragment){.part = what, .type = type, .rows = shape->m, .columns = shape->n, .k = shape->k};
    int elements = what == PART_A ? shape->m * shape->k : what == PART_B ? shape->k * shape->n : shape->m * shape->n;
    f->registers = elements * size_of(f) / EMU_LANES / register_bytes(f);
    f->copies = type == PTX_F16 && what != PART_C ? MAX_REGISTERS / f->registers : 1;
}

/* Where slot number `slot` of a lane is: row of a or c, or column of b; and k, or column of c. */
static void place_of(const fragment *f, int slot, int lane, int *across, int *along) {
    const int g = lane / 4, t = lane % 4, each = register_bytes(f) / size_of(f);
    int reg = slot / each, element = slot % each;
    if (f->part == PART_C) {
        const int pair = f->type == PTX_F16 ? reg : reg / 2, blocks = f->rows / 8;
        *across = pair % blocks * 8 + g;
        *along = pair / blocks * 8 + 2 * t + (f->type == PTX_F16 ? element : reg % 2);
        return;
    }
    if (f->type == PTX_F64) {
        *across = g;
        *along = t;
        return;
    }
    const int outer = f->part == PART_A ? f->rows : f->columns, blocks = f->part == PART_A && outer > 8 ? 2 : 1;
    const int halves = f->k * size_of(f) / 16, group = reg / (halves * blocks);
    reg %= halves * blocks;
    *across = (group * blocks + reg % blocks) * 8 + g;
    *along = (16 * (reg / blocks) + 4 * t) / size_of(f) + element;
}

static void *slot_at(const emu_warp *warp, const fragment *f, int slot, int lane) {
    const int each = register_bytes(f) / size_of(f);
    uint8_t *lanes = emu_at(warp, f->reg[slot / each].at);
    return lanes + lane * register_bytes(f) + slot % each * size_of(f);
}

/* ---- load, store ------------------------------------------------------------------------------------------- */
/* Addresses of the lanes' slot, of which address is that of the matrix. */
static void addresses(const emu_warp *warp, const move *m, int slot, const uint64_t *base, uint64_t *address) {
    const fragment *f = &m->f;
    const uint32_t *stride = m->stride.at == EMU_NOWHERE ? NULL : emu_u32(warp, m->stride);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        int across, along;
        place_of(f, slot, lane, &across, &along);
        const int row = f->part == PART_B ? along : across, column = f->part == PART_B ? across : along;
        const int rows = f->part == PART_B ? f->k : f->rows, columns = f->part == PART_A ? f->k : f->columns;
        const uint64_t packed = (uint64_t)(m->row_major ? columns : rows), line = stride ? stride[lane] : packed;
        const uint64_t index =
            m->row_major ? (uint64_t)row * line + (uint64_t)column : (uint64_t)column * line + (uint64_t)row;
        address[lane] = base[lane] + index * (uint64_t)size_of(f);
    }
}

static emu_result run_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const move *m = op->detail;
    const size_t size = (size_t)size_of(&m->f);
    const emu_access access = {.kind = EMU_READ, .space = m->space, .bytes = (uint32_t)size};
    uint64_t base[EMU_LANES], address[EMU_LANES], value[16][EMU_LANES];
    emu_addresses(warp, &m->address, base);
    for (int slot = 0; slot < slots_of(&m->f); slot++) { /* all is read before a register is written */
        uint8_t *pointer[EMU_LANES];
        addresses(warp, m, slot, base, address);
        if (!emu_memory_lanes(warp, op, mask, &access, address, pointer)) return EMU_ABORT;
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (mask >> lane & 1) memcpy(&value[slot][lane], pointer[lane], size);
    }
    for (int slot = 0; slot < slots_of(&m->f); slot++)
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (mask >> lane & 1) memcpy(slot_at(warp, &m->f, slot, lane), &value[slot][lane], size);
    for (int i = m->f.registers; i < m->f.registers * m->f.copies; i++)
        memcpy(emu_u32(warp, m->f.reg[i]), emu_u32(warp, m->f.reg[i % m->f.registers]), sizeof(uint32_t) * EMU_LANES);
    return EMU_NEXT;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const move *m = op->detail;
    const emu_access access = {.kind = EMU_WRITE, .space = m->space, .bytes = (uint32_t)size_of(&m->f)};
    uint64_t base[EMU_LANES], address[EMU_LANES];
    emu_addresses(warp, &m->address, base);
    for (int slot = 0; slot < slots_of(&m->f); slot++) {
        uint8_t *pointer[EMU_LANES];
        addresses(warp, m, slot, base, address);
        if (!emu_memory_lanes(warp, op, mask, &access, address, pointer)) return EMU_ABORT;
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (mask >> lane & 1) memcpy(pointer[lane], slot_at(warp, &m->f, slot, lane), (size_t)size_of(&m->f));
    }
    return EMU_NEXT;
}

/* ---- mma ---------------------------------------------------------------------------------------------------- */
static void lines_of(const emu_warp *warp, const fragment *f, uint8_t (*line)[EMU_LINE]) {
    for (int slot = 0; slot < slots_of(f); slot++)
        for (int lane = 0; lane < EMU_LANES; lane++) {
            int across, along;
            place_of(f, slot, lane, &across, &along);
            memcpy(line[across] + along * size_of(f), slot_at(warp, f, slot, lane), (size_t)size_of(f));
        }
}

static uint32_t single_of_half(uint32_t bits) {
    const emu_factor x = emu_factor_of(emu_format_of(PTX_F16), bits);
    float value = (float)x.significand * 0x1p-24f;
    for (int e = x.exponent; e > -14; e--) value *= 2;
    if (x.special != 0) value = x.special;
    uint32_t single;
    memcpy(&single, &value, 4);
    return single | (bits & 0x8000) << 16;
}

static emu_result run_product(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const product *p = op->detail;
    const int m = p->shape.m, n = p->shape.n;
    const bool half = p->d.type == PTX_F16;
    uint8_t a[MAX_ROWS][EMU_LINE], b[MAX_ROWS][EMU_LINE];
    uint32_t d[MAX_ROWS * MAX_ROWS];
    lines_of(warp, &p->a, a);
    lines_of(warp, &p->b, b);
    emu_fragment_accumulators(warp, p->c.reg, m, n, p->c.type == PTX_F16, d);
    for (int i = 0; i < m * n && p->c.type == PTX_F16 && !half; i++) d[i] = single_of_half(d[i]);
    emu_tile(p->dot, m, n, p->shape.k, (const uint8_t(*)[EMU_LINE])a, (const uint8_t(*)[EMU_LINE])b, d, p->saturate);
    emu_fragment_results(warp, p->d.reg, m, n, half, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}

static emu_result run_double(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const product *p = op->detail;
    double a[8 * 4], b[8 * 4], d[8 * 8];
    emu_fragment_doubles(warp, p->a.reg, 8, 4, a);
    emu_fragment_doubles(warp, p->b.reg, 8, 4, b);
    emu_fragment_double_accumulators(warp, p->c.reg, 8, d);
    emu_tile_double(8, 8, 4, a, b, d);
    emu_fragment_double_results(warp, p->d.reg, 8, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}

/* ---- decoders ------------------------------------------------------------------------------------------------ */
static bool shape_fits(const emu_shape *s, ptx_type multiplicand) {
    if (multiplicand == PTX_F64) return s->m == 8 && s->n == 8 && s->k == 4;
    if (multiplicand == PTX_TF32) return s->m == 16 && s->n == 16 && s->k == 8;
    return s->k == 16 && s->m * s->n == 256 && (s->m == 8 || s->m == 16 || s->m == 32);
}

static bool move_fits(part what, ptx_type type, const emu_shape *s) {
    if (what != PART_C) {
        const bool factor = type == PTX_F16 || type == PTX_BF16 || type == PTX_TF32 || type == PTX_S8 || type == PTX_U8;
        return (factor || type == PTX_F64) && shape_fits(s, type);
    }
    if (type == PTX_F64) return shape_fits(s, PTX_F64);
    if (type == PTX_F32 && s->k == 8) return shape_fits(s, PTX_TF32);
    return (type == PTX_F32 || type == PTX_F16 || type == PTX_S32) && shape_fits(s, PTX_F16);
}

static bool decode_layout(emu_decoding *d, bool *row_major) {
    static const char *const layouts[] = {"row", "col", NULL};
    const int layout = ptx_take_of(&d->words, layouts, -1);
    *row_major = layout == 0;
    return layout >= 0 || emu_decode_fail(d, ".row or .col is due");
}

static bool decode_move(emu_decoding *d, part what, bool load) {
    static const char *const spaces[] = {"shared", "shared::cta", "global", NULL};
    static const ptx_space space_of[] = {PTX_SHARED, PTX_SHARED, PTX_GLOBAL};
    move *m = emu_decode_alloc(d, sizeof *m);
    emu_shape shape;
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !decode_layout(d, &m->row_major) ||
        !emu_mma_shape(d, &shape))
        return false;
    const int space = ptx_take_of(&d->words, spaces, -1);
    m->space = space < 0 ? PTX_GENERIC : space_of[space];
    const ptx_type type = ptx_take_type(&d->words);
    if (!emu_mma_end(d)) return false;
    if (!move_fits(what, type, &shape))
        return emu_decode_fail(d, "this shape and this type are not supported together");
    make_fragment(what, type, &shape, &m->f);
    d->op->run = load ? run_load : run_store;
    d->op->detail = m;
    const int n = d->instruction->n_operands, address = load ? 1 : 0, registers = m->f.registers * m->f.copies;
    if (n != 2 && n != 3) return emu_decode_fail(d, "two operands or three are due");
    m->stride.at = EMU_NOWHERE;
    if (n == 3 && !emu_mma_sources(d, 2, PTX_B32, 1, &m->stride)) return false;
    const ptx_type word = type == PTX_F64 ? PTX_F64 : PTX_B32;
    return emu_decode_address(d, &d->instruction->operand[address], m->space, &m->address) &&
           (load ? emu_mma_destinations(d, 0, word, registers, m->f.reg)
                 : emu_mma_sources(d, 1, word, registers, m->f.reg));
}

static bool product_types(emu_decoding *d, product *p) {
    ptx_type type[4], a = PTX_F16, b = PTX_F16;
    int n = 0;
    while (n < 4 && (type[n] = ptx_take_type(&d->words)) != PTX_NONE) n++;
    p->saturate = ptx_take(&d->words, "satfinite");
    if (n == 4 && type[0] == PTX_F64) ptx_take(&d->words, "rn"); /* where compilers have it */
    if (!emu_mma_end(d)) return false;
    if (n == 4) a = type[1], b = type[2];
    if (n != 2 && n != 4) return emu_decode_fail(d, "these types are not supported");
    p->dot = emu_dot_find(90, false, a, b, type[0]);
    const bool widened = type[0] == PTX_F32 && type[n - 1] == PTX_F16 && n == 2;
    if (p->dot == NULL || p->dot->kind == EMU_DOT_CONVERTED || (type[n - 1] != type[0] && !widened) ||
        !shape_fits(&p->shape, a) || (p->saturate && p->dot->kind != EMU_DOT_INTEGER))
        return emu_decode_fail(d, "this shape and these types are not supported together");
    make_fragment(PART_A, a, &p->shape, &p->a);
    make_fragment(PART_B, b, &p->shape, &p->b);
    make_fragment(PART_C, type[n - 1], &p->shape, &p->c);
    make_fragment(PART_C, type[0], &p->shape, &p->d);
    return true;
}

static bool decode_product(emu_decoding *d) {
    static const char *const rounding[] = {"rn", "rz", "rm", "rp", NULL};
    product *p = emu_decode_alloc(d, sizeof *p);
    bool layout; /* the fragments hold the same, whatever the layout in memory was */
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !decode_layout(d, &layout) ||
        !decode_layout(d, &layout) || !emu_mma_shape(d, &p->shape))
        return false;
    if (ptx_take_of(&d->words, rounding, 0) != 0) return emu_decode_fail(d, "only .rn is supported");
    if (!product_types(d, p)) return false;
    const bool wide = p->dot->kind == EMU_DOT_DOUBLE;
    const ptx_type word = wide ? PTX_F64 : PTX_B32;
    d->op->run = wide ? run_double : run_product;
    d->op->detail = p;
    if (d->instruction->n_operands != 4) return emu_decode_fail(d, "four operands are due");
    return emu_mma_sources(d, 1, word, p->a.registers * p->a.copies, p->a.reg) &&
           emu_mma_sources(d, 2, word, p->b.registers * p->b.copies, p->b.reg) &&
           emu_mma_sources(d, 3, word, p->c.registers, p->c.reg) &&
           emu_mma_destinations(d, 0, word, p->d.registers, p->d.reg);
}

bool emu_decode_wmma(emu_decoding *d) {
    static const char *const parts[] = {"a", "b", "c", NULL};
    d->op->aligned = true;
    if (ptx_take(&d->words, "mma")) return decode_product(d);
    if (ptx_take(&d->words, "store")) return emu_mma_expect(d, "d") && decode_move(d, PART_C, false);
    if (!emu_mma_expect(d, "load")) return false;
    const int what = ptx_take_of(&d->words, parts, -1);
    if (what < 0) return emu_decode_fail(d, "wmma.load is of a, b or c");
    return decode_move(d, (part)what, true);
}
