/* A piece is one slice of one strip of a matrix. It is packed into a vector panel while the previous piece is
 * multiplied. */
#ifndef RIDGE_CPU_GEMM_PIECE_H
#define RIDGE_CPU_GEMM_PIECE_H

#include "cpu/gemm.h"

typedef struct gemm_piece {
    const float *src;
    int64_t stride, depth;
    int n; /* rows: GEMM_NR at most */
    float *panel;
    gemm_beside beside;
} gemm_piece;

/* rounds: number of rounds of GEMM_AHEAD_STEPS depth steps in the products that the packing overlaps with. */
static inline gemm_piece gemm_piece_of(const float *src, int64_t stride, int64_t depth, int n, int64_t rounds,
                                       float *panel) {
    gemm_piece p = {.src = src, .stride = stride, .depth = depth, .n = n, .panel = panel};
    if (!GEMM_HAS_BESIDE || n < GEMM_NR) return p;
    const int64_t lines = depth / GEMM_LINE, units = lines * (GEMM_NR / 8);
    p.beside = (gemm_beside){.src = src, .stride = stride, .lines = lines, .panel = panel, .units = units};
    p.beside.pace = p.beside.wait = units > 0 && rounds > units ? rounds / units : 1;
    return p;
}

/* Packs what did not overlap: a partial strip, the columns past the last whole line, or all of the first piece. */
static inline void gemm_piece_finish(gemm_piece *p) {
    const int64_t done = p->beside.lines * GEMM_LINE;
    RIDGE_ISA_FN(gemm_beside_finish)(&p->beside);
    if (done < p->depth) RIDGE_ISA_FN(gemm_pack_transposed)
    (p->src + done, p->stride, p->depth - done, p->n, GEMM_NR, p->panel + done * GEMM_NR);
}

#endif
