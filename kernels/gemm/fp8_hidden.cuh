/* Hidden values of a SwiGLU feed-forward layer of e4m3 operands, silu(x g^T) (x u^T), as e4m3 with a scale for each 128 of a row,
 * by the pipeline of cuda/gemm/matmul.cuh.
 *
 * Columns of a tile are 64 of g and the same 64 of u, so that a thread has gate and up value of each of its hidden values, 32 sums
 * apart. It leaves them in shared memory (hidden_slot) and goes on to the next tile's products. What is left is made beside those,
 * by a warp that has nothing else to do (hidden_codes). */
#ifndef RIDGE_GEMM_FP8_HIDDEN_CUH
#define RIDGE_GEMM_FP8_HIDDEN_CUH

#include "cuda/epilogue/activation.cuh"
#include "gemm/fp8.cuh"
#include "gemm/fp8_hidden_codes.cuh"

namespace ridge {

constexpr matmul_tuning FP8_HIDDEN = {
    .columns = 128, .stages = 5, .cluster_m = 1, .cluster_n = 2, .promote = 1, .paired = true};

template <class S>
struct fp8_hidden_epilogue {
    static_assert(S::K == FP8_BLOCK && S::promote == 1 && S::paired && 2 * S::columns == FP8_BLOCK, "scales of slices");
    static_assert(S::cluster == 2 && S::CN == 2, "two blocks have the columns that share a scale");
    fp8_scale a, b; /* of 1 x 128 and of squares */
    int ups;        /* from the scales of gate columns to those of up columns */
    int last;       /* slice of K */
    hidden_codes to;
    static constexpr int scratch = hidden_slot::bytes, half = S::sums / 2;
    static_assert(S::columns == hidden_slot::columns);
    static bool waits(void) { return false; }
    struct places { /* of scales: of rows r and r + 8, and of the tile's gate columns */
        unsigned low, high, gate;
    };
    struct factors {
        float low_gate, low_up, high_gate, high_up;
    };
    struct state {};
    __device__ void prepare(uint32_t at) const { hidden_slot{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ places scales_of(const matmul_tile &tile, int row) const {
        return {(unsigned)(min(row, to.rows - 1) * a.line), (unsigned)(min(row + 8, to.rows - 1) * a.line),
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
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[S::sums], uint32_t at,
                           int) const {
        float hidden[half];
#pragma unroll
        for (int j = 0; j < half; j++) hidden[j] = silu(sums[j]) * sums[half + j];
        hidden_slot{at}.put(hidden, tile.number, cluster_ctarank() ^ 1);
    }
    template <class Shape>
    __device__ void write(const matmul_plan &plan, int rank, uint32_t slots) const {
        int number = 0;
        for (matmul_schedule<Shape> schedule(plan, rank); schedule.more(); schedule.next()) {
            const matmul_tile tile = schedule.tile();
            if (!schedule.exists(tile)) continue;
            to.of_tile(tile, slots, number++);
        }
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
    e.to = {(int)codes.rows, (unsigned char *)codes.base, codes.line, (float *)scales.base, scales.line};
    matmul_plan plan = matmul_whole(x.columns, S::K, 8, true, true);
    plan.pair = (int)codes.columns;
    e.last = plan.slices - 1;
    return matmul_run<S>(lines_of(x), lines_of(w1), codes.rows, codes.columns, plan, e, stream);
}

}  // namespace ridge

#endif
