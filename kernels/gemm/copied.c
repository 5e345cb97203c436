#include "gemm/copied.h"

#include "gemm/ways.h"
#include "gemm/wgmma.h"

/* Bytes a microsecond of a copy from lines that begin anywhere, and microseconds of its launch. */
static const double COPIED = 2.6e6, LAUNCH = 1.5;

/* A matrix of `rows` x `columns` elements of two bytes; copies follow each other at multiples of 256 bytes. */
static gemm_copy copy_of(bool copied, const gemm_matrix *m, int64_t rows, int64_t columns, size_t *bytes) {
    if (!copied) return (gemm_copy){.copied = false};
    const int64_t lines = m->step == 1 ? rows : columns, along = m->step == 1 ? columns : rows;
    const gemm_copy copy = {true, *bytes, lines, (along + 7) / 8 * 8};
    *bytes += ((size_t)(copy.lines * copy.line) * 2 + 255) / 256 * 256;
    return copy;
}

/* The first ways are those of tiles, in their order. */
static const gemm_tile *tile_of(int i) { return gemm_cuda_ways[i].own; }

gemm_copies gemm_copies_of(const gemm_problem *g) {
    gemm_copies all = {.tile = 0};
    all.a = copy_of(!gemm_in_pieces(&g->a, 2), &g->a, g->m, g->k, &all.bytes);
    all.b = copy_of(!gemm_in_pieces(&g->b, 2), &g->b, g->k, g->n, &all.bytes);
    all.c = copy_of(!g->wide && !gemm_c_is_stored(g), &g->c, g->m, g->n, &all.bytes);
    for (int i = 1; i < GEMM_N_TILES; i++)
        if (!tile_of(i)->split && gemm_tile_cost(tile_of(i), g) < gemm_tile_cost(tile_of(all.tile), g)) all.tile = i;
    return all;
}

static double bytes_of(const gemm_copy *copy) { return 2.0 * (double)copy->lines * (double)copy->line; }

ridge_plan gemm_copied_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const int64_t most = INT32_MAX - 4096;
    if (g.dtype != RIDGE_BF16 && g.dtype != RIDGE_F16) return (ridge_plan){.refusal = "for bf16 and f16"};
    if (g.m < 1) return (ridge_plan){.refusal = "for one row and more"};
    if (g.m > most || g.n > most || g.k > most) return (ridge_plan){.refusal = "for extents of 31 bits"};
    const gemm_copies all = gemm_copies_of(&g);
    if (!all.a.copied && !all.b.copied && !all.c.copied)
        return (ridge_plan){.refusal = "for a matrix between 16-byte boundaries"};
    const double in = bytes_of(&all.a) + bytes_of(&all.b), out = bytes_of(&all.c);
    return (ridge_plan){
        .us = gemm_tile_cost(tile_of(all.tile), &g) + 2 * (in + out) / COPIED +
              ((in > 0 ? LAUNCH : 0) + (out > 0 ? LAUNCH : 0)),
        .scratch = all.bytes,
        .traffic = {.read = gemm_bytes_read(&g) + in + out, .written = gemm_bytes_written(&g) + in + out}};
}
