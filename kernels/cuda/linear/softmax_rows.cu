/* softmax(x w + b) of up to 128 classes in fp32, for one head or several: the kernels of skinny/run.cuh.
 * More classes: logits of tiles of 128 of them by the same kernels, then softmax in place. */
#include "cuda/linear/softmax_call.cuh"
#include "cuda/skinny/run.cuh"

namespace ridge {

/* Logits as they are: see linear_probabilities. */
struct linear_row_of_logits {
    struct known {};
    __device__ known ahead(const linear_args &, int64_t) const { return {}; }
    template <int Lanes>
    __device__ void finish(const linear_args &a, float (&z)[4], known, int64_t row, int column, bool present) const {
        if (present) linear_write(a.p + row * a.p_row + column, z, (int)a.classes - column, a.p_width);
    }
};

/* Tiles of 128 classes, as if they were heads; the last one may be smaller. */
template <bool Trans>
static ridge_status logits_by_wgmma(linear_args a, cudaStream_t stream) {
    const int64_t classes = a.classes, whole = classes / SKINNY_CLASSES;
    a.classes = SKINNY_CLASSES;
    a.w_head = SKINNY_CLASSES * a.w_class, a.b_head = SKINNY_CLASSES, a.p_head = SKINNY_CLASSES;
    if (whole > 0) RIDGE_TRY((linear_rows_wgmma<16, Trans>(a, linear_row_of_logits(), (int)whole, stream)));
    a.w += whole * a.w_head, a.b += whole * a.b_head, a.p += whole * a.p_head;
    a.classes = classes % SKINNY_CLASSES;
    return a.classes > 0 ? linear_rows_wgmma<16, Trans>(a, linear_row_of_logits(), 1, stream) : RIDGE_OK;
}

ridge_status linear_softmax_rows(int way, const linear_softmax_call &c) {
    linear_args a = {};
    a.x = (const float *)c.x.base, a.w = (const float *)c.w.base, a.b = (const float *)c.bias, a.p = (float *)c.p.base;
    a.batch = c.x.rows, a.depth = c.x.columns, a.classes = c.p.columns;
    a.x_row = c.x.line, a.w_depth = c.w.step, a.w_class = c.w.line, a.p_row = c.p.line;
    a.w_head = c.w_head, a.b_head = c.bias_head, a.p_head = c.p_head;
    a.p_width = linear_width(a.p, a.p_row, a.p_head);
    if (way == LINEAR_LOGITS_WGMMA) {
        RIDGE_TRY((a.w_class != 1 ? logits_by_wgmma<true> : logits_by_wgmma<false>)(a, c.stream));
        return linear_softmax_in_place(c);
    }
    using Op = linear_probabilities;
    if (way != SKINNY_SINGLE) return linear_rows_by(way, a, Op(), c.heads, c.stream);
    return (a.w_class != 1 ? linear_rows_single<true, Op> : linear_rows_single<false, Op>)(a, Op(), c.heads, c.stream);
}

}  // namespace ridge
