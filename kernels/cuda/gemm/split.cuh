/* fp32 operands to hi and lo parts in fp16 (tile/split.cuh), with a scale for each line of an operand. A split
 * operand's lines run along K, whichever way they ran before: [hi of all K | lo of all K], K filled up with zeros to
 * whole slices of 64. Parts: 2, or 1 for the hi parts alone. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_SPLIT_CUH
#define RIDGE_KERNELS_CUDA_GEMM_SPLIT_CUH

#include "cuda/gemm/split.h"
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/reduce.cuh"
#include "cuda/tile/split.cuh"
#include "cuda/tile/transpose.cuh"

namespace ridge {

constexpr int SPLIT_SLICE = 64;

/* Columns are read once where the depth is up to 1024, lines where it is up to 4096: a thread keeps 32 elements. */
constexpr int SPLIT_DEPTH = 1024;
/* Columns so few and deep that blocks of whole columns would leave SMs empty: see split_columns. */
inline bool split_is_deep(int64_t columns, int64_t depth) { return columns <= SPLIT_FEW && depth > 4 * SPLIT_DEPTH; }

/* Lines along the depth: `to` has the parts of each. undo[line]: 1 / scale. A line by a warp; Deep: by four. */
template <int Parts>
struct split_lines {
    const float *from;
    int64_t stride;
    int lines, depth, padded;
    __half *to;
    float *undo;
    unsigned *infinite; /* NULL, or set where an element is */
    bool fours = true;  /* four neighbours exist or none, at multiples of 16 bytes */

    static constexpr bool across = false;
    __host__ __device__ int finds(void) const { return 0; }
    __device__ void find(int) const {}
    __host__ __device__ int blocks(bool deep) const { return (lines + (deep ? 1 : 7)) / (deep ? 2 : 8); }
    template <int Step>
    __device__ void load(float4 (&v)[8], const float *line, int k) const {
        if (!fours) {
#pragma unroll
            for (int i = 0; i < 8; i++, k += Step) {
                v[i].x = k < depth ? line[k] : 0.0f;
                v[i].y = k + 1 < depth ? line[k + 1] : 0.0f;
                v[i].z = k + 2 < depth ? line[k + 2] : 0.0f;
                v[i].w = k + 3 < depth ? line[k + 3] : 0.0f;
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < 8; i++, k += Step)
            v[i] = k < depth ? *(const float4 *)(line + k) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    template <bool Deep>
    __device__ float most_of_line(float most) const {
        for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
        if constexpr (Deep) {
            __shared__ float warps[8];
            if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
            __syncthreads();
            for (int w = 0; w < 4; w++) most = fmaxf(most, warps[threadIdx.x / 128 * 4 + w]);
        }
        return most;
    }
    template <bool Deep>
    __device__ void run(int block) const {
        constexpr int team = Deep ? 128 : 32, step = 4 * team;
        const int line = block * (256 / team) + (int)threadIdx.x / team, first = (int)threadIdx.x % team * 4;
        if (line >= lines) return;
        const float *values = from + line * stride;
        __half *hi = to + (int64_t)line * Parts * padded, *lo = hi + padded;
        float4 v[8];
        float most = 0.0f;
#pragma unroll 1
        for (int k = first; k < max(depth, 8 * step); k += 8 * step) {
            load<step>(v, values, k);
#pragma unroll
            for (const float4 &f : v)
                most = fmaxf(fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y))), fmaxf(fabsf(f.z), fabsf(f.w)));
        }
        most = most_of_line<Deep>(most);
        const split_scale scale(most);
        if (first == 0) {
            undo[line] = scale.undo;
            if (infinite && most == INFINITY) atomicOr(infinite, 1u); /* others may, too */
        }
#pragma unroll 1
        for (int k = first; k < padded; k += 8 * step) {
            if (Deep && padded > 8 * step) load<step>(v, values, k);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if (k + step * i >= padded) break;
                const fp16_parts p0 = split_fp16(v[i].x, v[i].y, scale.by), p1 = split_fp16(v[i].z, v[i].w, scale.by);
                *(uint2 *)(hi + k + step * i) = make_uint2(p0.hi, p1.hi);
                if constexpr (Parts > 1) *(uint2 *)(lo + k + step * i) = make_uint2(p0.lo, p1.lo);
            }
        }
    }
};

/* Lines across the depth, of `columns` each, of one head or several: `to` has the parts of each column, `wide`
 * columns of each head, zero beyond `columns`. A block has eight columns, a thread four by eight of the depth: they lie
 * transposed in its registers, so that it loads and stores 16 bytes at a time. With `most` a block has SPLIT_DEPTH of
 * the depth alone, and a launch before has found the columns' largest. */
template <int Parts>
struct split_columns {
    const float *from;
    int64_t stride, head;
    int heads, columns, depth, padded, wide;
    bool fours; /* see load_trans */
    __half *to;
    float *undo;
    unsigned *infinite; /* NULL, or set where an element is */
    unsigned *most;     /* NULL, or of each column the largest magnitude's bits; zero before the launch that finds it */

    static constexpr bool across = true;
    __host__ __device__ int groups(void) const { return heads * (wide / 8); }
    __host__ __device__ int finds(void) const {
        return most ? groups() * ((depth + SPLIT_DEPTH - 1) / SPLIT_DEPTH) : 0;
    }
    __host__ __device__ int blocks(bool) const {
        return most ? groups() * ((padded + SPLIT_DEPTH - 1) / SPLIT_DEPTH) : groups();
    }
    __device__ void load(float4 (&v)[8], const float *values, int column, int k) const {
        load_trans<0>(v, values + k * stride, stride, depth - k, column, columns, fours);
    }
    /* The largest of the block's columns: of the threads that have the same ones. */
    __device__ void most_of_block(float (&most)[4]) const {
        __shared__ float warps[8][2][4];
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int e = 0; e < 4; e++)
            for (int mask = 16; mask > 1; mask /= 2)
                most[e] = fmaxf(most[e], __shfl_xor_sync(0xffffffffu, most[e], mask));
        if (lane < 2)
#pragma unroll
            for (int e = 0; e < 4; e++) warps[threadIdx.x / 32][lane][e] = most[e];
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 4; e++)
            for (int w = 0; w < 8; w++) most[e] = fmaxf(most[e], warps[w][lane % 2][e]);
    }
    /* Of the block's columns from line `first` to `end`, the block's together. */
    __device__ void largest_of(float (&largest)[4], float4 (&v)[8], const float *values, int column, int first,
                               int end) const {
#pragma unroll 1
        for (int k = first; k < end; k += SPLIT_DEPTH) {
            load(v, values, column, k);
#pragma unroll
            for (const float4 &f : v)
#pragma unroll
                for (int e = 0; e < 4; e++) largest[e] = fmaxf(largest[e], fabsf(float4_at(f, e)));
        }
        most_of_block(largest);
    }
    /* What the thread has: a head, the first of four columns, the first of eight lines of the block's first ones. */
    struct place {
        int head, column, line;
        __device__ place(int group, int wide)
            : head(group / (wide / 8)),
              column(group % (wide / 8) * 8 + (int)threadIdx.x % 2 * 4),
              line((int)threadIdx.x / 2 * 8) {}
    };
    __device__ void find(int block) const {
        const place p(block % groups(), wide);
        const int chunk = block / groups() * SPLIT_DEPTH;
        float4 v[8];
        float largest[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        largest_of(largest, v, from + p.head * head, p.column, chunk + p.line, chunk + SPLIT_DEPTH);
        if (p.line > 0) return;
#pragma unroll
        for (int e = 0; e < 4; e++) atomicMax(&most[p.head * wide + p.column + e], __float_as_uint(largest[e]));
    }
    template <bool Deep>
    __device__ void run(int block) const {
        const bool known = Deep && most;
        const place p(known ? block % groups() : block, wide);
        const int chunk = known ? block / groups() * SPLIT_DEPTH : 0, first = chunk + p.line, column = p.column;
        const int at = p.head * wide + column, end = known ? min(padded, chunk + SPLIT_DEPTH) : padded;
        const float *values = from + p.head * head;
        float4 v[8];
        float largest[4] = {0.0f, 0.0f, 0.0f, 0.0f}, scale[4];
        if (known)
            for (int e = 0; e < 4; e++) largest[e] = __uint_as_float(most[at + e]);
        else
            largest_of(largest, v, values, column, first, Deep ? depth : SPLIT_DEPTH);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const split_scale s(largest[e]);
            scale[e] = s.by;
            if (first == 0) {
                undo[at + e] = s.undo;
                if (infinite && largest[e] == INFINITY) atomicOr(infinite, 1u);
            }
        }
#pragma unroll 1
        for (int k = first; k < end; k += SPLIT_DEPTH) {
            if (Deep) load(v, values, column, k);
            __half *line = to + (int64_t)at * Parts * padded + k;
#pragma unroll
            for (int e = 0; e < 4; e++, line += Parts * padded) {
                fp16_parts p[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    p[i] = split_fp16(float4_at(v[2 * i], e), float4_at(v[2 * i + 1], e), scale[e]);
                st_global_v4(line, make_uint4(p[0].hi, p[1].hi, p[2].hi, p[3].hi));
                if constexpr (Parts > 1) st_global_v4(line + padded, make_uint4(p[0].lo, p[1].lo, p[2].lo, p[3].lo));
            }
        }
    }
};

/* Whether lines of m, along the depth, are whole pieces of 16 bytes. */
inline bool split_fours(const matrix_view &m) { return is_aligned16(m.base) && m.line % 4 == 0 && m.columns % 4 == 0; }

/* Both operands in one launch; columns first, whose blocks take longest. zero: so many counters become 0. Deep: more
 * than SPLIT_DEPTH are written. */
template <class X, class W, bool Deep>
__global__ void __launch_bounds__(256, Deep ? 2 : 4) split_operands(X x, W w, unsigned *zero, int zeros) {
    before_next_launch();
    const int block = (int)blockIdx.x, first = w.blocks(Deep);
    for (int i = block * 256 + (int)threadIdx.x; i < zeros; i += (int)gridDim.x * 256) zero[i] = 0;
    if (block < first)
        w.template run<Deep>(block);
    else
        x.template run<Deep>(block - first);
}
/* Their columns' largest, where that is a launch of its own. */
template <class X, class W>
__global__ void __launch_bounds__(256, 4) find_largest(X x, W w) {
    before_next_launch();
    const int block = (int)blockIdx.x, first = w.finds();
    if (block < first)
        w.find(block);
    else
        x.find(block - first);
}
template <class X, class W>
ridge_status split_both(const X &x, const W &w, cudaStream_t stream, unsigned *zero = NULL, int zeros = 0) {
    if constexpr (X::across || W::across)
        if (x.finds() + w.finds() > 0)
            RIDGE_TRY(launch_overlapping(find_largest<X, W>, {dim3((unsigned)(x.finds() + w.finds())), 256}, stream,
                                         true, x, w));
    const bool deep = x.padded > SPLIT_DEPTH; /* a depth in shares may be filled up beyond it */
    const auto kernel = deep ? split_operands<X, W, true> : split_operands<X, W, false>;
    return launch_overlapping(kernel, {dim3((unsigned)(x.blocks(deep) + w.blocks(deep))), 256}, stream, true, x, w,
                              zero, zeros);
}

/* ---- operands as matrices: lines of the parts run along their columns, whichever way their own lines ran ---- */

/* Where one operand's parts go. largest: SPLIT_FEW counters, for columns so few and deep that a launch of its own finds
 * what scales them. */
template <int Parts>
struct split_side {
    __half *to;
    float *undo; /* of each line, of round_up(lines, 8) */
    unsigned *infinite, *largest;

    split_lines<Parts> lines(const matrix_view &m, int padded) const {
        return {(const float *)m.base, m.line, (int)m.rows, (int)m.columns, padded, to, undo, infinite, split_fours(m)};
    }
    split_columns<Parts> columns(const matrix_view &m, int padded) const {
        split_columns<Parts> s = {};
        s.from = (const float *)m.base, s.stride = m.step;
        s.heads = 1, s.columns = (int)m.rows, s.depth = (int)m.columns, s.padded = padded;
        s.wide = (int)((m.rows + 7) / 8 * 8);
        s.fours = is_aligned16(m.base) && m.rows % 4 == 0 && m.step % 4 == 0;
        s.to = to, s.undo = undo, s.infinite = infinite;
        s.most = needs_largest(m) ? largest : NULL;
        return s;
    }
    static bool needs_largest(const matrix_view &m) {
        return !m.by_rows() && split_is_deep((m.rows + 7) / 8 * 8, m.columns);
    }
    /* The parts as a matrix for TMA. */
    matrix_lines parts(const matrix_view &m, int padded) const {
        return {to, Parts * (int64_t)padded, m.rows, Parts * (int64_t)padded};
    }
};

/* Both operands' parts; counters of r->largest follow those of l->largest. */
template <int Parts>
ridge_status split_sides(const split_side<Parts> &l, const matrix_view &a, const split_side<Parts> &r,
                         const matrix_view &b, int padded, cudaStream_t stream) {
    if (l.needs_largest(a) || r.needs_largest(b))
        RIDGE_TRY(clear_memory(l.largest, 2 * SPLIT_FEW * sizeof(unsigned), stream));
    if (a.by_rows() && b.by_rows()) return split_both(l.lines(a, padded), r.lines(b, padded), stream);
    if (a.by_rows()) return split_both(l.lines(a, padded), r.columns(b, padded), stream);
    if (b.by_rows()) return split_both(r.lines(b, padded), l.columns(a, padded), stream);
    return split_both(l.columns(a, padded), r.columns(b, padded), stream);
}

}  // namespace ridge

#endif
