/* What plans of products of 8-bit operands in the tiles of gemm8.cuh have in common. Of C and CUDA. */
#ifndef RIDGE_GEMM_GEMM8_H
#define RIDGE_GEMM_GEMM8_H

#include <math.h>

#include "gemm/tiles8.h"
#include "ridge/target.h"

enum { GEMM8_ROWS = 128, GEMM8_SLICE = 128, GEMM8_MOST_SHARES = 32 };

/* C: [m, n], on so many SMs. */
typedef struct gemm8_extents {
    int64_t m, n, k;
    int sms;
} gemm8_extents;

/* Whether an operand lies in lines of 16-byte pieces, as TMA takes it. bytes: of an element. */
static inline bool gemm8_in_pieces(const ridge_operand *t, int64_t bytes) {
    return t->offset % 16 == 0 && t->stride[0] * bytes % 16 == 0;
}
/* Why tiles do not take operands that lie so; n: columns of C, which TMA stores in 16 bits. */
static inline const char *gemm8_refusal(const ridge_problem *p, const ridge_operand *a, const ridge_operand *b,
                                        const ridge_operand *c, int64_t n) {
    if (!gemm8_in_pieces(a, 1) || !gemm8_in_pieces(b, 1)) return "for operands in lines of 16-byte pieces";
    if (p->c.dtype == RIDGE_F32) return NULL;
    return gemm8_in_pieces(c, 2) && n % 8 == 0 ? NULL : "for a C in lines of whole 16-byte pieces";
}

static inline int64_t gemm8_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Tiles of whole clusters. */
static inline int64_t gemm8_tiles(const gemm8_tile *t, const gemm8_extents *e) {
    const int64_t down = gemm8_up(e->m, GEMM8_ROWS * t->cluster_m) * t->cluster_m;
    return down * gemm8_up(e->n, t->columns * t->cluster_n) * t->cluster_n;
}
/* Shares of K: as many as fill the SMs once, 1 where tiles do so already, none empty. */
static inline int gemm8_share_count(const gemm8_tile *t, const gemm8_extents *e) {
    const int64_t tiles = gemm8_tiles(t, e), slices = gemm8_up(e->k, GEMM8_SLICE);
    int64_t shares = tiles > 0 ? e->sms / tiles : 1;
    if (!t->shares || shares < 2 || slices < 8) return 1;
    if (shares > GEMM8_MOST_SHARES) shares = GEMM8_MOST_SHARES;
    if (shares > slices / 4) shares = slices / 4;
    return (int)gemm8_up(slices, gemm8_up(slices, shares));
}
/* Numbers of 32 bits in a line of a share's sums: an even number. */
static inline int64_t gemm8_share_line(int64_t n) { return gemm8_up(n, 2) * 2; }
static inline size_t gemm8_scratch(const gemm8_tile *t, const gemm8_extents *e) {
    const int shares = gemm8_share_count(t, e);
    return shares < 2 ? 0 : 4 * (size_t)shares * (size_t)e->m * (size_t)gemm8_share_line(e->n);
}

/* Bytes a microsecond in memory and of sums in L2, microseconds of a launch, of the way of the first slices to an SM, and of a second
 * launch that waits for sums. Estimates, but DRAM, a copy on an H200. */
#define GEMM8_DRAM 4.2e6
#define GEMM8_L2 5.5e6
#define GEMM8_LAUNCH 3.0
#define GEMM8_FILL 1.2
#define GEMM8_ADDING 3.0

/* Microseconds; moved: bytes of operands and C. What takes longer hides most of the other. */
static inline double gemm8_us(const gemm8_tile *t, const gemm8_extents *e, double moved) {
    const int shares = gemm8_share_count(t, e), sms = e->sms > 0 ? e->sms : 1;
    const double tiles = (double)gemm8_tiles(t, e), slices = (double)gemm8_up(gemm8_up(e->k, GEMM8_SLICE), shares);
    const double turns = ceil(tiles * shares / sms), sums = 4.0 * (double)e->m * (double)e->n * shares;
    const double flops = 2.0 * (double)GEMM8_ROWS * t->columns * (double)e->k,
                 together = tiles * flops / (t->rate * sms);
    const double products = fmax(turns * slices * t->slice_us, together), memory = moved / GEMM8_DRAM;
    const double added = shares > 1 ? GEMM8_ADDING + 2 * sums / GEMM8_L2 : 0;
    return GEMM8_LAUNCH + GEMM8_FILL + fmax(products, memory) + fmin(products, memory) / 4 + added;
}

/* Microseconds of the products of m x n tiles of down x across: flops of an element of C, rate in FLOP a microsecond of an SM. */
static inline double gemm8_tiles_us(const ridge_problem *p, double m, double n, double flops, double rate, double down,
                                    double across) {
    const double sms = p->here.sm_count > 0 ? p->here.sm_count : 1;
    return ceil(ceil(m / down) * ceil(n / across) / sms) * down * across * flops / rate;
}

#endif
