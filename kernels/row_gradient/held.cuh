/* Gradients of rows on a GPU: rows in registers between their sums and dx, or read twice. A rule says what is computed:
 *
 *   struct rule {
 *       using sums = …;                                          // float or float2, added over the row
 *       explicit rule(const ridge_call *call);                   // its options
 *       __device__ sums part(float a, float dy) const;           // of an element
 *       __device__ … finish(sums of_row) const;                  // what gradient() asks for
 *       __device__ float gradient(float a, float dy, … row) const;
 *   }; */
#ifndef RIDGE_ROW_GRADIENT_HELD_CUH
#define RIDGE_ROW_GRADIENT_HELD_CUH

#include "cuda/host/row_matrix.cuh"
#include "cuda/rows/row.cuh"
#include "cuda/tile/pack.cuh"
#include "model/token.h"

extern "C" {
#include "row_gradient/row_gradient.h"
}

namespace ridge {

template <typename Rule, typename T>
struct row_gradient_problem {
    row_matrix<const T> a, dy;
    row_matrix<T> dx;
    int64_t rows, cols;
    Rule rule;

    explicit row_gradient_problem(const ridge_call *call)
        : a(row_matrix_of<const T>(&call->in[ROW_GRADIENT_A])),
          dy(row_matrix_of<const T>(&call->in[ROW_GRADIENT_DY])),
          dx(row_matrix_of<T>(&call->out[0])),
          rows(call->dim[ROW_GRADIENT_ROWS]),
          cols(call->dim[ROW_GRADIENT_COLS]),
          rule(call) {}
};

/* Threads beyond the last row take part in exchanges with nothing to add. */
template <typename Rule, typename T, int Threads, int Packs>
__global__ void __launch_bounds__(Threads < 128 ? 128 : Threads)
    row_gradient_held(const __grid_constant__ row_gradient_problem<Rule, T> p) {
    constexpr int W = pack_width<T>, side = Threads < 128 ? 128 / Threads : 1;
    __shared__ row_slots<Threads> slots;
    row_exchange<Threads, false> among(&slots);
    const int64_t i = (int64_t)blockIdx.x * side + (int)threadIdx.x / Threads;
    const int thread = (int)threadIdx.x % Threads;
    uint4 a[Packs], dy[Packs];
    typename Rule::sums sums = {};
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        const int column = (thread + k * Threads) * W;
        const bool here = i < p.rows && column < p.cols;
        a[k] = load_once_if(p.a.row(i) + column, here), dy[k] = load_once_if(p.dy.row(i) + column, here);
    }
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        float v[W], d[W];
        unpack(elements_of<T, W>(a[k]), v), unpack(elements_of<T, W>(dy[k]), d);
#pragma unroll
        for (int e = 0; e < W; e++) sums = row_plus()(sums, p.rule.part(v[e], d[e]));
    }
    const auto row = p.rule.finish(among.merged(sums, row_plus()));
#pragma unroll
    for (int k = 0; k < Packs; k++) {
        const int column = (thread + k * Threads) * W;
        float v[W], d[W];
        pack<T, W> to;
        unpack(elements_of<T, W>(a[k]), v), unpack(elements_of<T, W>(dy[k]), d);
#pragma unroll
        for (int e = 0; e < W; e++) to.v[e] = from_float<T>(p.rule.gradient(v[e], d[e], row));
        if (i < p.rows && column < p.cols) store_once(p.dx.row(i) + column, to);
    }
}

constexpr int ROW_GRADIENT_ANY = 256; /* threads */

template <typename Rule, typename T>
__global__ void __launch_bounds__(ROW_GRADIENT_ANY)
    row_gradient_any(const __grid_constant__ row_gradient_problem<Rule, T> p) {
    __shared__ row_slots<ROW_GRADIENT_ANY> slots;
    row_exchange<ROW_GRADIENT_ANY, false> among(&slots);
    const T *const a = p.a.row(blockIdx.x), *const dy = p.dy.row(blockIdx.x);
    T *const dx = p.dx.row(blockIdx.x);
    typename Rule::sums sums = {};
    for (int64_t j = threadIdx.x; j < p.cols; j += ROW_GRADIENT_ANY)
        sums = row_plus()(sums, p.rule.part(to_float(a[j]), to_float(dy[j])));
    const auto row = p.rule.finish(among.merged(sums, row_plus()));
    for (int64_t j = threadIdx.x; j < p.cols; j += ROW_GRADIENT_ANY)
        dx[j] = from_float<T>(p.rule.gradient(to_float(a[j]), to_float(dy[j]), row));
}

template <typename Rule, typename T>
ridge_status row_gradient_run(void (*kernel)(row_gradient_problem<Rule, T>), int threads, int side,
                              const ridge_call *call) {
    const row_gradient_problem<Rule, T> p(call);
    const int64_t blocks = (p.rows + side - 1) / side;
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch(kernel, {dim3((unsigned)blocks), threads * side}, stream_of(call), p);
}

template <typename Rule, int Threads, int Packs>
ridge_status row_gradient_run_held(const ridge_call *call) {
    constexpr int side = Threads < 128 ? 128 / Threads : 1;
    return with_storage(call->dtype, [&]<typename T>() {
        return row_gradient_run<Rule, T>(row_gradient_held<Rule, T, Threads, Packs>, Threads, side, call);
    });
}
template <typename Rule>
ridge_status row_gradient_run_any(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() {
        return row_gradient_run<Rule, T>(row_gradient_any<Rule, T>, ROW_GRADIENT_ANY, 1, call);
    });
}

}  // namespace ridge

/* Defines the functions of one tile, and of any rows, of a target. */
#define ROW_GRADIENT_RUN(target, rule, name, threads, packs)                          \
    extern "C" ridge_status TOKEN_JOIN(target, cuda_##name)(const ridge_call *call) { \
        return ridge::row_gradient_run_held<rule, threads, packs>(call);              \
    }
#define ROW_GRADIENT_RUN_ANY(target, rule)                                         \
    extern "C" ridge_status TOKEN_JOIN(target, cuda_any)(const ridge_call *call) { \
        return ridge::row_gradient_run_any<rule>(call);                            \
    }

#endif
