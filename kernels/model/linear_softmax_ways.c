/* The ways of softmax(x w + b): what each refuses, costs, moves and needs. */
#include "cuda/linear/problem.h"
#include "cuda/linear/softmax_scratch.h"
#include "model/linear_cost.h"

enum { X, W, B, P }; /* places of the tensors */

typedef struct facts {
    ridge_dtype dtype;
    int bytes; /* of an element */
    int64_t batch, heads, depth, classes;
    linear_matrix x, w; /* w: [classes, depth], of the first head */
    int64_t w_head;
    int sm, sm_count;
} facts;

static int64_t heads_of(const linear_softmax_dims *at, const ridge_case *c) {
    return at->heads < 0 ? 1 : c->dim[at->heads];
}

static facts facts_of(const linear_softmax_dims *at, const ridge_problem *p) {
    const ridge_operand *w = &p->tensor[W];
    const bool heads = at->heads >= 0;
    facts f = {.dtype = p->c.dtype,
               .bytes = (int)ridge_dtype_size(p->c.dtype),
               .batch = p->c.dim[at->batch],
               .heads = at->apart ? 1 : heads_of(at, &p->c),
               .depth = p->c.dim[at->depth],
               .classes = p->c.dim[at->classes],
               .w_head = heads ? w->stride[0] : 0,
               .sm = p->here.sm,
               .sm_count = p->here.sm_count};
    ridge_operand first = *w;
    if (heads) first.stride[0] = w->stride[1], first.stride[1] = w->stride[2];
    f.x = linear_matrix_of(&p->tensor[X], f.batch, f.depth);
    f.w = linear_matrix_of(&first, f.depth, f.classes);
    f.w = linear_transposed(f.w);
    return f;
}

/* ---- few classes ---- */

static skinny_facts skinny_of(const facts *f) {
    /* w by bulk copies: lines along the depth, or whole slices of it without gaps */
    const bool trans = linear_by_rows(&f->w) && f->w.line != 1;
    const bool w_lies = trans ? f->w.line % 4 == 0 : f->w.step == f->classes;
    return (skinny_facts){
        .batch = f->batch,
        .heads = f->heads,
        .depth = f->depth,
        .classes = f->classes,
        .pieces = f->x.offset % 16 == 0 && f->w.offset % 16 == 0 && f->x.line % 4 == 0 && f->w_head % 4 == 0 && w_lies,
        .sm = f->sm,
        .sm_count = f->sm_count};
}

/* ---- what each refuses ---- */

static const char *refuses_tiles(int way, const facts *f) {
    const bool split = way == LINEAR_TILES_SPLIT;
    const double lines = (double)f->heads * ((double)f->batch + (double)linear_softmax_wide(f->classes));
    if (f->sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (f->batch < 1 || lines > INT32_MAX / 2.0) return "for 1 to 2^30 rows and classes";
    if (f->classes > LINEAR_TILES_CLASSES) return "for up to 8192 classes";
    if (!linear_tileable(&f->x, f->bytes)) return "x is not in lines of 16-byte pieces";
    if (f->bytes == 4 && f->depth % 4 != 0) return "for a depth in multiples of 4";
    if (f->heads > 1 && (!split || linear_by_rows(&f->w))) return "for one head";
    if ((f->bytes == 2 || linear_by_rows(&f->w)) && !linear_tileable(&f->w, f->bytes))
        return "w is not in lines of 16-byte pieces";
    return NULL;
}

static const char *refuses_type(int way, const facts *f) {
    switch (way) {
        case LINEAR_TILES_TF32: return f->dtype == RIDGE_TF32 ? NULL : "for tf32";
        case LINEAR_TILES_SPLIT: return f->dtype == RIDGE_F32 ? NULL : "for f32";
        case LINEAR_TILES_16:
        case LINEAR_LOGITS_16: return f->bytes == 2 ? NULL : "for types of 16 bits";
        case LINEAR_LOGITS_FFMA: return NULL;
        default: return f->bytes == 4 ? NULL : "for f32 and tf32";
    }
}

const char *linear_softmax_refuses(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const skinny_facts s = skinny_of(&f);
    const char *type = refuses_type(way->number, &f);
    if (type || way->number == LINEAR_LOGITS_FFMA) return type;
    if (way->number < SKINNY_WAYS) return skinny_refusal(way->number, &s);
    if (way->number != LINEAR_LOGITS_16) return refuses_tiles(way->number, &f);
    if (f.sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    return linear_tileable(&f.x, f.bytes) && linear_tileable(&f.w, f.bytes)
               ? NULL
               : "x or w is not in lines of 16-byte pieces";
}

/* ---- what each costs ---- */

/* Softmax of logits in memory, a launch a head. */
static double softmax_cost(const facts *f) {
    const double rows = (double)f->batch * (double)f->classes * (4 + f->bytes);
    return 3.5 + (double)f->heads * linear_pass_cost(rows);
}

double linear_softmax_cost(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const skinny_facts s = skinny_of(&f);
    const int64_t m = f.batch, n = f.classes, k = f.depth;
    const double x = (double)m * (double)k, w = (double)f.heads * (double)n * (double)k;
    const double logits = 4.0 * (double)m * (double)n / 4.2e6; /* written */
    switch (way->number) {
        case LINEAR_TILES_SPLIT:
            return linear_pass_cost(8 * (x + w)) +
                   linear_pipe_cost(n <= LINEAR_TILE_SINGLE ? LINEAR_PIPE_SPLIT_SINGLE : LINEAR_PIPE_SPLIT_SOFTMAX, m,
                                    n, k, f.heads, f.sm_count);
        case LINEAR_TILES_TF32:
            return (linear_by_rows(&f.w) ? 0 : linear_pass_cost(8 * w)) +
                   linear_pipe_cost(LINEAR_PIPE_TF32_SOFTMAX, m, n, k, 1, f.sm_count);
        case LINEAR_TILES_16: return linear_pipe_cost(LINEAR_PIPE_16_SOFTMAX, m, n, k, 1, f.sm_count);
        case LINEAR_LOGITS_16:
            return linear_pipe_cost(LINEAR_PIPE_16, m, n, k, 1, f.sm_count) + logits + softmax_cost(&f);
        case LINEAR_LOGITS_FFMA:
            return linear_ffma_cost(m, n, k, f.heads, f.bytes, 1, f.sm, f.sm_count) + softmax_cost(&f);
        default: return skinny_cost(way->number, &s);
    }
}

/* ---- what each moves and needs ---- */

void linear_softmax_traffic(int way, const linear_softmax_dims *at, const ridge_problem *problem,
                            ridge_traffic *traffic) {
    const facts f = facts_of(at, problem);
    const double heads = (double)heads_of(at, &problem->c), bytes = f.bytes;
    const double x = (double)f.batch * (double)f.depth, w = heads * (double)f.depth * (double)f.classes;
    const double p = heads * (double)f.batch * (double)f.classes, b = heads * (double)f.classes;
    *traffic = (ridge_traffic){.read = bytes * (x + w + b), .written = bytes * p};
    const bool logits = way == LINEAR_LOGITS_16 || way == LINEAR_LOGITS_FFMA; /* fp32: in the place of p */
    const bool trans = way == LINEAR_TILES_TF32 && !linear_by_rows(&f.w);
    const double again = way == LINEAR_TILES_SPLIT ? 4 * (x + w)
                         : trans                   ? 4 * w
                         : logits                  ? 4 * p
                                                   : 0; /* written, then read */
    traffic->read += again, traffic->written += again;
}

size_t linear_softmax_scratch_bytes(int way, const linear_softmax_dims *at, const ridge_case *c) {
    return linear_softmax_scratch_of(way, c->dim[at->batch], c->dim[at->depth], c->dim[at->classes], heads_of(at, c),
                                     c->dtype)
        .bytes;
}

ridge_arithmetic linear_three_of_tf32(const ridge_problem *problem) {
    const bool fp32 = problem->c.dtype == RIDGE_F32;
    return (ridge_arithmetic){.type = fp32 ? RIDGE_TF32 : RIDGE_DTYPE_NONE, .products = fp32 ? 3 : 0};
}
ridge_arithmetic linear_three_of_fp16(const ridge_problem *problem) {
    const bool fp32 = problem->c.dtype == RIDGE_F32;
    return (ridge_arithmetic){.type = fp32 ? RIDGE_F16 : RIDGE_DTYPE_NONE, .products = fp32 ? 3 : 0};
}
