/* mma.sp: a has half of its elements, and metadata says which. Four bits are the places of two elements among four, of tf32 of one
 * among two, of four bits of two pairs among four pairs. g = lane / 4, t = lane % 4, s = selector:
 *
 *   16 and 32 bits, 16 a row    t = s has row g in its low half, row g + 8 in its high half
 *                   32 a row    t = 2 s + h likewise, the first 16 bits of each row (h = 0) or the others
 *    8 and  4 bits, 32 a row    t = 2 s + e has row g + 8 e
 *                   64 a row    t = 2 h + e likewise, the first 32 bits of each row or the others */
#include "mma/warp.h"

#include <string.h>

static bool is_wide(const emu_warp_product *p) { return emu_warp_product_bits(p) >= 16; }
static bool is_single(const emu_warp_product *p) { return emu_warp_product_bits(p) == 32; }
/* Bytes of a row of a as it is stored: half of what b has. */
static int stored_bytes(const emu_warp_product *p) { return p->shape.k * emu_warp_product_bits(p) / 16; }
/* Groups of four bits of metadata a row: eight bytes of a dense row, or four. */
static int groups_of(const emu_warp_product *p) { return 2 * stored_bytes(p) / (is_wide(p) ? 8 : 4); }

/* Whether this lane has metadata, and from which group of its rows on. */
static bool has_metadata(const emu_warp_product *p, int lane, int *first) {
    const int t = lane % 4, groups = groups_of(p);
    *first = 0;
    if (groups == 4) return t == p->selector;
    if (groups == 16) return *first = 8 * (t / 2), true;
    if (is_wide(p)) *first = 4 * (t % 2);
    return t / 2 == p->selector;
}

/* Elements, or bytes of narrow ones, of a dense row. */
static void keep(emu_warp *warp, const emu_op *op, int lane, uint32_t code, int group, uint8_t *kept) {
    const emu_warp_product *p = op->detail;
    const uint32_t low = code & 3, high = code >> 2;
    const bool means = is_single(p) ? code == 4 || code == 14 : low != high && (low < high || !p->ordered);
    if (!means)
        emu_find(warp, op, lane, EMU_DESCRIPTOR, code, "metadata 0x%x, of places %u and %u of four, means nothing here",
                 code, low, high);
    if (is_single(p)) {
        kept[group] = (uint8_t)(2 * group + (int)low / 2);
        return;
    }
    kept[2 * group] = (uint8_t)(4 * group + (int)low);
    kept[2 * group + 1] = (uint8_t)(4 * group + (int)high);
}

static void read_metadata(emu_warp *warp, const emu_op *op, uint8_t (*kept)[EMU_LINE]) {
    const emu_warp_product *p = op->detail;
    const uint32_t *words = emu_u32(warp, p->metadata);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        int first;
        if (!has_metadata(p, lane, &first)) continue;
        for (int i = 0; i < 8; i++) {
            const int below = is_wide(p) ? i / 4 : lane % 2, group = first + (is_wide(p) ? i % 4 : i);
            keep(warp, op, lane, words[lane] >> 4 * i & 15, group, kept[lane / 4 + 8 * below]);
        }
    }
}

/* d += a b of narrow elements; of b the first half of k, then (from line EMU_MAX_N) the other. */
static void narrow_tile(const emu_warp_product *p, const uint8_t (*a)[EMU_LINE], const uint8_t (*kept)[EMU_LINE],
                        const uint8_t (*halves)[EMU_LINE], uint32_t *d) {
    const size_t bytes = (size_t)stored_bytes(p);
    uint8_t b[8][2 * EMU_LINE];
    for (int column = 0; column < 8; column++)
        for (size_t h = 0; h < 2; h++) memcpy(b[column] + h * bytes, halves[h * EMU_MAX_N + (size_t)column], bytes);
    emu_narrow_tile(p, (int)bytes, a, (const uint8_t(*)[2 * EMU_LINE]) b, kept, d);
}

emu_result emu_run_warp_sparse(emu_warp *warp, const emu_op *op, emu_mask mask) {
    static uint8_t halves[2 * EMU_MAX_N][EMU_LINE]; /* of b; one thread runs everything */
    const emu_warp_product *p = op->detail;
    const int bytes = stored_bytes(p);
    const bool half = p->dot && p->dot->accumulator == PTX_F16;
    uint8_t a[16][EMU_LINE], kept[16][EMU_LINE] = {{0}};
    const uint8_t(*rows)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])a,
          (*places)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])kept,
          (*columns)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])halves;
    uint32_t d[16 * 8];
    read_metadata(warp, op, kept);
    emu_fragment_lines(warp, p->a, 16, bytes, a);
    for (int h = 0; h < 2; h++) emu_fragment_lines(warp, p->b + h * bytes / 16, 8, bytes, halves + h * EMU_MAX_N);
    emu_fragment_accumulators(warp, p->c, 16, 8, half, d);
    if (p->dot)
        emu_tile_sparse(p->dot, 16, 8, p->shape.k / 2, rows, places, columns, d, p->saturate);
    else
        narrow_tile(p, rows, places, columns, d);
    emu_fragment_results(warp, p->d, 16, 8, half, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}
