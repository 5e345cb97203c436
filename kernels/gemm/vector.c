#include "gemm/vector.h"

#include <math.h>

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static gemm_matrix turned(const gemm_matrix *m) { return (gemm_matrix){m->step, m->line, m->offset}; }

static int64_t groups_of(const gemm_vector *v) {
    return up(v->outputs, (int64_t)GEMM_VECTOR_LINES << v->log_apart) << v->log_apart;
}

/* Few lanes where these load all of K at once. Warps: as long as SMs have room for more, and each lane something to do. */
static void share_out(gemm_vector *v, int width, int64_t sms) {
    const int64_t groups = groups_of(v), room = 32 * sms;
    v->lanes = v->k <= GEMM_VECTOR_LANES * width * gemm_vector_steps(width) ? GEMM_VECTOR_LANES : 32;
    while (v->lanes == 32 && 1 << v->log_warps < GEMM_VECTOR_WARPS && groups << (v->log_warps + 1) <= room &&
           v->k > (int64_t)(32 * width) << v->log_warps)
        v->log_warps++;
    v->blocks = up(groups << v->log_warps, GEMM_VECTOR_WARPS * (32 / v->lanes));
}

static int width_of(const gemm_vector *v, int64_t bytes) {
    return v->loads == GEMM_VECTOR_SINGLES ? 1 : (int)(16 / bytes);
}

gemm_vector gemm_vector_of(const gemm_problem *g) {
    gemm_vector v = {.column = g->n == 1, .outputs = g->n == 1 ? g->m : g->n, .k = g->k};
    const int64_t bytes = (int64_t)ridge_dtype_size(g->dtype), sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const gemm_matrix *x = v.column ? &g->b : &g->a;
    v.w = v.column ? g->a : turned(&g->b);
    v.x_step = g->k > 1 ? (v.column ? x->line : x->step) : 1;
    v.loads = v.x_step != 1                                        ? GEMM_VECTOR_ELEMENTS
              : gemm_in_pieces(&v.w, bytes) && x->offset % 16 == 0 ? GEMM_VECTOR_PACKS
              : bytes == 2                                         ? GEMM_VECTOR_SHIFTED
                                                                   : GEMM_VECTOR_SINGLES;
    const bool alike = v.loads == GEMM_VECTOR_SHIFTED || v.loads == GEMM_VECTOR_ELEMENTS;
    while (alike && v.outputs > 1 && (v.w.line * bytes << v.log_apart) % 16 != 0) v.log_apart++;
    share_out(&v, width_of(&v, bytes), sms);
    return v;
}

/* Of an H200, by how lines and x come: microseconds of a launch and its ends; of a lane's loads that are under way together; of a
 * further wave of blocks, at least; bytes a microsecond. Fitted to 93 drawn shapes; 97 others take as long within 13 % on average. */
static const struct {
    double start, round, wave, bytes;
} RATES[] = {[GEMM_VECTOR_PACKS] = {0.6, 0.8, 1.0, 3.7e6},
             [GEMM_VECTOR_SHIFTED] = {1.0, 0.8, 1.9, 3.6e6},
             [GEMM_VECTOR_SINGLES] = {0.4, 0.9, 0.6, 3.6e6},
             [GEMM_VECTOR_ELEMENTS] = {1.1, 0.9, 1.1, 3.5e6}};

static double us_of(const gemm_vector *v, const gemm_problem *g) {
    const double bytes = gemm_bytes_read(g) + gemm_bytes_written(g), sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const int width = width_of(v, (int64_t)ridge_dtype_size(g->dtype)), steps = gemm_vector_steps(width);
    const double start = RATES[v->loads].start, round = RATES[v->loads].round, wave = RATES[v->loads].wave;
    const double rounds = ceil((double)v->k / ((double)(v->lanes << v->log_warps) * width * steps));
    const double waves = ceil((double)v->blocks / (GEMM_VECTOR_BLOCKS * sms));
    return start +
           fmax(bytes / RATES[v->loads].bytes + round, rounds * round + (waves - 1) * fmax(rounds * round, wave));
}

ridge_plan gemm_vector_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    if (g.m != 1 && g.n != 1) return (ridge_plan){.refusal = "for one row, or one column"};
    if ((g.n == 1 ? g.a.step : g.b.line) != 1 && g.k > 1) return (ridge_plan){.refusal = "for lines along K"};
    if (g.m < 1 || g.m > INT32_MAX / 2 || g.n > INT32_MAX / 2 || g.k > INT32_MAX / 2)
        return (ridge_plan){.refusal = "for extents of 30 bits"};
    const gemm_vector v = gemm_vector_of(&g);
    return (ridge_plan){.us = us_of(&v, &g),
                        .traffic = {.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)}};
}
