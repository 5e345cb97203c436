/* p = softmax(x w + b) for few classes in one launch: the depth is split among the blocks of a cluster.
 *
 * At 1024 x 1024 x 100 the output has too few tiles to fill the chip, and fetching its operands costs as much as
 * multiplying them. So S blocks have one tile of BM rows and all classes together, each a part of the depth:
 *
 *   stages of KC columns of x and KC rows of w come to shared memory by asynchronous copies, several under way;
 *   WM x WN x WK warps multiply them on the tensor cores, in three products of tf32 (below);
 *   sums go to the block that owns their rows, by asynchronous copies to its shared memory that a barrier there counts:
 *   one wait, no atomics, and the owner adds all parts in one order, the same at every run;
 *   the owner adds the bias, takes the softmax and writes its BM / S rows.
 *
 * fp32 from tf32. An operand is hi + lo, hi its nearest tf32 (11 bits), lo the difference (exact, of 12 bits, of which
 * the tensor core takes 11). x w = lo hi + hi lo + hi hi + O(2^-22). Tensor cores truncate as they add: so a chain of
 * products is short (two steps of 8, the small ones first), and chains are added by the ordinary adders, which round to
 * nearest. An infinity has no lo (inf - inf), and where a sum is not finite, for this or any other reason, the warp
 * does its products again, one fused multiply-add after another, as fp32 would have it. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_NARROW_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_NARROW_CUH

#include <float.h>

#include "cuda/hopper/ptx.cuh"
#include "cuda/linear_args.cuh"
#include "cuda/linear_arithmetic.h"
#include "cuda/overlap.cuh"
#include "cuda/row_exchange.cuh"
#include "cuda/row_math.cuh"

namespace ridge {

/* ---- operands to shared memory ---- */

#if __CUDA_ARCH__ >= 900
/* Bytes (a multiple of 16, at multiples of 16) of global memory to shared memory; `barrier` counts them. */
__device__ inline void linear_bulk(float *to, const float *from, int bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(row_shared(to)),
        "l"(from), "r"(bytes), "r"(row_shared(barrier))
        : "memory");
}
/* This thread arrives when the asynchronous copies that it has begun are done. */
__device__ inline void linear_arrive_copied(uint64_t *barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(row_shared(barrier)) : "memory");
}
/* Bytes of this block's shared memory to the same or another place in the memory of a block of the cluster, whose
 * barrier counts them. (Asynchronous stores of single values cost that barrier some seven cycles each.) */
__device__ inline void linear_copy(const float *from, float *to, uint64_t *barrier, int block, int bytes) {
    unsigned there, counted;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(row_shared(to)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counted) : "r"(row_shared(barrier)), "r"(block));
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(there),
        "r"(row_shared(from)), "r"(bytes), "r"(counted)
        : "memory");
}
#endif

/* Rows x Columns floats, rows Pitch apart in shared memory, 16 bytes at a time; of rows that are not there the last
 * one, of columns nothing. (The copy engine takes some 60 cycles for each row that it is told of.) */
template <int Rows, int Columns, int Pitch, int Threads>
__device__ inline void linear_fetch_rows(float *to, const float *from, int64_t stride, int rows, int columns) {
    constexpr int pieces = Columns / 4, step = Threads / pieces;
    static_assert(Threads % pieces == 0, "whole rows at a time");
    const int first = (int)threadIdx.x / pieces, c = (int)threadIdx.x % pieces * 4;
    if (c >= columns) return;
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to + first * Pitch + c);
#pragma unroll
    for (int k = 0; k < (Rows + step - 1) / step; k++) {
        const int r = first + k * step;
        if (Rows % step != 0 && r >= Rows) break;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + 4 * k * step * Pitch),
                     "l"(from + (r < rows ? r : rows - 1) * stride + c)
                     : "memory");
    }
}

/* Rows x columns floats of a matrix to shared memory, element by element, rows `pitch` apart; zeros for what is not
 * there. */
template <int Rows, int Columns, int Threads>
__device__ inline void linear_fetch(float *to, int pitch, const float *from, int64_t stride, int rows, int columns) {
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < Rows * Columns; e += Threads) {
        const int r = e / Columns, c = e % Columns;
        const bool present = r < rows && c < columns;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(to + r * pitch + c)),
                     "l"(present ? from + r * stride + c : from), "r"(present ? 4 : 0)
                     : "memory");
    }
}

/* ---- products ---- */

struct linear_split {
    unsigned hi, lo;
};
__device__ inline linear_split linear_split_of(float v) {
    const unsigned hi = (__float_as_uint(v) + 0x1000u) & 0xffffe000u;
    return {hi, __float_as_uint(v - __uint_as_float(hi))};
}

/* d += a b: 16 x 8 by 8 x 8. Lane 4 g + t has of a rows g and g + 8, of b column g, of both the steps that the caller
 * calls t and t + 4; of d rows g and g + 8, columns 2 t and 2 t + 1. */
__device__ inline void linear_mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* How a kernel is cut up. */
template <int Tiles, int Rows, int Split, int WarpsM, int WarpsN, int WarpsK, int Chunk, int Stages, bool Bulk,
          bool Turned>
struct linear_shape {
    static constexpr int NT = Tiles; /* tiles of 8 classes */
    static constexpr int BM = Rows;  /* rows of a cluster */
    static constexpr int S = Split;  /* blocks of a cluster */
    static constexpr int WM = WarpsM, WN = WarpsN, WK = WarpsK;
    static constexpr int KC = Chunk, stages = Stages;
    static constexpr bool bulk = Bulk;     /* whole rows by the copy engine: see linear_is_bulk */
    static constexpr bool turned = Turned; /* of w, classes are rows: [classes, depth] */

    static constexpr int threads = 32 * WM * WN * WK;
    static constexpr int columns = 8 * NT;
    static constexpr int MT = BM / 16 / WM, N = (NT + WN - 1) / WN; /* a warp's tiles; the last may be beyond the end */
    static constexpr int owned = BM / S;
    /* Pitches by which the lanes of a fragment fall into different banks. A bulk copy of w leaves its rows as they are.
     */
    static constexpr int x_pitch = KC + 8, w_pitch = Turned ? KC + 8 : columns + 4;
    static constexpr int x_floats = BM * x_pitch, w_floats = (Turned ? 8 * N * WN : KC) * w_pitch + 16;
    static constexpr int stage_floats = x_floats + w_floats;
    static constexpr int parts = S * WK; /* sums that make up an element */
    static constexpr int part_floats = owned * columns;
    static constexpr int bytes = 4 * (stages * stage_floats + parts * part_floats * (S > 1 ? 2 : 1)) + 8 * (stages + 1);
    /* Of clusters no more than two blocks a multiprocessor: else those of the next launch crowd in with these. */
    static constexpr int reserved = S > 1 && bytes < 100 * 1024 ? 100 * 1024 : bytes;
    static_assert(BM % (16 * WM) == 0 && BM % S == 0 && KC % (16 * WK) == 0, "whole tiles");
    static_assert(x_floats % 4 == 0 && w_floats % 4 == 0 && part_floats % 4 == 0,
                  "copies begin at multiples of 16 bytes");
};

/* Whether the copy engine can move x and w: 16-byte multiples of both, and w without gaps between rows. */
inline bool linear_is_bulk(const linear_args &a) {
    const bool turned = a.w_depth == 1 && a.w_class != 1;
    return is_aligned16(a.x) && is_aligned16(a.w) && linear_depth_is_bulk(a.depth) && a.x_row % 4 == 0 && a.w_head % 4 == 0 &&
           (turned ? a.w_class % 4 == 0 : a.w_depth == a.classes);
}

/* `steps` columns of x and rows of w, from k on. */
template <typename L>
__device__ inline void linear_load(const linear_args &a, float *stage, uint64_t *barrier, int64_t row, int64_t k,
                                   int steps) {
    const int rows = a.batch - row < L::BM ? (int)(a.batch - row) : L::BM, classes = (int)a.classes;
    float *w = stage + L::x_floats;
    const float *x_from = a.x + row * a.x_row + k, *w_from = a.w + k * a.w_depth;
    if constexpr (L::bulk) {
#if __CUDA_ARCH__ >= 900
        if (threadIdx.x == 0) {
            row_barrier_expect(barrier, L::turned ? 0 : 4 * steps * classes);
            if constexpr (!L::turned) linear_bulk(w, w_from, 4 * steps * classes, barrier);
        }
        linear_fetch_rows<L::BM, L::KC, L::x_pitch, L::threads>(stage, x_from, a.x_row, rows, steps);
        if constexpr (L::turned)
            linear_fetch_rows<L::columns, L::KC, L::w_pitch, L::threads>(w, w_from, a.w_class, classes, steps);
        linear_arrive_copied(barrier);
#endif
    } else {
        linear_fetch<L::BM, L::KC, L::threads>(stage, L::x_pitch, x_from, a.x_row, rows, steps);
        if constexpr (L::turned)
            linear_fetch<L::columns, L::KC, L::threads>(w, L::w_pitch, w_from, a.w_class, classes, steps);
        else
            linear_fetch<L::KC, L::columns, L::threads>(w, L::w_pitch, w_from, a.w_depth, steps, classes);
    }
    if constexpr (!L::bulk) asm volatile("cp.async.commit_group;" ::: "memory");
}

/* A lane's sums: of hi hi, and, two thousand times smaller, of lo hi and hi lo. Three chains, because a product on the
 * tensor cores waits for the one that it is added to some 30 cycles, in which four others could be done. */
template <typename L>
struct linear_sums {
    float high[L::MT][L::N][4] = {}, low[2][L::MT][L::N][4] = {};
    __device__ float at(int m, int n, int e) const { return high[m][n][e] + (low[0][m][n][e] + low[1][m][n][e]); }
};

/* What a lane multiplies in two steps of 8, for all tiles of its warp: x and w point to the first of its rows and
 * classes. */
template <typename L>
struct linear_operands {
    float2 x[L::MT][2][2]; /* tile, step, row g or g + 8 */
    float w[L::N][2][2];   /* tile, step, depth 2 t or 2 t + 1 */

    __device__ void load(const float *from_x, const float *from_w, int w_pitch, int g, int t) {
#pragma unroll
        for (int m = 0; m < L::MT; m++)
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int r = 0; r < 2; r++)
                    x[m][h][r] = *(const float2 *)(from_x + (16 * m + 8 * r + g) * L::x_pitch + 8 * h + 2 * t);
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < L::N; n++) {
                if constexpr (L::turned) {
                    const float2 v = *(const float2 *)(from_w + (8 * n + g) * L::w_pitch + 8 * h + 2 * t);
                    w[n][h][0] = v.x, w[n][h][1] = v.y;
                } else {
                    const float *v = from_w + (8 * h + 2 * t) * w_pitch + 8 * n + g;
                    w[n][h][0] = v[0], w[n][h][1] = v[w_pitch];
                }
            }
    }

    __device__ void multiply(linear_sums<L> &to) const {
        linear_split b[L::N][2][2];
#pragma unroll
        for (int n = 0; n < L::N; n++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                b[n][h][0] = linear_split_of(w[n][h][0]), b[n][h][1] = linear_split_of(w[n][h][1]);
#pragma unroll
        for (int m = 0; m < L::MT; m++) {
            unsigned hi[2][4], lo[2][4];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float v[4] = {x[m][h][0].x, x[m][h][1].x, x[m][h][0].y, x[m][h][1].y};
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const linear_split both = linear_split_of(v[e]);
                    hi[h][e] = both.hi, lo[h][e] = both.lo;
                }
            }
            float d[L::N][4] = {};
#pragma unroll
            for (int h = 0; h < 2; h++) {
#pragma unroll
                for (int n = 0; n < L::N; n++) linear_mma(d[n], hi[h], b[n][h][0].hi, b[n][h][1].hi);
#pragma unroll
                for (int n = 0; n < L::N; n++) linear_mma(to.low[0][m][n], lo[h], b[n][h][0].hi, b[n][h][1].hi);
#pragma unroll
                for (int n = 0; n < L::N; n++) linear_mma(to.low[1][m][n], hi[h], b[n][h][0].lo, b[n][h][1].lo);
            }
#pragma unroll
            for (int n = 0; n < L::N; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) to.high[m][n][e] += d[n][e];
        }
    }
};

/* The sums of a warp again, by fused multiply-adds, straight from memory. */
template <typename L>
__device__ inline void linear_again(const linear_args &a, float *sums, int64_t row, int m0, int n0, int64_t k0,
                                    int64_t k_end, int wk) {
    for (int e = (int)threadIdx.x % 32; e < 16 * L::MT * 8 * L::N; e += 32) {
        const int r = m0 + e / (8 * L::N), c = 8 * n0 + e % (8 * L::N);
        if (row + r >= a.batch || c >= a.classes) continue;
        const float *x = a.x + (row + r) * a.x_row, *w = a.w + c * a.w_class;
        float sum = 0.0f;
        for (int64_t k = k0; k < k_end; k++)
            if ((k - k0) % L::KC / 16 % L::WK == wk) sum = fmaf(x[k], w[k * a.w_depth], sum);
        sums[r * L::columns + c] = sum;
    }
}

/* ---- the rows that a block owns ---- */

/* Of a whole warp, by the order of floats as integers; a NaN may or may not win. */
template <int Lanes>
__device__ inline float linear_max(float v) {
    if constexpr (Lanes == 32) {
        const int bits = __float_as_int(v), order = __reduce_max_sync(0xffffffffu, bits ^ (bits >> 31 & 0x7fffffff));
        v = __int_as_float(order ^ (order >> 31 & 0x7fffffff));
    } else {
#pragma unroll
        for (int mask = Lanes / 2; mask > 0; mask /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, mask));
    }
    return v;
}
template <int Lanes>
__device__ inline float linear_sum(float v) {
#pragma unroll
    for (int mask = Lanes / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

__device__ inline void linear_write(float *p, const float (&v)[4], int n, int width) {
    if (width == 4 && n >= 4) {
        *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
    } else if (width == 2 && n >= 2) {
        *(float2 *)p = make_float2(v[0], v[1]);
        if (n >= 4) *(float2 *)(p + 2) = make_float2(v[2], v[3]);
    } else {
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (e < n) p[e] = v[e];
    }
}

/* Softmax of a row, of which a group of lanes has four classes each. Maxima start at -FLT_MAX: see online_softmax. */
struct linear_probabilities {
    struct known {};
    __device__ known ahead(const linear_args &, int64_t) const { return {}; }
    template <int Lanes>
    __device__ void finish(const linear_args &a, float (&z)[4], known, int64_t row, int column, bool present) const {
        float max = -FLT_MAX, sum = 0.0f;
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (column + e < a.classes) max = fmaxf(max, z[e]);
        max = linear_max<Lanes>(max);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            z[e] = column + e < a.classes ? exp2_flushed((z[e] - max) * 0x1.715476p0f) : 0.0f;
            sum += z[e];
        }
        const float scale = reciprocal_flushed(linear_sum<Lanes>(sum)); /* of at least 1, of NaN, or of 0: then NaN */
#pragma unroll
        for (int e = 0; e < 4; e++) z[e] *= scale;
        if (present) linear_write(a.p + row * a.p_row + column, z, (int)a.classes - column, a.p_width);
    }
};

/* Sums become logits, and those of a row what `Op` makes of them, as linear_probabilities does: ahead(row) is what it
 * wants to know of a row while sums are still under way. A group of lanes has a row, a lane four classes of it. */
template <typename L, typename Op>
struct linear_rows {
    static constexpr int lanes = L::NT <= 2 ? 4 : L::NT <= 4 ? 8 : L::NT <= 8 ? 16 : 32;
    static constexpr int rows = L::threads / lanes; /* at a time */
    const Op &op;
    int64_t row;
    float bias[4];
    int column;
    typename Op::known known; /* of the first */

    /* first: of the block's rows. */
    __device__ linear_rows(const linear_args &a, const Op &what, int64_t first)
        : op(what),
          row(first),
          column((int)threadIdx.x % lanes * 4),
          known(what.ahead(a, first + (int)threadIdx.x / lanes)) {
#pragma unroll
        for (int e = 0; e < 4; e++) bias[e] = column + e < a.classes ? a.b[column + e] : 0.0f;
    }
    /* `owned` rows, of n parts: sum_of(part, r, column) points to one's sums. Owned, Parts: what is known of both, or
     * 0. */
    template <int Owned, int Parts, typename Sum>
    __device__ void write(const linear_args &a, Sum sum_of, int owned, int n) const {
        if constexpr (Owned > 0) owned = Owned;
        if constexpr (Parts > 0) n = Parts;
        for (int first = 0; first < owned; first += rows) {
            const int r = first + (int)threadIdx.x / lanes;
            const bool present = r < owned && column < a.classes;
            float z[4] = {bias[0], bias[1], bias[2], bias[3]};
#pragma unroll 8
            for (int k = 0; k < n; k++) {
                const float4 v = *(const float4 *)sum_of(k, present ? r : 0, present ? column : 0);
                z[0] += v.x, z[1] += v.y, z[2] += v.z, z[3] += v.w;
            }
            op.template finish<lanes>(a, z, first == 0 ? known : op.ahead(a, row + r), row + r, column,
                                      present && row + r < a.batch);
        }
    }
};

/* ---- the kernel: block (tile of rows, part of the depth) of head blockIdx.y ---- */

template <typename L, typename Op>
__global__ void __launch_bounds__(L::threads, 1) linear_kernel(linear_args a, const __grid_constant__ Op op) {
    extern __shared__ __align__(16) float linear_memory[];
    float *parts = linear_memory + L::stages * L::stage_floats;       /* what is received */
    float *sums = parts + (L::S > 1 ? L::parts * L::part_floats : 0); /* what is sent */
    uint64_t *here = (uint64_t *)(sums + L::parts * L::part_floats), *arrived = here + L::stages;
    const int rank = L::S > 1 ? (int)blockIdx.x % L::S : 0;
    const int64_t row = (int64_t)(blockIdx.x / L::S) * L::BM, units = (a.depth + 15) / 16;
    const int64_t k0 = rank * units / L::S * 16, k_next = (rank + 1) * units / L::S * 16;
    const int64_t k_end = k_next < a.depth ? k_next : a.depth;
    const int chunks = (int)((k_end - k0 + L::KC - 1) / L::KC);
    a.w += blockIdx.y * a.w_head, a.b += blockIdx.y * a.b_head, a.p += blockIdx.y * a.p_head;

#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        for (int s = 0; s < L::stages; s++) hopper::barrier_init(row_shared(&here[s]), L::threads + 1);
        row_barrier_init(arrived);
        hopper::barrier_init_fence();
        if (L::S > 1) row_barrier_expect(arrived, (L::S - 1) * L::WK * L::part_floats * 4);
    }
    __syncthreads();
    if constexpr (L::S > 1) hopper::cluster_arrive_relaxed();
#endif
    if constexpr (L::bulk && !L::turned)
        if (threadIdx.x < 16 * L::stages)
            linear_memory[(threadIdx.x / 16 + 1) * L::stage_floats - L::w_floats + L::KC * (int)a.classes +
                          threadIdx.x % 16] = 0.0f;
    before_next_launch();
    const auto load = [&](int chunk, int s) {
        const int64_t k = k0 + (int64_t)chunk * L::KC;
        linear_load<L>(a, linear_memory + s * L::stage_floats, &here[s], row, k,
                       k_end - k < L::KC ? (int)(k_end - k) : L::KC);
    };
#pragma unroll 1
    for (int s = 0; s < L::stages && s < chunks; s++) load(s, s);
    const linear_rows<L, Op> rows(a, op, row + rank * L::owned);

    const int warp = (int)threadIdx.x / 32, g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    const int m0 = warp % L::WM * 16 * L::MT, n0 = warp / L::WM % L::WN * L::N, wk = warp / (L::WM * L::WN);
    const int w_pitch = L::bulk && !L::turned ? (int)a.classes : L::w_pitch;
    linear_sums<L> acc;
    for (int c = 0, s = 0, phase = 0; c < chunks; c++) {
        if constexpr (L::bulk) {
#if __CUDA_ARCH__ >= 900
            row_barrier_wait(&here[s], phase);
#endif
        } else { /* one stage at a time is enough where loads are single elements */
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
        }
        const float *x = linear_memory + s * L::stage_floats + m0 * L::x_pitch;
        const float *w = linear_memory + s * L::stage_floats + L::x_floats + (L::turned ? 8 * n0 * L::w_pitch : 8 * n0);
        const int64_t left = k_end - k0 - (int64_t)c * L::KC;
        const int steps = left < L::KC ? (int)left : L::KC;
        if constexpr (L::bulk && !L::turned)
            if (steps < L::KC) { /* what lies behind the last row of w is multiplied, too, for no class */
                if (threadIdx.x < 16)
                    linear_memory[s * L::stage_floats + L::x_floats + steps * w_pitch + (int)threadIdx.x] = 0.0f;
                __syncthreads();
            }
#pragma unroll 1
        for (int k = 16 * wk; k < steps; k += 16 * L::WK) {
            linear_operands<L> now;
            now.load(x + k, w + (L::turned ? k : k * w_pitch), w_pitch, g, t);
            now.multiply(acc);
        }
        if (c + L::stages < chunks) {
            __syncthreads();
            load(c + L::stages, s);
        }
        if (++s == L::stages) s = 0, phase ^= 1;
    }

    float zero = 0.0f; /* but for infinities and NaN among the sums */
#pragma unroll
    for (int m = 0; m < L::MT; m++)
#pragma unroll
        for (int n = 0; n < L::N; n++) {
            if (L::N * L::WN != L::NT && n0 + n >= L::NT) break; /* of no class: anything */
#pragma unroll
            for (int e = 0; e < 4; e++) zero = fmaf(acc.high[m][n][e] = acc.at(m, n, e), 0.0f, zero);
        }
    float *mine = sums + wk * L::BM * L::columns;
    if (__any_sync(0xffffffffu, zero != 0.0f)) {
        linear_again<L>(a, mine, row, m0, n0, k0, k_end, wk);
    } else {
#pragma unroll
        for (int m = 0; m < L::MT; m++)
#pragma unroll
            for (int n = 0; n < L::N; n++) {
                if (L::N * L::WN != L::NT && n0 + n >= L::NT) break;
                float *at = mine + (m0 + 16 * m + g) * L::columns + 8 * (n0 + n) + 2 * t;
                *(float2 *)at = make_float2(acc.high[m][n][0], acc.high[m][n][1]);
                *(float2 *)(at + 8 * L::columns) = make_float2(acc.high[m][n][2], acc.high[m][n][3]);
            }
    }
#if __CUDA_ARCH__ >= 900
    if constexpr (L::S > 1) {
        hopper::shared_fence();
        __syncthreads();
        hopper::cluster_wait(); /* all have started */
        if (threadIdx.x < L::parts && (int)threadIdx.x % L::S != rank)
            linear_copy(sums + threadIdx.x * L::part_floats,
                        parts + (rank + (int)threadIdx.x / L::S * L::S) * L::part_floats, arrived,
                        (int)threadIdx.x % L::S, L::part_floats * 4);
        row_barrier_wait(arrived, 0);
        hopper::cluster_arrive_relaxed(); /* what I was sent has been read */
    }
#endif
    if constexpr (L::S == 1) __syncthreads();
    rows.template write<L::owned, L::parts>(
        a,
        [&](int part, int r, int column) {
            return (part % L::S == rank ? sums : parts) + part * L::part_floats + r * L::columns + column;
        },
        L::owned, L::parts);
#if __CUDA_ARCH__ >= 900
    if constexpr (L::S > 1) hopper::cluster_wait();
#endif
}

/* heads: those of grid.y. */
template <typename L, typename Op>
ridge_status linear_launch(const linear_args &a, const Op &op, int heads, cudaStream_t stream, bool overlap) {
    static allowed_per_device allowed;
    const auto allow = [] {
        cudaError_t e = cudaFuncSetAttribute((const void *)linear_kernel<L, Op>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, L::reserved);
        if (e == cudaSuccess && L::S > 8)
            e = cudaFuncSetAttribute((const void *)linear_kernel<L, Op>, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                     1);
        return e;
    };
    RIDGE_TRY(cuda_status(allowed.get(allow), "cudaFuncSetAttribute"));
    const int64_t tiles = (a.batch + L::BM - 1) / L::BM;
    if (tiles == 0) return RIDGE_OK;
    if (tiles * L::S > INT32_MAX) return RIDGE_UNSUPPORTED;
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(tiles * L::S), (unsigned)heads);
    config.blockDim = dim3(L::threads);
    config.dynamicSmemBytes = L::reserved;
    config.stream = stream;
    config.attrs = attributes;
    if (L::S > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = L::S;
        attributes[config.numAttrs].val.clusterDim.y = attributes[config.numAttrs].val.clusterDim.z = 1;
        config.numAttrs++;
    }
    if (overlap) attributes[config.numAttrs++] = overlapping();
    return launch_with(config, linear_kernel<L, Op>, a, op);
}

}  // namespace ridge

#endif
