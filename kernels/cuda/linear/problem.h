/* The matrices of a linear layer's problem, as the conditions of its ways read them. Of C. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_PROBLEM_H
#define RIDGE_KERNELS_CUDA_LINEAR_PROBLEM_H

#include "cuda/skinny/thin.h"
#include "ridge/target.h"

#define LINEAR_COPIES_MOST ((size_t)1 << 30) /* bytes of operands' copies in aligned memory */

/* rows x columns; element (i, j) is at i line + j step, and line or step is 1: matrix_view (host/view.cuh) but for the
 * address, of which `offset` is what alignment depends on. */
typedef struct linear_matrix {
    int64_t rows, columns, line, step;
    unsigned offset; /* bytes, modulo RIDGE_OFFSETS */
} linear_matrix;

/* As view_of has it. */
static inline linear_matrix linear_matrix_of(const ridge_operand *t, int64_t rows, int64_t columns) {
    linear_matrix m;
    m.rows = rows, m.columns = columns;
    m.line = rows > 1 ? t->stride[0] : columns;
    m.step = columns > 1 ? t->stride[1] : 1;
    if (m.step == 1 && m.line < columns) m.line = columns;
    m.offset = t->offset;
    return m;
}
static inline linear_matrix linear_transposed(linear_matrix m) {
    linear_matrix t = m;
    t.rows = m.columns, t.columns = m.rows, t.line = m.step, t.step = m.line;
    return t;
}
static inline bool linear_by_rows(const linear_matrix *m) { return m->step == 1; }
/* Of a matrix by rows. */
static inline thin_phases linear_phases(const linear_matrix *m, int bytes) {
    return thin_phases_of(m->offset, m->line, m->rows, bytes);
}
static inline int64_t linear_stride(const linear_matrix *m) { return linear_by_rows(m) ? m->line : m->step; }

/* What TMA requires of a matrix of elements of so many bytes: matrix_is_tileable of host/tensor_map.cuh. */
static inline bool linear_tileable(const linear_matrix *m, int bytes) {
    return m->offset % 16 == 0 && linear_stride(m) * bytes % 16 == 0 && m->rows > 0 && m->columns > 0 &&
           m->rows <= INT32_MAX && m->columns <= INT32_MAX;
}

#endif
