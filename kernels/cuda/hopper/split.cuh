/* fp32 operands for tensor cores of 11 bits: v = scale (high + low), two fp16 numbers, 22 bits, where scale, a power of
 * two for each line of an operand, brings its largest element to [2^14, 2^15). Three products, high high, high low and
 * low high, miss no more than 2^-21 of |a| |b| (Ootomo and Yokota, 2022). What is 2^-24 times smaller than its line's
 * largest element begins to lose bits, at 2^-40 of the largest.
 *
 * A split operand's lines run along K, whichever way they ran before: [high of all K | low of all K], K filled up with
 * zeros to whole slices of 64. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_SPLIT_CUH

#include "cuda/hopper/launch.cuh"
#include "cuda/hopper/ptx.cuh"
#include "cuda/linear_loss.cuh"
#include "cuda/overlap.cuh"

namespace ridge::hopper {

constexpr int SPLIT_SLICE = 64;

/* The power of two that brings `most` to [2^14, 2^15), 2^126 at the most; 1 for zero and for what is not finite. By its
 * biased exponent, and what undoes it. */
__device__ inline int split_exponent(float most) {
    return most > 0.0f && most <= 0x1.fffffep127f ? min(268 - (__float_as_int(most) >> 23), 253) : 127;
}
__device__ inline float split_scale(int exponent) { return __int_as_float(exponent << 23); }
__device__ inline float split_undo(int exponent) { return __int_as_float((254 - exponent) << 23); }

/* Two neighbours. */
__device__ inline void split(float a, float b, float scale, uint32_t *high, uint32_t *low) {
    a *= scale, b *= scale;
    const __half2 h = __floats2half2_rn(a, b);
    const float2 back = __half22float2(h);
    const __half2 l = __floats2half2_rn(a - back.x, b - back.y);
    memcpy(high, &h, 4), memcpy(low, &l, 4);
}

/* 16 bytes in one store, which the compiler takes apart where that saves it moves. */
__device__ inline void store_words(void *to, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Columns are read once where the depth is up to 1024, lines where it is up to 4096: a thread keeps 32 elements. */
constexpr int SPLIT_DEPTH = 1024;

/* Lines along the depth: `to` has [high | low] of each. undo[line]: 1 / scale. A line by a warp; Deep: by four. */
struct split_lines {
    const float *from;
    int64_t stride;
    int lines, depth, padded;
    __half *to;
    float *undo;
    unsigned *infinite; /* NULL, or set where an element is */

    __host__ __device__ int blocks(bool deep) const { return (lines + (deep ? 1 : 7)) / (deep ? 2 : 8); }
    template <int Step>
    __device__ void load(float4 (&v)[8], const float *line, int k) const {
#pragma unroll
        for (int i = 0; i < 8; i++, k += Step)
            v[i] = k < depth ? *(const float4 *)(line + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    template <bool Deep>
    __device__ float most_of_line(float most) const {
        for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
        if constexpr (Deep) {
            __shared__ float warps[8];
            if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
            __syncthreads();
            for (int w = 0; w < 4; w++) most = fmaxf(most, warps[threadIdx.x / 128 * 4 + w]);
        }
        return most;
    }
    template <bool Deep>
    __device__ void run(int block) const {
        constexpr int team = Deep ? 128 : 32, step = 4 * team;
        const int line = block * (256 / team) + (int)threadIdx.x / team, first = (int)threadIdx.x % team * 4;
        if (line >= lines) return;
        const float *values = from + line * stride;
        __half *high = to + (int64_t)line * 2 * padded, *low = high + padded;
        float4 v[8];
        float most = 0.0f;
#pragma unroll 1
        for (int k = first; k < max(depth, 8 * step); k += 8 * step) {
            load<step>(v, values, k);
#pragma unroll
            for (const float4 &f : v)
                most = fmaxf(fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y))), fmaxf(fabsf(f.z), fabsf(f.w)));
        }
        most = most_of_line<Deep>(most);
        const int exponent = split_exponent(most);
        const float scale = split_scale(exponent);
        if (first == 0) {
            undo[line] = split_undo(exponent);
            if (infinite && most == INFINITY) *infinite = 1;
        }
#pragma unroll 1
        for (int k = first; k < padded; k += 8 * step) {
            if (Deep && depth > 8 * step) load<step>(v, values, k);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (k + step * i >= padded) break;
                uint2 h, l;
                split(v[i].x, v[i].y, scale, &h.x, &l.x), split(v[i].z, v[i].w, scale, &h.y, &l.y);
                *(uint2 *)(high + k + step * i) = h;
                *(uint2 *)(low + k + step * i) = l;
            }
        }
    }
};

__device__ inline float element(const float4 &v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
/* Four of a line's neighbours that blocks elsewhere read: memory brings all 128 bytes of them. */
__device__ inline float4 load_of_line(const float *p) {
    float4 v;
    asm volatile("ld.global.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p));
    return v;
}
/* Four neighbours of each of eight lines of `columns` elements, `lines` of them there, zeros beyond; the last four are
 * `Gap` lines further on. fours: there are four neighbours or none, at multiples of 16 bytes. Which is asked once, so
 * that all loads are under way together. */
template <int Gap>
__device__ inline void load_turned(float4 (&v)[8], const float *line, int64_t stride, int lines, int column,
                                   int columns, bool fours) {
    if (fours) {
#pragma unroll
        for (int i = 0; i < 8; i++, line += stride) {
            if (i == 4) line += Gap * stride;
            v[i] = i + (i < 4 ? 0 : Gap) < lines && column < columns ? load_of_line(line + column)
                                                                     : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++, line += stride) {
        if (i == 4) line += Gap * stride;
        const int left = i + (i < 4 ? 0 : Gap) < lines ? columns - column : 0;
        v[i].x = left > 0 ? line[column] : 0.0f;
        v[i].y = left > 1 ? line[column + 1] : 0.0f;
        v[i].z = left > 2 ? line[column + 2] : 0.0f;
        v[i].w = left > 3 ? line[column + 3] : 0.0f;
    }
}

/* Lines across the depth, of `columns` each, of one head or several: `to` has [high | low] of each column, `wide`
 * columns of each head, zero beyond `columns`. A block has eight columns, a thread four by eight of the depth: they lie
 * turned in its registers, so that it loads and stores 16 bytes at a time. */
struct split_columns {
    const float *from;
    int64_t stride, head;
    int heads, columns, depth, padded, wide;
    bool fours; /* see load_turned */
    __half *to;
    float *undo;
    unsigned *infinite; /* NULL, or set where an element is */

    __host__ __device__ int blocks(bool) const { return heads * (wide / 8); }
    __device__ void load(float4 (&v)[8], const float *values, int column, int k) const {
        load_turned<0>(v, values + k * stride, stride, depth - k, column, columns, fours);
    }
    /* The largest of the block's columns: of the threads that have the same ones. */
    __device__ void most_of_block(float (&most)[4]) const {
        __shared__ float warps[8][2][4];
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int e = 0; e < 4; e++)
            for (int mask = 16; mask > 1; mask /= 2)
                most[e] = fmaxf(most[e], __shfl_xor_sync(0xffffffffu, most[e], mask));
        if (lane < 2)
#pragma unroll
            for (int e = 0; e < 4; e++) warps[threadIdx.x / 32][lane][e] = most[e];
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 4; e++)
            for (int w = 0; w < 8; w++) most[e] = fmaxf(most[e], warps[w][lane % 2][e]);
    }
    template <bool Deep>
    __device__ void run(int block) const {
        const int h = block / (wide / 8), column = block % (wide / 8) * 8 + (int)threadIdx.x % 2 * 4;
        const int first = (int)threadIdx.x / 2 * 8, at = h * wide + column;
        const float *values = from + h * head;
        float4 v[8];
        float most[4] = {0.0f, 0.0f, 0.0f, 0.0f}, scale[4];
#pragma unroll 1
        for (int k = first; k < (Deep ? depth : SPLIT_DEPTH); k += SPLIT_DEPTH) {
            load(v, values, column, k);
#pragma unroll
            for (const float4 &f : v)
#pragma unroll
                for (int e = 0; e < 4; e++) most[e] = fmaxf(most[e], fabsf(element(f, e)));
        }
        most_of_block(most);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int exponent = split_exponent(most[e]);
            scale[e] = split_scale(exponent);
            if (first == 0) {
                undo[at + e] = split_undo(exponent);
                if (infinite && most[e] == INFINITY) *infinite = 1;
            }
        }
#pragma unroll 1
        for (int k = first; k < padded; k += SPLIT_DEPTH) {
            if (Deep) load(v, values, column, k);
            __half *line = to + (int64_t)at * 2 * padded + k;
#pragma unroll
            for (int e = 0; e < 4; e++, line += 2 * padded) {
                uint4 high, low;
                split(element(v[0], e), element(v[1], e), scale[e], &high.x, &low.x);
                split(element(v[2], e), element(v[3], e), scale[e], &high.y, &low.y);
                split(element(v[4], e), element(v[5], e), scale[e], &high.z, &low.z);
                split(element(v[6], e), element(v[7], e), scale[e], &high.w, &low.w);
                store_words(line, high);
                store_words(line + padded, low);
            }
        }
    }
};

/* Both operands in one launch; columns first, whose blocks take longest. zero: so many counters become 0. Deep: more
 * than SPLIT_DEPTH. */
template <class X, class W, bool Deep>
__global__ void __launch_bounds__(256, Deep ? 2 : 4) split_operands(X x, W w, unsigned *zero, int zeros) {
    before_next_launch();
    const int block = (int)blockIdx.x, first = w.blocks(Deep);
    for (int i = block * 256 + (int)threadIdx.x; i < zeros; i += (int)gridDim.x * 256) zero[i] = 0;
    if (block < first)
        w.template run<Deep>(block);
    else
        x.template run<Deep>(block - first);
}
template <class X, class W>
ridge_status split_both(const X &x, const W &w, cudaStream_t stream, unsigned *zero = NULL, int zeros = 0) {
    const bool deep = x.depth > SPLIT_DEPTH;
    const auto kernel = deep ? split_operands<X, W, true> : split_operands<X, W, false>;
    return launch_overlapping(kernel, {dim3((unsigned)(x.blocks(deep) + w.blocks(deep))), 256}, stream, true, x, w,
                              zero, zeros);
}

}  // namespace ridge::hopper

#endif
