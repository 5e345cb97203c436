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

ridge_status linear_softmax_exact(const linear_softmax_call &c, const unsigned *only_if) {
    float *p = (float *)c.p.base;
    const bool wide = any_is_wide(p, c.p.line) && c.p_head % 4 == 0;
    const any_logits_store<float> e = {p,           c.p.line, (const float *)c.bias, c.p.rows,
                                       c.p.columns, c.p_head, c.bias_head,           wide};
    return any_run(any_matrix<float>(c.x), any_matrix<float>(c.w, c.w_head), c.p.rows, c.p.columns, c.x.columns, e,
                   c.stream, c.heads, only_if);
}

/* A type of its own: the losses compile the kernel of float_epilogue itself, and one kernel may not be compiled in two
 * places. */
template <typename T>
struct softmax_float_epilogue : float_epilogue<T, 256> {};

/* Softmax of rows whose logits are sums in several parts, `next` elements from one to the next: a warp a row. The sums
 * of all parts take the place of the first ones; every lane reads what it has written itself. rows: of all heads,
 * those of a row of x follow each other. */
template <typename T>
struct rows_of_shares {
    float *z;
    int64_t stride, next, p_line, p_head;
    int shares, rows, heads, classes;
    T *p;
};
template <typename T>
__global__ void __launch_bounds__(256) softmax_of_shares(rows_of_shares<T> r) {
    const int row = (int)blockIdx.x * 8 + (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    after_previous_launch();
    if (row >= r.rows) return;
    float *const z = r.z + row * r.stride;
    float most = -FLT_MAX, sum = 0.0f;
    for (int column = lane; column < r.classes; column += 32) {
        float all = 0.0f;
        for (int s = 0; s < r.shares; s++) all += z[s * r.next + column];
        z[column] = all;
        most = fmaxf(most, all);
    }
    for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    for (int column = lane; column < r.classes; column += 32) sum += softmax_exponential(z[column], most);
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    const float scale = 1.0f / sum;
    T *const p = r.p + row / r.heads * r.p_line + row % r.heads * r.p_head;
    for (int column = lane; column < r.classes; column += 32)
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
/* each: from one head's logits to the next. */
template <typename T>
static ridge_status softmax_in_shares(const linear_softmax_call &c, float *z, int64_t each, int64_t next, int shares) {
    const int64_t rows = c.p.rows * c.heads, blocks = (rows + 7) / 8;
    if (rows > INT32_MAX) return RIDGE_UNSUPPORTED;
    const rows_of_shares<T> r = {z,      each,      next,    c.p.line,         c.p_head,
                                 shares, (int)rows, c.heads, (int)c.p.columns, (T *)c.p.base};
    return launch_overlapping(softmax_of_shares<T>, {dim3((unsigned)blocks), 256}, c.stream, true, r);
}

template <typename T>
static ridge_status by_shares(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_LOGITS_SHARED);
    const int shares = linear_softmax_shares(c.p.rows, c.x.columns, c.p.columns);
    float *z = (float *)(c.scratch + at.logits);
    RIDGE_TRY(logits_in_shares<T>(c.x, c.w, c.bias, z, at.logits_stride, shares, c.stream));
    return softmax_in_shares<T>(c, z, at.logits_stride, c.p.rows * at.logits_stride, shares);
}

/* One product for all heads, whose weights and biases are copied side by side. Logits of a row of x follow each other;
 * where probabilities do, too, their softmax is one launch. */
template <typename T>
static ridge_status side_by_side(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_LOGITS_HEADS);
    const int64_t rows = c.p.rows, classes = c.p.columns, stride = at.logits_stride, wide = stride / c.heads;
    const int shares = linear_softmax_shares(rows, c.x.columns, stride);
    float *const z = (float *)(c.scratch + at.logits);
    linear_heads_operands o;
    RIDGE_TRY(linear_softmax_pack(LINEAR_LOGITS_HEADS, c, &o));
    RIDGE_TRY(logits_in_shares<T>(o.x, o.w, c.scratch + at.bias, z, stride, shares, c.stream));
    if (shares > 1) return softmax_in_shares<T>(c, z, wide, rows * stride, shares);
    const bool alike = c.p.line == c.heads * c.p_head;
    for (int h = 0; h < (alike ? 1 : c.heads); h++) {
        row_tensors<float, T> io = {z + h * wide, (T *)c.of_head(h).p.base, rows, classes, stride, c.p.line};
        if (alike) io.rows = rows * c.heads, io.x_stride = wide, io.y_stride = c.p_head;
        RIDGE_TRY(row_run(io, row_softmax(), c.stream));
    }
    return RIDGE_OK;
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
