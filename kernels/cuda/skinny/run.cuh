/* The ways of skinny/ways.h: x w + b in fp32 of few classes, by kernels that end with whole rows of logits, for an Op
 * (see linear_rows in skinny/rows_of_logits.cuh) to make of them what is asked for. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_RUN_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_RUN_CUH

#include "cuda/skinny/narrow.cuh"
#include "cuda/skinny/stream.cuh"
#include "cuda/skinny/wgmma.cuh"

extern "C" {
#include "cuda/skinny/ways.h"
}

namespace ridge {

/* By the classes at most. Single: operands by single loads; others whole rows by TMA. Tuned on an H200. */
constexpr narrow_tuning NARROW_16_SINGLE = {
    .tiles = 2, .rows = 16, .split = 1, .warps_m = 1, .warps_n = 1, .warps_k = 4, .chunk = 64, .stages = 1};
constexpr narrow_tuning NARROW_56_SINGLE = {
    .tiles = 7, .rows = 16, .split = 1, .warps_m = 1, .warps_n = 4, .warps_k = 2, .chunk = 64, .stages = 1};
constexpr narrow_tuning NARROW_128_SINGLE = {
    .tiles = 16, .rows = 16, .split = 1, .warps_m = 1, .warps_n = 4, .warps_k = 2, .chunk = 64, .stages = 1};
constexpr narrow_tuning NARROW_16_BLOCK = {
    .tiles = 2, .rows = 16, .split = 1, .warps_m = 1, .warps_n = 1, .warps_k = 4, .chunk = 128, .stages = 1};
constexpr narrow_tuning NARROW_16_CLUSTER = {
    .tiles = 2, .rows = 16, .split = 4, .warps_m = 1, .warps_n = 1, .warps_k = 4, .chunk = 128, .stages = 1};
constexpr narrow_tuning NARROW_56_CLUSTER = {
    .tiles = 7, .rows = 16, .split = 8, .warps_m = 1, .warps_n = 4, .warps_k = 1, .chunk = 64, .stages = 1};

template <bool Trans, typename Op>
ridge_status linear_rows_single(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    if (a.classes <= 16)
        return linear_launch<linear_shape<NARROW_16_SINGLE, false, Trans>>(a, op, heads, stream, false);
    if (a.classes <= 56)
        return linear_launch<linear_shape<NARROW_56_SINGLE, false, Trans>>(a, op, heads, stream, false);
    return linear_launch<linear_shape<NARROW_128_SINGLE, false, Trans>>(a, op, heads, stream, false);
}

/* As many clusters as the device has room for at once. */
template <bool Trans, typename Op>
ridge_status linear_rows_stream(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    if (!linear_stream_takes<linear_stream<Trans, true>, Op>(a, heads)) return RIDGE_UNSUPPORTED;
    if (!Trans && a.classes % 2 != 0) return linear_launch_stream<linear_stream<false, false>>(a, op, stream);
    return linear_launch_stream<linear_stream<Trans, true>>(a, op, stream);
}

/* In clusters of as many blocks as all have room at once. */
template <int Tiles, bool Trans, typename Op>
ridge_status linear_rows_wgmma(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    using One = linear_wide<Tiles, Trans, false>;
    using Several = linear_wide<Tiles, Trans, true>;
    const int64_t clusters = (a.batch + One::BM - 1) / One::BM * heads;
    const int split = linear_split_for<One, Op>(clusters);
    if (a.depth <= (int64_t)split * One::groups * One::slab)
        return linear_launch_wgmma<One>(a, op, heads, split, stream, true);
    return linear_launch_wgmma<Several>(a, op, heads, linear_split_for<Several, Op>(clusters), stream, true);
}

/* By one of the ways that need aligned operands. */
template <bool Trans, typename Op>
ridge_status linear_rows_as(int way, const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    switch (way) {
        case SKINNY_NARROW:
            return linear_launch<linear_shape<NARROW_16_BLOCK, true, Trans>>(a, op, heads, stream, true);
        case SKINNY_SHARED:
            return linear_launch<linear_shape<NARROW_16_CLUSTER, true, Trans>>(a, op, heads, stream, true);
        case SKINNY_CLUSTER:
            return linear_launch<linear_shape<NARROW_56_CLUSTER, true, Trans>>(a, op, heads, stream, true);
        case SKINNY_STREAM: return linear_rows_stream<Trans>(a, op, heads, stream);
        default: break;
    }
    if (a.classes <= 56) return linear_rows_wgmma<7, Trans>(a, op, heads, stream);
    if (a.classes <= 104) return linear_rows_wgmma<13, Trans>(a, op, heads, stream);
    return linear_rows_wgmma<16, Trans>(a, op, heads, stream);
}
template <typename Op>
ridge_status linear_rows_by(int way, const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    return (a.w_class != 1 ? linear_rows_as<true, Op> : linear_rows_as<false, Op>)(way, a, op, heads, stream);
}

static_assert((int)SKINNY_STREAM_DEPTH == linear_stream<true, true>::depth &&
              (int)SKINNY_STREAM_ROWS == linear_stream<true, true>::rows);

}  // namespace ridge

#endif
