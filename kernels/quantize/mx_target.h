/* A target of the MX formats: cases, work, traffic, oracle. Included once, by target.c, which defines before
 *
 *   MX_NAME      the target's name, as a token
 *   MX_ELEMENT   the element type: RIDGE_E4M3, RIDGE_E5M2 or RIDGE_E2M1
 *   MX_SUMMARY   a line
 *
 * targets/quantize_mxfp8/README.md states the steps. */
#include <math.h>

#include "model/token.h"
#include "quantize/blocks.h"
#include "ridge/target.h"

#define MX_FN(what) TOKEN_JOIN(MX_NAME, what)
TOKEN_DECLARE_CPU(MX_FN(cpu_baseline));
TOKEN_DECLARE_CPU(MX_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(MX_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(MX_FN(cuda_optimized));

enum { ROWS, COLS, ROW_TILES, TILE_BYTES };

/* The layout of scales does not depend on the element type. */
static const block_layout *const layout = &blocks_mxfp8;

/* ---- cases ------------------------------------------------------------------------------------------------------- */

#define CASE(rows, cols) .dim = {rows, cols, ((rows) + 127) / 128, ((cols) / 32 + 3) / 4 * BLOCKS_TILE}
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
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[ROW_TILES] = blocks_tile_rows(dim[ROWS]);
    dim[TILE_BYTES] = blocks_tile_bytes(blocks_across(layout, dim[COLS]));
}

static const char *reject(const ridge_case *c) {
    int64_t dim[RIDGE_MAX_RANK] = {c->dim[ROWS], c->dim[COLS]};
    derive(dim);
    if (c->dim[COLS] < 1 || c->dim[COLS] % layout->cols) return "cols must be a multiple of 32, and not 0";
    if (c->dim[ROW_TILES] != dim[ROW_TILES]) return "row_tiles must be ceil(rows / 128)";
    return c->dim[TILE_BYTES] == dim[TILE_BYTES] ? NULL : "tile_bytes must be 512 ceil(cols / 128)";
}

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "q", .rank = 2, .dim = {ROWS, COLS}, .dtype = MX_ELEMENT},
                                        {.name = "s", .rank = 2, .dim = {ROW_TILES, TILE_BYTES}, .dtype = RIDGE_UE8M0}};

/* ---- work, traffic, scratch -------------------------------------------------------------------------------------- */

static double elements(const ridge_case *c) { return (double)c->dim[ROWS] * (double)c->dim[COLS]; }
static double x_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double q_bytes(const ridge_case *c) { return elements(c) * ridge_dtype_bits(MX_ELEMENT) / 8; }
static double s_bytes(const ridge_case *c) { return (double)c->dim[ROW_TILES] * (double)c->dim[TILE_BYTES]; }

/* A comparison, a multiplication and a rounding each. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = 3 * elements(c), .bytes_read = x_bytes(c), .bytes_written = q_bytes(c) + s_bytes(c)};
}

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2 * x_bytes(c) + s_bytes(c) + 4 * elements(c),
                         .written = s_bytes(c) + 4 * elements(c) + q_bytes(c)};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .written = s_bytes(c), .streamed = q_bytes(c)};
}
/* A GPU has no write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0;
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .streamed = s_bytes(c) + q_bytes(c)};
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[ROWS] * (size_t)c->dim[COLS] * sizeof(float);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "scales, then scaled values in fp32, then their codes: three passes through memory",
     .run = TOKEN_ON_CPU(MX_FN(cpu_baseline)),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a block stays in L1 between maximum and codes; rounding by integer adds; streaming stores",
     .run = TOKEN_ON_CPU(MX_FN(cpu_optimized)),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel of scales, one of scaled values in fp32, one of codes",
     .run = TOKEN_ON_CUDA(MX_FN(cuda_baseline)),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: 16-byte loads, the maximum by shuffles, codes from the registers it was taken of",
     .run = TOKEN_ON_CUDA(MX_FN(cuda_optimized)),
     .traffic = cuda_optimized_traffic},
};

/* ---- oracle: by the definition, apart from the kernels' rules; roundings to types are ridge_store's -------------- */

/* The exponent of a block's scale; NaN: an element is not finite. */
static double exponent_of(const double *x) {
    int top; /* frexp's exponent of the element type's largest value */
    unsigned char code = 0;
    ridge_store(&code, MX_ELEMENT, 0, 0x1p100);
    (void)frexp(ridge_load(&code, MX_ELEMENT, 0), &top);
    double max = 0;
    for (int64_t j = 0; j < 32; j++) {
        if (!isfinite(x[j])) return (double)NAN;
        max = fmax(max, fabs(x[j]));
    }
    const double exponent = max > 0 ? floor(log2(max)) - (top - 1) : -127;
    return fmin(fmax(exponent, -127), 127);
}

static void oracle_codes(const ridge_oracle_call *call) {
    for (int64_t first = 0; first < call->dim[ROWS] * call->dim[COLS]; first += 32) {
        const double exponent = exponent_of(call->in[0] + first);
        for (int64_t j = first; j < first + 32; j++) {
            unsigned char code = 0;
            ridge_store(&code, MX_ELEMENT, 0, isnan(exponent) ? 0 : call->in[0][j] * exp2(-exponent));
            call->out[0][j] = ridge_load(&code, MX_ELEMENT, 0);
        }
    }
}

/* Scale (r, k) of a tile, by the layout's text: rows r, r + 32, r + 64, r + 96 lie side by side, 4 bytes each. Padding has the
 * code 0, which is 2^-127. */
static void oracle_tile(const ridge_oracle_call *call, int64_t tile, double *s) {
    for (int64_t i = 0; i < call->dim[TILE_BYTES]; i++) {
        const int64_t place = i % 512, r = 128 * tile + place / 16 + place % 16 / 4 * 32, k = i / 512 * 4 + place % 4;
        const bool inside = r < call->whole[ROWS] && 32 * k < call->dim[COLS];
        s[i] = exp2(inside ? exponent_of(call->in[0] + r * call->dim[COLS] + 32 * k) : -127);
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
