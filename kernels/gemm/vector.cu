/* A matrix times a vector, by multiply-adds in fp32: see vector.h. */
#include "gemm/vector.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/reduce.cuh"
#include "cuda/tile/shift.cuh"

namespace ridge {

constexpr int VECTOR_LINES = GEMM_VECTOR_LINES, VECTOR_WARPS = GEMM_VECTOR_WARPS, VECTOR_LOG_WARPS = 3;
static_assert(1 << VECTOR_LOG_WARPS == VECTOR_WARPS, "a block");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int VECTOR_BLOCKS = 2; /* 80 registers do not suffice there */
#else
constexpr int VECTOR_BLOCKS = GEMM_VECTOR_BLOCKS;
#endif

template <typename T, int N>
__device__ inline float vector_dot(const pack<T, N> &a, const pack<T, N> &b, float sum) {
#pragma unroll
    for (int e = 0; e < N; e++) sum = fmaf(to_float(a.v[e]), to_float(b.v[e]), sum);
    return sum;
}

/* Line l of a group, whose lines are 2^apart lines apart. */
template <typename T>
__device__ inline int vector_output(const vector_args<T> &p, int group, int l) {
    return ((group >> p.apart) * (VECTOR_LINES << p.apart)) + (group & ((1 << p.apart) - 1)) + (l << p.apart);
}

/* Groups' sums from those of their lanes, and of 2^log warps, to C. By all threads of the block, of which each has an output. */
template <typename T, int Lanes>
__device__ inline void vector_finish(const vector_args<T> &p, float (&sums)[VECTOR_LINES], int log, int blocks) {
    constexpr int of_warp = 32 / Lanes;
    __shared__ float shares[VECTOR_WARPS * of_warp][VECTOR_LINES];
    const int lane = (int)threadIdx.x % Lanes;
#pragma unroll
    for (int l = 0; l < VECTOR_LINES; l++) {
        sums[l] = lanes_sum<Lanes>(sums[l]);
        if (lane == 0) shares[threadIdx.x / Lanes][l] = sums[l];
    }
    __syncthreads();
    const int warps = min(1 << log, VECTOR_WARPS), groups = VECTOR_WARPS * of_warp / warps;
    const int group = (int)threadIdx.x / VECTOR_LINES, l = (int)threadIdx.x % VECTOR_LINES;
    float sum = 0.0f;
    if (group < groups)
#pragma unroll
        for (int i = 0; i < VECTOR_WARPS; i++)
            if (i < warps) sum += shares[group * warps + i][l];
    if (!vector_cluster_sum(&sum, blocks) || group >= groups) return;
    p.put(vector_output(p, (int)blockIdx.x / blocks * groups + group, l), sum);
}

/* Width elements, or zeros. */
template <int Width, typename T>
__device__ inline pack<T, Width> vector_load(const T *p, bool present) {
    if constexpr (Width > 1)
        return elements_of<T, Width>(ld_global_if(p, present));
    else
        return pack<T, 1>{{present ? *p : T(0.0f)}};
}

/* x from its element `first` on, in packs: as they lie; shifted, two for each; or element by element. */
template <typename T, int Width, gemm_vector_loads Loads>
struct vector_factors {
    using loaded = pack<T, Width>;
    const T *x;
    int64_t step;

    __device__ vector_factors(const vector_args<T> &p, int first) : x(p.x + first * p.x_step), step(p.x_step) {}
    __device__ loaded load(int k, bool present) const {
        if constexpr (Loads == GEMM_VECTOR_ELEMENTS) {
            loaded v;
#pragma unroll
            for (int e = 0; e < Width; e++) v.v[e] = present ? x[(k * Width + e) * step] : T(0.0f);
            return v;
        } else {
            return vector_load<Width>(x + k * Width, present);
        }
    }
    __device__ pack<T, Width> of(const loaded &v) const { return v; }
};
template <typename T, int Width>
struct vector_factors<T, Width, GEMM_VECTOR_SHIFTED> : pack_shifter<T> {
    using loaded = typename pack_shifter<T>::packs;

    __device__ vector_factors(const vector_args<T> &p, int first) : pack_shifter<T>(p.x + first) {}
    __device__ pack<T, Width> of(const loaded &v) const { return elements_of<T, Width>(pack_shifter<T>::of(v)); }
};

/* Lanes of a group, of 2^log warps where they are 32, have packs of K in turns, which begin at element `head`. What is left are
 * ends, which no pack has, or for which x has no two. */
template <typename T, gemm_vector_loads Loads, int Lanes>
__global__ void __launch_bounds__(32 * VECTOR_WARPS, VECTOR_BLOCKS) vector_kernel(vector_args<T> p, int log) {
    constexpr int W = Loads == GEMM_VECTOR_SINGLES ? 1 : pack_width<T>, steps = gemm_vector_steps(W);
    using factors_of_x = vector_factors<T, W, Loads>;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % Lanes,
              number = (int)blockIdx.x * VECTOR_WARPS + warp;
    const int share = number & ((1 << log) - 1), stride = Lanes << log;
    const int group = (number >> log) * (32 / Lanes) + (int)threadIdx.x % 32 / Lanes;
    const T *line[VECTOR_LINES]; /* those behind the last are the first one again, which begins alike */
#pragma unroll
    for (int l = 0; l < VECTOR_LINES; l++) {
        const int mine = vector_output(p, group, l), first = min(vector_output(p, group, 0), p.outputs - 1);
        line[l] = p.w + (mine < p.outputs ? mine : first) * p.line;
    }
    int head = 0, before = 0; /* elements in front of the lines' packs; of the first pack of x in front of those */
    if constexpr (Loads == GEMM_VECTOR_SHIFTED || Loads == GEMM_VECTOR_ELEMENTS)
        head = (int)(-(uintptr_t)line[0] % 16 / sizeof(T));
    if constexpr (Loads == GEMM_VECTOR_SHIFTED) before = (int)((uintptr_t)(p.x + head) % 16 / sizeof(T));
    if (before > head) head += W;
    const int packs = max((p.depth - head + before) / W - (before > 0), 0);
    const factors_of_x factors(p, head);
    float sums[VECTOR_LINES] = {};
    after_previous_launch();
    for (int k = share * Lanes + lane; k < packs; k += steps * stride) {
        pack<T, W> w[VECTOR_LINES][steps];
        typename factors_of_x::loaded x[steps];
#pragma unroll
        for (int s = 0; s < steps; s++) {
            const int at = k + s * stride;
#pragma unroll
            for (int l = 0; l < VECTOR_LINES; l++) w[l][s] = vector_load<W>(line[l] + head + at * W, at < packs);
            x[s] = factors.load(at, at < packs);
        }
#pragma unroll
        for (int s = 0; s < steps; s++) {
            const pack<T, W> factor = factors.of(x[s]);
#pragma unroll
            for (int l = 0; l < VECTOR_LINES; l++) sums[l] = vector_dot(w[l][s], factor, sums[l]);
        }
    }
    if constexpr (W > 1)
        for (int s = lane; share == 0 && s < p.depth - packs * W; s += Lanes) {
            const int k = s < head ? s : s + packs * W;
            const float x = to_float(p.x[k * p.x_step]);
#pragma unroll
            for (int l = 0; l < VECTOR_LINES; l++) sums[l] = fmaf(to_float(line[l][k]), x, sums[l]);
        }
    vector_finish<T, Lanes>(p, sums, log, max(1 << log >> VECTOR_LOG_WARPS, 1));
}

template <gemm_vector_loads Loads, typename T>
static ridge_status vector_run(const gemm_vector &v, const vector_args<T> &p, cudaStream_t stream) {
    const auto kernel = v.lanes == 32 ? vector_kernel<T, Loads, 32> : vector_kernel<T, Loads, GEMM_VECTOR_LANES>;
    const int cluster = 1 << v.log_warps > VECTOR_WARPS ? (1 << v.log_warps) / VECTOR_WARPS : 1;
    return launch_overlapping(kernel, {dim3((unsigned)v.blocks), 32 * VECTOR_WARPS, 0, cluster}, stream,
                              device_overlaps(), p, v.log_warps);
}

template <typename T>
static ridge_status vector_of(const gemm_call &g) {
    const gemm_problem problem = g.problem();
    const gemm_vector v = gemm_vector_of(&problem);
    vector_args<T> p = vector_args_of<T>(g, v.of);
    p.line = v.of.w.line, p.apart = v.log_apart;
    constexpr gemm_vector_loads between = sizeof(T) == 2 ? GEMM_VECTOR_SHIFTED : GEMM_VECTOR_SINGLES;
    if (v.loads == GEMM_VECTOR_PACKS) return vector_run<GEMM_VECTOR_PACKS>(v, p, g.stream);
    return v.loads == between ? vector_run<between>(v, p, g.stream) : vector_run<GEMM_VECTOR_ELEMENTS>(v, p, g.stream);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_vector(const ridge_call *call) {
    return ridge::vector_by_type(call, [&]<typename T>(const ridge::gemm_call &g) { return ridge::vector_of<T>(g); });
}
