/* 2:4 pruning on a GPU: see README.md.
 *
 * Floor: 3.125 bytes an element in 16 bits, 1.625 in 8, over the copy ceiling. */
#include "cuda/maps/plain.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "sparse/pattern.h"

namespace {

using namespace ridge;

/* An element as its bits. */
template <typename T>
using bits_of = std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>;
template <typename T>
constexpr uint32_t magnitude_bits = (1u << (8 * sizeof(T) - 1)) - 1;
/* What is above it is NaN: of e4m3, which has no infinity, the largest number. */
template <typename T>
constexpr uint32_t infinity_of = 0x7f80u;
template <>
constexpr uint32_t infinity_of<float> = 0x7f800000u;
template <>
constexpr uint32_t infinity_of<__half> = 0x7c00u;
template <>
constexpr uint32_t infinity_of<e4m3> = 0x7eu;

template <typename T>
__device__ unsigned code_of(const bits_of<T> *x) {
    uint32_t magnitude[4];
#pragma unroll
    for (int e = 0; e < 4; e++) magnitude[e] = x[e] & magnitude_bits<T>;
    return pattern_of(magnitude, infinity_of<T>);
}
/* Element `place` of four that are in registers. */
template <typename U>
__device__ U pick(const U *x, int place) {
    const U low = place & 1 ? x[1] : x[0], high = place & 1 ? x[3] : x[2];
    return place & 2 ? high : low;
}

/* ---- optimized: a lane has eight columns ---- */

constexpr int lane_columns = 8, threads = 256;

/* n elements to or from registers, in pieces of 16 bytes where memory allows. */
template <int N, typename U>
__device__ void copy_whole(U *to, const U *from) {
    constexpr int bytes = N * (int)sizeof(U), piece = bytes < 16 ? bytes : 16;
    using word = std::conditional_t<piece == 16, uint4, std::conditional_t<piece == 8, uint2, uint32_t>>;
#pragma unroll
    for (int i = 0; i < bytes / piece; i++) ((word *)to)[i] = ((const word *)from)[i];
}

template <typename T>
struct prune_args {
    matrix<const bits_of<T>> x;
    matrix<bits_of<T>> values;
    matrix<unsigned> codes;
    int64_t rows, lanes; /* of a row */
    bool whole;          /* rows of x and of values are in the pieces that a lane copies */
};

template <typename T>
__global__ void __launch_bounds__(threads) prune_kernel(const prune_args<T> a) {
    using U = bits_of<T>;
    const int64_t lane = (int64_t)blockIdx.x * threads + threadIdx.x, column = lane * lane_columns;
    const bool present = lane < a.lanes;
    for (int64_t i = blockIdx.y; i < a.rows; i += gridDim.y) {
        __align__(16) U x[lane_columns] = {}, values[lane_columns / 2];
        if (present && a.whole) {
            copy_whole<lane_columns>(x, &a.x.at(i, column));
        } else if (present) {
#pragma unroll
            for (int e = 0; e < lane_columns; e++) x[e] = a.x.at(i, column + e);
        }
        unsigned word = 0;
#pragma unroll
        for (int four = 0; four < 2; four++) {
            const unsigned code = code_of<T>(x + 4 * four);
            word |= code << 4 * four;
            values[2 * four] = pick(x + 4 * four, pattern_first(code));
            values[2 * four + 1] = pick(x + 4 * four, pattern_second(code));
        }
        word <<= lane % 4 * 8; /* four lanes' codes are a word */
        word |= __shfl_xor_sync(~0u, word, 1);
        word |= __shfl_xor_sync(~0u, word, 2);
        if (!present) continue;
        if (a.whole) {
            copy_whole<lane_columns / 2>(&a.values.at(i, column / 2), values);
        } else {
#pragma unroll
            for (int e = 0; e < lane_columns / 2; e++) a.values.at(i, column / 2 + e) = values[e];
        }
        if (lane % 4 == 0) a.codes.at(i, column / PATTERN_COLUMNS) = word;
    }
}

template <typename T>
bool is_whole(const ridge_call *call) {
    const int64_t size = (int64_t)sizeof(T);
    const uintptr_t x = (uintptr_t)ridge_data(&call->in[0]), values = (uintptr_t)ridge_data(&call->out[0]);
    const uintptr_t lines = (uintptr_t)(ridge_row_stride(&call->in[0]) * size),
                    halves = (uintptr_t)(ridge_row_stride(&call->out[0]) * size);
    return (x | lines) % (size == 1 ? 8 : 16) == 0 && (values | halves) % (4 * size) == 0;
}

template <typename T>
ridge_status optimized(const ridge_call *call) {
    const int64_t rows = call->dim[0], lanes = call->dim[1] / lane_columns;
    if (rows == 0) return RIDGE_OK;
    const prune_args<T> a = {matrix_in<bits_of<T>>(&call->in[0]),
                             matrix_out<bits_of<T>>(&call->out[0]),
                             matrix_out<unsigned>(&call->out[1]),
                             rows,
                             lanes,
                             is_whole<T>(call)};
    const dim3 grid((unsigned)((lanes + threads - 1) / threads), (unsigned)(rows < 65535 ? rows : 65535));
    return launch(prune_kernel<T>, {grid, threads}, stream_of(call), a);
}

/* ---- baseline: three kernels ---- */

template <typename T>
struct zeros {
    matrix<const bits_of<T>> x;
    matrix<bits_of<T>> to;
    __device__ void operator()(int64_t i, int64_t four) const {
        const unsigned code = code_of<T>(&x.at(i, 4 * four));
        for (int e = 0; e < 4; e++) {
            const bool kept = e == pattern_first(code) || e == pattern_second(code);
            to.at(i, 4 * four + e) = kept ? x.at(i, 4 * four + e) : (bits_of<T>)0;
        }
    }
};
template <typename T>
struct kept {
    matrix<bits_of<T>> x, values;
    __device__ void operator()(int64_t i, int64_t four) const {
        const unsigned code = code_of<T>(&x.at(i, 4 * four));
        values.at(i, 2 * four) = x.at(i, 4 * four + pattern_first(code));
        values.at(i, 2 * four + 1) = x.at(i, 4 * four + pattern_second(code));
    }
};
template <typename T>
struct places {
    matrix<bits_of<T>> x;
    matrix<unsigned> codes;
    __device__ void operator()(int64_t i, int64_t w) const {
        unsigned word = 0;
        for (int four = 0; four < 8; four++) word |= code_of<T>(&x.at(i, w * PATTERN_COLUMNS + 4 * four)) << 4 * four;
        codes.at(i, w) = word;
    }
};

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const int64_t rows = call->dim[0], cols = call->dim[1];
    const matrix<bits_of<T>> pruned = {(bits_of<T> *)call->scratch, cols};
    RIDGE_TRY(launch_plain(call, rows, cols / 4, zeros<T>{matrix_in<bits_of<T>>(&call->in[0]), pruned}));
    RIDGE_TRY(launch_plain(call, rows, cols / 4, kept<T>{pruned, matrix_out<bits_of<T>>(&call->out[0])}));
    return launch_plain(call, rows, cols / PATTERN_COLUMNS, places<T>{pruned, matrix_out<unsigned>(&call->out[1])});
}

template <typename F>
ridge_status with_element(ridge_dtype dtype, F f) {
    return dtype == RIDGE_E4M3 ? f.template operator()<e4m3>() : with_storage(dtype, f);
}

}  // namespace

extern "C" ridge_status prune_2_4_cuda_optimized(const ridge_call *call) {
    return with_element(call->dtype, [&]<typename T>() { return optimized<T>(call); });
}

extern "C" ridge_status prune_2_4_cuda_baseline(const ridge_call *call) {
    return with_element(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}
