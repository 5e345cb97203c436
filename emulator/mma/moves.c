/* ldmatrix, stmatrix, movmatrix: matrices of 8 × 8 elements of 16 bits between shared memory and registers. Register i
 * of lane 4g + t has elements 2t and 2t + 1 of row g of matrix i; with .trans, of column g. Lane 8i + r gives the
 * address of row r. */
#include <string.h>

#include "mma/decode.h"
#include "memory/memory.h"

typedef struct move {
    int matrices;
    bool trans;
    ptx_space space;
    emu_address address;
    emu_operand reg[4];
} move;

static bool rows_of(emu_warp *warp, const emu_op *op, emu_access_kind kind, uint8_t *row[EMU_LANES]) {
    const move *m = op->detail;
    uint64_t address[EMU_LANES];
    emu_addresses(warp, &m->address, address);
    emu_mask lanes = m->matrices == 4 ? UINT32_MAX : (1u << (8 * m->matrices)) - 1;
    if (m->space == PTX_GENERIC)
        for (int lane = 0; lane < EMU_LANES; lane++)
            if (lanes >> lane & 1 && emu_memory_space(address[lane]) != PTX_SHARED) {
                emu_find(warp, op, lane, EMU_OUT_OF_BOUNDS, 0, "address 0x%llx is not in shared memory",
                         (unsigned long long)address[lane]);
                return false;
            }
    const emu_access access = {.kind = kind, .space = m->space, .bytes = 16};
    return emu_memory_lanes(warp, op, lanes, &access, address, row);
}

static emu_result run_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const move *m = op->detail;
    uint8_t *row[EMU_LANES];
    if (!rows_of(warp, op, EMU_READ, row)) return EMU_ABORT;
    uint32_t value[4][EMU_LANES]; /* all is read before anything is written: the address may be in a destination */
    for (int i = 0; i < m->matrices; i++)
        for (int lane = 0; lane < EMU_LANES; lane++) {
            uint16_t pair[2];
            int g = lane / 4, t = lane % 4;
            for (int e = 0; e < 2; e++)
                memcpy(&pair[e], m->trans ? row[8 * i + 2 * t + e] + 2 * g : row[8 * i + g] + 4 * t + 2 * e, 2);
            value[i][lane] = pair[0] | (uint32_t)pair[1] << 16;
        }
    for (int i = 0; i < m->matrices; i++) {
        uint32_t *out = emu_u32(warp, m->reg[i]);
        for (int lane = 0; lane < EMU_LANES; lane++) out[lane] = mask >> lane & 1 ? value[i][lane] : out[lane];
    }
    return EMU_NEXT;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)mask;
    const move *m = op->detail;
    uint8_t *row[EMU_LANES];
    if (!rows_of(warp, op, EMU_WRITE, row)) return EMU_ABORT;
    for (int i = 0; i < m->matrices; i++) {
        const uint32_t *in = emu_u32(warp, m->reg[i]);
        for (int lane = 0; lane < EMU_LANES; lane++) {
            int g = lane / 4, t = lane % 4;
            for (int e = 0; e < 2; e++) {
                uint16_t value = (uint16_t)(in[lane] >> (16 * e));
                memcpy(m->trans ? row[8 * i + 2 * t + e] + 2 * g : row[8 * i + g] + 4 * t + 2 * e, &value, 2);
            }
        }
    }
    return EMU_NEXT;
}

static emu_result run_transpose(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const uint32_t *in = emu_u32(warp, op->operand[1]);
    uint32_t *out = emu_u32(warp, op->operand[0]), value[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++) {
        int g = lane / 4, t = lane % 4; /* elements (2t, g) and (2t + 1, g) */
        uint32_t low = in[8 * t + g / 2] >> (g % 2 * 16), high = in[8 * t + 4 + g / 2] >> (g % 2 * 16);
        value[lane] = (low & 0xffff) | high << 16;
    }
    for (int lane = 0; lane < EMU_LANES; lane++) out[lane] = mask >> lane & 1 ? value[lane] : out[lane];
    return EMU_NEXT;
}

static bool move_words(emu_decoding *d, move *m) {
    static const char *const numbers[] = {"x1", "x2", "x4", NULL};
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned")) return false;
    /* The manual has .m8n8 first, CUTLASS behind the number and .trans: ptxas takes both. */
    bool shape = ptx_take(&d->words, "m8n8");
    int number = ptx_take_of(&d->words, numbers, -1);
    if (number < 0) return emu_decode_fail(d, ".x1, .x2 or .x4 is due");
    m->matrices = 1 << number;
    m->trans = ptx_take(&d->words, "trans");
    if (!shape && !emu_mma_expect(d, "m8n8")) return false;
    bool shared = ptx_take(&d->words, "shared") || ptx_take(&d->words, "shared::cta");
    m->space = shared ? PTX_SHARED : PTX_GENERIC;
    d->op->aligned = true;
    d->op->detail = m;
    if (!emu_mma_expect(d, "b16") || !emu_mma_end(d)) return false;
    return d->instruction->n_operands == 2 || emu_decode_fail(d, "two operands are due");
}

bool emu_decode_ldmatrix(emu_decoding *d) {
    move *m = emu_decode_alloc(d, sizeof *m);
    if (!move_words(d, m)) return false;
    d->op->run = run_load;
    return emu_decode_address(d, &d->instruction->operand[1], m->space, &m->address) &&
           emu_mma_destinations(d, 0, PTX_B32, m->matrices, m->reg);
}

bool emu_decode_stmatrix(emu_decoding *d) {
    move *m = emu_decode_alloc(d, sizeof *m);
    if (!move_words(d, m)) return false;
    d->op->run = run_store;
    return emu_decode_address(d, &d->instruction->operand[0], m->space, &m->address) &&
           emu_mma_sources(d, 1, PTX_B32, m->matrices, m->reg);
}

bool emu_decode_movmatrix(emu_decoding *d) {
    if (!emu_mma_expect(d, "sync") || !emu_mma_expect(d, "aligned") || !emu_mma_expect(d, "m8n8") ||
        !emu_mma_expect(d, "trans") || !emu_mma_expect(d, "b16") || !emu_mma_end(d))
        return false;
    d->op->run = run_transpose;
    d->op->aligned = true;
    return emu_mma_sources(d, 1, PTX_B32, 1, &d->op->operand[1]) &&
           emu_mma_destinations(d, 0, PTX_B32, 1, &d->op->operand[0]);
}
