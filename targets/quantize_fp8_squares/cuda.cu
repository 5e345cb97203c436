/* fp8 with a scale for each square of 128 rows and columns, on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols bytes and a scale for each square over the copy ceiling: 3 bytes an element in 16 bits, 5 in
 * f32, which is 21 and 35 instructions an element. The optimized kernel takes about 8. */
#include "quantize/fp8.cuh"
#include "quantize/fp8_plain.cuh"

namespace {

using namespace ridge;

enum { SQUARE = 128 };

/* ---- optimized: a block of threads has a square in its registers ---- */

template <typename T>
struct square_problem {
    const T *x;
    int64_t x_stride;
    unsigned char *q;
    int64_t q_stride;
    float *s;
    int64_t s_stride, rows, cols, across;
};

constexpr int square_threads = 256;

template <bool Whole, typename T>
__global__ void __launch_bounds__(square_threads) square_kernel(const square_problem<T> p) {
    constexpr int W = pack_width<T>, lanes = SQUARE / W, step = square_threads / lanes, packs = SQUARE / step;
    __shared__ unsigned of_warp[square_threads / 32];
    const int64_t r = blockIdx.x / p.across, k = blockIdx.x % p.across;
    const int64_t first = r * SQUARE + threadIdx.x / lanes, j = k * SQUARE + threadIdx.x % lanes * W;
    const int cols = (int)min(max(p.cols - j, (int64_t)0), (int64_t)W); /* of the lane */
    uint4 words[packs];
#pragma unroll
    for (int u = 0; u < packs; u++) {
        const int64_t i = first + u * step;
        words[u] = quantize_load<Whole>(p.x + i * p.x_stride + j, 0, i < p.rows ? cols : 0);
    }
    unsigned max = __reduce_max_sync(~0u, quantize_max_of(T(), words));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = max;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < square_threads / 32; w++) max = umax(max, of_warp[w]);
    const bool odd = max >= 0x7f800000u;
    const float factor = rule_fp8_factor(__uint_as_float(max));
    if (threadIdx.x == 0)
        p.s[r * p.s_stride + k] = odd ? __uint_as_float(0x7fffffffu) : rule_fp8_scale(__uint_as_float(max));
#pragma unroll
    for (int u = 0; u < packs; u++) {
        const int64_t i = first + u * step;
        const uint4 x[1] = {odd ? make_uint4(0, 0, 0, 0) : words[u]};
        unsigned code[W / 4];
        fp8_codes<RIDGE_E4M3, T>(x, factor, code);
        if (i < p.rows && cols > 0) quantize_put<Whole, 8>(p.q + i * p.q_stride + j, 0, cols, code);
    }
}

template <typename T>
ridge_status optimized(const ridge_call *call) {
    const quantize_problem<T> from = quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]), call->dim[0]);
    const square_problem<T> p = {from.x,
                                 from.x_stride,
                                 from.q,
                                 from.q_stride,
                                 (float *)ridge_data(&call->out[1]),
                                 ridge_row_stride(&call->out[1]),
                                 from.rows,
                                 from.cols,
                                 call->dim[3]};
    const int64_t blocks = call->dim[2] * call->dim[3];
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    const launch_shape shape = {dim3((unsigned)blocks), square_threads};
    if (quantize_is_whole<8>(from)) return launch(square_kernel<true, T>, shape, stream_of(call), p);
    return launch(square_kernel<false, T>, shape, stream_of(call), p);
}

}  // namespace

extern "C" ridge_status quantize_fp8_squares_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return optimized<T>(call); });
}

extern "C" ridge_status quantize_fp8_squares_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype,
                        [&]<typename T>() { return fp8_plain<SQUARE, T>(call, call->dim[2], call->dim[3]); });
}
