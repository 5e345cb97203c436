/* The end of a product whose blocks have shares of K side by side: C from the sums of all of them. */
#include "cuda/ptx/griddepcontrol.cuh"
#include "gemm/call.cuh"

namespace ridge {

enum { SHARES_WARPS = 8, SHARES_THREADS = 32 * SHARES_WARPS };

template <typename T, typename To>
struct add_shares_args {
    gemm_share_sums s;
    int parts; /* warps that have a row's shares together */
    To *c;
    int64_t c_row, c_column; /* steps of C for those of the sums, in elements */
    gemm_terms<T> terms;

    __device__ void store(float sum, int64_t row, int64_t column) const {
        sum *= s.alpha;
        if (terms.any()) sum = s.transposed ? terms.of(sum, column, row) : terms.of(sum, row, column);
        c[row * c_row + column * c_column] = from_float<To>(sum);
    }
};

/* Of many sums, whose columns are even in number: two neighbours a thread. */
template <typename T, typename To>
__global__ void __launch_bounds__(SHARES_THREADS) add_pairs(const __grid_constant__ add_shares_args<T, To> p) {
    const gemm_share_sums &s = p.s;
    const int64_t at = (int64_t)blockIdx.x * SHARES_THREADS + (int)threadIdx.x, pairs = s.columns / 2;
    const int64_t row = at / pairs, column = at % pairs * 2, next = s.rows * s.line;
    after_previous_launch();
    if (row >= s.rows) return;
    const float *const from = s.first + row * s.line + column;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int share = 0; share < s.shares; share++) {
        const float2 two = *(const float2 *)(from + share * next);
        sum.x += two.x, sum.y += two.y;
    }
    p.store(sum.x, row, column), p.store(sum.y, row, column + 1);
}

/* In the order of warps and of a warp's shares: a warp has 32 columns of a row of the sums, Groups times, or its part of their
 * shares, eight of which are under way at once. Neighbours in C's memory are a warp's: of a transposed C, that is another
 * thread's sum. */
template <typename T, typename To, int Groups>
__global__ void __launch_bounds__(SHARES_THREADS) add_shares(const __grid_constant__ add_shares_args<T, To> p) {
    __shared__ float of_warp[Groups][SHARES_WARPS][33];
    after_previous_launch();
    const gemm_share_sums &s = p.s;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, part = warp % p.parts;
    const int rows = SHARES_WARPS / p.parts;
    const int64_t first_row = (int64_t)blockIdx.y * rows, first = (int64_t)blockIdx.x * (32 * Groups);
    const int64_t row = first_row + warp / p.parts, next = s.rows * s.line;
    float sum[Groups] = {};
    const float *const from = s.first + row * s.line + first + lane;
#pragma unroll 8 / Groups
    for (int share = row < s.rows ? part : s.shares; share < s.shares; share += p.parts)
#pragma unroll
        for (int g = 0; g < Groups; g++)
            if (first + 32 * g + lane < s.columns) sum[g] += from[share * next + 32 * g];
#pragma unroll
    for (int g = 0; g < Groups; g++) of_warp[g][warp][lane] = sum[g];
    __syncthreads();
    if ((int)threadIdx.x >= 32 * rows) return;
    const int mine = s.transposed ? (int)threadIdx.x % rows : (int)threadIdx.x / 32;
    const int at = s.transposed ? (int)threadIdx.x / rows : lane;
    const int64_t to_row = first_row + mine;
#pragma unroll
    for (int g = 0; g < Groups; g++) {
        const int64_t to_column = first + 32 * g + at;
        if (to_row >= s.rows || to_column >= s.columns) return;
        float all = 0.0f;
        for (int other = 0; other < p.parts; other++) all += of_warp[g][mine * p.parts + other][at];
        p.store(all, to_row, to_column);
    }
}

/* Warps have a row together where there are too few sums for 16 warps an SM, or too many shares for one warp. */
static int parts_of(const gemm_share_sums &s) {
    const int64_t busy = 16 * device_limit(cudaDevAttrMultiProcessorCount), warps = s.rows * ((s.columns + 31) / 32);
    int parts = 1;
    while (parts < SHARES_WARPS && s.shares > 2 * parts && (warps * parts < busy || s.shares >= 32 * parts)) parts *= 2;
    return parts;
}
template <typename T, typename To>
static ridge_status add_shares_to(const gemm_call &g, const gemm_share_sums &s) {
    const int parts = parts_of(s), rows = SHARES_WARPS / parts;
    const add_shares_args<T, To> args = {
        s, parts, (To *)g.c.base, s.transposed ? 1 : g.c.line, s.transposed ? g.c.line : 1, g.terms<T>()};
    if (parts == 1 && !s.transposed && s.columns % 2 == 0 && s.line % 2 == 0) {
        const int64_t blocks = (s.rows * (s.columns / 2) + SHARES_THREADS - 1) / SHARES_THREADS;
        if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
        return launch_overlapping(add_pairs<T, To>, {dim3((unsigned)blocks), SHARES_THREADS}, g.stream,
                                  device_overlaps(), args);
    }
    const int64_t down = (s.rows + rows - 1) / rows;
    const auto run = [&]<int Groups>() {
        const int64_t across = (s.columns + 32 * Groups - 1) / (32 * Groups);
        if (across > INT32_MAX || down > 65535) return RIDGE_UNSUPPORTED;
        return launch_overlapping(add_shares<T, To, Groups>, {dim3((unsigned)across, (unsigned)down), SHARES_THREADS},
                                  g.stream, device_overlaps(), args);
    };
    const int64_t room = 8 * device_limit(cudaDevAttrMultiProcessorCount); /* blocks that run at once */
    return down * (s.columns / 128) < room ? run.template operator()<1>() : run.template operator()<4>();
}
ridge_status gemm_add_shares(const gemm_call &g, const gemm_share_sums &s) {
    return with_storage(
        g.dtype, [&]<typename T>() { return g.wide ? add_shares_to<T, float>(g, s) : add_shares_to<T, T>(g, s); });
}

}  // namespace ridge
