/* clusterlaunchcontrol (CLC): a cluster takes over the work of one that has not begun, so that a launch of a cluster a tile is
 * persistent, and SMs that other work keeps busy get fewer tiles. From compute capability 10.0 on. */
#ifndef RIDGE_KERNELS_CUDA_PTX_CLUSTERLAUNCHCONTROL_CUH
#define RIDGE_KERNELS_CUDA_PTX_CLUSTERLAUNCHCONTROL_CUH

#include <stdint.h>

namespace ridge {

/* Asks for a cluster. By the async proxy 16 bytes at `response`, a multiple of 16, are written; the mbarrier counts them. */
__device__ inline void clusterlaunchcontrol_try_cancel(uint32_t response, uint32_t barrier) {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
            response),
        "r"(barrier)
        : "memory");
}
/* The same response at these addresses in every block of the cluster. */
__device__ inline void clusterlaunchcontrol_try_cancel_multicast(uint32_t response, uint32_t barrier) {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
        "[%0], [%1];" ::"r"(response),
        "r"(barrier)
        : "memory");
}
/* blockIdx.x of the cancelled cluster's first block; -1: there was none, and nobody of this cluster may ask again. */
__device__ inline int clusterlaunchcontrol_query_cancel(uint32_t response) {
    int first;
    asm volatile(
        "{\n.reg .b128 answer;\n.reg .b64 low, high;\n.reg .pred cancelled;\n"
        "ld.shared.v2.b64 {low, high}, [%1];\nmov.b128 answer, {low, high};\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer;\n"
        "mov.b32 %0, -1;\n"
        "@cancelled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, answer;\n}"
        : "=&r"(first)
        : "r"(response)
        : "memory");
    return first;
}

}  // namespace ridge

#endif
