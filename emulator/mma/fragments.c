/* Fragments: between registers and matrices (fragments.h). */
#include "mma/fragments.h"

#include <string.h>

void emu_fragment_lines(const emu_warp *warp, const emu_operand *registers, int rows, int bytes,
                        uint8_t (*line)[EMU_LINE]) {
    for (int half = 0; half < bytes / 16; half++)
        for (int block = 0; block < rows / 8; block++) {
            const uint8_t *words = emu_at(warp, registers[half * (rows / 8) + block].at);
            for (int g = 0; g < 8; g++) memcpy(line[block * 8 + g] + 16 * half, words + 16 * g, 16);
        }
}

void emu_fragment_accumulators(const emu_warp *warp, const emu_operand *registers, int rows, int columns, bool half,
                               uint32_t *d) {
    for (int column = 0; column < columns; column += 8)
        for (int block = 0; block < rows / 8; block++) {
            if (half) {
                const uint32_t *pair = emu_u32(warp, *registers++);
                for (int lane = 0; lane < EMU_LANES; lane++) {
                    uint32_t *at = d + (block * 8 + lane / 4) * columns + column + lane % 4 * 2;
                    at[0] = pair[lane] & 0xffff;
                    at[1] = pair[lane] >> 16;
                }
                continue;
            }
            const uint32_t *even = emu_u32(warp, registers[0]), *odd = emu_u32(warp, registers[1]);
            registers += 2;
            for (int lane = 0; lane < EMU_LANES; lane++) {
                uint32_t *at = d + (block * 8 + lane / 4) * columns + column + lane % 4 * 2;
                at[0] = even[lane];
                at[1] = odd[lane];
            }
        }
}

static void store(uint32_t *lanes, emu_mask mask, int lane, uint32_t value) {
    if (mask >> lane & 1) lanes[lane] = value;
}

void emu_fragment_results(emu_warp *warp, const emu_operand *registers, int rows, int columns, bool half,
                          const uint32_t *d, emu_mask mask) {
    for (int column = 0; column < columns; column += 8)
        for (int block = 0; block < rows / 8; block++) {
            uint32_t *first = emu_u32(warp, registers[0]), *second = half ? NULL : emu_u32(warp, registers[1]);
            registers += half ? 1 : 2;
            for (int lane = 0; lane < EMU_LANES; lane++) {
                const uint32_t *at = d + (block * 8 + lane / 4) * columns + column + lane % 4 * 2;
                store(first, mask, lane, half ? at[0] | at[1] << 16 : at[0]);
                if (!half) store(second, mask, lane, at[1]);
            }
        }
}

void emu_fragment_doubles(const emu_warp *warp, const emu_operand *registers, int rows, int k, double *line) {
    for (int first = 0; first < k; first += 4)
        for (int block = 0; block < rows / 8; block++) {
            const double *lanes = emu_f64(warp, *registers++);
            for (int lane = 0; lane < EMU_LANES; lane++)
                line[(block * 8 + lane / 4) * k + first + lane % 4] = lanes[lane];
        }
}

void emu_fragment_double_accumulators(const emu_warp *warp, const emu_operand *registers, int rows, double *d) {
    for (int block = 0; block < rows / 8; block++)
        for (int odd = 0; odd < 2; odd++) {
            const double *lanes = emu_f64(warp, *registers++);
            for (int lane = 0; lane < EMU_LANES; lane++)
                d[(block * 8 + lane / 4) * 8 + lane % 4 * 2 + odd] = lanes[lane];
        }
}

void emu_fragment_double_results(emu_warp *warp, const emu_operand *registers, int rows, const double *d,
                                 emu_mask mask) {
    for (int block = 0; block < rows / 8; block++)
        for (int odd = 0; odd < 2; odd++) {
            double *lanes = emu_f64(warp, *registers++);
            for (int lane = 0; lane < EMU_LANES; lane++)
                if (mask >> lane & 1) lanes[lane] = d[(block * 8 + lane / 4) * 8 + lane % 4 * 2 + odd];
        }
}
