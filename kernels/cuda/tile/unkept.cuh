/* What a compiler is not to know of a value. */
#ifndef RIDGE_KERNELS_CUDA_TILE_UNKEPT_CUH
#define RIDGE_KERNELS_CUDA_TILE_UNKEPT_CUH

namespace ridge {

/* A value of which it computes nothing ahead, and keeps nothing for later: there are no registers for it. */
template <typename V>
__device__ inline V unkept(V value) {
    asm volatile("" : "+r"(value));
    return value;
}

}  // namespace ridge

#endif
