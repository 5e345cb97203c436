#include "gemm/waves.h"

#include "gemm/copied.h"
#include "gemm/ways.h"
#include "gemm/wgmma.h"

/* Waves of the first part, and of both, at the most: of many, the last one is a small part. */
enum { MOST_WAVES = 4, ALL_WAVES = 8 };

static const gemm_tile *tile_of(int i) { return gemm_cuda_ways[i].own; }

/* The first part of a problem, or the rest. */
static gemm_problem part_of(const gemm_problem *g, const gemm_waves *w, bool rest) {
    gemm_problem part = *g;
    int64_t *const extent = w->rows ? &part.m : &part.n;
    *extent = rest ? *extent - w->first : w->first;
    return part;
}

/* The rest's tile, behind a first part that takes w->us. */
static void add_rest(const gemm_problem *g, gemm_waves *w) {
    const gemm_problem rest = part_of(g, w, true);
    const gemm_choice by = gemm_quickest_tile(&rest, true, 0);
    const int shares = gemm_shares(tile_of(by.tile), &rest);
    w->rest = by.tile, w->us += by.us;
    w->bytes = shares > 1 ? (size_t)(4.0 * (double)rest.m * (double)gemm_share_line(rest.n) * shares) : 0;
}

/* Rows or columns of C that a tile covers in so many waves; 0: all of them, or none, or there are too many waves. */
static int64_t covered(const gemm_tile *t, const gemm_problem *g, bool rows, int waves) {
    const int down = GEMM_TILE_ROWS * t->cluster_m, along = t->columns * t->cluster_n;
    const int64_t lines = (g->m + down - 1) / down, columns = (g->n + along - 1) / along;
    const int64_t clusters = gemm_room(t, g) / (t->cluster_m * t->cluster_n);
    const int64_t first = waves * clusters / (rows ? columns : lines) * (rows ? down : along);
    return lines * columns <= ALL_WAVES * clusters && first < (rows ? g->m : g->n) ? first : 0;
}

gemm_waves gemm_waves_of(const gemm_problem *g) {
    gemm_waves best = {.first = 0};
    for (int i = 0; i < GEMM_N_TILES; i++)
        for (int cut = 0; cut < 2 * MOST_WAVES && !tile_of(i)->split; cut++) {
            gemm_waves w = {.rows = cut % 2 == 0, .tile = i};
            w.first = covered(tile_of(i), g, w.rows, cut / 2 + 1);
            if (w.first == 0) continue;
            const gemm_problem first = part_of(g, &w, false);
            w.us = gemm_tile_cost(tile_of(i), &first);
            if (best.first > 0 && w.us >= best.us) continue;
            add_rest(g, &w);
            if (best.first == 0 || w.us < best.us) best = w;
        }
    return best;
}

ridge_plan gemm_waves_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    ridge_plan plan = {.refusal = gemm_tile_refusal(&g)};
    if (plan.refusal) return plan;
    const gemm_waves w = gemm_waves_of(&g);
    if (w.first == 0) return (ridge_plan){.refusal = "for more tiles than SMs, and up to eight times as many"};
    const double sums = (double)w.bytes;
    return (ridge_plan){.us = w.us,
                        .scratch = w.bytes,
                        .traffic = {.read = gemm_bytes_read(&g) + sums, .written = gemm_bytes_written(&g) + sums}};
}
