/* The register tiles of gemm_bf16.h: one function for each kind and number of rows. */
#include "cpu/gemm.h"
#include "cpu/gemm_bf16.h"
#include "cpu/vec_bf16.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* mr is a constant after inlining, so that acc lives in registers. */
VF_INLINE void pairs_step(const int mr, const uint32_t *a, const uint32_t *b, vf acc[GEMM_MR][2]) {
    const vi b0 = vi_load(b), b1 = vi_load(b + VF_LANES);
    UNROLL for (int i = 0; i < mr; i++) {
        const vi s = vi_set1(a[i]);
        vf_add_pairs(s, b0, &acc[i][0]);
        vf_add_pairs(s, b1, &acc[i][1]);
    }
}

/* Lower elements first, then upper ones: vectors of both at once would not fit the registers. */
VF_INLINE vf half_of(bool upper, vi pairs) { return upper ? vf_upper_bf16(pairs) : vf_lower_bf16(pairs); }
VF_INLINE void widened_step(const int mr, const uint32_t *a, const uint32_t *b, vf acc[GEMM_MR][2]) {
    UNROLL for (int upper = 0; upper < 2; upper++) {
        const vf b0 = half_of(upper, vi_load(b)), b1 = half_of(upper, vi_load(b + VF_LANES));
        UNROLL for (int i = 0; i < mr; i++) {
            const vf s = half_of(upper, vi_set1(a[i]));
            gemm_fma(s, b0, &acc[i][0]);
            gemm_fma(s, b1, &acc[i][1]);
        }
    }
}

VF_INLINE void tile(const int mr, const bool widened, const bf16_tile_args *t) {
    vf acc[GEMM_MR][2];
    const uint32_t *a = t->a, *b = t->b;
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < 2; v++) acc[i][v] =
        t->add ? vf_load(t->c + i * GEMM_NR + v * VF_LANES) : vf_zero();
    for (int64_t d = 0; d < t->pairs; d++, a += mr, b += GEMM_NR) {
        if (widened)
            widened_step(mr, a, b, acc);
        else
            pairs_step(mr, a, b, acc);
    }
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < 2; v++)
        vf_store(t->c + i * GEMM_NR + v * VF_LANES, acc[i][v]);
}

#define TILE_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define ROWS(mr) ((mr) <= GEMM_MR ? (mr) : GEMM_MR)
#define TILE(mr)                                                                  \
    static void pairs_##mr(const bf16_tile_args *t) { tile(ROWS(mr), false, t); } \
    static void widened_##mr(const bf16_tile_args *t) { tile(ROWS(mr), true, t); }
TILE_LIST(TILE)
#undef TILE

/* Functions that no table has are not compiled. */
void RIDGE_ISA_FN(bf16_tile)(const bf16_tile_args *t) {
#define PAIRS(fn) (VF_HAS_PAIRS ? (fn) : NULL)
    static void (*const tiles[][2])(const bf16_tile_args *) = {
#define TILE(mr) {PAIRS(pairs_##mr), widened_##mr},
        TILE_LIST(TILE)
#undef TILE
    };
    tiles[t->mr - 1][t->widened](t);
}
