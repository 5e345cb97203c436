/* Division by a number that is fixed for a launch. */
#ifndef RIDGE_KERNELS_CUDA_TILE_DIVISOR_CUH
#define RIDGE_KERNELS_CUDA_TILE_DIVISOR_CUH

#include <stdint.h>

namespace ridge {

/* n / d of n < 2^31, by a multiplication. With 2^shift the power of two from d on, multiplier is 2^(31 + shift) / d
 * rounded up: multiplier d = 2^(31 + shift) + e with e < d. So n multiplier / 2^(31 + shift) exceeds n/d by (n e / 2^(31 + shift))
 * / d, which is less than 1/d because e < 2^shift: too little to reach the next integer. */
struct fixed_divisor {
    uint32_t d, multiplier;
    int shift;
    __device__ uint32_t quotient(uint32_t n) const { return __umulhi(2 * n, multiplier) >> shift; }
};

/* 1 <= d <= 2^31 */
constexpr fixed_divisor divide_by(uint32_t d) {
    int shift = 0;
    while ((uint64_t)1 << shift < d) shift++;
    return {d, (uint32_t)((((uint64_t)1 << (31 + shift)) + d - 1) / d), shift};
}

}  // namespace ridge

#endif
