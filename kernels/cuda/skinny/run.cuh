/* From shapes to the kernel that serves them: x w + b in fp32 of few classes, by kernels that end with whole rows of
 * logits, for an Op (see linear_rows in skinny/narrow.cuh) to make of them what is asked for.
 *
 *   classes            up to 16   up to 56                    up to 128
 *   operands aligned   narrow;    narrow, S = 8; many rows:   stream, wgmma
 *                      S = 4      stream, wgmma (9.0 only)    (9.0 only)
 *   not aligned        narrow with single loads */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_RUN_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_RUN_CUH

#include "cuda/skinny/limits.h"
#include "cuda/skinny/narrow.cuh"
#include "cuda/skinny/stream.cuh"
#include "cuda/skinny/wgmma.cuh"

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

template <bool Trans, typename Op>
ridge_status linear_rows_stream(const linear_args &a, const Op &op, cudaStream_t stream) {
    if (!Trans && a.classes % 2 != 0) return linear_launch_stream<linear_stream<false, false>>(a, op, stream);
    return linear_launch_stream<linear_stream<Trans, true>>(a, op, stream);
}

/* Up to 56 classes leave one of linear_stream's two warpgroups without any: it is worth while where clusters of 64 rows
 * would come two to an SM. */
template <int Tiles, bool Trans, typename Op>
ridge_status linear_rows_wgmma(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    using One = linear_wide<Tiles, Trans, false>;
    using Several = linear_wide<Tiles, Trans, true>;
    const int64_t clusters = (a.batch + One::BM - 1) / One::BM * heads;
    using Stream = linear_stream<Trans, true>;
    if (linear_stream_takes<Stream, Op>(a, heads) && (Tiles > 7 || clusters > linear_stream_room<Stream, Op>()))
        return linear_rows_stream<Trans>(a, op, stream);
    const int split = linear_split_for<One, Op>(clusters);
    if (a.depth <= (int64_t)split * One::groups * One::slab)
        return linear_launch_wgmma<One>(a, op, heads, split, stream, true);
    return linear_launch_wgmma<Several>(a, op, heads, linear_split_for<Several, Op>(clusters), stream, true);
}

/* Up to 16 classes; of few rows and some depth, clusters of four. */
template <bool Trans, typename Op>
ridge_status linear_rows_narrow(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    if (a.depth > 256 && a.batch * heads <= 512)
        return linear_launch<linear_shape<NARROW_16_CLUSTER, true, Trans>>(a, op, heads, stream, true);
    return linear_launch<linear_shape<NARROW_16_BLOCK, true, Trans>>(a, op, heads, stream, true);
}

/* Operands that linear_is_bulk takes, on Hopper. */
template <bool Trans, typename Op>
ridge_status linear_rows_hopper(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    if (a.classes <= 16) return linear_rows_narrow<Trans>(a, op, heads, stream);
    if (!linear_rows_are_fp16(a.batch, a.classes))
        return linear_launch<linear_shape<NARROW_56_CLUSTER, true, Trans>>(a, op, heads, stream, true);
    if (a.classes <= 56) return linear_rows_wgmma<7, Trans>(a, op, heads, stream);
    if (a.classes <= 104) return linear_rows_wgmma<13, Trans>(a, op, heads, stream);
    return linear_rows_wgmma<16, Trans>(a, op, heads, stream);
}

/* The same, on other devices that have TMA. */
template <bool Trans, typename Op>
ridge_status linear_rows_bulk(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    if (a.classes <= 16) return linear_rows_narrow<Trans>(a, op, heads, stream);
    if (a.classes <= 56) return linear_launch<linear_shape<NARROW_56_CLUSTER, true, Trans>>(a, op, heads, stream, true);
    return linear_rows_single<Trans>(a, op, heads, stream);
}

template <bool Trans, typename Op>
ridge_status linear_rows_any(const linear_args &a, const Op &op, int heads, cudaStream_t stream) {
    const int sm = device_capability();
    if (sm < 90 || !linear_is_bulk(a)) return linear_rows_single<Trans>(a, op, heads, stream);
    return (sm / 10 == 9 ? linear_rows_hopper<Trans, Op> : linear_rows_bulk<Trans, Op>)(a, op, heads, stream);
}

}  // namespace ridge

#endif
