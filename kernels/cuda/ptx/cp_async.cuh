/* cp.async: copies of 4 or 16 bytes by each thread, from global to shared memory. */
#ifndef RIDGE_KERNELS_CUDA_PTX_CP_ASYNC_CUH
#define RIDGE_KERNELS_CUDA_PTX_CP_ASYNC_CUH

#include "cuda/ptx/global.cuh"
#include "cuda/ptx/shared.cuh"

namespace ridge {

__device__ inline void cp_async_16(uint32_t to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/* Zeros unless present. */
__device__ inline void cp_async_16_if(uint32_t to, const void *from, bool present) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present ? 16 : 0)
                 : "memory");
}
/* The first `bytes` of 16, and zeros behind them. */
__device__ inline void cp_async_16_some(uint32_t to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/* Zeros unless present; of what is read again from L2. Not where `to` is the same register in all threads plus a number: ptxas 13.0
 * then puts the policy into an odd uniform register, which is an illegal instruction (tests/gpu/waits.py finds it). */
__device__ inline void cp_async_16_kept_if(uint32_t to, const void *from, bool present) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from),
                 "r"(present ? 16 : 0), "l"(createpolicy_evict_last())
                 : "memory");
}
__device__ inline void cp_async_4_if(uint32_t to, const void *from, bool present) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(present ? 4 : 0) : "memory");
}
__device__ inline void cp_async_commit_group(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* All but the last `Left` groups have arrived. */
template <int Left>
__device__ inline void cp_async_wait_group(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}
__device__ inline void cp_async_wait_all(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace ridge

#endif
