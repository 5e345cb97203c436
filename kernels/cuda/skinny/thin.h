/* The shape of skinny/thin.cuh's kernel. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_H
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_H

#include <stddef.h>
#include <stdint.h>

enum {
    THIN_COLUMNS = 128,   /* at most: classes of all heads */
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
/* Of w in the order of fragments. */
static inline double thin_bytes(int64_t columns, int64_t depth, int bytes) {
    return (double)thin_steps(depth, bytes) * thin_tiles(columns) * 32 * 16;
}

#endif
