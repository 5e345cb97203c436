/* Device functions: call, ret. */
#include "exec/program.h"

void emu_calls_begin(emu_warp *warp) { (void)warp; }
void emu_calls_end(emu_warp *warp) { (void)warp; }

emu_result emu_run_return(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op;
    return emu_leave(warp, mask);
}

static bool decode_return(emu_decoding *d) {
    ptx_take(&d->words, "uni");
    d->op->run = emu_run_return;
    return ptx_words_end(&d->words) ? true : emu_decode_fail(d, "ret{.uni}");
}

extern const emu_mnemonic emu_mnemonics_call[];
const emu_mnemonic emu_mnemonics_call[] = {{"ret", decode_return}, {NULL, NULL}};
