/* C[m,n] = A[m,k] B[k,n] of gemm_shared.h, with packed panels and register tiles.
 *
 *   B is packed into vector panels [k][GEMM_NR], cut along k every GEMM_KC. Each thread packs its share of the panels,
 * each just before its first use, while it prefetches the next. It uses the others' panels when their flags are set. So
 * no thread waits for all of B, and memory accesses overlap with arithmetic. A thread processes its rows in blocks of
 * MC. A block of A, GEMM_KC deep, is packed into broadcast panels and stays in L2 while every panel of B is read; a
 * panel of B serves all tiles of the block. Heights of row panels differ by at most one, so that no tile is a thin
 * remainder.
 *   Rows of A that are one block read a panel once. So each thread then has columns of C, and all of its panels are
 * packed to the same place, which stays in L2: B does not go to memory again. */
#include "cpu/gemm_shared.h"

#include <sched.h>
#include <stdatomic.h>

#include "cpu/gemm.h"

enum { MC_PANELS = 9, MC = MC_PANELS * GEMM_MR, LINE_FLOATS = 16, SPINS = 2000 };
/* Slices of a product by columns: the packed panel, the rows of B that come after it and A share L2. */
enum { COLUMNS_KC = (int)GEMM_KC < 512 ? (int)GEMM_KC : 512 };
_Static_assert((int)MC_PANELS == (int)GEMM_SHARED_STRIPS, "costs depend on it");
_Static_assert((int)GEMM_NR <= (int)GEMM_SHARED_NR && (int)MC <= (int)GEMM_SHARED_MC &&
                   (int)GEMM_KC <= (int)GEMM_SHARED_KC,
               "scratch is sized by these limits");
_Static_assert((int)GEMM_NR >= (int)GEMM_SHARED_NR_LEAST && (int)GEMM_KC >= (int)GEMM_SHARED_KC_LEAST,
               "so is the room for flags");
_Static_assert((int)GEMM_SLACK + (int)LINE_FLOATS <= (int)GEMM_SHARED_PAD,
               "scratch leaves room for slack and alignment");
_Static_assert(GEMM_NR % 8 == 0 || GEMM_NR < 8, "packing a panel writes nothing past it");

/* Below this many multiply-adds one thread finishes before a second one wakes up. */
static const double alone = 1e6;

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

typedef struct work {
    const gemm_product *p;
    float *panels, *blocks; /* packed B; one block of packed A per thread */
    int64_t n_panels, slices;
    atomic_int *ready; /* [n_panels][slices]: 1 when that part of B is packed */
} work;

static int64_t a_block_floats(const gemm_product *p) {
    return round_up((p->m < MC ? p->m : MC) * (p->k < GEMM_KC ? p->k : GEMM_KC) + GEMM_SLACK, LINE_FLOATS);
}

static int64_t packed_b_floats(int64_t n, int64_t k) {
    return round_up(round_up(n, GEMM_NR) * k + GEMM_SLACK, LINE_FLOATS);
}

/* A slice of the depth, [d0, d1). */
typedef struct slice {
    int64_t index, d0, d1;
} slice;

static slice slice_of(const work *w, int64_t index) {
    return (slice){index, gemm_cut(w->p->k, w->slices, index), gemm_cut(w->p->k, w->slices, index + 1)};
}

static int columns_of(const work *w, int64_t panel) {
    const int64_t left = w->p->n - panel * GEMM_NR;
    return left < GEMM_NR ? (int)left : GEMM_NR;
}

static float *packed_panel(const work *w, int64_t panel, slice s) {
    return w->panels + panel * GEMM_NR * w->p->k + s.d0 * GEMM_NR;
}

static const float *source_panel(const work *w, int64_t panel, slice s) {
    return w->p->b + s.d0 * w->p->b_depth + panel * GEMM_NR * w->p->b_column;
}
static const float *source_rows(const work *w, int64_t i, int64_t d) {
    return w->p->a + i * w->p->a_row + d * w->p->a_depth;
}

static atomic_int *flag_of(const work *w, int64_t panel, slice s) { return &w->ready[panel * w->slices + s.index]; }

static void pack_panel(const work *w, int64_t panel, slice s, float *to) {
    const float *from = source_panel(w, panel, s);
    if (w->p->b_column == 1)
        RIDGE_ISA_FN(gemm_pack_straight)(from, w->p->b_depth, s.d1 - s.d0, columns_of(w, panel), GEMM_NR, to);
    else
        RIDGE_ISA_FN(gemm_pack_transposed)(from, w->p->b_column, s.d1 - s.d0, columns_of(w, panel), GEMM_NR, to);
}

static void await_panel(const work *w, int64_t panel, slice s) {
    for (int i = 0; !atomic_load_explicit(flag_of(w, panel, s), memory_order_acquire); i++)
        if (i > SPINS) sched_yield();
}

/* What the tiles of a panel prefetch: rows of B, or rows of A, where they are contiguous. */
typedef struct upcoming {
    const float *b; /* the next panel to pack, in B; or NULL */
    const float *a; /* the next block of A to pack, or NULL */
    int64_t a_rows;
    bool packed; /* the next panel is packed, or will be */
} upcoming;

/* Tile number `tile` of the block, the p-th of `count` on this panel. */
static gemm_ahead fetch(const work *w, const upcoming *next, int64_t depth, int64_t tile, int64_t p, const float *b) {
    const int64_t rounds = depth / GEMM_AHEAD_STEPS, lines = (depth + GEMM_LINE - 1) / GEMM_LINE, each = rounds / lines;
    enum { B_LINES = (GEMM_NR + GEMM_LINE - 1) / GEMM_LINE, B_ROWS = 2 };
    const int64_t b_rows = rounds / B_LINES * B_ROWS; /* rows of B that one tile can prefetch */
    if (next->b && p * b_rows < depth)
        return (gemm_ahead){next->b + p * b_rows * w->p->b_depth, w->p->b_depth, B_LINES, B_ROWS};
    if (next->a && tile * each < next->a_rows)
        return (gemm_ahead){next->a + tile * each * w->p->a_row, w->p->a_row, lines, 1};
    if (next->b || !next->packed) return (gemm_ahead){.lines = INT64_MAX};
    return (gemm_ahead){b + GEMM_NR * w->p->k + p * rounds * GEMM_LINE, 0, INT64_MAX, 1}; /* the next packed panel */
}

/* Rows [i0, i0 + rows) of C: one panel of B, packed at b, times the packed block of A. */
static void tiles(const work *w, int64_t i0, int64_t rows, slice s, int64_t panel, const float *b, int64_t done,
                  const upcoming *next, const float *packed) {
    const int64_t count = (rows + GEMM_MR - 1) / GEMM_MR, depth = s.d1 - s.d0;
    gemm_tile_args t = {.nr = columns_of(w, panel),
                        .depth = depth,
                        .b = b,
                        .c_stride = w->p->c_row,
                        .start = s.d0 > 0 ? GEMM_START_ADD : GEMM_START_ZERO};
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = gemm_cut(rows, count, p);
        t.mr = (int)(gemm_cut(rows, count, p + 1) - i);
        t.a = packed + i * depth;
        t.a_step = t.mr;
        t.c = w->p->c + (i0 + i) * w->p->c_row + panel * GEMM_NR;
        t.ahead = fetch(w, next, depth, done * count + p, p, t.b);
        RIDGE_ISA_FN(gemm_tile)(&t);
    }
}

static void pack_block(const work *w, int64_t i0, int64_t rows, slice s, float *packed) {
    const int64_t count = (rows + GEMM_MR - 1) / GEMM_MR, depth = s.d1 - s.d0;
    for (int64_t p = 0; p < count; p++) {
        const int64_t i = gemm_cut(rows, count, p), mr = gemm_cut(rows, count, p + 1) - i;
        const float *from = source_rows(w, i0 + i, s.d0);
        if (w->p->a_depth == 1)
            RIDGE_ISA_FN(gemm_pack_transposed)(from, w->p->a_row, depth, (int)mr, (int)mr, packed + i * depth);
        else
            RIDGE_ISA_FN(gemm_pack_straight)(from, w->p->a_depth, depth, (int)mr, (int)mr, packed + i * depth);
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
            pack_panel(w, panel, s, packed_panel(w, panel, s));
            atomic_store_explicit(flag_of(w, panel, s), 1, memory_order_release);
            if (panel + 1 < own_end && w->p->b_column == 1) next.b = source_panel(w, panel + 1, s);
        } else if (first) {
            await_panel(w, panel, s);
        }
        if (rows > 0) tiles(w, i0, rows, s, panel, packed_panel(w, panel, s), done, &next, packed);
    }
}

static void multiply(void *arg, int rank, int size) {
    const work *w = arg;
    float *packed = w->blocks + rank * a_block_floats(w->p);
    int64_t begin, end, own, own_end;
    ridge_share(w->p->m, 1, rank, size, &begin, &end);
    ridge_share(w->n_panels, 1, rank, size, &own, &own_end);
    int64_t blocks = (end - begin + MC - 1) / MC;
    if (blocks == 0) blocks = 1; /* no rows, but other threads wait for its panels */
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t i0 = begin + gemm_cut(end - begin, blocks, b), i1 = begin + gemm_cut(end - begin, blocks, b + 1);
        for (int64_t d = 0; d < w->slices; d++) {
            const slice s = slice_of(w, d);
            const upcoming next = {.packed = true,
                                   .a_rows = i1 - i0,
                                   .a = w->p->a_depth != 1  ? NULL
                                        : d + 1 < w->slices ? source_rows(w, i0, s.d1)
                                        : b + 1 < blocks    ? source_rows(w, i1, 0)
                                                            : NULL};
            block(w, i0, i1 - i0, s, next, own, own_end, b == 0, packed);
        }
    }
}

/* Of one block of rows, by the threads' columns. */
static void multiply_columns(void *arg, int rank, int size) {
    const work *w = arg;
    float *packed = w->blocks + rank * a_block_floats(w->p);
    int64_t own, own_end;
    ridge_share(w->n_panels, 1, rank, size, &own, &own_end);
    for (int64_t d = 0; d < w->slices && own < own_end; d++) {
        const slice s = slice_of(w, d);
        float *const b = packed_panel(w, own, slice_of(w, 0));
        pack_block(w, 0, w->p->m, s, packed);
        for (int64_t panel = own; panel < own_end; panel++) {
            const bool ahead = w->p->b_column == 1 && panel + 1 < own_end;
            const upcoming next = {.b = ahead ? source_panel(w, panel + 1, s) : NULL};
            pack_panel(w, panel, s, b);
            tiles(w, 0, w->p->m, s, panel, b, panel - own, &next, packed);
        }
    }
}

void RIDGE_ISA_FN(gemm_shared)(const gemm_product *p, void *scratch, ridge_team *team) {
    work w = {.p = p, .n_panels = (p->n + GEMM_NR - 1) / GEMM_NR, .panels = scratch};
    if (p->m == 0) return;
    if ((double)p->m * (double)p->n * (double)p->k < alone) team = NULL;
    w.blocks = w.panels + packed_b_floats(p->n, p->k);
    w.ready = (atomic_int *)(void *)(w.blocks + a_block_floats(p) * ridge_team_size(team));
    if (p->m <= MC && w.n_panels >= ridge_team_size(team)) {
        w.slices = (p->k + COLUMNS_KC - 1) / COLUMNS_KC;
        ridge_team_run(team, multiply_columns, &w);
        return;
    }
    w.slices = (p->k + GEMM_KC - 1) / GEMM_KC;
    for (int64_t i = 0; i < w.n_panels * w.slices; i++) atomic_init(&w.ready[i], 0);
    ridge_team_run(team, multiply, &w);
}
