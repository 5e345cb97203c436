#include "gemm/batched.h"

#include "gemm/any.h"
#include "gemm/wgmma.h"

static gemm_matrix matrix_of(const ridge_operand *o) { return (gemm_matrix){o->stride[1], o->stride[2], o->offset}; }

static gemm_problem batched_problem_of(const ridge_problem *p) {
    return (gemm_problem){.m = p->c.dim[BATCHED_M],
                          .n = p->c.dim[BATCHED_N],
                          .k = p->c.dim[BATCHED_K],
                          .batch = p->c.dim[BATCHED_BATCH],
                          .a = matrix_of(&p->tensor[GEMM_A]),
                          .b = matrix_of(&p->tensor[GEMM_B]),
                          .c = matrix_of(&p->tensor[GEMM_C]),
                          .dtype = p->c.dtype,
                          .here = p->here};
}

/* Whether TMA takes all matrices of a tensor, elements of two bytes. */
static bool in_pieces(const ridge_operand *o) {
    const gemm_matrix m = matrix_of(o);
    return gemm_in_pieces(&m, 2) && o->stride[0] * 2 % 16 == 0;
}
static const char *refusal_of(const ridge_problem *p, const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096;
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (g->batch < 1) return "for one product and more";
    if (g->m > most || g->n > most || g->k > most || g->batch > most) return "for extents of 31 bits";
    for (int t = GEMM_A; t <= GEMM_C; t++)
        if (!in_pieces(&p->tensor[t])) return "for matrices in lines of 16-byte pieces";
    return g->n % 8 == 0 ? NULL : "for n in multiples of 8: TMA stores whole pieces";
}

static ridge_plan plan_of_tiles(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = batched_problem_of(p);
    ridge_plan plan = {.refusal = refusal_of(p, &g)};
    if (plan.refusal) return plan;
    plan.us = gemm_tile_cost(way->own, &g);
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)};
    return plan;
}

static ridge_plan plan_of_multiply_adds(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = batched_problem_of(p);
    (void)way;
    return (ridge_plan){.us = gemm_any_cost(&g)};
}

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(gemm_cuda_##name);
GEMM_BATCHED_TILES(DECLARE)
RIDGE_CUDA_DECLARE(gemm_cuda_batched_any);

#define WAY(name_, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_) \
    {.name = #name_,                                                                \
     .idea = idea_,                                                                 \
     .needs = 90,                                                                   \
     .below = 91,                                                                   \
     .plan = plan_of_tiles,                                                         \
     .run = RIDGE_CUDA(gemm_cuda_##name_),                                          \
     .own = &(const gemm_tile){columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 1}},

const ridge_way gemm_batched_ways[GEMM_BATCHED_WAYS] = {
    GEMM_BATCHED_TILES(WAY){.name = "any",
                            .idea = "fp32 multiply-adds, operands as they lie",
                            .plan = plan_of_multiply_adds,
                            .run = RIDGE_CUDA(gemm_cuda_batched_any)},
};
