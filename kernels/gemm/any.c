#include "gemm/any.h"

#include <math.h>

#include "cuda/gemm/any_plan.h"

/* Cycles that an H200 has in a microsecond of such a kernel, and what elements of 16 bits take longer, which have to be
 * widened. */
static const double CYCLES = 1700, WIDENED = 1.25;
/* Cycles more of an element that leaves alone, where C's lines begin between packs of four. */
static const double APART = 0.6;
/* And of a C of one row or column, which lies in a sixteenth of each tile: of two such products. */
static const double THIN = 1400;

double gemm_any_us(const gemm_problem *g, double cycles) {
    return cycles / CYCLES * (ridge_dtype_size(g->dtype) == 2 ? WIDENED : 1);
}

double gemm_any_cost(const gemm_problem *g) {
    const any_limits device = {
        .processors = g->here.sm_count > 0 ? g->here.sm_count : 1, .clusters = g->here.sm >= 90, .shared = 227 * 1024};
    const int64_t rows = g->m * g->batch; /* each product has tiles of its own */
    const any_plan tiles = any_plan_for(&device, rows, g->n, g->k, 1);
    const int64_t bytes = g->wide ? 4 : (int64_t)ridge_dtype_size(g->dtype);
    const double side = any_side(tiles.tiles);
    const bool apart = g->c.line % 4 != 0 || g->c.offset % (4 * bytes) != 0;
    const double turns = ceil(any_tiles_of(tiles.tiles, rows, g->n) / device.processors);
    const double stores = apart ? turns * APART * fmin(side, (double)rows) * fmin(side, (double)g->n) : 0;
    const double thin = g->m == 1 || g->n == 1 ? THIN : 0;
    return gemm_any_us(g, any_cycles(&device, tiles, (double)rows, (double)g->n, g->k) + stores + thin);
}

ridge_plan gemm_any_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    return (ridge_plan){.us = gemm_any_cost(&g)};
}
