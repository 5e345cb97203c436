/* The table of this part's instructions. */
#include "memory/parts.h"

const emu_mnemonic emu_mnemonics_memory[] = {
    {"ld", emu_decode_load},
    {"ldu", emu_decode_ldu},
    {"st", emu_decode_store},
    {"atom", emu_decode_atom},
    {"red", emu_decode_red},
    {"cvta", emu_decode_cvta},
    {"isspacep", emu_decode_isspacep},
    {"mapa", emu_decode_mapa},
    {"getctarank", emu_decode_getctarank},
    {"prefetch", emu_decode_prefetch},
    {"prefetchu", emu_decode_prefetchu},
    {"discard", emu_decode_discard},
    {"applypriority", emu_decode_applypriority},
    {"createpolicy", emu_decode_createpolicy},
    {"multimem", emu_decode_multimem},
    {NULL, NULL},
};
