/* Products of bf16 with sums in fp32: C[m, n] = alpha A[m, k] B[k, n], C in bf16 or fp32, operands of any order.
 *
 * All threads first pack both operands as pairs along K (vec_bf16.h), A into strips [pairs][mr], B into panels
 * [pairs][GEMM_NR]. Then they multiply, GEMM_MR x GEMM_NR sums in registers, by one of two tiles over the same panels:
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

#include "model/cpu_cost.h"
#include "ridge/target.h"

/* Element (i, d) of a line i (a row of A, a column of B) at depth d is at[i * line + d * depth]; line or depth is 1. */
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

/* Where everything is in scratch, in bytes. */
typedef struct bf16_layout {
    int64_t pairs, strips, panels;
    size_t b, least, sums, bytes; /* A is first */
} bf16_layout;

enum {
    BF16_SLICE = 512,      /* pairs of K between two visits of the same sums */
    BF16_BLOCK_STRIPS = 9, /* strips of A that pass while a slice of a panel is in L1 or L2 */
    BF16_STRIP_SLACK = 16, /* words that packing may write past a strip */
    BF16_NARROW = 16,      /* of fewer columns than this, and than rows, C^T = B^T A^T is made */
};

static inline bool bf16_is_across(int64_t m, int64_t n) { return n < BF16_NARROW && n < m; }

/* m, n: of the product that is made. */
static inline bf16_layout bf16_layout_of(int64_t m, int64_t n, int64_t k, ridge_isa isa, int threads) {
    const cpu_tile tile = cpu_tile_of(isa);
    const int64_t columns = 2 * (int64_t)tile.lanes, rows = tile.rows;
    bf16_layout l = {.pairs = (k + 1) / 2, .strips = (m + rows - 1) / rows, .panels = (n + columns - 1) / columns};
    const size_t a = 4 * (size_t)(m * l.pairs + l.strips * BF16_STRIP_SLACK);
    l.b = (a + 63) / 64 * 64;
    l.sums = l.b + 4 * (size_t)(l.panels * columns * l.pairs);
    l.sums = (l.sums + 63) / 64 * 64;
    l.least = l.sums + 4 * (size_t)(BF16_BLOCK_STRIPS * rows * columns * threads);
    l.bytes = l.least + sizeof(uint16_t) * (size_t)(l.strips + l.panels);
    return l;
}

#define BF16_DECLARE(isa)                                                                                 \
    void bf16_product_##isa(const bf16_product *p, bool native, void *scratch, ridge_team *team);         \
    /* Packs `lines` lines from `first` on, as [pairs][step], and returns their least magnitude but 0. */ \
    uint16_t bf16_pack_##isa(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to);
RIDGE_ISA_LIST(BF16_DECLARE)
#undef BF16_DECLARE

#if defined(__x86_64__)
bool bf16_has_pairs_avx512(void); /* whether the processor has vdpbf16ps */
#endif

/* c[i, j] (+)= the products of mr rows and of nr columns, up to GEMM_MR and GEMM_NR; rows of c are GEMM_NR apart. */
typedef struct bf16_tile_args {
    int mr, nr;
    bool native, add;
    int64_t pairs;
    const uint32_t *a, *b;
    float *c;
} bf16_tile_args;
#define BF16_DECLARE(isa) void bf16_tile_##isa(const bf16_tile_args *t);
RIDGE_ISA_LIST(BF16_DECLARE)
#undef BF16_DECLARE

#endif
