/* The ways of the cross-entropy family on a GPU: what each refuses, costs, moves and needs. */
#include "cuda/gemv/plan.h"
#include "cuda/linear/loss_scratch.h"
#include "cuda/linear/problem.h"
#include "linear/cost.h"
#include "model/cross_entropy.h"

typedef linear_loss_facts facts;

static facts facts_of(const ce_places *at, const ridge_problem *p) {
    const int inputs = 4 + (at->lse_in >= 0) + (at->dloss >= 0);
    facts f = {.dtype = p->c.dtype,
               .bytes = (int)ridge_dtype_size(p->c.dtype),
               .batch = p->c.dim[CE_BATCH],
               .depth = p->c.dim[CE_DEPTH],
               .classes = p->c.dim[CE_CLASSES],
               .gradients = at->dx >= 0,
               .forward = at->lse_in < 0,
               .sm = p->here.sm,
               .sm_count = p->here.sm_count};
    f.x = linear_matrix_of(&p->tensor[CE_X], f.batch, f.depth);
    f.w = linear_matrix_of(&p->tensor[CE_W], f.classes, f.depth);
    if (!f.gradients) return f;
    f.dx = linear_matrix_of(&p->tensor[inputs + at->dx], f.batch, f.depth);
    f.dw = linear_matrix_of(&p->tensor[inputs + at->dw], f.classes, f.depth);
    return f;
}

static skinny_facts skinny_of(const facts *f) {
    const bool trans = linear_by_rows(&f->w) && f->w.line != 1;
    const bool w_lies = trans ? f->w.line % 4 == 0 : f->w.step == f->classes;
    return (skinny_facts){.batch = f->batch,
                          .heads = 1,
                          .depth = f->depth,
                          .classes = f->classes,
                          .pieces = f->x.offset % 16 == 0 && f->w.offset % 16 == 0 && f->x.line % 4 == 0 && w_lies,
                          .sm = f->sm,
                          .sm_count = f->sm_count};
}

/* ---- what each refuses ---- */

static const char *refuses_split(const facts *f) {
    if (f->bytes != 4) return "for f32 and tf32";
    if (f->classes <= SKINNY_CLASSES) return "for more than 128 classes";
    return linear_split_fits(f->batch, f->depth, f->classes, f->gradients, 2) ? NULL : "hi and lo parts exceed 1 GiB";
}

static const char *refuses_half(const facts *f) {
    if (f->dtype != RIDGE_TF32) return "for tf32";
    return linear_split_fits(f->batch, f->depth, f->classes, f->gradients, 1) ? NULL : "operands in fp16 exceed 1 GiB";
}

/* TMA writes whole pieces of 16 bytes: what lies behind a line must not be part of one. */
static bool takes_stores(const facts *f, const linear_matrix *m) {
    const int64_t along = linear_by_rows(m) ? m->columns : m->rows;
    return linear_tileable(m, 2) && (f->copies || along % 8 == 0);
}

static const char *refuses_tiles(const facts *f) {
    if (f->bytes != 2) return "for types of 16 bits";
    if (!linear_tileable(&f->x, 2) || !linear_tileable(&f->w, 2)) return "x or w is not in lines of 16-byte pieces";
    return !f->gradients || (takes_stores(f, &f->dx) && takes_stores(f, &f->dw))
               ? NULL
               : "gradients are not in lines of 16-byte pieces";
}

static const char *refuses_copied(const facts *f) {
    const linear_loss_copies copies = linear_loss_copies_of(f->batch, f->depth, f->classes, f->bytes, f->gradients);
    const skinny_facts s = skinny_of(f);
    if (f->bytes == 4 && f->classes > SKINNY_CLASSES) return "for up to 128 classes, or 16 bits";
    if (f->bytes == 4 && f->depth < SKINNY_DEPTH) return "for a depth of at least 16";
    if (f->bytes == 4 ? s.pieces && f->depth % SKINNY_DEPTH == 0 : refuses_tiles(f) == NULL)
        return "for operands that are not in lines of 16-byte pieces";
    return copies.bytes > LINEAR_COPIES_MOST ? "copies take too much memory" : NULL;
}

static bool few_rows_fit(int64_t batch, int64_t depth, int64_t classes, ridge_dtype dtype, bool gradients) {
    return batch >= 1 && batch <= GEMV_BATCH && gemv_fits(batch, depth, classes, 1, gemv_logits_by(dtype)) &&
           (!gradients || gemv_fits(batch, classes, depth, 1, gemv_gradients_by(dtype)));
}
static const char *refuses_few_rows(const facts *f) {
    if (f->batch < 1 || f->batch > GEMV_BATCH) return "for 1 to 64 rows";
    if (f->depth < 1 || f->classes < 1 || f->depth > INT32_MAX / 2 || f->classes > INT32_MAX / 2)
        return "for 1 to 2^30 classes and steps of the depth";
    return few_rows_fit(f->batch, f->depth, f->classes, f->dtype, f->gradients) ? NULL : "sums exceed 256 MiB";
}

static const char *refuses_thin(const facts *f) {
    if (f->gradients && !linear_by_rows(&f->dx)) return "dx is not in rows";
    return thin_refusal(f->sm, f->batch, (double)f->classes, f->depth, f->bytes, f->dtype == RIDGE_F32,
                        linear_by_rows(&f->x));
}

const char *linear_loss_refusal(int way, const linear_loss_facts *f) {
    const skinny_facts s = skinny_of(f);
    if (way == LINEAR_LOSS_FFMA) return NULL;
    if (way == LINEAR_LOSS_FEW_ROWS) return refuses_few_rows(f);
    if (way == LINEAR_LOSS_THIN) return refuses_thin(f);
    if (f->sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (f->batch < 1) return "for one row and more";
    switch (way) {
        case LINEAR_LOSS_SPLIT: return refuses_split(f);
        case LINEAR_LOSS_HALF: return refuses_half(f);
        case LINEAR_LOSS_TILES: return refuses_tiles(f);
        case LINEAR_LOSS_COPIED: return refuses_copied(f);
        default: return f->bytes == 4 ? skinny_refusal(way, &s) : "for f32 and tf32";
    }
}

/* ---- operands that are copied first ---- */

static linear_matrix copied_matrix(const linear_matrix *m, int64_t padded, int64_t stride) {
    const bool along = linear_by_rows(m) && m->line != 1;
    return (linear_matrix){.rows = m->rows, .columns = padded, .line = along ? padded : 1, .step = along ? 1 : stride};
}

/* fp32 gradients are made by multiply-adds, where they lie. */
linear_loss_facts linear_loss_copied(const linear_loss_facts *f) {
    const linear_loss_copies copies = linear_loss_copies_of(f->batch, f->depth, f->classes, f->bytes, f->gradients);
    const int64_t padded = (f->depth + 15) / 16 * 16;
    facts c = *f;
    c.copies = true;
    c.depth = padded;
    c.x = copied_matrix(&f->x, padded, copies.w_stride);
    c.w = copied_matrix(&f->w, padded, copies.w_stride);
    if (!f->gradients || f->bytes == 4) return c;
    c.dx = copied_matrix(&f->dx, padded, copies.w_stride);
    c.dw = copied_matrix(&f->dw, padded, copies.w_stride);
    return c;
}

int linear_loss_of_copied(const linear_loss_facts *copied, unsigned tried) {
    int best = -1;
    double least = 0;
    for (int way = SKINNY_NARROW; way < LINEAR_LOSS_FFMA; way++) {
        if (linear_split_parts(way) > 0) continue; /* it reads any alignment */
        if (tried >> way & 1u || linear_loss_refusal(way, copied)) continue;
        const double cost = linear_loss_microseconds(way, copied);
        if (best < 0 || cost < least) best = way, least = cost;
    }
    return best;
}

/* ---- what each costs ---- */

/* The products: 0 logits, 1 dx, 2 dw, by pipeline or by multiply-adds (LINEAR_PIPES). */
static double product_cost(const facts *f, int pipe, int product) {
    const int64_t m = product == 2 ? f->classes : f->batch, n = product == 0 ? f->classes : f->depth;
    const int64_t k = product == 0 ? f->depth : product == 1 ? f->classes : f->batch;
    if (pipe == LINEAR_PIPES) {
        const any_split split = any_split_for(m, n, k);
        return product > 0 && split.shares > 1 && !any_is_few(f->batch, f->depth, f->classes)
                   ? linear_ffma_shares_cost(split, m, n, f->bytes, f->sm_count)
                   : linear_ffma_cost(m, n, k, 1, f->bytes, 1, f->sm, f->sm_count);
    }
    const int parts = pipe == LINEAR_PIPE_SPLIT ? 2 : pipe == LINEAR_PIPE_HALF ? 1 : 0;
    const double split =
        parts > 0 ? linear_scaling_cost((double)(m + n), (parts == 1 ? 8 : 4 + 2 * parts) * (double)k * (double)(m + n))
                  : 0;
    const int shares = product == 0 ? 1 : linear_split_shares(m, n, k, parts);
    if (pipe == LINEAR_PIPE_HALF && n <= LINEAR_TILE_NARROW) pipe = LINEAR_PIPE_HALF_NARROW;
    if (shares > 1)
        return split + linear_pipe_cost((linear_pipe)pipe, m, n, (k + shares - 1) / shares, shares, f->sm_count) +
               linear_pass_cost(2 * linear_split_sums(m, n, k, parts));
    return split + linear_pipe_cost((linear_pipe)pipe, m, n, k, 1, f->sm_count);
}

/* Logits of split operands, some classes at a time where only losses are wanted. */
static double split_logits_cost(int way, int pipe, const facts *f) {
    const int64_t some =
        f->gradients ? f->classes : linear_split_classes(f->classes, f->depth, linear_split_parts(way));
    double cost = 0;
    facts part = *f;
    for (int64_t first = 0; first < f->classes; first += some) {
        part.classes = f->classes - first < some ? f->classes - first : some;
        cost += product_cost(&part, pipe, 0);
    }
    return cost;
}
/* Gradients of the logits: tensor cores' of f16 have a scale. */
static double gradient_bytes(int way, const facts *f) {
    const int bytes = way == LINEAR_LOSS_TILES ? f->bytes : (int)ridge_dtype_size(linear_gradient_dtype(f->dtype));
    return bytes * (double)f->batch * (double)f->classes;
}
/* What that takes: the range of rows, and four launches that find nothing to do. */
static double range_cost(int way, const facts *f) {
    return way == LINEAR_LOSS_TILES && f->gradients && f->dtype == RIDGE_F16 ? 6 * linear_pass_cost(0) : 0;
}

/* Losses from parts; gradients' pass for their sums, which reads them, and writes them where they were exponentials. */
static double between_cost(int way, const facts *f) {
    const double g = gradient_bytes(way, f);
    return range_cost(way, f) + (f->forward ? linear_pass_cost(0) : 0) +
           (f->gradients ? linear_pass_cost((f->forward ? 2 : 1) * g) : 0) + (f->gradients ? linear_pass_cost(0) : 0);
}

/* Whole rows of logits are at hand where losses are made: no parts of rows, no exponentials in memory. */
static bool has_whole_rows(int way) { return way < SKINNY_WAYS || way == LINEAR_LOSS_THIN; }

/* Logits; dx; dw and db, whose sums are added. */
static double thin_loss_cost(const facts *f) {
    const bool exact = f->dtype == RIDGE_F32;
    const thin_phases phases = linear_phases(&f->x, f->bytes);
    const double logits = thin_cost(f->batch, f->depth, 1, f->classes, f->bytes, exact, phases, f->sm, f->sm_count);
    const int g_bytes = (int)ridge_dtype_size(linear_gradient_dtype(f->dtype));
    if (!f->gradients) return logits;
    return logits + linear_bytes_cost(gradient_bytes(LINEAR_LOSS_THIN, f)) + linear_pass_cost(0) +
           outer_cost(f->batch, f->classes, f->depth, f->bytes, g_bytes, exact, linear_phases(&f->dx, f->bytes),
                      f->sm_count) +
           across_cost(f->batch, f->depth, f->classes, f->bytes, exact, phases, f->sm_count);
}

/* Beside the products' predictions: their epilogues; what takes longer where x is not in pieces of 16 bytes, but for the launches:
 * 2048 x 2048 x 8 in f32 in 75 us. */
static const double FFMA_ENDS = 1.1, FFMA_APART = 0.2, FFMA_LEAST = 7;
/* Where rows are whole, losses come with logits, and few gradients in one launch more. */
static double ffma_cost(const facts *f) {
    bool whole;
    const bool few = f->gradients && any_is_few(f->batch, f->depth, f->classes);
    double cost = linear_ffma_logits_cost(f->batch, f->classes, f->depth, f->bytes, f->sm, f->sm_count, &whole);
    cost += FFMA_ENDS * (f->gradients ? 2 : 1);
    if (!whole || (f->gradients && !few)) cost += between_cost(LINEAR_LOSS_FFMA, f);
    if (f->gradients)
        cost += product_cost(f, LINEAR_PIPES, 1) + product_cost(f, LINEAR_PIPES, 2) - (few ? linear_pass_cost(0) : 0);
    return linear_tileable(&f->x, f->bytes) || cost < FFMA_LEAST ? cost : cost + FFMA_APART * (cost - FFMA_LEAST);
}

/* Copies of x and w and, in 16 bits, of dx and dw. */
static double copies_bytes(const facts *f) {
    const double operands = f->bytes * (double)(f->batch + f->classes) * (double)f->depth;
    return operands * (f->gradients && f->bytes == 2 ? 2 : 1);
}

/* Logits; losses; with gradients, those of the logits, dw, and dx in shares of the classes. */
static double few_rows_cost(const facts *f) {
    const double logits = (double)f->batch * (double)f->classes;
    const gemv_product gradients = gemv_gradients_by(f->dtype);
    const bool along = linear_by_rows(&f->w);
    const double z =
        linear_few_rows_cost(f->batch, f->depth, f->classes, 1, f->bytes, gemv_logits_by(f->dtype), along, f->sm_count);
    if (!f->gradients) return z + linear_pass_cost(0) + 1;
    return z + linear_pass_cost(4 * logits) + linear_pass_cost(8 * logits) + 2 +
           gemv_outer_cost(f->batch, f->classes, f->depth, f->bytes, gradients) +
           linear_few_rows_cost(f->batch, f->classes, f->depth, 1, f->bytes, gradients, !along, f->sm_count);
}

double linear_loss_microseconds(int way, const linear_loss_facts *f) {
    if (way == LINEAR_LOSS_FEW_ROWS) return few_rows_cost(f);
    if (way == LINEAR_LOSS_FFMA) return ffma_cost(f);
    if (way == LINEAR_LOSS_COPIED) {
        const facts copied = linear_loss_copied(f);
        const int inner = linear_loss_of_copied(&copied, 0);
        const double by_copies = inner < 0 ? 0 : linear_loss_microseconds(inner, &copied);
        return linear_copy_cost(copies_bytes(f) * (1 + (double)copied.depth / (double)f->depth)) + by_copies;
    }
    const skinny_facts s = skinny_of(f);
    const int pipe = way == LINEAR_LOSS_SPLIT   ? LINEAR_PIPE_SPLIT
                     : way == LINEAR_LOSS_HALF  ? LINEAR_PIPE_HALF
                     : way == LINEAR_LOSS_TILES ? LINEAR_PIPE_16
                                                : LINEAR_PIPES;
    double cost = way < SKINNY_WAYS ? skinny_cost(way, &s)
                  : way == LINEAR_LOSS_THIN
                      ? thin_loss_cost(f)
                      : (linear_split_parts(way) > 0 ? split_logits_cost(way, pipe, f) : product_cost(f, pipe, 0)) +
                            between_cost(way, f);
    for (int product = 1; f->gradients && way != LINEAR_LOSS_THIN && product <= 2; product++)
        cost += product_cost(f, pipe, product);
    return cost;
}

/* ---- what each moves and needs ---- */

/* Sums of shares are written and read; with gradients logits are, and then gradients by two products. */
static ridge_traffic few_rows_traffic(const facts *f, const ridge_work *work) {
    const double logits = 4.0 * (double)f->batch * (double)f->classes;
    const double dx = 4.0 * (double)f->batch * (double)f->depth;
    const bool along = linear_by_rows(&f->w);
    const gemv_plan z = gemv_plan_of(f->batch, f->depth, f->classes, 1, gemv_logits_by(f->dtype), along);
    const gemv_plan x = gemv_plan_of(f->batch, f->classes, f->depth, 1, gemv_gradients_by(f->dtype), !along);
    double again = z.shares > 1 ? logits * (double)z.shares : 0;
    ridge_traffic t = {.read = work->bytes_read, .streamed = work->bytes_written};
    if (f->gradients) {
        again += 2 * logits + dx * (double)x.shares;
        t.read += f->bytes * (double)f->depth * (double)(f->batch + f->classes) + logits;
    }
    t.read += again, t.streamed += again;
    return t;
}

/* Forward: parts instead of logits. Gradients: written and read for their sums and by two products; with the forward,
 * they are exponentials first, which are read and written once more. Split operands are written and read besides. */
static ridge_traffic traffic_of(int way, const ce_places *at, const ridge_problem *problem, facts f) {
    const double copies = way == LINEAR_LOSS_COPIED ? copies_bytes(&f) : 0;
    if (way == LINEAR_LOSS_COPIED) {
        const facts copied = linear_loss_copied(&f);
        way = linear_loss_of_copied(&copied, 0);
    }
    const double g = gradient_bytes(way, &f);
    ridge_work work;
    ce_work(at, &problem->c, &work);
    if (way == LINEAR_LOSS_FEW_ROWS) return few_rows_traffic(&f, &work);
    ridge_traffic t = {.read = work.bytes_read + copies, .streamed = work.bytes_written + copies};
    const double tiles = (double)f.classes / 256;
    const double parts = f.forward && !has_whole_rows(way) ? 8 * (double)f.batch * tiles : 0;
    const int of = linear_split_parts(way), by = linear_gradient_parts(way);
    const bool few = by == LINEAR_FFMA && any_is_few(f.batch, f.depth, f.classes); /* by one launch, without shares */
    const double sums = f.gradients && way == LINEAR_LOSS_THIN
                            ? across_bytes(f.batch, f.depth, f.classes, f.bytes, linear_phases(&f.x, f.bytes).count)
                        : f.gradients && !few ? linear_split_sums(f.batch, f.depth, f.classes, by) +
                                                    linear_split_sums(f.classes, f.depth, f.batch, by)
                                              : 0;
    const double split = of > 0 ? linear_split_traffic(f.batch, f.depth, f.classes, f.gradients, of) : 0;
    t.read += parts + split + sums, t.streamed += parts + split + sums;
    if (!f.gradients) return t;
    const bool exponentials = f.forward && !has_whole_rows(way);
    t.read += f.bytes * (double)f.depth * (double)(f.batch + f.classes) + (exponentials ? 4 : 3) * g;
    t.streamed += (exponentials ? 2 : 1) * g;
    return t;
}

static size_t scratch_of(int way, const ce_places *at, const ridge_case *c) {
    const int64_t rows = c->dim[CE_BATCH], depth = c->dim[CE_DEPTH], classes = c->dim[CE_CLASSES];
    const int bytes = (int)ridge_dtype_size(c->dtype);
    const bool gradients = at->dx >= 0;
    if (way == LINEAR_LOSS_FEW_ROWS)
        return few_rows_fit(rows, depth, classes, c->dtype, gradients)
                   ? gemv_scratch_of(rows, depth, classes, 1, c->dtype, gradients).bytes
                   : 0;
    if (way != LINEAR_LOSS_COPIED) return linear_loss_scratch_of(way, rows, depth, classes, c->dtype, gradients).bytes;
    const linear_loss_copies copies = linear_loss_copies_of(rows, depth, classes, bytes, gradients);
    if ((bytes == 4 && classes > SKINNY_CLASSES) || copies.bytes > LINEAR_COPIES_MOST) return 0;
    size_t most = 0;
    for (int inner = SKINNY_NARROW; inner < LINEAR_LOSS_FFMA; inner++) {
        if (linear_split_parts(inner) > 0) continue; /* it reads any alignment */
        const size_t its =
            linear_loss_scratch_of(inner, rows, (depth + 15) / 16 * 16, classes, c->dtype, gradients).bytes;
        if (its > most) most = its;
    }
    return copies.bytes + most;
}

/* Gradients of few classes mix products of fp16 for the logits with multiply-adds. */
static ridge_arithmetic arithmetic_of(int way, const ce_places *at, const ridge_problem *problem, facts f) {
    const facts copied = linear_loss_copied(&f);
    if (way == LINEAR_LOSS_COPIED) way = linear_loss_of_copied(&copied, 0);
    const bool fp32 = f.bytes == 4, skinny = way < SKINNY_WAYS;
    const bool tf32 = way == SKINNY_NARROW || way == SKINNY_SHARED || way == SKINNY_CLUSTER;
    if (way == LINEAR_LOSS_THIN) return linear_thin_arithmetic(problem);
    if (way == LINEAR_LOSS_FEW_ROWS) return linear_few_rows_arithmetic(problem, f.batch);
    if (!fp32 || way == LINEAR_LOSS_FFMA || (skinny && at->dx >= 0))
        return (ridge_arithmetic){.type = RIDGE_DTYPE_NONE};
    return (ridge_arithmetic){.type = tf32 ? RIDGE_TF32 : RIDGE_F16, .products = way == LINEAR_LOSS_HALF ? 1 : 3};
}

ridge_plan linear_loss_way_plan(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const char *refusal = linear_loss_refusal(way->number, &f);
    if (refusal) return (ridge_plan){.refusal = refusal};
    return (ridge_plan){.us = linear_loss_microseconds(way->number, &f),
                        .scratch = scratch_of(way->number, way->own, &problem->c),
                        .traffic = traffic_of(way->number, way->own, problem, f),
                        .arithmetic = arithmetic_of(way->number, way->own, problem, f)};
}
