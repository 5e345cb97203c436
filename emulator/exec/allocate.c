/* Places of a function's registers in the register file of a warp. */
#include "exec/program.h"

void emu_allocate_registers(emu_builder *builder, emu_part *part) {
    (void)builder;
    const ptx_function *function = part->function;
    uint32_t at = 0;
    for (int r = 0; r < function->n_registers; r++) {
        uint32_t bytes = ptx_type_bytes[function->reg[r].type];
        uint32_t size = bytes == 0 ? 4 : (bytes < 2 ? 2 : bytes) * EMU_LANES;
        if (bytes) at = (at + 63) / 64 * 64;
        part->register_at[r] = at;
        at += size;
    }
    part->frame_bytes = at;
}
