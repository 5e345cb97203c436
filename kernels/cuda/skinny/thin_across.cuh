/* C = A^T B of many rows: A [rows, m] with few columns, B [rows, n] as it lies, whatever its alignment, read once; sums
 * of shares of the rows, fp32, to memory; and those of A's columns.
 *
 * By mma.sync of tf32, m by rows times rows by n: 16-bit elements are tf32 exactly; fp32 by three products (Exact, see
 * skinny/thin.cuh). A block has rows of one phase (skinny/thin_row.cuh), its warps take turns at them and add their
 * sums at the end. A lane takes 16 bytes of two of eight rows of B, eight lanes 128 bytes of each, and neighbouring
 * columns of A: which of a tile's rows and columns is which of A's and B's columns is free, so a lane's elements are
 * those of as many tiles. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_ACROSS_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_ACROSS_CUH

#include "cuda/skinny/thin.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

/* A's lines begin at multiples of 16 bytes; columns up to a multiple of 8 are there, whatever they hold. */
template <typename A, typename B>
struct across_args {
    const A *a;
    const B *b;
    int64_t a_line, b_line, rows, share; /* share: rows of a block */
    int m, n;
    thin_phases phases; /* of b's rows */
    float *sums;        /* of a share: m lines of `stride`, `next` from one share's to the next's */
    int64_t stride, next;
    float *a_sums; /* of a share: of A's m columns */
};

/* A block's rows: `begin` to `end` of a phase. */
struct across_work {
    int phase_begin;
    int64_t begin, end;
    thin_where rows;

    template <typename A, typename B>
    __device__ explicit across_work(const across_args<A, B> &p) {
        const int phase = (int)blockIdx.z % p.phases.count;
        phase_begin = thin_phase_begin<B>(p.phases, phase), rows = {phase, p.phases.count};
        const int64_t all = (p.rows - phase + p.phases.count - 1) / p.phases.count;
        begin = blockIdx.z / p.phases.count * p.share, end = begin + p.share < all ? begin + p.share : all;
    }
};

/* So many bytes as words, zeros unless present: elements of 16 bits would be a register each, and be waited for. */
template <int Bytes>
using across_words = std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 8, uint2, uint4>>;
template <int Bytes>
__device__ inline across_words<Bytes> across_load(const void *p, bool present) {
    if constexpr (Bytes == 4) return ld_global_u32_if(p, present);
    if constexpr (Bytes == 8) return ld_global_v2_if(p, present);
    if constexpr (Bytes == 16) return ld_global_if(p, present);
}

/* Of eight rows a warp at a time: rows t and t + 4 are a lane's, of B 16 bytes, of A 2 M columns. */
template <typename A, typename B, int M>
class across_rows {
    static constexpr int ahead = 4;
    const across_args<A, B> &p;
    const across_work &work;
    int64_t row;     /* the lane's first, of the phase, to load next */
    int column;      /* of A */
    thin_cut<B> cut; /* of the lane's piece */
    thin_span span;

   public:
    static constexpr int step = 8 * THIN_WARPS;
    struct slot {
        uint4 b[2];
        across_words<2 * M *(int)sizeof(A)> a[2];
        __device__ pack<A, 2 * M> of_a(int r) const {
            union {
                across_words<2 * M *(int)sizeof(A)> words;
                pack<A, 2 * M> elements;
            } u = {a[r]};
            return u.elements;
        }
    } ring[ahead];
    int turns;

   private:
    __device__ void load(slot &s) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int64_t i = work.rows.row((int)(row + 4 * r));
            const char *const piece = (const char *)(p.b + i * p.b_line) - cut.begin * (int)sizeof(B);
            const bool there = row + 4 * r < work.end;
            s.a[r] = across_load<sizeof(A) * 2 * M>(p.a + i * p.a_line + column, there && column < p.m);
            /* what is beside the row goes to columns that are not stored */
            s.b[r] = ld_global_if(piece, there && cut.has_any() && span.has(piece));
            if (there && cut.has_any() && !span.has(piece)) s.b[r] = cut.one_by_one(piece);
        }
        row += step;
    }

   public:
    __device__ across_rows(const across_args<A, B> &args, const across_work &of, int first_of_a, int first_of_b)
        : p(args), work(of), span(args.b, args.b_line, args.rows, args.n) {
        const int lane = (int)threadIdx.x % 32;
        row = work.begin + (int)threadIdx.x / 32 * 8 + lane % 4;
        column = first_of_a + lane / 4 * 2 * M;
        cut.begin = work.phase_begin - first_of_b - lane / 4 * pack_width<B>, cut.end = cut.begin + p.n;
        turns = work.end > work.begin ? (int)((work.end - work.begin + step - 1) / step) : 0;
#pragma unroll
        for (int s = 0; s < ahead; s++)
            if (s < turns) load(ring[s]);
    }
    /* As thin_rows::before_last. */
    template <typename F>
    __device__ void all(const F &add) {
#pragma unroll 1
        for (int s = 0; s < turns; s += ahead) {
#pragma unroll
            for (int at = 0; at < ahead; at++) {
                if (s + at >= turns) break;
                add(ring[at]);
                if (s + at + ahead < turns) load(ring[at]);
            }
        }
    }
};

/* Eight rows' products more. */
template <bool Exact>
__device__ inline void across_multiply(float (&sums)[4], const float (&a)[4], float b0, float b1) {
    unsigned hi[4], lo[4];
    if constexpr (Exact) {
        const tf32_parts one = split_tf32(b0), two = split_tf32(b1);
        float d[4] = {};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const tf32_parts both = split_tf32(a[e]);
            hi[e] = both.hi, lo[e] = both.lo;
        }
        mma_m16n8k8_tf32(d, lo, one.hi, two.hi), mma_m16n8k8_tf32(d, hi, one.lo, two.lo);
        mma_m16n8k8_tf32(d, hi, one.hi, two.hi);
#pragma unroll
        for (int e = 0; e < 4; e++) sums[e] += d[e];
    } else {
#pragma unroll
        for (int e = 0; e < 4; e++) hi[e] = __float_as_uint(a[e]);
        mma_m16n8k8_tf32(sums, hi, __float_as_uint(thin_operand<float>(b0)), __float_as_uint(thin_operand<float>(b1)));
    }
}

/* A sum of the block's share by multiply-adds. */
template <typename A, typename B>
__device__ float across_again(const across_args<A, B> &p, const across_work &work, int m, int n) {
    float sum = 0.0f;
    for (int64_t i = work.begin; i < work.end; i++) {
        const int64_t row = work.rows.row((int)i);
        sum = fmaf(to_float(p.a[row * p.a_line + m]), to_float(p.b[row * p.b_line + n]), sum);
    }
    return sum;
}
/* Sums of A's columns of the block's share, of which a lane has its rows' of its 2 M columns. */
template <int M, typename A, typename B>
__device__ inline void across_store_of_a(const across_args<A, B> &p, const float (&sums)[2 * M], float *room, int pitch,
                                         int first) {
    const int lane = (int)threadIdx.x % 32, column = (int)threadIdx.x;
#pragma unroll
    for (int e = 0; e < 2 * M; e++) {
        const float sum = quad_sum(sums[e]);
        if (lane % 4 == 0) room[(int)threadIdx.x / 32 * pitch + lane / 4 * 2 * M + e] = sum;
    }
    __syncthreads();
    if (column >= 16 * M || first + column >= p.m) return;
    float sum = 0.0f;
    for (int w = 0; w < THIN_WARPS; w++) sum += room[w * pitch + column];
    p.a_sums[(int64_t)blockIdx.z * p.m + first + column] = sum;
}
/* The m-th tile of a warp's sums to its part of shared memory, those of all warps from there to memory. An infinity has
 * no lo part: where a sum of Exact is not finite, it is made again. first: the block's first column of A; column: of B,
 * which may be in front of it. */
template <bool Exact, int M, typename A, typename B, int N>
__device__ inline void across_store(const across_args<A, B> &p, const across_work &work, const float (&sums)[N][4],
                                    float (*room)[16 * (8 * N + 1)], int tile, int first, int column) {
    constexpr int pitch = 8 * N + 1;
    const int lane = (int)threadIdx.x % 32;
    float *const mine = room[threadIdx.x / 32];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) mine[(lane / 4 + e / 2 * 8) * pitch + (lane % 4 * 2 + e % 2) * N + j] = sums[j][e];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < 16 * 8 * N; e += 32 * THIN_WARPS) {
        const int i = e / (8 * N), m = first + i % 8 * 2 * M + 2 * tile + i / 8, n = column + e % (8 * N);
        float sum = 0.0f;
        for (int w = 0; w < THIN_WARPS; w++) sum += room[w][i * pitch + e % (8 * N)];
        if (m >= p.m || n < 0 || n >= p.n) continue;
        if (Exact && !isfinite(sum)) sum = across_again(p, work, m, n);
        p.sums[(int64_t)blockIdx.z * p.next + m * p.stride + n] = sum;
    }
}

/* Grid: B's columns, A's, shares. 16 M of A's columns a block. */
template <typename A, typename B, int M, bool Exact>
__global__ void __launch_bounds__(32 * THIN_WARPS, M == 1 ? 4 : 3)
    across_kernel(const __grid_constant__ across_args<A, B> p) {
    constexpr int N = pack_width<B>;
    __shared__ float room[THIN_WARPS][16 * (8 * N + 1)];
    after_previous_launch();
    const across_work work(p);
    const int first_of_b = (int)blockIdx.x * 8 * N, first = (int)blockIdx.y * 16 * M;
    float sums[M][N][4] = {}, of_a[2 * M] = {};
    across_rows<A, B, M> rows(p, work, first, first_of_b);
    rows.all([&](const typename across_rows<A, B, M>::slot &s) {
        const pack<B, N> b[2] = {elements_of<B, N>(s.b[0]), elements_of<B, N>(s.b[1])};
        const pack<A, 2 * M> rows_of_a[2] = {s.of_a(0), s.of_a(1)};
        float a[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float v = to_float(rows_of_a[e / 2].v[2 * m + e % 2]);
                of_a[2 * m + e % 2] += v;
                a[m][e] = Exact ? v : cvt_rna_tf32(v);
            }
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int m = 0; m < M; m++)
                across_multiply<Exact>(sums[m][j], a[m], to_float(b[0].v[j]), to_float(b[1].v[j]));
    });
#pragma unroll
    for (int m = 0; m < M; m++) across_store<Exact, M>(p, work, sums[m], room, m, first, first_of_b - work.phase_begin);
    if (blockIdx.x > 0) return;
    __syncthreads();
    across_store_of_a<M>(p, of_a, room[0], 16 * (8 * N + 1), first);
}

/* p.sums: across_bytes(…) in memory, of across_shares(…) shares; p.a_sums: [shares][p.m]. */
template <bool Exact, typename A, typename B>
ridge_status across_run(across_args<A, B> p, cudaStream_t stream) {
    const int64_t columns = ACROSS_COLUMN_BYTES / (int)sizeof(B),
                  slack = thin_aligned(p.phases) ? 0 : pack_width<B> - 1;
    const int shares = across_shares(p.rows, p.n, p.m, (int)sizeof(B), p.phases.count), each = shares / p.phases.count;
    const int64_t across = (p.n + slack + columns - 1) / columns;
    const int64_t of_phase = (p.rows + p.phases.count - 1) / p.phases.count;
    p.share = ((of_phase + each - 1) / each + 7) / 8 * 8;
    p.stride = across_stride(p.n), p.next = p.stride * p.m;
    if (across > INT32_MAX) return RIDGE_UNSUPPORTED;
    const auto run = [&]<int M>() {
        const dim3 grid((unsigned)across, (unsigned)((p.m + 16 * M - 1) / (16 * M)), (unsigned)shares);
        return launch_overlapping(across_kernel<A, B, M, Exact>, {grid, 32 * THIN_WARPS}, stream, device_overlaps(), p);
    };
    if (p.m <= 16) return run.template operator()<1>();
    return run.template operator()<2>();
}

}  // namespace ridge

#endif
