/* A target of the cross-entropies: variants, ways and descriptor. Included once, by target.c, whose header has CE_NAME
 * and CE_AT (linear/loss_names.h), and which defines before
 *
 *   CE_SUMMARY               a line
 *   CE_INPUTS_OF, CE_OUTPUTS its tensors
 *   CE_LARGE, CE_LARGE_CASE  ridge_target.large; a case for GPUs alone
 *   CE_DW                    bit of dw among all tensors, for ridge_case.column_major; 0: it has none
 *   CE_CPU_IDEA, CE_IDEA     what its optimized variants do */
#include "cpu/linear_ce.h"
#include "cuda/linear/loss_ways.h"
#include "linear/loss.h"
#include "linear/loss_names.h"
#include "peer/openblas.h"

static const ce_places places = CE_AT;

static void work(const ridge_case *c, ridge_work *w) { ce_work(&places, c, w); }
static void oracle(const ridge_oracle_call *call) { ce_oracle(&places, call); }
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    ce_bound(&places, call, kind, output, b);
}

static const ridge_case cases[] = {CE_CASES, CE_LARGE_CASE, CE_EDGES(1 << CE_W, (1 << CE_W | CE_DW))};
static const ridge_tensor_spec in[] = {CE_INPUTS_OF};
static const ridge_tensor_spec out[] = {CE_OUTPUTS};

/* ---- ways ---- */

static const ridge_way cpu_ways[] = {
    {.name = "fused",
     .idea = "logits of a block of rows stay in cache, vectors along the batch",
     .plan = ce_cpu_plan,
     .run = TOKEN_ON_CPU(CE_FN(cpu_fused)),
     .number = CE_CPU_FUSED,
     .own = &places},
    {.name = "chunks",
     .idea = "products of any shape on a chunk of rows, whose logits stay in L3",
     .plan = ce_cpu_plan,
     .run = TOKEN_ON_CPU(CE_FN(cpu_chunks)),
     .number = CE_CPU_CHUNKS,
     .own = &places},
};

#define CE_WAY(number_, name_, idea_, needs_)                                          \
    {                                                                                  \
        .name = name_, .idea = idea_, .needs = needs_, .plan = linear_loss_way_plan,   \
        .run = TOKEN_ON_CUDA(CE_FN(cuda_optimized)), .number = number_, .own = &places \
    }
static const ridge_way optimized_ways[] = {
    CE_WAY(SKINNY_NARROW, "skinny_narrow", "16 rows a block, up to 16 classes", 90),
    CE_WAY(SKINNY_SHARED, "skinny_shared", "the same, four blocks share the depth", 90),
    CE_WAY(SKINNY_CLUSTER, "skinny_cluster", "16 rows a cluster, eight blocks share the depth", 90),
    CE_WAY(SKINNY_STREAM, "skinny_stream", "72 rows a cluster of eight that has all of the depth at once", 90),
    CE_WAY(SKINNY_WGMMA, "skinny_wgmma", "64 rows a cluster, wgmma, blocks share the depth", 90),
    CE_WAY(LINEAR_LOSS_SPLIT, "split", "operands in hi and lo parts of fp16, tiles by wgmma", 90),
    CE_WAY(LINEAR_LOSS_HALF, "half", "one product of fp16 parts scaled line by line, tiles by wgmma", 90),
    CE_WAY(LINEAR_LOSS_TILES, "tiles", "tiles by wgmma, operands by TMA", 90),
    CE_WAY(LINEAR_LOSS_FFMA, "ffma", "multiply-adds: any type, order and alignment", 0),
    CE_WAY(LINEAR_LOSS_FEW_ROWS, "few_rows", "w read once for each product, by tensor cores from 9 rows on", 0),
    CE_WAY(LINEAR_LOSS_COPIED, "copied", "operands copied to aligned memory, then the way that suits the copies", 90),
    LINEAR_LOSS_WAY(&places),
    CE_WAY(LINEAR_LOSS_THIN, "thin", "all classes of 32 rows a warp, by mma.sync; x is read as it lies", 80),
};

static const ridge_way unfused_ways[] = {LINEAR_LOSS_WAY(&places)};

/* ---- variants ---- */

static void unfused_traffic(const ridge_case *c, ridge_traffic *t) { ce_unfused_traffic(&places, c, t); }
static void cuda_unfused_traffic(const ridge_case *c, ridge_traffic *t) { ce_cuda_unfused_traffic(&places, c, t); }
static const char *cuda_library_unavailable(const ridge_case *c) {
    return CE_DW != 0 ? ce_cuda_library_gradient_unavailable(c) : ce_cuda_library_unavailable(c);
}
static ridge_status cuda_library_prepare(const ridge_case *c, int threads, void **plan) {
    return CE_DW != 0 ? ce_cuda_library_gradient_prepare(c, threads, plan) : ce_cuda_library_prepare(c, threads, plan);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a library's product, logits in memory, softmax row by row",
     .run = TOKEN_ON_CPU(CE_FN(cpu_baseline)),
     .traffic = unfused_traffic,
     .scratch = ce_unfused_scratch,
     .unavailable = ce_library_unavailable,
     .prepare = ce_library_prepare,
     .own_threads = true},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = CE_CPU_IDEA,
     .ways = RIDGE_LIST(cpu_ways),
     .unavailable = ce_cpu_unavailable},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "as the baseline, with cblas_sgemm",
     .run = TOKEN_ON_CPU(CE_FN(cpu_openblas)),
     .traffic = unfused_traffic,
     .scratch = ce_unfused_scratch,
     .unavailable = ce_openblas_unavailable,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products, logits in memory",
     .run = TOKEN_ON_CUDA(CE_FN(cuda_baseline)),
     .traffic = cuda_unfused_traffic,
     .scratch = ce_cuda_library_scratch,
     .unavailable = cuda_library_unavailable,
     .prepare = cuda_library_prepare,
     .release = ce_cuda_library_release},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own products, logits in memory",
     .ways = RIDGE_LIST(unfused_ways)},
    {.name = "cuda/optimized", .role = RIDGE_OPTIMIZED, .idea = CE_IDEA, .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target TOKEN_JOIN(ridge_target, CE_NAME) = {
    .name = TOKEN_STRING(CE_NAME),
    .chapter = "ch09",
    .summary = CE_SUMMARY,
    .dims = {"batch", "depth", "classes"},
    .large = CE_LARGE,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = CE_OPTIONS,
    .exact = 1,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = ce_reject,
};
