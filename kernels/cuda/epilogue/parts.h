/* What epilogues leave in memory for later kernels. C and CUDA.
 *
 * Logits z are in units of log 2, so that exp is 2^z. Every tile of z becomes, for each of its rows, a part: the sum of
 * 2^(z - shift) over the tile's classes. Neighbouring tiles share a part when there are more than LINEAR_PARTS of them,
 * so that the memory for parts depends on the rows alone. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_PARTS_H
#define RIDGE_KERNELS_CUDA_EPILOGUE_PARTS_H

enum {
    LINEAR_PARTS = 512 /* of a row, at most */
};

typedef struct softmax_part {
    float shift, sum; /* shift: a whole number */
} softmax_part;

/* What turns a row of z into a row of gradients: coef 2^(z - log_sum) - off, and hit less at the label. */
typedef struct row_gradient {
    float log_sum, coef, off, hit;
    int label; /* -1: the row is ignored, and all else is 0 */
} row_gradient;

/* Gradients of f16 leave its range: rows are scaled by a power of two that brings the largest to 2^15, and what is made
 * of gradients is scaled back. */
typedef struct gradient_range {
    unsigned most;  /* bits of a float: the largest row's bound */
    float undo;     /* 1 / the power of two */
    unsigned exact; /* not 0: some have more range than that, and all are fp32, by multiply-adds */
} gradient_range;

#endif
