/* The products of a call on a GPU, and where scratch has what passes between them. */
#include "cuda/host/scratch.h"
#include "swiglu_ffn_backward.h"

/* Of a Hopper GPU: bytes a microsecond of a copy, read and written; microseconds of a launch that overlaps the one before. */
static const double DRAM = 4.2e6, LAUNCH = 1.5;

/* Elements of gates, ups and hidden values that the passes read, and that they write: see cuda.cu. */
static ridge_traffic of_passes(const back_plan *b, ridge_dtype dtype, int passes) {
    const double hidden = (double)b->m * (double)b->f * (double)ridge_dtype_size(dtype);
    return (ridge_traffic){.read = (passes > 1 ? 7 : 3) * hidden, .written = 3 * hidden};
}

static void place(back_plan *b, ridge_dtype dtype) {
    const double rows = (double)b->m * (double)ridge_dtype_size(dtype);
    b->hidden_line = back_line(b->f), b->both_line = back_line(2 * b->f);
    b->hidden = linear_scratch_take(&b->plan.scratch, rows * (double)b->hidden_line);
    b->both = linear_scratch_take(&b->plan.scratch, rows * (double)b->both_line);
    b->product = b->plan.scratch;
}

static void plan_products(back_plan *b, const ridge_problem *p) {
    const ridge_operand *in = p->tensor, *out = p->tensor + BACK_INPUTS;
    const ridge_operand hidden = operand_dense(b->hidden_line), both = operand_dense(b->both_line);
    const int64_t m = b->m, d = b->d, f = b->f;
    const int64_t dim[BACK_PRODUCTS][3] = {[BACK_TO_DH] = {m, f, d},
                                           [BACK_TO_DX] = {m, d, 2 * f},
                                           [BACK_TO_DW1] = {2 * f, d, m},
                                           [BACK_TO_DW2] = {d, f, m}};
    b->of[BACK_TO_DH] = linear_product_of(p, dim[BACK_TO_DH], in[BACK_DY], in[BACK_W2], hidden, false);
    b->of[BACK_TO_DX] = linear_product_of(p, dim[BACK_TO_DX], both, in[BACK_W1], out[BACK_DX], false);
    b->of[BACK_TO_DW1] =
        linear_product_of(p, dim[BACK_TO_DW1], operand_transposed(both), in[BACK_X], out[BACK_DW1], false);
    b->of[BACK_TO_DW2] =
        linear_product_of(p, dim[BACK_TO_DW2], operand_transposed(in[BACK_DY]), hidden, out[BACK_DW2], false);
}

/* Products one after the other share scratch. */
static void take_products(back_plan *b) {
    for (int i = 0; i < BACK_PRODUCTS; i++) {
        const linear_product *of = &b->of[i];
        const size_t end = b->product + of->plan.scratch;
        if (!of->way) b->plan.refusal = "no product takes it";
        b->plan.us += of->plan.us;
        if (end > b->plan.scratch) b->plan.scratch = end;
    }
    b->plan.arithmetic = b->of[BACK_TO_DX].plan.arithmetic;
}

back_plan back_plan_of(const ridge_problem *p, int passes) {
    const int64_t *dim = p->c.dim;
    back_plan b = {.m = dim[BACK_M], .d = dim[BACK_D], .f = dim[BACK_F]};
    if (b.m == 0) return b;
    place(&b, p->c.dtype);
    plan_products(&b, p);
    take_products(&b);
    const ridge_traffic t = of_passes(&b, p->c.dtype, passes);
    b.plan.us += (t.read + t.written) / DRAM + LAUNCH * passes;
    return b;
}

ridge_plan back_way_plan(const ridge_way *way, const ridge_problem *p) {
    back_plan b = back_plan_of(p, way->number);
    if (b.plan.refusal || b.m == 0) return b.plan;
    b.plan.traffic = of_passes(&b, p->c.dtype, way->number);
    for (int i = 0; i < BACK_PRODUCTS; i++) {
        const ridge_traffic t = linear_product_traffic(&b.of[i]);
        b.plan.traffic.read += t.read, b.plan.traffic.written += t.written + t.streamed;
    }
    return b.plan;
}
