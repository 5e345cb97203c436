/* exp, sin, erf and what follows from them, over vec.h. One source for every instruction set.
 *
 *   function        error, in ulp of the result            special values
 *   vf_exp          <= 1.5 (normal results)                NaN -> NaN, +inf -> inf, -inf -> 0, overflow -> inf,
 *                                                          underflow gradual
 *   vf_exp2         <= 3                                   the same
 *   vf_sin          <= 2.5 (2 with fused operations)       NaN, +-inf -> NaN; beyond |x| = 2^13 through libm
 *   vf_erf          <= 8                                   NaN -> NaN, +-inf -> +-1
 *   vf_sigmoid      <= 3 for x >= -87                      NaN -> NaN, +-inf -> 1, 0
 *   vf_gelu         <= 2.5 * 2^-23 |x|, absolute           NaN -> NaN, inf -> inf, -inf -> NaN (it is -inf * 0)
 *   vf_silu         <= 1.5 * 2^-23 max(|x|, 1), absolute   the same
 *   vf_silu_slope   <= 3 * 2^-23, absolute                 NaN -> NaN, +-inf -> NaN (it is inf * 0)
 *
 * tests/unit/test_vec.c measures these in every set against libm in fp64. The polynomials are minimax fits (Remez
 * exchange for polynomials, reweighted least squares for the rational one), made for these ranges and rounded to fp32.
 */
#ifndef RIDGE_KERNELS_CPU_VEC_MATH_H
#define RIDGE_KERNELS_CPU_VEC_MATH_H

#include <math.h>

#include "cpu/vec.h"

#define LOG2_E 0x1.715476p0f

/* exp(x) for x <= 89 or NaN, without the limit above: x = n ln2 + r, |r| <= ln2/2, exp(x) = 2^n (1 + r + r^2 q(r)),
 * where the fit of q leaves 3.1e-9. ln2 in two parts, the first of ten bits, so that n * ln2_high is exact without
 * fused operations too. Below -105 the result is 0 and stays so. */
VF_INLINE vf vf_exp_bounded(vf x) {
    const vf log2e = vf_set1(LOG2_E), ln2_high = vf_set1(0x1.63p-1f), ln2_low = vf_set1(-0x1.bd0106p-13f);
    x = vf_max(vf_set1(-105.0f), x);
    vf n = vf_round(vf_mul(x, log2e));
    vf r = vf_fnma(n, ln2_low, vf_fnma(n, ln2_high, x));
    vf q = vf_fma(vf_set1(0x1.6a2358p-10f), r, vf_set1(0x1.123a6cp-7f));
    q = vf_fma(q, r, vf_set1(0x1.5558f4p-5f));
    q = vf_fma(q, r, vf_set1(0x1.555490p-3f));
    q = vf_fma(q, r, vf_set1(0x1.fffffcp-2f));
    vf p = vf_fma(vf_mul(q, r), r, r);
    return vf_scale2(vf_add(p, vf_set1(1.0f)), n);
}

VF_INLINE vf vf_exp(vf x) { return vf_exp_bounded(vf_min(vf_set1(89.0f), x)); }

/* 2^y within 3 ulp: for exponentials whose argument the caller scales by log2 e, e.g. in the operation that subtracts a
 * maximum. NaN -> NaN, -inf -> 0, above 128 inf; underflow is gradual.
 *
 * Where a table fits in two registers: 2^floor(y) 2^(k/32) (1 + p(d)), with 32 y = 32 floor(y) + k + 32 d, d < 1/32.
 * Adding 1.5 * 2^18 leaves k in the low bits, of which the permutation takes five; the fit leaves 6.6e-8. Other sets:
 * 2^floor(y) p(y - floor(y)); that fit leaves 7.5e-8. */
#if VF_LANES == 16
static const float vf_exp2_table[32] = {
    0x1.000000p0f, 0x1.059b0ep0f, 0x1.0b5586p0f, 0x1.11301ep0f, 0x1.172b84p0f, 0x1.1d4874p0f, 0x1.2387a6p0f,
    0x1.29e9e0p0f, 0x1.306fe0p0f, 0x1.371a74p0f, 0x1.3dea64p0f, 0x1.44e086p0f, 0x1.4bfdaep0f, 0x1.5342b6p0f,
    0x1.5ab07ep0f, 0x1.6247ecp0f, 0x1.6a09e6p0f, 0x1.71f75ep0f, 0x1.7a1148p0f, 0x1.82589ap0f, 0x1.8ace54p0f,
    0x1.93737cp0f, 0x1.9c4918p0f, 0x1.a5503cp0f, 0x1.ae89fap0f, 0x1.b7f770p0f, 0x1.c199bep0f, 0x1.cb720ep0f,
    0x1.d5818ep0f, 0x1.dfc974p0f, 0x1.ea4afap0f, 0x1.f50766p0f,
};

VF_INLINE vf vf_exp2(vf y) {
    const vf magic = vf_set1(0x1.8p18f), low = vf_load(vf_exp2_table), high = vf_load(vf_exp2_table + 16);
    vf d = _mm512_reduce_ps(y, 5 << 4 | _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); /* 0 for -inf */
    vi k = vf_bits(_mm512_add_round_ps(y, magic, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
    vf table = _mm512_permutex2var_ps(low, k, high);
    vf p = vf_mul(vf_fma(vf_set1(0x1.f0f3e4p-3f), d, vf_set1(0x1.62e11ep-1f)), d);
    return vf_scale2(vf_fma(table, p, table), y); /* takes the floor itself */
}
#else
VF_INLINE vf vf_exp2(vf y) {
    y = vf_max(vf_set1(-151.0f), vf_min(vf_set1(129.0f), y));
    vf n = vf_round(vf_sub(y, vf_set1(0.5f))), f = vf_sub(y, n);
    vf p = vf_fma(vf_set1(0x1.ec321ep-10f), f, vf_set1(0x1.269008p-7f));
    p = vf_fma(p, f, vf_set1(0x1.c95448p-5f));
    p = vf_fma(p, f, vf_set1(0x1.ebd5a8p-3f));
    p = vf_fma(p, f, vf_set1(0x1.62e4f6p-1f));
    p = vf_fma(p, f, vf_set1(0x1.fffffep-1f));
    return vf_scale2(p, n);
}
#endif

/* Lanes outside the range of the fast reduction, through libm. Not inlined into the loops that call it. */
static __attribute__((noinline, unused)) vf vf_sin_far(vf x) {
    float lane[VF_LANES];
    vf_store(lane, x);
    for (int i = 0; i < VF_LANES; i++) lane[i] = (float)sin((double)lane[i]);
    return vf_load(lane);
}

/* x - n pi. With fused operations three parts of pi leave an error below 2^-60 n, and the first product's difference is
 * exact; a single lane has fp64 at hand,
 * where n times 33 bits of pi is exact. */
VF_INLINE vf vf_minus_pi(vf x, vf n) {
#if VF_LANES == 1
    return (float)((double)x - (double)n * 0x1.921fb544p1 - (double)n * 0x1.0b4611a626331p-33);
#else
    vf r = vf_fnma(n, vf_set1(0x1.921fb6p1f), x);
    r = vf_fnma(n, vf_set1(-0x1.777a5cp-24f), r);
    return vf_fnma(n, vf_set1(-0x1.ee59dap-49f), r);
#endif
}

/* sin(r) for |r| <= pi/2: r + r^3 s(r^2); the fit leaves 6e-9. */
VF_INLINE vf vf_sin_reduced(vf r) {
    vf t = vf_mul(r, r);
    vf s = vf_fma(vf_set1(0x1.5dbcecp-19f), t, vf_set1(-0x1.9f6feep-13f));
    s = vf_fma(s, t, vf_set1(0x1.110ed4p-7f));
    s = vf_fma(s, t, vf_set1(-0x1.55554cp-3f));
    return vf_fma(vf_mul(s, t), r, r);
}

/* Adding 1.5 * 2^23 leaves round(x / pi) in the low bits of the sum: the lowest is the sign of the result. */
VF_INLINE vf vf_sin(vf x) {
    const vf magic = vf_set1(0x1.8p23f);
    vm near = vf_lt(vf_abs(x), vf_set1(0x1p13f));
    vf biased = vf_add(vf_mul(x, vf_set1(0x1.45f306p-2f)), magic);
    vf s = vf_sin_reduced(vf_minus_pi(x, vf_sub(biased, magic)));
    s = vi_float(vi_xor(vf_bits(s), vi_shl(vf_bits(biased), 31)));
    if (__builtin_expect(!vm_all(near), 0)) return vf_select(near, s, vf_sin_far(x));
    return s;
}

/* sin(x) with an absolute error of at most 1.5 * 2^-23: for sums with a term of order 1. Half turns z = x /
 * pi - n, with 1/pi in two parts, then z p(z^2); the fit leaves 5.4e-9. */
VF_INLINE vf vf_sin_absolute(vf x) {
#if VF_LANES == 1
    return vf_sin(x);
#else
    const vf magic = vf_set1(0x1.8p23f), turns = vf_set1(0x1.45f306p-2f), rest = vf_set1(0x1.b93910p-27f);
    vm near = vf_lt(vf_abs(x), vf_set1(0x1p13f));
    vf biased = vf_fma(x, turns, magic);
    vf z = vf_fma(x, rest, vf_fma(x, turns, vf_sub(magic, biased)));
    vf t = vf_mul(z, z);
    vf p = vf_fma(vf_set1(0x1.3daff6p-4f), t, vf_set1(-0x1.324ccap-1f));
    p = vf_fma(p, t, vf_set1(0x1.4668b0p1f));
    p = vf_fma(p, t, vf_set1(-0x1.4abbc2p2f));
    p = vf_fma(p, t, vf_set1(0x1.921fb6p1f));
    vf s = vi_float(vi_xor(vf_bits(vf_mul(p, z)), vi_shl(vf_bits(biased), 31)));
    if (__builtin_expect(!vm_all(near), 0)) return vf_select(near, s, vf_sin_far(x));
    return s;
#endif
}

/* x P(x^2) / Q(x^2) on |x| <= 3.92, beyond which erf rounds to 1; at 3.95 it comes out above 1, and is cut off; the fit
 * leaves 1.9e-8 and all coefficients are positive, so that nothing cancels. */
VF_INLINE vf vf_erf(vf x) {
    x = vf_max(vf_set1(-3.95f), vf_min(vf_set1(3.95f), x));
    vf t = vf_mul(x, x);
    vf p = vf_fma(vf_set1(0x1.13286cp-19f), t, vf_set1(0x1.2ab346p-12f));
    vf q = vf_fma(vf_set1(0x1.3f8716p-15f), t, vf_set1(0x1.30b64cp-10f));
    p = vf_fma(p, t, vf_set1(0x1.ed7e0ap-9f));
    q = vf_fma(q, t, vf_set1(0x1.ea7956p-7f));
    p = vf_fma(p, t, vf_set1(0x1.b01a56p-5f));
    q = vf_fma(q, t, vf_set1(0x1.d35e98p-4f));
    p = vf_fma(p, t, vf_set1(0x1.85ed64p-3f));
    q = vf_fma(q, t, vf_set1(0x1.010eb0p-1f));
    p = vf_fma(p, t, vf_set1(0x1.20dd74p0f));
    q = vf_fma(q, t, vf_set1(1.0f));
    vf e = vf_div(vf_mul(x, p), q);
    return vf_max(vf_set1(-1.0f), vf_min(vf_set1(1.0f), e));
}

/* 1 / (1 + exp(-x)) */
VF_INLINE vf vf_sigmoid(vf x) {
    const vf one = vf_set1(1.0f);
    return vf_div(one, vf_add(one, vf_exp(vf_sub(vf_zero(), x))));
}

/* x / (1 + exp(-x)), absolute error at most 1.5 * 2^-23 max(|x|, 1): rounding -x log2 e costs relative accuracy only
 * where the result has nearly vanished. */
VF_INLINE vf vf_silu(vf x) { return vf_div(x, vf_add(vf_set1(1.0f), vf_exp2(vf_mul(x, vf_set1(-LOG2_E))))); }

/* Returns silu(x) = x s; in `slope` its derivative s (1 + x (1 - s)), s = 1 / (1 + exp(-x)). 1 - s is exp(-x) s, which loses
 * nothing where s is near 1. */
VF_INLINE vf vf_silu_slope(vf x, vf *slope) {
    const vf one = vf_set1(1.0f), e = vf_exp2(vf_mul(x, vf_set1(-LOG2_E)));
    const vf s = vf_div(one, vf_add(one, e));
    const vf rest = vf_select(vf_lt(e, vf_set1(0x1p126f)), vf_mul(e, s), one);
    *slope = vf_mul(s, vf_fma(x, rest, one));
    return vf_mul(x, s);
}

#endif
