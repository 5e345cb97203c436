/* The tiles by which products of 8-bit operands are made on Hopper. THIS IS THE ONE LIST: a line more is a kernel more, its plan, its
 * launch, its name in `ridge list` and its test.
 *
 *   X(name, columns, stages, cluster_m, cluster_n, promote, shares, slice_us, rate, idea)
 *
 * A tile has 128 rows. promote: 1 where sums of 128 of K are scaled and added in fp32. shares: where tiles are fewer than SMs, blocks
 * have shares of K side by side, and a second launch adds. slice_us: microseconds of 128 of K where few SMs are busy; rate: FLOP that
 * an SM does in a microsecond where all are, so that power limits their clock. Both are measured on an H100: slices of 21 x 368 x
 * 14080, rates of 8192^3 and of 1024 x 2112 x 7168; slices of `fast` and `wide`, and rates of `alone`, are estimates. */
#ifndef RIDGE_GEMM_TILES8_H
#define RIDGE_GEMM_TILES8_H

#include <stdbool.h>

#define FP8_TILES(X)                                                                                       \
    X(fast, 256, 4, 1, 1, 0, false, 0.5, 11.4e6, "128 x 256 by TMA and wgmma, summed in the tensor cores") \
    X(tiles, 128, 5, 2, 1, 1, false, 0.33, 9.4e6,                                                          \
      "128 x 128 by TMA and wgmma; the sums of 128 of K are scaled and added in fp32")                     \
    X(alone, 128, 5, 1, 1, 1, true, 0.33, 9.0e6,                                                           \
      "likewise, no blocks share B: few rows; K in shares where tiles are few")                            \
    X(narrow, 64, 7, 1, 1, 1, true, 0.235, 6.4e6, "128 x 64, likewise: fewer tiles yet")

#define INT8_TILES(X)                                                                                    \
    X(wide, 256, 4, 1, 1, 0, false, 0.5, 12e6, "128 x 256 by TMA and wgmma")                             \
    X(tiles, 128, 5, 2, 1, 0, false, 0.29, 9.6e6, "128 x 128 by TMA and wgmma, pairs of blocks share B") \
    X(alone, 128, 5, 1, 1, 0, true, 0.29, 9.2e6,                                                         \
      "128 x 128, no blocks share B: few rows; K in shares where tiles are few")                         \
    X(narrow, 64, 8, 1, 1, 0, true, 0.2, 6.4e6, "128 x 64, likewise: fewer tiles yet")

typedef struct gemm8_tile {
    int columns, cluster_m, cluster_n;
    bool shares;
    double slice_us, rate;
} gemm8_tile;

/* A line of a list as a way of a target: its run is PREFIX_cuda_NAME. */
#define GEMM8_WAY(prefix, plan_, name_, columns_, cluster_m_, cluster_n_, shares_, slice_us_, rate_, idea_) \
    {.name = #name_,                                                                                        \
     .idea = idea_,                                                                                         \
     .needs = 90,                                                                                           \
     .below = 91,                                                                                           \
     .plan = plan_,                                                                                         \
     .run = RIDGE_CUDA(prefix##_cuda_##name_),                                                              \
     .own = &(const gemm8_tile){columns_, cluster_m_, cluster_n_, shares_, slice_us_, rate_}},

#endif
