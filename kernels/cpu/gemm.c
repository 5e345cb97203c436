/* The register tile, one function for each mr x (one or two vectors), from one inlined body. */
#include "cpu/gemm.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* mr and nv are constants after inlining, so that acc lives in registers. */
static inline __attribute__((always_inline)) void tile(const int mr, const int nv, const gemm_tile_args *t) {
    vf acc[GEMM_MR][2];
    const int last = t->nr - (nv - 1) * VF_LANES; /* lanes of the last vector that exist */
    float *c = t->c;
    const int64_t stride = t->c_stride;
    if (t->start == GEMM_ADD) {
        UNROLL for (int i = 0; i < mr; i++) {
            if (nv == 2) acc[i][0] = vf_load(c + i * stride);
            acc[i][nv - 1] = vf_load_n(c + i * stride + (nv - 1) * VF_LANES, last);
        }
    } else {
        const bool bias = t->start == GEMM_BIAS;
        UNROLL for (int i = 0; i < mr; i++) {
            acc[i][nv - 1] = vf_set1(bias ? t->bias[i] : 0.0f);
            if (nv == 2) acc[i][0] = acc[i][1];
            __builtin_prefetch(c + i * stride, 1);
            if (nv == 2) __builtin_prefetch(c + i * stride + VF_LANES, 1);
        }
    }
    const float *a = t->a, *b = t->b;
    const int64_t a_step = t->a_step;
    for (int64_t d = t->depth; d > 0; d--) {
        vf b0 = vf_load(b), b1 = b0;
        if (nv == 2) b1 = vf_load(b + VF_LANES);
        UNROLL for (int i = 0; i < mr; i++) {
            vf s = vf_set1(a[i]);
            acc[i][0] = vf_fma(s, b0, acc[i][0]);
            if (nv == 2) acc[i][1] = vf_fma(s, b1, acc[i][1]);
        }
        a += a_step;
        b += GEMM_NR;
    }
    UNROLL for (int i = 0; i < mr; i++) {
        if (nv == 2) vf_store(c + i * stride, acc[i][0]);
        vf_store_n(c + i * stride + (nv - 1) * VF_LANES, last, acc[i][nv - 1]);
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
