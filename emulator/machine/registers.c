#include "machine/machine.h"

uint32_t emu_registers_at_most(const ptx_function *function, uint32_t warps) {
    enum { MOST = 255 };
    const uint32_t blocks = function->min_blocks ? function->min_blocks : 1;
    uint32_t most = EMU_SM_REGISTERS / (warps * EMU_LANES * blocks) / 8 * 8;
    if (most > MOST) most = MOST;
    return function->max_registers && function->max_registers < most ? function->max_registers : most;
}
