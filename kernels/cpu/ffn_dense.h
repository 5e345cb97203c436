/* The SwiGLU feed-forward layer of dense fp32 matrices: of few rows by ffn.h, whose products read weights where they lie, else by
 * ffn_panels.h. Included by cpu*.c. */
#ifndef RIDGE_KERNELS_CPU_FFN_DENSE_H
#define RIDGE_KERNELS_CPU_FFN_DENSE_H

#include "cpu/ffn_panels.h"

/* Reads a number of each line that the next piece has. Memory then delivers it while this piece is packed, and sooner than it would
 * for the loads of a transposition, which follow GEMM_NR rows at a time. */
static inline void ffn_dense_touch(const ffn_piece *piece, ffn_lines at, int64_t rows) {
    const int64_t next = piece->first + piece->count, end = ffn_least(next + piece->count, rows);
    for (int64_t i = next; i < end; i++)
        for (int64_t j = 0; j < piece->columns; j += GEMM_LINE)
            (void)*(const volatile float *)(at.from + (i - piece->first) * at.line + j);
}

static inline ffn_lines ffn_dense_lines(const void *operands, const ffn_piece *piece, float *to, int64_t line) {
    const ffn_matrices *o = operands;
    const ffn_lines of[] = {[FFN_ROWS_OF_X] = {o->x, o->x_line},
                            [FFN_ROWS_OF_W1] = {o->w1, o->w1_line},
                            [FFN_ROWS_OF_W2] = {o->w2, o->w2_line}};
    const int64_t rows[] = {[FFN_ROWS_OF_X] = 0, [FFN_ROWS_OF_W1] = 2 * o->f, [FFN_ROWS_OF_W2] = o->d};
    ffn_lines at = of[piece->of];
    at.from += piece->first * at.line + piece->from;
    (void)to, (void)line;
    ffn_dense_touch(piece, at, rows[piece->of]);
    return at;
}

typedef struct ffn_dense_job {
    const ffn_matrices *o;
    char *scratch;
} ffn_dense_job;
static inline void ffn_dense_blocks(void *arg, int rank, int size) {
    const ffn_dense_job *t = arg;
    int64_t begin, end;
    ridge_share(t->o->m, 1, rank, size, &begin, &end);
    ffn_blocks(t->o, begin, end, t->scratch + (size_t)rank * ffn_thread_bytes(t->o->d, t->o->f));
}

/* scratch: ffn_dense_bytes of ffn_rows.h. */
static inline void ffn_dense(const ffn_matrices *o, void *scratch, ridge_team *team) {
    const int64_t rows = (o->m + ridge_team_size(team) - 1) / ridge_team_size(team);
    const gemm_product part = ffn_first(o, 0, rows, 0, 2 * o->f, NULL, 2 * o->f);
    const gemm_facts facts = gemm_facts_of(&part, GEMM_ISA_OF(RIDGE_ISA), 1);
    if (gemm_way_of(&facts) == GEMM_WAY_BLOCKED) {
        const ffn_layer layer = {.m = o->m,
                                 .d = o->d,
                                 .f = o->f,
                                 .operands = o,
                                 .lines = ffn_dense_lines,
                                 .group = FFN_PANEL,
                                 .y = o->y,
                                 .y_line = o->y_line,
                                 .scratch = scratch};
        ffn_by_panels(&layer, team);
    } else {
        ridge_team_run(team, ffn_dense_blocks, &(ffn_dense_job){o, scratch});
    }
}

#endif
