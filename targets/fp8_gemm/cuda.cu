/* C = (sa A) (sb B)^T in e4m3 on a GPU: see README.md.
 *
 * The pipeline of cuda/gemm/matmul.cuh: lines of 128 bytes are 128 of K, so a slice is what shares scales. Its sums leave
 * the tensor cores after each slice and are added in fp32, times the scales. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "cuda/maps/plain.cuh"

#include "quantize/rule.h"

extern "C" {
#include "fp8_gemm.h"
}

namespace {

using namespace ridge;

struct fp8_scale {
    const float *data;
    int64_t rows, line, step;
    explicit fp8_scale(const fp8_scales &s) : data(s.data), rows(s.rows), line(s.line), step(s.step) {}
    fp8_scale() = default;
    __device__ float at(int64_t row, int64_t slice) const { return data[row / rows * line + slice * step]; }
};

/* ---- tiles ---- */

/* 128 x 128: the sums of a slice and of all slices share the registers. Not tuned. */
constexpr matmul_tuning FP8_TUNED = {.columns = 128, .stages = 5, .cluster_m = 2, .cluster_n = 1, .promote = 1};
using fp8_tile = matmul_shape<e4m3, FP8_TUNED>;
static_assert(fp8_tile::K == FP8_BLOCK && fp8_tile::N == FP8_BLOCK,
              "a tile and a slice have one scale of B in squares");

/* wide: C is fp32, stored in pairs; else by TMA. */
struct fp8_epilogue {
    static constexpr int N = fp8_tile::N;
    CUtensorMap map;
    float *wide;
    int64_t line;
    fp8_scale a, b;
    int rows, columns;
    bool pairs;
    static constexpr int scratch = store_slots<__nv_bfloat16, N>::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { store_slots<__nv_bfloat16, N>{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void add(const matmul_tile &tile, float (&total)[N / 2], const float (&sums)[N / 2], int slice,
                        int group) const {
        const int row = tile.m + fragment_row(group);
        const float right = b.at(min(tile.n, columns - 1), slice);
        const float low = a.at(min(row, rows - 1), slice) * right, high = a.at(min(row + 8, rows - 1), slice) * right;
#pragma unroll
        for (int j = 0; j < N / 2; j += 4) {
            total[j] += sums[j] * low, total[j + 1] += sums[j + 1] * low;
            total[j + 2] += sums[j + 2] * high, total[j + 3] += sums[j + 3] * high;
        }
    }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[N / 2], uint32_t at,
                           int group) const {
        if (!wide) return store_slots<__nv_bfloat16, N>{at}.put(sums, tile.number);
        store_pairs<N>(wide, line, rows, columns, tile, sums, group, pairs);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        if (!wide) store_tiles<S, __nv_bfloat16>(&map, plan, rank, slots);
    }
};

/* ---- any operands: a thread an element ---- */

template <typename T>
struct any_element {
    matrix<const unsigned char> a, b;
    matrix<T> c;
    fp8_scale of_a, of_b;
    int64_t k;
    __device__ void operator()(int64_t i, int64_t j) const {
        float total = 0.0f;
        for (int64_t first = 0; first < k; first += FP8_BLOCK) {
            float sum = 0.0f;
            const int64_t end = first + FP8_BLOCK < k ? first + FP8_BLOCK : k;
            for (int64_t d = first; d < end; d++)
                sum = fmaf(rule_value_e4m3(a.at(i, d)), rule_value_e4m3(b.at(j, d)), sum);
            const int64_t slice = first / FP8_BLOCK;
            total = fmaf(sum, of_a.at(i, slice) * of_b.at(j, slice), total);
        }
        c.at(i, j) = from_float<T>(total);
    }
};

template <typename T>
ridge_status any(const ridge_call *call, const fp8_scale &of_a, const fp8_scale &of_b) {
    return launch_plain(
        call, any_element<T>{matrix_in<unsigned char>(&call->in[FP8_A]), matrix_in<unsigned char>(&call->in[FP8_B]),
                             matrix_out<T>(&call->out[0]), of_a, of_b, call->dim[FP8_K]});
}

}  // namespace

extern "C" ridge_status fp8_gemm_cuda_any(const ridge_call *call) {
    const fp8_scale of_a(fp8_scales_of(&call->in[FP8_A_SCALE], call->dim[FP8_M]));
    const fp8_scale of_b(fp8_scales_of(&call->in[FP8_B_SCALE], call->dim[FP8_N]));
    if (call->dtype == RIDGE_F32) return any<float>(call, of_a, of_b);
    return call->dtype == RIDGE_BF16 ? any<__nv_bfloat16>(call, of_a, of_b) : RIDGE_UNSUPPORTED;
}

extern "C" ridge_status fp8_gemm_cuda_tiles(const ridge_call *call) {
    const int64_t m = call->dim[FP8_M], n = call->dim[FP8_N], k = call->dim[FP8_K];
    const matrix_view a = view_of(call->in[FP8_A]), b = view_of(call->in[FP8_B]), c = view_of(call->out[0]);
    fp8_epilogue e = {};
    if (m == 0) return RIDGE_OK;
    e.a = fp8_scale(fp8_scales_of(&call->in[FP8_A_SCALE], m));
    e.b = fp8_scale(fp8_scales_of(&call->in[FP8_B_SCALE], n));
    e.rows = (int)m, e.columns = (int)n;
    if (call->dtype == RIDGE_F32) {
        e.wide = (float *)c.base, e.line = c.line;
        e.pairs = (uintptr_t)c.base % 8 == 0 && c.line % 2 == 0 && n % 2 == 0;
    } else if (!make_map<__nv_bfloat16>(&e.map, lines_of(c), 64)) {
        return RIDGE_FAILED;
    }
    const matmul_plan plan = matmul_whole(k, fp8_tile::K, 8, true, true);
    return matmul_run<fp8_tile>(lines_of(a), lines_of(b), m, n, plan, e, stream_of(call));
}
