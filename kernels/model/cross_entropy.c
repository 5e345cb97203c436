/* Work, oracle and bound of the cross-entropy family. */
#include "model/cross_entropy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- work ------------------------------------------------------------------------------------------------------- */

void ce_work(const ce_places *at, const ridge_case *c, ridge_work *work) {
    const double batch = (double)c->dim[CE_BATCH], depth = (double)c->dim[CE_DEPTH],
                 classes = (double)c->dim[CE_CLASSES];
    const double size = (double)ridge_dtype_size(c->dtype), x = batch * depth * size, w = classes * depth * size;
    const double b = classes * 4, row = batch * 4;
    const int inputs = (at->lse_in >= 0) + (at->dloss >= 0), outputs = (at->loss >= 0) + (at->lse >= 0);
    const double each =
        at->dx >= 0 ? 8 : 5; /* bias, maximum, subtraction, exp, sum; gradient: factor, subtraction, db */
    work->flops = batch * classes * (2 * depth * at->products + each);
    work->bytes_read = x + w + b + row * (1 + inputs);
    work->bytes_written = row * outputs + (at->dx >= 0 ? x + w + b : 0);
}

const char *ce_reject(const ridge_case *c) {
    if (c->dtype != RIDGE_F32 && c->dtype != RIDGE_TF32 && c->dtype != RIDGE_BF16 && c->dtype != RIDGE_F16)
        return "takes f32, tf32, bf16 and f16 only";
    if (c->dim[CE_DEPTH] < 1 || c->dim[CE_CLASSES] < 1) return "depth and classes must be at least 1";
    if (c->dim[CE_CLASSES] > INT32_MAX) return "labels count to 2^31 - 1";
    if (!(c->option[CE_SMOOTHING] >= 0 && c->option[CE_SMOOTHING] <= 1)) return "label_smoothing must be from 0 to 1";
    return c->option[CE_Z_LOSS] >= 0 ? NULL : "z_loss must not be negative";
}

const char *ce_cpu_unavailable(const ridge_case *c) {
    return ridge_dtype_stored(c->dtype) == RIDGE_F32 ? NULL : "the CPU's kernels are for f32";
}

/* ---- sums of products in fp64 ----------------------------------------------------------------------------------- */

typedef double v4 __attribute__((vector_size(32), aligned(8)));
enum { SIDE = 4 }; /* rows and classes per tile: each loaded value is used in SIDE products */

/* z[r * z_row + c] = x_r . w_c for n rows x SIDE classes. n is constant after inlining. */
__attribute__((always_inline)) static inline void tile_body(const int n, const double *x, const double *w,
                                                            int64_t depth, double *z, int64_t z_row) {
    v4 sum[SIDE][SIDE] = {0};
    double rest[SIDE][SIDE] = {{0}};
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4)
        for (int r = 0; r < n; r++) {
            const v4 xv = *(const v4 *)(const void *)(x + r * depth + d);
            for (int c = 0; c < SIDE; c++) sum[r][c] += xv * *(const v4 *)(const void *)(w + c * depth + d);
        }
    for (; d < depth; d++)
        for (int r = 0; r < n; r++)
            for (int c = 0; c < SIDE; c++) rest[r][c] += x[r * depth + d] * w[c * depth + d];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < SIDE; c++)
            z[r * z_row + c] = rest[r][c] + ((sum[r][c][0] + sum[r][c][1]) + (sum[r][c][2] + sum[r][c][3]));
}

/* One row or SIDE rows. */
__attribute__((always_inline)) static inline void rows_body(bool one, const double *x, const double *w, int64_t depth,
                                                            double *z, int64_t z_row) {
    if (one)
        tile_body(1, x, w, depth, z, z_row);
    else
        tile_body(SIDE, x, w, depth, z, z_row);
}

/* y += a x */
__attribute__((always_inline)) static inline void add_body(double a, const double *x, int64_t n, double *restrict y) {
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

static void rows_plain(bool one, const double *x, const double *w, int64_t depth, double *z, int64_t z_row) {
    rows_body(one, x, w, depth, z, z_row);
}
static void add_plain(double a, const double *x, int64_t n, double *y) { add_body(a, x, n, y); }

#if defined(__x86_64__)
/* The same code compiled for wider vectors. */
__attribute__((target("avx2"))) static void rows_avx2(bool one, const double *x, const double *w, int64_t depth,
                                                      double *z, int64_t z_row) {
    rows_body(one, x, w, depth, z, z_row);
}
__attribute__((target("avx2"))) static void add_avx2(double a, const double *x, int64_t n, double *y) {
    add_body(a, x, n, y);
}
static bool have_avx2(void) { return __builtin_cpu_supports("avx2") != 0; }
#else
#define rows_avx2 rows_plain
#define add_avx2 add_plain
static bool have_avx2(void) { return false; }
#endif

static double dot(const double *x, const double *w, int64_t depth) {
    double sum = 0;
    for (int64_t d = 0; d < depth; d++) sum += x[d] * w[d];
    return sum;
}

/* z [rows][classes] = x w^T + b */
static void make_logits(const double *x, int64_t rows, const double *w, const double *b, int64_t classes, int64_t depth,
                        double *z) {
    void (*tile)(bool, const double *, const double *, int64_t, double *, int64_t) =
        have_avx2() ? rows_avx2 : rows_plain;
    int64_t whole = classes / SIDE * SIDE;
    for (int64_t c = 0; c < whole; c += SIDE)
        for (int64_t r = 0; r < rows;) {
            const bool one = r + SIDE > rows;
            tile(one, x + r * depth, w + c * depth, depth, z + r * classes + c, classes);
            r += one ? 1 : SIDE;
        }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = whole; c < classes; c++) z[r * classes + c] = dot(x + r * depth, w + c * depth, depth);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < classes; c++)
            z[r * classes + c] += b[c]; /* NOLINT(clang-analyzer-core.uninitialized.Assign): tile made it */
}

static void add(double a, const double *x, int64_t n, double *y) { (have_avx2() ? add_avx2 : add_plain)(a, x, n, y); }

/* ---- the oracle ------------------------------------------------------------------------------------------------- */

static bool counts(const ridge_oracle_call *call, int64_t row, int64_t classes) {
    const double label = call->in[CE_LABELS][row], ignore = call->option[CE_IGNORE];
    return label >= 0 && label < (double)classes && !(label >= ignore && label <= ignore);
}

static double log_sum(const double *z, int64_t n) {
    double max = z[0], sum = 0;
    for (int64_t j = 1; j < n; j++) max = fmax(max, z[j]);
    for (int64_t j = 0; j < n; j++) sum += exp(z[j] - max);
    return max + log(sum); /* of an infinite maximum: NaN */
}

static double loss_of(const ridge_oracle_call *call, int64_t row, const double *z, int64_t classes, double lse) {
    const double s = call->option[CE_SMOOTHING], zl = call->option[CE_Z_LOSS];
    double sum = 0, loss;
    if (!counts(call, row, classes)) return 0;
    loss = (1 - s) * (lse - z[(int64_t)call->in[CE_LABELS][row]]);
    for (int64_t j = 0; j < classes && s > 0; j++) sum += z[j];
    if (s > 0) loss += s * (lse - sum / (double)classes);
    return zl > 0 ? loss + zl * lse * lse : loss;
}

/* G of one element and the size of its terms, to which its rounding errors are proportional. */
typedef struct slope {
    double g, terms;
} slope;

static slope slope_of(const ridge_oracle_call *call, const ce_places *at, int64_t row, int64_t class, int64_t classes,
                      double z, double lse) {
    const double s = call->option[CE_SMOOTHING], up = call->in[at->dloss][row];
    if (!counts(call, row, classes)) return (slope){0, 0};
    const double p = (1 + 2 * call->option[CE_Z_LOSS] * lse) * exp(z - lse), every = s / (double)classes;
    const double label = (int64_t)call->in[CE_LABELS][row] == class ? 1 - s : 0;
    return (slope){up * (p - label - every), fabs(up) * (fabs(p) + label + every)};
}

/* Squares that are not finite (special values) are omitted from sizes. */
static double root(double squares) { return isfinite(squares) ? sqrt(squares) : 0; }

static void dx_row(const ce_places *at, const ridge_oracle_call *call, int64_t row, const double *z, int64_t classes,
                   double lse) {
    const int64_t depth = call->dim[CE_DEPTH];
    double squares = 0, *dx = call->out[at->dx] + row * depth;
    memset(dx, 0, sizeof *dx * (size_t)depth);
    for (int64_t j = 0; j < classes; j++) {
        const slope g = slope_of(call, at, row, j, classes, z[j], lse);
        add(g.g, call->in[CE_W] + j * depth, depth, dx);
        squares += g.terms * g.terms;
    }
    call->size[at->dx][row] = root(squares) * call->in_max[CE_W];
}

/* Rows of the batch, SIDE at a time, with the logits of whole rows. */
static void oracle_rows(const ce_places *at, const ridge_oracle_call *call) {
    const int64_t rows = call->dim[CE_BATCH], classes = call->dim[CE_CLASSES], depth = call->dim[CE_DEPTH];
    double *z = malloc(sizeof *z * (size_t)(SIDE * classes));
    for (int64_t r0 = 0; r0 < rows; r0 += SIDE) {
        const int64_t n = rows - r0 < SIDE ? rows - r0 : SIDE;
        if (z) make_logits(call->in[CE_X] + r0 * depth, n, call->in[CE_W], call->in[CE_B], classes, depth, z);
        for (int64_t r = r0; r < r0 + n; r++) {
            const double *logits = z ? z + (r - r0) * classes : NULL;
            const double lse = !z ? (double)NAN : at->lse_in >= 0 ? call->in[at->lse_in][r] : log_sum(logits, classes);
            if (at->lse >= 0) call->out[at->lse][r] = lse;
            if (at->loss >= 0) call->out[at->loss][r] = z ? loss_of(call, r, logits, classes, lse) : (double)NAN;
            if (at->dx >= 0 && z) dx_row(at, call, r, logits, classes, lse);
            for (int64_t d = 0; d < depth && at->dx >= 0 && !z; d++) call->out[at->dx][r * depth + d] = (double)NAN;
        }
    }
    free(z);
}

/* Rows of the classes: a row of x stays in cache for all of them. */
static void oracle_classes(const ce_places *at, const ridge_oracle_call *call) {
    const int64_t n = call->dim[CE_CLASSES], depth = call->dim[CE_DEPTH], batch = call->dim[CE_BATCH];
    const int64_t classes = call->whole[CE_CLASSES];
    double *dw = call->out[at->dw], *db = call->out[at->db], *w_size = call->size[at->dw], *b_size = call->size[at->db];
    const double *lse = at->lse_in >= 0 ? call->in[at->lse_in] : call->given[at->lse];
    memset(dw, 0, sizeof *dw * (size_t)(n * depth));
    memset(db, 0, sizeof *db * (size_t)n);
    for (int64_t i0 = 0; i0 < batch; i0 += SIDE)
        for (int64_t c0 = 0; c0 < n; c0 += SIDE) {
            const int64_t rows = batch - i0 < SIDE ? batch - i0 : SIDE, some = n - c0 < SIDE ? n - c0 : SIDE;
            double z[SIDE * SIDE];
            make_logits(call->in[CE_X] + i0 * depth, rows, call->in[CE_W] + c0 * depth, call->in[CE_B] + c0, some,
                        depth, z);
            for (int64_t i = i0; i < i0 + rows; i++)
                for (int64_t c = c0; c < c0 + some; c++) {
                    const slope g = slope_of(call, at, i, call->row[c], classes, z[(i - i0) * some + c - c0], lse[i]);
                    add(g.g, call->in[CE_X] + i * depth, depth, dw + c * depth);
                    db[c] += g.g;
                    b_size[c] += g.terms * g.terms;
                }
        }
    for (int64_t c = 0; c < n; c++) {
        b_size[c] = root(b_size[c]);
        w_size[c] = b_size[c] * call->in_max[CE_X];
    }
}

void ce_oracle(const ce_places *at, const ridge_oracle_call *call) {
    if (call->rows == CE_BATCH)
        oracle_rows(at, call);
    else
        oracle_classes(at, call);
}

/* ---- the bound -------------------------------------------------------------------------------------------------- */

/* Errors of a type's arithmetic; README.md of linear_cross_entropy derives the bound from them. */
typedef struct arithmetic {
    double factor; /* rounding or truncation of each factor of a product; 0: products are exact or rounded to fp32 */
    double stored; /* rounding of G before its products, and of stored results */
    double least;  /* absolute error of rounding G where it is subnormal, or of flushing it */
    int step;      /* products that a tensor core adds with truncation in one step; 0: no tensor core */
} arithmetic;

static arithmetic arithmetic_of(ridge_dtype dtype) {
    switch (dtype) {
        case RIDGE_TF32: return (arithmetic){0x1p-10, 0x1p-24, 0x1p-126, 8};
        case RIDGE_BF16: return (arithmetic){0, 0x1p-8, 0x1p-126, 16};
        case RIDGE_F16: return (arithmetic){0, 0x1p-11, 0x1p-25, 16};
        default: return (arithmetic){0, 0x1p-24, 0x1p-126, 0};
    }
}

static const double u = 0x1p-24;

/* A sum of n terms in fp32, in units of the root of the sum of their squares. */
static double sum_error(const arithmetic *a, double n) {
    return u * (3 + 2 * sqrt(n)) + (a->step ? 2 * u * n / a->step : 0);
}

typedef struct logit_errors {
    double z;      /* of a logit */
    double spread; /* rounding of an exponential's argument */
    double lse;    /* of a logarithmic sum */
    double most;   /* |z|, six standard deviations */
    double log;    /* |lse| */
} logit_errors;

static logit_errors logit_errors_of(const ridge_oracle_call *call, const arithmetic *a, ridge_fill_kind kind) {
    const double depth = (double)call->whole[CE_DEPTH], classes = (double)call->whole[CE_CLASSES];
    const double product = call->in_max[CE_X] * call->in_max[CE_W], bias = call->in_max[CE_B];
    const double deviation = product * sqrt(depth) / 3;
    const bool exact = kind == RIDGE_EXACT && depth <= 0x1p20;
    logit_errors e = {.most = fmin(6 * deviation, product * depth) + bias};
    if (!exact) {
        const double wander = 1 / 7.3, drift = (5.0 / 3) / 3;
        e.z = u * (4 * product * depth * sqrt(wander * wander + drift * drift) + e.most);
        if (a->step) e.z += 2 * u * (depth / a->step + 1) * (5 * deviation * 2 / 3 + product);
        e.z += 4 * a->factor * deviation;
    }
    e.log = e.most + log(classes);
    e.spread = u * (2 * e.most + log(classes) + 1);
    e.lse = e.z + e.spread + u * (12 + 2 * sqrt(classes) + 2 * e.log);
    return e;
}

static void bound_of_loss(const ridge_oracle_call *call, const logit_errors *e, ridge_bound *b) {
    const double zl = call->option[CE_Z_LOSS];
    b->absolute = e->lse * (1 + 2 * zl * e->log) + e->z + u * (4 * e->most + 4 * e->log + 2 * zl * e->log * e->log);
    b->relative = 4 * u;
}

void ce_bound(const ce_places *at, const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    arithmetic a = arithmetic_of(call->dtype);
    const logit_errors e = logit_errors_of(call, &a, kind);
    *b = (ridge_bound){.absolute = e.lse, .relative = 2 * u};
    if (output == at->lse) return;
    if (output == at->loss) {
        bound_of_loss(call, &e, b);
        return;
    }
    /* Of p: its argument, and roundings of exp, of factors and of G. With lse an input, how far p is from its
     * argument's scale is in the sizes already. */
    const double given = at->lse_in >= 0 ? u * call->in_max[at->lse_in] : e.lse;
    const double p = e.z + e.spread + given * (1 + 2 * call->option[CE_Z_LOSS]) + 10 * u;
    const double terms = (double)(output == at->dx ? call->whole[CE_CLASSES] : call->whole[CE_BATCH]);
    const double other = output == at->dx ? call->in_max[CE_W] : output == at->dw ? call->in_max[CE_X] : 1;
    /* Forward and backward in one may keep exponentials in fp16: below 2^-39 of a row's largest they are lost.
     * Gradients of f16 have the scale of the largest row's, |dloss| (1 + 2 zl |lse| + 1) at most, and 40 bits below. */
    if (at->lse_in < 0 && call->dtype == RIDGE_BF16) a.least = fmax(a.least, 0x1p-39 * call->in_max[at->dloss]);
    if (call->dtype == RIDGE_F16)
        a.least = fmax(a.least, 0x1p-38 * (1 + call->option[CE_Z_LOSS] * e.log) * call->in_max[at->dloss]);
    /* The last term: partial sums that drift towards the result, as targets/micro_tiling_matmul/README.md derives. */
    b->relative = (output == at->db ? u : a.stored + a.factor) + p + 7 * u * sqrt(terms) / 3;
    /* Six root mean squares of roundings, 0.4 of the largest each, of many terms, whose other factor is uniform, or one of -1, 0
     * and 1, or is none. A row of dx in an exact fill has few large terms, whose roundings may all be near the largest: three of
     * them err by the root of 3 of their size. */
    const double exact = output == at->dw ? 2 : 1.7320508;
    const double spread = output == at->db ? 2.4 : kind == RIDGE_EXACT ? exact : 1.5;
    /* Exponentials kept in fp16 are rounded before they become gradients of f16. */
    const double twice = at->lse_in < 0 && call->dtype == RIDGE_F16 ? 1.41421356 : 1;
    b->sized = spread * (p + twice * a.stored + a.factor) + sum_error(&a, terms);
    b->absolute = a.least * 3 * sqrt(terms) * other;
}
