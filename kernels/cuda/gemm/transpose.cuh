/* fp32 operands rounded to tf32 and transposed: wgmma takes tf32 operands K-major only. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TRANSPOSE_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TRANSPOSE_CUH

#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/math.cuh"
#include "cuda/tile/transpose.cuh"

namespace ridge {

/* Lines across the depth, rounded and transposed along it: `to` has them, `padded` elements from one to the next. A
 * warp has 32 columns by 32 of the depth, a thread four by twice four of these; a block 32 columns by 256. */
struct trans_columns {
    const float *from;
    int64_t stride;
    int depth, columns, padded;
    bool fours; /* see load_trans */
    float *to;
};
__global__ static void __launch_bounds__(256, 4) transpose_to_tf32(trans_columns t, unsigned *zero, int zeros) {
    before_next_launch();
    const int block = (int)(blockIdx.y * gridDim.x + blockIdx.x), blocks = (int)(gridDim.x * gridDim.y);
    for (int i = block * 256 + (int)threadIdx.x; i < zeros; i += blocks * 256) zero[i] = 0;
    const int lane = (int)threadIdx.x % 32, column = (int)blockIdx.x * 32 + lane % 8 * 4;
    const int k = (int)blockIdx.y * 256 + (int)threadIdx.x / 32 * 32 + lane / 8 * 4;
    float4 v[8];
    load_trans<12>(v, t.from + k * t.stride, t.stride, t.depth - k, column, t.columns, t.fours);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        if (column + e >= t.columns) break;
#pragma unroll
        for (int i = 0; i < 8; i += 4)
            if (k + 4 * i < t.padded)
                *(float4 *)(t.to + (int64_t)(column + e) * t.padded + k + 4 * i) =
                    make_float4(cvt_rna_tf32(float4_at(v[i], e)), cvt_rna_tf32(float4_at(v[i + 1], e)),
                                cvt_rna_tf32(float4_at(v[i + 2], e)), cvt_rna_tf32(float4_at(v[i + 3], e)));
    }
}

}  // namespace ridge

#endif
