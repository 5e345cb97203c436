/* Softmax cross-entropy of a linear layer in fp32 on Hopper's tensor cores: three products of hi and lo parts
 * (gemm/split.cuh) in place of each, to 2^-21 of |a| |b|.
 *
 * Every product's operands are split first, lines along what is summed over, whichever way they lie: x and w for the
 * logits; their gradients G and w for dx; G and x, both transposed, for dw. Then as with 16 bits: logits stay in
 * registers, exponentials and gradients go where G is.
 *
 * An infinity has no lo part. Where an operand has one, every product is made again by fp32 multiply-adds: these
 * launches stand behind the others and find that there is nothing to do. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_SPLIT_CUH

#include "cuda/epilogue/scale.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"
#include "cuda/linear/loss_call.cuh"

namespace ridge {

/* One operand's hi and lo parts; lines run along `depth`. */
struct split_side {
    __half *to;
    float *undo;
    unsigned *infinite;

    split_lines lines(const matrix_view &m, int padded) const {
        return {(const float *)m.base, m.line, (int)m.rows, (int)m.columns, padded, to, undo, infinite, split_fours(m)};
    }
    split_columns columns(const matrix_view &m, int padded) const {
        split_columns s = {};
        s.from = (const float *)m.base, s.stride = m.step;
        s.heads = 1, s.columns = (int)m.rows, s.depth = (int)m.columns, s.padded = padded;
        s.wide = (int)((m.rows + 7) / 8 * 8);
        s.fours = is_aligned16(m.base) && m.rows % 4 == 0 && m.step % 4 == 0;
        s.to = to, s.undo = undo, s.infinite = infinite;
        return s;
    }
    matrix_lines x_parts(const matrix_view &m, int padded) const {
        return {to, 2 * (int64_t)padded, m.rows, 2 * (int64_t)padded};
    }
};

/* The products of a call whose scratch has room for hi and lo parts. T: float, so that nobody else has their kernels.
 */
template <typename T>
struct split_products {
    static constexpr int TILE = split_tile::N;
    static_assert(TILE == 128, "as linear_split_classes has it");
    const linear_loss_call &c;

    unsigned *infinite(void) const { return c.part<unsigned>(c.at.infinite); }
    split_side left(void) const { return {c.part<__half>(c.at.left), c.part<float>(c.at.left_undo), infinite()}; }
    split_side right(void) const { return {c.part<__half>(c.at.right), c.part<float>(c.at.right_undo), infinite()}; }

    ridge_status begin(void) const { return clear_memory(infinite(), sizeof(unsigned), c.stream); }
    static int padded(const matrix_view &m) { return (int)((m.columns + SPLIT_SLICE - 1) / SPLIT_SLICE * SPLIT_SLICE); }
    ridge_status split(const matrix_view &a, const matrix_view &b) const {
        const split_side l = left(), r = right();
        const int depth = padded(a);
        if (a.by_rows() && b.by_rows()) return split_both(l.lines(a, depth), r.lines(b, depth), c.stream);
        if (a.by_rows()) return split_both(l.lines(a, depth), r.columns(b, depth), c.stream);
        if (b.by_rows()) return split_both(r.lines(b, depth), l.columns(a, depth), c.stream);
        return split_both(l.columns(a, depth), r.columns(b, depth), c.stream);
    }
    /* The right one alone: beside no lines of the left. */
    ridge_status split_right(const matrix_view &b) const {
        matrix_view none = b;
        none.rows = 0, none.line = b.columns, none.step = 1;
        return split(none, b);
    }
    /* A B^T for A: [m, k], B: [n, k], which have been split. out: where the epilogue has what undoes scales. run: see
     * matmul_plan. */
    template <class Epilogue, class Out>
    ridge_status multiply(const matrix_view &a, const matrix_view &b, Epilogue &e, Out &out, int run = 1) const {
        out.row_undo = left().undo, out.column_undo = right().undo;
        matmul_plan plan = matmul_whole(padded(a), SPLIT_SLICE, 8);
        plan.low = plan.slices, plan.run = run;
        return matmul_run<split_tile>(left().x_parts(a, padded(a)), right().x_parts(b, padded(a)), a.rows, b.rows, plan,
                                      e, c.stream);
    }
    /* to = A B^T. */
    ridge_status run_to(const matrix_view &a, const matrix_view &b, const matrix_view &to) const {
        if (!to.by_rows()) return run_to(b, a, transposed(to));
        scaled_epilogue<TILE> e = {};
        e.c = (T *)to.base, e.stride = to.line, e.rows = (int)to.rows, e.columns = (int)to.columns;
        e.pairs = (uintptr_t)e.c % 8 == 0 && e.stride % 2 == 0 && e.columns % 2 == 0;
        RIDGE_TRY(split(a, b));
        RIDGE_TRY(multiply(a, b, e, e));
        return any_run(any_matrix<T>(a), any_matrix<T>(b), to.rows, to.columns, a.columns, any_store<T>(to, false),
                       c.stream, 1, infinite());
    }
};

}  // namespace ridge

#endif
