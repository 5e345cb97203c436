/* MXFP4 on a GPU: see quantize/mx.cuh. */
#include "quantize/mx.cuh"

extern "C" ridge_status quantize_mxfp4_cuda_optimized(const ridge_call *call) {
    return ridge::mx_optimized<RIDGE_E2M1>(call);
}
extern "C" ridge_status quantize_mxfp4_cuda_baseline(const ridge_call *call) {
    return ridge::mx_baseline<RIDGE_E2M1>(call);
}
