/* Products whose A is NVFP4 (quantize/blocks.h) and whose B is bf16 or f16: A comes to shared memory as it lies, 32 bytes of a
 * row and its four scales in a slice of 64 of K, and becomes 16 bits in the registers from which wgmma takes it. A value of
 * e2m1 times a scale of ue4m3 has six significant bits, so nothing is rounded.
 *
 *   codes     a lane loads eight bytes, 16 of K, of each of its rows g and g + 8. wgmma wants byte t of every four in lane t
 *             of four: four lanes exchange bytes, as a transposition of 4 x 4, in two steps of a shuffle and a PRMT
 *   values    the three bits of a magnitude, put where the exponent ends and the fraction begins, are its value times a
 *             power of two, subnormal ones included; two of them in a register, by two shifts and two LOP3
 *   scales    lane t makes those of rows g and g + 8 in block t; the four lanes pass theirs on
 *
 * What all this leaves out is a factor of FP4_UNDO, which the epilogue knows, and the scale of the tensor. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_FP4_CUH
#define RIDGE_KERNELS_CUDA_GEMM_FP4_CUH

#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/shared.cuh"

namespace ridge {

constexpr float FP4_UNDO = 128.0f;

/* Two codes of e4m3, which as scales have no sign: as f16. A code of no value is NaN. */
__device__ inline __half2 fp4_scales(unsigned codes) {
    unsigned two;
    codes |= (codes >> 7 & 0x0101u) * 0x7fu;
    asm("{\n.reg .b16 h;\ncvt.u16.u32 h, %1;\ncvt.rn.f16x2.e4m3x2 %0, h;\n}" : "=r"(two) : "r"(codes));
    return *(__half2 *)&two;
}

/* values: of two codes, in bits 0 and 16 and up, whatever the other bits are; times 2^-126 (2^-14). scales: of two codes, times
 * 2^119 (2^7). */
template <typename T>
struct fp4_type;
template <>
struct fp4_type<__nv_bfloat16> {
    using two = __nv_bfloat162;
    static constexpr int place = 6; /* of a magnitude's lowest bit */
    __device__ static unsigned values(unsigned x) { return (x << 12 & 0x80008000u) | (x << 6 & 0x01c001c0u); }
    __device__ static two scales(unsigned codes) {
        const float2 s = __half22float2(fp4_scales(codes));
        return __floats2bfloat162_rn(s.x * 0x1p119f, s.y * 0x1p119f);
    }
};
template <>
struct fp4_type<__half> {
    using two = __half2;
    static constexpr int place = 9;
    __device__ static unsigned values(unsigned x) { return (x << 12 & 0x80008000u) | (x << 9 & 0x0e000e00u); }
    __device__ static two scales(unsigned codes) { return __hmul2(fp4_scales(codes), __float2half2_rn(128.0f)); }
};

/* Where a thread's rows are in a stage. */
struct fp4_place {
    int row, lane; /* of the tile; of four */
    explicit __device__ fp4_place(int group)
        : row(group * 64 + (int)threadIdx.x % 128 / 32 * 16 + (int)threadIdx.x % 32 / 4), lane((int)threadIdx.x % 4) {}
    __device__ static uint32_t scales_of(int row) { return (uint32_t)(row % 32 * 16 + row / 32 * 4); }
};

/* Byte s of the result is byte `lane` of the word that lane s of four has. */
__device__ inline unsigned fp4_exchange(unsigned word, int lane) {
    const unsigned beside = __shfl_xor_sync(0xffffffffu, word, 1);
    word = __byte_perm(word, beside, lane & 1 ? 0x3715 : 0x6240);
    const unsigned across = __shfl_xor_sync(0xffffffffu, word, 2);
    return __byte_perm(word, across, lane & 2 ? 0x3276 : 0x5410);
}

/* A's fragments of the four steps of a stage. blocks: of K, from the stage's first to the end. */
template <typename T>
__device__ inline void fp4_fragments(unsigned (*f)[4], uint32_t codes, uint32_t scales, const fp4_place &at,
                                     int blocks) {
    using two = typename fp4_type<T>::two;
    const uint2 low = ld_shared_u32x2(codes + (uint32_t)(at.row * 32 + at.lane * 8));
    const uint2 high = ld_shared_u32x2(codes + (uint32_t)(at.row * 32 + 8 * 32 + at.lane * 8));
    const unsigned of_low = ld_shared_u32(scales + fp4_place::scales_of(at.row)),
                   of_high = ld_shared_u32(scales + fp4_place::scales_of(at.row + 8));
    const unsigned mine = __byte_perm(of_low, of_high, (unsigned)(at.lane | (at.lane + 4) << 4)) & 0xffffu;
    const two pair = fp4_type<T>::scales(at.lane < blocks ? mine : 0u); /* of rows g and g + 8 */
    /* In the order of wgmma's registers: g and g + 8 of the first eight of K, then of the others. */
    const unsigned words[4] = {fp4_exchange(low.x, at.lane), fp4_exchange(high.x, at.lane),
                               fp4_exchange(low.y, at.lane), fp4_exchange(high.y, at.lane)};
#pragma unroll
    for (int s = 0; s < 4; s++) {
        const unsigned both = __shfl_sync(0xffffffffu, *(const unsigned *)&pair, (int)threadIdx.x % 32 / 4 * 4 + s);
        const unsigned of_row[2] = {__byte_perm(both, both, 0x1010), __byte_perm(both, both, 0x3232)};
#pragma unroll
        for (int i = 0; i < 4; i++) { /* a byte's two codes, 16 bits apart */
            const unsigned apart = __byte_perm(words[i], words[i] >> 4, (unsigned)(0x4400 + 0x1111 * s));
            const unsigned value = fp4_type<T>::values(apart);
            const two product = __hmul2(*(const two *)&value, *(const two *)&of_row[i % 2]);
            f[s][i] = *(const unsigned *)&product;
        }
    }
}

/* All slices of a tile, in the tensor cores' registers. Those of A are read while products run, so a warpgroup makes fragments and
 * multiplies in turns; the tensor cores have the other warpgroup's products meanwhile. Two slices at a time, because making one's
 * fragments is a chain of exchanges that waits more than it computes. */
template <class S>
__device__ inline void multiply_tile_fp4(float (&sums)[S::sums], const matmul_memory<S> &memory, ring<S::stages> &at,
                                         const matmul_plan &plan, const matmul_tile &tile, int group, int rank) {
    using T = typename S::T;
    const fp4_place place(group);
    const int first = plan.across > 0 ? tile.n / S::columns / plan.across * plan.slices : 0;
    const auto some = [&]<int Count>(int k, std::integral_constant<int, Count>) {
        unsigned f[4 * Count][4];
        uint32_t stage[Count];
        uint64_t b[Count];
#pragma unroll
        for (int i = 0; i < Count; i++, at.next()) {
            stage[i] = (uint32_t)at.stage;
            mbarrier_wait_parity(memory.full(at.stage), at.phase);
            fp4_fragments<T>(f + 4 * i, memory.a(at.stage), memory.scales(at.stage), place,
                             plan.scales.blocks - (first + k + i) * 4);
            b[i] = wgmma_descriptor(memory.b(at.stage), S::K * 128);
        }
        wgmma_hold(f);
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < 4 * Count; s++)
            wgmma_rs<T, S::N, true>(sums, f[s], b[s / 4] + s % 4 * wgmma_step<true>, k + s > 0);
        wgmma_commit_group();
        wgmma_wait_group<0>();
#pragma unroll
        for (int i = 0; i < Count; i++) release<S>(memory.empty((int)stage[i]), rank);
    };
    int k = 0;
    for (; k + 2 <= plan.slices; k += 2) some(k, std::integral_constant<int, 2>());
    if (k < plan.slices) some(k, std::integral_constant<int, 1>());
    wgmma_settle(sums);
}

}  // namespace ridge

#endif
