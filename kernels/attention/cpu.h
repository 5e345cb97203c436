/* Attention in fp32 on a CPU. Both variants multiply by the products of cpu/gemm_product.h.
 *
 *   baseline    a head at a time: all scores, their softmax, the product with V, through memory
 *   optimized   a tile of queries of a head a thread; 256 keys at a time are packed once for it, and scores of 126 of its queries
 *               at a time stay in L2, with each query's running maximum and sum */
#ifndef RIDGE_ATTENTION_CPU_H
#define RIDGE_ATTENTION_CPU_H

#include "attention/problem.h"

/* Queries and keys of a block of scores, queries as whole register tiles of AVX2 and AVX-512; blocks of queries in a tile, at most; so few queries are multiplied with rows of keys,
 * which are not packed. */
enum { ATTENTION_QUERIES = 126, ATTENTION_KEYS = 256, ATTENTION_TILE_BLOCKS = 5, ATTENTION_FEW = 8 };
enum { ATTENTION_TILE = ATTENTION_QUERIES * ATTENTION_TILE_BLOCKS };

RIDGE_CPU_DECLARE(attention_cpu_baseline);
RIDGE_CPU_DECLARE(attention_cpu_optimized);
RIDGE_CPU_DECLARE(attention_varlen_cpu_baseline);
RIDGE_CPU_DECLARE(attention_varlen_cpu_optimized);
RIDGE_CPU_DECLARE(attention_paged_cpu_baseline);
RIDGE_CPU_DECLARE(attention_paged_cpu_optimized);
size_t attention_cpu_baseline_scratch(const ridge_case *c, int threads);
size_t attention_cpu_scratch(const ridge_case *c, int threads);
void attention_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic);

/* Floats of a thread: queries, scores, sums, keys in panels, values, and what products of few queries need. */
int64_t attention_thread_floats(int64_t d, int64_t v);
/* And keys of a block of scores that lie in pages. */
static inline int64_t attention_page_floats(int64_t d) { return ATTENTION_KEYS * d; }

#endif
