/* Gradients of a norm in two passes, of any rows: a block has a row for its statistics and dx, element by element; then columns are
 * summed, a part of the rows by each row of blocks. */
#ifndef RIDGE_NORM_BACKWARD_PASSES_CUH
#define RIDGE_NORM_BACKWARD_PASSES_CUH

#include "cuda/pipe/exchange.cuh"
#include "norm_backward/held.cuh"

namespace ridge {

constexpr int NORM_BACK_THREADS = 256;

/* statistics: mean and 1 over the root of each row. */
template <typename T, bool Centered>
__global__ void __launch_bounds__(NORM_BACK_THREADS)
    norm_back_rows_kernel(const __grid_constant__ norm_back_problem<T> p, float2 *statistics) {
    __shared__ row_slots<NORM_BACK_THREADS> slots;
    row_exchange<NORM_BACK_THREADS, false> among(&slots);
    const int64_t i = blockIdx.x;
    const T *const x = p.x.row(i), *const dy = p.dy.row(i);
    norm_back_statistics s = {};
    const auto each = [&](auto f) {
        for (int64_t j = threadIdx.x; j < p.cols; j += NORM_BACK_THREADS)
            f(j, to_float(x[j]), to_float(dy[j]) * p.gamma_of(j));
    };
    float2 sums = make_float2(0.0f, 0.0f);
    if constexpr (Centered) {
        each([&](int64_t, float v, float g) { sums.x += v, sums.y += g; });
        sums = among.merged(sums, row_plus());
        s.mean = sums.x * p.inverse_cols, s.of_g = sums.y * p.inverse_cols;
        sums = make_float2(0.0f, 0.0f);
    }
    each([&](int64_t, float v, float g) {
        const float d = v - s.mean;
        sums.x = fmaf(d, d, sums.x), sums.y = fmaf(g, d, sums.y);
    });
    sums = among.merged(sums, row_plus());
    s.finish(sums.x, sums.y, p.inverse_cols, p.eps);
    each([&](int64_t j, float v, float g) {
        const float more = p.dsum.base ? to_float(p.dsum.row(i)[j]) : 0.0f;
        p.dx.row(i)[j] = from_float<T>(s.template dx<Centered>(g, (v - s.mean) * s.inverse) + more);
    });
    if (threadIdx.x == 0) statistics[i] = make_float2(s.mean, s.inverse);
}

/* 32 columns a block, eight threads a column. */
template <typename T, bool Centered>
__global__ void __launch_bounds__(NORM_BACK_ADD)
    norm_back_columns_kernel(const __grid_constant__ norm_back_problem<T> p, const float2 *statistics) {
    constexpr int turns = NORM_BACK_ADD / NORM_BACK_ADD_COLUMNS;
    __shared__ float2 of_turn[turns][NORM_BACK_ADD_COLUMNS];
    const int lane = (int)threadIdx.x % NORM_BACK_ADD_COLUMNS, turn = (int)threadIdx.x / NORM_BACK_ADD_COLUMNS;
    const int64_t column = (int64_t)blockIdx.x * NORM_BACK_ADD_COLUMNS + lane, step = (int64_t)gridDim.y * turns;
    float2 sum = make_float2(0.0f, 0.0f);
    if (column < p.cols)
        for (int64_t i = (int64_t)blockIdx.y * turns + turn; i < p.rows; i += step) {
            const float2 s = statistics[i];
            const float dy = to_float(p.dy.row(i)[column]), n = (to_float(p.x.row(i)[column]) - s.x) * s.y;
            sum.x = fmaf(dy, n, sum.x), sum.y += dy;
        }
    of_turn[turn][lane] = sum;
    __syncthreads();
    if (turn > 0 || column >= p.cols) return;
    for (int t = 1; t < turns; t++) sum.x += of_turn[t][lane].x, sum.y += of_turn[t][lane].y;
    float *const to = p.sums + blockIdx.y * norm_back_sums<Centered> * p.line + column;
    to[0] = sum.x;
    if (Centered) to[p.line] = sum.y;
}

template <typename T, bool Centered>
ridge_status norm_back_by_passes(const ridge_call *call) {
    const int64_t rows = call->dim[NORM_BACK_ROWS], parts = norm_back_parts(rows), cols = call->dim[NORM_BACK_COLS];
    float2 *const statistics = (float2 *)call->scratch;
    const norm_back_problem<T> p(call, (float *)(statistics + rows));
    if (rows > INT32_MAX || cols > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (rows > 0) {
        const dim3 columns((unsigned)((cols + NORM_BACK_ADD_COLUMNS - 1) / NORM_BACK_ADD_COLUMNS), (unsigned)parts);
        RIDGE_TRY(launch(norm_back_rows_kernel<T, Centered>, {dim3((unsigned)rows), NORM_BACK_THREADS}, stream_of(call),
                         p, statistics));
        RIDGE_TRY(launch(norm_back_columns_kernel<T, Centered>, {columns, NORM_BACK_ADD}, stream_of(call), p,
                         (const float2 *)statistics));
    }
    return norm_back_add<Centered>(call, p.sums, parts);
}

}  // namespace ridge

/* All ways of a target. */
#define NORM_BACK_RUN(target, centered, name, threads, packs, blocks, resident)              \
    extern "C" ridge_status target##_cuda_##name(const ridge_call *call) {                   \
        return ridge::with_storage(call->dtype, [&]<typename T>() {                          \
            return ridge::norm_back_in<T, centered, threads, packs, blocks, resident>(call); \
        });                                                                                  \
    }
#define NORM_BACK_RUN_ANY(target, centered)                                                                      \
    extern "C" ridge_status target##_cuda_any(const ridge_call *call) {                                          \
        return ridge::with_storage(call->dtype,                                                                  \
                                   [&]<typename T>() { return ridge::norm_back_by_passes<T, centered>(call); }); \
    }

#endif
