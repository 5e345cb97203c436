#include "gemm/few_rows.h"

#include <math.h>

/* Of an H200: bytes a microsecond that all SMs read; that one block reads for each slice in flight (a prediction); and
 * microseconds of a launch, of a tile's first slices and its store, of blocks that begin where others end, of the way of 16 rows'
 * sums through a cluster, and of 16 rows of a slice. 4096 x 8 x 512 in 6.2 us, 32 x 5448 x 1288 in 10.5, 24 x 4216 x 5800 in 23,
 * 40 x 7448 x 8816 in 60, all in bf16; 262144 x 4 x 32 in 32. */
static const double DRAM = 4.2e6, BLOCK = 1.0e4, LAUNCH = 1.5, TILE = 1.5, WAVE = 3.5, ADDING = 1.2, SLICE = 0.35;

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
    if (f->few.rows > GEMM_FEW) return "for up to 64 rows, or columns";
    if (g->m < 1) return "for one row and more";
    if (f->other.rows > most || g->k > most) return "for extents of 31 bits";
    return in_pieces(&f->few) && in_pieces(&f->other) ? NULL : "for operands in lines of 16-byte pieces";
}

/* Of 16 rows, as many as are multiplied: those of few_rows.cu's shapes. */
static double rows_multiplied(const gemm_few_side *few) {
    if (!few->along) return few->rows <= 16 ? 1 : 4;
    return few->rows <= 8 ? 0.5 : few->rows <= 16 ? 1 : few->rows <= 32 ? 2 : 4;
}

static double us_of(const gemm_few_rows *f, const gemm_problem *g) {
    const int64_t blocks = up(f->other.rows, GEMM_FEW_OUTPUTS) * f->cluster,
                  sms = g->here.sm_count > 0 ? g->here.sm_count : 1;
    const double bytes = gemm_bytes_read(g) + gemm_bytes_written(g);
    const double waves = (double)up(blocks, GEMM_FEW_BLOCKS * sms), stages = gemm_few_stages(f->few.rows, f->few.along);
    const double rows = rows_multiplied(&f->few);
    const double adding = f->cluster > 1 ? ADDING * rows : 0;
    const double read = bytes / fmin(DRAM, BLOCK * stages * (double)blocks);
    return LAUNCH + TILE + (waves - 1) * WAVE + adding + fmax(read, waves * SLICE * rows * (double)f->each);
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
