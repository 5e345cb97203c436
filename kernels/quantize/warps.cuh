/* Quantizes rows in one pass: a warp reads some packs of a row, takes each block's maximum by shuffles, and writes codes of
 * the registers that it took the maximum of.
 *
 *     struct Rule {
 *         static constexpr int block, code_bits;                         columns of a block; of an element
 *         __device__ void begin(unsigned i);                             once a thread, whose row is i
 *         struct scale;                                                  what a block's elements share
 *         __device__ scale of(unsigned max_bits, bool inside) const;     max_bits >= 0x7f800000: one is not finite
 *         __device__ float factor(const scale &) const;                  what elements are multiplied by; zeros in odd blocks
 *         static __device__ void put(void *q, int j, int cols, const float (&v)[W]);     codes of W columns from column j
 *         __device__ void put_scales(const scale (&)[U], int64_t i, int64_t k, int apart, int lane, int cols) const;
 *     };                                                                 of U blocks `apart` from k on, cols columns
 *
 * Floor: bytes over the copy ceiling, as in maps/map.cuh. Bytes in flight: U packs of 16 bytes a lane. */
#ifndef RIDGE_KERNELS_QUANTIZE_WARPS_CUH
#define RIDGE_KERNELS_QUANTIZE_WARPS_CUH

#include "cuda/host/launch.cuh"
#include "cuda/tile/pack.cuh"
#include "quantize/blocks.h"
#include "quantize/rule.h"

namespace ridge {

/* 16 bytes of each lane, four times: 64 KiB of an SM's 32 warps are in flight. */
constexpr int quantize_threads = 256, quantize_packs = 4;

template <typename T>
struct quantize_problem {
    const T *x;
    int64_t x_stride;
    unsigned char *q;
    int64_t q_stride; /* bytes */
    int64_t rows, cols;
    int64_t all_rows;   /* with those that have scales alone */
    unsigned warps_row; /* warps that share a row */
};

template <typename T>
constexpr int quantize_columns = 32 * pack_width<T>; /* of one pack of all lanes */

/* ---- elements ---- */

/* As many elements as 16 bytes hold, from column j; zeros where there are none. */
template <bool Whole, typename T>
__device__ inline uint4 quantize_load(const T *x, int j, int cols) {
    if constexpr (Whole) {
        return load_once_if(x + j, j < cols);
    } else {
        union {
            T v[pack_width<T>];
            uint4 words;
        } u;
        u.words = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int e = 0; e < pack_width<T>; e++)
            if (j + e < cols) u.v[e] = x[j + e];
        return u.words;
    }
}

/* The largest magnitude of 16 bytes as bits of fp32. The bits of magnitudes have the order of the magnitudes, in 16 bits too, two
 * of which one instruction compares; those of infinity and NaN come last. */
template <typename T>
__device__ inline unsigned quantize_max_of(const uint4 &w) {
    if constexpr (sizeof(T) == 4) {
        constexpr unsigned all = 0x7fffffffu;
        return umax(umax(w.x & all, w.y & all), umax(w.z & all, w.w & all));
    } else {
        constexpr unsigned all = 0x7fff7fffu;
        const unsigned two = __vmaxu2(__vmaxu2(w.x & all, w.y & all), __vmaxu2(w.z & all, w.w & all));
        float low, high;
        unpack_pair(T(), umax(two & 0xffffu, two >> 16), &low, &high);
        return __float_as_uint(low);
    }
}

/* That of a block, in all of its lanes. */
template <int Lanes, typename T>
__device__ inline unsigned quantize_max(const uint4 &words) {
    unsigned max = quantize_max_of<T>(words);
#pragma unroll
    for (int o = Lanes / 2; o > 0; o /= 2) max = umax(max, __shfl_xor_sync(~0u, max, o));
    return max;
}

/* ---- the kernel ---- */

template <bool Whole, typename T, typename Rule>
__global__ void __launch_bounds__(quantize_threads) quantize_kernel(quantize_problem<T> p, Rule rule) {
    constexpr int W = pack_width<T>, lanes = Rule::block / W, columns = quantize_columns<T>;
    static_assert(Rule::block % W == 0 && lanes >= 1 && 32 % lanes == 0, "packs and lanes are whole parts of blocks");
    const unsigned warp = blockIdx.x * (quantize_threads / 32) + threadIdx.x / 32, i = warp / p.warps_row;
    const int lane = threadIdx.x % 32;
    if (i >= p.all_rows) return; /* all lanes of the warp */
    rule.begin(i);
    const int64_t first = (int64_t)(warp - i * p.warps_row) * (quantize_packs * columns) + lane * W;
    /* From the lane's first column on, which 32 bits can tell. */
    const int cols = i < p.rows ? (int)min(max(p.cols - first, (int64_t)0), (int64_t)quantize_packs * columns) : 0;
    const T *x = p.x + i * p.x_stride + first;
    unsigned char *q = p.q + i * p.q_stride + (uint64_t)first * Rule::code_bits / 8;

    uint4 words[quantize_packs];
    typename Rule::scale scales[quantize_packs];
#pragma unroll
    for (int u = 0; u < quantize_packs; u++) words[u] = quantize_load<Whole>(x, u * columns, cols);
#pragma unroll
    for (int u = 0; u < quantize_packs; u++) {
        const unsigned max = quantize_max<lanes, T>(words[u]);
        scales[u] = rule.of(max, u * columns < cols);
        const float factor = rule.factor(scales[u]);
        float v[W];
        unpack(elements_of<T, W>(max >= 0x7f800000u ? make_uint4(0, 0, 0, 0) : words[u]), v);
#pragma unroll
        for (int e = 0; e < W; e++) v[e] *= factor;
        if (u * columns < cols) Rule::template put<Whole>(q, u * columns, cols, v);
    }
    rule.put_scales(scales, i, (int64_t)((uint64_t)first / Rule::block), columns / Rule::block, lane, cols);
}

/* ---- launching ---- */

template <typename T>
quantize_problem<T> quantize_problem_of(const ridge_call *call, int64_t q_stride, int64_t all_rows) {
    quantize_problem<T> p;
    p.x = (const T *)ridge_data(&call->in[0]), p.x_stride = ridge_row_stride(&call->in[0]);
    p.q = (unsigned char *)ridge_data(&call->out[0]), p.q_stride = q_stride;
    p.rows = call->dim[0], p.cols = call->dim[1], p.all_rows = all_rows;
    p.warps_row = (unsigned)blocks_ceil_div(p.cols, quantize_packs * quantize_columns<T>);
    return p;
}

/* Every row is whole packs, of x and of the codes of so many elements. */
template <typename T>
bool quantize_is_whole(const quantize_problem<T> &p, int pack_bytes) {
    const uintptr_t x = (uintptr_t)p.x | (uintptr_t)(p.x_stride * (int64_t)sizeof(T));
    const uintptr_t q = (uintptr_t)p.q | (uintptr_t)p.q_stride;
    return x % 16 == 0 && q % (uintptr_t)pack_bytes == 0 && p.cols % pack_width<T> == 0;
}

template <typename T, typename Rule>
ridge_status quantize_launch(const ridge_call *call, const quantize_problem<T> &p, const Rule &rule) {
    const int64_t blocks = blocks_ceil_div(p.all_rows * p.warps_row, quantize_threads / 32);
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX / (quantize_threads / 32)) return RIDGE_UNSUPPORTED; /* terabytes */
    const launch_shape shape = {dim3((unsigned)blocks), quantize_threads};
    if (quantize_is_whole(p, Rule::template pack_bytes<T>))
        return launch(quantize_kernel<true, T, Rule>, shape, stream_of(call), p, rule);
    return launch(quantize_kernel<false, T, Rule>, shape, stream_of(call), p, rule);
}

}  // namespace ridge

#endif
