/* softmax(x w + b) of up to 128 classes in fp32, for one head or several: the kernels of skinny/run.cuh. */
#include "cuda/linear/softmax_call.cuh"
#include "cuda/skinny/run.cuh"

namespace ridge {

ridge_status linear_softmax_rows(int way, const linear_softmax_call &c) {
    linear_args a = {};
    a.x = (const float *)c.x.base, a.w = (const float *)c.w.base, a.b = (const float *)c.bias, a.p = (float *)c.p.base;
    a.batch = c.x.rows, a.depth = c.x.columns, a.classes = c.p.columns;
    a.x_row = c.x.line, a.w_depth = c.w.step, a.w_class = c.w.line, a.p_row = c.p.line;
    a.w_head = c.w_head, a.b_head = c.bias_head, a.p_head = c.p_head;
    a.p_width = linear_width(a.p, a.p_row, a.p_head);
    using Op = linear_probabilities;
    if (way != SKINNY_SINGLE) return linear_rows_by(way, a, Op(), c.heads, c.stream);
    return (a.w_class != 1 ? linear_rows_single<true, Op> : linear_rows_single<false, Op>)(a, Op(), c.heads, c.stream);
}

}  // namespace ridge
