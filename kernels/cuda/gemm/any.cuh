/* Products of matrices in any order, type and alignment, by fp32 multiply-adds: C[m, n] = sum over k of A[m, k] B[n,
 * k]. For shapes and devices without a faster kernel, and for exact fp32. any_tile.cuh has a tile, any_plan.cuh which
 * tiles a shape gets, epilogue/ what is done with the sums.
 *
 *   large    128 x 128, a thread 8 x 8        four loads of 16 bytes for 64 multiply-adds
 *   medium   64 x 64, a thread 8 x 4          a few tiles for every SM, the depth in two
 *   small    16 x 16, a thread 4 x 2          few rows or columns: latency counts, the depth in eight
 *   either   by clusters of 2, 4 or 8         too few tiles: the depth again in so many (compute capability 9.0 on)
 *   any      in shares (any_run_shares)       few tiles of a long depth: sums of all shares to memory
 *
 * On an H200 8448 x 8192 x 4096 runs at 43 TFLOP/s with large tiles and 35 with medium ones, of 67. Shared memory
 * returns 128 bytes a cycle to registers, a load of 16 bytes by a warp takes four: as long as 16 of its multiply-adds,
 * on which a thread's 8 x 8 break even.
 *
 * An epilogue has tile(v, place): v[i][j] is of place.row(i) and place.column(j), some of them beyond the matrix. A
 * unit is `run` neighbouring tiles of columns, which one block has in turn. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_CUH
#define RIDGE_KERNELS_CUDA_GEMM_ANY_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/any_plan.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* Whether the products side by side are of shares of a depth, the last of which may have fewer steps. */
template <class Epilogue>
constexpr bool any_of_share = [] {
    if constexpr (requires { Epilogue::of_share; }) return Epilogue::of_share;
    return false;
}();

/* Of an SM. Elements of 16 bits that are gathered one by one take registers, and so do several tiles. */
template <class S, typename A, typename B, class Epilogue>
constexpr int any_blocks = S::apart && (sizeof(A) + sizeof(B) < 8 || any_several<Epilogue>) ? 1 : S::blocks;

template <class S, typename A, typename B, class Epilogue>
__global__ void __launch_bounds__(ANY_THREADS, (any_blocks<S, A, B, Epilogue>))
    any_product(const __grid_constant__ any_matrix<A> a, const __grid_constant__ any_matrix<B> b, int64_t m, int64_t n,
                any_depth depth, int run, const unsigned *only_if, const __grid_constant__ Epilogue epilogue) {
    extern __shared__ float4 any_room[];
    after_previous_launch();
    if (only_if && *only_if == 0) return;
    if constexpr (any_of_share<Epilogue>)
        depth.each = depth.all = min(depth.each, depth.all - (int)blockIdx.z * depth.each);
    const int64_t row = (int64_t)any_cluster_number() * S::side;
    any_unit<S>(a, b, m, n, depth, row, (int)blockIdx.y, run, epilogue, (float *)any_room);
}

/* ---- launches ---- */

/* Bytes of shared memory that keep two blocks off one SM: those of a cluster would crowd together while
 * others are free. Devices that have not so much let them. */
constexpr int ANY_ALONE = 120 * 1024;
inline bool any_alone(const any_limits &device, any_plan plan, int64_t blocks) {
    return plan.cluster > 1 && device.shared >= ANY_ALONE && (double)blocks <= any_clustered(&device, plan.cluster);
}

/* Of the tiles that an epilogue is made for. */
template <class Epilogue>
constexpr int any_side_most = [] {
    if constexpr (requires { Epilogue::side_most; }) return Epilogue::side_most;
    return any_large::side;
}();

/* See any_run_as; steps: of a block. */
template <typename A, typename B, class Epilogue>
ridge_status any_launch(any_plan plan, const any_limits &device, const any_matrix<A> &a, const any_matrix<B> &b,
                        int64_t m, int64_t n, any_depth steps, int run, const Epilogue &epilogue, cudaStream_t stream,
                        int count, const unsigned *only_if) {
    const int64_t side = any_side(plan.tiles), x = (m + side - 1) / side * plan.cluster;
    const int64_t y = ((n + side - 1) / side + run - 1) / run;
    if (x > INT32_MAX || y > 65535 || count > 65535) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)x, (unsigned)y, (unsigned)count);
    return with_any_shape(plan.tiles, [&]<class S>() {
        if constexpr (S::side > any_side_most<Epilogue>) {
            return RIDGE_UNSUPPORTED;
        } else {
            constexpr int own = S::floats * (int)sizeof(float);
            const int bytes = any_alone(device, plan, x * y * count) ? ANY_ALONE : own;
            const auto kernel = any_product<S, A, B, Epilogue>;
            return launch_overlapping(kernel, {grid, ANY_THREADS, bytes, plan.cluster}, stream, device.clusters, a, b,
                                      m, n, steps, run, only_if, epilogue);
        }
    });
}
/* run: tiles of a unit; more than one where the epilogue takes several. count: of products, each `next` elements behind
 * the one before. only_if: NULL, or what says in the device's memory whether there is anything to do. */
template <typename A, typename B, class Epilogue>
ridge_status any_run_as(any_plan plan, const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n,
                        int64_t depth, int run, const Epilogue &epilogue, cudaStream_t stream, int count = 1,
                        const unsigned *only_if = NULL) {
    if (m == 0 || n == 0 || count == 0) return RIDGE_OK;
    if (depth > ANY_DEPTH) return RIDGE_UNSUPPORTED;
    if (any_several<Epilogue> || any_share(plan, depth) >= depth) plan.cluster = 1;
    const any_depth steps = {(int)depth, (int)any_share(plan, depth)};
    return any_launch(plan, any_device(), a, b, m, n, steps, run, epilogue, stream, count, only_if);
}
template <typename A, typename B, class Epilogue>
ridge_status any_run(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n, int64_t depth,
                     const Epilogue &epilogue, cudaStream_t stream, int count = 1, const unsigned *only_if = NULL) {
    const any_limits device = any_device();
    return any_run_as(any_plan_for(&device, m, n, depth, 1), a, b, m, n, depth, 1, epilogue, stream, count, only_if);
}
/* Split-K: the sums of every share of the depth to memory, beside each other. */
template <typename A, typename B>
ridge_status any_run_shares(const any_split &split, const matrix_view &a, const matrix_view &b,
                            const any_sums_store &sums, cudaStream_t stream) {
    if (a.columns > ANY_DEPTH) return RIDGE_UNSUPPORTED;
    const any_limits device = any_device();
    const any_matrix<A> from_a(a, split.each * a.step);
    const any_matrix<B> from_b(b, split.each * b.step);
    const any_depth steps = {(int)a.columns, (int)split.each};
    return any_launch({split.tiles, 1}, device, from_a, from_b, a.rows, b.rows, steps, 1, sums, stream, split.shares,
                      NULL);
}

}  // namespace ridge

#endif
