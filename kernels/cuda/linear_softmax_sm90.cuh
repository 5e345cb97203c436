/* Softmax of a linear layer by Hopper's tensor cores: fp32 split in fp16 (see hopper/split.cuh), tf32, bf16, f16. x and
 * p by rows, w: [classes, depth] in either order. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SM90_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_SM90_CUH

#include "cuda/hopper/linear.cuh"
#include "cuda/hopper/split.cuh"

namespace ridge {

struct linear_softmax_call {
    matrix_view x, w, p;
    const void *bias;
    char *scratch;
    cudaStream_t stream;
};

/* Offsets in scratch. */
struct linear_softmax_scratch {
    size_t parts, arrived, x, w, x_undo, w_undo, w_most, bytes;
};
inline linear_softmax_scratch linear_softmax_scratch_of(int64_t rows, int64_t depth, int64_t classes) {
    linear_softmax_scratch s = {};
    const double padded = (double)hopper::split_depth(depth), wide = (double)((classes + 31) / 32 * 32);
    s.parts = linear_scratch_take(&s.bytes, (double)rows * 8 * (double)((classes + 127) / 128));
    s.arrived = linear_scratch_take(&s.bytes, (double)rows / 16 + 64);
    s.x = linear_scratch_take(&s.bytes, (double)rows * padded * 4);
    s.w = linear_scratch_take(&s.bytes, wide * padded * 4);
    s.x_undo = linear_scratch_take(&s.bytes, (double)rows * 4);
    s.w_undo = linear_scratch_take(&s.bytes, wide * 4);
    s.w_most = linear_scratch_take(&s.bytes, wide * 4);
    return s;
}

/* Tiles of columns that may wait for each other: see softmax_epilogue. */
constexpr int SOFTMAX_TILES = 64;

template <class S, typename T, bool Scaled>
ridge_status softmax_product(const linear_softmax_call &c, const linear_softmax_scratch &at, const hopper::matrix &a,
                             const hopper::matrix &b, hopper::matmul_plan plan) {
    hopper::softmax_epilogue<T, S::N, Scaled> e = {};
    e.bias = (const T *)c.bias;
    e.p = (T *)c.p.base;
    e.stride = c.p.line;
    e.rows = (int)c.p.rows;
    e.columns = (int)c.p.columns;
    e.tiles = (e.columns + S::N - 1) / S::N;
    e.pairs = (uintptr_t)e.p % (2 * sizeof(T)) == 0 && e.stride % 2 == 0;
    e.parts = (softmax_part *)(c.scratch + at.parts);
    e.arrived = (unsigned *)(c.scratch + at.arrived);
    e.row_undo = (const float *)(c.scratch + at.x_undo);
    e.column_undo = (const float *)(c.scratch + at.w_undo);
    plan.band = 1; /* the tiles of a row follow each other */
    if (cudaMemsetAsync(e.arrived, 0, ((size_t)e.rows / 64 + 4) * sizeof(unsigned), c.stream) != cudaSuccess)
        return RIDGE_FAILED;
    return hopper::matmul_run<S>(a, b, c.p.rows, c.p.columns, plan, e, c.stream);
}

/* 16 bits: operands as they lie. */
template <typename T>
ridge_status linear_softmax_16(const linear_softmax_call &c, const linear_softmax_scratch &at) {
    const hopper::matrix a = hopper::lines_of(c.x), b = hopper::lines_of(c.w);
    const hopper::matmul_plan plan = hopper::matmul_whole(c.x.columns, 64, 1);
    if (c.w.by_rows()) return softmax_product<hopper::wide_tile<T, true, true>, T, false>(c, at, a, b, plan);
    return softmax_product<hopper::wide_tile<T, true, false>, T, false>(c, at, a, b, plan);
}

/* tf32: w's lines must run along the depth. */
inline ridge_status linear_softmax_tf32(const linear_softmax_call &c, const linear_softmax_scratch &at) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = (depth + 3) / 4 * 4;
    hopper::matrix b = hopper::lines_of(c.w);
    if (!c.w.by_rows()) {
        float *to = (float *)(c.scratch + at.w);
        hopper::transpose_rounded<<<dim3((unsigned)((classes + 31) / 32), (unsigned)((depth + 31) / 32)), 256, 0,
                                    c.stream>>>((const float *)c.w.base, c.w.step, (int)depth, (int)classes, to,
                                                padded);
        RIDGE_TRY(launched());
        b = {to, depth, classes, padded};
    }
    using S = hopper::matmul_shape<hopper::tf32, 256, 4, 2, 1>;
    return softmax_product<S, float, false>(c, at, hopper::lines_of(c.x), b, hopper::matmul_whole(depth, S::K, 1));
}

/* fp32, by three products of halves. */
inline ridge_status linear_softmax_split(const linear_softmax_call &c, const linear_softmax_scratch &at) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = hopper::split_depth(depth);
    const int slices = (int)(padded / hopper::SPLIT_SLICE);
    __half *x = (__half *)(c.scratch + at.x), *w = (__half *)(c.scratch + at.w);
    float *x_undo = (float *)(c.scratch + at.x_undo), *w_undo = (float *)(c.scratch + at.w_undo);
    hopper::split_lines<<<(unsigned)c.x.rows, 256, 0, c.stream>>>((const float *)c.x.base, c.x.line, (int)depth,
                                                                  (int)padded, x, x_undo);
    RIDGE_TRY(launched());
    hopper::matmul_plan plan = hopper::matmul_whole(padded, hopper::SPLIT_SLICE, 1);
    plan.parts = 3; /* the small products first: high low, low high, high high */
    plan.a_part[1] = plan.b_part[0] = slices;
    const hopper::matrix a = {x, 2 * padded, c.x.rows, 2 * padded};
    if (c.w.by_rows()) {
        hopper::split_lines<<<(unsigned)classes, 256, 0, c.stream>>>((const float *)c.w.base, c.w.line, (int)depth,
                                                                     (int)padded, w, w_undo);
        RIDGE_TRY(launched());
        using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, true, 4>;
        return softmax_product<S, float, true>(c, at, a, {w, 2 * padded, classes, 2 * padded}, plan);
    }
    unsigned *most = (unsigned *)(c.scratch + at.w_most);
    const int64_t wide = (classes + 31) / 32 * 32;
    const unsigned across = (unsigned)((classes + 255) / 256);
    if (cudaMemsetAsync(most, 0, (size_t)classes * 4, c.stream) != cudaSuccess) return RIDGE_FAILED;
    hopper::columns_most<<<dim3(across, (unsigned)((depth + 63) / 64)), 256, 0, c.stream>>>(
        (const float *)c.w.base, c.w.step, (int)depth, (int)classes, most);
    hopper::split_columns<<<dim3(across, (unsigned)(padded / 16)), 256, 0, c.stream>>>(
        (const float *)c.w.base, c.w.step, (int)depth, (int)padded, (int)classes, most, w, wide, w_undo);
    RIDGE_TRY(launched());
    using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, false, 4>;
    return softmax_product<S, float, true>(c, at, a, {w, classes, 2 * padded, wide}, plan);
}

/* Whether these kernels can take the operands: Hopper, lines that the copy engine takes, not too many classes. */
template <typename T>
bool linear_softmax_takes(const linear_softmax_call &c) {
    const bool fp32 = sizeof(T) == 4;
    return c.x.rows > 0 && c.x.rows <= INT32_MAX / 2 && hopper::is_tileable<T>(c.x) &&
           c.x.columns % (fp32 ? 4 : 1) == 0 && c.p.columns <= (int64_t)SOFTMAX_TILES * 128 &&
           (fp32 || hopper::is_tileable<T>(c.w)) && (!fp32 || !c.w.by_rows() || hopper::is_tileable<T>(c.w));
}

}  // namespace ridge

#endif
