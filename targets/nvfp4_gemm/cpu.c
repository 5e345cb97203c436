/* C = x W^T in fp32, W in NVFP4. Baseline: all of W as fp32, then the product. Optimized: a block of W's rows after the other
 * is packed from its codes, in cache when x is multiplied with it. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "nvfp4_gemm.h"
#include "quantize/nvfp4_panels.h"

/* Row i of W as fp32. */
static void dequantize(const ridge_call *call, int64_t i, float *to) {
    const float tensor = *(const float *)ridge_data(&call->in[FP4_TENSOR]);
    nvfp4_values(&call->in[FP4_Q], &call->in[FP4_S], i, call->dim[FP4_K], tensor, to);
}

/* x times `rows` rows of W from `first` on, which are at w. */
static gemm_product product_of(const ridge_call *call, int64_t first, int64_t rows, const float *w) {
    const DLTensor *x = &call->in[FP4_X], *c = &call->out[0];
    return (gemm_product){.m = call->dim[FP4_M],
                          .n = rows,
                          .k = call->dim[FP4_K],
                          .a = ridge_data(x),
                          .a_row = ridge_row_stride(x),
                          .a_depth = 1,
                          .b = w,
                          .b_depth = 1,
                          .b_column = call->dim[FP4_K],
                          .c = (float *)ridge_data(c) + first,
                          .c_row = ridge_row_stride(c)};
}

static void dequantize_all(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[FP4_N], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) dequantize(call, i, (float *)call->scratch + i * call->dim[FP4_K]);
}
ridge_status RIDGE_ISA_FN(nvfp4_gemm_cpu_baseline)(const ridge_call *call) {
    const int64_t n = call->dim[FP4_N], k = call->dim[FP4_K];
    float *const w = call->scratch;
    if (call->dim[FP4_M] == 0) return RIDGE_OK;
    ridge_team_run(call->team, dequantize_all, (void *)call);
    const gemm_product p = product_of(call, 0, n, w);
    gemm_product_best(&p, w + (n * k + 15) / 16 * 16, call->team);
    return RIDGE_OK;
}

static void blocks(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *x = &call->in[FP4_X], *c = &call->out[0];
    const nvfp4_product p = {.q = &call->in[FP4_Q],
                             .s = &call->in[FP4_S],
                             .factor = *(const float *)ridge_data(&call->in[FP4_TENSOR]),
                             .m = call->dim[FP4_M],
                             .k = call->dim[FP4_K],
                             .a = ridge_data(x),
                             .a_row = ridge_row_stride(x),
                             .c = ridge_data(c),
                             .c_row = ridge_row_stride(c)};
    int64_t begin, end;
    ridge_share(call->dim[FP4_N], GEMM_NR, rank, size, &begin, &end);
    nvfp4_multiply(&p, begin, end, (char *)call->scratch + (size_t)rank * nvfp4_room_bytes(p.k));
}
ridge_status RIDGE_ISA_FN(nvfp4_gemm_cpu_optimized)(const ridge_call *call) {
    if (call->dim[FP4_M] > 0) ridge_team_run(call->team, blocks, (void *)call);
    return RIDGE_OK;
}
