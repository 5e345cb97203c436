/* C = A^T B of many rows: A [rows, m] with few columns, B [rows, n] as it lies, whatever its alignment, read once; sums
 * of shares of the rows, fp32, to memory.
 *
 * By mma.sync of tf32, m by rows times rows by n: 16-bit elements are tf32 exactly; fp32 by three products (Exact, see
 * skinny/thin.cuh). A lane takes 16 bytes of two of eight rows of B, eight lanes 128 bytes of each. Which of a tile's
 * columns is which of B's is free, so a lane's elements are those of as many tiles. A block's warps take turns at its
 * rows and add their sums at the end. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_ACROSS_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_ACROSS_CUH

#include "cuda/skinny/thin.cuh"

namespace ridge {

template <typename A, typename B>
struct across_args {
    const A *a;
    const B *b;
    int64_t a_line, b_line, rows, share; /* share: rows of a block */
    int m, n;
    float *sums; /* of a share: m lines of `stride`, `next` from one share's to the next's */
    int64_t stride, next;
};

/* Of eight rows a warp at a time: rows t and t + 4 are a lane's, of B 16 bytes, of A two columns of every 16. */
template <typename A, typename B, int M, bool Exact>
class across_rows {
    static constexpr int ahead = M == 4 ? 1 : 2;
    const across_args<A, B> &p;
    int64_t row, end;
    int column, first; /* of B, of A */
    thin_span span;
    uint4 low[ahead][2], high[ahead][2];
    float of_a[ahead][M][4];

    __device__ thin_row<B> of_b(int64_t i) const { return {p.b + i * p.b_line, i < end ? p.n : 0}; }
    __device__ float a_at(int64_t i, int m) const {
        const float v = i < end && m < p.m ? to_float(p.a[i * p.a_line + m]) : 0.0f;
        return Exact ? v : cvt_rna_tf32(v);
    }
    __device__ void load(int slot, int64_t i) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const thin_row<B> of = of_b(i + 4 * r);
            low[slot][r] = of.low(column, span), high[slot][r] = of.high(column, span);
        }
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) of_a[slot][m][e] = a_at(i + e / 2 * 4, first + m * 16 + e % 2 * 8);
    }

   public:
    static constexpr int step = 8 * THIN_WARPS;
    __device__ across_rows(const across_args<A, B> &args, int64_t begin, int64_t behind, int first_of_a, int first_of_b)
        : p(args), end(behind), span(args.b, args.b_line, args.rows, args.n, begin, behind - 1) {
        const int lane = (int)threadIdx.x % 32;
        row = begin + (int)threadIdx.x / 32 * 8 + lane % 4;
        column = first_of_b + lane / 4 * pack_width<B>, first = first_of_a + lane / 4;
#pragma unroll
        for (int s = 0; s < ahead; s++) load(s, row + s * step);
    }
    __device__ void take(float (&a)[M][4], pack<B, pack_width<B>> (&b)[2]) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const thin_row<B> of = of_b(row + 4 * r);
            b[r] = elements_of<B, pack_width<B>>(of.whole(low[0][r], high[0][r], column, span));
        }
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) a[m][e] = of_a[0][m][e];
#pragma unroll
        for (int s = 0; s + 1 < ahead; s++) {
            low[s][0] = low[s + 1][0], low[s][1] = low[s + 1][1];
            high[s][0] = high[s + 1][0], high[s][1] = high[s + 1][1];
#pragma unroll
            for (int m = 0; m < M; m++)
#pragma unroll
                for (int e = 0; e < 4; e++) of_a[s][m][e] = of_a[s + 1][m][e];
        }
        load(ahead - 1, row + ahead * step);
        row += step;
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
__device__ float across_again(const across_args<A, B> &p, int m, int n) {
    const int64_t begin = blockIdx.z * p.share, behind = begin + p.share, end = behind < p.rows ? behind : p.rows;
    float sum = 0.0f;
    for (int64_t i = begin; i < end; i++)
        sum = fmaf(to_float(p.a[i * p.a_line + m]), to_float(p.b[i * p.b_line + n]), sum);
    return sum;
}
/* A warp's sums of 16 of A's columns to its part of shared memory, those of all warps from there to memory. An infinity
 * has no lo part: where a sum of Exact is not finite, it is made again. */
template <bool Exact, typename A, typename B, int N>
__device__ inline void across_store(const across_args<A, B> &p, const float (&sums)[N][4],
                                    float (*room)[16 * (8 * N + 1)], int first, int column) {
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
        const int m = e / (8 * N), n = e % (8 * N);
        float sum = 0.0f;
        for (int w = 0; w < THIN_WARPS; w++) sum += room[w][m * pitch + n];
        if (first + m >= p.m || column + n >= p.n) continue;
        if (Exact && !isfinite(sum)) sum = across_again(p, first + m, column + n);
        p.sums[(int64_t)blockIdx.z * p.next + (first + m) * p.stride + column + n] = sum;
    }
}

/* Grid: B's columns, A's, shares. 16 M of A's columns a block. */
template <typename A, typename B, int M, bool Exact>
__global__ void __launch_bounds__(32 * THIN_WARPS, M == 1 ? 3 : 2)
    across_kernel(const __grid_constant__ across_args<A, B> p) {
    constexpr int N = pack_width<B>;
    __shared__ float room[THIN_WARPS][16 * (8 * N + 1)];
    after_previous_launch();
    const int column = (int)blockIdx.x * 8 * N, first = (int)blockIdx.y * 16 * M;
    const int64_t begin = blockIdx.z * p.share, behind = begin + p.share, end = behind < p.rows ? behind : p.rows;
    float sums[M][N][4] = {};
    across_rows<A, B, M, Exact> rows(p, begin, end, first, column);
#pragma unroll 1
    for (int64_t i = begin; i < end;
         i += across_rows<A, B, M, Exact>::step) { /* of the block: whole warps meet in mma.sync */
        float a[M][4];
        pack<B, N> b[2];
        rows.take(a, b);
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int m = 0; m < M; m++)
                across_multiply<Exact>(sums[m][j], a[m], to_float(b[0].v[j]), to_float(b[1].v[j]));
    }
#pragma unroll
    for (int m = 0; m < M; m++) across_store<Exact>(p, sums[m], room, first + m * 16, column);
}

/* p.sums: across_bytes(…) in memory, of across_shares(…) shares. */
template <bool Exact, typename A, typename B>
ridge_status across_run(across_args<A, B> p, cudaStream_t stream) {
    const int shares = across_shares(p.rows, p.n, p.m, (int)sizeof(B));
    const int64_t columns = ACROSS_COLUMN_BYTES / (int)sizeof(B), across = (p.n + columns - 1) / columns;
    p.share = ((p.rows + shares - 1) / shares + 7) / 8 * 8;
    p.stride = across_stride(p.n), p.next = p.stride * p.m;
    if (across > INT32_MAX) return RIDGE_UNSUPPORTED;
    const auto run = [&]<int M>() {
        const dim3 grid((unsigned)across, (unsigned)((p.m + 16 * M - 1) / (16 * M)), (unsigned)shares);
        return launch_overlapping(across_kernel<A, B, M, Exact>, {grid, 32 * THIN_WARPS}, stream, device_overlaps(), p);
    };
    if (p.m <= 16) return run.template operator()<1>();
    if (p.m <= 32) return run.template operator()<2>();
    return run.template operator()<4>();
}

}  // namespace ridge

#endif
