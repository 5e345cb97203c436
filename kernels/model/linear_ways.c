/* The ways of softmax regression on a CPU: what they take, cost, move and need. */
#include "model/linear_ways.h"

#include <math.h>

#include "cpu/gemm_product.h"
#include "model/cpu_tiles.h"

/* Of a head. */
typedef struct linear_facts {
    int64_t batch, depth, classes, heads;
    bool columns; /* w is column-major */
    int threads;
    ridge_isa isa;
} linear_facts;

static linear_facts facts_of(const linear_softmax_dims *at, const ridge_problem *p) {
    return (linear_facts){.batch = p->c.dim[at->batch],
                          .depth = p->c.dim[at->depth],
                          .classes = p->c.dim[at->classes],
                          .heads = at->heads < 0 ? 1 : p->c.dim[at->heads],
                          .columns = at->heads < 0 && p->tensor[LINEAR_W].stride[1] != 1,
                          .threads = p->here.threads > 1 ? p->here.threads : 1,
                          .isa = p->here.isa};
}

/* Cycles, measured on a Zen 3 core with AVX2 (AMD EPYC, 3.2 GHz), operands from memory; taken over for other cores. */
static const struct {
    double exponential; /* an element of softmax, a vector at a time: of all lanes */
    double row, part;   /* a row of softmax, beside its elements; a last vector that is not full */
    double few, many;   /* factors of the fused kernel's multiply-adds: a strip at a time, several strips */
    double tile, strip; /* a tile of the fused kernel, a strip, beside their arithmetic */
    double turn;        /* an element of x into a vector panel */
    double pack;        /* an element of w into a broadcast panel */
    double memory;      /* an element that is read once */
    double frequency;   /* cycles in a microsecond */
    double wake;        /* microseconds of a team */
} zen3 = {16, 50, 60, 1.15, 1.3, 50, 200, 1.2, 1.0, 0.75, 3200, 2};

static bool is_avx512(const linear_facts *f) { return cpu_tile_of(f->isa).lanes == 16; }

const char *linear_cpu_refuses(const ridge_way *way, const ridge_problem *p) {
    const linear_facts f = facts_of(way->own, p);
    if (way->number != LINEAR_WAY_WIDE) return NULL;
    if (!is_avx512(&f)) return "needs AVX-512";
    if (f.columns) return "for a row-major w";
    if (f.classes < 2 * 16 || f.classes > 256 || f.classes % 16 > LINEAR_WIDE_REST)
        return "for 32 to 256 classes that nearly fill vectors";
    return f.classes * f.depth <= LINEAR_WIDE_W ? NULL : "for a w that stays in L2";
}

/* ---- costs, in microseconds ---- */

static double softmax_cycles(const linear_facts *f) {
    return (double)f->batch * (double)f->classes * zen3.exponential / cpu_tile_of(f->isa).lanes;
}

static double product_cost(const linear_facts *f) {
    const gemm_facts product = {.m = f->batch,
                                .n = f->classes,
                                .k = f->depth,
                                .a_by_depth = true,
                                .b_by_row = !f->columns,
                                .threads = f->threads,
                                .isa = f->isa};
    const double row = zen3.row + (f->classes % cpu_tile_of(f->isa).lanes ? zen3.part : 0);
    const int share = f->batch * f->classes < LINEAR_PRODUCT_ALONE ? 1 : f->threads;
    return gemm_way_cost(gemm_way_of(&product), &product) +
           (softmax_cycles(f) + (double)f->batch * row) / share / zen3.frequency;
}

static double fused_cost(const linear_facts *f) {
    const double rows = (double)f->batch, depth = (double)f->depth, classes = (double)f->classes;
    const cpu_tile t = cpu_tile_of(f->isa);
    const double lanes = t.lanes, nr = 2 * lanes,
                 groups = ceil(classes / (t.rows - 1)); /* one less than a tile has rows */
    const double share = rows * depth * classes < LINEAR_ALONE ? 1 : (double)f->threads;
    const double strips = ceil(ceil(rows / nr) / share);
    const double pace = f->classes <= LINEAR_FEW ? zen3.few : zen3.many;
    const double tile = pace * depth * fmax(classes / groups, 4) + ceil(depth / LINEAR_KC) * zen3.tile;
    const double strip = groups * tile + nr * classes * zen3.exponential / lanes + nr * depth * zen3.turn + zen3.strip;
    return (strips * strip + classes * depth * zen3.pack + (rows / share + classes) * depth * zen3.memory) /
               zen3.frequency +
           (share > 1 ? zen3.wake : 0);
}

/* The wide way has been measured to be the fastest wherever it is taken. */
double linear_cpu_cost(const ridge_way *way, const ridge_problem *p) {
    const linear_facts f = facts_of(way->own, p);
    if (way->number == LINEAR_WAY_WIDE) return 0;
    return (way->number == LINEAR_WAY_PRODUCT ? product_cost(&f) : fused_cost(&f)) * (double)f.heads;
}

/* ---- traffic and scratch ---- */

/* Every head reads x again. */
void linear_cpu_traffic(linear_way way, const linear_softmax_dims *at, const ridge_problem *p, ridge_traffic *t) {
    const linear_facts f = facts_of(at, p);
    const double x = 4.0 * (double)f.batch * (double)f.depth, w = 4.0 * (double)f.depth * (double)f.classes;
    const double b = 4.0 * (double)f.classes, y = 4.0 * (double)f.batch * (double)f.classes, heads = (double)f.heads;
    *t = (ridge_traffic){.read = x + w + b, .written = y};
    if (way ==
        LINEAR_WAY_FUSED) { /* w is packed if it has several groups of classes, and read for every block of rows */
        const double packed = f.classes > LINEAR_CLASSES_MOST ? w : 0;
        const double blocks = ceil((double)f.batch / (double)(linear_strips(f.classes) * LINEAR_NR));
        *t = (ridge_traffic){.read = x + w * blocks + packed + b, .written = y + packed};
    }
    if (way == LINEAR_WAY_PRODUCT) t->read += y, t->written += y; /* logits */
    t->read *= heads, t->written *= heads;
}

size_t linear_cpu_scratch(linear_way way, const linear_softmax_dims *at, const ridge_case *c, int threads) {
    const int64_t batch = c->dim[at->batch], depth = c->dim[at->depth], classes = c->dim[at->classes];
    return way == LINEAR_WAY_PRODUCT ? gemm_product_scratch(batch, classes, depth, threads)
                                     : linear_scratch(depth, classes, threads);
}
