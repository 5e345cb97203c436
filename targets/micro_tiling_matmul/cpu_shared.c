/* C[m,n] = A[m,k] B[k,n] with packed panels and register tiles.
 *
 *   B is packed into vector panels [k][GEMM_NR], cut along k every GEMM_KC. Each thread packs its share of the panels,
 * each just before its first use, while it prefetches the next. It uses the others' panels when their flags are set. So
 * no thread waits for all of B, and memory accesses overlap with arithmetic. A thread processes its rows in blocks of
 * MC. A block of A, GEMM_KC deep, is packed into broadcast panels and stays in L2 while every panel of B is read; a
 * panel of B serves all tiles of the block. Heights of row panels differ by at most one, so that no tile is a thin
 * remainder. */
#include <sched.h>
#include <stdatomic.h>

#include "cpu/gemm.h"
#include "matmul.h"

enum { MC_PANELS = 9, MC = MC_PANELS * GEMM_MR, LINE_FLOATS = 16, SPINS = 2000 };
_Static_assert(GEMM_NR <= MATMUL_NR && MC <= MATMUL_MC && GEMM_KC <= MATMUL_KC, "scratch is sized by these limits");
_Static_assert(GEMM_NR >= MATMUL_NR_LEAST && GEMM_KC >= MATMUL_KC_LEAST, "so is the room for flags");
_Static_assert(GEMM_SLACK + LINE_FLOATS <= MATMUL_PAD, "scratch leaves room for slack and alignment");

/* Below this many multiply-adds one thread finishes before a second one wakes up. */
static const double alone = 1e6;

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

typedef struct work {
    int64_t m, n, k, a_stride, b_stride, c_stride;
    const float *a, *b;
    float *c, *panels, *blocks; /* packed B; one block of packed A per thread */
    int64_t n_panels, slices;
    atomic_int *ready; /* [n_panels][slices]: 1 when that part of B is packed */
} work;

static int64_t a_block_floats(int64_t k) {
    return round_up(MC * (k < GEMM_KC ? k : GEMM_KC) + GEMM_SLACK, LINE_FLOATS);
}

static int64_t packed_b_floats(int64_t n, int64_t k) {
    return round_up(round_up(n, GEMM_NR) * k + GEMM_SLACK, LINE_FLOATS);
}

/* A slice of the depth, [d0, d1). */
typedef struct slice {
    int64_t index, d0, d1;
} slice;

static slice slice_of(const work *w, int64_t index) {
    return (slice){index, gemm_cut(w->k, w->slices, index), gemm_cut(w->k, w->slices, index + 1)};
}

static int columns_of(const work *w, int64_t panel) {
    const int64_t left = w->n - panel * GEMM_NR;
    return left < GEMM_NR ? (int)left : GEMM_NR;
}

static float *packed_panel(const work *w, int64_t panel, slice s) {
    return w->panels + panel * GEMM_NR * w->k + s.d0 * GEMM_NR;
}

static const float *source_panel(const work *w, int64_t panel, slice s) {
    return w->b + s.d0 * w->b_stride + panel * GEMM_NR;
}

static atomic_int *flag_of(const work *w, int64_t panel, slice s) { return &w->ready[panel * w->slices + s.index]; }

static void pack_panel(const work *w, int64_t panel, slice s) {
    RIDGE_ISA_FN(gemm_pack_straight)
    (source_panel(w, panel, s), w->b_stride, s.d1 - s.d0, columns_of(w, panel), GEMM_NR, packed_panel(w, panel, s));
    atomic_store_explicit(flag_of(w, panel, s), 1, memory_order_release);
}

static void await_panel(const work *w, int64_t panel, slice s) {
    for (int i = 0; !atomic_load_explicit(flag_of(w, panel, s), memory_order_acquire); i++)
        if (i > SPINS) sched_yield();
}

/* What the tiles of a panel prefetch. */
typedef struct upcoming {
    const float *b; /* the next panel to pack, in B; or NULL */
    const float *a; /* the next block of A to pack, or NULL */
    int64_t a_rows;
} upcoming;

/* Tile number `tile` of the block, the p-th of `count` on this panel. */
static gemm_ahead fetch(const work *w, const upcoming *next, int64_t depth, int64_t tile, int64_t p, const float *b) {
    const int64_t rounds = depth / GEMM_AHEAD_STEPS, lines = (depth + GEMM_LINE - 1) / GEMM_LINE, each = rounds / lines;
    enum { B_LINES = (GEMM_NR + GEMM_LINE - 1) / GEMM_LINE, B_ROWS = 2 };
    const int64_t b_rows = rounds / B_LINES * B_ROWS; /* rows of B that one tile can prefetch */
    if (next->b && p * b_rows < depth)
        return (gemm_ahead){next->b + p * b_rows * w->b_stride, w->b_stride, B_LINES, B_ROWS};
    if (next->a && tile * each < next->a_rows)
        return (gemm_ahead){next->a + tile * each * w->a_stride, w->a_stride, lines, 1};
    if (next->b) return (gemm_ahead){.lines = INT64_MAX};
    return (gemm_ahead){b + GEMM_NR * w->k + p * rounds * GEMM_LINE, 0, INT64_MAX, 1}; /* the next packed panel */
}

/* Rows [i0, i0 + rows) of C: one panel of B times the packed block of A. */
static void tiles(const work *w, int64_t i0, int64_t rows, slice s, int64_t panel, int64_t done, const upcoming *next,
                  const float *packed) {
    const int64_t count = (rows + GEMM_MR - 1) / GEMM_MR, depth = s.d1 - s.d0;
    gemm_tile_args t = {.nr = columns_of(w, panel),
                        .depth = depth,
                        .b = packed_panel(w, panel, s),
                        .c_stride = w->c_stride,
                        .start = s.d0 > 0 ? GEMM_ADD : GEMM_ZERO};
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = gemm_cut(rows, count, p);
        t.mr = (int)(gemm_cut(rows, count, p + 1) - i);
        t.a = packed + i * depth;
        t.a_step = t.mr;
        t.c = w->c + (i0 + i) * w->c_stride + panel * GEMM_NR;
        t.ahead = fetch(w, next, depth, done * count + p, p, t.b);
        RIDGE_ISA_FN(gemm_tile)(&t);
    }
}

static void pack_block(const work *w, int64_t i0, int64_t rows, slice s, float *packed) {
    const int64_t count = (rows + GEMM_MR - 1) / GEMM_MR, depth = s.d1 - s.d0;
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = gemm_cut(rows, count, p), mr = gemm_cut(rows, count, p + 1) - i;
        RIDGE_ISA_FN(gemm_pack_transposed)
        (w->a + (i0 + i) * w->a_stride + s.d0, w->a_stride, depth, (int)mr, (int)mr, packed + i * depth);
    }
}

/* A thread's first block starts with its own panels of B and packs each. By the time it needs the others' panels, their
 * owners have packed them. For later blocks all panels are packed. */
static void block(const work *w, int64_t i0, int64_t rows, slice s, upcoming next, int64_t own, int64_t own_end,
                  bool first, float *packed) {
    pack_block(w, i0, rows, s, packed);
    for (int64_t done = 0; done < w->n_panels; done++) {
        const int64_t panel = first ? (own + done) % w->n_panels : done;
        next.b = NULL;
        if (first && panel >= own && panel < own_end) {
            pack_panel(w, panel, s);
            if (panel + 1 < own_end) next.b = source_panel(w, panel + 1, s);
        } else if (first) {
            await_panel(w, panel, s);
        }
        if (rows > 0) tiles(w, i0, rows, s, panel, done, &next, packed);
    }
}

static void multiply(void *arg, int rank, int size) {
    const work *w = arg;
    float *packed = w->blocks + rank * a_block_floats(w->k);
    int64_t begin, end, own, own_end;
    ridge_share(w->m, 1, rank, size, &begin, &end);
    ridge_share(w->n_panels, 1, rank, size, &own, &own_end);
    int64_t blocks = (end - begin + MC - 1) / MC;
    if (blocks == 0) blocks = 1; /* no rows, but other threads wait for its panels */
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t i0 = begin + gemm_cut(end - begin, blocks, b), i1 = begin + gemm_cut(end - begin, blocks, b + 1);
        for (int64_t d = 0; d < w->slices; d++) {
            const slice s = slice_of(w, d);
            const upcoming next = {.a_rows = i1 - i0,
                                   .a = d + 1 < w->slices ? w->a + i0 * w->a_stride + s.d1
                                        : b + 1 < blocks  ? w->a + i1 * w->a_stride
                                                          : NULL};
            block(w, i0, i1 - i0, s, next, own, own_end, b == 0, packed);
        }
    }
}

ridge_status RIDGE_ISA_FN(matmul_cpu_shared)(const ridge_call *call) {
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
              .n_panels = (n + GEMM_NR - 1) / GEMM_NR,
              .slices = (k + GEMM_KC - 1) / GEMM_KC,
              .panels = call->scratch};
    if (m == 0) return RIDGE_OK;
    ridge_team *team = (double)m * (double)n * (double)k < alone ? NULL : call->team;
    w.blocks = w.panels + packed_b_floats(n, k);
    w.ready = (atomic_int *)(void *)(w.blocks + a_block_floats(k) * ridge_team_size(team));
    for (int64_t i = 0; i < w.n_panels * w.slices; i++) atomic_init(&w.ready[i], 0);
    ridge_team_run(team, multiply, &w);
    return RIDGE_OK;
}
