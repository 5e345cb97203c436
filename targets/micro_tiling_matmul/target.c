/* C[m,n] = A[m,k] B[k,n]      f32, on a GPU f16 too, sums in fp32, rows possibly strided
 * 2 m n k FLOP; least traffic size(A) + size(B) + size(C). Compute-bound from about m = n = k = 100 on. */
#include <math.h>

#include "cpu/cost.h"
#include "cpu/gemm_shared.h"
#include "gemm/any.h"
#include "gemm/matmul_target.h"
#include "gemm/triton.h"
#include "matmul.h"
#include "peer/onednn.h"
#include "peer/openblas.h"
#include "tiles.h"

static const ridge_case cases[] = {
    {.dim = {512, 512, 512}, .dtype = RIDGE_F32},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_F32},
    {.dim = {1536, 1536, 1536}, .dtype = RIDGE_F32},
    {.dim = {1023, 1025, 1031}, .dtype = RIDGE_F32},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F32, MATMUL_GPU},
    {.dim = {1024, 1024, 1024}, .dtype = RIDGE_F16, MATMUL_GPU},
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F16, MATMUL_GPU},
    {.dim = {0, 5, 7}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 100, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {100, 1, 50}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {15, 33, 2}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {191, 49, 769}, .dtype = RIDGE_F32, .edge = true}, /* partial blocks and slices, several threads */
    {.dim = {1, 1031, 515}, .dtype = RIDGE_F32, .edge = true}, /* one row; two blocks of columns */
    {.dim = {5, 2053, 67}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {13, 1041, 263}, .dtype = RIDGE_F32, .edge = true}, /* several strips, two slices, two bands of columns */
    {.dim = {151, 401, 259}, .dtype = RIDGE_F32, .edge = true}, /* A packed, two blocks of rows */
    {.dim = {517, 3, 1027}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {67, 16, 1025}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {7, 9, 4099}, .dtype = RIDGE_F32, .edge = true}, /* threads split the depth */
    {.dim = {129, 127, 1}, .dtype = RIDGE_F32, .edge = true},
    /* Of tiles on a GPU: partial ones and slices, in 16-byte pieces and not. */
    {.dim = {132, 260, 36}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 4, 4}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {300, 132, 100}, .dtype = RIDGE_F32, .edge = true, MATMUL_GPU},
    {.dim = {1041, 140, 20}, .dtype = RIDGE_F32, .edge = true, MATMUL_GPU}, /* several bands of tiles */
    {.dim = {0, 8, 16}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {1, 8, 8}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {136, 264, 40}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {61, 97, 113}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
    {.dim = {300, 520, 104}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},
};

/* Every row of C reads all of B. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) * (double)c->dim[MATMUL_M],
                         .written = matmul_c_bytes(c)};
}

/* ---- ways of the optimized variant: number is a gemm_way, or SHARED ---- */

enum { SHARED = GEMM_WAY_COUNT };

static gemm_facts facts_of(const ridge_problem *p) {
    return (gemm_facts){.m = p->c.dim[MATMUL_M],
                        .n = p->c.dim[MATMUL_N],
                        .k = p->c.dim[MATMUL_K],
                        .a_by_depth = true,
                        .b_by_row = true,
                        .a_stride = p->tensor[0].stride[0],
                        .b_stride = p->tensor[1].stride[0],
                        .threads = p->here.threads > 1 ? p->here.threads : 1,
                        .isa = p->here.isa};
}
static double product_cost(const ridge_problem *p, const gemm_facts *facts, double beats) {
    return cpu_cost_of(&p->here, beats, gemm_operands(facts) + gemm_results(facts));
}
/* B is read once, with more than one strip of rows again from cache. Blocked: each block of B is read and packed, and each
 * slice of the depth after the first reads C again. */
static ridge_traffic product_traffic(gemm_way way, const ridge_case *c) {
    const double slices = way == GEMM_WAY_BLOCKED ? ceil((double)c->dim[MATMUL_K] / GEMM_BLOCK_DEPTH) : 1;
    return (ridge_traffic){.read = matmul_a_bytes(c) + matmul_b_bytes(c) + matmul_c_bytes(c) * (slices - 1),
                           .written = matmul_c_bytes(c) * slices};
}
static ridge_plan product_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_facts f = facts_of(p);
    const gemm_way number = (gemm_way)way->number;
    const char *refusal = gemm_way_refusal(number, &f);
    if (refusal) return (ridge_plan){.refusal = refusal};
    return (ridge_plan){.us = product_cost(p, &f, gemm_way_beats(number, &f)),
                        .scratch = gemm_product_scratch(f.m, f.n, f.k, f.threads),
                        .traffic = product_traffic(number, &p->c)};
}
static ridge_plan shared_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_facts f = facts_of(p);
    (void)way;
    return (ridge_plan){.us = product_cost(p, &f, gemm_shared_beats(&f)),
                        .scratch = gemm_shared_scratch(f.m, f.n, f.k, f.threads),
                        .traffic = gemm_shared_traffic(&f)};
}

#define PRODUCT_WAY(number_, name_, idea_) \
    { .name = name_, .idea = idea_, .plan = product_plan, .run = RIDGE_CPU(matmul_cpu_product), .number = number_ }
static const ridge_way ways[] = {
    PRODUCT_WAY(GEMM_WAY_STREAM, "stream", "nothing is packed; B is read in row order"),
    PRODUCT_WAY(GEMM_WAY_DOTS, "dots", "vectors along the depth, B transposed slice by slice"),
    PRODUCT_WAY(GEMM_WAY_BLOCKED, "blocked", "a thread packs panels of its own block of B"),
    {.name = "shared",
     .idea = "threads pack B together and share all of it",
     .plan = shared_plan,
     .run = RIDGE_CPU(matmul_cpu_shared),
     .number = SHARED},
};

/* ---- ways of the optimized variant on a GPU ---- */

typedef struct micro_tile {
    int rows, columns; /* of a tile */
    int blocks;        /* of an SM */
    double step;       /* cycles of an SM for a tile and a step of K */
    bool wide;         /* copies of 16 bytes */
} micro_tile;

/* Cycles of an H200 in a microsecond; of a launch; of a tile's beginning and end. A block alone on an SM that has room
 * for two takes longer by a factor: nobody multiplies while it waits. As gemm/any.cuh has them. */
static const double CYCLES = 1700, START = 4000, EACH = 3000, ALONE = 1.25;
/* Of f16: 8 x 16 sums take 24 conversions to fp32 beside 128 multiply-adds. Not measured yet. */
static const double WIDENED = 1.19;

static double tile_us(const micro_tile *t, const ridge_problem *p) {
    const double tiles = ceil((double)p->c.dim[MATMUL_M] / t->rows) * ceil((double)p->c.dim[MATMUL_N] / t->columns);
    const double turns = ceil(tiles / fmax(p->here.sm_count, 1));
    const double step = t->step * (turns <= 1 && t->blocks > 1 ? ALONE : 1) * (p->c.dtype == RIDGE_F16 ? WIDENED : 1);
    return (START + turns * (step * (double)p->c.dim[MATMUL_K] + EACH)) / CYCLES;
}
static const char *pieces_refusal(const ridge_problem *p) {
    const int64_t of_piece = MICRO_PIECE / (int64_t)ridge_dtype_size(p->c.dtype);
    for (int tensor = 0; tensor < 3; tensor++)
        if (!matmul_in_pieces(p, tensor)) return "for operands in lines of 16-byte pieces";
    return p->c.dim[MATMUL_N] % of_piece || p->c.dim[MATMUL_K] % of_piece ? "for n and k in whole pieces" : NULL;
}
static ridge_plan tile_plan(const ridge_way *way, const ridge_problem *p) {
    const micro_tile *t = way->own;
    if (!t->wide && p->c.dtype != RIDGE_F32) return (ridge_plan){.refusal = "for f32: cp.async copies 4 bytes or more"};
    return (ridge_plan){.refusal = t->wide ? pieces_refusal(p) : NULL, .us = tile_us(t, p)};
}
static ridge_plan any_plan_16(const ridge_way *way, const ridge_problem *p) {
    return p->c.dtype == RIDGE_F16 ? gemm_any_plan(way, p) : (ridge_plan){.refusal = "for f16"};
}

#define DECLARE_TILES(name, ...) RIDGE_CUDA_DECLARE(micro_tiling_cuda_##name);
MICRO_TILES(DECLARE_TILES)
RIDGE_CUDA_DECLARE(micro_tiling_cuda_scalar);
RIDGE_CUDA_DECLARE(micro_tiling_cuda_baseline);

#define TILE_WAY(name_, rows_, columns_, blocks_, step_)                  \
    {.name = #name_,                                                      \
     .idea = #rows_ " x " #columns_ " sums a thread, copies of 16 bytes", \
     .plan = tile_plan,                                                   \
     .run = RIDGE_CUDA(micro_tiling_cuda_##name_),                        \
     .own = &(const micro_tile){.rows = MICRO_SIDE * rows_,               \
                                .columns = MICRO_SIDE * columns_,         \
                                .blocks = blocks_,                        \
                                .step = step_,                            \
                                .wide = true}},
static const ridge_way cuda_ways[] = {
    MICRO_TILES(TILE_WAY){.name = "tiles_scalar",
                          .idea = "8 x 8 sums a thread, copies of one element: f32 of any alignment",
                          .plan = tile_plan,
                          .run = RIDGE_CUDA(micro_tiling_cuda_scalar),
                          .own = &(const micro_tile){MICRO_SIDE * 8, MICRO_SIDE * 8, 2, 220, false}},
    {.name = "any",
     .idea = "f16 of any alignment, by gemm/any.cuh",
     .plan = any_plan_16,
     .run = RIDGE_CUDA(matmul_cuda_any)},
};

static const ridge_way triton_ways[] = {
    TRITON_WAY(matmul_triton, "tiles by tl.dot, of 128 x 128 where these fill the device")};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "three loops, i-k-j, vectorized by the compiler",
     .run = RIDGE_CPU(matmul_cpu_baseline),
     .traffic = baseline_traffic},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "results in registers, operands packed where it pays, prefetch",
     .ways = RIDGE_LIST(ways)},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "dnnl_sgemm",
     .run = RIDGE_ANY_ISA(matmul_onednn),
     .unavailable = onednn_unavailable,
     .prepare = onednn_prepare,
     .own_threads = true},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "cblas_sgemm",
     .run = RIDGE_ANY_ISA(matmul_openblas),
     .unavailable = openblas_unavailable,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "an element of C a thread, operands from global memory",
     .run = RIDGE_CUDA(micro_tiling_cuda_baseline)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "tiles in shared memory and registers, cp.async one slice ahead",
     .ways = RIDGE_LIST(cuda_ways)},
    {TRITON_VARIANT("cuda/triton_aot", "Triton's kernel, compiled ahead of time", matmul_triton, triton_ways)},
};

static const char *reject(const ridge_case *c) {
    if (c->dtype != RIDGE_F32 && c->dtype != RIDGE_F16) return "for f32, and f16 on a GPU";
    return c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1 ? "n and k must be at least 1" : NULL;
}

const ridge_target ridge_target_micro_tiling_matmul = {
    .name = "micro_tiling_matmul",
    .chapter = "ch09",
    .summary = "matrix product from register tiles",
    .dims = MATMUL_DIMS,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(matmul_in),
    .out = RIDGE_LIST(matmul_out),
    .variants = RIDGE_LIST(variants),
    .work = matmul_work,
    .oracle = matmul_oracle,
    .bound = matmul_bound_32,
    .reject = reject,
};
