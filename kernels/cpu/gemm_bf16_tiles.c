/* The register tiles of gemm_bf16.h: one function for each kind and number of rows. */
#include <string.h>

#include "cpu/gemm.h"
#include "cpu/gemm_bf16.h"
#include "cpu/vec_bf16.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Rows in groups that one pointer serves: it, it plus a stride, it plus two. Packed rows are words side by side, of which
 * one pointer serves all. */
enum { GROUP = 3, GROUPS = (GEMM_MR + GROUP - 1) / GROUP };
typedef struct rows_of_a {
    const char *at[GROUPS];
    int64_t row; /* bytes */
} rows_of_a;
VF_INLINE vi pair_of(const bool packed, const rows_of_a *a, int i) {
    uint32_t pair;
    memcpy(&pair, packed ? a->at[0] + 4 * i : a->at[i / GROUP] + i % GROUP * a->row, sizeof pair);
    return vi_set1(pair);
}
VF_INLINE void next_pair(const bool packed, const int mr, rows_of_a *a) {
    if (packed)
        a->at[0] += 4 * mr;
    else
        UNROLL for (int g = 0; g < (mr + GROUP - 1) / GROUP; g++) a->at[g] += 4;
}

/* mr and packed are constants after inlining, so that acc lives in registers. */
VF_INLINE void pairs_step(const int mr, const bool packed, const rows_of_a *a, const uint32_t *b, vf acc[GEMM_MR][2]) {
    const vi b0 = vi_load(b), b1 = vi_load(b + VF_LANES);
    UNROLL for (int i = 0; i < mr; i++) {
        const vi s = pair_of(packed, a, i);
        vf_add_pairs(s, b0, &acc[i][0]);
        vf_add_pairs(s, b1, &acc[i][1]);
    }
}

/* Lower elements first, then upper ones: vectors of both at once would not fit the registers. */
VF_INLINE vf half_of(bool upper, vi pairs) { return upper ? vf_upper_bf16(pairs) : vf_lower_bf16(pairs); }
VF_INLINE void widened_step(const int mr, const bool packed, const rows_of_a *a, const uint32_t *b,
                            vf acc[GEMM_MR][2]) {
    UNROLL for (int upper = 0; upper < 2; upper++) {
        const vf b0 = half_of(upper, vi_load(b)), b1 = half_of(upper, vi_load(b + VF_LANES));
        UNROLL for (int i = 0; i < mr; i++) {
            const vf s = half_of(upper, pair_of(packed, a, i));
            gemm_fma(s, b0, &acc[i][0]);
            gemm_fma(s, b1, &acc[i][1]);
        }
    }
}

VF_INLINE void tile(const int mr, const bool widened, const bool packed, const bf16_tile_args *t) {
    vf acc[GEMM_MR][2];
    rows_of_a a = {.row = t->a_row};
    const uint32_t *b = t->b;
    UNROLL for (int g = 0; g < GROUPS; g++) a.at[g] = (const char *)t->a + (g * GROUP < mr ? g * GROUP * t->a_row : 0);
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < 2; v++) acc[i][v] =
        t->add ? vf_load(t->c + i * GEMM_NR + v * VF_LANES) : vf_zero();
    for (int64_t d = 0; d < t->pairs; d++, b += GEMM_NR) {
        if (widened)
            widened_step(mr, packed, &a, b, acc);
        else
            pairs_step(mr, packed, &a, b, acc);
        next_pair(packed, mr, &a);
    }
    UNROLL for (int i = 0; i < mr; i++) UNROLL for (int v = 0; v < 2; v++)
        vf_store(t->c + i * GEMM_NR + v * VF_LANES, acc[i][v]);
}

#define TILE_LIST(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define ROWS(mr) ((mr) <= GEMM_MR ? (mr) : GEMM_MR)
#define TILE(mr)                                                                               \
    static void pairs_##mr(const bf16_tile_args *t) { tile(ROWS(mr), false, false, t); }       \
    static void pairs_packed_##mr(const bf16_tile_args *t) { tile(ROWS(mr), false, true, t); } \
    static void widened_##mr(const bf16_tile_args *t) { tile(ROWS(mr), true, false, t); }      \
    static void widened_packed_##mr(const bf16_tile_args *t) { tile(ROWS(mr), true, true, t); }
TILE_LIST(TILE)
#undef TILE

/* Functions that no table has are not compiled. */
void RIDGE_ISA_FN(bf16_tile)(const bf16_tile_args *t) {
#define PAIRS(fn) (VF_HAS_PAIRS ? (fn) : NULL)
    static void (*const tiles[][4])(const bf16_tile_args *) = {
#define TILE(mr) {PAIRS(pairs_##mr), PAIRS(pairs_packed_##mr), widened_##mr, widened_packed_##mr},
        TILE_LIST(TILE)
#undef TILE
    };
    tiles[t->mr - 1][2 * t->widened + (t->a_row == 0)](t);
}
