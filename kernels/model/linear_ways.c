/* The ways of softmax regression on a CPU: what they take, what they cost. */
#include <math.h>

#include "cpu/gemm_product.h"
#include "cpu/linear_softmax.h"

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

static const int lanes_of[RIDGE_ISA_COUNT] = {
    [RIDGE_ISA_scalar] = 1,
#if defined(__x86_64__)
    [RIDGE_ISA_avx2] = 8,
    [RIDGE_ISA_avx512] = 16,
#elif defined(__aarch64__)
    [RIDGE_ISA_neon] = 4,
#endif
};

static bool is_avx512(const linear_facts *f) { return lanes_of[f->isa] == 16; }

const char *linear_way_refusal(linear_way way, const linear_facts *f) {
    if (way != LINEAR_WAY_WIDE) return NULL;
    if (!is_avx512(f)) return "needs AVX-512";
    if (f->columns) return "for a row-major w";
    if (f->classes < 2 * 16 || f->classes > 256 || f->classes % 16 > LINEAR_WIDE_REST)
        return "for 32 to 256 classes that nearly fill vectors";
    return f->classes * f->depth <= LINEAR_WIDE_W ? NULL : "for a w that stays in L2";
}

/* ---- costs, in microseconds ---- */

static double softmax_cycles(const linear_facts *f) {
    return (double)f->batch * (double)f->classes * zen3.exponential / lanes_of[f->isa];
}

static double product_cost(const linear_facts *f) {
    const gemm_facts product = {.m = f->batch,
                                .n = f->classes,
                                .k = f->depth,
                                .a_by_depth = true,
                                .b_by_row = !f->columns,
                                .threads = f->threads,
                                .isa = f->isa};
    const double row = zen3.row + (f->classes % lanes_of[f->isa] ? zen3.part : 0);
    const int share = f->batch * f->classes < LINEAR_PRODUCT_ALONE ? 1 : f->threads;
    return gemm_way_cost(gemm_way_of(&product), &product) +
           (softmax_cycles(f) + (double)f->batch * row) / share / zen3.frequency;
}

static double fused_cost(const linear_facts *f) {
    const double rows = (double)f->batch, depth = (double)f->depth, classes = (double)f->classes;
    const int lanes = lanes_of[f->isa];
    const double nr = 2 * lanes, groups = ceil(classes / (lanes == 16 ? 13 : lanes == 8 ? 5 : lanes == 4 ? 11 : 3));
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
double linear_way_cost(linear_way way, const linear_facts *f) {
    return way == LINEAR_WAY_WIDE ? 0 : way == LINEAR_WAY_PRODUCT ? product_cost(f) : fused_cost(f);
}
