#include "gemm/hi_lo.h"

#include <math.h>

#include "cuda/gemm/split.h"
#include "cuda/host/scratch.h"
#include "gemm/wgmma.h"

/* Of a Hopper GPU: bytes a microsecond, read and written, and microseconds of a launch that overlaps the one before. */
static const double DRAM = 4.2e6, LAUNCH = 1.5;
/* K from which on split.cuh reads an operand twice; bytes a microsecond then. */
enum { DEEP_COLUMNS = 1024, DEEP_LINES = 4096 };
static const double DRAM_TWICE = 2.6e6;
/* A line along K has so many threads that DEEP_LINES elements are under way: microseconds of these, read twice, and the lines
 * that an SM has at a time. */
static const double TRIP = 4.3, RESIDENT_LINES = 4;
/* Lines along K a microsecond, however short. */
static const double LINES = 2200;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by * by; }

/* Of one element. */
static double bytes_of_parts(const gemm_tile *tile) { return tile->products > 1 ? 4 : 2; }

gemm_hi_lo gemm_hi_lo_of(const gemm_tile *tile, const gemm_problem *g) {
    gemm_hi_lo at = {.shares = gemm_shares(tile, g)};
    const double lines[] = {(double)up(g->m, 8), (double)up(g->n, 8)};
    at.padded = up(up(g->k, GEMM_SLICE), (int64_t)at.shares * GEMM_SLICE);
    at.a = linear_scratch_take(&at.bytes, lines[0] * bytes_of_parts(tile) * (double)at.padded);
    at.b = linear_scratch_take(&at.bytes, lines[1] * bytes_of_parts(tile) * (double)at.padded);
    at.a_undo = linear_scratch_take(&at.bytes, lines[0] * 4);
    at.b_undo = linear_scratch_take(&at.bytes, lines[1] * 4);
    at.largest = linear_scratch_take(&at.bytes, 2 * SPLIT_FEW * sizeof(unsigned));
    at.infinite = linear_scratch_take(&at.bytes, sizeof(unsigned));
    if (at.shares > 1)
        at.sums = linear_scratch_take(&at.bytes, 4.0 * (double)g->m * (double)gemm_share_line(g->n) * at.shares);
    return at;
}

static const char *refusal_of(const gemm_tile *t, const gemm_problem *g) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (g->dtype != RIDGE_TF32 && (g->dtype != RIDGE_F32 || t->products == 1))
        return t->products == 1 ? "for tf32" : "for f32 and tf32";
    if (g->m < 1) return "for one row and more";
    if (g->k < GEMM_PARTS_LEAST_K) return "for a K of 16 and more: fp32's error of fewer terms is smaller";
    if (g->m > most || g->n > most || g->k > most) return "for extents of 30 bits";
    return t->split && gemm_shares(t, g) < 2 ? "where tiles are fewer than SMs, and K is long enough" : NULL;
}

static bool is_read_twice(bool along_k, int64_t k) { return k > (along_k ? DEEP_LINES : DEEP_COLUMNS); }

/* Bytes read to make the parts of one operand: twice where K is long. */
static double read_of(bool along_k, int64_t lines, int64_t k) {
    return (is_read_twice(along_k, k) ? 2 : 1) * 4.0 * (double)lines * (double)k;
}

/* Microseconds of the trips along the lines of one operand. */
static double trips_of(const gemm_problem *g, bool along_k, int64_t lines) {
    if (!along_k || !is_read_twice(along_k, g->k)) return along_k ? (double)lines / LINES : 0;
    const double turns = (double)lines / (RESIDENT_LINES * g->here.sm_count);
    return TRIP * ceil((double)g->k / DEEP_LINES) * fmax(turns, 1);
}

/* Both operands are made parts in one launch. bytes_of_element: of its parts. */
static double us_of_parts(const gemm_problem *g, const gemm_hi_lo *at, double bytes_of_element) {
    const bool along[] = {g->a.step == 1, g->b.step != 1};
    const int64_t lines[] = {g->m, g->n};
    double bytes_us = 0, trips = 0;
    for (int i = 0; i < 2; i++) {
        const double bytes =
            read_of(along[i], lines[i], g->k) + bytes_of_element * (double)at->padded * (double)lines[i];
        bytes_us += bytes / (is_read_twice(along[i], g->k) ? DRAM_TWICE : DRAM);
        trips = fmax(trips, trips_of(g, along[i], lines[i]));
    }
    return fmax(bytes_us, trips);
}

ridge_plan gemm_hi_lo_plan_of(const gemm_tile *t, const gemm_problem *g) {
    ridge_plan plan = {.refusal = refusal_of(t, g)};
    if (plan.refusal) return plan;
    const gemm_hi_lo at = gemm_hi_lo_of(t, g);
    const double parts = bytes_of_parts(t) * (double)at.padded * ((double)g->m + (double)g->n);
    const double sums = at.shares > 1 ? 4.0 * (double)g->m * (double)gemm_share_line(g->n) * at.shares : 0;
    const double read = read_of(g->a.step == 1, g->m, g->k) + read_of(g->b.step != 1, g->n, g->k);
    plan.us = 3 * LAUNCH + us_of_parts(g, &at, bytes_of_parts(t)) + gemm_tile_cost(t, g);
    plan.scratch = at.bytes;
    plan.traffic = (ridge_traffic){.read = read + parts + sums, .written = parts + sums + gemm_bytes_written(g)};
    plan.arithmetic = (ridge_arithmetic){RIDGE_F16, t->products};
    return plan;
}

ridge_plan gemm_hi_lo_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    return gemm_hi_lo_plan_of(way->own, &g);
}
