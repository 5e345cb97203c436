/* Products of matrices in any order, type and alignment, by fp32 multiply-adds: C[m, n] = sum over k of A[m, k] B[n,
 * k]. For shapes and devices that have no faster way here, and for exact fp32. linear_any_tile.cuh has a tile; here is
 * which tiles a shape gets; an epilogue (linear_any_epilogue.cuh) says what becomes of them.
 *
 *   large    128 x 128, a thread 8 x 8        four loads of 16 bytes for 64 multiply-adds
 *   medium   64 x 64, a thread 8 x 4          a few tiles for every multiprocessor, the depth in two
 *   small    16 x 16, a thread 4 x 2          few rows or columns: latency counts, the depth in eight
 *
 * On an H200 8448 x 8192 x 4096 runs at 43 TFLOP/s with large tiles and 35 with medium ones, of 67. Shared memory
 * returns 128 bytes a cycle to registers, a load of 16 bytes by a warp takes four: as long as 16 of its multiply-adds,
 * on which a thread's 8 x 8 break even.
 *
 * An epilogue has tile(v, place): v[i][j] is of place.row(i) and place.column(j), some of them beyond the matrix. A
 * block's unit is `run` neighbouring tiles of columns, one after the other. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_CUH

#include "cuda/linear_any_epilogue.cuh"
#include "cuda/linear_any_tile.cuh"

namespace ridge {

/* Of a multiprocessor. Elements of 16 bits that are gathered one by one take registers, and so do several tiles. */
template <class S, typename A, typename B, class Epilogue>
constexpr int any_blocks = S::apart && (sizeof(A) + sizeof(B) < 8 || any_several<Epilogue>) ? 1 : S::blocks;

template <class S, typename A, typename B, class Epilogue>
__global__ void __launch_bounds__(ANY_THREADS, (any_blocks<S, A, B, Epilogue>))
    any_product(const __grid_constant__ any_matrix<A> a, const __grid_constant__ any_matrix<B> b, int64_t m, int64_t n,
                int depth, int run, const unsigned *only_if, const __grid_constant__ Epilogue epilogue) {
    extern __shared__ float4 any_room[];
    if (only_if && *only_if == 0) return;
    any_unit<S>(a, b, m, n, depth, (int64_t)blockIdx.x * S::side, (int)blockIdx.y, run, epilogue, (float *)any_room);
}

/* ---- which tiles ---- */

enum any_tiles { ANY_SMALL, ANY_MEDIUM, ANY_LARGE };

template <typename F>
auto with_any_shape(any_tiles tiles, F f) {
    switch (tiles) {
        case ANY_SMALL: return f.template operator()<any_small>();
        case ANY_MEDIUM: return f.template operator()<any_medium>();
        default: return f.template operator()<any_large>();
    }
}
inline int any_side(any_tiles tiles) {
    return with_any_shape(tiles, [&]<class S>() { return S::side; });
}
inline int any_span(any_tiles tiles) {
    return with_any_shape(tiles, [&]<class S>() { return any_place<S>::span; });
}

/* About how many cycles a product takes: those of a tile and step of the depth, measured, times the tiles of the
 * busiest multiprocessor; no fewer than its loads' latency allows. */
inline double any_cycles(any_tiles tiles, double m, double n, double depth) {
    static const struct { double step, least, start; } cost[] = {{9, 8.5, 3500}, {55, 66, 3000}, {170, 213, 4000}};
    int device = 0, processors = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || processors < 1)
        processors = 1;
    const double side = any_side(tiles), all = ceil(m / side) * ceil(n / side);
    return fmax(cost[tiles].step * ceil(all / processors), cost[tiles].least) * depth + cost[tiles].start;
}

/* The quickest; of those whose rows have spans of at least `least` columns. */
inline any_tiles any_tiles_for(int64_t m, int64_t n, int64_t depth, int least = 1) {
    any_tiles best = ANY_LARGE;
    for (const any_tiles tiles : {ANY_MEDIUM, ANY_SMALL})
        if (any_span(tiles) >= least && any_cycles(tiles, (double)m, (double)n, (double)depth) <
                                            any_cycles(best, (double)m, (double)n, (double)depth))
            best = tiles;
    return best;
}

/* ---- launches ---- */

/* Of the tiles that an epilogue is made for. */
template <class Epilogue>
constexpr int any_side_most = [] {
    if constexpr (requires { Epilogue::side_most; }) return Epilogue::side_most;
    return any_large::side;
}();

/* run: tiles of a unit; more than one where the epilogue takes several. count: of products, each `next` elements behind
 * the one before. only_if: NULL, or what says in the device's memory whether there is anything to do. */
template <typename A, typename B, class Epilogue>
ridge_status any_run_as(any_tiles tiles, const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n,
                        int64_t depth, int run, const Epilogue &epilogue, cudaStream_t stream, int count = 1,
                        const unsigned *only_if = NULL) {
    if (m == 0 || n == 0 || count == 0) return RIDGE_OK;
    const int64_t side = any_side(tiles), x = (m + side - 1) / side, y = ((n + side - 1) / side + run - 1) / run;
    if (x > INT32_MAX || y > 65535 || count > 65535 || depth > ANY_DEPTH) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)x, (unsigned)y, (unsigned)count);
    return with_any_shape(tiles, [&]<class S>() {
        if constexpr (S::side > any_side_most<Epilogue>) {
            return RIDGE_UNSUPPORTED;
        } else {
            constexpr int bytes = S::floats * (int)sizeof(float);
            const auto kernel = any_product<S, A, B, Epilogue>;
            if (bytes > 48 * 1024 &&
                cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
                return RIDGE_FAILED;
            kernel<<<grid, ANY_THREADS, bytes, stream>>>(a, b, m, n, (int)depth, run, only_if, epilogue);
            return launched();
        }
    });
}
template <typename A, typename B, class Epilogue>
ridge_status any_run(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n, int64_t depth,
                     const Epilogue &epilogue, cudaStream_t stream, int count = 1, const unsigned *only_if = NULL) {
    return any_run_as(any_tiles_for(m, n, depth), a, b, m, n, depth, 1, epilogue, stream, count, only_if);
}

/* ---- parts of a softmax: of a row, those of a unit's spans ---- */

/* Tiles of `spans` parts each that make a unit, so that there are at most LINEAR_PARTS parts. */
inline int parts_run(int64_t classes, int tile, int spans = 1) {
    const int64_t tiles = (classes + tile - 1) / tile, units = LINEAR_PARTS / spans;
    return (int)((tiles + units - 1) / units);
}
/* Of them, those with columns. */
inline int parts_count(int64_t classes, int tile, int spans = 1) {
    const int64_t columns = (int64_t)tile * parts_run(classes, tile, spans), units = (classes + columns - 1) / columns;
    const int64_t of_last = (classes - (units - 1) * columns + tile / spans - 1) / (tile / spans);
    return (int)((units - 1) * spans + (of_last < spans ? of_last : spans));
}

}  // namespace ridge

#endif
