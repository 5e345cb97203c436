/* mma.sync of elements below a byte: s4 and u4, multiplied and added, and b1, whose bits are joined and counted. Lines of a row are
 * packed as those of wider elements are. */
#include "mma/warp.h"

#include <string.h>

static int nibble(emu_narrow type, uint8_t byte, int i) {
    const int value = byte >> 4 * i & 15;
    return type == EMU_NARROW_S4 && value > 7 ? value - 16 : value;
}

static int byte_sum(const emu_warp_product *p, uint8_t a, uint8_t b) {
    if (p->narrow[0] == EMU_NARROW_B1) return __builtin_popcount(p->exclusive ? a ^ b : a & b);
    int sum = 0;
    for (int i = 0; i < 2; i++) sum += nibble(p->narrow[0], a, i) * nibble(p->narrow[1], b, i);
    return sum;
}

void emu_narrow_tile(const emu_warp_product *p, int bytes, const uint8_t (*a)[EMU_LINE],
                     const uint8_t (*b)[2 * EMU_LINE], const uint8_t (*kept)[EMU_LINE], uint32_t *d) {
    for (int row = 0; row < p->shape.m; row++)
        for (int column = 0; column < 8; column++) {
            int64_t sum = (int32_t)d[row * 8 + column];
            for (int i = 0; i < bytes; i++) sum += byte_sum(p, a[row][i], b[column][kept ? kept[row][i] : i]);
            if (p->saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[row * 8 + column] = (uint32_t)sum;
        }
}

emu_result emu_run_warp_narrow(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_warp_product *p = op->detail;
    const int m = p->shape.m, bytes = p->shape.k * emu_warp_product_bits(p) / 8;
    uint8_t a[16][EMU_LINE], lines[8][EMU_LINE], b[8][2 * EMU_LINE];
    uint32_t d[16 * 8];
    emu_fragment_lines(warp, p->a, m, bytes, a);
    emu_fragment_lines(warp, p->b, 8, bytes, lines);
    for (int column = 0; column < 8; column++) memcpy(b[column], lines[column], EMU_LINE);
    emu_fragment_accumulators(warp, p->c, m, 8, false, d);
    emu_narrow_tile(p, bytes, (const uint8_t(*)[EMU_LINE])a, (const uint8_t(*)[2 * EMU_LINE]) b, NULL, d);
    emu_fragment_results(warp, p->d, m, 8, false, d, mask);
    emu_total.tiles++;
    return EMU_NEXT;
}
