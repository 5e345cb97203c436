/* The mnemonics of async/. */
#include "async/internal.h"

static bool decode_cp(emu_decoding *d) {
    if (ptx_take(&d->words, "reduce")) return emu_decode_cp_reduce(d);
    if (!ptx_take(&d->words, "async")) return emu_decode_fail(d, "cp is .async or .reduce.async");
    if (!ptx_take(&d->words, "bulk")) return emu_decode_cp_async(d);
    return ptx_take(&d->words, "tensor") ? emu_decode_cp_tensor(d) : emu_decode_cp_bulk(d);
}

/* st and red without .async belong to memory/. */
static bool decode_st(emu_decoding *d) {
    return ptx_take(&d->words, "async") ? emu_decode_st_async(d) : emu_decline(d);
}
static bool decode_red(emu_decoding *d) {
    return ptx_take(&d->words, "async") ? emu_decode_red_async(d) : emu_decline(d);
}

const emu_mnemonic emu_mnemonics_async[] = {
    {"mbarrier", emu_decode_mbarrier},
    {"cp", decode_cp},
    {"st", decode_st},
    {"red", decode_red},
    {"tensormap", emu_decode_tensormap},
    {"clusterlaunchcontrol", emu_decode_cluster_launch},
    {NULL, NULL},
};
