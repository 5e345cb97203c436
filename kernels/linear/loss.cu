/* The cross-entropies by way of logits in memory: see loss.h. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/linear/loss_call.cuh"
#include "cuda/linear/loss_shares.cuh"
#include "linear/loss_rows.cuh"
#include "linear/product.cuh"

extern "C" {
#include "linear/loss.h"
}

namespace ridge {
namespace {

/* Rows [first, first + rows) of a call. */
struct loss_chunk {
    const ridge_call *call;
    const linear_loss_plan &l;
    const ce_places &at;
    const linear_product *of;
    int64_t first, rows;

    cudaStream_t stream(void) const { return stream_of(call); }
    template <typename V>
    V *scratch(size_t offset) const {
        return (V *)((char *)call->scratch + offset);
    }
    template <typename V>
    V *tensor(const DLTensor *list, int place, int64_t begin = 0) const {
        return place < 0 ? NULL : (V *)ridge_data(&list[place]) + begin;
    }
    gradient_range *range(void) const { return l.ranged ? scratch<gradient_range>(l.range) : NULL; }
    /* Some rows of x or dx. */
    template <typename T>
    matrix_view of_chunk(const DLTensor &t) const {
        return some_rows<T>(view_of(t), first, rows);
    }
    ridge_status multiply(int product, void *a, void *b, void *c) const {
        return linear_multiply(call, of[product], {a, b, c}, scratch<char>(l.product));
    }
};

loss_of_logits rows_of(const loss_chunk &c) {
    loss_of_logits r = {};
    r.z = c.scratch<float>(c.l.z), r.line = c.l.line, r.rows = (int)c.rows, r.classes = (int)c.l.classes;
    r.bias = c.tensor<float>(c.call->in, CE_B);
    const DLTensor &labels = c.call->in[CE_LABELS];
    r.labels = label_view{ridge_data(&labels), labels.dtype.bits == 64} + c.first;
    r.dloss = c.tensor<float>(c.call->in, c.at.dloss, c.first);
    r.lse_in = c.tensor<float>(c.call->in, c.at.lse_in, c.first);
    const double *option = c.call->option;
    r.options = {option[CE_IGNORE], (float)option[CE_SMOOTHING], (float)option[CE_Z_LOSS]};
    r.loss = c.tensor<float>(c.call->out, c.at.loss, c.first);
    r.lse = c.tensor<float>(c.call->out, c.at.lse, c.first);
    return r;
}

gradient_pass pass_of(const loss_chunk &c, size_t gradient) {
    gradient_pass p = {};
    p.gradient = c.scratch<void>(gradient), p.stride = c.l.line;
    p.rows = (int)c.rows, p.classes = (int)c.l.classes;
    p.sums = c.scratch<float>(c.l.columns);
    p.range = c.range();
    return p;
}

/* Losses, and gradients of logits with the sums of their columns. */
template <typename G>
ridge_status rows_pass(const loss_chunk &c) {
    loss_of_logits r = rows_of(c);
    r.gradient = c.l.gradients ? c.scratch<void>(c.l.g) : NULL;
    RIDGE_TRY(linear_loss_rows(r, c.call->dtype, c.stream()));
    if (!c.l.gradients) return RIDGE_OK;
    return finish_gradient<G>(pass_of(c, c.l.g), false, c.tensor<float>(c.call->out, c.at.db), c.first > 0, c.stream());
}

/* The same of f16. Losses say what the range is; gradients that it does not hold are made again in fp32. */
ridge_status ranged_rows_pass(const loss_chunk &c) {
    const cudaStream_t stream = c.stream();
    loss_of_logits r = rows_of(c);
    RIDGE_TRY(clear_memory(c.range(), sizeof(gradient_range), stream));
    r.row = c.scratch<row_gradient>(c.l.row), r.range = c.range();
    RIDGE_TRY(linear_loss_rows(r, RIDGE_F16, stream));
    RIDGE_TRY(rows_to_range(r.row, (int)c.rows, (int)c.l.classes, c.range(), stream));
    r.rows_known = true, r.gradient = c.scratch<void>(c.l.g);
    RIDGE_TRY(linear_loss_rows(r, RIDGE_F16, stream));
    gradient_pass p = pass_of(c, c.l.g);
    RIDGE_TRY(sum_gradient<__half>(p, false, stream));
    r.gradient = c.scratch<void>(c.l.z), r.only_if = &c.range()->exact;
    RIDGE_TRY(linear_loss_rows(r, RIDGE_F32, stream));
    p = pass_of(c, c.l.z), p.only_if = &c.range()->exact;
    RIDGE_TRY(sum_gradient<float>(p, false, stream));
    return add_gradient_sums(p, c.tensor<float>(c.call->out, c.at.db), c.first > 0, c.range(), stream);
}

/* What a product left in fp32, dense: stored in the tensor, or added. */
template <typename T>
ridge_status store_apart(const loss_chunk &c, size_t from, const matrix_view &to, bool add) {
    sums_of_shares<T> s = {};
    s.sums = c.scratch<float>(from), s.stride = to.columns, s.shares = 1;
    s.rows = (int)to.rows, s.columns = (int)to.columns;
    s.to = (T *)to.base, s.to_stride = to.line, s.to_step = to.step;
    s.add = add, s.range = c.range();
    return add_all_shares(s, c.stream());
}

/* Where gradients are fp32 in the place of logits: to = a b^T, by multiply-adds. */
ridge_status multiply_exact(const loss_chunk &c, const matrix_view &a, const matrix_view &b, const matrix_view &to) {
    const gradient_range *range = c.range();
    return any_run(any_matrix<float>(a), any_matrix<__half>(b), to.rows, to.columns, a.columns,
                   any_store<__half>(to, false, &range->undo), c.stream(), 1, &range->exact);
}

template <typename T>
ridge_status gradients(const loss_chunk &c) {
    const DLTensor *in = c.call->in, *out = c.call->out;
    void *const g = c.scratch<void>(c.l.g), *const w = ridge_data(&in[CE_W]);
    const matrix_view x = c.of_chunk<T>(in[CE_X]), dx = c.of_chunk<T>(out[c.at.dx]), dw = view_of(out[c.at.dw]);
    RIDGE_TRY(c.multiply(CE_TO_DX, g, w, c.l.dx_apart ? c.scratch<void>(c.l.dx) : dx.base));
    if (c.l.dx_apart) RIDGE_TRY(store_apart<T>(c, c.l.dx, dx, false));
    RIDGE_TRY(c.multiply(CE_TO_DW, g, x.base, c.l.dw_apart ? c.scratch<void>(c.l.dw) : dw.base));
    if (c.l.dw_apart) RIDGE_TRY(store_apart<T>(c, c.l.dw, dw, c.first > 0));
    if constexpr (std::is_same_v<T, __half>) {
        const matrix_view exact = {c.scratch<void>(c.l.z), c.rows, c.l.classes, c.l.line, 1};
        RIDGE_TRY(multiply_exact(c, exact, transposed(view_of(in[CE_W])), dx));
        return multiply_exact(c, transposed(exact), transposed(x), dw);
    }
    return RIDGE_OK;
}

template <typename T>
ridge_status run_chunk(const loss_chunk &c) {
    const matrix_view x = c.of_chunk<T>(c.call->in[CE_X]);
    RIDGE_TRY(c.multiply(CE_LOGITS, x.base, ridge_data(&c.call->in[CE_W]), c.scratch<void>(c.l.z)));
    if constexpr (std::is_same_v<T, __half>)
        RIDGE_TRY(c.l.gradients ? ranged_rows_pass(c) : rows_pass<T>(c));
    else
        RIDGE_TRY(rows_pass<T>(c));
    return c.l.gradients ? gradients<T>(c) : RIDGE_OK;
}

/* Nothing to sum over: gradients are zero. */
template <typename T>
ridge_status no_rows(const ridge_call *call, const ce_places &at) {
    const matrix_view w = view_of(call->in[CE_W]), dw = view_of(call->out[at.dw]);
    RIDGE_TRY(
        any_run(any_matrix<T>(w), any_matrix<T>(w), dw.rows, dw.columns, 0, any_store<T>(dw, false), stream_of(call)));
    return clear_memory(ridge_data(&call->out[at.db]), sizeof(float) * (size_t)dw.rows, stream_of(call));
}

}  // namespace
}  // namespace ridge

extern "C" ridge_status linear_loss_cuda(const ridge_call *call) {
    using namespace ridge;
    const ce_places &at = *(const ce_places *)call->way->own;
    const int outputs = (at.loss >= 0) + (at.lse >= 0) + (at.dx >= 0) + (at.dw >= 0) + (at.db >= 0);
    const ridge_problem p = problem_of(call, 3, 4 + (at.lse_in >= 0) + (at.dloss >= 0), outputs);
    const linear_loss_plan l = linear_loss_of(&at, &p);
    if (l.plan.refusal) return RIDGE_UNSUPPORTED;
    return with_storage(ridge_dtype_stored(call->dtype), [&]<typename T>() {
        if (l.rows == 0) return l.gradients ? no_rows<T>(call, at) : RIDGE_OK;
        for (int64_t first = 0; first < l.rows; first += l.chunk) {
            const int64_t rows = l.rows - first < l.chunk ? l.rows - first : l.chunk;
            RIDGE_TRY(run_chunk<T>({call, l, at, rows < l.chunk ? l.of_last : l.of, first, rows}));
        }
        return RIDGE_OK;
    });
}
