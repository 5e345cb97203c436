/* Cross-entropy of a linear layer the plain way, with a library's products: one writes all logits, fp32, to memory; a
 * kernel reads them, row by row, for the losses and writes their gradients, of the storage type; two more products read
 * those. What the fused operations (linear/loss.cuh) are compared with; linear/loss.cu is the same with ridge's own
 * products. */
#ifndef RIDGE_KERNELS_LINEAR_LOSS_UNFUSED_CUH
#define RIDGE_KERNELS_LINEAR_LOSS_UNFUSED_CUH

#include "cuda/linear/loss.cuh"
#include "linear/loss_rows.cuh"

extern "C" {
#include "peer/cublaslt.h"
}

namespace ridge {

/* cuBLASLt's products: to = A B^T; number: CE_LOGITS, CE_TO_DX, CE_TO_DW. */
struct library_products {
    const linear_loss_call &c;
    const ce_cuda_plans *plans;
    void *workspace;

    ridge_status operator()(int number, const matrix_view &to, const matrix_view &a, const matrix_view &b) const {
        if (!to.by_rows()) return (*this)(number, transposed(to), b, a);
        cublaslt_shape s = {};
        s.rows = to.rows, s.depth = a.columns, s.classes = to.columns, s.batch = 1;
        s.turned = b.by_rows(), s.x_turned = !a.by_rows();
        s.dtype = c.dtype, s.to = number == CE_LOGITS ? RIDGE_F32 : c.dtype;
        cublaslt_operands o = {};
        o.x = a.base, o.x_row = a.by_rows() ? a.line : a.step;
        o.w = b.base, o.w_row = b.by_rows() ? b.line : b.step;
        o.z = to.base, o.z_row = to.line;
        return cublaslt_run_as(plans->product[number], &s, &o, workspace, c.stream);
    }
};

template <typename T>
ridge_status linear_loss_library_unfused(const linear_loss_call &c, const ridge_call *call) {
    using G = gradient_type<T>;
    const linear_unfused_scratch at = linear_unfused_scratch_of(c.x.rows, c.w.rows, sizeof(G));
    const library_products multiply = {c, (const ce_cuda_plans *)call->plan, c.scratch + at.bytes};
    if (c.x.rows == 0) return c.dloss ? linear_no_rows<T>(c) : RIDGE_OK;
    if (!linear_fits(c)) return RIDGE_UNSUPPORTED;
    const matrix_view z = {c.part<float>(at.logits), c.x.rows, c.w.rows, at.stride, 1};
    const matrix_view g = {c.part<G>(at.gradient), c.x.rows, c.w.rows, at.stride, 1};
    RIDGE_TRY(multiply(CE_LOGITS, z, c.x, c.w));
    loss_of_logits r = {};
    r.z = (const float *)z.base, r.line = at.stride, r.rows = c.rows(), r.classes = c.classes();
    r.bias = c.bias, r.labels = c.labels, r.dloss = c.dloss, r.lse_in = c.given_lse, r.options = c.options;
    r.loss = c.loss, r.lse = c.lse, r.gradient = c.dloss ? g.base : NULL;
    RIDGE_TRY(linear_loss_rows(r, linear_gradient_dtype(c.dtype), c.stream));
    if (!c.dloss) return RIDGE_OK;
    gradient_pass p = {};
    p.gradient = g.base;
    p.stride = at.stride;
    p.rows = c.rows();
    p.classes = c.classes();
    p.sums = c.part<float>(at.columns);
    RIDGE_TRY(finish_gradient<G>(p, false, c.db, false, c.stream));
    RIDGE_TRY(multiply(CE_TO_DX, c.dx, g, transposed(c.w)));
    return multiply(CE_TO_DW, c.dw, transposed(g), transposed(c.x));
}

/* Compiles all that linear/loss_call.cuh declares of a type. */
#define RIDGE_LINEAR_LOSS_OF(T)                                              \
    template ridge_status linear_loss_forward<T>(const linear_loss_call &);  \
    template ridge_status linear_loss_gradient<T>(const linear_loss_call &); \
    template ridge_status linear_loss_library_unfused<T>(const linear_loss_call &, const ridge_call *);

}  // namespace ridge

#endif
