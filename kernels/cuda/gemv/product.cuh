/* Products of few rows: z[rows, outputs] = x[rows, depth] w^T for up to 16 rows at a time, by fp32 multiply-adds. w is
 * read once, at memory's rate, in packs of 16 bytes however its lines lie; x is in shared memory as fp32.
 *
 *   across   lines of w run along the outputs: a lane has neighbouring outputs of all rows, warps share the depth
 *   along    lines run along the depth: eight lanes have an output together, and a warp 16 outputs at once
 *
 * A warp has lines whose numbers differ by multiples of eight: these lie alike against 16-byte boundaries, whatever
 * their stride. `across` shifts the warp's outputs to the boundary, `along` has the elements before it apart. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_PRODUCT_CUH
#define RIDGE_KERNELS_CUDA_GEMV_PRODUCT_CUH

#include "cuda/gemv/call.cuh"
#include "cuda/gemv/pack.cuh"

namespace ridge {

/* What a block has. Groups of rows are neighbours: L2 has the tile of w that they share. */
template <typename T>
struct gemv_place {
    int head, tile, row, first, steps; /* rows from `row` on, steps of the depth from `first` on */
    __device__ gemv_place(const gemv_args<T> &a, int rows)
        : head((int)blockIdx.z),
          tile((int)blockIdx.x / a.groups),
          row((int)blockIdx.x % a.groups * rows),
          first((int)blockIdx.y * a.each),
          steps(min(a.each, a.depth - first)) {}
};

/* ---- lines along the outputs ---- */

/* Fits an H200's registers: 64 sums at most, 48 to 96 bytes of w in flight, as many ahead. */
template <typename T, int R>
struct gemv_across_shape {
    static constexpr int V = gemv_lane_outputs(R, (int)sizeof(T));
    static constexpr int under_way = sizeof(T) == 4 || R == 4 ? 64 : R == 1 ? 96 : 48; /* bytes of w */
    static constexpr int ahead = under_way / (V * (int)sizeof(T));                     /* loads */
    static constexpr int blocks = gemv_resident(R, (int)sizeof(T));
    static constexpr int window = 32 * V;
    static constexpr int floats = GEMV_WARPS * R * window; /* where warps' sums meet */
};

/* x as [steps][R]. */
template <int R, typename T>
__device__ inline void gemv_fill_steps(const gemv_args<T> &a, const gemv_place<T> &at, float *x) {
    constexpr int N = R < 4 ? R : 4;
#pragma unroll 1
    for (int r = 0; r < R; r += N) {
#pragma unroll 4
        for (int k = (int)threadIdx.x; k < at.steps; k += GEMV_THREADS) {
            pack<float, N> some;
#pragma unroll
            for (int i = 0; i < N; i++)
                some.v[i] = at.row + r + i < a.batch ? a.x_at(at.row + r + i, at.first + k) : 0.0f;
            *(pack<float, N> *)(x + k * R + r) = some;
        }
    }
}

/* Sums of a warp's outputs (gemv_finish) that are not finite, by fp32 multiply-adds straight from memory: an infinity
 * has no lo part. along: w's lines run along the depth. */
template <int N, typename T>
__device__ inline void gemv_sum_again(const gemv_args<T> &a, const gemv_place<T> &at, bool along, int row, int first,
                                      int count, float (&v)[N]) {
    const int lane = (int)threadIdx.x % 32;
    const int64_t output_step = along ? a.line : 1, step = along ? 1 : a.line;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int column = first + lane + 32 * i;
        if (isfinite(v[i]) || lane + 32 * i >= count || column < 0 || column >= a.outputs) continue;
        const T *const w = a.w + at.head * a.head + column * output_step + at.first * step;
        v[i] = 0.0f;
#pragma unroll 1
        for (int k = 0; k < at.steps; k++) v[i] = fmaf(a.x_at(row, at.first + k), to_float(w[k * step]), v[i]);
    }
}

/* Sums of all warps, in their order; room: [warps][R][Line]. Each warp's begin at its own line's boundary, of V
 * elements; where lines lie alike that is at output `begin`. Split: of hi and lo parts. */
template <int R, int Window, int V, int Line = Window, bool Split = false, typename T>
__device__ inline void gemv_finish_warps(const gemv_args<T> &a, const gemv_place<T> &at, const T *w, const float *room,
                                         int begin) {
    const int lane = (int)threadIdx.x % 32, count = a.alike ? Window : Window - V;
    for (int r = (int)threadIdx.x / 32; r < R && at.row + r < a.batch; r += GEMV_WARPS) {
        float v[Window / 32] = {};
#pragma unroll
        for (int of = 0; of < GEMV_WARPS; of++) {
            const int shift = a.alike ? 0 : gemv_beyond<V>(w + of * a.line);
#pragma unroll
            for (int i = 0; i < Window / 32; i++) {
                const int j = lane + 32 * i + shift;
                v[i] += j < Window ? room[(of * R + r) * Line + j] : 0.0f;
            }
        }
        if constexpr (Split) gemv_sum_again(a, at, false, at.row + r, a.alike ? begin : at.tile * count, count, v);
        gemv_finish(a, at.head, at.row + r, at.tile, a.alike ? begin : at.tile * count, count, v);
    }
}

template <typename T, int R>
__global__ void __launch_bounds__(GEMV_THREADS, (gemv_across_shape<T, R>::blocks))
    gemv_across(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_across_shape<T, R>;
    constexpr int V = S::V, U = S::ahead, N = R < 4 ? R : 4;
    extern __shared__ float4 gemv_room[];
    float *const room = (float *)gemv_room;
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const gemv_place<T> at(a, R);
    const T *const w = a.w + at.head * a.head + (int64_t)at.first * a.line;
    const T *const line = w + warp * a.line;
    /* The block's outputs, and the warp's, from a boundary on. */
    const int tile = at.tile * (a.alike ? S::window : S::window - V), beyond = gemv_beyond<V>(line);
    const int column = tile - beyond + lane * V, first = max(-column, 0), last = min(a.outputs - column, V);
    const bool whole = first == 0 && last == V, some = !whole && first < last;
    const int count = (at.steps - warp + GEMV_WARPS - 1) / GEMV_WARPS;

    gemv_pack<T, V> now[U], next[U];
    const auto fetch = [&](gemv_pack<T, V>(&p)[U], int i) {
        const T *const from = line + (int64_t)i * GEMV_WARPS * a.line + column;
#pragma unroll
        for (int u = 0; u < U; u++) p[u].load(from + u * GEMV_WARPS * a.line, whole && i + u < count);
        if (some) {
#pragma unroll
            for (int u = 0; u < U; u++) {
                if (sizeof(T) == 2 && u % 3 == 0) asm volatile("" ::: "memory"); /* registers hold three at a time */
                p[u].gather(from + u * GEMV_WARPS * a.line, first, i + u < count ? last : first);
            }
        }
    };
    float sum[R][V] = {};
    fetch(now, 0);
    gemv_fill_steps<R>(a, at, room);
    __syncthreads();
    for (int i = 0; i < count; i += U) {
        fetch(next, i + U);
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (i + u >= count) break;
            const float *const x = room + (warp + (i + u) * GEMV_WARPS) * R;
            float v[V];
            now[u].unpack(v);
#pragma unroll
            for (int r = 0; r < R; r += N) {
                const pack<float, N> of = *(const pack<float, N> *)(x + r);
#pragma unroll
                for (int j = 0; j < N; j++)
#pragma unroll
                    for (int e = 0; e < V; e++) sum[r + j][e] = fmaf(of.v[j], v[e], sum[r + j][e]);
            }
        }
#pragma unroll
        for (int u = 0; u < U; u++) now[u] = next[u];
    }

    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int e = 0; e < V; e += 4)
            *(float4 *)(room + (warp * R + r) * S::window + lane * V + e) =
                make_float4(sum[r][e], sum[r][e + 1], sum[r][e + 2], sum[r][e + 3]);
    __syncthreads();
    gemv_finish_warps<R, S::window, V>(a, at, w, room, tile - beyond);
}

/* ---- lines along the depth ---- */

template <typename T, int R, bool Aligned>
struct gemv_along_shape {
    static constexpr int V = pack_width<T>;
    static constexpr int lanes = 8, each = 4; /* of an output; outputs of a lane */
    static constexpr int tile = GEMV_WARPS * 32 / lanes * each;
    static constexpr int slab = lanes * V; /* steps of the depth */
    static constexpr int most = gemv_room(GEMV_FFMA) / R / GEMV_STEP * GEMV_STEP;
    static constexpr int blocks = R * V > 16 ? 2 : 3;
    static constexpr int line = (V == 8 && !Aligned ? most + most / 8 : most) + 4; /* of x in shared memory */
    static constexpr int floats = R * (line > tile ? line : tile);
    static_assert(tile == 128 && GEMV_STEP % slab == 0);

    /* Where step k of x is. Packs of eight: without conflicts of banks, whether lanes read four at a time or one. */
    __device__ static int place(int k) {
        if constexpr (V == 4)
            return k;
        else if constexpr (Aligned)
            return k / 64 * 64 + k % 8 / 4 * 32 + k % 64 / 8 * 4 + k % 4;
        else
            return k + k / 8;
    }
    /* Of the first slab: place(head + lane V + e) is from(lane) + offset(head, e); Aligned: of four, e is added. */
    __device__ static int from(int lane) { return lane * (V == 4 || Aligned ? 4 : 9); }
    __device__ static int offset(int head, int e) { return head + e + (V == 8 && head + e >= 8 ? 1 : 0); }
};

/* x as [R][line]. */
template <class S, int R, typename T>
__device__ inline void gemv_fill_rows(const gemv_args<T> &a, const gemv_place<T> &at, float *x) {
    constexpr int N = R < 8 ? R : 8; /* loads of a thread in flight */
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < at.steps; k += GEMV_THREADS)
#pragma unroll 1
        for (int r = 0; r < R; r += N) {
            float v[N];
#pragma unroll
            for (int i = 0; i < N; i++) v[i] = at.row + r + i < a.batch ? a.x_at(at.row + r + i, at.first + k) : 0.0f;
#pragma unroll
            for (int i = 0; i < N; i++) x[(r + i) * S::line + S::place(k)] = v[i];
        }
}

/* Sums over eight neighbouring lanes: afterwards a lane has N / 8 of the N sums, or one of them; the first one's number
 * is returned. */
template <int N>
__device__ inline int gemv_sum_lanes(float (&v)[N], int lane) {
    int first = 0, n = N;
#pragma unroll
    for (int mask = 4; mask > 0; mask /= 2) {
        const bool upper = lane & mask;
        if (n > 1) {
            n /= 2;
            first += upper ? n : 0;
#pragma unroll
            for (int i = 0; i < N / 2; i++) {
                if (i >= n) break;
                const float mine = upper ? v[i + n] : v[i], other = upper ? v[i] : v[i + n];
                v[i] = mine + __shfl_xor_sync(0xffffffffu, other, mask);
            }
        } else {
            v[0] += __shfl_xor_sync(0xffffffffu, v[0], mask);
        }
    }
    return first;
}

template <typename T, int R, bool Aligned>
__global__ void __launch_bounds__(GEMV_THREADS, (gemv_along_shape<T, R, Aligned>::blocks))
    gemv_along(const __grid_constant__ gemv_args<T> a) {
    using S = gemv_along_shape<T, R, Aligned>;
    constexpr int V = S::V, K = S::each;
    extern __shared__ float4 gemv_room[];
    float *const room = (float *)gemv_room;
    after_previous_launch();
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % S::lanes, set = (int)threadIdx.x % 32 / S::lanes;
    const gemv_place<T> at(a, R);
    const int tile = at.tile * S::tile;
    const T *const lines = a.w + at.head * a.head + at.first + (int64_t)(tile + warp) * a.line;
    const T *const line = lines + (int64_t)(set * K * GEMV_WARPS) * a.line;
    const int left = (a.outputs - tile - warp + GEMV_WARPS - 1) / GEMV_WARPS - set * K; /* of the lane's outputs */
    const int64_t leap = GEMV_WARPS * a.line;

    const int head = Aligned ? 0 : min((V - gemv_beyond<V>(lines)) % V, at.steps);
    const int packs = (at.steps - head) / V, ends = at.steps - packs * V;
    gemv_pack<T, V> now[K], next[K];
    const T *pack_at = line + head + lane * V;
    const auto fetch = [&](gemv_pack<T, V>(&p)[K], int i) {
#pragma unroll
        for (int k = 0; k < K; k++) p[k].load(pack_at + k * leap, k < left && i < packs);
        pack_at += S::slab;
    };
    const int from = S::from(lane);
    float sum[K * R] = {};
    fetch(now, lane);
    gemv_fill_rows<S, R>(a, at, room);
    __syncthreads();
    for (int i = lane, slab = 0; i < packs; i += S::lanes, slab += S::slab) {
        fetch(next, i + S::lanes);
        const float *const x = room + (V == 8 && !Aligned ? slab + slab / 8 : slab) + from;
#pragma unroll
        for (int e = 0; e < V; e += 4) { /* four steps at a time: there are no registers for eight */
            float w[K][4];
            int offset[4];
#pragma unroll
            for (int k = 0; k < K; k++) now[k].unpack_four(e / 4, w[k]);
#pragma unroll
            for (int j = 0; j < 4; j++) offset[j] = S::offset(head, e + j);
#pragma unroll
            for (int r = 0; r < R; r++) {
                float v[4];
                if constexpr (Aligned) {
                    *(float4 *)v = *(const float4 *)(x + r * S::line + e * 8);
                } else {
#pragma unroll
                    for (int j = 0; j < 4; j++) v[j] = x[r * S::line + offset[j]];
                }
#pragma unroll
                for (int k = 0; k < K; k++)
#pragma unroll
                    for (int j = 0; j < 4; j++) sum[k * R + r] = fmaf(v[j], w[k][j], sum[k * R + r]);
            }
        }
#pragma unroll
        for (int k = 0; k < K; k++) now[k] = next[k];
    }
    for (int i = lane; i < ends; i += S::lanes) { /* before the first pack, and behind the last */
        const int step = i < head ? i : i + packs * V;
        const float *const x = room + S::place(step);
#pragma unroll
        for (int k = 0; k < K; k++) {
            const float v = k < left ? to_float(line[k * leap + step]) : 0.0f;
#pragma unroll
            for (int r = 0; r < R; r++) sum[k * R + r] = fmaf(x[r * S::line], v, sum[k * R + r]);
        }
    }
    __syncwarp();
    const int first = gemv_sum_lanes(sum, lane);
    __syncthreads(); /* x has been read */
#pragma unroll
    for (int i = 0; i < (K * R < 8 ? 1 : K * R / 8); i++) {
        if (K * R < 8 && lane % 2 != 0) break; /* two lanes have the same sum */
        const int k = (first + i) / R, r = (first + i) % R;
        room[r * S::tile + warp + GEMV_WARPS * (set * K + k)] = sum[i];
    }
    __syncthreads();
    for (int r = warp; r < R && at.row + r < a.batch; r += GEMV_WARPS) {
        float v[S::tile / 32];
#pragma unroll
        for (int i = 0; i < S::tile / 32; i++) v[i] = room[r * S::tile + (int)threadIdx.x % 32 + 32 * i];
        gemv_finish(a, at.head, at.row + r, at.tile, tile, S::tile, v);
    }
}

/* ---- launches ---- */

/* Tiles of lines along the outputs, from a boundary of v elements on. */
template <typename T>
int gemv_across_tiles(const gemv_args<T> &a, int v, int window) {
    const bool alike = a.line % v == 0;
    return (a.outputs + (alike ? v - 1 : 0) - 1) / (alike ? window : window - v) + 1;
}

template <int R, typename T>
ridge_status gemv_run_across(gemv_args<T> a, const gemv_plan &plan, int side, cudaStream_t stream) {
    using S = gemv_across_shape<T, R>;
    a.alike = a.line % S::V == 0;
    const int tiles = gemv_across_tiles(a, S::V, S::window);
    const int64_t x = plan.each < a.depth ? plan.each : a.depth;
    const int bytes = 4 * (int)(x * R > S::floats ? x * R : S::floats);
    const auto kernel = gemv_across<T, R>;
    a.to.count = tiles;
    const dim3 grid((unsigned)(tiles * plan.groups), (unsigned)plan.shares, (unsigned)side);
    return launch_overlapping(kernel, {grid, GEMV_THREADS, bytes}, stream, device_overlaps(), a);
}

template <int R, bool Aligned, typename T>
ridge_status gemv_run_along(gemv_args<T> a, const gemv_plan &plan, int side, cudaStream_t stream) {
    using S = gemv_along_shape<T, R, Aligned>;
    const int64_t tiles = (a.outputs + S::tile - 1) / S::tile;
    constexpr int bytes = 4 * S::floats;
    const auto kernel = gemv_along<T, R, Aligned>;
    a.to.count = (int)tiles;
    const dim3 grid((unsigned)(tiles * plan.groups), (unsigned)plan.shares, (unsigned)side);
    return launch_overlapping(kernel, {grid, GEMV_THREADS, bytes}, stream, device_overlaps(), a);
}

template <int R, typename T>
ridge_status gemv_run_rows(const gemv_args<T> &a, bool along, const gemv_plan &plan, int side, cudaStream_t stream) {
    if (!along) return gemv_run_across<R>(a, plan, side, stream);
    constexpr int V = pack_width<T>;
    /* Of 16 rows registers do not suffice for four elements of x at once. */
    constexpr bool four = R < 16;
    const bool aligned = four && is_aligned16(a.w) && a.line % V == 0 && a.head % V == 0;
    return aligned ? gemv_run_along<R, four>(a, plan, side, stream) : gemv_run_along<R, false>(a, plan, side, stream);
}

}  // namespace ridge

#endif
