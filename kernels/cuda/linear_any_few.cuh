/* From the gradient of few logits to all that comes of it, in one launch: where a batch takes microseconds, launches
 * are most of it.
 *
 * dx = G w (tiles of 64 x 64: G has few columns), dw = G^T x (tiles of 16 x 16, the batch split), db = sums of G. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_FEW_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_FEW_CUH

#include "cuda/linear_any.cuh"

namespace ridge {

constexpr int FEW_ROWS = 2048, FEW_CLASSES = 64, FEW_COLUMNS = 16; /* the last: of a block that sums columns */

template <typename G, typename T>
struct few_gradients {
    any_matrix<G> g, g_turned;
    any_matrix<T> w_turned, x_turned;
    any_store<T> dx, dw;
    float *db;
    int dx_down, dx_blocks, dw_down, dw_blocks; /* tiles of rows; tiles */
};

/* A column by 16 threads. room: 256 floats. */
template <typename G>
__device__ inline void few_columns(const any_matrix<G> &g, int rows, int classes, int first, float *db, float *room) {
    const int c = (int)threadIdx.x % FEW_COLUMNS, lane = (int)threadIdx.x / FEW_COLUMNS;
    constexpr int lanes = ANY_THREADS / FEW_COLUMNS;
    float sum = 0.0f;
    if (first + c < classes) {
#pragma unroll 8
        for (int i = lane; i < rows; i += lanes) sum += to_float(g.base[i * g.line + first + c]);
    }
    room[threadIdx.x] = sum;
    __syncthreads();
    if (lane > 0 || first + c >= classes) return;
    for (int i = 1; i < lanes; i++) sum += room[i * FEW_COLUMNS + c];
    db[first + c] = sum;
}

template <typename G, typename T>
__global__ void __launch_bounds__(ANY_THREADS, 1) few_gradients_kernel(const __grid_constant__ few_gradients<G, T> p) {
    constexpr int floats = any_small::floats > any_medium::floats ? any_small::floats : any_medium::floats;
    __shared__ __align__(16) float room[floats];
    int block = (int)blockIdx.x;
    after_previous_launch();
    if (block < p.dw_blocks) {
        any_unit<any_small>(p.g_turned, p.x_turned, p.dw.rows, p.dw.columns, any_depth{(int)p.dx.rows, (int)p.dx.rows},
                            block % p.dw_down * any_small::side, block / p.dw_down, 1, p.dw, room);
        return;
    }
    block -= p.dw_blocks;
    if (block < p.dx_blocks) {
        any_unit<any_medium>(p.g, p.w_turned, p.dx.rows, p.dx.columns, any_depth{(int)p.dw.rows, (int)p.dw.rows},
                             block % p.dx_down * any_medium::side, block / p.dx_down, 1, p.dx, room);
        return;
    }
    block -= p.dx_blocks;
    few_columns(p.g, (int)p.dx.rows, (int)p.dw.rows, block * FEW_COLUMNS, p.db, room);
}

/* g: [rows, classes] by rows, final; up to FEW_ROWS x FEW_CLASSES. */
template <typename G, typename T>
ridge_status few_gradients_run(const matrix_view &g, const matrix_view &w, const matrix_view &x, const matrix_view &dx,
                               const matrix_view &dw, float *db, cudaStream_t stream) {
    const auto tiles = [](int64_t n, int side) { return (n + side - 1) / side; };
    const int64_t dx_down = tiles(dx.rows, any_medium::side), dx_across = tiles(dx.columns, any_medium::side);
    const int64_t dw_down = tiles(dw.rows, any_small::side), dw_across = tiles(dw.columns, any_small::side);
    const int64_t blocks = dx_down * dx_across + dw_down * dw_across + tiles(g.columns, FEW_COLUMNS);
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    const few_gradients<G, T> p = {g,
                                   transposed(g),
                                   transposed(w),
                                   transposed(x),
                                   any_store<T>(dx, false),
                                   any_store<T>(dw, false),
                                   db,
                                   (int)dx_down,
                                   (int)(dx_down * dx_across),
                                   (int)dw_down,
                                   (int)(dw_down * dw_across)};
    return launch_overlapping(few_gradients_kernel<G, T>, {dim3((unsigned)blocks), ANY_THREADS}, stream,
                              device_overlaps(), p);
}

}  // namespace ridge

#endif
