/* Which tiles of a product a block has, one after the other. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_SCHEDULE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_SCHEDULE_CUH

#include <stdint.h>

#include "cuda/pipe/order.h"

namespace ridge {

struct matmul_tile {
    int m, n;   /* first row and column of the block's tile */
    int part;   /* tiles of one part follow each other in one block */
    bool opens; /* the first of its part */
    int number; /* of tiles that the block has made before */
    int batch;  /* the product that it is of */
    int end;    /* of grouped products: behind the group's last row */
};

/* Products of grouped rows: group g has those from where the one before ends to ends[g], in the device's memory. An end below
 * the one before counts as that one, an end beyond the rows as the last. Rows behind the last end are a group more, of
 * number `count`: where its operands would be, TMA finds zeros. Of these groups `first` to below `behind` are made. */
struct matmul_groups {
    const int *ends;
    int count, rows, first, behind;
};

/* Scales of A's blocks, in tiles of 128 rows and 64 of K (quantize/blocks.h); bytes from one row of tiles to the next. */
struct matmul_scales {
    const uint8_t *base;
    int64_t line;
    int tiles, blocks; /* of a row; blocks of 16 of K */
};

/* The product: extents in tiles and slices of K. */
struct matmul_plan {
    int m_tiles, n_tiles, slices;
    int batch;  /* products, of shapes that are batched */
    int across; /* 0, or split-K: columns of tiles of one share of K, `slices` of it; n_tiles counts those of all shares
                 */
    int low;    /* split operands: slices from a hi part to its lo part */
    int pair;   /* paired ones: columns of B from a tile's first half to its second */
    int band;   /* cluster rows per band */
    int panel;  /* columns of units per panel; 0: all */
    int run;    /* neighbouring tiles of columns of a unit: one block has them in turn */
    bool keep_a, keep_b;  /* operands that later tiles read again from L2 */
    unsigned *progress;   /* NULL, or zero in memory: see keep_pace */
    matmul_groups groups; /* of shapes that are grouped */
    matmul_scales scales; /* of those whose A is NVFP4 */
};

/* A block's tiles, one after the other. Values common to all are computed again rather than kept in registers. */
template <class S>
struct matmul_schedule {
    const matmul_plan &plan;
    int rank, unit, of_run;

    __device__ matmul_schedule(const matmul_plan &p, int rank_in_cluster)
        : plan(p), rank(rank_in_cluster), unit((int)blockIdx.x / S::cluster), of_run(0) {}
    __device__ int rows(void) const { return (plan.m_tiles + S::CM - 1) / S::CM; }
    __device__ int columns(void) const { return (plan.n_tiles + S::CN - 1) / S::CN; }
    __device__ int units(void) const { return (columns() + plan.run - 1) / plan.run; }
    __device__ bool more(void) const { return unit < rows() * units() * (S::batched ? plan.batch : 1); }
    __device__ void next(void) {
        if (++of_run == plan.run) of_run = 0, unit += (int)gridDim.x / S::cluster;
    }
    __device__ matmul_tile tile(void) const {
        const int batch = S::batched ? unit / (rows() * units()) : 0;
        const matmul_place at =
            matmul_place_of(unit - batch * rows() * units(), rows(), units(), plan.band, plan.panel);
        const int row = at.row, part = at.unit, column = part * plan.run + of_run;
        return {(row * S::CM + rank % S::CM) * S::M,
                (column * S::CN + rank / S::CM) * S::columns,
                part,
                of_run == 0,
                0,
                batch};
    }
    /* The last unit of a row may have fewer tiles than others. */
    __device__ bool exists(const matmul_tile &tile) const { return tile.n < (columns() * S::CN) * S::columns; }
    /* Whether TMA may store the tile: nothing else is where it would write. */
    __device__ static bool is_whole(const matmul_tile &) { return true; }
    /* The product whose A the tile has. */
    __device__ int batch_of_a(const matmul_tile &tile) const { return tile.batch; }
    /* Tiles that this block has in waves in which all blocks have one. */
    __device__ int whole_waves(void) const {
        return columns() % plan.run ? 0 : rows() * units() / ((int)gridDim.x / S::cluster) * plan.run;
    }
};

/* Of grouped products: group after group, each down its rows first, so that blocks that run together read the same B. */
template <class S>
requires(S::grouped) struct matmul_schedule<S> {
    const matmul_plan &plan;
    int unit; /* of the group's tiles */
    int group, begin, end;

    __device__ matmul_schedule(const matmul_plan &p, int)
        : plan(p), unit((int)blockIdx.x), group(-1), begin(0), end(0) {
        open();
        settle();
    }
    __device__ void open(void) {
        begin = end;
        if (++group <= plan.groups.count)
            end = group < plan.groups.count ? min(max(plan.groups.ends[group], begin), plan.groups.rows)
                                            : plan.groups.rows;
    }
    __device__ int rows(void) const { return (end - begin + S::M - 1) / S::M; }
    __device__ int tiles(void) const { return group < plan.groups.first ? 0 : rows() * plan.n_tiles; }
    __device__ void settle(void) {
        for (; more() && unit >= tiles(); open()) unit -= tiles();
    }
    __device__ bool more(void) const { return group < plan.groups.behind; }
    __device__ void next(void) {
        unit += (int)gridDim.x;
        settle();
    }
    __device__ matmul_tile tile(void) const {
        return {begin + unit % rows() * S::M, unit / rows() * S::columns, 0, true, 0, group, end};
    }
    __device__ bool exists(const matmul_tile &) const { return true; }
    __device__ static bool is_whole(const matmul_tile &tile) { return tile.m + S::M <= tile.end; }
    __device__ int batch_of_a(const matmul_tile &tile) const { return tile.batch == plan.groups.count; }
    __device__ int whole_waves(void) const { return 0; }
};

}  // namespace ridge

#endif
