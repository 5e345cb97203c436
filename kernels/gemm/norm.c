#include "gemm/norm.h"

#include <math.h>

#include "cuda/gemm/any_plan.h"
#include "cuda/host/scratch.h"
#include "gemm/any.h"
#include "gemm/hi_lo.h"
#include "gemm/wgmma.h"

/* Predictions for a Hopper GPU. STATISTICS: microseconds of an element of a tile, three instructions of 128 lanes. CHUNK:
 * of a warp's 256 columns of a row, 22 instructions for each of a lane's eight elements. READY: from the last tile to the
 * rows that wait for it. */
static const double DRAM = 4.2e6, LAUNCH = 1.5, STATISTICS = 1.4e-5, CHUNK = 0.25, READY = 2;
enum { BESIDE_WARPS = 2, BLOCK_WARPS = 10, CHUNK_COLUMNS = 256 };

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static gemm_matrix matrix_of(const ridge_operand *o) { return (gemm_matrix){o->stride[0], o->stride[1], o->offset}; }

/* The product, to a C in lines of whole pieces. */
static gemm_problem product_of(const ridge_problem *p) {
    const int64_t m = p->c.dim[MATMUL_M], n = p->c.dim[MATMUL_N];
    return (gemm_problem){.m = m,
                          .n = n,
                          .k = p->c.dim[MATMUL_K],
                          .batch = 1,
                          .a = matrix_of(&p->tensor[GEMM_NORM_X]),
                          .b = matrix_of(&p->tensor[GEMM_NORM_W]),
                          .c = {.line = up(n, 8) * 8, .step = 1},
                          .dtype = p->c.dtype,
                          .here = p->here};
}

gemm_norm gemm_norm_of(const gemm_tile *tile, const gemm_problem *g) {
    gemm_norm at = {
        .line = up(g->n, 8) * 8, .tiles = (int)up(g->n, tile->columns), .row_tiles = (int)up(g->m, GEMM_TILE_ROWS)};
    at.z = linear_scratch_take(&at.bytes, 2.0 * (double)g->m * (double)at.line);
    at.parts = linear_scratch_take(&at.bytes, 8.0 * (double)g->m * at.tiles);
    at.counters = linear_scratch_take(&at.bytes, 4.0 * (at.row_tiles + 1));
    return at;
}

static const char *refusal_of(const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096;
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (g->m < 1) return "for one row and more";
    if (g->m > most || g->n > most || g->k > most) return "for extents of 31 bits";
    return gemm_in_pieces(&g->a, 2) && gemm_in_pieces(&g->b, 2) ? NULL : "for operands in lines of 16-byte pieces";
}

/* Bytes of bias, gamma and beta. */
static double bytes_of_lines(const gemm_problem *g) { return 3.0 * (double)g->n * (double)ridge_dtype_size(g->dtype); }

static ridge_plan plan_of_tiles(const ridge_way *way, const ridge_problem *p) {
    const gemm_norm_tile *own = way->own;
    const gemm_problem g = product_of(p);
    ridge_plan plan = {.refusal = refusal_of(&g)};
    if (plan.refusal) return plan;
    const gemm_norm at = gemm_norm_of(&own->tile, &g);
    const double z = 2.0 * (double)g.m * (double)at.line, parts = 8.0 * (double)g.m * at.tiles;
    const double sms = g.here.sm_count > 0 ? g.here.sm_count : 1, chunks = (double)up(g.n, CHUNK_COLUMNS);
    const double turns = ceil((double)at.row_tiles * at.tiles / sms);
    const double elements = (double)GEMM_TILE_ROWS * own->tile.columns;
    const double product = gemm_tile_cost(&own->tile, &g) + turns * elements * STATISTICS;
    if (own->beside) {
        const double beside = turns * elements / CHUNK_COLUMNS * CHUNK / BESIDE_WARPS;
        const double last = fmin((double)g.m, ceil(sms / at.tiles) * GEMM_TILE_ROWS); /* rows of the last turn */
        plan.us = fmax(product, beside) + LAUNCH + READY + ceil(last / (BLOCK_WARPS * sms)) * chunks * CHUNK;
    } else {
        plan.us = product + LAUNCH + fmax(2 * z / DRAM, READY);
    }
    plan.scratch = at.bytes;
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g) + bytes_of_lines(&g) + z + parts,
                                   .written = gemm_bytes_written(&g) + z + parts};
    return plan;
}

/* A product to fp32, then a launch that reads it. scratch: bytes of the product's own. */
static ridge_plan then_rows(ridge_plan product, const gemm_problem *g, double again) {
    const double h = 4.0 * (double)g->m * (double)g->n;
    product.us += LAUNCH + (h + gemm_bytes_written(g)) / DRAM;
    product.scratch += (size_t)again;
    if (product.traffic.read <= 0)
        product.traffic = (ridge_traffic){.read = gemm_bytes_read(g), .written = gemm_bytes_written(g)};
    product.traffic.read += h + bytes_of_lines(g);
    product.traffic.written += h + (product.arithmetic.products ? 0 : gemm_bytes_written(g));
    return product;
}

static ridge_plan plan_of_hi_lo(const ridge_way *way, const ridge_problem *p) {
    gemm_problem g = product_of(p);
    g.c = matrix_of(&p->tensor[GEMM_NORM_INPUTS]);
    const ridge_plan product = gemm_hi_lo_plan_of(way->own, &g);
    return product.refusal ? product : then_rows(product, &g, 0);
}
static ridge_plan plan_of_multiply_adds(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = product_of(p);
    (void)way;
    return then_rows((ridge_plan){.us = gemm_any_cost(&g)}, &g,
                     g.dtype == RIDGE_F32 ? 0 : 4.0 * (double)g.m * (double)g.n);
}

#define DECLARE(name, ...) RIDGE_CUDA_DECLARE(gemm_norm_cuda_##name);
GEMM_NORM_TILES(DECLARE)
GEMM_HI_LO_128(DECLARE)
RIDGE_CUDA_DECLARE(gemm_norm_cuda_any);

#define WAY(name_, columns_, stages_, beside_, rate_, idea_) \
    {.name = #name_,                                         \
     .idea = idea_,                                          \
     .needs = 90,                                            \
     .below = 91,                                            \
     .plan = plan_of_tiles,                                  \
     .run = RIDGE_CUDA(gemm_norm_cuda_##name_),              \
     .own = &(const gemm_norm_tile){{columns_, stages_, 1, 1, false, rate_, 1}, beside_}},
#define HI_LO_WAY(name_, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_) \
    {.name = #name_,                                                                      \
     .idea = idea_ ", then row passes",                                                   \
     .needs = 90,                                                                         \
     .below = 91,                                                                         \
     .plan = plan_of_hi_lo,                                                               \
     .run = RIDGE_CUDA(gemm_norm_cuda_##name_),                                           \
     .own = &(const gemm_tile){columns_, stages_, cluster_m_, cluster_n_, split_, rate_, 3}},

const ridge_way gemm_norm_ways[GEMM_NORM_WAYS] = {
    GEMM_NORM_TILES(WAY) GEMM_HI_LO_128(HI_LO_WAY) /* */
    {.name = "any",
     .idea = "fp32 multiply-adds, operands as they lie, then row passes",
     .plan = plan_of_multiply_adds,
     .run = RIDGE_CUDA(gemm_norm_cuda_any)},
};
