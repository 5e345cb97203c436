/* Softmax of a linear layer by Hopper's tensor cores: fp32 split in fp16 (see hopper/split.cuh), tf32, bf16, f16. x and
 * p by rows, w: [classes, depth] in either order. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_LINEAR_SOFTMAX_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_LINEAR_SOFTMAX_CUH

#include <float.h>

#include "cuda/hopper/linear.cuh"
#include "cuda/hopper/split.cuh"

extern "C" {
#include "cuda/linear_softmax_scratch.h"
}

namespace ridge {

struct linear_softmax_call {
    matrix_view x, w, p; /* w: [classes, depth] */
    const void *bias;
    char *scratch;
    linear_softmax_scratch at;
    cudaStream_t stream;
};

/* Tiles of columns that may wait for each other, where as many clusters run together: see softmax_epilogue. */
constexpr int SOFTMAX_TILES = 64;

template <class S, typename T, bool Scaled>
ridge_status softmax_product(const linear_softmax_call &c, const hopper::matrix &a, const hopper::matrix &b,
                             hopper::matmul_plan plan) {
    using Epilogue = hopper::softmax_epilogue<T, S::N, Scaled>;
    static const int together = hopper::matmul_resident<S, Epilogue>() / S::cluster;
    Epilogue e = {};
    e.bias = (const T *)c.bias;
    e.p = (T *)c.p.base;
    e.stride = c.p.line;
    e.rows = (int)c.p.rows;
    e.columns = (int)c.p.columns;
    e.tiles = (e.columns + S::N - 1) / S::N;
    if (e.tiles > together) return RIDGE_UNSUPPORTED; /* they could not all be waited for */
    e.pairs = (uintptr_t)e.p % (2 * sizeof(T)) == 0 && e.stride % 2 == 0;
    e.parts = (softmax_part *)(c.scratch + c.at.parts);
    e.arrived = (unsigned *)(c.scratch + c.at.arrived);
    e.row_undo = (const float *)(c.scratch + c.at.x_undo);
    e.column_undo = (const float *)(c.scratch + c.at.w_undo);
    if (Scaled) e.odd = (unsigned char *)(c.scratch + c.at.odd);
    plan.band = 1; /* the tiles of a row follow each other */
    if (cudaMemsetAsync(e.arrived, 0, ((size_t)e.rows / 64 + 4) * sizeof(unsigned), c.stream) != cudaSuccess)
        return RIDGE_FAILED;
    return hopper::matmul_run<S>(a, b, c.p.rows, c.p.columns, plan, e, c.stream);
}

/* 16 bits: operands as they lie. */
template <typename T>
ridge_status linear_softmax_16(const linear_softmax_call &c) {
    const hopper::matrix a = hopper::lines_of(c.x), b = hopper::lines_of(c.w);
    const hopper::matmul_plan plan = hopper::matmul_whole(c.x.columns, 64, 1);
    if (c.w.by_rows()) return softmax_product<hopper::wide_tile<T, true, true>, T, false>(c, a, b, plan);
    return softmax_product<hopper::wide_tile<T, true, false>, T, false>(c, a, b, plan);
}

/* tf32: w's lines must run along the depth. */
inline ridge_status linear_softmax_tf32(const linear_softmax_call &c) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = (depth + 3) / 4 * 4;
    hopper::matrix b = hopper::lines_of(c.w);
    if (!c.w.by_rows()) {
        float *to = (float *)(c.scratch + c.at.w);
        hopper::transpose_rounded<<<dim3((unsigned)((classes + 31) / 32), (unsigned)((depth + 31) / 32)), 256, 0,
                                    c.stream>>>((const float *)c.w.base, c.w.step, (int)depth, (int)classes, to,
                                                padded);
        RIDGE_TRY(launched());
        b = {to, depth, classes, padded};
    }
    using S = hopper::matmul_shape<hopper::tf32, 256, 4, 2, 1>;
    return softmax_product<S, float, false>(c, hopper::lines_of(c.x), b, hopper::matmul_whole(depth, S::K, 1));
}

/* Rows whose operands are infinite: halves of infinities are not numbers, and what comes of them may be. A block a row,
 * by fused multiply-adds, as if nothing had been split. */
__global__ static void __launch_bounds__(256)
    softmax_odd_rows(const unsigned char *odd, const float *x, int64_t x_line, const float *w, int64_t w_line,
                     int64_t w_step, const float *bias, float *p, int64_t p_line, int depth, int classes) {
    if (!odd[blockIdx.x]) return;
    const float *row = x + blockIdx.x * x_line;
    float *to = p + blockIdx.x * p_line, most = -FLT_MAX, sum = 0.0f;
    __shared__ float shared[256];
    for (int j = (int)threadIdx.x; j < classes; j += 256) {
        float z = bias ? bias[j] : 0.0f;
        for (int k = 0; k < depth; k++) z = fmaf(row[k], w[j * w_line + k * w_step], z);
        to[j] = z;
        most = fmaxf(most, z);
    }
    const auto over_block = [&](float v, bool largest) {
        shared[threadIdx.x] = v;
        __syncthreads();
        for (int i = 0; i < 256; i++) v = i == 0 ? shared[0] : largest ? fmaxf(v, shared[i]) : v + shared[i];
        __syncthreads();
        return v;
    };
    most = over_block(most, true);
    for (int j = (int)threadIdx.x; j < classes; j += 256) sum += expf(to[j] - most);
    sum = over_block(sum, false);
    for (int j = (int)threadIdx.x; j < classes; j += 256) to[j] = expf(to[j] - most) / sum;
}

/* w: lines along the classes. */
inline int64_t split_wide(int64_t classes) { return (classes + 31) / 32 * 32; }
inline ridge_status split_across(const linear_softmax_call &c, int64_t padded, __half *to, float *undo) {
    const int depth = (int)c.x.columns, classes = (int)c.w.rows;
    unsigned *most = (unsigned *)(c.scratch + c.at.w_most);
    const unsigned across = (unsigned)((classes + 255) / 256);
    if (cudaMemsetAsync(most, 0, (size_t)classes * sizeof *most, c.stream) != cudaSuccess) return RIDGE_FAILED;
    hopper::columns_most<<<dim3(across, (unsigned)((depth + 63) / 64)), 256, 0, c.stream>>>(
        (const float *)c.w.base, c.w.step, depth, classes, most);
    hopper::split_columns<<<dim3(across, (unsigned)(padded / 16)), 256, 0, c.stream>>>(
        (const float *)c.w.base, c.w.step, depth, (int)padded, classes, most, to, split_wide(classes), undo);
    return launched();
}

/* fp32, by three products of halves. */
inline ridge_status linear_softmax_split(const linear_softmax_call &c) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = linear_softmax_padded(depth);
    const int slices = (int)(padded / hopper::SPLIT_SLICE);
    __half *x = (__half *)(c.scratch + c.at.x), *w = (__half *)(c.scratch + c.at.w);
    float *x_undo = (float *)(c.scratch + c.at.x_undo), *w_undo = (float *)(c.scratch + c.at.w_undo);
    hopper::split_lines<<<(unsigned)c.x.rows, 256, 0, c.stream>>>((const float *)c.x.base, c.x.line, (int)depth,
                                                                  (int)padded, x, x_undo);
    RIDGE_TRY(launched());
    hopper::matmul_plan plan = hopper::matmul_whole(padded, hopper::SPLIT_SLICE, 1);
    plan.parts = 3; /* the small products first: high low, low high, high high */
    plan.a_part[1] = plan.b_part[0] = slices;
    const hopper::matrix a = {x, 2 * padded, c.x.rows, 2 * padded};
    if (cudaMemsetAsync(c.scratch + c.at.odd, 0, (size_t)c.x.rows, c.stream) != cudaSuccess) return RIDGE_FAILED;
    if (c.w.by_rows()) {
        hopper::split_lines<<<(unsigned)classes, 256, 0, c.stream>>>((const float *)c.w.base, c.w.line, (int)depth,
                                                                     (int)padded, w, w_undo);
        RIDGE_TRY(launched());
        using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, true, 4>;
        RIDGE_TRY((softmax_product<S, float, true>(c, a, {w, 2 * padded, classes, 2 * padded}, plan)));
    } else {
        RIDGE_TRY(split_across(c, padded, w, w_undo));
        using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, false, 4>;
        RIDGE_TRY((softmax_product<S, float, true>(c, a, {w, classes, 2 * padded, split_wide(classes)}, plan)));
    }
    softmax_odd_rows<<<(unsigned)c.x.rows, 256, 0, c.stream>>>(
        (const unsigned char *)(c.scratch + c.at.odd), (const float *)c.x.base, c.x.line, (const float *)c.w.base,
        c.w.line, c.w.step, (const float *)c.bias, (float *)c.p.base, c.p.line, (int)depth, (int)classes);
    return launched();
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
