/* Quantizes rows in one pass: a warp reads some packs of a row, takes each block's maximum by shuffles, and writes codes of
 * the registers that it took the maximum of.
 *
 *     struct Rule {
 *         static constexpr int block;                                    columns of a block
 *         __device__ void begin();                                       once a thread
 *         struct scale;                                                  what a block's elements share
 *         __device__ scale of(unsigned max_bits) const;                  max_bits >= 0x7f800000: one is not finite
 *         __device__ float factor(const scale &) const;                  what elements are multiplied by; 0 in odd blocks
 *         static __device__ void put(void *q, int64_t j, const float (&v)[W]);    codes of W columns from column j
 *         __device__ void put_scale(const scale &, int64_t i, int64_t k, int lane, bool inside) const;
 *     };
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
    int64_t all_rows;  /* with those that have scales alone */
    int64_t warps_row; /* warps that share a row */
};

template <typename T>
constexpr int quantize_columns = 32 * pack_width<T>; /* of one pack of all lanes */

/* ---- elements ---- */

/* W elements from column j; zeros where there are none. */
template <bool Whole, typename T>
__device__ inline void quantize_load(const T *x, int64_t j, int64_t cols, bool present, float (&v)[pack_width<T>]) {
    constexpr int W = pack_width<T>;
    if constexpr (Whole) {
        unpack(elements_of<T, W>(load_once_if(x + j, present && j < cols)), v);
    } else {
#pragma unroll
        for (int e = 0; e < W; e++) v[e] = present && j + e < cols ? to_float(x[j + e]) : 0.0f;
    }
}

/* The largest magnitude of a block as bits, in all of its lanes. The bits of magnitudes have the order of the magnitudes,
 * and those of infinity and NaN come last. */
template <int Lanes, int W>
__device__ inline unsigned quantize_max(const float (&v)[W]) {
    unsigned max = 0;
#pragma unroll
    for (int e = 0; e < W; e++) max = umax(max, __float_as_uint(v[e]) & 0x7fffffffu);
#pragma unroll
    for (int o = Lanes / 2; o > 0; o /= 2) max = umax(max, __shfl_xor_sync(~0u, max, o));
    return max;
}

/* ---- the kernel ---- */

template <bool Whole, typename T, typename Rule>
__global__ void __launch_bounds__(quantize_threads) quantize_kernel(quantize_problem<T> p, Rule rule) {
    constexpr int W = pack_width<T>, lanes = Rule::block / W;
    static_assert(Rule::block % W == 0 && lanes >= 1 && 32 % lanes == 0, "packs and lanes are whole parts of blocks");
    rule.begin();
    const int64_t warp = ((int64_t)blockIdx.x * quantize_threads + threadIdx.x) / 32;
    const int64_t i = warp / p.warps_row;
    const int lane = threadIdx.x % 32;
    if (i >= p.all_rows) return; /* all lanes of the warp */
    const bool present = i < p.rows;
    const T *x = p.x + i * p.x_stride;
    unsigned char *q = p.q + i * p.q_stride;
    const int64_t first = warp % p.warps_row * quantize_packs * quantize_columns<T> + lane * W;

    float v[quantize_packs][W];
#pragma unroll
    for (int u = 0; u < quantize_packs; u++)
        quantize_load<Whole>(x, first + u * quantize_columns<T>, p.cols, present, v[u]);
#pragma unroll
    for (int u = 0; u < quantize_packs; u++) {
        const int64_t j = first + u * quantize_columns<T>;
        const unsigned max = quantize_max<lanes>(v[u]);
        const typename Rule::scale s = rule.of(max);
        const float factor = rule.factor(s);
        const bool odd = max >= 0x7f800000u;
#pragma unroll
        for (int e = 0; e < W; e++) v[u][e] = odd ? 0.0f : v[u][e] * factor;
        rule.put_scale(s, i, j / Rule::block, lane, present && j / Rule::block * Rule::block < p.cols);
        if (present && j < p.cols) Rule::template put<Whole>(q, j, p.cols, v[u]);
    }
}

/* ---- launching ---- */

template <typename T>
quantize_problem<T> quantize_problem_of(const ridge_call *call, int64_t q_stride, int64_t all_rows) {
    quantize_problem<T> p;
    p.x = (const T *)ridge_data(&call->in[0]), p.x_stride = ridge_row_stride(&call->in[0]);
    p.q = (unsigned char *)ridge_data(&call->out[0]), p.q_stride = q_stride;
    p.rows = call->dim[0], p.cols = call->dim[1], p.all_rows = all_rows;
    p.warps_row = blocks_ceil_div(p.cols, quantize_packs * quantize_columns<T>);
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
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    const launch_shape shape = {dim3((unsigned)blocks), quantize_threads};
    if (quantize_is_whole(p, Rule::template pack_bytes<T>))
        return launch(quantize_kernel<true, T, Rule>, shape, stream_of(call), p, rule);
    return launch(quantize_kernel<false, T, Rule>, shape, stream_of(call), p, rule);
}

}  // namespace ridge

#endif
