#include "gemm/vector.h"

#include <math.h>

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static gemm_matrix turned(const gemm_matrix *m) { return (gemm_matrix){m->step, m->line, m->offset}; }

gemm_vector_operands gemm_vector_operands_of(const gemm_problem *g) {
    const bool column = g->n == 1;
    const gemm_matrix *x = column ? &g->b : &g->a;
    return (gemm_vector_operands){.column = column,
                                  .outputs = column ? g->m : g->n,
                                  .k = g->k,
                                  .w = column ? g->a : turned(&g->b),
                                  .x_step = g->k > 1 ? (column ? x->line : x->step) : 1,
                                  .x_offset = x->offset};
}
const char *gemm_vector_refusal(const gemm_problem *g) {
    if (g->m != 1 && g->n != 1) return "for one row, or one column";
    if (g->m < 1 || g->m > INT32_MAX / 2 || g->n > INT32_MAX / 2 || g->k > INT32_MAX / 2)
        return "for extents of 30 bits";
    return NULL;
}

static int64_t groups_of(const gemm_vector *v) {
    return up(v->of.outputs, (int64_t)GEMM_VECTOR_LINES << v->log_apart) << v->log_apart;
}

/* Few lanes where these load all of K at once. Warps: as long as SMs have room for more, and each lane something to do. */
static void share_out(gemm_vector *v, int width, const ridge_abilities *here) {
    const int64_t groups = groups_of(v), k = v->of.k, room = 32 * (here->sm_count > 0 ? here->sm_count : 1);
    const int most = GEMM_VECTOR_WARPS * (here->sm >= 90 ? GEMM_VECTOR_CLUSTER : 1);
    v->lanes = k <= GEMM_VECTOR_LANES * width * gemm_vector_steps(width) ? GEMM_VECTOR_LANES : 32;
    while (v->lanes == 32 && 1 << v->log_warps < most && groups << (v->log_warps + 1) <= room &&
           k > (int64_t)(32 * width) << v->log_warps)
        v->log_warps++;
    v->blocks = up(groups << v->log_warps, GEMM_VECTOR_WARPS * (32 / v->lanes));
}

static int width_of(const gemm_vector *v, int64_t bytes) {
    return v->loads == GEMM_VECTOR_SINGLES ? 1 : (int)(16 / bytes);
}

gemm_vector gemm_vector_of(const gemm_problem *g) {
    gemm_vector v = {.of = gemm_vector_operands_of(g)};
    const int64_t bytes = (int64_t)ridge_dtype_size(g->dtype);
    v.loads = v.of.x_step != 1                                            ? GEMM_VECTOR_ELEMENTS
              : gemm_in_pieces(&v.of.w, bytes) && v.of.x_offset % 16 == 0 ? GEMM_VECTOR_PACKS
              : bytes == 2                                                ? GEMM_VECTOR_SHIFTED
                                                                          : GEMM_VECTOR_SINGLES;
    const bool alike = v.loads == GEMM_VECTOR_SHIFTED || v.loads == GEMM_VECTOR_ELEMENTS;
    while (alike && v.of.outputs > 1 && (v.of.w.line * bytes << v.log_apart) % 16 != 0) v.log_apart++;
    share_out(&v, width_of(&v, bytes), &g->here);
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

/* Microseconds of a cluster's sum. */
static const double CLUSTER = 0.9;

static double us_of(const gemm_vector *v, const gemm_problem *g) {
    const double bytes = gemm_bytes_read(g) + gemm_bytes_written(g), sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const int width = width_of(v, (int64_t)ridge_dtype_size(g->dtype)), steps = gemm_vector_steps(width);
    const double start = RATES[v->loads].start, round = RATES[v->loads].round, wave = RATES[v->loads].wave;
    const double rounds = ceil((double)v->of.k / ((double)(v->lanes << v->log_warps) * width * steps));
    const double waves = ceil((double)v->blocks / (GEMM_VECTOR_BLOCKS * sms));
    return start + (1 << v->log_warps > GEMM_VECTOR_WARPS ? CLUSTER : 0) +
           fmax(bytes / RATES[v->loads].bytes + round, rounds * round + (waves - 1) * fmax(rounds * round, wave));
}

ridge_plan gemm_vector_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const char *refusal = gemm_vector_refusal(&g);
    if (!refusal && gemm_vector_operands_of(&g).w.step != 1 && g.k > 1) refusal = "for lines along K";
    if (refusal) return (ridge_plan){.refusal = refusal};
    const gemm_vector v = gemm_vector_of(&g);
    return (ridge_plan){.us = us_of(&v, &g),
                        .traffic = {.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)}};
}
