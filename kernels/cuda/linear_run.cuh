/* From shapes to the kernel that serves them: p = softmax(x w + b) in fp32, for one head or several.
 *
 *   classes            up to 16   up to 56                    up to 128          more, or depth below 16
 *   operands aligned   narrow     narrow, S = 8; many rows:   stream, wgmma      linear_any.cuh, then
 *                                 stream, wgmma (9.0 only)    (9.0 only)         softmax in place
 *   not aligned        narrow with single loads                                  the same */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_RUN_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_RUN_CUH

#include "cuda/linear_any.cuh"
#include "cuda/linear_stream.cuh"
#include "cuda/linear_wgmma.cuh"
#include "cuda/row_softmax.cuh"

namespace ridge {

enum { LINEAR_NARROW = 128, LINEAR_SHALLOW = 16 }; /* classes at most, depth at least, that fused kernels take */

/* Softmax of all rows of all heads in place. */
inline ridge_status linear_softmax_in_place(const linear_args &a, int heads, cudaStream_t stream) {
    for (int h = 0; h < heads; h++) {
        float *p = a.p + h * a.p_head;
        RIDGE_TRY(
            row_run(row_tensors<float, float>{p, p, a.batch, a.classes, a.p_row, a.p_row}, row_softmax(), stream));
    }
    return RIDGE_OK;
}

/* p = x w + b. */
inline ridge_status linear_logits(const linear_args &a, int heads, cudaStream_t stream) {
    const matrix_view x = {(void *)a.x, a.batch, a.depth, a.x_row, 1};
    const matrix_view w = {(void *)a.w, a.classes, a.depth, a.w_class, a.w_depth};
    const bool wide = any_is_wide(a.p, a.p_row) && a.p_head % 4 == 0;
    const any_logits_store<float> e = {a.p, a.p_row, a.b, a.batch, a.classes, a.p_head, a.b_head, wide};
    return any_run(any_matrix<float>(x), any_matrix<float>(w, a.w_head), a.batch, a.classes, a.depth, e, stream, heads);
}

/* Unfused: logits to p, softmax there. */
inline ridge_status linear_softmax_unfused(const linear_args &a, int heads, cudaStream_t stream) {
    RIDGE_TRY(linear_logits(a, heads, stream));
    return linear_softmax_in_place(a, heads, stream);
}

template <bool Turned>
ridge_status linear_softmax_single(const linear_args &a, int heads, cudaStream_t stream) {
    if (a.classes <= 16)
        return linear_launch<linear_shape<2, 16, 1, 1, 1, 4, 64, 1, false, Turned>>(a, heads, stream, false);
    if (a.classes <= 56)
        return linear_launch<linear_shape<7, 16, 1, 1, 4, 2, 64, 1, false, Turned>>(a, heads, stream, false);
    return linear_launch<linear_shape<16, 16, 1, 1, 4, 2, 64, 1, false, Turned>>(a, heads, stream, false);
}

template <bool Turned>
ridge_status linear_softmax_stream(const linear_args &a, cudaStream_t stream) {
    if (!Turned && a.classes % 2 != 0) return linear_launch_stream<linear_stream<false, false>>(a, stream);
    return linear_launch_stream<linear_stream<Turned, true>>(a, stream);
}

/* Up to 56 classes leave one of linear_stream's two warpgroups without any: it is worth while where clusters of 64 rows
 * would come two to a multiprocessor. */
template <int Tiles, bool Turned>
ridge_status linear_softmax_wgmma(const linear_args &a, int heads, cudaStream_t stream) {
    using One = linear_wide<Tiles, Turned, false>;
    using Several = linear_wide<Tiles, Turned, true>;
    const int64_t clusters = (a.batch + One::BM - 1) / One::BM * heads;
    using Stream = linear_stream<Turned, true>;
    if (linear_stream_takes<Stream>(a, heads) && (Tiles > 7 || clusters > linear_stream_room<Stream>()))
        return linear_softmax_stream<Turned>(a, stream);
    const int split = linear_split_for<One>(clusters);
    if (a.depth <= (int64_t)split * One::groups * One::slab)
        return linear_launch_wgmma<One>(a, heads, split, stream, true);
    return linear_launch_wgmma<Several>(a, heads, linear_split_for<Several>(clusters), stream, true);
}

template <bool Turned>
ridge_status linear_softmax_bulk(const linear_args &a, int heads, int sm, cudaStream_t stream) {
    if (a.classes <= 16)
        return linear_launch<linear_shape<2, 16, 1, 1, 1, 4, 128, 1, true, Turned>>(a, heads, stream, true);
    if (a.classes <= 56 && (a.batch <= 256 || sm != 90))
        return linear_launch<linear_shape<7, 16, 8, 1, 4, 1, 64, 1, true, Turned>>(a, heads, stream, true);
    if (sm != 90) return linear_softmax_single<Turned>(a, heads, stream);
    if (a.classes <= 56) return linear_softmax_wgmma<7, Turned>(a, heads, stream);
    if (a.classes <= 104) return linear_softmax_wgmma<13, Turned>(a, heads, stream);
    return linear_softmax_wgmma<16, Turned>(a, heads, stream);
}

inline ridge_status linear_softmax_fused(const linear_args &a, int heads, cudaStream_t stream) {
    if (a.classes > LINEAR_NARROW || a.depth < LINEAR_SHALLOW) return linear_softmax_unfused(a, heads, stream);
    const bool turned = a.w_class != 1;
    const int sm = device_capability();
    if (sm < 90 || !linear_is_bulk(a))
        return turned ? linear_softmax_single<true>(a, heads, stream) : linear_softmax_single<false>(a, heads, stream);
    return turned ? linear_softmax_bulk<true>(a, heads, sm, stream) : linear_softmax_bulk<false>(a, heads, sm, stream);
}

}  // namespace ridge

#endif
