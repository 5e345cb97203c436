/* A product within another operation, by whatever is quickest. Host code. */
#ifndef RIDGE_GEMM_BEST_CUH
#define RIDGE_GEMM_BEST_CUH

#include "gemm/call.cuh"

extern "C" {
#include "gemm/copied.h"
#include "gemm/few_rows.h"
}

namespace ridge {

/* By the tile that is predicted to be the quickest, or as few rows or columns where they are; by multiply-adds where TMA cannot load
 * the operands as they lie, and for types that the tiles do not have. */
inline ridge_status gemm_at_best(const gemm_call &g) {
    const gemm_problem p = g.problem();
    const bool stored = g.wide || gemm_c_is_stored(&p);
    if (ridge_dtype_size(g.dtype) != 2 || !device_is_hopper() || !gemm_in_pieces(&p.a, 2) || !gemm_in_pieces(&p.b, 2))
        return gemm_by_multiply_adds(g);
    const gemm_choice tile = gemm_quickest_tile(&p, false, 0);
    const double few = gemm_few_rows_us(&p);
    if (few >= 0 && (few < tile.us || !stored)) return gemm_by_few_rows(g);
    return stored ? gemm_by_tile(tile.tile, g) : gemm_by_multiply_adds(g);
}

}  // namespace ridge

#endif
