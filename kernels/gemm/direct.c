#include "gemm/direct.h"

#include <math.h>

#include "gemm/wgmma.h"

/* Predictions for an H200: bytes a microsecond that all SMs read by loads, and one block; FLOP of an SM in one, by
 * mma.sync and by fp32 multiply-adds; microseconds of a launch, of the first slices' way to an SM, and of the sums' way
 * through a cluster; elements of C an SM stores in one. */
static const double DRAM = 3.0e6, BLOCK = 2.0e4, MMA = 2.0e6, FFMA = 2.6e5, LAUNCH = 1.5, FILL = 1.0, ADDING = 0.5,
                    STORED = 3.0e4;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }
static int sms_of(const gemm_problem *g) { return g->here.sm_count > 0 ? g->here.sm_count : 1; }
static int blocks_of_sm(int narrow, ridge_dtype dtype) { return narrow == 16 && dtype != RIDGE_F32 ? 3 : 2; }

/* Shares are doubled while all blocks run at once and each keeps four slices. */
static void split_k(gemm_direct *d, int together) {
    const int64_t tiles = d->wide_tiles * d->narrow_tiles, room = (int64_t)(0.9 * together);
    while (d->cluster < GEMM_DIRECT_CLUSTER && tiles * d->cluster * 2 <= room && d->slices >= 8 * d->cluster)
        d->cluster *= 2;
    if (d->cluster < GEMM_DIRECT_CLUSTER) return;
    while (d->shares < GEMM_DIRECT_SHARES && tiles * d->cluster * d->shares * 2 <= room &&
           d->slices >= 8 * (int64_t)d->cluster * d->shares)
        d->shares *= 2;
}

gemm_direct gemm_direct_of(const gemm_problem *g) {
    gemm_direct d = {.transposed = g->m > g->n, .cluster = 1, .shares = 1};
    const int64_t wide = d.transposed ? g->m : g->n, narrow = d.transposed ? g->n : g->m;
    d.narrow = narrow <= 16 ? 16 : 64;
    d.wide_tiles = up(wide, GEMM_DIRECT_WIDE), d.narrow_tiles = up(narrow, d.narrow);
    d.slices = up(g->k, GEMM_DIRECT_SLICE_BYTES / (int)ridge_dtype_size(g->dtype));
    split_k(&d, sms_of(g) * blocks_of_sm(d.narrow, g->dtype));
    d.each = up(d.slices, (int64_t)d.cluster * d.shares);
    return d;
}

static double microseconds(const gemm_direct *d, const gemm_problem *g) {
    const int together = blocks_of_sm(d->narrow, g->dtype); /* blocks of an SM */
    const double lines = GEMM_DIRECT_WIDE + d->narrow, tile = (double)GEMM_DIRECT_WIDE * d->narrow;
    const double blocks = (double)(d->wide_tiles * d->narrow_tiles) * d->cluster * d->shares;
    const double turns = ceil(blocks / (sms_of(g) * together));
    const double k = GEMM_DIRECT_SLICE_BYTES / (double)ridge_dtype_size(g->dtype);
    const double flop = 2 * tile * k * together / (g->dtype == RIDGE_F32 ? FFMA : MMA);
    const double slice = fmax(GEMM_DIRECT_SLICE_BYTES * lines / BLOCK, flop);
    const double stored = tile / d->cluster * together / STORED;
    const double moved = (gemm_bytes_read(g) + gemm_bytes_written(g)) / DRAM;
    const double added = d->shares > 1 ? LAUNCH + FILL + (double)g->m * (double)g->n * 4 * d->shares / DRAM : 0;
    return LAUNCH + FILL + (d->cluster > 1 ? ADDING : 0) + fmax(turns * ((double)d->each * slice + stored), moved) +
           added;
}

ridge_plan gemm_direct_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const int64_t most = INT32_MAX - 4096;
    if (g.m < 1) return (ridge_plan){.refusal = "for one row and more"};
    if (g.m > most || g.n > most || g.k > most) return (ridge_plan){.refusal = "for extents of 31 bits"};
    const gemm_direct d = gemm_direct_of(&g);
    if (d.narrow_tiles > 65535) return (ridge_plan){.refusal = "for up to 65535 tiles of the shorter side"};
    const double sums = d.shares > 1 ? 4.0 * (double)g.m * (double)gemm_share_line(g.n) * d.shares : 0;
    return (ridge_plan){.us = microseconds(&d, &g),
                        .scratch = (size_t)sums,
                        .traffic = {.read = gemm_bytes_read(&g) + sums, .written = gemm_bytes_written(&g) + sums}};
}
