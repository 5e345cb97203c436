#include "gemm/tensor.h"

#include <math.h>

#include "gemm/wgmma.h"

/* All of these are predictions: DRAM is a B200's published rate, FILL and STORE are estimates, and nobody here has measured any.
 * The products of a tile hide the store of the one before; of the last one nothing does. */
static const double DRAM = 8.0e6; /* bytes a microsecond, read and written */
static const double LAUNCH = 2;   /* microseconds of a launch */
static const double FILL = 1.2;   /* of the first slices' way to an SM, and of tensor memory's allocation */
static const double STORE = 1.5;  /* of the last tile's sums */

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

ridge_plan gemm_tensor_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_tile *t = way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    ridge_plan plan = {.refusal = gemm_tile_refusal(&g)};
    if (plan.refusal) return plan;
    const int64_t clusters = g.here.sm_count >= 2 * t->cluster_m ? g.here.sm_count / t->cluster_m : 1;
    const int64_t tiles = up(g.m, GEMM_TILE_ROWS * t->cluster_m) * up(g.n, t->columns);
    const double of_slice =
        2.0 * GEMM_TILE_ROWS * t->columns * GEMM_SLICE / t->rate; /* either block's half of a pair */
    const double products = (double)up(tiles, clusters) * (double)up(g.k, GEMM_SLICE) * of_slice;
    const double moved = (gemm_bytes_read(&g) + gemm_bytes_written(&g)) / DRAM;
    plan.us = LAUNCH + FILL + fmax(products, moved) + STORE;
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)};
    return plan;
}
