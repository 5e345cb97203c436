/* Codes of e2m1 from registers. Hopper has no conversion to it. */
#ifndef RIDGE_KERNELS_QUANTIZE_E2M1_CUH
#define RIDGE_KERNELS_QUANTIZE_E2M1_CUH

#include "quantize/warps.cuh"

namespace ridge {

/* Bits whose last three are the code of a magnitude, as rule_e2m1 makes it. Codes are magnitudes 2 a up to 2, a + 2 up to 4, then
 * a / 2 + 4, at most 7: the least of these, of which each is rounded once, to nearest even, where fp32's last place is 1. */
__device__ inline unsigned e2m1_of(float a) {
    constexpr float one = 0x1p23f;
    const unsigned twice = __float_as_uint(fmaf(a, 2.0f, one)), once = __float_as_uint(a + (one + 2.0f)),
                   half = __float_as_uint(fmaf(a, 0.5f, one + 4.0f));
    return umin(umin(twice, once), umin(half, 0x4b000007u));
}
/* Codes of eight numbers, signs of their bytes: odd elements' where they belong, even ones' four places up. */
__device__ inline unsigned e2m1_of_eight(const float *v) {
    unsigned codes = 0, bits[8];
#pragma unroll
    for (int e = 7; e >= 0; e--) {
        bits[e] = __float_as_uint(v[e]);
        codes = codes * 16 + e2m1_of(fabsf(v[e]));
    }
    codes -= 0x4b000000u * 17; /* 2^23, of the first two: that of others leaves the word */
    const unsigned even = __byte_perm(__byte_perm(bits[0], bits[2], 0x0073), __byte_perm(bits[4], bits[6], 0x0073),
                                      0x5410),
                   odd = __byte_perm(__byte_perm(bits[1], bits[3], 0x0073), __byte_perm(bits[5], bits[7], 0x0073),
                                     0x5410);
    return codes | (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
}

/* Writes the codes of W columns from column j of a row, two a byte. Blocks are whole: so are these columns. */
template <bool Whole, int W>
__device__ inline void put_e2m1(unsigned char *q, int j, const float (&v)[W]) {
    unsigned word = 0;
    if constexpr (W == 8) {
        word = e2m1_of_eight(v);
    } else {
        const float eight[8] = {v[0], v[1], v[2], v[3]};
        word = e2m1_of_eight(eight);
    }
    if constexpr (Whole && W == 8)
        *(unsigned *)(q + j / 2) = word;
    else if constexpr (Whole)
        *(unsigned short *)(q + j / 2) = (unsigned short)word;
    else
#pragma unroll
        for (int b = 0; b < W / 2; b++) q[j / 2 + b] = (unsigned char)(word >> b * 8);
}

}  // namespace ridge

#endif
