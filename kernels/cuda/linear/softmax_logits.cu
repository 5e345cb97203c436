/* softmax(x w + b) by way of logits in memory: in fp32 in the place of p, in 16 bits in scratch, as fp32. */
#include <float.h>

#include "cuda/gemm/any.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/epilogue/bias.cuh"
#include "cuda/linear/softmax_call.cuh"
#include "cuda/rows/softmax.cuh"

namespace ridge {

ridge_status linear_softmax_in_place(const linear_softmax_call &c) {
    for (int h = 0; h < c.heads; h++) {
        float *p = (float *)c.p.base + h * c.p_head;
        const row_tensors<float, float> io = {p, p, c.p.rows, c.p.columns, c.p.line, c.p.line};
        RIDGE_TRY(row_run(io, row_softmax(), c.stream));
    }
    return RIDGE_OK;
}

ridge_status linear_softmax_exact_to(const linear_softmax_call &c, const linear_logits &l, const unsigned *only_if) {
    const bool wide = any_is_wide(l.z, l.stride) && l.head % 4 == 0;
    const any_logits_store<float> e = {l.z,         l.stride, (const float *)c.bias, c.p.rows,
                                       c.p.columns, l.head,   c.bias_head,           wide};
    return any_run(any_matrix<float>(c.x), any_matrix<float>(c.w, c.w_head), c.p.rows, c.p.columns, c.x.columns, e,
                   c.stream, c.heads, only_if);
}
ridge_status linear_softmax_exact(const linear_softmax_call &c, const unsigned *only_if) {
    return linear_softmax_exact_to(c, {(float *)c.p.base, c.p.line, c.p_head}, only_if);
}

/* A type of its own: the losses compile the kernel of float_epilogue itself, and one kernel may not be compiled in two
 * places. */
template <typename T>
struct softmax_float_epilogue : float_epilogue<T, 256> {};

/* Softmax of rows whose logits are sums in several parts, `next` elements from one to the next: a warp a row, or a
 * block. The sums of all parts take the place of the first ones; every thread reads what it has written itself. rows:
 * of all heads, those of a row of x follow each other. */
template <typename T>
struct rows_of_shares {
    float *z;
    int64_t stride, head, next, p_line, p_head;
    int shares, rows, heads, classes;
    T *p;
    const unsigned *whole;
};
template <bool Block, typename F>
__device__ inline float row_of_shares(float v, F merge) {
    for (int mask = 16; mask > 0; mask /= 2) v = merge(v, __shfl_xor_sync(0xffffffffu, v, mask));
    if constexpr (Block) {
        __shared__ float warps[8];
        __syncthreads();
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
        __syncthreads();
        v = warps[0];
        for (int w = 1; w < 8; w++) v = merge(v, warps[w]);
    }
    return v;
}
template <typename T, bool Block>
__global__ void __launch_bounds__(256) softmax_of_shares(rows_of_shares<T> r) {
    constexpr int threads = Block ? 256 : 32;
    const int row = (int)blockIdx.x * (256 / threads) + (int)threadIdx.x / threads, first = (int)threadIdx.x % threads;
    after_previous_launch();
    if (row >= r.rows) return;
    const int of_x = row / r.heads, head = row - of_x * r.heads, shares = r.whole && *r.whole ? 1 : r.shares;
    float *const z = r.z + of_x * r.stride + head * r.head;
    float most = -FLT_MAX, sum = 0.0f;
    for (int column = first; column < r.classes; column += threads) {
        float all = 0.0f;
        for (int s = 0; s < shares; s++) all += z[s * r.next + column];
        z[column] = all;
        most = fmaxf(most, all);
    }
    most = row_of_shares<Block>(most, [](float a, float b) { return fmaxf(a, b); });
    for (int column = first; column < r.classes; column += threads) sum += softmax_exponential(z[column], most);
    sum = row_of_shares<Block>(sum, [](float a, float b) { return a + b; });
    const float scale = 1.0f / sum;
    T *const p = r.p + of_x * r.p_line + head * r.p_head;
    for (int column = first; column < r.classes; column += threads)
        p[column] = from_float<T>(softmax_exponential(z[column], most) * scale);
}

/* z = x w + bias, w: [columns, depth]; the depth in shares, each with tiles of its own. */
template <typename T>
static ridge_status logits_in_shares(const matrix_view &x, const matrix_view &w, const void *bias, float *z,
                                     int64_t stride, int shares, cudaStream_t stream) {
    const int rows = (int)x.rows, columns = (int)w.rows;
    softmax_float_epilogue<T> e = {{z, stride, (const T *)bias, rows, columns}};
    matmul_plan plan = matmul_whole(x.columns, 64, 8);
    plan.slices = (plan.slices + shares - 1) / shares;
    e.across = shares > 1 ? (columns + 255) / 256 : 0, e.next = rows * stride;
    return product<T>(x, w, plan, e, stream, shares);
}
template <typename T>
static ridge_status softmax_in_shares(const linear_softmax_call &c, const linear_logits &l) {
    const bool block = c.p.columns > LINEAR_SHARED_WARP;
    const int64_t rows = c.p.rows * c.heads, blocks = block ? rows : (rows + 7) / 8;
    if (rows > INT32_MAX) return RIDGE_UNSUPPORTED;
    const rows_of_shares<T> r = {l.z,      l.stride,  l.head,  l.next,           c.p.line,      c.p_head,
                                 l.shares, (int)rows, c.heads, (int)c.p.columns, (T *)c.p.base, l.whole};
    const launch_shape shape = {dim3((unsigned)blocks), 256};
    return block ? launch_overlapping(softmax_of_shares<T, true>, shape, c.stream, true, r)
                 : launch_overlapping(softmax_of_shares<T, false>, shape, c.stream, true, r);
}
/* Where probabilities of heads lie as their logits do, one launch has all. */
template <typename T>
static ridge_status softmax_of(const linear_softmax_call &c, const linear_logits &l) {
    if (l.shares > 1) return softmax_in_shares<T>(c, l);
    const bool alike = c.p.line == c.heads * c.p_head && l.stride == c.heads * l.head;
    for (int h = 0; h < (alike ? 1 : c.heads); h++) {
        row_tensors<float, T> io = {l.z + h * l.head, (T *)c.of_head(h).p.base, c.p.rows, c.p.columns, l.stride,
                                    c.p.line};
        if (alike) io.rows *= c.heads, io.x_stride = l.head, io.y_stride = c.p_head;
        RIDGE_TRY(row_run(io, row_softmax(), c.stream));
    }
    return RIDGE_OK;
}
ridge_status linear_softmax_of_logits(const linear_softmax_call &c, const linear_logits &l) {
    if (c.dtype == RIDGE_BF16) return softmax_of<__nv_bfloat16>(c, l);
    return c.dtype == RIDGE_F16 ? softmax_of<__half>(c, l) : softmax_of<float>(c, l);
}

template <typename T>
static ridge_status by_shares(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_LOGITS_SHARED);
    const int shares = linear_softmax_shares(c.p.rows, c.x.columns, c.p.columns);
    float *z = (float *)(c.scratch + at.logits);
    RIDGE_TRY(logits_in_shares<T>(c.x, c.w, c.bias, z, at.logits_stride, shares, c.stream));
    return softmax_in_shares<T>(c, {z, at.logits_stride, 0, shares, c.p.rows * at.logits_stride});
}

/* One product for all heads, whose weights and biases are copied side by side. */
template <typename T>
static ridge_status side_by_side(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_LOGITS_HEADS);
    const int64_t rows = c.p.rows, stride = at.logits_stride;
    const int shares = linear_softmax_shares(rows, c.x.columns, stride);
    float *const z = (float *)(c.scratch + at.logits);
    linear_heads_operands o;
    RIDGE_TRY(linear_softmax_pack(LINEAR_LOGITS_HEADS, c, &o));
    RIDGE_TRY(logits_in_shares<T>(o.x, o.w, c.scratch + at.bias, z, stride, shares, c.stream));
    return softmax_of<T>(c, {z, stride, stride / c.heads, shares, rows * stride});
}

/* The logits of each head are behind those of the one before. */
template <typename T>
static ridge_status in_scratch(int way, const linear_softmax_call &c) {
    const int64_t rows = c.p.rows, classes = c.p.columns;
    const linear_softmax_scratch at = c.at(way);
    float *const z = (float *)(c.scratch + at.logits);
    const int64_t next = rows * at.logits_stride;
    if (rows > INT32_MAX || classes > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (way == LINEAR_LOGITS_SHARED) return by_shares<T>(c);
    if (way == LINEAR_LOGITS_HEADS) return side_by_side<T>(c);
    if (way == LINEAR_LOGITS_FFMA) {
        const any_logits_store<T> e = {z, at.logits_stride, (const T *)c.bias, rows, classes, next, c.bias_head, true};
        RIDGE_TRY(any_run(any_matrix<T>(c.x), any_matrix<T>(c.w, c.w_head), rows, classes, c.x.columns, e, c.stream,
                          c.heads));
    }
    for (int h = 0; h < c.heads; h++) {
        const linear_softmax_call one = c.of_head(h);
        float *const its = z + h * next;
        if (way == LINEAR_LOGITS_16) {
            const softmax_float_epilogue<T> e = {{its, at.logits_stride, (const T *)one.bias, (int)rows, (int)classes}};
            RIDGE_TRY(product<T>(c.x, one.w, matmul_whole(c.x.columns, 64, 8), e, c.stream));
        }
        const row_tensors<float, T> io = {its, (T *)one.p.base, rows, classes, at.logits_stride, c.p.line};
        RIDGE_TRY(row_run(io, row_softmax(), c.stream));
    }
    return RIDGE_OK;
}

ridge_status linear_softmax_logits(int way, const linear_softmax_call &c) {
    if (c.dtype == RIDGE_BF16) return in_scratch<__nv_bfloat16>(way, c);
    if (c.dtype == RIDGE_F16) return in_scratch<__half>(way, c);
    RIDGE_TRY(linear_softmax_exact(c, NULL));
    return linear_softmax_in_place(c);
}

}  // namespace ridge
