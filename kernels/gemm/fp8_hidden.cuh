/* Hidden values of a SwiGLU feed-forward layer of e4m3 operands, silu(x g^T) (x u^T), as e4m3 with a scale for each 128 of a row,
 * by the pipeline of cuda/gemm/matmul.cuh.
 *
 * Columns of a tile are 64 of g and the same 64 of u, so that a thread has gate and up value of each of its hidden values, 32 sums
 * apart. A block of a row that shares a scale is in the tiles of two blocks of a cluster: they exchange their rows' largest
 * magnitudes (pipe/pair_rows.cuh), and only codes and scales leave the SM. */
#ifndef RIDGE_GEMM_FP8_HIDDEN_CUH
#define RIDGE_GEMM_FP8_HIDDEN_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/pipe/pair_rows.cuh"
#include "cuda/tile/quad.cuh"
#include "gemm/fp8.cuh"
#include "quantize/fp8.cuh"

namespace ridge {

constexpr matmul_tuning FP8_HIDDEN = {
    .columns = 128, .stages = 5, .cluster_m = 1, .cluster_n = 2, .promote = 1, .paired = true};

template <class S>
struct fp8_hidden_epilogue {
    static_assert(S::K == FP8_BLOCK && S::promote == 1 && S::paired && 2 * S::columns == FP8_BLOCK, "scales of slices");
    static_assert(S::cluster == 2 && S::CN == 2, "two blocks have the columns that share a scale");
    fp8_scale a, b; /* of 1 x 128 and of squares */
    int ups;        /* from the scales of gate columns to those of up columns */
    int rows, last; /* slice of K */
    unsigned char *codes;
    int64_t line;
    float *scales;
    int64_t scales_line;
    static constexpr int scratch = 1024, half = S::sums / 2;
    static_assert(pair_rows::bytes <= scratch, "room for maxima");
    static bool waits(void) { return false; }
    struct places { /* of scales: of rows r and r + 8, and of the tile's gate columns */
        unsigned low, high, gate;
    };
    struct factors {
        float low_gate, low_up, high_gate, high_up;
    };
    struct state {};
    __device__ void prepare(uint32_t at) const { pair_rows{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ places scales_of(const matmul_tile &tile, int row) const {
        return {(unsigned)(min(row, rows - 1) * a.line), (unsigned)(min(row + 8, rows - 1) * a.line),
                (unsigned)(tile.n / FP8_BLOCK * b.line)};
    }
    struct loaded {
        float low, high, gate, up;
    };
    __device__ loaded load(const places &s, int slice) const { /* of one slice steps are 0 */
        const int k = min(slice, last);
        return {a.data[s.low + k], a.data[s.high + k], b.data[s.gate + k], b.data[s.gate + ups + k]};
    }
    __device__ factors of(const loaded &v) const {
        return {v.low * v.gate, v.low * v.up, v.high * v.gate, v.high * v.up};
    }
    __device__ void add(float (&total)[S::sums], const float (&sums)[S::sums], const factors &by) const {
#pragma unroll
        for (int j = 0; j < S::sums; j++) {
            const float of_gate = j % 4 < 2 ? by.low_gate : by.high_gate, of_up = j % 4 < 2 ? by.low_up : by.high_up;
            total[j] = fmaf(sums[j], j < half ? of_gate : of_up, total[j]);
        }
    }
    /* Bits of the largest magnitude of one of the thread's rows in this tile: those of NaN and infinity come last. */
    template <int Which>
    __device__ static unsigned largest(const float (&hidden)[half]) {
        unsigned max = 0;
#pragma unroll
        for (int j = 0; j < half; j++)
            if (j % 4 / 2 == Which) max = umax(max, __float_as_uint(hidden[j]) & 0x7fffffffu);
        max = umax(max, __shfl_xor_sync(0xffffffffu, max, 1));
        return umax(max, __shfl_xor_sync(0xffffffffu, max, 2));
    }
    /* One of the thread's rows: the quad gathers its codes, 16 neighbours in each lane. */
    template <int Which>
    __device__ void put(const float (&hidden)[half], unsigned max, int row, int column) const {
        const bool odd = max >= 0x7f800000u;
        const float largest = odd ? __uint_as_float(0x7fffffffu) : __uint_as_float(max), by = rule_fp8_factor(largest);
        unsigned words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *v = &hidden[8 * i + 2 * Which];
            const unsigned first =
                __nv_cvt_float2_to_fp8x2(make_float2(v[0] * by, v[1] * by), __NV_SATFINITE, __NV_E4M3);
            const unsigned second =
                __nv_cvt_float2_to_fp8x2(make_float2(v[4] * by, v[5] * by), __NV_SATFINITE, __NV_E4M3);
            words[i] = odd ? 0 : first | second << 16;
        }
        quad_transpose(words);
        if (row >= rows) return;
        const int lane = (int)threadIdx.x % 4;
        *(uint4 *)(codes + row * line + column + 16 * lane) =
            make_uint4(__byte_perm(words[0], words[1], 0x5410), __byte_perm(words[2], words[3], 0x5410),
                       __byte_perm(words[0], words[1], 0x7632), __byte_perm(words[2], words[3], 0x7632));
        if (lane == 0 && column % FP8_BLOCK == 0)
            scales[row * scales_line + column / FP8_BLOCK] = odd ? largest : rule_fp8_scale(largest);
    }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[S::sums], uint32_t at,
                           int group) const {
        float hidden[half];
#pragma unroll
        for (int j = 0; j < half; j++) hidden[j] = silu(sums[j]) * sums[half + j];
        const float2 mine = make_float2(__uint_as_float(largest<0>(hidden)), __uint_as_float(largest<1>(hidden)));
        const float2 theirs = pair_rows{at}.exchange(mine, tile.number, cluster_ctarank() ^ 1);
        const int row = tile.m + fragment_row(group);
        put<0>(hidden, umax(__float_as_uint(mine.x), __float_as_uint(theirs.x)), row, tile.n);
        put<1>(hidden, umax(__float_as_uint(mine.y), __float_as_uint(theirs.y)), row + 8, tile.n);
    }
    __device__ void end(void) const {}
};

/* codes: [m, f], in lines of whole 16-byte pieces; scales: [m, ceil(f / 128)]. x: [m, d], w1: [2 f, d], g before u; f a multiple of
 * 128. */
inline ridge_status fp8_hidden(const matrix_view &x, const fp8_scales &of_x, const matrix_view &w1,
                               const fp8_scales &of_w1, const matrix_view &codes, const matrix_view &scales,
                               cudaStream_t stream) {
    using S = matmul_shape<e4m3, FP8_HIDDEN>;
    fp8_hidden_epilogue<S> e = {};
    e.a = fp8_scale(of_x), e.b = fp8_scale(of_w1);
    e.ups = (int)(codes.columns / FP8_BLOCK * of_w1.line);
    e.rows = (int)codes.rows;
    e.codes = (unsigned char *)codes.base, e.line = codes.line;
    e.scales = (float *)scales.base, e.scales_line = scales.line;
    matmul_plan plan = matmul_whole(x.columns, S::K, 8, true, true);
    plan.pair = (int)codes.columns;
    e.last = plan.slices - 1;
    return matmul_run<S>(lines_of(x), lines_of(w1), codes.rows, codes.columns, plan, e, stream);
}

}  // namespace ridge

#endif
