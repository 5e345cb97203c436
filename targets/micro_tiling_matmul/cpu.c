/* C[m,n] = A[m,k] B[k,n]. The baseline is a triple loop in the order that reads B and C along their rows, so that the
 * compiler vectorizes the inner loop. The team shares the rows of C. */
#include <string.h>

#include "cpu/gemm_shared.h"
#include "matmul.h"

static void rows_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    const int64_t sa = ridge_row_stride(&call->in[0]), sb = ridge_row_stride(&call->in[1]);
    const int64_t sc = ridge_row_stride(&call->out[0]);
    const float *a = ridge_data(&call->in[0]), *b = ridge_data(&call->in[1]);
    float *c = ridge_data(&call->out[0]);
    int64_t begin, end;
    ridge_share(call->dim[MATMUL_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *restrict row = c + i * sc;
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t d = 0; d < k; d++) {
            const float s = a[i * sa + d];
            const float *restrict from = b + d * sb;
            for (int64_t j = 0; j < n; j++) row[j] += s * from[j];
        }
    }
}

ridge_status RIDGE_ISA_FN(matmul_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, rows_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}

static gemm_product product_of(const ridge_call *call) {
    const DLTensor *a = &call->in[0], *b = &call->in[1], *c = &call->out[0];
    return (gemm_product){.m = call->dim[MATMUL_M],
                          .n = call->dim[MATMUL_N],
                          .k = call->dim[MATMUL_K],
                          .a = ridge_data(a),
                          .a_row = ridge_row_stride(a),
                          .a_depth = 1,
                          .b = ridge_data(b),
                          .b_depth = ridge_row_stride(b),
                          .b_column = 1,
                          .c = ridge_data(c),
                          .c_row = ridge_row_stride(c)};
}

ridge_status RIDGE_ISA_FN(matmul_cpu_product)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    RIDGE_ISA_FN(gemm_product)(&p, (gemm_way)call->way->number, call->scratch, call->team);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(matmul_cpu_shared)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    RIDGE_ISA_FN(gemm_shared)(&p, call->scratch, call->team);
    return RIDGE_OK;
}
