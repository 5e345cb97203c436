/* Gradients of swiglu_ffn from its gate and up values: dh = dy w2, dgate = dh up silu'(gate), dup = dh silu(gate),
 * dx = [dgate dup] w1, dw1 = [dgate dup]^T x, dw2 = dy^T (silu(gate) up).
 * x, dx: [m, d], w1, dw1: [2 f, d], w2, dw2: [d, f], gates: [m, 2 f], dy: [m, d]; f32, on a GPU bf16 and f16, too.
 * 12 m d f FLOP and 14 m f; least traffic: all of these once. See README.md. */
#include <math.h>
#include <stdlib.h>

#include "cpu/gemm_product.h"
#include "swiglu_ffn_backward.h"

#define FFN(m, d, f) .dim = {m, d, f, 2 * (f)}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {FFN(65536, 6144, 24576), .dtype = RIDGE_BF16, GPU}, /* the chapter's */
    {FFN(8192, 4096, 14336), .dtype = RIDGE_BF16, GPU},  {FFN(4096, 2048, 8192), .dtype = RIDGE_F16, GPU},
    {FFN(256, 512, 2048), .dtype = RIDGE_F32, CPU},      {FFN(1024, 512, 1408), .dtype = RIDGE_F32, CPU},
    {FFN(0, 8, 16), .dtype = RIDGE_F32, EDGE},           {FFN(1, 1, 1), .dtype = RIDGE_F32, EDGE},
    {FFN(5, 33, 70), .dtype = RIDGE_F32, EDGE},          {FFN(161, 40, 97), .dtype = RIDGE_F32, EDGE},
    {FFN(600, 9, 701), .dtype = RIDGE_F32, EDGE, CPU}, /* three chunks of rows */
    {FFN(130, 72, 140), .dtype = RIDGE_F32, EDGE, GPU},  {FFN(0, 8, 16), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(1, 1, 1), .dtype = RIDGE_BF16, EDGE, GPU},      {FFN(1, 8, 8), .dtype = RIDGE_F16, EDGE, GPU},
    {FFN(67, 45, 91), .dtype = RIDGE_BF16, EDGE, GPU},   {FFN(257, 72, 264), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(130, 264, 136), .dtype = RIDGE_F16, EDGE, GPU}, {FFN(300, 136, 520), .dtype = RIDGE_BF16, EDGE, GPU},
    {FFN(3, 16, 2568), .dtype = RIDGE_F16, EDGE, GPU}, /* rows of the map that are not narrow */
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) { dim[BACK_BOTH] = 2 * dim[BACK_F]; }

static const char *reject(const ridge_case *c) {
    if (c->dim[BACK_D] < 1 || c->dim[BACK_F] < 1) return "d and f must be at least 1";
    return c->dim[BACK_BOTH] == 2 * c->dim[BACK_F] ? NULL : "w1 must have twice as many rows as w2 has columns";
}

/* All plain: an infinity reaches whole gradients, since every one of them sums over rows or columns. */
static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {BACK_M, BACK_D}, .by_row = true, .plain = true},
    {.name = "w1",
     .rank = 2,
     .dim = {BACK_BOTH, BACK_D},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = BACK_BOTH,
     .plain = true},
    {.name = "w2", .rank = 2, .dim = {BACK_D, BACK_F}, .fill = RIDGE_FILL_WEIGHT, .index_dim = BACK_D, .plain = true},
    {.name = "gates", .rank = 2, .dim = {BACK_M, BACK_BOTH}, .by_row = true, .plain = true},
    {.name = "dy", .rank = 2, .dim = {BACK_M, BACK_D}, .by_row = true, .plain = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "dx", .rank = 2, .dim = {BACK_M, BACK_D}},
    {.name = "dw1", .rank = 2, .dim = {BACK_BOTH, BACK_D}},
    {.name = "dw2", .rank = 2, .dim = {BACK_D, BACK_F}},
};

static double elements(const ridge_case *c, int down, int across) {
    return (double)c->dim[down] * (double)c->dim[across];
}
static double bytes_in(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) *
           (2 * elements(c, BACK_M, BACK_D) + elements(c, BACK_M, BACK_BOTH) + 3 * elements(c, BACK_D, BACK_F));
}
static double bytes_out(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * (elements(c, BACK_M, BACK_D) + 3 * elements(c, BACK_D, BACK_F));
}
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = elements(c, BACK_M, BACK_F) * (12 * (double)c->dim[BACK_D] + 14),
                      .bytes_read = bytes_in(c),
                      .bytes_written = bytes_out(c)};
}

/* ---- oracle ---- */

/* As it is stored: what f16 rounds beyond its largest number is infinite. */
static double stored(ridge_dtype dtype, double value) {
    return dtype == RIDGE_F16 && fabs(value) >= 65520 ? copysign((double)INFINITY, value) : value;
}

/* What README.md calls the size of a value, beside it: its error is a small part of that. */
typedef struct sized {
    double value, size;
} sized;

/* Of a value of order one, whose function is evaluated with an absolute error. */
static double with_floor(double value) { return sqrt(value * value + 0.0625); }

typedef struct hidden_sized {
    sized dgate, dup, h;
} hidden_sized;

static hidden_sized hidden_of(ridge_dtype dtype, double gate, double up, sized dh) {
    const double s = 1 / (1 + exp(-gate)), silu = gate * s, slope = s * (1 + gate * (1 - s));
    const double value = stored(dtype, dh.value);
    return (hidden_sized){.dgate = {stored(dtype, value * up * slope), dh.size * fabs(up) * with_floor(slope)},
                          .dup = {stored(dtype, value * silu), dh.size * with_floor(silu)},
                          .h = {stored(dtype, silu * up), fabs(up) * with_floor(silu)}};
}

/* A row of a gradient as its terms are added, and the sums of squares of their sizes. */
static void add_products(double *sums, double *squares, sized by, const double *row, const double *row_sizes,
                         int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const double size = by.size * row_sizes[i];
        sums[i] += by.value * row[i];
        squares[i] += isfinite(size) ? size * size : 0;
    }
}
static void add(double *sums, double *squares, sized by, const double *row, int64_t n) {
    add_products(sums, squares, by, row, row, n);
}
static double root_of_largest(const double *squares, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = squares[i] > most ? squares[i] : most;
    return sqrt(most);
}
static sized dh_of_sums(double sum, double squares) { return (sized){sum, sqrt(sum * sum + squares / 4)}; }

/* dy_i w2: w2 is read along its rows, of which a column's elements lie far apart. */
static void dh_row(const ridge_oracle_call *call, const double *dy, double *sums, double *squares) {
    const int64_t d = call->whole[BACK_D], f = call->whole[BACK_F];
    for (int64_t j = 0; j < f; j++) sums[j] = squares[j] = 0;
    for (int64_t c = 0; c < d; c++)
        for (int64_t j = 0; j < f; j++) {
            const double term = dy[c] * call->in[BACK_W2][c * f + j];
            sums[j] += term, squares[j] += term * term;
        }
}

/* room: for the squares of d sums, and of f with them. */
static void dx_rows(const ridge_oracle_call *call, double *room) {
    const int64_t d = call->whole[BACK_D], f = call->whole[BACK_F];
    double *squares = room, *dh_sums = squares + d, *dh_squares = dh_sums + f;
    for (int64_t i = 0; i < call->dim[BACK_M]; i++) {
        const double *gates = call->in[BACK_GATES] + i * 2 * f, *w1 = call->in[BACK_W1];
        double *dx = call->out[BACK_DX] + i * d;
        for (int64_t c = 0; c < d; c++) dx[c] = squares[c] = 0;
        dh_row(call, call->in[BACK_DY] + i * d, dh_sums, dh_squares);
        for (int64_t j = 0; j < f; j++) {
            const sized dh = dh_of_sums(dh_sums[j], dh_squares[j]);
            const hidden_sized h = hidden_of(call->dtype, gates[j], gates[f + j], dh);
            add(dx, squares, h.dgate, w1 + j * d, d);
            add(dx, squares, h.dup, w1 + (f + j) * d, d);
        }
        call->size[BACK_DX][i] = root_of_largest(squares, d);
    }
}

/* dy_i . column j of w2. */
static sized dh_of(const double *dy, const double *column, int64_t d) {
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < d; c++) {
        const double term = dy[c] * column[c];
        sum += term, squares += term * term;
    }
    return dh_of_sums(sum, squares);
}

/* room: for the squares of d sums, and for a column of w2, as it is read m times. */
static void dw1_rows(const ridge_oracle_call *call, double *room) {
    const int64_t d = call->whole[BACK_D], f = call->whole[BACK_F], m = call->whole[BACK_M];
    double *squares = room, *column = squares + d;
    for (int64_t r = 0; r < call->dim[BACK_BOTH]; r++) {
        const int64_t j = call->row[r] % f;
        double *dw1 = call->out[BACK_DW1] + r * d;
        for (int64_t c = 0; c < d; c++) dw1[c] = squares[c] = 0, column[c] = call->in[BACK_W2][c * f + j];
        for (int64_t i = 0; i < m; i++) {
            const double *gates = call->in[BACK_GATES] + i * 2 * f;
            const sized dh = dh_of(call->in[BACK_DY] + i * d, column, d);
            const hidden_sized h = hidden_of(call->dtype, gates[j], gates[f + j], dh);
            add(dw1, squares, call->row[r] < f ? h.dgate : h.dup, call->in[BACK_X] + i * d, d);
        }
        call->size[BACK_DW1][r] = root_of_largest(squares, d);
    }
}

/* A row of h is made once for all rows of dw2. room: for the squares of n rows of f sums, and for a row of h with its sizes. */
static void dw2_rows(const ridge_oracle_call *call, double *room) {
    const int64_t d = call->whole[BACK_D], f = call->whole[BACK_F], m = call->whole[BACK_M], n = call->dim[BACK_D];
    double *squares = room, *h = squares + n * f, *sizes = h + f;
    for (int64_t e = 0; e < n * f; e++) call->out[BACK_DW2][e] = squares[e] = 0;
    for (int64_t i = 0; i < m; i++) {
        const double *gates = call->in[BACK_GATES] + i * 2 * f, *dy = call->in[BACK_DY] + i * d;
        for (int64_t j = 0; j < f; j++) {
            const sized one = hidden_of(call->dtype, gates[j], gates[f + j], (sized){0, 0}).h;
            h[j] = one.value, sizes[j] = one.size;
        }
        for (int64_t r = 0; r < n; r++) {
            const sized by = {dy[call->row[r]], dy[call->row[r]]};
            add_products(call->out[BACK_DW2] + r * f, squares + r * f, by, h, sizes, f);
        }
    }
    for (int64_t r = 0; r < n; r++) call->size[BACK_DW2][r] = root_of_largest(squares + r * f, f);
}

static void oracle(const ridge_oracle_call *call) {
    static const struct {
        int output;
        void (*rows)(const ridge_oracle_call *call, double *room);
    } gradients[] = {
        [BACK_M] = {BACK_DX, dx_rows}, [BACK_BOTH] = {BACK_DW1, dw1_rows}, [BACK_D] = {BACK_DW2, dw2_rows}};
    const int64_t d = call->whole[BACK_D], f = call->whole[BACK_F];
    const int64_t squares = call->rows == BACK_D ? call->dim[BACK_D] * f : d;
    double *room = calloc((size_t)(squares + d + 2 * f + 1), sizeof *room);
    if (room) {
        gradients[call->rows].rows(call, room);
    } else {
        double *to = call->out[gradients[call->rows].output];
        const int64_t columns = call->rows == BACK_D ? f : d;
        for (int64_t e = 0; e < call->dim[call->rows] * columns; e++) to[e] = (double)NAN;
    }
    free(room);
}

/* ---- bound: derived in README.md ---- */

static const double u = 0x1p-24;

/* What a sum of k terms loses, in units of the root of their sum of squares. */
static double sum_error(bool narrow, double k) {
    return narrow ? 2 * u * (k / 16 + 1) * (10.0 / 3 + 1) : 3 * u * sqrt(k);
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double m = (double)call->whole[BACK_M], d = (double)call->whole[BACK_D],
                 both = (double)call->whole[BACK_BOTH];
    const bool narrow = ridge_dtype_size(call->dtype) == 2, of_h = output == BACK_DW2;
    const double r = narrow ? ridge_dtype_roundoff(call->dtype) : 0, least = call->dtype == RIDGE_F16 ? 0x1p-25 : 0;
    const double terms = output == BACK_DX ? both : m, dh = of_h ? 0 : sum_error(narrow, d);
    const double slopes = of_h ? 1 : 1 + 1.1 * call->in_max[BACK_GATES];
    const double times = call->in_max[output == BACK_DX ? BACK_W1 : output == BACK_DW1 ? BACK_X : BACK_DY];
    (void)kind;
    b->sized = 5 * (of_h ? r / sqrt(3) : r) + 5 * (dh + 14 * u) + sum_error(narrow, terms);
    b->relative = r + 2 * u + dh + (narrow ? 0 : 7 * sqrt(terms) / 3 * u);
    b->absolute = 5 * least * slopes * sqrt(terms) * times;
}

/* ---- variants ---- */

/* Of so many rows at a time. */
static size_t cpu_scratch(const ridge_case *c, int64_t rows, int threads) {
    const int64_t d = c->dim[BACK_D], f = c->dim[BACK_F], both = c->dim[BACK_BOTH];
    const size_t products[] = {gemm_product_scratch(rows, f, d, threads), gemm_product_scratch(rows, d, both, threads),
                               gemm_product_scratch(both, d, rows, threads), gemm_product_scratch(d, f, rows, threads)};
    const int64_t hidden = (rows * back_line(f) + 15) / 16 * 16, gates = (rows * back_line(both) + 15) / 16 * 16;
    size_t most = 0;
    for (int i = 0; i < BACK_PRODUCTS; i++) most = products[i] > most ? products[i] : most;
    return (size_t)(hidden + gates) * sizeof(float) + most;
}
static size_t cpu_baseline_scratch(const ridge_case *c, int threads) { return cpu_scratch(c, c->dim[BACK_M], threads); }
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    return cpu_scratch(c, back_rows(c->dim), threads);
}
/* dh once, passes of 7 read and 3 written, then both halves twice and h once. */
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double hidden = 4 * elements(c, BACK_M, BACK_F), dy = 4 * elements(c, BACK_M, BACK_D);
    const double w = 12 * elements(c, BACK_D, BACK_F);
    *t = (ridge_traffic){.read = 3 * dy + w + (7 + 5) * hidden, .written = (1 + 3) * hidden + dy + w};
}

static const ridge_way baseline_ways[] = {
    {.name = "passes",
     .idea = "gemm's quickest products; dgate, dup and h by a pass over memory each",
     .plan = back_way_plan,
     .run = RIDGE_CUDA(swiglu_ffn_backward_cuda),
     .number = 3},
};
static const ridge_way optimized_ways[] = {
    {.name = "fused",
     .idea = "gemm's quickest products; dgate, dup and h by one pass",
     .plan = back_way_plan,
     .run = RIDGE_CUDA(swiglu_ffn_backward_cuda),
     .number = 1},
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "four products through memory, and three passes",
     .run = RIDGE_CPU(swiglu_ffn_backward_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass, a chunk of rows after the other, in L3 from dh to the weights' gradients",
     .run = RIDGE_CPU(swiglu_ffn_backward_cpu_optimized),
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "four products, and three passes between them",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "four products, and one pass for all that is elementwise",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_swiglu_ffn_backward = {
    .name = "swiglu_ffn_backward",
    .chapter = "ch09",
    .summary = "gradients of swiglu_ffn from its gate and up values",
    .dims = {"m", "d", "f", "both"},
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
