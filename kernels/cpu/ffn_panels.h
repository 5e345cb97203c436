/* The SwiGLU feed-forward layer y = q(h) w2^T, h = silu(x g^T) (x u^T), w1 = [g; u], by weights in panels. A chunk of hidden values
 * after the other: their weights become panels, then rows pass, a block after the other, from x to y. Gate, up and hidden values of
 * a block stay in L2. Included by cpu*.c.
 *
 * Caches of two threads may be far apart, and panels are read once for each block of rows. So as long as rows are few, each thread
 * has hidden values of its own (ffn_plan of ffn_rows.h), and sums for all rows. What is left all threads pack together, and each
 * takes its rows. */
#ifndef RIDGE_KERNELS_CPU_FFN_PANELS_H
#define RIDGE_KERNELS_CPU_FFN_PANELS_H

#include <sched.h>
#include <stdatomic.h>

#include "cpu/ffn.h"
#include "cpu/gemm_panels.h"

typedef enum ffn_operand { FFN_ROWS_OF_X, FFN_ROWS_OF_W1, FFN_ROWS_OF_W2 } ffn_operand;

/* Rows first ... first + count - 1, of them columns from ... from + columns - 1. from: a multiple of FFN_COLUMNS. */
typedef struct ffn_piece {
    ffn_operand of;
    int64_t first, count, from, columns;
} ffn_piece;

/* Lines of fp32. */
typedef struct ffn_lines {
    const float *from;
    int64_t line;
} ffn_lines;

typedef struct ffn_layer {
    int64_t m, d, f;
    const void *operands;
    /* Where a piece lies: to, lines `line` apart, if it had to be decoded to there. */
    ffn_lines (*lines)(const void *operands, const ffn_piece *piece, float *to, int64_t line);
    int64_t group;                            /* of ffn_plan_of */
    void (*settle)(float *hidden, int64_t n); /* q of up to FFN_COLUMNS hidden values of a row; NULL: as they are */
    float *y;
    int64_t y_line;
    float *scratch; /* ffn_panels_floats of ffn_rows.h, whole lines of 64 bytes */
} ffn_layer;

/* Hidden values of a chunk: one slice of the second product's depth. */
enum { FFN_CHUNK = (int)GEMM_KC < (int)FFN_CHUNK_MOST ? (int)GEMM_KC : (int)FFN_CHUNK_MOST };
_Static_assert((int)FFN_CHUNK % (int)FFN_COLUMNS == 0, "chunks are whole groups of columns");
_Static_assert((int)GEMM_NR <= (int)FFN_PANEL, "scratch is sized by this limit");

/* A chunk's panels: of gates and of ups, d deep, and of w2, as deep as the chunk has hidden values. */
typedef struct ffn_chunk {
    const ffn_layer *o;
    int64_t first, n;
    float *gate, *up, *down, *room; /* room: the thread's */
    float *y;                       /* += if add */
    int64_t y_line;
    bool add;
} ffn_chunk;

VF_INLINE int64_t ffn_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- weights ---- */

/* Rows [begin, end) of `from` + themselves are columns of panels. begin: a panel's first. column: the first of the k. */
static inline void ffn_pack(const ffn_layer *o, ffn_operand of, int64_t from, int64_t begin, int64_t end,
                            int64_t column, int64_t k, float *panels, float *room) {
    for (int64_t j = begin; j < end; j += GEMM_NR) {
        const ffn_piece piece = {of, from + j, ffn_least(GEMM_NR, end - j), column, k};
        const ffn_lines at = o->lines(o->operands, &piece, room, ffn_line_floats(k));
        gemm_panels_pack(at.from, at.line, piece.count, k, panels + j * k);
    }
}
static inline void ffn_pack_chunk(const ffn_chunk *c, int rank, int size) {
    const ffn_layer *o = c->o;
    int64_t begin, end;
    ridge_share(c->n, GEMM_NR, rank, size, &begin, &end);
    ffn_pack(o, FFN_ROWS_OF_W1, c->first, begin, end, 0, o->d, c->gate, c->room);
    ffn_pack(o, FFN_ROWS_OF_W1, o->f + c->first, begin, end, 0, o->d, c->up, c->room);
    ridge_share(o->d, GEMM_NR, rank, size, &begin, &end);
    ffn_pack(o, FFN_ROWS_OF_W2, 0, begin, end, c->first, c->n, c->down, c->room);
}

/* ---- rows ---- */

/* C (+)= a times n columns of packed weights, k deep. */
static inline void ffn_multiply(int64_t rows, ffn_lines a, const float *b, int64_t n, int64_t k, float *c,
                                int64_t c_line, bool add) {
    const gemm_panels p = {.m = rows,
                           .n = n,
                           .k = k,
                           .a = a.from,
                           .a_row = a.line,
                           .a_depth = 1,
                           .b = b,
                           .b_panel = GEMM_NR * k,
                           .b_step = GEMM_NR,
                           .c = c,
                           .c_row = c_line,
                           .add = add};
    RIDGE_ISA_FN(gemm_panels)(&p);
}
static inline ffn_lines ffn_x(const ffn_layer *o, int64_t first, int64_t rows, float *to) {
    const ffn_piece piece = {FFN_ROWS_OF_X, first, rows, 0, o->d};
    const int64_t line = ffn_line_floats(o->d);
    const ffn_lines at = o->lines(o->operands, &piece, to, line);
    for (int64_t i = 0; i < rows && at.from != to; i++)
        memcpy(to + i * line, at.from + i * at.line, (size_t)o->d * sizeof *to);
    return (ffn_lines){to, line};
}
static inline void ffn_block(const ffn_chunk *c, int64_t first, int64_t rows) {
    const ffn_layer *o = c->o;
    const ffn_lines x = ffn_x(o, first, rows, c->room);
    float *const gate = c->room + FFN_BLOCK_ROWS * x.line, *const hidden = gate + FFN_BLOCK_ROWS * FFN_COLUMNS_LINE;
    for (int64_t j = 0; j < c->n; j += FFN_COLUMNS) {
        const int64_t n = ffn_least(FFN_COLUMNS, c->n - j);
        ffn_multiply(rows, x, c->gate + j * o->d, n, o->d, gate, FFN_COLUMNS_LINE, false);
        ffn_multiply(rows, x, c->up + j * o->d, n, o->d, hidden + j, FFN_HIDDEN_LINE, false);
        for (int64_t i = 0; i < rows; i++) {
            float *const h = hidden + i * FFN_HIDDEN_LINE + j;
            ffn_gate_row(gate + i * FFN_COLUMNS_LINE, h, n);
            if (o->settle) o->settle(h, n);
        }
    }
    ffn_multiply(rows, (ffn_lines){hidden, FFN_HIDDEN_LINE}, c->down, o->d, c->n, c->y + first * c->y_line, c->y_line,
                 c->add);
}
static inline void ffn_chunk_rows(const ffn_chunk *c, int rank, int size) {
    int64_t begin, end;
    ridge_share(c->o->m, 1, rank, size, &begin, &end);
    const int64_t count = (end - begin + FFN_BLOCK_ROWS - 1) / FFN_BLOCK_ROWS;
    for (int64_t b = 0; b < count; b++) {
        const int64_t first = begin + gemm_cut(end - begin, count, b);
        ffn_block(c, first, begin + gemm_cut(end - begin, count, b + 1) - first);
    }
}

/* ---- threads ---- */

typedef struct ffn_work {
    const ffn_layer *o;
    ffn_plan plan;
    float *panels, *rooms, *sums; /* of scratch */
    atomic_int arrived;           /* threads at a place where they wait for each other, all such places together */
} ffn_work;

/* Waits until every thread has come to its place number `places` (1, 2, ...). */
static inline void ffn_meet(ffn_work *w, int places, int size) {
    enum { SPINS = 2000 };
    atomic_fetch_add_explicit(&w->arrived, 1, memory_order_acq_rel);
    for (int i = 0; atomic_load_explicit(&w->arrived, memory_order_acquire) < places * size; i++)
        if (i > SPINS) sched_yield();
}

/* Hidden values of the next of `left`: chunks of about the same size, in whole groups of columns. */
static inline int64_t ffn_next(int64_t left, int64_t most) {
    const int64_t chunks = (left + most - 1) / most, groups = (left + FFN_COLUMNS - 1) / FFN_COLUMNS;
    return ffn_least((groups + chunks - 1) / chunks * FFN_COLUMNS, left);
}
/* From hidden value `first` on, below `end`; panels: number of their place. */
static inline ffn_chunk ffn_chunk_of(const ffn_work *w, int64_t first, int64_t end, int64_t panels, int rank) {
    const int64_t d = w->o->d;
    float *const gate = w->panels + panels * ffn_weights_floats(d, w->plan.chunk);
    float *const up = gate + ffn_panels_columns(w->plan.chunk) * d;
    return (ffn_chunk){.o = w->o,
                       .first = first,
                       .n = ffn_next(end - first, ffn_least(FFN_CHUNK, w->plan.chunk)),
                       .gate = gate,
                       .up = up,
                       .down = up + ffn_panels_columns(w->plan.chunk) * d,
                       .room = w->rooms + rank * ffn_thread_floats(d),
                       .y = w->o->y,
                       .y_line = w->o->y_line,
                       .add = first > 0};
}

/* Of the thread's own hidden values, for all rows: the first thread's sums are y. */
static inline void ffn_own(const ffn_work *w, int rank) {
    const int64_t begin = rank * w->plan.own, end = begin + w->plan.own;
    for (int64_t first = begin, n; first < end; first += n) {
        ffn_chunk c = ffn_chunk_of(w, first, end, rank, rank);
        n = c.n;
        c.add = first > begin;
        if (rank > 0) c.y = w->sums + (rank - 1) * w->o->m * w->o->d, c.y_line = w->o->d;
        ffn_pack_chunk(&c, 0, 1);
        ffn_chunk_rows(&c, 0, 1);
    }
}
/* Adds the sums in the order of the threads, of this one's rows: the same result on every run. */
static inline void ffn_gather(const ffn_work *w, int rank, int size) {
    const int64_t d = w->o->d;
    int64_t begin, end;
    ridge_share(w->o->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int other = 1; other < size; other++) {
            const float *from = w->sums + ((other - 1) * w->o->m + i) * d;
            float *to = w->o->y + i * w->o->y_line;
            for (int64_t j = 0; j < d; j++) to[j] += from[j];
        }
}
/* Of those of nobody: by turns at two places, so that threads wait for each other once a chunk. */
static inline void ffn_together(ffn_work *w, int places, int rank, int size) {
    int64_t first = w->plan.own * size;
    for (int i = 0; first < w->o->f; i++) {
        const ffn_chunk c = ffn_chunk_of(w, first, w->o->f, size > 1 ? i % 2 : 0, rank);
        ffn_pack_chunk(&c, rank, size);
        ffn_meet(w, places + i + 1, size);
        ffn_chunk_rows(&c, rank, size);
        first += c.n;
    }
}

static inline void ffn_thread(void *arg, int rank, int size) {
    ffn_work *w = arg;
    const bool own = w->plan.own > 0;
    if (own) {
        ffn_own(w, rank);
        ffn_meet(w, 1, size);
        ffn_gather(w, rank, size);
    }
    ffn_together(w, own ? 1 : 0, rank, size);
}
static inline void ffn_by_panels(const ffn_layer *o, ridge_team *team) {
    const int size = ridge_team_size(team);
    ffn_work w = {.o = o, .plan = ffn_plan_of(o->m, o->f, o->group, size), .panels = o->scratch};
    w.rooms = w.panels + w.plan.places * ffn_weights_floats(o->d, w.plan.chunk);
    w.sums = w.rooms + size * ffn_thread_floats(o->d);
    atomic_init(&w.arrived, 0);
    if (o->m > 0) ridge_team_run(team, ffn_thread, &w);
}

#endif
