/* bar.sync of some of a block's warps, numbers 1 to 15, and setmaxnreg of a warpgroup. */
#ifndef RIDGE_KERNELS_CUDA_PTX_BARRIER_CUH
#define RIDGE_KERNELS_CUDA_PTX_BARRIER_CUH

#include <cuda_runtime.h>

namespace ridge {

template <int Number, int Threads>
__device__ inline void bar_sync(void) {
    asm volatile("bar.sync %0, %1;" ::"n"(Number), "n"(Threads) : "memory");
}
template <int Threads>
__device__ inline void bar_sync(int number) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(Threads) : "memory");
}
/* Arrives without waiting: Threads counts these and those that wait. */
template <int Threads>
__device__ inline void bar_arrive(int number) {
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(Threads) : "memory");
}

template <int Registers>
__device__ inline void setmaxnreg_dec(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ inline void setmaxnreg_inc(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace ridge

#endif
