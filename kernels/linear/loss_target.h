/* What the descriptors of the three cross-entropy targets have in common: the model with the target's own places, and
 * all of a variant but its name, role, idea and function. Included once, by target.c, which defines before
 *
 *   CE_PLACES      the ce_places of its tensors
 *   CE_GRADIENTS   whether it has gradients among its outputs: true or false
 *   CE_OPTIMIZED   the extern "C" function of its optimized CUDA variant, which reads call->way->number */
#include "cpu/linear_ce.h"
#include "cuda/linear/loss_ways.h"
#include "linear/loss.h"
#include "model/cross_entropy.h"
#include "peer/openblas.h"

static void work(const ridge_case *c, ridge_work *w) { ce_work(&CE_PLACES, c, w); }
static void oracle(const ridge_oracle_call *call) { ce_oracle(&CE_PLACES, call); }
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    ce_bound(&CE_PLACES, call, kind, output, b);
}

/* ---- CPU variants ---- */

static void unfused_traffic(const ridge_case *c, ridge_traffic *t) { ce_unfused_traffic(&CE_PLACES, c, t); }
static size_t fused_scratch(const ridge_case *c, int threads) {
    return linear_ce_fused_scratch(c, CE_GRADIENTS, threads);
}
static size_t chunks_scratch(const ridge_case *c, int threads) {
    return linear_ce_chunks_scratch(c, CE_GRADIENTS, threads);
}
static void fused_traffic(const ridge_problem *p, ridge_traffic *t) { ce_cpu_traffic(&CE_PLACES, CE_CPU_FUSED, p, t); }
static void chunks_traffic(const ridge_problem *p, ridge_traffic *t) {
    ce_cpu_traffic(&CE_PLACES, CE_CPU_CHUNKS, p, t);
}
static double cpu_cost(const ridge_way *way, const ridge_problem *p) {
    return ce_cpu_cost(&CE_PLACES, (ce_cpu_way)way->number, p);
}

/* The ways of the optimized variant, from the target's two functions. */
#define CE_CPU_WAYS(fused_, chunks_)                                                                       \
    {.name = "fused",                                                                                      \
     .idea = "logits of a block of rows stay in cache, vectors along the batch",                           \
     .cost = cpu_cost,                                                                                     \
     .traffic = fused_traffic,                                                                             \
     .scratch = fused_scratch,                                                                             \
     .run = RIDGE_CPU(fused_),                                                                             \
     .number = CE_CPU_FUSED},                                                                              \
    {                                                                                                      \
        .name = "chunks", .idea = "products of any shape on a chunk of rows, whose logits stay in L3",     \
        .cost = cpu_cost, .traffic = chunks_traffic, .scratch = chunks_scratch, .run = RIDGE_CPU(chunks_), \
        .number = CE_CPU_CHUNKS                                                                            \
    }

#define CE_CPU_BASELINE                                                                               \
    .traffic = unfused_traffic, .scratch = ce_unfused_scratch, .unavailable = ce_library_unavailable, \
    .prepare = ce_library_prepare, .own_threads = true
#define CE_CPU_OPTIMIZED .ways = RIDGE_LIST(cpu_ways), .unavailable = ce_cpu_unavailable
#define CE_CPU_OPENBLAS                                                                                \
    .traffic = unfused_traffic, .scratch = ce_unfused_scratch, .unavailable = ce_openblas_unavailable, \
    .prepare = openblas_prepare, .own_threads = true

/* ---- GPU variants ---- */

static void cuda_unfused_traffic(const ridge_case *c, ridge_traffic *t) { ce_cuda_unfused_traffic(&CE_PLACES, c, t); }
static const char *cuda_library_unavailable(const ridge_case *c) {
    return CE_GRADIENTS ? ce_cuda_library_gradient_unavailable(c) : ce_cuda_library_unavailable(c);
}
static ridge_status cuda_library_prepare(const ridge_case *c, int threads, void **plan) {
    return CE_GRADIENTS ? ce_cuda_library_gradient_prepare(c, threads, plan)
                        : ce_cuda_library_prepare(c, threads, plan);
}

#define CE_CUDA_BASELINE                                                                                          \
    .traffic = cuda_unfused_traffic, .scratch = ce_cuda_library_scratch, .unavailable = cuda_library_unavailable, \
    .prepare = cuda_library_prepare, .release = ce_cuda_library_release
#define CE_CUDA_UNFUSED .traffic = cuda_unfused_traffic, .scratch = ce_cuda_unfused_scratch

/* ---- the ways of the optimized one ---- */

#define CE_OF_WAY(number, name)                                            \
    static void name##_traffic(const ridge_problem *p, ridge_traffic *t) { \
        linear_loss_traffic(number, &CE_PLACES, p, t);                     \
    }                                                                      \
    static size_t name##_scratch(const ridge_case *c, int threads) {       \
        (void)threads;                                                     \
        return linear_loss_bytes(number, &CE_PLACES, c);                   \
    }                                                                      \
    static ridge_arithmetic name##_arithmetic(const ridge_problem *p) {    \
        return linear_loss_arithmetic(number, &CE_PLACES, p);              \
    }
CE_OF_WAY(SKINNY_CLUSTER, narrow)
CE_OF_WAY(SKINNY_WGMMA, wide)
CE_OF_WAY(LINEAR_LOSS_SPLIT, split)
CE_OF_WAY(LINEAR_LOSS_HALF, half)
CE_OF_WAY(LINEAR_LOSS_TILES, tiles)
CE_OF_WAY(LINEAR_LOSS_FFMA, ffma)
CE_OF_WAY(LINEAR_LOSS_FEW_ROWS, few_rows)
CE_OF_WAY(LINEAR_LOSS_COPIED, copied)
CE_OF_WAY(LINEAR_LOSS_THIN, thin)
#undef CE_OF_WAY

#define CE_WAY(number_, name_, idea_, needs_, what)                                                              \
    {                                                                                                            \
        .name = name_, .idea = idea_, .needs = needs_, .refuses = linear_loss_refuses, .cost = linear_loss_cost, \
        .traffic = what##_traffic, .scratch = what##_scratch, .arithmetic = what##_arithmetic,                   \
        .run = RIDGE_CUDA(CE_OPTIMIZED), .number = number_, .own = &CE_PLACES                                    \
    }
static const ridge_way optimized_ways[] = {
    CE_WAY(SKINNY_NARROW, "skinny_narrow", "16 rows a block, up to 16 classes", 90, narrow),
    CE_WAY(SKINNY_SHARED, "skinny_shared", "the same, four blocks share the depth", 90, narrow),
    CE_WAY(SKINNY_CLUSTER, "skinny_cluster", "16 rows a cluster, eight blocks share the depth", 90, narrow),
    CE_WAY(SKINNY_STREAM, "skinny_stream", "72 rows a cluster of eight that has all of the depth at once", 90, wide),
    CE_WAY(SKINNY_WGMMA, "skinny_wgmma", "64 rows a cluster, wgmma, blocks share the depth", 90, wide),
    CE_WAY(LINEAR_LOSS_SPLIT, "split", "operands in hi and lo parts of fp16, tiles by wgmma", 90, split),
    CE_WAY(LINEAR_LOSS_HALF, "half", "one product of fp16 parts scaled line by line, tiles by wgmma", 90, half),
    CE_WAY(LINEAR_LOSS_TILES, "tiles", "tiles by wgmma, operands by TMA", 90, tiles),
    CE_WAY(LINEAR_LOSS_FFMA, "ffma", "multiply-adds: any type, order and alignment", 0, ffma),
    CE_WAY(LINEAR_LOSS_FEW_ROWS, "few_rows", "w read once for each product, by tensor cores from 9 rows on", 0,
           few_rows),
    CE_WAY(LINEAR_LOSS_COPIED, "copied", "operands copied to aligned memory, then the way that suits the copies", 90,
           copied),
    LINEAR_LOSS_WAY(&CE_PLACES),
    CE_WAY(LINEAR_LOSS_THIN, "thin", "all classes of 32 rows a warp, by mma.sync; x is read as it lies", 80, thin),
};
#define CE_CUDA_OPTIMIZED .ways = RIDGE_LIST(optimized_ways)

/* The target's fields whose names are those of this file and of the including one: cases, in, out, variants. */
#define CE_TARGET                                                                                               \
    .cases = RIDGE_LIST(cases), .in = RIDGE_LIST(in), .out = RIDGE_LIST(out), .variants = RIDGE_LIST(variants), \
    .options = CE_OPTIONS, .exact = 1, .work = work, .oracle = oracle, .bound = bound, .products = true,        \
    .reject = ce_reject
