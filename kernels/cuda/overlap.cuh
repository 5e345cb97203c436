/* Launches that overlap: a kernel is made ready, its blocks where there is room, while the one before it in the stream
 * still runs, and waits by itself until that is done. From compute capability 9.0 on. */
#ifndef RIDGE_KERNELS_CUDA_OVERLAP_CUH
#define RIDGE_KERNELS_CUDA_OVERLAP_CUH

#include "cuda/launch.cuh"

namespace ridge {

/* The launch before this one in the stream is done and its writes are seen. */
__device__ inline void wait_for_previous_launch(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void next_launch_may_start(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/* First the one, then the other: if the next launch's blocks could start while this one's wait, those of the one after
 * it would, too, and come to lie two on one multiprocessor while others have none. */
__device__ inline void after_previous_launch(void) {
    wait_for_previous_launch();
    next_launch_may_start();
}
/* The other way round, where that does not matter. */
__device__ inline void before_next_launch(void) {
    next_launch_may_start();
    wait_for_previous_launch();
}

inline bool device_overlaps(void) { return device_capability() >= 90; }

/* Of a launch that may be made ready early: its kernel begins with one of these. */
inline cudaLaunchAttribute overlapping(void) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    return attribute;
}
/* allowed: else as any other launch. */
template <typename... P, typename... A>
ridge_status launch_overlapping(void (*kernel)(P...), const launch_shape &shape, cudaStream_t stream, bool allowed,
                                const A &...a) {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = config_of(shape, stream);
    config.attrs = attributes;
    if (allowed) attributes[config.numAttrs++] = overlapping();
    if (shape.cluster > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs++].val.clusterDim = {(unsigned)shape.cluster, 1, 1};
    }
    return launch_with(config, kernel, a...);
}

}  // namespace ridge

#endif
