/* In which order the tiles of a product are made: C and CUDA, so that a test needs no GPU.
 *
 * Units, `rows` x `units`, are numbered panel by panel; in a panel of `panel` columns of units (0: of all), band by
 * band; in a band of `band` rows, column by column: neighbours in time share operands. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_ORDER_H
#define RIDGE_KERNELS_CUDA_PIPE_ORDER_H

#ifdef __CUDACC__
#define RIDGE_ORDER_FN static inline __host__ __device__
#else
#define RIDGE_ORDER_FN static inline
#endif

typedef struct matmul_place {
    int row, unit;
} matmul_place;

RIDGE_ORDER_FN int matmul_least(int a, int b) { return a < b ? a : b; }

RIDGE_ORDER_FN matmul_place matmul_place_of(int number, int rows, int units, int band, int panel) {
    const int width = panel ? matmul_least(panel, units) : units, of_panel = rows * width;
    const int p = number / of_panel, in_panel = number - p * of_panel;
    const int here = matmul_least(width, units - p * width), of_band = band * here;
    const int b = in_panel / of_band, in_band = in_panel - b * of_band;
    const int height = matmul_least(band, rows - b * band), across = in_band / height;
    const matmul_place place = {b * band + (in_band - across * height), p * width + across};
    return place;
}

#endif
