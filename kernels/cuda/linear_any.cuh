/* Products of matrices in any order, type and alignment, by fp32 multiply-adds: C[m, n] = sum over k of A[m, k] B[n,
 * k]. For shapes and devices that have no faster way here, and for exact fp32. linear_any_tile.cuh has a tile; here is
 * which tiles a shape gets; an epilogue (linear_any_epilogue.cuh) says what becomes of them.
 *
 *   large    128 x 128, a thread 8 x 8        four loads of 16 bytes for 64 multiply-adds
 *   medium   64 x 64, a thread 8 x 4          a few tiles for every multiprocessor, the depth in two
 *   small    16 x 16, a thread 4 x 2          few rows or columns: latency counts, the depth in eight
 *   either   by clusters of 2, 4 or 8         too few tiles: the depth again in so many (compute capability 9.0 on)
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
#include "cuda/overlap.cuh"

namespace ridge {

/* Of a multiprocessor. Elements of 16 bits that are gathered one by one take registers, and so do several tiles. */
template <class S, typename A, typename B, class Epilogue>
constexpr int any_blocks = S::apart && (sizeof(A) + sizeof(B) < 8 || any_several<Epilogue>) ? 1 : S::blocks;

template <class S, typename A, typename B, class Epilogue>
__global__ void __launch_bounds__(ANY_THREADS, (any_blocks<S, A, B, Epilogue>))
    any_product(const __grid_constant__ any_matrix<A> a, const __grid_constant__ any_matrix<B> b, int64_t m, int64_t n,
                any_depth depth, int run, const unsigned *only_if, const __grid_constant__ Epilogue epilogue) {
    extern __shared__ float4 any_room[];
    after_previous_launch();
    if (only_if && *only_if == 0) return;
    const int64_t row = (int64_t)any_cluster_number() * S::side;
    any_unit<S>(a, b, m, n, depth, row, (int)blockIdx.y, run, epilogue, (float *)any_room);
}

/* ---- which tiles ---- */

enum any_tiles { ANY_SMALL, ANY_MEDIUM, ANY_LARGE };
struct any_plan {
    any_tiles tiles;
    int cluster; /* blocks that have a tile together */
};

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
/* Steps of the depth that each block of a cluster has: turns of all groups. */
inline int64_t any_share(any_plan plan, int64_t depth) {
    if (plan.cluster == 1) return depth;
    const int turn = with_any_shape(plan.tiles, [&]<class S>() { return S::groups * S::slice; });
    return ((depth + plan.cluster - 1) / plan.cluster + turn - 1) / turn * turn;
}

struct any_limits {
    int processors;
    bool clusters; /* can be had */
    int shared;    /* bytes that a block can have */
};
inline any_limits any_device(void) {
    const int processors = device_limit(cudaDevAttrMultiProcessorCount);
    return {processors > 0 ? processors : 1, device_capability() >= 90,
            device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

/* About how many cycles a product takes: those of a tile and step of the depth, measured, times the tiles of the
 * busiest multiprocessor; no fewer than its loads' latency allows. */
struct any_cost {
    double step, least, start;
};
inline any_cost any_cost_of(any_tiles tiles) {
    static const any_cost cost[] = {{9, 8.5, 3500}, {55, 66, 3000}, {170, 213, 4000}};
    return cost[tiles];
}
/* Multiprocessors on which clusters lie: these come in groups that are no multiples of clusters. An H200's 132 have room
 * for 15 clusters of 8, and of 4, one block a multiprocessor, 32 take as long as two waves. */
inline double any_clustered(const any_limits &device, int cluster) {
    return floor(device.processors * (cluster == 8 ? 0.91 : cluster == 4 ? 0.94 : 1.0));
}
/* Clusters, whose blocks meet once: two blocks a multiprocessor run together, then the next. */
inline double any_cluster_cycles(const any_limits &device, any_plan plan, double tiles, int64_t depth) {
    const any_cost cost = any_cost_of(plan.tiles);
    const double room = any_clustered(device, plan.cluster);
    const double all = tiles * plan.cluster, full = floor(all / (2 * room)), rest = all - full * 2 * room;
    const double share = (double)any_share(plan, depth), meeting = cost.start + 3000;
    const double of_rest = rest > room ? 2 * cost.step : cost.least;
    return full * (2 * cost.step * share + meeting) + (rest > 0 ? of_rest * share + meeting : 0);
}
inline double any_cycles(const any_limits &device, any_plan plan, double m, double n, int64_t depth) {
    const any_cost cost = any_cost_of(plan.tiles);
    const double side = any_side(plan.tiles), tiles = ceil(m / side) * ceil(n / side);
    if (plan.cluster > 1) return any_cluster_cycles(device, plan, tiles, depth);
    return fmax(cost.step * ceil(tiles / device.processors), cost.least) * (double)depth + cost.start;
}

/* The quickest way with these tiles. */
inline any_plan any_plan_with(const any_limits &device, any_tiles tiles, int64_t m, int64_t n, int64_t depth) {
    any_plan best = {tiles, 1};
    for (int cluster = 2; device.clusters && tiles != ANY_LARGE && cluster <= 8; cluster *= 2) {
        const any_plan plan = {tiles, cluster};
        if (any_cycles(device, plan, (double)m, (double)n, depth) <
            any_cycles(device, best, (double)m, (double)n, depth))
            best = plan;
    }
    return best;
}
/* The quickest; of those whose rows have spans of at least `least` columns. */
inline any_plan any_plan_for(const any_limits &device, int64_t m, int64_t n, int64_t depth, int least = 1) {
    any_plan best = {ANY_LARGE, 1};
    for (const any_tiles tiles : {ANY_MEDIUM, ANY_SMALL}) {
        const any_plan plan = any_plan_with(device, tiles, m, n, depth);
        if (any_span(tiles) >= least && any_cycles(device, plan, (double)m, (double)n, depth) <
                                            any_cycles(device, best, (double)m, (double)n, depth))
            best = plan;
    }
    return best;
}

/* ---- launches ---- */

/* Bytes of shared memory that keep two blocks off one multiprocessor: those of a cluster would crowd together while
 * others are free. Devices that have not so much let them. */
constexpr int ANY_ALONE = 120 * 1024;
inline bool any_alone(const any_limits &device, any_plan plan, int64_t blocks) {
    return plan.cluster > 1 && device.shared >= ANY_ALONE && (double)blocks <= any_clustered(device, plan.cluster);
}

/* Of the tiles that an epilogue is made for. */
template <class Epilogue>
constexpr int any_side_most = [] {
    if constexpr (requires { Epilogue::side_most; }) return Epilogue::side_most;
    return any_large::side;
}();

/* run: tiles of a unit; more than one where the epilogue takes several. count: of products, each `next` elements behind
 * the one before. only_if: NULL, or what says in the device's memory whether there is anything to do. */
template <typename A, typename B, class Epilogue>
ridge_status any_run_as(any_plan plan, const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n,
                        int64_t depth, int run, const Epilogue &epilogue, cudaStream_t stream, int count = 1,
                        const unsigned *only_if = NULL) {
    if (m == 0 || n == 0 || count == 0) return RIDGE_OK;
    if (any_several<Epilogue> || any_share(plan, depth) >= depth) plan.cluster = 1;
    const int64_t side = any_side(plan.tiles), x = (m + side - 1) / side * plan.cluster;
    const int64_t y = ((n + side - 1) / side + run - 1) / run;
    if (x > INT32_MAX || y > 65535 || count > 65535 || depth > ANY_DEPTH) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)x, (unsigned)y, (unsigned)count);
    const any_limits device = any_device();
    const any_depth steps = {(int)depth, (int)any_share(plan, depth)};
    return with_any_shape(plan.tiles, [&]<class S>() {
        if constexpr (S::side > any_side_most<Epilogue>) {
            return RIDGE_UNSUPPORTED;
        } else {
            constexpr int own = S::floats * (int)sizeof(float);
            const int bytes = any_alone(device, plan, x * y * count) ? ANY_ALONE : own;
            const auto kernel = any_product<S, A, B, Epilogue>;
            const int most = device.shared >= ANY_ALONE && own < ANY_ALONE ? ANY_ALONE : own;
            static allowed_per_device allowed; /* the most that any plan takes: another thread's must not shrink it */
            const auto allow = [&] {
                return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
            };
            if (bytes > 48 * 1024) RIDGE_TRY(cuda_status(allowed.get(allow), "cudaFuncSetAttribute"));
            return launch_overlapping(kernel, {grid, ANY_THREADS, bytes, plan.cluster}, stream, device.clusters, a, b,
                                      m, n, steps, run, only_if, epilogue);
        }
    });
}
template <typename A, typename B, class Epilogue>
ridge_status any_run(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n, int64_t depth,
                     const Epilogue &epilogue, cudaStream_t stream, int count = 1, const unsigned *only_if = NULL) {
    return any_run_as(any_plan_for(any_device(), m, n, depth), a, b, m, n, depth, 1, epilogue, stream, count, only_if);
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
