/* MXFP8 in e5m2 on a GPU: see quantize/mx.cuh. */
#include "quantize/mx.cuh"

extern "C" ridge_status quantize_mxfp8_e5m2_cuda_optimized(const ridge_call *call) {
    return ridge::mx_optimized<RIDGE_E5M2>(call);
}
extern "C" ridge_status quantize_mxfp8_e5m2_cuda_baseline(const ridge_call *call) {
    return ridge::mx_baseline<RIDGE_E5M2>(call);
}
