/* x w + b of up to 128 columns, which may be the classes of several heads side by side, by mma.sync: rows of x go from
 * memory to registers as they lie, whatever their alignment, and are read once. TMA and wgmma want rows that begin on
 * 16-byte boundaries, and tiles of 64 columns and more: copies of x and filled-up tiles cost more than the product.
 *
 * Depth: the order of a sum's terms is free, as long as both operands have the same one. A lane takes 16 bytes of a
 * row, four lanes 64 bytes, and these are the fragments of two mma.sync: a step.
 *
 * x: a warp has rows of one phase (skinny/thin_row.cuh), which all begin alike between 16-byte boundaries: its pieces
 * are aligned, and w is there for every phase in an order of its own. Only the first and the last step of a row have
 * elements of others; those are read before the loop, which checks no row.
 *
 * w: a launch before puts it in the order of fragments (skinny/thin_pack.cuh).
 *
 * fp32 (Exact): three products of hi and lo parts in tf32. Tensor cores truncate as they add: a step's six products are
 * a chain, chains are added in fp32. An infinity has no lo part: where a sum is not finite, the warp's sums are made
 * again by multiply-adds.
 *
 * Warps: each has all columns of 32 rows, or of 16 where their sums leave no registers for more. Where that makes few
 * warps, those of a block share the depth of their rows, then the blocks of a cluster.
 *
 * An Op makes of the sums of 16 rows what is asked for, and stores it:
 *
 *     void fragment(float (&sums)[NT][4], const thin_where &at) const;
 *
 * sums: logits without bias, of which a lane has rows g and g + 8 (ptx/mma.cuh). It may want them in shared memory, in
 * lines of `pitch`, the warp's own:
 *
 *     bool by_rows(void) const;
 *     void rows(float *z, int pitch, const thin_where &at) const;
 *
 * Called by whole warps. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_CUH

#include "cuda/mma/ffma.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/skinny/thin_pack.cuh"

namespace ridge {

/* Tiles of 16 rows of a warp, and a lane's rows: g, g + 8 and so on. */
template <int NT, bool Exact>
constexpr int thin_m = thin_rows_of(NT, Exact) / 16;
template <int NT, bool Exact>
constexpr int thin_lane_rows = 2 * thin_m<NT, Exact>;

/* Steps whose loads of x are under way: what registers have room for. */
template <int NT, bool Exact>
constexpr int thin_ahead = NT == 8 && !Exact ? 2
                           : Exact && NT < 8 ? 3
                                             : 4;
/* Two rows further is two banks further: what lanes read of 16 rows at a time meets in no bank. */
template <int NT>
constexpr int thin_pitch = (8 * NT + 31) / 32 * 32 + 4;

__device__ inline void thin_round(uint4 &, __nv_bfloat16) {}
__device__ inline void thin_round(uint4 &, __half) {}
__device__ inline void thin_round(uint4 &v, float) {
    const auto rounded = [](unsigned &word) { word = __float_as_uint(cvt_rna_tf32(__uint_as_float(word))); };
    rounded(v.x), rounded(v.y), rounded(v.z), rounded(v.w);
}

/* ---- the product ---- */

__device__ inline void thin_mma(float, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k8_tf32(d, a, b0, b1);
}
template <typename T>
__device__ inline void thin_mma(T type, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k16(type, d, a, b0, b1);
}

template <typename T>
struct thin_args {
    const T *x;
    const uint4 *w; /* as thin_pack_kernel leaves it */
    int64_t line, rows;
    int depth, steps, each; /* steps: of w; each: of a warp */
    thin_phases phases;
    thin_shares shares; /* of the depth */
    struct {
        int blocks, warps, phases;
    } shift;            /* log2 of shares.blocks and so on */
    thin_weights<T> of; /* Exact: w as it lies */
};

/* A block's rows and a warp's share of their depth. Blocks: of a cluster, of neighbouring phases, of further rows; all
 * of these are powers of two. */
struct thin_work {
    int rank, phase, phase_begin, part; /* rank: in the cluster; part: of the block's warps that have the same rows */
    thin_where at;
    int64_t block_first; /* row of the block */
    int begin, end;      /* steps of the rows as they lie */

    template <typename T>
    __device__ thin_work(const thin_args<T> &a, int rows) {
        const int warp = (int)threadIdx.x / 32, block = (int)blockIdx.x >> a.shift.blocks;
        rank = (int)blockIdx.x - (block << a.shift.blocks), part = warp & (a.shares.warps - 1);
        phase = block & (a.phases.count - 1);
        phase_begin = thin_phase_begin<T>(a.phases, phase);
        const int64_t first = (int64_t)(block >> a.shift.phases) * (THIN_WARPS >> a.shift.warps) * rows;
        block_first = phase + first * a.phases.count;
        at.first = block_first + (int64_t)(warp >> a.shift.warps) * rows * a.phases.count, at.next = a.phases.count;
        const int behind = (phase_begin + a.depth + thin_step<T> - 1) / thin_step<T>;
        begin = min((rank * a.shares.warps + part) * a.each, behind), end = min(begin + a.each, behind);
    }
};

/* A warp's rows. The last one stands for those that do not exist. */
template <typename T, int NT, bool Exact>
class thin_rows {
    static constexpr int step = thin_step<T>, ahead = thin_ahead<NT, Exact>, count = thin_lane_rows<NT, Exact>;
    const char *next[count]; /* the lane's piece of the step to load next */
    uint4 ring[ahead][count];

    __device__ void load(int slot, int later) {
#pragma unroll
        for (int r = 0; r < count; r++) ring[slot][r] = ld_global_v4(next[r] + later * THIN_STEP_BYTES);
    }

   public:
    uint4 last[count]; /* of the row's last step, if it is the warp's */
    int steps;         /* before that */

    __device__ thin_rows(const thin_args<T> &a, const thin_work &work) {
        const int phase_begin = work.phase_begin;
        const int lane = (int)threadIdx.x % 32, own = lane % 4 * pack_width<T>;
        const thin_span span(a.x, a.line, a.rows, a.depth);
        const int behind = phase_begin + a.depth, final = (behind - 1) / step;
        const int64_t highest = work.phase + ((a.rows - 1 - work.phase) & ~(int64_t)(a.phases.count - 1));
        const int first_k = work.begin * step + own, last_k = final * step + own;
        const bool has_last = work.begin <= final && work.end > final;
        steps = work.end - work.begin - (has_last ? 1 : 0);
        const thin_cut<T> at_first = {phase_begin - first_k, steps > 0 ? behind - first_k : 0};
        const thin_cut<T> at_last = {phase_begin - last_k, has_last ? behind - last_k : 0};
        const char *ends[count];
#pragma unroll
        for (int r = 0; r < count; r++) {
            const int64_t row = work.at.row(lane / 4 + 8 * r);
            const char *const begin = (const char *)(a.x + (row < highest ? row : highest) * a.line);
            next[r] = begin + (int64_t)(first_k - phase_begin) * (int)sizeof(T);
            ends[r] = begin + (int64_t)(last_k - phase_begin) * (int)sizeof(T);
        }
        thin_load_edge(ring[0], next, at_first, span);
        thin_load_edge(last, ends, at_last, span);
#pragma unroll
        for (int s = 1; s < ahead; s++)
            if (s < steps) load(s, s);
        thin_cut_edge(ring[0], next, at_first, span);
        thin_cut_edge(last, ends, at_last, span);
#pragma unroll
        for (int r = 0; r < count; r++) next[r] += ahead * THIN_STEP_BYTES;
    }
    /* All steps but the last, in turns of `ahead`: a step's registers are those of a constant slot, since moving what
     * is under way would wait for it. add(v, slot, left): a step's sums; left: so many follow. */
    template <typename F>
    __device__ void before_last(const F &add) {
#pragma unroll 1
        for (int s = 0; s < steps; s += ahead) {
#pragma unroll
            for (int slot = 0; slot < ahead; slot++) {
                if (s + slot >= steps) break;
                add(ring[slot], slot, steps - s - slot - 1);
                if (s + slot + ahead < steps) load(slot, slot);
            }
#pragma unroll
            for (int r = 0; r < count; r++) next[r] += ahead * THIN_STEP_BYTES;
        }
    }
};

/* Fragments of 16 rows by 64 bytes, of what two lanes' rows have: of two mma.sync. */
struct thin_fragments {
    unsigned first[4], second[4];
    thin_fragments() = default;
    __device__ thin_fragments(const uint4 &top, const uint4 &low)
        : first{top.x, low.x, top.y, low.y}, second{top.z, low.z, top.w, low.w} {}
    /* The same as results of an operation whose zero ptxas cannot know: of words as they were loaded it makes a copy
     * for every mma.sync, and has no registers left. */
    template <typename T>
    __device__ thin_fragments computed(T) const {
        thin_fragments f = *this;
        const unsigned zero = gridDim.z - 1;
#pragma unroll
        for (int e = 0; e < 4; e++) f.first[e] |= zero, f.second[e] |= zero;
        return f;
    }
    __device__ thin_fragments computed(float) const { return *this; } /* rounded */
};
__device__ inline uint4 thin_parts_of(const uint4 &v, bool lo) {
    const auto part = [&](unsigned word) {
        const tf32_parts both = split_tf32(__uint_as_float(word));
        return lo ? both.lo : both.hi;
    };
    return make_uint4(part(v.x), part(v.y), part(v.z), part(v.w));
}
template <typename T>
__device__ inline void thin_multiply(float (&d)[4], const thin_fragments &a, const uint4 &b) {
    thin_mma(T(), d, a.first, b.x, b.y);
    thin_mma(T(), d, a.second, b.z, b.w);
}

/* The sums of a step more. of_w(i): the i-th of the lane's 16 bytes of it. */
template <typename T, int NT, bool Exact, typename W>
__device__ inline void thin_add_step(uint4 (&v)[thin_lane_rows<NT, Exact>], const W &of_w,
                                     float (&sums)[thin_m<NT, Exact>][NT][4]) {
    constexpr int M = thin_m<NT, Exact>;
    if constexpr (Exact) {
#pragma unroll
        for (int m = 0; m < M; m++) { /* one after the other: registers do not suffice for the parts of both */
            const uint4 &top = v[2 * m], &low = v[2 * m + 1];
            const thin_fragments x_hi(thin_parts_of(top, false), thin_parts_of(low, false));
            const thin_fragments x_lo(thin_parts_of(top, true), thin_parts_of(low, true));
#pragma unroll
            for (int t = 0; t < NT; t++) {
                const uint4 w_hi = of_w(2 * t), w_lo = of_w(2 * t + 1);
                float d[4] = {};
                thin_multiply<T>(d, x_lo, w_hi), thin_multiply<T>(d, x_hi, w_lo), thin_multiply<T>(d, x_hi, w_hi);
#pragma unroll
                for (int e = 0; e < 4; e++) sums[m][t][e] += d[e];
            }
        }
    } else {
#pragma unroll
        for (uint4 &row : v) thin_round(row, T());
        thin_fragments x[M];
#pragma unroll
        for (int m = 0; m < M; m++) x[m] = thin_fragments(v[2 * m], v[2 * m + 1]).computed(T());
#pragma unroll
        for (int t = 0; t < NT; t++) {
            const uint4 b = of_w(t);
#pragma unroll
            for (int m = 0; m < M; m++) thin_multiply<T>(sums[m][t], x[m], b);
        }
    }
}

/* Steps of w that registers have room for, all but one of them loaded ahead; 1: none. */
template <int NT, bool Exact>
constexpr int thin_w_slots = Exact || NT > 8 ? 1
                             : NT <= 2       ? thin_ahead<NT, Exact>
                                             : 2;

/* w is not read by __ldg: the launch before wrote it. */
template <typename T, int NT, bool Exact>
__device__ inline void thin_sums(const thin_args<T> &a, const thin_work &work, thin_rows<T, NT, Exact> &x,
                                 float (&sums)[thin_m<NT, Exact>][NT][4]) {
    constexpr int count = NT * (Exact ? 2 : 1), size = 32 * count, slots = thin_w_slots<NT, Exact>;
    const uint4 *w = a.w + ((int64_t)work.phase * a.steps + work.begin) * size + threadIdx.x % 32;
    const auto as_it_lies = [&](int i) { return ld_global_v4(w + 32 * i); };
    if constexpr (slots > 1) {
        static_assert(thin_ahead<NT, Exact> % slots == 0);
        uint4 of_w[slots][count];
        const auto load = [&](uint4(&to)[count], int later) {
#pragma unroll
            for (int i = 0; i < count; i++) to[i] = ld_global_v4(w + later * size + 32 * i);
        };
#pragma unroll
        for (int slot = 0; slot < slots - 1; slot++)
            if (slot < x.steps) load(of_w[slot], slot);
        x.before_last([&](uint4(&v)[thin_lane_rows<NT, Exact>], int slot, int left) {
            if (left >= slots - 1) load(of_w[(slot + slots - 1) % slots], slots - 1);
            w += size;
            thin_add_step<T, NT, Exact>(
                v, [&](int i) { return of_w[slot % slots][i]; }, sums);
        });
    } else {
        x.before_last([&](uint4(&v)[thin_lane_rows<NT, Exact>], int, int) {
            thin_add_step<T, NT, Exact>(v, as_it_lies, sums);
            w += size;
        });
    }
    if (work.begin + x.steps < work.end) thin_add_step<T, NT, Exact>(x.last, as_it_lies, sums);
}

/* ---- from registers to shared memory ---- */

/* 16 rows to the warp's part of it. */
template <int NT>
__device__ inline void thin_put(const float (&sums)[NT][4], float *z) {
    const int lane = (int)threadIdx.x % 32;
    float *to = z + lane / 4 * thin_pitch<NT> + lane % 4 * 2;
#pragma unroll
    for (int t = 0; t < NT; t++) {
        *(float2 *)(to + t * 8) = make_float2(sums[t][0], sums[t][1]);
        *(float2 *)(to + 8 * thin_pitch<NT> + t * 8) = make_float2(sums[t][2], sums[t][3]);
    }
}
/* The sums of all that share a depth, in their order, to the first warp's part; by the warps of a block's share
 * together. Every thread of the block comes, and of the cluster's blocks. What is in other blocks is asked for at once:
 * one such load takes as long as all. */
template <int size>
__device__ inline void thin_gather(float (*memory)[size], const thin_shares &shares, const thin_work &work) {
    float *const z = memory[(int)threadIdx.x / 32 - work.part];
    const int first = work.part * 32 + (int)threadIdx.x % 32;
    for (int e = first; e < size; e += 32 * shares.warps)
        for (int p = 1; p < shares.warps; p++) z[e] += z[p * size + e];
#if __CUDA_ARCH__ >= 900
    if (shares.blocks > 1) {
        barrier_cluster_sync();
        if (work.rank == 0)
            for (int e = 4 * first; e < size; e += 128 * shares.warps) {
                float4 sum = *(float4 *)(z + e), v[THIN_CLUSTER] = {};
#pragma unroll
                for (int block = 1; block < THIN_CLUSTER; block++)
                    if (block < shares.blocks) v[block] = ld_shared_cluster_v4(shared_address(z + e), block);
#pragma unroll
                for (int block = 1; block < THIN_CLUSTER; block++)
                    sum.x += v[block].x, sum.y += v[block].y, sum.z += v[block].z, sum.w += v[block].w;
                *(float4 *)(z + e) = sum;
            }
        barrier_cluster_sync();
    }
#endif
    __syncthreads();
}

/* Where a sum is not finite, all of a warp's 16 rows again, by multiply-adds. */
template <typename T>
__device__ inline void thin_repair(const thin_args<T> &a, float *z, int pitch, const thin_where &at) {
    const int columns = a.of.heads * a.of.classes;
    bool odd = false;
    const int lane = (int)threadIdx.x % 32;
    for (int e = lane; e < 16 * columns; e += 32) odd |= !isfinite(z[e / columns * pitch + e % columns]);
    const bool again = __any_sync(0xffffffffu, odd);
    __syncwarp(); /* all have been read */
    if (!again) return;
    for (int e = lane; e < 16 * columns; e += 32) {
        const int r = e / columns, c = e % columns, h = c / a.of.classes;
        const T *w = a.of.base + h * a.of.head + (c - h * a.of.classes) * a.of.line;
        if (at.row(r) < a.rows) z[r * pitch + c] = ffma_chain(0.0f, a.x + at.row(r) * a.line, w, a.of.step, a.depth);
    }
    __syncwarp();
}

/* A lane's sums of 16 rows, from where thin_put put them. */
template <int NT>
__device__ inline void thin_take(float (&sums)[NT][4], const float *z) {
    const int lane = (int)threadIdx.x % 32;
    const float *from = z + lane / 4 * thin_pitch<NT> + lane % 4 * 2;
#pragma unroll
    for (int t = 0; t < NT; t++) {
        const float2 top = *(const float2 *)(from + t * 8), low = *(const float2 *)(from + 8 * thin_pitch<NT> + t * 8);
        sums[t][0] = top.x, sums[t][1] = top.y, sums[t][2] = low.x, sums[t][3] = low.y;
    }
}
/* thin_repair of sums in registers. */
template <typename T, int NT>
__device__ inline void thin_repair_sums(const thin_args<T> &a, float (&sums)[NT][4], float *z, const thin_where &at) {
    bool finite = true;
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int e = 0; e < 4; e++) finite &= isfinite(sums[t][e]);
    if (__all_sync(0xffffffffu, finite)) return;
    thin_put<NT>(sums, z);
    __syncwarp();
    thin_repair(a, z, thin_pitch<NT>, at);
    thin_take<NT>(sums, z);
    __syncwarp();
}

template <typename T, int NT, bool Exact, class Op>
__global__ void __launch_bounds__(THIN_WARPS * 32, thin_resident(NT))
    thin_kernel(const __grid_constant__ thin_args<T> a, const __grid_constant__ Op op) {
    constexpr int M = thin_m<NT, Exact>, tile = 16 * thin_pitch<NT>;
    __shared__ __align__(16) float memory[THIN_WARPS][M * tile];
    const thin_work work(a, thin_rows_of(NT, Exact));
    if (work.block_first >= a.rows) return; /* of a phase that has fewer rows than others */
    const bool alone = a.shares.warps == 1;
    thin_rows<T, NT, Exact> x(a, work);
    after_previous_launch(); /* which put w in order; x was there before */
    float sums[M][NT][4] = {};
    thin_sums<T, NT, Exact>(a, work, x, sums);
    float *const z = memory[threadIdx.x / 32];
    if (!alone) {
#pragma unroll
        for (int m = 0; m < M; m++) thin_put<NT>(sums[m], z + m * tile);
        __syncthreads();
        thin_gather(memory, a.shares, work);
        if (work.part > 0 || work.rank > 0) return;
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
        const thin_where at = work.at.from(16 * m);
        if (at.first >= a.rows) break;
        float *const of_tile = z + m * tile;
        if (!alone) thin_take<NT>(sums[m], of_tile);
        if constexpr (Exact) thin_repair_sums(a, sums[m], of_tile, at);
        bool by_rows = false;
        if constexpr (requires { op.by_rows(); }) {
            by_rows = op.by_rows();
            if (by_rows) {
                thin_put<NT>(sums[m], of_tile);
                __syncwarp();
                op.rows(of_tile, thin_pitch<NT>, at);
            }
        }
        if (!by_rows) op.fragment(sums[m], at);
    }
}

/* ---- for an Op ---- */

/* n elements to consecutive memory by so many lanes; of 16 bits two at a time, where these begin at a multiple of 4
 * bytes. */
template <typename T>
__device__ inline void thin_write(T *to, const float *z, int n, int lane, int lanes) {
    if constexpr (sizeof(T) == 4) {
        for (int j = lane; j < n; j += lanes) to[j] = z[j];
    } else {
        const int odd = (int)((uintptr_t)to / 2 % 2), head = odd < n ? odd : n, pairs = (n - head) / 2;
        for (int j = lane; j < pairs; j += lanes) {
            const float *from = z + head + 2 * j;
            *(uint32_t *)(to + head + 2 * j) = cvt_rn_x2(T(), from[0], from[1]);
        }
        if (lane == 0 && head > 0) to[0] = from_float<T>(z[0]);
        if (lane == 0 && head + 2 * pairs < n) to[n - 1] = from_float<T>(z[n - 1]);
    }
}
/* Lanes of a warp that write n elements together. */
__device__ inline int thin_lanes(int n) { return n > 32 ? 32 : n > 16 ? 16 : n > 8 ? 8 : 4; }

/* Fragments to lines of `to`, of which `columns` columns and `rows` rows are stored. pairs: two neighbours, from an
 * even column on, can be at once. */
template <typename T>
struct thin_lines {
    T *to;
    int64_t line, rows;
    int columns;
    bool pairs;
};
template <typename T>
thin_lines<T> thin_lines_of(T *to, int64_t line, int64_t rows, int columns) {
    const bool pairs = ((uintptr_t)to | (uintptr_t)(line * (int64_t)sizeof(T))) % (2 * sizeof(T)) == 0;
    return {to, line, rows, columns, pairs};
}
template <typename T>
__device__ inline void thin_store_pair(T *to, float a, float b) {
    if constexpr (sizeof(T) == 4)
        *(float2 *)to = make_float2(a, b);
    else
        *(uint32_t *)to = cvt_rn_x2(T(), a, b);
}
template <typename T, int NT>
__device__ inline void thin_store_fragment(const thin_lines<T> &l, const float (&z)[NT][4], const thin_where &at) {
    const int lane = (int)threadIdx.x % 32, first = lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = at.row(lane / 4 + 8 * half);
        T *const to = l.to + row * l.line + first;
        const int left = row < l.rows ? l.columns - first : 0;
#pragma unroll
        for (int t = 0; t < NT; t++) {
            const float a = z[t][2 * half], b = z[t][2 * half + 1];
            if (l.pairs && 8 * t + 1 < left) {
                thin_store_pair(to + 8 * t, a, b);
            } else {
                if (8 * t < left) to[8 * t] = from_float<T>(a);
                if (8 * t + 1 < left) to[8 * t + 1] = from_float<T>(b);
            }
        }
    }
}

/* ---- launching ---- */

/* Blocks along x, of all phases. */
template <typename T>
int64_t thin_blocks(const thin_args<T> &a, int of_warp) {
    const int64_t rows = of_warp * (THIN_WARPS / a.shares.warps);
    const int64_t of_phase = (a.rows + a.phases.count - 1) / a.phases.count;
    return (of_phase + rows - 1) / rows * a.phases.count * a.shares.blocks;
}

/* The rest of a's fields, w in order, and the kernel of NT tiles. */
template <int NT, bool Exact, typename T, typename W, class Op>
ridge_status thin_launch(const thin_weights<W> &w, thin_args<T> a, void *room, const Op &op, cudaStream_t stream) {
    a.phases = thin_phases_of((uintptr_t)a.x, a.line, a.rows, (int)sizeof(T));
    a.steps = (int)thin_steps(a.depth, (int)sizeof(T), thin_aligned(a.phases)), a.w = (const uint4 *)room;
    constexpr int rows = thin_rows_of(NT, Exact);
    a.shares = thin_shares_of(a.rows, NT, rows, a.steps, a.phases, device_capability(),
                              device_limit(cudaDevAttrMultiProcessorCount));
    const auto log2_of = [](int n) { return n >= 8 ? 3 : n / 2; };
    a.each = (a.steps + a.shares.warps * a.shares.blocks - 1) / (a.shares.warps * a.shares.blocks);
    a.shift = {log2_of(a.shares.blocks), log2_of(a.shares.warps), log2_of(a.phases.count)};
    if constexpr (Exact) a.of = w;
    const int64_t blocks = thin_blocks(a, rows);
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    RIDGE_TRY((thin_pack<T, Exact>(w, a.phases, NT, a.steps, room, stream)));
    return launch_overlapping(thin_kernel<T, NT, Exact, Op>,
                              {dim3((unsigned)blocks), THIN_WARPS * 32, 0, a.shares.blocks}, stream, device_overlaps(),
                              a, op);
}

/* All columns by one kernel. */
template <bool Exact, typename T, class Op>
ridge_status thin_run(const thin_weights<T> &w, const thin_args<T> &a, void *room, const Op &op, cudaStream_t stream) {
    const auto run = [&]<int NT>() {
        if constexpr (!Exact || 8 * NT <= THIN_EXACT) return thin_launch<NT, Exact>(w, a, room, op, stream);
        return RIDGE_UNSUPPORTED;
    };
    switch (thin_tiles((int64_t)w.heads * w.classes)) {
        case 1: return run.template operator()<1>();
        case 2: return run.template operator()<2>();
        case 4: return run.template operator()<4>();
        case 8: return run.template operator()<8>();
        case 16: return run.template operator()<16>();
        default: return RIDGE_UNSUPPORTED;
    }
}

}  // namespace ridge

#endif
