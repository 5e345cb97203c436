/* The tiles of gemm_tiles.h: one function per size, from inlined bodies. */
#include "cpu/gemm_tiles.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- vectors along the columns ---- */

/* Rows of a in groups that one pointer serves: it, it plus a stride, it plus two. */
enum { GROUP = 3, GROUPS = (GEMM_TALL + GROUP - 1) / GROUP };

/* mr, nv, masked and along (a_depth is 1, else a_row is) are constants after inlining, so that acc lives in
 * registers. */
VF_INLINE void rows_step(const int mr, const int nv, const bool masked, const int last, const float *p[GROUPS],
                         int64_t a_row, int64_t a_depth, const float *b, vf acc[GEMM_TALL][2]) {
    vf v[2];
    UNROLL for (int j = 0; j < nv; j++) v[j] =
        masked && j == nv - 1 ? vf_load_n(b + j * VF_LANES, last) : vf_load(b + j * VF_LANES);
    UNROLL for (int i = 0; i < mr; i++) {
        const vf s = vf_set1(p[i / GROUP][i % GROUP * a_row]);
        UNROLL for (int j = 0; j < nv; j++) gemm_fma(s, v[j], &acc[i][j]);
    }
    UNROLL for (int g = 0; g < (mr + GROUP - 1) / GROUP; g++) p[g] += a_depth;
}

/* Depth steps between two looks at what to prefetch. */
enum { TOGETHER = GEMM_AHEAD_STEPS, LINE_ROUNDS = GEMM_LINE / TOGETHER };

/* Prefetches of TOGETHER depth steps: lines of what comes after b, and of the rows after those of a. */
typedef struct fetch {
    gemm_lines b;
    int64_t b_left;
    const float *a;
    int64_t a_step;
    int a_round;
} fetch;

VF_INLINE void fetch_round(const bool along, fetch *f) {
    enum { A_ROWS = (GEMM_TALL + LINE_ROUNDS - 1) / LINE_ROUNDS };
    if (f->b.from) {
        for (int q = 0; q < f->b.each; q++, f->b.from += f->b.step) {
            vf_prefetch(f->b.from);
            if (--f->b_left == 0) f->b.from += f->b.jump, f->b_left = f->b.lines;
        }
    }
    if (along && f->a) {
        UNROLL for (int r = 0; r < A_ROWS; r++) vf_prefetch_l2(f->a + r * f->a_step);
        f->a += A_ROWS * f->a_step;
        if (++f->a_round == LINE_ROUNDS) f->a += GEMM_LINE - LINE_ROUNDS * A_ROWS * f->a_step, f->a_round = 0;
    }
}

/* `fetching` is a constant: most tiles prefetch nothing, and wide ones then have more registers. */
VF_INLINE void rows_depth(const int mr, const int nv, const bool masked, const bool along, const bool fetching,
                          const gemm_rows_args *t, vf acc[GEMM_TALL][2]) {
    const int last = t->nr - (nv - 1) * VF_LANES; /* lanes of the last vector that exist */
    const int64_t a_row = along ? t->a_row : 1, a_depth = along ? 1 : t->a_depth, b_step = t->b_step;
    const float *p[GROUPS], *b = t->b;
    fetch f = {t->ahead, t->ahead.lines, t->a_next, along ? t->a_row : t->a_depth, 0};
    UNROLL for (int g = 0; g < GROUPS; g++) p[g] = t->a + (g * GROUP < mr ? g * GROUP * a_row : 0);
    int64_t d = t->depth;
    for (; d >= TOGETHER; d -= TOGETHER) {
        if (fetching) fetch_round(along, &f);
        UNROLL for (int q = 0; q < TOGETHER; q++) {
            rows_step(mr, nv, masked, last, p, a_row, a_depth, b, acc);
            b += b_step;
        }
    }
    for (; d > 0; d--) {
        rows_step(mr, nv, masked, last, p, a_row, a_depth, b, acc);
        b += b_step;
    }
}

VF_INLINE void rows(const int mr, const int nv, const bool masked, const bool along, const gemm_rows_args *t) {
    vf acc[GEMM_TALL][2];
    const int last = t->nr - (nv - 1) * VF_LANES;
    float *c = t->c;
    UNROLL for (int i = 0; i < mr; i++) {
        __builtin_prefetch(c + i * t->c_row + t->c_ahead, 1);
        if (nv == 2) __builtin_prefetch(c + i * t->c_row + t->c_ahead + t->nr - 1, 1);
        UNROLL for (int j = 0; j < nv; j++) acc[i][j] = vf_zero();
    }
    if (nv == 1 || t->ahead.from || (along && t->a_next))
        rows_depth(mr, nv, masked, along, true, t, acc);
    else
        rows_depth(mr, nv, masked, along, false, t, acc);
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int j = 0; j < nv; j++) {
        float *at = c + i * t->c_row + j * VF_LANES;
        if (masked && j == nv - 1)
            vf_store_n(at, last, t->add ? vf_add(acc[i][j], vf_load_n(at, last)) : acc[i][j]);
        else
            vf_store(at, t->add ? vf_add(acc[i][j], vf_load(at)) : acc[i][j]);
    }
}

#define ROWS_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define ROWS(mr)                                                                             \
    static void rows_##mr##_1(const gemm_rows_args *t) { rows(mr, 1, false, true, t); }      \
    static void rows_##mr##_2(const gemm_rows_args *t) { rows(mr, 2, false, true, t); }      \
    static void rows_##mr##_1_part(const gemm_rows_args *t) { rows(mr, 1, true, true, t); }  \
    static void rows_##mr##_2_part(const gemm_rows_args *t) { rows(mr, 2, true, true, t); }  \
    static void down_##mr##_1(const gemm_rows_args *t) { rows(mr, 1, false, false, t); }     \
    static void down_##mr##_2(const gemm_rows_args *t) { rows(mr, 2, false, false, t); }     \
    static void down_##mr##_1_part(const gemm_rows_args *t) { rows(mr, 1, true, false, t); } \
    static void down_##mr##_2_part(const gemm_rows_args *t) { rows(mr, 2, true, false, t); }
ROWS_LIST(ROWS)
#undef ROWS

/* Functions that no table has are not compiled. */
void RIDGE_ISA_FN(gemm_rows)(const gemm_rows_args *t) {
#define ONE(mr, fn) ((mr) <= GEMM_TALL ? (fn) : NULL)
#define TWO(mr, fn) ((mr) <= GEMM_MR ? (fn) : NULL)
    static void (*const tiles[][8])(const gemm_rows_args *) = {
#define ROWS(mr)                                                                                               \
    {ONE(mr, rows_##mr##_1), ONE(mr, rows_##mr##_1_part), TWO(mr, rows_##mr##_2), TWO(mr, rows_##mr##_2_part), \
     ONE(mr, down_##mr##_1), ONE(mr, down_##mr##_1_part), TWO(mr, down_##mr##_2), TWO(mr, down_##mr##_2_part)},
        ROWS_LIST(ROWS)
#undef ROWS
    };
#undef ONE
#undef TWO
    tiles[t->mr - 1][(t->a_depth == 1 ? 0 : 4) + (t->nr > VF_LANES ? 2 : 0) + (t->nr % VF_LANES != 0)](t);
}

/* ---- one row ---- */

VF_INLINE vf line_sum(const int depth, const vf s[GEMM_LINE_DEPTH], const float *b, int64_t b_step, int n, vf sum) {
    UNROLL for (int d = 0; d < depth; d++) sum =
        vf_fma(s[d], n < VF_LANES ? vf_load_n(b + d * b_step, n) : vf_load(b + d * b_step), sum);
    return sum;
}

VF_INLINE void line(const int depth, int64_t n, const float *a, int64_t a_depth, const float *b, int64_t b_step,
                    int64_t ahead, float *c, bool add) {
    vf s[GEMM_LINE_DEPTH];
    UNROLL for (int d = 0; d < depth; d++) s[d] = vf_set1(a[d * a_depth]);
    int64_t j = 0;
    for (; j + GEMM_LINE <= n; j += GEMM_LINE) {
        UNROLL for (int d = 0; d < depth; d++) vf_prefetch(b + d * b_step + j + ahead);
        UNROLL for (int v = 0; v < GEMM_LINE; v += VF_LANES)
            vf_store(c + j + v, line_sum(depth, s, b + j + v, b_step, VF_LANES, add ? vf_load(c + j + v) : vf_zero()));
    }
    for (; j < n; j += VF_LANES) {
        const int left = n - j < VF_LANES ? (int)(n - j) : VF_LANES;
        vf_store_n(c + j, left, line_sum(depth, s, b + j, b_step, left, add ? vf_load_n(c + j, left) : vf_zero()));
    }
}

#define LINE_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define LINE(depth)                                                                                      \
    static void line_##depth(int64_t n, const float *a, int64_t a_depth, const float *b, int64_t b_step, \
                             int64_t ahead, float *c, bool add) {                                        \
        line(depth, n, a, a_depth, b, b_step, ahead, c, add);                                            \
    }
LINE_LIST(LINE)
#undef LINE

void RIDGE_ISA_FN(gemm_line)(int64_t n, int depth, const float *a, int64_t a_depth, const float *b, int64_t b_step,
                             int64_t ahead, float *c, bool add) {
    static void (*const lines[GEMM_LINE_DEPTH])(int64_t n, const float *a, int64_t a_depth, const float *b,
                                                int64_t b_step, int64_t ahead, float *c, bool add) = {
#define LINE(depth) line_##depth,
        LINE_LIST(LINE)
#undef LINE
    };
    lines[depth - 1](n, a, a_depth, b, b_step, ahead, c, add);
}

/* ---- vectors along the depth ---- */

VF_INLINE void dots_step(const int mr, const int nr, const gemm_dots_args *t, int64_t d, int left,
                         vf acc[GEMM_DOTS_MOST][GEMM_DOTS_MOST]) {
    vf a[GEMM_DOTS_MOST];
    UNROLL for (int i = 0; i < mr; i++) a[i] =
        left < VF_LANES ? vf_load_n(t->a + i * t->a_row + d, left) : vf_load(t->a + i * t->a_row + d);
    UNROLL for (int j = 0; j < nr; j++) {
        const float *p = t->b + j * t->b_row + d;
        const vf b = left < VF_LANES ? vf_load_n(p, left) : vf_load(p);
        UNROLL for (int i = 0; i < mr; i++) gemm_fma(a[i], b, &acc[i][j]);
    }
}

/* The sums over the lanes of nr vectors. */
VF_INLINE void dots_sums(const int nr, const vf v[GEMM_DOTS_MOST], float sums[GEMM_DOTS_MOST]) {
#if defined(RIDGE_ISA_IS_avx2)
    if (nr == 4) {
        const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
        _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
        return;
    }
#endif
    UNROLL for (int j = 0; j < nr; j++) sums[j] = vf_sum(v[j]);
}

VF_INLINE void dots(const int mr, const int nr, const gemm_dots_args *t) {
    enum { LINE_VECTORS = GEMM_LINE / VF_LANES };
    vf acc[GEMM_DOTS_MOST][GEMM_DOTS_MOST];
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int j = 0; j < nr; j++) acc[i][j] = vf_zero();
    int64_t d = 0;
    for (; d + GEMM_LINE <= t->depth; d += GEMM_LINE) {
        if (t->ahead) UNROLL for (int r = 0; r < GEMM_DOTS_MOST; r++) vf_prefetch(t->ahead + r * t->ahead_row + d);
        UNROLL for (int q = 0; q < LINE_VECTORS; q++) dots_step(mr, nr, t, d + q * VF_LANES, VF_LANES, acc);
    }
    for (; d + VF_LANES <= t->depth; d += VF_LANES) dots_step(mr, nr, t, d, VF_LANES, acc);
    if (d < t->depth) dots_step(mr, nr, t, d, (int)(t->depth - d), acc);
    UNROLL for (int i = 0; i < mr; i++) {
        float sums[GEMM_DOTS_MOST];
        dots_sums(nr, acc[i], sums);
        UNROLL for (int j = 0; j < nr; j++) {
            float *at = t->c + i * t->c_row + j;
            *at = t->add ? *at + sums[j] : sums[j];
        }
    }
}

#define DOTS_LIST(X) \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(3, 1) X(3, 2) X(3, 3) X(4, 1) X(4, 2)
#define DOTS(mr, nr) \
    static void dots_##mr##_##nr(const gemm_dots_args *t) { dots(mr, nr, t); }
DOTS_LIST(DOTS)
#undef DOTS

void RIDGE_ISA_FN(gemm_dots)(const gemm_dots_args *t) {
    static void (*const tiles[GEMM_DOTS_MOST][GEMM_DOTS_MOST])(const gemm_dots_args *) = {
#define DOTS(mr, nr) [(mr)-1][(nr)-1] = dots_##mr##_##nr,
        DOTS_LIST(DOTS)
#undef DOTS
    };
    tiles[t->mr - 1][t->nr - 1](t);
}
