/* Attention over a cache of keys and values in pages: its own dims and tensors, and how they are those of attention. */
#ifndef RIDGE_ATTENTION_PAGED_H
#define RIDGE_ATTENTION_PAGED_H

#include "attention/tiles.h"
#include "attention/problem.h"

/* m, batch, heads, page, kv_heads, d, pages, blocks: rows of a page, pages that there are, and pages of a sequence at most. v has
 * the dimensions of k. */
enum { ATTENTION_PAGE = ATTENTION_N, ATTENTION_PAGES = ATTENTION_D + 1, ATTENTION_BLOCKS };
enum { ATTENTION_IN_TABLE = ATTENTION_INPUTS, ATTENTION_IN_LENGTHS, ATTENTION_PAGED_INPUTS };

#define ATTENTION_ONE_MORE(...) +1
enum { ATTENTION_PAGED_WAYS = 0 ATTENTION_PAGED_TILES(ATTENTION_ONE_MORE) + 2 };
#undef ATTENTION_ONE_MORE
extern const ridge_way attention_paged_ways[ATTENTION_PAGED_WAYS];

#ifdef __cplusplus
extern "C" {
#endif

/* The case as attention's, of all the keys that a sequence has room for, one behind the other. */
ridge_case attention_paged_rows(const ridge_case *c);
const char *attention_paged_reject(const ridge_case *c);

/* How long sequences are is in the device's memory: for what is recorded each is taken to have the mean of the lengths that are drawn
 * to verify and to measure, which are below the number of pages. */
void attention_paged_work(const ridge_case *c, ridge_work *w);

/* Of the baselines, which copy keys and values to rows first. */
size_t attention_paged_cpu_baseline_scratch(const ridge_case *c, int threads);
size_t attention_paged_cpu_scratch(const ridge_case *c, int threads);
size_t attention_paged_unfused_scratch(const ridge_case *c, int threads);
void attention_paged_unfused_traffic(const ridge_case *c, ridge_traffic *traffic);

#ifdef __cplusplus
}
#endif

#endif
