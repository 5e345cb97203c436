/* wgmma: products by four warps. */
#include "mma/decode.h"
#include "mma/mma.h"

bool emu_decode_wgmma(emu_decoding *d) { return emu_decode_fail(d, "wgmma is not supported yet"); }
void emu_warp_mma_begin(emu_warp *warp) { warp->products = NULL; }
void emu_warp_mma_end(emu_warp *warp) { (void)warp; }
bool emu_products_pending(const emu_warp *warp) { return warp->products != NULL; }
void emu_products_check(emu_warp *warp, const emu_op *op, emu_mask mask) { (void)warp, (void)op, (void)mask; }
