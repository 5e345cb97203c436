/* What the descriptors of norm_activation and norm_activation_rms have in common: cases, work, traffic and bound.
 * Included once, by target.c, which defines before
 *
 *   NORM_PARAMETERS   inputs of one row's length beside x
 *   NORM_FLOPS        FLOP of an element
 *   NORM_CENTERED     whether the mean is subtracted: true or false
 *   NORM_SWEEPS       times that a GPU reads x when a row is too long for registers
 *
 * and defines after it norm_row_error. */
#include <math.h>

#include "cuda/rows/cases.h"
#include "model/norm_eps.h"
#include "model/norm_weight.h"
#include "model/row_temporary.h"
#include "ridge/target.h"

#define NORM_TIMED(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .only = RIDGE_ONLY_CPU }
#define NORM_EDGE(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .edge = true }

/* 1000003 columns: larger than L2. 2111 x 2113: large enough for streaming stores; rows share cache lines. */
#define NORM_CASES                                                                                              \
    NORM_TIMED(8192, 2048, F32), NORM_TIMED(8192, 2048, BF16), NORM_EDGE(1, 1, F32), NORM_EDGE(0, 64, F32),     \
        NORM_EDGE(3, 15, F32), NORM_EDGE(7, 1031, F32), NORM_EDGE(3, 1000003, F32), NORM_EDGE(2111, 2113, F32), \
        NORM_EDGE(1, 1, BF16), NORM_EDGE(5, 31, BF16), NORM_EDGE(7, 1031, BF16), NORM_EDGE(3001, 3001, BF16),   \
        ROW_CUDA_CASES

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double parameter_bytes(const ridge_case *c) {
    return NORM_PARAMETERS * (double)c->dim[1] * (double)ridge_dtype_size(c->dtype);
}

static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = NORM_FLOPS * elements(c),
                      .bytes_read = tensor_bytes(c) + parameter_bytes(c),
                      .bytes_written = tensor_bytes(c)};
}

static const char *reject(const ridge_case *c) { return c->dim[1] < 1 ? "cols must be at least 1" : NULL; }

/* ---- traffic and scratch of the variants ---- */

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    double temporary = 4.0 * elements(c), x = tensor_bytes(c);
    *t = (ridge_traffic){.read = x + parameter_bytes(c) + temporary, .written = temporary + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c) + parameter_bytes(c), .streamed = tensor_bytes(c)};
}

static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]);
}

/* GPU: reads x, writes and reads the normalized values, writes y. No write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = tensor_bytes(c) + parameter_bytes(c) + 4.0 * elements(c),
                         .streamed = 4.0 * elements(c) + tensor_bytes(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    double x = (c->dim[1] > ROW_CUDA_HELD ? NORM_SWEEPS : 1.0) * tensor_bytes(c);
    *t = (ridge_traffic){.read = x + parameter_bytes(c), .streamed = tensor_bytes(c)};
}

/* ---- oracle and bound ---- */

typedef struct statistics {
    double mean, inverse, largest; /* mean: 0 unless centered; largest |x - mean| */
} statistics;

static statistics statistics_of(const double *x, int64_t n) {
    statistics s = {0.0, 0.0, 0.0};
    double squares = 0.0;
    for (int64_t j = 0; NORM_CENTERED && j < n; j++) s.mean += x[j];
    s.mean /= (double)n;
    for (int64_t j = 0; j < n; j++) {
        double d = x[j] - s.mean;
        squares += d * d;
        s.largest = fmax(s.largest, fabs(d));
    }
    s.inverse = 1.0 / sqrt(squares / (double)n + (double)NORM_EPS);
    return s;
}

/* Largest error of the activation's result over one row of x, in units of 2^-24; before it is rounded for storage. */
static double norm_row_error(const ridge_oracle_call *call, const double *x);

/* Derived in the README.md of each: the largest error over the given rows. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype);
    double worst = 0.0;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const double error = norm_row_error(call, call->in[0] + i * call->dim[1]);
        if (error > worst) worst = error;
    }
    b->absolute = u * worst * (1.0 + narrowing);
    b->relative = u + narrowing;
}
