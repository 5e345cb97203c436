/* The register tile: one function per mr and number of vectors (one or two), from one inlined body. */
#include "cpu/gemm.h"
#include "cpu/gemm_transpose.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* mr and nv are constants after inlining, so that acc lives in registers. */
static inline __attribute__((always_inline)) void step(const int mr, const int nv, const float *a, const float *b,
                                                       vf acc[GEMM_MR][2]) {
    vf b0 = vf_load(b), b1 = nv == 2 ? vf_load(b + VF_LANES) : b0;
    UNROLL for (int i = 0; i < mr; i++) {
        vf s = vf_set1(a[i]);
        gemm_fma(s, b0, &acc[i][0]);
        if (nv == 2) gemm_fma(s, b1, &acc[i][1]);
    }
}

static inline __attribute__((always_inline)) void tile(const int mr, const int nv, const gemm_tile_args *t) {
    vf acc[GEMM_MR][2];
    const int last = t->nr - (nv - 1) * VF_LANES; /* lanes of the last vector that exist */
    const int64_t stride = t->c_stride, a_step = t->a_step;
    const bool bias = t->start == GEMM_START_BIAS;
    float *c = t->c;
    UNROLL for (int i = 0; i < mr; i++) acc[i][0] = acc[i][1] = vf_set1(bias ? t->bias[i] : 0.0f);
    const float *a = t->a, *b = t->b;
    gemm_ahead ahead = t->ahead;
    gemm_beside *const beside = GEMM_HAS_BESIDE && mr < GEMM_MR && nv == 2 ? t->beside : NULL;
    int64_t line = 0, wait = beside ? beside->wait : 0;
    int64_t d = t->depth;
    for (; d >= GEMM_AHEAD_STEPS; d -= GEMM_AHEAD_STEPS) {
        for (int r = 0; r < ahead.rows; r++) vf_prefetch_l2(ahead.from + r * ahead.stride);
        if (ahead.rows) ahead.from += GEMM_LINE;
        if (GEMM_HAS_BESIDE && mr < GEMM_MR && nv == 2 && --wait == 0) {
            beside_unit(beside);
            wait = beside->pace;
        }
        /* c is prefetched in the last rounds: the arithmetic hides the latency, and the panels do not evict it. */
        const int64_t left = d / GEMM_AHEAD_STEPS;
        if (left <= mr) {
            __builtin_prefetch(c + (left - 1) * stride, 1);
            if (nv == 2) __builtin_prefetch(c + (left - 1) * stride + VF_LANES, 1);
        }
        if (++line == ahead.lines) {
            ahead.from += ahead.rows * ahead.stride - ahead.lines * GEMM_LINE;
            line = 0;
        }
        UNROLL for (int q = 0; q < GEMM_AHEAD_STEPS; q++) {
            step(mr, nv, a, b, acc);
            a += a_step;
            b += GEMM_NR;
        }
    }
    if (beside) beside->wait = wait;
    for (; d > 0; d--) {
        step(mr, nv, a, b, acc);
        a += a_step;
        b += GEMM_NR;
    }
    const bool add = t->start == GEMM_START_ADD;
    UNROLL for (int i = 0; i < mr; i++) {
        float *row = c + i * stride;
        if (add && nv == 2) acc[i][0] = vf_add(acc[i][0], vf_load(row));
        if (add) acc[i][nv - 1] = vf_add(acc[i][nv - 1], vf_load_n(row + (nv - 1) * VF_LANES, last));
        if (nv == 2) vf_store(row, acc[i][0]);
        vf_store_n(row + (nv - 1) * VF_LANES, last, acc[i][nv - 1]);
    }
}

#define TILE_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define TILE(mr)                                                                                     \
    static void tile_##mr##_1(const gemm_tile_args *t) { tile(mr <= GEMM_MR ? mr : GEMM_MR, 1, t); } \
    static void tile_##mr##_2(const gemm_tile_args *t) { tile(mr <= GEMM_MR ? mr : GEMM_MR, 2, t); }
TILE_LIST(TILE)
#undef TILE

void RIDGE_ISA_FN(gemm_tile)(const gemm_tile_args *t) {
    static void (*const tiles[][2])(const gemm_tile_args *) = {
#define TILE(mr) {tile_##mr##_1, tile_##mr##_2},
        TILE_LIST(TILE)
#undef TILE
    };
    tiles[t->mr - 1][t->nr > VF_LANES](t);
}
