/* Gradient of l2_norm without an activation, from its argument: with r = 1 / max(||x||, eps) and z = x r
 * dx = r (dy - z sum(z dy)), or r dy where ||x|| <= eps     x, dy, dx: [rows, cols]
 * 8 FLOP an element; least traffic: x, dy and dx once. See README.md. */
#include <float.h>
#include <math.h>

#include "l2_norm_backward.h"
#define ROW_GRADIENT_NAME l2_norm_backward
#define ROW_GRADIENT_OF "statistic"
#include "row_gradient/target.h"

/* Lengths on both sides of what each kernel holds. An eps of 4 is above the norm of short rows. The gradient of a row of one
 * column is 0, whatever dy is, unless eps is larger. */
static const ridge_case cases[] = {
    TIMED(8192, 2048, F32, CPU, 1e-12),
    TIMED(8192, 2048, BF16, CPU, 1e-12),
    TIMED(16384, 4096, F32, CUDA, 1e-12),
    TIMED(16384, 4096, BF16, CUDA, 1e-12),
    EDGE(1, 1, F32, 64),
    EDGE(0, 64, F32, 1e-12),
    EDGE(3, 15, F32, 4),
    EDGE(7, 1031, F32, 1e-6),
    EDGE(129, 2113, F32, 1e-12),
    EDGE(1, 1, BF16, 64),
    EDGE(5, 31, BF16, 4),
    EDGE(67, 264, BF16, 1e-12),
    EDGE(301, 600, BF16, 1e-6),
    GPU(133, 4, F32, 0.5),
    GPU(131, 128, F32, 1e-12),
    GPU(70, 508, F32, 1e-12),
    GPU(39, 1024, F32, 18),
    GPU(17, 2044, F32, 1e-12),
    GPU(5, 4096, F32, 1e-12),
    GPU(3, 8192, F32, 1e-12),
    GPU(3, 8196, F32, 1e-12),
    GPU(100, 256, BF16, 1e-12),
    GPU(61, 1024, BF16, 18),
    GPU(33, 2040, BF16, 1e-12),
    GPU(17, 4096, BF16, 1e-12),
    GPU(5, 8184, BF16, 1e-12),
    GPU(3, 16384, BF16, 1e-12),
    GPU(3, 16392, BF16, 1e-12),
    GPU(1, 1, F16, 64),
    GPU(67, 64, F16, 4),
    GPU(7, 1031, F16, 1e-12),
};

/* Plain: an infinity reaches its whole row. */
static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
    {.name = "dy", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
};

static const char *reject(const ridge_case *c) {
    const double eps = c->option[L2_BACK_EPS];
    if (c->dim[ROW_GRADIENT_COLS] < 1) return "cols must be at least 1";
    return eps >= (double)FLT_MIN && eps <= 0x1p20 ? NULL : "eps must be from 2^-126 to 2^20";
}

/* Two products and their sums 4, z 1, its product and the difference 2, r 1; and of the row's statistics nearly nothing. */
static void work(const ridge_case *c, ridge_work *w) { *w = work_of(c, 8); }

/* ---- verification ---- */

typedef struct statistics {
    double norm, inverse, product; /* the sum of z dy; 0 where ||x|| is at most eps */
} statistics;

static double eps_of(const ridge_oracle_call *call) { return (double)(float)call->option[L2_BACK_EPS]; }

static statistics statistics_of(const double *x, const double *dy, int64_t n, double eps) {
    double squares = 0, products = 0;
    for (int64_t j = 0; j < n; j++) squares += x[j] * x[j], products += x[j] * dy[j];
    const double norm = sqrt(squares), inverse = 1 / (norm < eps ? eps : norm);
    return (statistics){norm, inverse, norm <= eps ? 0 : products * inverse};
}

/* Derived in README.md, in units of u = 2^-24. Sizes of rows are so many times less, so that they are of the order of dx. */
static const double SIZED = 16;
static double row_error(const double *x, const double *dy, int64_t n, const statistics *s, double eps) {
    const double w = row_sum_error(n);
    double largest = 0, most = 0, magnitudes = 0;
    for (int64_t j = 0; j < n; j++) {
        largest = fmax(largest, fabs(x[j] * s->inverse)), most = fmax(most, fabs(dy[j]));
        magnitudes += fabs(x[j] * s->inverse * dy[j]);
    }
    /* A norm that rounds to the other side of eps has or lacks the whole second term. */
    const double at_eps = fabs(s->norm - eps) <= 0x1p-24 * (w / 2 + 2) * s->norm ? 0x1p24 : 0;
    const double of_sum = s->norm <= eps ? 0 : 2.5 * w + 10;
    return s->inverse * (most * (w / 2 + 4) + largest * magnitudes * (of_sum + at_eps));
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1];
    const double eps = eps_of(call);
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double *x = call->in[ROW_GRADIENT_A] + i * n, *dy = call->in[ROW_GRADIENT_DY] + i * n;
        const statistics s = statistics_of(x, dy, n, eps);
        call->size[0][i] = row_error(x, dy, n, &s, eps) / SIZED;
        for (int64_t j = 0; j < n; j++) call->out[0][i * n + j] = s.inverse * (dy[j] - x[j] * s.inverse * s.product);
    }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype);
    (void)kind, (void)output;
    *b = (ridge_bound){.relative = 2 * u + narrowing, .sized = u * SIZED * (1 + narrowing)};
}

const ridge_target ridge_target_l2_norm_backward = {
    .name = "l2_norm_backward",
    .chapter = "ch09",
    .summary = "gradient of x / max(||x||, eps) of each row",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "eps", .fallback = 1e-12}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
