/* Sums of 16-bit elements and of their squares by the tensor cores: three instructions for a pack of 8 a lane, where
 * unpacking and adding one by one takes 24. Products are exact and sums are in fp32, truncated at each step.
 *
 * A lane's words of two elements are the fragments as they lie in memory: which of a row's elements meet is
 * indifferent as long as each meets itself. In D = A B (16 x 16 by 16 x 8), rows g and g + 8 of A and column g of B
 * belong to the four lanes 4 g, …. Of a lane's four words, two are in row g of A and two in row g + 8: with the former
 * in B, too, D[g][g] is the sum of their squares over those lanes; with the latter, D[g + 8][g]; with ones, D[g][0] and
 * D[g + 8][0] are the sums. The rest of D is computed for nothing.
 *
 * Called by whole warps. */
#ifndef RIDGE_KERNELS_CUDA_ROW_MMA_CUH
#define RIDGE_KERNELS_CUDA_ROW_MMA_CUH

#include "cuda/pack.cuh"

namespace ridge {

/* D += A B. Rows g and g + 8 of A in turn: even and odd words of a. */
__device__ inline void row_mma(__nv_bfloat16, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void row_mma(__half, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline unsigned row_mma_ones(__nv_bfloat16) { return 0x3f803f80u; }
__device__ inline unsigned row_mma_ones(__half) { return 0x3c003c00u; }

/* load_once_words where there is something to load, zeros elsewhere. In one piece: told as a choice between two values,
 * each load would be waited for before the next. */
__device__ inline uint4 load_once_if(const void *p, bool present) {
    uint4 v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %6, 0;\n\t"
        "mov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\tmov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
        "@present ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;\n\t}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "l"(policy_read()), "r"((unsigned)present));
    return v;
}

template <typename T>
class row_mma_moments {
    float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float even[4] = {0.0f, 0.0f, 0.0f, 0.0f}, odd[4] = {0.0f, 0.0f, 0.0f, 0.0f}; /* squares, by words */

   public:
    __device__ void add(const unsigned (&word)[4]) {
        row_mma(T(), x, word, row_mma_ones(T()), row_mma_ones(T()));
        row_mma(T(), even, word, word[0], word[2]);
        row_mma(T(), odd, word, word[1], word[3]);
    }
    /* What this lane counts for in sums over its group of four: one of them has D[g][g], one D[g][0]. */
    __device__ float2 of_lane(void) const {
        const int lane = threadIdx.x % 32, group = lane / 4;
        const float diagonal = group % 2 ? even[1] + odd[3] : even[0] + odd[2]; /* columns 2 (lane % 4) and the next */
        return make_float2(lane % 4 == 0 ? x[0] + x[2] : 0.0f, lane % 4 == group / 2 ? diagonal : 0.0f);
    }
};

}  // namespace ridge

#endif
