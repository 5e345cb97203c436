/* The shape of skinny/thin.cuh's kernel. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_H
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THIN_COLUMNS = 128,   /* at most: classes of all heads */
    THIN_EXACT = 64,      /* likewise, in fp32 */
    THIN_WARPS = 4,       /* of a block */
    THIN_CLUSTER = 8,     /* blocks that share a depth, at most */
    THIN_STEP_BYTES = 64, /* of a row, that a warp takes at a time */
    THIN_DEEP = 4,        /* steps of a warp, at least, where warps share the depth */
    THIN_END = 6,         /* steps that a warp's beginning and end take as long as; */
    THIN_MEET = 1,        /* besides where warps meet; */
    THIN_MEET_FAR = 5,    /* besides where blocks do */
};
#define THIN_BYTES 0x1p30 /* of w's orders, at most */

/* Rows by where they begin between boundaries of 16 bytes: row r begins (first + r step) % (16 / bytes) elements behind
 * one, r and r + count alike. */
typedef struct thin_phases {
    int count, first, step;
} thin_phases;
/* Of rows at `address`, modulo 16 at least, in lines of `line` elements. */
static inline thin_phases thin_phases_of(uintptr_t address, int64_t line, int64_t rows, int bytes) {
    const int width = 16 / bytes, step = (int)(line % width);
    int count = 1;
    while (count < width && count * step % width != 0) count *= 2;
    if (rows < 2) count = 1;
    const thin_phases p = {count, (int)(address % 16) / bytes, step};
    return p;
}

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
    thin_rows_of(int tiles, bool exact) {
    return tiles == 16 || (exact && tiles == 8) ? 16 : 32;
}
/* Of rows that may begin behind a boundary. */
static inline int64_t thin_steps(int64_t depth, int bytes, bool aligned) {
    return (depth * bytes + (aligned ? 0 : 16 - bytes) + THIN_STEP_BYTES - 1) / THIN_STEP_BYTES;
}
static inline bool thin_aligned(thin_phases p) { return p.count == 1 && p.first == 0; }
static inline int64_t thin_row_tiles(int64_t rows, int of_warp, thin_phases p) {
    const int64_t of_phase = (rows + p.count - 1) / p.count;
    return (of_phase + of_warp - 1) / of_warp * p.count;
}

/* Blocks of an SM: what registers have room for. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    thin_resident(int tiles) {
    return tiles == 1 ? 3 : 2;
}

/* Who shares the depth of their rows: warps of a block, then blocks; as many as let the last of them end first. */
typedef struct thin_shares {
    int warps, blocks;
} thin_shares;
static inline thin_shares thin_shares_of(int64_t rows, int tiles, int of_warp, int64_t steps, thin_phases p, int sm,
                                         int sm_count) {
    const int64_t row_tiles = thin_row_tiles(rows, of_warp, p), room = (int64_t)thin_resident(tiles) * sm_count;
    const int most = sm >= 90 ? THIN_WARPS * THIN_CLUSTER : THIN_WARPS;
    thin_shares best = {1, 1};
    int64_t least = INT64_MAX;
    for (int sharing = 1; sharing <= most && (sharing == 1 || steps >= sharing * THIN_DEEP); sharing *= 2) {
        const thin_shares s = {sharing < THIN_WARPS ? sharing : THIN_WARPS,
                               sharing < THIN_WARPS ? 1 : sharing / THIN_WARPS};
        const int64_t blocks = (row_tiles * s.warps + THIN_WARPS - 1) / THIN_WARPS * s.blocks;
        const int64_t ends = THIN_END + (s.warps > 1 ? THIN_MEET : 0) + (s.blocks > 1 ? THIN_MEET_FAR : 0);
        const int64_t time = (blocks + room - 1) / room * ((steps + sharing - 1) / sharing + ends);
        if (time < least) least = time, best = s;
    }
    return best;
}
/* Of w in the order of fragments, once for each phase; exact: its hi and lo parts. */
static inline double thin_bytes(int64_t columns, int64_t depth, int bytes, bool exact, int phases) {
    return (double)phases * (double)thin_steps(depth, bytes, false) * thin_tiles(columns) * 32 * (exact ? 32 : 16);
}
/* Wherever rows begin. */
static inline double thin_bytes_most(int64_t columns, int64_t depth, int bytes, bool exact) {
    return thin_bytes(columns, depth, bytes, exact, 16 / bytes);
}

/* NULL: it takes such operands. columns: of all heads; exact: fp32; in_rows: x lies row by row. */
static inline const char *thin_refusal(int sm, int64_t rows, double columns, int64_t depth, int bytes, bool exact,
                                       bool in_rows) {
    if (sm < 80) return "needs mma.sync of 16 bits and tf32 (compute capability 8.0)";
    if (rows < 1) return "for one row and more";
    if (exact && columns > (double)THIN_EXACT) return "in f32, for up to 64 columns of all heads";
    if (columns < 1 || columns > (double)THIN_COLUMNS) return "for up to 128 columns of all heads";
    if (depth < 1 || depth > 1 << 30) return "for a depth of 1 to 2^30";
    if (thin_bytes_most((int64_t)columns, depth, bytes, exact) > THIN_BYTES) return "w's orders exceed 1 GiB";
    return in_rows ? NULL : "x is not in rows";
}

/* ---- skinny/thin_outer.cuh ---- */

enum {
    OUTER_COLUMNS = 64, /* of a block */
    OUTER_BLOCKS = 1056 /* that rows are shared for: eight for each of an H200's SMs, on every device */
};
/* Blocks side by side; shares of a phase's rows; tiles of rows of a share. */
typedef struct outer_shares {
    int64_t across, count, each;
} outer_shares;
static inline outer_shares outer_shares_of(int64_t rows, int64_t columns, thin_phases p, int bytes, bool exact) {
    const int64_t slack = thin_aligned(p) ? 0 : 16 / bytes - 1;
    const int64_t tiles = thin_row_tiles(rows, thin_rows_of(OUTER_COLUMNS / 8, exact), p) / p.count;
    outer_shares s = {(columns + slack + OUTER_COLUMNS - 1) / OUTER_COLUMNS, 1, 0};
    const int64_t most = (tiles + THIN_WARPS - 1) / THIN_WARPS, wanted = OUTER_BLOCKS / (s.across * p.count);
    s.count = wanted < 1 ? 1 : wanted < most ? wanted : most;
    s.each = (tiles + s.count - 1) / s.count;
    return s;
}

/* ---- skinny/thin_across.cuh ---- */

enum {
    ACROSS_COLUMN_BYTES = 128, /* of a row of x, that a block has */
    ACROSS_CLASSES = 32,       /* of a block, at most */
    ACROSS_BLOCKS = 528,       /* that rows are shared for: four for each of an H200's SMs, on every device */
    ACROSS_SHARES = 264,       /* at most */
    ACROSS_ROWS = 64           /* of a share, at least */
};
static inline int64_t across_tiles(int64_t depth, int64_t classes, int bytes) {
    const int64_t columns = ACROSS_COLUMN_BYTES / bytes;
    return (depth + columns - 1) / columns * ((classes + ACROSS_CLASSES - 1) / ACROSS_CLASSES);
}
/* Blocks that share the rows of a tile: as many of every phase. */
static inline int across_shares(int64_t rows, int64_t depth, int64_t classes, int bytes, int phases) {
    const int64_t tiles = across_tiles(depth, classes, bytes);
    int64_t shares = tiles > 0 ? ACROSS_BLOCKS / tiles : 1;
    if (shares > rows / ACROSS_ROWS) shares = rows / ACROSS_ROWS;
    if (shares > ACROSS_SHARES) shares = ACROSS_SHARES;
    return shares <= phases ? phases : (int)(shares / phases * phases);
}
/* Elements of a line of sums. */
static inline int64_t across_stride(int64_t depth) { return (depth + 3) / 4 * 4; }
static inline double across_bytes(int64_t rows, int64_t depth, int64_t classes, int bytes, int phases) {
    return 4.0 * across_shares(rows, depth, classes, bytes, phases) * (double)classes * (double)across_stride(depth);
}
/* Of any number of phases. */
static inline double across_bytes_most(int64_t rows, int64_t depth, int64_t classes, int bytes) {
    const double one = across_bytes(rows, depth, classes, bytes, 1);
    const double all = across_bytes(rows, depth, classes, bytes, 16 / bytes);
    return one > all ? one : all;
}

#endif
