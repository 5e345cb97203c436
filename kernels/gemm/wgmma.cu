/* Products in 16 bits by wgmma, and sums of shares of K: see wgmma.cuh. */
#include "gemm/wgmma.cuh"

namespace ridge {

/* c = the sums of all shares, or what terms make of them, two neighbours a thread: lines of `sums` have an even number of
 * elements. */
template <typename T, typename To>
__global__ void __launch_bounds__(256)
    add_shares(const float *sums, int64_t line, int64_t next, int shares, To *c, int64_t c_line, int64_t rows,
               int64_t columns, const __grid_constant__ gemm_terms<T> terms) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, pairs = line / 2;
    const int64_t row = at / pairs, column = at % pairs * 2;
    after_previous_launch();
    if (row >= rows) return;
    float2 all = make_float2(0.0f, 0.0f);
    for (int s = 0; s < shares; s++) {
        const float2 two = *(const float2 *)(sums + s * next + row * line + column);
        all.x += two.x, all.y += two.y;
    }
    if (terms.any()) {
        all.x = terms.of(all.x, row, column);
        if (column + 1 < columns) all.y = terms.of(all.y, row, column + 1);
    }
    To *const to = c + row * c_line + column;
    to[0] = from_float<To>(all.x);
    if (column + 1 < columns) to[1] = from_float<To>(all.y);
}
template <typename T, typename To>
static ridge_status add_shares_to(const gemm_call &g, const float *sums, int shares) {
    const int64_t line = gemm_share_line(g.c.columns), blocks = (g.c.rows * (line / 2) + 255) / 256;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch_overlapping(add_shares<T, To>, {dim3((unsigned)blocks), 256}, g.stream, device_overlaps(), sums, line,
                              g.c.rows * line, shares, (To *)g.c.base, g.c.line, g.c.rows, g.c.columns, g.terms<T>());
}
ridge_status gemm_add_shares(const gemm_call &g, const float *sums, int shares) {
    return with_storage(g.dtype, [&]<typename T>() {
        return g.wide ? add_shares_to<T, float>(g, sums, shares) : add_shares_to<T, T>(g, sums, shares);
    });
}

/* Tiles that differ in `split` alone share kernels: a tuning is what a kernel is made of. */
#define TILE(name, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_)                          \
    [](const gemm_call &g) {                                                                                 \
        constexpr matmul_tuning tuned = {                                                                    \
            .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_};       \
        return gemm_in_tile<tuned, false>({columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}, g); \
    },
ridge_status gemm_by_tile(int tile, const gemm_call &g) {
    static constexpr ridge_status (*run[])(const gemm_call &) = {GEMM_TILES(TILE)};
    return run[tile](g);
}

}  // namespace ridge

#define RUN(name, ...)                                                           \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {           \
        using namespace ridge;                                                   \
        const gemm_call g(call);                                                 \
        return g.has_terms() ? gemm_by_tile_with_terms(GEMM_NUMBER_OF_##name, g) \
                             : gemm_by_tile(GEMM_NUMBER_OF_##name, g);           \
    }
GEMM_TILES(RUN)
