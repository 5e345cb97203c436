/* The ways of the cross-entropy family on a GPU: what each refuses, costs, moves and needs. */
#include "cuda/linear/loss_scratch.h"
#include "cuda/linear/problem.h"
#include "model/cross_entropy.h"
#include "model/linear_cost.h"

typedef struct facts {
    ridge_dtype dtype;
    int bytes; /* of an element */
    int64_t batch, depth, classes;
    bool gradients, forward; /* forward: losses are made, too */
    linear_matrix x, w, dx, dw;
    int sm, sm_count;
} facts;

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

/* Lines of 16-byte pieces; whole ones along what is summed over. */
static bool splits(const linear_matrix *m) {
    return linear_tileable(m, 4) && (!linear_by_rows(m) || m->columns % 4 == 0);
}

static const char *refuses_split(const facts *f) {
    if (f->bytes != 4) return "for f32 and tf32";
    if (f->classes <= SKINNY_CLASSES) return "for more than 128 classes";
    if (!linear_split_fits(f->batch, f->depth, f->classes, f->gradients)) return "hi and lo parts exceed 1 GiB";
    if (!splits(&f->x) || !splits(&f->w)) return "x or w is not in lines of 16-byte pieces";
    if (!f->gradients) return NULL;
    return f->classes % 4 == 0 && splits(&f->dx) && splits(&f->dw) ? NULL
                                                                   : "gradients are not in lines of 16-byte pieces";
}

static const char *refuses_tiles(const facts *f) {
    if (f->bytes != 2) return "for types of 16 bits";
    if (f->gradients && f->dtype != RIDGE_BF16) return "gradients of f16 leave its range";
    if (!linear_tileable(&f->x, 2) || !linear_tileable(&f->w, 2)) return "x or w is not in lines of 16-byte pieces";
    return !f->gradients || (linear_tileable(&f->dx, 2) && linear_tileable(&f->dw, 2))
               ? NULL
               : "gradients are not in lines of 16-byte pieces";
}

const char *linear_loss_refuses(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const skinny_facts s = skinny_of(&f);
    if (way->number == LINEAR_LOSS_FFMA) return NULL;
    if (f.sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (f.batch < 1) return "for one row and more";
    if (way->number == LINEAR_LOSS_SPLIT) return refuses_split(&f);
    if (way->number == LINEAR_LOSS_TILES) return refuses_tiles(&f);
    return f.bytes == 4 ? skinny_refusal(way->number, &s) : "for f32 and tf32";
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

double linear_loss_cost(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const skinny_facts s = skinny_of(&f);
    const int pipe = way->number == LINEAR_LOSS_SPLIT   ? LINEAR_PIPE_SPLIT
                     : way->number == LINEAR_LOSS_TILES ? LINEAR_PIPE_16
                                                        : LINEAR_PIPES;
    const bool skinny = way->number < SKINNY_WAYS;
    double cost = skinny ? skinny_cost(way->number, &s) : product_cost(&f, pipe, 0) + between_cost(&f);
    for (int product = 1; f.gradients && product <= 2; product++) cost += product_cost(&f, pipe, product);
    return cost;
}

/* ---- what each moves and needs ---- */

/* Forward: parts instead of logits. Gradients: written and read for their sums and by two products; with the forward,
 * they are exponentials first, which are read and written once more. Split operands are written and read besides. */
void linear_loss_traffic(int way, const ce_places *at, const ridge_problem *problem, ridge_traffic *traffic) {
    const facts f = facts_of(at, problem);
    const double logits = (double)f.batch * (double)f.classes,
                 g = (double)ridge_dtype_size(linear_gradient_dtype(f.dtype)) * logits;
    ridge_work work;
    ce_work(at, &problem->c, &work);
    *traffic = (ridge_traffic){.read = work.bytes_read, .streamed = work.bytes_written};
    const double parts = f.forward && way >= SKINNY_WAYS ? 8 * logits / 256 : 0;
    const double split = way == LINEAR_LOSS_SPLIT ? linear_split_traffic(f.batch, f.depth, f.classes, f.gradients) : 0;
    traffic->read += parts + split, traffic->streamed += parts + split;
    if (!f.gradients) return;
    const bool exponentials = f.forward && way >= SKINNY_WAYS;
    traffic->read += f.bytes * (double)f.depth * (double)(f.batch + f.classes) + (exponentials ? 4 : 3) * g;
    traffic->streamed += (exponentials ? 2 : 1) * g;
}

size_t linear_loss_bytes(int way, const ce_places *at, const ridge_case *c) {
    return linear_loss_scratch_of(way, c->dim[CE_BATCH], c->dim[CE_DEPTH], c->dim[CE_CLASSES], c->dtype, at->dx >= 0)
        .bytes;
}

/* Gradients of few classes mix products of fp16 for the logits with multiply-adds. */
ridge_arithmetic linear_loss_arithmetic(int way, const ce_places *at, const ridge_problem *problem) {
    const bool fp32 = ridge_dtype_size(problem->c.dtype) == 4, skinny = way < SKINNY_WAYS;
    const bool tf32 = way == SKINNY_NARROW || way == SKINNY_SHARED || way == SKINNY_CLUSTER;
    if (!fp32 || way == LINEAR_LOSS_FFMA || (skinny && at->dx >= 0))
        return (ridge_arithmetic){.type = RIDGE_DTYPE_NONE};
    return (ridge_arithmetic){.type = tf32 ? RIDGE_TF32 : RIDGE_F16, .products = 3};
}
