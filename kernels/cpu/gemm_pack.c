/* Packing into panels: copies, and transposition in square blocks of one vector length. */
#include <string.h>

#include "cpu/gemm.h"
#include "cpu/gemm_transpose.h"

#if defined(RIDGE_ISA_IS_avx512)

/* 8 <= n <= 16 floats per step, as two overlapping vectors of eight: no mask is needed and nothing past the end is
 * accessed. */
static void pack_halves(const float *src, int64_t stride, int64_t depth, int n, float *panel) {
    for (int64_t d = 0; d < depth; d++, src += stride, panel += n) {
        const __m256 low = _mm256_loadu_ps(src), high = _mm256_loadu_ps(src + n - 8);
        _mm256_storeu_ps(panel, low);
        _mm256_storeu_ps(panel + n - 8, high);
    }
}

void RIDGE_ISA_FN(gemm_pack_straight)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel) {
    const int first = n < 16 ? n : 16, second = n - first;
    const vm m0 = vm_first(first), m1 = vm_first(second);
    if (n == step && n >= 8 && n <= 16) {
        pack_halves(src, stride, depth, n, panel);
        return;
    }
    /* Ascending order: the next store overwrites what this one writes past its step. */
    for (int64_t d = 0; d < depth; d++, src += stride, panel += step) {
        _mm512_storeu_ps(panel, _mm512_maskz_loadu_ps(m0, src));
        if (step > 16) _mm512_storeu_ps(panel + 16, _mm512_maskz_loadu_ps(m1, src + 16));
    }
}

/* Transposes 16 x 16 floats. */
static inline void transpose(__m512 r[16]) {
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) { /* pairs of rows, element by element */
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) { /* four rows: r[i + e] holds element e of each 128-bit lane */
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
    }
    for (int e = 0; e < 4; e++) { /* lanes 0 2 | 0 2 and 1 3 | 1 3 */
        t[e] = _mm512_shuffle_f32x4(r[e], r[4 + e], 0x88);
        t[4 + e] = _mm512_shuffle_f32x4(r[e], r[4 + e], 0xdd);
        t[8 + e] = _mm512_shuffle_f32x4(r[8 + e], r[12 + e], 0x88);
        t[12 + e] = _mm512_shuffle_f32x4(r[8 + e], r[12 + e], 0xdd);
    }
    for (int e = 0; e < 4; e++) {
        r[e] = _mm512_shuffle_f32x4(t[e], t[8 + e], 0x88);
        r[4 + e] = _mm512_shuffle_f32x4(t[4 + e], t[12 + e], 0x88);
        r[8 + e] = _mm512_shuffle_f32x4(t[e], t[8 + e], 0xdd);
        r[12 + e] = _mm512_shuffle_f32x4(t[4 + e], t[12 + e], 0xdd);
    }
}

static void unpack_rows(const float *panel, int step, int64_t depth, int n, const float *scale, float *dst,
                        int64_t stride) {
    __m512 r[16];
    const __m512 by = vf_load_n(scale, n);
    for (int64_t d = 0; d < depth; d += 16) {
        const int64_t left = depth - d;
        const vm mask = vm_first(left < 16 ? (int)left : 16);
        for (int i = 0; i < 16; i++)
            r[i] = i < left ? _mm512_mul_ps(by, _mm512_loadu_ps(panel + (d + i) * step)) : _mm512_setzero_ps();
        transpose(r);
        if (n == 16)
            for (int i = 0; i < 16; i++) _mm512_mask_storeu_ps(dst + i * stride + d, mask, r[i]);
        else
            for (int i = 0; i < n; i++) _mm512_mask_storeu_ps(dst + i * stride + d, mask, r[i]);
    }
}

/* Panel rows are whole vectors; elements past n are read and discarded. */
void RIDGE_ISA_FN(gemm_unpack_transposed)(const float *panel, int step, int64_t depth, int n, const float *scale,
                                          float *dst, int64_t stride) {
    unpack_rows(panel, step, depth, n < 16 ? n : 16, scale, dst, stride);
    if (n > 16) unpack_rows(panel + 16, step, depth, n - 16, scale + 16, dst + 16 * stride, stride);
}

#else

#if defined(RIDGE_ISA_IS_avx2)

/* Transposes 8 x 8 floats. */
static inline void transpose(__m256 r[8]) {
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) { /* pairs of rows, element by element */
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) { /* four rows: r[i + e] holds element e of each 128-bit lane */
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int e = 0; e < 4; e++) t[e] = r[e], t[4 + e] = r[4 + e];
    for (int e = 0; e < 4; e++) {
        r[e] = _mm256_permute2f128_ps(t[e], t[4 + e], 0x20);
        r[4 + e] = _mm256_permute2f128_ps(t[e], t[4 + e], 0x31);
    }
}

/* n <= 8 rows; panel rows are whole vectors, elements past n are read and discarded. */
static void unpack_rows(const float *panel, int step, int64_t depth, int n, const float *scale, float *dst,
                        int64_t stride) {
    __m256 r[8];
    const __m256 by = vf_load_n(scale, n);
    for (int64_t d = 0; d < depth; d += 8) {
        const int left = depth - d < 8 ? (int)(depth - d) : 8;
        for (int q = 0; q < 8; q++)
            r[q] = q < left ? _mm256_mul_ps(by, _mm256_loadu_ps(panel + (d + q) * step)) : _mm256_setzero_ps();
        transpose(r);
        if (left == 8 && n == 8)
            for (int i = 0; i < 8; i++) _mm256_storeu_ps(dst + i * stride + d, r[i]);
        else
            for (int i = 0; i < n; i++) vf_store_n(dst + i * stride + d, left, r[i]);
    }
}

void RIDGE_ISA_FN(gemm_unpack_transposed)(const float *panel, int step, int64_t depth, int n, const float *scale,
                                          float *dst, int64_t stride) {
    for (int i = 0; i < n; i += 8)
        unpack_rows(panel + i, step, depth, n - i < 8 ? n - i : 8, scale + i, dst + i * stride, stride);
}

#else

void RIDGE_ISA_FN(gemm_unpack_transposed)(const float *panel, int step, int64_t depth, int n, const float *scale,
                                          float *dst, int64_t stride) {
    for (int i = 0; i < n; i++)
        for (int64_t d = 0; d < depth; d++) dst[i * stride + d] = panel[d * step + i] * scale[i];
}

#endif

/* n floats per step, in `vectors` vectors, which is constant after inlining. */
static inline __attribute__((always_inline)) void pack_vectors(const int vectors, const float *src, int64_t stride,
                                                               int64_t depth, int n, int step, float *panel) {
    const int last = n - (vectors - 1) * VF_LANES;
    /* Ascending order: the next store overwrites what this one writes past its step. */
    for (int64_t d = 0; d < depth; d++, src += stride, panel += step) {
        for (int v = 0; v + 1 < vectors; v++) vf_store(panel + v * VF_LANES, vf_load(src + v * VF_LANES));
        const float *tail = src + (vectors - 1) * VF_LANES;
        vf_store(panel + (vectors - 1) * VF_LANES, last == VF_LANES ? vf_load(tail) : vf_load_n(tail, last));
    }
}

void RIDGE_ISA_FN(gemm_pack_straight)(const float *src, int64_t stride, int64_t depth, int n, int step, float *panel) {
    const int vectors = (n + VF_LANES - 1) / VF_LANES;
    if (vectors == 2) {
        pack_vectors(2, src, stride, depth, n, step, panel);
    } else if (vectors == 1 && step <= VF_LANES) {
        pack_vectors(1, src, stride, depth, n, step, panel);
    } else {
        for (int64_t d = 0; d < depth; d++) {
            memcpy(panel + d * step, src + d * stride, sizeof(float) * (size_t)n);
            for (int i = n; i < step; i++) panel[d * step + i] = 0;
        }
    }
}

#endif

#if defined(RIDGE_ISA_IS_avx512) || defined(RIDGE_ISA_IS_avx2)

/* Eight rows; `depth` is a multiple of four. Sixteen rows would be too many: rows a multiple of 4 KiB apart map to one
 * set of an 8-way cache. */
static void pack_eight(const float *const row[8], int64_t depth, int step, float *panel) {
    for (int64_t d = 0; d < depth; d += 4) transpose_8x4(row, d, step, panel + d * step);
}

/* Depth steps packed for all rows before the next ones: their output stays in L1 until its lines are full.
 */
enum { CHUNK = 64 };

/* Missing rows are read from row 0. */
void RIDGE_ISA_FN(gemm_pack_transposed)(const float *src, int64_t stride, int64_t depth, int n, int step,
                                        float *panel) {
    for (int64_t d0 = 0; d0 < depth; d0 += CHUNK, src += CHUNK, panel += CHUNK * step) {
        const int64_t chunk = depth - d0 < CHUNK ? depth - d0 : CHUNK, whole = chunk / 4 * 4;
        /* The last eight first: the first eight of the next step overwrite what these write past their step. */
        for (int i = (n - 1) / 8 * 8; i >= 0; i -= 8) {
            const float *row[8];
            for (int r = 0; r < 8; r++) row[r] = src + (i + r < n ? i + r : 0) * stride;
            pack_eight(row, whole, step, panel + i);
            for (int64_t d = whole; d < chunk; d++)
                for (int r = 0; r < 8 && i + r < step; r++) panel[d * step + i + r] = row[r][d];
        }
    }
}

#else

void RIDGE_ISA_FN(gemm_pack_transposed)(const float *src, int64_t stride, int64_t depth, int n, int step,
                                        float *panel) {
    for (int i = 0; i < step; i++)
        for (int64_t d = 0; d < depth; d++) panel[d * step + i] = src[(i < n ? i : 0) * stride + d];
}

#endif

void RIDGE_ISA_FN(gemm_beside_finish)(gemm_beside *beside) {
    while (beside->unit < beside->units) beside_unit(beside);
}
