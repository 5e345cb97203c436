/* What the files of this target know of its operands, and how a GPU's tiles are chosen. */
#ifndef NVFP4_GEMM_H
#define NVFP4_GEMM_H

#include "gemm/problem.h"
#include "quantize/blocks.h"
#include "quantize/rule.h"

RIDGE_CPU_DECLARE(nvfp4_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(nvfp4_gemm_cpu_optimized);

enum { FP4_M, FP4_N, FP4_K, FP4_ROW_TILES, FP4_TILE_BYTES, FP4_ONE }; /* dims */
enum { FP4_X, FP4_Q, FP4_S, FP4_TENSOR };                             /* inputs; c is out[0] */
enum { FP4_BLOCK = 16, FP4_SLICE = 64, FP4_ROWS = 128, FP4_MOST_SHARES = 16 };

/* Rows of W that a CPU thread has as fp32 at a time: 128 KiB of them. */
static inline int64_t fp4_rows(int64_t k) {
    const int64_t rows = (1 << 15) / (k > 0 ? k : 1);
    return rows > 144 ? 144 : rows < 8 ? 8 : rows;
}

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

/* Few rows: K in steps of 128, as many in a share as leave shared memory room for 16 rows of x twice. */
enum { FP4_FEW = 16, FP4_STEP = 128, FP4_MOST_STEPS = 20 };
typedef struct fp4_shares {
    int count, steps; /* of a share */
} fp4_shares;

/* Such that blocks, two an SM, come in whole waves. */
static inline fp4_shares fp4_shares_of(int64_t n, int64_t k, int sm_count) {
    const int64_t tiles = (n + FP4_ROWS - 1) / FP4_ROWS, room = 2 * (sm_count > 0 ? sm_count : 1);
    const int64_t steps = (k + FP4_STEP - 1) / FP4_STEP;
    fp4_shares best = {0, 0};
    double least = 0;
    for (int64_t each = FP4_MOST_STEPS; each >= 4; each--) {
        const int64_t count = (steps + each - 1) / each, waves = (tiles * count + room - 1) / room;
        const double cost =
            (double)waves * ((double)each + 4); /* a block's beginning and end are worth so many steps */
        if (best.count == 0 || cost < least) best = (fp4_shares){(int)count, (int)each}, least = cost;
    }
    return best;
}

#endif
