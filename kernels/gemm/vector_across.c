#include "gemm/vector_across.h"

#include <math.h>

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Of an H200: microseconds of a launch, of each block of the first wave, of loads that are under way together, of a cluster's sum; bytes a
 * microsecond of all SMs and of one; the share of these that lines of 32 bytes come at. Fitted to 56 drawn shapes with every plan. */
static const double START = 0.43, BLOCK = 0.005, ROUND = 1.48, CLUSTER = 0.92;
static const double BYTES = 3.6e6, BYTES_OF_SM = 4e4, NARROW = 0.8;

static double us_of(const gemm_vector_across *v, const gemm_problem *g, int width) {
    const double sms = g->here.sm_count > 0 ? g->here.sm_count : 1, lanes = 1 << v->log_lanes;
    const double blocks = (double)v->blocks, room = GEMM_ACROSS_BLOCKS * sms;
    const double read = gemm_bytes_read(g) * lanes * width / (double)v->strip;
    const double rounds = ceil((double)v->each * lanes / (GEMM_ACROSS_THREADS * GEMM_ACROSS_STEPS));
    const double waves = ceil(blocks / room), rate = BYTES * (v->log_lanes == 1 ? NARROW : 1);
    return START + BLOCK * fmin(blocks, room) + (v->cluster > 1 ? CLUSTER : 0) +
           fmax(ROUND + fmax(read / rate, read / (fmin(blocks, sms) * BYTES_OF_SM)),
                (waves * (rounds + 1) - 1) * ROUND);
}

/* A plan with that many lanes of a row, and blocks of a cluster. */
static gemm_vector_across shared(const gemm_problem *g, int log_lanes, int cluster) {
    gemm_vector_across v = {.of = gemm_vector_operands_of(g), .log_lanes = log_lanes, .cluster = cluster};
    const int64_t bytes = (int64_t)ridge_dtype_size(g->dtype), width = 16 / bytes, lanes = (int64_t)1 << log_lanes;
    const bool pieces = v.of.w.offset % 16 == 0 && v.of.w.step * bytes % 16 == 0;
    v.strip = (pieces ? lanes : lanes - 1) * width;
    v.each = up(v.of.k, cluster);
    v.blocks = up(v.of.outputs, v.strip) * cluster;
    v.us = us_of(&v, g, (int)width);
    return v;
}

/* The quickest one. Sums of an output are a warp's at most: 16 bits from two lanes on, fp32 from four. */
gemm_vector_across gemm_vector_across_of(const gemm_problem *g) {
    const int clusters = g->here.sm >= 90 ? GEMM_VECTOR_CLUSTER : 1;
    const int least = ridge_dtype_size(g->dtype) == 2 ? 1 : 2;
    gemm_vector_across best = {.us = 0};
    for (int log = least; log <= 5; log++)
        for (int cluster = 1; cluster <= clusters; cluster *= 2) {
            const gemm_vector_across v = shared(g, log, cluster);
            if (best.us == 0 || v.us < best.us) best = v;
        }
    return best;
}

ridge_plan gemm_vector_across_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const char *refusal = gemm_vector_refusal(&g);
    if (!refusal && gemm_vector_operands_of(&g).w.line != 1 && (g.m > 1 || g.n > 1)) refusal = "for lines across K";
    if (refusal) return (ridge_plan){.refusal = refusal};
    return (ridge_plan){.us = gemm_vector_across_of(&g).us,
                        .traffic = {.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)}};
}
