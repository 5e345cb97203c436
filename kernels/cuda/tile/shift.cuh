/* Packs that lie between 16-byte boundaries. */
#ifndef RIDGE_KERNELS_CUDA_TILE_SHIFT_CUH
#define RIDGE_KERNELS_CUDA_TILE_SHIFT_CUH

#include "cuda/tile/pack.cuh"

namespace ridge {

/* 16 bytes that begin at any element of T, from two aligned packs. Neighbouring threads share them: loads are kept in
 * L1. */
template <typename T>
class pack_shifter {
    const char *aligned;
    unsigned bytes; /* from there to the first element */

   public:
    struct packs {
        uint4 low, high;
    };

    __device__ explicit pack_shifter(const T *first)
        : aligned((const char *)first), bytes((unsigned)(uintptr_t)first % 16) {
        aligned -= bytes;
    }
    /* Those that hold pack k from the first on; zeros unless present. Aligned memory is not asked for another pack: it
     * may be written as soon as its own has been read. */
    template <typename Index>
    __device__ packs load(Index k, bool present) const {
        const char *const p = aligned + k * 16;
        const uint64_t policy = createpolicy_evict_last();
        return {ld_global_v4_if(p, policy, present), ld_global_v4_if(p + 16, policy, present && bytes > 0)};
    }
    /* Words by halves, then by one, then bits: all threads of a row shift alike. */
    __device__ uint4 of(const packs &p) const {
        const unsigned w[8] = {p.low.x, p.low.y, p.low.z, p.low.w, p.high.x, p.high.y, p.high.z, p.high.w};
        unsigned by_two[6], by_one[5], v[4];
#pragma unroll
        for (int k = 0; k < 6; k++) by_two[k] = bytes & 8 ? w[k + 2] : w[k];
#pragma unroll
        for (int k = 0; k < 5; k++) by_one[k] = bytes & 4 ? by_two[k + 1] : by_two[k];
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = sizeof(T) == 4 ? by_one[k] : __funnelshift_r(by_one[k], by_one[k + 1], bytes % 4 * 8);
        return make_uint4(v[0], v[1], v[2], v[3]);
    }
};

}  // namespace ridge

#endif
