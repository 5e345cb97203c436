/* A product within another operation, by whatever is quickest. Host code. */
#ifndef RIDGE_GEMM_BEST_CUH
#define RIDGE_GEMM_BEST_CUH

#include "gemm/call.cuh"

extern "C" {
#include "gemm/copied.h"
}

namespace ridge {

/* By the tile that is predicted to be the quickest; by multiply-adds where TMA cannot load the operands as they lie. */
inline ridge_status gemm_at_best(const gemm_call &g) {
    const gemm_problem p = g.problem();
    const gemm_copies copies = gemm_copies_of(&p);
    return !device_is_hopper() || copies.a.copied || copies.b.copied || copies.c.copied ? gemm_by_multiply_adds(g)
                                                                                        : gemm_by_tile(copies.tile, g);
}

}  // namespace ridge

#endif
