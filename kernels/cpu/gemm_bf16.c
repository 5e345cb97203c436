/* A product of gemm_bf16.h: all threads pack, then all multiply. */
#include "cpu/gemm_bf16.h"

#include "cpu/gemm.h"
#include "cpu/gemm_product.h"
#include "quantize/rule.h"

/* Below this many multiply-adds one thread finishes before a second one wakes up. */
static const double alone = 5e5;

typedef struct work {
    const bf16_product *p;
    bf16_layout l;
    bool native;
    char *scratch;
} work;

static int64_t least_int(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t row_of(const work *w, int64_t strip) { return gemm_cut(w->p->m, w->l.strips, strip); }
static uint32_t *strip_of(const work *w, int64_t strip) {
    return (uint32_t *)(void *)w->scratch + row_of(w, strip) * w->l.pairs + strip * BF16_STRIP_SLACK;
}
static uint32_t *panel_of(const work *w, int64_t panel) {
    return (uint32_t *)(void *)(w->scratch + w->l.b) + panel * GEMM_NR * w->l.pairs;
}
/* Strips first. */
static uint16_t *least_at(const work *w, int64_t i) { return (uint16_t *)(void *)(w->scratch + w->l.least) + i; }

static void pack(void *arg, int rank, int size) {
    const work *w = arg;
    const bf16_product *p = w->p;
    int64_t begin, end;
    ridge_share(w->l.strips, 1, rank, size, &begin, &end);
    for (int64_t s = begin; s < end; s++) {
        const int64_t i = row_of(w, s);
        const int rows = (int)(row_of(w, s + 1) - i);
        *least_at(w, s) = RIDGE_ISA_FN(bf16_pack)(&p->a, i, rows, rows, p->k, strip_of(w, s));
    }
    ridge_share(w->l.panels, 1, rank, size, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        const int columns = (int)least_int(GEMM_NR, p->n - q * GEMM_NR);
        *least_at(w, w->l.strips + q) =
            RIDGE_ISA_FN(bf16_pack)(&p->b, q * GEMM_NR, columns, GEMM_NR, p->k, panel_of(w, q));
    }
}

/* Whether vdpbf16ps flushes nothing: no operand is subnormal, and the exponents' sum is -112 at least. */
static bool flushes_nothing(const work *w, int64_t strip, int64_t panel) {
    const int a = (*least_at(w, strip) + 1) >> 7, b = (*least_at(w, w->l.strips + panel) + 1) >> 7;
    return a >= 1 && b >= 1 && a + b >= 2 * 127 - 112;
}

/* A row's sums, times alpha, to C. */
static void store_row(const bf16_product *p, int64_t i, int64_t j, int columns, const float *restrict sums) {
    const int64_t at = i * p->c_row + j * p->c_column, apart = p->c_column;
    float *restrict const wide = (float *)p->c + at, alpha = p->alpha;
    uint16_t *restrict const narrow = (uint16_t *)p->c + at;
    if (p->wide && apart == 1)
        for (int e = 0; e < columns; e++) wide[e] = alpha * sums[e];
    else if (p->wide)
        for (int e = 0; e < columns; e++) wide[e * apart] = alpha * sums[e];
    else if (apart == 1)
        for (int e = 0; e < columns; e++) narrow[e] = rule_bf16(alpha * sums[e]);
    else
        for (int e = 0; e < columns; e++) narrow[e * apart] = rule_bf16(alpha * sums[e]);
}

/* Strips [s0, s1) times a panel. */
static void multiply_panel(const work *w, int64_t s0, int64_t s1, int64_t panel, float *sums) {
    const int64_t slices = (w->l.pairs + BF16_SLICE - 1) / BF16_SLICE, j = panel * GEMM_NR;
    const int columns = (int)least_int(GEMM_NR, w->p->n - j);
    for (int64_t q = 0; q < slices; q++) {
        const int64_t d = gemm_cut(w->l.pairs, slices, q), pairs = gemm_cut(w->l.pairs, slices, q + 1) - d;
        for (int64_t s = s0; s < s1; s++) {
            const int64_t i = row_of(w, s), rows = row_of(w, s + 1) - i;
            const bf16_tile_args t = {.mr = (int)rows,
                                      .nr = columns,
                                      .native = w->native && flushes_nothing(w, s, panel),
                                      .add = q > 0,
                                      .pairs = pairs,
                                      .a = strip_of(w, s) + d * rows,
                                      .b = panel_of(w, panel) + d * GEMM_NR,
                                      .c = slices == 1 ? sums : sums + (i - row_of(w, s0)) * GEMM_NR};
            RIDGE_ISA_FN(bf16_tile)(&t);
            for (int64_t r = 0; q == slices - 1 && r < rows; r++) store_row(w->p, i + r, j, columns, t.c + r * GEMM_NR);
        }
    }
}

/* Threads share the longer side of C. */
static void multiply(void *arg, int rank, int size) {
    const work *w = arg;
    const bool by_panel = w->p->n >= w->p->m;
    int64_t s0 = 0, s1 = w->l.strips, p0 = 0, p1 = w->l.panels;
    float *const sums = (float *)(void *)(w->scratch + w->l.sums) + rank * BF16_BLOCK_STRIPS * GEMM_MR * GEMM_NR;
    ridge_share(by_panel ? p1 : s1, 1, rank, size, by_panel ? &p0 : &s0, by_panel ? &p1 : &s1);
    const int64_t blocks = (s1 - s0 + BF16_BLOCK_STRIPS - 1) / BF16_BLOCK_STRIPS;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t panel = p0; panel < p1; panel++)
            multiply_panel(w, s0 + gemm_cut(s1 - s0, blocks, b), s0 + gemm_cut(s1 - s0, blocks, b + 1), panel, sums);
}

static bf16_product across(const bf16_product *p) {
    return (bf16_product){.m = p->n,
                          .n = p->m,
                          .k = p->k,
                          .a = p->b,
                          .b = p->a,
                          .c = p->c,
                          .c_row = p->c_column,
                          .c_column = p->c_row,
                          .wide = p->wide,
                          .alpha = p->alpha};
}

void RIDGE_ISA_FN(bf16_product)(const bf16_product *p, bool native, void *scratch, ridge_team *team) {
    const bf16_product made = bf16_is_across(p->m, p->n) ? across(p) : *p;
    work w = {.p = &made, .native = native, .scratch = scratch};
    if ((double)p->m * (double)p->n * (double)p->k < alone) team = NULL;
    w.l = bf16_layout_of(made.m, made.n, made.k, GEMM_ISA_OF(RIDGE_ISA), ridge_team_size(team));
    ridge_team_run(team, pack, &w);
    ridge_team_run(team, multiply, &w);
}

#if defined(RIDGE_ISA_IS_avx512)
bool bf16_has_pairs_avx512(void) { return vf_has_bf16(); }
#endif
