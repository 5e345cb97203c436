/* Products of up to 64 rows in 16 bits, by mma.sync from slices that TMA brings: see few_rows.h. */
#include "gemm/call.cuh"
#include "cuda/host/tensor_map.cuh"
#include "cuda/pipe/ring.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/swizzle.cuh"

extern "C" {
#include "gemm/few_rows.h"
}

namespace ridge {

constexpr int FEW_WARPS = GEMM_FEW_OUTPUTS / 16, FEW_THREADS = 32 * (FEW_WARPS + 1); /* the last one is the producer */

/* Rows: 8, 16, 32 or 64, those of the few. FewAlong, Along: whether lines run along K. */
template <typename Type, int Rows, bool FewAlong, bool Along>
struct few_shape {
    using T = Type;
    static constexpr int R = Rows, stages = gemm_few_stages(Rows, FewAlong);
    static constexpr bool KX = FewAlong, KW = Along;
    /* Lines of up to 32 bytes, which run across K: TMA takes 2.5 µs for the 64 of a slice. The producer's warp copies them. */
    static constexpr bool copies = !FewAlong && Rows <= 16;
    static constexpr int w_bytes = GEMM_FEW_OUTPUTS * 128, x_lines = KX ? R : GEMM_FEW_SLICE, x_bytes = x_lines * 128;
    static constexpr int stage_bytes = w_bytes + x_bytes, bytes = stages * (stage_bytes + 16);
    static constexpr int pitch = GEMM_FEW_OUTPUTS + 4; /* of a row's sums, in floats */
    static_assert(GEMM_FEW_BLOCKS * (bytes + 1024) <= 227 * 1024 && 4 * R * pitch <= stages * stage_bytes &&
                  stage_bytes % 1024 == 0);
};

template <typename T>
struct few_args {
    int slices, each; /* of K; of a share */
    int rows, outputs;
    const T *x; /* where the few run across K, in lines of x_line elements, `depth` of them */
    int64_t x_line;
    int depth;
    void *c;
    int64_t c_row, c_output; /* steps of C, in elements */
    bool wide;
    float alpha;
    bool transposed; /* the few are the columns of C: terms have its rows and columns */
    gemm_terms<T> terms;
};

template <class S>
struct few_memory {
    uint32_t base;
    __device__ uint32_t w(int stage) const { return base + (uint32_t)(stage * S::stage_bytes); }
    __device__ uint32_t x(int stage) const { return w(stage) + S::w_bytes; }
    __device__ uint32_t full(int stage) const { return base + (uint32_t)(S::stages * S::stage_bytes + 16 * stage); }
    __device__ uint32_t empty(int stage) const { return full(stage) + 8; }
};

/* A slice of the few, by a warp: pieces of 8 of them, zeros behind the last one and behind the last line. */
template <class S>
__device__ inline void few_copy_x(const few_args<typename S::T> &p, uint32_t to, uint32_t full, int k) {
    constexpr int pieces = S::R / 8;
#pragma unroll
    for (int i = (int)threadIdx.x % 32; i < GEMM_FEW_SLICE * pieces; i += 32) {
        const int line = i / pieces, piece = i % pieces;
        const int left = k + line < p.depth ? min(max(p.rows - 8 * piece, 0), 8) : 0;
        cp_async_16_some(to + (uint32_t)swizzle_128B(line, piece),
                         left > 0 ? p.x + (k + line) * p.x_line + 8 * piece : p.x, 2 * left);
    }
    cp_async_mbarrier_arrive_noinc(full);
}

/* By one thread, or by a warp that copies the few: slices first … first + count - 1. What is read once makes way in L2 for what all
 * blocks read. */
template <class S>
__device__ inline void few_produce(const CUtensorMap *w_map, const CUtensorMap *x_map, const few_args<typename S::T> &p,
                                   const few_memory<S> &memory, int output, int first, int count) {
    const uint64_t once = createpolicy_evict_first(), again = createpolicy_evict_last();
    ring<S::stages> at;
    for (int slice = first; slice < first + count; slice++, at.next()) {
        const int k = slice * GEMM_FEW_SLICE;
        const uint32_t full = memory.full(at.stage);
        mbarrier_wait_parity(memory.empty(at.stage), at.phase ^ 1);
        if constexpr (S::copies) few_copy_x<S>(p, memory.x(at.stage), full, k);
        if (threadIdx.x % 32 != 0) continue;
        mbarrier_arrive_expect_tx(full, S::copies ? S::w_bytes : S::stage_bytes);
        if constexpr (S::KW) {
            cp_async_bulk_tensor_2d(memory.w(at.stage), w_map, full, k, output, once);
        } else {
            cp_async_bulk_tensor_2d(memory.w(at.stage), w_map, full, output, k, once);
            cp_async_bulk_tensor_2d(memory.w(at.stage) + S::w_bytes / 2, w_map, full, output + 64, k, once);
        }
        if constexpr (!S::copies)
            cp_async_bulk_tensor_2d(memory.x(at.stage), x_map, full, S::KX ? k : 0, S::KX ? 0 : k, again);
    }
}

/* A warp's fragment of 16 outputs by 16 of K: step s of the stage's slice. */
template <class S>
__device__ inline void few_load_w(unsigned (&v)[4], uint32_t w, int s) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    if constexpr (S::KW)
        ldmatrix_x4(v, w + (uint32_t)swizzle_128B(warp * 16 + lane % 16, 2 * s + lane / 16));
    else /* lines are steps of K, of 64 outputs */
        ldmatrix_x4_trans(v, w + (uint32_t)(warp / 4 * 64 * 128 + swizzle_128B(16 * s + lane / 16 * 8 + lane % 8,
                                                                               warp % 4 * 2 + lane / 8 % 2)));
}
/* Rows from 16 `part` on: words 2 n and 2 n + 1 are rows 8 n … of them, in step s; with 8 rows, words 2 and 3 are those
 * of step s + 1. */
template <class S>
__device__ inline void few_load_x(unsigned (&v)[4], uint32_t x, int s, int part) {
    const int lane = (int)threadIdx.x % 32, matrix = lane / 8;
    if constexpr (!S::KX)
        ldmatrix_x4_trans(v, x + (uint32_t)swizzle_128B(16 * s + matrix % 2 * 8 + lane % 8, 2 * part + matrix / 2));
    else if constexpr (S::R > 8)
        ldmatrix_x4(v, x + (uint32_t)swizzle_128B(16 * part + matrix / 2 * 8 + lane % 8, 2 * s + matrix % 2));
    else
        ldmatrix_x4(v, x + (uint32_t)swizzle_128B(lane % 8, 2 * s + matrix));
}

/* A warp's 16 outputs of all rows, over `count` slices. */
template <class S>
__device__ inline void few_multiply(float (&sums)[S::R / 8][4], const few_memory<S> &memory, int count) {
    using T = typename S::T;
    ring<S::stages> at;
    for (int slice = 0; slice < count; slice++, at.next()) {
        mbarrier_wait_parity(memory.full(at.stage), at.phase);
        unsigned x[4];
#pragma unroll
        for (int s = 0; s < GEMM_FEW_SLICE / 16; s++) {
            unsigned w[4];
            few_load_w<S>(w, memory.w(at.stage), s);
            if constexpr (S::R == 8) {
                if (s % 2 == 0) few_load_x<S>(x, memory.x(at.stage), s, 0);
                mma_m16n8k16(T(), sums[0], w, x[s % 2 * 2], x[s % 2 * 2 + 1]);
            } else {
#pragma unroll
                for (int part = 0; part < S::R / 16; part++) {
                    few_load_x<S>(x, memory.x(at.stage), s, part);
                    mma_m16n8k16(T(), sums[2 * part], w, x[0], x[1]);
                    mma_m16n8k16(T(), sums[2 * part + 1], w, x[2], x[3]);
                }
            }
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(memory.empty(at.stage));
    }
}

/* The block's part of the cluster's outputs, the sums of all shares in their order: a thread has four outputs of a row.
 * Neighbours in memory are a warp's. */
template <class S>
__device__ inline void few_store(const few_args<typename S::T> &p, uint32_t sums, int rank, int cluster, int first) {
    const int packs = GEMM_FEW_OUTPUTS / 4 / cluster;
    for (int i = (int)threadIdx.x; i < S::R * packs; i += FEW_THREADS) {
        const int row = p.transposed ? i % S::R : i / packs;
        const int output = (rank * packs + (p.transposed ? i / S::R : i % packs)) * 4;
        const uint32_t at = sums + 4 * (uint32_t)(row * S::pitch + output);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
        for (int share = 0; share < cluster; share++) {
            const float4 v = ld_shared_cluster_v4(at, share);
            sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        }
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int mine = first + output + j;
            if (row >= p.rows || mine >= p.outputs) continue;
            const int64_t to = row * p.c_row + mine * p.c_output;
            float value = four[j] * p.alpha;
            if (p.terms.any()) value = p.transposed ? p.terms.of(value, mine, row) : p.terms.of(value, row, mine);
            if (p.wide)
                ((float *)p.c)[to] = value;
            else
                ((typename S::T *)p.c)[to] = from_float<typename S::T>(value);
        }
    }
}

template <class S>
__global__ void __launch_bounds__(FEW_THREADS, GEMM_FEW_BLOCKS)
    few_rows_kernel(const __grid_constant__ CUtensorMap w_map, const __grid_constant__ CUtensorMap x_map,
                    const __grid_constant__ few_args<typename S::T> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t few_shared[];
    const few_memory<S> memory = {shared_address(few_shared)};
    const int rank = cluster_ctarank(), cluster = cluster_nctarank(), warp = (int)threadIdx.x / 32;
    const int output = (int)blockIdx.x / cluster * GEMM_FEW_OUTPUTS;
    const int first = rank * p.each, count = max(0, min(p.each, p.slices - first));
    if (threadIdx.x == 0) {
        prefetch_tensormap(&w_map), prefetch_tensormap(&x_map);
        for (int s = 0; s < S::stages; s++)
            mbarrier_init(memory.full(s), S::copies ? 33 : 1), mbarrier_init(memory.empty(s), FEW_WARPS);
        fence_mbarrier_init();
    }
    __syncthreads();
    after_previous_launch();
    float sums[S::R / 8][4] = {};
    if (warp == FEW_WARPS) {
        if (S::copies || threadIdx.x % 32 == 0) few_produce<S>(&w_map, &x_map, p, memory, output, first, count);
        __syncwarp();
    } else {
        few_multiply<S>(sums, memory, count);
    }
    __syncthreads(); /* the stages have been read: the sums take their place */
    if (warp < FEW_WARPS) {
        const int lane = (int)threadIdx.x % 32, mine = warp * 16 + lane / 4;
#pragma unroll
        for (int n = 0; n < S::R / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                st_shared(memory.base + 4 * (uint32_t)((8 * n + lane % 4 * 2 + e % 2) * S::pitch + mine + e / 2 * 8),
                          sums[n][e]);
    }
    barrier_cluster_sync();
    few_store<S>(p, memory.base, rank, cluster, output);
    barrier_cluster_sync(); /* a block must not exit while others read its sums */
#else
    __trap(); /* launched on Hopper alone */
#endif
}

/* x: the few rows [rows, k], w: the other operand [outputs, k]. */
template <class S>
static ridge_status few_run(const gemm_few_rows &f, const few_args<typename S::T> &p, const matrix_lines &x,
                            const matrix_lines &w, cudaStream_t stream) {
    using T = typename S::T;
    CUtensorMap w_map, x_map;
    if (!make_map<T>(&w_map, w, S::KW ? GEMM_FEW_OUTPUTS : GEMM_FEW_SLICE) || !make_map<T>(&x_map, x, S::x_lines))
        return RIDGE_FAILED;
    const auto kernel = few_rows_kernel<S>;
    const int64_t tiles = ((int64_t)p.outputs + GEMM_FEW_OUTPUTS - 1) / GEMM_FEW_OUTPUTS;
    return launch_as(LAUNCH_OVERLAP, kernel, {dim3((unsigned)(tiles * f.cluster)), FEW_THREADS, S::bytes, f.cluster},
                     stream, w_map, x_map, p);
}

static matrix_lines few_lines(const void *base, const gemm_few_side &s, int64_t k) {
    return s.along ? matrix_lines{base, k, s.rows, s.m.line} : matrix_lines{base, s.rows, k, s.m.step};
}
template <typename T>
static ridge_status few_rows_of(const gemm_call &g) {
    const gemm_problem problem = g.problem();
    const gemm_few_rows f = gemm_few_rows_of(&problem);
    few_args<T> p = {};
    p.slices = (int)((problem.k + GEMM_FEW_SLICE - 1) / GEMM_FEW_SLICE), p.each = (int)f.each;
    p.rows = (int)f.few.rows, p.outputs = (int)f.other.rows;
    p.c = g.c.base, p.c_row = f.transposed ? 1 : g.c.line, p.c_output = f.transposed ? g.c.line : 1;
    p.wide = g.wide, p.alpha = g.alpha, p.transposed = f.transposed, p.terms = g.terms<T>();
    const matrix_lines x = few_lines(f.transposed ? g.b.base : g.a.base, f.few, problem.k),
                       w = few_lines(f.transposed ? g.a.base : g.b.base, f.other, problem.k);
    p.x = (const T *)x.base, p.x_line = x.stride, p.depth = (int)problem.k;
    const auto run = [&]<int R, bool KX>() {
        return f.other.along ? few_run<few_shape<T, R, KX, true>>(f, p, x, w, g.stream)
                             : few_run<few_shape<T, R, KX, false>>(f, p, x, w, g.stream);
    };
    if (!f.few.along) return p.rows <= 16 ? run.template operator()<16, false>() : run.template operator()<64, false>();
    if (p.rows <= 16) return p.rows <= 8 ? run.template operator()<8, true>() : run.template operator()<16, true>();
    return p.rows <= 32 ? run.template operator()<32, true>() : run.template operator()<64, true>();
}

ridge_status gemm_by_few_rows(const gemm_call &g) {
    if (g.c.rows == 0) return RIDGE_OK;
    if (g.dtype == RIDGE_BF16) return few_rows_of<__nv_bfloat16>(g);
    return g.dtype == RIDGE_F16 ? few_rows_of<__half>(g) : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_few_rows(const ridge_call *call) {
    return ridge::gemm_by_few_rows(ridge::gemm_call(call));
}
