/* The SwiGLU feed-forward layer of dense fp32 matrices, y = (silu(x g^T) (x u^T)) w2^T with w1 = [g; u]: its products, hidden
 * values of a row, and a block of a thread's rows after the other. Gate and up values of a block are one product, whose results
 * are in cache when y is made of them. Included by cpu*.c. */
#ifndef RIDGE_KERNELS_CPU_FFN_H
#define RIDGE_KERNELS_CPU_FFN_H

#include "cpu/ffn_rows.h"
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "cpu/vec_activation.h"

/* x: [m, d], w1: [2 f, d], w2: [d, f], y: [m, d]; lines in elements. */
typedef struct ffn_matrices {
    int64_t m, d, f;
    const float *x, *w1, *w2;
    int64_t x_line, w1_line, w2_line;
    float *y;
    int64_t y_line;
} ffn_matrices;

/* hidden = silu(gate) hidden, of one row. */
typedef struct gated_row {
    const float *gate;
    float *hidden;
} gated_row;
VF_INLINE vf2 ffn_gated(const void *state, int64_t j, int64_t count) {
    const gated_row *r = state;
    const vf2 gate = row_load(r->gate, j, count, VF_F32), up = row_load(r->hidden, j, count, VF_F32);
    return (vf2){vf_mul(vf_silu(gate.a), up.a), vf_mul(vf_silu(gate.b), up.b)};
}
static inline void ffn_gate_row(const float *gate, float *hidden, int64_t f) {
    const gated_row r = {gate, hidden};
    row_map(hidden, f, VF_F32, false, ffn_gated, &r, NULL);
}

/* C = x w1^T of some rows of x, and of w1. */
static inline gemm_product ffn_first(const ffn_matrices *o, int64_t row, int64_t rows, int64_t column, int64_t columns,
                                     float *c, int64_t line) {
    return (gemm_product){.m = rows,
                          .n = columns,
                          .k = o->d,
                          .a = o->x + row * o->x_line,
                          .a_row = o->x_line,
                          .a_depth = 1,
                          .b = o->w1 + column * o->w1_line,
                          .b_depth = 1,
                          .b_column = o->w1_line,
                          .c = c,
                          .c_row = line};
}
/* y = hidden w2^T of some rows. */
static inline gemm_product ffn_second(const ffn_matrices *o, int64_t row, int64_t rows, const float *hidden,
                                      int64_t line) {
    return (gemm_product){.m = rows,
                          .n = o->d,
                          .k = o->f,
                          .a = hidden,
                          .a_row = line,
                          .a_depth = 1,
                          .b = o->w2,
                          .b_depth = 1,
                          .b_column = o->w2_line,
                          .c = o->y + row * o->y_line,
                          .c_row = o->y_line};
}

/* Rows from `first` to below `end`, by the calling thread. scratch: ffn_thread_bytes of ffn_rows.h. */
static inline void ffn_blocks(const ffn_matrices *o, int64_t first, int64_t end, void *scratch) {
    const int64_t f = o->f, rows = ffn_rows(f);
    float *const both = scratch, *const room = both + ffn_both_floats(rows, f);
    for (int64_t count; first < end; first += count) {
        count = end - first < rows ? end - first : rows;
        const gemm_product gates_and_ups = ffn_first(o, first, count, 0, 2 * f, both, 2 * f);
        gemm_product_best(&gates_and_ups, room, NULL);
        for (int64_t i = 0; i < count; i++) ffn_gate_row(both + i * 2 * f, both + i * 2 * f + f, f);
        const gemm_product second = ffn_second(o, first, count, both + f, 2 * f);
        gemm_product_best(&second, room, NULL);
    }
}

#endif
