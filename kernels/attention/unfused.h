/* Attention through memory, the baseline: scores of some queries of one head, their softmax, the product with V, each a
 * launch that reads what the one before has written. */
#ifndef RIDGE_ATTENTION_UNFUSED_H
#define RIDGE_ATTENTION_UNFUSED_H

#include "attention/problem.h"

/* Queries of a head whose scores are in memory at once: 256 MiB of them, in fp32 and in 16 bits. */
static inline int64_t attention_rows_at_once(int64_t m, int64_t n) {
    const int64_t fit = ((int64_t)256 << 20) / (6 * (n > 0 ? n : 1)) / 128 * 128;
    return fit < 128 ? (m < 128 ? m : 128) : fit < m ? fit : m;
}
/* Elements of a line of scores, and of P. */
static inline int64_t attention_line(int64_t n) { return (n + 7) / 8 * 8; }

size_t attention_unfused_scratch(const ridge_case *c, int threads);
void attention_unfused_traffic(const ridge_case *c, ridge_traffic *traffic);

#endif
