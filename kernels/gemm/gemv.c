#include "gemm/gemv.h"

#include <math.h>

#include "gemm/hi_lo.h"

/* ---- how long the products of cuda/gemv take on an H200: bench/draw.py's few rows and few columns, every way ---- */

static double up(double n, double d) { return ceil(n / d); }

/* A launch in a chain, with the fill of x; bytes; multiply-adds; what a block reads in a microsecond, which counts
 * where there are fewer blocks than SMs; bytes of sums, written and read. */
static const double FEW_LAUNCH = 1.7, FEW_START = 0.8, FEW_BYTES = 3.8e6, FEW_FLOP = 20e6, FEW_BLOCK = 2e4,
                    FEW_SUMS = 4.2e6;
/* By multiply-adds: elements of 16 bits a microsecond; a further wave of blocks, three an SM. */
static const double FEW_WIDENED = 1.1e6, FEW_WAVE = 4;
/* FLOP of mma.sync in tf32, with filled-up rows, hi and lo parts three times; those of an outer product, whose columns are
 * filled up, too, and bytes that it writes: 63 rows of 10403 x 1655 in f32 in 162 us. */
static const double FEW_MMA = 200e6, OUTER_MMA = 90e6, FEW_OUTER = 2.4e6;
enum { OUTER_COLUMNS = 128 };
/* Lines of it, however short, in a microsecond: 65536 of two in 44. */
static const double OUTER_LINES = 1500;

static double few_rows_flop(int64_t batch, double elements) {
    const int rows = gemv_rows(batch);
    return 2 * up((double)batch, rows) * (rows + 1) * elements;
}
static double few_rows_mma(gemv_product product, double rows, double elements, double rate) {
    return 2 * rows * elements * (product == GEMV_MMA_SPLIT ? 3 : product == GEMV_MMA_16 ? 0.5 : 1) / rate;
}

/* By tensor cores, lines along the depth: bytes of w a microsecond, in fp32 and in 16 bits, for each group of rows; the
 * end of a tile of 32 rows, and of fewer, in microseconds of a block. */
static const double ALONG_BYTES = 2.4e6, ALONG_BYTES_16 = 2.9e6, ALONG_END_32 = 4, ALONG_END = 2.5;
/* Across it: the fill of x for 32 rows, and for fewer; the end of a tile, and a step of the depth: of one block an SM and
 * of two, in fp32 (of 32 rows too) and in 16 bits. */
static const double ACROSS_FILL_32 = 6, ACROSS_FILL = 3, ACROSS_END = 3.5, ACROSS_END_OF_TWO = 1;
static const double ACROSS_STEP = 0.004, ACROSS_STEP_16 = 0.0065, ACROSS_STEP_OF_TWO = 0.0095,
                    ACROSS_STEP_32_OF_TWO = 0.017, ACROSS_STEP_16_OF_TWO = 0.0105;

/* Across it: whether an SM has one block. */
static bool has_one(const gemv_plan *p) { return p->rows == 2 * GEMV_ROWS && p->product != GEMV_MMA_TF32; }
/* Lines across the depth, by blocks that have `of_block` tiles one after the other. */
static double across_us(const gemv_plan *p, int64_t depth, int bytes, double of_block) {
    const bool large = p->rows == 2 * GEMV_ROWS, one = has_one(p);
    const double of_one = bytes == 4 ? ACROSS_STEP : ACROSS_STEP_16;
    const double of_two = bytes == 2 ? ACROSS_STEP_16_OF_TWO : large ? ACROSS_STEP_32_OF_TWO : ACROSS_STEP_OF_TWO;
    return (large ? ACROSS_FILL_32 : ACROSS_FILL) +
           of_block * ((one || (large && bytes == 4) ? ACROSS_END : ACROSS_END_OF_TWO) +
                       (one ? of_one : of_two) * (double)(p->each < depth ? p->each : depth));
}
static double few_rows_tensor_cost(const gemv_plan *p, int64_t depth, int64_t outputs, int64_t side, int bytes,
                                   bool along) {
    const double tile = along ? 128 : 128.0 / bytes, resident = GEMV_BLOCKS / 2.0 * (!along && has_one(p) ? 1 : 2);
    const double tiles = up((double)outputs, tile) * (double)side * p->groups * (double)p->shares;
    const double of_block = up(tiles, resident), lines = up((double)outputs, tile) * tile * (double)side;
    if (!along) return across_us(p, depth, bytes, of_block);
    const double w = (double)depth * (double)outputs * (double)side * bytes;
    return fmax(p->groups * w / (bytes == 4 ? ALONG_BYTES : ALONG_BYTES_16),
                few_rows_mma(p->product, p->groups * p->rows, (double)depth * lines, FEW_MMA)) +
           of_block * (p->rows == 2 * GEMV_ROWS ? ALONG_END_32 : ALONG_END);
}
double gemv_cost(int64_t batch, int64_t depth, int64_t outputs, int64_t side, int bytes, gemv_product tensor,
                 bool along, int sm_count) {
    const gemv_plan p = gemv_plan_of(batch, depth, outputs, side, tensor, along);
    const double elements = (double)depth * (double)outputs * (double)side, sms = sm_count > 0 ? sm_count : 1;
    const double blocks = (double)p.tiles * p.groups * (double)p.shares * (double)side;
    const double rate = fmax(FEW_BLOCK, fmin(FEW_BLOCK * blocks, FEW_BYTES));
    const double filled = blocks < sms ? blocks / sms : 1;
    const double by_ffma =
        fmax(bytes == 2 ? elements / FEW_WIDENED : 0, few_rows_flop(batch, elements) / FEW_FLOP / filled);
    const double waves = p.product == GEMV_FFMA ? fmax(up(blocks, 3 * sms) - 1, 0) * FEW_WAVE : 0;
    const double multiplied =
        p.product == GEMV_FFMA ? by_ffma : few_rows_tensor_cost(&p, depth, outputs, side, bytes, along);
    const double sums = 8.0 * (double)p.shares * (double)batch * (double)outputs * (double)side;
    return FEW_LAUNCH + FEW_START + waves + fmax(elements * bytes / rate, multiplied) +
           (p.shares > 1 ? FEW_LAUNCH + sums / FEW_SUMS : 0);
}
double gemv_outer_cost(int64_t batch, int64_t lines, int64_t columns, int bytes, gemv_product tensor) {
    const double elements = (double)lines * (double)columns;
    if (batch <= GEMV_ROWS)
        return FEW_LAUNCH + FEW_START + fmax(elements * bytes / FEW_BYTES, few_rows_flop(batch, elements) / FEW_FLOP);
    const double filled = (double)lines * up((double)columns, OUTER_COLUMNS) * OUTER_COLUMNS;
    return FEW_LAUNCH + FEW_START +
           fmax(fmax(elements * bytes / FEW_OUTER, (double)lines / OUTER_LINES),
                few_rows_mma(tensor, up((double)batch, 32) * 32, filled, OUTER_MMA));
}

/* ---- the way of a product ---- */

/* By multiply-adds on an H200: bytes that a block reads in a microsecond beside another one on its SM, of fp32 and of 16 bits; FLOP a
 * microsecond of all blocks, lines across the depth and along it; bytes of all, and of sums; microseconds of the launch that adds them. */
static const double SPREAD_BLOCK = 1.5e4, SPREAD_BLOCK_16 = 1.0e4, SPREAD_FLOP = 27e6, SPREAD_FLOP_ALONG = 20e6;
static const double SPREAD_BYTES = 3.8e6, SPREAD_SUMS = 4.2e6, SPREAD_END = 2.5;
/* Rows from which on they are quicker than three products of parts, where lines run across the depth: 17 in 247 and 210 us,
 * 24 in 308 and 375. */
enum { SPREAD_ACROSS = 21 };

/* As many shares as make the last wave of blocks about as full as the others, and their microseconds. */
static double spread(gemv_plan *p, int64_t depth, int64_t few, int64_t outputs, int bytes, bool along) {
    const int64_t tile =
        along ? 128 : 31 * gemv_lane_outputs(p->rows, bytes); /* a pack less than a warp's: lines may shift */
    const double room = GEMV_BLOCKS / 2.0 * gemv_resident(p->rows, bytes);
    const double blocks = up((double)outputs, (double)tile) * p->groups, w = (double)depth * (double)outputs * bytes;
    const double read = bytes / (bytes == 2 ? SPREAD_BLOCK_16 : SPREAD_BLOCK);
    const double multiplied = 2.0 * (p->rows + 1) * GEMV_BLOCKS / (along ? SPREAD_FLOP_ALONG : SPREAD_FLOP);
    const double step = (double)tile * fmax(read, multiplied);
    const int64_t most = gemv_room(p->product) / p->rows / GEMV_STEP * GEMV_STEP; /* steps of a share */
    const int64_t least = (depth + most - 1) / most;
    double best = 0;
    for (int64_t shares = least; shares <= least || shares <= depth / GEMV_SHARE; shares++) {
        const int64_t each = (int64_t)up(up((double)depth, (double)shares), GEMV_STEP) * GEMV_STEP;
        const double all = up((double)depth, (double)each), waves = up(blocks * all, room);
        const double us =
            fmax(waves * (double)each * step, w / SPREAD_BYTES) + 8 * all * (double)few * (double)outputs / SPREAD_SUMS;
        if (best > 0 && us >= best) continue;
        best = us, p->each = each, p->shares = (int64_t)all;
    }
    return best;
}

/* Of tensor cores, lines across the depth: as many shares as are soonest done, in turns of blocks, and their microseconds. */
static double spread_turns(gemv_plan *p, int64_t depth, int64_t few, int64_t outputs, int bytes, bool alike) {
    const double tile = (alike ? 8.0 : 7.0) * 16 / bytes; /* a pack less than a warp's: lines may shift */
    const int64_t tiles = (int64_t)up((double)outputs, tile), step = 2 * GEMV_STEP;
    const int64_t most = gemv_room(p->product) / p->rows / step * step;
    gemv_plan next = *p;
    double best = 0;
    for (int64_t shares = (depth + most - 1) / most; shares <= GEMV_BLOCKS; shares++) {
        next.each = (int64_t)up(up((double)depth, (double)shares), GEMV_STEP) * GEMV_STEP;
        next.shares = (int64_t)up((double)depth, (double)next.each);
        const gemv_turns turns = gemv_turns_of(tiles, p->groups * next.shares, has_one(p) ? 1 : 2);
        const double sums = 8.0 * (double)next.shares * (double)few * (double)outputs / SPREAD_SUMS;
        const double us = (double)turns.turns * across_us(&next, depth, bytes, (double)turns.tiles) + sums;
        if (best == 0 || us < best) best = us, *p = next;
        if (next.each <= step) break;
    }
    return fmax(best, (double)depth * (double)outputs * bytes / FEW_BYTES);
}

gemm_gemv gemm_gemv_of(const gemm_problem *g) {
    gemm_gemv v = {.transposed = g->n < g->m};
    v.few = v.transposed ? g->n : g->m, v.outputs = v.transposed ? g->m : g->n;
    v.along = (v.transposed ? g->a.step : g->b.line) == 1 || g->k == 1; /* as gemv_lies_along has it */
    v.plan = gemv_plan_of(v.few, g->k, v.outputs, 1, gemv_logits_by(g->dtype), v.along);
    if (v.plan.product == GEMV_MMA_SPLIT && !v.along && v.few >= SPREAD_ACROSS) {
        v.plan.product = GEMV_FFMA, v.plan.rows = GEMV_ROWS;
        v.plan.groups = (int)up((double)v.few, GEMV_ROWS);
    }
    const int bytes = (int)ridge_dtype_size(g->dtype);
    const int64_t line = v.transposed ? g->a.step : g->b.line; /* across the depth: from one of its steps to the next */
    if (v.plan.product == GEMV_FFMA && g->k > 0)
        v.us = spread(&v.plan, g->k, v.few, v.outputs, bytes, v.along);
    else if (!v.along && g->k > 0)
        v.us = spread_turns(&v.plan, g->k, v.few, v.outputs, bytes, line % (16 / bytes) == 0);
    v.line = gemv_stride(v.outputs);
    v.bytes = sizeof(float) * (size_t)v.plan.shares * (size_t)v.few * (size_t)v.line;
    return v;
}

static const char *refusal_of(const gemm_problem *g) {
    const int64_t few = g->m < g->n ? g->m : g->n, outputs = g->m < g->n ? g->n : g->m;
    if (few < 1 || few > GEMV_BATCH) return "for 1 to 64 rows, or columns";
    if (few == 1 && g->here.sm >= 90) return "one row or column has ways of one launch";
    if (g->k < 1 || g->k > INT32_MAX / 2 || outputs > INT32_MAX / 2)
        return "for a K of 1 and more, and extents of 30 bits";
    if (g->dtype == RIDGE_F32 && few >= GEMV_TENSOR && g->k < GEMM_PARTS_LEAST_K)
        return "for a K of 16 and more: fp32's error of fewer terms is smaller";
    return NULL;
}

ridge_plan gemm_gemv_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    ridge_plan plan = {.refusal = refusal_of(&g)};
    if (plan.refusal) return plan;
    const gemm_gemv v = gemm_gemv_of(&g);
    if (v.bytes > (size_t)GEMV_MIB << 20) return (ridge_plan){.refusal = "sums exceed 256 MiB"};
    const gemv_product tensor = gemv_logits_by(g.dtype);
    const double sums = (double)v.bytes;
    if (v.us > 0)
        plan.us = FEW_LAUNCH + FEW_START + SPREAD_END + v.us;
    else
        plan.us =
            gemv_cost(v.few, g.k, v.outputs, 1, (int)ridge_dtype_size(g.dtype), tensor, v.along, g.here.sm_count) +
            (v.plan.shares > 1 ? 0 : FEW_LAUNCH + 2 * sums / FEW_SUMS);
    plan.scratch = v.bytes;
    plan.traffic = (ridge_traffic){.read = gemm_bytes_read(&g) + sums, .written = gemm_bytes_written(&g) + sums};
    plan.arithmetic.type = v.plan.product == GEMV_MMA_SPLIT ? RIDGE_TF32 : RIDGE_DTYPE_NONE;
    plan.arithmetic.products = v.plan.product == GEMV_MMA_SPLIT ? 3 : 0;
    return plan;
}
