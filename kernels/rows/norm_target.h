/* A target of the norms of rows (model/row_norm.h): work, traffic, variants, oracle and bound. Included once, by target.c,
 * which has its `cases` and defines before
 *
 *   ROW_NORM_NAME      the target's name, as a token
 *   ROW_NORM_KIND      ROW_NORM_L2, ROW_NORM_LAYER or ROW_NORM_RMS
 *   ROW_NORM_RESIDUAL  1 or 0
 *   ROW_NORM_WEIGHTS   how many of gamma and beta it has
 *   ROW_NORM_SUMMARY   a line
 *   ROW_NORM_INPUTS    its tensors
 *   ROW_NORM_FIXED     eps and activation of a target without options; or ROW_NORM_OPTIONS
 *   ROW_NORM_SQUARES   where its baseline writes squares, not normalized values
 *   ROW_NORM_PEERS     variants of libraries, if any
 *
 * targets/layer_norm/README.md derives the bound. */
#include <float.h>
#include <math.h>

#include "cuda/rows/ways.h"
#include "model/norm_weight.h"
#include "model/row_norm.h"
#include "model/row_temporary.h"
#include "model/token.h"
#include "ridge/target.h"

#define ROW_NORM_FN(what) TOKEN_JOIN(ROW_NORM_NAME, what)
#define ROW_NORM_WAY(which) ROW_WAYS_##which(ROW_NORM_FN(cuda_optimized), &traits)
#if ROW_NORM_WEIGHTS == 0
#define ROW_NORM_TRAITS ROW_NORM_L2_TRAITS
#define ROW_NORM_OF_KIND ROW_NORM_WAY(FILLED)
#elif ROW_NORM_WEIGHTS == 1
#define ROW_NORM_TRAITS ROW_NORM_RMS_TRAITS
#define ROW_NORM_OF_KIND ROW_NORM_WAY(PERSISTENT), ROW_NORM_WAY(FETCH)
#else
#define ROW_NORM_TRAITS ROW_NORM_LAYER_TRAITS
#define ROW_NORM_OF_KIND ROW_NORM_WAY(FILLED), ROW_NORM_WAY(PERSISTENT)
#endif
#if ROW_NORM_RESIDUAL
#define ROW_NORM_WAYS \
    ROW_NORM_WAY(STAGED), ROW_NORM_WAY(SHORT), ROW_NORM_WAY(SPREAD), ROW_NORM_WAY(BLOCK), ROW_NORM_WAY(LONG)
#else
#define ROW_NORM_WAYS                                                                                       \
    ROW_NORM_WAY(STAGED), ROW_NORM_WAY(SHORT), ROW_NORM_OF_KIND, ROW_NORM_WAY(SPREAD), ROW_NORM_WAY(BLOCK), \
        ROW_NORM_WAY(LONG)
#endif
static const row_norm_form form = {ROW_NORM_KIND, ROW_NORM_RESIDUAL, ROW_NORM_FIXED};
enum { WEIGHTS = ROW_NORM_WEIGHTS, FIRST_WEIGHT = 1 + ROW_NORM_RESIDUAL };
#ifdef ROW_NORM_SQUARES
enum { SQUARES = 1 };
#else
enum { SQUARES = 0 };
#endif

TOKEN_DECLARE_CPU(ROW_NORM_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_NORM_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(ROW_NORM_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(ROW_NORM_FN(cuda_optimized));

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

#define ROW_NORM_MATRIX(name_) \
    { .name = name_, .rank = 2, .dim = {0, 1}, .by_row = true }
#define ROW_NORM_WEIGHT(name_) \
    { .name = name_, .rank = 1, .dim = {1}, .wide_option = ROW_NORM_WIDE + 1 }
static const ridge_tensor_spec in[] = {ROW_NORM_INPUTS};
/* An element of every operand is read before either output has it. */
enum { IN_PLACE = RIDGE_IN_PLACE_OF(0) | ROW_NORM_RESIDUAL * RIDGE_IN_PLACE_OF(1) };
static const ridge_tensor_spec out[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}, .in_place = IN_PLACE},
    {.name = "sum", .rank = 2, .dim = {0, 1}, .in_place = IN_PLACE},
};

static const char *reject(const ridge_case *c) {
    const double eps = c->option[ROW_NORM_EPS], act = c->option[ROW_NORM_ACTIVATION];
    if (c->dim[1] < 1) return "cols must be at least 1";
    if (form.eps > 0) return NULL;
    if (!(eps >= (double)FLT_MIN && eps <= 0x1p20)) return "eps must be from 2^-126 to 2^20";
    if (!(act >= 0 && act < ACTIVATIONS && floor(act) >= act))
        return "activation must be 0 (none), 1 (gelu), 2 (gelu's tanh form), 3 (silu) or 4 (relu)";
    return NULL;
}

/* ---- work, traffic, scratch -------------------------------------------------------------------------------------- */

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double tensor_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double weight_bytes(const ridge_case *c) {
    return WEIGHTS * (double)c->dim[1] * (double)(row_norm_wide(form, c->option) ? 4 : ridge_dtype_size(c->dtype));
}
/* Reads and writes of matrices. */
enum { MATRICES = 1 + ROW_NORM_RESIDUAL };

/* Squares and their sum 2, scaling 1; mean 2; a weight 1 each; the residual 1; the activation 0, 3, 8, 4 or 1. */
static void work(const ridge_case *c, ridge_work *w) {
    static const double activation[ACTIVATIONS] = {0, 3, 8, 4, 1};
    const double flops = 3 + (form.kind == ROW_NORM_LAYER ? 2 : 0) + WEIGHTS + (form.residual ? 1 : 0) +
                         activation[row_norm_activation(form, c->option)];
    *w = (ridge_work){.flops = flops * elements(c),
                      .bytes_read = MATRICES * tensor_bytes(c) + weight_bytes(c),
                      .bytes_written = MATRICES * tensor_bytes(c)};
}

/* The sum is written and read; so are the normalized values, in fp32, or squares, after which x is read again. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double h = 4 * elements(c), x = tensor_bytes(c), sum = form.residual ? x : 0;
    *t = (ridge_traffic){.read = (MATRICES + SQUARES) * x + sum + weight_bytes(c) + h, .written = sum + h + x};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = MATRICES * tensor_bytes(c) + weight_bytes(c), .streamed = MATRICES * tensor_bytes(c)};
}
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0;
}
/* A row too long for registers is read again for each reduction, after its sum has been stored. */
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    const double sweeps = form.kind == ROW_NORM_LAYER ? 3 : 2;
    optimized_traffic(c, t);
    if (c->dim[1] > ROW_CUDA_HELD) t->read += (sweeps - (form.residual ? 0 : 1)) * tensor_bytes(c);
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return row_temporary_bytes(c->dim[0], c->dim[1]) + SQUARES * 3 * (size_t)c->dim[0] * sizeof(float);
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

/* Of kernels that know their norm, and of those that ask for everything. */
static const row_traits fixed_traits = ROW_NORM_TRAITS, asking_traits = {.parameters = WEIGHTS,
                                                                         .of_4 = ROW_NORM_CUT(4),
                                                                         .of_2 = ROW_NORM_CUT(2),
                                                                         .more_in = ROW_NORM_RESIDUAL,
                                                                         .more_out = ROW_NORM_RESIDUAL};
static const row_traits *traits_of(const ridge_case *c) {
    return row_norm_is_fixed(form, c->option) ? &fixed_traits : &asking_traits;
}
static const row_traits traits = {.of_case = traits_of};
static const ridge_way ways[] = {ROW_NORM_WAYS};
static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = SQUARES ? "square, reduce, scale: three passes over memory"
                     : "the sum, the normalized values and the activation each go through memory",
     .run = TOKEN_ON_CPU(ROW_NORM_FN(cpu_baseline)),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass over memory: row in cache for its statistics, activation in registers",
     .run = TOKEN_ON_CPU(ROW_NORM_FN(cpu_optimized)),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel for each step, all of them through memory",
     .run = TOKEN_ON_CUDA(ROW_NORM_FN(cuda_baseline)),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "row in registers from its operands to the activation, of part of a warp to a cluster of 16 blocks",
     .ways = RIDGE_LIST(ways),
     .traffic = cuda_optimized_traffic},
#ifdef ROW_NORM_PEERS
    ROW_NORM_PEERS,
#endif
};

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/* Element j of row i as the norm sees it: the sum in fp32, rounded to storage. */
static double element(const ridge_oracle_call *call, int64_t i, int64_t j) {
    const int64_t at = i * call->dim[1] + j;
    double x = call->in[0][at];
    if (!form.residual) return x;
    return ridge_rounded(call->dtype, (double)((float)x + (float)call->in[1][at]));
}

typedef struct statistics {
    double mean, inverse, largest; /* mean: 0 but in a layer norm; largest |x - mean| */
} statistics;

static statistics statistics_of(const ridge_oracle_call *call, int64_t i) {
    const int64_t n = call->dim[1];
    const double eps = (double)row_norm_eps(form, call->option);
    statistics s = {0.0, 0.0, 0.0};
    double squares = 0.0;
    for (int64_t j = 0; form.kind == ROW_NORM_LAYER && j < n; j++) s.mean += element(call, i, j);
    s.mean /= (double)n;
    for (int64_t j = 0; j < n; j++) {
        const double d = element(call, i, j) - s.mean;
        squares += d * d;
        s.largest = fmax(s.largest, fabs(d));
    }
    if (form.kind == ROW_NORM_L2) {
        const double norm = sqrt(squares);
        s.inverse = 1.0 / (norm < eps ? eps : norm); /* NaN stays */
    } else {
        s.inverse = 1.0 / sqrt(squares / (double)n + eps);
    }
    return s;
}

/* The activations as PyTorch has them: ReLU keeps NaN; the others make NaN of -inf, which is -inf times 0. */
static double activated(int activation, double h) {
    if (ridge_is_undecided(h)) return h;
    switch (activation) {
        case ACTIVATION_GELU: return 0.5 * h * (1.0 + erf(h * sqrt(0.5)));
        case ACTIVATION_GELU_TANH: return h / (1.0 + exp(-1.5957691216057308 * (h + 0.044715 * h * h * h)));
        case ACTIVATION_SILU: return h / (1.0 + exp(-h));
        case ACTIVATION_RELU: return h < 0 ? 0 : h; /* NaN stays */
        default: return h;
    }
}

#define SHORT_STATISTICS 256.0 /* tensor cores' sums of 16-bit elements, in units of u = 2^-24 */
#define SHORT_ROOT 16.0        /* the same of squares in persistent clusters, relative to the result */

/* Largest error of a row's (x - mean) / deviation in units of u. The other norms' x / root errs in proportion to
 * itself. */
static double centering_error(const ridge_oracle_call *call, const statistics *s) {
    if (form.kind != ROW_NORM_LAYER) return 0;
    const double walk = row_sum_error(call->dim[1]), scaled = s->largest * s->inverse;
    const double mean = (s->largest + fabs(s->mean)) * s->inverse * (2.0 + 0.25 * walk);
    const double shift = 0.25 * (scaled + 0.25) * (1.0 + 0.25 * walk); /* of the shifted sum, squared */
    const double narrow = call->dtype != RIDGE_F32 ? SHORT_STATISTICS * (scaled + 1) : 0;
    return scaled * (5.0 + walk + shift) + mean + narrow;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t n = call->dim[1];
    const int activation = row_norm_activation(form, call->option);
    double *const y = call->out[0], *const sum = form.residual ? call->out[1] : NULL;
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const statistics s = statistics_of(call, i);
        const double error = 0x1p-24 * centering_error(call, &s);
        for (int64_t j = 0; j < n; j++) {
            const double x = element(call, i, j), scaled = (x - s.mean) * s.inverse;
            const double gamma = WEIGHTS > 0 ? call->in[FIRST_WEIGHT][j] : 1;
            const double beta = WEIGHTS > 1 ? call->in[FIRST_WEIGHT + 1][j] : 0;
            if (y) y[i * n + j] = activated(activation, norm_weighted(scaled, error, gamma, beta));
            if (sum) sum[i * n + j] = x;
        }
    }
}

/* ---- bound: targets/layer_norm/README.md ------------------------------------------------------------------------- */

/* Of an activation: its greatest slope; its own error in units of u |h|, for f32 and for 16 bits. */
static const struct {
    double slope, own, own_short;
} activation_error[ACTIVATIONS] = {{1, 0, 0}, {1.13, 5, 338}, {1.13, 10, 10}, {1.1, 3, 3}, {1, 0, 0}};

/* Largest error of a row of y in units of u = 2^-24, before it is rounded for storage. */
static double row_error(const ridge_oracle_call *call, int64_t i) {
    const statistics s = statistics_of(call, i);
    const double gamma = WEIGHTS > 0 ? call->in_max[FIRST_WEIGHT] : 1;
    const double beta = WEIGHTS > 1 ? call->in_max[FIRST_WEIGHT + 1] : 0;
    const double spread = s.largest * s.inverse * gamma, h = spread + beta;
    const int a = row_norm_activation(form, call->option);
    const bool narrow = call->dtype != RIDGE_F32;
    const double error =
        form.kind == ROW_NORM_LAYER
            ? centering_error(call, &s) * gamma + h
            : spread *
                  (4.0 + row_sum_error(call->dim[1]) +
                   (narrow && row_norm_is_fixed(form, call->option) ? SHORT_ROOT : 0)); /* root of the sum, products */
    return activation_error[a].slope * error + (narrow ? activation_error[a].own_short : activation_error[a].own) * h;
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind;
    if (output == 1) return; /* the sum: rounded as the oracle rounds it */
    const double u = 0x1p-24, narrowing = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype);
    if (form.kind == ROW_NORM_L2 && row_norm_activation(form, call->option) == ACTIVATION_NONE) {
        b->relative = narrowing + u * (3.0 + row_sum_error(call->dim[1])); /* root, reciprocal, product */
        return;
    }
    double worst = 0.0;
    for (int64_t i = 0; i < call->dim[0]; i++) worst = fmax(worst, row_error(call, i));
    b->absolute = u * worst * (1.0 + narrowing);
    b->relative = u + narrowing;
}

const ridge_target TOKEN_JOIN(ridge_target, ROW_NORM_NAME) = {
    .name = TOKEN_STRING(ROW_NORM_NAME),
    .chapter = "ch09",
    .summary = ROW_NORM_SUMMARY,
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = out,
    .n_out = MATRICES,
    .variants = RIDGE_LIST(variants),
#ifdef ROW_NORM_OPTIONS
    .options = {ROW_NORM_OPTIONS},
#endif
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
