/* A matrix whose lines run across K times a vector, by multiply-adds in fp32: see vector_across.h. */
#include "gemm/vector.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "gemm/vector_across.h"
}

namespace ridge {

constexpr int ACROSS_THREADS = GEMM_ACROSS_THREADS, ACROSS_STEPS = GEMM_ACROSS_STEPS;

/* A thread's rows of K, from `row` on and ACROSS_THREADS >> log_lanes apart, of which it has a piece of 16 bytes each: the
 * strip's outputs from `at` on. */
template <typename T>
struct across_thread {
    static constexpr int W = pack_width<T>;
    const vector_args<T> &p;
    const T *piece;    /* of row 0 */
    int at, low, high; /* elements of a piece that are outputs of the strip */

    __device__ across_thread(const vector_args<T> &args, int row, int lane, int first, int strip) : p(args) {
        const T *const line = p.w + row * p.line + first;
        const int shift = (int)((uintptr_t)line % 16 / sizeof(T));
        at = lane * W - shift, piece = p.w + first + at;
        low = max(-at, 0), high = min(W, min(strip, p.outputs - first) - at);
    }
    /* Pieces that reach beyond the end of the matrix are not loaded whole: they are of its last rows. In front of it there is more of
     * its allocation, which begins at a boundary. */
    __device__ bool is_behind(int k) const { return piece + k * p.line + W > p.w + (p.depth - 1) * p.line + p.outputs; }
    __device__ void add_elements(int k, float (&sums)[W]) const {
        const float x = to_float(p.x[k * p.x_step]);
#pragma unroll
        for (int e = 0; e < W; e++)
            if (e >= low && e < high) sums[e] = fmaf(to_float(piece[k * p.line + e]), x, sums[e]);
    }
    __device__ void add(int row, int end, int apart, float (&sums)[W]) const {
        int stop = max(row, end);
        while (stop > row && is_behind(stop - 1)) stop--;
        for (int k = row; k < stop; k += ACROSS_STEPS * apart) {
            pack<T, W> w[ACROSS_STEPS];
            T x[ACROSS_STEPS];
#pragma unroll
            for (int s = 0; s < ACROSS_STEPS; s++) {
                const int of = k + s * apart;
                w[s] = elements_of<T, W>(ld_global_if(piece + of * p.line, of < stop));
                x[s] = of < stop ? p.x[of * p.x_step] : T(0.0f);
            }
#pragma unroll
            for (int s = 0; s < ACROSS_STEPS; s++)
#pragma unroll
                for (int e = 0; e < W; e++) sums[e] = fmaf(to_float(w[s].v[e]), to_float(x[s]), sums[e]);
        }
        for (int k = row + (stop - row + apart - 1) / apart * apart; k < end; k += apart) add_elements(k, sums);
    }
};

/* The strip's sums from those of its threads, to C. */
template <typename T>
__device__ inline void across_finish(const vector_args<T> &p, const across_thread<T> &of,
                                     const float (&sums)[pack_width<T>], int row, int log_lanes, int first, int strip,
                                     int blocks) {
    constexpr int W = pack_width<T>, pad = 1;
    extern __shared__ float across_sums[]; /* [rows][outputs of as many lanes, and padding] */
    const int cells = W << log_lanes, rows_together = ACROSS_THREADS / cells;
#pragma unroll
    for (int e = 0; e < W; e++)
        if (e >= of.low && e < of.high) across_sums[row * (cells + pad) + of.at + e] = sums[e];
    __syncthreads();
    const int output = (int)threadIdx.x / rows_together, begin = (int)threadIdx.x % rows_together;
    const bool present = output < strip && first + output < p.outputs;
    float sum = 0.0f;
    if (present)
#pragma unroll
        for (int i = 0; i < W; i++) sum += across_sums[(begin + i * rows_together) * (cells + pad) + output];
    for (int lanes = rows_together / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (vector_cluster_sum(&sum, blocks) && present && begin == 0) p.put(first + output, sum);
}

template <typename T>
__global__ void __launch_bounds__(ACROSS_THREADS, GEMM_ACROSS_BLOCKS)
    vector_across_kernel(vector_args<T> p, int log_lanes, int strip, int each, int blocks) {
    const int lane = (int)threadIdx.x & ((1 << log_lanes) - 1), row = (int)threadIdx.x >> log_lanes;
    const int first = (int)blockIdx.x / blocks * strip, begin = (int)blockIdx.x % blocks * each;
    const across_thread<T> of(p, begin + row, lane, first, strip);
    float sums[pack_width<T>] = {};
    after_previous_launch();
    if (of.low < of.high) of.add(begin + row, min(begin + each, p.depth), ACROSS_THREADS >> log_lanes, sums);
    across_finish<T>(p, of, sums, row, log_lanes, first, strip, blocks);
}

template <typename T>
static ridge_status vector_across_of(const gemm_call &g) {
    const gemm_problem problem = g.problem();
    const gemm_vector_across v = gemm_vector_across_of(&problem);
    vector_args<T> p = vector_args_of<T>(g, v.of);
    p.line = v.of.w.step;
    const int rows = ACROSS_THREADS >> v.log_lanes, cells = pack_width<T> << v.log_lanes;
    const launch_shape shape = {dim3((unsigned)v.blocks), ACROSS_THREADS, rows * (cells + 1) * (int)sizeof(float),
                                v.cluster};
    return launch_overlapping(vector_across_kernel<T>, shape, g.stream, device_overlaps(), p, v.log_lanes, (int)v.strip,
                              (int)v.each, v.cluster);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_vector_across(const ridge_call *call) {
    return ridge::vector_by_type(call,
                                 [&]<typename T>(const ridge::gemm_call &g) { return ridge::vector_across_of<T>(g); });
}
