/* dx, dw and db from the gradient of few logits, in one launch: where a batch takes microseconds, launches dominate,
 * and none of the products fills the GPU.
 *
 * dw = G^T x (the batch split: tiles of 16 x 16, or of 64 x 64 by clusters), dx = G w (tiles of 64 x 64: G has few
 * columns), db = sums of G. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_GRADIENTS_CUH
#define RIDGE_KERNELS_CUDA_GEMM_ANY_GRADIENTS_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

/* Blocks: dw's clusters, dx's tiles, columns. */
template <typename G, typename T>
struct few_gradients {
    any_matrix<G> g, g_trans;
    any_matrix<T> w_trans, x_trans;
    any_store<T> dx, dw;
    float *db;
    any_depth dw_depth;
    int dx_down, dx_tiles, dw_down, dw_tiles; /* tiles of rows; all */
};

/* S: of dw's tiles. */
template <typename G, typename T, class S>
__global__ void __launch_bounds__(ANY_THREADS, S::blocks)
    few_gradients_kernel(const __grid_constant__ few_gradients<G, T> p) {
    constexpr int floats = S::floats > any_medium::floats ? S::floats : any_medium::floats;
    __shared__ __align__(16) float room[floats];
    after_previous_launch();
    const int cluster = any_cluster_number();
    if (cluster < p.dw_tiles) {
        any_unit<S>(p.g_trans, p.x_trans, p.dw.rows, p.dw.columns, p.dw_depth, cluster % p.dw_down * S::side,
                    cluster / p.dw_down, 1, p.dw, room);
        return;
    }
    int block = (int)blockIdx.x - p.dw_tiles * any_cluster_blocks();
    if (block < p.dx_tiles) {
        const any_depth classes = {(int)p.dw.rows, (int)p.dw.rows};
        any_unit<any_medium>(p.g, p.w_trans, p.dx.rows, p.dx.columns, classes, block % p.dx_down * any_medium::side,
                             block / p.dx_down, 1, p.dx, room);
        return;
    }
    block -= p.dx_tiles;
    const int first = block * SUM_COLUMNS, column = first + (int)threadIdx.x % SUM_COLUMNS, classes = (int)p.dw.rows;
    const float sum = block_column_sum(p.g.base, p.g.line, (int)p.dx.rows, classes, first, room);
    if (threadIdx.x < SUM_COLUMNS && column < classes) p.db[column] = sum;
}

/* g: [rows, classes] by rows, final; any_is_few. */
template <typename G, typename T>
ridge_status few_gradients_run(const matrix_view &g, const matrix_view &w, const matrix_view &x, const matrix_view &dx,
                               const matrix_view &dw, float *db, cudaStream_t stream) {
    const any_limits device = any_device();
    any_plan plan = any_plan_with(&device, ANY_SMALL, dw.rows, dw.columns, dx.rows);
    const any_plan medium = any_plan_with(&device, ANY_MEDIUM, dw.rows, dw.columns, dx.rows);
    const auto cycles = [&](any_plan p) {
        return any_cycles(&device, p, (double)dw.rows, (double)dw.columns, dx.rows);
    };
    if (cycles(medium) < cycles(plan)) plan = medium;
    if (any_share(plan, dx.rows) >= dx.rows) plan.cluster = 1;

    const auto tiles = [](int64_t n, int side) { return (n + side - 1) / side; };
    const int64_t dx_down = tiles(dx.rows, any_medium::side), dx_across = tiles(dx.columns, any_medium::side);
    const int64_t dw_down = tiles(dw.rows, any_side(plan.tiles)), dw_across = tiles(dw.columns, any_side(plan.tiles));
    const int64_t others = dx_down * dx_across + tiles(g.columns, SUM_COLUMNS);
    const int64_t clusters = dw_down * dw_across + tiles(others, plan.cluster);
    if (clusters * plan.cluster > INT32_MAX) return RIDGE_UNSUPPORTED;
    const few_gradients<G, T> p = {g,
                                   transposed(g),
                                   transposed(w),
                                   transposed(x),
                                   any_store<T>(dx, false),
                                   any_store<T>(dw, false),
                                   db,
                                   {(int)dx.rows, (int)any_share(plan, dx.rows)},
                                   (int)dx_down,
                                   (int)(dx_down * dx_across),
                                   (int)dw_down,
                                   (int)(dw_down * dw_across)};
    const auto kernel =
        plan.tiles == ANY_SMALL ? few_gradients_kernel<G, T, any_small> : few_gradients_kernel<G, T, any_medium>;
    const dim3 grid((unsigned)(clusters * plan.cluster));
    return launch_overlapping(kernel, {grid, ANY_THREADS, 0, plan.cluster}, stream, device.clusters, p);
}

}  // namespace ridge

#endif
