/* Attention's gradients in fp32 on a CPU. Both variants multiply by the products of cpu/gemm_product.h.
 *
 *   baseline    a head at a time: S and D, P and the gradient of S, then three more products, through memory
 *   optimized   up to 256 keys of a thread, packed once, and their dk and dv stay in cache while 128 queries at a time pass, whose dq is
 *               summed in memory: five products a score */
#ifndef RIDGE_ATTENTION_BACKWARD_CPU_H
#define RIDGE_ATTENTION_BACKWARD_CPU_H

#include "attention_backward/problem.h"

/* Most keys and queries of a block of scores. Under a mask it has fewer keys, so that fewer of its scores are masked. */
enum { BACKWARD_KEYS = 256, BACKWARD_MASKED_KEYS = 128, BACKWARD_QUERIES = 128 };

/* How threads share the work. A unit is a head of keys and values of one batch; `rows` queries share
 * it, and each of its parts has some blocks of its keys. A thread has whole units and one place for sums of dq where that is even; otherwise each part has its own place, and the parts are added in their order. */
typedef struct backward_jobs {
    int64_t units, rows;
    int parts;
} backward_jobs;

RIDGE_CPU_DECLARE(attention_backward_cpu_baseline);
RIDGE_CPU_DECLARE(attention_backward_cpu_optimized);
size_t attention_backward_cpu_baseline_scratch(const ridge_case *c, int threads);
size_t attention_backward_cpu_scratch(const ridge_case *c, int threads);
void attention_backward_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic);

/* Floats of the statistics, of a thread of the optimized variant, and of scores of a head of the baseline. */
int64_t backward_cpu_statistics(const int64_t *dim);
int64_t backward_cpu_thread(const int64_t *dim);
int64_t backward_cpu_scores(const int64_t *dim);
backward_jobs backward_cpu_jobs(const int64_t *dim, int threads);

#endif
