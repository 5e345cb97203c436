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

static const char *pieces_refusal(const ridge_problem *p) {
    static const int of_pages[3] = {ATTENTION_PAGES, ATTENTION_PAGE, ATTENTION_KV_HEADS};
    if (!attention_is_in_pieces(p, ATTENTION_IN_Q, ATTENTION_OF_QUERIES, 2) ||
        !attention_is_in_pieces(p, ATTENTION_IN_K, of_pages, 2) ||
        !attention_is_in_pieces(p, ATTENTION_IN_V, of_pages, 2))
        return "for rows of q, k and v that begin at multiples of 16 bytes";
    return NULL;
}
static const char *refusal_of(const attention_tile *t, const ridge_problem *p) {
    const int64_t page = p->c.dim[ATTENTION_PAGE];
    if (p->c.dim[ATTENTION_D] > t->depth) return "for fewer dimensions of a head";
    if (page % 8 != 0 || (t->keys % page != 0 && page % t->keys != 0))
        return "for pages of 8, 16, 32 rows and so on, or multiples of a step of keys";
    return pieces_refusal(p);
}

/* How long sequences are is not known where ways are chosen: they are taken to fill the pages that there are. */
static ridge_case of_filled_pages(const ridge_case *c) {
    ridge_case filled = attention_paged_rows(c);
    const double keys = (double)c->dim[ATTENTION_PAGES] * (double)c->dim[ATTENTION_PAGE];
    const double each = ceil(keys / fmax((double)c->dim[ATTENTION_BATCH], 1));
    if (each < (double)filled.dim[ATTENTION_N]) filled.dim[ATTENTION_N] = (int64_t)each;
    return filled;
}

/* As attention's, of whose tensors of rows nobody asks. */
static ridge_problem in_rows(const ridge_problem *p, ridge_case of(const ridge_case *)) {
    ridge_problem rows = *p;
    rows.c = of(&p->c);
    return rows;
}

/* Time is of filled pages, traffic, as all that is recorded, of the mean length. */
static ridge_plan with_traffic(ridge_plan plan, const ridge_problem *p) {
    const ridge_case filled = of_filled_pages(&p->c), mean = of_mean_length(&p->c);
    plan.traffic.read += attention_bytes_read(&mean) - attention_bytes_read(&filled);
    return plan;
}

static ridge_plan tile_plan(const ridge_way *way, const ridge_problem *p) {
    const attention_tile *t = way->own;
    const ridge_problem rows = in_rows(p, of_filled_pages), longest = in_rows(p, attention_paged_rows);
    ridge_plan plan = {.refusal = attention_common_refusal(&rows)};
    if (!plan.refusal) plan.refusal = refusal_of(t, p);
    if (plan.refusal) return plan;
    if (!t->packed) return with_traffic(attention_tile_plan(t, &rows), p);
    plan = with_traffic(attention_packed_plan(t, &rows), p);
    plan.scratch =
        attention_packed_plan(t, &longest).scratch; /* parts and their results are those of the longest sequence */
    return plan;
}

static ridge_plan decode_plan(const ridge_way *way, const ridge_problem *p) {
    const ridge_problem rows = in_rows(p, of_filled_pages), longest = in_rows(p, attention_paged_rows);
    ridge_plan plan = {.refusal = attention_decode_refusal(&rows)};
    (void)way;
    if (!plan.refusal) plan.refusal = pieces_refusal(p);
    if (plan.refusal) return plan;
    plan = with_traffic(attention_decode_cost(&rows), p);
    plan.scratch = attention_decode_cost(&longest).scratch;
    return plan;
}

static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    const ridge_problem rows = in_rows(p, of_filled_pages);
    const ridge_plan plan = attention_any_plan(way, &rows);
    return plan.refusal ? plan : with_traffic(plan, p);
}

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_paged_cuda_##name);
ATTENTION_PAGED_TILES(DECLARE)
RIDGE_CUDA_DECLARE(attention_paged_cuda_decode);
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
    ATTENTION_PAGED_TILES(TILE_WAY){.name = "decode",
                                    .idea = "up to 8 rows of heads that share keys, which each warp has some of",
                                    .needs = 90,
                                    .plan = decode_plan,
                                    .run = RIDGE_CUDA(attention_paged_cuda_decode)},
    {.name = "any",
     .idea = "64 queries by 32 keys, operands as they lie, by mma",
     .plan = any_plan,
     .run = RIDGE_CUDA(attention_paged_cuda_any)}};
