#include "gemm/direct.h"

#include <math.h>

/* What an H200 showed: bytes a microsecond that all SMs read, cut out of what lies around them, and one block; microseconds
 * of a launch with its first slices and its sums. */
static const double READ = 1.4e6, BLOCK = 5.0e3, LAUNCH = 5;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

gemm_direct gemm_direct_of(const gemm_problem *g) {
    gemm_direct d = {.transposed = g->m > g->n, .cluster = 1};
    const int sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const int64_t slices = up(g->k, GEMM_DIRECT_SLICE), room = (int64_t)(0.9 * GEMM_DIRECT_BLOCKS * sms);
    d.tiles = up(d.transposed ? g->m : g->n, GEMM_DIRECT_WIDE);
    while (d.cluster < GEMM_DIRECT_CLUSTER && d.tiles * d.cluster * 2 <= room && slices >= 8 * d.cluster)
        d.cluster *= 2;
    d.each = up(slices, d.cluster);
    return d;
}

ridge_plan gemm_direct_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const int64_t most = INT32_MAX - 4096;
    if (g.dtype != RIDGE_BF16 && g.dtype != RIDGE_F16) return (ridge_plan){.refusal = "for bf16 and f16"};
    if (g.m > GEMM_DIRECT_NARROW && g.n > GEMM_DIRECT_NARROW)
        return (ridge_plan){.refusal = "for up to 16 rows, or columns"};
    if (g.m < 1) return (ridge_plan){.refusal = "for one row and more"};
    if (g.m > most || g.n > most || g.k > most) return (ridge_plan){.refusal = "for extents of 31 bits"};
    const gemm_direct d = gemm_direct_of(&g);
    const double bytes = gemm_bytes_read(&g) + gemm_bytes_written(&g);
    return (ridge_plan){.us = LAUNCH + bytes / fmin(READ, BLOCK * (double)(d.tiles * d.cluster)),
                        .traffic = {.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)}};
}
