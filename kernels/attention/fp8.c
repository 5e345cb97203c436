/* Attention of e4m3: its ways, and what they move. */
#include "attention/fp8.h"

#include "attention/plan.h"
#include "attention/unfused.h"

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(attention_fp8_cuda_##name);
ATTENTION_FP8_TILES(DECLARE)
RIDGE_CUDA_DECLARE(attention_fp8_cuda_any);

/* Of q, k and v. */
static double elements(const ridge_case *c) { return attention_bytes_read(c) / (double)ridge_dtype_size(c->dtype); }
static double bytes_read(const ridge_case *c) {
    const double heads = (double)(c->dim[ATTENTION_HEADS] + 2 * c->dim[ATTENTION_KV_HEADS]);
    return elements(c) + 4 * heads * (double)c->dim[ATTENTION_BATCH];
}
void attention_fp8_work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){
        .flops = attention_flops(c), .bytes_read = bytes_read(c), .bytes_written = attention_bytes_written(c)};
}

int64_t attention_unpacked_elements(const int64_t *dim) {
    const int64_t queries = dim[ATTENTION_M] * dim[ATTENTION_HEADS] * dim[ATTENTION_D];
    const int64_t keys = dim[ATTENTION_N] * dim[ATTENTION_KV_HEADS] * (dim[ATTENTION_D] + dim[ATTENTION_V]);
    return (dim[ATTENTION_BATCH] * (queries + keys) + 127) / 128 * 128;
}
size_t attention_fp8_unfused_scratch(const ridge_case *c, int threads) {
    return attention_unfused_scratch(c, threads) + 2 * (size_t)attention_unpacked_elements(c->dim);
}
void attention_fp8_unfused_traffic(const ridge_case *c, ridge_traffic *traffic) {
    attention_unfused_traffic(c, traffic);
    traffic->read += elements(c), traffic->written += 2 * elements(c);
}

/* ---- ways ---- */

static const char *refusal_of(const attention_tile *t, const ridge_problem *p) {
    const double heads = attention_extent(p, ATTENTION_BATCH) * attention_extent(p, ATTENTION_KV_HEADS);
    return heads > 65535 ? "for up to 65535 heads of keys" : attention_tile_refusal(t, p, 1);
}

/* A launch more, which reads values and writes them, and the kernel reads them again. */
static ridge_plan tile_plan(const ridge_way *way, const ridge_problem *p) {
    const double transposed = (double)attention_transposed_bytes(way->own, p->c.dim), bytes_of_us = 4.2e6, launch = 3;
    ridge_plan plan = {.refusal = refusal_of(way->own, p)};
    if (plan.refusal) return plan;
    plan = attention_tile_plan(way->own, p);
    plan.us += launch + 2 * transposed / bytes_of_us;
    plan.scratch = (size_t)transposed;
    plan.traffic =
        (ridge_traffic){.read = bytes_read(&p->c) + transposed, .written = attention_bytes_written(&p->c) + transposed};
    return plan;
}

static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = attention_any_plan(way, p);
    plan.traffic = (ridge_traffic){.read = bytes_read(&p->c), .written = attention_bytes_written(&p->c)};
    return plan;
}

#define WAY(name_, depth_, values_, keys_, groups_, packed_, step_, tile_, idea_) \
    {.name = #name_,                                                              \
     .idea = idea_,                                                               \
     .needs = 90,                                                                 \
     .below = 91,                                                                 \
     .plan = tile_plan,                                                           \
     .run = RIDGE_CUDA(attention_fp8_cuda_##name_),                               \
     .own = &(const attention_tile){depth_, values_, keys_, groups_, packed_, step_, tile_}},

const ridge_way attention_fp8_ways[ATTENTION_FP8_WAYS] = {
    ATTENTION_FP8_TILES(WAY){.name = "any",
                             .idea = "64 queries by 32 keys, operands as they lie, in fp16 by mma",
                             .plan = any_plan,
                             .run = RIDGE_CUDA(attention_fp8_cuda_any)},
};
