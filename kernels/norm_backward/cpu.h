/* Gradients of a norm on a CPU (norm_backward.h). Included once by a target's cpu.c, which defines NORM_BACK_NAME and _CENTERED as its
 * target.c does.
 *
 * Sums over rows are lines of fp32 in the order of pairs of vectors (cpu/row.h): one of dgamma, behind it one of dbeta. */
#include <math.h>

#include "cpu/row_reduce.h"
#include "cpu/row_weights.h"
#include "model/token.h"
#include "norm_backward/norm_backward.h"

#define NORM_BACK_FN(what) TOKEN_JOIN(NORM_BACK_NAME, what)
TOKEN_DECLARE_CPU(NORM_BACK_FN(cpu_baseline));
TOKEN_DECLARE_CPU(NORM_BACK_FN(cpu_optimized));
enum { SUMS = NORM_BACK_CENTERED ? 2 : 1 };

/* ---- a row ---- */

typedef struct row {
    const void *x, *dy, *dsum;    /* dsum NULL: none */
    const void *ahead, *ahead_dy; /* x and dy of the row behind it; NULL: nobody asks for them */
    const void *gamma;
    vf_type type, weights;
    float mean, inverse, of_g, of_gn;
} row;

VF_INLINE row row_of(const ridge_call *call, int64_t i, vf_type type) {
    const bool wide = call->option[NORM_BACK_WIDE] > 0, has_sum = call->option[NORM_BACK_HAS_SUM] > 0;
    return (row){.x = row_in(&call->in[NORM_BACK_X], i, type),
                 .dy = row_in(&call->in[NORM_BACK_DY], i, type),
                 .dsum = has_sum ? row_in(&call->in[NORM_BACK_DSUM], i, type) : NULL,
                 .gamma = ridge_data(&call->in[NORM_BACK_GAMMA]),
                 .type = type,
                 .weights = wide ? VF_F32 : type};
}

/* g, and x - mean; both 0 times something where there is no element. */
VF_INLINE vf2 g_at(const row *r, int64_t j, int64_t count) {
    const vf2 dy = row_load(r->dy, j, count, r->type), gamma = row_weights(r->gamma, j, count, r->type, r->weights);
    return (vf2){vf_mul(dy.a, gamma.a), vf_mul(dy.b, gamma.b)};
}
VF_INLINE vf2 centered_at(const row *r, int64_t j, int64_t count) {
    const vf2 x = row_load(r->x, j, count, r->type);
    if (!NORM_BACK_CENTERED) return x;
    const vf mean = vf_set1(r->mean);
    return (vf2){vf_sub(x.a, mean), vf_sub(x.b, mean)};
}

typedef struct reading {
    const row *r;
    int64_t from;
    row_sums of_g, of_gd;
} reading;
VF_INLINE void add_products(void *state, int chain, int64_t j, int64_t count) {
    reading *s = state;
    const vf2 g = g_at(s->r, s->from + j, count), d = centered_at(s->r, s->from + j, count);
    vf2 *sum = &s->of_gd.chain[chain];
    *sum = (vf2){vf_fma(g.a, d.a, sum->a), vf_fma(g.b, d.b, sum->b)};
    if (!NORM_BACK_CENTERED) return;
    sum = &s->of_g.chain[chain];
    *sum = (vf2){vf_add(g.a, sum->a), vf_add(g.b, sum->b)};
}

/* Passes over the row, in cache behind the first: the difference of two large sums would lose the variance. */
VF_INLINE void set_statistics(row *r, int64_t n, float eps, vf_type type) {
    double g = 0, gd = 0;
    r->mean = NORM_BACK_CENTERED ? row_sum(r->x, n, 1.0f, type) / (float)n : 0.0f;
    const float squares = NORM_BACK_CENTERED ? row_sum_centred_squares(r->x, n, 1.0f, r->mean, type)
                                             : row_sum_squares(r->x, n, 1.0f, type);
    r->inverse = 1.0f / sqrtf(squares / (float)n + eps);
    for (int64_t j = 0; j < n; j += ROW_PIECE) {
        reading s = {.r = r, .from = j};
        row_sums_set(&s.of_g, 0.0f), row_sums_set(&s.of_gd, 0.0f);
        row_visit(n - j < ROW_PIECE ? n - j : ROW_PIECE, add_products, &s);
        g += (double)row_sums_total(&s.of_g), gd += (double)row_sums_total(&s.of_gd);
    }
    r->of_g = (float)(g / (double)n), r->of_gn = (float)(gd / (double)n) * r->inverse;
}

/* ---- what is made of it ---- */

VF_INLINE vf dx_of(const row *r, vf g, vf normal) {
    vf v = vf_fnma(normal, vf_set1(r->of_gn), g);
    if (NORM_BACK_CENTERED) v = vf_sub(v, vf_set1(r->of_g));
    return vf_mul(v, vf_set1(r->inverse));
}
VF_INLINE void put_dx(const row *r, void *dx, bool stream, int64_t j, int64_t count, vf2 normal, vf_type type) {
    const vf2 g = g_at(r, j, count);
    vf2 v = {dx_of(r, g.a, normal.a), dx_of(r, g.b, normal.b)};
    if (r->dsum) {
        const vf2 more = row_load(r->dsum, j, count, type);
        v = (vf2){vf_add(v.a, more.a), vf_add(v.b, more.b)};
    }
    if (count == VF2_LANES && stream)
        vf2_stream(row_to(dx, j, type), v, type);
    else if (count == VF2_LANES)
        vf2_store(row_to(dx, j, type), v, type);
    else
        vf2_store_n(row_to(dx, j, type), count, v, type);
}
/* sums: of these elements. */
VF_INLINE void add_to_sums(const row *r, float *sums, int64_t line, int64_t j, int64_t count, vf2 normal,
                           vf_type type) {
    const vf2 dy = row_load(r->dy, j, count, type), old = vf2_load_f32(sums + j);
    vf2_store_f32(sums + j, (vf2){vf_fma(dy.a, normal.a, old.a), vf_fma(dy.b, normal.b, old.b)});
    if (!NORM_BACK_CENTERED) return;
    const vf2 beta = vf2_load_f32(sums + line + j);
    vf2_store_f32(sums + line + j, (vf2){vf_add(dy.a, beta.a), vf_add(dy.b, beta.b)});
}
/* Of `count` elements from j on: dx unless it is NULL, and what the row adds to sums unless these are. */
VF_INLINE void make_pair(const row *r, int64_t j, int64_t count, void *dx, bool stream, float *sums, int64_t line,
                         vf_type type) {
    const vf inverse = vf_set1(r->inverse);
    const vf2 d = centered_at(r, j, count), normal = {vf_mul(d.a, inverse), vf_mul(d.b, inverse)};
    if (dx) put_dx(r, dx, stream, j, count, normal, type);
    if (sums) add_to_sums(r, sums, line, j, count, normal, type);
}
/* Of elements begin to end. Whole pairs of vectors in a loop of their own: the compiler then keeps loads in registers. stream: dx is
 * aligned to lines; its stores then do not wait for memory, with those of sums behind them. */
VF_INLINE void make(const row *r, int64_t begin, int64_t end, void *dx, bool stream, float *sums, int64_t line,
                    vf_type type) {
    int64_t j = begin;
    for (; j + VF2_LANES <= end; j += VF2_LANES) {
        if (r->ahead) row_prefetch(r->ahead, j, type), row_prefetch(r->ahead_dy, j, type);
        make_pair(r, j, VF2_LANES, dx, stream, sums, line, type);
    }
    if (j < end) make_pair(r, j, end - j, dx, false, sums, line, type);
}

/* Element j of a line in the order of pairs. */
VF_INLINE int64_t place_of(int64_t j, vf_type type) {
    const int64_t within = j % VF2_LANES;
    return is_bf16(type) ? j - within + within % 2 * VF_LANES + within / 2 : j;
}

/* ---- a call ---- */

typedef struct job {
    const ridge_call *call;
    int64_t n, line;
    float eps, *scratch;
    int parts; /* that have sums of their own */
} job;

static job job_of(const ridge_call *call) {
    const int64_t n = call->dim[NORM_BACK_COLS];
    return (job){.call = call,
                 .n = n,
                 .line = norm_back_line(n),
                 .eps = (float)call->option[NORM_BACK_EPS],
                 .scratch = call->scratch};
}
static float *sums_of(const job *b, int part) { return b->scratch + part * SUMS * b->line; }

/* dgamma and dbeta, of all parts; columns are shared among the team. */
VF_INLINE void finish(const job *b, int rank, int size, vf_type type) {
    int64_t begin, end;
    ridge_share(b->n, VF2_LANES, rank, size, &begin, &end);
    for (int s = 0; s < SUMS; s++) {
        float *to = ridge_data(&b->call->out[NORM_BACK_DGAMMA + s]);
        for (int64_t j = begin; j < end; j++) {
            float total = 0;
            for (int part = 0; part < b->parts; part++) total += sums_of(b, part)[s * b->line + place_of(j, type)];
            to[j] = total;
        }
    }
}

/* Optimized: one pass. Each thread has sums of its own rows. */
VF_INLINE void fused(job *b, int rank, int size, vf_type type) {
    int64_t begin, end;
    float *sums = sums_of(b, rank);
    ridge_share(b->call->dim[NORM_BACK_ROWS], 1, rank, size, &begin, &end);
    memset(sums, 0, SUMS * (size_t)b->line * sizeof *sums);
    if (rank == 0) b->parts = size;
    const bool streams = row_streams(3.0 * (double)b->call->dim[NORM_BACK_ROWS] * (double)row_bytes(b->n, type));
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(b->call, i, type);
        void *const dx = row_out(&b->call->out[NORM_BACK_DX], i, type);
        if (i + 1 < end) {
            r.ahead = row_in(&b->call->in[NORM_BACK_X], i + 1, type);
            r.ahead_dy = row_in(&b->call->in[NORM_BACK_DY], i + 1, type);
        }
        set_statistics(&r, b->n, b->eps, type);
        if (streams && row_head(dx, type) == 0)
            make(&r, 0, b->n, dx, true, sums, b->line, type);
        else
            make(&r, 0, b->n, dx, false, sums, b->line, type);
    }
    if (streams) vf_fence();
}

/* Baseline: dx and the statistics; then columns, down all rows. */
static float *statistics_at(const job *b, int64_t i) { return b->scratch + SUMS * b->line + 2 * i; }
VF_INLINE void first_pass(job *b, int rank, int size, vf_type type) {
    int64_t begin, end;
    ridge_share(b->call->dim[NORM_BACK_ROWS], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(b->call, i, type);
        set_statistics(&r, b->n, b->eps, type);
        statistics_at(b, i)[0] = r.mean, statistics_at(b, i)[1] = r.inverse;
        make(&r, 0, b->n, row_out(&b->call->out[NORM_BACK_DX], i, type), false, NULL, 0, type);
    }
}
VF_INLINE void second_pass(job *b, int rank, int size, vf_type type) {
    int64_t begin, end;
    float *sums = sums_of(b, 0);
    ridge_share(b->n, 2 * VF2_LANES, rank, size, &begin, &end);
    const int64_t whole = row_whole_pairs(end); /* where the last pair ends */
    if (begin >= end) return;
    for (int s = 0; s < SUMS; s++) memset(sums + s * b->line + begin, 0, (size_t)(whole - begin) * sizeof *sums);
    for (int64_t i = 0; i < b->call->dim[NORM_BACK_ROWS]; i++) {
        row r = row_of(b->call, i, type);
        r.mean = statistics_at(b, i)[0], r.inverse = statistics_at(b, i)[1];
        make(&r, begin, end, NULL, false, sums, b->line, type);
    }
}

/* ---- storage types ---- */

#define PASS(which)                                                                                   \
    static void which##_f32(void *b, int rank, int size) { which(b, rank, size, VF_F32); }            \
    static void which##_bf16(void *b, int rank, int size) { which(b, rank, size, VF_BF16); }          \
    static void which##_native(void *b, int rank, int size) { which(b, rank, size, VF_BF16_NATIVE); } \
    static void run_##which(job *b) {                                                                 \
        const ridge_dtype type = b->call->dtype;                                                      \
        ridge_team_run_sized(b->call->team, row_call_bytes(b->call, 3),                               \
                             type == RIDGE_F32 ? which##_f32                                          \
                             : vf_has_bf16()   ? which##_native                                       \
                                               : which##_bf16,                                          \
                             b);                                                                      \
    }
PASS(fused)
PASS(first_pass)
PASS(second_pass)
PASS(finish)

static bool is_taken(const ridge_call *call) { return call->dtype == RIDGE_F32 || call->dtype == RIDGE_BF16; }
ridge_status RIDGE_ISA_FN(NORM_BACK_FN(cpu_optimized))(const ridge_call *call) {
    job b = job_of(call);
    if (!is_taken(call)) return RIDGE_UNSUPPORTED;
    run_fused(&b);
    run_finish(&b);
    return RIDGE_OK;
}
ridge_status RIDGE_ISA_FN(NORM_BACK_FN(cpu_baseline))(const ridge_call *call) {
    job b = job_of(call);
    if (!is_taken(call)) return RIDGE_UNSUPPORTED;
    b.parts = 1;
    run_first_pass(&b);
    run_second_pass(&b);
    run_finish(&b);
    return RIDGE_OK;
}
