/* What the files of this target know of its operands, and how a GPU's tiles are chosen. */
#ifndef NVFP4_GEMM_H
#define NVFP4_GEMM_H

#include "quantize/blocks.h"
#include "quantize/rule.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(nvfp4_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(nvfp4_gemm_cpu_optimized);

enum { FP4_M, FP4_N, FP4_K, FP4_ROW_TILES, FP4_TILE_BYTES, FP4_ONE }; /* dims */
enum { FP4_X, FP4_Q, FP4_S, FP4_TENSOR };                             /* inputs; c is out[0] */
enum { FP4_BLOCK = 16, FP4_SLICE = 64, FP4_ROWS = 128, FP4_MOST_SHARES = 16 };

/* Tiles of 128 rows of W by so many of x; the slices of K in each of its shares. */
typedef struct fp4_tiles {
    int columns, shares;
    int64_t slices;
} fp4_tiles;

/* What an SM unpacks in a microsecond, in elements, what it multiplies, in FLOP, and what sums in memory move at, in bytes. */
#define FP4_UNPACKED 2.4e4
#define FP4_MULTIPLIED 5.2e6
#define FP4_SUMS 2.5e6

/* Shares of K as take the least time: waves of tiles over SMs, each of its share, and the sums of all shares, written and read.
 * A share has eight slices and more. */
static inline fp4_tiles fp4_tiles_of(int64_t m, int64_t n, int64_t k, int sm_count) {
    const int columns = m <= 16 ? 16 : m <= 64 ? 64 : m <= 128 ? 128 : 256;
    const int64_t tiles = (n + FP4_ROWS - 1) / FP4_ROWS * ((m + columns - 1) / columns),
                  sms = sm_count > 0 ? sm_count : 1;
    const int64_t slices = (k + FP4_SLICE - 1) / FP4_SLICE;
    const double rows = (double)(FP4_ROWS * k), unpacked = rows / FP4_UNPACKED,
                 multiplied = 2 * rows * columns / FP4_MULTIPLIED, wave = unpacked > multiplied ? unpacked : multiplied;
    int best = 1;
    double least = 0;
    for (int shares = 1; shares <= FP4_MOST_SHARES && (shares == 1 || slices / shares >= 8); shares++) {
        const int64_t waves = (tiles * shares + sms - 1) / sms;
        const double sums = shares > 1 ? 2 + 8.0 * shares * (double)m * (double)n / FP4_SUMS : 0;
        const double cost = (double)waves / shares * wave + sums;
        if (shares == 1 || cost < least) best = shares, least = cost;
    }
    const int64_t each = (slices + best - 1) / best;
    return (fp4_tiles){columns, (int)((slices + each - 1) / (each > 0 ? each : 1)), each};
}

/* Few rows: groups of 16 rows of W, eight in a tile of scales, in steps of 256 of K. In shared memory a block has its part of x, a
 * step of each of its warps, and sums of each group and each warp. */
enum { FP4_FEW = 16, FP4_STEP = 256, FP4_GROUPS = 8, FP4_FEW_WARPS = 16, FP4_FEW_CLUSTER = 8 };
#define FP4_FEW_X(tokens) (2 * FP4_STEP * (tokens)) /* bytes of a step */
#define FP4_FEW_STAGE (16 * FP4_STEP / 2 + 16 * FP4_STEP / FP4_BLOCK)
#define FP4_FEW_SLOT(tokens) (4 * 16 * (tokens))
#define FP4_FEW_ROOM (227 * 1024)

typedef struct fp4_few {
    int shares, steps, clusters; /* blocks of a cluster, each with so many steps of K; no shares: x has no room */
    int bytes;                   /* of shared memory */
    double us;                   /* on an H100 */
} fp4_few;

static inline int fp4_groups_of(int64_t n) { return (int)((n + FP4_ROWS - 1) / FP4_ROWS) * FP4_GROUPS; }

/* Clusters of up to 8 blocks, one an SM. Those of 4 and 8 find room for 30 of 33 and 15 of 16 on the H100 that was measured, where
 * an SM reads a step of a group in 0.11 us and a cluster's sums take 1 us. */
static inline fp4_few fp4_few_of(int64_t m, int64_t n, int64_t k, int sm_count) {
    const int64_t tokens = m > 8 ? 16 : 8, groups = fp4_groups_of(n), steps = (k + FP4_STEP - 1) / FP4_STEP;
    fp4_few best = {0, 0, 0, 0, 0};
    for (int64_t most = 1; most <= FP4_FEW_CLUSTER; most *= 2) {
        const int64_t each = (steps + most - 1) / most, shares = (steps + each - 1) / each;
        const int64_t fit = sm_count / shares * (shares > 2 ? 10 : 11) / 11, room = fit > 0 ? fit : 1;
        const int64_t fixed = each * FP4_FEW_X(tokens) + FP4_FEW_WARPS * (FP4_FEW_STAGE + FP4_FEW_SLOT(tokens));
        const int64_t slots = (FP4_FEW_ROOM - fixed) / FP4_FEW_SLOT(tokens); /* as many groups as a cluster can have */
        if (fixed > FP4_FEW_ROOM || slots == 0) continue;
        const int64_t waves = (groups + slots * room - 1) / (slots * room);
        const int64_t clusters = groups < waves * room ? groups : waves * room;
        const int64_t of_one = (groups + clusters - 1) / clusters;
        const double us = (double)waves * (0.11 * (double)(of_one * each) + 4 + (shares > 1));
        if (best.shares == 0 || us < best.us)
            best = (fp4_few){(int)shares, (int)each, (int)clusters, (int)(fixed + of_one * FP4_FEW_SLOT(tokens)), us};
    }
    return best;
}

#endif
