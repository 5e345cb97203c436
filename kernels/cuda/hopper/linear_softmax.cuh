/* Softmax of a linear layer by Hopper's tensor cores: fp32 split in fp16 (see hopper/split.cuh), tf32, bf16, f16. x and
 * p by rows, w: [classes, depth] in either order. fp32 with classes across the lines of w: of several heads, too. */
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
    matrix_view x, w, p; /* w: [classes, depth]; w and p are the first head's */
    const void *bias;
    int heads;
    int64_t w_head, bias_head, p_head; /* from one head's to the next */
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
    e.p_head = c.p_head, e.bias_head = c.bias_head;
    e.pairs = (uintptr_t)e.p % (2 * sizeof(T)) == 0 && e.stride % 2 == 0 && e.p_head % 2 == 0;
    e.parts = (softmax_part *)(c.scratch + c.at.parts);
    e.arrived = (unsigned *)(c.scratch + c.at.arrived);
    e.row_undo = (const float *)(c.scratch + c.at.x_undo);
    e.column_undo = (const float *)(c.scratch + c.at.w_undo);
    if (Scaled) e.odd = (unsigned char *)(c.scratch + c.at.odd);
    plan.band = 1; /* the tiles of a row follow each other */
    const size_t counters = ((size_t)e.rows / 64 + 4) * (size_t)c.heads;
    if (e.tiles > 1 && cudaMemsetAsync(e.arrived, 0, counters * sizeof(unsigned), c.stream) != cudaSuccess)
        return RIDGE_FAILED;
    const int64_t columns = c.heads > 1 ? (int64_t)c.heads * e.tiles * S::N : c.p.columns;
    return hopper::matmul_run<S>(a, b, c.p.rows, columns, plan, e, c.stream);
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

/* Rows whose operands are infinite: halves of infinities are not numbers, and what comes of them may be. By fused
 * multiply-adds, as if nothing had been split. */
struct odd_rows {
    const unsigned char *odd; /* [heads][rows] */
    const float *x, *w, *bias;
    float *p;
    int64_t x_line, w_line, w_step, w_head, bias_head, p_line, p_head;
    int rows, depth, classes;

    __device__ void run(int head, int i) const {
        const float *row = x + i * x_line, *weight = w + head * w_head;
        float *to = p + head * p_head + i * p_line, most = -FLT_MAX, sum = 0.0f;
        __shared__ float shared[256];
        for (int j = (int)threadIdx.x; j < classes; j += 256) {
            float z = bias ? bias[head * bias_head + j] : 0.0f;
            for (int k = 0; k < depth; k++) z = fmaf(row[k], weight[j * w_line + k * w_step], z);
            to[j] = z;
            most = fmaxf(most, z);
        }
        const auto over_block = [&](float v, bool largest) {
            shared[threadIdx.x] = v;
            __syncthreads();
            for (int t = 0; t < 256; t++) v = t == 0 ? shared[0] : largest ? fmaxf(v, shared[t]) : v + shared[t];
            __syncthreads();
            return v;
        };
        most = over_block(most, true);
        for (int j = (int)threadIdx.x; j < classes; j += 256) sum += expf(to[j] - most);
        sum = over_block(sum, false);
        for (int j = (int)threadIdx.x; j < classes; j += 256) to[j] = expf(to[j] - most) / sum;
    }
};
/* A block looks at 256 rows of a head. */
__global__ static void __launch_bounds__(256) softmax_odd_rows(const odd_rows r) {
#if __CUDA_ARCH__ >= 900
    hopper::after_previous_launch();
#endif
    const int first = (int)blockIdx.x * 256, head = (int)blockIdx.y, count = min(256, r.rows - first);
    const unsigned char *odd = r.odd + (int64_t)head * r.rows + first;
    if (!__syncthreads_or((int)threadIdx.x < count && odd[threadIdx.x])) return;
    for (int i = 0; i < count; i++)
        if (odd[i]) r.run(head, first + i);
}
inline ridge_status softmax_repair(const linear_softmax_call &c) {
    odd_rows r = {};
    r.odd = (const unsigned char *)(c.scratch + c.at.odd);
    r.x = (const float *)c.x.base, r.w = (const float *)c.w.base, r.bias = (const float *)c.bias;
    r.p = (float *)c.p.base;
    r.x_line = c.x.line, r.w_line = c.w.line, r.w_step = c.w.step, r.w_head = c.w_head, r.bias_head = c.bias_head;
    r.p_line = c.p.line, r.p_head = c.p_head;
    r.rows = (int)c.p.rows, r.depth = (int)c.x.columns, r.classes = (int)c.p.columns;
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)((r.rows + 255) / 256), (unsigned)c.heads);
    config.blockDim = dim3(256);
    config.stream = c.stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, softmax_odd_rows, r);
    return launched();
}

template <class W>
ridge_status split_both(const linear_softmax_call &c, const hopper::split_lines &x, const W &w) {
    const unsigned blocks = (unsigned)(x.blocks() + w.blocks());
    hopper::split_operands<<<blocks, 256, 0, c.stream>>>(x, w, (unsigned char *)(c.scratch + c.at.odd),
                                                         (int)c.x.rows * c.heads);
    return launched();
}

/* fp32, by three products of halves. */
inline ridge_status linear_softmax_split(const linear_softmax_call &c) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = linear_softmax_padded(depth);
    const int slices = (int)(padded / hopper::SPLIT_SLICE);
    __half *x = (__half *)(c.scratch + c.at.x), *w = (__half *)(c.scratch + c.at.w);
    float *x_undo = (float *)(c.scratch + c.at.x_undo), *w_undo = (float *)(c.scratch + c.at.w_undo);
    const auto lines = [&](const matrix_view &m, __half *to, float *undo) {
        return hopper::split_lines{(const float *)m.base, m.line, (int)m.rows, (int)depth, (int)padded, to, undo};
    };
    hopper::matmul_plan plan = hopper::matmul_whole(padded, hopper::SPLIT_SLICE, 1);
    plan.parts = 3; /* the small products first: high low, low high, high high */
    plan.a_part[1] = plan.b_part[0] = slices;
    const hopper::matrix a = {x, 2 * padded, c.x.rows, 2 * padded};
    if (c.w.by_rows()) {
        RIDGE_TRY(split_both(c, lines(c.x, x, x_undo), lines(c.w, w, w_undo)));
        using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, true, 4>;
        RIDGE_TRY((softmax_product<S, float, true>(c, a, {w, 2 * padded, classes, 2 * padded}, plan)));
    } else {
        const int64_t wide = linear_softmax_wide(classes), all = c.heads * wide;
        const hopper::split_columns columns = {(const float *)c.w.base,
                                               c.w.step,
                                               c.w_head,
                                               c.heads,
                                               (int)classes,
                                               (int)depth,
                                               (int)padded,
                                               (int)wide,
                                               w,
                                               w_undo};
        RIDGE_TRY(split_both(c, lines(c.x, x, x_undo), columns));
        using S = hopper::matmul_shape<__half, 128, 6, 2, 1, true, false, 4>;
        RIDGE_TRY((softmax_product<S, float, true>(c, a, {w, all, 2 * padded, all}, plan)));
    }
    return softmax_repair(c);
}

/* Whether these kernels can take the operands: Hopper, lines that the copy engine takes, not too many classes. */
template <typename T>
bool linear_softmax_takes(const linear_softmax_call &c) {
    const bool fp32 = sizeof(T) == 4;
    const double blocks = (double)c.heads * ((double)c.x.rows + (double)linear_softmax_wide(c.p.columns));
    return c.x.rows > 0 && blocks <= INT32_MAX / 2 && (c.heads == 1 || (fp32 && !c.w.by_rows())) &&
           hopper::is_tileable<T>(c.x) && c.x.columns % (fp32 ? 4 : 1) == 0 &&
           c.p.columns <= (int64_t)SOFTMAX_TILES * 128 && (fp32 || hopper::is_tileable<T>(c.w)) &&
           (!fp32 || !c.w.by_rows() || hopper::is_tileable<T>(c.w));
}

}  // namespace ridge

#endif
