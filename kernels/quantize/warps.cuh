/* Quantizes rows in one pass: a warp reads some packs of a row, takes each block's maximum by shuffles, and writes codes of
 * the registers that it took the maximum of.
 *
 *     struct Rule {
 *         static constexpr int block, code_bits;                         columns of a block; of an element
 *         static constexpr bool octets;                                  a block has the rows of quantize_octet_row
 *         __device__ void begin(void);                                   once a thread
 *         struct scale;                                                  what a block's elements share
 *         __device__ scale of(unsigned max_bits, bool inside) const;     max_bits >= 0x7f800000: one is not finite
 *         __device__ float factor(const scale &) const;                  what elements are multiplied by
 *         __device__ bool is_odd(const scale &) const;                   the block's codes are zeros
 *         template <typename T> static __device__ void codes(const uint4 (&x)[V], unsigned max_bits, float factor,
 *                                                            unsigned (&code)[words]);
 *         __device__ void put_scales(const scale (&)[U], const quantize_place &, int apart) const;
 *     };                                                                 of U blocks `apart` from the place's k on
 *
 * Floor: bytes over the copy ceiling, as in maps/map.cuh. Bytes in flight: U packs of 16 bytes a lane. */
#ifndef RIDGE_KERNELS_QUANTIZE_WARPS_CUH
#define RIDGE_KERNELS_QUANTIZE_WARPS_CUH

#include "cuda/host/launch.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/pack.cuh"
#include "quantize/blocks.h"
#include "quantize/rule.h"

namespace ridge {

/* A lane has packs of 16 bytes or 32: four of them, or two or one where rows are few or would leave lanes without any. */
constexpr int quantize_threads = 256;
/* Vectors of 16 bytes of a pack. Where an element takes many instructions, two spare half of what is done once a pack. */
template <int CodeBits>
constexpr int quantize_vectors = CodeBits == 4 ? 2 : 1;
template <typename T, int CodeBits>
constexpr int quantize_width = quantize_vectors<CodeBits> *pack_width<T>; /* elements of a pack */

template <typename T>
struct quantize_problem {
    const T *x;
    int64_t x_stride;
    unsigned char *q;
    int64_t q_stride; /* bytes */
    int64_t rows, cols;
    int64_t all_rows;   /* with those that have scales alone */
    unsigned warps_row; /* warps that share a row; quantize_launch sets it */
};

/* Where a thread is: its warp's row, or the octet of its block's rows; the first block of columns of its warp, and of itself; columns
 * from the thread's first one to the end of the row. */
struct quantize_place {
    unsigned row, octet;
    int64_t first, k;
    int cols;
};

/* ---- elements ---- */

/* As many elements as 16 bytes hold, from column j; zeros where there are none. Of a pack of two vectors, which a sector has,
 * the second is read out of L1. */
template <bool Whole, int Vectors = 1, typename T>
__device__ inline uint4 quantize_load(const T *x, int j, int cols) {
    if constexpr (Whole) {
        return Vectors > 1 ? ld_global_v4_if(x + j, createpolicy_evict_last(), j < cols)
                           : load_once_if(x + j, j < cols);
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

/* Of two words of 16-bit elements: the larger magnitudes, whatever their signs; NaN when either is. */
__device__ inline uint32_t max_magnitude_x2(__nv_bfloat16, uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 860
    uint32_t y;
    asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
#else
    return __vmaxu2(a & 0x7fff7fffu, b & 0x7fff7fffu); /* bits of magnitudes have their order, those of NaN come last */
#endif
}
__device__ inline uint32_t max_magnitude_x2(__half, uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 860
    uint32_t y;
    asm("max.NaN.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
#else
    return __vmaxu2(a & 0x7fff7fffu, b & 0x7fff7fffu);
#endif
}

/* The largest magnitude of some vectors as bits of fp32, of which those of infinity and NaN come last. 16-bit elements are compared
 * two at a time. */
template <int V>
__device__ inline unsigned quantize_max_of(float, const uint4 (&x)[V]) {
    constexpr unsigned all = 0x7fffffffu;
    unsigned max = 0;
#pragma unroll
    for (int k = 0; k < V; k++)
        max = umax(max, umax(umax(x[k].x & all, x[k].y & all), umax(x[k].z & all, x[k].w & all)));
    return max;
}
template <typename T, int V>
__device__ inline unsigned quantize_max_of(T, const uint4 (&x)[V]) {
    unsigned max = 0;
#pragma unroll
    for (int k = 0; k < V; k++) {
        const unsigned some =
            max_magnitude_x2(T(), max_magnitude_x2(T(), x[k].x, x[k].y), max_magnitude_x2(T(), x[k].z, x[k].w));
        max = k == 0 ? some : max_magnitude_x2(T(), max, some);
    }
    max &= 0x7fff7fffu;
    float low, high;
    unpack_pair(T(), umax(max & 0xffffu, max >> 16), &low, &high);
    return __float_as_uint(low);
}

/* That of a block, in all of its lanes. */
template <int Lanes, typename T, int V>
__device__ inline unsigned quantize_max(const uint4 (&x)[V]) {
    unsigned max = quantize_max_of(T(), x);
#pragma unroll
    for (int o = Lanes / 2; o > 0; o /= 2) max = umax(max, __shfl_xor_sync(~0u, max, o));
    return max;
}

/* The elements times a factor. */
template <typename T, int V, int W>
__device__ inline void quantize_scaled(const uint4 (&x)[V], float factor, float (&v)[W]) {
    static_assert(W == V * pack_width<T>);
#pragma unroll
    for (int k = 0; k < V; k++) {
        float of[pack_width<T>];
        unpack(elements_of<T, pack_width<T>>(x[k]), of);
#pragma unroll
        for (int e = 0; e < pack_width<T>; e++) v[k * pack_width<T> + e] = of[e] * factor;
    }
}

/* Codes of a pack at column j: whole words, or the bytes whose first element is before `cols`. */
template <bool Whole, int CodeBits, int N>
__device__ inline void quantize_put(unsigned char *q, int j, int cols, const unsigned (&code)[N]) {
    unsigned char *const to = q + (int64_t)j * CodeBits / 8;
    if constexpr (!Whole) {
#pragma unroll
        for (int b = 0; b < 4 * N; b++)
            if (j + b * 8 / CodeBits < cols) to[b] = (unsigned char)(code[b / 4] >> b % 4 * 8);
    } else if constexpr (N == 2) {
        *(uint2 *)to = make_uint2(code[0], code[1]);
    } else {
        static_assert(N == 1);
        *(unsigned *)to = code[0];
    }
}

/* ---- the kernel ---- */

/* Rows of a block: the eight whose scales of four neighbouring blocks are the 32 bytes of a sector. Warp w has the sector's word w. */
__device__ inline unsigned quantize_octet_row(unsigned octet, unsigned warp) {
    return octet / 16 * BLOCKS_TILE_ROWS + octet % 16 * 2 + warp / 4 + warp % 4 * 32;
}

template <bool Whole, int Packs, typename T, typename Rule>
__global__ void __launch_bounds__(quantize_threads) quantize_kernel(quantize_problem<T> p, Rule rule) {
    constexpr int V = quantize_vectors<Rule::code_bits>, W = quantize_width<T, Rule::code_bits>;
    constexpr int lanes = Rule::block / W, columns = 32 * W; /* of a block; of one pack of all lanes */
    static_assert(Rule::block % W == 0 && lanes >= 1 && 32 % lanes == 0, "packs and lanes are whole parts of blocks");
    const unsigned warps = quantize_threads / 32, w = threadIdx.x / 32;
    after_previous_launch();
    const unsigned number = Rule::octets ? blockIdx.x : blockIdx.x * warps + w, line = number / p.warps_row;
    const unsigned i = Rule::octets ? quantize_octet_row(line, w) : line;
    const int lane = threadIdx.x % 32;
    if (i >= p.all_rows) return; /* all lanes of the warp, or of the block */
    const int64_t of_warp = (int64_t)(number - line * p.warps_row) * (Packs * columns), first = of_warp + lane * W;
    /* From the warp's first column on, and from the lane's, which 32 bits can tell. */
    const int left = i < p.rows ? (int)min(p.cols - of_warp, (int64_t)Packs * columns) : 0;
    const int cols = left - lane * W;
    const T *x = p.x + i * p.x_stride + first;
    unsigned char *q = p.q + i * p.q_stride + (uint64_t)first * Rule::code_bits / 8;

    uint4 packs[Packs][V];
    typename Rule::scale scales[Packs];
#pragma unroll
    for (int u = 0; u < Packs; u++)
#pragma unroll
        for (int k = 0; k < V; k++) packs[u][k] = quantize_load<Whole, V>(x, u * columns + k * pack_width<T>, cols);
    rule.begin(); /* what it reads comes beside the packs */
#pragma unroll
    for (int u = 0; u < Packs; u++) {
        const int j = u * columns;
        const unsigned max = quantize_max<lanes, T>(packs[u]);
        scales[u] = rule.of(max, j < cols);
        if (j >= left) continue; /* of all lanes */
        unsigned code[W * Rule::code_bits / 32];
        Rule::template codes<T>(packs[u], max, rule.factor(scales[u]), code);
#pragma unroll
        for (unsigned &word : code) word = rule.is_odd(scales[u]) ? 0 : word;
        if (j < cols) quantize_put<Whole, Rule::code_bits>(q, j, cols, code);
    }
    const int64_t k = (int64_t)((uint64_t)first / Rule::block);
    rule.put_scales(scales, {i, line, (int64_t)((uint64_t)of_warp / Rule::block), k, cols}, columns / Rule::block);
}

/* ---- launching ---- */

template <typename T>
quantize_problem<T> quantize_problem_of(const ridge_call *call, int64_t q_stride, int64_t all_rows) {
    quantize_problem<T> p;
    p.x = (const T *)ridge_data(&call->in[0]), p.x_stride = ridge_row_stride(&call->in[0]);
    p.q = (unsigned char *)ridge_data(&call->out[0]), p.q_stride = q_stride;
    p.rows = call->dim[0], p.cols = call->dim[1], p.all_rows = all_rows;
    return p;
}

/* Every row is whole packs, of x and of their codes. */
template <int CodeBits, typename T>
bool quantize_is_whole(const quantize_problem<T> &p) {
    constexpr int W = quantize_width<T, CodeBits>, pack_bytes = W * CodeBits / 8;
    const uintptr_t x = (uintptr_t)p.x | (uintptr_t)(p.x_stride * (int64_t)sizeof(T));
    const uintptr_t q = (uintptr_t)p.q | (uintptr_t)p.q_stride;
    return x % 16 == 0 && q % pack_bytes == 0 && p.cols % W == 0;
}

/* Sets the warps of a row, and answers with blocks. 8: warps of a block. */
template <int Packs, typename T, typename Rule>
int64_t quantize_blocks(quantize_problem<T> &p, const Rule &) {
    constexpr int columns = Packs * 32 * quantize_width<T, Rule::code_bits>; /* of a warp */
    p.warps_row = (unsigned)blocks_ceil_div(p.cols, columns);
    const int64_t rows = Rule::octets ? blocks_ceil_div(p.all_rows, 8) * 8 : p.all_rows;
    return blocks_ceil_div(rows * p.warps_row, quantize_threads / 32);
}

template <bool Whole, int Packs, typename T, typename Rule>
ridge_status quantize_launch_packs(const ridge_call *call, quantize_problem<T> p, const Rule &rule) {
    const int64_t blocks = quantize_blocks<Packs>(p, rule);
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX / (quantize_threads / 32)) return RIDGE_UNSUPPORTED; /* terabytes */
    static per_device<bool> overlaps;
    return launch_overlapping(quantize_kernel<Whole, Packs, T, Rule>, {dim3((unsigned)blocks), quantize_threads},
                              stream_of(call), overlaps.get(device_overlaps), p, rule);
}

/* Many packs a lane spare what is done once a warp, few let a small matrix occupy more SMs. */
template <typename T, typename Rule>
ridge_status quantize_launch(const ridge_call *call, quantize_problem<T> p, const Rule &rule) {
    if (!quantize_is_whole<Rule::code_bits>(p)) return quantize_launch_packs<false, 1>(call, p, rule);
    const int64_t sms = device_limit(cudaDevAttrMultiProcessorCount);
    constexpr int V = quantize_vectors<Rule::code_bits>;
    if (V * quantize_blocks<4>(p, rule) >= 12 * sms) return quantize_launch_packs<true, 4>(call, p, rule);
    if (V * quantize_blocks<2>(p, rule) >= 4 * sms) return quantize_launch_packs<true, 2>(call, p, rule);
    return quantize_launch_packs<true, 1>(call, p, rule);
}

}  // namespace ridge

#endif
