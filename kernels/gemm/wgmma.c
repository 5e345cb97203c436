#include "gemm/wgmma.h"

#include <math.h>

/* What a Hopper GPU does. POWER and DRAM: 8192^3 and a copy on an H200. LAUNCH, FILL, STORE and ADDING are
 * estimates; how often the choice is right is not measured yet. */
static const double POWER = 5.9e6; /* FLOP a microsecond and SM where all are busy: power limits their clock */
static const double DRAM = 4.2e6;  /* bytes a microsecond, read and written */
static const double LAUNCH = 1.5;  /* microseconds of a launch that overlaps the one before */
static const double FILL = 1.2;    /* of the first slices' way to an SM */
static const double ADDING =
    1.2e-4;                         /* of an element of a tile that several blocks add: 64 KiB there and back in 2 us */
static const double STORE = 3.0e-5; /* of an element of a tile, from registers to shared memory: 128 x 256 in 1 us */

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Tiles of whole clusters. */
static int64_t tiles_of(const gemm_tile *t, const gemm_problem *g) {
    return up(g->m, GEMM_TILE_ROWS * t->cluster_m) * up(g->n, t->columns * t->cluster_n) * t->cluster_m * t->cluster_n *
           g->batch;
}
/* SMs come in groups, and a cluster gets those of one. An H200 has eight groups of its 132 SMs: seven have 16 and more, one
 * has 14. It runs 31 clusters of 4, 15 of 8 and 7 of 16 blocks at once. */
int64_t gemm_clusters(int sms, int blocks) {
    enum { GROUP = 16, SMALLER = 2 };
    const int groups = sms / GROUP > 0 ? sms / GROUP : 1, each = sms / groups;
    if (blocks <= 2) return sms / blocks > 0 ? sms / blocks : 1;
    const int64_t clusters = (groups - 1) * (int64_t)(each / blocks) + (each - SMALLER) / blocks;
    return clusters > 0 ? clusters : 1;
}
static int sms_of(const gemm_problem *g) { return g->here.sm_count > 0 ? g->here.sm_count : 1; }
/* Slices that a block has, one tile after the other, where each tile has `shares` of them. */
static int64_t slices_in_turn(const gemm_tile *t, const gemm_problem *g, int shares) {
    const int cluster = t->cluster_m * t->cluster_n * shares;
    const int64_t room = gemm_clusters(sms_of(g), cluster), clusters = tiles_of(t, g) * shares / cluster;
    return up(clusters, room) * up(up(g->k, GEMM_SLICE), shares);
}

int gemm_shares(const gemm_tile *t, const gemm_problem *g) {
    const int64_t slices = up(g->k, GEMM_SLICE);
    int best = 1;
    for (int shares = 2; t->split && shares <= GEMM_MOST_SHARES && 2 * shares <= slices; shares++)
        if (slices_in_turn(t, g, shares) < slices_in_turn(t, g, best)) best = shares;
    return (int)up(slices, up(slices, best)); /* none is empty */
}

double gemm_tile_cost(const gemm_tile *t, const gemm_problem *g) {
    const int shares = gemm_shares(t, g);
    const double tile = (double)GEMM_TILE_ROWS * t->columns, slices = (double)slices_in_turn(t, g, shares);
    const double turns = slices / (double)up(up(g->k, GEMM_SLICE), shares);
    const double each = slices * 2 * tile * GEMM_SLICE * t->products / t->rate + turns * tile * STORE;
    const double together = gemm_flops(g) * t->products / (POWER * sms_of(g));
    const double moved = (gemm_bytes_read(g) + gemm_bytes_written(g)) / DRAM;
    /* A persistent block loads the next tile while it finishes one; a cluster that shares K has one tile. */
    const double alone = shares > 1 ? turns * (FILL + ADDING * tile) : FILL;
    return LAUNCH + alone + fmax(fmax(each, together), moved);
}

static const char *refusal_of(const gemm_tile *t, const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096;
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (g->m < 1) return "for one row and more";
    if (g->m > most || g->n > most || g->k > most) return "for extents of 31 bits";
    if (!gemm_in_pieces(&g->a, 2) || !gemm_in_pieces(&g->b, 2)) return "for operands in lines of 16-byte pieces";
    if (!g->wide && !gemm_c_is_stored(g)) return "for a C in lines of whole 16-byte pieces";
    return t->split && gemm_shares(t, g) < 2 ? "where tiles are fewer than SMs, and K is long enough" : NULL;
}

ridge_plan gemm_wgmma_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_tile *t = way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    ridge_plan plan = {.refusal = refusal_of(t, &g)};
    if (plan.refusal) return plan;
    plan.us = gemm_tile_cost(t, &g);
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)};
    return plan;
}
