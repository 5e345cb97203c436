#include "linear/logits.h"

#include "cuda/host/scratch.h"
#include "gemm/ways.h"

/* What two launches take besides: 2 x 4 x 16 in f16 in 4.1 us on an H100. */
static const double ENDS = 0.8;
/* Of an H200: bytes a microsecond, read and written, of copies that begin anywhere, and of rows of logits; microseconds of a
 * launch that overlaps the one before. */
static const double COPIED = 2.6e6, ROWS = 3.4e6, LAUNCH = 1.5;

static int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by * by; }

/* A head's classes side by side with the others': all heads' lines begin at multiples of 16 bytes. */
static int64_t packed_classes(int64_t classes, int64_t heads, ridge_dtype dtype) {
    return up(classes, ridge_dtype_size(dtype) == 4 || heads % 2 == 0 ? 4 : 8);
}

/* Products; at least one. */
static double launches_of(const linear_logits_plan *l) { return l->packed || l->heads < 1 ? 1 : (double)l->heads; }

/* Bytes of all heads. packed_w: of the weights' copies, where there are any. */
typedef struct sizes {
    double x, w, bias, p, z, packed_w;
} sizes;
static sizes sizes_of(const linear_logits_plan *l, ridge_dtype dtype) {
    const double size = (double)ridge_dtype_size(dtype), columns = (double)l->heads * (double)l->classes;
    return (sizes){.x = size * (double)l->rows * (double)l->depth,
                   .w = size * (double)l->depth * columns,
                   .bias = size * columns,
                   .p = size * (double)l->rows * columns,
                   .z = 4 * (double)l->rows * (l->packed ? (double)l->line : columns),
                   .packed_w = l->packed ? size * (double)l->depth * (double)l->line : 0};
}

/* Of all heads: 0 where each begins at a multiple of 16 bytes. */
static unsigned offset_of(const ridge_operand *o, int64_t heads, int64_t head_bytes) {
    return heads > 1 && o->offset % 16 == 0 ? (unsigned)(head_bytes % 16) : o->offset;
}

/* Where logits lie, and how: in the place of fp32 results whose lines a product stores in pieces of 16 bytes. */
static void place_logits(linear_logits_plan *l, const ridge_problem *p) {
    const ridge_operand *to = &p->tensor[LINEAR_LOGITS_INPUTS];
    const bool pieces = (to->stride[0] | (l->heads > 1 ? to->stride[1] : 0)) % 4 == 0 && to->offset % 16 == 0;
    l->in_place = !l->packed && ridge_dtype_size(p->c.dtype) == 4 && pieces;
    if (l->in_place) {
        l->line = to->stride[0], l->head = l->heads > 1 ? to->stride[1] : 0;
    } else if (l->packed) {
        l->head = packed_classes(l->classes, l->heads, p->c.dtype), l->line = l->heads * l->head;
    } else {
        l->line = up(l->classes, 4), l->head = l->rows * l->line;
    }
    if (!l->in_place)
        l->z = linear_scratch_take(&l->plan.scratch, 4.0 * (double)l->rows * (double)l->line * launches_of(l));
}

/* The operands of one product. w of heads has them in front. */
static ridge_problem product_of(const linear_logits_plan *l, bool of_heads, const ridge_problem *p) {
    const int64_t bytes = (int64_t)ridge_dtype_size(p->c.dtype), columns = l->packed ? l->line : l->classes;
    const ridge_operand *w = &p->tensor[LINEAR_LOGITS_W], *to = &p->tensor[LINEAR_LOGITS_INPUTS];
    ridge_problem g = {.c = {.dim = {l->rows, columns, l->depth}, .dtype = p->c.dtype, .option = {1, bytes == 2}},
                       .here = p->here};
    g.here.tuned = NULL;
    g.tensor[GEMM_A] = p->tensor[LINEAR_LOGITS_X];
    g.tensor[GEMM_B] = g.tensor[GEMM_C] = (ridge_operand){.stride = {l->line, 1}};
    if (!l->packed)
        g.tensor[GEMM_B] = (ridge_operand){.stride = {w->stride[of_heads], w->stride[of_heads + 1]},
                                           .offset = offset_of(w, l->heads, w->stride[0] * bytes)};
    if (l->in_place) g.tensor[GEMM_C].offset = offset_of(to, l->heads, l->head * bytes);
    return g;
}

static linear_logits_plan planned(const linear_softmax_dims *dims, const ridge_problem *p, bool packed) {
    const int64_t *dim = p->c.dim;
    linear_logits_plan l = {.rows = dim[dims->batch],
                            .heads = dims->heads < 0 ? 1 : dim[dims->heads],
                            .depth = dim[dims->depth],
                            .classes = dim[dims->classes],
                            .packed = packed};
    ridge_plan product;
    place_logits(&l, p);
    const sizes of = sizes_of(&l, p->c.dtype);
    l.w = linear_scratch_take(&l.plan.scratch, of.packed_w);
    l.product = l.plan.scratch;
    l.problem = product_of(&l, dims->heads >= 0, p);
    l.way = gemm_cuda_quickest(&l.problem, &product);
    if (!l.way) return l.plan.refusal = "no product takes it", l;
    l.plan.us = launches_of(&l) * product.us + LAUNCH + ENDS + (of.z + of.p) / ROWS;
    if (packed) l.plan.us += LAUNCH + (of.w + of.packed_w) / COPIED;
    l.plan.scratch += product.scratch;
    l.plan.arithmetic = product.arithmetic;
    return l;
}

/* What the products move, or their operands and results; copies; rows. x is read from memory once, and by later heads'
 * products from L2. */
static ridge_traffic traffic_of(const linear_logits_plan *l, ridge_dtype dtype) {
    const sizes of = sizes_of(l, dtype);
    const double launches = launches_of(l);
    ridge_traffic t = l->way->plan(l->way, &l->problem).traffic;
    if (t.read <= 0) t = (ridge_traffic){.read = of.x + of.w / launches, .written = of.z / launches};
    t.read = t.read * launches - of.x * (launches - 1) + of.z + of.bias;
    t.written = t.written * launches + of.p;
    if (l->packed) t.read += of.w, t.written += of.packed_w;
    return t;
}

linear_logits_plan linear_logits_of(const linear_softmax_dims *dims, const ridge_problem *p) {
    const linear_logits_plan apart = planned(dims, p, false);
    if (apart.heads < 2 || dims->apart) return apart;
    const linear_logits_plan packed = planned(dims, p, true);
    const bool fits =
        (double)packed.line <= INT32_MAX && sizes_of(&packed, p->c.dtype).packed_w <= (double)LINEAR_COPIES_MOST;
    return !packed.plan.refusal && fits && packed.plan.us < apart.plan.us ? packed : apart;
}

ridge_plan linear_logits_plan_of(const ridge_way *way, const ridge_problem *p) {
    linear_logits_plan l = linear_logits_of(way->own, p);
    if (!l.plan.refusal) l.plan.traffic = traffic_of(&l, p->c.dtype);
    return l.plan;
}
