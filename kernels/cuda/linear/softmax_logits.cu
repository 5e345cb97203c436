/* softmax(x w + b) by way of logits in memory: in fp32 in the place of p, in 16 bits in scratch, as fp32. */
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

static ridge_status in_place_of_p(const linear_softmax_call &c) {
    float *p = (float *)c.p.base;
    const bool wide = any_is_wide(p, c.p.line) && c.p_head % 4 == 0;
    const any_logits_store<float> e = {p,           c.p.line, (const float *)c.bias, c.p.rows,
                                       c.p.columns, c.p_head, c.bias_head,           wide};
    RIDGE_TRY(any_run(any_matrix<float>(c.x), any_matrix<float>(c.w, c.w_head), c.p.rows, c.p.columns, c.x.columns, e,
                      c.stream, c.heads));
    return linear_softmax_in_place(c);
}

template <typename T>
static ridge_status in_scratch(int way, const linear_softmax_call &c) {
    const int64_t rows = c.p.rows, classes = c.p.columns;
    const linear_softmax_scratch at = c.at(way);
    float *z = (float *)(c.scratch + at.logits);
    if (rows > INT32_MAX || classes > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (way == LINEAR_LOGITS_16) {
        const float_epilogue<T, 256> e = {z, at.logits_stride, (const T *)c.bias, (int)rows, (int)classes};
        RIDGE_TRY(product<T>(c.x, c.w, matmul_whole(c.x.columns, 64, 8), e, c.stream));
    } else {
        const any_logits_store<T> e = {z, at.logits_stride, (const T *)c.bias, rows, classes, 0, 0, true};
        RIDGE_TRY(any_run(any_matrix<T>(c.x), any_matrix<T>(c.w), rows, classes, c.x.columns, e, c.stream));
    }
    const row_tensors<float, T> io = {z, (T *)c.p.base, rows, classes, at.logits_stride, c.p.line};
    return row_run(io, row_softmax(), c.stream);
}

ridge_status linear_softmax_logits(int way, const linear_softmax_call &c) {
    if (c.dtype == RIDGE_BF16) return in_scratch<__nv_bfloat16>(way, c);
    return c.dtype == RIDGE_F16 ? in_scratch<__half>(way, c) : in_place_of_p(c);
}

}  // namespace ridge
