/* C[m,n] = t x[m,k] W[n,k]^T, W in NVFP4: q: [n, k] e2m1, s: [row_tiles, tile_bytes] ue4m3 in tiles as quantize_nvfp4 makes them,
 * t: [1] f32; x and C f32 on a CPU, bf16 and f16 on a GPU; k a multiple of 16. 2 m n k FLOP; least traffic: all of these once.
 * See README.md. */
#include <math.h>

#include "cpu/gemm_product.h"
#include "gemm/copied.h"
#include "gemm/matmul_target.h"
#include "nvfp4_gemm.h"
#include "quantize/nvfp4_room.h"
#include "quantize/scale_at.h"

RIDGE_CUDA_DECLARE(nvfp4_gemm_cuda_dequantized);
RIDGE_CUDA_DECLARE(nvfp4_gemm_cuda_tiles);
RIDGE_CUDA_DECLARE(nvfp4_gemm_cuda_few_rows);

#define CASE(m, n, k) .dim = {m, n, k, ((n) + 127) / 128, ((k) / FP4_BLOCK + 3) / 4 * BLOCKS_TILE, 1}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {CASE(1, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(16, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(16, 28672, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(64, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(512, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(4096, 8192, 8192), .dtype = RIDGE_BF16, GPU},
    {CASE(16, 8192, 8192), .dtype = RIDGE_F16, GPU},
    {CASE(16, 2048, 1024), .dtype = RIDGE_F32, CPU},
    {CASE(256, 1024, 1024), .dtype = RIDGE_F32, CPU},
    {CASE(0, 8, 16), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(1, 1, 16), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(5, 133, 48), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(33, 200, 208), .dtype = RIDGE_F32, EDGE, CPU},
    {CASE(0, 8, 32), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(1, 8, 32), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(5, 133, 48), .dtype = RIDGE_BF16, EDGE, GPU},   /* k that TMA does not take */
    {CASE(9, 300, 160), .dtype = RIDGE_BF16, EDGE, GPU},  /* a slice that ends within a tile of scales */
    {CASE(16, 264, 2080), .dtype = RIDGE_F16, EDGE, GPU}, /* shares of K */
    {CASE(11, 40, 6176), .dtype = RIDGE_BF16, EDGE, GPU}, /* shares of K in few_rows */
    {CASE(50, 136, 1696), .dtype = RIDGE_BF16, EDGE, GPU},
    {CASE(120, 260, 352), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(300, 264, 576), .dtype = RIDGE_BF16, EDGE, GPU},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[FP4_ROW_TILES] = blocks_tile_rows(dim[FP4_N]);
    dim[FP4_TILE_BYTES] = blocks_tile_bytes(blocks_across(&blocks_nvfp4, dim[FP4_K]));
    dim[FP4_ONE] = 1;
}

static const char *reject(const ridge_case *c) {
    int64_t dim[RIDGE_MAX_RANK] = {c->dim[FP4_M], c->dim[FP4_N], c->dim[FP4_K]};
    derive(dim);
    if (c->dim[FP4_N] < 1) return "n must be at least 1";
    if (c->dim[FP4_K] < 1 || c->dim[FP4_K] % FP4_BLOCK) return "k must be a multiple of 16, and not 0";
    if (c->dim[FP4_ROW_TILES] != dim[FP4_ROW_TILES]) return "row_tiles must be ceil(n / 128)";
    if (c->dim[FP4_TILE_BYTES] != dim[FP4_TILE_BYTES]) return "tile_bytes must be 512 ceil(k / 64)";
    return c->dim[FP4_ONE] == 1 ? NULL : "the tensor's scale must be one number";
}

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {FP4_M, FP4_K}, .by_row = true},
    {.name = "q", .rank = 2, .dim = {FP4_N, FP4_K}, .dtype = RIDGE_E2M1},
    {.name = "s", .rank = 2, .dim = {FP4_ROW_TILES, FP4_TILE_BYTES}, .dtype = RIDGE_UE4M3},
    {.name = "tensor_scale", .rank = 1, .dim = {FP4_ONE}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true},
};
static const ridge_tensor_spec out[] = {{.name = "c", .rank = 2, .dim = {FP4_M, FP4_N}}};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double size_of(const ridge_case *c) { return (double)ridge_dtype_size(c->dtype); }
static double bytes_in(const ridge_case *c) {
    return size_of(c) * elements(c, FP4_M, FP4_K) + elements(c, FP4_N, FP4_K) / 2 +
           elements(c, FP4_ROW_TILES, FP4_TILE_BYTES) + 4;
}
static double bytes_out(const ridge_case *c) { return size_of(c) * elements(c, FP4_M, FP4_N); }
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 2 * elements(c, FP4_M, FP4_N) * (double)c->dim[FP4_K],
                      .bytes_read = bytes_in(c),
                      .bytes_written = bytes_out(c)};
}

/* ---- oracle and bound ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[FP4_N], k = call->dim[FP4_K];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < call->dim[FP4_M]; i++) {
            const double *x = call->in[FP4_X] + i * k, *q = call->in[FP4_Q] + j * k;
            double total = 0;
            for (int64_t first = 0; first < k; first += FP4_BLOCK) {
                double sum = 0;
                for (int64_t d = first; d < first + FP4_BLOCK; d++) sum += x[d] * q[d];
                total += sum * quantize_scale_at(call->in[FP4_S], call->dim[FP4_TILE_BYTES], j, first / FP4_BLOCK);
            }
            call->out[0][i * n + j] = total * call->in[FP4_TENSOR][0];
        }
}

/* Weights are exact; the tensor's scale rounds once (a CPU's weights round twice). The sums are those of two_stage_pipeline in 16
 * bits, and of micro_tiling_matmul in fp32. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double k = (double)call->dim[FP4_K], u = 0x1p-24;
    const double product = call->in_max[FP4_X] * call->in_max[FP4_Q] * call->in_max[FP4_S] * call->in_max[FP4_TENSOR];
    const bool narrow = ridge_dtype_size(call->dtype) == 2;
    (void)output, (void)kind;
    b->absolute = narrow ? 2 * u * (k / 16 + 1) * product * (10.0 / 9.0 * sqrt(k) + 1) : 7 * u * product * k / 7.3;
    b->absolute += narrow ? 0 : 2 * u * product * 6 * sqrt(k);
    b->relative = (narrow ? ridge_dtype_roundoff(call->dtype) : u * (1 + 7 * sqrt(k) / 3)) + 2 * u;
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[FP4_M], n = c->dim[FP4_N], k = c->dim[FP4_K];
    return (size_t)((n * k + 15) / 16 * 16) * sizeof(float) + gemm_product_scratch(m, n, k, threads);
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    return (size_t)threads * nvfp4_room_bytes(c->dim[FP4_K]);
}
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double w = 4 * elements(c, FP4_N, FP4_K);
    *t = (ridge_traffic){.read = bytes_in(c) + w, .written = w + bytes_out(c)};
}

/* Sums of the product, and W in 16 bits in lines of whole pieces. */
static size_t dequantized_scratch(const ridge_case *c, int threads) {
    const int64_t line = (c->dim[FP4_K] + 7) / 8 * 8;
    (void)threads;
    return (size_t)((c->dim[FP4_M] * c->dim[FP4_N] * 4 + 255) / 256 * 256 + c->dim[FP4_N] * line * 2);
}
static void dequantized_traffic(const ridge_case *c, ridge_traffic *t) {
    const double w = 2 * elements(c, FP4_N, FP4_K), sums = 4 * elements(c, FP4_M, FP4_N);
    *t = (ridge_traffic){.read = bytes_in(c) + w + sums, .written = w + sums + bytes_out(c)};
}

static double product_cost(const ridge_problem *p) {
    const gemm_problem product = {.m = p->c.dim[FP4_M],
                                  .n = p->c.dim[FP4_N],
                                  .k = p->c.dim[FP4_K],
                                  .batch = 1,
                                  .dtype = p->c.dtype,
                                  .here = p->here};
    return gemm_quickest_tile(&product, true, 0).us;
}
static const double DRAM = 4.2e6; /* bytes a microsecond */

static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for bf16 and f16";
    if (p->c.dim[FP4_M] < 1) return "for one row and more";
    if (p->c.dim[FP4_M] > most || p->c.dim[FP4_N] > most || p->c.dim[FP4_K] > most) return "for extents of 30 bits";
    if (!matmul_in_pieces(p, FP4_X)) return "for an x in lines of 16-byte pieces";
    if (p->tensor[FP4_Q].offset % 16 || p->tensor[FP4_Q].stride[0] % 32) return "for a q in lines of 16-byte pieces";
    return p->tensor[FP4_S].offset % 16 || p->tensor[FP4_S].stride[0] % 16 ? "for an s in lines of 16-byte pieces"
                                                                           : NULL;
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    const int64_t m = p->c.dim[FP4_M], n = p->c.dim[FP4_N], k = p->c.dim[FP4_K];
    const fp4_tiles t = fp4_tiles_of(m, n, k, p->here.sm_count);
    const double sms = p->here.sm_count > 0 ? p->here.sm_count : 1, columns = ceil((double)m / t.columns);
    const double unpacked = columns * elements(&p->c, FP4_N, FP4_K) / (FP4_UNPACKED * sms);
    const double sums = t.shares > 1 ? 4.0 * t.shares * elements(&p->c, FP4_M, FP4_N) : 0;
    (void)way;
    return (ridge_plan){.refusal = tiles_refuse(p),
                        .us = 5 + fmax(fmax(unpacked, bytes_in(&p->c) / DRAM), product_cost(p)) + 2 * sums / DRAM,
                        .scratch = (size_t)sums,
                        .traffic = {.read = bytes_in(&p->c) + sums, .written = sums + bytes_out(&p->c)}};
}
static const char *few_rows_refuse(const ridge_problem *p, const fp4_few *f) {
    if (p->c.dim[FP4_M] > FP4_FEW) return "for up to 16 rows";
    if (p->c.dim[FP4_K] % 32 != 0) return "for k in multiples of 32";
    if (f->shares == 0) return "for an x of which an eighth has room in shared memory";
    return tiles_refuse(p);
}
static ridge_plan few_rows_plan(const ridge_way *way, const ridge_problem *p) {
    const fp4_few f = fp4_few_of(p->c.dim[FP4_M], p->c.dim[FP4_N], p->c.dim[FP4_K], p->here.sm_count);
    (void)way;
    return (ridge_plan){.refusal = few_rows_refuse(p, &f),
                        .us = f.us,
                        .traffic = {.read = bytes_in(&p->c), .written = bytes_out(&p->c)}};
}
static ridge_plan dequantized_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = {.us = 9 + product_cost(p) + 4.5 * elements(&p->c, FP4_N, FP4_K) / DRAM,
                       .scratch = dequantized_scratch(&p->c, 1)};
    (void)way;
    dequantized_traffic(&p->c, &plan.traffic);
    return plan;
}

static const ridge_way cuda_ways[] = {
    {.name = "few_rows",
     .idea = "mma.sync on codes as a lane has them, x in their order; a cluster shares K",
     .plan = few_rows_plan,
     .needs = 90,
     .run = RIDGE_CUDA(nvfp4_gemm_cuda_few_rows)},
    {.name = "tiles",
     .idea = "W in 16 bits in registers alone, from where wgmma takes it",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(nvfp4_gemm_cuda_tiles)},
    {.name = "dequantized",
     .idea = "W in 16 bits through memory, then a product",
     .plan = dequantized_plan,
     .run = RIDGE_CUDA(nvfp4_gemm_cuda_dequantized)},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "all of W as fp32 through memory, then the product",
     .run = RIDGE_CPU(nvfp4_gemm_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a block of W's rows as fp32, in cache, while x is multiplied with them",
     .run = RIDGE_CPU(nvfp4_gemm_cpu_optimized),
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "W in 16 bits through memory, then a product, then the tensor's scale",
     .run = RIDGE_CUDA(nvfp4_gemm_cuda_dequantized),
     .traffic = dequantized_traffic,
     .scratch = dequantized_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "packed weights are read once and unpacked in registers",
     .ways = RIDGE_LIST(cuda_ways)},
};

const ridge_target ridge_target_nvfp4_gemm = {
    .name = "nvfp4_gemm",
    .chapter = "ch09",
    .summary = "matrix product with weights in NVFP4",
    .dims = {"m", "n", "k", "row_tiles", "tile_bytes", "one"},
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
