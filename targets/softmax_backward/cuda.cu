/* The gradient of softmax on a GPU: rows in registers between their sum and dx, or read twice: see README.md. */
#include "cuda/host/launch.cuh"
#include "cuda/pipe/exchange.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "softmax_backward.h"
}

namespace {

using namespace ridge;

template <typename T>
struct rows_of {
    T *base;
    int64_t line;
    __device__ T *row(int64_t i) const { return base + i * line; }
};

template <typename T>
struct problem {
    rows_of<const T> y, dy;
    rows_of<T> dx;
    int64_t rows, cols;
    float scale;
    bool log;

    explicit problem(const ridge_call *call)
        : y(in(call, SOFTMAX_BACK_Y)),
          dy(in(call, SOFTMAX_BACK_DY)),
          dx{(T *)ridge_data(&call->out[0]), ridge_row_stride(&call->out[0])},
          rows(call->dim[SOFTMAX_BACK_ROWS]),
          cols(call->dim[SOFTMAX_BACK_COLS]),
          scale((float)call->option[SOFTMAX_BACK_SCALE]),
          log(call->option[SOFTMAX_BACK_LOG] > 0) {}
    static rows_of<const T> in(const ridge_call *call, int tensor) {
        return {(const T *)ridge_data(&call->in[tensor]), ridge_row_stride(&call->in[tensor])};
    }
    /* An element's part of its row's sum, and dx. */
    __device__ float part(float v, float d) const { return log ? d : v * d; }
    __device__ float gradient(float v, float d, float sum) const {
        return scale * (log ? fmaf(-expf(v), sum, d) : v * (d - sum));
    }
};

struct plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/* Threads beyond the last row take part in exchanges with nothing to add. */
template <typename T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads < 128 ? 128 : Threads) held_kernel(const __grid_constant__ problem<T> p) {
    constexpr int W = pack_width<T>, side = Threads < 128 ? 128 / Threads : 1;
    __shared__ row_slots<Threads> slots;
    row_exchange<Threads, false> among(&slots);
    const int64_t i = (int64_t)blockIdx.x * side + (int)threadIdx.x / Threads;
    const int thread = (int)threadIdx.x % Threads;
    uint4 y[Packs], dy[Packs];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        const int column = (thread + k * Threads) * W;
        const bool here = i < p.rows && column < p.cols;
        y[k] = load_once_if(p.y.row(i) + column, here), dy[k] = load_once_if(p.dy.row(i) + column, here);
    }
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        float v[W], d[W];
        unpack(elements_of<T, W>(y[k]), v), unpack(elements_of<T, W>(dy[k]), d);
#pragma unroll
        for (int e = 0; e < W; e++) sum += p.part(v[e], d[e]);
    }
    sum = among.merged(sum, plus());
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        const int column = (thread + k * Threads) * W;
        float v[W], d[W];
        pack<T, W> to;
        unpack(elements_of<T, W>(y[k]), v), unpack(elements_of<T, W>(dy[k]), d);
#pragma unroll
        for (int e = 0; e < W; e++) to.v[e] = from_float<T>(p.gradient(v[e], d[e], sum));
        if (i < p.rows && column < p.cols) store_once(p.dx.row(i) + column, to);
    }
}

constexpr int any_threads = 256;

template <typename T>
__global__ void __launch_bounds__(any_threads) any_kernel(const __grid_constant__ problem<T> p) {
    __shared__ row_slots<any_threads> slots;
    row_exchange<any_threads, false> among(&slots);
    const T *const y = p.y.row(blockIdx.x), *const dy = p.dy.row(blockIdx.x);
    T *const dx = p.dx.row(blockIdx.x);
    float sum = 0.0f;
    for (int64_t j = threadIdx.x; j < p.cols; j += any_threads) sum += p.part(to_float(y[j]), to_float(dy[j]));
    sum = among.merged(sum, plus());
    for (int64_t j = threadIdx.x; j < p.cols; j += any_threads)
        dx[j] = from_float<T>(p.gradient(to_float(y[j]), to_float(dy[j]), sum));
}

template <typename T>
ridge_status run(void (*kernel)(problem<T>), int threads, int side, const ridge_call *call) {
    const problem<T> p(call);
    const int64_t blocks = (p.rows + side - 1) / side;
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch(kernel, {dim3((unsigned)blocks), threads * side}, stream_of(call), p);
}

}  // namespace

#define RUN(name, threads, packs, idea)                                                                      \
    extern "C" ridge_status softmax_backward_cuda_##name(const ridge_call *call) {                           \
        return with_storage(call->dtype, [&]<typename T>() {                                                 \
            return run<T>(held_kernel<T, threads, packs>, threads, threads < 128 ? 128 / threads : 1, call); \
        });                                                                                                  \
    }
SOFTMAX_BACK_TILES(RUN)
extern "C" ridge_status softmax_backward_cuda_any(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return run<T>(any_kernel<T>, any_threads, 1, call); });
}
