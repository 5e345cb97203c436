/* softmax(x w + b), fused. Vectors run along the batch, not along the classes: 10 or 50 classes waste no lane, and the
 * softmax needs no reduction across lanes.
 *
 *   w is packed once into broadcast panels [depth][mr] of at most GEMM_MR classes each; their sizes differ by at most
 * one. A strip is GEMM_NR rows of x, transposed slice by slice into a vector panel [depth][GEMM_NR]. Tiles of mr
 * classes x GEMM_NR rows accumulate from the bias into the strip's logits [classes][GEMM_NR], which stay in cache.
 * Softmax runs in place; a transposition writes the probabilities out. A block has several strips, so that a panel of w
 * serves several tiles when w does not fit in cache. */
#include "cpu/linear_softmax.h"

#include "cpu/gemm_piece.h"
#include "cpu/linear_softmax_wide.h"
#include "cpu/softmax_row.h"
#include "cpu/vec_math.h"

enum { LINE_FLOATS = 16, PACK_ROWS = 16, FETCH_ROWS = 256, FIRST_DEPTH = 128 };

/* Depth of a slice: a strip's panel and a panel of w stay in L1, with AVX-512 in L2. */
enum { KC = VF_LANES >= 16 ? LINEAR_KC : LINEAR_KC / 2 };

/* Classes of a group: one less than fit in registers, because a transposition is interleaved. */
enum { CLASSES = GEMM_MR - 1 };

typedef struct work {
    int64_t rows, depth, classes, groups, strips; /* groups of classes; strips a block */
    int64_t x_stride, w_stride, y_stride;
    bool columns; /* column-major: w_stride is between classes */
    const float *x, *w, *b;
    float *y;
    float *panels; /* packed w */
    float *thread; /* each thread's own part */
    int64_t thread_floats;
} work;

static int64_t group_begin(const work *w, int64_t g) { return gemm_cut(w->classes, w->groups, g); }
static float *group_panel(const work *w, int64_t g) {
    return w->panels + group_begin(w, g) * w->depth + g * GEMM_SLACK;
}

static void pack_w(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share(w->groups, 1, rank, size, &begin, &end);
    for (int64_t g = begin; g < end && w->columns; g++) {
        const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
        RIDGE_ISA_FN(gemm_pack_transposed)
        (w->w + c * w->w_stride, w->w_stride, w->depth, (int)mr, (int)mr, group_panel(w, g));
    }
    /* A few rows of w for all groups, then the next few: w is read in memory order. */
    for (int64_t d = 0; d < w->depth && !w->columns; d += PACK_ROWS)
        for (int64_t g = begin; g < end; g++) {
            const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
            RIDGE_ISA_FN(gemm_pack_straight)
            (w->w + d * w->w_stride + c, w->w_stride, w->depth - d < PACK_ROWS ? w->depth - d : PACK_ROWS, (int)mr,
             (int)mr, group_panel(w, g) + d * mr);
        }
}

/* Replaces logits [classes][GEMM_NR] by exp(logit - column maximum); scale[i] = 1 / sum of column i. */
static void softmax_strip(float *logits, int64_t classes, float *scale) {
    vf m0 = vf_load(logits), m1 = vf_load(logits + VF_LANES), s0 = vf_zero(), s1 = s0;
    for (int64_t c = 1; c < classes; c++) {
        m0 = vf_max(m0, vf_load(logits + c * GEMM_NR));
        m1 = vf_max(m1, vf_load(logits + c * GEMM_NR + VF_LANES));
    }
    for (int64_t c = 0; c < classes;) {
        const int64_t end = classes - c < SOFTMAX_TOGETHER ? classes : c + SOFTMAX_TOGETHER;
        vf p0 = vf_zero(), p1 = p0;
        for (; c < end; c++) {
            vf e0 = vf_exp_bounded(vf_sub(vf_load(logits + c * GEMM_NR), m0));
            vf e1 = vf_exp_bounded(vf_sub(vf_load(logits + c * GEMM_NR + VF_LANES), m1));
            p0 = vf_add(p0, e0);
            p1 = vf_add(p1, e1);
            vf_store(logits + c * GEMM_NR, e0);
            vf_store(logits + c * GEMM_NR + VF_LANES, e1);
        }
        s0 = vf_add(s0, p0);
        s1 = vf_add(s1, p1);
    }
    vf_store(scale, vf_div(vf_set1(1.0f), s0));
    vf_store(scale + VF_LANES, vf_div(vf_set1(1.0f), s1));
}

/* Prefetches the rows of y that softmax writes: a store that misses waits for its line, and few can be outstanding. */
static void fetch_out(const work *w, int64_t row, int n) {
    for (int i = 0; i < n; i++) {
        const float *y = w->y + (row + i) * w->y_stride;
        for (int64_t c = 0; c < w->classes; c += GEMM_LINE) __builtin_prefetch(y + c, 1, 2);
    }
}

/* The products of slice [d0, d0 + depth) for `strips` strips of x; beside: a transposition to interleave, or NULL. */
static void slice(const work *w, int64_t d0, int64_t depth, int64_t strips, const float *xt, float *logits,
                  gemm_beside *beside) {
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
        gemm_tile_args t = {.mr = (int)mr,
                            .nr = GEMM_NR,
                            .depth = depth,
                            .a_step = mr,
                            .c_stride = GEMM_NR,
                            .start = d0 > 0 ? GEMM_START_ADD : GEMM_START_BIAS,
                            .bias = w->b + c,
                            .beside = beside};
        t.a = group_panel(w, g) + d0 * mr;
        if (w->groups == 1 && !w->columns) t.a = w->w + d0 * w->w_stride, t.a_step = w->w_stride;
        for (int64_t s = 0; s < strips; s++) {
            t.b = xt + s * GEMM_NR * depth;
            t.c = logits + (s * w->classes + c) * GEMM_NR;
            if (strips > 1 && g + 1 < w->groups) /* the tiles of a group prefetch the next group's panel */
                t.ahead = (gemm_ahead){group_panel(w, g + 1) + d0 * mr + s * (depth / GEMM_AHEAD_STEPS) * GEMM_LINE, 0,
                                       INT64_MAX, 1};
            RIDGE_ISA_FN(gemm_tile)(&t);
        }
    }
}

static void softmax_out(const work *w, int64_t row, int n, float *logits) {
    float scale[GEMM_NR];
    softmax_strip(logits, w->classes, scale);
    RIDGE_ISA_FN(gemm_unpack_transposed)(logits, GEMM_NR, w->classes, n, scale, w->y + row * w->y_stride, w->y_stride);
}

/* ---- few classes: one strip at a time, the next one transposed beside the products of this one ------------------- */

/* One slice of one strip of x. */
typedef struct piece {
    int64_t row, q, d0;
    gemm_piece x;
} piece;

static int64_t slices_of(const work *w) { return (w->depth + KC - 1) / KC; }

static piece piece_at(const work *w, int64_t row, int64_t q, int64_t end, float *panel) {
    piece p = {.row = row, .q = q, .d0 = gemm_cut(w->depth, slices_of(w), q)};
    const int64_t depth = gemm_cut(w->depth, slices_of(w), q + 1) - p.d0;
    p.x =
        gemm_piece_of(w->x + row * w->x_stride + p.d0, w->x_stride, depth,
                      end - row < GEMM_NR ? (int)(end - row) : GEMM_NR, w->groups * (depth / GEMM_AHEAD_STEPS), panel);
    return p;
}

static void few_classes(const work *w, int64_t begin, int64_t end, float *xt, float *logits) {
    float *panels[2] = {xt, xt + GEMM_NR * KC};
    if (begin == end) return;
    piece now = piece_at(w, begin, 0, end, panels[0]);
    /* No products overlap with the first strip: prefetch much of it at once. */
    for (int i = 0; i < now.x.n; i++)
        for (int64_t d = 0; d < now.x.depth && d < FIRST_DEPTH; d += GEMM_LINE)
            vf_prefetch(now.x.src + i * w->x_stride + d);
    if (w->groups == 1 && !w->columns) /* w is read unpacked */
        for (int64_t d = 0; d < w->depth && d < FETCH_ROWS; d++) vf_prefetch(w->w + d * w->w_stride);
    gemm_piece_finish(&now.x);
    for (int64_t turn = 1; now.row < end; turn++) {
        const bool last = now.q + 1 == slices_of(w);
        piece next = {.row = now.row + now.x.n};
        if (!last || next.row < end)
            next = piece_at(w, last ? next.row : now.row, last ? 0 : now.q + 1, end, panels[turn & 1]);
        if (now.q == 0) fetch_out(w, now.row, now.x.n);
        slice(w, now.d0, now.x.depth, 1, now.x.panel, logits, next.x.beside.units > 0 ? &next.x.beside : NULL);
        if (last) softmax_out(w, now.row, now.x.n, logits);
        if (next.row < end) gemm_piece_finish(&next.x);
        now = next;
    }
}

/* ---- many classes: several strips at a time share each panel of w ------------------------------------------------ */

static void block(const work *w, int64_t row, int64_t rows, float *xt, float *logits) {
    const int64_t strips = (rows + GEMM_NR - 1) / GEMM_NR;
    for (int64_t q = 0; q < slices_of(w); q++) {
        const int64_t d0 = gemm_cut(w->depth, slices_of(w), q), depth = gemm_cut(w->depth, slices_of(w), q + 1) - d0;
        for (int64_t s = 0; s < strips; s++) {
            const int64_t i = s * GEMM_NR, left = rows - i;
            RIDGE_ISA_FN(gemm_pack_transposed)
            (w->x + (row + i) * w->x_stride + d0, w->x_stride, depth, left < GEMM_NR ? (int)left : GEMM_NR, GEMM_NR,
             xt + i * depth);
        }
        slice(w, d0, depth, strips, xt, logits, NULL);
    }
    for (int64_t s = 0; s < strips; s++) {
        const int64_t i = s * GEMM_NR, left = rows - i;
        softmax_out(w, row + i, left < GEMM_NR ? (int)left : GEMM_NR, logits + s * w->classes * GEMM_NR);
    }
}

/* ---- classes that fill vectors: no packing, no transposition ---- */

#if defined(RIDGE_ISA_IS_avx512)

/* WIDE_ROWS rows of x; rows past n repeat the first. */
typedef struct wide_strip {
    int64_t at;
    int n;
    bool first, followed; /* first strip of the thread; another full strip follows */
    const float *row[WIDE_ROWS];
} wide_strip;

static wide_strip wide_strip_at(const work *w, int64_t at, int64_t begin, int64_t end) {
    wide_strip s = {.at = at, .first = at == begin, .followed = at + 2 * WIDE_ROWS <= end};
    s.n = end - at < WIDE_ROWS ? (int)(end - at) : WIDE_ROWS;
    for (int i = 0; i < WIDE_ROWS; i++) s.row[i] = w->x + (at + (i < s.n ? i : 0)) * w->x_stride;
    return s;
}

/* No products overlap with the first operands: prefetch what the first tile reads first. */
static void wide_first(const work *w, const wide_strip *s) {
    for (int64_t d = 0; d < w->depth && d < WIDE_W_AHEAD; d++) {
        for (int64_t c = 0; c < w->classes; c += GEMM_LINE) vf_prefetch(w->w + d * w->w_stride + c);
        if (d % GEMM_LINE == 0)
            for (int i = 0; i < WIDE_ROWS; i++) vf_prefetch(s->row[i] + d);
    }
}

static void wide_fetch_out(const work *w, const wide_strip *s, wide_fetch *fetch) {
    const int64_t lines = (w->classes + GEMM_LINE - 1) / GEMM_LINE * s->n,
                  slots = (w->depth + GEMM_LINE - 1) / GEMM_LINE;
    fetch->out = w->y + s->at * w->y_stride;
    fetch->out_stride = w->y_stride;
    fetch->out_rows = s->n;
    fetch->out_each = (lines + slots - 1) / slots;
}

static void wide_products(const work *w, const wide_strip *s, float *wt, float *logits) {
    const int64_t vectors = w->classes / VF_LANES, whole = vectors * VF_LANES, rest = w->classes - whole;
    const int64_t stride = whole + VF_LANES;
    wide_fetch fetch = {.rows = s->followed ? WIDE_ROWS * w->x_stride : 0, .own_columns = s->first ? w->classes : 0};
    if (s->first) wide_first(w, s);
    for (int64_t v = 0; v < vectors;) {
        /* 3 3 … and 2 2 where one or two are left over */
        const int64_t n = vectors - v == 2 || vectors - v == 4 ? 2 : 3, c = v * VF_LANES;
        if (v + n == vectors) wide_fetch_out(w, s, &fetch);
        (n == 3 ? wide_tile_3 : wide_tile_2)(s->row, w->w + c, w->w_stride, w->depth, w->b + c, logits + c, stride,
                                             &fetch);
        fetch = (wide_fetch){0};
        v += n;
    }
    if (s->first && rest) wide_rest(w->w + whole, w->w_stride, w->depth, (int)rest, wt);
    if (rest) wide_dots_rows(s->row, wt, w->depth, w->b + whole, rest, logits + whole, stride);
}

static void wide_rows(void *arg, int rank, int size) {
    const work *w = arg;
    float *wt = w->thread + rank * w->thread_floats, *logits = wt + WIDE_REST * w->depth;
    const int64_t stride = w->classes / VF_LANES * VF_LANES + VF_LANES;
    int64_t begin, end;
    ridge_share(w->rows, WIDE_ROWS, rank, size, &begin, &end);
    for (int64_t at = begin; at < end; at += WIDE_ROWS) {
        const wide_strip s = wide_strip_at(w, at, begin, end);
        wide_products(w, &s, wt, logits);
        wide_softmax(logits, stride, s.n, w->classes, w->y + at * w->y_stride, w->y_stride);
    }
}

#endif

static void rows_fn(void *arg, int rank, int size) {
    const work *w = arg;
    float *xt = w->thread + rank * w->thread_floats;
    float *logits = xt + (w->strips > 1 ? w->strips : 2) * GEMM_NR * KC;
    int64_t begin, end;
    ridge_share(w->rows, GEMM_NR, rank, size, &begin, &end);
    if (w->strips == 1)
        few_classes(w, begin, end, xt, logits);
    else
        for (int64_t row = begin, step = w->strips * GEMM_NR; row < end; row += step)
            block(w, row, end - row < step ? end - row : step, xt, logits);
}

static int64_t line_up(int64_t floats) { return (floats + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS; }

static work work_of(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *wt = &call->in[LINEAR_W], *y = &call->out[0];
    work w = {.rows = call->dim[LINEAR_BATCH],
              .depth = call->dim[LINEAR_DEPTH],
              .classes = call->dim[LINEAR_CLASSES],
              .x_stride = ridge_row_stride(x),
              .w_stride = linear_order_of(wt).stride,
              .columns = linear_order_of(wt).columns,
              .y_stride = ridge_row_stride(y),
              .x = ridge_data(x),
              .w = ridge_data(wt),
              .b = ridge_data(&call->in[LINEAR_B]),
              .y = ridge_data(y),
              .panels = call->scratch};
    w.groups = (w.classes + CLASSES - 1) / CLASSES;
    w.strips = linear_strips(w.classes);
    w.thread = w.panels + line_up(w.classes * w.depth + w.groups * GEMM_SLACK + GEMM_SLACK);
    w.thread_floats = linear_thread_floats(w.classes);
    return w;
}

static ridge_team *team_of(const work *w, const ridge_call *call) {
    return (double)w->rows * (double)w->depth * (double)w->classes < LINEAR_ALONE ? NULL : call->team;
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_fused)(const ridge_call *call) {
    work w = work_of(call);
    ridge_team *team = team_of(&w, call);
    if (w.groups > 1 || w.columns) ridge_team_run(team, pack_w, &w);
    ridge_team_run(team, rows_fn, &w);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_wide)(const ridge_call *call) {
#if defined(RIDGE_ISA_IS_avx512)
    work w = work_of(call);
    ridge_team_run(team_of(&w, call), wide_rows, &w);
    return RIDGE_OK;
#else
    (void)call;
    return RIDGE_UNSUPPORTED;
#endif
}
