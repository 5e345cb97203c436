/* Rows of a 2:4 sparse matrix in fp32, on a CPU: products with a dense row, and rows with their zeros. */
#ifndef RIDGE_KERNELS_SPARSE_ROWS_H
#define RIDGE_KERNELS_SPARSE_ROWS_H

#include "model/sparse_codes.h"
#include "ridge/target.h"

typedef struct sparse_matrix {
    const float *values;
    const uint32_t *codes;
    int64_t values_line, codes_line, k;
} sparse_matrix;

static inline sparse_matrix sparse_matrix_of(const DLTensor *values, const DLTensor *codes, int64_t k) {
    return (sparse_matrix){ridge_data(values), ridge_data(codes), ridge_row_stride(values), ridge_row_stride(codes), k};
}

/* Rows that a thread expands at a time: 128 KiB of them. */
static inline int64_t sparse_rows(int64_t k) {
    const int64_t rows = (1 << 15) / (k > 0 ? k : 1);
    return rows > 144 ? 144 : rows < 8 ? 8 : rows;
}

static inline bool sparse_is_patterned(const sparse_matrix *m, int64_t i) {
    const uint32_t *words = m->codes + i * m->codes_line;
    uint32_t wrong = 0;
    for (int64_t w = 0; w < m->k / PATTERN_COLUMNS; w++) wrong |= pattern_wrong(words[w]);
    return wrong == 0;
}

/* The sum of row i, whose codes are of a pattern, times b. */
static inline float sparse_dot(const sparse_matrix *m, int64_t i, const float *b) {
    const float *a = m->values + i * m->values_line;
    const uint32_t *codes = m->codes + i * m->codes_line;
    float sum = 0;
    for (int64_t four = 0; four < m->k / 4; four++) {
        const unsigned code = pattern_code(codes[four / 8], (int)(four % 8));
        sum += a[2 * four] * b[4 * four + pattern_first(code)];
        sum += a[2 * four + 1] * b[4 * four + pattern_second(code)];
    }
    return sum;
}

/* Row i with its zeros; of NaN if its codes are not of a pattern. */
static inline void sparse_expand(const sparse_matrix *m, int64_t i, float *to) {
    const float *a = m->values + i * m->values_line;
    const bool patterned = sparse_is_patterned(m, i);
    for (int64_t d = 0; d < m->k; d++) to[d] = patterned ? 0 : __builtin_nanf("");
    for (int64_t four = 0; patterned && four < m->k / 4; four++) {
        const unsigned code = pattern_code(m->codes[i * m->codes_line + four / 8], (int)(four % 8));
        to[4 * four + pattern_first(code)] = a[2 * four];
        to[4 * four + pattern_second(code)] = a[2 * four + 1];
    }
}

#endif
