/* Softmax of a linear layer by Hopper's tensor cores: fp32 split in fp16 (see gemm/split.cuh), tf32, bf16, f16. x and
 * p by rows, w: [classes, depth] in either order. fp32 with classes across the lines of w: of several heads, too. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_TILES_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_TILES_CUH

#include "cuda/epilogue/probabilities.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"
#include "cuda/gemm/transpose.cuh"

extern "C" {
#include "cuda/linear/arithmetic.h"
#include "cuda/linear/softmax_scratch.h"
}

namespace ridge {

struct linear_softmax_call {
    matrix_view x, w, p; /* w: [classes, depth]; w and p are the first head's */
    const void *bias;
    int heads;
    int64_t w_head, bias_head, p_head; /* from one head's to the next */
    char *scratch;
    linear_softmax_scratch at;
    cudaStream_t stream;
};

/* fp32 operands as they are. */
inline softmax_unsplit softmax_unsplit_of(const linear_softmax_call &c) {
    softmax_unsplit r = {};
    r.x = (const float *)c.x.base, r.w = (const float *)c.w.base, r.bias = (const float *)c.bias;
    r.p = (float *)c.p.base;
    r.x_line = c.x.line, r.w_line = c.w.line, r.w_step = c.w.step, r.w_head = c.w_head, r.bias_head = c.bias_head;
    r.p_line = c.p.line, r.p_head = c.p_head;
    r.depth = (int)c.x.columns, r.classes = (int)c.p.columns;
    return r;
}

/* Tiles of columns that may wait for each other, where as many clusters run together: see softmax_epilogue. */
constexpr int SOFTMAX_TILES = LINEAR_TILES_CLASSES / 128;

/* Counters of the tiles that wait for each other. */
inline int softmax_counters(const linear_softmax_call &c) { return (int)(c.p.rows / 64 + 4) * c.heads; }

/* zeroed: the counters are already. */
template <class S, typename T, bool Scaled>
ridge_status softmax_product(const linear_softmax_call &c, const matrix_lines &a, const matrix_lines &b,
                             matmul_plan plan, bool zeroed) {
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
    e.parts = (softmax_part *)(c.scratch + c.at.parts);
    e.arrived = (unsigned *)(c.scratch + c.at.arrived);
    e.row_undo = (const float *)(c.scratch + c.at.x_undo);
    e.column_undo = (const float *)(c.scratch + c.at.w_undo);
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
ridge_status linear_softmax_16(const linear_softmax_call &c) {
    const matrix_lines a = lines_of(c.x), b = lines_of(c.w);
    const matmul_plan plan = matmul_whole(c.x.columns, 64, 1);
    if (c.w.by_rows()) return softmax_product<wide_tile<T, true, true>, T, false>(c, a, b, plan, false);
    return softmax_product<wide_tile<T, true, false>, T, false>(c, a, b, plan, false);
}

/* Whether w, [depth, classes] in fp32, is whole pieces of 16 bytes. */
inline bool softmax_fours(const linear_softmax_call &c) {
    return is_aligned16(c.w.base) && c.w.rows % 4 == 0 && c.w.step % 4 == 0 && (c.heads == 1 || c.w_head % 4 == 0);
}

/* tf32: w's lines must run along the depth. */
inline ridge_status linear_softmax_tf32(const linear_softmax_call &c) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = (depth + 3) / 4 * 4;
    const bool turn = !c.w.by_rows();
    matrix_lines b = lines_of(c.w);
    if (turn) {
        float *to = (float *)(c.scratch + c.at.w);
        const trans_columns t = {(const float *)c.w.base, c.w.step, (int)depth, (int)classes, (int)padded,
                                 softmax_fours(c),        to};
        const dim3 grid((unsigned)((classes + 31) / 32), (unsigned)((depth + 255) / 256));
        RIDGE_TRY(launch_overlapping(transpose_to_tf32, {grid, 256}, c.stream, true, t,
                                     (unsigned *)(c.scratch + c.at.arrived), softmax_counters(c)));
        b = {to, depth, classes, padded};
    }
    using S = wide_tile<tf32, true, true>;
    return softmax_product<S, float, false>(c, lines_of(c.x), b, matmul_whole(depth, S::K, 1), turn);
}

/* Where all classes fit one tile. */
constexpr matmul_tuning SPLIT_104_TUNED = {
    .columns = 104, .stages = 3, .cluster_m = 1, .cluster_n = 2, .promote = 2, .split = true};
using split_tile_104 = matmul_shape<__half, SPLIT_104_TUNED>;

/* fp32, by three products of hi and lo parts. */
inline ridge_status linear_softmax_split(const linear_softmax_call &c) {
    const int64_t depth = c.x.columns, classes = c.w.rows, padded = linear_softmax_padded(depth);
    const bool narrow = classes <= split_tile_104::N;
    __half *x = (__half *)(c.scratch + c.at.x), *w = (__half *)(c.scratch + c.at.w);
    float *x_undo = (float *)(c.scratch + c.at.x_undo), *w_undo = (float *)(c.scratch + c.at.w_undo);
    const auto lines = [&](const matrix_view &m, __half *to, float *undo) {
        return split_lines{(const float *)m.base, m.line, (int)m.rows, (int)depth, (int)padded, to, undo, NULL};
    };
    unsigned *const arrived = (unsigned *)(c.scratch + c.at.arrived);
    int64_t all = classes; /* lines of w */
    if (c.w.by_rows()) {
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), lines(c.w, w, w_undo), c.stream, arrived, softmax_counters(c)));
    } else {
        split_columns s = {};
        s.from = (const float *)c.w.base, s.stride = c.w.step, s.head = c.w_head;
        s.heads = c.heads, s.columns = (int)classes, s.depth = (int)depth, s.padded = (int)padded;
        s.wide = narrow ? split_tile_104::N : (int)linear_softmax_wide(classes);
        s.fours = softmax_fours(c);
        s.to = w, s.undo = w_undo;
        all = (int64_t)s.heads * s.wide;
        RIDGE_TRY(split_both(lines(c.x, x, x_undo), s, c.stream, arrived, softmax_counters(c)));
    }
    matmul_plan plan = matmul_whole(padded, SPLIT_SLICE, 1);
    plan.low = plan.slices;
    const matrix_lines a = {x, 2 * padded, c.x.rows, 2 * padded}, b = {w, 2 * padded, all, 2 * padded};
    if (narrow) return softmax_product<split_tile_104, float, true>(c, a, b, plan, true);
    return softmax_product<split_tile, float, true>(c, a, b, plan, true);
}

/* Whether these kernels can take the operands: Hopper, lines that TMA takes, not too many classes. */
template <typename T>
bool linear_softmax_takes(const linear_softmax_call &c) {
    const bool fp32 = sizeof(T) == 4;
    const double blocks = (double)c.heads * ((double)c.x.rows + (double)linear_softmax_wide(c.p.columns));
    return c.x.rows > 0 && (!fp32 || linear_tiles_fit(c.x.rows, c.x.columns, c.p.columns)) && blocks <= INT32_MAX / 2 &&
           (c.heads == 1 || (fp32 && !c.w.by_rows())) && is_tileable<T>(c.x) &&
           c.p.columns <= (int64_t)SOFTMAX_TILES * 128 && (fp32 || is_tileable<T>(c.w)) &&
           (!fp32 || !c.w.by_rows() || is_tileable<T>(c.w));
}

}  // namespace ridge

#endif
