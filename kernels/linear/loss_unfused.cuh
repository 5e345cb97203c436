/* Cross-entropy of a linear layer the plain way: a product writes all logits, fp32, to memory; a kernel reads them, row
 * by row, for the losses and writes their gradients, of the storage type; two more products read those. What the fused
 * operations (linear/loss.cuh) are compared with.
 *
 * Multiply has   status operator()(product number, C, A, B)    C = A B^T; number: CE_LOGITS, CE_TO_DX, CE_TO_DW */
#ifndef RIDGE_KERNELS_LINEAR_LOSS_UNFUSED_CUH
#define RIDGE_KERNELS_LINEAR_LOSS_UNFUSED_CUH

#include "cuda/linear/loss.cuh"
#include "linear/loss_rows.cuh"

extern "C" {
#include "peer/cublaslt.h"
}

namespace ridge {

/* G: of the gradients. */
template <typename T, typename G, class Multiply>
ridge_status linear_loss_unfused(const linear_loss_call &c, const Multiply &multiply) {
    const linear_unfused_scratch at = linear_unfused_scratch_of(c.x.rows, c.w.rows, sizeof(G));
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

/* ridge's own products. */
template <typename T, typename G>
struct own_products {
    cudaStream_t stream;

    ridge_status operator()(int number, const matrix_view &to, const matrix_view &a, const matrix_view &b) const {
        if constexpr (sizeof(T) == 2) {
            const bool tiles = device_is_hopper() && is_tileable<T>(a) && is_tileable<T>(b);
            const matmul_plan plan = matmul_whole(a.columns, 64, 8);
            if (tiles && number == CE_LOGITS) {
                const float_epilogue<T, 256> e = {(float *)to.base, to.line, NULL, (int)to.rows, (int)to.columns};
                return product<T>(a, b, plan, e, stream);
            }
            if constexpr (std::is_same_v<T, G>)
                if (tiles && is_tileable<T>(to)) return product_to<T>(a, b, to, false, plan, stream);
        }
        if (number == CE_LOGITS) return by_fp32<float, T>(to, a, b);
        return by_fp32<T, G>(to, a, b);
    }
    template <typename C, typename A>
    ridge_status by_fp32(const matrix_view &to, const matrix_view &a, const matrix_view &b) const {
        return any_run(any_matrix<A>(a), any_matrix<T>(b), to.rows, to.columns, a.columns, any_store<C>(to, false),
                       stream);
    }
};

template <typename T>
ridge_status linear_loss_own_unfused(const linear_loss_call &c) {
    using G = gradient_type<T>;
    return linear_loss_unfused<T, G>(c, own_products<T, G>{c.stream});
}

/* cuBLASLt's products. */
struct library_products {
    const linear_loss_call &c;
    const ce_cuda_plans *plans;
    ridge_dtype dtype;
    void *workspace;

    ridge_status operator()(int number, const matrix_view &to, const matrix_view &a, const matrix_view &b) const {
        if (!to.by_rows()) return (*this)(number, transposed(to), b, a);
        cublaslt_shape s = {};
        s.rows = to.rows, s.depth = a.columns, s.classes = to.columns, s.batch = 1;
        s.turned = b.by_rows(), s.x_turned = !a.by_rows();
        s.dtype = dtype, s.to = number == CE_LOGITS ? RIDGE_F32 : dtype;
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
    const size_t behind = linear_unfused_scratch_of(c.x.rows, c.w.rows, sizeof(G)).bytes;
    const library_products multiply = {c, (const ce_cuda_plans *)call->plan, call->dtype, c.scratch + behind};
    return linear_loss_unfused<T, G>(c, multiply);
}

/* Compiles all that linear/loss_call.cuh declares of a type. */
#define RIDGE_LINEAR_LOSS_OF(T)                                                 \
    template ridge_status linear_loss_forward<T>(const linear_loss_call &);     \
    template ridge_status linear_loss_gradient<T>(const linear_loss_call &);    \
    template ridge_status linear_loss_own_unfused<T>(const linear_loss_call &); \
    template ridge_status linear_loss_library_unfused<T>(const linear_loss_call &, const ridge_call *);

}  // namespace ridge

#endif
