#include "attention/paged.h"

#include <math.h>

#include "attention/cpu.h"
#include "attention/plan.h"
#include "attention/unfused.h"
#include "attention/ways.h"

ridge_case attention_paged_rows(const ridge_case *c) {
    ridge_case rows = *c;
    rows.dim[ATTENTION_N] = c->dim[ATTENTION_PAGE] * c->dim[ATTENTION_BLOCKS];
    rows.dim[ATTENTION_V] = c->dim[ATTENTION_D], rows.dim[ATTENTION_SEQUENCES] = 0;
    return rows;
}

const char *attention_paged_reject(const ridge_case *c) {
    const int64_t page = c->dim[ATTENTION_PAGE], pages = c->dim[ATTENTION_PAGES], blocks = c->dim[ATTENTION_BLOCKS];
    if (page < 1 || pages < 1 || blocks < 1) return "page, pages and blocks must be at least 1";
    if (pages >= ATTENTION_ALL) return "pages must be below 2^30";
    if (page >= ATTENTION_ALL || blocks >= ATTENTION_ALL) return "page and blocks must be below 2^30";
    const ridge_case rows = attention_paged_rows(c);
    return attention_reject(&rows);
}

/* ---- work ---- */

static ridge_case of_mean_length(const ridge_case *c) {
    ridge_case mean = attention_paged_rows(c);
    const double n = (double)mean.dim[ATTENTION_N], below = (double)c->dim[ATTENTION_PAGES];
    mean.dim[ATTENTION_N] = (int64_t)ceil(n < below ? n - n * n / (2 * below) : below / 2);
    return mean;
}

void attention_paged_work(const ridge_case *c, ridge_work *w) {
    const ridge_case mean = of_mean_length(c);
    attention_work(&mean, w);
}

/* ---- baselines: keys and values of a sequence and head in rows, and what attention needs ---- */

static size_t rows_bytes(const ridge_case *c) {
    const size_t size = ridge_dtype_size(c->dtype);
    const ridge_case rows = attention_paged_rows(c);
    return (size * 2 * (size_t)(rows.dim[ATTENTION_N] * rows.dim[ATTENTION_D]) + 255) / 256 * 256;
}

size_t attention_paged_cpu_baseline_scratch(const ridge_case *c, int threads) {
    const ridge_case rows = attention_paged_rows(c);
    return rows_bytes(c) + attention_cpu_baseline_scratch(&rows, threads);
}
size_t attention_paged_cpu_scratch(const ridge_case *c, int threads) {
    const ridge_case rows = attention_paged_rows(c);
    return attention_cpu_scratch(&rows, threads) +
           sizeof(float) * (size_t)threads * (size_t)attention_page_floats(c->dim[ATTENTION_D]);
}
size_t attention_paged_unfused_scratch(const ridge_case *c, int threads) {
    const ridge_case rows = attention_paged_rows(c);
    return rows_bytes(c) + attention_unfused_scratch(&rows, threads);
}
void attention_paged_unfused_traffic(const ridge_case *c, ridge_traffic *traffic) {
    const ridge_case mean = of_mean_length(c);
    const double copied = (double)c->dim[ATTENTION_BATCH] * (double)c->dim[ATTENTION_HEADS] * (double)rows_bytes(c);
    attention_unfused_traffic(&mean, traffic);
    traffic->read += copied, traffic->written += copied;
}

/* ---- ways ---- */

static const char *refusal_of(const attention_tile *t, const ridge_problem *p) {
    static const int of_pages[3] = {ATTENTION_PAGES, ATTENTION_PAGE, ATTENTION_KV_HEADS};
    const int64_t page = p->c.dim[ATTENTION_PAGE];
    if (p->c.dim[ATTENTION_D] > t->depth) return "for fewer dimensions of a head";
    if (page % 8 != 0 || (t->keys % page != 0 && page % t->keys != 0))
        return "for pages of 8, 16, 32 rows and so on, or multiples of 128";
    if (!attention_is_in_pieces(p, ATTENTION_IN_Q, ATTENTION_OF_QUERIES) ||
        !attention_is_in_pieces(p, ATTENTION_IN_K, of_pages) || !attention_is_in_pieces(p, ATTENTION_IN_V, of_pages))
        return "for rows of q, k and v that begin at multiples of 16 bytes";
    return NULL;
}

/* As attention's of the mean length, whose tensors of rows nobody asks about. */
static ridge_problem in_rows(const ridge_problem *p) {
    ridge_problem rows = *p;
    rows.c = of_mean_length(&p->c);
    return rows;
}

static ridge_plan tile_plan(const ridge_way *way, const ridge_problem *p) {
    const attention_tile *t = way->own;
    const ridge_problem rows = in_rows(p);
    ridge_plan plan = {.refusal = attention_common_refusal(&rows)};
    if (!plan.refusal) plan.refusal = refusal_of(t, p);
    if (plan.refusal) return plan;
    if (!t->packed) return attention_tile_plan(t, &rows);
    ridge_problem longest = rows; /* parts and their results are those of the longest sequence */
    longest.c = attention_paged_rows(&p->c);
    plan = attention_packed_plan(t, &rows);
    plan.scratch = attention_packed_plan(t, &longest).scratch;
    return plan;
}

static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    const ridge_problem rows = in_rows(p);
    return attention_any_plan(way, &rows);
}

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_paged_cuda_##name);
ATTENTION_PAGED_TILES(DECLARE)
RIDGE_CUDA_DECLARE(attention_paged_cuda_any);

#define TILE_WAY(name_, depth_, values_, keys_, groups_, packed_, step_, tile_, idea_) \
    {.name = #name_,                                                                   \
     .idea = idea_,                                                                    \
     .needs = 90,                                                                      \
     .below = 91,                                                                      \
     .plan = tile_plan,                                                                \
     .run = RIDGE_CUDA(attention_paged_cuda_##name_),                                  \
     .own = &(const attention_tile){depth_, values_, keys_, groups_, packed_, step_, tile_}},
const ridge_way attention_paged_ways[ATTENTION_PAGED_WAYS] = {
    ATTENTION_PAGED_TILES(TILE_WAY){.name = "any",
                                    .idea = "64 queries by 32 keys, operands as they lie, by mma",
                                    .plan = any_plan,
                                    .run = RIDGE_CUDA(attention_paged_cuda_any)}};
