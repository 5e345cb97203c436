/* All mnemonics: where two tables have the same name, the first is asked first. */
#include "exec/program.h"

extern const emu_mnemonic emu_mnemonics_integer[], emu_mnemonics_bits[], emu_mnemonics_compare[], emu_mnemonics_float[],
    emu_mnemonics_convert[], emu_mnemonics_move[], emu_mnemonics_call[], emu_mnemonics_collective[],
    emu_mnemonics_half[], emu_mnemonics_approximate[], emu_mnemonics_narrow[], emu_mnemonics_area[],
    emu_mnemonics_tcgen05[], emu_mnemonics_tiny[], emu_mnemonics_video[];

const emu_mnemonic *const emu_mnemonic_tables[] = {
    emu_mnemonics_move,    emu_mnemonics_integer,     emu_mnemonics_float,
    emu_mnemonics_bits,    emu_mnemonics_compare,     emu_mnemonics_convert,
    emu_mnemonics_half,    emu_mnemonics_approximate, emu_mnemonics_tiny,
    emu_mnemonics_narrow,  emu_mnemonics_call,        emu_mnemonics_area,
    emu_mnemonics_control, emu_mnemonics_collective,  emu_mnemonics_memory,
    emu_mnemonics_sync,    emu_mnemonics_async,       emu_mnemonics_mma,
    emu_mnemonics_tcgen05, emu_mnemonics_video,       NULL,
};
