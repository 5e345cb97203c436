/* The ways of softmax regression on a CPU: what they take, cost, move and need. */
#include "linear/cpu_ways.h"

#include <math.h>

#include "cpu/cost.h"
#include "cpu/gemm_product.h"

/* Of a head. */
typedef struct linear_facts {
    int64_t batch, depth, classes, heads;
    bool columns; /* w is column-major */
    int64_t x_stride, w_stride;
    int threads;
    ridge_isa isa;
} linear_facts;

static linear_facts facts_of(const linear_softmax_dims *at, const ridge_problem *p) {
    const bool heads = at->heads >= 0, columns = !heads && p->tensor[LINEAR_W].stride[1] != 1;
    return (linear_facts){.batch = p->c.dim[at->batch],
                          .depth = p->c.dim[at->depth],
                          .classes = p->c.dim[at->classes],
                          .heads = heads ? p->c.dim[at->heads] : 1,
                          .columns = columns,
                          .x_stride = p->tensor[LINEAR_X].stride[0],
                          .w_stride = p->tensor[LINEAR_W].stride[heads || columns],
                          .threads = p->here.threads > 1 ? p->here.threads : 1,
                          .isa = p->here.isa};
}

/* Beats (cpu/cost.h), measured on a Zen 3 core with AVX2 (AMD EPYC), operands from memory. */
static const struct {
    double exponential; /* an element of softmax, a vector at a time: of all lanes */
    double row, part;   /* a row of softmax, beside its elements; a last vector that is not full */
    double many;        /* factor of the fused kernel's multiply-adds, several strips at a time */
    double tile, strip; /* a tile of the fused kernel, a strip, beside their arithmetic */
    double pack;        /* an element of w into a broadcast panel */
} share = {16, 50, 60, 1.3, 50, 200, 1.0};

/* Of the fused kernel: the factor a strip at a time, and an element of x, which is transposed. AVX-512 (a Zen 4 core):
 * tiles load less for each multiply-add, and hide more of the transposition. */
typedef struct fused_shares {
    double few, turn;
} fused_shares;
static const fused_shares fused_avx2 = {1.15, 1.2}, fused_avx512 = {1.05, 0.2};

static const char *wide_refuses(const linear_facts *f) {
    if (f->columns) return "for a row-major w";
    if (f->classes < 2 * 16 || f->classes > 256 || f->classes % 16 > LINEAR_WIDE_REST)
        return "for 32 to 256 classes that nearly fill vectors";
    return f->classes * f->depth <= LINEAR_WIDE_W ? NULL : "for a w that stays in L2";
}

/* ---- costs of a head, in beats of a thread ---- */

static double softmax_beats(const linear_facts *f) {
    return (double)f->batch * (double)f->classes * share.exponential / cpu_tile_of(f->isa).lanes;
}

static double product_beats(const linear_facts *f) {
    const gemm_facts product = {.m = f->batch,
                                .n = f->classes,
                                .k = f->depth,
                                .a_by_depth = true,
                                .b_by_row = !f->columns,
                                .a_stride = f->x_stride,
                                .b_stride = f->w_stride,
                                .threads = f->threads,
                                .isa = f->isa};
    const double row = share.row + (f->classes % cpu_tile_of(f->isa).lanes ? share.part : 0);
    const int team = f->batch * f->classes < LINEAR_PRODUCT_ALONE ? 1 : f->threads;
    return gemm_way_beats(gemm_way_of(&product), &product) + (softmax_beats(f) + (double)f->batch * row) / team;
}

/* Threads that a fused kernel runs on. */
static int fused_team(const linear_facts *f) {
    return (double)f->batch * (double)f->depth * (double)f->classes < LINEAR_ALONE ? 1 : f->threads;
}

static double fused_beats(const linear_facts *f) {
    const double rows = (double)f->batch, depth = (double)f->depth, classes = (double)f->classes;
    const cpu_tile t = cpu_tile_of(f->isa);
    const double lanes = t.lanes, nr = 2 * lanes,
                 groups = ceil(classes / (t.rows - 1)); /* one less than a tile has rows */
    const int team = fused_team(f);
    const double strips = ceil(ceil(rows / nr) / team);
    const fused_shares fused = t.lanes < 16 ? fused_avx2 : fused_avx512;
    const double pace = f->classes > LINEAR_FEW ? share.many : fused.few;
    const double tile = pace * depth * fmax(classes / groups, 4) + ceil(depth / LINEAR_KC) * share.tile;
    const double strip =
        groups * tile + nr * classes * share.exponential / lanes + nr * depth * fused.turn + share.strip;
    return strips * strip + classes * depth * share.pack + (team > 1 ? cpu_wake : 0);
}

/* The wide way has been measured to be the fastest wherever it is taken: the least that a product takes. */
static double wide_beats(const linear_facts *f) {
    const double products = (double)f->batch * (double)f->depth * (double)f->classes;
    const int team = fused_team(f);
    return (products / (2 * cpu_tile_of(f->isa).lanes) + softmax_beats(f)) / team + (team > 1 ? cpu_wake : 0);
}

/* Microseconds. Threads share the rows, or the classes: either way they read one of x and w each. */
static double cost_of(int way, const linear_facts *f, const ridge_problem *p) {
    static double (*const beats[])(const linear_facts *) = {
        [LINEAR_WAY_WIDE] = wide_beats, [LINEAR_WAY_FUSED] = fused_beats, [LINEAR_WAY_PRODUCT] = product_beats};
    const double rows = (double)f->batch / fused_team(f), depth = (double)f->depth, classes = (double)f->classes;
    const double elements = rows * depth + (depth + 1) * classes + rows * classes;
    return cpu_cost_of(&p->here, beats[way](f), elements) * (double)f->heads;
}

/* ---- traffic and scratch ---- */

/* Every head reads x again. */
static ridge_traffic traffic_of(int way, const linear_facts *f) {
    const double x = 4.0 * (double)f->batch * (double)f->depth, w = 4.0 * (double)f->depth * (double)f->classes;
    const double b = 4.0 * (double)f->classes, y = 4.0 * (double)f->batch * (double)f->classes;
    ridge_traffic t = {.read = x + w + b, .written = y};
    if (way ==
        LINEAR_WAY_FUSED) { /* w is packed if it has several groups of classes, and read for each block of rows */
        const double packed = f->classes > LINEAR_CLASSES_MOST ? w : 0;
        const double blocks = ceil((double)f->batch / (double)(linear_strips(f->classes) * LINEAR_NR));
        t = (ridge_traffic){.read = x + w * blocks + packed + b, .written = y + packed};
    }
    if (way == LINEAR_WAY_PRODUCT) t.read += y, t.written += y; /* logits */
    t.read *= (double)f->heads, t.written *= (double)f->heads;
    return t;
}

ridge_plan linear_cpu_plan(const ridge_way *way, const ridge_problem *p) {
    const linear_facts f = facts_of(way->own, p);
    const char *refusal = way->number == LINEAR_WAY_WIDE ? wide_refuses(&f) : NULL;
    if (refusal) return (ridge_plan){.refusal = refusal};
    return (ridge_plan){.us = cost_of(way->number, &f, p),
                        .scratch = way->number == LINEAR_WAY_PRODUCT
                                       ? gemm_product_scratch(f.batch, f.classes, f.depth, f.threads)
                                       : linear_scratch(f.depth, f.classes, f.threads),
                        .traffic = traffic_of(way->number, &f)};
}
