/* The ways of a product on a GPU, in one table; and what of a target's problem they look at. */
#include "gemm/ways.h"

#include "gemm/any.h"
#include "gemm/any_shares.h"
#include "gemm/copied.h"
#include "gemm/few_rows.h"
#include "gemm/gemv.h"
#include "gemm/hi_lo.h"
#include "gemm/shallow.h"
#include "gemm/tensor.h"
#include "gemm/vector_across.h"
#include "gemm/waves.h"
#include "gemm/wgmma.h"

static gemm_matrix matrix_of(const ridge_operand *o, bool transposed) {
    const gemm_matrix m = {o->stride[0], o->stride[1], o->offset};
    return transposed ? (gemm_matrix){m.step, m.line, m.offset} : m;
}

/* Bytes of what is added to the product. */
static double bytes_of_terms(const ridge_case *c) {
    const double m = (double)c->dim[MATMUL_M], n = (double)c->dim[MATMUL_N], size = (double)ridge_dtype_size(c->dtype);
    return (c->option[GEMM_HAS_ADDEND] > 0 ? m * n * (c->option[GEMM_WIDE] > 0 ? 4 : size) : 0) +
           (c->option[GEMM_HAS_BIAS] > 0 ? n * size : 0) + (c->option[GEMM_HAS_ROW_BIAS] > 0 ? m * size : 0);
}

gemm_problem gemm_problem_of(const ridge_way *way, const ridge_problem *p) {
    const int64_t m = p->c.dim[MATMUL_M], n = p->c.dim[MATMUL_N];
    const ridge_operand *to = &p->tensor[way->number == GEMM_WITH_TERMS ? GEMM_D : GEMM_C];
    const bool across = to->stride[1] != 1;
    return (gemm_problem){.m = across ? n : m,
                          .n = across ? m : n,
                          .k = p->c.dim[MATMUL_K],
                          .batch = 1,
                          .a = matrix_of(&p->tensor[across ? GEMM_B : GEMM_A], across),
                          .b = matrix_of(&p->tensor[across ? GEMM_A : GEMM_B], across),
                          .c = matrix_of(to, across),
                          .dtype = p->c.dtype,
                          .wide = p->c.option[GEMM_WIDE] > 0,
                          .more = way->number == GEMM_WITH_TERMS ? bytes_of_terms(&p->c) : 0,
                          .here = p->here};
}

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(gemm_cuda_##name);
GEMM_TILES(DECLARE)
GEMM_HI_LO_TILES(DECLARE)
GEMM_HI_TILES(DECLARE)
GEMM_TENSOR_TILES(DECLARE)
GEMM_THIN_WAYS(DECLARE)
GEMM_STEP_WAYS(DECLARE)
GEMM_ANY_WAYS(DECLARE)

/* A line of a list in tiles.h, for a way with this plan, on devices of this capability alone; number: see problem.h. */
#define TILE_WAY(number_, capability_, plan_, products_, name_, columns_, stages_, cluster_m_, cluster_n_, split_, \
                 rate_, idea_)                                                                                     \
    {.name = #name_,                                                                                               \
     .idea = idea_,                                                                                                \
     .needs = capability_,                                                                                         \
     .below = (capability_) + 1,                                                                                   \
     .plan = plan_,                                                                                                \
     .run = RIDGE_CUDA(gemm_cuda_##name_),                                                                         \
     .number = number_,                                                                                            \
     .own = &(const gemm_tile){columns_, stages_, cluster_m_, cluster_n_, split_, rate_, products_}},
#define WGMMA_WAY(...) TILE_WAY(GEMM_PLAIN, 90, gemm_wgmma_plan, 1, __VA_ARGS__)
#define HI_LO_WAY(...) TILE_WAY(GEMM_PLAIN, 90, gemm_hi_lo_plan, 3, __VA_ARGS__)
#define HI_WAY(...) TILE_WAY(GEMM_PLAIN, 90, gemm_hi_lo_plan, 1, __VA_ARGS__)
#define TENSOR_WAY(...) TILE_WAY(GEMM_PLAIN, 100, gemm_tensor_plan, 1, __VA_ARGS__)
#define TENSOR_TERMS_WAY(...) TILE_WAY(GEMM_WITH_TERMS, 100, gemm_tensor_plan, 1, __VA_ARGS__)
#define WGMMA_TERMS_WAY(...) TILE_WAY(GEMM_WITH_TERMS, 90, gemm_wgmma_plan, 1, __VA_ARGS__)
#define HI_LO_TERMS_WAY(...) TILE_WAY(GEMM_WITH_TERMS, 90, gemm_hi_lo_plan, 3, __VA_ARGS__)
#define HI_TERMS_WAY(...) TILE_WAY(GEMM_WITH_TERMS, 90, gemm_hi_lo_plan, 1, __VA_ARGS__)

/* A line of a list in ways.h. */
#define WAY(number_, name_, needs_, below_, idea_) \
    {.name = #name_,                               \
     .idea = idea_,                                \
     .needs = needs_,                              \
     .below = below_,                              \
     .plan = gemm_##name_##_plan,                  \
     .run = RIDGE_CUDA(gemm_cuda_##name_),         \
     .number = number_},
#define PLAIN_WAY(...) WAY(GEMM_PLAIN, __VA_ARGS__)
#define TERMS_WAY(...) WAY(GEMM_WITH_TERMS, __VA_ARGS__)

const ridge_way gemm_cuda_ways[GEMM_CUDA_WAYS] = {
    GEMM_TILES(WGMMA_WAY)                                                        /* 16 bits */
    GEMM_HI_LO_TILES(HI_LO_WAY)                                                  /* fp32, and tf32 */
    GEMM_HI_TILES(HI_WAY)                                                        /* tf32 */
    GEMM_TENSOR_TILES(TENSOR_WAY)                                                /* 16 bits */
    GEMM_THIN_WAYS(PLAIN_WAY) GEMM_STEP_WAYS(PLAIN_WAY) GEMM_ANY_WAYS(PLAIN_WAY) /* */
};

const ridge_way gemm_terms_ways[GEMM_TERMS_WAYS] = {
    GEMM_TERMS_TILES(WGMMA_TERMS_WAY) GEMM_HI_LO_TILES(HI_LO_TERMS_WAY) GEMM_HI_TILES(HI_TERMS_WAY)
        GEMM_TENSOR_TILES(TENSOR_TERMS_WAY) GEMM_THIN_WAYS(TERMS_WAY) GEMM_ANY_WAYS(TERMS_WAY) /* */
};

const ridge_way *gemm_cuda_quickest(const ridge_problem *p, ridge_plan *plan) {
    const ridge_way *best = NULL;
    for (int i = 0; i < GEMM_CUDA_WAYS; i++) {
        const ridge_way *way = &gemm_cuda_ways[i];
        const bool has_code = p->here.sm >= way->needs && (!way->below || p->here.sm < way->below);
        const ridge_plan its = has_code ? way->plan(way, p) : (ridge_plan){.refusal = ""};
        if (its.refusal || (best && its.us >= plan->us)) continue;
        best = way, *plan = its;
    }
    return best;
}
