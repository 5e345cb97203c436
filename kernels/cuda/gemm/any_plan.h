/* Which tiles, and which clusters, a product by fp32 multiply-adds gets (gemm/any.cuh), and how long it takes: plain
 * arithmetic on the product's extents, of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_H
#define RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum any_tiles { ANY_SMALL, ANY_MEDIUM, ANY_LARGE, ANY_TILES } any_tiles;
typedef struct any_plan {
    any_tiles tiles;
    int cluster; /* blocks that have a tile together */
} any_plan;

/* What a plan depends on besides the extents. */
typedef struct any_limits {
    int processors;
    bool clusters; /* can be had */
    int shared;    /* bytes that a block can have */
} any_limits;

/* The tiles: side, span of neighbouring columns that share a row's reductions, steps of the depth of a turn of all
 * groups. Cycles, measured on an H200: of a tile and a step of the depth; at the least, for loads' latency; of a
 * launch; of a tile's beginning and end, where an SM has one after the other. */
typedef struct any_tiling {
    int side, span, turn;
    double step, least, start, each;
} any_tiling;
#ifdef __cplusplus
constexpr
#endif
    static const any_tiling any_tilings[ANY_TILES] = {
        {16, 16, 256, 9, 8.5, 3500, 2500}, {64, 64, 32, 55, 66, 3000, 3400}, {128, 64, 16, 170, 213, 4000, 9000}};

static inline int any_side(any_tiles tiles) { return any_tilings[tiles].side; }
static inline int any_span(any_tiles tiles) { return any_tilings[tiles].span; }

/* Steps of the depth that each block of a cluster has: turns of all groups. */
static inline int64_t any_share(any_plan plan, int64_t depth) {
    const int turn = any_tilings[plan.tiles].turn;
    if (plan.cluster == 1) return depth;
    return ((depth + plan.cluster - 1) / plan.cluster + turn - 1) / turn * turn;
}

/* SMs on which clusters lie: these come in groups that are no multiples of clusters. An H200's 132 have room
 * for 15 clusters of 8, and of 4, one block an SM, 32 take as long as two waves. */
static inline double any_clustered(const any_limits *device, int cluster) {
    return floor(device->processors * (cluster == 8 ? 0.91 : cluster == 4 ? 0.94 : 1.0));
}
/* Clusters, whose blocks meet once: two blocks an SM run together, then the next. */
static inline double any_cluster_cycles(const any_limits *device, any_plan plan, double tiles, int64_t depth) {
    const any_tiling *cost = &any_tilings[plan.tiles];
    const double room = any_clustered(device, plan.cluster);
    const double all = tiles * plan.cluster, full = floor(all / (2 * room)), rest = all - full * 2 * room;
    const double share = (double)any_share(plan, depth), meeting = cost->start + 3000;
    const double of_rest = rest > room ? 2 * cost->step : cost->least;
    return full * (2 * cost->step * share + meeting) + (rest > 0 ? of_rest * share + meeting : 0);
}
/* About how many cycles a product [m, n] takes: those of a tile and step of the depth times the tiles of the busiest
 * SM; no fewer than its loads' latency allows. */
static inline double any_cycles(const any_limits *device, any_plan plan, double m, double n, int64_t depth) {
    const any_tiling *cost = &any_tilings[plan.tiles];
    const double side = cost->side, tiles = ceil(m / side) * ceil(n / side);
    if (plan.cluster > 1) return any_cluster_cycles(device, plan, tiles, depth);
    const double turns = ceil(tiles / device->processors);
    return fmax(cost->step * turns, cost->least) * (double)depth + cost->start + fmax(turns - 1, 0) * cost->each;
}

/* The quickest way with these tiles. */
static inline any_plan any_plan_with(const any_limits *device, any_tiles tiles, int64_t m, int64_t n, int64_t depth) {
    any_plan best = {tiles, 1};
    for (int cluster = 2; device->clusters && tiles != ANY_LARGE && cluster <= 8; cluster *= 2) {
        const any_plan plan = {tiles, cluster};
        if (any_cycles(device, plan, (double)m, (double)n, depth) <
            any_cycles(device, best, (double)m, (double)n, depth))
            best = plan;
    }
    return best;
}
/* The quickest; of those whose rows have spans of at least `least` columns. */
static inline any_plan any_plan_for(const any_limits *device, int64_t m, int64_t n, int64_t depth, int least) {
    any_plan best = {ANY_LARGE, 1};
    for (int tiles = ANY_MEDIUM; tiles >= ANY_SMALL; tiles--) {
        const any_plan plan = any_plan_with(device, (any_tiles)tiles, m, n, depth);
        if (any_span((any_tiles)tiles) >= least && any_cycles(device, plan, (double)m, (double)n, depth) <
                                                       any_cycles(device, best, (double)m, (double)n, depth))
            best = plan;
    }
    return best;
}

/* ---- split-K over the whole device: sums of shares of the depth to memory, then added in their order ---- */

/* Made for these SMs on every device, since scratch and rounding depend on it. Of a depth up to ANY_SPLIT_DEPTH
 * clusters are enough. */
enum { ANY_SPLIT_SMS = 132, ANY_SPLIT_MOST = 256, ANY_SPLIT_DEPTH = 2048, ANY_SPLIT_TURNS = 4 };

typedef struct any_split {
    any_tiles tiles;
    int shares;   /* 1: none */
    int64_t each; /* steps of a share: whole turns; the last may have fewer */
} any_split;

static inline double any_tiles_of(any_tiles tiles, int64_t m, int64_t n) {
    const double side = any_tilings[tiles].side;
    return ceil((double)m / side) * ceil((double)n / side);
}
/* Cycles of the shares, and of their addition: a launch, and a load's latency for every eight shares. Not measured. */
static inline double any_split_cycles(const any_limits *device, any_split split, int64_t m, int64_t n) {
    const double side = any_tilings[split.tiles].side;
    const any_plan plan = {split.tiles, 1};
    return any_cycles(device, plan, any_tiles_of(split.tiles, m, n) * split.shares * side, side, split.each) + 2600 +
           90.0 * split.shares;
}
/* The quickest, where it is quicker than any plan. The same for C and its transpose. */
static inline any_split any_split_for(int64_t m, int64_t n, int64_t depth) {
    const any_limits device = {ANY_SPLIT_SMS, true, 227 * 1024};
    any_split best = {ANY_LARGE, 1, depth};
    if (depth <= ANY_SPLIT_DEPTH || m < 1 || n < 1 || any_tiles_of(ANY_LARGE, m, n) >= device.processors) return best;
    const any_plan plan = any_plan_for(&device, m, n, depth, 1);
    double least = any_cycles(&device, plan, (double)m, (double)n, depth);
    for (int tiles = ANY_SMALL; tiles < ANY_TILES; tiles++) {
        const int turn = any_tilings[tiles].turn;
        for (int turns = 1; turns <= ANY_SPLIT_TURNS; turns++) {
            const int64_t room = (int64_t)(turns * device.processors / any_tiles_of((any_tiles)tiles, m, n));
            const int64_t most = ANY_SPLIT_MOST, shares = room < most ? room : most;
            if (shares < 2) continue;
            any_split split = {(any_tiles)tiles, 1, ((depth + shares - 1) / shares + turn - 1) / turn * turn};
            split.shares = (int)((depth + split.each - 1) / split.each);
            const double cycles = any_split_cycles(&device, split, m, n);
            if (split.shares > 1 && cycles < least) best = split, least = cycles;
        }
    }
    return best;
}

/* ---- dx, dw and db of few rows in one launch: gemm/any_gradients.cuh ---- */

enum { ANY_FEW_ROWS = ANY_SPLIT_DEPTH, ANY_FEW_CLASSES = 128 };
#define ANY_FEW_PRODUCTS (1 << 28) /* multiply-adds of dx or dw */

static inline bool any_is_few(int64_t rows, int64_t depth, int64_t classes) {
    return rows <= ANY_FEW_ROWS && classes <= ANY_FEW_CLASSES &&
           (double)rows * (double)depth * (double)classes <= ANY_FEW_PRODUCTS;
}

#endif
