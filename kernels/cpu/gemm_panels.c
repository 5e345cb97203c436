/* The loops of gemm_panels.h: a slice of a panel stays in L1 or L2 while a block of A's rows passes, which stays in L2. Short
 * slices would visit C more often. */
#include "cpu/gemm_panels.h"

enum { DEPTH = GEMM_KC, STRIPS = 10 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* A block of A's rows in strips, and a slice of the depth. What divisions give is here: tiles are too short for them. */
typedef struct panels_block {
    int64_t from, depth; /* of the slice */
    int64_t strips, row[STRIPS + 1];
    int64_t steps; /* of the next panel's slice that a strip prefetches; 0: none does */
    int each;      /* lines of them in a round */
} panels_block;

static void cut_rows(panels_block *b, int64_t m, int64_t strips, int64_t first, int64_t end) {
    b->strips = end - first;
    for (int64_t s = first; s <= end; s++) b->row[s - first] = gemm_cut(m, strips, s);
}
static void share_ahead(panels_block *b, const gemm_panels *p) {
    const int64_t rounds = b->depth / GEMM_AHEAD_STEPS;
    b->steps = p->b_step == GEMM_NR && rounds > 0 && b->strips > 0 ? parts_of(b->depth, b->strips) : 0;
    b->each = b->steps > 0 ? (int)parts_of(b->steps, rounds) : 0;
}

static gemm_lines ahead_of(const panels_block *b, const float *panel, int64_t strip) {
    const int64_t begin = b->steps * strip;
    if (b->steps == 0 || begin >= b->depth) return (gemm_lines){0};
    return (gemm_lines){panel + begin * GEMM_NR, GEMM_NR, INT64_MAX, 0, b->each};
}

static void multiply(const gemm_panels *p, const panels_block *b) {
    gemm_rows_args t = {.depth = b->depth,
                        .a_row = p->a_row,
                        .a_depth = p->a_depth,
                        .b_step = p->b_step,
                        .c_row = p->c_row,
                        .add = p->add || b->from > 0};
    const float *panel = p->b + b->from * p->b_step;
    for (int64_t j = 0; j < p->n; j += GEMM_NR, panel += p->b_panel) {
        const bool last = j + GEMM_NR >= p->n;
        t.nr = (int)least(GEMM_NR, p->n - j);
        t.b = panel;
        for (int64_t s = 0; s < b->strips; s++) {
            t.mr = (int)(b->row[s + 1] - b->row[s]);
            t.a = p->a + b->row[s] * p->a_row + b->from * p->a_depth;
            t.c = p->c + b->row[s] * p->c_row + j;
            t.ahead = last ? (gemm_lines){0} : ahead_of(b, panel + p->b_panel, s);
            RIDGE_ISA_FN(gemm_rows)(&t);
        }
    }
}

void RIDGE_ISA_FN(gemm_panels)(const gemm_panels *p) {
    const int64_t strips = parts_of(p->m, GEMM_MR), blocks = parts_of(strips, STRIPS), slices = parts_of(p->k, DEPTH);
    for (int64_t q = 0; q < slices; q++)
        for (int64_t r = 0; r < blocks; r++) {
            const int64_t from = gemm_cut(p->k, slices, q);
            panels_block b = {.from = from, .depth = gemm_cut(p->k, slices, q + 1) - from};
            cut_rows(&b, p->m, strips, gemm_cut(strips, blocks, r), gemm_cut(strips, blocks, r + 1));
            share_ahead(&b, p);
            multiply(p, &b);
        }
}
