/* The ways of softmax(x w + b): what each refuses, costs, moves and needs. */
#include <math.h>

#include "cuda/gemv/plan.h"
#include "cuda/linear/problem.h"
#include "cuda/linear/softmax_scratch.h"
#include "linear/cost.h"

enum { X, W, B, P }; /* places of the tensors */

typedef linear_softmax_facts facts;

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
               .w_head = heads_of(at, &p->c) > 1 ? w->stride[0] : 0,
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
    /* w by cp.async.bulk: lines along the depth, or whole slices of it without gaps */
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

/* Of every head: each begins at a multiple of 16 bytes, too. */
static bool w_is_tileable(const facts *f) { return linear_tileable(&f->w, f->bytes) && f->w_head * f->bytes % 16 == 0; }
static bool is_tileable(const facts *f) { return linear_tileable(&f->x, f->bytes) && w_is_tileable(f); }

static const char *refuses_copies_of_heads(const facts *f) {
    const linear_softmax_scratch at =
        linear_softmax_scratch_of(LINEAR_TILES_HEADS, f->batch, f->depth, f->classes, f->heads, f->dtype);
    return at.bytes > 0 ? NULL : "copies take too much memory";
}

static const char *refuses_tiles(int way, const facts *f) {
    const bool packed = way == LINEAR_TILES_HEADS;
    const int64_t wide = packed ? linear_heads_wide(f->classes) : linear_softmax_wide(f->classes);
    const double lines = (double)f->heads * ((double)f->batch + (double)wide);
    if (f->sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (f->batch < 1 || lines > INT32_MAX / 2.0) return "for 1 to 2^30 rows and classes";
    if (f->classes > LINEAR_TILES_CLASSES) return "for up to 8192 classes";
    if (packed) return refuses_copies_of_heads(f);
    if (f->heads > 1 && (way != LINEAR_TILES_SPLIT || linear_by_rows(&f->w))) return "for one head";
    if (way == LINEAR_TILES_SPLIT) return NULL; /* the pass that splits reads any alignment */
    return is_tileable(f) ? NULL : "x or w is not in lines of 16-byte pieces";
}

static const char *refuses_type(int way, const facts *f) {
    switch (way) {
        case LINEAR_TILES_16:
        case LINEAR_TILES_HEADS: return f->bytes == 2 ? NULL : "for types of 16 bits";
        case LINEAR_FEW_ROWS:
        case LINEAR_COPIED:
        case LINEAR_THIN: return NULL;
        default: return f->bytes == 4 ? NULL : "for f32 and tf32";
    }
}

static const char *refuses_copied(const facts *f) {
    const linear_copies copies = linear_copies_of(f->batch, f->depth, f->classes, f->heads, f->bytes);
    const facts copied = linear_softmax_copied(f);
    if (f->batch < 1) return "for one row and more";
    if (f->dtype == RIDGE_F32 && f->classes > SKINNY_CLASSES) return "for up to 128 classes, or fewer bits";
    if (copies.bytes > LINEAR_COPIES_MOST) return "copies take too much memory";
    const skinny_facts s = skinny_of(f);
    const bool skinny = f->bytes == 4 && f->classes <= SKINNY_CLASSES;
    if (skinny ? s.pieces && f->depth % SKINNY_DEPTH == 0 : is_tileable(f))
        return "for operands that are not in lines of 16-byte pieces";
    return linear_softmax_of_copied(&copied, 0) < 0 ? "copies would not help" : NULL;
}

static const char *refuses_few_rows(const facts *f) {
    if (f->batch < 1 || f->batch > GEMV_BATCH) return "for 1 to 64 rows";
    if (f->depth < 1 || f->classes < 1 || f->depth > INT32_MAX / 2 || f->classes > INT32_MAX / 2)
        return "for 1 to 2^30 classes and steps of the depth";
    if (f->heads < 1 || f->heads * f->batch > 65535) return "for up to 65535 rows of all heads";
    return gemv_fits(f->batch, f->depth, f->classes, f->heads, gemv_logits_by(f->dtype)) ? NULL : "sums exceed 256 MiB";
}

static const char *refuses_thin(const facts *f) {
    const double columns = (double)f->heads * (double)f->classes;
    return thin_refusal(f->sm, f->batch, columns, f->depth, f->bytes, f->dtype == RIDGE_F32, linear_by_rows(&f->x));
}

const char *linear_softmax_refusal(int way, const linear_softmax_facts *f) {
    const skinny_facts s = skinny_of(f);
    const char *type = refuses_type(way, f);
    if (type) return type;
    if (way < SKINNY_WAYS) return skinny_refusal(way, &s);
    if (way < LINEAR_FEW_ROWS) return refuses_tiles(way, f);
    if (way == LINEAR_FEW_ROWS) return refuses_few_rows(f);
    return way == LINEAR_THIN ? refuses_thin(f) : refuses_copied(f);
}

/* ---- operands that are copied first ---- */

linear_softmax_facts linear_softmax_copied(const linear_softmax_facts *f) {
    const linear_copies copies = linear_copies_of(f->batch, f->depth, f->classes, f->heads, f->bytes);
    const int64_t padded = (f->depth + 15) / 16 * 16;
    facts c = *f;
    c.depth = padded;
    c.x.offset = c.w.offset = 0;
    c.x.columns = c.x.line = c.w.columns = padded;
    if (linear_by_rows(&f->w) && f->w.line != 1)
        c.w.line = padded;
    else
        c.w.line = 1, c.w.step = copies.w_stride;
    c.w_head = f->heads > 1 ? padded * copies.w_stride : 0;
    return c;
}

/* Operands of any alignment: nothing that copies are for. */
static bool reads_any(int way) { return way == LINEAR_TILES_SPLIT || way == LINEAR_TILES_HEADS; }

int linear_softmax_of_copied(const linear_softmax_facts *copied, unsigned tried) {
    int best = -1;
    double least = 0;
    for (int way = SKINNY_NARROW; way < LINEAR_FEW_ROWS; way++) {
        if (reads_any(way) || tried >> way & 1u || linear_softmax_refusal(way, copied)) continue;
        const double cost = linear_softmax_microseconds(way, copied);
        if (best < 0 || cost < least) best = way, least = cost;
    }
    return best;
}

/* ---- what each costs ---- */

static double bytes_of_operands(const facts *f) {
    return f->bytes * ((double)f->batch + (double)f->heads * (double)f->classes) * (double)f->depth;
}

/* Logits are written, and read from L2, then probabilities written, by a launch for all heads. */
static double few_rows_cost(const facts *f) {
    const double logits = (double)f->batch * (double)f->heads * (double)f->classes;
    return linear_few_rows_cost(f->batch, f->depth, f->classes, f->heads, f->bytes, gemv_logits_by(f->dtype),
                                linear_by_rows(&f->w), f->sm_count) +
           linear_pass_cost(logits * (4 + f->bytes)) + 1;
}
/* What is written of copied operands, in elements. */
static double packed_elements(const facts *f) {
    const bool copies_x = !linear_tileable(&f->x, f->bytes);
    const double w = (double)f->heads * (double)linear_heads_wide(f->classes);
    return ((copies_x ? (double)f->batch : 0) + w) * (double)f->depth;
}
/* Of them. Where nothing but w's classes has to be filled up, it is read in pieces of 16 bytes. */
static double packed_cost(const facts *f) {
    const double bytes = 2 * f->bytes * packed_elements(f);
    return is_tileable(f) ? linear_pass_cost(bytes) : linear_copy_cost(bytes);
}
/* Tiles that wait for many beside them: 4629 x 1041 x 5375 in 716 us, twice those of few. */
static double meeting(int64_t classes) { return classes > 1024 ? 1 + (double)(classes - 1024) / 4096 : 1; }

/* Of the product's prediction: 1024, 16 heads of 1024 x 32 in 13.4 us; wider tiles, 203 rows, 3 of 173 x 171 in 14.9; where there is
 * little to multiply, 123727, 17 of 9 x 31 in 424. */
static const double HEADS_NARROW = 1.15, HEADS_WIDE = 1.4, HEADS_SHALLOW = 1.6;
/* Likewise where tiles have to meet that have little to multiply: 1201, 61 of 131 x 487 in 240; of one head, in fp16:
 * 906235 x 57 x 135 in tf32 in 1719. */
static const double HEADS_SHALLOW_MEETING = 3.2, SHALLOW_MEETING = 2.7;
static double shallow(int64_t depth, int64_t classes, int64_t tile) {
    return depth <= 64 && classes > tile ? SHALLOW_MEETING : 1;
}
static double heads_factor(const facts *f, int64_t tile) {
    if (f->depth <= 192 && f->classes > tile) return HEADS_SHALLOW_MEETING;
    if (f->depth <= 64) return HEADS_SHALLOW;
    return tile > LINEAR_TILE_NARROW ? HEADS_WIDE : HEADS_NARROW;
}
static double tiles_heads_cost(const facts *f) {
    const int64_t tile = linear_heads_tile(f->classes);
    const linear_pipe pipe = tile == LINEAR_TILE_NARROW   ? LINEAR_PIPE_16_NARROW
                             : tile == LINEAR_TILE_MIDDLE ? LINEAR_PIPE_HALF_SOFTMAX
                                                          : LINEAR_PIPE_16_SOFTMAX;
    const double p = (double)f->batch * (double)f->heads * (double)f->classes;
    return packed_cost(f) +
           linear_pipe_cost(pipe, f->batch, f->classes, f->depth, f->heads, f->sm_count) * meeting(f->classes) *
               heads_factor(f, tile) +
           (tile == LINEAR_TILE_NARROW ? linear_bytes_cost(f->bytes * p) : 0);
}

/* Operands to hi and lo parts. */
static double split_pass_cost(const facts *f) {
    const double lines = (double)f->batch + (double)f->heads * (double)f->classes, bytes = 8 * lines * (double)f->depth;
    return is_tileable(f) ? linear_scaling_cost(lines, bytes)
                          : fmax(linear_scaling_cost(lines, bytes), linear_copy_cost(bytes));
}
double linear_softmax_microseconds(int way, const linear_softmax_facts *f) {
    const skinny_facts s = skinny_of(f);
    const int64_t m = f->batch, n = f->classes, k = f->depth;
    switch (way) {
        case LINEAR_TILES_SPLIT:
            return split_pass_cost(f) +
                   linear_pipe_cost(n <= LINEAR_TILE_SINGLE ? LINEAR_PIPE_SPLIT_SINGLE : LINEAR_PIPE_SPLIT_SOFTMAX, m,
                                    n, k, f->heads, f->sm_count) *
                       meeting(n) * shallow(k, n, LINEAR_TILE_MIDDLE);
        case LINEAR_TILES_16: return linear_pipe_cost(LINEAR_PIPE_16_SOFTMAX, m, n, k, 1, f->sm_count);
        case LINEAR_TILES_HEADS: return tiles_heads_cost(f);
        case LINEAR_FEW_ROWS: return few_rows_cost(f);
        case LINEAR_THIN:
            return thin_cost(m, k, f->heads, n, f->bytes, f->dtype == RIDGE_F32, linear_phases(&f->x, f->bytes), f->sm,
                             f->sm_count);
        case LINEAR_COPIED: {
            const facts copied = linear_softmax_copied(f);
            const int inner = linear_softmax_of_copied(&copied, 0);
            return linear_copy_cost(bytes_of_operands(f) * (1 + (double)copied.depth / (double)f->depth)) +
                   (inner < 0 ? 0 : linear_softmax_microseconds(inner, &copied));
        }
        default: return skinny_cost(way, &s);
    }
}

/* ---- what each moves and needs ---- */

static void add_traffic(int way, const facts *f, ridge_traffic *traffic) {
    const double heads = (double)f->heads, x = (double)f->batch * (double)f->depth;
    const double w = heads * (double)f->depth * (double)f->classes, p = heads * (double)f->batch * (double)f->classes;
    double again = 0; /* written, then read */
    if (way == LINEAR_TILES_SPLIT) again = 4 * (x + w);
    if (way == LINEAR_TILES_HEADS) again = f->bytes * packed_elements(f);
    if (way == LINEAR_FEW_ROWS) {
        const gemv_product tensor = gemv_logits_by(f->dtype);
        const int64_t shares =
            gemv_plan_of(f->batch, f->depth, f->classes, f->heads, tensor, linear_by_rows(&f->w)).shares;
        again = 4 * p * (double)(shares > 1 ? shares + 1 : 1);
    }
    traffic->read += again, traffic->written += again;
}

static ridge_traffic traffic_of(int way, const linear_softmax_dims *at, const ridge_problem *problem) {
    linear_softmax_dims together = *at;
    together.apart = false;
    const facts f = facts_of(&together, problem);
    const double heads = (double)f.heads, bytes = f.bytes, operands = bytes_of_operands(&f);
    ridge_traffic t = {.read = operands + bytes * heads * (double)f.classes,
                       .written = bytes * heads * (double)f.batch * (double)f.classes};
    if (way != LINEAR_COPIED) {
        add_traffic(way, &f, &t);
        return t;
    }
    const facts copied = linear_softmax_copied(&f);
    t.read += operands, t.written += operands;
    add_traffic(linear_softmax_of_copied(&copied, 0), &copied, &t);
    return t;
}

static size_t scratch_of(int way, const linear_softmax_dims *at, const ridge_case *c) {
    const int64_t rows = c->dim[at->batch], depth = c->dim[at->depth], classes = c->dim[at->classes];
    const int64_t heads = at->apart ? 1 : heads_of(at, c);
    const int bytes = (int)ridge_dtype_size(c->dtype);
    if (way == LINEAR_FEW_ROWS)
        return rows <= GEMV_BATCH && gemv_fits(rows, depth, classes, heads, gemv_logits_by(c->dtype))
                   ? gemv_scratch_of(rows, depth, classes, heads, c->dtype, 0).bytes
                   : 0;
    if (way != LINEAR_COPIED) return linear_softmax_scratch_of(way, rows, depth, classes, heads, c->dtype).bytes;
    const linear_copies copies = linear_copies_of(rows, depth, classes, heads, bytes);
    if (copies.bytes > LINEAR_COPIES_MOST || (c->dtype == RIDGE_F32 && classes > SKINNY_CLASSES)) return 0;
    size_t most = 0;
    for (int inner = SKINNY_NARROW; inner < LINEAR_FEW_ROWS; inner++) {
        if (reads_any(inner)) continue;
        const size_t its =
            linear_softmax_scratch_of(inner, rows, (depth + 15) / 16 * 16, classes, heads, c->dtype).bytes;
        if (its > most) most = its;
    }
    return copies.bytes + most;
}

/* fp32 and tf32 as three products of such a type; other types as they are. */
static ridge_arithmetic three_of(ridge_dtype type, bool split) {
    return (ridge_arithmetic){.type = split ? type : RIDGE_DTYPE_NONE, .products = split ? 3 : 0};
}
ridge_arithmetic linear_thin_arithmetic(const ridge_problem *problem) {
    return three_of(RIDGE_TF32, problem->c.dtype == RIDGE_F32);
}
/* Of few rows, by multiply-adds, or of enough for the tensor cores. */
ridge_arithmetic linear_few_rows_arithmetic(const ridge_problem *problem, int64_t rows) {
    return three_of(RIDGE_TF32, problem->c.dtype == RIDGE_F32 && rows >= GEMV_TENSOR);
}
static ridge_arithmetic arithmetic_of(int way, const facts *f, const ridge_problem *problem) {
    const facts copied = linear_softmax_copied(f);
    if (way == LINEAR_COPIED) way = linear_softmax_of_copied(&copied, 0);
    if (way == LINEAR_FEW_ROWS) return linear_few_rows_arithmetic(problem, f->batch);
    if (way == LINEAR_THIN) return linear_thin_arithmetic(problem);
    return three_of(way < SKINNY_STREAM ? RIDGE_TF32 : RIDGE_F16, f->bytes == 4);
}

ridge_plan linear_softmax_way_plan(const ridge_way *way, const ridge_problem *problem) {
    const facts f = facts_of(way->own, problem);
    const char *refusal = linear_softmax_refusal(way->number, &f);
    if (refusal) return (ridge_plan){.refusal = refusal};
    return (ridge_plan){.us = linear_softmax_microseconds(way->number, &f),
                        .scratch = scratch_of(way->number, way->own, &problem->c),
                        .traffic = traffic_of(way->number, way->own, problem),
                        .arithmetic = arithmetic_of(way->number, &f, problem)};
}
