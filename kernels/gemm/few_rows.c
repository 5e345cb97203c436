#include "gemm/few_rows.h"

#include <math.h>

/* Predictions for an H200: bytes a microsecond that all SMs read; that one block reads, with 96 KiB in flight; and
 * microseconds of a launch, of the first slices' way to an SM, and of the sums' way through a cluster. */
static const double DRAM = 4.2e6, BLOCK = 6.0e4, LAUNCH = 1.5, FILL = 0.8, ADDING = 0.4;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

static gemm_few_side side_of(const gemm_matrix *m, int64_t rows, bool transposed) {
    gemm_few_side s = {rows, *m, false};
    if (transposed) s.m.line = m->step, s.m.step = m->line;
    s.along = s.m.step == 1;
    if (rows == 1 && s.along) s.m.line = 8; /* there is no next line */
    return s;
}

/* As many shares of K as run at once, on SMs of which clusters get those of one group. */
static int cluster_of(const gemm_few_rows *f, int64_t slices, int sms) {
    const int64_t tiles = up(f->other.rows, GEMM_FEW_OUTPUTS);
    int cluster = 1;
    for (int next = 2; next <= GEMM_FEW_CLUSTER && next <= sms; next *= 2) {
        const double room = floor(GEMM_FEW_BLOCKS * sms * (next == 8 ? 0.91 : next == 4 ? 0.94 : 1.0));
        if ((double)(tiles * next) <= room && slices >= 4 * next) cluster = next;
    }
    return cluster;
}

gemm_few_rows gemm_few_rows_of(const gemm_problem *g) {
    gemm_few_rows f = {.transposed = g->n <= GEMM_FEW && g->n < g->m};
    const gemm_few_side a = side_of(&g->a, g->m, false), b = side_of(&g->b, g->n, true);
    const int64_t slices = up(g->k, GEMM_FEW_SLICE);
    f.few = f.transposed ? b : a, f.other = f.transposed ? a : b;
    f.cluster = cluster_of(&f, slices, g->here.sm_count > 0 ? g->here.sm_count : 1);
    f.each = up(slices, f.cluster);
    return f;
}

static bool in_pieces(const gemm_few_side *s) {
    return s->m.offset % 16 == 0 && (s->along ? s->m.line : s->m.step) * 2 % 16 == 0;
}
static const char *refusal_of(const gemm_few_rows *f, const gemm_problem *g) {
    const int64_t most = INT32_MAX - 4096;
    if (g->dtype != RIDGE_BF16 && g->dtype != RIDGE_F16) return "for bf16 and f16";
    if (f->few.rows > GEMM_FEW) return "for up to 16 rows, or columns";
    if (g->m < 1) return "for one row and more";
    if (f->other.rows > most || g->k > most) return "for extents of 31 bits";
    return in_pieces(&f->few) && in_pieces(&f->other) ? NULL : "for operands in lines of 16-byte pieces";
}

static double us_of(const gemm_few_rows *f, const gemm_problem *g) {
    const double blocks = (double)(up(f->other.rows, GEMM_FEW_OUTPUTS) * f->cluster);
    const double bytes = gemm_bytes_read(g) + gemm_bytes_written(g);
    return LAUNCH + FILL + (f->cluster > 1 ? ADDING : 0) + bytes / fmin(DRAM, BLOCK * blocks);
}
double gemm_few_rows_us(const gemm_problem *g) {
    const gemm_few_rows f = gemm_few_rows_of(g);
    return refusal_of(&f, g) ? -1 : us_of(&f, g);
}

ridge_plan gemm_few_rows_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    const gemm_few_rows f = gemm_few_rows_of(&g);
    return (ridge_plan){.refusal = refusal_of(&f, &g),
                        .us = us_of(&f, &g),
                        .traffic = {.read = gemm_bytes_read(&g), .written = gemm_bytes_written(&g)}};
}
