/* The two halves of layer norm and GELU behind a product in 16 bits (norm.h): an epilogue that leaves z and statistics, and
 * the row pass that a warp makes of them. */
#ifndef RIDGE_GEMM_NORM_CUH
#define RIDGE_GEMM_NORM_CUH

#include <float.h>

#include "gemm/norm_rows.cuh"
#include "gemm/wgmma.cuh"
#include "cuda/tile/reduce.cuh"

extern "C" {
#include "model/norm_eps.h"
}

namespace ridge {

/* What z is divided by: the power of two of a deviation; 1 where that is 0 or beyond all numbers. */
__device__ inline float norm_unit(float deviation) {
    const unsigned exponent = __float_as_uint(deviation) & 0x7f800000u;
    return exponent == 0u || exponent == 0x7f800000u ? 1.0f : __uint_as_float(exponent);
}

/* Rows of z on their way to y. */
template <typename T, int N>
struct norm_pass {
    const T *z;
    int64_t line;
    float2 *parts; /* [tiles][rows]: mean and deviation */
    const T *gamma, *beta;
    T *y;
    int64_t y_line;
    int rows, columns, tiles;
    bool wide;         /* gamma, beta and y lie in pieces of 16 bytes */
    unsigned *arrived; /* tiles that are there, of each 128 rows */
    unsigned *ticket;  /* the next row */

    /* Mean of a row, and what its differences are multiplied by, of all tiles in their order. */
    struct statistics {
        float mean, inverse;
    };
    __device__ float count(int tile) const { return (float)min(N, columns - tile * N); }
    __device__ float2 part(int row, int tile) const { return __ldcg(&parts[(int64_t)tile * rows + row]); }
    __device__ statistics of(int row) const {
        const int lane = (int)threadIdx.x % 32;
        const float share = 1.0f / (float)columns;
        float mean = 0.0f, top = 0.0f, variance = 0.0f;
        for (int t = lane; t < tiles; t += 32) mean = fmaf(part(row, t).x, count(t) * share, mean);
        mean = lanes_sum<32>(mean);
        for (int t = lane; t < tiles; t += 32) {
            const float2 p = part(row, t);
            top = fmaxf(top, fmaxf(p.y, fabsf(p.x - mean)));
        }
        for (int mask = 16; mask > 0; mask /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, mask));
        const bool small = top > 0x1p60f;
        const float scale = small ? NORM_RESCUE : 1.0f;
        for (int t = lane; t < tiles; t += 32) {
            const float2 p = part(row, t);
            const float within = p.y * scale, between = (p.x - mean) * scale;
            variance = fmaf(fmaf(within, within, between * between), count(t) * share, variance);
        }
        variance = lanes_sum<32>(variance);
        const float inverse = scale / sqrtf(variance + (small ? FLT_MIN : NORM_EPS));
        return {mean, variance <= FLT_MAX ? inverse : NAN};
    }

    __device__ uint4 weights(const T *from, int column) const {
        if (wide && column + 8 <= columns) return ld_global_v4(from + column);
        pack<T, 8> some;
#pragma unroll
        for (int e = 0; e < 8; e++) some.v[e] = column + e < columns ? from[column + e] : from_float<T>(0.0f);
        return words_of<T, 8>(some);
    }
    __device__ void store(int row, int column, const uint4 &v) const {
        T *const to = y + row * y_line + column;
        const pack<T, 8> some = elements_of<T, 8>(v);
        if (wide && column + 8 <= columns) return store_once(to, some);
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (column + e < columns) to[e] = some.v[e];
    }
    /* Two neighbours; registers of the producer warpgroup are few. */
    __device__ static unsigned made(unsigned z, unsigned gamma, unsigned beta, float factor, float shift) {
        float v[2], g[2], b[2];
        unpack_pair(T(), z, &v[0], &v[1]), unpack_pair(T(), gamma, &g[0], &g[1]), unpack_pair(T(), beta, &b[0], &b[1]);
#pragma unroll
        for (int e = 0; e < 2; e++) v[e] = gelu(fmaf(fmaf(v[e], factor, shift), g[e], b[e]));
        return cvt_rn_x2(T(), v[0], v[1]);
    }
    struct eight {
        uint4 z, gamma, beta;
    };
    __device__ eight load(int row, int column) const {
        if (column >= columns) return {};
        return {__ldcg((const uint4 *)(z + row * line + column)), weights(gamma, column), weights(beta, column)};
    }
    __device__ void make(int row, int column, const eight &from, float factor, float shift) const {
        const uint4 v = {made(from.z.x, from.gamma.x, from.beta.x, factor, shift),
                         made(from.z.y, from.gamma.y, from.beta.y, factor, shift),
                         made(from.z.z, from.gamma.z, from.beta.z, factor, shift),
                         made(from.z.w, from.gamma.w, from.beta.w, factor, shift)};
        if (column < columns) store(row, column, v);
    }
    /* By a warp: 256 columns at a time, the next ones in flight. A lane keeps the factors of one of 32 tiles. */
    __device__ void row(int i) const {
        const int lane = (int)threadIdx.x % 32;
        const statistics s = of(i);
        eight next = load(i, 8 * lane);
        for (int first = 0; first < tiles; first += 32) {
            const float2 p = first + lane < tiles ? part(i, first + lane) : make_float2(s.mean, 0.0f);
            const float factor = norm_unit(p.y) * s.inverse, shift = (p.x - s.mean) * s.inverse;
            const int end = min(columns, (first + 32) * N);
#pragma unroll 1
            for (int chunk = first * N; chunk < end; chunk += 256) {
                const int column = chunk + 8 * lane, tile = column / N - first;
                const eight here = next;
                next = load(i, column + 256);
                make(i, column, here, __shfl_sync(0xffffffffu, factor, tile), __shfl_sync(0xffffffffu, shift, tile));
            }
        }
    }
    /* By a warp: rows by ticket, each as soon as all of its tiles are there. */
    __device__ void all_rows(void) const {
        const int lane = (int)threadIdx.x % 32;
        for (;;) {
            unsigned mine = lane == 0 ? atomicAdd(ticket, 1u) : 0u;
            mine = __shfl_sync(0xffffffffu, mine, 0);
            if (mine >= (unsigned)rows) return;
            if (lane == 0)
                while (ld_acquire(&arrived[mine / GEMM_TILE_ROWS]) < (unsigned)tiles) __nanosleep(200);
            __syncwarp();
            row((int)mine);
        }
    }
};

/* The sums and the bias, as z and its statistics. Biases are loaded ahead of the products, as other terms are. */
template <typename T, int N>
struct norm_epilogue : gemm_terms_epilogue<T, N> {
    using base = gemm_terms_epilogue<T, N>;
    norm_pass<T, N> pass;
    bool rows_beside;

    /* add(value, sum) over each of the thread's two rows, in four chains, and over the four lanes that have the row. */
    template <typename Add>
    __device__ static float2 over_rows(const float (&v)[N / 2], const Add &add) {
        float part[2][4] = {};
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            float &sum = part[i / 2 % 2][i % 2 + i / 4 % 2 * 2];
            sum = add(v[i], sum);
        }
        return make_float2(quad_sum((part[0][0] + part[0][1]) + (part[0][2] + part[0][3])),
                           quad_sum((part[1][0] + part[1][1]) + (part[1][2] + part[1][3])));
    }
    __device__ static float of_row(const float2 &rows, int i) { return i / 2 % 2 == 0 ? rows.x : rows.y; }
    /* Columns of the tile that do not exist. */
    __device__ static void clear(float (&v)[N / 2], int count) {
        if (count == N) return;
        const int left = count - fragment_column();
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            if (i / 4 * 8 + i % 2 >= left) v[i] = 0.0f;
    }
    __device__ static float deviation_of(float squares, float share) { return sqrtf(squares * share); }
    /* The sums become z. count: columns of the tile that exist. */
    __device__ void center(const matmul_tile &tile, int count, float (&v)[N / 2], int row) const {
        const float share = 1.0f / (float)count;
        clear(v, count);
        const float2 mean = over_rows(v, [&](float x, float sum) { return fmaf(x, share, sum); });
#pragma unroll
        for (int i = 0; i < N / 2; i++) v[i] -= of_row(mean, i);
        clear(v, count);
        float2 squares = over_rows(v, [](float x, float sum) { return fmaf(x, x, sum); });
        float2 deviation = make_float2(deviation_of(squares.x, share), deviation_of(squares.y, share));
        const bool low = !(squares.x <= FLT_MAX), high = !(squares.y <= FLT_MAX);
        if (__any_sync(0xffffffffu, low || high)) {
            squares = over_rows(v, [](float x, float sum) { return fmaf(x * NORM_RESCUE, x * NORM_RESCUE, sum); });
            if (low) deviation.x = deviation_of(squares.x, share) * (1.0f / NORM_RESCUE);
            if (high) deviation.y = deviation_of(squares.y, share) * (1.0f / NORM_RESCUE);
        }
        const float2 inverse = make_float2(1.0f / norm_unit(deviation.x), 1.0f / norm_unit(deviation.y));
#pragma unroll
        for (int i = 0; i < N / 2; i++) v[i] *= of_row(inverse, i);
        if (threadIdx.x % 4 != 0) return;
        float2 *const parts = pass.parts + (int64_t)(tile.n / N) * this->rows + row;
        if (row < this->rows) parts[0] = make_float2(mean.x, deviation.x);
        if (row + 8 < this->rows) parts[8] = make_float2(mean.y, deviation.y);
    }
    __device__ void finish(const matmul_tile &tile, const typename base::state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        this->add_biases(s, sums, at, group);
        center(tile, min(N, this->columns - tile.n), sums, tile.m + fragment_row(group));
        store_slots<T, N>{at}.put(sums, tile.number);
    }
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        store_tiles<S, T>(&this->map, plan, rank, slots, [&](const matmul_tile &tile) {
            if (!rows_beside) return;
            cp_async_bulk_wait_group(); /* written, not only read */
            fence_proxy_async();        /* by TMA; warps will read it as ordinary memory */
            red_release_add(&pass.arrived[tile.m / GEMM_TILE_ROWS], 1);
        });
    }
    /* By the warps that have nothing else to do, and by all warps at the end. */
    __device__ void beside(void) const {
        if (rows_beside) pass.all_rows();
    }
    __device__ void end(void) const { beside(); }
};

}  // namespace ridge

#endif
