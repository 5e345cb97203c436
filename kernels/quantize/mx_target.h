/* A target of the MX formats: cases, work, traffic, oracle. Included once, by target.c, which defines before
 *
 *   MX_NAME      the target's name, as a token
 *   MX_ELEMENT   the element type: RIDGE_E4M3, RIDGE_E5M2 or RIDGE_E2M1
 *   MX_SUMMARY   a line
 *
 * targets/quantize_mxfp8/README.md states the steps. */
#define QUANTIZE_NAME MX_NAME
#define QUANTIZE_CODE MX_ELEMENT
#define QUANTIZE_FIRST "scales"
#define QUANTIZE_SCALES_READ 1
#define QUANTIZE_CPU_IDEA "a block stays in L1 between maximum and codes; rounding by integer adds; streaming stores"
#define QUANTIZE_CUDA_IDEA "one pass: 16-byte loads, the maximum by shuffles, codes from the registers it was taken of"
#define QUANTIZE_CUDA_NEEDS 0
#define QUANTIZE_BYTES 0
#define QUANTIZE_LAYOUT blocks_mxfp8 /* the layout of scales does not depend on the element type */
#define QUANTIZE_ACROSS 32
#define QUANTIZE_SCALE RIDGE_UE8M0
#define QUANTIZE_PADDING 0x1p-127 /* whose code is 0 */
#include "quantize/tiles_target.h"

static const ridge_case cases[] = {
    {CASE(8192, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {CASE(8192, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {CASE(65536, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(8192, 28672), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(32768, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {CASE(1, 32), .dtype = RIDGE_F32, .edge = true},
    {CASE(0, 64), .dtype = RIDGE_F32, .edge = true},
    {CASE(3, 96), .dtype = RIDGE_F32, .edge = true},
    {CASE(131, 160), .dtype = RIDGE_F32, .edge = true}, /* tiles with padding below and beside */
    {CASE(128, 128), .dtype = RIDGE_F32, .edge = true},
    {CASE(37, 1056), .dtype = RIDGE_F32, .edge = true},
    {CASE(1500, 4160), .dtype = RIDGE_F32, .edge = true}, /* streaming stores, rows that share lines */
    {CASE(1, 32), .dtype = RIDGE_BF16, .edge = true},
    {CASE(7, 64), .dtype = RIDGE_BF16, .edge = true},
    {CASE(257, 288), .dtype = RIDGE_BF16, .edge = true},
    {CASE(3, 16480), .dtype = RIDGE_BF16, .edge = true},
    {CASE(2304, 4096), .dtype = RIDGE_BF16, .edge = true}, /* streaming stores of whole lines */
    {CASE(19, 1056), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(66, 384), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(66, 2080), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA}, /* two packs a lane on six SMs */
};

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true}};

/* ---- oracle: by the definition, apart from the kernels' rules; roundings to types are ridge_store's -------------- */

/* The exponent of a block's scale; NaN: an element is not finite. */
static double exponent_of(const double *x) {
    int top; /* frexp's exponent of the element type's largest value */
    (void)frexp(ridge_rounded(MX_ELEMENT, 0x1p100), &top);
    double max = 0;
    for (int64_t j = 0; j < 32; j++) {
        if (!isfinite(x[j])) return (double)NAN;
        if (fabs(x[j]) > max) max = fabs(x[j]);
    }
    const double exponent = max > 0 ? floor(log2(max)) - (top - 1) : -127;
    return fmin(fmax(exponent, -127), 127);
}

static double scale_of(const ridge_oracle_call *call, const double *x) {
    (void)call;
    return exp2(exponent_of(x));
}

static void oracle_codes(const ridge_oracle_call *call) {
    for (int64_t first = 0; first < call->dim[ROWS] * call->dim[COLS]; first += 32) {
        const double exponent = exponent_of(call->in[0] + first);
        for (int64_t j = first; j < first + 32; j++)
            call->out[0][j] = ridge_rounded(MX_ELEMENT, isnan(exponent) ? 0 : call->in[0][j] * exp2(-exponent));
    }
}

const ridge_target TOKEN_JOIN(ridge_target, MX_NAME) = {
    .name = TOKEN_STRING(MX_NAME),
    .chapter = "ch09",
    .summary = MX_SUMMARY,
    .dims = {"rows", "cols", "row_tiles", "tile_bytes"},
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
