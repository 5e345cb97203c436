/* x w + b of up to 128 columns, which may be the classes of several heads side by side, by mma.sync: rows of x go from
 * memory to registers as they lie, whatever their alignment, and are read once. TMA and wgmma want rows that begin on
 * 16-byte boundaries, and tiles of 64 columns and more: copies of x and filled-up tiles cost more than the product.
 *
 * Depth: the order of a sum's terms is free, as long as both operands have the same one. A lane takes 16 bytes of a
 * row, four lanes 64 bytes, and these are the fragments of two mma.sync: a step.
 *
 * x: a row that begins between 16-byte boundaries is read in aligned pieces (skinny/thin_row.cuh). A lane shifts what
 * it needs out of its own piece and the next lane's.
 *
 * w: a launch before puts it in the order of fragments (skinny/thin_pack.cuh).
 *
 * fp32 (Exact): three products of hi and lo parts in tf32. Tensor cores truncate as they add: a step's six products are
 * a chain, chains are added in fp32. An infinity has no lo part: where a sum is not finite, the warp's sums are made
 * again by multiply-adds.
 *
 * Warps: each has all columns of 32 rows, or of 16 where there are more than 64 columns, since sums are in registers.
 * Or warps share the depth of their rows (parts).
 *
 * Logits go to shared memory, 16 rows of a warp at a time, for an Op that makes of them what is asked for. It has
 *
 *     void rows(float *z, int pitch, int64_t first) const;
 *
 * z: logits, without bias, of 16 rows from `first` on, in lines of `pitch`, the warp's own. It may have
 *
 *     bool takes_fragments(void) const;
 *     void fragment(float (&sums)[NT][4], int64_t first) const;     what it makes, in registers
 *     void store(const float *z, int pitch, int64_t first) const;   of what was made
 *
 * whose lanes have rows g and g + 8 of a fragment (ptx/mma.cuh). Called by whole warps. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_CUH

#include "cuda/mma/ffma.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/skinny/thin_pack.cuh"
#include "cuda/skinny/thin_row.cuh"

namespace ridge {

/* Tiles of 16 rows of a warp. */
template <int NT>
constexpr int thin_m = thin_rows_of(NT) / 16;

/* Steps whose loads of x are under way, and blocks of an SM: what registers have room for. */
template <int NT, bool Exact>
constexpr int thin_ahead = NT == 16 || (NT == 4 && !Exact) ? 4 : 3;
template <int NT, bool Exact>
constexpr int thin_resident = NT == 1 || (NT == 2 && !Exact) ? 3 : 2;

/* Two rows further is two banks further: what lanes read of 16 rows at a time meets in no bank. */
template <int NT>
constexpr int thin_pitch = (8 * NT + 31) / 32 * 32 + 2;

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
    int depth, steps, parts; /* parts: warps that share the depth of their rows */
    thin_weights<T> of;      /* Exact: w as it lies */
};

/* A warp's rows: g, g + 8, and of 32 rows g + 16 and g + 24 are a lane's. A row's four lanes have neighbouring pieces,
 * so a lane's second piece is the first one of the next lane, for the last lane that of the first lane's next step. */
template <typename T, int NT, bool Exact>
class thin_rows {
    static constexpr int step = thin_step<T>, ahead = thin_ahead<NT, Exact> /* steps */, count = 2 * thin_m<NT>;
    static_assert(ahead >= 2);
    const T *first;     /* of the lane's rows */
    int64_t next;       /* from one of them to the next */
    int depth, rows, k; /* rows: of the lane's, that exist; k: of this lane, in the step to come */
    thin_span span;
    uint4 low[ahead][count];

    __device__ thin_row<T> row(int r) const { return {first + r * next, r < rows ? depth : 0}; }
    __device__ void load(int slot, int at) {
#pragma unroll
        for (int r = 0; r < count; r++) low[slot][r] = row(r).low(at, span);
    }
    __device__ static uint4 from_next_lane(const uint4 &mine, const uint4 &later) {
        const int lane = (int)threadIdx.x % 32, from = lane / 4 * 4 + (lane + 1) % 4;
        const auto next = [&](unsigned a, unsigned b) { return __shfl_sync(0xffffffffu, lane % 4 == 0 ? b : a, from); };
        return make_uint4(next(mine.x, later.x), next(mine.y, later.y), next(mine.z, later.z), next(mine.w, later.w));
    }

   public:
    __device__ thin_rows(const thin_args<T> &a, int64_t begin, int first_step)
        : span(a.x, a.line, a.rows, a.depth, begin, begin + 16 * thin_m<NT> - 1) {
        const int lane = (int)threadIdx.x % 32;
        const int64_t top = begin + lane / 4, left = a.rows - top;
        first = a.x + top * a.line, next = 8 * a.line, depth = a.depth;
        rows = left <= 0 ? 0 : left > 8 * (count - 1) ? count : (int)(left + 7) / 8;
        k = first_step * step + lane % 4 * pack_width<T>;
#pragma unroll
        for (int s = 0; s < ahead; s++) load(s, k + s * step);
    }
    /* The step's elements; the loads of a later one are then under way. Slot: of the step, one after the other:
     * constant, since moving what is under way would wait for it. */
    template <int Slot>
    __device__ void take(uint4 (&v)[count]) {
#pragma unroll
        for (int r = 0; r < count; r++)
            v[r] = row(r).whole(low[Slot][r], from_next_lane(low[Slot][r], low[(Slot + 1) % ahead][r]), k, span);
        load(Slot, k + ahead * step);
        k += step;
#pragma unroll
        for (int r = 0; r < count; r++)
            if (!Exact) thin_round(v[r], T());
    }
};

/* Fragments of 16 rows by 64 bytes, of what two lanes' rows have: of two mma.sync. */
struct thin_fragments {
    unsigned first[4], second[4];
    __device__ thin_fragments(const uint4 &top, const uint4 &low)
        : first{top.x, low.x, top.y, low.y}, second{top.z, low.z, top.w, low.w} {}
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

/* The sums of a step more. w(i): its i-th 16 bytes of the lane. */
template <typename T, int NT, bool Exact, typename W>
__device__ inline void thin_add_step(const uint4 (&v)[2 * thin_m<NT>], const W &w, float (&sums)[thin_m<NT>][NT][4]) {
    constexpr int M = thin_m<NT>;
    if constexpr (Exact) {
#pragma unroll
        for (int m = 0; m < M; m++) { /* one after the other: registers do not suffice for the parts of both */
            const uint4 &top = v[2 * m], &low = v[2 * m + 1];
            const thin_fragments x_hi(thin_parts_of(top, false), thin_parts_of(low, false));
            const thin_fragments x_lo(thin_parts_of(top, true), thin_parts_of(low, true));
#pragma unroll
            for (int t = 0; t < NT; t++) {
                const uint4 w_hi = w(2 * t), w_lo = w(2 * t + 1);
                float d[4] = {};
                thin_multiply<T>(d, x_lo, w_hi), thin_multiply<T>(d, x_hi, w_lo), thin_multiply<T>(d, x_hi, w_hi);
#pragma unroll
                for (int e = 0; e < 4; e++) sums[m][t][e] += d[e];
            }
        }
    } else {
#pragma unroll
        for (int t = 0; t < NT; t++) {
            const uint4 b = w(t);
#pragma unroll
            for (int m = 0; m < M; m++) thin_multiply<T>(sums[m][t], thin_fragments(v[2 * m], v[2 * m + 1]), b);
        }
    }
}

/* Of the steps from `step` on, `count` of them. w, 16 bytes of each tile and part, not by __ldg: the launch before
 * wrote it. */
template <typename T, int NT, bool Exact>
__device__ inline void thin_sums(const thin_args<T> &a, thin_rows<T, NT, Exact> &x, int step, int count,
                                 float (&sums)[thin_m<NT>][NT][4]) {
    constexpr int size = NT * (Exact ? 64 : 32);
    const uint4 *w = a.w + ((int64_t)blockIdx.y * a.steps + step) * size + threadIdx.x % 32;
    const auto one = [&]<int Slot>() {
        uint4 v[2 * thin_m<NT>];
        x.template take<Slot>(v);
        thin_add_step<T, NT, Exact>(
            v, [&](int i) { return w[i * 32]; }, sums);
        w += size;
    };
    static_assert(thin_ahead<NT, Exact> == 3 || thin_ahead<NT, Exact> == 4);
#pragma unroll 1
    for (int s = 0; s < count;) { /* whole warps */
        one.template operator()<0>();
        if (++s == count) break;
        one.template operator()<1>();
        if (++s == count) break;
        one.template operator()<2>();
        if (++s == count) break;
        if constexpr (thin_ahead<NT, Exact> == 4) {
            one.template operator()<3>();
            s++;
        }
    }
}

/* 16 rows to the warp's part of shared memory. */
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
/* The parts' sums, in their order. */
template <int NT>
__device__ inline void thin_add(float *z, int parts) {
    constexpr int size = 16 * thin_pitch<NT>;
    for (int e = (int)threadIdx.x % 32; e < size; e += 32)
        for (int p = 1; p < parts; p++) z[e] += z[p * size + e];
}

/* Where a sum is not finite, all of a warp's 16 rows again, by multiply-adds. columns: of the tile. */
template <typename T>
__device__ inline void thin_repair(const thin_args<T> &a, float *z, int pitch, int64_t first, int column, int columns) {
    bool odd = false;
    const int lane = (int)threadIdx.x % 32;
    for (int e = lane; e < 16 * columns; e += 32) odd |= !isfinite(z[e / columns * pitch + e % columns]);
    const bool again = __any_sync(0xffffffffu, odd);
    __syncwarp(); /* all have been read */
    if (!again) return;
    for (int e = lane; e < 16 * columns; e += 32) {
        const int r = e / columns, c = column + e % columns, h = c / a.of.classes;
        const T *w = a.of.base + h * a.of.head + (c - h * a.of.classes) * a.of.line;
        if (first + r < a.rows)
            z[r * pitch + e % columns] = ffma_chain(0.0f, a.x + (first + r) * a.line, w, a.of.step, a.depth);
    }
    __syncwarp();
}

template <typename T, int NT, bool Exact, class Op>
__global__ void __launch_bounds__(THIN_WARPS * 32, thin_resident<NT, Exact>)
    thin_kernel(const __grid_constant__ thin_args<T> a, const __grid_constant__ Op op) {
    __shared__ __align__(16) float memory[THIN_WARPS][16 * thin_pitch<NT>];
    const int warp = (int)threadIdx.x / 32, part = warp % a.parts;
    const int64_t first = ((int64_t)blockIdx.x * (THIN_WARPS / a.parts) + warp / a.parts) * (16 * thin_m<NT>);
    const int each = (a.steps + a.parts - 1) / a.parts, step = part * each;
    thin_rows<T, NT, Exact> x(a, first, step);
    after_previous_launch(); /* which put w in order; x was there before */
    float sums[thin_m<NT>][NT][4] = {};
    thin_sums<T, NT, Exact>(a, x, step, min(each, a.steps - step), sums);
#pragma unroll
    for (int m = 0; m < thin_m<NT>; m++) {
        bool made = false;
        if constexpr (!Exact && requires { op.fragment(sums[m], first); })
            if (a.parts == 1 && op.takes_fragments()) op.fragment(sums[m], first + m * 16), made = true;
        thin_put<NT>(sums[m], memory[warp]);
        __syncthreads();
        if (part == 0 && first + m * 16 < a.rows) {
            if (a.parts > 1) thin_add<NT>(memory[warp], a.parts), __syncwarp();
            if constexpr (Exact) {
                const int column = (int)blockIdx.y * 8 * NT, left = a.of.heads * a.of.classes - column;
                thin_repair(a, memory[warp], thin_pitch<NT>, first + m * 16, column, left < 8 * NT ? left : 8 * NT);
            }
            if (made)
                op.store(memory[warp], thin_pitch<NT>, first + m * 16);
            else
                op.rows(memory[warp], thin_pitch<NT>, first + m * 16);
        }
        __syncthreads();
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

/* ---- launching ---- */

/* Blocks that have all rows, by kernels of so many tiles. */
template <typename T>
int64_t thin_blocks(const thin_args<T> &a, int tiles) {
    const int64_t rows = thin_rows_of(tiles) * (THIN_WARPS / a.parts);
    return (a.rows + rows - 1) / rows;
}

template <bool Exact, typename T, class Op>
ridge_status thin_run(const thin_weights<T> &w, thin_args<T> a, void *room, const Op &op, cudaStream_t stream) {
    const int tiles = thin_tiles((int64_t)w.heads * w.classes);
    a.steps = (int)thin_steps(a.depth, (int)sizeof(T)), a.w = (const uint4 *)room, a.of = w;
    a.parts = thin_parts(a.rows, a.depth, tiles, (int)sizeof(T), device_limit(cudaDevAttrMultiProcessorCount));
    const int64_t blocks = thin_blocks(a, tiles);
    if (tiles == 0 || blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    RIDGE_TRY((thin_pack<T, Exact>(w, tiles, a.steps, room, stream)));
    const launch_shape shape = {dim3((unsigned)blocks), THIN_WARPS * 32};
    const auto run = [&]<int NT>() {
        return launch_overlapping(thin_kernel<T, NT, Exact, Op>, shape, stream, device_overlaps(), a, op);
    };
    switch (tiles) {
        case 1: return run.template operator()<1>();
        case 2: return run.template operator()<2>();
        case 4: return run.template operator()<4>();
        case 8:
            if constexpr (!Exact) return run.template operator()<8>();
            return RIDGE_UNSUPPORTED;
        default:
            if constexpr (!Exact) return run.template operator()<16>(); /* THIN_EXACT */
            return RIDGE_UNSUPPORTED;
    }
}

/* Any number of columns, thin_wide(Exact) of them a block: of few terms. */
template <bool Exact, typename T, typename W, class Op>
ridge_status thin_run_wide(const thin_weights<W> &w, thin_args<T> a, void *room, const Op &op, cudaStream_t stream) {
    constexpr int wide = thin_wide(Exact), tiles = wide / 8;
    a.steps = (int)thin_steps(a.depth, (int)sizeof(T)), a.w = (const uint4 *)room, a.parts = 1;
    if constexpr (Exact) a.of = w;
    const int64_t blocks = thin_blocks(a, tiles), across = ((int64_t)w.classes + wide - 1) / wide;
    if (blocks > INT32_MAX || across > 65535) return RIDGE_UNSUPPORTED;
    RIDGE_TRY((thin_pack<T, Exact>(w, tiles, a.steps, room, stream)));
    return launch_overlapping(thin_kernel<T, tiles, Exact, Op>,
                              {dim3((unsigned)blocks, (unsigned)across), THIN_WARPS * 32}, stream, device_overlaps(), a,
                              op);
}

}  // namespace ridge

#endif
