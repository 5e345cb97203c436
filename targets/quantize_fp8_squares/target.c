/* q = e4m3(x r), s = a / 448, r = 448 / a, a the largest magnitude of each square of 128 rows and columns
 * x: [rows, cols], f32, bf16 or (GPU) f16      q: [rows, cols], e4m3      s: [row_blocks, col_blocks], f32
 * Least traffic: size(x) + rows cols + size(s) bytes. See README.md. */
#define QUANTIZE_NAME quantize_fp8_squares
#define QUANTIZE_CODE RIDGE_E4M3
#define QUANTIZE_FIRST "maxima"
#define QUANTIZE_SCALES_READ 1
#define QUANTIZE_CPU_IDEA \
    "a row of squares stays in L2 between maxima and codes; rounding by integer adds; streaming stores"
#define QUANTIZE_CUDA_IDEA "one pass: a square is the registers of a block of threads between its maximum and its codes"
#define QUANTIZE_CUDA_NEEDS 89
#define QUANTIZE_BYTES 0
#include "quantize/target.h"

enum { ROWS, COLS, ROW_BLOCKS, COL_BLOCKS };

#define CASE(rows, cols) .dim = {rows, cols, ((rows) + 127) / 128, ((cols) + 127) / 128}
static const ridge_case cases[] = {
    {CASE(8192, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},
    {CASE(8192, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},
    {CASE(28672, 8192), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {CASE(16384, 8192), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA},
    {CASE(1, 1), .dtype = RIDGE_F32, .edge = true},
    {CASE(0, 128), .dtype = RIDGE_F32, .edge = true},
    {CASE(3, 127), .dtype = RIDGE_F32, .edge = true},
    {CASE(131, 129), .dtype = RIDGE_F32, .edge = true},
    {CASE(257, 1000), .dtype = RIDGE_F32, .edge = true},
    {CASE(128, 128), .dtype = RIDGE_F32, .edge = true},
    {CASE(1700, 3000), .dtype = RIDGE_F32, .edge = true}, /* streaming stores, rows that share lines */
    {CASE(1, 1), .dtype = RIDGE_BF16, .edge = true},
    {CASE(129, 128), .dtype = RIDGE_BF16, .edge = true},
    {CASE(300, 1031), .dtype = RIDGE_BF16, .edge = true},
    {CASE(2304, 2560), .dtype = RIDGE_BF16, .edge = true}, /* streaming stores of whole lines */
    {CASE(150, 1031), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
    {CASE(266, 384), .dtype = RIDGE_F16, .edge = true, .only = RIDGE_ONLY_CUDA},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[ROW_BLOCKS] = blocks_down(&blocks_fp8_squares, dim[ROWS]);
    dim[COL_BLOCKS] = blocks_across(&blocks_fp8_squares, dim[COLS]);
}

static const char *reject(const ridge_case *c) {
    if (c->dim[COLS] < 1) return "cols must be at least 1";
    if (c->dim[ROW_BLOCKS] != blocks_down(&blocks_fp8_squares, c->dim[ROWS]))
        return "row_blocks must be ceil(rows / 128)";
    if (c->dim[COL_BLOCKS] != blocks_across(&blocks_fp8_squares, c->dim[COLS]))
        return "col_blocks must be ceil(cols / 128)";
    return NULL;
}

/* Not by row: a row's codes depend on the rows of its square. */
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {ROWS, COLS}}};
static const ridge_tensor_spec out[] = {{.name = "q", .rank = 2, .dim = {ROWS, COLS}, .dtype = RIDGE_E4M3},
                                        {.name = "s", .rank = 2, .dim = {ROW_BLOCKS, COL_BLOCKS}, .dtype = RIDGE_F32}};

static double s_bytes(const ridge_case *c) { return 4 * (double)c->dim[ROW_BLOCKS] * (double)c->dim[COL_BLOCKS]; }

/* The oracle computes by the definition, in the steps that the README lists. */
/* The largest magnitude of the square of block (r, k) in the whole of x, and NaN where one is not finite. */
static double largest(const ridge_oracle_call *call, int64_t r, int64_t k) {
    const int64_t rows = call->whole[ROWS], cols = call->dim[COLS];
    double max = 0;
    for (int64_t i = 128 * r; i < rows && i < 128 * (r + 1); i++)
        for (int64_t j = 128 * k; j < cols && j < 128 * (k + 1); j++) {
            const double v = call->in[0][i * cols + j];
            if (!isfinite(v)) return (double)NAN;
            if (fabs(v) > max) max = fabs(v);
        }
    return max;
}

/* Rows of one square after another share its maximum. */
static void oracle_codes(const ridge_oracle_call *call, int64_t k) {
    const int64_t cols = call->dim[COLS], end = cols < 128 * (k + 1) ? cols : 128 * (k + 1);
    int64_t square = -1;
    double max = 0;
    for (int64_t i = 0; i < call->dim[ROWS]; i++) {
        if (call->row[i] / 128 != square) square = call->row[i] / 128, max = largest(call, square, k);
        const float r = 448.0F / (float)fmax(max, 0x1p-100);
        for (int64_t j = 128 * k; j < end; j++)
            call->out[0][i * cols + j] =
                isnan(max) ? 0 : ridge_rounded(RIDGE_E4M3, (double)((float)call->in[0][call->row[i] * cols + j] * r));
    }
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t across = call->dim[COL_BLOCKS];
    for (int64_t k = 0; call->out[0] && k < across; k++) oracle_codes(call, k);
    for (int64_t i = 0; call->out[1] && i < call->dim[ROW_BLOCKS]; i++)
        for (int64_t k = 0; k < across; k++) {
            const double max = largest(call, call->row[i], k);
            call->out[1][i * across + k] = isnan(max) ? max : (double)((float)fmax(max, 0x1p-100) / 448.0F);
        }
}

const ridge_target ridge_target_quantize_fp8_squares = {
    .name = "quantize_fp8_squares",
    .chapter = "ch09",
    .summary = "to e4m3, with a scale for each square of 128 rows and columns",
    .dims = {"rows", "cols", "row_blocks", "col_blocks"},
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
