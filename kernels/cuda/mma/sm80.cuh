/* Sums of 16-bit elements and of their squares by the tensor cores: three instructions for a pack of 8 a lane, where
 * unpacking and adding one by one takes 24. Products are exact and sums are in fp32, truncated at each step.
 *
 * A lane's words of two elements are the fragments, in the order of memory: any pairing will do as long as each element
 * is multiplied by itself. In D = A B (16 x 16 by 16 x 8), rows g and g + 8 of A and column g of B belong to the four
 * lanes 4 g, …. Of a lane's four words, two are in row g of A and two in row g + 8: with the former in B, too, D[g][g]
 * is the sum of their squares over those lanes; with the latter, D[g + 8][g]; with ones, D[g][0] and D[g + 8][0] are
 * the sums. The rest of D is not used.
 *
 * Called by whole warps. */
#ifndef RIDGE_KERNELS_CUDA_MMA_SM80_CUH
#define RIDGE_KERNELS_CUDA_MMA_SM80_CUH

#include "cuda/ptx/mma.cuh"
#include "cuda/tile/pack.cuh"

namespace ridge {

__device__ inline unsigned mma_ones(__nv_bfloat16) { return 0x3f803f80u; }
__device__ inline unsigned mma_ones(__half) { return 0x3c003c00u; }

template <typename T>
class mma_moments {
    float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float even[4] = {0.0f, 0.0f, 0.0f, 0.0f}, odd[4] = {0.0f, 0.0f, 0.0f, 0.0f}; /* squares, by words */

   public:
    __device__ void add(const unsigned (&word)[4]) {
        mma_m16n8k16(T(), x, word, mma_ones(T()), mma_ones(T()));
        mma_m16n8k16(T(), even, word, word[0], word[2]);
        mma_m16n8k16(T(), odd, word, word[1], word[3]);
    }
    /* This lane's share of the sums over its group of four: one lane has D[g][g], one D[g][0]. */
    __device__ float2 of_lane(void) const {
        const int lane = threadIdx.x % 32, group = lane / 4;
        const float diagonal = group % 2 ? even[1] + odd[3] : even[0] + odd[2]; /* columns 2 (lane % 4) and the next */
        return make_float2(lane % 4 == 0 ? x[0] + x[2] : 0.0f, lane % 4 == group / 2 ? diagonal : 0.0f);
    }
};

}  // namespace ridge

#endif
