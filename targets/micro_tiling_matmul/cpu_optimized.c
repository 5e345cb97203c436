/* C[m,n] = A[m,k] B[k,n] with packed panels and register tiles.
 *
 *   B is packed once, by the whole team, into vector panels [k][GEMM_NR], cut along k every GEMM_KC.
 *   A thread takes its rows in blocks of MC; a block of A, GEMM_KC deep, is packed into broadcast panels and stays in
 * the second-level cache while every panel of B passes by; a panel of B serves all tiles of the block before the next.
 *   Rows are cut into panels of equal height (to one), so that no tile is a thin remainder. */
#include "cpu/gemm.h"
#include "matmul.h"

enum { MC_PANELS = 6, MC = MC_PANELS * GEMM_MR, LINE_FLOATS = 16, PACK_ROWS = 16 };
_Static_assert(GEMM_NR <= MATMUL_NR && MC <= MATMUL_MC && GEMM_KC <= MATMUL_KC, "scratch is sized by these limits");
_Static_assert(GEMM_SLACK + LINE_FLOATS <= MATMUL_PAD, "scratch leaves room for slack and alignment");

/* Below this many multiply-adds one thread is done before a second one has woken up. */
static const double alone = 1e6;

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int64_t packed_b_floats(int64_t n, int64_t k) {
    return round_up(round_up(n, GEMM_NR) * k + GEMM_SLACK, LINE_FLOATS);
}

static int64_t a_block_floats(int64_t k) {
    return round_up(MC * (k < GEMM_KC ? k : GEMM_KC) + GEMM_SLACK, LINE_FLOATS);
}

typedef struct work {
    int64_t m, n, k, a_stride, b_stride, c_stride;
    const float *a, *b;
    float *c, *panels, *blocks; /* packed B; one block of packed A a thread */
} work;

static void pack_b(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share((w->n + GEMM_NR - 1) / GEMM_NR, 1, rank, size, &begin, &end);
    /* A few rows of B for all panels, then the next few: B is read along its rows, as it lies in memory. */
    for (int64_t d = 0; d < w->k; d += PACK_ROWS)
        for (int64_t p = begin; p < end; p++) {
            const int64_t j = p * GEMM_NR, left = w->n - j, depth = w->k - d < PACK_ROWS ? w->k - d : PACK_ROWS;
            RIDGE_ISA_FN(gemm_pack_straight)
            (w->b + d * w->b_stride + j, w->b_stride, depth, left < GEMM_NR ? (int)left : GEMM_NR, GEMM_NR,
             w->panels + j * w->k + d * GEMM_NR);
        }
}

/* What a block's tiles fetch: first the rows of A that are packed next, a few for each tile, then the next panel of B.
 */
static gemm_ahead fetch(const work *w, const float *next_a, int64_t rows, int64_t depth, int64_t tile, const float *b,
                        int64_t p) {
    const int64_t rounds = depth / GEMM_AHEAD_STEPS, lines = (depth + GEMM_LINE - 1) / GEMM_LINE, each = rounds / lines;
    if (next_a && tile * each < rows) return (gemm_ahead){next_a + tile * each * w->a_stride, w->a_stride, lines, 1};
    return (gemm_ahead){b + GEMM_NR * w->k + p * rounds * GEMM_LINE, 0, INT64_MAX, 1};
}

/* Rows [i0, i0 + rows) of C, depth [d0, d0 + depth). next_a: what is packed after this block, or NULL. */
static void block(const work *w, int64_t i0, int64_t rows, int64_t d0, int64_t depth, const float *next_a,
                  float *packed) {
    const int64_t count = (rows + GEMM_MR - 1) / GEMM_MR;
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = gemm_cut(rows, count, p), mr = gemm_cut(rows, count, p + 1) - i;
        RIDGE_ISA_FN(gemm_pack_transposed)
        (w->a + (i0 + i) * w->a_stride + d0, w->a_stride, depth, (int)mr, (int)mr, packed + i * depth);
    }
    for (int64_t j = 0, tile = 0; j < w->n; j += GEMM_NR) {
        gemm_tile_args t = {.nr = w->n - j < GEMM_NR ? (int)(w->n - j) : GEMM_NR,
                            .depth = depth,
                            .b = w->panels + j * w->k + d0 * GEMM_NR,
                            .c_stride = w->c_stride,
                            .start = d0 > 0 ? GEMM_ADD : GEMM_ZERO};
        for (int64_t p = 0; p < count; p++, tile++) {
            const int64_t i = gemm_cut(rows, count, p);
            t.mr = (int)(gemm_cut(rows, count, p + 1) - i);
            t.a = packed + i * depth;
            t.a_step = t.mr;
            t.c = w->c + (i0 + i) * w->c_stride + j;
            t.ahead = fetch(w, next_a, rows, depth, tile, t.b, p);
            RIDGE_ISA_FN(gemm_tile)(&t);
        }
    }
}

static void multiply(void *arg, int rank, int size) {
    const work *w = arg;
    float *packed = w->blocks + rank * a_block_floats(w->k);
    int64_t begin, end;
    ridge_share(w->m, 1, rank, size, &begin, &end);
    const int64_t blocks = (end - begin + MC - 1) / MC, slices = (w->k + GEMM_KC - 1) / GEMM_KC;
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t i0 = begin + gemm_cut(end - begin, blocks, b), i1 = begin + gemm_cut(end - begin, blocks, b + 1);
        for (int64_t s = 0; s < slices; s++) {
            const int64_t d0 = gemm_cut(w->k, slices, s), d1 = gemm_cut(w->k, slices, s + 1);
            const float *next = s + 1 < slices   ? w->a + i0 * w->a_stride + d1
                                : b + 1 < blocks ? w->a + i1 * w->a_stride
                                                 : NULL;
            block(w, i0, i1 - i0, d0, d1 - d0, next, packed);
        }
    }
}

ridge_status RIDGE_ISA_FN(matmul_cpu_optimized)(const ridge_call *call) {
    const int64_t m = call->dim[MATMUL_M], n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    work w = {.m = m,
              .n = n,
              .k = k,
              .a_stride = ridge_row_stride(&call->in[0]),
              .b_stride = ridge_row_stride(&call->in[1]),
              .c_stride = ridge_row_stride(&call->out[0]),
              .a = ridge_data(&call->in[0]),
              .b = ridge_data(&call->in[1]),
              .c = ridge_data(&call->out[0]),
              .panels = call->scratch};
    if (m == 0) return RIDGE_OK;
    w.blocks = w.panels + packed_b_floats(n, k);
    ridge_team *team = (double)m * (double)n * (double)k < alone ? NULL : call->team;
    ridge_team_run(team, pack_b, &w);
    ridge_team_run(team, multiply, &w);
    return RIDGE_OK;
}
