/* y = (silu(x g^T) (x u^T)) w2^T in fp32. Both variants make the products by the ways of cpu/gemm_product.h. Baseline: gate
 * values, up values, hidden values and y, each for all rows. Optimized: a block of a thread's rows after the other, by cpu/ffn_dense.h. */
#include "cpu/ffn_dense.h"
#include "swiglu_ffn.h"

static ffn_matrices matrices_of(const ridge_call *call) {
    const DLTensor *x = &call->in[FFN_X], *w1 = &call->in[FFN_W1], *w2 = &call->in[FFN_W2], *y = &call->out[0];
    return (ffn_matrices){.m = call->dim[FFN_M],
                          .d = call->dim[FFN_D],
                          .f = call->dim[FFN_F],
                          .x = ridge_data(x),
                          .w1 = ridge_data(w1),
                          .w2 = ridge_data(w2),
                          .x_line = ridge_row_stride(x),
                          .w1_line = ridge_row_stride(w1),
                          .w2_line = ridge_row_stride(w2),
                          .y = ridge_data(y),
                          .y_line = ridge_row_stride(y)};
}

static void gate_all(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t m = call->dim[FFN_M], f = call->dim[FFN_F], line = ffn_line(f);
    int64_t begin, end;
    ridge_share(m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *const hidden = (float *)call->scratch + i * line;
        ffn_gate_row(hidden + m * line, hidden, f);
    }
}
ridge_status RIDGE_ISA_FN(swiglu_ffn_cpu_baseline)(const ridge_call *call) {
    const ffn_matrices all = matrices_of(call);
    const int64_t m = all.m, f = all.f, line = ffn_line(f);
    float *const hidden = call->scratch, *const gate = hidden + m * line,
                 *const room = hidden + (2 * m * line + 15) / 16 * 16;
    if (m == 0) return RIDGE_OK;
    const gemm_product gates = ffn_first(&all, 0, m, 0, f, gate, line), ups = ffn_first(&all, 0, m, f, f, hidden, line);
    gemm_product_best(&gates, room, call->team);
    gemm_product_best(&ups, room, call->team);
    ridge_team_run(call->team, gate_all, (void *)call);
    const gemm_product second = ffn_second(&all, 0, m, hidden, line);
    gemm_product_best(&second, room, call->team);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(swiglu_ffn_cpu_optimized)(const ridge_call *call) {
    const ffn_matrices all = matrices_of(call);
    ffn_dense(&all, call->scratch, call->team);
    return RIDGE_OK;
}
