#include "gemm/copied.h"

#include "gemm/ways.h"
#include "gemm/wgmma.h"

/* Bytes a microsecond of a copy from lines that begin anywhere, and microseconds of its launch. */
static const double COPIED = 3.5e6, LAUNCH = 1.5;

/* A matrix of `rows` x `columns` elements of two bytes, in whole lines of L2 (128 bytes); copies follow each other at multiples of
 * 256 bytes. */
static gemm_copy copy_of(bool copied, const gemm_matrix *m, int64_t rows, int64_t columns, size_t *bytes) {
    if (!copied) return (gemm_copy){.copied = false};
    const int64_t lines = m->step == 1 ? rows : columns, along = m->step == 1 ? columns : rows;
    const gemm_copy copy = {true, *bytes, lines, (along + 63) / 64 * 64};
    *bytes += ((size_t)(copy.lines * copy.line) * 2 + 255) / 256 * 256;
    return copy;
}

/* The first ways are those of tiles, in their order. */
static const gemm_tile *tile_of(int i) { return gemm_cuda_ways[i].own; }

static double bytes_of(const gemm_copy *copy) { return 2.0 * (double)copy->lines * (double)copy->line; }

gemm_choice gemm_quickest_tile(const gemm_problem *g, bool shares, double back) {
    gemm_choice best = {-1, 0};
    for (int i = 0; i < GEMM_N_TILES; i++) {
        const gemm_tile *tile = tile_of(i);
        if (tile->split && (!shares || gemm_shares(tile, g) < 2)) continue;
        const double us = gemm_tile_cost(tile, g) + (tile->split ? 0 : back);
        if (best.tile < 0 || us < best.us) best = (gemm_choice){i, us};
    }
    return best;
}

gemm_copies gemm_copies_of(const gemm_problem *g) {
    gemm_copies all = {.tile = 0};
    all.a = copy_of(!gemm_in_pieces(&g->a, 2), &g->a, g->m, g->k, &all.bytes);
    all.b = copy_of(!gemm_in_pieces(&g->b, 2), &g->b, g->k, g->n, &all.bytes);
    all.sums = all.bytes;
    const gemm_copy c = copy_of(!g->wide && !gemm_c_is_stored(g), &g->c, g->m, g->n, &all.bytes);
    gemm_problem copied = *g;
    if (all.a.copied) *(g->a.step == 1 ? &copied.a.line : &copied.a.step) = all.a.line;
    if (all.b.copied) *(g->b.step == 1 ? &copied.b.line : &copied.b.step) = all.b.line;
    const gemm_choice best = gemm_quickest_tile(&copied, true, c.copied ? 2 * bytes_of(&c) / COPIED + LAUNCH : 0);
    const int shares = gemm_shares(tile_of(best.tile), g);
    all.tile = best.tile, all.us = best.us;
    if (shares > 1)
        all.bytes = all.sums + (size_t)(4.0 * (double)g->m * (double)gemm_share_line(g->n) * shares);
    else
        all.c = c;
    return all;
}

ridge_plan gemm_copied_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const int64_t most = INT32_MAX - 4096;
    if (g.dtype != RIDGE_BF16 && g.dtype != RIDGE_F16) return (ridge_plan){.refusal = "for bf16 and f16"};
    if (g.m < 1) return (ridge_plan){.refusal = "for one row and more"};
    if (g.m > most || g.n > most || g.k > most) return (ridge_plan){.refusal = "for extents of 31 bits"};
    if (gemm_in_pieces(&g.a, 2) && gemm_in_pieces(&g.b, 2) && (g.wide || gemm_c_is_stored(&g)))
        return (ridge_plan){.refusal = "for a matrix between 16-byte boundaries"};
    const gemm_copies all = gemm_copies_of(&g);
    const double in = bytes_of(&all.a) + bytes_of(&all.b), out = (double)all.bytes - (double)all.sums;
    return (ridge_plan){
        .us = all.us + 2 * in / COPIED + (in > 0 ? LAUNCH : 0),
        .scratch = all.bytes,
        .traffic = {.read = gemm_bytes_read(&g) + in + out, .written = gemm_bytes_written(&g) + in + out}};
}
