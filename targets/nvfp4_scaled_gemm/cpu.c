/* C = A B^T in fp32, A and B in NVFP4. Baseline: both as fp32 in memory, then the product. Optimized: A is in memory, and a block of
 * B's rows after the other is packed from its codes, in cache when A is multiplied with it. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "nvfp4_scaled_gemm.h"
#include "nvfp4_scaled_gemm_cpu.h"
#include "quantize/nvfp4_panels.h"

RIDGE_CPU_DECLARE(nvfp4_scaled_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(nvfp4_scaled_gemm_cpu_optimized);

/* A as fp32 at a; of B the rows from b_first on at b, with both tensors' scales. */
static void row_of_a(const ridge_call *call, int64_t i, float *a) {
    nvfp4_values(&call->in[SCALED_A], &call->in[SCALED_A_SCALE], i, call->dim[SCALED_K], 1.0F, a);
}
static void row_of_b(const ridge_call *call, int64_t j, float *b) {
    const float a_tensor = *(const float *)ridge_data(&call->in[SCALED_A_TENSOR]),
                b_tensor = *(const float *)ridge_data(&call->in[SCALED_B_TENSOR]);
    nvfp4_values(&call->in[SCALED_B], &call->in[SCALED_B_SCALE], j, call->dim[SCALED_K], a_tensor * b_tensor, b);
}

/* A times `rows` rows of B from `first` on, which are at b. */
static gemm_product product_of(const ridge_call *call, const float *a, int64_t first, int64_t rows, const float *b) {
    const DLTensor *c = &call->out[0];
    const int64_t k = call->dim[SCALED_K];
    return (gemm_product){.m = call->dim[SCALED_M],
                          .n = rows,
                          .k = k,
                          .a = a,
                          .a_row = k,
                          .a_depth = 1,
                          .b = b,
                          .b_depth = 1,
                          .b_column = k,
                          .c = (float *)ridge_data(c) + first,
                          .c_row = ridge_row_stride(c)};
}

/* A's place in scratch is the first one. */
static float *behind_a(const ridge_call *call) {
    return (float *)call->scratch + scaled_floats(call->dim[SCALED_M] * call->dim[SCALED_K]);
}
static void all_of_a(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[SCALED_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) row_of_a(call, i, (float *)call->scratch + i * call->dim[SCALED_K]);
}
static void all_of_b(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[SCALED_N], 1, rank, size, &begin, &end);
    for (int64_t j = begin; j < end; j++) row_of_b(call, j, behind_a(call) + j * call->dim[SCALED_K]);
}
ridge_status RIDGE_ISA_FN(nvfp4_scaled_gemm_cpu_baseline)(const ridge_call *call) {
    const int64_t n = call->dim[SCALED_N];
    float *const b = behind_a(call);
    if (call->dim[SCALED_M] == 0) return RIDGE_OK;
    ridge_team_run(call->team, all_of_a, (void *)call);
    ridge_team_run(call->team, all_of_b, (void *)call);
    const gemm_product p = product_of(call, call->scratch, 0, n, b);
    gemm_product_best(&p, b + scaled_floats(n * call->dim[SCALED_K]), call->team);
    return RIDGE_OK;
}

/* ---- optimized ---- */

static void lines_of_a(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t k = call->dim[SCALED_K], line = nvfp4_line(k);
    int64_t begin, end;
    ridge_share(call->dim[SCALED_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        nvfp4_values(&call->in[SCALED_A], &call->in[SCALED_A_SCALE], i, k, 1.0F, (float *)call->scratch + i * line);
}

static void blocks_of_b(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t m = call->dim[SCALED_M], k = call->dim[SCALED_K], line = nvfp4_line(k);
    const DLTensor *c = &call->out[0];
    const nvfp4_product p = {.q = &call->in[SCALED_B],
                             .s = &call->in[SCALED_B_SCALE],
                             .factor = *(const float *)ridge_data(&call->in[SCALED_A_TENSOR]) *
                                       *(const float *)ridge_data(&call->in[SCALED_B_TENSOR]),
                             .m = m,
                             .k = k,
                             .a = call->scratch,
                             .a_row = line,
                             .c = ridge_data(c),
                             .c_row = ridge_row_stride(c)};
    char *const rooms = (char *)((float *)call->scratch + scaled_floats(m * line));
    int64_t begin, end;
    ridge_share(call->dim[SCALED_N], GEMM_NR, rank, size, &begin, &end);
    nvfp4_multiply(&p, begin, end, rooms + (size_t)rank * nvfp4_room_bytes(k));
}
ridge_status RIDGE_ISA_FN(nvfp4_scaled_gemm_cpu_optimized)(const ridge_call *call) {
    if (call->dim[SCALED_M] == 0) return RIDGE_OK;
    ridge_team_run(call->team, lines_of_a, (void *)call);
    ridge_team_run(call->team, blocks_of_b, (void *)call);
    return RIDGE_OK;
}
