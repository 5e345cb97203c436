/* Attention's gradients in fp32 on a CPU. Both variants multiply by the products of cpu/gemm_product.h.
 *
 *   baseline    a head at a time: S and D, P and the gradient of S, then three more products, through memory
 *   optimized   64 keys a thread own dk and dv, and 256 queries at a time pass; then 64 queries own dq, and keys pass */
#ifndef RIDGE_ATTENTION_BACKWARD_CPU_H
#define RIDGE_ATTENTION_BACKWARD_CPU_H

#include "attention_backward/problem.h"

/* Own rows and passing rows of a block of scores. */
enum { BACKWARD_OWN = 64, BACKWARD_PASSING = 256 };

RIDGE_CPU_DECLARE(attention_backward_cpu_baseline);
RIDGE_CPU_DECLARE(attention_backward_cpu_optimized);
size_t attention_backward_cpu_baseline_scratch(const ridge_case *c, int threads);
size_t attention_backward_cpu_scratch(const ridge_case *c, int threads);
void attention_backward_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic);

/* Floats of the statistics, of a thread of the optimized variant, and of scores of a head of the baseline. */
int64_t backward_cpu_statistics(const int64_t *dim);
int64_t backward_cpu_thread(const int64_t *dim);
int64_t backward_cpu_scores(const int64_t *dim);

#endif
