/* The ways of the cross-entropy family on a GPU: what each refuses, costs, moves and needs. */
#include "cuda/linear/loss_scratch.h"
#include "cuda/linear/problem.h"
#include "model/cross_entropy.h"
#include "model/linear_cost.h"

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
    return linear_split_fits(f->batch, f->depth, f->classes, f->gradients) ? NULL : "hi and lo parts exceed 1 GiB";
}

static const char *refuses_tiles(const facts *f) {
    if (f->bytes != 2) return "for types of 16 bits";
    if (f->gradients && f->dtype != RIDGE_BF16) return "gradients of f16 leave its range";
    if (!linear_tileable(&f->x, 2) || !linear_tileable(&f->w, 2)) return "x or w is not in lines of 16-byte pieces";
    return !f->gradients || (linear_tileable(&f->dx, 2) && linear_tileable(&f->dw, 2))
               ? NULL
               : "gradients are not in lines of 16-byte pieces";
}

static const char *refuses_shared(const facts *f) {
    if (f->bytes == 2 && !linear_shared_fits(f->batch, f->depth, f->classes))
        return "for up to 1024 classes, and a depth that can be shared";
    return refuses_tiles(f);
}

/* What copies may take: more where they are needed however the operands lie. */
static size_t copies_most(int64_t depth, int64_t classes, int bytes) {
    const bool odd = depth * bytes % 16 != 0 || classes * bytes % 16 != 0;
    return (size_t)(odd ? 1024 : 64) << 20;
}

static const char *refuses_copied(const facts *f) {
    const linear_loss_copies copies = linear_loss_copies_of(f->batch, f->depth, f->classes, f->bytes, f->gradients);
    const skinny_facts s = skinny_of(f);
    if (f->bytes == 4 && f->classes > SKINNY_CLASSES) return "for up to 128 classes, or 16 bits";
    if (f->bytes == 4 && f->depth < SKINNY_DEPTH) return "for a depth of at least 16";
    if (f->gradients && f->dtype == RIDGE_F16) return "gradients of f16 leave its range";
    if (f->bytes == 4 ? s.pieces && f->depth % SKINNY_DEPTH == 0 : refuses_tiles(f) == NULL)
        return "for operands that are not in lines of 16-byte pieces";
    return copies.bytes > copies_most(f->depth, f->classes, f->bytes) ? "copies take too much memory" : NULL;
}

const char *linear_loss_refusal(int way, const linear_loss_facts *f) {
    const skinny_facts s = skinny_of(f);
    if (way == LINEAR_LOSS_FFMA) return NULL;
    if (f->sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (f->batch < 1) return "for one row and more";
    switch (way) {
        case LINEAR_LOSS_SPLIT: return refuses_split(f);
        case LINEAR_LOSS_TILES: return refuses_tiles(f);
        case LINEAR_LOSS_SHARED: return refuses_shared(f);
        case LINEAR_LOSS_COPIED: return refuses_copied(f);
        default: return f->bytes == 4 ? skinny_refusal(way, &s) : "for f32 and tf32";
    }
}
const char *linear_loss_refuses(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    return linear_loss_refusal(way->number, &f);
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
    if (pipe == LINEAR_PIPES) return linear_ffma_cost(m, n, k, 1, f->bytes, 1, f->sm, f->sm_count);
    const double split = pipe == LINEAR_PIPE_SPLIT ? linear_pass_cost(8 * (double)k * (double)(m + n)) : 0;
    return split + linear_pipe_cost((linear_pipe)pipe, m, n, k, 1, f->sm_count);
}

/* Losses from parts; gradients' pass for their sums, which reads them, and writes them where they were exponentials. */
static double between_cost(const facts *f) {
    const double g = (double)ridge_dtype_size(linear_gradient_dtype(f->dtype)) * (double)f->batch * (double)f->classes;
    return (f->forward ? linear_pass_cost(0) : 0) + (f->gradients ? linear_pass_cost((f->forward ? 2 : 1) * g) : 0) +
           (f->gradients ? linear_pass_cost(0) : 0);
}

/* The sums of all shares are written and read; predicted from bytes and FLOP, not measured. */
static double shared_cost(const facts *f) {
    const int shares = linear_softmax_shares(f->batch, f->depth, f->classes);
    const int64_t each = (f->depth + shares - 1) / shares;
    return linear_pipe_cost(LINEAR_PIPE_16, f->batch, f->classes, each, shares, f->sm_count) +
           linear_pass_cost(2 * linear_shared_bytes(f->batch, f->depth, f->classes)) + between_cost(f);
}

/* Copies of x and w and, in 16 bits, of dx and dw: predicted from bytes, not measured. */
static double copies_bytes(const facts *f) {
    const double operands = f->bytes * (double)(f->batch + f->classes) * (double)f->depth;
    return operands * (f->gradients && f->bytes == 2 ? 2 : 1);
}

double linear_loss_microseconds(int way, const linear_loss_facts *f) {
    if (way == LINEAR_LOSS_COPIED) {
        const facts copied = linear_loss_copied(f);
        const int inner = linear_loss_of_copied(&copied, 0);
        return linear_pass_cost(2 * copies_bytes(f)) + (inner < 0 ? 0 : linear_loss_microseconds(inner, &copied));
    }
    const skinny_facts s = skinny_of(f);
    const int pipe = way == LINEAR_LOSS_SPLIT                                ? LINEAR_PIPE_SPLIT
                     : way == LINEAR_LOSS_TILES || way == LINEAR_LOSS_SHARED ? LINEAR_PIPE_16
                                                                             : LINEAR_PIPES;
    double cost = way < SKINNY_WAYS           ? skinny_cost(way, &s)
                  : way == LINEAR_LOSS_SHARED ? shared_cost(f)
                                              : product_cost(f, pipe, 0) + between_cost(f);
    for (int product = 1; f->gradients && product <= 2; product++) cost += product_cost(f, pipe, product);
    return cost;
}
double linear_loss_cost(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    return linear_loss_microseconds(way->number, &f);
}

/* ---- what each moves and needs ---- */

/* Forward: parts instead of logits. Gradients: written and read for their sums and by two products; with the forward,
 * they are exponentials first, which are read and written once more. Split operands are written and read besides. */
void linear_loss_traffic(int way, const ce_places *at, const ridge_problem *problem, ridge_traffic *traffic) {
    const facts f = facts_of(at, problem);
    const double copies = way == LINEAR_LOSS_COPIED ? copies_bytes(&f) : 0;
    if (way == LINEAR_LOSS_COPIED) {
        const facts copied = linear_loss_copied(&f);
        way = linear_loss_of_copied(&copied, 0);
    }
    const double logits = (double)f.batch * (double)f.classes,
                 g = (double)ridge_dtype_size(linear_gradient_dtype(f.dtype)) * logits;
    ridge_work work;
    ce_work(at, &problem->c, &work);
    *traffic = (ridge_traffic){.read = work.bytes_read + copies, .streamed = work.bytes_written + copies};
    const double parts = f.forward && way >= SKINNY_WAYS ? 8 * logits / 256 : 0;
    const double split = way == LINEAR_LOSS_SPLIT ? linear_split_traffic(f.batch, f.depth, f.classes, f.gradients) : 0;
    traffic->read += parts + split, traffic->streamed += parts + split;
    if (!f.gradients) return;
    const bool exponentials = f.forward && way >= SKINNY_WAYS;
    traffic->read += f.bytes * (double)f.depth * (double)(f.batch + f.classes) + (exponentials ? 4 : 3) * g;
    traffic->streamed += (exponentials ? 2 : 1) * g;
}

size_t linear_loss_bytes(int way, const ce_places *at, const ridge_case *c) {
    const int64_t rows = c->dim[CE_BATCH], depth = c->dim[CE_DEPTH], classes = c->dim[CE_CLASSES];
    const int bytes = (int)ridge_dtype_size(c->dtype);
    const bool gradients = at->dx >= 0;
    if (way != LINEAR_LOSS_COPIED) return linear_loss_scratch_of(way, rows, depth, classes, c->dtype, gradients).bytes;
    const linear_loss_copies copies = linear_loss_copies_of(rows, depth, classes, bytes, gradients);
    if ((bytes == 4 && classes > SKINNY_CLASSES) || copies.bytes > copies_most(depth, classes, bytes)) return 0;
    size_t most = 0;
    for (int inner = SKINNY_NARROW; inner < LINEAR_LOSS_FFMA; inner++) {
        if (inner == LINEAR_LOSS_SPLIT) continue; /* it reads any alignment */
        const size_t its =
            linear_loss_scratch_of(inner, rows, (depth + 15) / 16 * 16, classes, c->dtype, gradients).bytes;
        if (its > most) most = its;
    }
    return copies.bytes + most;
}

/* Gradients of few classes mix products of fp16 for the logits with multiply-adds. */
ridge_arithmetic linear_loss_arithmetic(int way, const ce_places *at, const ridge_problem *problem) {
    const facts f = facts_of(at, problem), copied = linear_loss_copied(&f);
    if (way == LINEAR_LOSS_COPIED) way = linear_loss_of_copied(&copied, 0);
    const bool fp32 = f.bytes == 4, skinny = way < SKINNY_WAYS;
    const bool tf32 = way == SKINNY_NARROW || way == SKINNY_SHARED || way == SKINNY_CLUSTER;
    if (!fp32 || way == LINEAR_LOSS_FFMA || (skinny && at->dx >= 0))
        return (ridge_arithmetic){.type = RIDGE_DTYPE_NONE};
    return (ridge_arithmetic){.type = tf32 ? RIDGE_TF32 : RIDGE_F16, .products = 3};
}
