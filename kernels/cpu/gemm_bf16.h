/* Products of bf16 with sums in fp32: C[m, n] = alpha A[m, k] B[k, n], C in bf16 or fp32, operands of any order.
 *
 * Operands are packed as 32-bit words: a pair of elements along K (vec_bf16.h). All threads first pack B into panels
 * [pairs][GEMM_NR]. Then each has blocks of A, and multiplies a slice of K of one at a time by all panels, GEMM_MR x
 * GEMM_NR sums in registers. It reads pairs of A's rows where they lie, or packs them into strips [pairs][mr] if they do not
 * lie in rows of an even K, or share sets of L1. There are two tiles:
 *
 *   pairs     vdpbf16ps: two multiply-adds an instruction
 *   widened   a multiply-add for each half of a pair, widened in registers: any processor, any operands
 *
 * vdpbf16ps takes subnormal operands as 0 and flushes subnormal sums. Packing therefore finds the least magnitude other
 * than 0 of each strip and panel. Normal numbers of exponents ea and eb have products that are multiples of
 * 2^(ea + eb - 14), and so are all sums of such products, rounded or not. From ea + eb = -112 on no sum is subnormal, and
 * nothing is flushed. Strips and panels below that are multiplied by the widened tile. */
#ifndef RIDGE_CPU_GEMM_BF16_H
#define RIDGE_CPU_GEMM_BF16_H

#include "cpu/cost.h"
#include "ridge/target.h"

/* Element (i, d), of line i (a row of A, a column of B) at depth d, is at[i * line + d * depth]; line or depth is 1. */
typedef struct bf16_operand {
    const uint16_t *at;
    int64_t line, depth;
} bf16_operand;

typedef struct bf16_product {
    int64_t m, n, k;
    bf16_operand a, b;
    void *c;
    int64_t c_row, c_column;
    bool wide; /* C is fp32 */
    float alpha;
} bf16_product;

/* Tuned on a Zen 5 core with AVX-512. */
enum {
    BF16_SLICE = 256,      /* pairs of K between two visits of the same sums */
    BF16_BLOCK_STRIPS = 9, /* strips of A, a slice of which stays in L2 while panels pass */
    BF16_BAND_PANELS = 32, /* panels that a slice passes, for which sums are kept from slice to slice */
    BF16_TOGETHER = 4,     /* panels that are packed at once */
    BF16_STRIP_SLACK = 16, /* words that packing may write past a strip */
    BF16_NARROW = 16,      /* with fewer columns than this, and than rows, C^T = B^T A^T is made */
};
static inline bool bf16_is_across(int64_t m, int64_t n) { return n < BF16_NARROW && n < m; }

/* Scratch, in bytes: B's panels; for each thread a slice of strips and sums; the panels' least magnitudes. */
typedef struct bf16_layout {
    int64_t pairs, panels;
    size_t b, strips, thread, least, bytes;
} bf16_layout;

/* n: of the product that is made. */
static inline bf16_layout bf16_layout_of(int64_t n, int64_t k, ridge_isa isa, int threads) {
    const cpu_tile tile = cpu_tile_of(isa);
    const int64_t rows = tile.rows, columns = 2 * (int64_t)tile.lanes, panels = (n + columns - 1) / columns;
    const int64_t pairs = (k + 1) / 2, most = panels < BF16_BAND_PANELS ? panels : (int64_t)BF16_BAND_PANELS;
    const int64_t band = pairs <= BF16_SLICE ? 1 : most;
    bf16_layout l = {.pairs = pairs, .panels = panels};
    l.b = (4 * (size_t)(panels * columns * pairs) + 63) / 64 * 64;
    l.strips = 4 * (size_t)(BF16_BLOCK_STRIPS * (rows * BF16_SLICE + BF16_STRIP_SLACK));
    l.thread = l.strips + 4 * (size_t)(BF16_BLOCK_STRIPS * rows * band * columns);
    l.thread = (l.thread + 63) / 64 * 64;
    l.least = l.b + l.thread * (size_t)threads;
    l.bytes = l.least + sizeof(uint16_t) * (size_t)panels;
    return l;
}

/* c[i, j] (+)= the products of mr rows and GEMM_NR columns; rows of c are GEMM_NR apart. */
typedef struct bf16_tile_args {
    bool widened, add;
    int mr;
    int64_t pairs;
    const void *a;
    int64_t a_row; /* bytes between A's rows where they lie; 0: a strip */
    const uint32_t *b;
    float *c;
} bf16_tile_args;

#define BF16_DECLARE(isa)                                                                                     \
    void bf16_product_##isa(const bf16_product *p, bool widened, void *scratch, ridge_team *team);            \
    void bf16_tile_##isa(const bf16_tile_args *t);                                                            \
    /* Packs `lines` lines from `first` on, k elements deep, as [pairs][step]; zeros behind them. */          \
    void bf16_pack_##isa(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to); \
    /* Packs BF16_TOGETHER whole panels of lines that lie side by side. */                                    \
    void bf16_pack_panels_##isa(const bf16_operand *o, int64_t first, int64_t k, uint32_t *to);               \
    /* The least magnitude but 0 of n elements, as bits of bf16 minus 1. */                                   \
    uint16_t bf16_least_##isa(const uint16_t *v, int64_t n);
RIDGE_ISA_LIST(BF16_DECLARE)
#undef BF16_DECLARE

#if defined(__x86_64__)
bool bf16_has_pairs_avx512(void); /* whether the processor has vdpbf16ps */
#endif

#endif
