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
 * of all parts take the place of the first ones; every lane reads what it has written itself. */
template <typename T>
struct rows_of_shares {
    float *z;
    int64_t stride, next, p_line;
    int shares, rows, classes;
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
    for (int column = lane; column < r.classes; column += 32)
        r.p[row * r.p_line + column] = from_float<T>(softmax_exponential(z[column], most) * scale);
}

/* The depth in shares, each with tiles of its own. */
template <typename T>
static ridge_status by_shares(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_LOGITS_SHARED);
    const int rows = (int)c.p.rows, classes = (int)c.p.columns;
    const int shares = linear_softmax_shares(rows, c.x.columns, classes);
    float *z = (float *)(c.scratch + at.logits);
    softmax_float_epilogue<T> e = {{z, at.logits_stride, (const T *)c.bias, rows, classes}};
    matmul_plan plan = matmul_whole(c.x.columns, 64, 8);
    plan.slices = (plan.slices + shares - 1) / shares;
    e.across = shares > 1 ? (classes + 255) / 256 : 0, e.next = (int64_t)rows * at.logits_stride;
    RIDGE_TRY(product<T>(c.x, c.w, plan, e, c.stream, shares));
    const rows_of_shares<T> r = {z, at.logits_stride, e.next, c.p.line, shares, rows, classes, (T *)c.p.base};
    return launch_overlapping(softmax_of_shares<T>, {dim3((unsigned)((rows + 7) / 8)), 256}, c.stream, true, r);
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
