/* Costs of a linear layer's kernels: see cost.h.
 *
 * The constants are an H200's (132 SMs, 1.98 GHz at the most), from expectations/h200.json, times in graphs: what each
 * is fitted to stands beside it: "drawn shapes" are those of `bench/sweep_cuda.py --ways`, seeds 501 and 778, of which
 * the choice loses 1 to 5 % (docs/RESULTS.md). On another GPU the SMs' number scales the waves; rates stay an H200's,
 * which is good for an order. */
#include "linear/cost.h"

#include <math.h>

#include "cuda/linear/loss_scratch.h"

static double most(double a, double b) { return a > b ? a : b; }
static double up(double n, double d) { return ceil(n / d); }

/* ---- passes over memory ---- */

static const double BYTES = 4.2e6; /* a microsecond, read and written: a copy of 4 GiB has 4.26e6 */
static const double LAUNCH = 1.5;  /* in a chain of kernels that overlap */

static const double COPIED =
    1.3e6; /* of operands that lie between 16-byte boundaries: 1851 x 1587 and 5557 lines in 46 us */

double linear_bytes_cost(double bytes) { return bytes / BYTES; }
/* The product after it is set up meanwhile: 3 x 1 x 15 in f32, copied and multiplied in 2.4 us. */
static const double COPY_LAUNCH = 0.9;
double linear_copy_cost(double bytes) { return COPY_LAUNCH + bytes / COPIED; }
double linear_pass_cost(double bytes) { return LAUNCH + linear_bytes_cost(bytes); }
/* Lines a microsecond of a pass that scales each of them: 713183 of 19 in 319 us. */
static const double LINES = 2200;
double linear_scaling_cost(double lines, double bytes) {
    return LAUNCH + most(linear_bytes_cost(bytes), lines / LINES);
}

/* ---- products by tensor cores ---- */

/* FLOP of tiles as they are, filled up; three products count three times. Rates are of one SM. */
typedef struct pipe_rate {
    int rows, columns, cluster; /* of a tile; blocks of a cluster, along the rows (SPLIT_SINGLE: the columns) */
    int products, bytes;        /* bytes: of an operand's element */
    double flop;                /* a microsecond */
    double tile;                /* microseconds of filling the pipeline and of the epilogue */
    double least;               /* of a tile, however shallow: its epilogue */
    double start;               /* of the launch, and of what the first tile waits for */
    double meet;                /* of a tile that waits for those beside it, where no other one covers that */
} pipe_rate;
static const pipe_rate PIPE[LINEAR_PIPES] = {
    [LINEAR_PIPE_SPLIT] = {128, 128, 2, 3, 4, 5.2e6, 2.5, 8, 4, 0}, /* losses, 2048 x 1024 x 1000: 35 us */
    [LINEAR_PIPE_HALF] = {128, 256, 2, 1, 2, 5.96e6, 2.5, 5, 4, 0}, /* 4117 x 2377 x 7925: 1252 us */
    [LINEAR_PIPE_HALF_NARROW] = {128, 64, 2, 1, 2, 2.8e6, 1.2, 5.5, 4,
                                 0}, /* drawn shapes; wgmma reads A at half the rate */
    [LINEAR_PIPE_HALF_SOFTMAX] = {128, 128, 2, 1, 2, 4.8e6, 2.5, 5, 7, 2},  /* drawn shapes */
    [LINEAR_PIPE_SPLIT_SOFTMAX] = {128, 128, 2, 3, 4, 5.2e6, 2.5, 8, 7, 0}, /* 8192 x 4096 x 1000: 394 us */
    [LINEAR_PIPE_SPLIT_SINGLE] = {128, 104, 2, 3, 4, 5.2e6, 2.5, 8, 3, 0},  /* 16 heads of 1024 x 1024 x 100: 34 us */
    [LINEAR_PIPE_16] = {128, 256, 2, 1, 2, 5.96e6, 1.7, 4.5, 1.5, 0},       /* losses, 8192 x 4096 x 32768: 2793 us */
    [LINEAR_PIPE_16_SOFTMAX] = {128, 256, 2, 1, 2, 5.2e6, 2.5, 9, 2.5, 8},  /* 8192 x 4096 x 1000: 125 us */
    [LINEAR_PIPE_16_NARROW] = {128, 64, 1, 1, 2, 2.3e6, 0.8, 2.4, 1.2, 0},  /* drawn shapes */
};

double linear_pipe_cost(linear_pipe pipe, int64_t m, int64_t n, int64_t k, int64_t count, int sm_count) {
    const pipe_rate *r = &PIPE[pipe];
    const int down = pipe == LINEAR_PIPE_SPLIT_SINGLE ? 1 : r->cluster, across = r->cluster / down;
    const double padded = up((double)k, 64) * 64;
    const double tiles =
        up((double)m, r->rows * down) * up((double)count * up((double)n, r->columns), across) * (double)r->cluster;
    const double each = most(2.0 * r->rows * r->columns * padded * r->products / r->flop + r->tile, r->least);
    const double together = sm_count / r->cluster * r->cluster > 0 ? sm_count / r->cluster * r->cluster : 1;
    const double operands = (double)k * ((double)m + (double)n * (double)count) * r->bytes;
    const double beside = up((double)n, r->columns), waits = beside > 1 && tiles <= 2 * together ? r->meet + beside : 0;
    return r->start + (r->meet > 0 ? waits : 0) + most(up(tiles, together) * each, operands / BYTES);
}

/* ---- products by fp32 multiply-adds ---- */

static const double FFMA_CYCLES = 1700; /* a microsecond: 8192 x 4096 x 1000 in 1665 us */
/* any_plan.h's cycles are of fp32 operands; of 16 bits these have to be widened. */
static const double FFMA_16 = 1.15;
/* The end of a tile of up to 64 classes of which it makes losses: 8 x 8 x 24 in 5.2 us, 8 x 8 x 2 in 3.3. */
static const double FFMA_MEDIUM = 2;

double linear_ffma_cost(int64_t m, int64_t n, int64_t k, int64_t count, int bytes, int least, int sm, int sm_count) {
    const any_limits device = {.processors = sm_count > 0 ? sm_count : 1, .clusters = sm >= 90, .shared = 227 * 1024};
    /* Each product has tiles of its own: few columns do not fill theirs. */
    const bool narrow = n <= 64;
    const int64_t rows = narrow && count > 1 ? (m + 15) / 16 * 16 * count : m, columns = narrow ? n : n * count;
    const any_plan plan = any_plan_for(&device, rows, columns, k, least);
    return any_cycles(&device, plan, (double)rows, (double)columns, k) / FFMA_CYCLES * (bytes == 2 ? FFMA_16 : 1);
}

double linear_ffma_logits_cost(int64_t rows, int64_t classes, int64_t depth, int bytes, int sm, int sm_count,
                               bool *whole) {
    const any_limits device = {.processors = sm_count > 0 ? sm_count : 1, .clusters = sm >= 90, .shared = 227 * 1024};
    const linear_fp32_plan p = linear_fp32_plan_of(&device, rows, classes, depth);
    *whole = p.whole;
    return (p.whole && p.product.tiles != ANY_SMALL ? FFMA_MEDIUM : 0) +
           any_cycles(&device, p.product, (double)rows, (double)classes, depth) / FFMA_CYCLES *
               (bytes == 2 ? FFMA_16 : 1);
}

double linear_ffma_shares_cost(any_split split, int64_t m, int64_t n, int bytes, int sm_count) {
    const any_limits device = {.processors = sm_count > 0 ? sm_count : 1};
    const double sums = 4.0 * split.shares * (double)m * (double)n;
    return any_split_cycles(&device, split, m, n) / FFMA_CYCLES * (bytes == 2 ? FFMA_16 : 1) +
           linear_bytes_cost(2 * sums);
}

/* ---- products of few rows ---- */

/* Outputs below which blocks wait for the depth, and how long for so much of it. */
static const double FEW_OUTPUTS = 512, FEW_DEEP = 3, FEW_DEPTH = 4096;
double linear_few_rows_cost(int64_t batch, int64_t depth, int64_t outputs, int64_t side, int bytes, gemv_product tensor,
                            bool along, int sm_count) {
    return gemv_cost(batch, depth, outputs, side, bytes, tensor, along, sm_count) +
           ((double)outputs < FEW_OUTPUTS ? FEW_DEEP * fmin(1, (double)depth / FEW_DEPTH) : 0);
}

/* ---- kernels that end with whole rows of logits ---- */

/* A block's microseconds: for its launch and first bytes, for a chunk of the depth, a class of such a chunk, for the
 * meeting of a tile's sums, a class there. */
typedef struct skinny_rate {
    int rows, split, chunk, resident; /* rows of a tile; blocks that share its depth; steps of a chunk; blocks an SM */
    double start, each, each_class, meet, meet_class;
    double wave; /* of each wave of blocks but the first: narrow, 16384 x 256 x 8 in 27 us */
} skinny_rate;
static const skinny_rate SKINNY[SKINNY_WAYS] = {
    [SKINNY_SINGLE] = {16, 1, 64, 1, 1.6, 1.0, 0.012, 0, 0, 3},       /* loads of 4 bytes, a chunk at a time */
    [SKINNY_NARROW] = {16, 1, 128, 2, 1.2, 1.1, 0, 0, 0, 3},          /* 4096 x 4096 x 8: 43 us */
    [SKINNY_SHARED] = {16, 4, 128, 1, 1.2, 1.05, 0, 1.0, 0, 0},       /* better than narrow from a depth of 256 on */
    [SKINNY_CLUSTER] = {16, 8, 64, 2, 1.2, 0.9, 0, 1.3, 0, 0},        /* 256 x 512 x 50: 3.5 us */
    [SKINNY_STREAM] = {72, 8, 32, 1, 1.2, 0.47, 0, 1.9, 0.015, 0},    /* 1024 x 1024 x 100: 6.5 us */
    [SKINNY_WGMMA] = {64, 8, 128, 1, 1.2, 0.8, 0.012, 1.9, 0.011, 0}, /* the same: 7.3 us; 16 heads: more than 35 */
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
    const double cost = most(r->start + waves * each + (waves - 1) * r->wave, linear_pass_cost(bytes));
    const bool wgmma = way == SKINNY_STREAM || way == SKINNY_WGMMA, few_rows = f->batch <= CLUSTER_ROWS;
    const bool unmeasured = n <= SKINNY_FEW && ((wgmma && few_rows) || (way == SKINNY_CLUSTER && !few_rows));
    return unmeasured && f->sm / 10 == 9 ? UNMEASURED * cost : cost;
}

/* ---- few columns, by mma.sync ---- */

/* Microseconds of a warp: a step of the depth, by tiles of columns; the beginning and the end of its rows, besides for
 * each column of the kernel, and for 16 rows of several heads; where blocks share a depth. Bytes of w's order in a
 * microsecond. From 160 drawn shapes (seeds 64021 and 5150) of an H200: 4223 x 11083 x 9 in f16 in 50 us, 4737 x 5615 x
 * 45 in bf16 in 66, 26520 x 120 x 8 in 7.2; ends of a depth of 3 to 32 (seed 90105). */
static const double THIN_STEP = 0.55, THIN_STEP_TILE = 0.03, THIN_EXACT_TILE = 0.12, THIN_ENDS = 2.0,
                    THIN_COLUMN = 0.015, THIN_HEADS = 0.5, THIN_CLUSTERS = 3, THIN_ORDER = 7.5e5;
/* Predictions: a tile of 32 rows and 64 columns of skinny/thin_outer.cuh, a step of its terms; a block's beginning. */
static const double OUTER_TILE = 0.8, OUTER_STEP = 0.12, OUTER_ENDS = 2.7, OUTER_BYTES = 3.6e6;
/* Eight rows a warp and turn of skinny/thin_across.cuh, by their tiles; its end. */
static const double ACROSS_TURN = 0.35, ACROSS_TILE = 0.02, ACROSS_ENDS = 4;

static double thin_step_cost(int tiles, bool exact) {
    return THIN_STEP + tiles * (exact ? THIN_EXACT_TILE : THIN_STEP_TILE);
}
/* Warps that take so long, `resident` of an SM at a time. The last of few waves takes as long as the others. */
static double in_waves(double warps, double each, double resident, int sm_count) {
    const double waves = warps / resident / (sm_count > 0 ? sm_count : 1);
    return (waves < 3 ? most(1, ceil(waves)) : waves) * each;
}

double thin_cost(int64_t rows, int64_t depth, int64_t heads, int64_t classes, int bytes, bool exact, thin_phases phases,
                 int sm, int sm_count) {
    const int64_t columns = heads * classes, steps = thin_steps(depth, bytes, thin_aligned(phases));
    const int tiles = thin_tiles(columns), of_warp = thin_rows_of(tiles, exact);
    const thin_shares shares = thin_shares_of(rows, tiles, of_warp, steps, phases, sm, sm_count);
    const int sharing = shares.warps * shares.blocks;
    const double each = THIN_ENDS + THIN_COLUMN * 8 * tiles + (heads > 1 ? THIN_HEADS * of_warp / 16 : 0) +
                        (shares.blocks > 1 ? THIN_CLUSTERS : 0) +
                        up((double)steps, sharing) * thin_step_cost(tiles, exact);
    const double operands = bytes * ((double)rows * (double)(depth + columns) + (double)depth * (double)columns);
    const double warps = (double)thin_row_tiles(rows, of_warp, phases) * sharing;
    return 2 * LAUNCH + thin_bytes(columns, depth, bytes, exact, phases.count) / THIN_ORDER +
           most(operands / BYTES, in_waves(warps, each, THIN_WARPS * thin_resident(tiles), sm_count));
}

double outer_cost(int64_t rows, int64_t terms, int64_t columns, int bytes, int term_bytes, bool exact,
                  thin_phases phases, int sm_count) {
    const outer_shares shares = outer_shares_of(rows, columns, phases, bytes, exact);
    const double blocks = (double)(shares.across * shares.count * phases.count);
    const double tiles = up((double)shares.each, THIN_WARPS), steps = (double)thin_steps(terms, term_bytes, true);
    const double each = OUTER_ENDS + tiles * (OUTER_TILE + steps * OUTER_STEP * (exact ? 3 : 1));
    return LAUNCH + most((double)rows * (double)columns * bytes / OUTER_BYTES, in_waves(blocks, each, 3, sm_count));
}

double across_cost(int64_t rows, int64_t depth, int64_t columns, int bytes, bool exact, thin_phases phases,
                   int sm_count) {
    const int64_t tiles = across_tiles(depth, columns, bytes);
    const int64_t shares = across_shares(rows, depth, columns, bytes, phases.count);
    const double turns = up((double)rows / (double)shares, 8 * THIN_WARPS);
    const double wide = (columns > 16 ? 2 : 1) * 16.0 / bytes;
    const double each = ACROSS_ENDS + turns * (ACROSS_TURN + ACROSS_TILE * wide * (exact ? 3 : 1));
    const double x = (double)rows * (double)depth * bytes * up((double)columns, ACROSS_CLASSES);
    return LAUNCH + most(x / BYTES, in_waves((double)(tiles * shares), each, columns <= 16 ? 4 : 3, sm_count)) +
           linear_pass_cost(2 * across_bytes(rows, depth, columns, bytes, phases.count));
}
