/* Packing of gemm_bf16.h: pairs along K of several lines side by side, and their least magnitude. */
#include <string.h>

#include "cpu/gemm_bf16.h"
#include "cpu/gemm_transpose.h"

enum {
    AHEAD = 4
}; /* depths that are prefetched where lines lie side by side; more share sets of L1 with what they meet */

/* Pairs of lines side by side: of elements x and y. `lines` is a constant after inlining where it is GEMM_NR. */
VF_INLINE void interleave(const uint16_t *x, const uint16_t *y, int lines, uint32_t *restrict to) {
    for (int i = 0; i < lines; i++) to[i] = x[i] | (uint32_t)y[i] << 16;
}

/* `panels` of `lines` lines that lie side by side. */
VF_INLINE void pack_across(const bf16_operand *o, int64_t first, int panels, int lines, int step, int64_t k,
                           uint32_t *restrict to) {
    const int64_t panel = (k + 1) / 2 * step;
    const uint16_t *x = o->at + first;
    for (int64_t d = 0; d + 1 < k; d += 2, x += 2 * o->depth, to += step)
        for (int q = 0; q < panels; q++) {
            const uint16_t *from = x + q * lines;
            vf_prefetch(from + AHEAD * o->depth);
            vf_prefetch(from + (AHEAD + 1) * o->depth);
            interleave(from, from + o->depth, lines, to + q * panel);
            if (lines < step) memset(to + q * panel + lines, 0, sizeof *to * (size_t)(step - lines));
        }
    for (int q = 0; k % 2 && q < panels; q++)
        for (int i = 0; i < step; i++) to[q * panel + i] = i < lines ? x[q * lines + i] : 0;
}

/* Pairs [d0, d1) of lines that are contiguous along K, of k elements. */
static void pack_pairs(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, int64_t d0, int64_t d1,
                       uint32_t *to) {
    for (int i = 0; i < step; i++) {
        const uint16_t *line = o->at + (first + i) * o->line;
        for (int64_t d = d0; d < d1; d++) {
            const uint32_t upper = i < lines && 2 * d + 1 < k ? line[2 * d + 1] : 0;
            to[d * step + i] = i < lines ? line[2 * d] | upper << 16 : 0;
        }
    }
}

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)
/* Pairs are transposed as floats are, eight lines and four pairs at a time: see gemm_pack_transposed. A line may begin
 * between words: only vectors, which need no alignment, are loaded there. Missing lines are read from the first one. */
enum { CHUNK = 64 };
static void pack_along(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    const int64_t whole = k / 8 * 4;
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
    pack_pairs(o, first, lines, step, k, whole, (k + 1) / 2, to);
}
#else
static void pack_along(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    pack_pairs(o, first, lines, step, k, 0, (k + 1) / 2, to);
}
#endif

void RIDGE_ISA_FN(bf16_pack)(const bf16_operand *o, int64_t first, int lines, int step, int64_t k, uint32_t *to) {
    if (o->depth == 1)
        pack_along(o, first, lines, step, k, to);
    else
        pack_across(o, first, 1, lines, step, k, to);
}

void RIDGE_ISA_FN(bf16_pack_panels)(const bf16_operand *o, int64_t first, int64_t k, uint32_t *to) {
    pack_across(o, first, BF16_TOGETHER, GEMM_NR, GEMM_NR, k, to);
}

/* Minus 1, zeros are the largest. */
uint16_t RIDGE_ISA_FN(bf16_least)(const uint16_t *v, int64_t n) {
    uint16_t least = UINT16_MAX;
    for (int64_t i = 0; i < n; i++) {
        const uint16_t before = (uint16_t)((v[i] & 0x7fff) - 1);
        least = before < least ? before : least;
    }
    return least;
}
