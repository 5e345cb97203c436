/* C[m, n] = alpha A[m, k] B[k, n] as its kernels choose and take it: extents, and how the matrices lie in memory. A
 * column-major C is made as its transpose, C^T = B^T A^T, so that kernels see C's rows in lines. Of C and CUDA. */
#ifndef RIDGE_GEMM_PROBLEM_H
#define RIDGE_GEMM_PROBLEM_H

#include "model/activation.h"
#include "model/matmul_dims.h"
#include "ridge/target.h"

/* Places in option[] of targets that multiply matrices, and of their tensors; those in dim[] are MATMUL_…. */
enum { GEMM_ALPHA, GEMM_WIDE, GEMM_OPTIONS };
enum { GEMM_A, GEMM_B, GEMM_C }; /* inputs first: C is out[0] */

/* The same of gemm_epilogue, D = f(alpha A B + beta C + bias + row_bias): further options, of which the last three say
 * what is given, and further inputs; D is out[0]. A way of such a target has the number GEMM_WITH_TERMS. */
enum { GEMM_BETA = GEMM_OPTIONS, GEMM_FUNCTION, GEMM_HAS_ADDEND, GEMM_HAS_BIAS, GEMM_HAS_ROW_BIAS, GEMM_TERMS_OPTIONS };
enum { GEMM_ADDEND = GEMM_C, GEMM_BIAS, GEMM_ROW_BIAS, GEMM_D };
enum { GEMM_PLAIN, GEMM_WITH_TERMS };
/* Functions: those of model/activation.h, and the square of ReLU. */
enum { GEMM_RELU_SQUARED = ACTIVATIONS, GEMM_FUNCTIONS };

/* Element (i, j) is `i line + j step` elements behind the first; one of them is 1. */
typedef struct gemm_matrix {
    int64_t line, step;
    unsigned offset; /* of the first, modulo RIDGE_OFFSETS, in bytes */
} gemm_matrix;

typedef struct gemm_problem {
    int64_t m, n, k;
    int64_t batch;       /* products of these extents */
    gemm_matrix a, b, c; /* c.step is 1 */
    ridge_dtype dtype;
    bool wide;   /* C is fp32, whatever A and B are */
    double more; /* bytes of C as an addend, and of biases */
    ridge_abilities here;
} gemm_problem;

/* Of the target that the way belongs to. */
gemm_problem gemm_problem_of(const ridge_way *way, const ridge_problem *p);

static inline double gemm_flops(const gemm_problem *g) {
    return 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
}
/* Bytes of all inputs, and of the result. */
static inline double gemm_bytes_read(const gemm_problem *g) {
    return (double)ridge_dtype_size(g->dtype) * (double)g->k * ((double)g->m + (double)g->n) * (double)g->batch +
           g->more;
}
static inline double gemm_bytes_written(const gemm_problem *g) {
    return (double)(g->wide ? 4 : ridge_dtype_size(g->dtype)) * (double)g->m * (double)g->n * (double)g->batch;
}

/* Whether a matrix lies in lines of 16-byte pieces, as TMA and cp.async take it. bytes: of an element. */
static inline bool gemm_in_pieces(const gemm_matrix *m, int64_t bytes) {
    return m->offset % 16 == 0 && (m->step == 1 ? m->line : m->step) * bytes % 16 == 0;
}
/* Whether TMA can store C, of elements of two bytes: it writes whole pieces, also where a line ends within one. */
static inline bool gemm_c_is_stored(const gemm_problem *g) { return gemm_in_pieces(&g->c, 2) && g->n % 8 == 0; }

#endif
