/* The shape of skinny/thin.cuh's kernel. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_H
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THIN_COLUMNS = 128,   /* at most: classes of all heads */
    THIN_EXACT = 32,      /* likewise, in fp32 */
    THIN_WARPS = 4,       /* of a block */
    THIN_STEP_BYTES = 64, /* of a row, that a warp takes at a time */
    THIN_DEEP = 8         /* steps of a warp, at least, where warps share the depth */
};

/* Tiles of 8 columns that a kernel is made for; 0: none. */
static inline int thin_tiles(int64_t columns) {
    if (columns < 1 || columns > THIN_COLUMNS) return 0;
    return columns <= 8 ? 1 : columns <= 16 ? 2 : columns <= 32 ? 4 : columns <= 64 ? 8 : 16;
}
/* Rows of a warp: sums of more columns leave registers for 16. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    thin_rows_of(int tiles) {
    return tiles <= 8 ? 32 : 16;
}
/* NULL: it takes such operands. columns: of all heads; exact: fp32; in_rows: x lies row by row. */
static inline const char *thin_refusal(int sm, int64_t rows, double columns, int64_t depth, bool exact, bool in_rows) {
    if (sm < 80) return "needs mma.sync of 16 bits and tf32 (compute capability 8.0)";
    if (rows < 1) return "for one row and more";
    if (exact && columns > (double)THIN_EXACT) return "in f32, for up to 32 columns of all heads";
    if (columns < 1 || columns > (double)THIN_COLUMNS) return "for up to 128 columns of all heads";
    if (depth < 1 || depth > 1 << 30) return "for a depth of 1 to 2^30";
    return in_rows ? NULL : "x is not in rows";
}
static inline int64_t thin_steps(int64_t depth, int bytes) {
    return (depth * bytes + THIN_STEP_BYTES - 1) / THIN_STEP_BYTES;
}
/* Warps that share the depth of their rows: where there are too few rows for two warps of every quarter of an SM. */
static inline int thin_parts(int64_t rows, int64_t depth, int tiles, int bytes, int sm_count) {
    const int of_warp = thin_rows_of(tiles);
    const int64_t warps = (rows + of_warp - 1) / of_warp, steps = thin_steps(depth, bytes);
    int parts = 1;
    while (parts < THIN_WARPS && warps * parts < 8 * (int64_t)sm_count && steps >= 2 * parts * THIN_DEEP) parts *= 2;
    return parts;
}
/* Of w in the order of fragments; exact: its hi and lo parts. */
static inline double thin_bytes(int64_t columns, int64_t depth, int bytes, bool exact) {
    return (double)thin_steps(depth, bytes) * thin_tiles(columns) * 32 * (exact ? 32 : 16);
}

/* Columns of a block where there are any number. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    thin_wide(bool exact) {
    return exact ? 32 : 64;
}
static inline double thin_wide_bytes(int64_t columns, int64_t depth, int bytes, bool exact) {
    const int wide = thin_wide(exact);
    const int64_t groups = (columns + wide - 1) / wide;
    return (double)thin_steps(depth, bytes) * (double)groups * wide * 4 * (exact ? 32 : 16);
}

/* ---- skinny/thin_across.cuh ---- */

enum {
    ACROSS_COLUMN_BYTES = 128, /* of a row of x, that a block has */
    ACROSS_CLASSES = 64,       /* of a block, at most */
    ACROSS_BLOCKS = 528,       /* that rows are shared for: four for each of an H200's SMs, on every device */
    ACROSS_SHARES = 64,        /* at most */
    ACROSS_ROWS = 128          /* of a share, at least */
};
static inline int64_t across_tiles(int64_t depth, int64_t classes, int bytes) {
    const int64_t columns = ACROSS_COLUMN_BYTES / bytes;
    return (depth + columns - 1) / columns * ((classes + ACROSS_CLASSES - 1) / ACROSS_CLASSES);
}
/* Blocks that share the rows of a tile. */
static inline int across_shares(int64_t rows, int64_t depth, int64_t classes, int bytes) {
    const int64_t tiles = across_tiles(depth, classes, bytes);
    int64_t shares = tiles > 0 ? ACROSS_BLOCKS / tiles : 1;
    if (shares > rows / ACROSS_ROWS) shares = rows / ACROSS_ROWS;
    return shares < 1 ? 1 : shares > ACROSS_SHARES ? ACROSS_SHARES : (int)shares;
}
/* Elements of a line of sums. */
static inline int64_t across_stride(int64_t depth) { return (depth + 3) / 4 * 4; }
static inline double across_bytes(int64_t rows, int64_t depth, int64_t classes, int bytes) {
    return 4.0 * across_shares(rows, depth, classes, bytes) * (double)classes * (double)across_stride(depth);
}

#endif
