/* fp32 operands for tensor cores of 11 bits.
 *
 *   split      v = scale (high + low): two fp16 numbers, 22 bits, where scale, a power of two for each line of an
 *              operand, brings its largest element to [2^14, 2^15). Three products, high high + high low + low high,
 * then miss no more than 2^-21 of |a| |b| (Ootomo and Yokota, 2022). What is 2^-24 times smaller than its line's
 *              largest element begins to lose bits, at 2^-40 of the largest.
 *   rounded    to tf32, and transposed: tensor cores want K along the lines of both operands for this type.
 *
 * A split operand's lines along K are [high of all K | low of all K], K filled up with zeros to whole slices of 64;
 * where K is across the lines, low's lines follow high's. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_SPLIT_CUH

#include "cuda/linear_loss.cuh"

namespace ridge::hopper {

constexpr int SPLIT_SLICE = 64;

/* The power of two that brings `most` to [2^14, 2^15); 1 for zero and for what is not finite. */
__device__ inline float split_scale(float most) {
    if (!(most > 0.0f && most <= 0x1.fffffep127f)) return 1.0f;
    const int exponent = 14 - ilogbf(most);
    return exponent > 126 ? 0x1p126f : ldexpf(1.0f, exponent);
}
__device__ inline void split(float v, float scale, __half *high, __half *low) {
    const float scaled = v * scale;
    *high = __float2half_rn(scaled);
    *low = __float2half_rn(scaled - __half2float(*high));
}

/* A block a line. undo[line]: 1 / scale. */
__global__ static void __launch_bounds__(256)
    split_lines(const float *from, int64_t stride, int depth, int padded, __half *to, float *undo) {
    const float *line = from + blockIdx.x * stride;
    __half *high = to + (int64_t)blockIdx.x * 2 * padded, *low = high + padded;
    float most = 0.0f;
    for (int k = (int)threadIdx.x * 4; k < depth; k += 1024) {
        const float4 v = *(const float4 *)(line + k);
        most = fmaxf(fmaxf(most, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
    }
    for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    __shared__ float warp[8];
    if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < 8; w++) most = fmaxf(most, warp[w]);
    const float scale = split_scale(most);
    if (threadIdx.x == 0) undo[blockIdx.x] = 1.0f / scale;
    for (int k = (int)threadIdx.x * 4; k < padded; k += 1024) {
        const float4 v = k < depth ? *(const float4 *)(line + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        pack<__half, 4> h, l;
        split(v.x, scale, &h.v[0], &l.v[0]), split(v.y, scale, &h.v[1], &l.v[1]);
        split(v.z, scale, &h.v[2], &l.v[2]), split(v.w, scale, &h.v[3], &l.v[3]);
        *(pack<__half, 4> *)(high + k) = h;
        *(pack<__half, 4> *)(low + k) = l;
    }
}

/* The largest |v| of each column, as bits, which order as the numbers do; `most` is zero before. */
__global__ static void __launch_bounds__(256)
    columns_most(const float *from, int64_t stride, int depth, int columns, unsigned *most) {
    const int column = (int)(blockIdx.x * 256 + threadIdx.x), first = (int)blockIdx.y * 64;
    if (column >= columns) return;
    float m = 0.0f;
    for (int k = first; k < min(first + 64, depth); k++) m = fmaxf(m, fabsf(from[k * stride + column]));
    atomicMax(&most[column], __float_as_uint(m));
}
__global__ static void __launch_bounds__(256)
    split_columns(const float *from, int64_t stride, int depth, int padded, int columns, const unsigned *most,
                  __half *to, int64_t to_stride, float *undo) {
    const int column = (int)(blockIdx.x * 256 + threadIdx.x), first = (int)blockIdx.y * 16;
    if (column >= columns) return;
    const float scale = split_scale(__uint_as_float(most[column]));
    if (first == 0) undo[column] = 1.0f / scale;
    for (int k = first; k < first + 16; k++) {
        __half h, l;
        split(k < depth ? from[k * stride + column] : 0.0f, scale, &h, &l);
        to[k * to_stride + column] = h;
        to[(padded + k) * to_stride + column] = l;
    }
}

__device__ inline float round_tf32(float v) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return __uint_as_float(bits);
}
/* to[j][k] = from[k][j], 32 x 32 a block. */
__global__ static void __launch_bounds__(256)
    transpose_rounded(const float *from, int64_t stride, int depth, int columns, float *to, int64_t to_stride) {
    __shared__ float tile[32][33];
    const int tx = (int)threadIdx.x % 32, ty = (int)threadIdx.x / 32;
    const int column = (int)blockIdx.x * 32, k = (int)blockIdx.y * 32;
    for (int i = ty; i < 32; i += 8)
        if (k + i < depth && column + tx < columns) tile[i][tx] = round_tf32(from[(k + i) * stride + column + tx]);
    __syncthreads();
    for (int i = ty; i < 32; i += 8)
        if (column + i < columns && k + tx < depth) to[(column + i) * to_stride + k + tx] = tile[tx][i];
}

}  // namespace ridge::hopper

#endif
