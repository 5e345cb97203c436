/* Gradients of RMS norm and layer norm: what targets and kernels have in common. Of C and CUDA.
 *
 *   n = (x - mean) / sqrt(var + eps), of an RMS norm mean 0      y = n gamma + beta
 *   g = dy gamma      dx = (g - mean(g) - n mean(g n)) / sqrt(var + eps) + dsum, of an RMS norm without mean(g)
 *   dgamma = sum over rows of dy n      dbeta = sum over rows of dy */
#ifndef RIDGE_NORM_BACKWARD_H
#define RIDGE_NORM_BACKWARD_H

#include "ridge/target.h"

enum { NORM_BACK_ROWS, NORM_BACK_COLS };                             /* dims */
enum { NORM_BACK_X, NORM_BACK_GAMMA, NORM_BACK_DY, NORM_BACK_DSUM }; /* inputs */
enum { NORM_BACK_DX, NORM_BACK_DGAMMA, NORM_BACK_DBETA };            /* outputs; dbeta of a layer norm */
enum { NORM_BACK_EPS, NORM_BACK_WIDE, NORM_BACK_HAS_SUM };           /* options; wide: gamma is f32 where x is not */

/* fp32 numbers of a line of partial sums over rows: whole vectors of every instruction set, whole pieces of 16 bytes. */
static inline int64_t norm_back_line(int64_t cols) { return (cols + 31) / 32 * 32; }

/* ---- on a GPU ---- */

/* The kernels that have a row in registers. THIS IS THE ONE LIST: a line more is a kernel more, its name and its test.
 *
 *   X(name, threads, packs, blocks, resident, idea)
 *
 * So many threads of each of so many blocks have a row, so many pieces of 16 bytes each; resident: threads of an SM, which their
 * registers allow. */
#define NORM_BACK_TILES(X)                                                      \
    X(warp, 32, 1, 1, 768, "a warp has a row, a piece of 16 bytes each thread") \
    X(block_128, 128, 1, 1, 768, "128 threads have a row, a piece each")        \
    X(block_128x2, 128, 2, 1, 512, "128 threads have a row, two pieces each")   \
    X(block_256x2, 256, 2, 1, 512, "256 threads, two pieces each")              \
    X(block_512x2, 512, 2, 1, 512, "512 threads, two pieces each")              \
    X(pair, 512, 2, 2, 512, "a cluster of two blocks of 512 threads has a row") \
    X(four, 512, 2, 4, 512, "a cluster of four blocks")

typedef struct norm_back_tile {
    int threads, packs, blocks, resident;
} norm_back_tile;

/* Rows that a block has side by side. */
static inline int norm_back_side(const norm_back_tile *t) { return t->threads < 128 ? 128 / t->threads : 1; }
/* Blocks, or clusters of them, that run at once: SMs come in groups, in which clusters of four do not fill all. Each has four rows at
 * the least where there are fewer: its sums cost as much as a row. */
static inline int64_t norm_back_units(const norm_back_tile *t, int64_t rows, int sms) {
    const int side = norm_back_side(t), blocks = sms * (t->resident / (t->threads * side));
    const int64_t most = t->blocks > 2 ? (int64_t)(0.94 * blocks / t->blocks) : blocks / t->blocks;
    const int64_t need = (rows + 4 * side - 1) / (4 * side);
    return need < most || most < 1 ? need : most;
}
/* Parts of rows whose columns are summed side by side where no kernel has rows in registers. */
static inline int64_t norm_back_parts(int64_t rows) {
    const int64_t parts = (rows + 15) / 16, most = 64;
    return parts < most ? parts : most;
}

#endif
