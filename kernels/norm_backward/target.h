/* A target of the gradients of a norm: cases, work, traffic, ways, oracle and bound. Included once, by target.c, which defines before
 *
 *   NORM_BACK_NAME      the target's name, as a token
 *   NORM_BACK_CENTERED  1: of a layer norm
 *   NORM_BACK_SUMMARY   a line
 *
 * targets/rms_norm_backward/README.md derives the bound. */
#include <float.h>
#include <math.h>

#include "model/row_temporary.h"
#include "model/token.h"
#include "norm_backward/norm_backward.h"

#define NORM_BACK_FN(what) TOKEN_JOIN(NORM_BACK_NAME, what)
enum { SUMS = NORM_BACK_CENTERED ? 2 : 1 };

TOKEN_DECLARE_CPU(NORM_BACK_FN(cpu_baseline));
TOKEN_DECLARE_CPU(NORM_BACK_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(NORM_BACK_FN(cuda_any));
#define DECLARE(name, ...) TOKEN_DECLARE_CUDA(NORM_BACK_FN(cuda_##name));
NORM_BACK_TILES(DECLARE)

/* ---- cases ---- */

#define TIMED(rows, cols, type, where) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {1e-5}, .only = RIDGE_ONLY_##where }
#define EDGE(rows, cols, type, eps, wide, sum) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {eps, wide, sum}, .edge = true }
#define GPU(rows, cols, type, eps, wide, sum) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {eps, wide, sum}, .edge = true, .only = RIDGE_ONLY_CUDA }
#define STREAMED(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {1e-5}, .edge = true, .only = RIDGE_ONLY_CPU }
/* Lengths on both sides of what each kernel holds, and more rows than groups of threads. */
static const ridge_case cases[] = {
    TIMED(8192, 2048, F32, CPU),      TIMED(8192, 2048, BF16, CPU),     TIMED(16384, 4096, F32, CUDA),
    TIMED(16384, 4096, BF16, CUDA),   TIMED(8192, 8192, BF16, CUDA),    EDGE(1, 1, F32, 1, 0, 0),
    EDGE(0, 64, F32, 1e-5, 0, 0),     EDGE(3, 15, F32, 4, 0, 1),        EDGE(7, 1031, F32, 1e-6, 0, 0),
    EDGE(1033, 5, F32, 0.25, 0, 1),   EDGE(129, 2113, F32, 1e-5, 0, 0), EDGE(1, 1, BF16, 0.5, 1, 0),
    EDGE(5, 31, BF16, 1e-6, 1, 1),    EDGE(7, 1031, BF16, 1e-5, 0, 0),  EDGE(67, 264, BF16, 4, 1, 1),
    EDGE(301, 600, BF16, 1e-5, 0, 0), GPU(1301, 4, F32, 1e-5, 0, 0),    GPU(131, 128, F32, 1e-5, 0, 1),
    GPU(270, 508, F32, 0.5, 0, 0),    GPU(139, 1024, F32, 1e-6, 0, 0),  GPU(70, 2044, F32, 1e-5, 0, 1),
    GPU(35, 4096, F32, 1e-5, 0, 0),   GPU(34, 4100, F32, 1e-5, 0, 1),   GPU(3, 8196, F32, 1e-5, 0, 0),
    GPU(1100, 256, BF16, 1e-5, 1, 0), GPU(261, 1016, BF16, 0.5, 0, 1),  GPU(133, 2048, BF16, 1e-6, 1, 0),
    GPU(67, 4088, BF16, 1e-5, 0, 1),  GPU(35, 8192, BF16, 1e-5, 1, 0),  GPU(33, 16384, BF16, 1e-5, 0, 1),
    GPU(3, 16392, BF16, 1e-5, 1, 0),  GPU(1, 1, F16, 0.5, 0, 0),        GPU(67, 64, F16, 1e-5, 1, 1),
    GPU(7, 1031, F16, 1e-6, 0, 0),    GPU(40, 4104, F16, 0.5, 0, 0),    STREAMED(701, 2001, F32),
    STREAMED(1403, 2001, BF16), /* large enough for streaming stores, of the rows that begin at a line */
};

/* ---- tensors ---- */

/* All plain: an infinity reaches all rows' sums. */
static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
    {.name = "gamma", .rank = 1, .dim = {1}, .wide_option = NORM_BACK_WIDE + 1, .plain = true},
    {.name = "dy", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true},
    {.name = "dsum", .rank = 2, .dim = {0, 1}, .by_row = true, .plain = true, .given_option = NORM_BACK_HAS_SUM + 1},
};
static const ridge_tensor_spec out[] = {
    {.name = "dx", .rank = 2, .dim = {0, 1}},
    {.name = "dgamma", .rank = 1, .dim = {1}, .dtype = RIDGE_F32},
    {.name = "dbeta", .rank = 1, .dim = {1}, .dtype = RIDGE_F32},
};

static const char *reject(const ridge_case *c) {
    const double eps = c->option[NORM_BACK_EPS];
    if (c->dim[NORM_BACK_COLS] < 1) return "cols must be at least 1";
    return eps >= (double)FLT_MIN && eps <= 0x1p20 ? NULL : "eps must be from 2^-126 to 2^20";
}

/* ---- work, traffic, scratch ---- */

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double matrix_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double gamma_bytes(const ridge_case *c) {
    return (double)c->dim[1] * (double)(c->option[NORM_BACK_WIDE] > 0 ? 4 : ridge_dtype_size(c->dtype));
}
static double sums_bytes(const ridge_case *c) { return 4.0 * SUMS * (double)c->dim[1]; }

/* Squares and their sum 2, g 1, its product with n and the sum 2, n 1, dx 4, dgamma 2; mean, centering, mean of g, dbeta 5. */
static void work(const ridge_case *c, ridge_work *w) {
    const bool has_sum = c->option[NORM_BACK_HAS_SUM] > 0;
    *w = (ridge_work){.flops = elements(c) * (12 + (NORM_BACK_CENTERED ? 5 : 0) + has_sum),
                      .bytes_read = (2 + has_sum) * matrix_bytes(c) + gamma_bytes(c),
                      .bytes_written = matrix_bytes(c) + sums_bytes(c)};
}
/* x and dy once more, for the sums over rows. */
static void passes_traffic(const ridge_case *c, ridge_traffic *t) {
    ridge_work w;
    work(c, &w);
    *t = (ridge_traffic){.read = w.bytes_read + 2 * matrix_bytes(c), .written = w.bytes_written};
}
/* As of operands that exceed caches, and rows of dx that begin at a line: they leave by streaming stores. */
static void cpu_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    ridge_work w;
    work(c, &w);
    *t = (ridge_traffic){.read = w.bytes_read, .streamed = matrix_bytes(c), .written = sums_bytes(c)};
}
/* Statistics of rows, or partial sums of threads. */
static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return 4 * (2 * (size_t)c->dim[0] + SUMS * (size_t)norm_back_line(c->dim[1]));
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    return 4 * (size_t)(threads > 1 ? threads : 1) * SUMS * (size_t)norm_back_line(c->dim[1]);
}

/* ---- ways on a GPU ---- */

/* Bytes a microsecond of a copy on an H200; microseconds of a launch, an estimate. */
static const double DRAM = 4.2e6, LAUNCH = 3;

/* Bytes of a row that all of its threads hold. */
static int64_t room_of(const norm_back_tile *t) { return 16 * (int64_t)t->threads * t->packs * t->blocks; }

static const char *held_refusal(const norm_back_tile *t, const ridge_problem *p) {
    const int64_t size = (int64_t)ridge_dtype_size(p->c.dtype), n = p->c.dim[NORM_BACK_COLS];
    static const int matrices[] = {NORM_BACK_X, NORM_BACK_DY, NORM_BACK_DSUM, 4 + NORM_BACK_DX};
    if (n * size > room_of(t)) return "for shorter rows";
    if (n * size % 16 || p->tensor[NORM_BACK_GAMMA].offset % 16)
        return "for rows and gamma in whole pieces of 16 bytes";
    for (int i = 0; i < 4; i++) {
        const ridge_operand *m = &p->tensor[matrices[i]];
        const bool given = matrices[i] != NORM_BACK_DSUM || p->c.option[NORM_BACK_HAS_SUM] > 0;
        if (given && (m->offset % 16 || m->stride[0] * size % 16)) return "for rows in whole pieces of 16 bytes";
    }
    return NULL;
}
/* Threads that have nothing of a row take turns with those that do: an eighth of the time, of as many again. */
static ridge_plan held_plan(const ridge_way *way, const ridge_problem *p) {
    const norm_back_tile *t = way->own;
    const ridge_case *c = &p->c;
    const double filled = (double)c->dim[1] * (double)ridge_dtype_size(c->dtype) / (double)room_of(t);
    const double parts = (double)norm_back_units(t, c->dim[0], p->here.sm_count) * norm_back_side(t);
    const double sums = 4.0 * parts * SUMS * (double)norm_back_line(c->dim[1]);
    ridge_work w;
    work(c, &w);
    return (ridge_plan){
        .refusal = held_refusal(t, p),
        .us = 2 * LAUNCH + (w.bytes_read + w.bytes_written + 2 * sums) / DRAM * (1 + (1 / filled - 1) / 8),
        .scratch = (size_t)sums,
        .traffic = {.read = w.bytes_read + sums, .streamed = w.bytes_written, .written = sums}};
}
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    const ridge_case *c = &p->c;
    const double sums = 4.0 * (double)norm_back_parts(c->dim[0]) * SUMS * (double)norm_back_line(c->dim[1]);
    ridge_traffic t;
    (void)way;
    passes_traffic(c, &t);
    return (ridge_plan){.us = 3 * LAUNCH + 2 * (t.read + t.written + 2 * sums) / DRAM,
                        .scratch = (size_t)(8 * (double)c->dim[0] + sums),
                        .traffic = t};
}

#define RUN_ANY TOKEN_ON_CUDA(NORM_BACK_FN(cuda_any))
static const ridge_way baseline_ways[] = {
    {.name = "passes",
     .idea = "statistics and dx row by row, then sums down columns",
     .plan = any_plan,
     .run = RUN_ANY},
};
#define HELD(name_, threads_, packs_, blocks_, resident_, idea_) \
    {.name = #name_,                                             \
     .idea = idea_,                                              \
     .needs = (blocks_) > 1 ? 90 : 0,                            \
     .plan = held_plan,                                          \
     .run = TOKEN_ON_CUDA(NORM_BACK_FN(cuda_##name_)),           \
     .own = &(const norm_back_tile){threads_, packs_, blocks_, resident_}},
static const ridge_way optimized_ways[] = {
    {.name = "any", .idea = "any rows: the baseline's two passes", .plan = any_plan, .run = RUN_ANY},
    NORM_BACK_TILES(HELD)};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "statistics and dx row by row, then sums down columns",
     .run = TOKEN_ON_CPU(NORM_BACK_FN(cpu_baseline)),
     .traffic = passes_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: a row in cache for its statistics, dx by streaming stores, and its part of the sums, which "
             "each thread keeps",
     .run = TOKEN_ON_CPU(NORM_BACK_FN(cpu_optimized)),
     .traffic = cpu_optimized_traffic,
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "statistics and dx row by row, then sums down columns",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: rows and sums in registers of threads that stay, the next row under way",
     .ways = RIDGE_LIST(optimized_ways)},
};

/* ---- oracle ---- */

typedef struct statistics {
    double mean, inverse;
    double of_g, of_gn;           /* means over the row of g and of g n */
    double n, g, gn, centered, x; /* largest |n|, |g| and |x - mean|, mean of |g n|, |mean| */
} statistics;

static double normal(const statistics *s, double x) { return (x - s->mean) * s->inverse; }

/* Mean and inverse deviation alone: the sums over rows ask for no more of each row. */
static statistics centered(const double *x, int64_t n, double eps) {
    enum { PARTS = 8 }; /* additions that do not wait for each other */
    double sum[PARTS] = {0}, squares[PARTS] = {0};
    statistics s = {0};
    for (int64_t j = 0; NORM_BACK_CENTERED && j < n; j++) sum[j % PARTS] += x[j];
    for (int p = 0; p < PARTS; p++) s.mean += sum[p] / (double)n;
    for (int64_t j = 0; j < n; j++) squares[j % PARTS] += (x[j] - s.mean) * (x[j] - s.mean);
    for (int p = 1; p < PARTS; p++) squares[0] += squares[p];
    s.inverse = 1 / sqrt(squares[0] / (double)n + eps);
    return s;
}

static double eps_of(const ridge_oracle_call *call) { return (double)(float)call->option[NORM_BACK_EPS]; }
static double larger(double most, double value) { return value > most ? value : most; } /* a NaN is not */

static statistics statistics_of(const ridge_oracle_call *call, int64_t i) {
    const int64_t n = call->whole[1];
    const double *x = call->in[NORM_BACK_X] + i * n, *dy = call->in[NORM_BACK_DY] + i * n,
                 *gamma = call->in[NORM_BACK_GAMMA];
    statistics s = centered(x, n, eps_of(call));
    for (int64_t j = 0; j < n; j++) {
        const double of = normal(&s, x[j]), g = dy[j] * gamma[j];
        s.of_g += g, s.of_gn += g * of, s.gn += fabs(g * of);
        s.n = larger(s.n, fabs(of)), s.g = larger(s.g, fabs(g)), s.centered = larger(s.centered, fabs(x[j] - s.mean));
    }
    s.of_g /= (double)n, s.of_gn /= (double)n, s.gn /= (double)n;
    s.x = fabs(s.mean);
    if (!NORM_BACK_CENTERED) s.of_g = 0;
    return s;
}

/* Below. Sizes of rows are so many times less than its u, so that they are of the order of dx. */
static double dx_error(const ridge_oracle_call *call, const statistics *s);
static const double SIZED = 16;

static void dx_rows(const ridge_oracle_call *call) {
    const int64_t n = call->whole[1];
    const double *gamma = call->in[NORM_BACK_GAMMA];
    for (int64_t i = 0; i < call->dim[0]; i++) {
        const statistics s = statistics_of(call, i);
        call->size[NORM_BACK_DX][i] = dx_error(call, &s) / SIZED;
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = i * n + j;
            const double g = call->in[NORM_BACK_DY][at] * gamma[j], of = normal(&s, call->in[NORM_BACK_X][at]);
            const double more = call->option[NORM_BACK_HAS_SUM] > 0 ? call->in[NORM_BACK_DSUM][at] : 0;
            call->out[NORM_BACK_DX][at] = s.inverse * (g - s.of_g - of * s.of_gn) + more;
        }
    }
}
static void sums_over_rows(const ridge_oracle_call *call) {
    const int64_t n = call->whole[1], columns = call->dim[1];
    double *dgamma = call->out[NORM_BACK_DGAMMA], *dbeta = NORM_BACK_CENTERED ? call->out[NORM_BACK_DBETA] : NULL;
    for (int64_t c = 0; c < columns; c++) {
        if (dgamma) dgamma[c] = 0;
        if (dbeta) dbeta[c] = 0;
    }
    for (int64_t i = 0; i < call->whole[0]; i++) {
        const statistics s = centered(call->in[NORM_BACK_X] + i * n, n, eps_of(call));
        for (int64_t c = 0; c < columns; c++) {
            const int64_t at = i * n + call->row[c];
            const double dy = call->in[NORM_BACK_DY][at];
            if (dgamma) dgamma[c] += dy * normal(&s, call->in[NORM_BACK_X][at]);
            if (dbeta) dbeta[c] += dy;
        }
    }
}
static void oracle(const ridge_oracle_call *call) {
    if (call->rows == NORM_BACK_ROWS)
        dx_rows(call);
    else
        sums_over_rows(call);
}

/* ---- bound: derived in targets/rms_norm_backward/README.md, in units of u = 2^-24 ---- */

/* Of a row's n. */
static double normal_error(const ridge_oracle_call *call, const statistics *s) {
    const double walk = row_sum_error(call->whole[1]);
    const double mean = NORM_BACK_CENTERED ? (s->centered + s->x) * s->inverse * (2 + walk) : 0;
    return s->n * (5 + walk) + mean;
}
static double dx_error(const ridge_oracle_call *call, const statistics *s) {
    const double walk = row_sum_error(call->whole[1]), all = s->g + fabs(s->of_g) + s->n * fabs(s->of_gn);
    const double of_g = NORM_BACK_CENTERED ? s->g * (walk + 2) : 0, of_n = normal_error(call, s);
    const double of_gn = s->n * s->gn * (2 * walk + 8) + (fabs(s->of_gn) + s->n * s->g) * of_n;
    return s->inverse * (all * (8 + walk) + of_g + of_gn);
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double u = 0x1p-24, rows = (double)call->whole[0], dy = call->in_max[NORM_BACK_DY];
    (void)kind;
    if (output == NORM_BACK_DX) {
        const double narrowing = call->dtype != RIDGE_F32 ? ridge_dtype_roundoff(call->dtype) : 0;
        *b = (ridge_bound){.relative = 2 * u + narrowing, .sized = u * SIZED * (1 + narrowing)};
        return;
    }
    double worst = output == NORM_BACK_DBETA ? rows * dy * (1 + sqrt(rows)) : 0;
    for (int64_t i = 0; output == NORM_BACK_DGAMMA && i < call->whole[0]; i++) {
        const statistics s = statistics_of(call, i);
        worst = fmax(worst, rows * dy * (s.n * (2 + sqrt(rows)) + normal_error(call, &s)));
    }
    *b = (ridge_bound){.absolute = u * worst, .relative = 2 * u};
}

const ridge_target TOKEN_JOIN(ridge_target, NORM_BACK_NAME) = {
    .name = TOKEN_STRING(NORM_BACK_NAME),
    .chapter = "ch09",
    .summary = NORM_BACK_SUMMARY,
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = out,
    .n_out = 1 + SUMS,
    .variants = RIDGE_LIST(variants),
    .options = {{.name = "eps", .fallback = 1e-5}, {.name = "wide"}, {.name = "has_sum"}},
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};
