/* Attention's gradients through memory, the baseline: for some queries of one head S and D, each a product, P and the
 * gradient of S, element by element, and three more products. */
#ifndef RIDGE_ATTENTION_BACKWARD_UNFUSED_H
#define RIDGE_ATTENTION_BACKWARD_UNFUSED_H

#include "attention_backward/problem.h"

RIDGE_CUDA_DECLARE(attention_backward_cuda_unfused);

/* Queries of a head whose scores are in memory at once: 256 MiB of S and D in fp32 and P and G in 16 bits. */
static inline int64_t backward_rows_at_once(int64_t m, int64_t n) {
    const int64_t fit = ((int64_t)256 << 20) / (12 * (n > 0 ? n : 1)) / 128 * 128;
    return fit < 128 ? (m < 128 ? m : 128) : fit < m ? fit : m;
}
/* Products that are added to one dk and dv: of heads that share keys, and of parts of their queries. */
static inline int64_t backward_parts(const int64_t *dim) {
    const int64_t rows = backward_rows_at_once(dim[ATTENTION_M], dim[ATTENTION_N]);
    const int64_t parts = rows > 0 ? (dim[ATTENTION_M] + rows - 1) / rows : 0;
    return parts * (dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS]);
}

size_t attention_backward_unfused_scratch(const ridge_case *c, int threads);
void attention_backward_unfused_traffic(const ridge_case *c, ridge_traffic *traffic);

#endif
