/* What tcgen05.mma multiplies, described: operands in shared memory as TMA leaves boxes of 128-byte lines under the 128-byte
 * swizzle (ptx/wgmma.cuh says how they lie), and the instruction's types and extents. */
#ifndef RIDGE_KERNELS_CUDA_MMA_SM100_CUH
#define RIDGE_KERNELS_CUDA_MMA_SM100_CUH

#include <cuda_bf16.h>
#include <stdint.h>

#include <type_traits>

#include "cuda/ptx/tcgen05.cuh"

namespace ridge {

/* chunk: bytes to the next 64 elements along M or N of an operand that is not K-major. Offsets count 16 bytes; groups of eight
 * lines are 1024 bytes; bit 46 is the version, 2 in the last three bits the swizzle. */
__device__ inline uint64_t tcgen05_descriptor(uint32_t address, int chunk) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(chunk >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 46 | (uint64_t)2 << 61;
}
/* From one 16 elements of K to the next, in a descriptor's units: 32 bytes of a line, or 16 lines. */
template <bool KMajor>
constexpr int tcgen05_step = (KMajor ? 32 : 16 * 128) >> 4;

/* kind::f16: sums in fp32 (bit 4), bf16 is type 1 of A (bit 7) and B (10), transposed where not K-major (15, 16). */
template <typename T, int M, int N, bool KMajorA, bool KMajorB>
constexpr uint32_t tcgen05_instruction_f16(void) {
    static_assert((M == 128 || M == 256) && N % 16 == 0 && N >= 16 && N <= 256,
                  "all 128 lanes of a CTA, or of a pair's");
    constexpr uint32_t type = std::is_same_v<T, __nv_bfloat16>;
    return 1u << 4 | type << 7 | type << 10 | (uint32_t)!KMajorA << 15 | (uint32_t)!KMajorB << 16 |
           (uint32_t)(N / 8) << 17 | (uint32_t)(M / 16) << 24;
}

/* kind::mxf4nvf4: e2m1 is type 1 of A and B, ue4m3 type 0 of the scales (bit 23), M counts 128. */
template <int M, int N>
constexpr uint32_t tcgen05_instruction_nvfp4(void) {
    static_assert((M == 128 || M == 256) && N % 16 == 0 && N >= 16 && N <= 256, "K-major operands");
    return 1u << 7 | 1u << 10 | (uint32_t)(N / 8) << 17 | (uint32_t)(M / 128) << 27;
}
/* From one 64 codes of K to the next: 32 bytes of a line. */
constexpr int tcgen05_step_nvfp4 = 32 >> 4;
/* A tile of scales as it lies in memory (quantize/blocks.h): groups of eight lines of 16 bytes, one behind the other. */
__device__ inline uint64_t tcgen05_scales(uint32_t address) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(128 >> 4) << 32 | (uint64_t)1 << 46;
}

}  // namespace ridge

#endif
