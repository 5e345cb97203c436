/* griddepcontrol: programmatic dependent launch. A kernel is set up, its blocks where there is room, while the launch
 * before it in the stream still runs, and waits by itself until that is done. Nothing before compute capability 9.0,
 * where launches do not overlap. */
#ifndef RIDGE_KERNELS_CUDA_PTX_GRIDDEPCONTROL_CUH
#define RIDGE_KERNELS_CUDA_PTX_GRIDDEPCONTROL_CUH

#include <cuda_runtime.h>

namespace ridge {

/* The launch before this one in the stream is done and its writes are visible. */
__device__ inline void griddepcontrol_wait(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void griddepcontrol_launch_dependents(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/* Wait, then launch dependents: were the next launch's blocks started while this one's wait, those of the launch after
 * it would be, too, and two would share an SM while other SMs are empty. */
__device__ inline void after_previous_launch(void) {
    griddepcontrol_wait();
    griddepcontrol_launch_dependents();
}
/* The other order, where that does not matter. */
__device__ inline void before_next_launch(void) {
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
}

}  // namespace ridge

#endif
