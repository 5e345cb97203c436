/* Packing of gemm_bf16.h: pairs along K of several lines, and their least magnitude. */
#include <string.h>

#include "cpu/gemm_bf16.h"
#include "cpu/gemm_transpose.h"

/* Pair d of a line that is contiguous along K, of which `left` elements exist. */
static inline uint32_t pair_of(const uint16_t *line, int64_t left) {
    return left > 1 ? line[0] | (uint32_t)line[1] << 16 : line[0];
}

/* Lines side by side at each depth: each line of pairs is made of two of elements. */
VF_INLINE void interleave(const uint16_t *x, const uint16_t *y, int lines, uint32_t *to) {
    for (int i = 0; i < lines; i++) to[i] = x[i] | (uint32_t)y[i] << 16;
}
static void pack_straight(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    const uint16_t *x = o->at + first;
    for (int64_t d = 0; d + 1 < k; d += 2, x += 2 * o->depth, to += step) {
        if (lines == GEMM_NR) {
            interleave(x, x + o->depth, GEMM_NR, to);
            continue;
        }
        interleave(x, x + o->depth, lines, to);
        memset(to + lines, 0, sizeof *to * (size_t)(step - lines));
    }
    for (int i = 0; k % 2 && i < step; i++) to[i] = i < lines ? x[i] : 0;
}

/* Pairs [d0, d1) of lines that are contiguous along K. */
static void pack_pairs(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, int64_t d0, int64_t d1,
                       uint32_t *to) {
    for (int i = 0; i < step; i++) {
        const uint16_t *line = o->at + (first + i) * o->line;
        for (int64_t d = d0; d < d1; d++) to[d * step + i] = i < lines ? pair_of(line + 2 * d, k - 2 * d) : 0;
    }
}

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)
/* Words are transposed as floats are, eight lines and four pairs at a time: see gemm_pack_transposed. A line may begin
 * between words; only vectors, which need no alignment, are loaded there. Missing lines are read from the first one. */
enum { CHUNK = 64 };
static void pack_along(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    const int64_t pairs = (k + 1) / 2, whole = k / 8 * 4;
    for (int64_t d0 = 0; d0 < whole; d0 += CHUNK) {
        const int64_t d1 = d0 + CHUNK < whole ? d0 + CHUNK : whole;
        for (int i = (lines - 1) / 8 * 8; i >= 0; i -= 8) {
            const float *row[8];
            for (int r = 0; r < 8; r++)
                row[r] = (const float *)(const void *)(o->at + (first + (i + r < lines ? i + r : 0)) * o->line);
            for (int64_t d = d0; d < d1; d += 4) transpose_8x4(row, d, step, (float *)(void *)(to + d * step + i));
        }
    }
    for (int64_t d = 0; d < whole && lines < step; d++)
        memset(to + d * step + lines, 0, sizeof *to * (size_t)(step - lines));
    pack_pairs(o, first, lines, step, k, whole, pairs, to);
}
#else
static void pack_along(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    pack_pairs(o, first, lines, step, k, 0, (k + 1) / 2, to);
}
#endif

/* Zeros become the largest number. */
static uint16_t least_of(const uint32_t *words, int64_t n) {
    const uint16_t *v = (const uint16_t *)(const void *)words;
    uint16_t least = UINT16_MAX;
    for (int64_t i = 0; i < 2 * n; i++) {
        const uint16_t before = (uint16_t)((v[i] & 0x7fff) - 1);
        least = before < least ? before : least;
    }
    return least;
}

uint16_t RIDGE_ISA_FN(bf16_pack)(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    if (o->depth == 1)
        pack_along(o, first, lines, step, k, to);
    else
        pack_straight(o, first, lines, step, k, to);
    return least_of(to, (k + 1) / 2 * step);
}
