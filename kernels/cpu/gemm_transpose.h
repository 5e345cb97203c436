/* Transposes eight rows, four depth steps at a time, with 256-bit x86 vectors. Shared by packing and the tile. */
#ifndef RIDGE_CPU_GEMM_TRANSPOSE_H
#define RIDGE_CPU_GEMM_TRANSPOSE_H

#include "cpu/gemm.h"

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)

/* Loads four elements at p into the lower 128 bits and four at q into the upper. */
VF_INLINE __m256 halves(const float *p, const float *q) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(q), 1);
}

/* panel[d * step + i] = row[i][d] for i < 8, d < 4. Loads alone combine rows i and i + 4, which leaves two shuffles per
 * vector. */
VF_INLINE void transpose_8x4(const float *const row[8], int64_t d, int64_t step, float *panel) {
    const __m256 r0 = halves(row[0] + d, row[4] + d), r1 = halves(row[1] + d, row[5] + d);
    const __m256 r2 = halves(row[2] + d, row[6] + d), r3 = halves(row[3] + d, row[7] + d);
    const __m256d t0 = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1)), t1 = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
    const __m256d t2 = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3)), t3 = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
    _mm256_storeu_ps(panel, _mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2)));
    _mm256_storeu_ps(panel + step, _mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2)));
    _mm256_storeu_ps(panel + 2 * step, _mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3)));
    _mm256_storeu_ps(panel + 3 * step, _mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3)));
}

enum { BESIDE_ROWS = 8, BESIDE_GROUPS = GEMM_NR / BESIDE_ROWS, LINES_AHEAD = 4 };

/* Runs the next unit. All groups of eight rows of one line come before the next line, so that the panel is written in
 * order.
 */
VF_INLINE void beside_unit(gemm_beside *s) {
    const int64_t line = s->unit / BESIDE_GROUPS, group = s->unit % BESIDE_GROUPS;
    if (s->unit >= s->units) return;
    s->unit++;
    const float *src = s->src + group * BESIDE_ROWS * s->stride + line * GEMM_LINE, *row[BESIDE_ROWS];
    /* Past the end of the rows: the first lines of the next rows. */
    const int64_t ahead = line + LINES_AHEAD < s->lines ? LINES_AHEAD * GEMM_LINE
                                                        : GEMM_NR * s->stride + (LINES_AHEAD - s->lines) * GEMM_LINE;
    for (int i = 0; i < BESIDE_ROWS; i++) {
        row[i] = src + i * s->stride;
        vf_prefetch_l2(row[i] + ahead);
    }
    float *panel = s->panel + line * GEMM_LINE * GEMM_NR + group * BESIDE_ROWS;
    for (int d = 0; d < GEMM_LINE; d += 4) transpose_8x4(row, d, GEMM_NR, panel + d * GEMM_NR);
}

#else

VF_INLINE void beside_unit(gemm_beside *s) { (void)s; }

#endif
#endif
