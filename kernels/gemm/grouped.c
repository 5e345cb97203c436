#include "gemm/grouped.h"

#include "gemm/any.h"
#include "gemm/wgmma.h"

static const double LAUNCH = 2; /* microseconds of a launch that waits for the one before, estimated */

/* Groups of the same extent: how long they really are, only the device knows. */
static gemm_problem grouped_problem_of(const ridge_problem *p) {
    const int64_t groups = p->c.dim[GROUPED_GROUPS], rows = p->c.dim[MATMUL_M];
    const ridge_operand *a = &p->tensor[GEMM_A], *b = &p->tensor[GEMM_B];
    const ridge_operand *c = &p->tensor[GROUPED_ENDS + 1];
    return (gemm_problem){.m = rows > groups ? (rows + groups - 1) / groups : 1, /* a cost is one of a tile at least */
                          .n = p->c.dim[MATMUL_N],
                          .k = p->c.dim[MATMUL_K],
                          .batch = groups,
                          .a = {a->stride[0], a->stride[1], a->offset},
                          .b = {b->stride[1], b->stride[2], b->offset},
                          .c = {c->stride[0], c->stride[1], c->offset},
                          .dtype = p->c.dtype,
                          .here = p->here};
}

static const char *refusal_of(const ridge_problem *p, const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096, tiles = (p->c.dim[MATMUL_M] / GEMM_TILE_ROWS + 2) * (g->n / 64 + 1);
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (p->c.dim[MATMUL_M] > most || g->n > most || g->k > most || g->batch > most || tiles > most)
        return "for extents of 31 bits";
    if (!gemm_in_pieces(&g->a, 2) || !gemm_in_pieces(&g->b, 2) || p->tensor[GEMM_B].stride[0] * 2 % 16 != 0)
        return "for matrices in lines of 16-byte pieces";
    return gemm_c_is_stored(g) ? NULL : "for a C in lines of whole 16-byte pieces";
}

static ridge_plan plan_of_tiles(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = grouped_problem_of(p);
    ridge_plan plan = {.refusal = refusal_of(p, &g)};
    if (plan.refusal) return plan;
    plan.us = gemm_tile_cost(way->own, &g) + LAUNCH * (double)(way->number * g.batch);
    return plan;
}

/* Tiles of rows that a group shares with the next are made for both. */
static ridge_plan plan_of_multiply_adds(const ridge_way *way, const ridge_problem *p) {
    gemm_problem g = grouped_problem_of(p);
    const int64_t tiles = 65535;
    if (p->c.dim[MATMUL_N] / 64 >= tiles) return (ridge_plan){.refusal = "for fewer columns than 2^22"};
    g.m += 63;
    return (ridge_plan){.us = gemm_any_cost(&g) + LAUNCH * (double)(way->number * g.batch)};
}

#define DECLARE(name, ...)                \
    RIDGE_CUDA_DECLARE(gemm_cuda_##name); \
    RIDGE_CUDA_DECLARE(gemm_cuda_each_##name);
GEMM_GROUPED_TILES(DECLARE)
RIDGE_CUDA_DECLARE(gemm_cuda_grouped_any);
RIDGE_CUDA_DECLARE(gemm_cuda_each_grouped_any);

#define TILES(number_, run_, name_, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_) \
    {.name = #name_,                                                                                 \
     .idea = idea_,                                                                                  \
     .needs = 90,                                                                                    \
     .below = 91,                                                                                    \
     .plan = plan_of_tiles,                                                                          \
     .run = RIDGE_CUDA(run_##name_),                                                                 \
     .number = number_,                                                                              \
     .own = &(const gemm_tile){columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}},
#define ANY(number_, run_)                               \
    {.name = "any",                                      \
     .idea = "fp32 multiply-adds, operands as they lie", \
     .plan = plan_of_multiply_adds,                      \
     .run = RIDGE_CUDA(run_##grouped_any),               \
     .number = number_},
/* number: whether there is a launch for each group. */
#define AT_ONCE(...) TILES(0, gemm_cuda_, __VA_ARGS__)
#define EACH(...) TILES(1, gemm_cuda_each_, __VA_ARGS__)

const ridge_way gemm_grouped_ways[GEMM_GROUPED_WAYS] = {GEMM_GROUPED_TILES(AT_ONCE) ANY(0, gemm_cuda_)};
const ridge_way gemm_group_by_group_ways[GEMM_GROUPED_WAYS] = {GEMM_GROUPED_TILES(EACH) ANY(1, gemm_cuda_each_)};
