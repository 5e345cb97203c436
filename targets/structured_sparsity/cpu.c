/* C = A B^T in fp32, A 2:4 sparse. Baseline: an element of C at a time, from the elements of B that A's codes name. Optimized:
 * a block of A's rows with its zeros, in cache, and the product of cpu/gemm_product.h: vectors cannot follow codes. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "sparse/rows.h"
#include "structured_sparsity.h"

static sparse_matrix matrix_of(const ridge_call *call) {
    return sparse_matrix_of(&call->in[SPARSE_A], &call->in[SPARSE_CODES], call->dim[SPARSE_K]);
}

static void elements(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *b = &call->in[SPARSE_B], *c = &call->out[0];
    const sparse_matrix a = matrix_of(call);
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const bool patterned = sparse_is_patterned(&a, i);
        float *const row = (float *)ridge_data(c) + i * ridge_row_stride(c);
        for (int64_t j = 0; j < call->dim[SPARSE_N]; j++) {
            const float *column = (const float *)ridge_data(b) + j * ridge_row_stride(b);
            row[j] = patterned ? sparse_dot(&a, i, column) : __builtin_nanf("");
        }
    }
}
ridge_status RIDGE_ISA_FN(structured_sparsity_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, elements, (void *)call);
    return RIDGE_OK;
}

static void blocks(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *b = &call->in[SPARSE_B], *c = &call->out[0];
    const int64_t n = call->dim[SPARSE_N], k = call->dim[SPARSE_K], rows = sparse_rows(k);
    const size_t floats = (size_t)((rows * k + 15) / 16 * 16);
    const size_t mine = (floats * sizeof(float) + gemm_product_scratch(rows, n, k, 1) + 63) / 64 * 64;
    const sparse_matrix a = matrix_of(call);
    float *const whole = (float *)((char *)call->scratch + (size_t)rank * mine);
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t first = begin, count; first < end; first += count) {
        count = end - first < rows ? end - first : rows;
        for (int64_t i = 0; i < count; i++) sparse_expand(&a, first + i, whole + i * k);
        const gemm_product p = {.m = count,
                                .n = n,
                                .k = k,
                                .a = whole,
                                .a_row = k,
                                .a_depth = 1,
                                .b = ridge_data(b),
                                .b_depth = 1,
                                .b_column = ridge_row_stride(b),
                                .c = (float *)ridge_data(c) + first * ridge_row_stride(c),
                                .c_row = ridge_row_stride(c)};
        gemm_product_best(&p, whole + floats, NULL);
    }
}
ridge_status RIDGE_ISA_FN(structured_sparsity_cpu_optimized)(const ridge_call *call) {
    ridge_team_run(call->team, blocks, (void *)call);
    return RIDGE_OK;
}
