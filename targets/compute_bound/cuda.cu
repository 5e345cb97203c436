/* A polynomial at every element by Horner's rule, on a GPU.
 *
 * Floor: terms - 1 multiply-adds an element at 128 a cycle on each SM: 67 TFLOP/s on 132 of them at 1.98
 * GHz. The bytes, 8 an element, take a quarter of that time at 256 terms. A multiply-add in every issue slot is the
 * goal: whatever else is issued, loads of coefficients above all, is lost. */
#include "cuda/maps/plain.cuh"

namespace {

using namespace ridge;

/* ---- optimized ----
 * Sixteen elements a thread are sixteen chains, four times what the latency asks for, and one 16-byte broadcast from
 * shared memory feeds 64 multiply-adds. Every thread loads the elements of its next tile before it works on this one,
 * so that a resident grid never waits for memory, whatever the order in which warps run. */

constexpr int polynomial_threads = 128, polynomial_warps = polynomial_threads / 32;
constexpr int polynomial_blocks = 4; /* an SM: 16 warps */
constexpr int staged_terms = 4096;   /* coefficients of higher powers are read from memory */

struct polynomial : map_of<float, float, 1, 1> {
    static constexpr int unroll = 4; /* 16 chains a thread */
    const float *staged;             /* c[low-1], c[low-2], … c[0], in shared memory, 16-byte aligned */
    const float *c;
    int64_t terms;
    int low;

    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[1][N]) const {
        float p[N];
        const float top = __ldg(&c[terms - 1]);
#pragma unroll
        for (int i = 0; i < N; i++) p[i] = top;
        for (int64_t k = terms - 2; k >= low; k--) step(p, x[0], __ldg(&c[k]));
        int m = 0;
#pragma unroll 8
        for (; m + 4 <= low; m += 4) {
            const float4 four = *(const float4 *)&staged[m];
            step(p, x[0], four.x);
            step(p, x[0], four.y);
            step(p, x[0], four.z);
            step(p, x[0], four.w);
        }
#pragma unroll 1
        for (; m < low; m++) step(p, x[0], staged[m]);
#pragma unroll
        for (int i = 0; i < N; i++) y[0][i] = p[i];
    }

    template <int N>
    static __device__ void step(float (&p)[N], const float (&x)[N], float term) {
#pragma unroll
        for (int i = 0; i < N; i++) p[i] = fmaf(p[i], x[i], term);
    }
};

/* A tile that is to be worked on, its elements already under way if it is whole. */
struct pending {
    map_row<polynomial> row;
    map_batch<polynomial, polynomial::unroll> batch;
    int64_t c, column;
    bool there, whole;

    __device__ void begin(const map_problem<polynomial> &p, int64_t tile, int lane) {
        there = tile < p.t.rows * p.tiles_a_row;
        whole = false;
        if (!there) return;
        row = locate(p, tile, &c);
        whole = !row.apart && tile_is_whole<polynomial::unroll>(p, row, c);
        column = tile_column<polynomial::unroll>(row, c, lane);
        if (whole) batch.load(row, column);
    }
    __device__ void end(const polynomial &f, const map_problem<polynomial> &p, int lane) const {
        if (whole)
            batch.map_and_store(f, row, column);
        else
            map_other<polynomial::unroll>(f, p, row, c, lane);
    }
};

__global__ void __launch_bounds__(polynomial_threads, polynomial_blocks)
    polynomial_kernel(const __grid_constant__ map_problem<polynomial> p, const float *c, int64_t terms) {
    __shared__ alignas(16) float staged[staged_terms];
    polynomial f;
    f.staged = staged, f.c = c, f.terms = terms;
    f.low = terms - 1 < staged_terms ? (int)(terms - 1) : staged_terms;
    for (int m = (int)threadIdx.x; m < f.low; m += polynomial_threads) staged[m] = c[f.low - 1 - m];
    const int lane = (int)(threadIdx.x & 31);
    const int64_t step = (int64_t)gridDim.x * polynomial_warps;
    int64_t tile = (int64_t)blockIdx.x * polynomial_warps + threadIdx.x / 32;
    pending now, next;
    now.begin(p, tile, lane);
    __syncthreads();
    while (now.there) {
        tile += step;
        next.begin(p, tile, lane);
        now.end(f, p, lane);
        now = next;
    }
}

/* ---- baseline: a thread an element, one chain, a coefficient from memory for every multiply-add ---- */

struct one_chain {
    matrix<const float> x;
    matrix<float> y;
    const float *c;
    int64_t terms;
    __device__ void operator()(int64_t i, int64_t j) const {
        const float v = x.at(i, j);
        float p = c[terms - 1];
        for (int64_t k = terms - 2; k >= 0; k--) p = fmaf(p, v, c[k]);
        y.at(i, j) = p;
    }
};

}  // namespace

extern "C" ridge_status compute_bound_cuda_optimized(const ridge_call *call) {
    if (call->dtype != RIDGE_F32) return RIDGE_UNSUPPORTED;
    const map_rows<polynomial> t = rows_of_call<polynomial>(call);
    if (t.rows <= 0 || t.cols <= 0) return RIDGE_OK;
    const map_problem<polynomial> p = problem_of_rows<polynomial::unroll>(t);
    const int64_t blocks = (t.rows * p.tiles_a_row + polynomial_warps - 1) / polynomial_warps;
    const int64_t most = (int64_t)sm_count() * polynomial_blocks;
    if (most == 0) return RIDGE_FAILED;
    return launch(polynomial_kernel, {dim3((unsigned)(blocks < most ? blocks : most)), polynomial_threads},
                  stream_of(call), p, (const float *)ridge_data(&call->in[1]), call->dim[2]);
}

extern "C" ridge_status compute_bound_cuda_baseline(const ridge_call *call) {
    if (call->dtype != RIDGE_F32) return RIDGE_UNSUPPORTED;
    return launch_plain(call, one_chain{matrix_in<float>(&call->in[0]), matrix_out<float>(&call->out[0]),
                                        (const float *)ridge_data(&call->in[1]), call->dim[2]});
}
