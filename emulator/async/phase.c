/* The counts of an mbarrier (PTX ISA, "mbarrier"): arrivals and bytes, phase after phase. */
#include "async/internal.h"

void emu_phase_init(emu_phase *phase, uint32_t count) { *phase = (emu_phase){.expected = count, .pending = count}; }

static emu_phase_event settle(emu_phase *phase) {
    if (phase->pending != 0 || phase->tx != 0) return EMU_PHASE_OPEN;
    phase->number++;
    phase->pending = phase->expected;
    return EMU_PHASE_COMPLETED;
}

emu_phase_event emu_phase_arrive(emu_phase *phase, uint32_t count, bool drop) {
    if (count > phase->pending || (drop && count > phase->expected)) return EMU_PHASE_TOO_MANY;
    if (drop) phase->expected -= count;
    phase->pending -= count;
    return settle(phase);
}

emu_phase_event emu_phase_transfer(emu_phase *phase, int64_t bytes) {
    int64_t tx = phase->tx + bytes;
    if (tx > EMU_MBARRIER_MOST || tx < -EMU_MBARRIER_MOST) return EMU_PHASE_RANGE;
    phase->tx = tx;
    return settle(phase);
}
