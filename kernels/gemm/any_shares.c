#include "gemm/any_shares.h"

#include <math.h>

#include "gemm/any.h"
#include "gemm/wgmma.h"

/* Of an H200: bytes a microsecond of sums, there and back (507 x 293 x 255 in f32 in 14 us); microseconds of the launch that adds them, and of the beginning
 * and the end of each block that an SM has in its turn. */
static const double SUMS = 1.5e6, LAUNCH = 1.5, TURN = 1.2;

/* Shares with these tiles: so many that their blocks are `turns` an SM. */
static any_split split_with(const gemm_problem *g, any_tiles tiles, int turns) {
    const int64_t turn = any_tilings[tiles].turn;
    const double alone = any_tiles_of(tiles, g->m, g->n);
    const int64_t room = (int64_t)((double)turns * g->here.sm_count / alone);
    const int64_t shares = room < ANY_SPLIT_MOST ? room : ANY_SPLIT_MOST;
    any_split split = {tiles, 1, g->k};
    if (shares < 2 || alone >= g->here.sm_count || g->k < 1) return split;
    split.each = ((g->k + shares - 1) / shares + turn - 1) / turn * turn;
    split.shares = (int)((g->k + split.each - 1) / split.each);
    return split;
}

static double bytes_of_sums(const gemm_problem *g, any_split split) {
    return 4.0 * (double)g->m * (double)gemm_share_line(g->n) * split.shares;
}

/* The blocks of all shares, as of one product with so many tiles. */
static double us_of(const gemm_problem *g, any_split split) {
    const any_limits device = {.processors = g->here.sm_count, .clusters = false, .shared = 227 * 1024};
    const double side = any_side(split.tiles), tiles = any_tiles_of(split.tiles, g->m, g->n) * split.shares;
    const double cycles = any_cycles(&device, (any_plan){split.tiles, 1}, tiles * side, side, split.each);
    return gemm_any_us(g, cycles) + 2 * bytes_of_sums(g, split) / SUMS + LAUNCH;
}

gemm_any_shares gemm_any_shares_of(const gemm_problem *g) {
    gemm_any_shares best = {.split = {ANY_LARGE, 1, g->k}};
    for (int tiles = ANY_SMALL; tiles < ANY_TILES && g->m > 0 && g->n > 0; tiles++)
        for (int turns = 1; turns <= ANY_SPLIT_TURNS; turns++) {
            const any_split split = split_with(g, (any_tiles)tiles, turns);
            const double us = split.shares > 1 ? us_of(g, split) : 0;
            if (split.shares < 2 || (best.split.shares > 1 && us >= best.us)) continue;
            best = (gemm_any_shares){split, us, (size_t)bytes_of_sums(g, split)};
        }
    return best;
}

ridge_plan gemm_any_shares_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    if (g.k > INT32_MAX / 2) return (ridge_plan){.refusal = "for a K of 30 bits"};
    const gemm_any_shares shares = gemm_any_shares_of(&g);
    if (shares.split.shares < 2) return (ridge_plan){.refusal = "where tiles are fewer than SMs, and K is long enough"};
    const double sums = (double)shares.bytes;
    const double blocks = any_tiles_of(shares.split.tiles, g.m, g.n) * shares.split.shares;
    return (ridge_plan){.us = shares.us + TURN * ceil(blocks / g.here.sm_count),
                        .scratch = shares.bytes,
                        .traffic = {.read = gemm_bytes_read(&g) + sums, .written = gemm_bytes_written(&g) + sums}};
}
