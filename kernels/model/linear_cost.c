/* Costs of a linear layer's kernels: see linear_cost.h.
 *
 * The constants are an H200's (132 SMs, 1.98 GHz at the most), from expectations/h200.json, times in graphs: what each
 * is fitted to stands beside it. On another GPU the SMs' number scales the waves; rates stay an H200's, which is good
 * for an order. */
#include "model/linear_cost.h"

#include <math.h>

static double most(double a, double b) { return a > b ? a : b; }
static double up(double n, double d) { return ceil(n / d); }

/* ---- passes over memory ---- */

static const double BYTES = 4.2e6; /* a microsecond, read and written: a copy of 4 GiB has 4.26e6 */
static const double LAUNCH = 1.5;  /* in a chain of kernels that overlap */

double linear_bytes_cost(double bytes) { return bytes / BYTES; }
double linear_pass_cost(double bytes) { return LAUNCH + linear_bytes_cost(bytes); }

/* ---- products by tensor cores ---- */

/* FLOP of tiles as they are, filled up; three products count three times. Rates are of one SM. */
typedef struct pipe_rate {
    int rows, columns, cluster; /* of a tile; blocks of a cluster, along the rows (SPLIT_SINGLE: the columns) */
    int products, bytes;        /* bytes: of an operand's element */
    double flop;                /* a microsecond */
    double tile;                /* microseconds of filling the pipeline and of the epilogue */
    double start;               /* of the launch, and of what the first tile waits for */
} pipe_rate;
static const pipe_rate PIPE[LINEAR_PIPES] = {
    [LINEAR_PIPE_SPLIT] = {128, 128, 2, 3, 4, 5.2e6, 2.5, 4},         /* losses, 2048 x 1024 x 1000: 35 us */
    [LINEAR_PIPE_SPLIT_SOFTMAX] = {128, 128, 2, 3, 4, 5.2e6, 2.5, 9}, /* 8192 x 4096 x 1000: 394 us */
    [LINEAR_PIPE_SPLIT_SINGLE] = {128, 104, 2, 3, 4, 5.2e6, 2.5, 9},  /* 16 heads of 1024 x 1024 x 100: 34 us */
    [LINEAR_PIPE_TF32_SOFTMAX] = {128, 256, 2, 1, 4, 2.9e6, 2.5, 6},  /* 8192 x 4096 x 1000: 199 us */
    [LINEAR_PIPE_16] = {128, 256, 2, 1, 2, 5.96e6, 1.7, 4},           /* losses, 8192 x 4096 x 32768: 2793 us */
    [LINEAR_PIPE_16_SOFTMAX] = {128, 256, 2, 1, 2, 4.9e6, 2.5, 5},    /* 8192 x 4096 x 1000: 125 us; tiles wait */
};

double linear_pipe_cost(linear_pipe pipe, int64_t m, int64_t n, int64_t k, int64_t count, int sm_count) {
    const pipe_rate *r = &PIPE[pipe];
    const int down = pipe == LINEAR_PIPE_SPLIT_SINGLE ? 1 : r->cluster, across = r->cluster / down;
    const double padded = up((double)k, 64) * 64;
    const double tiles =
        up((double)m, r->rows * down) * up((double)count * up((double)n, r->columns), across) * (double)r->cluster;
    const double each = 2.0 * r->rows * r->columns * padded * r->products / r->flop + r->tile;
    const double together = sm_count / r->cluster * r->cluster > 0 ? sm_count / r->cluster * r->cluster : 1;
    const double operands = (double)k * ((double)m + (double)n * (double)count) * r->bytes;
    return r->start + most(up(tiles, together) * each, operands / BYTES);
}

/* ---- products by fp32 multiply-adds ---- */

static const double FFMA_CYCLES = 1700; /* a microsecond: 8192 x 4096 x 1000 in 1665 us */
/* any_plan.h's cycles are of fp32 operands. Those of 16 bits were not measured: until they are, tensor cores have them
 * where they can. */
static const double FFMA_16 = 3;

double linear_ffma_cost(int64_t m, int64_t n, int64_t k, int64_t count, int bytes, int least, int sm, int sm_count) {
    const any_limits device = {.processors = sm_count > 0 ? sm_count : 1, .clusters = sm >= 90, .shared = 227 * 1024};
    const any_plan plan = any_plan_for(&device, m, n * count, k, least);
    return any_cycles(&device, plan, (double)m, (double)n * (double)count, k) / FFMA_CYCLES *
           (bytes == 2 ? FFMA_16 : 1);
}

/* ---- kernels that end with whole rows of logits ---- */

/* A block's microseconds: for its launch and first bytes, for a chunk of the depth, a class of such a chunk, for the
 * meeting of a tile's sums, a class there. */
typedef struct skinny_rate {
    int rows, split, chunk, resident; /* rows of a tile; blocks that share its depth; steps of a chunk; blocks an SM */
    double start, each, each_class, meet, meet_class;
} skinny_rate;
static const skinny_rate SKINNY[SKINNY_WAYS] = {
    [SKINNY_SINGLE] = {16, 1, 64, 2, 1.2, 1.0, 0.012, 0, 0},       /* a guess: loads of 4 bytes, a chunk at a time */
    [SKINNY_NARROW] = {16, 1, 128, 2, 1.2, 0.75, 0, 0, 0},         /* 64 x 128 x 10: 1.95 us */
    [SKINNY_SHARED] = {16, 4, 128, 1, 1.2, 0.75, 0, 1.0, 0},       /* better than narrow from a depth of 256 on */
    [SKINNY_CLUSTER] = {16, 8, 64, 2, 1.2, 0.9, 0, 1.3, 0},        /* 256 x 512 x 50: 3.5 us */
    [SKINNY_STREAM] = {72, 8, 32, 1, 1.2, 0.47, 0, 1.9, 0.015},    /* 1024 x 1024 x 100: 6.5 us */
    [SKINNY_WGMMA] = {64, 8, 128, 1, 1.2, 0.8, 0.012, 1.9, 0.011}, /* the same: 7.3 us; 16 heads: more than 35 */
};
/* With up to 56 classes the clusters of 16 rows were what was measured and ran up to 256 rows, the kernels of wgmma
 * beyond. Where a way was not measured it has to promise much. */
enum { CLUSTER_ROWS = 256 };
static const double UNMEASURED = 8;

double skinny_cost(int way, const skinny_facts *f) {
    const skinny_rate *r = &SKINNY[way];
    const double tiles = up((double)f->batch, r->rows) * (double)f->heads, n = (double)f->classes;
    int split = r->split;
    /* the largest clusters of which all run at once */
    if (way == SKINNY_WGMMA)
        while (split > 1 && (double)skinny_room(f->sm_count, split) < tiles) split--;
    const double waves = up(tiles, (double)skinny_room(f->sm_count, split) * r->resident);
    const double chunks = up((double)f->depth, (double)r->chunk * split);
    const double each = chunks * (r->each + r->each_class * n) + r->meet + r->meet_class * n;
    const double bytes = 4 * ((double)f->batch * ((double)f->depth + n * (double)f->heads) + (double)f->depth * n);
    if (way == SKINNY_STREAM && waves > 1) return INFINITY; /* it is made for a single wave */
    const double cost = most(r->start + waves * each, linear_pass_cost(bytes));
    const bool wgmma = way == SKINNY_STREAM || way == SKINNY_WGMMA, few_rows = f->batch <= CLUSTER_ROWS;
    const bool unmeasured = n <= SKINNY_FEW && ((wgmma && few_rows) || (way == SKINNY_CLUSTER && !few_rows));
    return unmeasured && f->sm / 10 == 9 ? UNMEASURED * cost : cost;
}
