/* Which tiles of a product a block has, one after the other. */
#ifndef RIDGE_KERNELS_CUDA_PIPE_SCHEDULE_CUH
#define RIDGE_KERNELS_CUDA_PIPE_SCHEDULE_CUH

#include "cuda/pipe/order.h"

namespace ridge {

struct matmul_tile {
    int m, n;   /* first row and column of the block's tile */
    int part;   /* tiles of one part follow each other in one block */
    bool opens; /* the first of its part */
    int number; /* of tiles that the block has made before */
    int batch;  /* the product that it is of */
};

/* The product: extents in tiles and slices of K. */
struct matmul_plan {
    int m_tiles, n_tiles, slices;
    int batch;  /* products, of shapes that are batched */
    int across; /* 0, or split-K: columns of tiles of one share of K, `slices` of it; n_tiles counts those of all shares
                 */
    int low;    /* split operands: slices from a hi part to its lo part */
    int band;   /* cluster rows per band */
    int panel;  /* columns of units per panel; 0: all */
    int run;    /* neighbouring tiles of columns of a unit: one block has them in turn */
    bool keep_a, keep_b; /* operands that later tiles read again from L2 */
    unsigned *progress;  /* NULL, or zero in memory: see keep_pace */
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
        return {
            (row * S::CM + rank % S::CM) * S::M, (column * S::CN + rank / S::CM) * S::N, part, of_run == 0, 0, batch};
    }
    /* The last unit of a row may have fewer tiles than others. */
    __device__ bool exists(const matmul_tile &tile) const { return tile.n < (columns() * S::CN) * S::N; }
    /* Tiles that this block has in waves in which all blocks have one. */
    __device__ int whole_waves(void) const {
        return columns() % plan.run ? 0 : rows() * units() / ((int)gridDim.x / S::cluster) * plan.run;
    }
};

}  // namespace ridge

#endif
