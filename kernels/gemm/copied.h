/* The plan of a product whose matrices lie between 16-byte boundaries: those that do are copied to scratch, or C from
 * there, and tiles (tiles.h) have the rest. */
#ifndef RIDGE_GEMM_COPIED_H
#define RIDGE_GEMM_COPIED_H

#include <stddef.h>

#include "gemm/problem.h"

/* Where copies lie in scratch; at: 0 where `copied` is false. A copy's lines have `line` elements, whole pieces. */
typedef struct gemm_copy {
    bool copied;
    size_t at;
    int64_t lines, line;
} gemm_copy;
typedef struct gemm_copies {
    gemm_copy a, b, c;
    size_t sums, bytes; /* where shares of K have theirs; of all of it */
    int tile;           /* that is quickest for them, in the order of GEMM_TILES */
    double us;          /* of that tile, and of copying C */
} gemm_copies;

/* The quickest tile of GEMM_TILES, in their order, and its microseconds. shares: also those that cut K in shares, which store
 * C wherever it lies; back: what all others cost besides. */
typedef struct gemm_choice {
    int tile;
    double us;
} gemm_choice;
gemm_choice gemm_quickest_tile(const gemm_problem *g, bool shares, double back);

gemm_copies gemm_copies_of(const gemm_problem *g);
ridge_plan gemm_copied_plan(const ridge_way *way, const ridge_problem *p);

#endif
