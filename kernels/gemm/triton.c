#include "gemm/triton.h"

#include "model/matmul_dims.h"

static const char kernel[] = "matmul_tile";

const char *matmul_triton_unavailable(const ridge_case *c) { return triton_absent(c); }

ridge_status matmul_triton_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads, (void)plan;
    return triton_load((triton_want){kernel, c->dtype, c->dim[MATMUL_M], c->dim[MATMUL_N], false});
}

ridge_status triton_product(const char *name, ridge_dtype dtype, const triton_matrix matrix[3], const int64_t extent[3],
                            bool aligned, void *stream) {
    const int64_t every = extent[MATMUL_M] | extent[MATMUL_N] | extent[MATMUL_K];
    const triton_want want = {name, dtype, extent[MATMUL_M], extent[MATMUL_N], aligned && every % 16 == 0};
    const triton_kernel *k = triton_find(want);
    void *at[3] = {matrix[0].at, matrix[1].at, matrix[2].at};
    int64_t row[3] = {matrix[0].row, matrix[1].row, matrix[2].row};
    int32_t m = (int32_t)extent[MATMUL_M], n = (int32_t)extent[MATMUL_N], depth = (int32_t)extent[MATMUL_K];
    float alpha = 1;
    void *arguments[] = {&at[0], &at[1], &at[2], &m, &n, &depth, &row[0], &row[1], &row[2], &alpha};
    if (!k) return RIDGE_UNSUPPORTED;
    return triton_launch(k, triton_programs(k, m, n), arguments, 10, stream);
}

ridge_status matmul_triton(const ridge_call *call) {
    const DLTensor *t[3] = {&call->in[0], &call->in[1], &call->out[0]};
    triton_matrix matrix[3];
    bool aligned = true;
    for (int i = 0; i < 3; i++) {
        matrix[i] = (triton_matrix){ridge_data(t[i]), ridge_row_stride(t[i])};
        aligned = aligned && triton_is_aligned(t[i]);
    }
    return triton_product(kernel, call->dtype, matrix, call->dim, aligned, call->stream);
}
