/* Metadata of sparse A: for each four units of k, four bits have the places of the two that are kept, the lower ones that of the
 * first (PTX ISA: "Sparse Matrices"; where they lie is from CuTe's mma_traits_sm100_frag.hpp). A unit of f16 and tf32 is 16 bits,
 * and the two of a tf32 go together; of all other kinds it is a byte, which packed floats of 4 bits are two of.
 *
 *   kinds       lane of row m, group g                      column        bits
 *   f16, tf32   m % 8 + 16 (m / 16) + 8 (g / 4)             selector's    4 (g % 4) + 16 (m / 8 % 2)
 *   all others  m                                           g / 8         4 (g % 8)
 *
 * Where 64 rows lie in 16 of each 32 lanes, so do these. */
#include "tcgen05/sparse.h"

enum { GROUP = 4 /* units */, HALF_ROWS = 8 };

static void read_columns(const emu_actor *actor, emu_block *block, emu_tensor_layout layout, uint32_t address,
                         uint32_t columns) {
    const uint32_t lanes = layout.spread ? 16 : EMU_TENSOR_LANES;
    for (uint32_t lane = 0; lane + lanes <= EMU_TENSOR_LANES; lane += layout.spread ? 32 : EMU_TENSOR_LANES)
        for (uint32_t column = 0; column < columns; column++)
            emu_tensor_touch(actor, block, EMU_READ, (address >> 16) + lane, (address & 0xffff) + column, lanes);
}

/* 0 and 1, 0 and 2, 0 and 3, 1 and 2, 1 and 3, 2 and 1, 2 and 3; of tf32 the halves of an element. */
static bool means_something(const emu_tensor_shape *shape, uint32_t code) {
    const uint32_t known = shape->dot->a == PTX_TF32
                               ? 1u << 4 | 1u << 14
                               : 1u << 4 | 1u << 8 | 1u << 12 | 1u << 9 | 1u << 13 | 1u << 6 | 1u << 14;
    return known >> code & 1;
}

static uint32_t code_of(const struct emu_tensor *tensor, emu_tensor_layout layout, uint32_t address, bool halves,
                        int row, int group) {
    const uint32_t first = address & 0xffff, lane = address >> 16;
    if (!halves)
        return tensor->cell[first + (uint32_t)group / 8][emu_layout_lane(layout, lane, row, 0)] >> 4 * (group % 8) & 15;
    const int of = row / (2 * HALF_ROWS) * 2 * HALF_ROWS + row % HALF_ROWS + HALF_ROWS * (group / 4);
    return tensor->cell[first][emu_layout_lane(layout, lane, of, 0)] >> (4 * (group % 4) + 16 * (row / HALF_ROWS % 2)) &
           15;
}

void emu_tensor_places(const emu_actor *actor, emu_block *block, const emu_tensor_shape *shape,
                       emu_tensor_layout layout, uint32_t address, int rows, uint8_t (*place)[EMU_LINE]) {
    const bool halves = ptx_type_bytes[shape->a] > 1;
    const int unit = halves ? 2 : 1, kept = unit * GROUP / 2; /* bytes: of a unit, and those of a group that are kept */
    read_columns(actor, block, layout, address, halves ? 1 : 2);
    for (int row = 0; row < rows; row++)
        for (int group = 0; group < EMU_LINE / kept; group++) {
            const uint32_t code = code_of(block->tensor, layout, address, halves, row, group);
            if (!means_something(shape, code))
                emu_find(actor->warp, actor->op, actor->lane, EMU_DESCRIPTOR, code,
                         "the metadata of row %d is 0x%x for group %d of k, which means nothing", row, code, group);
            for (int i = 0; i < kept; i++) {
                const uint32_t chosen = i < unit ? code & 3 : code >> 2;
                place[row][group * kept + i] = (uint8_t)((group * GROUP + (int)chosen) * unit + i % unit);
            }
        }
}
