/* Cross-entropy of a linear layer and its gradients, fused.
 *
 *   Classes are processed in blocks; few classes form one block. A block of w is packed twice: into broadcast
 * panels [depth][classes] for the logits and vector panels [classes][depth] for dx. A thread takes a block of rows.
 * Strips of GEMM_NR rows are transposed into vector panels, so that vectors run along the batch. Logits [classes][rows]
 * stay in cache, softmax and gradient need no reduction across lanes, and no lane is empty for any number of classes.
 * The gradient is already the broadcast panel of dx = G w. For dw = G^T x the threads write their gradients,
 * transposed, to a shared buffer; then each thread computes some columns of dw over all rows and classes. No sum is
 * split between threads: results are bit-identical on every run and for any number of threads that partitions the rows
 * alike. */
#include "cpu/linear_ce.h"

#include <math.h>
#include <string.h>

#include "cpu/gemm_piece.h"
#include "cpu/vec_math.h"

_Static_assert(GEMM_NR <= LINEAR_CE_NR && LINEAR_CE_NR % GEMM_NR == 0, "scratch is sized by the limit");
_Static_assert(GEMM_SLACK <= LINEAR_CE_PAD, "panels may be written past their end");

/* Below this many multiply-adds one thread finishes before a second one wakes up. */
static const double alone = 1e6;

enum { FEW = 256 };

/* Depth of a slice: a strip's panel and a panel of w stay in L1, with AVX-512 in L2. */
enum { KC = VF_LANES >= 16 ? LINEAR_CE_KC : LINEAR_CE_KC / 2 };

enum { ROW_STATE = 4 }; /* state of a row between blocks of classes: maximum, sum, label's logit, sum of logits */

typedef struct work {
    const linear_ce *job;
    bool losses, gradients; /* outputs of this pass */
    bool few;               /* few classes: all of w stays in cache */
    bool at_once;           /* losses and gradients share one computation of the logits */
    int64_t c0, classes;    /* the block of classes */
    int64_t block;          /* classes of the largest block */
    int64_t groups;         /* broadcast panels of a block */
    int64_t rows_block;     /* rows per thread and block: the stride of its logits */
    int64_t g0, rows;       /* the rows of the shared G */
    float *wt, *wp;         /* packed w */
    float *state;           /* ROW_STATE arrays of job->rows */
    float *g;               /* [rows][block], row-major */
    float *sums;            /* separate sums: each thread's dw and db */
    bool apart;
    bool own_w; /* each thread packs its own copy of w, w_floats apart */
    int64_t w_floats;
    float *thread; /* each thread's own part */
    int64_t thread_floats;
} work;

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t group_begin(const work *w, int64_t g) { return gemm_cut(w->classes, w->groups, g); }
static float *group_panel(const work *w, int64_t g) {
    return w->wt + group_begin(w, g) * w->job->depth + g * GEMM_SLACK;
}
static float *depth_panel(const work *w, int64_t d) { return w->wp + d * w->classes; } /* d a multiple of GEMM_NR */
static float *own_part(const work *w, int rank) { return w->thread + rank * w->thread_floats; }

/* ---- packing w -------------------------------------------------------------------------------------------------- */

/* panel[q * step + i] = src[q * down + i * along], i < n */
static void pack(const float *src, int64_t down, int64_t along, int64_t depth, int n, int step, float *panel) {
    if (along == 1)
        RIDGE_ISA_FN(gemm_pack_straight)(src, down, depth, n, step, panel);
    else
        RIDGE_ISA_FN(gemm_pack_transposed)(src, along, depth, n, step, panel);
}

/* Prefetches lines of a matrix with rows of `columns` floats. */
static void fetch(const float *src, int64_t rows, int64_t columns, int64_t stride) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c += GEMM_LINE) vf_prefetch_l2(src + r * stride + c);
}

/* No products overlap with the first operands: all of w and the thread's first strip are prefetched at once. */
static void fetch_first(const work *w, int64_t row, int64_t n) {
    const linear_ce *job = w->job;
    const bool turned = job->w_depth != 1;
    fetch(job->w, turned ? job->depth : w->classes, turned ? w->classes : job->depth,
          turned ? job->w_depth : job->w_class);
    fetch(job->x + row * job->x_row, least(GEMM_NR, n), least(job->depth, KC), job->x_row);
}

static void pack_w(void *arg, int rank, int size) {
    const work *w = arg;
    const linear_ce *job = w->job;
    const float *src = job->w + w->c0 * job->w_class;
    int64_t begin, end;
    ridge_share(w->groups, 1, rank, size, &begin, &end);
    for (int64_t g = begin; g < end; g++) {
        const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
        pack(src + c * job->w_class, job->w_depth, job->w_class, job->depth, (int)mr, (int)mr, group_panel(w, g));
    }
    if (!w->gradients) return;
    ridge_share(job->depth, GEMM_NR, rank, size, &begin, &end);
    for (int64_t d = begin; d < end; d += GEMM_NR)
        pack(src + d * job->w_depth, job->w_class, job->w_depth, w->classes, (int)least(GEMM_NR, job->depth - d),
             GEMM_NR, depth_panel(w, d));
}

/* ---- logits of a block ------------------------------------------------------------------------------------------ */

static int64_t slices_of(const work *w) { return (w->job->depth + KC - 1) / KC; }
static int64_t slice_begin(const work *w, int64_t q) { return gemm_cut(w->job->depth, slices_of(w), q); }

/* The tile of group g and of the strip with this panel, over slice q. */
static gemm_tile_args tile_of(const work *w, int64_t g, int64_t q, const float *panel, float *z) {
    const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c, d0 = slice_begin(w, q);
    return (gemm_tile_args){.mr = (int)mr,
                            .nr = GEMM_NR,
                            .depth = slice_begin(w, q + 1) - d0,
                            .a = group_panel(w, g) + d0 * mr,
                            .a_step = mr,
                            .b = panel,
                            .c = z + c * w->rows_block,
                            .c_stride = w->rows_block,
                            .start = q > 0 ? GEMM_START_ADD : GEMM_START_BIAS,
                            .bias = w->job->b + w->c0 + c};
}

/* Piece p of n rows; the slices of a strip are consecutive pieces. */
static gemm_piece piece_at(const work *w, int64_t row, int64_t n, int64_t p, float *xt) {
    const int64_t s = p / slices_of(w), q = p % slices_of(w), d0 = slice_begin(w, q),
                  depth = slice_begin(w, q + 1) - d0;
    return gemm_piece_of(w->job->x + (row + s * GEMM_NR) * w->job->x_row + d0, w->job->x_row, depth,
                         (int)least(GEMM_NR, n - s * GEMM_NR), w->groups * (depth / GEMM_AHEAD_STEPS),
                         xt + (p & 1) * GEMM_NR * KC);
}

/* Few classes: w stays in cache. Each piece of x is transposed during the products of the previous piece, which also
 * hides its memory latency. */
static void logits_of_few(const work *w, int64_t row, int64_t n, float *xt, float *z) {
    const int64_t slices = slices_of(w), pieces = (n + GEMM_NR - 1) / GEMM_NR * slices;
    gemm_piece now = piece_at(w, row, n, 0, xt);
    gemm_piece_finish(&now);
    for (int64_t p = 0; p < pieces; p++) {
        gemm_piece next = {0};
        if (p + 1 < pieces) next = piece_at(w, row, n, p + 1, xt);
        for (int64_t g = 0; g < w->groups; g++) {
            gemm_tile_args t = tile_of(w, g, p % slices, now.panel, z + p / slices * GEMM_NR);
            if (next.beside.units > 0) t.beside = &next.beside;
            RIDGE_ISA_FN(gemm_tile)(&t);
        }
        if (p + 1 < pieces) gemm_piece_finish(&next);
        now = next;
    }
}

/* Many classes: each panel of w serves all strips; their tiles prefetch the next panel. */
static void logits_of_many(const work *w, int64_t row, int64_t n, float *xt, float *z) {
    const linear_ce *job = w->job;
    const int64_t strips = (n + GEMM_NR - 1) / GEMM_NR;
    for (int64_t q = 0; q < slices_of(w); q++) {
        const int64_t d0 = slice_begin(w, q), depth = slice_begin(w, q + 1) - d0;
        for (int64_t s = 0; s < strips; s++) RIDGE_ISA_FN(gemm_pack_transposed)
        (job->x + (row + s * GEMM_NR) * job->x_row + d0, job->x_row, depth, (int)least(GEMM_NR, n - s * GEMM_NR),
         GEMM_NR, xt + s * GEMM_NR * depth);
        for (int64_t g = 0; g < w->groups; g++)
            for (int64_t s = 0; s < strips; s++) {
                gemm_tile_args t = tile_of(w, g, q, xt + s * GEMM_NR * depth, z + s * GEMM_NR);
                if (g + 1 < w->groups)
                    t.ahead = (gemm_ahead){tile_of(w, g + 1, q, NULL, z).a + s * (depth / GEMM_AHEAD_STEPS) * GEMM_LINE,
                                           0, INT64_MAX, 1};
                RIDGE_ISA_FN(gemm_tile)(&t);
            }
    }
}

/* z[c * rows_block + r] for n rows of x from `row` on, and w's block of classes. */
static void make_logits(const work *w, int64_t row, int64_t n, float *xt, float *z) {
    (w->few ? logits_of_few : logits_of_many)(w, row, n, xt, z);
}

/* ---- losses ----------------------------------------------------------------------------------------------------- */

/* Updates the state of a vector of rows. Sums of exponentials are relative to the running maximum; while that is -inf,
 * 0 replaces it, since exp(-inf - 0) is 0. With `keep` the exponentials replace the logits. */
static void sum_column(const work *w, float *z, float *max, float *sum, float *z_sum, bool keep) {
    const int64_t step = w->rows_block, n = w->classes;
    const vf none = vf_set1(-INFINITY), zero = vf_zero();
    const vf before = vf_load(max);
    vf m = before, m1 = none, total = zero, total1 = zero;
    int64_t c = 0;
    for (; c + 2 <= n; c += 2) {
        m = vf_max(m, vf_load(z + c * step));
        m1 = vf_max(m1, vf_load(z + (c + 1) * step));
    }
    if (c < n) m = vf_max(m, vf_load(z + c * step));
    m = vf_max(m, m1);
    if (w->job->smoothing > 0) {
        vf s = vf_load(z_sum);
        for (c = 0; c < n; c++) s = vf_add(s, vf_load(z + c * step));
        vf_store(z_sum, s);
    }
    const vf shift = vf_select(vf_eq(m, none), zero, m);
    for (c = 0; c < n; c++) {
        const vf e = vf_exp_bounded(vf_sub(vf_load(z + c * step), shift));
        if (keep) vf_store(z + c * step, e);
        if (c & 1)
            total1 = vf_add(total1, e);
        else
            total = vf_add(total, e);
    }
    const vf rescaled = vf_mul(vf_load(sum), vf_exp_bounded(vf_sub(before, shift)));
    vf_store(max, m);
    vf_store(sum, vf_add(vf_select(vf_eq(before, none), zero, rescaled), vf_add(total, total1)));
}

/* The part of a thread's rows [row, row + n): arrays a block long. */
typedef struct row_part {
    float max[LINEAR_CE_ROWS], sum[LINEAR_CE_ROWS], label[LINEAR_CE_ROWS], z_sum[LINEAR_CE_ROWS], lse[LINEAR_CE_ROWS];
} row_part;

static void state_load(const work *w, int64_t row, int64_t n, row_part *p) {
    float *const arrays[ROW_STATE] = {p->max, p->sum, p->label, p->z_sum};
    for (int a = 0; a < ROW_STATE; a++) {
        for (int64_t i = 0; i < LINEAR_CE_ROWS; i++) arrays[a][i] = a == 0 ? -INFINITY : 0;
        if (w->c0 > 0) memcpy(arrays[a], w->state + a * w->job->rows + row, (size_t)n * sizeof(float));
    }
}
static void state_store(const work *w, int64_t row, int64_t n, const row_part *p) {
    const float *const arrays[ROW_STATE] = {p->max, p->sum, p->label, p->z_sum};
    for (int a = 0; a < ROW_STATE; a++) memcpy(w->state + a * w->job->rows + row, arrays[a], (size_t)n * sizeof(float));
}

static void make_losses(const work *w, int64_t row, int64_t n, float *z, row_part *p) {
    const linear_ce *job = w->job;
    state_load(w, row, n, p);
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = linear_ce_label(job->labels, row + i) - w->c0;
        if (c >= 0 && c < w->classes) p->label[i] = z[c * w->rows_block + i];
    }
    for (int64_t i = 0; i < n; i += VF_LANES) sum_column(w, z + i, p->max + i, p->sum + i, p->z_sum + i, w->at_once);
    if (w->c0 + w->classes < job->classes) {
        state_store(w, row, n, p);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        p->lse[i] = p->sum[i] > 0 ? p->max[i] + logf(p->sum[i]) : NAN;
        job->lse[row + i] = p->lse[i];
        job->loss[row + i] = linear_ce_loss(job, row + i, p->lse[i], p->label[i], p->z_sum[i]);
    }
}

/* ---- gradients -------------------------------------------------------------------------------------------------- */

/* A row's factors and the value at its label: a logit, or an exponential relative to the maximum. */
typedef struct slope_part {
    float up[LINEAR_CE_ROWS], p[LINEAR_CE_ROWS], every[LINEAR_CE_ROWS], lse[LINEAR_CE_ROWS], counts[LINEAR_CE_ROWS];
    float label[LINEAR_CE_ROWS];
} slope_part;

static float *at_label(const work *w, int64_t row, int64_t i, float *z) {
    const int64_t c = linear_ce_label(w->job->labels, row + i) - w->c0;
    return c >= 0 && c < w->classes ? z + c * w->rows_block + i : NULL;
}

static void slope_load(const work *w, int64_t row, int64_t n, float *z, const row_part *p, slope_part *s) {
    const linear_ce *job = w->job;
    const float *lse = w->at_once ? p->lse : (job->lse_in ? job->lse_in : job->lse) + row;
    memset(s, 0, sizeof *s);
    for (int64_t i = 0; i < n; i++) {
        const linear_ce_factors f = linear_ce_of_row(job, row + i, lse[i]);
        const float *label = at_label(w, row, i, z);
        s->lse[i] = lse[i];
        s->up[i] = f.up;
        s->p[i] = w->at_once ? f.p / p->sum[i] : f.p;
        s->every[i] = f.every;
        s->counts[i] = linear_ce_counts(job, row + i) ? 1 : 0;
        s->label[i] = !label ? 0 : w->at_once ? *label : expf(*label - lse[i]);
    }
}

/* Replaces logits, or exponentials relative to the maximum, by G. */
static void make_gradient(const work *w, int64_t row, int64_t n, float *z, const row_part *p) {
    slope_part s;
    slope_load(w, row, n, z, p, &s);
    for (int64_t i = 0; i < n; i += VF_LANES) {
        const vf up_by = vf_load(s.up + i), factor = vf_load(s.p + i), off = vf_load(s.every + i),
                 lse = vf_load(s.lse + i);
        const vm counted = vf_lt(vf_zero(), vf_load(s.counts + i));
        for (int64_t c = 0; c < w->classes; c++) {
            float *at = z + c * w->rows_block + i;
            const vf e = w->at_once ? vf_load(at) : vf_exp(vf_sub(vf_load(at), lse));
            const vf g = vf_mul(up_by, vf_sub(vf_mul(factor, e), off));
            vf_store(at, vf_select(counted, g, vf_zero()));
        }
    }
    for (int64_t i = 0; i < n; i++) {
        float *label = at_label(w, row, i, z);
        if (label && s.counts[i] > 0) *label = s.up[i] * (s.p[i] * s.label[i] - s.every[i] - (1 - w->job->smoothing));
    }
}

static void make_dx(const work *w, int64_t row, int64_t n, const float *z) {
    const linear_ce *job = w->job;
    const int64_t parts = (n + GEMM_MR - 1) / GEMM_MR;
    for (int64_t d = 0; d < job->depth; d += GEMM_NR)
        for (int64_t k = 0; k < parts; k++) {
            const int64_t r = gemm_cut(n, parts, k);
            const gemm_tile_args t = {.mr = (int)(gemm_cut(n, parts, k + 1) - r),
                                      .nr = (int)least(GEMM_NR, job->depth - d),
                                      .depth = w->classes,
                                      .a = z + r,
                                      .a_step = w->rows_block,
                                      .b = depth_panel(w, d),
                                      .c = job->dx + (row + r) * job->dx_row + d,
                                      .c_stride = job->dx_row,
                                      .start = w->c0 > 0 ? GEMM_START_ADD : GEMM_START_ZERO};
            RIDGE_ISA_FN(gemm_tile)(&t);
        }
}

/* ---- dw and db -------------------------------------------------------------------------------------------------- */

/* Some rows of x, their G (row-major), and the accumulators of the block's dw and db. */
typedef struct slab {
    int64_t row, n;
    float *g; /* [n][w->block] */
    float *dw, *db;
    int64_t dw_class, dw_depth;
    bool first; /* store instead of add */
} slab;

static slab slab_of(const work *w, int64_t row, int64_t n, float *g, bool first) {
    const linear_ce *job = w->job;
    return (slab){row, n, g, job->dw + w->c0 * job->dw_class, job->db + w->c0, job->dw_class, job->dw_depth, first};
}

/* A thread's own dw and db of the block. */
static int64_t sums_floats(const work *w) { return up(w->block * (w->job->depth + 1), LINEAR_CE_PAD); }
static slab own_slab(const work *w, int rank, int64_t row, int64_t n, bool first) {
    float *sums = w->sums + rank * sums_floats(w);
    return (slab){
        row, n, w->g + rank * w->rows_block * w->block, sums, sums + w->block * w->job->depth, w->job->depth, 1, first};
}

static void give_gradient(const work *w, int64_t n, const float *z, float *g) {
    float ones[GEMM_NR];
    for (int i = 0; i < GEMM_NR; i++) ones[i] = 1;
    for (int64_t s = 0; s < n; s += GEMM_NR) RIDGE_ISA_FN(gemm_unpack_transposed)
    (z + s, (int)w->rows_block, w->classes, (int)least(GEMM_NR, n - s), ones, g + s * w->block, w->block);
}

/* A tile of a column-major dw. */
static void add_turned(const slab *s, const gemm_tile_args *t, int64_t c, int64_t d) {
    for (int j = 0; j < t->nr; j++)
        for (int i = 0; i < t->mr; i++) {
            float *at = s->dw + (c + i) * s->dw_class + (d + j) * s->dw_depth;
            *at = s->first ? t->c[i * GEMM_NR + j] : *at + t->c[i * GEMM_NR + j];
        }
}

static void make_dw(const work *w, const slab *s, int64_t d, const float *xs) {
    const linear_ce *job = w->job;
    const bool turned = s->dw_depth != 1;
    float tile[GEMM_MR * GEMM_NR];
    /* The tiles prefetch the next columns, some rows each. */
    const int more = (int)((8 + w->groups - 1) / w->groups);
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t c = group_begin(w, g), from = g * more * (s->n / 8);
        gemm_tile_args t = {.mr = (int)(group_begin(w, g + 1) - c),
                            .nr = (int)least(GEMM_NR, job->depth - d),
                            .depth = s->n,
                            .a = s->g + c,
                            .a_step = w->block,
                            .b = xs,
                            .c = turned ? tile : s->dw + c * s->dw_class + d,
                            .c_stride = turned ? GEMM_NR : s->dw_class,
                            .start = s->first || turned ? GEMM_START_ZERO : GEMM_START_ADD};
        if (d + GEMM_NR < job->depth && from < s->n)
            t.ahead = (gemm_ahead){job->x + (s->row + from) * job->x_row + d + GEMM_NR, job->x_row, GEMM_NR / GEMM_LINE,
                                   more};
        RIDGE_ISA_FN(gemm_tile)(&t);
        if (turned) add_turned(s, &t, c, d);
    }
}

/* Columns [begin, end) of dw. */
static void add_columns(const work *w, const slab *s, int64_t begin, int64_t end, float *xs) {
    const linear_ce *job = w->job;
    for (int64_t d = begin; d < end; d += GEMM_NR) {
        RIDGE_ISA_FN(gemm_pack_straight)
        (job->x + s->row * job->x_row + d, job->x_row, s->n, (int)least(GEMM_NR, job->depth - d), GEMM_NR, xs);
        make_dw(w, s, d, xs);
    }
}

static void add_biases(const work *w, const slab *s, int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end && s->first; c++) s->db[c] = 0;
    for (int64_t r = 0; r < s->n; r++) {
        const float *g = s->g + r * w->block;
        for (int64_t c = begin; c < end; c++) s->db[c] += g[c];
    }
}

/* ---- what threads do -------------------------------------------------------------------------------------------- */

/* The first thread that has rows; it accumulates in the outputs themselves. */
static int owner_of(const work *w, int size) {
    for (int rank = 0; rank < size; rank++) {
        int64_t begin, end;
        ridge_share(w->rows, GEMM_NR, rank, size, &begin, &end);
        if (begin < end) return rank;
    }
    return 0;
}

/* w as this thread reads it. Reading what another core packed is slow, so each thread packs its own copy of a small w.
 */
static work with_own_w(const work *shared, int rank, int64_t row, int64_t n) {
    work w = *shared;
    if (!w.own_w) return w;
    w.wt += rank * w.w_floats;
    w.wp += rank * w.w_floats;
    if (w.g0 > 0 || n == 0) return w;
    if (w.few) fetch_first(&w, row, n);
    pack_w(&w, 0, 1);
    return w;
}

/* A thread's rows of w->rows. */
static void rows_fn(void *arg, int rank, int size) {
    const work *w = arg;
    float *xt = own_part(w, rank), *z = xt + w->rows_block * KC + LINEAR_CE_PAD;
    row_part part = {.max = {0}};
    int64_t begin, end;
    ridge_share(w->rows, GEMM_NR, rank, size, &begin, &end);
    const work own_w = with_own_w(w, rank, w->g0 + begin, end - begin);
    w = &own_w;
    for (int64_t r = begin; r < end; r += w->rows_block) {
        const int64_t row = w->g0 + r, n = least(w->rows_block, end - r);
        make_logits(w, row, n, xt, z);
        if (w->losses) make_losses(w, row, n, z, &part);
        if (!w->gradients) continue;
        make_gradient(w, row, n, z, &part);
        slab own = own_slab(w, rank, row, n, r == begin);
        if (rank == owner_of(w, size)) own = slab_of(w, row, n, own.g, r == begin);
        give_gradient(w, n, z, w->apart ? own.g : w->g + r * w->block);
        if (w->apart) {
            add_columns(w, &own, 0, w->job->depth, xt);
            add_biases(w, &own, 0, w->classes);
        }
        make_dx(w, row, n, z);
    }
}

/* Shared G: the thread's columns of dw and its part of db, over all rows of G. */
static void classes_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const slab all = slab_of(w, w->g0, w->rows, w->g, w->g0 == 0);
    int64_t begin, end;
    ridge_share(w->job->depth, GEMM_NR, rank, size, &begin, &end);
    add_columns(w, &all, begin, end, own_part(w, rank));
    ridge_share(w->classes, 2 * GEMM_LINE, rank, size, &begin, &end);
    add_biases(w, &all, begin, end);
}

/* Separate sums: adds the threads' sums in order. */
static void gather_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const slab all = slab_of(w, 0, w->rows, NULL, false);
    int64_t begin, end, some, none;
    ridge_share(w->classes, 1, rank, size, &begin, &end);
    for (int other = owner_of(w, size) + 1; other < size; other++) {
        const slab own = own_slab(w, other, 0, 0, false);
        ridge_share(w->rows, GEMM_NR, other, size, &some, &none);
        for (int64_t c = begin; c < end && some < none; c++) {
            const float *from = own.dw + c * own.dw_class;
            float *to = all.dw + c * all.dw_class;
            all.db[c] += own.db[c];
            for (int64_t d = 0; d < w->job->depth && all.dw_depth == 1; d++) to[d] += from[d];
            for (int64_t d = 0; d < w->job->depth && all.dw_depth != 1; d++) to[d * all.dw_depth] += from[d];
        }
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* All rows for one block of classes. */
static void block_of_classes(work *w, ridge_team *team) {
    const linear_ce *job = w->job;
    const bool at_once = !w->gradients || w->apart;
    const int64_t most = at_once ? job->rows : w->rows_block * ridge_team_size(team);
    const int64_t turns = most > 0 ? (job->rows + most - 1) / most : 0, strips = (job->rows + GEMM_NR - 1) / GEMM_NR;
    if (!w->own_w) ridge_team_run(team, pack_w, w);
    for (int64_t t = 0; t < turns; t++) {
        w->g0 = gemm_cut(strips, turns, t) * GEMM_NR;
        w->rows = least(gemm_cut(strips, turns, t + 1) * GEMM_NR, job->rows) - w->g0;
        ridge_team_run(team, rows_fn, w);
        if (!at_once) ridge_team_run(team, classes_fn, w);
        if (w->gradients && w->apart && ridge_team_size(team) > 1) ridge_team_run(team, gather_fn, w);
    }
}

static void pass(work *w, bool losses, bool gradients, ridge_team *team) {
    w->losses = losses;
    w->gradients = gradients;
    w->at_once = losses && gradients;
    for (w->c0 = 0; w->c0 < w->job->classes; w->c0 += w->block) {
        w->classes = least(w->block, w->job->classes - w->c0);
        w->few = w->classes <= FEW;
        /* One class less per tile leaves registers for an interleaved transposition. */
        const int most = w->few ? GEMM_MR - 1 : GEMM_MR;
        w->groups = (w->classes + most - 1) / most;
        block_of_classes(w, team);
    }
}

ridge_status RIDGE_ISA_FN(linear_ce_fused)(const linear_ce *job) {
    const bool losses = job->loss != NULL, gradients = job->dx != NULL;
    ridge_team *team = (double)job->rows * (double)job->depth * (double)job->classes < alone ? NULL : job->team;
    const int threads = ridge_team_size(job->team);
    work w = {.job = job,
              .block = linear_ce_block_classes(job->classes),
              .rows_block = linear_ce_block_rows(job->classes),
              .wt = job->scratch};
    const int64_t wide = up(job->depth, LINEAR_CE_NR), most_rows = threads * w.rows_block;
    w.own_w = linear_ce_own_w(job->classes, job->depth);
    w.wp = w.wt + up(w.block * job->depth + (w.block / 2 + 2) * GEMM_SLACK, LINEAR_CE_PAD);
    w.w_floats = w.wp - w.wt + (gradients ? up(w.block * wide, LINEAR_CE_PAD) + LINEAR_CE_PAD : 0);
    w.state = w.wt + (w.own_w ? threads : 1) * w.w_floats;
    w.g = w.state + up(ROW_STATE * job->rows, LINEAR_CE_PAD);
    w.thread = w.g + (gradients ? up(most_rows * w.block, LINEAR_CE_PAD) : 0);
    w.thread_floats = w.rows_block * (KC + w.block) + most_rows * LINEAR_CE_NR + 3 * LINEAR_CE_PAD;
    w.sums = w.thread + threads * w.thread_floats;
    w.apart = linear_ce_apart(job->classes, job->depth, threads);
    if (gradients && job->rows == 0) linear_ce_clear_gradients(job);
    if (losses && gradients && w.block == job->classes) {
        pass(&w, true, true, team);
        return RIDGE_OK;
    }
    if (losses) pass(&w, true, false, team);
    if (gradients) pass(&w, false, true, team);
    return RIDGE_OK;
}
