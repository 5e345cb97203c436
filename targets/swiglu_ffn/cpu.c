/* y = (silu(x g^T) (x u^T)) w2^T in fp32. Both variants make the products by the ways of cpu/gemm_product.h. Baseline: gate
 * values, up values, hidden values and y, each for all rows. Optimized: a block of a thread's rows after the other; gate and
 * up values are one product, whose results are in cache when y is made of them. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "cpu/vec_activation.h"
#include "swiglu_ffn.h"

/* hidden = silu(gate) hidden, of one row. */
typedef struct gated_row {
    const float *gate;
    float *hidden;
} gated_row;
VF_INLINE vf2 gated(const void *state, int64_t j, int64_t count) {
    const gated_row *r = state;
    const vf2 gate = row_load(r->gate, j, count, VF_F32), up = row_load(r->hidden, j, count, VF_F32);
    return (vf2){vf_mul(vf_silu(gate.a), up.a), vf_mul(vf_silu(gate.b), up.b)};
}

static gemm_product first_of(const ridge_call *call, int64_t row, int64_t rows, int64_t column, int64_t columns,
                             float *c, int64_t line) {
    const DLTensor *x = &call->in[FFN_X], *w1 = &call->in[FFN_W1];
    return (gemm_product){.m = rows,
                          .n = columns,
                          .k = call->dim[FFN_D],
                          .a = (const float *)ridge_data(x) + row * ridge_row_stride(x),
                          .a_row = ridge_row_stride(x),
                          .a_depth = 1,
                          .b = (const float *)ridge_data(w1) + column * ridge_row_stride(w1),
                          .b_depth = 1,
                          .b_column = ridge_row_stride(w1),
                          .c = c,
                          .c_row = line};
}
static gemm_product second_of(const ridge_call *call, int64_t row, int64_t rows, const float *hidden, int64_t line) {
    const DLTensor *w2 = &call->in[FFN_W2], *y = &call->out[0];
    return (gemm_product){.m = rows,
                          .n = call->dim[FFN_D],
                          .k = call->dim[FFN_F],
                          .a = hidden,
                          .a_row = line,
                          .a_depth = 1,
                          .b = ridge_data(w2),
                          .b_depth = 1,
                          .b_column = ridge_row_stride(w2),
                          .c = (float *)ridge_data(y) + row * ridge_row_stride(y),
                          .c_row = ridge_row_stride(y)};
}

static void gate_all(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t m = call->dim[FFN_M], f = call->dim[FFN_F], line = ffn_line(f);
    int64_t begin, end;
    ridge_share(m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *const hidden = (float *)call->scratch + i * line;
        const gated_row r = {hidden + m * line, hidden};
        row_map(hidden, f, VF_F32, false, gated, &r, NULL);
    }
}
ridge_status RIDGE_ISA_FN(swiglu_ffn_cpu_baseline)(const ridge_call *call) {
    const int64_t m = call->dim[FFN_M], f = call->dim[FFN_F], line = ffn_line(f);
    float *const hidden = call->scratch, *const gate = hidden + m * line,
                 *const room = hidden + (2 * m * line + 15) / 16 * 16;
    if (m == 0) return RIDGE_OK;
    const gemm_product gates = first_of(call, 0, m, 0, f, gate, line), ups = first_of(call, 0, m, f, f, hidden, line);
    gemm_product_best(&gates, room, call->team);
    gemm_product_best(&ups, room, call->team);
    ridge_team_run(call->team, gate_all, (void *)call);
    const gemm_product second = second_of(call, 0, m, hidden, line);
    gemm_product_best(&second, room, call->team);
    return RIDGE_OK;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void blocks(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t d = call->dim[FFN_D], f = call->dim[FFN_F], rows = ffn_rows(f);
    const size_t products = larger(gemm_product_scratch(rows, 2 * f, d, 1), gemm_product_scratch(rows, d, f, 1));
    const size_t mine = ((size_t)((2 * rows * f + 15) / 16 * 16) * sizeof(float) + products + 63) / 64 * 64;
    float *const both = (float *)((char *)call->scratch + (size_t)rank * mine), *const room =
                                                                                    both +
                                                                                    (2 * rows * f + 15) / 16 * 16;
    int64_t begin, end;
    ridge_share(call->dim[FFN_M], 1, rank, size, &begin, &end);
    for (int64_t first = begin, count; first < end; first += count) {
        count = end - first < rows ? end - first : rows;
        const gemm_product gates_and_ups = first_of(call, first, count, 0, 2 * f, both, 2 * f);
        gemm_product_best(&gates_and_ups, room, NULL);
        for (int64_t i = 0; i < count; i++) {
            const gated_row r = {both + i * 2 * f, both + i * 2 * f + f};
            row_map(r.hidden, f, VF_F32, false, gated, &r, NULL);
        }
        const gemm_product second = second_of(call, first, count, both + f, 2 * f);
        gemm_product_best(&second, room, NULL);
    }
}
ridge_status RIDGE_ISA_FN(swiglu_ffn_cpu_optimized)(const ridge_call *call) {
    ridge_team_run(call->team, blocks, (void *)call);
    return RIDGE_OK;
}
