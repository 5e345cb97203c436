/* NVFP4: q = e2m1(x r), s = ue4m3(a / (6 t)), r = 1 / (s t), a the largest magnitude of each 16 columns of a row
 * x: [rows, cols], f32, bf16 or (GPU) f16, cols a multiple of 16      t: [1], f32, amax / (448 6) of the tensor
 * q: [rows, cols], e2m1      s: [row_tiles, tile_bytes], ue4m3, in tiles of 128 rows and 4 blocks (quantize/blocks.h)
 * Least traffic: size(x) + rows cols / 2 + size(s) bytes. See README.md. */
#define QUANTIZE_NAME quantize_nvfp4
#define QUANTIZE_CODE RIDGE_E2M1
#define QUANTIZE_FIRST "scales"
#define QUANTIZE_SCALES_READ 1
#define QUANTIZE_CPU_IDEA \
    "a vector's blocks stay in registers, each block's scale in all of its lanes; streaming stores"
#define QUANTIZE_CUDA_IDEA "one pass: 16-byte loads, the maximum by shuffles, codes from the registers it was taken of"
#define QUANTIZE_CUDA_NEEDS 0
#define QUANTIZE_BYTES 4
#define QUANTIZE_LAYOUT blocks_nvfp4
#define QUANTIZE_ACROSS 16
#define QUANTIZE_SCALE RIDGE_UE4M3
#define QUANTIZE_PADDING 0
#include "quantize/tiles_target.h"

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
    {CASE(66, 2064), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA}, /* two packs a lane on six SMs */
};

static const char *reject_nvfp4(const ridge_case *c) {
    const char *why = reject(c);
    return why || c->dim[ONE] == 1 ? why : "the tensor's scale must be one number";
}

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true},
    {.name = "tensor_scale", .rank = 1, .dim = {ONE}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_SCALE, .plain = true}};

/* The oracle computes by the definition, in the steps that the README lists. */
static double scale_of(const ridge_oracle_call *call, const double *x) {
    double max = 0;
    for (int64_t j = 0; j < 16 && isfinite(max); j++)
        if (!(fabs(x[j]) <= max)) max = isnan(x[j]) ? (double)INFINITY : fabs(x[j]);
    const float t = (float)call->in[1][0], inverse = 1.0F / (6.0F * t);
    if (!isfinite(max) || !isfinite(t) || t < 0) return (double)NAN;
    if (t < 0x1p-100F) return max > 0 ? (double)NAN : 0;
    return ridge_rounded(RIDGE_UE4M3, (double)((float)max * inverse));
}

static void oracle_codes(const ridge_oracle_call *call) {
    const float t = (float)call->in[1][0];
    for (int64_t first = 0; first < call->dim[ROWS] * call->dim[COLS]; first += 16) {
        const double s = scale_of(call, call->in[0] + first);
        const float r = s > 0 ? 1.0F / ((float)s * t) : 0;
        for (int64_t j = first; j < first + 16; j++)
            call->out[0][j] = isnan(s) ? 0 : ridge_rounded(RIDGE_E2M1, (double)((float)call->in[0][j] * r));
    }
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
    .reject = reject_nvfp4,
};
