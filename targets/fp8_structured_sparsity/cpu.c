/* C = (sa A) (sb B)^T in e4m3, A 2:4 sparse, on a CPU. Baseline: an element of C at a time, from the elements of B that A's codes
 * name. Optimized: a block of A's rows with its zeros and one of B's in fp32, in cache, and the product of cpu/gemm_product.h:
 * vectors cannot follow codes. */
#include "cpu/row.h"
#include "fp8_structured_sparsity.h"
#include "fp8_structured_sparsity_cpu.h"
#include "quantize/rule.h"

static const unsigned char *line_of(const DLTensor *t, int64_t row) {
    return (const unsigned char *)ridge_data(t) + row * ridge_row_stride(t);
}
static void decode(const DLTensor *t, int64_t row, int64_t n, float *values) {
    const unsigned char *const codes = line_of(t, row);
    for (int64_t d = 0; d < n; d++) values[d] = rule_value_e4m3(codes[d]);
}
static float scale_of(const ridge_call *call) {
    return *(const float *)ridge_data(&call->in[SPARSE_A_SCALE]) *
           *(const float *)ridge_data(&call->in[SPARSE_B_SCALE]);
}
static void put(const ridge_call *call, int64_t i, int64_t j, float v) {
    const int64_t at = i * ridge_row_stride(&call->out[0]) + j;
    if (call->dtype == RIDGE_F32)
        ((float *)ridge_data(&call->out[0]))[at] = v;
    else
        ((uint16_t *)ridge_data(&call->out[0]))[at] = rule_bf16(v);
}

/* Row i of A alone, as fp32, which is at `kept`. */
static sparse_matrix row_of_a(const ridge_call *call, int64_t i, float *kept) {
    const DLTensor *codes = &call->in[SPARSE_CODES];
    const int64_t k = call->dim[SPARSE_K];
    decode(&call->in[SPARSE_A], i, k / 2, kept);
    return (sparse_matrix){
        .values = kept, .codes = (const uint32_t *)ridge_data(codes) + i * ridge_row_stride(codes), .k = k};
}

static void elements(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t k = call->dim[SPARSE_K];
    const sparse_room at = sparse_room_of(k);
    float *const mine = (float *)call->scratch + rank * at.all;
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const sparse_matrix a = row_of_a(call, i, mine + at.kept);
        const bool patterned = sparse_is_patterned(&a, 0);
        for (int64_t j = 0; j < call->dim[SPARSE_N]; j++) {
            decode(&call->in[SPARSE_B], j, k, mine + at.b);
            put(call, i, j, patterned ? sparse_dot(&a, 0, mine + at.b) * scale_of(call) : __builtin_nanf(""));
        }
    }
}
ridge_status RIDGE_ISA_FN(fp8_structured_sparsity_cpu_baseline)(const ridge_call *call) {
    if (call->dtype != RIDGE_F32 && call->dtype != RIDGE_BF16) return RIDGE_UNSUPPORTED;
    ridge_team_run(call->team, elements, (void *)call);
    return RIDGE_OK;
}

/* C's rows from i0 on, of which A's are in cache, times `columns` rows of B. */
static void put_block(const ridge_call *call, const sparse_room *at, float *mine, int64_t i0, int64_t rows, int64_t j0,
                      int64_t columns) {
    const int64_t k = call->dim[SPARSE_K];
    const float scale = scale_of(call);
    for (int64_t j = 0; j < columns; j++) decode(&call->in[SPARSE_B], j0 + j, k, mine + at->b + j * k);
    const gemm_product p = {.m = rows,
                            .n = columns,
                            .k = k,
                            .a = mine + at->a,
                            .a_row = k,
                            .a_depth = 1,
                            .b = mine + at->b,
                            .b_depth = 1,
                            .b_column = k,
                            .c = mine + at->c,
                            .c_row = columns};
    gemm_product_best(&p, mine + at->product, NULL);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) put(call, i0 + i, j0 + j, mine[at->c + i * columns + j] * scale);
}
static void blocks(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const int64_t n = call->dim[SPARSE_N], k = call->dim[SPARSE_K], most = sparse_room_rows(k), across = sparse_rows(k);
    const sparse_room at = sparse_room_of(k);
    float *const mine = (float *)call->scratch + rank * at.all;
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t first = begin, rows; first < end; first += rows) {
        rows = end - first < most ? end - first : most;
        for (int64_t i = 0; i < rows; i++) {
            const sparse_matrix a = row_of_a(call, first + i, mine + at.kept);
            sparse_expand(&a, 0, mine + at.a + i * k);
        }
        for (int64_t j = 0; j < n; j += across)
            put_block(call, &at, mine, first, rows, j, n - j < across ? n - j : across);
    }
}
ridge_status RIDGE_ISA_FN(fp8_structured_sparsity_cpu_optimized)(const ridge_call *call) {
    if (call->dtype != RIDGE_F32 && call->dtype != RIDGE_BF16) return RIDGE_UNSUPPORTED;
    ridge_team_run(call->team, blocks, (void *)call);
    return RIDGE_OK;
}
