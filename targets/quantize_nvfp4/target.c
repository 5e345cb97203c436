/* NVFP4: q = e2m1(x r), s = ue4m3(a / (6 t)), r = 1 / (s t), a the largest magnitude of each 16 columns of a row
 * x: [rows, cols], f32, bf16 or (GPU) f16, cols a multiple of 16      t: [1], f32, amax / (448 6) of the tensor
 * q: [rows, cols], e2m1      s: [row_tiles, tile_bytes], ue4m3, in tiles of 128 rows and 4 blocks (quantize/blocks.h)
 * Least traffic: size(x) + rows cols / 2 + size(s) bytes. See README.md. */
#include <math.h>

#include "quantize/blocks.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(quantize_nvfp4_cpu_baseline);
RIDGE_CPU_DECLARE(quantize_nvfp4_cpu_optimized);
RIDGE_CUDA_DECLARE(quantize_nvfp4_cuda_baseline);
RIDGE_CUDA_DECLARE(quantize_nvfp4_cuda_optimized);

enum { ROWS, COLS, ROW_TILES, TILE_BYTES, ONE };

#define CASE(rows, cols) .dim = {rows, cols, ((rows) + 127) / 128, ((cols) / 16 + 3) / 4 * BLOCKS_TILE, 1}
static const ridge_case cases[] = {
    {CASE(8192, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {CASE(8192, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {CASE(65536, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(8192, 28672), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(32768, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {CASE(1, 16), .dtype = RIDGE_F32, .edge = true},
    {CASE(0, 64), .dtype = RIDGE_F32, .edge = true},
    {CASE(3, 48), .dtype = RIDGE_F32, .edge = true},
    {CASE(131, 80), .dtype = RIDGE_F32, .edge = true}, /* tiles with padding below and beside */
    {CASE(128, 64), .dtype = RIDGE_F32, .edge = true},
    {CASE(37, 1008), .dtype = RIDGE_F32, .edge = true},
    {CASE(1500, 4144), .dtype = RIDGE_F32, .edge = true}, /* streaming stores, rows that share lines */
    {CASE(1, 16), .dtype = RIDGE_BF16, .edge = true},
    {CASE(7, 32), .dtype = RIDGE_BF16, .edge = true},
    {CASE(257, 144), .dtype = RIDGE_BF16, .edge = true},
    {CASE(3, 16448), .dtype = RIDGE_BF16, .edge = true},
    {CASE(2304, 4096), .dtype = RIDGE_BF16, .edge = true}, /* streaming stores of whole lines */
    {CASE(19, 1040), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(66, 384), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[ROW_TILES] = blocks_tile_rows(dim[ROWS]);
    dim[TILE_BYTES] = blocks_tile_bytes(blocks_across(&blocks_nvfp4, dim[COLS]));
    dim[ONE] = 1;
}

static const char *reject(const ridge_case *c) {
    int64_t dim[RIDGE_MAX_RANK] = {c->dim[ROWS], c->dim[COLS]};
    derive(dim);
    if (c->dim[COLS] < 1 || c->dim[COLS] % blocks_nvfp4.cols) return "cols must be a multiple of 16, and not 0";
    if (c->dim[ROW_TILES] != dim[ROW_TILES]) return "row_tiles must be ceil(rows / 128)";
    if (c->dim[TILE_BYTES] != dim[TILE_BYTES]) return "tile_bytes must be 512 ceil(cols / 64)";
    return c->dim[ONE] == 1 ? NULL : "the tensor's scale must be one number";
}

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true},
    {.name = "tensor_scale", .rank = 1, .dim = {ONE}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true}};
static const ridge_tensor_spec out[] = {{.name = "q", .rank = 2, .dim = {ROWS, COLS}, .dtype = RIDGE_E2M1},
                                        {.name = "s", .rank = 2, .dim = {ROW_TILES, TILE_BYTES}, .dtype = RIDGE_UE4M3}};

static double elements(const ridge_case *c) { return (double)c->dim[ROWS] * (double)c->dim[COLS]; }
static double x_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double s_bytes(const ridge_case *c) { return (double)c->dim[ROW_TILES] * (double)c->dim[TILE_BYTES]; }

/* A comparison, a multiplication and a rounding each. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){
        .flops = 3 * elements(c), .bytes_read = x_bytes(c) + 4, .bytes_written = elements(c) / 2 + s_bytes(c)};
}

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2 * x_bytes(c) + s_bytes(c) + 4 * elements(c),
                         .written = s_bytes(c) + 4.5 * elements(c)};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .written = s_bytes(c), .streamed = elements(c) / 2};
}
/* A GPU has no write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0;
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .streamed = s_bytes(c) + elements(c) / 2};
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[ROWS] * (size_t)c->dim[COLS] * sizeof(float);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scales, then scaled values in fp32, then their codes: three passes through memory",
     .run = RIDGE_CPU(quantize_nvfp4_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a vector's blocks stay in registers, each block's scale in all of its lanes; streaming stores",
     .run = RIDGE_CPU(quantize_nvfp4_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel of scales, one of scaled values in fp32, one of codes",
     .run = RIDGE_CUDA(quantize_nvfp4_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: 16-byte loads, the maximum by shuffles, codes from the registers it was taken of",
     .run = RIDGE_CUDA(quantize_nvfp4_cuda_optimized),
     .traffic = cuda_optimized_traffic},
};

/* By the definition, in the steps that the README lists; roundings to types are ridge_store's. */
static double rounded(ridge_dtype dtype, float v) {
    unsigned char code = 0;
    ridge_store(&code, dtype, 0, (double)v);
    return ridge_load(&code, dtype, 0);
}

static double scale_of(const double *x, double tensor_scale) {
    double max = 0;
    for (int64_t j = 0; j < 16; j++) max = !isfinite(x[j]) || !isfinite(max) ? (double)INFINITY : fmax(max, fabs(x[j]));
    const float t = (float)tensor_scale, inverse = 1.0F / (6.0F * t);
    if (!isfinite(max) || !isfinite(t) || t < 0) return (double)NAN;
    if (t < 0x1p-100F) return max > 0 ? (double)NAN : 0;
    return rounded(RIDGE_UE4M3, (float)max * inverse);
}

static void oracle_codes(const ridge_oracle_call *call) {
    const float t = (float)call->in[1][0];
    for (int64_t first = 0; first < call->dim[ROWS] * call->dim[COLS]; first += 16) {
        const double s = scale_of(call->in[0] + first, call->in[1][0]);
        const float r = s > 0 ? 1.0F / ((float)s * t) : 0;
        for (int64_t j = first; j < first + 16; j++)
            call->out[0][j] = isnan(s) ? 0 : rounded(RIDGE_E2M1, (float)call->in[0][j] * r);
    }
}

/* Scale (r, k) of a tile, by the layout's text: rows r, r + 32, r + 64, r + 96 lie side by side, 4 bytes each. */
static void oracle_tile(const ridge_oracle_call *call, int64_t tile, double *s) {
    for (int64_t i = 0; i < call->dim[TILE_BYTES]; i++) {
        const int64_t place = i % 512, r = 128 * tile + place / 16 + place % 16 / 4 * 32, k = i / 512 * 4 + place % 4;
        const bool inside = r < call->whole[ROWS] && 16 * k < call->dim[COLS];
        s[i] = inside ? scale_of(call->in[0] + r * call->dim[COLS] + 16 * k, call->in[1][0]) : 0;
    }
}

static void oracle(const ridge_oracle_call *call) {
    if (call->out[0]) oracle_codes(call);
    for (int64_t i = 0; call->out[1] && i < call->dim[ROW_TILES]; i++)
        oracle_tile(call, call->row[i], call->out[1] + i * call->dim[TILE_BYTES]);
}

/* Every step is defined, roundings included. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

const ridge_target ridge_target_quantize_nvfp4 = {
    .name = "quantize_nvfp4",
    .chapter = "ch09",
    .summary = "to NVFP4: e2m1, with a scale for each 16 columns of a row, in tiles",
    .dims = {"rows", "cols", "row_tiles", "tile_bytes", "one"},
    .n_sizes = 2,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .large = 0x1p127,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
