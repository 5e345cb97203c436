#include "linear/loss.h"

#include "cuda/linear/loss_scratch.h"
#include "linear/rows_of_logits.h"

/* Logits and their gradients of a chunk take at most this. */
static const double MOST_BYTES = 1 << 30;
/* What the passes' launches take besides. */
static const double ENDS = 1;
/* Of an H200's passes over rows: bytes a microsecond; microseconds of a launch that overlaps the one before. */
static const double DRAM = 2.0e6, LAUNCH = 1.5;

static int inputs_of(const ce_places *at) { return 4 + (at->lse_in >= 0) + (at->dloss >= 0); }

/* Elements of 16 bytes of any type fill a line, so gemm's operands begin where TMA wants them. */
static int64_t line_of(int64_t classes) { return (classes + 15) / 16 * 16; }

static double gradient_size(const linear_loss_plan *l, ridge_dtype dtype) {
    return l->gradients && ridge_dtype_size(dtype) == 2 ? 2 : 0; /* fp32 ones lie where logits were */
}

/* Whole tiles of rows, so that all chunks are aligned alike. */
static int64_t chunk_of(const linear_loss_plan *l, ridge_dtype dtype) {
    const double line = (4 + gradient_size(l, dtype)) * (double)l->line;
    const int64_t most = (int64_t)(MOST_BYTES / line) / 256 * 256, chunk = most < 256 ? 256 : most;
    return chunk < l->rows ? chunk : l->rows;
}

/* The products of so many rows. */
static void plan_products(linear_loss_plan *l, const ce_places *at, const ridge_problem *p, int64_t rows,
                          linear_product *of) {
    const ridge_operand x = p->tensor[CE_X], w = p->tensor[CE_W], z = operand_dense(l->line);
    of[CE_LOGITS] =
        linear_product_of(p, (const int64_t[3]){rows, l->classes, l->depth}, x, operand_transposed(w), z, true);
    if (!l->gradients) return;
    const ridge_operand *out = &p->tensor[inputs_of(at)];
    const ridge_operand dx = l->dx_apart ? operand_dense(l->depth) : out[at->dx];
    const ridge_operand dw = l->dw_apart ? operand_dense(l->depth) : out[at->dw];
    of[CE_TO_DX] = linear_product_of(p, (const int64_t[3]){rows, l->depth, l->classes}, z, w, dx, l->dx_apart);
    of[CE_TO_DW] =
        linear_product_of(p, (const int64_t[3]){l->classes, l->depth, rows}, operand_transposed(z), x, dw, l->dw_apart);
}

static void place(linear_loss_plan *l, ridge_dtype dtype) {
    const double chunk = (double)l->chunk, classes = (double)l->classes, depth = (double)l->depth;
    const double elements = chunk * (double)l->line;
    size_t *bytes = &l->plan.scratch;
    l->z = linear_scratch_take(bytes, 4 * elements);
    if (l->gradients) {
        l->g = gradient_size(l, dtype) > 0 ? linear_scratch_take(bytes, 2 * elements) : l->z;
        l->columns = linear_scratch_take(bytes, 4 * (double)linear_sum_blocks(l->chunk) * classes);
    }
    if (l->ranged) {
        l->row = linear_scratch_take(bytes, chunk * sizeof(row_gradient));
        l->range = linear_scratch_take(bytes, sizeof(gradient_range));
    }
    if (l->dx_apart) l->dx = linear_scratch_take(bytes, 4 * chunk * depth);
    if (l->dw_apart) l->dw = linear_scratch_take(bytes, 4 * classes * depth);
    l->product = *bytes;
}

/* Products one after the other share scratch. */
static void take_products(linear_loss_plan *l, const linear_product *of, double times) {
    for (int i = 0; i < (l->gradients ? CE_PRODUCTS : 1); i++) {
        if (!of[i].way) l->plan.refusal = "no product takes it";
        l->plan.us += times * of[i].plan.us;
        if (l->product + of[i].plan.scratch > l->plan.scratch) l->plan.scratch = l->product + of[i].plan.scratch;
    }
}

/* Bytes of the passes between the products, read and written. */
static ridge_traffic of_passes(const linear_loss_plan *l, ridge_dtype dtype) {
    const double logits = (double)l->rows * (double)l->classes;
    const double dx = (double)l->rows * (double)l->depth, dw = (double)l->classes * (double)l->depth;
    const double size = (double)ridge_dtype_size(dtype), chunks = (double)l->rows / (double)l->chunk;
    const bool twice = l->forward && l->gradients && l->read_again;
    ridge_traffic t = {.read = (twice ? 8 : 4) * logits};
    if (!l->gradients) return t;
    t.read += (l->ranged ? 4 + size : size) * logits; /* sums of columns; of a known range, logits once more */
    t.written += size * logits;
    if (l->dx_apart) t.read += 4 * dx, t.written += size * dx;
    if (l->dw_apart) t.read += (4 + size) * dw * chunks, t.written += size * dw * chunks;
    return t;
}

linear_loss_plan linear_loss_of(const ce_places *at, const ridge_problem *p) {
    linear_loss_plan l = {.rows = p->c.dim[CE_BATCH],
                          .depth = p->c.dim[CE_DEPTH],
                          .classes = p->c.dim[CE_CLASSES],
                          .forward = at->lse_in < 0,
                          .gradients = at->dx >= 0};
    const int64_t most = INT32_MAX / 2;
    if (l.rows < 1) return l.plan.us = LAUNCH, l;
    if (l.rows > most || l.classes > most) return l.plan.refusal = "for up to 2^30 rows and classes", l;
    l.line = line_of(l.classes);
    l.read_again = logits_are_read_again(l.rows, l.classes, p->here.sm, p->here.sm_count);
    l.chunk = chunk_of(&l, p->c.dtype);
    if (l.gradients && ridge_dtype_size(p->c.dtype) == 2 && l.chunk < l.rows)
        return l.plan.refusal = "for gradients of 16 bits that all rows have at once, in 1 GiB", l;
    l.ranged = l.gradients && p->c.dtype == RIDGE_F16;
    l.dx_apart = l.ranged, l.dw_apart = l.ranged || (l.gradients && l.chunk < l.rows);
    place(&l, p->c.dtype);
    const int64_t whole = l.rows / l.chunk, last = l.rows - whole * l.chunk;
    plan_products(&l, at, p, l.chunk, l.of);
    take_products(&l, l.of, (double)whole);
    if (last > 0) plan_products(&l, at, p, last, l.of_last), take_products(&l, l.of_last, 1);
    const ridge_traffic passes = of_passes(&l, p->c.dtype);
    const double launches = l.ranged ? 10 : l.gradients ? 3 : 1;
    l.plan.us += ENDS + (double)(whole + (last > 0)) * launches * LAUNCH + (passes.read + passes.written) / DRAM;
    l.plan.arithmetic = l.of[CE_LOGITS].plan.arithmetic;
    return l;
}

ridge_plan linear_loss_plan_of(const ridge_way *way, const ridge_problem *p) {
    linear_loss_plan l = linear_loss_of(way->own, p);
    if (l.plan.refusal || l.rows < 1) return l.plan;
    const double chunks = (double)l.rows / (double)l.chunk;
    l.plan.traffic = of_passes(&l, p->c.dtype);
    for (int i = 0; i < (l.gradients ? CE_PRODUCTS : 1); i++) {
        const ridge_traffic t = linear_product_traffic(&l.of[i]);
        l.plan.traffic.read += chunks * t.read, l.plan.traffic.written += chunks * (t.written + t.streamed);
    }
    return l.plan;
}
