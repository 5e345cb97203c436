/* Many short rows of whole packs. Neighbouring lanes of a warp have a row together, as many as it has packs (a power of
 * two), and have several rows one after the other, all of them in flight before the first is used: rows of 32 bytes
 * would else leave most of a thread's loads unasked, and the memory's latency uncovered. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_SEVERAL_CUH
#define RIDGE_KERNELS_CUDA_ROWS_SEVERAL_CUH

#include "cuda/rows/kernels.cuh"

namespace ridge {

/* One value from every lane of a group of `lanes`; rows of one warp meet in the same shuffles. */
class row_lanes {
    int lanes;

   public:
    __device__ explicit row_lanes(int of_group) : lanes(of_group) {}
    template <typename P, typename Merge>
    __device__ P merged(P v, Merge merge) const {
#pragma unroll 1
        for (int mask = lanes / 2; mask > 0; mask /= 2) v = merge(v, row_shuffle(v, mask));
        return v;
    }
    __device__ bool any(bool mine) const { return __any_sync(0xffffffffu, mine) != 0; }
};

/* A row that a group of lanes holds: what an operation sees (rows/row.cuh). */
template <typename T, typename U, int Packs>
class row_of_lanes {
    static constexpr int W = pack_width<T>;
    using span = row_packs_span<T, U, W>;
    row_lanes exchange;
    row_part<span, T, U, W, 32, Packs * W> part;

   public:
    __device__ row_of_lanes(const span &row, int lane, int lanes, const uint4 (&held)[Packs])
        : exchange(lanes), part(row, lane, lanes) {
        part.hold(held);
    }
    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) const {
        return exchange.merged(of(part), merge);
    }
    template <typename F>
    __device__ float sum(F f) const {
        return exchange.merged(part.sum(f), row_plus());
    }
    __device__ float2 moments(void) const { return exchange.merged(part.moments(), row_plus()); }
    __device__ float squares(void) const {
        return sum([](float x) { return x * x; });
    }
    __device__ bool any(bool mine) const { return exchange.any(mine); }
    template <typename F>
    __device__ void write(F finish) const {
        part.template write<false>(finish);
    }
    __device__ int body_column(void) const { return 0; }
};

constexpr int ROW_SEVERAL_THREADS = 256;

/* Group g of a block has rows g, g + groups, … of those that the block has: at any time a warp's rows are neighbours.
 */
template <typename Op, typename T, typename U, int Packs, int Rows>
__global__ void __launch_bounds__(ROW_SEVERAL_THREADS, 4)
    row_kernel_several(row_tensors<T, U> io, Op op, int lanes_log2) {
    constexpr int W = pack_width<T>;
    const int lanes = 1 << lanes_log2, lane = (int)threadIdx.x & (lanes - 1),
              groups = ROW_SEVERAL_THREADS >> lanes_log2;
    const int64_t first = (int64_t)blockIdx.x * (groups * Rows) + ((int)threadIdx.x >> lanes_log2);
    const int packs = (int)io.n / W;
    uint4 held[Rows][Packs];
#pragma unroll
    for (int r = 0; r < Rows; r++) {
        const int64_t i = first + r * groups;
        const T *p = io.x + i * io.x_stride + lane * W;
#pragma unroll
        for (int k = 0; k < Packs; k++)
            held[r][k] = load_once_if(p + k * lanes * W, i < io.rows && lane + k * lanes < packs);
    }
#pragma unroll
    for (int r = 0; r < Rows; r++) {
        const int64_t i = first + r * groups;
        const row_packs_span<T, U, W> span{io.x, io.y + i * io.y_stride, i < io.rows ? packs : 0};
        row_of_lanes<T, U, Packs> row(span, lane, lanes, held[r]);
        const auto s = op.of(row);
        row_write(row, op, s);
    }
}

}  // namespace ridge

#endif
