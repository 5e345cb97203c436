/* MXFP8 on a GPU: see quantize/mx.cuh. */
#include "quantize/mx.cuh"

extern "C" ridge_status quantize_mxfp8_cuda_optimized(const ridge_call *call) {
    return ridge::mx_optimized<RIDGE_E4M3>(call);
}
extern "C" ridge_status quantize_mxfp8_cuda_baseline(const ridge_call *call) {
    return ridge::mx_baseline<RIDGE_E4M3>(call);
}
