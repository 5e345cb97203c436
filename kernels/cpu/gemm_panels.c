/* The loops of gemm_panels.h: a slice of a panel stays in L1 or L2 while a block of A's rows passes, which stays in L2. Short
 * slices would visit C more often. */
#include "cpu/gemm_panels.h"

enum { DEPTH = GEMM_KC, STRIPS = 10 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* Depth [d0, d1), strips [s0, s1) of `strips`. */
typedef struct panels_block {
    int64_t d0, d1, strips, s0, s1;
} panels_block;

/* Strip number `strip` of `count` prefetches its part of the next panel. */
static gemm_lines next_panel(const gemm_panels *p, const panels_block *b, const float *panel, int64_t strip,
                             int64_t count) {
    const int64_t depth = b->d1 - b->d0, steps = parts_of(depth, count), rounds = depth / GEMM_AHEAD_STEPS;
    if (p->b_step != GEMM_NR || rounds == 0 || steps * strip >= depth) return (gemm_lines){0};
    return (gemm_lines){panel + steps * strip * GEMM_NR, GEMM_NR, INT64_MAX, 0, (int)parts_of(steps, rounds)};
}

static void multiply(const gemm_panels *p, const panels_block *b) {
    gemm_rows_args t = {.depth = b->d1 - b->d0,
                        .a_row = p->a_row,
                        .a_depth = p->a_depth,
                        .b_step = p->b_step,
                        .c_row = p->c_row,
                        .add = p->add || b->d0 > 0};
    for (int64_t j = 0; j < p->n; j += GEMM_NR) {
        t.nr = (int)least(GEMM_NR, p->n - j);
        t.b = p->b + j / GEMM_NR * p->b_panel + b->d0 * p->b_step;
        for (int64_t s = b->s0, i = gemm_cut(p->m, b->strips, s), next; s < b->s1; s++, i = next) {
            next = gemm_cut(p->m, b->strips, s + 1);
            t.mr = (int)(next - i);
            t.a = p->a + i * p->a_row + b->d0 * p->a_depth;
            t.c = p->c + i * p->c_row + j;
            t.ahead =
                j + GEMM_NR < p->n ? next_panel(p, b, t.b + p->b_panel, s - b->s0, b->s1 - b->s0) : (gemm_lines){0};
            RIDGE_ISA_FN(gemm_rows)(&t);
        }
    }
}

void RIDGE_ISA_FN(gemm_panels)(const gemm_panels *p) {
    const int64_t strips = parts_of(p->m, GEMM_MR), blocks = parts_of(strips, STRIPS), slices = parts_of(p->k, DEPTH);
    for (int64_t q = 0; q < slices; q++)
        for (int64_t r = 0; r < blocks; r++) {
            const panels_block b = {gemm_cut(p->k, slices, q), gemm_cut(p->k, slices, q + 1), strips,
                                    gemm_cut(strips, blocks, r), gemm_cut(strips, blocks, r + 1)};
            multiply(p, &b);
        }
}
