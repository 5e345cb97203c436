/* The register tiles of gemm_bf16.h: one function for each number of rows and of vectors, and each tile. */
#include "cpu/gemm.h"
#include "cpu/gemm_bf16.h"
#include "cpu/vec_bf16.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* mr, nv and native are constants after inlining, so that acc lives in registers. */
VF_INLINE void pair_step(const int mr, const int nv, const uint32_t *a, const uint32_t *b, vf acc[GEMM_MR][2]) {
    const vi b0 = vi_load(b), b1 = nv == 2 ? vi_load(b + VF_LANES) : b0;
    UNROLL for (int i = 0; i < mr; i++) {
        const vi s = vi_set1(a[i]);
        vf_add_pairs(s, b0, &acc[i][0]);
        if (nv == 2) vf_add_pairs(s, b1, &acc[i][1]);
    }
}

/* Lower elements first, then upper ones: vectors of both at once would not fit the registers. */
VF_INLINE vf half_of(bool upper, vi pairs) { return upper ? vf_upper_bf16(pairs) : vf_lower_bf16(pairs); }
VF_INLINE void widened_step(const int mr, const int nv, const uint32_t *a, const uint32_t *b, vf acc[GEMM_MR][2]) {
    UNROLL for (int upper = 0; upper < 2; upper++) {
        const vf b0 = half_of(upper, vi_load(b)), b1 = nv == 2 ? half_of(upper, vi_load(b + VF_LANES)) : b0;
        UNROLL for (int i = 0; i < mr; i++) {
            const vf s = half_of(upper, vi_set1(a[i]));
            gemm_fma(s, b0, &acc[i][0]);
            if (nv == 2) gemm_fma(s, b1, &acc[i][1]);
        }
    }
}

VF_INLINE void tile(const int mr, const int nv, const bool native, const bf16_tile_args *t) {
    vf acc[GEMM_MR][2];
    const uint32_t *a = t->a, *b = t->b;
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < nv; v++) acc[i][v] =
        t->add ? vf_load(t->c + i * GEMM_NR + v * VF_LANES) : vf_zero();
    for (int64_t d = 0; d < t->pairs; d++, a += mr, b += GEMM_NR) {
        if (native)
            pair_step(mr, nv, a, b, acc);
        else
            widened_step(mr, nv, a, b, acc);
    }
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < nv; v++)
        vf_store(t->c + i * GEMM_NR + v * VF_LANES, acc[i][v]);
}

#define TILE_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define ROWS(mr) ((mr) <= GEMM_MR ? (mr) : GEMM_MR)
#define TILE(mr)                                                                           \
    static void widened_##mr##_1(const bf16_tile_args *t) { tile(ROWS(mr), 1, false, t); } \
    static void widened_##mr##_2(const bf16_tile_args *t) { tile(ROWS(mr), 2, false, t); } \
    static void pairs_##mr##_1(const bf16_tile_args *t) { tile(ROWS(mr), 1, true, t); }    \
    static void pairs_##mr##_2(const bf16_tile_args *t) { tile(ROWS(mr), 2, true, t); }
TILE_LIST(TILE)
#undef TILE

/* Functions that no table has are not compiled. */
void RIDGE_ISA_FN(bf16_tile)(const bf16_tile_args *t) {
#define PAIRS(fn) (VF_HAS_PAIRS ? (fn) : NULL)
    static void (*const tiles[][4])(const bf16_tile_args *) = {
#define TILE(mr) {widened_##mr##_1, widened_##mr##_2, PAIRS(pairs_##mr##_1), PAIRS(pairs_##mr##_2)},
        TILE_LIST(TILE)
#undef TILE
    };
    tiles[t->mr - 1][(t->native ? 2 : 0) + (t->nr > VF_LANES)](t);
}
