/* Which tiles, and which clusters, a product by fp32 multiply-adds gets. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_CUH

#include <math.h>

#include "cuda/gemm/any_tile.cuh"
#include "cuda/host/launch.cuh"

namespace ridge {

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
 * busiest SM; no fewer than its loads' latency allows. */
struct any_cost {
    double step, least, start;
};
inline any_cost any_cost_of(any_tiles tiles) {
    static const any_cost cost[] = {{9, 8.5, 3500}, {55, 66, 3000}, {170, 213, 4000}};
    return cost[tiles];
}
/* SMs on which clusters lie: these come in groups that are no multiples of clusters. An H200's 132 have room
 * for 15 clusters of 8, and of 4, one block an SM, 32 take as long as two waves. */
inline double any_clustered(const any_limits &device, int cluster) {
    return floor(device.processors * (cluster == 8 ? 0.91 : cluster == 4 ? 0.94 : 1.0));
}
/* Clusters, whose blocks meet once: two blocks an SM run together, then the next. */
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

}  // namespace ridge

#endif
