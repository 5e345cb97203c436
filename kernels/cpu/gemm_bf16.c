/* A product of gemm_bf16.h: all threads pack B, then each packs its blocks of A and multiplies. */
#include "cpu/gemm_bf16.h"

#include "cpu/gemm.h"
#include "cpu/gemm_product.h"
#include "cpu/vec_bf16.h"
#include "model/number.h"

/* Below this many multiply-adds one thread finishes before a second one wakes up. */
static const double alone = 5e5;

typedef struct work {
    const bf16_product *p;
    bf16_layout l;
    bool widened;
    int64_t strips;
    char *scratch;
} work;

static int64_t least_int(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t row_of(const work *w, int64_t strip) { return gemm_cut(w->p->m, w->strips, strip); }
static uint32_t *panel_of(const work *w, int64_t panel) {
    return (uint32_t *)(void *)w->scratch + panel * GEMM_NR * w->l.pairs;
}
static uint16_t *least_of(const work *w, int64_t panel) {
    return (uint16_t *)(void *)(w->scratch + w->l.least) + panel;
}

/* ---- packing B ---- */

/* Several panels at once where columns lie side by side: longer pieces of B's rows. */
static void pack_panels(void *arg, int rank, int size) {
    const work *w = arg;
    const bf16_product *p = w->p;
    int64_t begin, end;
    ridge_share(w->l.panels, 1, rank, size, &begin, &end);
    for (int64_t q = begin, next; q < end; q = next) {
        const int64_t j = q * GEMM_NR, left = p->n - j;
        next = q + 1;
        if (p->b.depth != 1 && q + BF16_TOGETHER <= end && left >= BF16_TOGETHER * GEMM_NR) {
            next = q + BF16_TOGETHER;
            RIDGE_ISA_FN(bf16_pack_panels)(&p->b, j, p->k, panel_of(w, q));
        } else {
            RIDGE_ISA_FN(bf16_pack)
            (&p->b, j, (int)least_int(GEMM_NR, left), GEMM_NR, p->k, panel_of(w, q));
        }
        for (int64_t i = q; i < next; i++)
            *least_of(w, i) =
                RIDGE_ISA_FN(bf16_least)((const uint16_t *)(void *)panel_of(w, i), 2 * w->l.pairs * GEMM_NR);
    }
}

/* ---- a block: strips [s0, s1) times panels [p0, p1), slice by slice ---- */

typedef struct block {
    int64_t s0, s1, p0, p1;
    uint32_t *strips;                  /* of a slice */
    float *sums;                       /* [panels][strips], rows of GEMM_NR each */
    uint16_t least[BF16_BLOCK_STRIPS]; /* of the slices so far: a strip whose sums may be subnormal stays widened */
} block;

/* The pairs of a slice. */
typedef struct slice {
    int64_t first, pairs;
    bool last;
} slice;

static uint32_t *strip_of(const block *b, int64_t strip) {
    return b->strips + (strip - b->s0) * (GEMM_MR * BF16_SLICE + BF16_STRIP_SLACK);
}

/* Rows a multiple of 4 KiB apart share a set of L1. */
static bool packs_a(const bf16_product *p) { return p->a.depth != 1 || p->k % 2 != 0 || p->a.line % 2048 == 0; }

/* The least magnitude of a strip in a slice, which is packed or not. */
static uint16_t take_strip(const work *w, const block *b, const slice *q, int64_t strip) {
    const bf16_product *p = w->p;
    const int64_t i = row_of(w, strip), rows = row_of(w, strip + 1) - i, d = 2 * q->first;
    const bf16_operand a = {p->a.at + d * p->a.depth, p->a.line, p->a.depth};
    uint16_t least = UINT16_MAX;
    if (packs_a(p)) {
        RIDGE_ISA_FN(bf16_pack)(&a, i, (int)rows, (int)rows, least_int(2 * q->pairs, p->k - d), strip_of(b, strip));
        return RIDGE_ISA_FN(bf16_least)((const uint16_t *)(void *)strip_of(b, strip), 2 * q->pairs * rows);
    }
    for (int64_t r = i; r < i + rows; r++) {
        const uint16_t here = RIDGE_ISA_FN(bf16_least)(a.at + r * a.line, 2 * q->pairs);
        if (here < least) least = here;
    }
    return least;
}

static void take_strips(const work *w, block *b, const slice *q) {
    for (int64_t s = b->s0; s < b->s1; s++) {
        const uint16_t here = take_strip(w, b, q, s);
        uint16_t *const least = &b->least[s - b->s0];
        if (q->first == 0 || here < *least) *least = here;
    }
}

/* Whether vdpbf16ps flushes nothing: no operand is subnormal, and the exponents' sum is -112 at least. */
static bool flushes_nothing(uint16_t least_a, uint16_t least_b) {
    const int a = (least_a + 1) >> 7, b = (least_b + 1) >> 7;
    return a >= 1 && b >= 1 && a + b >= 2 * 127 - 112;
}
/* ---- storing ---- */

static void store_scattered(const bf16_product *p, int64_t at, int columns, const float *sums) {
    for (int e = 0; e < columns; e++) {
        const float c = p->alpha * sums[e];
        if (p->wide)
            ((float *)p->c)[at + e * p->c_column] = c;
        else
            ((uint16_t *)p->c)[at + e * p->c_column] = rule_bf16(c);
    }
}

/* A row's sums, times alpha, to C. */
static void store_row(const bf16_product *p, int64_t at, int columns, const float *restrict sums) {
    const float alpha = p->alpha;
    float *restrict const wide = (float *)p->c + at;
    uint16_t *restrict const narrow = (uint16_t *)p->c + at;
    if (p->c_column != 1)
        store_scattered(p, at, columns, sums);
    else if (p->wide)
        for (int e = 0; e < columns; e++) wide[e] = alpha * sums[e];
    else
        for (int e = 0; e < columns; e++) narrow[e] = rule_bf16(alpha * sums[e]);
}

/* normal: no sum is subnormal. */
static void store_tile(const bf16_product *p, int64_t i, int64_t rows, int64_t j, bool normal, const float *sums) {
    const int columns = (int)least_int(GEMM_NR, p->n - j);
    const bool scaled = p->alpha > 1 || p->alpha < 1, whole = columns == GEMM_NR && p->c_column == 1;
    int64_t at = i * p->c_row + j * p->c_column;
    if (VF_HAS_PAIRS && normal && whole && !p->wide && !scaled)
        for (int64_t r = 0; r < rows; r++, at += p->c_row, sums += GEMM_NR)
            vf_narrow_store((uint16_t *)p->c + at, vf_load(sums), vf_load(sums + VF_LANES));
    else
        for (int64_t r = 0; r < rows; r++, at += p->c_row, sums += GEMM_NR) store_row(p, at, columns, sums);
}

/* ---- multiplying ---- */

static void multiply_tile(const work *w, const block *b, const slice *q, int64_t strip, int64_t panel) {
    const int64_t i = row_of(w, strip), rows = row_of(w, strip + 1) - i;
    const bool packed = packs_a(w->p), once = q->last && q->first == 0; /* then no other slice needs the sums */
    const int64_t place = once ? 0 : (panel - b->p0) * (b->s1 - b->s0) + strip - b->s0;
    const bf16_tile_args t = {
        .widened = w->widened || !flushes_nothing(b->least[strip - b->s0], *least_of(w, panel)),
        .mr = (int)rows,
        .add = q->first > 0,
        .pairs = q->pairs,
        .a = packed ? (const void *)strip_of(b, strip) : w->p->a.at + i * w->p->a.line + 2 * q->first,
        .a_row = packed ? 0 : w->p->a.line * 2,
        .b = panel_of(w, panel) + q->first * GEMM_NR,
        .c = b->sums + place * GEMM_MR * GEMM_NR};
    RIDGE_ISA_FN(bf16_tile)(&t);
    if (q->last) store_tile(w->p, i, rows, panel * GEMM_NR, !t.widened, t.c);
}

static void multiply_block(const work *w, block *b) {
    const int64_t slices = (w->l.pairs + BF16_SLICE - 1) / BF16_SLICE;
    for (int64_t i = 0; i < slices; i++) {
        const int64_t first = gemm_cut(w->l.pairs, slices, i), end = gemm_cut(w->l.pairs, slices, i + 1);
        const slice q = {first, end - first, i + 1 == slices};
        take_strips(w, b, &q);
        for (int64_t panel = b->p0; panel < b->p1; panel++)
            for (int64_t strip = b->s0; strip < b->s1; strip++) multiply_tile(w, b, &q, strip, panel);
    }
}

/* Threads share the longer side of C. */
static void multiply(void *arg, int rank, int size) {
    const work *w = arg;
    const bool by_panel = w->p->n >= w->p->m;
    int64_t s0 = 0, s1 = w->strips, p0 = 0, p1 = w->l.panels;
    ridge_share(by_panel ? p1 : s1, 1, rank, size, by_panel ? &p0 : &s0, by_panel ? &p1 : &s1);
    const int64_t blocks = (s1 - s0 + BF16_BLOCK_STRIPS - 1) / BF16_BLOCK_STRIPS;
    const int64_t bands = (p1 - p0 + BF16_BAND_PANELS - 1) / BF16_BAND_PANELS;
    char *const own = w->scratch + w->l.b + (size_t)rank * w->l.thread;
    block b = {.strips = (uint32_t *)(void *)own, .sums = (float *)(void *)(own + w->l.strips)};
    for (int64_t band = 0; band < bands; band++) {
        b.p0 = p0 + gemm_cut(p1 - p0, bands, band), b.p1 = p0 + gemm_cut(p1 - p0, bands, band + 1);
        for (int64_t i = 0; i < blocks; i++) {
            b.s0 = s0 + gemm_cut(s1 - s0, blocks, i), b.s1 = s0 + gemm_cut(s1 - s0, blocks, i + 1);
            multiply_block(w, &b);
        }
    }
}

static bf16_product across(const bf16_product *p) {
    bf16_product t = *p;
    t.m = p->n, t.n = p->m;
    t.a = p->b, t.b = p->a;
    t.c_row = p->c_column, t.c_column = p->c_row;
    return t;
}

void RIDGE_ISA_FN(bf16_product)(const bf16_product *p, bool widened, void *scratch, ridge_team *team) {
    const bf16_product made = bf16_is_across(p->m, p->n) ? across(p) : *p;
    work w = {.p = &made, .widened = widened, .strips = (made.m + GEMM_MR - 1) / GEMM_MR, .scratch = scratch};
    if ((double)p->m * (double)p->n * (double)p->k < alone) team = NULL;
    w.l = bf16_layout_of(made.n, made.k, GEMM_ISA_OF(RIDGE_ISA), ridge_team_size(team));
    ridge_team_run(team, pack_panels, &w);
    ridge_team_run(team, multiply, &w);
}

#if defined(RIDGE_ISA_IS_avx512)
bool bf16_has_pairs_avx512(void) { return vf_has_bf16(); }
#endif
