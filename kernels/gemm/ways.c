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
#include "gemm/vector.h"
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
RIDGE_CUDA_DECLARE(gemm_cuda_few_rows);
RIDGE_CUDA_DECLARE(gemm_cuda_vector);
RIDGE_CUDA_DECLARE(gemm_cuda_gemv);
RIDGE_CUDA_DECLARE(gemm_cuda_shallow);
RIDGE_CUDA_DECLARE(gemm_cuda_waves);
RIDGE_CUDA_DECLARE(gemm_cuda_copied);
RIDGE_CUDA_DECLARE(gemm_cuda_any);
RIDGE_CUDA_DECLARE(gemm_cuda_any_shares);

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

#define FEW_ROWS_WAY(number_)                                                            \
    {.name = "few_rows",                                                                 \
     .idea = "up to 64 rows, or columns: the other operand once, at the rate of memory", \
     .needs = 90,                                                                        \
     .below = 91,                                                                        \
     .plan = gemm_few_rows_plan,                                                         \
     .run = RIDGE_CUDA(gemm_cuda_few_rows),                                              \
     .number = number_},
#define VECTOR_WAY(number_)                                                      \
    {.name = "vector",                                                           \
     .idea = "one row, or column, and lines along K: the matrix once, by loads", \
     .needs = 80,                                                                \
     .plan = gemm_vector_plan,                                                   \
     .run = RIDGE_CUDA(gemm_cuda_vector),                                        \
     .number = number_},
#define GEMV_WAY(number_)                                                                    \
    {.name = "gemv",                                                                         \
     .idea = "up to 64 rows, or columns: the other operand once, by loads, however it lies", \
     .needs = 80,                                                                            \
     .plan = gemm_gemv_plan,                                                                 \
     .run = RIDGE_CUDA(gemm_cuda_gemv),                                                      \
     .number = number_},
#define SHALLOW_WAY(number_)                          \
    {.name = "shallow",                               \
     .idea = "a K of up to 64 (16 bits: 32): C once", \
     .needs = 80,                                     \
     .plan = gemm_shallow_plan,                       \
     .run = RIDGE_CUDA(gemm_cuda_shallow),            \
     .number = number_},
#define ANY_SHARES_WAY(number_)                              \
    {.name = "any_shares",                                   \
     .idea = "fp32 multiply-adds, few tiles in shares of K", \
     .plan = gemm_any_shares_plan,                           \
     .run = RIDGE_CUDA(gemm_cuda_any_shares),                \
     .number = number_},
#define ANY_WAY(number_)                                 \
    {.name = "any",                                      \
     .idea = "fp32 multiply-adds, operands as they lie", \
     .plan = gemm_any_plan,                              \
     .run = RIDGE_CUDA(gemm_cuda_any),                   \
     .number = number_},

const ridge_way gemm_cuda_ways[GEMM_CUDA_WAYS] = {
    GEMM_TILES(WGMMA_WAY)         /* 16 bits */
    GEMM_HI_LO_TILES(HI_LO_WAY)   /* fp32, and tf32 */
    GEMM_HI_TILES(HI_WAY)         /* tf32 */
    GEMM_TENSOR_TILES(TENSOR_WAY) /* 16 bits */
    FEW_ROWS_WAY(GEMM_PLAIN)      /* */
    VECTOR_WAY(GEMM_PLAIN)        /* */
    GEMV_WAY(GEMM_PLAIN)          /* */
    SHALLOW_WAY(GEMM_PLAIN)       /* */
    {.name = "waves",
     .idea = "rows or columns that fill whole waves of tiles, the rest by another tile",
     .needs = 90,
     .below = 91,
     .plan = gemm_waves_plan,
     .run = RIDGE_CUDA(gemm_cuda_waves)},
    {.name = "copied",
     .idea = "operands between 16-byte boundaries copied, then tiles",
     .needs = 90,
     .below = 91,
     .plan = gemm_copied_plan,
     .run = RIDGE_CUDA(gemm_cuda_copied)},
    ANY_SHARES_WAY(GEMM_PLAIN) /* */
    ANY_WAY(GEMM_PLAIN)        /* */
};

const ridge_way gemm_terms_ways[GEMM_TERMS_WAYS] = {
    GEMM_TERMS_TILES(WGMMA_TERMS_WAY) GEMM_HI_LO_TILES(HI_LO_TERMS_WAY) GEMM_HI_TILES(HI_TERMS_WAY)
        GEMM_TENSOR_TILES(TENSOR_TERMS_WAY) FEW_ROWS_WAY(GEMM_WITH_TERMS) VECTOR_WAY(GEMM_WITH_TERMS)
            GEMV_WAY(GEMM_WITH_TERMS) SHALLOW_WAY(GEMM_WITH_TERMS) ANY_SHARES_WAY(GEMM_WITH_TERMS)
                ANY_WAY(GEMM_WITH_TERMS) /* */
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
