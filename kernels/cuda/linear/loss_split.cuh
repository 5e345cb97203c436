/* Softmax cross-entropy of a linear layer in fp32 on Hopper's tensor cores: three products of hi and lo parts
 * (gemm/split.cuh) in place of each, to 2^-21 of |a| |b|; in tf32 one product of the hi parts, which have tf32's 11
 * bits.
 *
 * Every product's operands are split first, lines along what is summed over, whichever way they lie: x and w for the
 * logits; their gradients G and w for dx; G and x, both transposed, for dw. Then as with 16 bits: logits stay in
 * registers, exponentials and gradients go where G is.
 *
 * An infinity has no lo part, and no scale. Where an operand has one, every product is made again by fp32
 * multiply-adds: these launches stand behind the others and find that there is nothing to do. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_SPLIT_CUH

#include "cuda/epilogue/scale.cuh"
#include "cuda/gemm/any.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"
#include "cuda/linear/loss_shares.cuh"

namespace ridge {

/* Products of many waves of tiles of 128 x 256, whose blocks keep pace. */
inline bool linear_keeps_pace(int64_t m, int64_t n, int64_t k) {
    return (double)m * (double)n > 2.0 * 132 * 128 * 256 && k >= 1024;
}

/* The products of a call whose scratch has room for its operands' parts. T: float, so that nobody else has their
 * kernels. */
template <typename T, class Tile>
struct split_products {
    static constexpr int Parts = Tile::parts, TILE = Tile::N;
    using side = split_side<Parts>;
    static_assert(TILE == LINEAR_SPLIT_TILE(Parts) || TILE == LINEAR_TILE_NARROW, "as linear_split_classes has it");
    const linear_loss_call &c;

    unsigned *infinite(void) const { return c.part<unsigned>(c.at.infinite); }
    unsigned *most(void) const { return c.part<unsigned>(c.at.most); }
    side left(void) const { return {c.part<__half>(c.at.left), c.part<float>(c.at.left_undo), infinite(), most()}; }
    side right(void) const {
        return {c.part<__half>(c.at.right), c.part<float>(c.at.right_undo), infinite(), most() + SPLIT_FEW};
    }

    ridge_status begin(void) const { return clear_memory(infinite(), sizeof(unsigned), c.stream); }
    static int padded(const matrix_view &m) { return (int)((m.columns + SPLIT_SLICE - 1) / SPLIT_SLICE * SPLIT_SLICE); }
    ridge_status split(const matrix_view &a, const matrix_view &b) const {
        return split_sides(left(), a, right(), b, padded(a), c.stream);
    }
    /* The right one alone: beside no lines of the left. */
    ridge_status split_right(const matrix_view &b) const {
        matrix_view none = b;
        none.rows = 0, none.line = b.columns, none.step = 1;
        return split(none, b);
    }
    /* A B^T for A: [m, k], B: [n, k], which have been split. out: where the epilogue has what undoes scales. keep_a,
     * run: see matmul_plan; shares: see matmul_run. */
    template <class Epilogue, class Out>
    ridge_status multiply(const matrix_view &a, const matrix_view &b, Epilogue &e, Out &out, bool keep_a = false,
                          int run = 1, int shares = 1) const {
        out.row_undo = left().undo, out.column_undo = right().undo;
        matmul_plan plan = matmul_whole(padded(a), SPLIT_SLICE, 8, Parts == 1 && keep_a);
        plan.low = plan.slices, plan.run = run;
        plan.slices = (plan.slices + shares - 1) / shares;
        if (Parts == 1 && linear_keeps_pace(a.rows, b.rows, a.columns)) {
            plan.progress = c.part<unsigned>(c.at.progress);
            RIDGE_TRY(clear_memory(plan.progress, sizeof *plan.progress, c.stream));
        }
        return matmul_run<Tile>(left().parts(a, padded(a)), right().parts(b, padded(a)), a.rows, b.rows, plan, e,
                                c.stream, shares);
    }
    /* to = A B^T. */
    ridge_status run_to(const matrix_view &a, const matrix_view &b, const matrix_view &to) const {
        if (!to.by_rows()) return run_to(b, a, transposed(to));
        if constexpr (Parts == 2) return run_by_rows(a, b, to);
        if (to.columns <= LINEAR_TILE_NARROW) return split_products<T, narrow_tile<__half>>{c}.run_by_rows(a, b, to);
        return split_products<T, half_tile>{c}.run_by_rows(a, b, to);
    }
    ridge_status run_by_rows(const matrix_view &a, const matrix_view &b, const matrix_view &to) const {
        scaled_epilogue<TILE> e = {};
        e.c = (T *)to.base, e.stride = to.line, e.rows = (int)to.rows, e.columns = (int)to.columns;
        e.pairs = (uintptr_t)e.c % 8 == 0 && e.stride % 2 == 0 && e.columns % 2 == 0;
        const int shares = linear_split_shares(to.rows, to.columns, a.columns, Parts);
        const sums_of_shares<T> s = shares_of<T>(c, to, shares);
        if (shares > 1) {
            e.c = s.sums, e.stride = s.stride, e.pairs = true;
            e.across = (e.columns + TILE - 1) / TILE, e.next = s.next;
        }
        RIDGE_TRY(split(a, b));
        RIDGE_TRY(multiply(a, b, e, e, false, 1, shares));
        if (shares > 1) RIDGE_TRY(add_all_shares(s, c.stream));
        return any_run(any_matrix<T>(a), any_matrix<T>(b), to.rows, to.columns, a.columns, any_store<T>(to, false),
                       c.stream, 1, infinite());
    }
};

}  // namespace ridge

#endif
