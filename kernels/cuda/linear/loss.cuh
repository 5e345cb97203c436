/* Softmax cross-entropy of a linear layer, forward and backward, on a GPU: the order of its kernels.
 *
 * Forward: logits tile by tile, never in memory: a few numbers for each row and part of the classes, then the losses.
 *
 * Backward: for as many rows at a time as LINEAR_GRADIENT_BYTES hold the gradients of: gradients from logits computed
 * again, then the products with w and with x.
 *
 * Both: the forward's tiles leave their exponentials where the gradients will be; when the rows' sums are known a pass
 * makes them gradients. So the logits are computed once.
 *
 * Who makes the products is a way (linear/loss_ways.h): Hopper's tensor cores, of 16-bit operands or of fp32 ones in hi
 * and lo parts, or fp32 multiply-adds. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_CUH

#include "cuda/epilogue/gradient.cuh"
#include "cuda/gemm/any_gradients.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/linear/few_rows.cuh"
#include "cuda/linear/loss_call.cuh"
#include "cuda/linear/loss_shares.cuh"
#include "cuda/linear/loss_split.cuh"
#include "cuda/linear/loss_thin.cuh"

namespace ridge {

/* The gradients' matrix, of `rows` rows from the chunk's first on. */
template <typename G>
matrix_view gradient_of(const linear_loss_call &c, int64_t rows) {
    return {c.part<G>(c.at.gradient), rows, c.w.rows, c.at.gradient_stride, 1};
}

/* A row's parts; another number of them where operands have infinities: see linear/loss_split.cuh. */
struct parts_layout {
    int count;
    const unsigned *infinite; /* NULL: never */
    int exact_count;
};
/* Parts to losses and, where they are wanted, gradients' rows. */
inline ridge_status losses_from_parts(const linear_loss_call &c, int64_t first, int64_t rows, parts_layout parts) {
    loss_rows r = loss_rows_of(c, first, rows);
    r.count = parts.count, r.infinite = parts.infinite, r.exact_count = parts.exact_count;
    return launch_overlapping(finish_losses, {dim3((unsigned)((rows + 31) / 32)), 256}, c.stream, device_overlaps(), r);
}

/* Rows of gradients whose range is noted: before they are made, and when they have been. */
inline ridge_status begin_range(const linear_loss_call &c) {
    return c.range() ? clear_memory(c.range(), sizeof(gradient_range), c.stream) : RIDGE_OK;
}
inline ridge_status rows_in_range(const linear_loss_call &c, int64_t first, int64_t rows) {
    if (!c.range()) return RIDGE_OK;
    return rows_to_range(c.part<row_gradient>(c.at.rows) + first, (int)rows, c.classes(), c.range(), c.stream);
}

inline ridge_status rows_from_lse(const linear_loss_call &c) {
    RIDGE_TRY(begin_range(c));
    RIDGE_TRY(launch_overlapping(prepare_rows, {dim3((unsigned)((c.rows() + 255) / 256)), 256}, c.stream,
                                 device_overlaps(), c.given_lse, c.dloss, c.labels, c.part<row_gradient>(c.at.rows),
                                 c.rows(), c.classes(), c.options, c.range()));
    return rows_in_range(c, 0, c.rows());
}

/* The chunk's matrix becomes final gradients, and their sums go to db. tile: 0, or of the exponentials that it has;
 * exact_tile: where operands have infinities. */
inline gradient_pass gradient_pass_of(const linear_loss_call &c, int64_t first, int64_t rows, int tile) {
    gradient_pass p = {};
    p.gradient = c.part<void>(c.at.gradient);
    p.stride = c.at.gradient_stride;
    p.rows = (int)rows;
    p.classes = c.classes();
    p.tile = tile;
    p.row = c.part<row_gradient>(c.at.rows) + first;
    p.shifts = c.part<float>(c.at.shifts);
    p.sums = c.part<float>(c.at.columns);
    return p;
}
template <typename G>
ridge_status gradient_sums(const linear_loss_call &c, int64_t first, int64_t rows, int tile,
                           const unsigned *infinite = NULL, int exact_tile = 0) {
    gradient_pass p = gradient_pass_of(c, first, rows, tile);
    p.infinite = infinite, p.exact_tile = exact_tile;
    return finish_gradient<G>(p, tile > 0, c.db, first > 0, c.stream);
}

/* ---- by fp32 multiply-adds: any types, strides and alignment ---- */

template <typename T, typename G>
struct linear_by_fp32 {
    /* One launch makes dx, dw and db. */
    static bool few(const linear_loss_call &c) {
        return any_is_few(c.x.rows, c.x.columns, c.w.rows) && c.at.chunk == c.x.rows;
    }
    template <bool Keep>
    static ridge_status statistics(const linear_loss_call &c, int64_t first, int64_t rows, any_plan plan) {
        RIDGE_TRY(parts<Keep>(c, first, rows, plan, NULL));
        return losses_from_parts(c, first, rows, {count(c, plan.tiles), NULL, 0});
    }
    static int count(const linear_loss_call &c, any_tiles tiles) {
        const int side = any_side(tiles);
        return parts_count(c.w.rows, side, side / any_span(tiles));
    }
    template <bool Keep>
    static ridge_status parts(const linear_loss_call &c, int64_t first, int64_t rows, any_plan plan,
                              const unsigned *only_if) {
        const int side = any_side(plan.tiles), run = parts_run(c.w.rows, side, side / any_span(plan.tiles));
        return (run > 1 ? parts_of<Keep, true> : parts_of<Keep, false>)(c, first, rows, plan, run, only_if);
    }
    template <bool Keep, bool Several>
    static ridge_status parts_of(const linear_loss_call &c, int64_t first, int64_t rows, any_plan plan, int run,
                                 const unsigned *only_if) {
        const matrix_view x = some_rows<T>(c.x, first, rows);
        any_statistics<G, Keep, Several> e = {};
        e.bias = c.bias;
        e.labels = c.labels + first;
        e.parts = c.part<softmax_part>(c.at.parts);
        e.logit_sums = c.smooth() ? c.part<float>(c.at.logit_sums) : NULL;
        e.label_logit = c.part<float>(c.at.label_logit) + first;
        e.rows = rows;
        e.classes = c.w.rows;
        e.exponentials = c.part<kept_type<G>>(c.at.gradient);
        e.stride = c.at.gradient_stride;
        e.shifts = c.part<float>(c.at.shifts);
        return any_run_as(plan, any_matrix<T>(x), any_matrix<T>(c.w), rows, c.w.rows, x.columns, run, e, c.stream, 1,
                          only_if);
    }
    /* Losses and, where they are wanted, final gradients of rows that are whole. */
    static ridge_status losses_of_whole(const linear_loss_call &c, int64_t first, int64_t rows, any_plan plan) {
        const matrix_view x = some_rows<T>(c.x, first, rows);
        const any_losses<G> e = {c.bias, loss_rows_of(c, first, rows), c.dloss ? c.part<G>(c.at.gradient) : NULL,
                                 c.at.gradient_stride};
        return any_run_as(plan, any_matrix<T>(x), any_matrix<T>(c.w), rows, c.w.rows, x.columns, 1, e, c.stream);
    }
    static ridge_status sums(const linear_loss_call &c, int64_t first, int64_t rows) {
        return few(c) ? RIDGE_OK : gradient_sums<G>(c, first, rows, 0);
    }

    static ridge_status losses(const linear_loss_call &c) {
        const any_limits device = any_device();
        const linear_fp32_plan plan = linear_fp32_plan_of(&device, c.x.rows, c.w.rows, c.x.columns);
        if (plan.whole) return losses_of_whole(c, 0, c.x.rows, plan.product);
        return statistics<false>(c, 0, c.x.rows, plan.product);
    }
    static ridge_status losses_and_gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        const any_limits device = any_device();
        const linear_fp32_plan plan = linear_fp32_plan_of(&device, c.x.rows, c.w.rows, c.x.columns);
        if (plan.whole) {
            RIDGE_TRY(losses_of_whole(c, first, rows, plan.product));
            return sums(c, first, rows);
        }
        RIDGE_TRY(statistics<true>(c, first, rows, plan.product));
        return gradient_sums<G>(c, first, rows, any_span(plan.product.tiles));
    }
    static ridge_status gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        RIDGE_TRY(gradient_only(c, first, rows, NULL));
        return sums(c, first, rows);
    }
    static ridge_status gradient_only(const linear_loss_call &c, int64_t first, int64_t rows, const unsigned *only_if) {
        const matrix_view x = some_rows<T>(c.x, first, rows);
        any_gradient<G> e = {
            c.bias,  c.part<row_gradient>(c.at.rows) + first, c.part<G>(c.at.gradient), c.at.gradient_stride, rows,
            c.w.rows};
        return any_run(any_matrix<T>(x), any_matrix<T>(c.w), rows, c.w.rows, x.columns, e, c.stream, 1, only_if);
    }
    static ridge_status products(const linear_loss_call &c, int64_t first, int64_t rows) {
        const matrix_view g = gradient_of<G>(c, rows), x = some_rows<T>(c.x, first, rows);
        const matrix_view dx = some_rows<T>(c.dx, first, rows), w = transposed(c.w);
        if (few(c)) return few_gradients_run<G, T>(g, c.w, x, dx, c.dw, c.db, c.stream);
        RIDGE_TRY((product<G, T>(c, g, w, dx, false)));
        return product<G, T>(c, transposed(g), transposed(x), c.dw, first > 0);
    }
    /* to (+)= A B^T; of few tiles and a long depth in shares. */
    template <typename A, typename B>
    static ridge_status product(const linear_loss_call &c, const matrix_view &a, const matrix_view &b,
                                const matrix_view &to, bool add) {
        const any_split split = any_split_for(to.rows, to.columns, a.columns);
        if (split.shares > 1)
            return to.by_rows() ? product_in_shares<A, B>(c, a, b, to, add, split)
                                : product_in_shares<B, A>(c, b, a, transposed(to), add, split);
        return any_run(any_matrix<A>(a), any_matrix<B>(b), to.rows, to.columns, a.columns, any_store<T>(to, add),
                       c.stream);
    }
    template <typename A, typename B>
    static ridge_status product_in_shares(const linear_loss_call &c, const matrix_view &a, const matrix_view &b,
                                          const matrix_view &to, bool add, const any_split &split) {
        sums_of_shares<T> s = shares_of<T>(c, to, split.shares);
        s.add = add;
        RIDGE_TRY((any_run_shares<A, B>(split, a, b, {s.sums, s.stride, s.next, s.rows, s.columns}, c.stream)));
        return add_all_shares(s, c.stream);
    }
};

/* ---- by kernels that end with whole rows of logits: linear/loss_rows.cu ---- */

template <typename T>
struct linear_by_rows {
    using exact = linear_by_fp32<T, T>;

    static ridge_status losses(const linear_loss_call &c) { return linear_rows_losses(c, 0, c.x.rows, NULL); }
    static ridge_status losses_and_gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        return gradient(c, first, rows);
    }
    static ridge_status gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        RIDGE_TRY(linear_rows_losses(c, first, rows, c.part<float>(c.at.gradient)));
        return exact::sums(c, first, rows);
    }
    static ridge_status products(const linear_loss_call &c, int64_t first, int64_t rows) {
        return exact::products(c, first, rows);
    }
};

/* ---- the same for rows of any alignment: linear/loss_thin.cuh ---- */

template <typename T, typename G, bool Exact>
struct linear_by_thin {
    static ridge_status losses(const linear_loss_call &c) {
        return linear_thin_losses<T, G, Exact>(c, 0, c.x.rows, NULL);
    }
    static ridge_status losses_and_gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        return gradient(c, first, rows);
    }
    static ridge_status gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        return linear_thin_losses<T, G, Exact>(c, first, rows, c.part<G>(c.at.gradient));
    }
    static ridge_status products(const linear_loss_call &c, int64_t first, int64_t rows) {
        const matrix_view g = gradient_of<G>(c, rows);
        RIDGE_TRY((linear_thin_dx<T, G, Exact>(c, g, some_rows<T>(c.dx, first, rows))));
        return linear_thin_dw<T, G, Exact>(c, g, some_rows<T>(c.x, first, rows), first > 0);
    }
};

/* ---- by Hopper's tensor cores: 16 bits ---- */

template <typename T>
struct linear_by_wgmma {
    static constexpr int TILE = 256, SLICE = 64;
    static constexpr bool ranged = std::is_same_v<T, __half>; /* gradients have a gradient_range */
    using exact = linear_by_fp32<T, float>;

    /* Bands of 8 rows of clusters balance what is read of either operand. Blocks keep pace where that pays: in products
     * of many waves. */
    static matmul_plan plan(const linear_loss_call &c, int64_t m, int64_t n, int64_t k, int band) {
        matmul_plan p = matmul_whole(k, SLICE, band);
        if (linear_keeps_pace(m, n, k)) p.progress = c.part<unsigned>(c.at.progress);
        return p;
    }
    /* The parts of the classes that w has, from `column` on: whole units, or up to the last class. */
    template <bool Keep>
    static ridge_status parts(const linear_loss_call &c, int64_t first, int64_t rows, const matrix_view &w,
                              int64_t column) {
        const matrix_view x = some_rows<T>(c.x, first, rows);
        const int run = parts_run(c.w.rows, TILE);
        const int64_t part = column / (TILE * run) * rows;
        statistics_epilogue<T, TILE, Keep> e = {};
        if (Keep && !make_map<kept_type<T>>(&e.out.map, lines_of(gradient_of<kept_type<T>>(c, rows)), 64))
            return RIDGE_FAILED;
        e.bias = c.bias + column;
        e.labels = c.labels + first;
        e.parts = c.part<softmax_part>(c.at.parts) + part;
        e.logit_sums = c.smooth() ? c.part<float>(c.at.logit_sums) + part : NULL;
        e.label_logit = c.part<float>(c.at.label_logit) + first;
        e.shifts = c.part<float>(c.at.shifts);
        e.rows = (int)rows;
        e.columns = (int)w.rows, e.first = (int)column;
        matmul_plan p = plan(c, rows, w.rows, x.columns, 8);
        p.run = run;
        p.keep_a = true;
        return product<T>(x, w, p, e, c.stream);
    }
    template <bool Keep>
    static ridge_status statistics(const linear_loss_call &c, int64_t first, int64_t rows) {
        RIDGE_TRY(parts<Keep>(c, first, rows, c.w, 0));
        return losses_from_parts(c, first, rows, {parts_count(c.w.rows, TILE), NULL, 0});
    }
    /* w copied `some` classes at a time: whole units. */
    static ridge_status losses_of_copies(const linear_loss_call &c, const matrix_view &w, const linear_copy &x,
                                         void *to, int64_t stride, int64_t some) {
        for (int64_t column = 0; column < w.rows; column += some) {
            const matrix_view piece = some_rows<T>(w, column, w.rows - column < some ? w.rows - column : some);
            const matrix_view copy = linear_copied(piece, to, stride);
            const linear_copy none = {};
            RIDGE_TRY(linear_copy_both(sizeof(T), column == 0 ? x : none, linear_copy_of(piece, copy), c.stream));
            RIDGE_TRY(parts<false>(c, 0, c.x.rows, copy, column));
        }
        return losses_from_parts(c, 0, c.x.rows, {parts_count(w.rows, TILE), NULL, 0});
    }
    static ridge_status losses(const linear_loss_call &c) { return statistics<false>(c, 0, c.x.rows); }
    static ridge_status losses_and_gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        RIDGE_TRY(begin_range(c));
        RIDGE_TRY(statistics<true>(c, first, rows));
        RIDGE_TRY(rows_in_range(c, first, rows));
        return sums(c, first, rows, TILE);
    }
    /* The chunk's gradients are final afterwards, and db has their sums. tile: 0, or of the exponentials that they
     * were. Those that the range of f16 does not hold are made again, in fp32. */
    static ridge_status sums(const linear_loss_call &c, int64_t first, int64_t rows, int tile) {
        gradient_pass p = gradient_pass_of(c, first, rows, tile);
        if constexpr (ranged) {
            p.range = c.range();
            RIDGE_TRY(sum_gradient<T>(p, tile > 0, c.stream));
            p.only_if = &p.range->exact;
            RIDGE_TRY(exact::gradient_only(c, first, rows, p.only_if));
            RIDGE_TRY(sum_gradient<float>(p, false, c.stream));
            return add_gradient_sums(p, c.db, first > 0, p.range, c.stream);
        } else {
            return finish_gradient<T>(p, tile > 0, c.db, first > 0, c.stream);
        }
    }
    static ridge_status gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        const matrix_view x = some_rows<T>(c.x, first, rows);
        gradient_epilogue<T, TILE> e = {};
        if (!make_map<T>(&e.out.map, lines_of(gradient_of<T>(c, rows)), 64)) return RIDGE_FAILED;
        e.bias = c.bias;
        e.row_of = c.part<row_gradient>(c.at.rows) + first;
        e.rows = (int)rows;
        e.columns = c.classes();
        matmul_plan p = plan(c, rows, c.w.rows, x.columns, 8);
        p.keep_a = true;
        RIDGE_TRY(product<T>(x, c.w, p, e, c.stream));
        return sums(c, first, rows, 0);
    }
    /* to (+)= A B^T of few tiles. */
    static ridge_status product_in_shares(const linear_loss_call &c, const matrix_view &a, const matrix_view &b,
                                          const matrix_view &to, bool add, int shares) {
        if (!to.by_rows()) return product_in_shares(c, b, a, transposed(to), add, shares);
        sums_of_shares<T> s = shares_of<T>(c, to, shares);
        float_epilogue<T, TILE> e = {s.sums, s.stride, NULL, s.rows, s.columns};
        e.across = (s.columns + TILE - 1) / TILE, e.next = s.next;
        matmul_plan p = matmul_whole(a.columns, SLICE, 8);
        p.slices = (p.slices + shares - 1) / shares;
        RIDGE_TRY(product<T>(a, b, p, e, c.stream, shares));
        s.add = add, s.range = ranged ? c.range() : NULL;
        return add_all_shares(s, c.stream);
    }
    /* to (+)= A B^T; a: the chunk's gradients, or their transpose. */
    static ridge_status product_of(const linear_loss_call &c, const matrix_view &a, const matrix_view &b,
                                   const matrix_view &to, bool add, const matmul_plan &p) {
        const int shares = linear_split_shares(to.rows, to.columns, a.columns, 0);
        if constexpr (ranged) {
            const gradient_range *range = c.range();
            ranged_store_epilogue<TILE, false> sets = {};
            ranged_store_epilogue<TILE, true> adds = {};
            sets.range = adds.range = range;
            RIDGE_TRY(shares > 1 ? product_in_shares(c, a, b, to, add, shares)
                                 : product_by<T>(a, b, to, add, p, c.stream, sets, adds));
            return any_run(any_matrix<float>(a), any_matrix<T>(b), to.rows, to.columns, a.columns,
                           any_store<T>(to, add, &range->undo), c.stream, 1, &range->exact);
        } else {
            return shares > 1 ? product_in_shares(c, a, b, to, add, shares) : product_to<T>(a, b, to, add, p, c.stream);
        }
    }
    static ridge_status products(const linear_loss_call &c, int64_t first, int64_t rows) {
        const matrix_view g = gradient_of<T>(c, rows), x = some_rows<T>(c.x, first, rows);
        const matrix_view dx = some_rows<T>(c.dx, first, rows);
        RIDGE_TRY(product_of(c, g, transposed(c.w), dx, false, plan(c, rows, dx.columns, c.w.rows, 8)));
        matmul_plan p = plan(c, c.dw.rows, c.dw.columns, rows, 8);
        p.panel = 8; /* of x, half of what L2 holds for either half of the GPU */
        p.keep_b = true;
        return product_of(c, transposed(g), transposed(x), c.dw, first > 0, p);
    }
};

/* ---- by the same, fp32 split in hi and lo parts, tf32 in hi parts alone: all rows at once ---- */

template <typename T, class Tile>
struct linear_by_split {
    using exact = linear_by_fp32<T, T>;
    using products_of = split_products<T, Tile>;
    static constexpr int TILE = products_of::TILE;

    static any_plan exact_plan(const linear_loss_call &c) {
        const any_limits device = any_device();
        return any_plan_for(&device, c.x.rows, c.w.rows, c.x.columns, linear_columns_least(c.x.rows, c.w.rows));
    }
    /* The parts of all classes, `some` at a time: whole units, or all. */
    template <bool Keep>
    static ridge_status parts(const linear_loss_call &c, int64_t some) {
        const products_of products = {c};
        const int run = parts_run(c.w.rows, TILE);
        statistics_epilogue<T, TILE, Keep> e = {};
        e.out.c = c.part<T>(c.at.gradient), e.out.stride = c.at.gradient_stride;
        e.labels = c.labels;
        e.label_logit = c.part<float>(c.at.label_logit);
        e.shifts = c.part<float>(c.at.shifts);
        e.rows = c.rows();
        for (int64_t first = 0; first < c.w.rows; first += some) {
            const int64_t part = first / (TILE * run) * c.x.rows;
            const matrix_view w = some_rows<T>(c.w, first, c.w.rows - first < some ? c.w.rows - first : some);
            e.bias = c.bias + first;
            e.parts = c.part<softmax_part>(c.at.parts) + part;
            e.logit_sums = c.smooth() ? c.part<float>(c.at.logit_sums) + part : NULL;
            e.columns = (int)w.rows, e.first = (int)first;
            RIDGE_TRY(first == 0 ? products.split(c.x, w) : products.split_right(w));
            RIDGE_TRY(products.multiply(c.x, w, e, e.out, true, run));
        }
        return RIDGE_OK;
    }
    template <bool Keep>
    static ridge_status statistics(const linear_loss_call &c) {
        const products_of products = {c};
        RIDGE_TRY(products.begin());
        RIDGE_TRY(parts<Keep>(c, Keep ? c.w.rows : linear_split_classes(c.w.rows, c.w.columns, Tile::parts)));
        RIDGE_TRY(exact::template parts<Keep>(c, 0, c.x.rows, exact_plan(c), products.infinite()));
        return losses_from_parts(
            c, 0, c.x.rows, {parts_count(c.w.rows, TILE), products.infinite(), exact::count(c, exact_plan(c).tiles)});
    }
    static ridge_status losses(const linear_loss_call &c) { return statistics<false>(c); }
    static ridge_status losses_and_gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        RIDGE_TRY(statistics<true>(c));
        return gradient_sums<T>(c, first, rows, TILE, products_of{c}.infinite(), any_span(exact_plan(c).tiles));
    }
    static ridge_status gradient(const linear_loss_call &c, int64_t first, int64_t rows) {
        const products_of products = {c};
        gradient_epilogue<T, TILE> e = {};
        e.out.c = c.part<T>(c.at.gradient), e.out.stride = c.at.gradient_stride;
        e.bias = c.bias;
        e.row_of = c.part<row_gradient>(c.at.rows);
        e.rows = (int)rows;
        e.columns = c.classes();
        RIDGE_TRY(products.begin());
        RIDGE_TRY(products.split(c.x, c.w));
        RIDGE_TRY(products.multiply(c.x, c.w, e, e.out, true));
        RIDGE_TRY(exact::gradient_only(c, first, rows, products.infinite()));
        return gradient_sums<T>(c, first, rows, 0);
    }
    static ridge_status products(const linear_loss_call &c, int64_t, int64_t rows) {
        const matrix_view g = gradient_of<T>(c, rows);
        const products_of products = {c};
        RIDGE_TRY(products.run_to(g, transposed(c.w), c.dx));
        return products.run_to(transposed(g), transposed(c.x), c.dw);
    }
};

/* ---- the order, whoever makes the products ---- */

/* With the rows' sums given, or computed on the way. */
template <class By>
ridge_status linear_gradient_by(const linear_loss_call &c) {
    for (int64_t first = 0; first < c.x.rows; first += c.at.chunk) {
        const int64_t rows = c.x.rows - first < c.at.chunk ? c.x.rows - first : c.at.chunk;
        RIDGE_TRY(c.given_lse ? By::gradient(c, first, rows) : By::losses_and_gradient(c, first, rows));
        RIDGE_TRY(By::products(c, first, rows));
    }
    return RIDGE_OK;
}

/* As linear_gradient_dtype has it, of multiply-adds. */
template <typename T>
using gradient_type = std::conditional_t<std::is_same_v<T, __nv_bfloat16>, T, float>;

/* ---- the operations ---- */

inline bool linear_is_narrow(const linear_loss_call &c) { return c.w.rows <= LINEAR_TILE_NARROW; }
inline bool linear_fits(const linear_loss_call &c) { return c.x.rows <= INT32_MAX && c.w.rows <= INT32_MAX; }

/* The facts of a call whose operands are copies. */
inline linear_loss_facts linear_facts_of(const linear_loss_call &c) {
    linear_loss_facts f = {};
    f.dtype = c.dtype, f.bytes = (int)ridge_dtype_size(c.dtype);
    f.batch = c.x.rows, f.depth = c.x.columns, f.classes = c.w.rows;
    f.gradients = c.dloss != NULL, f.forward = c.given_lse == NULL;
    f.x = linear_facts_of(c.x), f.w = linear_facts_of(c.w), f.dx = linear_facts_of(c.dx), f.dw = linear_facts_of(c.dw);
    f.sm = device_capability(), f.sm_count = device_limit(cudaDevAttrMultiProcessorCount);
    return f;
}

/* Operands copied to aligned memory, the depth filled up with zeros, then by the way that suits the copies: `run`, of
 * their call. Gradients of 16 bits are copied back. */
template <typename T, typename F>
ridge_status linear_loss_by_copies(const linear_loss_call &c, const F &run) {
    const bool gradients = c.dloss != NULL, back = gradients && sizeof(T) == 2;
    const linear_loss_copies at = linear_loss_copies_of(c.x.rows, c.x.columns, c.w.rows, sizeof(T), gradients);
    linear_loss_call d = c;
    d.x = linear_copied(c.x, c.scratch + at.x, 0), d.w = linear_copied(c.w, c.scratch + at.w, at.w_stride);
    if (back)
        d.dx = linear_copied(c.dx, c.scratch + at.dx, 0), d.dw = linear_copied(c.dw, c.scratch + at.dw, at.w_stride);
    d.scratch = c.scratch + at.bytes;
    const auto prepare = [&](int way) {
        d.way = way;
        d.at = linear_loss_scratch_of(way, d.x.rows, d.x.columns, d.w.rows, d.dtype, gradients);
    };
    if constexpr (sizeof(T) == 2)
        if (!gradients && at.classes < c.w.rows) {
            prepare(LINEAR_LOSS_TILES);
            return linear_by_wgmma<T>::losses_of_copies(d, c.w, linear_copy_of(c.x, d.x), c.scratch + at.w, at.w_stride,
                                                        at.classes);
        }
    RIDGE_TRY(linear_copy_both(sizeof(T), linear_copy_of(c.x, d.x), linear_copy_of(c.w, d.w), c.stream));
    linear_loss_facts f = linear_facts_of(d);
    f.copies = true;
    ridge_status status = RIDGE_UNSUPPORTED;
    for (unsigned tried = 0; status == RIDGE_UNSUPPORTED; tried |= 1u << d.way) {
        const int way = linear_loss_of_copied(&f, tried);
        if (way < 0) return RIDGE_UNSUPPORTED;
        prepare(way);
        status = run(d);
    }
    if (status != RIDGE_OK || !back) return status;
    RIDGE_TRY(linear_copy_back(d.dx, c.dx, c.stream));
    return linear_copy_back(d.dw, c.dw, c.stream);
}

/* fp32 by three products, other types by one. */
template <typename T, typename F>
ridge_status with_thin(const linear_loss_call &c, const F &f) {
    if constexpr (sizeof(T) == 4)
        if (c.dtype == RIDGE_F32) return f.template operator()<linear_by_thin<T, gradient_type<T>, true>>();
    return f.template operator()<linear_by_thin<T, gradient_type<T>, false>>();
}

template <typename T>
ridge_status linear_loss_forward(const linear_loss_call &c) {
    if (c.way == LINEAR_LOSS_COPIED && c.x.rows > 0 && linear_fits(c))
        return linear_loss_by_copies<T>(c, [](const linear_loss_call &d) { return linear_loss_forward<T>(d); });
    if (c.x.rows == 0) return RIDGE_OK;
    if (!linear_fits(c)) return RIDGE_UNSUPPORTED;
    if (c.way == LINEAR_LOSS_FEW_ROWS) return linear_few_rows_losses<T>(c);
    if (c.way == LINEAR_LOSS_THIN) return with_thin<T>(c, [&]<class By>() { return By::losses(c); });
    if constexpr (sizeof(T) == 2) {
        if (c.way == LINEAR_LOSS_TILES) return linear_by_wgmma<T>::losses(c);
    }
    if constexpr (sizeof(T) == 4) {
        if (c.way < SKINNY_WAYS) return linear_by_rows<T>::losses(c);
        if (c.way == LINEAR_LOSS_SPLIT) return linear_by_split<T, split_tile>::losses(c);
        if (c.way == LINEAR_LOSS_HALF)
            return linear_is_narrow(c) ? linear_by_split<T, narrow_tile<__half>>::losses(c)
                                       : linear_by_split<T, half_tile>::losses(c);
    }
    return linear_by_fp32<T, gradient_type<T>>::losses(c);
}

/* Nothing to sum over: all zero. */
template <typename T>
ridge_status linear_no_rows(const linear_loss_call &c) {
    RIDGE_TRY(any_run(any_matrix<T>(c.w), any_matrix<T>(c.w), c.dw.rows, c.dw.columns, 0, any_store<T>(c.dw, false),
                      c.stream));
    return clear_memory(c.db, sizeof(float) * (size_t)c.w.rows, c.stream);
}

/* given_lse: backward; else forward and backward. */
template <typename T>
ridge_status linear_loss_gradient(const linear_loss_call &c) {
    using G = gradient_type<T>;
    if (c.x.rows == 0) return linear_no_rows<T>(c);
    if (!linear_fits(c)) return RIDGE_UNSUPPORTED;
    if (c.way == LINEAR_LOSS_FEW_ROWS) return linear_few_rows_gradients<T>(c);
    if (c.way == LINEAR_LOSS_THIN) return with_thin<T>(c, [&]<class By>() { return linear_gradient_by<By>(c); });
    if (c.way == LINEAR_LOSS_COPIED)
        return linear_loss_by_copies<T>(c, [](const linear_loss_call &d) { return linear_loss_gradient<T>(d); });
    if constexpr (sizeof(T) == 4)
        if (c.way < SKINNY_WAYS) return linear_gradient_by<linear_by_rows<T>>(c);
    if (c.given_lse) RIDGE_TRY(rows_from_lse(c));
    if constexpr (sizeof(T) == 2)
        if (c.way == LINEAR_LOSS_TILES) return linear_gradient_by<linear_by_wgmma<T>>(c);
    if constexpr (sizeof(T) == 4) {
        if (c.way == LINEAR_LOSS_SPLIT) return linear_gradient_by<linear_by_split<T, split_tile>>(c);
        if (c.way == LINEAR_LOSS_HALF)
            return linear_is_narrow(c) ? linear_gradient_by<linear_by_split<T, narrow_tile<__half>>>(c)
                                       : linear_gradient_by<linear_by_split<T, half_tile>>(c);
    }
    return linear_gradient_by<linear_by_fp32<T, G>>(c);
}

}  // namespace ridge

#endif
