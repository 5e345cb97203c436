/* fp8 with a scale for each square of 128 rows and columns, on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols bytes and a scale for each square over the copy ceiling: 3 bytes an element in 16 bits, 5 in
 * f32, which is 21 and 35 instructions an element. The optimized kernel takes about 8. */
#include "cuda/maps/plain.cuh"
#include "quantize/fp8.cuh"

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
    float v[packs][W];
#pragma unroll
    for (int u = 0; u < packs; u++) {
        const int64_t i = first + u * step;
        quantize_load<Whole>(p.x + i * p.x_stride, j, p.cols, i < p.rows, v[u]);
    }
    unsigned max = 0;
#pragma unroll
    for (int u = 0; u < packs; u++) max = umax(max, quantize_max<1>(v[u]));
    max = __reduce_max_sync(~0u, max);
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
#pragma unroll
        for (int e = 0; e < W; e++) v[u][e] = odd ? 0.0f : v[u][e] * factor;
        if (i < p.rows && j < p.cols) put_e4m3<Whole>(p.q + i * p.q_stride, j, p.cols, v[u]);
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
    if (quantize_is_whole(from, pack_width<T>)) return launch(square_kernel<true, T>, shape, stream_of(call), p);
    return launch(square_kernel<false, T>, shape, stream_of(call), p);
}

/* ---- baseline ---- */

template <typename T>
struct maxima {
    matrix<const T> x;
    matrix<float> s;
    int64_t rows, cols;
    __device__ void operator()(int64_t r, int64_t k) const {
        unsigned max = 0;
        for (int64_t i = r * SQUARE; i < rows && i < (r + 1) * SQUARE; i++)
            for (int64_t j = k * SQUARE; j < cols && j < (k + 1) * SQUARE; j++)
                max = umax(max, __float_as_uint(to_float(x.at(i, j))) & 0x7fffffffu);
        s.at(r, k) = __uint_as_float(max >= 0x7f800000u ? 0x7fffffffu : max);
    }
};
template <typename T>
struct scaled {
    matrix<const T> x;
    matrix<float> s, t;
    __device__ void operator()(int64_t i, int64_t j) const {
        const float max = s.at(i / SQUARE, j / SQUARE);
        t.at(i, j) = max == max ? to_float(x.at(i, j)) * rule_fp8_factor(max) : 0.0f;
    }
};
struct codes {
    matrix<float> t;
    matrix<unsigned char> q;
    __device__ void operator()(int64_t i, int64_t j) const { q.at(i, j) = (unsigned char)rule_e4m3(t.at(i, j)); }
};
struct finished {
    matrix<float> s;
    __device__ void operator()(int64_t r, int64_t k) const {
        const float max = s.at(r, k);
        if (max == max) s.at(r, k) = rule_fp8_scale(max);
    }
};

template <typename F>
ridge_status plain(const ridge_call *call, int64_t rows, int64_t cols, const F &f) {
    if (rows <= 0 || cols <= 0) return RIDGE_OK;
    const dim3 grid((unsigned)((cols + plain_threads - 1) / plain_threads), (unsigned)(rows < 65535 ? rows : 65535));
    return launch(plain_kernel<F>, {grid, plain_threads}, stream_of(call), rows, cols, f);
}

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const int64_t rows = call->dim[0], cols = call->dim[1], down = call->dim[2], across = call->dim[3];
    const matrix<const T> x = matrix_in<T>(&call->in[0]);
    const matrix<float> s = matrix_out<float>(&call->out[1]), t = {(float *)call->scratch, cols};
    RIDGE_TRY(plain(call, down, across, maxima<T>{x, s, rows, cols}));
    RIDGE_TRY(plain(call, rows, cols, scaled<T>{x, s, t}));
    RIDGE_TRY(plain(call, rows, cols, codes{t, matrix_out<unsigned char>(&call->out[0])}));
    return plain(call, down, across, finished{s});
}

}  // namespace

extern "C" ridge_status quantize_fp8_squares_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return optimized<T>(call); });
}

extern "C" ridge_status quantize_fp8_squares_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}
