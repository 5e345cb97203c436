/* Linear layers of few rows (kernels/cuda/gemv): w is read once for each product, at memory's rate.
 *
 *   softmax   logits and parts of every tile of classes; probabilities
 *   losses    parts of every tile, no logits in memory; losses
 *   gradients logits; losses, or what is known of them; gradients and db; dw; dx in shares of the classes; dx
 *
 * Where classes do not fill the GPU the depth is in shares, whose sums a pass adds. */
#include "cuda/gemv/call.cuh"
#include "cuda/gemv/outer.cuh"
#include "cuda/gemv/passes.cuh"
#include "cuda/linear/few_rows.cuh"

namespace ridge {

/* Logits as a.to has them, and their parts; their number. */
template <typename T>
static ridge_status logits(gemv_args<T> &a, bool along, const gemv_plan &plan, int heads, bool wanted, float *z,
                           cudaStream_t stream) {
    const gemv_logits to = a.to;
    if (plan.shares == 1) {
        a.to.count = gemv_count(a, along, plan);
        a.to.z = wanted ? z : NULL;
        return gemv_multiply(a, along, plan, heads, stream);
    }
    a.to = {};
    a.to.z = z, a.to.line = to.line, a.to.next = to.next;
    RIDGE_TRY(gemv_multiply(a, along, plan, heads, stream));
    a.to = to;
    a.to.z = wanted ? z : NULL;
    a.to.count = (a.outputs + GEMV_PART - 1) / GEMV_PART;
    const dim3 grid((unsigned)((a.outputs + GEMV_SUMMED - 1) / GEMV_SUMMED), (unsigned)(heads * a.batch));
    return launch_overlapping(gemv_add_shares<T>, {grid, GEMV_THREADS}, stream, device_overlaps(), a, (const float *)z,
                              (int)plan.shares);
}

/* ---- softmax ---- */

template <typename T>
static ridge_status softmax_of(const linear_softmax_call &c) {
    const int64_t rows = c.p.rows * c.heads;
    const gemv_plan plan =
        gemv_plan_of(c.x.rows, c.x.columns, c.p.columns, c.heads, gemv_logits_by(c.dtype), gemv_lies_along(c.w));
    const gemv_scratch at = gemv_scratch_of(c.x.rows, c.x.columns, c.p.columns, c.heads, c.dtype, 0);
    float *const z = (float *)(c.scratch + at.z);
    gemv_args<T> a = gemv_args_of<T>(c.x, c.w, plan);
    a.head = c.w_head;
    a.to.bias = c.bias, a.to.bias_fp32 = sizeof(T) == 4, a.to.bias_head = c.bias_head;
    a.to.before = 1.0f, a.to.after = log2_e;
    a.to.line = at.stride, a.to.next = rows * at.stride;
    a.to.parts = (softmax_part *)(c.scratch + at.parts);
    if (rows == 0) return RIDGE_OK;
    RIDGE_TRY(logits(a, gemv_lies_along(c.w), plan, c.heads, true, z, c.stream));
    const gemv_probabilities<T> p = {z,          a.to.parts, at.stride,     a.batch,  a.outputs,
                                     a.to.count, a.to.after, (T *)c.p.base, c.p.line, c.p_head};
    const dim3 grid((unsigned)((a.outputs + GEMV_WRITTEN - 1) / GEMV_WRITTEN), (unsigned)rows);
    return launch_overlapping(gemv_write<T>, {grid, GEMV_THREADS}, c.stream, device_overlaps(), p);
}

ridge_status linear_softmax_few_rows(const linear_softmax_call &c) {
    return with_storage(ridge_dtype_stored(c.dtype), [&]<typename T>() { return softmax_of<T>(c); });
}

/* ---- losses ---- */

template <typename T>
static ridge_status loss_logits(const linear_loss_call &c, const gemv_scratch &at, bool wanted, int *count) {
    const gemv_plan plan =
        gemv_plan_of(c.x.rows, c.x.columns, c.w.rows, 1, gemv_logits_by(c.dtype), gemv_lies_along(c.w));
    gemv_args<T> a = gemv_args_of<T>(c.x, c.w, plan);
    a.to.bias = c.bias, a.to.bias_fp32 = true;
    a.to.before = log2_e, a.to.after = 1.0f;
    a.to.line = at.stride, a.to.next = c.x.rows * at.stride;
    if (!c.given_lse) {
        a.to.parts = c.part<softmax_part>(at.parts);
        a.to.sums = c.smooth() ? c.part<float>(at.sums) : NULL;
        a.to.labels = c.labels;
        a.to.label_logit = c.part<float>(at.label_logit);
    }
    const ridge_status status = logits(a, gemv_lies_along(c.w), plan, 1, wanted, c.part<float>(at.z), c.stream);
    *count = a.to.count;
    return status;
}

static ridge_status losses_of(const linear_loss_call &c, const gemv_scratch &at, int count) {
    loss_rows r = loss_rows_of(c, 0, c.x.rows);
    r.parts = c.part<softmax_part>(at.parts);
    r.logit_sums = c.smooth() ? c.part<float>(at.sums) : NULL;
    r.label_logit = c.part<float>(at.label_logit);
    r.gradient = c.dloss ? c.part<row_gradient>(at.rows) : NULL;
    r.count = count;
    return launch_overlapping(gemv_losses, {dim3((unsigned)c.x.rows), GEMV_THREADS}, c.stream, device_overlaps(), r);
}

template <typename T>
ridge_status linear_few_rows_losses(const linear_loss_call &c) {
    const gemv_scratch at = gemv_scratch_of(c.x.rows, c.x.columns, c.w.rows, 1, c.dtype, 0);
    int count = 0;
    RIDGE_TRY(loss_logits<T>(c, at, false, &count));
    return losses_of(c, at, count);
}

/* ---- gradients ---- */

/* dw = g^T x: lines of dw along the depth, or along the classes. */
template <typename T>
static ridge_status dw_of(const linear_loss_call &c, const matrix_view &g) {
    const gemv_rows_of<T> of_g = {g.base, true, g.line, 1}, of_x = {c.x.base, sizeof(T) == 4, c.x.line, c.x.step};
    const bool along = gemv_lies_along(c.dw);
    gemv_outer_args<T> p = {};
    p.a = along ? of_g : of_x, p.b = along ? of_x : of_g;
    p.out = (T *)c.dw.base, p.line = along ? c.dw.line : c.dw.step;
    p.batch = c.rows();
    p.lines = (int)(along ? c.dw.rows : c.dw.columns), p.columns = (int)(along ? c.dw.columns : c.dw.rows);
    return gemv_multiply_outer(p, gemv_gradients_by(c.dtype), c.stream);
}

/* dx = g w: the classes in shares. */
template <typename T>
static ridge_status dx_of(const linear_loss_call &c, const matrix_view &g, const gemv_scratch &at) {
    const bool along = !gemv_lies_along(c.w);
    const gemv_plan plan = gemv_plan_of(c.x.rows, c.w.rows, c.w.columns, 1, gemv_gradients_by(c.dtype), along);
    gemv_args<T> a = gemv_args_of<T>(g, transposed(c.w), plan);
    a.line = along ? c.w.step : c.w.line;
    a.x_fp32 = true;
    a.to.z = c.part<float>(at.dx), a.to.line = at.dx_stride, a.to.next = c.x.rows * at.dx_stride;
    RIDGE_TRY(gemv_multiply(a, along, plan, 1, c.stream));
    const gemv_shares<T> s = {a.to.z,    a.to.line,      a.to.next, (int)plan.shares,
                              a.outputs, (T *)c.dx.base, c.dx.line, c.dx.step};
    const dim3 grid((unsigned)((a.outputs + 31) / 32), (unsigned)c.x.rows);
    return launch_overlapping(gemv_store<T>, {grid, GEMV_THREADS}, c.stream, device_overlaps(), s);
}

template <typename T>
ridge_status linear_few_rows_gradients(const linear_loss_call &c) {
    const gemv_scratch at = gemv_scratch_of(c.x.rows, c.x.columns, c.w.rows, 1, c.dtype, 1);
    row_gradient *const rows = c.part<row_gradient>(at.rows);
    float *const z = c.part<float>(at.z);
    int count = 0;
    RIDGE_TRY(loss_logits<T>(c, at, true, &count));
    if (c.given_lse)
        RIDGE_TRY(launch_overlapping(prepare_rows, {dim3(1), 256}, c.stream, device_overlaps(), c.given_lse, c.dloss,
                                     c.labels, rows, c.rows(), c.classes(), c.options, (gradient_range *)NULL));
    else
        RIDGE_TRY(losses_of(c, at, count));
    RIDGE_TRY(launch_overlapping(gemv_gradients, {dim3((unsigned)((c.classes() + 255) / 256)), GEMV_THREADS}, c.stream,
                                 device_overlaps(), z, at.stride, (const row_gradient *)rows, c.rows(), c.classes(),
                                 c.db));
    const matrix_view g = {z, c.x.rows, c.w.rows, at.stride, 1};
    RIDGE_TRY(dw_of<T>(c, g));
    return dx_of<T>(c, g, at);
}

#define OF_TYPE(T)                                                             \
    template ridge_status linear_few_rows_losses<T>(const linear_loss_call &); \
    template ridge_status linear_few_rows_gradients<T>(const linear_loss_call &);
OF_TYPE(float)
OF_TYPE(__nv_bfloat16)
OF_TYPE(__half)

}  // namespace ridge
