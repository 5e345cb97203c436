/* Softmax of a linear layer by Hopper's tensor cores: tiles of 128 rows and 256 (fp32: 128) classes. fp32 split in fp16
 * (see gemm/split.cuh), tf32, bf16, f16. x and p row-major, w: [classes, depth] row-major or column-major. fp32 with
 * classes across the lines of w, and 16 bits: of several heads, too.
 *
 * Floors of 8192 x 4096 x 1000 on an H200: 67 GFLOP, in tf32 140 us at the 486 TFLOP/s of its peak loop, with classes
 * filled up to 1024; in fp32, three products of hi and lo parts at 962, 214 us, and 65 us for the pass that splits x
 * (268 MB). tf32 in one part of fp16: 110 us and 32 us. */
#include "cuda/epilogue/probabilities.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"
#include "cuda/gemm/transpose.cuh"

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
template <typename T, matmul_tuning Tuned>
static ridge_status linear_softmax_16(int way, const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(way);
    const matrix_lines a = lines_of(c.x), b = lines_of(c.w);
    const matmul_plan plan = matmul_whole(c.x.columns, 64, 1);
    if (c.w.by_rows()) return softmax_product<matmul_shape<T, Tuned, true, true>, T, false>(c, at, a, b, plan, false);
    return softmax_product<matmul_shape<T, Tuned, true, false>, T, false>(c, at, a, b, plan, false);
}
/* The epilogue leaves room for tiles of 128. */
constexpr matmul_tuning MIDDLE_TUNED = {.columns = 128, .stages = 6, .cluster_m = 2, .cluster_n = 1};

/* The same of several heads: one product with all of their weights, copied so that each head has whole tiles. */
template <typename T>
static ridge_status linear_softmax_heads(const linear_softmax_call &c) {
    linear_heads_operands o;
    RIDGE_TRY(linear_softmax_pack(LINEAR_TILES_HEADS, c, &o));
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

template <matmul_tuning Tuned>
static ridge_status linear_softmax_of_16(int way, const linear_softmax_call &c) {
    return (c.dtype == RIDGE_BF16 ? linear_softmax_16<__nv_bfloat16, Tuned> : linear_softmax_16<__half, Tuned>)(way, c);
}

/* Whether w, [depth, classes] in fp32, is whole pieces of 16 bytes. */
static bool softmax_fours(const linear_softmax_call &c) {
    return is_aligned16(c.w.base) && c.w.rows % 4 == 0 && c.w.step % 4 == 0 && (c.heads == 1 || c.w_head % 4 == 0);
}

using softmax_tile_tf32 = wide_tile<tf32, true, true>;

/* tf32: w's lines must run along the depth; where they do not, they are transposed, and `counters` become 0. */
static ridge_status softmax_along_depth(const linear_softmax_call &c, const linear_softmax_scratch &at, int counters,
                                        matrix_lines *b) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = (depth + 3) / 4 * 4;
    *b = lines_of(c.w);
    if (c.w.by_rows()) return RIDGE_OK;
    float *to = (float *)(c.scratch + at.w);
    const trans_columns t = {(const float *)c.w.base, c.w.step, (int)depth, (int)classes, (int)padded,
                             softmax_fours(c),        to};
    const dim3 grid((unsigned)((classes + 31) / 32), (unsigned)((depth + 255) / 256));
    *b = {to, depth, classes, padded};
    return launch_overlapping(transpose_to_tf32, {grid, 256}, c.stream, true, t, (unsigned *)(c.scratch + at.arrived),
                              counters);
}
static ridge_status linear_softmax_tf32(const linear_softmax_call &c) {
    const linear_softmax_scratch at = c.at(LINEAR_TILES_TF32);
    using S = softmax_tile_tf32;
    matrix_lines b;
    RIDGE_TRY(softmax_along_depth(c, at, softmax_counters(c), &b));
    const matmul_plan plan = matmul_whole(c.x.columns, S::K, 1);
    if (c.w.rows <= LINEAR_TILE_NARROW)
        return softmax_product<narrow_tile<tf32>, float, false>(c, at, lines_of(c.x), b, plan, !c.w.by_rows());
    return softmax_product<S, float, false>(c, at, lines_of(c.x), b, plan, !c.w.by_rows());
}

/* Logits in lines of any alignment. */
struct softmax_tf32_logits : float_epilogue<float, softmax_tile_tf32::N> {
    bool pairs;
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[softmax_tile_tf32::N / 2],
                           uint32_t at, int group) const {
        s.bias.add(sums, at, group, 1.0f, 1.0f);
        store_pairs<softmax_tile_tf32::N>(c, stride, rows, columns, tile, sums, group, pairs);
    }
};

/* The same to logits in the place of p. */
static ridge_status linear_softmax_tf32_logits(const linear_softmax_call &c) {
    using S = softmax_tile_tf32;
    matrix_lines b;
    if (c.p.rows > INT32_MAX || c.p.columns > INT32_MAX) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(softmax_along_depth(c, c.at(LINEAR_LOGITS_TF32), 0, &b));
    softmax_tf32_logits e = {};
    e.c = (float *)c.p.base, e.stride = c.p.line, e.rows = (int)c.p.rows, e.columns = (int)c.p.columns;
    e.bias = (const float *)c.bias;
    e.pairs = (uintptr_t)e.c % 8 == 0 && e.stride % 2 == 0 && e.columns % 2 == 0;
    const matmul_plan plan = matmul_whole(c.x.columns, S::K, 8);
    RIDGE_TRY(matmul_run<S>(lines_of(c.x), b, c.p.rows, c.p.columns, plan, e, c.stream));
    return linear_softmax_in_place(c);
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
template <int Parts>
static ridge_status split_for_softmax(const linear_softmax_call &c, const linear_softmax_scratch &at, int wide,
                                      unsigned *infinite, softmax_parts *parts) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = linear_softmax_padded(depth);
    __half *x = (__half *)(c.scratch + at.x), *w = (__half *)(c.scratch + at.w);
    float *x_undo = (float *)(c.scratch + at.x_undo), *w_undo = (float *)(c.scratch + at.w_undo);
    const auto lines = [&](const matrix_view &m, __half *to, float *undo) {
        return split_lines<Parts>{
            (const float *)m.base, m.line, (int)m.rows, (int)depth, (int)padded, to, undo, infinite, split_fours(m)};
    };
    unsigned *const arrived = (unsigned *)(c.scratch + at.arrived);
    const int counters = infinite ? 0 : softmax_counters(c);
    int64_t all = classes; /* lines of w */
    if (c.w.by_rows()) {
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), lines(c.w, w, w_undo), c.stream, arrived, counters));
    } else {
        split_columns<Parts> s = {};
        s.from = (const float *)c.w.base, s.stride = c.w.step, s.head = c.w_head;
        s.heads = c.heads, s.columns = (int)classes, s.depth = (int)depth, s.padded = (int)padded;
        s.wide = wide;
        s.fours = softmax_fours(c);
        s.to = w, s.undo = w_undo, s.infinite = infinite;
        all = (int64_t)s.heads * s.wide;
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), s, c.stream, arrived, counters));
    }
    parts->plan = matmul_whole(padded, SPLIT_SLICE, 1);
    parts->plan.low = parts->plan.slices;
    parts->x = {x, Parts * padded, c.x.rows, Parts * padded}, parts->w = {w, Parts * padded, all, Parts * padded};
    return RIDGE_OK;
}

/* fp32, by three products of hi and lo parts. */
static ridge_status linear_softmax_split(const linear_softmax_call &c) {
    const bool narrow = c.w.rows <= split_tile_104::N;
    const linear_softmax_scratch at = c.at(LINEAR_TILES_SPLIT);
    softmax_parts s;
    RIDGE_TRY(split_for_softmax<2>(c, at, narrow ? split_tile_104::N : (int)linear_softmax_wide(c.w.rows), NULL, &s));
    if (narrow) return softmax_product<split_tile_104, float, true>(c, at, s.x, s.w, s.plan, true);
    return softmax_product<split_tile, float, true>(c, at, s.x, s.w, s.plan, true);
}

/* tf32, by one product. */
using half_tile_128 = matmul_shape<__half, MIDDLE_TUNED>;
static ridge_status linear_softmax_half(const linear_softmax_call &c) {
    const bool narrow = c.w.rows <= LINEAR_TILE_NARROW;
    const linear_softmax_scratch at = c.at(LINEAR_TILES_HALF);
    softmax_parts s;
    RIDGE_TRY(split_for_softmax<1>(c, at, narrow ? LINEAR_TILE_NARROW : (int)linear_softmax_wide(c.w.rows), NULL, &s));
    if (narrow) return softmax_product<narrow_tile<__half>, float, true>(c, at, s.x, s.w, s.plan, true);
    return softmax_product<half_tile_128, float, true>(c, at, s.x, s.w, s.plan, true);
}

/* A type of its own: the kernel of scaled_epilogue itself is compiled with the losses, and one kernel may not be
 * compiled in two places. */
template <int N>
struct softmax_split_logits : scaled_epilogue<N> {};

/* The same by way of logits; tf32: by one product. They are in the place of p, or in scratch where several heads are
 * side by side or blocks share the depth. Where an operand has an infinity they are made again. */
template <class Tile>
static ridge_status linear_softmax_split_logits(const linear_softmax_call &c) {
    constexpr int Parts = Tile::parts, way = Parts == 2 ? LINEAR_LOGITS_SPLIT : LINEAR_LOGITS_HALF;
    const linear_softmax_scratch at = c.at(way);
    const int64_t wide = linear_heads_wide(way, c.p.columns, c.heads),
                  columns = c.heads > 1 ? c.heads * wide : c.p.columns;
    const bool in_place = at.logits_stride == 0;
    unsigned *const infinite = (unsigned *)(c.scratch + at.infinite);
    linear_logits l = {(float *)c.p.base, c.p.line, wide};
    softmax_parts s;
    if (at.bytes == 0 || c.p.rows > INT32_MAX || columns > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (!in_place)
        l = {(float *)(c.scratch + at.logits),
             at.logits_stride,
             wide,
             linear_half_shares(way, c.p.rows, c.x.columns, columns),
             c.p.rows * at.logits_stride,
             infinite};
    RIDGE_TRY(clear_memory(infinite, sizeof *infinite, c.stream));
    RIDGE_TRY(split_for_softmax<Parts>(c, at, (int)(c.heads > 1 ? wide : linear_softmax_wide(c.w.rows)), infinite, &s));
    softmax_split_logits<Tile::N> e = {};
    e.c = l.z, e.stride = l.stride, e.rows = (int)c.p.rows, e.columns = (int)columns;
    e.bias = (const float *)c.bias;
    if (c.heads > 1) {
        const linear_copy bias = {{c.bias, c.p.columns, c.heads, c.bias_head},
                                  {c.scratch + at.bias, wide, c.heads, wide}};
        RIDGE_TRY(linear_copy_both(4, {}, bias, c.stream));
        e.bias = (const float *)(c.scratch + at.bias);
    }
    e.pairs = (uintptr_t)e.c % 8 == 0 && e.stride % 2 == 0 && e.columns % 2 == 0;
    e.row_undo = (const float *)(c.scratch + at.x_undo), e.column_undo = (const float *)(c.scratch + at.w_undo);
    e.across = l.shares > 1 ? (e.columns + Tile::N - 1) / Tile::N : 0, e.next = l.next;
    s.plan.band = 8, s.plan.slices = (s.plan.slices + l.shares - 1) / l.shares;
    RIDGE_TRY(matmul_run<Tile>(s.x, s.w, c.p.rows, columns, s.plan, e, c.stream, l.shares));
    if (!in_place) {
        RIDGE_TRY(linear_softmax_exact_to(c, l, infinite));
        return linear_softmax_of_logits(c, l);
    }
    RIDGE_TRY(linear_softmax_exact(c, infinite));
    return linear_softmax_in_place(c);
}

ridge_status linear_softmax_tiles(int way, const linear_softmax_call &c) {
    switch (way) {
        case LINEAR_TILES_SPLIT: return linear_softmax_split(c);
        case LINEAR_TILES_HALF: return linear_softmax_half(c);
        case LINEAR_LOGITS_SPLIT: return linear_softmax_split_logits<split_tile>(c);
        case LINEAR_LOGITS_HALF:
            return c.heads * c.w.rows <= LINEAR_TILE_NARROW ? linear_softmax_split_logits<narrow_tile<__half>>(c)
                                                            : linear_softmax_split_logits<half_tile>(c);
        case LINEAR_TILES_TF32: return linear_softmax_tf32(c);
        case LINEAR_LOGITS_TF32: return linear_softmax_tf32_logits(c);
        case LINEAR_TILES_HEADS:
            return c.dtype == RIDGE_BF16 ? linear_softmax_heads<__nv_bfloat16>(c) : linear_softmax_heads<__half>(c);
        case LINEAR_TILES_NARROW: return linear_softmax_of_16<NARROW_TUNED>(way, c);
        default: return linear_softmax_of_16<WIDE_TUNED>(way, c);
    }
}

static_assert((int)LINEAR_TILE_SINGLE == split_tile_104::N && (int)LINEAR_TILE_NARROW == narrow_tile<tf32>::N &&
              (int)LINEAR_TILE_NARROW == NARROW_TUNED.columns && (int)LINEAR_TILE_MIDDLE == MIDDLE_TUNED.columns &&
              (int)LINEAR_TILE_WIDE == WIDE_TUNED.columns);

}  // namespace ridge
