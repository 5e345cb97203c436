/* dx = scale y (dy - sum(y dy)), or of log softmax scale (dy - exp(y) sum(dy))     y, dy, dx: [rows, cols]
 * 4 or 5 FLOP an element; least traffic: y, dy and dx once. See README.md. */
#include <math.h>

#include "softmax_backward.h"
#define ROW_GRADIENT_NAME softmax_backward
#define ROW_GRADIENT_OF "sum"
#include "row_gradient/target.h"

/* Lengths on both sides of what each kernel holds. */
static const ridge_case cases[] = {
    TIMED(8192, 2048, F32, CPU, 1, 0),
    TIMED(8192, 2048, BF16, CPU, 1, 0),
    TIMED(16384, 4096, F32, CUDA, 1, 0),
    TIMED(16384, 4096, BF16, CUDA, 1, 0),
    TIMED(16384, 4096, BF16, CUDA, 1, 1),
    EDGE(1, 1, F32, 1, 0),
    EDGE(0, 64, F32, 1, 0),
    EDGE(3, 15, F32, 0.125, 1),
    EDGE(7, 1031, F32, -2, 0),
    EDGE(129, 2113, F32, 1, 1),
    EDGE(1, 1, BF16, 1, 1),
    EDGE(5, 31, BF16, 0.5, 0),
    EDGE(67, 264, BF16, 1, 1),
    EDGE(301, 600, BF16, -1, 0),
    GPU(133, 4, F32, 1, 0),
    GPU(131, 128, F32, 0.5, 1),
    GPU(70, 508, F32, 1, 0),
    GPU(39, 1024, F32, 1, 1),
    GPU(17, 2044, F32, 2, 0),
    GPU(5, 4096, F32, 1, 1),
    GPU(3, 8192, F32, 1, 0),
    GPU(3, 8196, F32, 1, 1),
    GPU(100, 256, BF16, 1, 0),
    GPU(61, 1024, BF16, 0.5, 1),
    GPU(33, 2040, BF16, 1, 0),
    GPU(17, 4096, BF16, 1, 1),
    GPU(5, 8184, BF16, 1, 0),
    GPU(3, 16384, BF16, 1, 1),
    GPU(3, 16392, BF16, 1, 0),
    GPU(1, 1, F16, 1, 0),
    GPU(67, 64, F16, 1, 1),
    GPU(7, 1031, F16, 1, 0),
};

/* Plain: an infinity reaches its whole row. */
static const ridge_tensor_spec in[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
    {.name = "dy", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
};

static const char *reject(const ridge_case *c) {
    const double log = c->option[SOFTMAX_BACK_LOG];
    if (c->dim[ROW_GRADIENT_COLS] < 1) return "cols must be at least 1";
    return log >= 0 && log <= 1 && floor(log) >= log ? NULL : "log must be 0 or 1";
}

/* A product and its sum 2, difference and product 2 and the scale 1; of log softmax the exponential for the first product. */
static void work(const ridge_case *c, ridge_work *w) { *w = work_of(c, 5); }

/* ---- verification ---- */

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1];
    const double scale = (double)(float)call->option[SOFTMAX_BACK_SCALE];
    const bool log = call->option[SOFTMAX_BACK_LOG] > 0;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double *y = call->in[ROW_GRADIENT_A] + i * n, *dy = call->in[ROW_GRADIENT_DY] + i * n;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += log ? dy[j] : y[j] * dy[j];
        for (int64_t j = 0; j < n; j++)
            call->out[0][i * n + j] = scale * (log ? dy[j] - exp(y[j]) * sum : y[j] * (dy[j] - sum));
    }
}

/* Derived in README.md: w in units of u = 2^-24. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0 : ridge_dtype_roundoff(call->dtype);
    const double w = row_sum_error(call->whole[1]), scale = fabs((double)(float)call->option[SOFTMAX_BACK_SCALE]);
    const int64_t n = call->dim[1];
    const bool log = call->option[SOFTMAX_BACK_LOG] > 0;
    double worst = 0;
    (void)kind, (void)output;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double *y = call->in[ROW_GRADIENT_A] + i * n, *dy = call->in[ROW_GRADIENT_DY] + i * n;
        double sum = 0, factor = 0, largest = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += fabs(log ? dy[j] : y[j] * dy[j]);
            factor = fmax(factor, log ? exp(y[j]) : fabs(y[j])), largest = fmax(largest, fabs(dy[j]));
        }
        worst = fmax(worst, factor * sum * (w + (log ? 12 : 4)) + 4 * (log ? 1 : factor) * largest);
    }
    *b = (ridge_bound){.absolute = u * scale * worst * (1 + narrowing), .relative = 2 * u + narrowing};
}

const ridge_target ridge_target_softmax_backward = {
    .name = "softmax_backward",
    .chapter = "ch09",
    .summary = "gradient of softmax and log softmax of each row, from their results",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "scale", .fallback = 1}, {.name = "log"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
