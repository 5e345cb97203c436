#include "gemm/shallow.h"

#include <math.h>

/* Of an H200: microseconds of a launch; of a group of rows, and of a step of K in it; bytes of C a microsecond, where its lines are
 * whole sectors of L2 and where they begin anywhere. B's columns come once a unit, in as long as so many groups take. Fitted to 40
 * drawn shapes of each kind. */
typedef struct shallow_rates {
    double start, group, step, whole, between;
} shallow_rates;
static const shallow_rates FP32 = {2.5, 1.2, 0.11, 3.6e6, 2.4e6}, HALVES = {2.5, 2.85, 0.04, 2.0e6, 1.8e6};
static const double FILL = 0.5;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

gemm_shallow_units gemm_shallow_units_of(int64_t m, int64_t n, bool halves, int sms) {
    const int rows = GEMM_SHALLOW_WARPS * (halves ? GEMM_SHALLOW_ROWS_16 : GEMM_SHALLOW_ROWS);
    const int room = GEMM_SHALLOW_BLOCKS * (sms > 0 ? sms : 1);
    gemm_shallow_units best = {.tiles = (int)up(n, halves ? GEMM_SHALLOW_COLUMNS_16 : GEMM_SHALLOW_COLUMNS),
                               .groups = (int)up(m, rows)};
    for (gemm_shallow_units u = best; u.deep < GEMM_SHALLOW_DEEP && u.deep < u.groups;) {
        u.deep++;
        u.count = (int)(u.tiles * up(u.groups, u.deep));
        u.blocks = u.count < room ? u.count : room;
        u.turns = (double)up(u.count, room) * (u.deep + FILL);
        if (best.deep == 0 || u.turns < best.turns) best = u;
    }
    return best;
}

ridge_plan gemm_shallow_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const bool halves = ridge_dtype_size(g.dtype) == 2;
    const int64_t most = INT32_MAX - 4096;
    if (g.k < 1 || g.k > (halves ? GEMM_SHALLOW_K_16 : GEMM_SHALLOW_K))
        return (ridge_plan){.refusal = halves ? "for a K of 1 to 32" : "for a K of 1 to 64"};
    if (g.m < 1 || g.m > most || g.n > most) return (ridge_plan){.refusal = "for extents of 31 bits"};
    if ((double)g.m * (double)g.n > 0x1p43) return (ridge_plan){.refusal = "for as many units as 31 bits count"};
    const shallow_rates *const of = halves ? &HALVES : &FP32;
    const gemm_shallow_units units = gemm_shallow_units_of(g.m, g.n, halves, g.here.sm_count);
    const bool whole = g.c.offset % 32 == 0 && g.c.line * (g.wide ? 4 : (int64_t)ridge_dtype_size(g.dtype)) % 32 == 0;
    const double read = gemm_bytes_read(&g), written = gemm_bytes_written(&g);
    const double multiplied = units.turns * (of->group + of->step * (double)g.k);
    return (ridge_plan){.us = of->start + fmax((read + written) / (whole ? of->whole : of->between), multiplied),
                        .traffic = {.read = read, .written = written}};
}
