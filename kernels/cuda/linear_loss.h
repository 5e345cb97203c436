/* Softmax cross-entropy of a linear layer on a GPU: what its kernels keep between each other. Of C and CUDA.
 *
 * With z = x w^T + b, [rows, classes], in units of log 2 (so that exp is 2^z): every tile of z becomes, for each of its
 * rows, a part: the sum of 2^(z - shift) over the tile's classes. Neighbouring tiles go into one part when there are
 * more than LINEAR_PARTS of them, so that the parts take memory by the rows alone. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_H
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_H

#include <string.h>

#include "ridge/target.h"

enum {
    LINEAR_PARTS = 512 /* of a row, at the most */
};

/* Classes of the narrowest tile: what is kept for each stays small. */
static inline int linear_columns_least(int64_t rows, int64_t classes) {
    return rows <= (1 << 18) && classes <= (1 << 18) && rows * classes <= (1 << 18) ? 16 : 64;
}

typedef struct softmax_part {
    float shift, sum; /* shift: a whole number */
} softmax_part;

/* What turns a row of z into a row of gradients: coef 2^(z - log_sum) - off, and hit less at the label. */
typedef struct row_gradient {
    float log_sum, coef, off, hit;
    int label; /* -1: the row is ignored, and all else is 0 */
} row_gradient;

/* Gradients of the logits are made for so many rows at a time that they take at most this. */
#define LINEAR_GRADIENT_BYTES ((int64_t)1 << 30)

/* Offsets in scratch; multiples of 1024. */
typedef struct linear_loss_scratch {
    size_t parts;       /* softmax_part[LINEAR_PARTS or fewer][rows] */
    size_t logit_sums;  /* float, likewise: sums of z, for label smoothing */
    size_t label_logit; /* float[rows] */
    size_t rows;        /* row_gradient[rows] */
    size_t progress;    /* unsigned, see keep_pace */
    size_t shifts;      /* float[tiles of classes][chunk]: of the exponentials that stand where gradients will */
    size_t columns;     /* float[blocks of 256 rows of a chunk][classes]: sums of gradients */
    size_t gradient;    /* [chunk][gradient_stride] */
    size_t bytes;
    int64_t chunk, gradient_stride; /* rows of gradients at a time; elements from one to the next */
} linear_loss_scratch;

/* The gradients' type: storage, but fp32 for f16, whose range is too small. */
static inline ridge_dtype linear_gradient_dtype(ridge_dtype dtype) {
    return dtype == RIDGE_BF16 ? RIDGE_BF16 : RIDGE_F32;
}

static inline size_t linear_scratch_take(size_t *bytes, double size) {
    const size_t at = *bytes;
    *bytes += ((size_t)size + 1023) / 1024 * 1024;
    return at;
}

static inline linear_loss_scratch linear_loss_scratch_of(int64_t rows, int64_t classes, ridge_dtype dtype,
                                                         bool gradients) {
    linear_loss_scratch s;
    memset(&s, 0, sizeof s);
    const int least = linear_columns_least(rows, classes);
    const int64_t tiles = (classes + least - 1) / least;
    const double parts = (double)(tiles < LINEAR_PARTS ? (int64_t)tiles : (int64_t)LINEAR_PARTS) * (double)rows;
    s.parts = linear_scratch_take(&s.bytes, parts * sizeof(softmax_part));
    s.logit_sums = linear_scratch_take(&s.bytes, parts * sizeof(float));
    s.label_logit = linear_scratch_take(&s.bytes, (double)rows * sizeof(float));
    s.rows = linear_scratch_take(&s.bytes, (double)rows * sizeof(row_gradient));
    s.progress = linear_scratch_take(&s.bytes, 4);
    if (!gradients) return s;
    const int64_t element = (int64_t)ridge_dtype_size(linear_gradient_dtype(dtype));
    s.gradient_stride = (classes + 15) / 16 * 16;
    s.chunk = LINEAR_GRADIENT_BYTES / (s.gradient_stride * element) / 256 * 256;
    if (s.chunk < 256) s.chunk = 256;
    if (s.chunk > rows) s.chunk = rows;
    const int64_t blocks_of_rows = (s.chunk + 255) / 256;
    const double blocks = (double)blocks_of_rows;
    s.shifts = linear_scratch_take(&s.bytes, (double)tiles * (double)s.chunk * sizeof(float));
    s.columns = linear_scratch_take(&s.bytes, blocks * (double)classes * sizeof(float));
    s.gradient = linear_scratch_take(&s.bytes, (double)s.chunk * (double)s.gradient_stride * (double)element);
    return s;
}

/* Scratch of a case of the cross-entropy targets. */
static inline size_t linear_loss_bytes(const ridge_case *c, bool gradients) {
    return linear_loss_scratch_of(c->dim[0], c->dim[2], c->dtype, gradients).bytes;
}

#endif
