/* Counts of the whole process, and emulator.h's functions. */
#include "core/core.h"
#include "emulator/emulator.h"

emu_counts emu_total;
uint64_t emu_time = 1000000000;

void emulator_get_counts(emulator_counts *out) {
    *out = (emulator_counts){
        .launches = emu_total.launches,
        .blocks = emu_total.blocks,
        .warp_instructions = emu_total.warp_instructions,
        .lane_instructions = emu_total.lane_instructions,
        .tiles = emu_total.tiles,
        .copies = emu_total.copies,
        .findings = emu_findings_count(),
        .seconds = emu_total.seconds,
    };
}

const char *emulator_take_finding(void) { return emu_findings_take(); }
void emulator_set_seed(uint64_t seed) { emu_options_seed(seed); }
