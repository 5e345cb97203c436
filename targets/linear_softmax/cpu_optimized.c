/* softmax(x w + b), fused. Vectors run along the batch, not along the classes: 10 or 50 classes then waste no lane, and
 * the softmax is vertical, class after class, with no reduction across lanes.
 *
 *   w is packed once into broadcast panels [depth][mr] of at most GEMM_MR classes each, equal in size to one.
 *   A strip is GEMM_NR rows of x, transposed slice by slice into a vector panel [depth][GEMM_NR].
 *   Tiles of mr classes x GEMM_NR rows accumulate from the bias into the strip's logits [classes][GEMM_NR], which stay
 * in cache; softmax turns them into probabilities there, and a transposition writes them out. A block is several
 * strips, so that a panel of w serves more than one tile when all of w is larger than the cache. */
#include "cpu/gemm.h"
#include "cpu/vec_math.h"
#include "linear_softmax.h"

enum { LINE_FLOATS = 16, PACK_ROWS = 16 };

/* Below this many multiply-adds one thread is done before a second one has woken up. */
static const double alone = 1e6;

typedef struct work {
    int64_t rows, depth, classes, groups, strips; /* groups of classes; strips a block */
    int64_t x_stride, w_stride, y_stride;
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
    /* A few rows of w for all groups, then the next few: w is read along its rows, as it lies in memory. */
    for (int64_t d = 0; d < w->depth; d += PACK_ROWS)
        for (int64_t g = begin; g < end; g++) {
            const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
            RIDGE_ISA_FN(gemm_pack_straight)(w->w + d * w->w_stride + c, w->w_stride,
                                             w->depth - d < PACK_ROWS ? w->depth - d : PACK_ROWS, (int)mr, (int)mr,
                                             group_panel(w, g) + d * mr);
        }
}

/* logits [classes][GEMM_NR] become exp(logit - max of its column); scale[i] is one over the sum of column i. */
static void softmax_strip(float *logits, int64_t classes, float *scale) {
    vf m0 = vf_load(logits), m1 = vf_load(logits + VF_LANES), s0 = vf_zero(), s1 = s0;
    for (int64_t c = 1; c < classes; c++) {
        m0 = vf_max(m0, vf_load(logits + c * GEMM_NR));
        m1 = vf_max(m1, vf_load(logits + c * GEMM_NR + VF_LANES));
    }
    for (int64_t c = 0; c < classes; c++) {
        vf e0 = vf_exp_bounded(vf_sub(vf_load(logits + c * GEMM_NR), m0));
        vf e1 = vf_exp_bounded(vf_sub(vf_load(logits + c * GEMM_NR + VF_LANES), m1));
        s0 = vf_add(s0, e0);
        s1 = vf_add(s1, e1);
        vf_store(logits + c * GEMM_NR, e0);
        vf_store(logits + c * GEMM_NR + VF_LANES, e1);
    }
    vf_store(scale, vf_div(vf_set1(1.0f), s0));
    vf_store(scale + VF_LANES, vf_div(vf_set1(1.0f), s1));
}

/* Spreads the lines of the next strip of x over the tiles of this one: tile g of `groups` fetches its share. */
static gemm_ahead next_strip(const work *w, const float *next, int64_t depth, int64_t g) {
    if (!next) return (gemm_ahead){0};
    const int64_t lines = (depth + GEMM_LINE - 1) / GEMM_LINE, passes = depth / GEMM_AHEAD_STEPS / lines;
    int64_t rows = passes < 1 ? 0 : (GEMM_NR + w->groups * passes - 1) / (w->groups * passes), first = g * passes * rows;
    if (first >= GEMM_NR) rows = 0;
    return (gemm_ahead){next + first * w->x_stride, w->x_stride, lines, (int)rows};
}

/* The products of slice [d0, d0 + depth) for `strips` strips of x. next: the slice of x packed after this one, or NULL. */
static void slice(const work *w, int64_t d0, int64_t depth, int64_t strips, const float *xt, const float *next,
                  float *logits) {
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t c = group_begin(w, g), mr = group_begin(w, g + 1) - c;
        gemm_tile_args t = {.mr = (int)mr, .nr = GEMM_NR, .depth = depth, .a_step = mr, .c_stride = GEMM_NR,
                            .start = d0 > 0 ? GEMM_ADD : GEMM_BIAS, .bias = w->b + c};
        t.a = group_panel(w, g) + d0 * mr;
        if (w->groups == 1) t.a = w->w + d0 * w->w_stride, t.a_step = w->w_stride;
        for (int64_t s = 0; s < strips; s++) {
            t.b = xt + s * GEMM_NR * depth;
            t.c = logits + (s * w->classes + c) * GEMM_NR;
            t.ahead = next_strip(w, next ? next + s * GEMM_NR * w->x_stride : NULL, depth, g);
            RIDGE_ISA_FN(gemm_tile)(&t);
        }
    }
}

static void block(const work *w, int64_t row, int64_t rows, int64_t end, float *xt, float *logits) {
    const int64_t strips = (rows + GEMM_NR - 1) / GEMM_NR, slices = (w->depth + LINEAR_KC - 1) / LINEAR_KC;
    for (int64_t q = 0; q < slices; q++) {
        const int64_t d0 = gemm_cut(w->depth, slices, q), depth = gemm_cut(w->depth, slices, q + 1) - d0;
        for (int64_t s = 0; s < strips; s++) {
            const int64_t i = s * GEMM_NR, left = rows - i;
            RIDGE_ISA_FN(gemm_pack_transposed)(w->x + (row + i) * w->x_stride + d0, w->x_stride, depth,
                                               left < GEMM_NR ? (int)left : GEMM_NR, GEMM_NR, xt + i * depth);
        }
        const float *next = q + 1 < slices ? w->x + row * w->x_stride + d0 + depth
                            : row + rows < end ? w->x + (row + rows) * w->x_stride : NULL;
        slice(w, d0, depth, strips, xt, next, logits);
    }
    for (int64_t s = 0; s < strips; s++) {
        float scale[GEMM_NR], *strip = logits + s * w->classes * GEMM_NR;
        const int64_t i = s * GEMM_NR, left = rows - i;
        softmax_strip(strip, w->classes, scale);
        RIDGE_ISA_FN(gemm_unpack_transposed)(strip, GEMM_NR, w->classes, left < GEMM_NR ? (int)left : GEMM_NR, scale,
                                             w->y + (row + i) * w->y_stride, w->y_stride);
    }
}

static void rows_fn(void *arg, int rank, int size) {
    const work *w = arg;
    float *xt = w->thread + rank * w->thread_floats;
    float *logits = xt + w->strips * GEMM_NR * LINEAR_KC + LINE_FLOATS;
    int64_t begin, end;
    ridge_share(w->rows, GEMM_NR, rank, size, &begin, &end);
    for (int64_t row = begin; row < end; row += w->strips * GEMM_NR) {
        const int64_t left = end - row;
        block(w, row, left < w->strips * GEMM_NR ? left : w->strips * GEMM_NR, end, xt, logits);
    }
}

static int64_t line_up(int64_t floats) { return (floats + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS; }

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_optimized)(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *wt = &call->in[LINEAR_W], *y = &call->out[0];
    work w = {.rows = call->dim[LINEAR_BATCH],
              .depth = call->dim[LINEAR_DEPTH],
              .classes = call->dim[LINEAR_CLASSES],
              .x_stride = ridge_row_stride(x),
              .w_stride = ridge_row_stride(wt),
              .y_stride = ridge_row_stride(y),
              .x = ridge_data(x),
              .w = ridge_data(wt),
              .b = ridge_data(&call->in[LINEAR_B]),
              .y = ridge_data(y),
              .panels = call->scratch};
    w.groups = (w.classes + GEMM_MR - 1) / GEMM_MR;
    w.strips = linear_strips(w.classes);
    w.thread = w.panels + line_up(w.classes * w.depth + w.groups * GEMM_SLACK + GEMM_SLACK);
    w.thread_floats = linear_thread_floats(w.classes);
    ridge_team *team = (double)w.rows * (double)w.depth * (double)w.classes < alone ? NULL : call->team;
    if (w.groups > 1) ridge_team_run(team, pack_w, &w);
    ridge_team_run(team, rows_fn, &w);
    return RIDGE_OK;
}
