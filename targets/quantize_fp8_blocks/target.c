/* q = e4m3(x r), s = a / 448, r = 448 / a, a the largest magnitude of each 128 columns of a row
 * x: [rows, cols], f32, bf16 or (GPU) f16      q: [rows, cols], e4m3      s: [rows, blocks], f32, blocks = ceil(cols / 128)
 * Least traffic: size(x) + rows cols + 4 rows blocks bytes. See README.md. */
#define QUANTIZE_NAME quantize_fp8_blocks
#define QUANTIZE_CODE RIDGE_E4M3
#define QUANTIZE_FIRST "maxima"
#define QUANTIZE_SCALES_READ 0
#define QUANTIZE_CPU_IDEA "a block stays in L1 between maximum and codes; rounding by integer adds; streaming stores"
#define QUANTIZE_CUDA_IDEA "one pass: 16-byte loads, the maximum by shuffles, codes from the registers it was taken of"
#define QUANTIZE_CUDA_NEEDS 89
#define QUANTIZE_BYTES 0
#include "quantize/target.h"

enum { ROWS, COLS, BLOCKS };

#define CASE(rows, cols) .dim = {rows, cols, ((cols) + 127) / 128}
static const ridge_case cases[] = {
    {CASE(8192, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {CASE(8192, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {CASE(65536, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(8192, 28672), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(32768, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {CASE(1, 1), .dtype = RIDGE_F32, .edge = true},
    {CASE(0, 128), .dtype = RIDGE_F32, .edge = true},
    {CASE(3, 127), .dtype = RIDGE_F32, .edge = true},
    {CASE(130, 129), .dtype = RIDGE_F32, .edge = true},
    {CASE(37, 1000), .dtype = RIDGE_F32, .edge = true},
    {CASE(5, 4096), .dtype = RIDGE_F32, .edge = true},
    {CASE(2048, 4100), .dtype = RIDGE_F32, .edge = true}, /* streaming stores, rows that share lines */
    {CASE(1, 1), .dtype = RIDGE_BF16, .edge = true},
    {CASE(7, 31), .dtype = RIDGE_BF16, .edge = true},
    {CASE(129, 128), .dtype = RIDGE_BF16, .edge = true},
    {CASE(19, 1031), .dtype = RIDGE_BF16, .edge = true},
    {CASE(3, 16512), .dtype = RIDGE_BF16, .edge = true},
    {CASE(2304, 4096), .dtype = RIDGE_BF16, .edge = true}, /* streaming stores of whole lines */
    {CASE(19, 1031), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(66, 384), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(66, 2064), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},  /* two packs a lane on six SMs */
    {CASE(515, 136), .dtype = RIDGE_BF16, .edge = true, .only = RIDGE_ONLY_CUDA}, /* whole packs, and no whole blocks */
    {CASE(515, 132), .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) { dim[BLOCKS] = blocks_across(&blocks_fp8_blocks, dim[COLS]); }

static const char *reject(const ridge_case *c) {
    if (c->dim[COLS] < 1) return "cols must be at least 1";
    return c->dim[BLOCKS] == blocks_across(&blocks_fp8_blocks, c->dim[COLS]) ? NULL : "blocks must be ceil(cols / 128)";
}

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "q", .rank = 2, .dim = {ROWS, COLS}, .dtype = RIDGE_E4M3},
                                        {.name = "s", .rank = 2, .dim = {ROWS, BLOCKS}, .dtype = RIDGE_F32}};

static double s_bytes(const ridge_case *c) { return 4 * (double)c->dim[ROWS] * (double)c->dim[BLOCKS]; }

/* The oracle computes by the definition, in the steps that the README lists. */
static void oracle_block(const double *x, int64_t n, double *q, double *s) {
    double max = 0;
    for (int64_t j = 0; j < n && isfinite(max); j++)
        if (!(fabs(x[j]) <= max)) max = isnan(x[j]) ? (double)INFINITY : fabs(x[j]);
    const bool odd = !isfinite(max);
    const float a = (float)fmax(max, 0x1p-100), r = 448.0F / a;
    *s = odd ? (double)NAN : (double)(a / 448.0F);
    for (int64_t j = 0; j < n; j++) q[j] = odd ? 0 : ridge_rounded(RIDGE_E4M3, (double)((float)x[j] * r));
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t cols = call->dim[COLS], blocks = call->dim[BLOCKS];
    for (int64_t i = 0; i < call->dim[ROWS]; i++)
        for (int64_t k = 0; k < blocks; k++) {
            const int64_t j = i * cols + 128 * k, n = cols - 128 * k < 128 ? cols - 128 * k : 128;
            oracle_block(call->in[0] + j, n, call->out[0] + j, call->out[1] + i * blocks + k);
        }
}

const ridge_target ridge_target_quantize_fp8_blocks = {
    .name = "quantize_fp8_blocks",
    .chapter = "ch09",
    .summary = "to e4m3, with a scale for each 128 columns of a row",
    .dims = {"rows", "cols", "blocks"},
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
