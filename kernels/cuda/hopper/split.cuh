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

/* Both kinds of operands are read once where the depth is up to 1024: a thread keeps 32 or 64 elements. */
constexpr int SPLIT_DEPTH = 1024;

/* Lines along the depth: `to` has [high | low] of each. undo[line]: 1 / scale. By a warp a line. */
struct split_lines {
    const float *from;
    int64_t stride;
    int lines, depth, padded;
    __half *to;
    float *undo;

    __host__ __device__ int blocks(void) const { return (lines + 7) / 8; }
    __device__ void load(float4 (&v)[8], const float *line, int k) const {
#pragma unroll
        for (int i = 0; i < 8; i++, k += 128)
            v[i] = k < depth ? *(const float4 *)(line + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __device__ void run(int block) const {
        const int line = block * 8 + (int)threadIdx.x / 32, first = (int)threadIdx.x % 32 * 4;
        if (line >= lines) return;
        const float *values = from + line * stride;
        __half *high = to + (int64_t)line * 2 * padded, *low = high + padded;
        float4 v[8];
        float most = 0.0f;
        for (int k = first; k < depth; k += SPLIT_DEPTH) {
            load(v, values, k);
#pragma unroll
            for (const float4 &f : v)
                most = fmaxf(fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y))), fmaxf(fabsf(f.z), fabsf(f.w)));
        }
        for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
        const float scale = split_scale(most);
        if (first == 0) undo[line] = 1.0f / scale;
        for (int k = first; k < padded; k += SPLIT_DEPTH) {
            if (depth > SPLIT_DEPTH) load(v, values, k);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (k + 128 * i >= padded) break;
                pack<__half, 4> h, l;
                split(v[i].x, scale, &h.v[0], &l.v[0]), split(v[i].y, scale, &h.v[1], &l.v[1]);
                split(v[i].z, scale, &h.v[2], &l.v[2]), split(v[i].w, scale, &h.v[3], &l.v[3]);
                *(pack<__half, 4> *)(high + k + 128 * i) = h;
                *(pack<__half, 4> *)(low + k + 128 * i) = l;
            }
        }
    }
};

/* Lines across the depth, of `columns` each, of one head or several: `to` has high's lines, then low's, in each of them
 * head after head, `wide` columns of each: those beyond `columns` are zero. By a block of 16 columns. */
struct split_columns {
    const float *from;
    int64_t stride, head;
    int heads, columns, depth, padded, wide;
    __half *to;
    float *undo;

    __host__ __device__ int blocks(void) const { return heads * (wide / 16); }
    __device__ void load(float (&v)[64], const float *column, bool present, int k) const {
#pragma unroll
        for (int i = 0; i < 64; i++, k += 16) v[i] = present && k < depth ? column[k * stride] : 0.0f;
    }
    __device__ void run(int block) const {
        const int h = block / (wide / 16), c = block % (wide / 16) * 16 + (int)threadIdx.x % 16;
        const int first = (int)threadIdx.x / 16, at = h * wide + c;
        const int64_t line = (int64_t)heads * wide;
        const bool present = c < columns;
        const float *values = from + h * head + (present ? c : 0);
        __shared__ float warp[8][32];
        float v[64], most = 0.0f;
        for (int k = first; k < depth; k += SPLIT_DEPTH) {
            load(v, values, present, k);
#pragma unroll
            for (const float f : v) most = fmaxf(most, fabsf(f));
        }
        warp[threadIdx.x / 32][threadIdx.x % 32] = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 16));
        __syncthreads();
        for (int w = 0; w < 8; w++) most = fmaxf(most, warp[w][threadIdx.x % 32]);
        const float scale = split_scale(most);
        if (first == 0) undo[at] = 1.0f / scale;
        for (int k = first; k < padded; k += SPLIT_DEPTH) {
            if (depth > SPLIT_DEPTH) load(v, values, present, k);
#pragma unroll
            for (int i = 0; i < 64; i++) {
                if (k + 16 * i >= padded) break;
                __half high, low;
                split(v[i], scale, &high, &low);
                to[(k + 16 * i) * line + at] = high;
                to[(padded + k + 16 * i) * line + at] = low;
            }
        }
    }
};

/* Both operands in one launch. zero: so many bytes become 0. */
template <class W>
__global__ void __launch_bounds__(256) split_operands(split_lines x, W w, unsigned char *zero, int zeros) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    const int block = (int)blockIdx.x;
    for (int i = block * 256 + (int)threadIdx.x; i < zeros; i += (int)gridDim.x * 256) zero[i] = 0;
    if (block < x.blocks())
        x.run(block);
    else
        w.run(block - x.blocks());
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
