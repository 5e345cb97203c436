/* Products in 16 bits by wgmma: the pipeline of cuda/gemm/matmul.cuh in the tiles of tiles.h. The sums leave by TMA, or
 * as fp32: C itself, or those of each share of K, which a second launch adds in their order. */
#include "gemm/call.cuh"
#include "cuda/gemm/products.cuh"

extern "C" {
#include "gemm/wgmma.h"
}

namespace ridge {

/* C = alpha times the sums. */
template <typename T, int N>
struct gemm_epilogue {
    CUtensorMap map;
    float *wide; /* NULL: by the map */
    int64_t line, next;
    float alpha;
    int rows, columns;
    int across; /* 0, or columns of tiles of a share of K */
    bool pairs; /* two neighbours of `wide` can be stored at once */
    static constexpr int scratch = store_slots<T, N>::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { store_slots<T, N>{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, float (&sums)[N / 2], uint32_t at, int group) const {
#pragma unroll
        for (int i = 0; i < N / 2; i++) sums[i] *= alpha;
        if (!wide) return store_slots<T, N>{at}.put(sums, tile.number);
        const int share = across > 0 ? tile.n / N / across : 0;
        const matmul_tile here = {tile.m, tile.n - share * across * N, tile.part, tile.opens};
        store_pairs<N>(wide + share * next, line, rows, columns, here, sums, group, pairs);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        if (!wide) store_tiles<S, T>(&map, plan, rank, slots);
    }
};

/* c = the sums of all shares, two neighbours a thread: lines of `sums` have an even number of elements. */
template <typename T>
__global__ void __launch_bounds__(256) add_shares(const float *sums, int64_t line, int64_t next, int shares, T *c,
                                                  int64_t c_line, int64_t rows, int64_t columns) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, pairs = line / 2;
    const int64_t row = at / pairs, column = at % pairs * 2;
    after_previous_launch();
    if (row >= rows) return;
    float2 all = make_float2(0.0f, 0.0f);
    for (int s = 0; s < shares; s++) {
        const float2 two = *(const float2 *)(sums + s * next + row * line + column);
        all.x += two.x, all.y += two.y;
    }
    T *const to = c + row * c_line + column;
    to[0] = from_float<T>(all.x);
    if (column + 1 < columns) to[1] = from_float<T>(all.y);
}
template <typename T>
static ridge_status add_shares_to(const gemm_call &g, const float *sums, int shares) {
    const int64_t line = gemm_share_line(g.c.columns), blocks = (g.c.rows * (line / 2) + 255) / 256;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch_overlapping(add_shares<T>, {dim3((unsigned)blocks), 256}, g.stream, device_overlaps(), sums, line,
                              g.c.rows * line, shares, (T *)g.c.base, g.c.line, g.c.rows, g.c.columns);
}
ridge_status gemm_add_shares(const gemm_call &g, const float *sums, int shares) {
    return with_storage(g.wide ? RIDGE_F32 : g.dtype, [&]<typename T>() { return add_shares_to<T>(g, sums, shares); });
}

/* Cluster rows of a band: blocks that run together share operands in L2, which keeps these rather than C. */
constexpr int BAND = 8;
constexpr bool KEEP = true;

template <typename T, int N>
static bool epilogue_of(gemm_epilogue<T, N> *e, const gemm_call &g, int shares, int cluster_n) {
    e->alpha = g.alpha, e->rows = (int)g.c.rows, e->columns = (int)g.c.columns;
    if (shares > 1) {
        const int tiles = (int)((g.c.columns + N - 1) / N);
        e->wide = (float *)g.scratch, e->line = gemm_share_line(g.c.columns), e->next = g.c.rows * e->line;
        e->across = (tiles + cluster_n - 1) / cluster_n * cluster_n, e->pairs = true;
    } else if (g.wide) {
        e->wide = (float *)g.c.base, e->line = g.c.line;
        e->pairs = (uintptr_t)g.c.base % 8 == 0 && g.c.line % 2 == 0 && g.c.columns % 2 == 0;
    } else {
        return make_map<T>(&e->map, lines_of(g.c), 64);
    }
    return true;
}

template <matmul_tuning Tuned, typename T>
static ridge_status by_tile(const gemm_call &g, int shares) {
    matmul_plan plan = matmul_whole(g.a.columns, GEMM_SLICE, BAND, KEEP, KEEP);
    plan.slices = (plan.slices + shares - 1) / shares;
    gemm_epilogue<T, Tuned.columns> e = {};
    if (!epilogue_of(&e, g, shares, Tuned.cluster_n)) return RIDGE_FAILED;
    RIDGE_TRY((product_in<T, Tuned>(g.a, transposed(g.b), plan, e, g.stream, shares)));
    return shares == 1 ? RIDGE_OK : gemm_add_shares(g, (const float *)g.scratch, shares);
}
template <matmul_tuning Tuned>
static ridge_status in_tile(const gemm_tile &tile, const gemm_call &g) {
    const gemm_problem p = g.problem();
    const int shares = gemm_shares(&tile, &p);
    if (g.c.rows == 0) return RIDGE_OK;
    if (g.dtype == RIDGE_BF16) return by_tile<Tuned, __nv_bfloat16>(g, shares);
    return g.dtype == RIDGE_F16 ? by_tile<Tuned, __half>(g, shares) : RIDGE_UNSUPPORTED;
}

/* Tiles that differ in `split` alone share kernels: a tuning is what a kernel is made of. */
#define TILE(name, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_)                    \
    [](const gemm_call &g) {                                                                           \
        constexpr matmul_tuning tuned = {                                                              \
            .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_}; \
        return in_tile<tuned>({columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}, g);       \
    },
ridge_status gemm_by_tile(int tile, const gemm_call &g) {
    static constexpr ridge_status (*run[])(const gemm_call &) = {GEMM_TILES(TILE)};
    return run[tile](g);
}

enum {
#define NUMBER(name, ...) NUMBER_OF_##name,
    GEMM_TILES(NUMBER)
};

}  // namespace ridge

#define RUN(name, ...)                                                               \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {               \
        return ridge::gemm_by_tile(ridge::NUMBER_OF_##name, ridge::gemm_call(call)); \
    }
GEMM_TILES(RUN)
