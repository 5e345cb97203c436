/* Softmax cross-entropy of a linear layer on a GPU: what its kernels pass to each other in scratch. C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_SCRATCH_H
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_SCRATCH_H

#include <string.h>

#include "cuda/epilogue/parts.h"
#include "cuda/gemm/any_plan.h"
#include "cuda/gemm/split.h"
#include "cuda/host/scratch.h"
#include "cuda/linear/loss_ways.h"
#include "cuda/linear/softmax_ways.h"
#include "cuda/skinny/thin.h"
#include "ridge/target.h"

/* Classes of the narrowest tile: what is kept for each stays small. */
static inline int linear_columns_least(int64_t rows, int64_t classes) {
    return rows <= (1 << 18) && classes <= (1 << 18) && rows * classes <= (1 << 18) ? 16 : 64;
}

/* The tiles of logits by multiply-adds. whole: all classes are in one span, so losses and gradients come in one launch. */
typedef struct linear_fp32_plan {
    any_plan product;
    bool whole;
} linear_fp32_plan;
static inline linear_fp32_plan linear_fp32_plan_of(const any_limits *device, int64_t rows, int64_t classes,
                                                   int64_t depth) {
    const double m = (double)rows, n = (double)classes, launches = 8000; /* cycles of those that a whole row saves */
    const any_plan small = any_plan_with(device, ANY_SMALL, rows, classes, depth);
    const any_plan medium = any_plan_with(device, ANY_MEDIUM, rows, classes, depth);
    const any_plan best = any_plan_for(device, rows, classes, depth, linear_columns_least(rows, classes));
    linear_fp32_plan p = {best, false};
    if (classes <= any_span(ANY_SMALL))
        p.product = small, p.whole = true;
    else if (classes <= any_span(ANY_MEDIUM) &&
             any_cycles(device, medium, m, n, depth) <= any_cycles(device, best, m, n, depth) + launches)
        p.product = medium, p.whole = true;
    return p;
}

/* Gradients of the logits are made for so many rows at a time that they take at most this. */
#define LINEAR_GRADIENT_BYTES ((int64_t)1 << 30)
/* fp32 operands are split for the tensor cores where the hi and lo parts take at most this. */
#define LINEAR_SPLIT_BYTES ((int64_t)1 << 30)
#define LINEAR_SPLIT_CLASS_BYTES ((int64_t)32 << 20) /* see linear_split_classes */

/* Rows of gradients whose sums one block makes: up to 8192 rows make 32 blocks at most. */
static inline int64_t linear_sum_rows(int64_t rows) {
    const int64_t each = (rows + 255) / 256 * 8;
    return each < 32 ? 32 : each > 256 ? 256 : each;
}
static inline int64_t linear_sum_blocks(int64_t rows) {
    return (rows + linear_sum_rows(rows) - 1) / linear_sum_rows(rows);
}

/* Offsets in scratch; multiples of 1024. */
typedef struct linear_loss_scratch {
    size_t parts;                 /* softmax_part[LINEAR_PARTS or fewer][rows] */
    size_t logit_sums;            /* float, likewise: sums of z, for label smoothing */
    size_t label_logit;           /* float[rows] */
    size_t rows;                  /* row_gradient[rows] */
    size_t progress;              /* unsigned, see keep_pace */
    size_t shifts;                /* float[tiles of classes][chunk]: of exponentials that become gradients in place */
    size_t columns;               /* float[blocks or shares of rows of a chunk][classes]: sums of gradients */
    size_t gradient;              /* [chunk][gradient_stride] */
    size_t left, right;           /* parts of a product's operands, see linear/loss_split.cuh */
    size_t left_undo, right_undo; /* float[lines]: of their scales */
    size_t most;                  /* unsigned[2][SPLIT_FEW]: see split_columns */
    size_t sums;                  /* float[shares][rows][columns]: of a gradient's product in shares */
    size_t infinite;              /* unsigned: whether one of them has an infinity */
    size_t range;                 /* gradient_range: of f16 */
    size_t thin;                  /* LINEAR_LOSS_THIN: w in the order of fragments */
    size_t bytes;
    int64_t chunk, gradient_stride; /* rows of gradients at a time; elements from one to the next */
} linear_loss_scratch;

/* The gradients' type: storage, but fp32 for f16, whose range is too small; with a scale (gradient_range) they are f16
 * there, too, and fp32 ones take their place where that range is too small as well. */
static inline ridge_dtype linear_gradient_dtype(ridge_dtype dtype) {
    return dtype == RIDGE_BF16 ? RIDGE_BF16 : RIDGE_F32;
}

/* Of an element, which has so many parts: 2, hi and lo (LINEAR_LOSS_SPLIT), or 1 (LINEAR_LOSS_HALF). */
static inline int linear_split_parts(int way) { return way == LINEAR_LOSS_SPLIT ? 2 : way == LINEAR_LOSS_HALF ? 1 : 0; }
#define LINEAR_SPLIT_TILE(parts) ((parts) == 2 ? 128 : 256) /* classes */
/* Bytes of `lines` split ones along `depth`: filled up to whole tiles and slices. */
static inline double linear_split_bytes(int64_t lines, int64_t depth, int parts) {
    const int64_t whole_lines = (lines + 127) / 128 * 128, whole_depth = (depth + 63) / 64 * 64;
    return 2.0 * parts * (double)whole_lines * (double)whole_depth;
}
/* Classes whose parts are made at a time where only losses are wanted: whole units of tiles that have a part of the
 * softmax together. So memory does not grow with the classes until a unit alone is LINEAR_SPLIT_CLASS_BYTES: at a depth
 * of 4096 and of two parts, with a million. */
static inline int64_t linear_split_classes(int64_t classes, int64_t depth, int parts) {
    const int64_t tile = LINEAR_SPLIT_TILE(parts), tiles = (classes + tile - 1) / tile;
    const int64_t unit = (tiles + LINEAR_PARTS - 1) / LINEAR_PARTS * tile;
    const int64_t units =
        LINEAR_SPLIT_CLASS_BYTES / (int64_t)linear_split_bytes(128, depth < 1 ? 1 : depth, parts) * 128 / unit;
    const int64_t some = units < 1 ? unit : units * unit;
    return some < classes ? some : classes;
}
static inline double linear_most(double a, double b) { return a > b ? a : b; }

/* Rows of gradients at a time, of lines of `stride` elements. */
static inline int64_t linear_gradient_rows(int64_t rows, int64_t stride, ridge_dtype dtype) {
    const int64_t line = stride * (int64_t)ridge_dtype_size(linear_gradient_dtype(dtype));
    const int64_t chunk = LINEAR_GRADIENT_BYTES / line / 256 * 256, most = chunk < 256 ? 256 : chunk;
    return most < rows ? most : rows;
}
static inline int64_t linear_gradient_stride(int64_t classes) { return (classes + 15) / 16 * 16; }

/* Bytes of the parts of every product's operands: logits [rows, classes], some classes at a time if they are
 * all that is wanted; dx; dw, row-major or column-major. */
typedef struct linear_split_sides {
    double left, right;
    int64_t classes; /* of w at a time */
} linear_split_sides;
static inline linear_split_sides linear_split_sides_of(int64_t rows, int64_t depth, int64_t classes, bool gradients,
                                                       int parts) {
    linear_split_sides s;
    s.classes = gradients ? classes : linear_split_classes(classes, depth, parts);
    s.left = linear_split_bytes(rows, depth, parts), s.right = linear_split_bytes(s.classes, depth, parts);
    if (!gradients) return s;
    const double g = linear_most(linear_split_bytes(rows, classes, parts), linear_split_bytes(classes, rows, parts));
    const double x = linear_split_bytes(depth, rows, parts), most = linear_most(g, x);
    s.left = linear_most(s.left, most);
    s.right = linear_most(linear_most(s.right, most), linear_split_bytes(depth, classes, parts));
    return s;
}
/* Whether they fit, and gradients are made for all rows at once. */
static inline bool linear_split_fits(int64_t rows, int64_t depth, int64_t classes, bool gradients, int parts) {
    const linear_split_sides s = linear_split_sides_of(rows, depth, classes, gradients, parts);
    const bool whole = linear_gradient_rows(rows, linear_gradient_stride(classes), RIDGE_F32) == rows;
    return (!gradients || whole) && s.left + s.right <= (double)LINEAR_SPLIT_BYTES;
}
/* Blocks that share the depth of a gradient's product, C[m, n], whose tiles are fewer than SMs: eight slices or more
 * for each. parts: 2 or 1, 0 for operands of 16 bits as they are, or LINEAR_FFMA, multiply-adds. */
#define LINEAR_FFMA (-1)
static inline int linear_split_shares(int64_t m, int64_t n, int64_t k, int parts) {
    if (parts == LINEAR_FFMA) return any_split_for(m, n, k).shares;
    const int64_t tiles = (m + 255) / 256 * 2 * ((n + 255) / 256), slices = (k + 63) / 64;
    int64_t shares = parts < 2 && tiles > 0 ? LINEAR_SHARED_SMS / tiles : 1;
    if (shares > slices / 8) shares = slices / 8;
    return shares < 1 ? 1 : shares > LINEAR_SHARES_MOST ? LINEAR_SHARES_MOST : (int)shares;
}
static inline int64_t linear_split_sums_stride(int64_t n) { return (n + 3) / 4 * 4; }
/* Bytes of their sums. */
static inline double linear_split_sums(int64_t m, int64_t n, int64_t k, int parts) {
    const int shares = linear_split_shares(m, n, k, parts);
    return shares < 2 ? 0 : 4.0 * shares * (double)m * (double)linear_split_sums_stride(n);
}
/* Of both gradients, as they are or transposed. */
static inline double linear_split_sums_most(int64_t rows, int64_t depth, int64_t classes, int parts) {
    const double dx =
        linear_most(linear_split_sums(rows, depth, classes, parts), linear_split_sums(depth, rows, classes, parts));
    const double dw =
        linear_most(linear_split_sums(classes, depth, rows, parts), linear_split_sums(depth, classes, rows, parts));
    return linear_most(dx, dw);
}
/* The same of every chunk of rows. */
static inline double linear_split_sums_of_chunks(int64_t rows, int64_t chunk, int64_t depth, int64_t classes,
                                                 int parts) {
    const int64_t last = rows < 1 ? 0 : rows - (rows - 1) / chunk * chunk; /* rows of the last chunk */
    const double sums = linear_split_sums_most(chunk, depth, classes, parts);
    return last < chunk ? linear_most(sums, linear_split_sums_most(last, depth, classes, parts)) : sums;
}
/* Who makes the gradients' products of a way whose blocks may share a depth: see linear_split_shares. */
static inline int linear_gradient_parts(int way) {
    if (way == LINEAR_LOSS_TILES) return 0;
    return linear_split_parts(way) > 0 ? linear_split_parts(way) : LINEAR_FFMA;
}
static inline void linear_take_split(linear_loss_scratch *s, int64_t rows, int64_t depth, int64_t classes,
                                     bool gradients, int parts) {
    const linear_split_sides sides = linear_split_sides_of(rows, depth, classes, gradients, parts);
    const double lines = linear_most(linear_most((double)rows, (double)classes), (double)depth);
    s->left = linear_scratch_take(&s->bytes, sides.left);
    s->right = linear_scratch_take(&s->bytes, sides.right);
    s->left_undo = linear_scratch_take(&s->bytes, (gradients ? lines : (double)rows) * sizeof(float) + 1024);
    s->right_undo = linear_scratch_take(&s->bytes, (gradients ? lines : (double)sides.classes) * sizeof(float) + 1024);
    s->most = linear_scratch_take(&s->bytes, 2 * SPLIT_FEW * sizeof(unsigned));
    s->sums = linear_scratch_take(&s->bytes, gradients ? linear_split_sums_most(rows, depth, classes, parts) : 0);
    s->infinite = linear_scratch_take(&s->bytes, sizeof(unsigned));
}

/* Of a way; nothing where it cannot have its operands in LINEAR_SPLIT_BYTES. */
static inline linear_loss_scratch linear_loss_scratch_of(int way, int64_t rows, int64_t depth, int64_t classes,
                                                         ridge_dtype dtype, bool gradients) {
    linear_loss_scratch s;
    memset(&s, 0, sizeof s);
    const int split = linear_split_parts(way);
    if (split > 0 && !linear_split_fits(rows, depth, classes, gradients, split)) return s;
    const int least = linear_columns_least(rows, classes);
    const int64_t tiles = (classes + least - 1) / least;
    const double parts = (double)(tiles < LINEAR_PARTS ? (int64_t)tiles : (int64_t)LINEAR_PARTS) * (double)rows;
    s.parts = linear_scratch_take(&s.bytes, parts * sizeof(softmax_part));
    s.logit_sums = linear_scratch_take(&s.bytes, parts * sizeof(float));
    s.label_logit = linear_scratch_take(&s.bytes, (double)rows * sizeof(float));
    s.rows = linear_scratch_take(&s.bytes, (double)rows * sizeof(row_gradient));
    s.progress = linear_scratch_take(&s.bytes, 4);
    s.gradient_stride = linear_gradient_stride(classes);
    if (way == LINEAR_LOSS_THIN)
        s.thin = linear_scratch_take(&s.bytes,
                                     thin_bytes_most(classes, depth, (int)ridge_dtype_size(dtype), dtype == RIDGE_F32));
    if (gradients) {
        s.chunk = linear_gradient_rows(rows, s.gradient_stride, dtype);
        int64_t blocks = linear_sum_blocks(s.chunk); /* no part of a chunk has more */
        if (way == LINEAR_LOSS_THIN && blocks < ACROSS_SHARES) blocks = ACROSS_SHARES;
        s.range = linear_scratch_take(&s.bytes, dtype == RIDGE_F16 ? sizeof(gradient_range) : 0);
        s.shifts = linear_scratch_take(&s.bytes, (double)tiles * (double)s.chunk * sizeof(float));
        s.columns = linear_scratch_take(&s.bytes, (double)blocks * (double)classes * sizeof(float));
        s.gradient = linear_scratch_take(&s.bytes, (double)s.chunk * (double)s.gradient_stride *
                                                       (double)ridge_dtype_size(linear_gradient_dtype(dtype)));
    }
    if (split > 0)
        linear_take_split(&s, rows, depth, classes, gradients, split);
    else if (gradients && way == LINEAR_LOSS_THIN)
        s.sums =
            linear_scratch_take(&s.bytes, across_bytes_most(s.chunk, depth, classes, (int)ridge_dtype_size(dtype)));
    else if (gradients)
        s.sums = linear_scratch_take(
            &s.bytes, linear_split_sums_of_chunks(rows, s.chunk, depth, classes, linear_gradient_parts(way)));
    return s;
}

/* Of LINEAR_LOSS_COPIED: x, w, dx and dw, and behind them the scratch of the way that takes the copies. Forward, of
 * 16 bits: w comes some classes at a time, so that memory does not grow with the classes. */
typedef struct linear_loss_copies {
    size_t x, w, dx, dw, bytes;
    int64_t classes, w_stride; /* at a time; of w where its lines are across the depth */
} linear_loss_copies;
#define LINEAR_COPIED_CLASS_BYTES ((int64_t)16 << 20)
static inline linear_loss_copies linear_loss_copies_of(int64_t rows, int64_t depth, int64_t classes, int bytes,
                                                       bool gradients) {
    linear_loss_copies c;
    memset(&c, 0, sizeof c);
    const int64_t padded = (depth + 15) / 16 * 16, tiles = (classes + 255) / 256;
    const int64_t unit = (tiles + LINEAR_PARTS - 1) / LINEAR_PARTS * 256; /* classes that have a part together */
    const int64_t units = LINEAR_COPIED_CLASS_BYTES / (padded * bytes) / unit;
    const int64_t some = (units < 1 ? 1 : units) * unit;
    const bool whole = gradients || bytes == 4 || some > classes;
    c.classes = whole ? classes : some;
    const double x = (double)rows * (double)padded * bytes;
    const int64_t wide = (c.classes + 15) / 16 * 16;
    c.w_stride = bytes == 4 && classes > 1 ? classes : wide; /* never 1: lines along the depth */
    const double w = (double)padded * (double)wide * bytes;
    c.x = linear_scratch_take(&c.bytes, x);
    c.w = linear_scratch_take(&c.bytes, w);
    c.dx = linear_scratch_take(&c.bytes, gradients ? x : 0);
    c.dw = linear_scratch_take(&c.bytes, gradients ? w : 0);
    return c;
}

/* Scratch of the plain way (linear/loss_unfused.cuh): logits, gradients of `element` bytes, in lines of `stride`. */
typedef struct linear_unfused_scratch {
    size_t logits, gradient, columns, bytes;
    int64_t stride;
} linear_unfused_scratch;

static inline linear_unfused_scratch linear_unfused_scratch_of(int64_t rows, int64_t classes, size_t element) {
    linear_unfused_scratch s;
    memset(&s, 0, sizeof s);
    s.stride = (classes + 15) / 16 * 16;
    const int64_t sums = linear_sum_blocks(rows);
    const double elements = (double)rows * (double)s.stride;
    s.logits = linear_scratch_take(&s.bytes, elements * sizeof(float));
    s.gradient = linear_scratch_take(&s.bytes, elements * (double)element);
    s.columns = linear_scratch_take(&s.bytes, (double)sums * (double)classes * sizeof(float));
    return s;
}

/* Bytes that split operands take: written once, and read by their products. */
static inline double linear_split_traffic(int64_t rows, int64_t depth, int64_t classes, bool gradients, int parts) {
    const double logits = linear_split_bytes(rows, depth, parts) + linear_split_bytes(classes, depth, parts);
    if (!gradients) return logits;
    const double dx = linear_split_bytes(rows, classes, parts) + linear_split_bytes(depth, classes, parts);
    return logits + dx + linear_split_bytes(classes, rows, parts) + linear_split_bytes(depth, rows, parts);
}

#endif
