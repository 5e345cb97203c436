/* C[m,n] = (t_a A)(t_b B)^T, A and B in NVFP4: q: [m, k] and [n, k] e2m1, their scales ue4m3 in tiles as quantize_nvfp4 makes them,
 * t_a, t_b: [1] f32; C f32 on a CPU, bf16 and f16 on a GPU; k a multiple of 16. 2 m n k FLOP; least traffic: all of these once.
 * See README.md. */
#include <math.h>

#include "gemm/copied.h"
#include "gemm/matmul_target.h"
#include "nvfp4_scaled_gemm.h"
#include "nvfp4_scaled_gemm_cpu.h"
#include "peer/cutlass.h"
#include "quantize/scale_at.h"

RIDGE_CPU_DECLARE(nvfp4_scaled_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(nvfp4_scaled_gemm_cpu_optimized);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_dequantized);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_one_tile);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_blocks);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_pairs);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_cutlass_blocks);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_cutlass_pairs);

enum { BLOCK = 16, SLICE = 256, TILE_K = 64 };

#define CASE(m, n, k) .dim = {m, n, k, ((m) + 127) / 128, ((n) + 127) / 128, ((k) / BLOCK + 3) / 4 * BLOCKS_TILE, 1}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {CASE(4096, 4096, 4096), .dtype = RIDGE_BF16, GPU},
    {CASE(8192, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(128, 7168, 16384), .dtype = RIDGE_BF16, GPU},
    {CASE(4096, 4096, 4096), .dtype = RIDGE_F16, GPU},
    {CASE(128, 1024, 1024), .dtype = RIDGE_F32, CPU},
    {CASE(512, 1024, 1024), .dtype = RIDGE_F32, CPU},
    {CASE(0, 8, 16), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(1, 1, 16), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(5, 133, 48), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(140, 200, 208), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(0, 8, 64), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(5, 133, 48), .dtype = RIDGE_BF16, EDGE, GPU}, /* k and n that TMA does not take */
    {CASE(131, 40, 96), .dtype = RIDGE_F16, EDGE, GPU}, /* a tile of scales that is not full along k */
    {CASE(1, 8, 64), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(64, 136, 256), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(129, 200, 320), .dtype = RIDGE_BF16, EDGE,
     GPU}, /* columns from the middle of a tile of scales on; a tail of k */
    {CASE(257, 392, 1088), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(300, 520, 1600), .dtype = RIDGE_BF16, EDGE, GPU}, /* more slices than stages */
    {CASE(520, 776, 320), .dtype = RIDGE_BF16, EDGE, GPU},  /* more tiles than a device of few SMs has blocks */
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[SCALED_A_TILES] = blocks_tile_rows(dim[SCALED_M]);
    dim[SCALED_B_TILES] = blocks_tile_rows(dim[SCALED_N]);
    dim[SCALED_TILE_BYTES] = blocks_tile_bytes(blocks_across(&blocks_nvfp4, dim[SCALED_K]));
    dim[SCALED_ONE] = 1;
}

static const char *reject(const ridge_case *c) {
    int64_t dim[RIDGE_MAX_RANK] = {c->dim[SCALED_M], c->dim[SCALED_N], c->dim[SCALED_K]};
    derive(dim);
    if (c->dim[SCALED_N] < 1) return "n must be at least 1";
    if (c->dim[SCALED_K] < 1 || c->dim[SCALED_K] % BLOCK) return "k must be a multiple of 16, and not 0";
    if (c->dim[SCALED_A_TILES] != dim[SCALED_A_TILES]) return "a_tiles must be ceil(m / 128)";
    if (c->dim[SCALED_B_TILES] != dim[SCALED_B_TILES]) return "b_tiles must be ceil(n / 128)";
    if (c->dim[SCALED_TILE_BYTES] != dim[SCALED_TILE_BYTES]) return "tile_bytes must be 512 ceil(k / 64)";
    return c->dim[SCALED_ONE] == 1 ? NULL : "a tensor's scale must be one number";
}

/* A row of tiles has the scales of 128 rows of A: they are no rows of their own. */
#define TENSOR_SCALE .rank = 1, .dim = {SCALED_ONE}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true
static const ridge_tensor_spec in[] = {
    {.name = "a", .rank = 2, .dim = {SCALED_M, SCALED_K}, .dtype = RIDGE_E2M1, .by_row = true},
    {.name = "a_scale", .rank = 2, .dim = {SCALED_A_TILES, SCALED_TILE_BYTES}, .dtype = RIDGE_UE4M3},
    {.name = "a_tensor_scale", TENSOR_SCALE},
    {.name = "b", .rank = 2, .dim = {SCALED_N, SCALED_K}, .dtype = RIDGE_E2M1},
    {.name = "b_scale", .rank = 2, .dim = {SCALED_B_TILES, SCALED_TILE_BYTES}, .dtype = RIDGE_UE4M3},
    {.name = "b_tensor_scale", TENSOR_SCALE},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {SCALED_M, SCALED_N}}};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double bytes_in(const ridge_case *c) {
    return elements(c, SCALED_M, SCALED_K) / 2 + elements(c, SCALED_N, SCALED_K) / 2 +
           elements(c, SCALED_A_TILES, SCALED_TILE_BYTES) + elements(c, SCALED_B_TILES, SCALED_TILE_BYTES) + 8;
}
static double bytes_out(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * elements(c, SCALED_M, SCALED_N);
}
static double flops(const ridge_case *c) { return 2 * elements(c, SCALED_M, SCALED_N) * (double)c->dim[SCALED_K]; }
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = flops(c), .bytes_read = bytes_in(c), .bytes_written = bytes_out(c)};
}

/* ---- oracle and bound ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[SCALED_N], k = call->dim[SCALED_K], line = call->dim[SCALED_TILE_BYTES];
    const double tensors = call->in[SCALED_A_TENSOR][0] * call->in[SCALED_B_TENSOR][0];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < call->dim[SCALED_M]; i++) {
            const double *a = call->in[SCALED_A] + i * k, *b = call->in[SCALED_B] + j * k;
            double total = 0;
            for (int64_t first = 0; first < k; first += BLOCK) {
                double sum = 0;
                for (int64_t d = first; d < first + BLOCK; d++) sum += a[d] * b[d];
                total += sum * quantize_scale_at(call->in[SCALED_A_SCALE], line, call->row[i], first / BLOCK) *
                         quantize_scale_at(call->in[SCALED_B_SCALE], line, j, first / BLOCK);
            }
            call->out[0][i * n + j] = total * tensors;
        }
}

/* Factors are exact; the product of the tensors' scales rounds once and the sum times it once more (a CPU's B rounds twice beside).
 * The sums are those of two_stage_pipeline in 16 bits, or finer ones, and of micro_tiling_matmul in fp32. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double k = (double)call->dim[SCALED_K], u = 0x1p-24;
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    double product = 1;
    for (int t = SCALED_A; t <= SCALED_B_TENSOR; t++) product *= call->in_max[t];
    (void)output, (void)kind;
    b->absolute = narrow ? 2 * u * (k / 16 + 1) * product * (10.0 / 9.0 * sqrt(k) + 1) : 7 * u * product * k / 7.3;
    b->absolute += narrow ? 0 : 2 * u * product * 6 * sqrt(k);
    b->relative = (narrow ? ridge_dtype_roundoff(call->dtype) : u * (1 + 7 * sqrt(k) / 3)) + 4 * u;
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[SCALED_M], n = c->dim[SCALED_N], k = c->dim[SCALED_K];
    return (size_t)(scaled_floats(m * k) + scaled_floats(n * k)) * sizeof(float) +
           gemm_product_scratch(m, n, k, threads);
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    const int64_t k = c->dim[SCALED_K];
    return (size_t)scaled_floats(c->dim[SCALED_M] * nvfp4_line(k)) * sizeof(float) +
           (size_t)threads * nvfp4_room_bytes(k);
}
static void cpu_traffic(const ridge_case *c, ridge_traffic *t, double wide) {
    *t = (ridge_traffic){.read = bytes_in(c) + wide, .written = wide + bytes_out(c)};
}
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    cpu_traffic(c, t, 4 * (elements(c, SCALED_M, SCALED_K) + elements(c, SCALED_N, SCALED_K)));
}
static void cpu_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    cpu_traffic(c, t, 4 * elements(c, SCALED_M, SCALED_K));
}

/* A kernel of tiles of rows x columns, of a block or of a pair of them. All microseconds are predictions: an SM's rate and DRAM are
 * a B200's published ones, the rest are estimates, and nobody here has measured any. */
typedef struct scaled_tile {
    int rows, columns, blocks;
    bool in_turns; /* loads and products take turns, tiles too */
} scaled_tile;
static const double RATE = 9.0e9 / 148; /* FLOP a microsecond of an SM, dense, of four bits */
static const double DRAM = 8.0e6;       /* bytes a microsecond */
static const double MULTIPLY_ADDS =
    7e7; /* FLOP a microsecond of a GPU for whose products in 16 bits there are no tiles here */
static const double LAUNCH = 2, FILL = 1.2, STORE = 1.5; /* as kernels/gemm/tensor.c has them */

static double up(double n, double by) { return ceil(n / by); }

static const char *tile_refusal(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for bf16 and f16";
    if (p->c.dim[SCALED_M] < 1) return "for one row and more";
    if (p->c.dim[SCALED_M] > most || p->c.dim[SCALED_N] > most || p->c.dim[SCALED_K] > most)
        return "for extents of 30 bits";
    if (p->c.dim[SCALED_K] % TILE_K) return "for k in multiples of 64: scales beside the last block have no meaning";
    if (p->c.dim[SCALED_N] % 8 != 0) return "for n in multiples of 8: TMA stores whole pieces";
    for (int t = SCALED_A; t <= SCALED_B; t += SCALED_B - SCALED_A) {
        if (p->tensor[t].offset % 16 || p->tensor[t].stride[0] % 32) return "for codes in lines of 16-byte pieces";
        if (p->tensor[t + 1].offset % 16 || p->tensor[t + 1].stride[0] % 16)
            return "for scales in lines of 16-byte pieces";
    }
    return matmul_in_pieces(p, SCALED_C) ? NULL : "for a c in lines of 16-byte pieces";
}
static ridge_plan tile_plan(const ridge_way *way, const ridge_problem *p) {
    const scaled_tile *t = way->own;
    const double clusters = fmax(1, floor((double)p->here.sm_count / t->blocks));
    const double tiles = up((double)p->c.dim[SCALED_M], t->rows) * up((double)p->c.dim[SCALED_N], t->columns);
    const double slices = up((double)p->c.dim[SCALED_K], SLICE);
    const double of_slice = 2.0 * t->rows * t->columns * SLICE / (t->blocks * RATE) + (t->in_turns ? FILL : 0);
    const double products = up(tiles, clusters) * (slices * of_slice + (t->in_turns ? STORE : 0));
    return (ridge_plan){.refusal = tile_refusal(p),
                        .us = LAUNCH + FILL + fmax(products, (bytes_in(&p->c) + bytes_out(&p->c)) / DRAM) + STORE,
                        .traffic = {.read = bytes_in(&p->c), .written = bytes_out(&p->c)},
                        .arithmetic = {RIDGE_E2M1, 1}};
}

/* CUTLASS computes where the scales of a row of tiles lie. */
static ridge_plan cutlass_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = tile_plan(way, p);
    for (int t = SCALED_A_SCALE; t <= SCALED_B_SCALE; t += SCALED_B_SCALE - SCALED_A_SCALE)
        if (p->tensor[t].stride[0] != p->c.dim[SCALED_TILE_BYTES] && !plan.refusal)
            plan.refusal = "for scales whose tiles lie one behind the other";
    return plan;
}

static ridge_plan dequantized_plan(const ridge_way *way, const ridge_problem *p) {
    const int64_t m = p->c.dim[SCALED_M], n = p->c.dim[SCALED_N], k = p->c.dim[SCALED_K];
    const gemm_problem product = {.m = m, .n = n, .k = k, .batch = 1, .dtype = p->c.dtype, .here = p->here};
    const double by_tiles = gemm_quickest_tile(&product, true, 0).us, by_adds = flops(&p->c) / MULTIPLY_ADDS;
    const double wide = 2 * (elements(&p->c, SCALED_M, SCALED_K) + elements(&p->c, SCALED_N, SCALED_K)),
                 sums = 4 * elements(&p->c, SCALED_M, SCALED_N);
    (void)way;
    return (ridge_plan){.us = 12 + (p->here.sm < 100 ? by_tiles : by_adds) + (2 * (wide + sums)) / DRAM,
                        .scratch = scaled_scratch_of(m, n, k).bytes,
                        .traffic = {.read = bytes_in(&p->c) + wide + sums, .written = wide + sums + bytes_out(&p->c)},
                        .arithmetic = {p->c.dtype, 1}};
}

static const scaled_tile one_tile = {.rows = 128, .columns = 128, .blocks = 1, .in_turns = true};
static const scaled_tile of_blocks = {.rows = 128, .columns = 192, .blocks = 1};
static const scaled_tile of_pairs = {.rows = 256, .columns = 192, .blocks = 2};
#define TENSOR_WAY(name_, idea_, own_, fn, plan_) \
    { .name = name_, .idea = idea_, .needs = 100, .below = 101, .plan = plan_, .own = &(own_), .run = RIDGE_CUDA(fn) }
#define TILE_WAY(name_, idea_, own_, fn) TENSOR_WAY(name_, idea_, own_, fn, tile_plan)
#define CUTLASS_WAY(name_, idea_, own_, fn) TENSOR_WAY(name_, idea_, own_, fn, cutlass_plan)
#define DEQUANTIZED_WAY                                                                                               \
    {                                                                                                                 \
        .name = "dequantized", .idea = "A and B in 16 bits through memory, then a product", .plan = dequantized_plan, \
        .run = RIDGE_CUDA(nvfp4_scaled_gemm_cuda_dequantized)                                                         \
    }
static const ridge_way baseline_ways[] = {
    TILE_WAY("one_tile", "block-scaled tcgen05, a tile of 128 x 128 a block, one stage", one_tile,
             nvfp4_scaled_gemm_cuda_one_tile),
    DEQUANTIZED_WAY,
};
static const ridge_way optimized_ways[] = {
    TILE_WAY("pairs", "persistent pairs of blocks, 256 x 192 sums a pair, two tiles in tensor memory", of_pairs,
             nvfp4_scaled_gemm_cuda_pairs),
    TILE_WAY("blocks", "persistent blocks, 128 x 192 sums a block, two tiles in tensor memory", of_blocks,
             nvfp4_scaled_gemm_cuda_blocks),
    DEQUANTIZED_WAY,
};

static const scaled_tile cutlass_of_blocks = {.rows = 128, .columns = 128, .blocks = 1};
static const scaled_tile cutlass_of_pairs = {.rows = 256, .columns = 256, .blocks = 2};
static const ridge_way cutlass_ways[] = {
    CUTLASS_WAY("pairs", "pairs of blocks, 256 x 256 sums a pair", cutlass_of_pairs,
                nvfp4_scaled_gemm_cuda_cutlass_pairs),
    CUTLASS_WAY("blocks", "128 x 128 sums a block", cutlass_of_blocks, nvfp4_scaled_gemm_cuda_cutlass_blocks),
};
static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "A and B as fp32 through memory, then the product",
     .run = RIDGE_CPU(nvfp4_scaled_gemm_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "codes by vectors to fp32: A in memory, a block of B's rows in panels in cache",
     .run = RIDGE_CPU(nvfp4_scaled_gemm_cpu_optimized),
     .traffic = cpu_optimized_traffic,
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a tile a block, loads and products in turns; without tcgen05 by 16 bits in memory",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "codes and scales stay as they are up to the tensor core, tile after tile",
     .ways = RIDGE_LIST(optimized_ways)},
    {.name = "cuda/cutlass",
     .role = RIDGE_PEER,
     .idea = "CUTLASS's block-scaled collectives for tcgen05",
     .unavailable = cutlass_absent,
     .ways = RIDGE_LIST(cutlass_ways)},
};

const ridge_target ridge_target_nvfp4_scaled_gemm = {
    .name = "nvfp4_scaled_gemm",
    .chapter = "ch09",
    .summary = "matrix product of two matrices in NVFP4",
    .dims = {"m", "n", "k", "a_tiles", "b_tiles", "tile_bytes", "one"},
    .n_sizes = 3,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};
