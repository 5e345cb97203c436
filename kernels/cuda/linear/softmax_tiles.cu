/* Softmax of a linear layer by Hopper's tensor cores: tiles of 128 rows and 256 (fp32: 128) classes, whose rows' sums meet.
 * fp32 and tf32 split in fp16 (see gemm/split.cuh), bf16, f16. x and p row-major, w: [classes, depth] row-major or
 * column-major. fp32 with classes across the lines of w, and 16 bits: of several heads, too.
 *
 * Floors of 8192 x 4096 x 1000 on an H200: 67 GFLOP, in fp32 three products of hi and lo parts at 962 TFLOP/s, with classes
 * filled up to 1024: 214 us, and 65 us for the pass that splits x (268 MB). */
#include "cuda/epilogue/probabilities.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"
#include "cuda/linear/softmax_call.cuh"

namespace ridge {

/* fp32 operands as they are. */
static softmax_unsplit softmax_unsplit_of(const linear_softmax_call &c) {
    softmax_unsplit r = {};
    r.x = (const float *)c.x.base, r.w = (const float *)c.w.base, r.bias = (const float *)c.bias;
    r.p = (float *)c.p.base;
    r.x_line = c.x.line, r.w_line = c.w.line, r.w_step = c.w.step, r.w_head = c.w_head, r.bias_head = c.bias_head;
    r.p_line = c.p.line, r.p_head = c.p_head;
    r.depth = (int)c.x.columns, r.classes = (int)c.p.columns;
    return r;
}

/* Counters of the tiles that wait for each other. */
static int softmax_counters(const linear_softmax_call &c) { return (int)(c.p.rows / 64 + 4) * c.heads; }

/* zeroed: the counters are already. */
template <class S, typename T, bool Scaled>
static ridge_status softmax_product(const linear_softmax_call &c, const linear_softmax_scratch &at,
                                    const matrix_lines &a, const matrix_lines &b, matmul_plan plan, bool zeroed) {
    using Epilogue = softmax_epilogue<T, S::N, Scaled>;
    const int together = matmul_resident<S, Epilogue>() / S::cluster;
    Epilogue e = {};
    e.bias = (const T *)c.bias;
    e.p = (T *)c.p.base;
    e.stride = c.p.line;
    e.rows = (int)c.p.rows;
    e.columns = (int)c.p.columns;
    e.tiles = (e.columns + S::N - 1) / S::N;
    if (e.tiles > together) return RIDGE_UNSUPPORTED; /* they could not all be waited for */
    e.p_head = c.p_head, e.bias_head = c.bias_head;
    e.pairs = (uintptr_t)e.p % (2 * sizeof(T)) == 0 && e.stride % 2 == 0 && e.p_head % 2 == 0;
    e.parts = (softmax_part *)(c.scratch + at.parts);
    e.arrived = (unsigned *)(c.scratch + at.arrived);
    e.row_undo = (const float *)(c.scratch + at.x_undo);
    e.column_undo = (const float *)(c.scratch + at.w_undo);
    e.heads = c.heads;
    if constexpr (sizeof(T) == 4) e.boxes = make_heads_map(&e.map, e.p, e.columns, c.heads, e.rows, e.p_head, e.stride);
    if (Scaled) e.unsplit = softmax_unsplit_of(c);
    plan.band = 1; /* the tiles of a row follow each other */
    if (e.tiles > 1 && !zeroed)
        RIDGE_TRY(clear_memory(e.arrived, (size_t)softmax_counters(c) * sizeof(unsigned), c.stream));
    const int64_t columns = c.heads > 1 ? (int64_t)c.heads * e.tiles * S::N : c.p.columns;
    return matmul_run<S>(a, b, c.p.rows, columns, plan, e, c.stream);
}

/* 16 bits: operands as they lie. */
template <typename T>
static ridge_status linear_softmax_16(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_TILES_16);
    const matrix_lines a = lines_of(c.x), b = lines_of(c.w);
    const matmul_plan plan = matmul_whole(c.x.columns, 64, 1);
    if (c.w.by_rows())
        return softmax_product<matmul_shape<T, WIDE_TUNED, true, true>, T, false>(c, at, a, b, plan, false);
    return softmax_product<matmul_shape<T, WIDE_TUNED, true, false>, T, false>(c, at, a, b, plan, false);
}
/* The epilogue leaves room for tiles of 128. */
constexpr matmul_tuning MIDDLE_TUNED = {.columns = 128, .stages = 6, .cluster_m = 2, .cluster_n = 1};

/* The same of several heads: one product with all of their weights, copied so that each head has whole tiles. */
template <typename T>
static ridge_status linear_softmax_heads(const linear_softmax_call &c) {
    linear_heads_operands o;
    RIDGE_TRY(linear_softmax_pack(c, &o));
    const auto product = [&]<matmul_tuning Tuned>() {
        using S = matmul_shape<T, Tuned, true, false>;
        return softmax_product<S, T, false>(c, c.at(LINEAR_TILES_HEADS), lines_of(o.x), lines_of(o.w),
                                            matmul_whole(c.x.columns, S::K, 1), false);
    };
    switch (linear_heads_tile(c.p.columns)) {
        case LINEAR_TILE_NARROW: return product.template operator()<NARROW_TUNED>();
        case LINEAR_TILE_MIDDLE: return product.template operator()<MIDDLE_TUNED>();
        default: return product.template operator()<WIDE_TUNED>();
    }
}

/* Whether w, [depth, classes] in fp32, is whole pieces of 16 bytes. */
static bool softmax_fours(const linear_softmax_call &c) {
    return is_aligned16(c.w.base) && c.w.rows % 4 == 0 && c.w.step % 4 == 0 && (c.heads == 1 || c.w_head % 4 == 0);
}

/* Where all classes fit one tile. */
constexpr matmul_tuning SPLIT_104_TUNED = {
    .columns = 104, .stages = 3, .cluster_m = 1, .cluster_n = 2, .promote = 2, .split = true};
using split_tile_104 = matmul_shape<__half, SPLIT_104_TUNED>;

/* x and w in their parts, of which the product takes the lines; w's classes filled up to `wide` for each head where
 * its lines are across the depth. */
struct softmax_parts {
    matrix_lines x, w;
    matmul_plan plan;
};
static ridge_status split_for_softmax(const linear_softmax_call &c, const linear_softmax_scratch &at, int wide,
                                      softmax_parts *parts) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = linear_softmax_padded(depth);
    __half *x = (__half *)(c.scratch + at.x), *w = (__half *)(c.scratch + at.w);
    float *x_undo = (float *)(c.scratch + at.x_undo), *w_undo = (float *)(c.scratch + at.w_undo);
    const auto lines = [&](const matrix_view &m, __half *to, float *undo) {
        return split_lines<2>{(const float *)m.base, m.line, (int)m.rows, (int)depth, (int)padded, to, undo, NULL,
                              split_fours(m)};
    };
    unsigned *const arrived = (unsigned *)(c.scratch + at.arrived);
    int64_t all = classes; /* lines of w */
    if (c.w.by_rows()) {
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), lines(c.w, w, w_undo), c.stream, arrived, softmax_counters(c)));
    } else {
        split_columns<2> s = {};
        s.from = (const float *)c.w.base, s.stride = c.w.step, s.head = c.w_head;
        s.heads = c.heads, s.columns = (int)classes, s.depth = (int)depth, s.padded = (int)padded;
        s.wide = wide;
        s.fours = softmax_fours(c);
        s.to = w, s.undo = w_undo;
        all = (int64_t)s.heads * s.wide;
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), s, c.stream, arrived, softmax_counters(c)));
    }
    parts->plan = matmul_whole(padded, SPLIT_SLICE, 1);
    parts->plan.low = parts->plan.slices;
    parts->x = {x, 2 * padded, c.x.rows, 2 * padded}, parts->w = {w, 2 * padded, all, 2 * padded};
    return RIDGE_OK;
}

/* fp32, by three products of hi and lo parts. */
static ridge_status linear_softmax_split(const linear_softmax_call &c) {
    const bool narrow = c.w.rows <= split_tile_104::N;
    const linear_softmax_scratch at = c.at(LINEAR_TILES_SPLIT);
    softmax_parts s;
    RIDGE_TRY(split_for_softmax(c, at, narrow ? split_tile_104::N : (int)linear_softmax_wide(c.w.rows), &s));
    if (narrow) return softmax_product<split_tile_104, float, true>(c, at, s.x, s.w, s.plan, true);
    return softmax_product<split_tile, float, true>(c, at, s.x, s.w, s.plan, true);
}

ridge_status linear_softmax_tiles(int way, const linear_softmax_call &c) {
    const bool bf16 = c.dtype == RIDGE_BF16;
    if (way == LINEAR_TILES_SPLIT) return linear_softmax_split(c);
    if (way == LINEAR_TILES_HEADS)
        return bf16 ? linear_softmax_heads<__nv_bfloat16>(c) : linear_softmax_heads<__half>(c);
    return bf16 ? linear_softmax_16<__nv_bfloat16>(c) : linear_softmax_16<__half>(c);
}

static_assert((int)LINEAR_TILE_SINGLE == split_tile_104::N && (int)LINEAR_TILE_NARROW == NARROW_TUNED.columns &&
              (int)LINEAR_TILE_MIDDLE == MIDDLE_TUNED.columns && (int)LINEAR_TILE_WIDE == WIDE_TUNED.columns);

}  // namespace ridge
