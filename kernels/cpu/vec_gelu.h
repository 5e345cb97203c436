/* GELU, x Phi(x) with the normal distribution Phi(x) = (1 + erf(x / sqrt 2)) / 2.
 *
 * Error at most 2.5 * 2^-23 * |x|, absolute; NaN -> NaN, inf -> inf, -inf -> NaN (it is -inf * 0). Instruction sets
 * with table lookup in registers use 32 cubics, half the work of the quotient that the others use. */
#ifndef RIDGE_KERNELS_CPU_VEC_GELU_H
#define RIDGE_KERNELS_CPU_VEC_GELU_H

#include "cpu/vec_math.h"

#if VF_LANES == 16

/* Phi(a) - 1/2 = c0 + d (c1 + d (c2 + d c3)) where 6 a = k + d, k = round(6 a) in [0, 31]: minimax cubics,
 * error 1.4e-7. The last is 1/2 itself, short of Phi by at most 1.9e-7, so that GELU of large negative numbers is 0. */
static const float vf_gelu_table[4][32] = {
    {0.0f,           0x1.0f16bap-4f, 0x1.0b624ap-3f, 0x1.881d68p-3f, 0x1.fae51ep-3f, 0x1.30d0ccp-2f, 0x1.5d8972p-2f,
     0x1.836842p-2f, 0x1.a29982p-2f, 0x1.bb96e2p-2f, 0x1.cf100cp-2f, 0x1.ddd28ep-2f, 0x1.e8b432p-2f, 0x1.f081bcp-2f,
     0x1.f5f2fap-2f, 0x1.f9a42ep-2f, 0x1.fc13e6p-2f, 0x1.fda438p-2f, 0x1.fe9e24p-2f, 0x1.ff35e6p-2f, 0x1.ff8f86p-2f,
     0x1.ffc306p-2f, 0x1.ffdfcap-2f, 0x1.ffef6ep-2f, 0x1.fff7b2p-2f, 0x1.fffbf2p-2f, 0x1.fffe14p-2f, 0x1.ffff1cp-2f,
     0x1.ffff9ap-2f, 0x1.ffffd2p-2f, 0x1.ffffecp-2f, 0x1p-1f},
    {0x1.105830p-4f,  0x1.0c9688p-4f,  0x1.01a078p-4f,  0x1.e0afb6p-5f,
     0x1.b42728p-5f,  0x1.80e75cp-5f,  0x1.4a5eeep-5f,  0x1.13cbb4p-5f,
     0x1.bfdb74p-6f,  0x1.61ab76p-6f,  0x1.0fa3a4p-6f,  0x1.95d6a8p-7f,
     0x1.26dcecp-7f,  0x1.a0ba88p-8f,  0x1.1e69b8p-8f,  0x1.7ee946p-9f,
     0x1.f1e5aap-10f, 0x1.3ad68cp-10f, 0x1.83422cp-11f, 0x1.cf49a0p-12f,
     0x1.0d8790p-12f, 0x1.310514p-13f, 0x1.4fba00p-14f, 0x1.6766a4p-15f,
     0x1.763444p-16f, 0x1.7af164p-17f, 0x1.753a80p-18f, 0x1.65877cp-19f,
     0x1.4d1b70p-20f, 0x1.2dd9c2p-21f, 0x1.0a087ep-22f, 0.0f},
    {0.0f,
     -0x1.dcab92p-11f,
     -0x1.c93d1cp-10f,
     -0x1.3ff2c0p-9f,
     -0x1.831e68p-9f,
     -0x1.ab19c4p-9f,
     -0x1.b7fc1cp-9f,
     -0x1.ac9bcep-9f,
     -0x1.8dd03ep-9f,
     -0x1.61840ep-9f,
     -0x1.2dc83cp-9f,
     -0x1.f02096p-10f,
     -0x1.896092p-10f,
     -0x1.2d43e6p-10f,
     -0x1.be2932p-11f,
     -0x1.3fb158p-11f,
     -0x1.bba0f8p-12f,
     -0x1.2a369cp-12f,
     -0x1.849b12p-13f,
     -0x1.eb0512p-14f,
     -0x1.2ce33ap-14f,
     -0x1.65c4d8p-15f,
     -0x1.9cd300p-16f,
     -0x1.ce5bfep-17f,
     -0x1.f6b73cp-18f,
     -0x1.095b70p-18f,
     -0x1.1008cep-19f,
     -0x1.0ed8d4p-20f,
     -0x1.05ecfcp-21f,
     -0x1.ec1af8p-23f,
     -0x1.c1192ap-24f,
     0.0f},
    {-0x1.425be0p-12f, -0x1.3503dcp-12f, -0x1.0f096ap-12f, -0x1.aad04ap-13f,
     -0x1.1f0930p-13f, -0x1.171a34p-14f, -0x1.a0f490p-23f, 0x1.d5e3d2p-15f,
     0x1.9b984ap-14f,  0x1.056266p-13f,  0x1.1dac70p-13f,  0x1.1b8d74p-13f,
     0x1.05df60p-13f,  0x1.c7f862p-14f,  0x1.792af4p-14f,  0x1.29f458p-14f,
     0x1.c330acp-15f,  0x1.484374p-15f,  0x1.cbdf26p-16f,  0x1.3696f6p-16f,
     0x1.94fcf4p-17f,  0x1.fe3f68p-18f,  0x1.36d19cp-18f,  0x1.6e66e0p-19f,
     0x1.a226f2p-20f,  0x1.ce3450p-21f,  0x1.ef05e0p-22f,  0x1.00ef6ep-22f,
     0x1.0297a6p-23f,  0x1.f8caaap-25f,  0x1.ddea46p-26f,  0.0f},
};

typedef struct vf_gelu_tables {
    vf low[4], high[4];
} vf_gelu_tables;

VF_INLINE vf_gelu_tables vf_gelu_prepare(void) {
    vf_gelu_tables t;
    for (int i = 0; i < 4; i++) {
        t.low[i] = vf_load(vf_gelu_table[i]);
        t.high[i] = vf_load(vf_gelu_table[i] + 16);
    }
    return t;
}

/* Adding 1.5 * 2^23 leaves k in the low bits; the permutation reads no others. */
VF_INLINE vf vf_gelu_by(const vf_gelu_tables *t, vf x) {
    const vf magic = vf_set1(0x1.8p23f), six = vf_set1(6.0f);
    vf size = vf_abs(x), a = vf_min(vf_set1(0x1.4aaaaap2f), size);
    vf biased = vf_fma(a, six, magic);
    vi k = vf_bits(biased);
    vf d = vf_fma(a, six, vf_sub(magic, biased));
    vf p = _mm512_permutex2var_ps(t->low[3], k, t->high[3]);
    p = vf_fma(p, d, _mm512_permutex2var_ps(t->low[2], k, t->high[2]));
    p = vf_fma(p, d, _mm512_permutex2var_ps(t->low[1], k, t->high[1]));
    p = vf_fma(p, d, _mm512_permutex2var_ps(t->low[0], k, t->high[0]));
    return vf_fma(size, p, vf_mul(vf_set1(0.5f), x));
}

#else

typedef struct vf_gelu_tables {
    char none;
} vf_gelu_tables;

VF_INLINE vf_gelu_tables vf_gelu_prepare(void) { return (vf_gelu_tables){0}; }
VF_INLINE vf vf_gelu_by(const vf_gelu_tables *t, vf x) {
    (void)t;
    vf half = vf_mul(vf_set1(0.5f), x);
    return vf_fma(half, vf_erf(vf_mul(x, vf_set1(0x1.6a09e6p-1f))), half);
}

#endif

VF_INLINE vf vf_gelu(vf x) {
    vf_gelu_tables t = vf_gelu_prepare();
    return vf_gelu_by(&t, x);
}

#endif
