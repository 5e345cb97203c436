#include "gemm/wgmma.h"

#include <math.h>

/* What a Hopper GPU does. POWER and DRAM: 8192^3 and a copy on an H200. L2, LAUNCH, FILL and STORE are estimates; how often the choice is right is not measured yet. */
static const double POWER = 5.9e6; /* FLOP a microsecond and SM where all are busy: power limits their clock */
static const double DRAM = 4.2e6;  /* bytes a microsecond, read and written */
static const double L2 = 5.5e6;    /* likewise, of what is in L2 */
/* Bytes a microsecond from L2 to all SMs, 64 a cycle of each, and what pieces of 128 bytes take longer that lie across two lines of
 * L2: 3688 x 6368 x 7912, A and B by columns, reached 5.6e6 to 5.8e6 on an H200 by three tiles of different traffic. */
static const double FETCH = 14e6, ACROSS = 2.4;
static const double LAUNCH = 1.5; /* microseconds of a launch that overlaps the one before */
static const double FILL = 1.2;   /* of the first slices' way to an SM */
static const double ADDING =
    3.5; /* of a second launch, behind the sums: twelve products of four drawn shapes on an H200 */
static const double ALONE =
    1.08; /* fp32 results from tiles of 256 columns whose blocks do not share B: 8192 x 1000 x 4096 in
                                     * 157 us, in pairs 105; 2048 x 16384 x 512 in 102, 95 */
/* Of a slice, where one row of tiles reads all of B from memory: 24 x 4216 x 5800 in 45 to 56 us, whatever the tile's
 * columns. */
static const double COLD = 0.5;
/* Rows or columns up to which tiles share nothing that they read from memory, and the part of its rate that they get, unless many
 * shares of K keep all SMs busy; bytes of a slice of the other operand, and how long they are on their way: 7952 x 32 x 13064 in
 * 105 us by six slices of 63 blocks and in 68 by eight. */
enum { SKINNY = GEMM_TILE_ROWS / 2, SKINNY_SHARES = 2 };
static const double SKINNY_DRAM = 0.75, SKINNY_SLICE = GEMM_TILE_ROWS * GEMM_SLICE * 2, SKINNY_LATENCY = 2.7;
/* Of an element of a tile, from registers to shared memory: 128 x 256 in 1 us. Of one in fp32, to memory, by TMA or in pairs, and
 * one by one: 7503 x 8553 x 589, f16, in 219 us, 3485 x 13809 x 695, tf32 and odd lines, in 345. */
static const double STORE = 3.0e-5, STORE_PAIRS = 2.2e-4, STORE_APART = 6.7e-4;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Tiles of whole clusters. */
static int64_t tiles_of(const gemm_tile *t, const gemm_problem *g) {
    return up(g->m, GEMM_TILE_ROWS * t->cluster_m) * up(g->n, t->columns * t->cluster_n) * t->cluster_m * t->cluster_n *
           g->batch;
}
int64_t gemm_room(const gemm_tile *t, const gemm_problem *g) {
    const int cluster = t->cluster_m * t->cluster_n, sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const int64_t clusters = cluster > 2 ? (int64_t)(0.94 * sms / cluster) : sms / cluster; /* SMs come in groups */
    return (clusters > 0 ? clusters : 1) * cluster;
}

int gemm_shares(const gemm_tile *t, const gemm_problem *g) {
    const int64_t tiles = tiles_of(t, g), slices = up(g->k, GEMM_SLICE),
                  room = gemm_room(t, g) / (tiles > 0 ? tiles : 1);
    int64_t shares = room < GEMM_MOST_SHARES ? room : GEMM_MOST_SHARES;
    if (!t->split || shares < 2 || slices < 4) return 1;
    if (shares > slices / 2) shares = slices / 2;
    return (int)up(slices, up(slices, shares)); /* none is empty */
}

/* Parts of fp32 operands lie in whole lines of L2. */
static double across(const gemm_problem *g, const gemm_matrix *m) {
    const int64_t line = m->step == 1 ? m->line : m->step;
    return ridge_dtype_size(g->dtype) == 4 || line * 2 % 128 == 0 ? 1 : ACROSS;
}
/* Microseconds of what all tiles read of A and B, once for the blocks of a cluster that share it. Parts: hi and lo. */
static double fetching(const gemm_tile *t, const gemm_problem *g) {
    const double parts = t->products > 1 ? 2 : 1, tiles = (double)tiles_of(t, g);
    const double lines =
        GEMM_TILE_ROWS * across(g, &g->a) / t->cluster_n + t->columns * across(g, &g->b) / t->cluster_m;
    return tiles * lines * (double)g->k * 2 * parts / FETCH;
}

/* Bytes a microsecond from memory. */
static double memory_of(const gemm_tile *t, const gemm_problem *g, int shares) {
    if (shares > SKINNY_SHARES || (g->m > SKINNY && g->n > SKINNY)) return DRAM;
    /* Of those that run at once, the ones whose rows and columns exist: 48 x 24992 x 864 took 27 us by pairs, of which one has none. */
    const double tiles = (double)tiles_of(t, g),
                 some = (double)(up(g->m, GEMM_TILE_ROWS) * up(g->n, t->columns) * g->batch);
    const double blocks = fmin(tiles * shares, (double)gemm_room(t, g)) * some / tiles;
    return fmin(SKINNY_DRAM * DRAM, blocks * t->stages * SKINNY_SLICE / SKINNY_LATENCY);
}

double gemm_tile_cost(const gemm_tile *t, const gemm_problem *g) {
    const int shares = gemm_shares(t, g);
    const double tile = (double)GEMM_TILE_ROWS * t->columns, slices = (double)up(up(g->k, GEMM_SLICE), shares);
    const double turns = (double)up(tiles_of(t, g) * shares, gemm_room(t, g));
    const bool alone = g->wide && t->columns == 256 && t->cluster_m * t->cluster_n == 1;
    const bool apart = g->c.line % 2 != 0 || g->c.offset % 8 != 0;
    const bool fp32 = g->wide || ridge_dtype_size(g->dtype) == 4;
    const double store = !fp32 || shares > 1 ? STORE : apart ? STORE_APART : STORE_PAIRS;
    const double slice = 2 * tile * GEMM_SLICE * t->products / t->rate, cold = g->m <= SKINNY ? COLD : 0;
    const double stored = tile * store * (shares > 1 ? 2 : 1), each = slices * fmax(slice, cold) + stored;
    const double together = gemm_flops(g) * t->products / (POWER * (g->here.sm_count > 0 ? g->here.sm_count : 1));
    const double moved = (gemm_bytes_read(g) + gemm_bytes_written(g)) / memory_of(t, g, shares);
    const double added = shares > 1 ? ADDING + (double)g->m * (double)g->n * (4 * shares + 2) / L2 : 0;
    const double multiplied = (alone ? ALONE : 1) * fmax(turns * each, together);
    const double last = t->split ? stored : 0; /* of a block's one tile, behind all that it reads */
    return LAUNCH + FILL + fmax(fmax(multiplied - last, fetching(t, g)), moved) + last + added;
}

const char *gemm_tile_refusal(const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096;
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (g->m < 1) return "for one row and more";
    if (g->m > most || g->n > most || g->k > most) return "for extents of 31 bits";
    if (!gemm_in_pieces(&g->a, 2) || !gemm_in_pieces(&g->b, 2)) return "for operands in lines of 16-byte pieces";
    return g->wide || gemm_c_is_stored(g) ? NULL : "for a C in lines of whole 16-byte pieces";
}
static const char *refusal_of(const gemm_tile *t, const gemm_problem *g) {
    const char *const refusal = gemm_tile_refusal(g);
    if (refusal) return refusal;
    return t->split && gemm_shares(t, g) < 2 ? "where tiles are fewer than SMs, and K is long enough" : NULL;
}

ridge_plan gemm_wgmma_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_tile *t = way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    ridge_plan plan = {.refusal = refusal_of(t, &g)};
    if (plan.refusal) return plan;
    const int shares = gemm_shares(t, &g);
    const double sums = shares > 1 ? 4.0 * (double)g.m * (double)gemm_share_line(g.n) * shares : 0;
    plan.us = gemm_tile_cost(t, &g);
    plan.scratch = (size_t)sums;
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g) + sums, .written = gemm_bytes_written(&g) + sums};
    return plan;
}
