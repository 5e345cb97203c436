/* C = A B^T in fp32, A 2:4 sparse. Baseline: an element of C at a time, from the elements of B that A's codes name. Optimized:
 * a block of A's rows with its zeros, in cache, and the product of cpu/gemm_product.h: vectors cannot follow codes. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "structured_sparsity.h"

static const float *values_of(const ridge_call *call, int64_t i) {
    return (const float *)ridge_data(&call->in[SPARSE_A]) + i * ridge_row_stride(&call->in[SPARSE_A]);
}
static const uint32_t *codes_of(const ridge_call *call, int64_t i) {
    return (const uint32_t *)ridge_data(&call->in[SPARSE_CODES]) + i * ridge_row_stride(&call->in[SPARSE_CODES]);
}
static bool is_patterned(const ridge_call *call, int64_t i) {
    const uint32_t *words = codes_of(call, i);
    uint32_t wrong = 0;
    for (int64_t w = 0; w < call->dim[SPARSE_WORDS]; w++) wrong |= pattern_wrong(words[w]);
    return wrong == 0;
}

static float element(const float *a, const uint32_t *codes, const float *b, int64_t k) {
    float sum = 0;
    for (int64_t four = 0; four < k / 4; four++) {
        const unsigned code = pattern_code(codes[four / 8], (int)(four % 8));
        sum += a[2 * four] * b[4 * four + pattern_first(code)];
        sum += a[2 * four + 1] * b[4 * four + pattern_second(code)];
    }
    return sum;
}

static void elements(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *b = &call->in[SPARSE_B], *c = &call->out[0];
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const bool patterned = is_patterned(call, i);
        float *const row = (float *)ridge_data(c) + i * ridge_row_stride(c);
        for (int64_t j = 0; j < call->dim[SPARSE_N]; j++) {
            const float *column = (const float *)ridge_data(b) + j * ridge_row_stride(b);
            row[j] = patterned ? element(values_of(call, i), codes_of(call, i), column, call->dim[SPARSE_K])
                               : __builtin_nanf("");
        }
    }
}
ridge_status RIDGE_ISA_FN(structured_sparsity_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, elements, (void *)call);
    return RIDGE_OK;
}

/* A row with its zeros; of NaN if its codes are not of a pattern. */
static void expand(const ridge_call *call, int64_t i, float *to) {
    const int64_t k = call->dim[SPARSE_K];
    const float *a = values_of(call, i);
    const bool patterned = is_patterned(call, i);
    for (int64_t d = 0; d < k; d++) to[d] = patterned ? 0 : __builtin_nanf("");
    for (int64_t four = 0; patterned && four < k / 4; four++) {
        const unsigned code = pattern_code(codes_of(call, i)[four / 8], (int)(four % 8));
        to[4 * four + pattern_first(code)] = a[2 * four];
        to[4 * four + pattern_second(code)] = a[2 * four + 1];
    }
}

static void blocks(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *b = &call->in[SPARSE_B], *c = &call->out[0];
    const int64_t n = call->dim[SPARSE_N], k = call->dim[SPARSE_K], rows = sparse_rows(k);
    const size_t floats = (size_t)((rows * k + 15) / 16 * 16);
    const size_t mine = (floats * sizeof(float) + gemm_product_scratch(rows, n, k, 1) + 63) / 64 * 64;
    float *const whole = (float *)((char *)call->scratch + (size_t)rank * mine);
    int64_t begin, end;
    ridge_share(call->dim[SPARSE_M], 1, rank, size, &begin, &end);
    for (int64_t first = begin, count; first < end; first += count) {
        count = end - first < rows ? end - first : rows;
        for (int64_t i = 0; i < count; i++) expand(call, first + i, whole + i * k);
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
